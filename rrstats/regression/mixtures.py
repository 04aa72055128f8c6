"""Likelihood over a category that nobody saw: reports, an outcome, and a mixture of both.

Each of n people is of one of C classes; their report has P(report | class), the class has a
multinomial logit on covariates z, and the outcome a law whose linear predictor is ``D_c beta``:

    P(y, report | z) = sum_c P(report | c) P(c | z; gamma) f(y | D_c beta).

Gradient and Hessian are exact (Louis 1982) and summed in blocks of rows.  The log-likelihood is not
concave: Newton's method with the absolute values of the Hessian's eigenvalues and halved steps
climbs from a few fixed starts, which are compared.
Arrays are clean here; `covariates` checks, names and translates.
Sources: van den Hout and Kooiman (2006); Louis (1982); Dauphin et al. (2014) for the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from rrstats._typing import Floats

__all__ = [
    "NO_ERROR",
    "BinaryOutcome",
    "Climb",
    "Mixture",
    "NoOutcome",
    "NormalOutcome",
    "OutcomeModel",
    "Sums",
    "climb",
]


_BLOCK = 1 << 16
"""Rows times classes that are worked on at once, which stay in cache."""

_STEPS = 200
"""Newton steps at most.  Fits inside took 4 to 15; shares that go to 0 about 30."""

_LEFT = 1e-7
"""What the last step may promise to gain in log-likelihood; it leaves the square of that."""

NO_ERROR = -12.0
"""A law's own parameter below this is an outcome without any error."""

_LONGEST = 5.0
"""The longest first step of a coefficient, in standard units; twice it where such steps gain."""


class Terms(NamedTuple):
    """The logarithm of a density and its derivatives, (C, rows) each.

    by_eta, by_eta2 : by the linear predictor.  by_own, by_own2, by_both : by the law's own
    parameter and mixed; None where it has none.
    """

    log: Floats
    by_eta: Floats
    by_eta2: Floats
    by_own: Floats | None = None
    by_own2: Floats | None = None
    by_both: Floats | None = None


class OutcomeModel(Protocol):
    """The law of the outcome given a linear predictor."""

    @property
    def own(self) -> int:
        """How many parameters it has besides the coefficients: 0 or 1."""
        ...

    def terms(self, rows: Any, eta: Floats, own: Floats) -> Terms:
        """The log-density of some rows at (C, rows) linear predictors."""
        ...


@dataclass(frozen=True, eq=False)
class NoOutcome:
    """No outcome: the reports alone."""

    own: int = 0

    def terms(self, rows: Any, eta: Floats, own: Floats) -> Terms:
        """Density 1."""
        zero = np.zeros_like(eta)
        return Terms(zero, zero, zero)


@dataclass(frozen=True, eq=False)
class NormalOutcome:
    """A number with normal errors; its own parameter is the logarithm of their deviation."""

    y: Floats
    own: int = 1

    def terms(self, rows: Any, eta: Floats, own: Floats) -> Terms:
        """The normal density."""
        precision = np.exp(-2 * own[0])
        residual = self.y[rows] - eta
        by_eta = residual * precision
        square = residual * by_eta
        log = -0.5 * square - own[0] - 0.5 * np.log(2 * np.pi)
        by_eta2 = np.full_like(eta, -precision)
        return Terms(log, by_eta, by_eta2, square - 1, -2 * square, -2 * by_eta)


@dataclass(frozen=True, eq=False)
class BinaryOutcome:
    """A yes or no with a logistic law, seen as it is or through a channel of its own.

    given_no, given_yes : (rows,) P(what was reported | no) and (... | yes); 1 and 0 for a no.
    """

    given_no: Floats
    given_yes: Floats
    own: int = 0

    def terms(self, rows: Any, eta: Floats, own: Floats) -> Terms:
        """P(report) = given_no (1 - g) + given_yes g, with g the logistic function of eta."""
        no, yes = self.given_no[rows], self.given_yes[rows]
        log_yes, log_no = -np.logaddexp(0, -eta), -np.logaddexp(0, eta)
        with np.errstate(divide="ignore"):
            log = np.logaddexp(np.log(no) + log_no, np.log(yes) + log_yes)
        g = np.exp(log_yes)
        # P(yes | report) less P(yes): what the report adds, exact at both ends.
        after = np.exp(np.where(yes > 0, np.log(np.maximum(yes, 1e-300)), -np.inf) + log_yes - log)
        by_eta = after - g
        return Terms(log, by_eta, after * (1 - after) - g * (1 - g))


