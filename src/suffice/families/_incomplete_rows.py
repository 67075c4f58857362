"""Rows with missing values under multivariate Gaussians: integrate them out, fill them in, and learn from the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Dense
from suffice.core.statistics import Moments, Scatter

TOLERANCE, MOST_ROUNDS = 1e-9, 2000  # of EM: the largest change of a correlation, and the number of rounds


def by_pattern(x: Dense) -> NDArray[np.intp]:
    """Return an order of the rows in which those with the same missing columns follow each other."""
    packed = np.packbits(np.isnan(x), axis=1)
    return np.lexsort(packed.T[::-1])


def observed_log_density(x: Dense, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Compute log p(observed entries | y) of every row under every class, and its maximum, (rows, classes) each."""
    order = by_pattern(x)
    out, peak = np.empty((2, len(x), len(mean)))
    rows = np.ascontiguousarray(x[order], dtype=np.float64)
    _core.gaussian_incomplete(rows, mean, covariance, None, out, peak, None, None)
    out[order], peak[order] = out.copy(), peak.copy()
    return out, peak


def fill(x: Dense, mean: Array, covariance: Array) -> Array:
    """Fill missing values by their conditional mean in each class, (rows, classes, columns)."""
    order = by_pattern(x)
    out = np.empty((len(x), *mean.shape))
    rows = np.ascontiguousarray(x[order], dtype=np.float64)
    _core.gaussian_incomplete(rows, mean, covariance, None, None, None, out, None)
    out[order] = out.copy()
    return out


@dataclass(frozen=True)
class MissingValuesEM:
    """Expectation-maximization (Dempster, Laird and Rubin, 1977) for rows with missing values.

    Each round fills the missing values of every row by their conditional mean in the row's class, adds their
    conditional covariances, and estimates again with `point`. If `point` is maximum likelihood, the fixed point is a
    maximum of the likelihood of the observed entries. With another estimate it is the one that agrees with the
    statistic expected under it.
    """

    scatter: Scatter
    point: Callable[[Scatter], tuple[Array, Array]]

    def run(self) -> Scatter:
        """Return the expected statistic of all rows, which has no missing values."""
        rows, weight, codes = self._rows()
        mean, covariance = self.point(self._start(rows, weight, codes))
        for _ in range(MOST_ROUNDS):
            expected = self._expected(rows, weight, codes, mean, covariance)
            before = mean, covariance
            mean, covariance = self.point(expected)
            if _change(before, (mean, covariance)) < TOLERANCE:
                break
        return expected

    def _rows(self) -> tuple[Array, Array, Codes]:
        points = self.scatter.gaps.parts[0]
        codes = points.codes
        order = by_pattern(points.values)
        order = order[np.argsort(codes[order], kind="stable")]
        return np.ascontiguousarray(points.values[order]), points.weight[order], codes[order]

    def _start(self, rows: Array, weight: Array, codes: Codes) -> Scatter:
        """Return the means and variances of the observed entries of each column, without correlations."""
        s = self.scatter
        squares = np.diagonal(s.cross, axis1=1, axis2=2)
        complete = Moments(np.repeat(s.weight[:, None], s.n_columns, axis=1), s.mean, squares)
        moments = complete + Moments.of(rows, codes, s.n_classes, weight)
        total, pooled, observed = s.total, moments.pooled(), moments.weight > 0
        # A class without values of a column takes those of all classes. If there are none, the variance is arbitrary.
        pooled_variance = np.where(pooled.weight > 0, pooled.variance, 1.0)
        variance = np.where(observed, moments.variance, pooled_variance)
        cross = (variance * total[:, None])[:, :, None] * np.eye(s.n_columns)
        mean = np.where(observed, moments.mean, pooled.mean)
        return Scatter(total, mean, cross, Scatter.empty(s.n_classes, s.n_columns).gaps, s.higher)

    def _expected(self, rows: Array, weight: Array, codes: Codes, mean: Array, covariance: Array) -> Scatter:
        s = self.scatter
        spread = np.zeros_like(s.cross)
        filled = np.empty_like(rows)
        for c in range(s.n_classes):
            part = slice(*np.searchsorted(codes, [c, c + 1]))
            matrix = covariance[c : c + 1] if len(covariance) > 1 else covariance
            _core.gaussian_incomplete(
                rows[part], mean[c : c + 1], matrix, weight[part], None, None, filled[part], spread[c : c + 1]
            )
        return s.completed(Scatter.of(filled, codes, s.n_classes, weight), spread)


def _change(before: tuple[Array, Array], after: tuple[Array, Array]) -> float:
    """Compute the largest change of a mean or covariance, relative to the deviations of its columns."""
    (mean, covariance), (new_mean, new_covariance) = before, after
    deviation = np.sqrt(np.maximum(np.diagonal(new_covariance, axis1=1, axis2=2), 1e-300))
    of_mean = np.abs(new_mean - mean) / deviation
    of_covariance = np.abs(new_covariance - covariance) / (deviation[:, :, None] * deviation[:, None, :])
    return float(max(of_mean.max(initial=0.0), of_covariance.max(initial=0.0)))
