"""Plan a survey: which design to take, and what one person, or a few liars, can do to it.

`recommend` compares the designs for k categories at one epsilon by their exact variance, computed
at that k and that epsilon; there is no rule of thumb in it.  Beside the variance it tells
what a report costs: its bytes, whether it reads like somebody's answer, and how far one
report moves an estimate.  `influence` and `worst_case_bias` tell that last one of any mechanism.

The variance of one category depends on its true share.  Its mean over the k categories does
not, but for what sampling adds, (1 - sum of f^2) / k under every design alike: so the order of
the designs is the same for all shares and for both targets.
Sources: Wang, Blocki, Li and Jha (2017), table 1 (variances); Ye and Barg (2018) (subset
selection); Cao, Jia and Gong (2021) (maximal gain attack).
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_count, check_epsilon, check_k, check_number
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import Channel, check_target, expected_rates
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.serialization import is_mechanism
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.support_channel import SupportChannel, report_variance
from rrstats.mechanisms.unary import MOST_CATEGORIES, OptimizedUnary, SymmetricUnary

__all__ = ["Recommendation", "influence", "recommend", "worst_case_bias"]

# Where variances are equal the first is taken: subset selection of size 1 is k-RR.
_DESIGNS: tuple[Callable[..., Any], ...] = (KRR, SubsetSelection, OptimizedUnary, SymmetricUnary)


# -- which design ---------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Recommendation:
    """Which design to take for k categories at one epsilon, with the table that says why.

    k, epsilon, n, shares, target : what was asked; see `recommend`.
    """

    k: int
    epsilon: float
    n: int | None = None
    shares: tuple[float, ...] | None = None
    target: str = "population"

    @cached_property
    def _mechanisms(self) -> dict[str, Mechanism]:
        """One of each design, over numbers, by name."""
        return {design.__name__: design(range(self.k), epsilon=self.epsilon) for design in _DESIGNS}

    @property
    def _theta(self) -> NDArray[np.float64]:
        return np.array([1 / self.k] if self.shares is None else self.shares)

    def _variance(self, mechanism: Mechanism, target: str) -> float:
        """The mean over the categories of the variance of one person's debiased report."""
        return float(np.mean(report_variance(mechanism.channel, self._theta, target)))

    @cached_property
    def best(self) -> str:
        """The name of the design with the smallest variance; k-RR where none is smaller."""
        variances = {name: self._variance(m, "rows") for name, m in self._mechanisms.items()}
        return min(variances, key=lambda name: variances[name])

    def mechanism(self, categories: object) -> Mechanism:
        """The recommended design over these categories, at the epsilon that was asked.

        Raises ArgumentValueError unless there are k of them.
        """
        design = next(design for design in _DESIGNS if design.__name__ == self.best)
        made: Mechanism = design(categories, epsilon=self.epsilon)
        if made.k != self.k:
            raise ArgumentValueError(
                f"categories must be the {self.k} that this was planned for, found {made.k}; ask "
                f"recommend({made.k}, {self.epsilon!r})"
            )
        return made

    @property
    def table(self) -> pd.DataFrame:
        """One row for each design, the best first; a new frame each time.

        mechanism, parameters, epsilon (of one report, rounded up).
        bytes : of one report as it is kept: the number of a category, or a bit for each.
        names : how many categories one report names, in the mean.
        variance_at_0 : of one person's share in a category that nobody has; for both targets.
        variance_population, variance_rows : the mean over the categories, at the shares given.
        std_error : of a share among n, for the target asked (with n).
        ratio : variance over the best design's, for that target: so many times the people.
        people : how many it takes for the best design's std_error at n (with n).
        times_direct : how many times the people of a direct survey of the population.
        influence : by how many people one report can raise an estimated count.
        """
        rows = [self._row(name, mechanism) for name, mechanism in self._mechanisms.items()]
        table = pd.DataFrame(rows).sort_values("ratio", kind="stable", ignore_index=True)
        return table.drop(columns=["std_error", "people"] if self.n is None else [])

    def _row(self, name: str, mechanism: Mechanism) -> dict[str, Any]:
        channel, best = mechanism.channel, self._mechanisms[self.best]
        population, rows = (self._variance(mechanism, t) for t in ("population", "rows"))
        variance, people = self._variance(mechanism, self.target), self.n or 0
        direct = float(np.mean(self._theta * (1 - self._theta)))
        ratio = variance / self._variance(best, self.target)
        return {
            "mechanism": name,
            "parameters": _parameters(mechanism),
            "epsilon": mechanism.epsilon,
            "bytes": _bytes(mechanism),
            "names": float(expected_rates(channel, np.full(self.k, 1 / self.k)).sum()),
            "variance_at_0": float(report_variance(channel, np.zeros(self.k), "rows")[0]),
            "variance_population": population,
            "variance_rows": rows,
            "std_error": math.sqrt(variance / people) if people else math.nan,
            "ratio": ratio,
            "people": math.ceil(people * ratio),
            "times_direct": population / direct if direct else math.inf,
            "influence": _score_range(channel)[1],
        }

    @property
    def reason(self) -> str:
        """Why, in plain sentences: the variance first, then what it does not tell."""
        rows: dict[Any, Any] = {row["mechanism"]: row for row in self.table.to_dict("records")}
        best, plain = rows[self.best], rows["KRR"]
        said = [
            f"Take {self.best}: of {len(rows)} designs none has a smaller variance for "
            f"{self.k:,} categories at epsilon {self.epsilon:g}.",
            _others(rows, self.best),
        ]
        if self.n is not None:
            whom = "rows" if self.target == "rows" else "people"
            said.append(
                f"With {self.n:,} {whom} the standard error of a share is about "
                f"{best['std_error']:.2g}."
            )
        said += [_report(best, plain), _moved(best, plain), _rare(rows, best)]
        return " ".join(filter(None, said))

    @property
    def _title(self) -> str:
        size = "" if self.n is None else f", n={self.n:,}"
        return f"{self.k} categories at epsilon {self.epsilon:g}{size}, target {self.target!r}"

    def _shown(self) -> pd.DataFrame:
        table = self.table
        for name in table.columns.difference(["mechanism", "parameters", "bytes", "people"]):
            table[name] = [f"{value:.4g}" for value in table[name]]
        return table

    def __repr__(self) -> str:
        # Across, not down: so many columns are wider than a terminal.
        table = self._shown().set_index("mechanism").T.rename_axis(columns=None).to_string()
        reason = textwrap.fill(self.reason, 80, break_on_hyphens=False)
        return f"{self.best} for {self._title}\n{table}\n{reason}"

    def _repr_html_(self) -> str:
        title = f"<p><b>{self.best}</b> for {html.escape(self._title)}</p>"
        table = self._shown().set_index("mechanism").T.rename_axis(columns=None).to_html(border=0)
        return f"{title}{table}<p>{html.escape(self.reason)}</p>"


