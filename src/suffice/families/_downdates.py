"""Leaving each row out of a multivariate Gaussian, exactly and without fitting again.

Without row x of weight v, a class of weight n, mean μ and cross-products S has, with z = x − μ,

    weight n − v,   mean μ − v/(n − v) z,   cross-products S − b z zᵀ,   b = n v / (n − v).

The covariance is then α (M − b z zᵀ) + β I, where M is the same for all rows of one class and weight. In the
eigenbasis of M its inverse and determinant follow from those of the diagonal matrix α Λ + β I by the formulas of
Sherman and Morrison. So a row costs as much as one prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Dense, Mask, distinct_pairs
from suffice.core.statistics import Sample, Scatter
from suffice.families._base import Distribution
from suffice.families.covariance import LOG_2PI

if TYPE_CHECKING:
    from suffice.families.multivariate_gaussian import MultivariateGaussian

SAFE = 1e-7  # the share of a variance that must remain without a row: with less, rounding could lose a direction


@dataclass(frozen=True)
class Downdates:
    """The options of a family, the statistic of all rows, and the distribution estimated from it."""

    family: MultivariateGaussian
    scatter: Scatter
    fitted: Distribution

    @classmethod
    def of(cls, family: MultivariateGaussian, scatter: Scatter | Sample, fitted: Distribution) -> Downdates | None:
        """Return None if a row changes the covariance by more than a rank-one downdate."""
        if not isinstance(scatter, Scatter):
            return None
        plain = family.prior is None and family.covariance == "full" and family.toward in ("sphere", "identity")
        known = (scatter.weight > 0).all() and not len(scatter.gaps.parts[0].weight)
        if not plain or isinstance(family.shrinkage, str) or not known:
            return None
        return cls(family, scatter, fitted)

    def log_density(self, x: Dense, codes: Codes, weight: Array) -> tuple[Array, NDArray[np.intp]]:
        """Compute log p(x_i | y) without row i, (rows, classes), and the rows that must be left out one by one."""
        out = self.fitted.log_density(x)
        complete = ~np.isnan(x).any(axis=1)  # of an incomplete row the statistic only holds the weight of its class
        unsafe = np.zeros(len(codes), dtype=bool)
        present = np.flatnonzero(complete & (weight > 0))
        classes, removed, which = distinct_pairs(codes[present], weight[present])
        for number in range(len(classes)):
            rows = present[which == number]
            for part in np.array_split(rows, max(1, len(rows) * x.shape[1] * len(out[0]) >> 22)):
                with np.errstate(all="ignore"):  # unsafe rows are computed otherwise
                    unsafe[part] = ~self._fill(out, part, x[part], int(classes[number]), float(removed[number]))
        return out, np.flatnonzero(unsafe)

    def _fill(self, out: Array, rows: NDArray[np.intp], x: Dense, c: int, v: float) -> Mask:
        """Write the log-densities of rows of one class and weight to `out`; return which of them are safe."""
        family, scatter = self.family, self.scatter
        rest, d = scatter.weight[c] - v, x.shape[1]
        norm = self._norm(c, v)
        if rest <= 1e-9 * scatter.weight[c] or norm <= 0:
            return np.zeros(len(rows), dtype=bool)
        z = np.asarray(x, dtype=np.float64) - scatter.mean[c]
        matrix, b = self._matrix(c, v)
        values, basis = np.linalg.eigh(matrix)
        assert not isinstance(family.shrinkage, str), "checked by `of`"
        shrinkage = family.shrinkage or 0.0
        alpha = (1.0 - shrinkage) / norm
        level: float | Array = shrinkage
        if shrinkage and family.toward == "sphere":
            level = shrinkage * (np.trace(matrix) - b * (z * z).sum(axis=1, keepdims=True)) / (norm * d)
        base = alpha * values + level
        y = z @ basis
        left = 1.0 - alpha * b * (y * y / base).sum(axis=1)
        safe = (left > SAFE) & (base > SAFE * np.max(base, axis=-1, keepdims=True)).all(axis=-1)
        left = np.where(safe, left, 1.0)
        log_determinant = np.log(np.where(base > 0, base, 1.0)).sum(axis=-1) + np.log(left)
        centres = (scatter.mean - scatter.mean[c]) @ basis
        for k in range(len(scatter.weight)) if family.tied else [c]:
            u = y * (scatter.weight[c] / rest) if k == c else y - centres[k]
            across = (u * y / base).sum(axis=1)
            distance = (u * u / base).sum(axis=1) + alpha * b * across**2 / left
            out[rows, k] = -0.5 * (distance + log_determinant + d * LOG_2PI)
        return np.broadcast_to(safe, len(rows))

    def _norm(self, c: int, v: float) -> float:
        """Return the number that M is divided by."""
        family, weight = self.family, self.scatter.weight
        if not family.tied:
            return float(weight[c] - v - family.unbiased)
        total = weight.sum() - v
        if family.share is None:
            return float(total - family.unbiased * len(weight))
        return float(1.0 - len(weight) / total) if family.unbiased else 1.0

    def _matrix(self, c: int, v: float) -> tuple[Array, float]:
        """Return M and b for rows of class c and weight v."""
        scatter, family = self.scatter, self.family
        rest = scatter.weight[c] - v
        b = scatter.weight[c] * v / rest
        if not family.tied:
            return scatter.cross[c], b
        if family.share is None:
            return scatter.cross.sum(axis=0), b
        weight = scatter.weight.copy()
        weight[c] = rest
        share = family.share / weight
        return np.einsum("c,cij->ij", share, scatter.cross), b * share[c]
