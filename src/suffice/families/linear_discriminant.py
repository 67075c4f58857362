"""Tied Gaussians and the directions that separate the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from suffice.core.arrays import Array, Codes, Dense, Values
from suffice.core.errors import SingularCovarianceError
from suffice.core.statistics import Sample, Scatter
from suffice.core.validation import Held
from suffice.families._base import Distribution, resolution
from suffice.families.covariance import as_scatter, diagonals, exceeds, raised
from suffice.families.multivariate_gaussian import MultivariateGaussian, MultivariateGaussianDistribution

Solver = Literal["svd", "lsqr", "eigen"]

WELL_APART = 1e-8  # from 0 of the least eigenvalue of a correlation matrix whose Cholesky factor keeps digits


class LinearDiscriminant(MultivariateGaussian):
    """Tied Gaussians with Fisher's directions, in which the means differ most relative to the spread within classes.

    `solver` says how the covariance within classes is inverted. `"svd"` leaves out directions in which, after scaling
    each column by its deviation, the classes vary by no more than `tol`. `"lsqr"` solves by least squares. `"eigen"`
    needs a covariance that has an inverse. `priors` (classes,) are the weights of the means for the common centre; by
    default they are the shares of the classes.
    """

    solver: Solver = "svd"
    tol: Annotated[float, Held(least=0)] = 1e-4
    priors: Annotated[Values | None, Held("classes", given=True, least=0)] = None

    public: ClassVar = False

    def height(self) -> int | None:
        """Return the number of classes of `share` or `priors`; None if there are none."""
        return super().height() if self.priors is None else len(self.priors)

    def _estimate(self, statistic: Scatter | Sample) -> Distribution:
        """Estimate means and covariance, and solve for the directions."""
        statistic = self.complete(statistic)
        mean, covariance = self.point(statistic)
        positive = raised(covariance, resolution(mean), self.floor)
        scatter = as_scatter(statistic)
        priors = self._share(scatter) if self.priors is None else np.asarray(self.priors)
        if self.solver == "svd":
            directions = _by_singular_values(scatter, mean, priors, self.tol)
        elif self.solver == "eigen":
            total = self.covariances(statistic.pooled())[0]
            directions = _by_eigenvalues(mean, covariance[0], total)
        else:
            from scipy.linalg import lstsq

            least = _undecided(scatter, self._share(scatter), covariance[0])
            directions = Directions.solved(lambda means: lstsq(covariance[0], means.T, cond=least)[0].T, mean)
        return LinearDiscriminantDistribution(mean, *positive, self.free(*mean.shape), directions)

    def leave_one_out(
        self, statistic: Scatter | Sample, fitted: Distribution, x: Dense, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave rows out by downdates; if directions were left out, one by one, up to a term that all classes share."""
        assert isinstance(fitted, LinearDiscriminantDistribution)
        if fitted.rank[0] == fitted.n_columns:
            return super().leave_one_out(statistic, fitted, x, codes, weight)
        return self._one_by_one(statistic, x, codes, weight, relative=True)


@dataclass(frozen=True)
class Directions:
    """The result of a solver: log p(x | y) = coef·x + intercept + a term that all classes share.

    `about` is an origin, coefficients and a level. coef·(x − origin) + level are the same scores up to such a term,
    and keep their digits if the columns lie far from 0. `scalings` (columns, directions) project rows, less their
    `centre`, on the directions that separate the classes. `explained` is the share of the variance between classes in
    each direction. The least-squares solver computes neither.
    """

    coef: Array
    intercept: Array
    about: tuple[Array, Array, Array]
    scalings: Array | None = None
    explained: Array | None = None
    centre: Array | None = None

    @classmethod
    def solved(cls, solve: Callable[[Array], Array], mean: Array, **found: Any) -> Directions:
        """Solve for Σ⁻¹ μ, from 0 and from the middle of the means."""
        origin = mean.mean(axis=0)
        coef, near = solve(mean), solve(mean - origin)
        about = origin, near, -0.5 * ((mean - origin) * near).sum(axis=1)
        return cls(coef, -0.5 * (mean * coef).sum(axis=1), about, **found)


