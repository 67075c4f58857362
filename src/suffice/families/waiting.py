"""What the exponential and the geometric share: the time, or the number of failures, until an event."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from suffice.families.family import Distribution, Family, Table
from suffice.statistics import Totals
from suffice.statistics.statistic import clear_residue
from suffice.tables import Array, Codes, Values, is_sparse, refuse_infinite


class WaitingDistribution(Distribution):
    """A distribution that says the log-density of every entry, and what is expected of it."""

    @abstractmethod
    def terms(self, x: Array) -> Array:
        """Log p(x_j | y) of entries that broadcast against the parameters (…, classes, columns)."""

    @property
    @abstractmethod
    def expected(self) -> Array:
        """The mean of each class and column."""

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return self.expected.shape[1]

    @property
    def n_parameters(self) -> int:
        """One for each class and column."""
        return self.expected.size


class PredictiveWaiting(WaitingDistribution):
    """A waiting time whose parameter is integrated out: not linear in x, so summed entry by entry."""

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes)."""
        x = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)
        refuse_infinite(x)
        out = np.empty((len(x), len(self.expected)))
        for lo in range(0, len(x), rows_at_once(self.expected)):
            piece = slice(lo, lo + rows_at_once(self.expected))
            out[piece] = observed_sum(self, x[piece])
        return out

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """The expected value of each class and column."""
        return [Table("expected", list(names), [str(label) for label in labels], self.expected.T)]


@dataclass(frozen=True, eq=False, repr=False)
class Waiting(Family[Totals]):
    """A family whose parameters follow, entry by entry, from the totals of any shape (…, classes, columns)."""

    kind: ClassVar = Totals

    @abstractmethod
    def estimate(self, totals: Totals) -> WaitingDistribution:
        """Estimate every class and column of the totals."""

    def leave_one_out(
        self,
        totals: Totals,
        fitted: Distribution,  # noqa: ARG002  # a prior made of all classes changes with every row
        x: Any,
        codes: Codes,
        weight: Array | None,
    ) -> Array:
        """Estimate from the totals without each row, many rows at a time."""
        classes, columns = totals.total.shape
        seen = np.broadcast_to(totals.weight, (classes, columns))
        out = np.empty((x.shape[0], classes))
        for lo in range(0, len(out), rows_at_once(seen)):
            part = slice(lo, lo + rows_at_once(seen))
            piece = np.asarray(x[part].toarray() if is_sparse(x) else x[part], dtype=np.float64)
            w = ~np.isnan(piece) * (1.0 if weight is None else weight[part, None])
            rest = Totals(*(np.repeat(table[None], len(piece), axis=0) for table in (seen, totals.total)))
            rows, own = np.arange(len(piece)), codes[part]
            rest.weight[rows, own] = clear_residue(seen[own] - w, seen[own])
            rest.total[rows, own] = clear_residue(totals.total[own] - w * np.nan_to_num(piece), totals.total[own])
            out[part] = observed_sum(self.estimate(rest), piece)
        return out


def observed_sum(distribution: WaitingDistribution, x: Array) -> Array:
    """Σ_j log p(x_j | y) over the observed entries of each row, (rows, classes)."""
    x = x[:, None, :]
    return np.where(np.isnan(x), 0.0, distribution.terms(x)).sum(axis=2)


def rows_at_once(table: Array) -> int:
    """How many rows to work on at a time, so that a table for each of them stays small."""
    return max(1, (1 << 20) // max(1, table.size))


def known_somewhere(a: Array, b: Array, totals: tuple[Array, Array]) -> tuple[Array, Array]:
    """The posterior (a, b), and where nothing is known (a = 0) what all classes together show, or 1 and 1."""
    if (a > 0).all():
        return a, b
    for otherwise in (totals, (1.0, 1.0)):
        unknown = a <= 0
        a, b = np.where(unknown, otherwise[0], a), np.where(unknown, otherwise[1], b)
    return a, b
