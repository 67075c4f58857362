"""Covariance matrices: shrinking them, and keeping them positive."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.statistics import Sample, Scatter

LOG_2PI = float(np.log(2.0 * np.pi))
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
    norm = np.where(weight > 0, weight, np.inf)
    return np.asarray(cross / norm[:, None, None])


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
    amount = _amount(scaled, scatter, unit, shrinkage)[:, None, None]
    level = 1.0 if toward == "identity" else diagonals(scaled).mean(axis=1)[:, None, None]
    return units * ((1.0 - amount) * scaled + amount * level * np.eye(covariance.shape[-1]))


def _amount(covariance: Array, scatter: Scatter, unit: Array, shrinkage: Shrinkage) -> Array:
    if shrinkage == "oas":
        return oas(covariance, scatter.weight)
    if shrinkage == "ledoit-wolf":
        return ledoit_wolf(covariance, scatter, unit)
    return np.full(len(covariance), shrinkage, dtype=np.float64)


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
    squares = unit[:, :, None] ** 2 * unit[:, None, :] ** 2
    average = (scatter.higher.fourth / squares).sum(axis=(1, 2)) / n
    observed = per_weight(scatter.cross, scatter.weight) / (unit[:, :, None] * unit[:, None, :])
    size = (observed**2).sum(axis=(1, 2))
    variance = diagonals(observed)
    beta = (average - size) / (d * n)
    delta = (size - variance.sum(axis=1) ** 2 / d) / d
    beta = np.clip(beta, 0.0, np.maximum(delta, 0.0))
    return np.divide(beta, delta, out=np.zeros_like(beta), where=delta > 0)


# ------------------------------------------------------------------------------- estimators of other libraries


class CovarianceEstimator(Protocol):
    """An estimator like those of scikit-learn: after `fit` it has a `covariance_`."""

    def fit(self, X: Array) -> object: ...  # noqa: D102


def as_scatter(statistic: Scatter | Sample) -> Scatter:
    """Return the scatter of a sample of rows, without the rows that have missing values."""
    if isinstance(statistic, Scatter):
        return statistic
    points = statistic.parts[0]
    return Scatter.of(points.values, points.codes, statistic.n_classes, points.weight, complete=True)


def fitted_covariances(sample: Sample, estimator: CovarianceEstimator) -> Array:
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
    variance = diagonals(covariance)
    constant = variance <= least
    scale = np.sqrt(np.where(constant, least, variance))
    scales = scale[:, :, None] * scale[:, None, :]
    correlation = covariance / scales
    correlation[constant[:, :, None] | constant[:, None, :]] = 0.0
    correlation[:, np.arange(len(least)), np.arange(len(least))] = 1.0
    rank = (~constant).sum(axis=1)
    try:
        factor = np.linalg.cholesky(correlation)
        low = diagonals(factor).min(axis=1, initial=1.0) ** 2 < 4.0 * floor  # a pivot bounds the least eigenvalue
    except np.linalg.LinAlgError:
        factor, low = np.zeros_like(correlation), np.ones(len(correlation), dtype=bool)
    for m in np.flatnonzero(low):
        values, vectors = np.linalg.eigh(correlation[m])
        # A constant column has the eigenvalue 1 here, but does not count for the rank.
        rank[m] = (values > floor).sum() - constant[m].sum()
        if (values < floor).any():
            correlation[m] = (vectors * np.maximum(values, floor)) @ vectors.T
            correlation[m] = 0.5 * (correlation[m] + correlation[m].T)
        factor[m] = np.linalg.cholesky(correlation[m])
    if not low.any() and not constant.any():
        return Positive(covariance, factor * scale[:, :, None], covariance, rank)
    return Positive(correlation * scales, factor * scale[:, :, None], covariance, rank)
