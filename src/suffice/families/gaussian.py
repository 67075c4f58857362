"""Real numbers around a mean."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes, Dense, Mask, Values, refuse_at
from suffice.core.errors import InvalidOptionError
from suffice.core.parallel import in_threads
from suffice.core.priors import NormalInverseGamma
from suffice.core.special import log_rising
from suffice.core.statistics import Moments
from suffice.core.validation import Held
from suffice.families import _derive as derive
from suffice.families._base import DEFAULT, Distribution, Entrywise, Family, derived, resolution
from suffice.families._contract import Summary
from suffice.families._kernels import accelerates
from suffice.formulas import Formula, Log1p, Square


class Gaussian(Family[Moments]):
    """A real number with one mean and variance per class:  p(x | y) = N(x; μ_y, σ_y²).

    `variance` is `"class"` (one for each class), `"shared"` (one for all classes), or given: a number, or one for each
    column. `var_smoothing` times the largest variance of any column over all classes is added to every learned
    variance. A variance of 0 is raised to the resolution of floating point: a point mass. With `unbiased`, learned
    variances are divided by n − 1 instead of n (by n − classes if they are shared), as in e1071 and Weka; a class of
    one row has the variance of all classes. There is no prior then.

    The default prior is the weak `NormalInverseGamma()`, centred on all classes together. With `learn="predictive"`
    mean and variance are integrated out, which gives Student's t.

    >>> family = Gaussian(prior=None)
    >>> family.estimate(family.summarize([[1.0], [3.0]], [0, 0]).statistic).variance
    array([[1.]])
    """

    variance: Literal["class", "shared"] | Annotated[float | Values, Held(given=True, above=0)] = "class"
    var_smoothing: Annotated[float, Held(least=0)] = 0.0
    unbiased: bool = False

    summary: ClassVar = Summary(Moments)
    weak_prior: ClassVar = NormalInverseGamma()

    def __post_init__(self) -> None:
        if self.unbiased and self.prior is DEFAULT:
            object.__setattr__(self, "prior", None)
        super().__post_init__()
        if self.unbiased and (self.prior is not None or self._variance_option == "given"):
            raise InvalidOptionError("Gaussian: unbiased is for variances that are learned without a prior")

    @property
    def _variance_option(self) -> str:
        """The option `variance`: "class", "shared" or "given"."""
        return self.variance if isinstance(self.variance, str) else "given"

    def epsilon(self, moments: Moments) -> float:
        """Return what is added to every variance: var_smoothing · the largest variance over all classes."""
        return self._added(moments).item()

    def _added(self, moments: Moments) -> Array:
        """Return epsilon for each of many moments, (…, 1, 1)."""
        if not self.var_smoothing:
            return np.zeros((1, 1))
        largest = moments.pooled().variance.max(axis=(-2, -1), keepdims=True, initial=0.0)
        return np.asarray(self.var_smoothing * largest)

    def estimate(self, moments: Moments) -> GaussianDistribution | StudentDistribution:
        """Estimate means and variances by maximum likelihood, or from the normal-inverse-gamma posterior."""
        if self.prior is None:
            mean, variance = self._maximum_likelihood(moments)
        else:
            posterior = self.prior.update(moments, self._variance_option == "shared")
            if self.learn == "predictive":
                return self._predictive(posterior, moments)
            mean, variance = np.asarray(posterior.mean), self._posterior_variance(posterior)
        if self._variance_option != "given":
            variance = variance + self._added(moments)
        classes, columns = mean.shape[-2:]
        free = {"class": classes * columns, "shared": columns, "given": 0}[self._variance_option]
        return GaussianDistribution(mean, self._positive(variance, moments), free)

    def _maximum_likelihood(self, moments: Moments) -> tuple[Array, Array]:
        """Return the mean and variance of each class, or of all classes if a class has no values of a column."""
        unknown = moments.weight <= 0
        if self._variance_option == "class" and not self.unbiased and not unknown.any():
            return moments.mean, moments.variance
        pooled = moments.pooled()
        mean = np.where(unknown, pooled.mean, moments.mean)
        if self.unbiased:
            return mean, self._unbiased(moments, pooled)
        if self._variance_option == "given":
            return mean, np.asarray(self.variance, dtype=np.float64)
        if self._variance_option == "class":
            return mean, np.where(unknown, pooled.variance, moments.variance)
        within = moments.squares.sum(axis=-2, keepdims=True)
        return mean, np.divide(within, pooled.weight, out=np.zeros_like(within), where=pooled.weight > 0)

    def _unbiased(self, moments: Moments, pooled: Moments) -> Array:
        """Return Σ (x − mean)² / (n − 1); where n ≤ 1, that of all classes together."""
        whole = np.divide(
            pooled.squares, pooled.weight - 1.0, out=np.zeros_like(pooled.squares), where=pooled.weight > 1
        )
        squares, free = moments.squares, np.broadcast_to(moments.weight, moments.squares.shape) - 1.0
        if self._variance_option == "shared":
            squares, free = squares.sum(axis=-2, keepdims=True), np.maximum(free, 0.0).sum(axis=-2, keepdims=True)
        return np.divide(squares, free, out=np.broadcast_to(whole, squares.shape).copy(), where=free > 0)

    def _posterior_variance(self, posterior: NormalInverseGamma) -> Array:
        if self._variance_option == "given":
            return np.asarray(self.variance, dtype=np.float64)
        if self.learn == "map":
            return posterior.variance_mode(
                np.asarray(posterior.mean).shape[-2] if self._variance_option == "shared" else 1
            )
        return posterior.variance_mean()

    def _predictive(
        self, posterior: NormalInverseGamma, moments: Moments
    ) -> GaussianDistribution | StudentDistribution:
        """Return a wider normal distribution if the variance is given, else Student's t."""
        mean, strength = np.asarray(posterior.mean), np.asarray(posterior.strength)
        widened = 1.0 + np.divide(1.0, strength, out=np.zeros_like(strength), where=strength > 0)
        if self._variance_option == "given":
            return GaussianDistribution(mean, self._positive(np.asarray(self.variance) * widened, moments), 0)
        shape = np.broadcast_to(np.asarray(posterior.shape), mean.shape)
        if not (shape > 0).all() or not (strength > 0).all():
            raise InvalidOptionError(
                "A class without rows cannot be predicted with a prior of shape or strength 0: use a stronger prior"
            )
        spread = self._positive(posterior.scale / shape * widened + self._added(moments), moments)
        return StudentDistribution(mean, spread, 2.0 * shape, self._variance_option == "shared")

    @staticmethod
    def least_variance(moments: Moments) -> Array:
        """Return the variance of a point mass in each column, to which smaller ones are raised, (…, columns)."""
        return resolution(moments.mean)

    def _positive(self, variance: Array, moments: Moments) -> Array:
        """Raise variances to the resolution of floating point, or to 1 in a column that has no values."""
        variance = np.broadcast_to(variance, moments.mean.shape)
        observed = moments.weight.any(axis=-2, keepdims=True)
        return np.maximum(variance, np.where(observed, np.expand_dims(self.least_variance(moments), -2), 1.0))

    @property
    def _is_student(self) -> bool:
        """Whether mean and variance are integrated out, under a prior that is centred on all classes together."""
        prior = self.prior
        if self.learn != "predictive" or prior is None or self.var_smoothing:
            return False
        if prior.mean is not None or prior.scale is not None:
            return False
        return np.ndim(prior.strength) == np.ndim(prior.shape) == 0 and min(prior.strength, prior.shape) > 0

    def leave_one_out(
        self, moments: Moments, fitted: Distribution, x: Dense, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave rows out by a native kernel for class variances, by maximum likelihood or as Student's t around the
        classes; else many rows at a time.
        """
        likely = self.prior is None and not self.unbiased and bool((moments.weight > 0).all())
        if self._variance_option != "class" or not (likely or self._is_student):
            return super().leave_one_out(moments, fitted, x, codes, weight)
        out = self._left_out_by_kernel(moments, x, codes, weight, likely)
        lossy = _outweighs(moments, x, codes, weight)
        rows = lossy.any(axis=1)
        if rows.any():
            # If variances are smoothed, every column depends on all of them.
            columns: Mask = np.asarray(lossy.any(axis=0)) | (self.var_smoothing > 0)
            some, own, w = x[rows], codes[rows], None if weight is None else weight[rows]
            out[rows] = super().leave_one_out(moments.of_some(columns), fitted, some[:, columns], own, w)
            if not columns.all():
                others = ~columns
                out[rows] += self._left_out_by_kernel(moments.of_some(others), some[:, others], own, w, likely)
        return out

    def columns_leave_one_out(
        self, moments: Moments, x: Dense, codes: Codes, weight: Array | None
    ) -> list[Array | None]:
        """Leave rows out of every column by itself, (rows, classes) each.

        It is None for a column in which a row outweighs the others, or is infinite, and without a kernel.
        """
        if not (self._variance_option == "class" and self._is_student):
            return [None] * moments.n_columns
        lossy: Mask = np.asarray(_outweighs(moments, x, codes, weight).any(axis=0))
        strength, shape = self._strengths
        origin, *terms = self._student_terms(moments)
        weights, mean, squares = (np.ascontiguousarray(term.T)[:, :, None] for term in terms)  # of each column

        def left_out(j: int) -> Array | None:
            if lossy[j]:
                return None
            out = np.empty((x.shape[0], len(moments.mean)))
            own = origin[j : j + 1], weights[j], mean[j], squares[j]
            infinite = _core.student_leave_one_out(x[:, j : j + 1], codes, weight, strength, shape, *own, out)
            return out if infinite < 0 else None

        return in_threads(left_out, range(moments.n_columns), x.size * len(moments.mean))

    @property
    def _strengths(self) -> tuple[float, float]:
        assert self.prior is not None, "Student's t has a prior"
        return float(self.prior.strength), float(self.prior.shape)

    @staticmethod
    def _student_terms(moments: Moments) -> tuple[Array, Array, Array, Array]:
        """Return the origin of each column, and weights, means relative to it and squares, (classes, columns) each."""
        weights, mean, squares = (np.ascontiguousarray(a) for a in (moments.weight, moments.mean, moments.squares))
        origin = moments.pooled().mean[0]
        lost = 0.0 if moments.rest is None else moments.rest[:, 1]
        return origin, weights, np.where(weights > 0, mean - origin + lost, 0.0), squares

    def _left_out_by_kernel(
        self, moments: Moments, x: Dense, codes: Codes, weight: Array | None, likely: bool
    ) -> Array:
        out = np.empty((x.shape[0], len(moments.mean)))
        if likely:
            weights, mean, squares = (np.ascontiguousarray(a) for a in (moments.weight, moments.mean, moments.squares))
            infinite = _core.gaussian_leave_one_out(
                x, codes, weight, self.var_smoothing, self.least_variance(moments), weights, mean, squares, out
            )
        else:
            terms = self._student_terms(moments)
            infinite = _core.student_leave_one_out(x, codes, weight, *self._strengths, *terms, out)
        refuse_at(infinite, x)
        return out


def _outweighs(moments: Moments, x: Dense, codes: Codes, weight: Array | None) -> Mask:
    """Tell which entries make up nearly all of the weight or of the squares of a column: few digits are kept then."""
    out = np.zeros(x.shape, dtype=bool)
    if _none_outweighs(moments, x, 1.0 if weight is None else float(weight.max(initial=0.0))):
        return out
    for part, piece in derive.pieces(x, moments.n_columns):
        w = 1.0 if weight is None else weight[part, None]
        for own in (moments.take(codes[part]), moments.pooled()):
            left = own.weight - w
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                gone = (piece - own.mean) ** 2 * (w * own.weight / left)
                lossy = (left < 1e-4 * own.weight) | ~(own.squares - gone > 1e-4 * own.squares)
            out[part] |= lossy & (own.squares > 0) & ~np.isnan(piece)
    return out


def _none_outweighs(moments: Moments, x: Dense, w: float) -> bool:
    """Tell that no row can outweigh the others: not even one as far out as the least and largest value, of weight w."""
    low, high = np.fmin.reduce(x, axis=0, initial=np.inf), np.fmax.reduce(x, axis=0, initial=-np.inf)
    for own in (moments, moments.pooled()):
        left = own.weight - w
        with np.errstate(all="ignore"):
            gone = np.maximum(np.abs(low - own.mean), np.abs(high - own.mean)) ** 2 * (w * own.weight / left)
            safe = (left >= 1e-4 * own.weight) & (own.squares - gone > 1e-4 * own.squares)
        if not (safe | (own.squares <= 0)).all():
            return False
    return True


class GaussianDistribution(Entrywise):
    """Means and variances, (classes, columns), and how many variances were learned."""

    mean: Array
    variance: Array
    free_variances: int

    why_not_linear: ClassVar = (
        "Each class has its own variances, so the log-odds are quadratic in x: use variance='shared' or give the "
        "variance"
    )

    def density(self, x: Formula) -> Formula:
        """Return −½ log 2πσ² − ½ ((x − μ)/σ)²."""
        return -0.5 * np.log(2 * np.pi * self.variance) - 0.5 * Square((x - self.mean) / np.sqrt(self.variance))

    @cached_property
    def kernel_tables(self) -> tuple[Array, Array]:
        """Means and 1/σ, as the kernel reads them."""
        return np.ascontiguousarray(self.mean), np.ascontiguousarray(1.0 / np.sqrt(self.variance))

    expected = derived(lambda self: self.mean)
    shown = derived(lambda self: {"mean": self.mean, "deviation": np.sqrt(self.variance)})
    # The means and the variances that were learned.
    n_parameters = derived(lambda self: self.mean.size + self.free_variances)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of real numbers."""
        return rng.normal(self.mean[codes], np.sqrt(self.variance)[codes])


@accelerates(GaussianDistribution)
def gaussian_log_density(gaussian: GaussianDistribution, x: Dense) -> Array:
    """Compute Σ_j −½ log 2πσ_j² − ½ ((x_j − μ_j)/σ_j)² in one native pass."""
    out = np.empty((x.shape[0], len(gaussian.mean)))
    refuse_at(_core.gaussian_log_density(x, *gaussian.kernel_tables, out), x)
    return out


class StudentDistribution(Entrywise):
    """Student's t with location, squared scale and degrees of freedom, (classes, columns) each."""

    mean: Array
    spread: Array
    freedom: Array
    shared: bool

    why_not_linear: ClassVar = (
        "The log-odds of Student's t are not linear in x; use learn='mean' with variance='shared'"
    )

    def density(self, x: Formula) -> Formula:
        """Return log Γ((ν+1)/2) − log Γ(ν/2) − ½ log πνs² − ½ (ν+1) log(1 + (x − m)²/νs²)."""
        nu, width = self.freedom, self.freedom * self.spread
        return self.norm - 0.5 * (nu + 1) * Log1p(Square((x - self.mean) / np.sqrt(width)))

    @cached_property
    def norm(self) -> Array:
        """The log-density at the location, (classes, columns)."""
        return log_rising(self.freedom / 2, 0.5) - 0.5 * np.log(np.pi * self.freedom * self.spread)

    @cached_property
    def kernel_tables(self) -> tuple[Array, Array, Array, Array]:
        """Locations, 1/√(νs²), log-densities at the location, and (ν + 1)/2, as the kernel reads them."""
        tables = self.mean, 1.0 / np.sqrt(self.freedom * self.spread), self.norm, 0.5 * (self.freedom + 1.0)
        return tuple(np.ascontiguousarray(table) for table in tables)  # type: ignore[return-value]  # four of them

    expected = derived(lambda self: self.mean)
    shown = derived(lambda self: {"location": self.mean, "scale": np.sqrt(self.spread), "freedom": self.freedom})
    # The means and the variances integrated out.
    n_parameters = derived(lambda self: self.mean.size + (self.mean.shape[1] if self.shared else self.mean.size))

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of real numbers."""
        return self.mean[codes] + np.sqrt(self.spread)[codes] * rng.standard_t(self.freedom[codes])


@accelerates(StudentDistribution)
def student_log_density(student: StudentDistribution, x: Dense) -> Array:
    """Compute the sum of the log-densities of the columns in one native pass."""
    out = np.empty((x.shape[0], len(student.mean)))
    refuse_at(_core.student_log_density(x, *student.kernel_tables, out), x)
    return out
