"""Truths: one probability per class and column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice.errors import InvalidDataError
from suffice.families.family import Distribution, Family
from suffice.families.linear import LinearDistribution, log, refuse_infinite
from suffice.priors import Beta
from suffice.statistics import ByClass, Totals
from suffice.tables import Array, Codes, is_sparse


@dataclass(frozen=True, repr=False)
class Bernoulli(Family[Totals]):
    """A truth with one probability per class:  p(x | y) = θ_y^x (1 − θ_y)^(1 − x).

    x is read as x > `threshold`; with `threshold=None` it must lie in [0, 1] and counts as it is. A bare
    `Bernoulli()` has the prior Beta(1, 1): as if a true and a false row had been seen in each class.
    For a single truth the predictive and the posterior mean are the same.

    >>> family = Bernoulli(prior=Beta(1, 1))
    >>> family.estimate(family.summarize([[1], [1], [0]], [0, 0, 0]).statistic).probability
    array([[0.6]])
    """

    threshold: float | None = 0.0

    kind: ClassVar = Totals
    weak_prior: ClassVar = Beta(1.0, 1.0)

    def summarize(self, x: Any, y: Any, weight: Any = None, onto: ByClass[Totals] | None = None) -> ByClass[Totals]:
        """Count the true rows of every class and column."""
        return ByClass.of(Totals, self.read(x), y, weight, onto, threshold=self.threshold)

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix; without a threshold its entries must lie in [0, 1]."""
        x = super().read(x)
        if self.threshold is None:
            values = x.data if is_sparse(x) else x
            if values.size and (np.nanmin(values) < 0 or np.nanmax(values) > 1):
                if not is_sparse(x):
                    refuse_infinite(x)
                worst = values.flat[np.nanargmax(np.abs(values - 0.5))]
                raise InvalidDataError(
                    f"Expected truths between 0 and 1, found {worst}: give a threshold to compare with"
                )
        return x

    def estimate(self, totals: Totals) -> Distribution:
        """θ = Σx/n, (Σx + a − 1)/(n + a + b − 2) or (Σx + a)/(n + a + b)."""
        p = self._probability(totals)
        return BernoulliDistribution(p, 1.0 - p, self.threshold)

    def _probability(self, totals: Totals) -> Array:
        posterior = (self.prior or Beta(0.0, 0.0)).update(totals)
        return posterior.mode() if self.learn == "map" else posterior.mean()

    def leave_one_out(self, totals: Totals, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Only the row's own class changes; rows of one class and weight share most of the work."""
        return self._with_own_class(totals, x, codes, weight)

    def own_log_density(self, totals: Totals, x: Any, codes: Codes, weight: Array) -> Array:
        """Estimate each (class, weight) twice, without a true and without a false entry; then choose."""
        out = np.empty(len(codes))
        kinds, which = np.unique(np.stack([codes, weight], axis=1), axis=0, return_inverse=True)
        for k, (c, w) in enumerate(kinds):
            rows = np.flatnonzero(which == k)
            own = totals.take(np.array([int(c)]))
            seen = np.broadcast_to(own.weight, own.total.shape)
            # Where no true (or false) row was counted, no row asks for the estimate without it.
            without_true = Totals(np.maximum(seen - w, 0.0), np.maximum(own.total - w, 0.0))
            failures = np.maximum(seen - own.total - w, 0.0)
            without_false = Totals(failures + own.total, own.total)
            true, false = self._probability(without_true), self._probability(without_false)
            out[rows] = BernoulliDistribution(true, 1.0 - false, self.threshold).log_density(x[rows])[:, 0]
        return out


@dataclass(frozen=True)
class BernoulliDistribution(LinearDistribution):
    """Probabilities of true and of false, (classes, columns)."""

    probability: Array
    complement: Array
    threshold: float | None = 0.0
    title = "p(x = 1 | y)"

    @cached_property
    def present(self) -> Array:
        """Log θ."""
        return log(self.probability)

    @cached_property
    def absent(self) -> Array:
        """Log (1 − θ)."""
        return log(self.complement)

    @property
    def parameter(self) -> Array:
        """θ."""
        return self.probability

    @property
    def n_parameters(self) -> int:
        """One for each class and column."""
        return self.probability.size

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of zeros and ones."""
        p = self.probability[codes]
        return (rng.random(p.shape) < p).astype(np.float64)
