"""Times until an event: one rate per class and column."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes
from suffice.core.priors import Gamma
from suffice.core.statistics import Totals
from suffice.families._base import Entrywise, Family, derived
from suffice.families._contract import NON_NEGATIVE, Summary
from suffice.formulas import Formula, Log1p


class ExponentialRates(Entrywise):
    """Rates λ, (classes, columns)."""

    rate: Array

    support = NON_NEGATIVE
    sparse: ClassVar = True

    def density(self, x: Formula) -> Formula:
        """Return log λ − λ x."""
        return np.log(self.rate) - self.rate * x

    expected = derived(lambda self: 1.0 / self.rate)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of times."""
        return rng.exponential(self.expected[codes])


class LomaxTimes(Entrywise):
    """Gamma-exponential with posterior shape a and rate b:  p(x) = a b^a / (b + x)^(a + 1)."""

    shape: Array
    rate: Array

    support = NON_NEGATIVE
    sparse: ClassVar = True
    why_not_linear: ClassVar = "The log-odds of Lomax distributions are not linear in x; use learn='mean'"

    def density(self, x: Formula) -> Formula:
        """Return log a − log b − (a + 1) log(1 + x/b)."""
        return np.log(self.shape / self.rate) - (self.shape + 1.0) * Log1p(x / self.rate)

    # The mean b / (a − 1). If a ≤ 1 it is infinite, and the mean at the expected rate, b / a, is used.
    expected = derived(lambda self: self.rate / np.where(self.shape > 1.0, self.shape - 1.0, self.shape))
    shown = derived(lambda self: {"expected": self.expected})

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of times."""
        return rng.pareto(self.shape[codes]) * self.rate[codes]


class Exponential(Family[Totals]):
    """A time x ≥ 0 until an event, with one rate per class:  p(x | y) = λ_y e^(−λ_y x).

    The default prior is Gamma(1, None), which counts as one row in each class with the mean of all classes, in any unit
    of time. With `learn="predictive"` the rate is integrated out, which gives the Lomax (or Pareto II) distribution.

    A class without values of a column takes those of all classes. If all times of a class are 0, the rate of maximum
    likelihood is infinite. The mean is therefore at least the resolution of floating point, 2^−52 times the mean of all
    classes: a point mass. If the mode is 0, which is not a rate, the mean is used.

    >>> family = Exponential(prior=None)
    >>> family.estimate(family.summarize([[1.0], [3.0]], [0, 0]).statistic).rate
    array([[0.5]])
    """

    summary: ClassVar = Summary(Totals)
    gives: ClassVar = ExponentialRates
    weak_prior: ClassVar = Gamma(1.0, None)

    def estimate(self, totals: Totals) -> ExponentialRates | LomaxTimes:
        """Estimate λ = n/Σx, (n + shape − 1)/(Σx + rate) or (n + shape)/(Σx + rate)."""
        shape, rate = self._posterior(totals)
        if self.learn == "predictive":
            return LomaxTimes(shape, rate)
        events = np.where(shape > 1.0, shape - 1.0, shape) if self.learn == "map" else shape
        return ExponentialRates(events / rate)

    def _posterior(self, totals: Totals) -> tuple[Array, Array]:
        """Return shape + n and rate + Σx, both above 0."""
        prior = self.prior or Gamma(0.0, 0.0)
        n, pooled_n, pooled_total = pooled(totals)
        mean = np.divide(pooled_total, pooled_n, out=np.ones_like(pooled_total), where=pooled_n > 0)
        rate = prior.shape * mean if prior.rate is None else prior.rate
        shape, rate = or_pooled(n + prior.shape, totals.total + rate, pooled_n, pooled_total)
        least = np.where(mean > 0, mean * np.finfo(np.float64).eps, 1e-100)  # times of 0 alone have no unit
        return shape, np.maximum(rate, shape * least)


def pooled(totals: Totals) -> tuple[Array, Array, Array]:
    """Return the weights n of entries, and n and Σx of all classes together."""
    n = np.broadcast_to(totals.weight, totals.total.shape)
    return n, n.sum(axis=-2, keepdims=True), totals.total.sum(axis=-2, keepdims=True)


def or_pooled(a: Array, b: Array, pooled_a: Array, pooled_b: Array) -> tuple[Array, Array]:
    """Return the posterior (a, b); where a is 0, that of all classes together, or (1, 1) if that is 0 as well."""
    if (a > 0).all():
        return a, b
    pooled_b = np.where(pooled_a > 0, pooled_b, 1.0)
    pooled_a = np.where(pooled_a > 0, pooled_a, 1.0)
    return np.where(a > 0, a, pooled_a), np.where(a > 0, b, pooled_b)
