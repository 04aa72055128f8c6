"""Values that cannot be changed, because many share them: arrays, dictionaries and lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from rrstats.errors import ArgumentTypeError

Contents = TypeVar("Contents")
AnyArray = TypeVar("AnyArray", bound=np.ndarray[Any, Any])


def fixed(array: AnyArray) -> AnyArray:
    """A cached array, made read-only because callers share it."""
    array.flags.writeable = False
    return array


_CHANGES = (
    *("__setitem__", "__delitem__", "__ior__", "__iadd__", "__imul__", "append", "clear", "extend"),
    *("insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"),
)
"""Methods of dictionaries and lists that change them."""


def _refuse(*_args: Any, **_keywords: Any) -> NoReturn:
    raise ArgumentTypeError(
        "this cannot be changed, because mechanisms, records or copies of data share it; change a "
        "copy, as of dict(...).  Of the record of a release, df.rr.carry renames the columns, and "
        "df.attrs.pop('rrstats') removes it"
    )


class FrozenDict(dict[Any, Any]):
    """A dictionary that cannot be changed, so that it is read once."""

    __slots__ = ("_contents",)

    _contents: Any

    def contents(self, read: Callable[[Any], Contents]) -> Contents:
        """The result of a function that reads it; kept, so it is the same function each time."""
        try:
            contents: Contents = self._contents
        except AttributeError:
            contents = self._contents = read(self)
        return contents

    def __deepcopy__(self, memo: Any) -> FrozenDict:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (), None, None, iter(self.items())


class FrozenList(list[Any]):
    """A list that cannot be changed."""

    __slots__ = ()

    def __deepcopy__(self, memo: Any) -> FrozenList:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, (), None, iter(self)


for _kind in (FrozenDict, FrozenList):
    for _name in _CHANGES:
        if hasattr(_kind, _name):
            setattr(_kind, _name, _refuse)


def frozen(document: Any) -> Any:
    """The document with dictionaries and lists that cannot be changed, at every depth.

    pandas copies attrs deeply whenever a column is selected; a copy of a frozen document is the
    document itself.  It equals the plain one, prints like it, and is pickled as it.
    """
    return _frozen(document, {})


def _frozen(document: Any, parts: dict[int, Any]) -> Any:
    """A part of a document; parts : its frozen parts by identity, because hostile ones repeat."""
    if not isinstance(document, dict | list) or isinstance(document, FrozenDict | FrozenList):
        return document
    if id(document) not in parts:
        if isinstance(document, dict):
            part: Any = FrozenDict({key: _frozen(each, parts) for key, each in document.items()})
        else:
            part = FrozenList([_frozen(each, parts) for each in document])
        parts[id(document)] = part
    return parts[id(document)]


class Shared:
    """An object whose arrays, dictionaries and lists are fixed again when it is unpickled."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, part in state.items():
            for each in part if isinstance(part, tuple) else (part,):
                if isinstance(each, np.ndarray):
                    fixed(each)
            vars(self)[name] = frozen(part)
