"""What an audit found, and in plain words what it cannot find."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

__all__ = ["AuditResult"]


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """A lower bound on the epsilon of a function, and what it was found by.

    epsilon_low : with the confidence given, the function's epsilon is at least this (nats).
        Infinite where something other than reports told a record in every single trial: then no
        noise protects it.  The bound that the number of trials proves of it stands in ``tried``.
    claimed : the epsilon that was claimed.  confidence : of all bounds together.
    passed : whether nothing refutes the claim.
    worst : what gave the bound, in words.
    tried : a frame with a row for each event: calls, event, record (the two inputs that were told
        apart best), trials, guesses (of the trials in which something was to be said, without those
        that chose what to look at), right, epsilon_low.
    blind_below : a fault in all single reports, alike for all pairs of categories, that adds less
        than about this to epsilon is missed in half of such audits or more; infinite where there
        were too few trials for any.  A fault of some categories alone must be larger.
    rare_below : what one kind of record shows beside its report, in a smaller share of its calls
        than this, cannot refute the claim; above 1 where there were too few calls for any.
    rows_below : of long columns fewer rows than this cannot refute the claim, even if their reports
        are the answers.
    lengths : of the columns that were tried.
    notes : what could not be tried, in sentences.
    """

    epsilon_low: float
    claimed: float
    confidence: float
    passed: bool
    worst: str
    tried: pd.DataFrame
    blind_below: float
    rare_below: float
    rows_below: float
    lengths: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        head = (
            f"AuditResult: nothing refutes epsilon {self.claimed:.4g}"
            if self.passed
            else f"AuditResult: epsilon {self.claimed:.4g} is refuted"
        )
        low = "infinite" if math.isinf(self.epsilon_low) else f"at least {_down(self.epsilon_low)}"
        lines = [
            f"{head}; with confidence {self.confidence:.10g} it is {low}",
            f"most telling: {self.worst}",
            *self.notes,
            self._limits(),
        ]
        return "\n".join(lines)

    def _limits(self) -> str:
        """What a pass does not say."""
        blind = f"of any size: so few trials cannot refute epsilon {self.claimed:.4g}"
        if math.isfinite(self.blind_below):
            blind = f"that adds less than about {_up(self.blind_below)} (half the time or more)"
        few = "any number" if math.isinf(self.rows_below) else f"fewer than {self.rows_below:,.0f}"
        rare = f"at all: so few calls cannot refute epsilon {self.claimed:.4g}"
        if self.rare_below <= 1:
            rare = f"in fewer than {math.ceil(100 * self.rare_below)}% of the calls of its kind"
        return (
            f"no proof, it misses a fault of all reports {blind}; a fault of {few} rows; "
            f"one that shows beside the reports {rare}\n"
            f"not looked at: columns above {self.lengths[-1]:,} rows and most lengths below, "
            "places other than ends and edges of blocks, time, files, memory, the generator"
        )


def _down(value: float) -> str:
    return f"{math.floor(value * 1e4) / 1e4:.4g}"


def _up(value: float) -> str:
    return f"{math.ceil(value * 1e4) / 1e4:.2g}"
