"""An outcome that was seen through a channel: what each report says of the true answer.

P(report | x) = sum over categories j of A_j P(j | x), with A_j the probability of the report where
the truth is j.  A design that tells classes of people finer apart than it estimates (those with
the attribute who say so and those who lie) has A_j = sum over classes c that show j of
s_c P(report | c); the shares s_c within a category are parameters beside the coefficients, the same
for all people (in RRreg's stochastic lie detector the t).  They are fitted as softmax(psi).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.analysis_columns import Variable

__all__ = ["ReportedOutcome", "outcome_of"]


@dataclass(frozen=True, eq=False)
class ReportedOutcome:
    """Reports of n people, coded for a regression.

    categories : the baseline first; of two the event last.
    table : (cells, classes) P(cell | class), where reports fall into one cell each; else
        (n, classes) the likelihood of each report by itself.
    cells : (n,) the cell of each report; None where each report is a row of ``table``.
    groups : (cells,) the sample of each cell.
    shows : (classes,) the category 0 .. k-1 of each class.
    labels : (classes,) what the classes are called.
    """

    categories: tuple[Hashable, ...]
    table: Floats
    cells: NDArray[np.intp] | None
    groups: NDArray[np.intp]
    shows: NDArray[np.intp]
    labels: tuple[Hashable, ...]

    @property
    def k(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    def rows(self) -> int:
        """The number of reports."""
        return len(self.table) if self.cells is None else len(self.cells)

    @cached_property
    def free(self) -> list[int]:
        """The classes whose share within their category is a parameter: all but each last one."""
        last = {int(shown): place for place, shown in enumerate(self.shows)}
        return [place for place, shown in enumerate(self.shows) if last[int(shown)] != place]

    def shares(self, psi: Floats) -> Floats:
        """(classes,) the share of each class within its category."""
        logits = np.zeros(len(self.shows))
        logits[self.free] = psi
        found = np.empty(len(self.shows))
        for category in range(self.k):
            mine = self.shows == category
            raised = np.exp(logits[mine] - logits[mine].max())
            found[mine] = raised / raised.sum()
        return found

    def told(self, psi: Floats) -> tuple[Floats, Floats]:
        """(k, cells) A and (free, cells) its derivatives by psi; cells are rows of ``table``."""
        shares = self.shares(psi)
        values = np.zeros((self.k, len(self.table)))
        for place, shown in enumerate(self.shows):
            values[shown] += shares[place] * self.table[:, place]
        slopes = [
            shares[place] * (self.table[:, place] - values[self.shows[place]])
            for place in self.free
        ]
        return values, np.array(slopes).reshape(len(self.free), len(self.table))

    @cached_property
    def siblings(self) -> tuple[NDArray[np.intp], int] | None:
        """(rows,) the first cell of each report's sample, and how many cells samples have.

        None where reports do not fall into one cell each, or samples have many.
        """
        if self.cells is None:
            return None
        starts = np.flatnonzero(np.diff(self.groups, prepend=-1))
        sizes = np.diff([*starts.tolist(), len(self.groups)])
        if len(set(sizes.tolist())) > 1:
            return None
        return starts[self.groups[self.cells]], int(sizes[0])

    def counts(self, weights: Floats) -> Floats:
        """(cells,) the weight of the reports of each cell."""
        if self.cells is None:
            return weights
        return np.asarray(np.bincount(self.cells, weights, minlength=len(self.table)), np.float64)

    def start(self, weights: Floats, keep_inside: bool = True) -> tuple[Floats, Floats]:
        """(k,) shares and (free,) psi to start from: the likeliest for all, kept inside.

        By expectation-maximization, which needs no tuning, and never leaves the simplex.
        """
        counts = self.counts(weights)
        classes = np.full(len(self.shows), 1 / len(self.shows))
        for _ in range(30 if keep_inside else 3000):
            law = self.table @ classes
            classes = classes * (self.table.T @ (counts / np.where(law > 0, law, 1.0)))
            classes /= classes.sum()
        if keep_inside:
            classes = 0.98 * classes + 0.02 / len(classes)
        shares = np.asarray(np.bincount(self.shows, classes, minlength=self.k), np.float64)
        last = {int(shown): place for place, shown in enumerate(self.shows)}
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            psi = [
                np.log(classes[place] / classes[last[int(self.shows[place])]])
                for place in self.free
            ]
        return shares, np.array(psi, dtype=np.float64)

    def take(self, keep: NDArray[Any] | None) -> ReportedOutcome:
        """The same of some rows."""
        if keep is None:
            return self
        table = self.table[keep] if self.cells is None else self.table
        cells = None if self.cells is None else self.cells[keep]
        return ReportedOutcome(self.categories, table, cells, self.groups, self.shows, self.labels)


def outcome_of(variable: Variable, first: Any = None, last: Any = None) -> ReportedOutcome:
    """The reports of a column as an outcome; missing ones have the cell m, or NaN.

    first : the category that is to come first, the baseline.  last : that which is to come last,
        the event.
    """
    order = list(range(variable.k))
    for name, category, place in (("baseline", first, 0), ("event", last, variable.k)):
        if category is not None:
            if category not in variable.categories:
                # Categories that no mechanism declares are cells.
                known = f" {list(variable.categories)}" if variable.private else ""
                raise ArgumentValueError(
                    f"{name} must be one of the {variable.k} categories{known} of the outcome, got "
                    f"{category!r}"
                )
            code = variable.categories.index(category)
            order.remove(code)
            order.insert(place, code)
    mechanism = variable.mechanism
    shows = np.argmax(variable.shown[order], axis=0)
    single = variable.one_cell_each
    labels = variable.categories if mechanism is None else mechanism.domain.categories
    samples = np.zeros(variable.m, dtype=np.intp)
    return ReportedOutcome(
        tuple(variable.categories[code] for code in order),
        variable.likelihood_table if single else variable.likelihood(),
        variable.codes() if single else None,
        samples if mechanism is None or not single else mechanism.channel.samples,
        shows,
        labels,
    )
