"""Counts with no upper bound: one rate per class and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice.core.arrays import (
    Array,
    Codes,
    Values,
    count_entries,
    is_sparse,
    refuse_at,
    refuse_entries,
    refuse_infinite,
    without_duplicates,
)
from suffice.core.errors import InvalidOptionError, NoLinearFormError
from suffice.core.priors import Gamma
from suffice.core.statistics import Totals
from suffice.core.statistics.statistic import clear_residue
from suffice.families._base import Distribution, Family, Support, Table
from suffice.families._entrywise import EntrywiseDistribution, pieces, sum_observed
from suffice.families._linear import LinearDistribution, LinearScores
from suffice.families._logarithms import finite_log, log, log_sums, peak_losses
from suffice.formulas import Column, Formula, LogGamma, Term, excluding, supported, unless_missing


@dataclass(frozen=True, eq=False, repr=False)
class Poisson(Family[Totals]):
    """A count with one rate per class:  p(x | y) = λ_y^x e^(−λ_y) / x!

    A bare `Poisson()` has the prior Gamma(1, 1): as if one row holding one event had been seen in each
    class. With `learn="predictive"` the rate is integrated out, which gives the negative binomial.

    >>> family = Poisson(prior=None)
    >>> family.estimate(family.summarize([[2], [4]], [0, 0]).statistic).rate
    array([[3.]])
    """

    kind: ClassVar = Totals
    weak_prior: ClassVar = Gamma(1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior is not None and self.prior.rate is None:
            raise InvalidOptionError("Poisson: the prior needs a rate; only the exponential fills it in")

    def estimate(self, totals: Totals) -> PoissonRates | NegativeBinomialCounts:
        """λ = Σx/n, (Σx + shape − 1)/(n + rate) or (Σx + shape)/(n + rate)."""
        posterior = (self.prior or Gamma(0.0, 0.0)).update(totals)
        if self.learn == "predictive":
            rate = np.broadcast_to(np.asarray(posterior.rate), np.shape(posterior.shape))
            return NegativeBinomialCounts(np.asarray(posterior.shape), rate)
        return PoissonRates(posterior.mode() if self.learn == "map" else posterior.mean())

    def leave_one_out(self, totals: Totals, fitted: Distribution, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Only the row's own class changes."""
        return self._with_own_class(totals, fitted, x, codes, weight)

    def own_log_density(self, totals: Totals, x: Any, codes: Codes, weight: Array) -> Array:
        """Σ_j x_j log λ_j − λ_j − log x_j! with λ_j = (Σx − w x_j + shape) / (n − w + rate), or as it is learned."""
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
            out[part] = sum_observed(family.estimate(rest), piece)
        return out

    def _own_rates(self, shape: Array, exposure: Array, x: Any, codes: Codes, weight: Array) -> Array:
        """The same of a sparse row from its stored entries alone: Σ_j λ_j is known but for those."""
        table = shape - 1.0 if self.learn == "map" else shape
        logs, length = log_sums(table, x, codes, weight)
        lost = peak_losses(table, x, codes, weight) if self.learn == "map" else weight * length
        some = np.where(exposure > 0, exposure, 1.0)  # without it no event can happen
        score = np.where(length == 0, 0.0, logs - length * np.log(some))
        score -= (np.maximum(table, 0.0).sum(axis=1)[codes] - lost) / some
        score[(exposure == 0) & (length > 0)] = -np.inf
        score[(exposure == 0) & (length == 0)] = 0.0
        return np.asarray(score + np.ravel(_minus_log_factorials(x)))

    def _own_predicted(self, shape: Array, exposure: Array, x: Any, codes: Codes, weight: Array) -> Array:
        """The negative binomial of a sparse row from its stored entries alone."""
        rows, columns, values = count_entries(x)
        removed, before = weight[rows] * values, shape[codes[rows], columns]
        left = clear_residue(before - removed, before)
        total = shape.sum(axis=1)[codes]
        rest = clear_residue(total - np.bincount(rows, weights=removed, minlength=len(codes)), total)
        return _none(rest, exposure) + _some(left, exposure[rows], rows, values, len(codes))


def _none(shape: Array, rate: Array) -> Array:
    """Log of the negative binomial's probability of no event, r log(b / (b + 1))."""
    return np.where(shape > 0, np.where(shape > 0, shape, 1.0) * (log(rate) - np.log1p(rate)), 0.0)


def _some(shape: Array, rate: Array, rows: Any, values: Array, n: int) -> Array:
    """What events add to that, log Γ(r + x)/(Γ(r) x!) − x log(b + 1), summed by row."""
    from scipy.special import gammaln

    r = np.where(shape > 0, shape, 1.0)
    gain = gammaln(r + values) - gammaln(r) - gammaln(values + 1.0) - values * np.log1p(rate)
    sums: Array = np.bincount(rows, weights=np.where(shape > 0, gain, -np.inf), minlength=n)  # type: ignore[assignment]  # weighted
    return sums