def recommend(
    k: int,
    epsilon: float,
    n: int | None = None,
    *,
    shares: Any = None,
    target: str = "population",
) -> Recommendation:
    """Which design needs the fewest people for k categories at this epsilon, and why.

    k : number of categories.  epsilon : nats for one report, above 0.
    n : how many people will report; gives standard errors.
    shares : the k true shares that one expects (a list, or a mapping from category); by default
        equal ones.  They change the standard errors, and never the order of the designs.
    target : "population" (these people are a sample of it) or "rows" (just these rows).
    Returns a Recommendation: ``best``, ``mechanism(categories)``, ``table`` and ``reason``.
    Compared are k-RR, subset selection of its best size, and unary encoding, optimized and
    symmetric, each with the probabilities that make the most of epsilon.
    Raises ArgumentValueError for k, epsilon, n or shares outside their ranges.
    Formula: the channel's variance, in the mean over the categories.

    >>> advice = recommend(100, 1.0, n=10_000)
    >>> advice.best, advice.mechanism(range(100)).k
    ('SubsetSelection', 100)
    >>> advice.table.set_index("mechanism")["people"].to_dict()
    {'SubsetSelection': 10000, 'OptimizedUnary': 10259, 'SymmetricUnary': 10882, 'KRR': 96119}
    """
    k, epsilon = check_k(k), check_epsilon(epsilon)
    if k > MOST_CATEGORIES:
        raise ArgumentValueError(
            f"k, the number of categories, must be at most {MOST_CATEGORIES:,}, got {k}; a report "
            "of the other designs has a bit for each"
        )
    if epsilon == 0:
        raise ArgumentValueError(
            "epsilon must be above 0, got 0.0; at 0 no report of any design carries information"
        )
    if n is not None and (n := check_count(n, "n")) < 1:
        raise ArgumentValueError("n, the number of people, must be at least 1, got 0")
    found = Recommendation(k, epsilon, n, _check_shares(shares, k), check_target(target))
    _ = found.best  # raises now for an epsilon beyond what doubles can express
    return found


