"""Counts of words drawn from one bag: one probability per class and column, which sum to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, Matrix, Positions, Values, count_entries
from suffice.core.priors import Dirichlet, Number
from suffice.core.special import log_rising
from suffice.core.statistics import Totals
from suffice.core.statistics.statistic import clear_residue
from suffice.families._base import Distribution, Entrywise, Family, derived
from suffice.families._contract import WORDS, Outcomes, Summary, Table
from suffice.families.logarithms import log_sums, peak_losses
from suffice.formulas import Column, Formula, LogGamma, Term, TimesLog, total, unless_missing


class MultinomialDistribution(Entrywise):
    """Probabilities θ (classes, columns), and the mean length of a row in each class, to draw rows with."""

    probability: Array
    length: Array

    support = WORDS
    sparse: ClassVar = True

    def density(self, x: Formula) -> Formula:
        """Return x log θ."""
        return TimesLog(x, self.probability)

    shown = derived(lambda self: {"p(x | y)": self.probability})

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:
        """Yield the probability that each column is drawn."""
        yield Outcomes(names.__getitem__, self.probability)

    @property
    def n_parameters(self) -> int:
        """The number of columns less one for each class: probabilities sum to one."""
        classes, columns = self.probability.shape
        return classes * (columns - 1)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of counts; their lengths are Poisson around the mean length of the class."""
        lengths = rng.poisson(self.length[codes])
        p = self.probability / np.maximum(self.probability.sum(axis=1, keepdims=True), 1e-300)
        return rng.multinomial(lengths, p[codes]).astype(np.float64)


