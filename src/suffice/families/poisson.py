"""Counts with no upper bound: one rate per class and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice.errors import InvalidOptionError, NoLinearFormError
from suffice.families.family import Distribution, Family, Table
from suffice.families.linear import LinearDistribution, LinearScores
from suffice.families.logarithms import finite_log, log, log_sums
from suffice.priors import Gamma
from suffice.statistics import Totals
from suffice.statistics.statistic import clear_residue
from suffice.tables import Array, Codes, Values, is_sparse, refuse_at, refuse_infinite


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

    def estimate(self, totals: Totals) -> Distribution:
        """λ = Σx/n, (Σx + shape − 1)/(n + rate) or (Σx + shape)/(n + rate)."""
        posterior = (self.prior or Gamma(0.0, 0.0)).update(totals)
        if self.learn == "predictive":
            rate = np.broadcast_to(np.asarray(posterior.rate), np.shape(posterior.shape))
            return NegativeBinomialCounts(np.asarray(posterior.shape), rate)
        return PoissonRates(posterior.mode() if self.learn == "map" else posterior.mean())

    def leave_one_out(self, totals: Totals, fitted: Distribution, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Only the row's own class changes."""
        if self.learn in ("map", "predictive"):
            return super().leave_one_out(totals, fitted, x, codes, weight)
        return self._with_own_class(totals, fitted, x, codes, weight)

    def own_log_density(self, totals: Totals, x: Any, codes: Codes, weight: Array) -> Array:
        """Σ_j x_j log λ_j − λ_j with λ_j = (Σx − w x_j + shape) / (n − w + rate)."""
        prior = self.prior or Gamma(0.0, 0.0)
        if not is_sparse(x) or totals.weight.shape[1] > 1 or np.isnan(x.data).any():
            x = x.toarray() if is_sparse(x) else x
            gaps = np.isnan(x)
            seen = np.where(gaps, 0.0, x)
            w = weight[:, None] * ~gaps
            n, events = np.broadcast_to(totals.weight[codes], x.shape), totals.total[codes]
            rest = Totals(clear_residue(n - w, n), clear_residue(events - w * seen, events))
            rate = prior.update(rest).mean()
            with np.errstate(invalid="ignore"):  # 0 · log 0 is 0
                score = np.where(gaps, 0.0, np.where(seen > 0, seen * log(rate), 0.0) - rate).sum(axis=1)
        else:
            table = np.asarray(totals.total + prior.shape)
            logs, length = log_sums(table, x, codes, weight)
            n = totals.weight[codes, 0]
            exposure = clear_residue(n - weight, n) + np.asarray(prior.rate)
            some = np.where(exposure > 0, exposure, 1.0)  # without it no event can happen
            score = np.where(length == 0, 0.0, logs - length * np.log(some))
            score -= (table.sum(axis=1)[codes] - weight * length) / some
            score[(exposure == 0) & (length > 0)] = -np.inf
            score[(exposure == 0) & (length == 0)] = 0.0
        return np.asarray(score + np.ravel(_minus_log_factorials(x)))


def _minus_log_factorials(x: Any) -> Array:
    """−Σ_j log x_j! of each row, (rows, 1)."""
    from scipy.special import gammaln

    if is_sparse(x):
        if (x.data < 0).any():
            _refuse_negative(x.toarray())
        logs = x.copy()
        logs.data = np.nan_to_num(gammaln(x.data + 1.0))
        return -np.asarray(logs.sum(axis=1), dtype=np.float64).reshape(-1, 1)
    refuse_infinite(x)
    _refuse_negative(x)
    return -np.nansum(gammaln(np.asarray(x, dtype=np.float64) + 1.0), axis=1, keepdims=True)


def _refuse_negative(x: Any) -> None:
    negative = x < 0
    if negative.any():
        refuse_at(int(np.argmax(negative)), x)


@dataclass(frozen=True)
class PoissonRates(LinearDistribution):
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

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of counts."""
        return rng.poisson(self.rate[codes]).astype(np.float64)


@dataclass(frozen=True)
class NegativeBinomialCounts(Distribution):
    """Gamma-Poisson with posterior shape r and rate b:  p(x) = Γ(r + x)/(Γ(r) x!) (b/(b+1))^r (1/(b+1))^x."""

    shape: Array
    rate: Array

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes)."""
        from scipy.special import gammaln

        x = x.toarray() if is_sparse(x) else x
        refuse_infinite(x)
        out = np.empty((x.shape[0], len(self.shape)))
        for c, (r, b) in enumerate(zip(self.shape, self.rate, strict=True)):
            log_go = -np.log1p(b)
            some = np.where(r > 0, r, 1.0)
            terms = gammaln(some + x) - gammaln(some) - gammaln(x + 1.0) + some * (log(b) + log_go) + x * log_go
            terms = np.where(r > 0, terms, np.where(x > 0, -np.inf, 0.0))  # shape 0: no event can happen
            out[:, c] = np.where(np.isnan(x), 0.0, terms).sum(axis=1)
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

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a rate for each entry, then the count."""
        return rng.poisson(rng.standard_gamma(self.shape[codes]) / self.rate[codes]).astype(np.float64)
