"""Times until an event: one rate per class and column."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes
from suffice.core.priors import Gamma
from suffice.core.statistics import Totals
from suffice.families._base import Entrywise, Family
from suffice.families._summary import Summary
from suffice.families._support import NON_NEGATIVE
from suffice.formulas import Formula, Log1p


class ExponentialRates(Entrywise):
    """Rates λ, (classes, columns)."""

    rate: Array

    support = NON_NEGATIVE
    sparse: ClassVar = True

    def density(self, x: Formula) -> Formula:
        """Log λ − λ x."""
        return np.log(self.rate) - self.rate * x

    @property
    def expected(self) -> Array:
        """1 / λ."""
        return 1.0 / self.rate

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of times."""
        return rng.exponential(self.expected[codes])


class LomaxTimes(Entrywise):
    """Gamma-exponential with posterior shape a and rate b:  p(x) = a b^a / (b + x)^(a + 1)."""

    shape: Array
    rate: Array

    support = NON_NEGATIVE
    sparse: ClassVar = True
    bends: ClassVar = "The Lomax distribution is not linear in x; learn='mean' is"

    def density(self, x: Formula) -> Formula:
        """Log a − log b − (a + 1) log(1 + x/b)."""
        return np.log(self.shape / self.rate) - (self.shape + 1.0) * Log1p(x / self.rate)

    @property
    def expected(self) -> Array:
        """The mean b / (a − 1). Where a ≤ 1 it is infinite, and the mean at the expected rate, b / a, is taken."""
        return self.rate / np.where(self.shape > 1.0, self.shape - 1.0, self.shape)

    @property
    def shown(self) -> dict[str, Array]:
        """The expected time."""
        return {"expected": self.expected}

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of times."""
        return rng.pareto(self.shape[codes]) * self.rate[codes]


class Exponential(Family[Totals]):
    """A time x ≥ 0 until an event, with one rate per class:  p(x | y) = λ_y e^(−λ_y x).

    A bare `Exponential()` has the prior Gamma(1, None): as if one row with the mean of all classes together
    had been seen in each class, whatever the unit of time. With `learn="predictive"` the rate is integrated
    out, which gives the Lomax (or Pareto II) distribution.

    A class that has shown nothing of a column takes what all classes show. Where all times of a class are 0
    the likeliest rate is infinite; a mean below the resolution of floating point, 2^−52 times that of all
    classes, counts as that: a point mass, and no NaN. A mode of 0 is no rate, and the mean takes its place.

    >>> family = Exponential(prior=None)
    >>> family.estimate(family.summarize([[1.0], [3.0]], [0, 0]).statistic).rate
    array([[0.5]])
    """

    summary: ClassVar = Summary(Totals)
    gives: ClassVar = ExponentialRates
    weak_prior: ClassVar = Gamma(1.0, None)

    def estimate(self, totals: Totals) -> ExponentialRates | LomaxTimes:
        """λ = n/Σx, (n + shape − 1)/(Σx + rate) or (n + shape)/(Σx + rate)."""
        shape, rate = self._posterior(totals)
        if self.learn == "predictive":
            return LomaxTimes(shape, rate)
        events = np.where(shape > 1.0, shape - 1.0, shape) if self.learn == "map" else shape
        return ExponentialRates(events / rate)

    def _posterior(self, totals: Totals) -> tuple[Array, Array]:
        """Shape + n and rate + Σx, both above 0."""
        prior = self.prior or Gamma(0.0, 0.0)
        n = np.broadcast_to(totals.weight, totals.total.shape)
        everyone = (n.sum(axis=-2, keepdims=True), totals.total.sum(axis=-2, keepdims=True))
        mean = np.divide(everyone[1], everyone[0], out=np.ones_like(everyone[1]), where=everyone[0] > 0)
        rate = prior.shape * mean if prior.rate is None else prior.rate
        shape, rate = known_somewhere(n + prior.shape, totals.total + rate, everyone)
        return shape, np.maximum(rate, shape * np.maximum(mean * np.finfo(np.float64).eps, 1e-100))


def known_somewhere(a: Array, b: Array, totals: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the posterior (a, b); where nothing is known (a = 0), what all classes together show, or 1 and 1."""
    if (a > 0).all():
        return a, b
    for otherwise in (totals, (1.0, 1.0)):
        unknown = a <= 0
        a, b = np.where(unknown, otherwise[0], a), np.where(unknown, otherwise[1], b)
    return a, b
