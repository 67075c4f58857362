"""Booleans: one probability per class and column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, Matrix, Sparse, Values, as_dense, is_sparse
from suffice.core.errors import InvalidOptionError
from suffice.core.priors import Beta
from suffice.core.statistics import Totals
from suffice.core.statistics.statistic import clear_residue
from suffice.families._base import Distribution, Entrywise, Family, FillMethod, derived
from suffice.families._contract import BOOLEANS, COMPARED, SHARES, Outcomes, Summary
from suffice.families.logarithms import log
from suffice.formulas import Above, Formula, TimesLog, X


class BernoulliDistribution(Entrywise):
    """Probabilities of true and of false, (classes, columns)."""

    probability: Array
    complement: Array
    threshold: float | None = 0.0

    sparse: ClassVar = True

    # Booleans if the threshold lies between 0 and 1, else numbers that are compared with it.
    support = derived(lambda self: BOOLEANS if self.threshold is not None and 0 <= self.threshold < 1 else COMPARED)

    def density(self, x: Formula) -> Formula:
        """Return x log θ + (1 − x) log(1 − θ), where x stands for x > threshold."""
        x = x if self.threshold is None else Above(x, float(self.threshold))
        return TimesLog(x, self.probability) + TimesLog(1.0 - x, self.complement)

    shown = derived(lambda self: {"p(x = 1 | y)": self.probability})
    expected = derived(lambda self: self.probability)

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:
        """Yield the probability that each column is true."""
        yield Outcomes(names.__getitem__, self.probability)

    def fill(self, x: Matrix, posterior: Array, codes: Codes, method: FillMethod, rng: np.random.Generator) -> Values:
        """Fill missing entries by the more probable value, or by a draw: the mean of booleans is not a boolean."""
        if method == "sample":
            return super().fill(x, posterior, codes, method, rng)
        observed = np.asarray(x, dtype=np.float64)
        probability = np.broadcast_to(self.probability, (posterior.shape[1], observed.shape[1]))
        return np.where(np.isnan(observed), posterior @ probability > 0.5, observed)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of zeros and ones."""
        p = self.probability[codes]
        return (rng.random(p.shape) < p).astype(np.float64)


class Bernoulli(Family[Totals]):
    """A boolean with one probability per class:  p(x | y) = θ_y^x (1 − θ_y)^(1 − x).

    x is read as x > `threshold`; with `threshold=None` x itself is used, and must lie in [0, 1]. The default prior is
    Beta(1, 1), which counts as one true and one false row in each class. For a single boolean the predictive
    distribution is the posterior mean.

    >>> family = Bernoulli(prior=Beta(1, 1))
    >>> family.estimate(family.summarize([[1], [1], [0]], [0, 0, 0]).statistic).probability
    array([[0.6]])
    """

    threshold: float | None = 0.0

    gives: ClassVar = BernoulliDistribution
    weak_prior: ClassVar = Beta(1.0, 1.0)

    # Totals of booleans: of entries above the threshold, or of entries as they are.
    summary = derived(lambda self: Summary(Totals, X if self.threshold is None else Above(X, float(self.threshold))))
    # Any number that can be compared with the threshold; without one, numbers from 0 to 1.
    support = derived(lambda self: SHARES if self.threshold is None else COMPARED)

    def read(self, x: Any) -> Matrix:
        """Convert columns to a matrix; a sparse one needs a threshold of at least 0."""
        matrix: Matrix = super().read(x)
        if self.threshold is not None and self.threshold < 0 and is_sparse(matrix):
            raise InvalidOptionError("Bernoulli: with a threshold below 0 every zero is true; pass dense columns")
        return matrix

    def estimate(self, totals: Totals) -> Distribution:
        """Estimate θ = Σx/n, (Σx + a − 1)/(n + a + b − 2) or (Σx + a)/(n + a + b)."""
        return BernoulliDistribution(*self._probabilities(totals), self.threshold)

    def _probabilities(self, totals: Totals, codes: Codes | None = None) -> tuple[Array, Array]:
        """Return θ and 1 − θ of each class, or of the classes of rows."""
        prior = self.prior or Beta(0.0, 0.0)
        posterior = (prior if codes is None else prior.of_rows(codes)).update(totals)
        return posterior.modes() if self.learn == "map" else posterior.means()

    def leave_one_out(
        self, totals: Totals, fitted: Distribution, x: Matrix, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave rows out; only the row's own class changes."""
        if is_sparse(x) and weight is None and totals.weight.shape[1] == 1:
            out = fitted.log_density(x)
            for c in range(len(out[0])):
                rows = np.flatnonzero(codes == c)
                out[rows, c] = self._own_of_one_class(totals.take(np.array([c])), x[rows], c)
            return out
        return super().leave_one_out(totals, fitted, x, codes, weight)

    def _own_of_one_class(self, totals: Totals, x: Sparse, c: int) -> Array:
        """Score rows of weight 1 of class c: estimate without a true and without a false entry, and choose by entry."""
        # If no true (or false) entry was counted, no row needs the estimate without it.
        n = np.broadcast_to(totals.weight, totals.total.shape)
        without_true = Totals(clear_residue(n - 1.0, n), clear_residue(totals.total - 1.0, n))
        without_false = Totals(clear_residue(n - totals.total - 1.0, n) + totals.total, totals.total)
        one = np.array([c], np.int32)
        true, false = self._probabilities(without_true, one)[0], self._probabilities(without_false, one)[1]
        return BernoulliDistribution(true, false, self.threshold).log_density(x)[:, 0]

    def own_log_density(self, totals: Totals, x: Matrix, codes: Codes, weight: Array) -> Array:
        """Compute Σ_j x_j log θ_j + (1 − x_j) log (1 − θ_j), where θ_j is estimated from totals less w·x_j."""
        x = as_dense(x) if is_sparse(x) else x
        missing = np.isnan(x)
        x = np.where(missing, 0.0, x if self.threshold is None else x > self.threshold)
        w = weight[:, None] * ~missing
        n, true = np.broadcast_to(totals.weight[codes], x.shape), totals.total[codes]
        rest = Totals(clear_residue(n - w, n), clear_residue(true - w * x, true))
        one, zero = self._probabilities(rest, codes)
        with np.errstate(invalid="ignore"):  # 0 · log 0 is 0
            terms = np.where(x > 0, x * log(one), 0.0) + np.where(x < 1, (1.0 - x) * log(zero), 0.0)
        return np.where(missing, 0.0, terms).sum(axis=1)
