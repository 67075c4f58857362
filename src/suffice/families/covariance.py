"""Covariance matrices: shrink them, keep them positive, and use rows with missing values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Dense
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.parallel import in_threads
from suffice.core.statistics import Moments, Sample, Scatter

LOG_2PI = float(np.log(2.0 * np.pi))
ROUNDING = 2.0**-46  # of sums of products in float64
SMALL = 512  # columns of a matrix that one thread is enough for

Shrinkage: TypeAlias = float | Literal["ledoit-wolf", "oas"] | None
Toward: TypeAlias = Literal["sphere", "diagonal", "identity"]


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread(columns: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread for matrices of few columns.

    Its other threads would gain nothing there, and they keep spinning for a tenth of a second while ours work.
    """
    return _libraries().limit(limits=1, user_api="blas") if columns <= SMALL else nullcontext()


def diagonals(matrices: Array) -> Array:
    """Return the diagonal of each matrix, (…, columns)."""
    return np.diagonal(matrices, axis1=-2, axis2=-1)


def per_weight(cross: Array, weight: Array) -> Array:
    """Divide cross-products by their weight; 0 where the weight is 0."""
    norm, out = np.where(weight > 0, weight, np.inf), np.empty(cross.shape)
    in_threads(lambda c: np.divide(cross[c], norm[c], out=out[c]), range(len(cross)), cross.size)
    return out


def average(cross: Array, weight: Array, share: Array) -> Array:
    """Compute Σ_c share_c · cross_c / weight_c, (columns, columns); a class of weight 0 counts for nothing."""
    return np.asarray(np.einsum("c,cij->ij", share / np.where(weight > 0, weight, np.inf), cross))  # stays symmetric


# -------------------------------------------------------------------------------------------- shrinkage


def shrunk(covariance: Array, scatter: Scatter, shrinkage: Shrinkage, toward: Toward) -> Array:
    """Compute (1 − s) Σ + s T.

    The target T is the average variance in every direction ("sphere"), the variances alone ("diagonal") or the
    identity. s is given, or estimated for each class by Ledoit and Wolf or by OAS.
    """
    if shrinkage is None:
        return covariance
    variance = diagonals(covariance)
    unit = np.ones_like(variance)
    if toward == "diagonal":  # shrink correlations, which do not depend on the units of the columns
        unit = np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0)
    units = unit[:, :, None] * unit[:, None, :]
    scaled = covariance / units
    if shrinkage == "oas":
        amount = oas(scaled, scatter.weight)[:, None, None]
    elif shrinkage == "ledoit-wolf":
        amount = ledoit_wolf(scaled, scatter, unit)[:, None, None]
    else:
        amount = np.full((1, 1, 1), shrinkage)
    level = 1.0 if toward == "identity" else diagonals(scaled).mean(axis=1)[:, None, None]
    return units * ((1.0 - amount) * scaled + amount * level * np.eye(covariance.shape[-1]))


def oas(covariance: Array, weight: Array) -> Array:
    """Oracle approximating shrinkage (Chen, Wiesel, Eldar and Hero, 2010, eq. 23), (classes,)."""
    d = covariance.shape[-1]
    size = diagonals(covariance).max(axis=1, initial=0.0)[:, None, None]
    covariance = covariance / np.where(size > 0, size, 1.0)  # s does not depend on the unit
    square, level = (covariance**2).mean(axis=(1, 2)), diagonals(covariance).mean(axis=1) ** 2
    down = (weight + 1.0) * (square - level / d)
    return np.minimum(np.divide(square + level, down, out=np.ones_like(down), where=down > 0), 1.0)


def ledoit_wolf(covariance: Array, scatter: Scatter, unit: Array) -> Array:
    """Compute β/δ of Ledoit and Wolf (2004), (classes,): the sampling variance of Σ over its distance from a sphere."""
    assert scatter.higher is not None, "the family asked for the products of squares"
    d, n = covariance.shape[-1], np.maximum(scatter.weight, 1e-300)

    def averaged(products: Array) -> Array:
        # One column after the other: the product of two tiny variances would be 0.
        return np.asarray((products / unit[:, :, None] ** 2 / unit[:, None, :] ** 2).sum(axis=(1, 2)) / n)

    average = averaged(scatter.higher.fourth)
    observed = per_weight(scatter.cross, scatter.weight) / (unit[:, :, None] * unit[:, None, :])
    size = (observed**2).sum(axis=(1, 2))
    variance = diagonals(observed)
    deviation = np.sqrt(scatter.doubt / n[:, None]) / unit
    unsure = deviation[:, :, None] * deviation[:, None, :]
    # Of two rows of one weight both are the same: what only rounding leaves is no sampling variance.
    doubt = 2.0 * averaged(scatter.higher.doubt) + 4.0 * (np.abs(observed) * unsure).sum(axis=(1, 2))
    excess = np.where(average - size > doubt + ROUNDING * average, average - size, 0.0)
    beta = excess / (d * n)
    delta = (size - variance.sum(axis=1) ** 2 / d) / d
    beta = np.clip(beta, 0.0, np.maximum(delta, 0.0))
    return np.divide(beta, delta, out=np.zeros_like(beta), where=delta > 0)


