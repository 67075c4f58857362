"""Positive numbers whose logarithms are Gaussian."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np

from suffice.core.arrays import Array, Codes, Dense, Values
from suffice.core.priors import NormalInverseGamma
from suffice.core.statistics import Moments
from suffice.core.validation import Held
from suffice.families._base import Entrywise, Family, derived
from suffice.families._contract import POSITIVE, Summary
from suffice.families._kernels import accelerates
from suffice.families.gaussian import Gaussian, GaussianDistribution, StudentDistribution
from suffice.formulas import Formula, Log, X


class LogNormalDistribution(Entrywise):
    """The distribution of log x: a Gaussian, or Student's t."""

    logarithm: GaussianDistribution | StudentDistribution

    support = POSITIVE
    why_not_linear: ClassVar = (
        "The log-odds depend on log x, not on x: take the logarithm of the columns and use Gaussian"
    )

    def density(self, x: Formula) -> Formula:
        """Return log p(log x | y) − log x."""
        return self.logarithm.density(Log(x)) - Log(x)

    n_parameters = derived(lambda self: self.logarithm.n_parameters)  # the parameters of log x
    shown = derived(lambda self: {f"{name} of log x": values for name, values in self.logarithm.shown.items()})

    @property
    def expected(self) -> Array:
        """The mean e^(μ + σ²/2). If log x follows Student's t there is no mean, and the median e^μ is used."""
        spread = self.logarithm.variance if isinstance(self.logarithm, GaussianDistribution) else 0.0
        with np.errstate(over="ignore"):
            return np.minimum(np.exp(self.logarithm.mean + 0.5 * spread), np.finfo(np.float64).max)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of numbers above 0."""
        return np.exp(self.logarithm.sample(codes, rng))


@accelerates(LogNormalDistribution)
def log_normal_log_density(fitted: LogNormalDistribution, x: Dense) -> Array:
    """Compute log p(log x | y) − Σ log x by the kernel of the logarithms."""
    logs = Log(X).at(x)
    return fitted.logarithm.log_density(logs) - np.nansum(logs, axis=1, keepdims=True)


class LogNormal(Family[Moments]):
    """A number above 0 whose logarithm is Gaussian:  p(x | y) = N(log x; μ_y, σ_y²) / x.

    The statistic, priors and options are those of `Gaussian` for log x. With `learn="predictive"` log x follows
    Student's t.

    >>> family = LogNormal(prior=None)
    >>> family.estimate(family.summarize([[1.0], [np.e**2]], [0, 0]).statistic).logarithm.mean
    array([[1.]])
    """

    variance: Literal["class", "shared"] | Annotated[float | Values, Held(given=True, above=0)] = "class"
    var_smoothing: Annotated[float, Held(least=0)] = 0.0

    summary: ClassVar = Summary(Moments, of=Log(X))
    gives: ClassVar = LogNormalDistribution
    weak_prior: ClassVar = NormalInverseGamma()

    @cached_property
    def gaussian(self) -> Gaussian:
        """The family of log x."""
        return Gaussian(self.prior, self.learn, self.variance, self.var_smoothing)

    def estimate(self, moments: Moments) -> LogNormalDistribution:
        """Estimate mean and variance of log x as `Gaussian` does."""
        return LogNormalDistribution(self.gaussian.estimate(moments))
