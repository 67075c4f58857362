"""Failures before the first success: one probability per class and column."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes
from suffice.core.priors import Beta
from suffice.core.statistics import Totals
from suffice.families._base import Entrywise, Family, derived
from suffice.families._contract import INTEGERS, Summary
from suffice.families.exponential import or_pooled, pooled
from suffice.formulas import Formula, LogGammaRatio, TimesLog


class GeometricProbabilities(Entrywise):
    """Probabilities of success and of failure, (classes, columns)."""

    probability: Array
    complement: Array

    support = INTEGERS
    sparse: ClassVar = True

    def density(self, x: Formula) -> Formula:
        """Return log θ + x log(1 − θ)."""
        return np.log(self.probability) + TimesLog(x, self.complement, rest=self.probability)

    expected = derived(lambda self: self.complement / self.probability)
    shown = derived(lambda self: {"p(success | y)": self.probability})

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of counts."""
        return (rng.geometric(self.probability[codes]) - 1).astype(np.float64)


class BetaGeometricCounts(Entrywise):
    """Geometric with θ ~ Beta(a, b):  p(x) = B(a + 1, b + x) / B(a, b)."""

    a: Array
    b: Array

    support = INTEGERS
    sparse: ClassVar = True
    why_not_linear: ClassVar = "The log-odds of beta-geometric distributions are not linear in x; use learn='mean'"

    def density(self, x: Formula) -> Formula:
        """Return log B(a + 1, b + x) − log B(a, b); with b = 0 there is no failure."""
        some = np.where(self.b > 0, self.b, 1.0)
        no_failure = np.log(self.a / (self.a + some))
        density = no_failure - LogGammaRatio(x, some, self.a + 1.0)
        if (self.b > 0).all():
            return density
        certain = np.where(self.b > 0, 0.0, -no_failure)
        return density + certain + TimesLog(x, (self.b > 0).astype(np.float64))

    # The mean b / (a − 1). If a ≤ 1 it is infinite, and the mean at the expected θ, b / a, is used.
    expected = derived(lambda self: self.b / np.where(self.a > 1.0, self.a - 1.0, self.a))
    shown = derived(lambda self: {"expected": self.expected})

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a probability for each entry, then the count."""
        theta = rng.beta(self.a[codes], np.maximum(self.b[codes], 1e-300))
        return (rng.geometric(np.clip(theta, 1e-300, 1.0)) - 1).astype(np.float64)


class Geometric(Family[Totals]):
    """The number of failures before the first success:  p(x | y) = θ_y (1 − θ_y)^x,  x = 0, 1, 2, …

    Numbers that are not integers are refused. The default prior is Beta(1, 1), which counts as one row with one failure
    in each class. With `learn="predictive"` θ is integrated out, which gives the beta-geometric distribution. A class
    without values of a column takes those of all classes. If every x of a class is 0, maximum likelihood makes any
    other x impossible. If the mode is 0, success would be impossible, and the mean is used.

    >>> family = Geometric(prior=None)
    >>> family.estimate(family.summarize([[0], [2]], [0, 0]).statistic).probability
    array([[0.5]])
    """

    summary: ClassVar = Summary(Totals)
    gives: ClassVar = GeometricProbabilities
    weak_prior: ClassVar = Beta(1.0, 1.0)

    def estimate(self, totals: Totals) -> GeometricProbabilities | BetaGeometricCounts:
        """Estimate θ = n/(n + Σx), (n + a − 1)/(n + Σx + a + b − 2) or (n + a)/(n + Σx + a + b)."""
        prior = self.prior or Beta(0.0, 0.0)
        n, *of_all_classes = pooled(totals)
        posterior = Beta._made(*or_pooled(n + prior.a, totals.total + prior.b, *of_all_classes))
        if self.learn == "predictive":
            return BetaGeometricCounts(np.asarray(posterior.a), np.asarray(posterior.b))
        theta, rest = posterior.means()
        if self.learn == "map":
            peak, beside = posterior.modes()
            theta, rest = np.where(peak > 0, peak, theta), np.where(peak > 0, beside, rest)
        return GeometricProbabilities(theta, rest)
