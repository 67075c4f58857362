"""Weighted totals: all that counts, rates and proportions need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, is_sparse, refuse_at
from suffice.core.errors import InvalidDataError
from suffice.core.statistics.statistic import (
    Statistic,
    check_array,
    class_weight,
    replace_each,
    spread_rows,
    subtract_weights,
)


@dataclass(frozen=True, eq=False, repr=False)
class Totals(Statistic):
    """Observed weight Σ w and total Σ w·x of each class and column.

    `total` is (classes, columns). `weight` is too, or (classes, 1) where it is the same in all columns, as
    where no entry is missing, so that a large vocabulary carries one table and not two.

    >>> Totals.of(np.array([[1.0, 0.0], [2.0, np.nan]]), np.zeros(2, np.int32), 1).total
    array([[3., 0.]])
    """

    weight: Array
    total: Array

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""
        return cls(np.zeros((classes, 1)), np.zeros((classes, columns)))

    def check_arrays(self) -> None:
        """Refuse arrays that do not belong together."""
        check_array("total", self.total, (-1, -1))
        classes, columns = self.total.shape
        check_array("weight", self.weight, (classes, 1 if np.shape(self.weight)[1:] == (1,) else columns))

    def trimmed(self) -> Self:
        """With one weight for all columns where it is the same in all, so that what is equal also looks alike."""
        if self.weight.shape[1] == 1 or (self.weight != self.weight[:, :1]).any():
            return self
        return type(self)(self.weight[:, :1].copy(), self.total)

    @classmethod
    def of(
        cls,
        x: Any,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        threshold: float | None = None,
    ) -> Self:
        """Summarize rows of counts ≥ 0, or with a `threshold`, of truths x > threshold."""
        start = cls.empty(classes, x.shape[1]) if onto is None else onto
        rows = start.weight + class_weight(codes, classes, weight)[:, None]
        if is_sparse(x):
            total, gaps = cls._sum_sparse(x, codes, weight, threshold, start.total)
        else:
            total, gaps = start.total.copy(), np.zeros(start.total.shape)
            refuse_at(_core.totals(x, codes, classes, weight, threshold, total, gaps), x)
        if not np.isfinite(total).all():
            column = int(np.argwhere(~np.isfinite(total))[0, 1])
            raise InvalidDataError(f"Column {column} holds values so large that their sum overflows")
        return cls(subtract_weights(rows, gaps) if gaps.any() else rows, total).trimmed()

    @staticmethod
    def _sum_sparse(
        x: Any, codes: Codes, weight: Array | None, threshold: float | None, start: Array
    ) -> tuple[Array, Array]:
        """Start + Σ w·x, and the weight of the entries stored as NaN."""
        classes, columns = start.shape

        def sums(data: NDArray[Any], threshold: float | None, out: Array) -> tuple[bool, bool]:
            refused, missing, duplicate = _core.sparse_totals(
                data, x.indices, x.indptr, columns, codes, classes, weight, threshold, out
            )
            refuse_at(refused, x)
            return missing, duplicate

        total = start.copy()
        missing, duplicate = sums(x.data, threshold, total)
        if duplicate and threshold is not None and not x.has_canonical_format:
            # An entry stored in parts: only its sum can be compared with the threshold.
            x = x.copy()
            x.sum_duplicates()
            total = start.copy()
            missing, _ = sums(x.data, threshold, total)
        gaps = np.zeros((1, 1))
        if missing:
            gaps = np.zeros(start.shape)
            sums(np.isnan(x.data).astype(np.float64), None, gaps)
        return total, gaps

    def __add__(self, other: Self) -> Self:
        return type(self)(self.weight + other.weight, self.total + other.total).trimmed()

    def __sub__(self, other: Self) -> Self:
        weight = subtract_weights(self.weight, other.weight)
        return type(self)(weight, subtract_weights(self.total, other.total)).trimmed()

    def own_without(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize the class of each row without that row; row i's is class i, (rows, columns)."""
        seen = ~np.isnan(x) * weight[:, None]
        return self.take(codes) - type(self)(seen, seen * np.where(np.isnan(x), 0.0, x))

    def without_each(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize all classes without each of the rows, (rows, classes, columns)."""
        own = self.own_without(x, codes, weight)
        pairs = ((np.broadcast_to(self.weight, self.total.shape), own.weight), (self.total, own.total))
        return type(self)(*(replace_each(table, codes, row) for table, row in pairs))

    def scale(self, factor: float) -> Self:
        """Make every row `factor` times as heavy."""
        return type(self)(self.weight * factor, self.total * factor)

    def take(self, classes: NDArray[Any]) -> Self:
        """Keep the given classes, in that order."""
        return type(self)(self.weight[classes], self.total[classes])

    def spread(self, positions: NDArray[Any], classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        weight = spread_rows(self.weight, positions, classes)
        return type(self)(weight, spread_rows(self.total, positions, classes))

    def pooled(self) -> Self:
        """Summarize all classes as one."""
        return type(self)(self.weight.sum(axis=0, keepdims=True), self.total.sum(axis=0, keepdims=True))

    @property
    def n_classes(self) -> int:
        """How many classes are summarized."""
        return len(self.weight)

    @property
    def n_columns(self) -> int:
        """How many columns are summarized."""
        return self.total.shape[1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Totals) or self.total.shape != other.total.shape:
            return NotImplemented if not isinstance(other, Totals) else False
        same_weight = bool((self.weight == other.weight).all())  # of any two broadcastable shapes
        return same_weight and bool((self.total == other.total).all())

    def __repr__(self) -> str:
        classes, columns = self.total.shape
        return f"Totals({classes} classes × {columns} columns, total {self.total.sum():g})"
