"""Cached properties that hold no lock while they are computed.

Until Python 3.12 `functools.cached_property` has one lock for all objects of a class.  A process
that forked while another thread computed a property left it locked in the child for ever, and two
threads that computed two properties from each other waited for each other.  Here two threads may
both compute the value; all get the one that was stored first.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """A property that is computed when it is first used."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
