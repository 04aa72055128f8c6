"""What people say of a mechanism in one breath: privatize with it, tally, estimate, chain.

Conveniences over public functions; nothing of the law is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from rrstats.estimators import Estimate
    from rrstats.mechanisms.chain import Chain
    from rrstats.mechanisms.protocol import Mechanism
    from rrstats.tallies import Tally

__all__ = ["Verbs"]


class Verbs:
    """The verbs of a mechanism, each a call of the public function of that name."""

    def privatize(self, values: Any, **options: Any) -> Any:
        """`rrstats.privatize` with this mechanism; same options, same container back."""
        from rrstats.privatizing import privatize

        return privatize(values, self, **options)

    def tally(self, reports: Any) -> Tally:
        """`rrstats.tally` of reports that this mechanism made."""
        from rrstats.tallies import tally

        return tally(reports, self)

    def estimate(self, reports: Any, **options: Any) -> Estimate:
        """`rrstats.estimate` from reports that this mechanism made."""
        from rrstats.estimators import estimate

        return estimate(reports, self, **options)

    def then(self, second: Mechanism) -> Chain:
        """This mechanism followed by another on its reports; the channel is their product."""
        from rrstats.mechanisms.chain import Chain

        return Chain(cast("Mechanism", self), second)