def _check_shares(shares: Any, k: int) -> tuple[float, ...] | None:
    if shares is None:
        return None
    listed = shares.values() if isinstance(shares, Mapping) else shares
    if isinstance(listed, str | bytes) or not np.iterable(listed):
        raise ArgumentTypeError(f"shares must be {k} numbers, found {type(shares).__name__}")
    found = tuple(check_number(share, "shares") for share in listed)
    if len(found) != k:
        raise ArgumentValueError(
            f"shares must have one number for each of the {k} categories, found {len(found)}"
        )
    if not all(0 <= share <= 1 for share in found) or abs(math.fsum(found) - 1) > 1e-6:
        raise ArgumentValueError(
            f"shares must be in [0, 1] and sum to 1, found {min(found):g} to {max(found):g} and "
            f"the sum {math.fsum(found):.9g}"
        )
    return found


# -- in words -------------------------------------------------------------------------------


def _parameters(mechanism: Mechanism) -> str:
    """What tells a mechanism from others over the same categories."""
    document = mechanism.to_dict().items()
    own = {key: value for key, value in document if key not in ("type", "categories")}
    return ", ".join(f"{key}={value:.4g}" for key, value in own.items())


def _score_range(channel: Channel, targets: int = 1) -> tuple[float, float]:
    """The least and the greatest sum of the scores of some categories in one report."""
    if not isinstance(channel, SupportChannel):
        scores = np.sort(channel.scores(np.arange(len(channel.samples))), axis=1)
        low, high = scores[:, :targets].sum(axis=1), scores[:, -targets:].sum(axis=1)
        return float(low.min()), float(high.max())
    fewest, most = channel.support_sizes
    without, supported = channel.solve([0.0, 1.0]).tolist()
    # With so many supported in all, at least and at most so many of the targets are.
    counts = (max(0, targets - (channel.k - fewest)), min(targets, most))
    ends = [count * supported + (targets - count) * without for count in counts]
    return min(ends), max(ends)


