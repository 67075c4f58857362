"""Counts of words drawn from one bag: one probability per class and column, summing to one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice.errors import NoLinearFormError
from suffice.families.family import Distribution, Family
from suffice.families.linear import LinearDistribution, LinearScores
from suffice.families.logarithms import finite_log, log_sums
from suffice.priors import Dirichlet
from suffice.statistics import Totals
from suffice.statistics.statistic import clear_residue
from suffice.tables import Array, Codes, is_sparse, refuse_infinite


@dataclass(frozen=True, eq=False, repr=False)
class Multinomial(Family[Totals]):
    """Draws from one bag:  p(x | y) = Π_j θ_yj^(x_j)  with Σ_j θ_yj = 1.

    That is the probability of the draws in the order in which they came; the number of orders,
    m! / Π x_j!, is the same for every class and is left out. A bare `Multinomial()` has the prior
    Dirichlet(1): as if each word had been drawn once in each class. With `learn="predictive"` the bag
    itself is unknown (the Dirichlet-multinomial, or Pólya urn): a word drawn once is likelier to come again.

    >>> family = Multinomial(prior=Dirichlet(1))
    >>> family.estimate(family.summarize([[3, 0]], [0]).statistic).probability
    array([[0.8, 0.2]])
    """

    kind: ClassVar = Totals
    weak_prior: ClassVar = Dirichlet(1.0)

    def estimate(self, totals: Totals) -> Distribution:
        """θ_j = n_j / n, (n_j + α_j − 1) / Σ(n + α − 1) or (n_j + α_j) / Σ(n + α)."""
        prior = self.prior or Dirichlet(0.0)
        length = np.divide(
            totals.total.sum(axis=1),
            totals.weight.max(axis=1, initial=0.0),
            out=np.zeros(len(totals.total)),
            where=totals.weight.max(axis=1, initial=0.0) > 0,
        )
        if self.learn == "predictive":
            return DirichletMultinomial(totals.total + prior.alpha, length)
        theta = prior.mode(totals.total) if self.learn == "map" else prior.mean(totals.total)
        return MultinomialDistribution(theta, length)

    def leave_one_out(self, totals: Totals, fitted: Distribution, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Only the row's own class changes, and there only the words of the row."""
        if self.learn in ("map", "predictive"):
            return super().leave_one_out(totals, fitted, x, codes, weight)
        return self._with_own_class(totals, fitted, x, codes, weight)

    def own_log_density(self, totals: Totals, x: Any, codes: Codes, weight: Array) -> Array:
        """Σ_j x_j log θ_j with θ_j = (n_j − w x_j + α_j) / Σ(n − w x + α)."""
        table = totals.total + (0.0 if self.prior is None else self.prior.alpha)
        logs, length = log_sums(table, x, codes, weight)
        total = table.sum(axis=1)[codes]
        norm = clear_residue(total - weight * length, total)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = logs - length * np.log(norm)
        return np.where(length == 0, 0.0, np.where(norm > 0, score, -np.inf))


@dataclass(frozen=True)
class MultinomialDistribution(LinearDistribution):
    """Probabilities θ (classes, columns), and the mean length of a row in each class, to draw rows with."""

    probability: Array
    length: Array

    @cached_property
    def scores(self) -> LinearScores:
        """Coef = log θ."""
        return LinearScores(finite_log(self.probability))

    @cached_property
    def vetoes(self) -> LinearScores | None:
        """A word whose θ is 0."""
        return LinearScores.vetoing(self.probability <= 0)

    @property
    def parameter(self) -> Array:
        """θ."""
        return self.probability

    @property
    def n_parameters(self) -> int:
        """One less than the columns for each class: they sum to one."""
        classes, columns = self.probability.shape
        return classes * (columns - 1)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of counts, their lengths Poisson around the class's mean length."""
        lengths = rng.poisson(self.length[codes])
        p = self.probability / np.maximum(self.probability.sum(axis=1, keepdims=True), 1e-300)
        return rng.multinomial(lengths, p[codes]).astype(np.float64)


@dataclass(frozen=True)
class DirichletMultinomial(Distribution):
    """Pseudo-counts α (classes, columns):  p(x | y) = Γ(A)/Γ(A + m) Π_j Γ(α_j + x_j)/Γ(α_j), A = Σ α."""

    alpha: Array
    length: Array

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes)."""
        from scipy.special import gammaln

        rows, columns, values = _entries(x)
        n, total = x.shape[0], self.alpha.sum(axis=1)
        length = np.bincount(rows, weights=values, minlength=n)
        out = np.empty((n, len(self.alpha)))
        for c, alpha in enumerate(self.alpha[:, columns]):
            some = np.where(alpha > 0, alpha, 1.0)
            gain = np.where(alpha > 0, gammaln(some + values) - gammaln(some), -np.inf)
            bag = total[c] if total[c] > 0 else 1.0  # from an empty bag nothing can be drawn
            out[:, c] = gammaln(bag) - gammaln(bag + length) + np.bincount(rows, weights=gain, minlength=n)
            if total[c] <= 0:
                out[:, c] = np.where(length > 0, -np.inf, 0.0)
        return out

    def linear(self) -> Any:
        """Refuse: a word's second drawing counts for less than its first."""
        raise NoLinearFormError(
            "The Dirichlet-multinomial is not linear in x: a word's second drawing counts for less than its "
            "first; learn='mean' is linear"
        )

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return self.alpha.shape[1]

    @property
    def n_parameters(self) -> int:
        """One less than the columns for each class."""
        return len(self.alpha) * (self.alpha.shape[1] - 1)

    @property
    def probability(self) -> Array:
        """The probability of each word as the first one drawn."""
        total = self.alpha.sum(axis=1, keepdims=True)
        return np.divide(self.alpha, total, out=np.zeros_like(self.alpha), where=total > 0)

    def tables(self, labels: Any, names: Any) -> Any:
        """The probability of each word as the first one drawn."""
        return MultinomialDistribution(self.probability, self.length).tables(labels, names)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a bag for each row, then the row from the bag."""
        bags = rng.standard_gamma(self.alpha[codes])
        bags /= np.maximum(bags.sum(axis=1, keepdims=True), 1e-300)
        return rng.multinomial(rng.poisson(self.length[codes]), bags).astype(np.float64)


def _entries(x: Any) -> tuple[NDArray[np.int64], NDArray[Any], Array]:
    """Row, column and value of every entry that is neither missing nor zero."""
    if is_sparse(x):
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        columns, values = x.indices[: len(rows)], x.data[: len(rows)]
    else:
        refuse_infinite(x)
        rows, columns = (a.ravel() for a in np.indices(x.shape))
        values = x.ravel()
    counted = (values == values) & (values != 0)
    return rows[counted], columns[counted], values[counted].astype(np.float64)
