"""Covariance of estimates from the scores of few clusters, CR2, and its degrees of freedom.

Estimates solve sum_g s_g = 0 over clusters g; B is the inverse of the information, the sum of the
I_g.  With r_g = s_g - I_g B sum_h s_h the variance of a contrast c is a quadratic form of
q_g = c' K_g r_g: the sum of their squares for CR2, the spread within strata for linearized
variances.  Where rows are independent, the working model, scores have covariances M_g that are
known up to a factor; then those of the q_g are a matrix P, and the variance is nearly chi-squared
with Satterthwaite's degrees of freedom, (trace P)^2 / trace P^2.
Sources: Bell and McCaffrey (2002); Pustejovsky and Tipton (2018) for tests of several contrasts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rrstats._cached import cached_property
from rrstats._typing import Booleans, Floats

MAX_CLUSTERS = 100
"""Up to so many clusters there are CR2 and its degrees of freedom; their time grows as squares."""

_NO_VARIANCE = 1e-10
"""A part of the fit that a cluster leaves to the others, below which it decides by itself."""

_DECIDED = 1e-8
"""The part of a contrast's variance in directions that one cluster decides, above which it has no
degrees of freedom; also the distance of a leverage from 1, within which a cluster decides."""

_PRODUCTS = 1 << 20
"""Numbers of the matrices P that are in memory at once."""

_FEW_ESTIMATES = 32
"""Up to so many estimates squares of P of many contrasts are polynomials with b^4 / 4 terms."""


@dataclass(frozen=True, eq=False)
class ClusterSandwich:
    """A covariance of b estimates from G clusters.

    sums : (G, b) scores of the clusters.  informations : (G, b, b) their parts of the information,
    of whose sum ``bread`` is the inverse.  meats : (G, b, b) covariances of their scores, up to a
    factor, if rows are independent.
    factors : (G, b, b) K_g.  form : (G, G) of the quadratic form, or None for squares.
    """

    sums: Floats
    informations: Floats
    meats: Floats
    bread: Floats
    factors: Floats
    form: Floats | None = None

    @classmethod
    def reduced(
        cls, sums: Floats, informations: Floats, bread: Floats, meats: Floats | None = None
    ) -> ClusterSandwich:
        """CR2: unbiased where the working model holds.

        The residuals of a cluster are shrunk by its part of the fit; its scores are raised by
        (I - information bread)^(-1/2).  Where one cluster decides a coefficient, it carries no
        information on its error.  meats : by default the informations.
        """
        values, vectors = np.linalg.eigh(bread)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        leverages, axes = np.linalg.eigh(root.T @ informations @ root)
        remaining = 1 - leverages
        raised = np.where(
            remaining > _NO_VARIANCE, np.maximum(remaining, _NO_VARIANCE) ** -0.5, 0.0
        )
        raising = (axes * raised[:, None]) @ axes.swapaxes(1, 2)
        meats = informations if meats is None else meats
        return cls(sums, informations, meats, bread, root @ raising @ root.T)

    @classmethod
    def within(
        cls,
        sums: Floats,
        informations: Floats,
        bread: Floats,
        form: Floats,
        *,
        meats: Floats | None = None,
    ) -> ClusterSandwich:
        """The linearized covariance of a sample, whose form is the spread within strata."""
        meats = informations if meats is None else meats
        return cls(sums, informations, meats, bread, np.broadcast_to(bread, meats.shape), form)

    @property
    def covariance(self) -> Floats:
        """(b, b) of the estimates."""
        errors = (self.factors @ self.sums[:, :, None])[:, :, 0]
        return np.asarray(errors.T @ self._weighed(errors))

    def _weighed(self, values: Floats) -> Floats:
        """(..., G, G) or (G, b) values times the form."""
        return values if self.form is None else np.asarray(self.form @ values)

    def _parts(self, contrasts: Floats) -> tuple[Floats, Floats, Floats]:
        """(n, G, b) a_g = K_g' c, M_g a_g and B I_g a_g of (n, b) contrasts."""
        weights = contrasts @ self.factors  # (G, n, b)
        parts = weights, weights @ self.meats, weights @ self.informations @ self.bread
        weights, meat, moved = (np.swapaxes(part, 0, 1) for part in parts)
        return weights, meat, moved

    def _products(self, contrasts: Floats) -> Floats:
        """(n, G, G) the matrix P of each contrast, times the form."""
        weights, meat, moved = self._parts(contrasts)
        crossed = meat @ moved.swapaxes(1, 2)
        products = (moved @ self.meats.sum(axis=0)) @ moved.swapaxes(1, 2)
        products -= crossed + crossed.swapaxes(1, 2)
        places = np.arange(len(self.sums))
        products[:, places, places] += (weights * meat).sum(axis=2)
        return self._weighed(products)

    @cached_property
    def _decided(self) -> Floats:
        """(d, b) directions that one cluster decides alone, each with its whole variance.

        The cluster's residuals are 0 there, so that no covariance has the error of its part.
        """
        values, vectors = np.linalg.eigh(self.bread)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        leverages, axes = np.linalg.eigh(root.T @ self.informations @ root)
        directions = root @ axes  # (G, b, b), in columns
        return np.asarray(directions.swapaxes(1, 2)[np.abs(1 - leverages) < _DECIDED])

    def is_decided(self, contrasts: Floats) -> Booleans:
        """(n,) whether one cluster alone decides (n, b) contrasts, also in part."""
        parts = ((contrasts @ self._decided.T) ** 2).sum(axis=1)
        variances = ((contrasts @ self.bread) * contrasts).sum(axis=1)
        return np.asarray(parts > _DECIDED * variances)

    def df(self, contrasts: Floats) -> Floats:
        """(n,) Satterthwaite's, at least 1, for the variances of (n, b) contrasts; or NaN.

        There are none where one cluster decides a contrast: its variance is not estimated.
        """
        size = len(self.bread)
        is_polynomial = size <= _FEW_ESTIMATES and len(contrasts) > size**2
        step = max(_PRODUCTS // (size**2 if is_polynomial else len(self.sums) ** 2), 1)
        first, second = np.triu_indices(size)
        traces = np.empty((2, len(contrasts)))
        for start in range(0, len(contrasts), step):
            some = contrasts[start : start + step]
            if is_polynomial:
                pairs = some[:, first] * some[:, second]
                linear, quadratic = self._polynomials
                trace = pairs @ linear
                of_squares = ((pairs @ quadratic) * pairs).sum(axis=1)
            else:
                products = self._products(some)
                trace = np.trace(products, axis1=1, axis2=2)
                of_squares = np.einsum("ngh,nhg->n", products, products)
            traces[:, start : start + step] = trace, of_squares
        with np.errstate(invalid="ignore", divide="ignore"):
            df = np.maximum(traces[0] ** 2 / traces[1], 1.0)
        return np.where(self.is_decided(contrasts), np.nan, df)

    @cached_property
    def _polynomials(self) -> tuple[Floats, Floats]:
        """(d,) and (d, d) coefficients of trace P and trace P^2 in the d products of a contrast.

        d is b (b + 1) / 2: products are taken once for each pair of numbers.
        """
        count, b, _ = self.factors.shape
        meat = self.factors @ self.meats
        moved = self.factors @ self.informations @ self.bread
        of_pairs = np.einsum("gij,hkj->ghik", moved @ self.meats.sum(axis=0) - meat, moved)
        of_pairs -= np.einsum("gij,hkj->ghik", moved, meat)
        places = np.arange(count)
        of_pairs[places, places] += meat @ self.factors.swapaxes(1, 2)
        if self.form is not None:
            of_pairs = np.einsum("gk,khij->ghij", self.form, of_pairs)
        first, second = np.triu_indices(b)
        flat = of_pairs[:, :, first, second]
        flat += np.where(first == second, 0.0, of_pairs[:, :, second, first])
        squares = flat.reshape(-1, len(first)).T @ flat.swapaxes(0, 1).reshape(-1, len(first))
        return np.asarray(flat[places, places].sum(axis=0)), np.asarray(squares)

    def joint_df(self, contrasts: Floats) -> float:
        """Degrees of freedom of Hotelling's T2 of (q, b) contrasts.

        Those of a Wishart matrix whose entries have the same total variance; NaN as for `df`.
        """
        if self.is_decided(contrasts).any():
            return np.nan
        weights, meat, moved = self._parts(contrasts)
        total = self.meats.sum(axis=0)
        q = len(contrasts)
        places = np.arange(len(self.sums))
        products = np.empty((q, q, len(places), len(places)))
        for s in range(q):
            for t in range(q):
                of_pair = moved[s] @ total @ moved[t].T
                of_pair -= meat[s] @ moved[t].T + moved[s] @ meat[t].T
                of_pair[places, places] += (weights[s] * meat[t]).sum(axis=1)
                products[s, t] = self._weighed(of_pair)
        means = np.trace(products, axis1=2, axis2=3)
        values, vectors = np.linalg.eigh(means)
        standard = vectors / np.sqrt(values)
        products = np.einsum("as,bt,abgh->stgh", standard, standard, products)
        of_each = products[np.arange(q), np.arange(q)]
        variance = np.einsum("sgh,thg->", of_each, of_each)
        variance += np.einsum("stgh,sthg->", products, products)
        return float(q * (q + 1) / variance)