class DirichletMultinomial(Distribution):
    """Pseudo-counts α (classes, columns):  p(x | y) = Γ(A)/Γ(A + m) Π_j Γ(α_j + x_j)/Γ(α_j), A = Σ α."""

    alpha: Array
    length: Array

    support = WORDS
    sparse: ClassVar = True
    why_not_linear: ClassVar = (
        "The log-odds of the Dirichlet-multinomial are not linear in x: a word counts less when it is drawn again; "
        "use learn='mean'"
    )

    def log_density(self, x: Matrix) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes)."""
        rows, columns, values = count_entries(x)
        out = np.empty((x.shape[0], len(self.alpha)))
        for c, alpha in enumerate(self.alpha):
            bag = np.full(x.shape[0], alpha.sum())
            out[:, c] = _urn_log_density(alpha[columns], bag, rows, values)
        return out

    def formula(self, names: Sequence[str]) -> list[Term]:
        """Return one term for all columns, as the number of words in a row depends on each."""
        from scipy.special import gammaln

        bag, length, gains = self.alpha.sum(axis=1), [], []
        size = np.where(bag > 0, bag, 1.0)
        for j, name in enumerate(names):
            some = np.where(self.alpha[:, j] > 0, self.alpha[:, j], 1.0)
            gain = LogGamma(Column(name) + some) - gammaln(some)
            if (self.alpha[:, j] <= 0).any():
                gain = gain + TimesLog(Column(name), (self.alpha[:, j] > 0).astype(np.float64))
            length.append(unless_missing(name, Column(name)))
            gains.append(unless_missing(name, gain))
        return [Term(", ".join(names), tuple(names), gammaln(size) - LogGamma(total(length) + size) + total(gains))]

    n_columns = derived(lambda self: self.alpha.shape[1])
    # The number of columns less one for each class.
    n_parameters = derived(lambda self: len(self.alpha) * (self.alpha.shape[1] - 1))

    @property
    def probability(self) -> Array:
        """The probability of each word as the first one drawn."""
        total = self.alpha.sum(axis=1, keepdims=True)
        return np.divide(self.alpha, total, out=np.zeros_like(self.alpha), where=total > 0)

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:
        """Yield the probability that each column is drawn first."""
        yield Outcomes(names.__getitem__, self.probability)

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return the probability of each word as the first one drawn."""
        return MultinomialDistribution(self.probability, self.length).tables(labels, names)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a bag for each row, then the row from the bag."""
        bags = rng.standard_gamma(self.alpha[codes])
        bags /= np.maximum(bags.sum(axis=1, keepdims=True), 1e-300)
        return rng.multinomial(rng.poisson(self.length[codes]), bags).astype(np.float64)


class Multinomial(Family[Totals]):
    """Draws from one bag:  p(x | y) = Π_j θ_yj^(x_j)  with Σ_j θ_yj = 1.

    That is the probability of the draws in their order. The number of orders, m! / Π x_j!, is the same for every class
    and is left out. The default prior is Dirichlet(1), which counts as each word being drawn once in each class. With
    `learn="predictive"` θ is integrated out, which gives the Dirichlet-multinomial (Pólya urn): a word that was drawn
    once is more probable to be drawn again.

    >>> family = Multinomial(prior=Dirichlet(1))
    >>> family.estimate(family.summarize([[3, 0]], [0]).statistic).probability
    array([[0.8, 0.2]])
    """

    summary: ClassVar = Summary(Totals)
    gives: ClassVar = MultinomialDistribution
    weak_prior: ClassVar = Dirichlet(1.0)

    def estimate(self, totals: Totals) -> Distribution:
        """Estimate θ_j = n_j / n, (n_j + α_j − 1) / Σ(n + α − 1) or (n_j + α_j) / Σ(n + α)."""
        prior = self.prior or Dirichlet(0.0)
        rows = totals.weight.max(axis=1, initial=0.0)
        length = np.divide(totals.total.sum(axis=1), rows, out=np.zeros(len(rows)), where=rows > 0)
        if self.learn == "predictive":
            return DirichletMultinomial(totals.total + prior.alpha, length)
        theta = prior.mode(totals.total) if self.learn == "map" else prior.mean(totals.total)
        return MultinomialDistribution(theta, length)

    def own_log_density(self, totals: Totals, x: Matrix, codes: Codes, weight: Array) -> Array:
        """Compute Σ_j x_j log θ_j with θ_j = (n_j − w x_j + α_j) / Σ(n − w x + α), or another estimate from n − w x."""
        table = totals.total + (0.0 if self.prior is None else self.prior.alpha)
        if self.learn == "predictive":
            return self._own_from_urn(totals, table, x, codes, weight)
        logs, length = log_sums(table, x, codes, weight)
        score = _log_share(logs, length, table.sum(axis=1)[codes], weight * length)
        if self.learn == "map":
            peak_logs, _ = log_sums(table - 1.0, x, codes, weight)
            total, lost = np.maximum(table - 1.0, 0.0).sum(axis=1)[codes], peak_losses(table - 1.0, x, codes, weight)
            # If no word is above its prior there is no mode, and the mean is used.
            score = np.where(clear_residue(total - lost, total) > 0, _log_share(peak_logs, length, total, lost), score)
        return score

    @staticmethod
    def _own_from_urn(totals: Totals, table: Array, x: Matrix, codes: Codes, weight: Array) -> Array:
        """Compute the Dirichlet-multinomial of n − w x + α."""
        rows, columns, values = count_entries(x)
        own, removed = codes[rows], weight[rows] * values
        drawn = totals.total[own, columns]
        left = clear_residue(drawn - removed, drawn) + (table - totals.total)[own, columns]
        whole = table.sum(axis=1)[codes]
        bag = clear_residue(whole - np.bincount(rows, weights=removed, minlength=len(codes)), whole)
        return _urn_log_density(left, bag, rows, values)


def _log_share(logs: Array, length: Array, total: Array, removed: Array) -> Array:
    """Compute Σ_j x_j log(t_j / (total − removed)) of each row from Σ_j x_j log t_j and the row's length."""
    norm = clear_residue(total - removed, total)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = logs - length * np.log(norm)
    return np.where(length == 0, 0.0, np.where(norm > 0, score, -np.inf))


def log_urn(alpha: Number, x: Values) -> Array:
    """Compute log Γ(α + x) − log Γ(α): x draws from an urn of α that gains one with every draw."""
    return log_rising(alpha, x)


def _urn_log_density(alpha: Array, bag: Array, rows: Positions, values: Array) -> Array:
    """Compute the Dirichlet-multinomial of `rows`, one for each entry, with pseudo-counts `alpha` and counts `values`.

    `bag` is the sum A of the pseudo-counts for each row.
    """
    some = np.where(alpha > 0, alpha, 1.0)
    gain = np.where(alpha > 0, log_urn(some, values), -np.inf)
    length, gains = (np.bincount(rows, weights=each, minlength=len(bag)) for each in (values, gain))
    score = gains - log_urn(np.where(bag > 0, bag, 1.0), length)
    return np.where(bag > 0, score, np.where(length > 0, -np.inf, 0.0))  # no word can be drawn from an empty bag
