"""Booleans: one probability per class and column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, is_sparse
from suffice.core.errors import InvalidOptionError
from suffice.core.priors import Beta
from suffice.core.statistics import Totals
from suffice.core.statistics.statistic import clear_residue
from suffice.families._base import Distribution, Entrywise, Family, How
from suffice.families._results import Outcomes
from suffice.families._summary import Summary
from suffice.families._support import BOOLEANS, COMPARED, SHARES, Support
from suffice.families.logarithms import log
from suffice.formulas import Above, Formula, TimesLog, X


class BernoulliDistribution(Entrywise):
    """Probabilities of true and of false, (classes, columns)."""

    probability: Array
    complement: Array
    threshold: float | None = 0.0

    sparse: ClassVar = True

    @property
    def support(self) -> Support:  # type: ignore[override]  # it depends on the threshold
        """Booleans where the threshold lies between 0 and 1, else numbers that are compared with it."""
        return BOOLEANS if self.threshold is not None and 0 <= self.threshold < 1 else COMPARED

    def density(self, x: Formula) -> Formula:
        """X log θ + (1 − x) log(1 − θ), x being read as x > threshold."""
        x = x if self.threshold is None else Above(x, float(self.threshold))
        return TimesLog(x, self.probability) + TimesLog(1.0 - x, self.complement)

    @property
    def shown(self) -> dict[str, Array]:
        """θ."""
        return {"p(x = 1 | y)": self.probability}

    @property
    def expected(self) -> Array:
        """θ."""
        return self.probability

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:
        """Each column being true."""
        yield Outcomes(names.__getitem__, self.probability)

    def fill(self, x: Any, posterior: Array, codes: Codes, how: How, rng: np.random.Generator) -> NDArray[Any]:
        """Fill missing entries by the likelier value, or by a draw: the mean of booleans is not one."""
        if how == "sample":
            return super().fill(x, posterior, codes, how, rng)
        observed = np.asarray(x, dtype=np.float64)
        probability = np.broadcast_to(self.probability, (posterior.shape[1], observed.shape[1]))
        return np.where(np.isnan(observed), posterior @ probability > 0.5, observed)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of zeros and ones."""
        p = self.probability[codes]
        return (rng.random(p.shape) < p).astype(np.float64)


class Bernoulli(Family[Totals]):
    """A boolean with one probability per class:  p(x | y) = θ_y^x (1 − θ_y)^(1 − x).

    x is read as x > `threshold`; with `threshold=None` it must lie in [0, 1] and counts as it is. A bare
    `Bernoulli()` has the prior Beta(1, 1): as if a true and a false row had been seen in each class.
    For a single boolean the predictive and the posterior mean are the same.

    >>> family = Bernoulli(prior=Beta(1, 1))
    >>> family.estimate(family.summarize([[1], [1], [0]], [0, 0, 0]).statistic).probability
    array([[0.6]])
    """

    threshold: float | None = 0.0

    gives: ClassVar = BernoulliDistribution
    weak_prior: ClassVar = Beta(1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise InvalidOptionError(f"Bernoulli: the threshold must be a finite number, found {self.threshold}")

    @property
    def summary(self) -> Summary[Totals]:  # type: ignore[override]  # it depends on the threshold
        """Totals of booleans: of entries above the threshold, or of entries as they are."""
        return Summary(Totals, X if self.threshold is None else Above(X, float(self.threshold)))

    @property
    def support(self) -> Support:
        """Any number that can be compared with the threshold; without one, numbers from 0 to 1."""
        return SHARES if self.threshold is None else COMPARED

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix; a sparse one needs a threshold of at least 0."""
        x = super().read(x)
        if self.threshold is not None and self.threshold < 0 and is_sparse(x):
            raise InvalidOptionError("Bernoulli: with a threshold below 0 every zero is true; pass dense columns")
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
        missing = np.isnan(x)
        x = np.where(missing, 0.0, x if self.threshold is None else x > self.threshold)
        w = weight[:, None] * ~missing
        seen, true = np.broadcast_to(totals.weight[codes], x.shape), totals.total[codes]
        rest = Totals(clear_residue(seen - w, seen), clear_residue(true - w * x, true))
        one, zero = self._probabilities(rest, codes)
        with np.errstate(invalid="ignore"):  # 0 · log 0 is 0
            terms = np.where(x > 0, x * log(one), 0.0) + np.where(x < 1, (1.0 - x) * log(zero), 0.0)
        return np.where(missing, 0.0, terms).sum(axis=1)
