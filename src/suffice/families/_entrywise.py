"""Families that are estimated entry by entry, so that one call can estimate many statistics at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from suffice.core.arrays import Array, Codes, is_sparse, refuse_infinite
from suffice.core.statistics import Moments, Totals
from suffice.families._base import Distribution, Family

T = TypeVar("T", Moments, Totals)


class EntrywiseDistribution(Distribution):
    """A distribution that says the log-density of every entry."""

    @abstractmethod
    def terms(self, x: Array) -> Array:
        """Log p(x_j | y) of entries that broadcast against the parameters (…, classes, columns)."""

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes)."""
        refuse_infinite(x)
        classes, columns = self.expected.shape
        out = np.empty((x.shape[0], classes))
        for part, piece in pieces(x, classes * columns):
            out[part] = sum_observed(self, piece[:, None, :])
        return out


@dataclass(frozen=True, eq=False, repr=False)
class EntrywiseFamily(Family[T]):
    """A family that estimates statistics of any shape (…, classes, columns)."""

    @abstractmethod
    def estimate(self, statistic: T) -> EntrywiseDistribution:
        """Estimate p(x | y) of every class the statistic has, or of every class of many statistics."""

    def leave_one_out(
        self,
        statistic: T,
        fitted: Distribution,  # noqa: ARG002  # what classes share changes with every row
        x: Any,
        codes: Codes,
        weight: Array | None,
    ) -> Array:
        """Estimate from the statistic without each row, many rows at a time."""
        refuse_infinite(x)
        out = np.empty((x.shape[0], statistic.n_classes))
        for part, piece in pieces(x, statistic.n_classes * statistic.n_columns):
            w = np.ones(len(piece)) if weight is None else weight[part]
            rest = self.estimate(statistic.without_each(piece, codes[part], w))
            out[part] = sum_observed(rest, piece[:, None, :])
        return out


def pieces(x: Any, cells: int) -> Iterator[tuple[slice, Array]]:
    """Cut rows, of which each takes so many cells, into dense pieces of float64 whose working copies stay small."""
    rows = max(1, (1 << 17) // max(1, cells))  # 1 MiB: about what the cache holds
    for lo in range(0, x.shape[0], rows):
        part = slice(lo, lo + rows)
        yield part, np.asarray(x[part].toarray() if is_sparse(x) else x[part], dtype=np.float64)


def sum_observed(distribution: EntrywiseDistribution, x: Array) -> Array:
    """Σ_j log p(x_j | y) over the last axis; what is missing is left out."""
    return np.where(np.isnan(x), 0.0, distribution.terms(x)).sum(axis=-1)