# ------------------------------------------------------------------------------- estimators of other libraries


def as_scatter(statistic: Scatter | Sample) -> Scatter:
    """Return the scatter of a sample of rows, without the rows that have missing values."""
    if isinstance(statistic, Scatter):
        return statistic
    points = statistic.parts[0]
    return Scatter.of(points.values, points.codes, statistic.n_classes, points.weight, complete=True)


def fitted_covariances(sample: Sample, estimator: Any) -> Array:
    """Fit an estimator like scikit-learn's to the complete rows of each class, and return its `covariance_`."""
    out = np.zeros((sample.n_classes, sample.n_columns, sample.n_columns))
    for c in range(sample.n_classes):
        values, weight = sample.parts[0].of_class(c)
        complete = ~np.isnan(values).any(axis=1)
        times = weight[complete].astype(np.int64)
        if (times != weight[complete]).any():
            raise InvalidDataError(
                f"{type(estimator).__name__} takes no weights: with it, the weights of rows must be integers"
            )
        if not times.sum():
            continue
        fitted = deepcopy(estimator)  # scikit-learn's `clone` would need `get_params`
        fitted.fit(np.repeat(values[complete], times, axis=0))
        if not hasattr(fitted, "covariance_"):
            raise InvalidOptionError(f"{type(estimator).__name__} does not have a covariance_ attribute")
        out[c] = fitted.covariance_
    return out


# --------------------------------------------------------------------------------------- positive matrices


class Positive(NamedTuple):
    """Covariances made positive definite, their Cholesky factors L, and the covariances and their rank before."""

    covariance: Array
    factor: Array
    estimated: Array
    rank: NDArray[np.int64]


def raised(covariance: Array, least: Array, floor: float) -> Positive:
    """Raise the eigenvalues of each correlation matrix to at least `floor`, and variances to `least` (columns,).

    A class that does not vary in a direction then has a very small variance in it.
    """
    if not np.isfinite(covariance).all():
        raise InvalidDataError("A covariance is too large for float64: rescale the columns or the weights")
    columns, factor = len(least), np.empty_like(covariance)

    def raise_one(m: int) -> tuple[Array | None, int]:
        return _raised_one(covariance[m], least, floor, factor[m])

    each = in_threads(raise_one, range(len(covariance)), len(covariance) * columns**3 // 8)
    positive = covariance if all(matrix is None for matrix, _ in each) else covariance.copy()
    for m, (matrix, _) in enumerate(each):
        if matrix is not None:
            positive[m] = matrix
    return Positive(positive, factor, covariance, np.array([rank for _, rank in each], np.int64))


def _raised_one(covariance: Array, least: Array, floor: float, factor: Array) -> tuple[Array | None, int]:
    """Return one covariance that was raised, None if it is as it was, and the rank before; `factor` is written."""
    variance = np.diagonal(covariance)
    constant = variance <= least
    scale = np.sqrt(np.where(constant, least, variance))
    correlation = np.multiply.outer(scale, scale)
    np.divide(covariance, correlation, out=correlation)
    correlation[constant] = 0.0
    correlation[:, constant] = 0.0
    np.fill_diagonal(correlation, 1.0)
    rank, changed = int((~constant).sum()), bool(constant.any())
    try:
        root = np.linalg.cholesky(correlation)
        low = np.diagonal(root).min(initial=1.0) ** 2 < 4.0 * floor  # a pivot bounds the least eigenvalue
    except np.linalg.LinAlgError:
        low = True
    if low:
        values, vectors = np.linalg.eigh(correlation)
        # A constant column has the eigenvalue 1 here, but does not count for the rank.
        rank, changed = int((values > floor).sum() - constant.sum()), True
        if (values < floor).any():
            correlation = (vectors * np.maximum(values, floor)) @ vectors.T
            correlation = 0.5 * (correlation + correlation.T)
        root = np.linalg.cholesky(correlation)
    np.multiply(root, scale[:, None], out=factor)
    return correlation * np.multiply.outer(scale, scale) if changed else None, rank


def exceeds(matrix: Array, least: float) -> bool:
    """Tell whether every eigenvalue is above `least`, by trying to factorize what is above it."""
    above = matrix.copy()
    above.flat[:: len(matrix) + 1] -= least
    try:
        np.linalg.cholesky(above)
    except np.linalg.LinAlgError:
        return False
    return True


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
            if not _change(before, (mean, covariance)) >= TOLERANCE:  # NaN, of numbers that overflow, does not converge
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
