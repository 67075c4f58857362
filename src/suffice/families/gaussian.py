"""Real numbers around a mean."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, refuse_at
from suffice.core.errors import InvalidOptionError
from suffice.core.priors import NormalInverseGamma
from suffice.core.special import log_gamma
from suffice.core.statistics import Moments
from suffice.families._base import Distribution, Entrywise, Family, resolution
from suffice.families._kernels import accelerates
from suffice.families._summary import Summary
from suffice.formulas import Formula, Log1p, Square


class Gaussian(Family[Moments]):
    """A real number with one mean and variance per class:  p(x | y) = N(x; μ_y, σ_y²).

    `variance` is `"class"` (each class its own), `"shared"` (one over all classes), or given: a number or
    one for each column. To every learned variance `var_smoothing` times the largest variance of any column,
    over all classes, is added. A variance of 0 counts as the resolution of floating point: a point mass.

    A bare `Gaussian()` has the weak prior `NormalInverseGamma()`, centred on all classes together. With
    `learn="predictive"` mean and variance are integrated out, which gives Student's t.

    >>> family = Gaussian(prior=None)
    >>> family.estimate(family.summarize([[1.0], [3.0]], [0, 0]).statistic).variance
    array([[1.]])
    """

    variance: Literal["class", "shared"] | float | NDArray[Any] = "class"
    var_smoothing: float = 0.0

    summary: ClassVar = Summary(Moments)
    weak_prior: ClassVar = NormalInverseGamma()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.variance, str):
            if self.variance not in ("class", "shared"):
                raise InvalidOptionError(f"variance must be 'class', 'shared' or given, found {self.variance!r}")
        elif not np.all((np.asarray(self.variance) > 0) & np.isfinite(self.variance)):
            raise InvalidOptionError(f"A given variance must be finite and above 0, found {self.variance}")
        if not self.var_smoothing >= 0:
            raise InvalidOptionError(f"var_smoothing must be ≥ 0, found {self.var_smoothing}")

    @property
    def _whose(self) -> str:
        """Whose the variances are: "class", "shared" or "given"."""
        return self.variance if isinstance(self.variance, str) else "given"

    def epsilon(self, moments: Moments) -> float:
        """What is added to every variance: var_smoothing · the largest variance over all classes."""
        return self._added(moments).item()

    def _added(self, moments: Moments) -> Array:
        """Epsilon of each of many moments, (…, 1, 1)."""
        if not self.var_smoothing:
            return np.zeros((1, 1))
        largest = moments.pooled().variance.max(axis=(-2, -1), keepdims=True, initial=0.0)
        return np.asarray(self.var_smoothing * largest)

    def estimate(self, moments: Moments) -> GaussianDistribution | StudentDistribution:
        """Means and variances by maximum likelihood, or those of the normal-inverse-gamma posterior."""
        if self.prior is None:
            mean, variance = self._likeliest(moments)
        else:
            posterior = self.prior.update(moments, self._whose == "shared")
            if self.learn == "predictive":
                return self._predictive(posterior, moments)
            mean, variance = np.asarray(posterior.mean), self._believed_variance(posterior)
        if self._whose != "given":
            variance = variance + self._added(moments)
        classes, columns = mean.shape[-2:]
        free = {"class": classes * columns, "shared": columns, "given": 0}[self._whose]
        return GaussianDistribution(mean, self._positive(variance, moments), free)

    def _likeliest(self, moments: Moments) -> tuple[Array, Array]:
        """The mean and variance of each class, or of all where a class has shown nothing of a column."""
        unknown, pooled = moments.weight <= 0, moments.pooled()
        mean = np.where(unknown, pooled.mean, moments.mean)
        if self._whose == "given":
            return mean, np.asarray(self.variance, dtype=np.float64)
        if self._whose == "class":
            return mean, np.where(unknown, pooled.variance, moments.variance)
        within = moments.squares.sum(axis=-2, keepdims=True)
        return mean, np.divide(within, pooled.weight, out=np.zeros_like(within), where=pooled.weight > 0)

    def _believed_variance(self, posterior: NormalInverseGamma) -> Array:
        if self._whose == "given":
            return np.asarray(self.variance, dtype=np.float64)
        if self.learn == "map":
            return posterior.variance_mode(np.asarray(posterior.mean).shape[-2] if self._whose == "shared" else 1)
        return posterior.variance_mean()

    def _predictive(
        self, posterior: NormalInverseGamma, moments: Moments
    ) -> GaussianDistribution | StudentDistribution:
        """A wider normal where the variance is given, else Student's t."""
        mean, strength = np.asarray(posterior.mean), np.asarray(posterior.strength)
        widened = 1.0 + np.divide(1.0, strength, out=np.zeros_like(strength), where=strength > 0)
        if self._whose == "given":
            return GaussianDistribution(mean, self._positive(np.asarray(self.variance) * widened, moments), 0)
        shape = np.broadcast_to(np.asarray(posterior.shape), mean.shape)
        if not (shape > 0).all() or not (strength > 0).all():
            raise InvalidOptionError(
                "Nothing can be predicted for a class without rows from a prior of shape or strength 0"
            )
        spread = self._positive(posterior.scale / shape * widened + self._added(moments), moments)
        return StudentDistribution(mean, spread, 2.0 * shape, self._whose == "shared")

    def _positive(self, variance: Array, moments: Moments) -> Array:
        """At least what floating point resolves; of a column nobody has shown, any spread says as little."""
        variance = np.broadcast_to(variance, moments.mean.shape)
        shown = moments.weight.any(axis=-2, keepdims=True)
        return np.maximum(variance, np.where(shown, np.expand_dims(resolution(moments.mean), -2), 1.0))

    def leave_one_out(
        self, moments: Moments, fitted: Distribution, x: Any, codes: Codes, weight: Array | None
    ) -> Array:
        """By one native pass for maximum likelihood with a variance for each class; else many rows at a time."""
        if self.prior is not None or self._whose != "class" or not (moments.weight > 0).all():
            return super().leave_one_out(moments, fitted, x, codes, weight)
        out = np.empty((x.shape[0], len(moments.mean)))
        weights, mean, squares = (np.ascontiguousarray(a) for a in (moments.weight, moments.mean, moments.squares))
        infinite = _core.gaussian_leave_one_out(
            x, codes, weight, self.var_smoothing, resolution(moments.mean), weights, mean, squares, out
        )
        refuse_at(infinite, x)
        return out