def _undecided(scatter: Scatter, share: Array, covariance: Array) -> float:
    """Return below which part of the largest singular value rounding decides whether a direction is there.

    No singular value of Σ is off by more than the trace of what rounding may have taken from its variances. After a
    heavy row was forgotten that is more than the last digit.
    """
    epsilon = float(np.finfo(np.float64).eps)
    doubt = float((share * scatter.doubt.sum(axis=1) / np.maximum(scatter.weight, 1e-300)).sum())
    largest = float(np.abs(covariance).max(initial=0.0))  # no singular value is below it
    return max(epsilon, min(2.0 * doubt / largest, 1.0)) if largest > 0 else epsilon


def _by_singular_values(scatter: Scatter, mean: Array, priors: Array, tol: float) -> Directions:
    weight = scatter.weight.sum()
    within = scatter.cross.sum(axis=0) / max(weight, 1e-300)
    constant = diagonals(within) <= resolution(mean)  # but for rounding
    within = np.where(constant[:, None] | constant, 0.0, within)
    deviation = np.sqrt(np.where(constant, 1.0, diagonals(within)))
    white = _whitening(within / np.outer(deviation, deviation), tol) / deviation[:, None]
    centre = priors @ mean
    scale = np.sqrt(weight * priors / max(len(mean) - 1, 1))[:, None]
    _, between, turned = np.linalg.svd((scale * (mean - centre)) @ white, full_matrices=False)
    kept = int((between > tol * between[0]).sum()) if len(between) else 0
    scalings = white @ turned.T[:, :kept]
    projected = (mean - centre) @ scalings
    coef, level = projected @ scalings.T, -0.5 * (projected**2).sum(axis=1)
    return Directions(coef, level - coef @ centre, (centre, coef, level), scalings, _shares(between**2), centre)


def _whitening(correlation: Array, tol: float) -> Array:
    """Return directions with variance 1, one to a column, that span those in which columns vary by more than `tol`.

    If they vary so in all directions, the inverse of the Cholesky factor will do: it takes a fraction of the time that
    eigenvectors take.
    """
    from scipy.linalg.lapack import dtrtri

    if exceeds(correlation, max(tol**2, WELL_APART)):
        return np.asarray(dtrtri(np.linalg.cholesky(correlation), lower=1)[0].T)
    # These are the squares of the singular values of the scaled rows. The rows themselves are not needed.
    squares, vectors = np.linalg.eigh(correlation)
    spread = np.sqrt(np.maximum(squares, 0.0))[::-1]
    rank = int((spread > tol).sum())
    return np.asarray(vectors[:, ::-1][:, :rank] / spread[:rank])


def _by_eigenvalues(mean: Array, covariance: Array, total: Array) -> Directions:
    from scipy.linalg import eigh

    try:
        values, vectors = eigh(total - covariance, covariance)
    except (np.linalg.LinAlgError, ValueError):  # the latter of numbers that overflowed
        raise SingularCovarianceError(
            "The covariance within classes has no inverse: some columns are linear combinations of others, or there "
            "are too few rows. Use solver='svd', which leaves such directions out, or shrinkage"
        ) from None
    scalings = vectors[:, ::-1]
    explained = np.sort(_shares(values))[::-1]
    return Directions.solved(lambda means: means @ scalings @ scalings.T, mean, scalings=scalings, explained=explained)


def _shares(variance: Array) -> Array:
    """Return the share of each variance in their sum; NaN if the means do not differ."""
    total = variance.sum()
    return variance / total if total != 0 else np.full(len(variance), np.nan)


class LinearDiscriminantDistribution(MultivariateGaussianDistribution):
    """Tied Gaussians, and the result of a solver."""

    directions: Directions

    @property
    def linear_about(self) -> tuple[Array, Array, Array]:
        """An origin, coefficients and levels, as the solver found them."""
        return self.directions.about

    def linear(self) -> tuple[Array, Array]:
        """Return the coefficients and intercepts of the solver."""
        return self.directions.coef, self.directions.intercept

    def common(self, x: Dense) -> Array:
        """Compute the difference of the solver's scores and `relative_log_density`, equal in all classes, (rows, 1)."""
        origin, coef, level = self.directions.about
        own, beyond = self.directions.coef[0] - coef[0], self.directions.intercept[0] - level[0]
        beyond += (self.directions.coef[0] if self._is_far else coef[0]) @ origin
        if not own.any():
            return np.full((len(x), 1), beyond)
        return np.asarray((x - origin if self._is_far else x) @ own + beyond)[:, None]
