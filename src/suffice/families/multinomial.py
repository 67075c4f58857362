"""Counts of words drawn from one bag: one probability per class and column, summing to one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice.errors import NoLinearFormError
from suffice.families.family import Distribution, Family
from suffice.families.linear import (
    LinearDistribution,
    LinearScores,
    add_up,
    finite_log,
    gather,
    log_sums,
    refuse_infinite,
)
from suffice.priors import Dirichlet
from suffice.statistics import Totals
from suffice.tables import Array, Codes, clear_residue, is_sparse


@dataclass(frozen=True, repr=False)
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

        if not is_sparse(x):
            refuse_infinite(x)
        n, classes = x.shape[0], len(self.alpha)
        out = np.empty((n, classes))
        total = self.alpha.sum(axis=1)
        for c in range(classes):
            alpha, values, rows = gather(self.alpha[c : c + 1], x, np.zeros(n, np.int32))
            length = add_up(values, rows, n)
            with np.errstate(invalid="ignore"):
                gain = np.where(alpha > 0, gammaln(alpha + values) - gammaln(alpha), -np.inf)
            out[:, c] = gammaln(total[c]) - gammaln(total[c] + length) + add_up(gain, rows, n)
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
        return self.alpha / self.alpha.sum(axis=1, keepdims=True)

    def tables(self, labels: Any, names: Any) -> Any:
        """The probability of each word as the first one drawn."""
        return MultinomialDistribution(self.probability, self.length).tables(labels, names)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a bag for each row, then the row from the bag."""
        bags = rng.standard_gamma(self.alpha[codes])
        bags /= np.maximum(bags.sum(axis=1, keepdims=True), 1e-300)
        return rng.multinomial(rng.poisson(self.length[codes]), bags).astype(np.float64)