def _bytes(mechanism: Mechanism) -> int:
    """Bytes of one report: the number of its cell, or a bit for each cell."""
    cells = len(mechanism.channel.samples)
    return -(-(cells - 1).bit_length() // 8 if mechanism.channel.is_multinomial else -cells // 8)


def _number(value: float) -> str:
    """Three digits, and no powers of ten below a million."""
    return f"{float(f'{value:.3g}'):,g}"


def _more(ratio: float) -> str:
    if ratio >= 2:
        return f"{_number(ratio)} times as many"
    return f"{100 * (ratio - 1):.2g}% more"


def _others(rows: Mapping[Any, Mapping[str, Any]], best: str) -> str:
    """How many people the other designs need, and which is no other design."""
    need = {name: row["ratio"] for name, row in rows.items() if name != best}
    same = [name for name, ratio in need.items() if ratio == 1]
    more = [f"{_more(ratio)} with {name}" for name, ratio in need.items() if ratio > 1]
    said = f"The same precision takes {', '.join(more)}."
    if same:
        said += f" {same[0]} of its best size, 1, is the same design."
    return said.replace(" with ", " people with ", 1)


def _report(best: Mapping[str, Any], plain: Mapping[str, Any]) -> str:
    """What a report looks like, and what it takes to keep it."""
    if best is plain:
        return (
            "Its report is one category: small and simple, but it reads like somebody's answer, so "
            "say wherever it is kept that it is none."
        )
    return (
        f"Its report names {_number(best['names'])} categories at once and takes {best['bytes']:,} "
        f"{'byte' if best['bytes'] == 1 else 'bytes'}; that of KRR names one and takes "
        f"{plain['bytes']}: simpler, but it reads like somebody's answer."
    )


def _moved(best: Mapping[str, Any], plain: Mapping[str, Any]) -> str:
    """What one report does to an estimate."""
    other = "" if best is plain else f", one of KRR by {_number(plain['influence'])}"
    return (
        "One report, true or made up, can raise an estimated count by "
        f"{_number(best['influence'])} people{other}."
    )


def _rare(rows: Mapping[Any, Mapping[str, Any]], best: Mapping[str, Any]) -> str:
    """Whether another design is better for a rare category taken alone."""
    other = min(rows.values(), key=lambda row: row["variance_at_0"])
    ratio = best["variance_at_0"] / other["variance_at_0"]
    if ratio < 1 + 1e-9:
        return ""
    return (
        f"For a category that hardly anybody has, taken alone, {other['mechanism']} is better: "
        f"there {best['mechanism']} needs {_more(ratio)} people."
    )


# -- what a few can do -----------------------------------------------------------------------


def influence(mechanism: Mechanism, n: int) -> tuple[float, float]:
    """How far one report can move an estimated share of n people: down, and up.

    mechanism : any mechanism of one sample.  n : number of reports, at least 1.
    Returns the least and the greatest score that one report can give a category, over n: the
    change of a share against a report that is not counted.
    Raises ArgumentValueError for an n below 1, NotIdentifiableError where reports tell nothing.
    Formula: for k-RR, unary encoding and subset selection -q / ((p - q) n) and
    (1 - q) / ((p - q) n).

    >>> import rrstats as rr
    >>> low, high = influence(rr.KRR(range(100), epsilon=1.0), 1000)
    >>> round(low, 6), round(high, 6)
    (-0.000582, 0.058616)
    """
    _check_one_sample(mechanism)
    if (n := check_count(n, "n")) < 1:
        raise ArgumentValueError("n, the number of reports, must be at least 1, got 0")
    low, high = _score_range(mechanism.channel)
    return low / n, high / n


def worst_case_bias(
    mechanism: Mechanism,
    share_of_attackers: float,
    targets: int = 1,
    true_total: float = 0.0,
) -> float:
    """How much people who report what they like can add to the shares of some categories.

    mechanism : any mechanism of one sample.
    share_of_attackers : of all reports, in [0, 1].
    targets : for how many categories at once they work.
    true_total : the true share of those categories together, in [0, 1].
    Returns the largest change of the expected estimate of their total share: attackers send
    the report that scores highest, whatever noise was prescribed.  More reports do not help.
    Raises ArgumentValueError for numbers outside these ranges.
    Formula: share_of_attackers (highest total score - true_total); for k-RR that is
    beta (1 - f) + beta (k - r) / (e^epsilon - 1).
    Source: Cao, Jia and Gong (2021), maximal gain attack.

    >>> import rrstats as rr
    >>> round(worst_case_bias(rr.KRR(range(100), epsilon=1.0), 0.05, true_total=0.01), 4)
    2.9303
    """
    _check_one_sample(mechanism)
    attackers = _check_share(share_of_attackers, "share_of_attackers")
    total = _check_share(true_total, "true_total")
    if not 1 <= (count := check_count(targets, "targets")) <= mechanism.k:
        raise ArgumentValueError(
            f"targets, the number of categories, must be 1 to {mechanism.k}, got {count}"
        )
    return attackers * (_score_range(mechanism.channel, count)[1] - total)


def _check_share(value: object, name: str) -> float:
    share = check_number(value, name)
    if not 0 <= share <= 1:
        raise ArgumentValueError(f"{name} must be in [0, 1], got {share!r}")
    return share


def _check_one_sample(mechanism: object) -> None:
    if not is_mechanism(mechanism):
        raise ArgumentTypeError(
            "mechanism must be a mechanism such as rr.KRR(['yes', 'no'], 0.75), found "
            f"{type(mechanism).__name__}"
        )
    if getattr(mechanism, "groups", None) is not None:
        raise ArgumentValueError(
            "mechanism must be of one sample: what a report weighs depends on the size of its "
            "sample; ask for each sample's own mechanism"
        )