class GaussianDistribution(Entrywise):
    """Means and variances, (classes, columns), and how many variances were learned."""

    mean: Array
    variance: Array
    free_variances: int

    bends: ClassVar = (
        "Each class has variances of its own, so the log-odds are quadratic in x: use variance='shared' or give the "
        "variance"
    )

    def density(self, x: Formula) -> Formula:
        """−½ log 2πσ² − ½ ((x − μ)/σ)²."""
        return -0.5 * np.log(2 * np.pi * self.variance) - 0.5 * Square((x - self.mean) / np.sqrt(self.variance))

    @cached_property
    def kernel_tables(self) -> tuple[Array, Array]:
        """Means and 1/σ, as the kernel reads them."""
        return np.ascontiguousarray(self.mean), np.ascontiguousarray(1.0 / np.sqrt(self.variance))

    @property
    def expected(self) -> Array:
        """μ."""
        return self.mean

    @property
    def shown(self) -> dict[str, Array]:
        """Mean and standard deviation."""
        return {"mean": self.mean, "deviation": np.sqrt(self.variance)}

    @property
    def n_parameters(self) -> int:
        """The means and the variances that were learned."""
        return self.mean.size + self.free_variances

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of real numbers."""
        return rng.normal(self.mean[codes], np.sqrt(self.variance)[codes])


@accelerates(GaussianDistribution)
def gaussian_log_density(gaussian: GaussianDistribution, x: Any) -> Array:
    """Σ_j −½ log 2πσ_j² − ½ ((x_j − μ_j)/σ_j)², in one native pass."""
    out = np.empty((x.shape[0], len(gaussian.mean)))
    refuse_at(_core.gaussian_log_density(x, *gaussian.kernel_tables, out), x)
    return out


class StudentDistribution(Entrywise):
    """Student's t with location, squared scale and degrees of freedom, (classes, columns) each."""

    mean: Array
    spread: Array
    freedom: Array
    shared: bool

    bends: ClassVar = "Student's t is not linear in x; learn='mean' with variance='shared' is"

    def density(self, x: Formula) -> Formula:
        """Log Γ((ν+1)/2) − log Γ(ν/2) − ½ log πνs² − ½ (ν+1) log(1 + (x − m)²/νs²)."""
        nu, width = self.freedom, self.freedom * self.spread
        norm = log_gamma((nu + 1) / 2) - log_gamma(nu / 2) - 0.5 * np.log(np.pi * width)
        return norm - 0.5 * (nu + 1) * Log1p(Square((x - self.mean) / np.sqrt(width)))

    @property
    def expected(self) -> Array:
        """The location."""
        return self.mean

    @property
    def shown(self) -> dict[str, Array]:
        """Location, scale and degrees of freedom."""
        return {"location": self.mean, "scale": np.sqrt(self.spread), "freedom": self.freedom}

    @property
    def n_parameters(self) -> int:
        """The means and the variances integrated out."""
        return self.mean.size + (self.mean.shape[1] if self.shared else self.mean.size)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of real numbers."""
        return self.mean[codes] + np.sqrt(self.spread)[codes] * rng.standard_t(self.freedom[codes])
