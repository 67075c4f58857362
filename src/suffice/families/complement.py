"""Scores from the words of all other classes (Rennie, Shih, Teevan and Karger, 2003)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, Matrix
from suffice.core.errors import InvalidOptionError
from suffice.core.priors import Dirichlet
from suffice.core.statistics import Totals
from suffice.families._base import Distribution, Entrywise, Family
from suffice.families._contract import WORDS, Summary
from suffice.families.logarithms import log, log_sums
from suffice.formulas import Formula

# The log-share of a word that no other class has, without smoothing. It outweighs any other word.
LOG_OF_ZERO = -1e6


class ComplementScores(Entrywise):
    """Weights (classes, columns)."""

    weight: Array

    support = WORDS
    sparse: ClassVar = True

    def density(self, x: Formula) -> Formula:
        """Return x times the weight: a score, not the logarithm of a density."""
        return self.weight * x


class Complement(Family[Totals]):
    """Score a class by how badly the words of the other classes fit:  w_yj = −log θ_(not y)j.

    This is not a distribution of x: there is no p(x | y) to draw from. With `norm` the weights of a class are divided
    by their sum. The prior smooths the complement's counts as those of the multinomial.
    """

    norm: bool = False

    summary: ClassVar = Summary(Totals)
    gives: ClassVar = ComplementScores
    weak_prior: ClassVar = Dirichlet(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learn in ("map", "predictive"):
            raise InvalidOptionError(f"Complement: learn={self.learn!r} is not defined: use 'mean', or 'mle'")

    def estimate(self, totals: Totals) -> Distribution:
        """Estimate −log of the complement's smoothed share of each word, (classes, columns)."""
        alpha = 0.0 if self.prior is None else self.prior.alpha
        rest = sum_others(totals.total) + alpha
        whole = rest.sum(axis=1, keepdims=True)
        logged = log(np.divide(rest, whole, out=np.zeros_like(rest), where=whole > 0), of_zero=LOG_OF_ZERO)
        if self.norm:
            total = logged.sum(axis=1, keepdims=True)
            weights = np.divide(logged, total, out=np.zeros_like(logged), where=total != 0)
        else:
            weights = -logged
        return ComplementScores(weights)

    def leave_one_out(
        self, totals: Totals, fitted: Distribution, x: Matrix, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave rows out; the words of the row change in the complement of every other class."""
        alpha = 0.0 if self.prior is None else self.prior.alpha
        if self.norm or not np.all(alpha):
            return super().leave_one_out(totals, fitted, x, codes, weight)
        n = x.shape[0]
        rest = sum_others(totals.total) + alpha
        weight = np.ones(n) if weight is None else weight
        out = np.empty((n, len(rest)))
        for c, norm in enumerate(rest.sum(axis=1)):
            removed = np.where(codes == c, 0.0, weight)
            logs, length = log_sums(rest, x, np.full(n, c, dtype=np.int32), removed)
            out[:, c] = length * np.log(norm - removed * length) - logs
        return out


def sum_others(table: Array) -> Array:
    """Sum the rows of all other classes, (classes, columns), by sums from both ends: a difference would lose digits."""
    out = np.zeros_like(table)
    np.cumsum(table[:-1], axis=0, out=out[1:])
    out[:-1] += np.cumsum(table[:0:-1], axis=0)[::-1]
    return out