class Sums(NamedTuple):
    """Log-likelihood with its derivatives by all parameters: beta, the law's own, gamma."""

    log_likelihood: float
    gradient: Floats
    hessian: Floats


@dataclass(frozen=True, eq=False)
class Mixture:
    """Rows of a mixture.

    outcome : the law of the outcome.
    given : (rows, C) P(report | class), each row up to a factor.
    same : (rows, s) columns of the outcome's design that do not depend on the class.
    varying : (C, rows, v) the columns that do; of stride 0 where they are alike in all rows.
    shares : (rows, g) columns of the model of the class; a column of ones for constant shares.
    weights : (rows,) or None.
    """

    outcome: OutcomeModel
    given: Floats
    same: Floats
    varying: Floats
    shares: Floats
    weights: Floats | None = None

    @property
    def rows(self) -> int:
        """The number of people."""
        return len(self.given)

    @property
    def classes(self) -> int:
        """C."""
        return int(self.given.shape[1])

    @property
    def columns(self) -> int:
        """The number of coefficients of the outcome."""
        return int(self.same.shape[1] + self.varying.shape[2])

    @property
    def size(self) -> int:
        """The number of parameters."""
        shares = int(self.shares.shape[1])
        return self.columns + self.outcome.own + (self.classes - 1) * shares

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Parameters as beta, the law's own, and gamma (C - 1, g)."""
        cut = self.columns, self.columns + self.outcome.own
        gamma = theta[cut[1] :].reshape(self.classes - 1, self.shares.shape[1])
        return theta[: cut[0]], theta[cut[0] : cut[1]], gamma

    def every(self, stride: int) -> Mixture:
        """Each so many rows, for a first look."""
        if stride == 1:
            return self
        outcome = replace(
            cast(Any, self.outcome),  # every law is a data class
            **{
                name: value[::stride]
                for name, value in vars(self.outcome).items()
                if isinstance(value, np.ndarray)
            },
        )
        weights = None if self.weights is None else self.weights[::stride]
        return Mixture(
            outcome,
            self.given[::stride],
            self.same[::stride],
            self.varying[:, ::stride],
            self.shares[::stride],
            weights,
        )

    def alone(self) -> Mixture:
        """The reports without the outcome."""
        none = np.empty((self.rows, 0))
        varying = np.empty((self.classes, self.rows, 0))
        return replace(self, outcome=NoOutcome(), same=none, varying=varying)

    def blocks(self) -> Iterator[slice]:
        """Slices of the rows."""
        rows = max(_BLOCK // self.classes, 64)
        return (slice(start, start + rows) for start in range(0, self.rows, rows))

    def design(self, rows: slice) -> Floats:
        """(C, rows, columns) the outcome's design of each class."""
        varying = self.varying[:, rows]
        same = np.broadcast_to(self.same[rows], (len(varying), *self.same[rows].shape))
        return np.concatenate([same, varying], axis=2)

    def log_shares(self, theta: Floats, rows: slice) -> Floats:
        """(C, rows) the logarithm of P(class | z)."""
        gamma = self.split(theta)[2]
        logits = np.vstack([np.zeros(len(self.shares[rows])), gamma @ self.shares[rows].T])
        return np.asarray(logits - _log_sum(logits))

    def predictors(self, theta: Floats, rows: slice) -> Floats:
        """(C, rows) the linear predictor of each class."""
        beta, cut = self.split(theta)[0], self.same.shape[1]
        return np.asarray(self.varying[:, rows] @ beta[cut:] + self.same[rows] @ beta[:cut])

    def _joint(self, theta: Floats, rows: slice) -> tuple[Floats, Floats, Terms]:
        """(C, rows) log P(report, class, outcome), log P(class), and the outcome's terms."""
        log_shares = self.log_shares(theta, rows)
        terms = self.outcome.terms(rows, self.predictors(theta, rows), self.split(theta)[1])
        with np.errstate(divide="ignore"):
            log_given = np.log(self.given[rows].T)
        return log_given + log_shares + terms.log, log_shares, terms

    def log_likelihood(self, theta: Floats) -> float:
        """The log-likelihood alone."""
        total = 0.0
        for rows in self.blocks():
            found = _log_sum(self._joint(theta, rows)[0])
            total += float(found.sum() if self.weights is None else found @ self.weights[rows])
        return total

    def posterior(self, theta: Floats) -> Floats:
        """(rows, C) P(class | report, outcome, covariates)."""
        found = np.empty_like(self.given)
        for rows in self.blocks():
            joint = self._joint(theta, rows)[0]
            found[rows] = np.exp(joint - _log_sum(joint)).T
        return found

    def scores(self, theta: Floats) -> Iterator[tuple[slice, Floats]]:
        """Blocks of (rows, size) gradients of each person's log-likelihood, unweighted."""
        for rows in self.blocks():
            after, shares, _, terms = self._after(theta, rows)
            yield rows, self._scores(rows, after, shares, terms)

    def _after(self, theta: Floats, rows: slice) -> tuple[Floats, Floats, Floats, Terms]:
        """(C, rows) P(class | all), P(class | z); (rows,) log-likelihoods; the outcome's terms."""
        joint, log_shares, terms = self._joint(theta, rows)
        each = _log_sum(joint)
        return np.exp(joint - each), np.exp(log_shares), each, terms

    def _scores(self, rows: slice, after: Floats, shares: Floats, terms: Terms) -> Floats:
        slope = after * terms.by_eta
        parts = [
            slope.sum(axis=0)[:, None] * self.same[rows],
            np.einsum("cr,crv->rv", slope, self.varying[:, rows]),
        ]
        if terms.by_own is not None:
            parts.append((after * terms.by_own).sum(axis=0)[:, None])
        gained = (after - shares)[1:].T
        wide = gained[:, :, None] * self.shares[rows][:, None, :]
        return np.hstack([*parts, wide.reshape(len(wide), -1)])

    def sums(self, theta: Floats) -> Sums:
        """The log-likelihood, its gradient and its Hessian.

        Hessian of a person: E[h + s s' | seen] - E[s | seen] E[s | seen]', with s and h the
        derivatives if the class were known.
        """
        total, gradient, hessian = 0.0, np.zeros(self.size), np.zeros((self.size, self.size))
        for rows in self.blocks():
            after, shares, each, terms = self._after(theta, rows)
            weight = np.ones(len(each)) if self.weights is None else self.weights[rows]
            scores = self._scores(rows, after, shares, terms)
            total += float(weight @ each)
            gradient += weight @ scores
            hessian += self._curvature(rows, weight, after, shares, scores, terms)
        return Sums(total, gradient, (hessian + hessian.T) / 2)

    def known(self, theta: Floats) -> Floats:
        """(b, b) the information on beta and the law's own parameter, had all seen the class."""
        b, own = self.columns, self.outcome.own
        found = np.zeros((b + own, b + own))
        for rows in self.blocks():
            after, _, _, terms = self._after(theta, rows)
            heavy = after if self.weights is None else after * self.weights[rows]
            flat = np.concatenate(self.design(rows))
            found[:b, :b] -= flat.T @ ((heavy * terms.by_eta2).reshape(-1, 1) * flat)
            if terms.by_both is not None and terms.by_own2 is not None:
                both = (heavy * terms.by_both).ravel() @ flat
                found[b, :b] -= both
                found[:b, b] -= both
                found[b, b] -= float((heavy * terms.by_own2).sum())
        return found

    def _curvature(
        self,
        rows: slice,
        weight: Floats,
        after: Floats,
        shares: Floats,
        scores: Floats,
        terms: Terms,
    ) -> Floats:
        found, design, z = np.zeros((self.size, self.size)), self.design(rows), self.shares[rows]
        b, own, g = self.columns, self.outcome.own, z.shape[1]
        flat = np.concatenate(design)
        heavy = weight * after
        bend = (heavy * (terms.by_eta2 + terms.by_eta**2)).reshape(-1, 1)
        found[:b, :b] = flat.T @ (bend * flat)
        if terms.by_own is not None and terms.by_own2 is not None and terms.by_both is not None:
            both = heavy * (terms.by_both + terms.by_eta * terms.by_own)
            found[b, :b] = found[:b, b] = both.ravel() @ flat
            found[b, b] = float((heavy * (terms.by_own2 + terms.by_own**2)).sum())
        known = scores[:, : b + own]
        found[: b + own, : b + own] -= known.T @ (weight[:, None] * known)
        for one in range(1, self.classes):
            start = b + own + (one - 1) * g
            mine = slice(start, start + g)
            outer = design[one] * terms.by_eta[one][:, None]
            if terms.by_own is not None:
                outer = np.hstack([outer, terms.by_own[one][:, None]])
            mixed = (outer - known) * heavy[one][:, None]
            found[: b + own, mine] = mixed.T @ z
            found[mine, : b + own] = found[: b + own, mine].T
            for other in range(1, one + 1):
                place = b + own + (other - 1) * g
                bend = shares[one] * shares[other] - after[one] * after[other]
                if one == other:
                    bend = bend + after[one] - shares[one]
                square = z.T @ ((weight * bend)[:, None] * z)
                found[mine, place : place + g] = square
                found[place : place + g, mine] = square.T
        return found


def _log_sum(logs: Floats) -> Floats:
    """(rows,) the logarithm of the sum of (C, rows) exponentials."""
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=0)))


