"""Times until an event: one rate per class and column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, as_matrix, refuse_entries
from suffice.core.errors import NoLinearFormError
from suffice.core.priors import Gamma
from suffice.core.statistics import Totals
from suffice.families._linear import LinearDistribution, LinearScores
from suffice.families._waiting import PredictiveWaiting, Waiting, WaitingDistribution, known_somewhere
from suffice.formulas import Column, Formula, Log1p, supported


def waiting_times(x: Any) -> Any:
    """Columns of times as a matrix, refusing negative ones."""
    x = as_matrix(x)
    refuse_entries(x, lambda entries: entries < 0, "Expected times or other amounts of at least 0.")
    return x


@dataclass(frozen=True, eq=False, repr=False)
class Exponential(Waiting):
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

    weak_prior: ClassVar = Gamma(1.0, None)

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix of times ≥ 0."""
        return waiting_times(x)

    def estimate(self, totals: Totals) -> WaitingDistribution:
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


@dataclass(frozen=True)
class ExponentialRates(LinearDistribution, WaitingDistribution):
    """Rates λ, (classes, columns)."""

    rate: Array
    title = "rate"

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix of times ≥ 0."""
        return waiting_times(x)

    @cached_property
    def scores(self) -> LinearScores:
        """Coef = −λ, absent = log λ."""
        return LinearScores(-self.rate, np.log(self.rate))

    @property
    def vetoes(self) -> LinearScores | None:
        """No time is impossible."""
        return None

    @property
    def parameter(self) -> Array:
        """λ."""
        return self.rate

    def formula_of(self, name: str, column: int) -> Formula:
        """Log λ − λ x; times below 0 are impossible."""
        return supported(name, super().formula_of(name, column), 0.0)

    def terms(self, x: Array) -> Array:
        """Log λ − λ x."""
        with np.errstate(over="ignore"):
            return np.asarray(np.log(self.rate) - self.rate * x)

    @property
    def expected(self) -> Array:
        """1 / λ."""
        return 1.0 / self.rate

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of times."""
        return rng.exponential(self.expected[codes])


@dataclass(frozen=True)
class LomaxTimes(PredictiveWaiting):
    """Gamma-exponential with posterior shape a and rate b:  p(x) = a b^a / (b + x)^(a + 1)."""

    shape: Array
    rate: Array

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix of times ≥ 0."""
        return waiting_times(x)

    def terms(self, x: Array) -> Array:
        """Log a − log b − (a + 1) log(1 + x/b)."""
        with np.errstate(over="ignore"):
            return np.asarray(np.log(self.shape / self.rate) - (self.shape + 1.0) * np.log1p(x / self.rate))

    def formula_of(self, name: str, column: int) -> Formula:
        """The same; times below 0 are impossible."""
        shape, rate = self.shape[:, column], self.rate[:, column]
        return supported(name, np.log(shape / rate) - (shape + 1.0) * Log1p(Column(name) / rate), 0.0)

    def linear(self) -> Any:
        """Refuse: the logarithm of x bends."""
        raise NoLinearFormError("The Lomax distribution is not linear in x; learn='mean' is")

    @property
    def expected(self) -> Array:
        """The mean b / (a − 1); where a ≤ 1 it is infinite, and the mean at the expected rate, b / a, is taken."""
        return self.rate / np.where(self.shape > 1.0, self.shape - 1.0, self.shape)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of times."""
        return rng.pareto(self.shape[codes]) * self.rate[codes]
