"""Truths: one probability per class and column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice.errors import InvalidDataError
from suffice.families.family import Distribution, Family
from suffice.families.linear import LinearDistribution, LinearScores, finite_log, refuse_infinite
from suffice.priors import Beta
from suffice.statistics import ByClass, Totals
from suffice.tables import Array, Codes, clear_residue, is_sparse


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
        return BernoulliDistribution(*self._probabilities(totals), self.threshold)

    def _probabilities(self, totals: Totals) -> tuple[Array, Array]:
        """θ and 1 − θ."""
        posterior = (self.prior or Beta(0.0, 0.0)).update(totals)
        if self.learn == "map":
            return posterior.mode(), posterior.flipped().mode()
        return posterior.mean(), posterior.flipped().mean()

    def leave_one_out(self, totals: Totals, fitted: Distribution, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Only the row's own class changes; rows of one class and weight share most of the work."""
        values = x.data if is_sparse(x) else x
        if self.threshold is None and ((values > 0) & (values < 1)).any():
            return super().leave_one_out(totals, fitted, x, codes, weight)
        out = fitted.log_density(x)
        own = self.own_log_density(totals, x, codes, np.ones(len(codes)) if weight is None else weight)
        out[np.arange(len(codes)), codes] = own
        return out

    def own_log_density(self, totals: Totals, x: Any, codes: Codes, weight: Array) -> Array:
        """Estimate each (class, weight) twice, without a true and without a false entry; then choose."""
        out = np.empty(len(codes))
        kinds, which = np.unique(np.stack([codes, weight], axis=1), axis=0, return_inverse=True)
        for k, (c, w) in enumerate(kinds):
            rows = np.flatnonzero(which == k)
            own = totals.take(np.array([int(c)]))
            seen = np.broadcast_to(own.weight, own.total.shape)
            # Where no true (or false) row was counted, no row asks for the estimate without it.
            without_true = Totals(clear_residue(seen - w, seen), clear_residue(own.total - w, seen))
            without_false = Totals(clear_residue(seen - own.total - w, seen) + own.total, own.total)
            true, false = self._probabilities(without_true)[0], self._probabilities(without_false)[1]
            out[rows] = BernoulliDistribution(true, false, self.threshold).log_density(x[rows])[:, 0]
        return out


@dataclass(frozen=True)
class BernoulliDistribution(LinearDistribution):
    """Probabilities of true and of false, (classes, columns)."""

    probability: Array
    complement: Array
    threshold: float | None = 0.0
    title = "p(x = 1 | y)"

    @cached_property
    def scores(self) -> LinearScores:
        """Coef = log θ − log (1 − θ), absent = log (1 − θ)."""
        absent = finite_log(self.complement)
        return LinearScores(finite_log(self.probability) - absent, absent)

    @cached_property
    def vetoes(self) -> LinearScores | None:
        """A true entry where θ is 0, a false one where it is 1."""
        return LinearScores.vetoing(self.probability <= 0, self.complement <= 0)

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
