"""Rows with gaps under multivariate Gaussians: integrating the gaps out, filling them, and learning from the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array
from suffice.core.statistics import Moments, Scatter

TOLERANCE, MOST_ROUNDS = 1e-9, 2000  # of EM: the largest change of a correlation, and when to give up


def by_pattern(x: Any) -> NDArray[np.intp]:
    """An order of the rows in which those with the same gaps follow each other."""
    packed = np.packbits(np.isnan(x), axis=1)
    return np.lexsort(packed.T[::-1])


def observed_log_density(x: Any, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Log p(observed entries | y) of every row under every class, and what that is at its peak, (rows, classes)."""
    order = by_pattern(x)
    out, peak = np.empty((2, len(x), len(mean)))
    rows = np.ascontiguousarray(x[order], dtype=np.float64)
    _core.gaussian_incomplete(rows, mean, covariance, None, out, peak, None, None)
    out[order], peak[order] = out.copy(), peak.copy()
    return out, peak


def fill(x: Any, mean: Array, covariance: Array) -> Array:
    """Rows with their gaps filled by the conditional mean of each class, (rows, classes, columns)."""
    order = by_pattern(x)
    out = np.empty((len(x), *mean.shape))
    rows = np.ascontiguousarray(x[order], dtype=np.float64)
    _core.gaussian_incomplete(rows, mean, covariance, None, None, None, out, None)
    out[order] = out.copy()
    return out


@dataclass(frozen=True)
class GapsEM:
    """Expectation and maximisation (Dempster, Laird and Rubin, 1977) for rows with gaps.

    Each round fills the gaps of every row by the conditional mean of its class, adds the conditional covariances of
    the fillings, and estimates again with `point`: of maximum likelihood, its fixed point is a maximum of the
    likelihood of what was observed; of other estimates, the one that agrees with what it expects.
    """

    scatter: Scatter
    point: Callable[[Scatter], tuple[Array, Array]]

    def run(self) -> Scatter:
        """The statistic expected of all rows, complete."""
        rows, weight, codes = self._rows()
        mean, covariance = self.point(self._start(rows, weight, codes))
        for _ in range(MOST_ROUNDS):
            expected = self._expected(rows, weight, codes, mean, covariance)
            before = mean, covariance
            mean, covariance = self.point(expected)
            if _change(before, (mean, covariance)) < TOLERANCE:
                break
        return expected

    def _rows(self) -> tuple[Array, Array, NDArray[np.int32]]:
        points = self.scatter.gaps.parts[0]
        codes = points.codes
        order = by_pattern(points.values)
        order = order[np.argsort(codes[order], kind="stable")]
        return np.ascontiguousarray(points.values[order]), points.weight[order], codes[order]

    def _start(self, rows: Array, weight: Array, codes: NDArray[np.int32]) -> Scatter:
        """Every observed entry counts for its own column, and nothing is known of correlations yet."""
        s = self.scatter
        squares = np.diagonal(s.cross, axis1=1, axis2=2)
        complete = Moments(np.repeat(s.weight[:, None], s.n_columns, axis=1), s.mean, squares)
        moments = complete + Moments.of(rows, codes, s.n_classes, weight)
        total, pooled, seen = s.total, moments.pooled(), moments.weight > 0
        # Of what a class never shows, the others know; of what nobody shows, any spread says as little.
        elsewhere = np.where(pooled.weight > 0, pooled.variance, 1.0)
        variance = np.where(seen, moments.variance, elsewhere)
        cross = (variance * total[:, None])[:, :, None] * np.eye(s.n_columns)
        mean = np.where(seen, moments.mean, pooled.mean)
        return Scatter(total, mean, cross, Scatter.empty(s.n_classes, s.n_columns).gaps, s.higher)

    def _expected(
        self, rows: Array, weight: Array, codes: NDArray[np.int32], mean: Array, covariance: Array
    ) -> Scatter:
        s = self.scatter
        spread = np.zeros_like(s.cross)
        filled = np.empty_like(rows)
        for c in range(s.n_classes):
            own = slice(*np.searchsorted(codes, [c, c + 1]))
            matrix = covariance[c : c + 1] if len(covariance) > 1 else covariance
            _core.gaussian_incomplete(
                rows[own], mean[c : c + 1], matrix, weight[own], None, None, filled[own], spread[c : c + 1]
            )
        return s.completed(Scatter.of(filled, codes, s.n_classes, weight), spread)


def _change(before: tuple[Array, Array], after: tuple[Array, Array]) -> float:
    """The largest change of a mean or covariance, compared with the deviations of its columns."""
    (mean, covariance), (new_mean, new_covariance) = before, after
    deviation = np.sqrt(np.maximum(np.diagonal(new_covariance, axis1=1, axis2=2), 1e-300))
    moved = np.abs(new_mean - mean) / deviation
    bent = np.abs(new_covariance - covariance) / (deviation[:, :, None] * deviation[:, None, :])
    return float(max(moved.max(initial=0.0), bent.max(initial=0.0)))
