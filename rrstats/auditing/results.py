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
    blind_below : a fault that adds less than this to the epsilon of single reports is seen in
        fewer than half of such audits; infinite where there were too few trials for any.
    rare_below : what one kind of record shows beside its report, in a smaller share of its calls
        than this, cannot refute the claim; above 1 where there were too few calls for any.
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
        claim = f"epsilon {self.claimed:.4g}"
        told = ["this is a lower bound, no proof of privacy:"]
        if math.isinf(self.blind_below):
            told.append(f"in these few trials no fault of single reports could refute {claim};")
        else:
            told.append(
                f"a fault that adds less than {_up(self.blind_below)} to the epsilon of single "
                "reports is missed in more than half of such audits;"
            )
        if self.rare_below > 1:
            told.append(f"in these few calls nothing beside the reports could refute {claim};")
        else:
            told.append(
                "what one kind of record shows beside its report is missed where it shows in fewer "
                f"than {math.ceil(100 * self.rare_below)}% of its calls;"
            )
        told.append("time, files, memory and the strength of the generator are not looked at")
        return " ".join(told)


def _down(value: float) -> str:
    return f"{math.floor(value * 1e4) / 1e4:.4g}"


def _up(value: float) -> str:
    return f"{math.ceil(value * 1e4) / 1e4:.2g}"