def _minus_log_factorials(x: Any) -> Array:
    """−Σ_j log x_j! of each row, (rows, 1)."""
    from scipy.special import gammaln

    if is_sparse(x):
        if (x.data < 0).any():
            _refuse_negative(x.toarray())
        logs = without_duplicates(x).copy()
        logs.data = np.nan_to_num(gammaln(logs.data + 1.0))
        return -np.asarray(logs.sum(axis=1), dtype=np.float64).reshape(-1, 1)
    refuse_infinite(x)
    _refuse_negative(x)
    return -np.nansum(gammaln(np.asarray(x, dtype=np.float64) + 1.0), axis=1, keepdims=True)


def _refuse_negative(x: Any) -> None:
    negative = x < 0
    if negative.any():
        refuse_at(int(np.argmax(negative)), x)


@dataclass(frozen=True)
class PoissonRates(LinearDistribution, EntrywiseDistribution):
    """Rates λ, (classes, columns)."""

    rate: Array
    title = "rate"

    @cached_property
    def scores(self) -> LinearScores:
        """Coef = log λ, absent = −λ."""
        return LinearScores(finite_log(self.rate), -self.rate)

    @cached_property
    def vetoes(self) -> LinearScores | None:
        """An event whose rate is 0."""
        return LinearScores.vetoing(self.rate <= 0)

    def _shared(self, x: Any) -> Array | float:
        return _minus_log_factorials(x)

    def formula_of(self, name: str, column: int) -> Formula:
        """X log λ − λ − log x!; negative counts are impossible."""
        return supported(name, super().formula_of(name, column) - LogGamma(Column(name) + 1.0), 0.0)

    def terms(self, x: Array) -> Array:
        """X log λ − λ − log x!."""
        from scipy.special import gammaln

        with np.errstate(invalid="ignore"):  # 0 · log 0 is 0
            return np.asarray(np.where(x > 0, x * log(self.rate), 0.0) - self.rate - gammaln(x + 1.0))

    @property
    def parameter(self) -> Array:
        """λ."""
        return self.rate

    @property
    def expected(self) -> Array:
        """λ."""
        return self.rate

    @property
    def n_parameters(self) -> int:
        """One for each class and column."""
        return self.rate.size

    def support(self, column: int) -> Support:  # noqa: ARG002  # all are alike
        """Counts."""
        return "whole"

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of counts."""
        return rng.poisson(self.rate[codes]).astype(np.float64)


@dataclass(frozen=True)
class NegativeBinomialCounts(EntrywiseDistribution):
    """Gamma-Poisson with posterior shape r and rate b:  p(x) = Γ(r + x)/(Γ(r) x!) (b/(b+1))^r (1/(b+1))^x."""

    shape: Array
    rate: Array

    def terms(self, x: Array) -> Array:
        """Log Γ(r + x)/(Γ(r) x!) + r log(b/(b+1)) − x log(b+1)."""
        from scipy.special import gammaln

        r = np.where(self.shape > 0, self.shape, 1.0)
        gain = gammaln(r + x) - gammaln(r) - gammaln(x + 1.0) - x * np.log1p(self.rate)
        gain = np.where(self.shape > 0, gain, np.where(x > 0, -np.inf, 0.0))  # shape 0: no event can happen
        return np.asarray(gain + _none(self.shape, self.rate))

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes)."""
        if not is_sparse(x) or np.isnan(x.data).any():
            refuse_entries(x, lambda entries: entries < 0, "Negative values in data passed as counts.")
            return super().log_density(x)
        rows, columns, values = count_entries(x)
        out = np.empty((x.shape[0], len(self.shape)))
        for c, (r, b) in enumerate(zip(self.shape, self.rate, strict=True)):
            out[:, c] = _none(r, b).sum() + _some(r[columns], b[columns], rows, values, len(out))
        return out

    def formula(self, names: Sequence[str]) -> list[Term]:
        """The same as `terms`, column by column; negative counts are impossible."""
        from scipy.special import gammaln

        out = []
        for j, name in enumerate(names):
            shape, rate, x = self.shape[:, j], self.rate[:, j], Column(name)
            r = np.where(shape > 0, shape, 1.0)
            density = LogGamma(x + r) - gammaln(r) - LogGamma(x + 1.0) - np.log1p(rate) * x + _none(shape, rate)
            if (shape <= 0).any():  # no event can happen
                density = density + excluding(name, 0.0, np.where(shape > 0, 0.0, -np.inf))
            out.append(Term(name, (name,), unless_missing(name, supported(name, density, 0.0))))
        return out

    def linear(self) -> Any:
        """Refuse: the log of the gamma function bends."""
        raise NoLinearFormError("The negative binomial is not linear in x; learn='mean' is")

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return self.shape.shape[1]

    @property
    def expected(self) -> Array:
        """The mean r/b."""
        return self.shape / self.rate

    @property
    def n_parameters(self) -> int:
        """One rate for each class and column."""
        return self.shape.size

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """The expected count of each class and column."""
        return [Table("expected", list(names), [str(label) for label in labels], (self.shape / self.rate).T)]

    def support(self, column: int) -> Support:  # noqa: ARG002  # all are alike
        """Counts."""
        return "whole"

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a rate for each entry, then the count."""
        return rng.poisson(rng.standard_gamma(self.shape[codes]) / self.rate[codes]).astype(np.float64)
