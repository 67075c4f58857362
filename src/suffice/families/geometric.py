"""Failures before the first success: one probability per class and column."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes
from suffice.core.priors import Beta
from suffice.core.statistics import Totals
from suffice.families._base import Entrywise, Family
from suffice.families._summary import Summary
from suffice.families._support import INTEGERS
from suffice.families.exponential import known_somewhere
from suffice.formulas import Formula, LogGamma, TimesLog


class GeometricProbabilities(Entrywise):
    """Probabilities of success and of failure, (classes, columns)."""

    probability: Array
    complement: Array

    support = INTEGERS
    sparse: ClassVar = True

    def density(self, x: Formula) -> Formula:
        """Log θ + x log(1 − θ)."""
        return np.log(self.probability) + TimesLog(x, self.complement)

    @property
    def expected(self) -> Array:
        """(1 − θ) / θ."""
        return self.complement / self.probability

    @property
    def shown(self) -> dict[str, Array]:
        """θ."""
        return {"p(success | y)": self.probability}

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of counts."""
        return (rng.geometric(self.probability[codes]) - 1).astype(np.float64)


class BetaGeometricCounts(Entrywise):
    """Geometric with θ ~ Beta(a, b):  p(x) = B(a + 1, b + x) / B(a, b)."""

    a: Array
    b: Array

    support = INTEGERS
    sparse: ClassVar = True
    bends: ClassVar = "The beta-geometric is not linear in x; learn='mean' is"

    def density(self, x: Formula) -> Formula:
        """Log B(a + 1, b + x) − log B(a, b); with b = 0 no failure can happen."""
        from scipy.special import betaln, gammaln

        some = np.where(self.b > 0, self.b, 1.0)
        norm = gammaln(self.a + 1.0) - betaln(self.a, some)
        density = norm + LogGamma(x + some) - LogGamma(x + (self.a + 1.0 + some))
        if (self.b > 0).all():
            return density
        certain = np.where(self.b > 0, 0.0, -(norm + gammaln(some) - gammaln(self.a + 1.0 + some)))
        return density + certain + TimesLog(x, (self.b > 0).astype(np.float64))

    @property
    def expected(self) -> Array:
        """The mean b / (a − 1). Where a ≤ 1 it is infinite, and the mean at the expected θ, b / a, is taken."""
        return self.b / np.where(self.a > 1.0, self.a - 1.0, self.a)

    @property
    def shown(self) -> dict[str, Array]:
        """The expected number of failures."""
        return {"expected": self.expected}

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a probability for each entry, then the count."""
        theta = rng.beta(self.a[codes], np.maximum(self.b[codes], 1e-300))
        return (rng.geometric(np.clip(theta, 1e-300, 1.0)) - 1).astype(np.float64)


class Geometric(Family[Totals]):
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

    summary: ClassVar = Summary(Totals)
    gives: ClassVar = GeometricProbabilities
    weak_prior: ClassVar = Beta(1.0, 1.0)

    def estimate(self, totals: Totals) -> GeometricProbabilities | BetaGeometricCounts:
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
