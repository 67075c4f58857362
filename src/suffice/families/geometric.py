"""Failures before the first success: one probability per class and column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, as_matrix, refuse_entries
from suffice.core.errors import NoLinearFormError
from suffice.core.priors import Beta
from suffice.core.statistics import Totals
from suffice.families._base import Support
from suffice.families._linear import LinearDistribution, LinearScores
from suffice.families._logarithms import finite_log, log
from suffice.families._waiting import PredictiveWaiting, Waiting, WaitingDistribution, known_somewhere
from suffice.formulas import Column, Formula, LogGamma, excluding, supported


def failures(x: Any) -> Any:
    """Columns of whole numbers ≥ 0 as a matrix, refusing any other."""
    x = as_matrix(x)
    what, advice = "Expected whole numbers of at least 0.", " For times between them there is the exponential."
    refuse_entries(x, lambda entries: (entries < 0) | (np.floor(entries) < entries), what, advice)
    return x


@dataclass(frozen=True, eq=False, repr=False)
class Geometric(Waiting):
    """The number of failures before the first success:  p(x | y) = θ_y (1 − θ_y)^x,  x = 0, 1, 2, …

    Anything but whole numbers is refused. A bare `Geometric()` has the prior Beta(1, 1): as if one row with
    one failure had been seen in each class. With `learn="predictive"` θ is integrated out, which gives the
    beta-geometric. A class that has shown nothing of a column takes what all classes show; where every x of
    a class is 0, maximum likelihood makes any other impossible. A mode of 0 is no probability of a success,
    and the mean takes its place.

    >>> family = Geometric(prior=None)
    >>> family.estimate(family.summarize([[0], [2]], [0, 0]).statistic).probability
    array([[0.5]])
    """

    weak_prior: ClassVar = Beta(1.0, 1.0)

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix of whole numbers ≥ 0."""
        return failures(x)

    def estimate(self, totals: Totals) -> WaitingDistribution:
        """θ = n/(n + Σx), (n + a − 1)/(n + Σx + a + b − 2) or (n + a)/(n + Σx + a + b)."""
        prior = self.prior or Beta(0.0, 0.0)
        n = np.broadcast_to(totals.weight, totals.total.shape)
        everyone = (n.sum(axis=-2, keepdims=True), totals.total.sum(axis=-2, keepdims=True))
        posterior = Beta(*known_somewhere(n + prior.a, totals.total + prior.b, everyone))
        if self.learn == "predictive":
            return BetaGeometricCounts(np.asarray(posterior.a), np.asarray(posterior.b))
        theta, rest = posterior.means()
        if self.learn == "map":
            peak, beside = posterior.modes()
            theta, rest = np.where(peak > 0, peak, theta), np.where(peak > 0, beside, rest)
        return GeometricProbabilities(theta, rest)


@dataclass(frozen=True)
class GeometricProbabilities(LinearDistribution, WaitingDistribution):
    """Probabilities of success and of failure, (classes, columns)."""

    probability: Array
    complement: Array
    title = "p(success | y)"

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix of whole numbers ≥ 0."""
        return failures(x)

    @cached_property
    def scores(self) -> LinearScores:
        """Coef = log (1 − θ), absent = log θ."""
        return LinearScores(finite_log(self.complement), np.log(self.probability))

    @cached_property
    def vetoes(self) -> LinearScores | None:
        """A failure where θ is 1."""
        return LinearScores.vetoing(self.complement <= 0)

    @property
    def parameter(self) -> Array:
        """θ."""
        return self.probability

    def formula_of(self, name: str, column: int) -> Formula:
        """Log θ + x log(1 − θ); nothing but whole numbers ≥ 0 is possible."""
        return supported(name, super().formula_of(name, column), 0.0, whole=True)

    def terms(self, x: Array) -> Array:
        """Log θ + x log(1 − θ)."""
        with np.errstate(invalid="ignore"):  # 0 · log 0 is 0
            return np.asarray(np.log(self.probability) + np.where(x > 0, x * log(self.complement), 0.0))

    @property
    def expected(self) -> Array:
        """(1 − θ) / θ."""
        return self.complement / self.probability

    def support(self, column: int) -> Support:  # noqa: ARG002  # all are alike
        """Counts."""
        return "whole"

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of counts."""
        return (rng.geometric(self.probability[codes]) - 1).astype(np.float64)


@dataclass(frozen=True)
class BetaGeometricCounts(PredictiveWaiting):
    """Geometric with θ ~ Beta(a, b):  p(x) = B(a + 1, b + x) / B(a, b)."""

    a: Array
    b: Array

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix of whole numbers ≥ 0."""
        return failures(x)

    def terms(self, x: Array) -> Array:
        """Log B(a + 1, b + x) − log B(a, b)."""
        from scipy.special import betaln

        some = np.where(self.b > 0, self.b, 1.0)
        terms = betaln(self.a + 1.0, some + x) - betaln(self.a, some)
        return np.where(self.b > 0, terms, np.where(x > 0, -np.inf, 0.0))  # b = 0: no failure can happen

    def formula_of(self, name: str, column: int) -> Formula:
        """The same; nothing but whole numbers ≥ 0 is possible."""
        from scipy.special import betaln, gammaln

        a, b = self.a[:, column], self.b[:, column]
        some, x = np.where(b > 0, b, 1.0), Column(name)
        density = gammaln(a + 1.0) - betaln(a, some) + LogGamma(x + some) - LogGamma(x + (a + 1.0 + some))
        if (b <= 0).any():  # no failure can happen
            sure = np.where(b > 0, 0.0, betaln(a, some) - betaln(a + 1.0, some))
            density = density + sure + excluding(name, 0.0, np.where(b > 0, 0.0, -np.inf))
        return supported(name, density, 0.0, whole=True)

    def linear(self) -> Any:
        """Refuse: every further failure surprises less."""
        raise NoLinearFormError("The beta-geometric is not linear in x; learn='mean' is")

    @property
    def expected(self) -> Array:
        """The mean b / (a − 1); where a ≤ 1 it is infinite, and the mean at the expected θ, b / a, is taken."""
        return self.b / np.where(self.a > 1.0, self.a - 1.0, self.a)

    def support(self, column: int) -> Support:  # noqa: ARG002  # all are alike
        """Counts."""
        return "whole"

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a probability for each entry, then the count."""
        theta = rng.beta(self.a[codes], np.maximum(self.b[codes], 1e-300))
        return (rng.geometric(np.clip(theta, 1e-300, 1.0)) - 1).astype(np.float64)
