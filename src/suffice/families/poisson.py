"""Counts with no upper bound: one rate per class and column."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, Matrix, Sparse, count_entries, is_sparse
from suffice.core.errors import InvalidOptionError
from suffice.core.priors import Gamma
from suffice.core.special import log_gamma_ratio
from suffice.core.statistics import Totals
from suffice.core.statistics.statistic import clear_residue
from suffice.families._base import Entrywise, Family, derived
from suffice.families._contract import COUNTS, Summary
from suffice.families._derive import pieces, sum_observed
from suffice.families.logarithms import log_sums, peak_losses
from suffice.formulas import Formula, LogGamma, LogGammaRatio, TimesLog, X


class PoissonRates(Entrywise):
    """Rates λ, (classes, columns)."""

    rate: Array

    support = COUNTS
    sparse: ClassVar = True

    def density(self, x: Formula) -> Formula:
        """Return x log λ − λ − log x!."""
        return TimesLog(x, self.rate) - self.rate - LogGamma(x + 1.0)

    expected = derived(lambda self: self.rate)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of counts."""
        return rng.poisson(self.rate[codes]).astype(np.float64)


class NegativeBinomialCounts(Entrywise):
    """Gamma-Poisson with posterior shape r and rate b, (classes, columns) each."""

    shape: Array
    rate: Array

    support = COUNTS
    sparse: ClassVar = True
    why_not_linear: ClassVar = "The log-odds of negative binomials are not linear in x; use learn='mean'"

    def density(self, x: Formula) -> Formula:
        """Return log Γ(r + x)/(Γ(r) x!) + r log(b/(b+1)) − x log(b+1); with r = 0 there is no event."""
        r = np.where(self.shape > 0, self.shape, 1.0)
        # Γ(r + x) / (Γ(r) Γ(x + 1)), from the smaller of r and 1
        density = np.where(r < 1, -1.0, 1.0) * LogGammaRatio(x, np.minimum(r, 1.0), np.abs(r - 1.0))
        density = density - np.log1p(self.rate) * x
        density = density + _log_no_event(self.shape, self.rate)
        return density if (self.shape > 0).all() else density + TimesLog(x, (self.shape > 0).astype(np.float64))

    expected = derived(lambda self: self.shape / self.rate)

    shown = derived(lambda self: {"expected": self.expected})

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a rate for each entry, then the count."""
        return rng.poisson(rng.standard_gamma(self.shape[codes]) / self.rate[codes]).astype(np.float64)


def _log_no_event(shape: Array, rate: Array) -> Array:
    """Compute the log of the negative binomial's probability of no event, r log(b / (b + 1)) = −r log(1 + 1/b)."""
    with np.errstate(divide="ignore"):
        return np.where(shape > 0, -np.where(shape > 0, shape, 1.0) * np.log1p(1.0 / rate), 0.0)


class Poisson(Family[Totals]):
    """A count with one rate per class:  p(x | y) = λ_y^x e^(−λ_y) / x!

    The default prior is Gamma(1, 1), which counts as one row with one event in each class. With `learn="predictive"`
    the rate is integrated out, which gives the negative binomial.

    >>> family = Poisson(prior=None)
    >>> family.estimate(family.summarize([[2], [4]], [0, 0]).statistic).rate
    array([[3.]])
    """

    summary: ClassVar = Summary(Totals)
    gives: ClassVar = PoissonRates
    weak_prior: ClassVar = Gamma(1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior is not None and self.prior.rate is None:
            raise InvalidOptionError("Poisson: the prior needs a rate; only Exponential can derive it from the data")

    def estimate(self, totals: Totals) -> PoissonRates | NegativeBinomialCounts:
        """Estimate λ = Σx/n, (Σx + shape − 1)/(n + rate) or (Σx + shape)/(n + rate)."""
        posterior = (self.prior or Gamma(0.0, 0.0)).update(totals)
        if self.learn == "predictive":
            rate = np.broadcast_to(np.asarray(posterior.rate), np.shape(posterior.shape))
            return NegativeBinomialCounts(np.asarray(posterior.shape), rate)
        return PoissonRates(posterior.mode() if self.learn == "map" else posterior.mean())

    def own_log_density(self, totals: Totals, x: Matrix, codes: Codes, weight: Array) -> Array:
        """Compute Σ_j x_j log λ_j − λ_j − log x_j!, where λ_j is estimated without the row.

        The posterior mean is λ_j = (Σx − w x_j + shape) / (n − w + rate).
        """
        prior = self.prior or Gamma(0.0, 0.0)
        rate = np.asarray(prior.rate, dtype=np.float64)
        if is_sparse(x) and totals.weight.shape[1] == rate.size == 1 and not np.isnan(x.data).any():
            n = totals.weight[codes, 0]
            exposure = clear_residue(n - weight, n) + rate.ravel()
            own = self._own_predicted if self.learn == "predictive" else self._own_rates
            return own(np.asarray(totals.total + prior.shape), exposure, x, codes, weight)
        out = np.empty(x.shape[0])
        for part, piece in pieces(x, x.shape[1]):
            rest = totals.own_without(piece, codes[part], weight[part])
            family = self if self.prior is None else replace(self, prior=self.prior.of_rows(codes[part]))
            out[part] = sum_observed(family.estimate(rest).density(X), piece)
        return out

    def _own_rates(self, shape: Array, exposure: Array, x: Sparse, codes: Codes, weight: Array) -> Array:
        """Compute the same for sparse rows from their stored entries: only those change Σ_j λ_j."""
        from scipy.special import gammaln

        table = shape - 1.0 if self.learn == "map" else shape
        logs, length = log_sums(table, x, codes, weight)
        lost = peak_losses(table, x, codes, weight) if self.learn == "map" else weight * length
        some = np.where(exposure > 0, exposure, 1.0)  # an exposure of 0 is handled below
        score = np.where(length == 0, 0.0, logs - length * np.log(some))
        score -= (np.maximum(table, 0.0).sum(axis=1)[codes] - lost) / some
        score[(exposure == 0) & (length > 0)] = -np.inf
        score[(exposure == 0) & (length == 0)] = 0.0
        rows, _, values = count_entries(x)
        return np.asarray(score - np.bincount(rows, weights=gammaln(values + 1.0), minlength=len(codes)))

    def _own_predicted(self, shape: Array, exposure: Array, x: Sparse, codes: Codes, weight: Array) -> Array:
        """Compute the negative binomial of sparse rows from their stored entries."""
        rows, columns, values = count_entries(x)
        removed, before = weight[rows] * values, shape[codes[rows], columns]
        left = clear_residue(before - removed, before)
        total = shape.sum(axis=1)[codes]
        rest = clear_residue(total - np.bincount(rows, weights=removed, minlength=len(codes)), total)
        # log Γ(r + x)/(Γ(r) x!) − x log(b + 1) of the stored entries is added to the value of a row of zeros.
        r = np.where(left > 0, left, 1.0)
        gain = np.where(r < 1, -1.0, 1.0) * log_gamma_ratio(np.minimum(r, 1.0), np.abs(r - 1.0), values)
        gain -= values * np.log1p(exposure[rows])
        gains = np.bincount(rows, weights=np.where(left > 0, gain, -np.inf), minlength=len(codes))
        return np.asarray(_log_no_event(rest, exposure) + gains)