class Climb(NamedTuple):
    """Where a climb ended: parameters, the sums there, whether nothing is left to gain, steps."""

    theta: Floats
    sums: Sums
    converged: bool
    iterations: int


def climb(mixture: Mixture, start: Floats, steps: int = _STEPS) -> Climb:
    """A local maximum of the log-likelihood, by Newton's method with control of each step.

    Downhill curvature is turned round, so that a saddle repels.  Converged where the gain that a
    whole step promises is below 1e-7, after that step.
    """
    theta = np.asarray(start, dtype=np.float64)
    sums = mixture.sums(theta)
    own = slice(mixture.columns, mixture.columns + mixture.outcome.own)
    longest = _LONGEST
    for count in range(steps):
        values, vectors = np.linalg.eigh(sums.hessian)
        along = vectors.T @ sums.gradient
        strength = np.maximum(np.abs(values), 1e-12 * np.abs(values).max(initial=1.0))
        promise = float((along**2 / strength).sum())
        step = vectors @ (along / strength)
        if promise <= _LEFT:
            last = mixture.sums(theta + step)
            if last.log_likelihood >= sums.log_likelihood:
                theta, sums = theta + step, last
            return Climb(theta, sums, True, count)
        step *= min(1.0, longest / np.abs(step).max())
        longest = 2 * longest if np.abs(step).max() >= 0.99 * longest else _LONGEST
        trial = mixture.sums(theta + step)  # mostly good, so its derivatives are not wasted
        if not trial.log_likelihood > sums.log_likelihood:
            for _ in range(60):
                step = step / 2
                if mixture.log_likelihood(theta + step) > sums.log_likelihood:
                    break
            trial = mixture.sums(theta + step)
            if not trial.log_likelihood > sums.log_likelihood:  # rounding leaves nothing to gain
                done = promise <= 1e-9 * abs(sums.log_likelihood)
                return Climb(theta, sums, done, count)
        theta, sums = theta + step, trial
        if (theta[own] < NO_ERROR).any():
            return Climb(theta, sums, False, count + 1)
    return Climb(theta, sums, False, steps)
