"""Truths: one probability per class and column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, is_sparse, refuse_entries
from suffice.core.errors import InvalidOptionError
from suffice.core.priors import Beta
from suffice.core.statistics import Totals
from suffice.core.statistics.statistic import clear_residue
from suffice.families._base import Distribution, Family, Outcomes, Support
from suffice.families._linear import LinearDistribution, LinearScores
from suffice.families._logarithms import finite_log, log


@dataclass(frozen=True, eq=False, repr=False)
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise InvalidOptionError(f"Bernoulli: the threshold must be a finite number, found {self.threshold}")

    @property
    def reading(self) -> dict[str, Any]:
        """Entries are compared with the threshold."""
        return {"threshold": self.threshold}

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix; without a threshold its entries must lie in [0, 1]."""
        x = super().read(x)
        if self.threshold is not None and self.threshold < 0 and is_sparse(x):
            raise InvalidOptionError("Bernoulli: with a threshold below 0 every zero is true; pass dense columns")
        if self.threshold is None:
            what, advice = "Expected truths between 0 and 1.", " Give a threshold to compare with."
            refuse_entries(x, lambda entries: (entries < 0) | (entries > 1), what, advice)
        return x

    def estimate(self, totals: Totals) -> Distribution:
        """θ = Σx/n, (Σx + a − 1)/(n + a + b − 2) or (Σx + a)/(n + a + b)."""
        return BernoulliDistribution(*self._probabilities(totals), self.threshold)

    def _probabilities(self, totals: Totals, codes: Codes | None = None) -> tuple[Array, Array]:
        """θ and 1 − θ, of each class or of the classes of rows."""
        prior = self.prior or Beta(0.0, 0.0)
        posterior = (prior if codes is None else prior.of_rows(codes)).update(totals)
        return posterior.modes() if self.learn == "map" else posterior.means()

    def leave_one_out(self, totals: Totals, fitted: Distribution, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Only the row's own class changes."""
        if is_sparse(x) and weight is None and totals.weight.shape[1] == 1:
            out = fitted.log_density(x)
            for c in range(len(out[0])):
                rows = np.flatnonzero(codes == c)
                out[rows, c] = self._own_of_one_class(totals.take(np.array([c])), x[rows], c)
            return out
        return self._with_own_class(totals, fitted, x, codes, weight)

    def _own_of_one_class(self, own: Totals, x: Any, c: int) -> Array:
        """Rows of weight 1: estimate twice, without a true and without a false entry; then choose entry by entry."""
        # Where no true (or false) row was counted, no row asks for the estimate without it.
        seen = np.broadcast_to(own.weight, own.total.shape)
        without_true = Totals(clear_residue(seen - 1.0, seen), clear_residue(own.total - 1.0, seen))
        without_false = Totals(clear_residue(seen - own.total - 1.0, seen) + own.total, own.total)
        one = np.array([c])
        true, false = self._probabilities(without_true, one)[0], self._probabilities(without_false, one)[1]
        return BernoulliDistribution(true, false, self.threshold).log_density(x)[:, 0]

    def own_log_density(self, totals: Totals, x: Any, codes: Codes, weight: Array) -> Array:
        """Σ_j x_j log θ_j + (1 − x_j) log (1 − θ_j) with θ_j from totals less w·x_j."""
        x = x.toarray() if is_sparse(x) else x
        gaps = np.isnan(x)
        x = np.where(gaps, 0.0, x if self.threshold is None else x > self.threshold)
        w = weight[:, None] * ~gaps
        seen, true = np.broadcast_to(totals.weight[codes], x.shape), totals.total[codes]
        rest = Totals(clear_residue(seen - w, seen), clear_residue(true - w * x, true))
        one, zero = self._probabilities(rest, codes)
        with np.errstate(invalid="ignore"):  # 0 · log 0 is 0
            terms = np.where(x > 0, x * log(one), 0.0) + np.where(x < 1, (1.0 - x) * log(zero), 0.0)
        return np.where(gaps, 0.0, terms).sum(axis=1)


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
    def expected(self) -> Array:
        """θ."""
        return self.probability

    def support(self, column: int) -> Support:  # noqa: ARG002  # all are alike
        """True or false."""
        return "truth"

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:
        """Each column being true."""
        yield Outcomes(names.__getitem__, self.probability)

    @property
    def n_parameters(self) -> int:
        """One for each class and column."""
        return self.probability.size

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of zeros and ones."""
        p = self.probability[codes]
        return (rng.random(p.shape) < p).astype(np.float64)
