"""Weighted totals: what counts, rates and proportions are estimated from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes, Matrix, Sparse, as_csr, is_sparse, refuse_at, without_duplicates
from suffice.core.errors import InvalidDataError
from suffice.core.statistics.statistic import ArrayStatistic, class_weight, subtract_weights
from suffice.core.validation import Held


@dataclass(frozen=True, eq=False, repr=False)
class Totals(ArrayStatistic):
    """Observed weight Σ w and total Σ w·x of each class and column.

    `total` is (classes, columns), and so is `weight`, unless it is the same in all columns, as it is where no entry is
    missing: then it is (classes, 1), so that a large vocabulary needs one table and not two.

    >>> Totals.of(np.array([[1.0, 0.0], [2.0, np.nan]]), np.zeros(2, np.int32), 1).total
    array([[3., 0.]])
    """

    weight: Annotated[Array, Held("classes", ("columns", 1), least=0)]
    total: Annotated[Array, Held("classes", "columns", least=0)]
    class_fields = ("weight", "total")

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""
        return cls(np.zeros((classes, 1)), np.zeros((classes, columns)))

    def trimmed(self) -> Self:
        """Keep one weight for all columns where it is the same in all: equal totals then have equal arrays."""
        if self.weight.shape[1] == 1 or (self.weight != self.weight[:, :1]).any():
            return self
        return type(self)(self.weight[:, :1].copy(), self.total)

    @classmethod
    def of(
        cls,
        x: Matrix,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        threshold: float | None = None,
    ) -> Self:
        """Summarize rows of counts ≥ 0, or with a `threshold`, of the booleans x > threshold."""
        x = as_csr(x) if is_sparse(x) else x
        start = cls.empty(classes, x.shape[1]) if onto is None else onto
        rows = start.weight + class_weight(codes, classes, weight)[:, None]
        if is_sparse(x):
            total, missing = cls._sum_sparse(x, codes, weight, threshold, start.total)
        else:
            total, missing = start.total.copy(), np.zeros(start.total.shape)
            refuse_at(_core.totals(x, codes, classes, weight, threshold, total, missing), x)
        if not np.isfinite(total).all():
            column = int(np.argwhere(~np.isfinite(total))[0, 1])
            raise InvalidDataError(f"Column {column} holds values so large that their sum overflows")
        return cls(subtract_weights(rows, missing) if missing.any() else rows, total).trimmed()

    @staticmethod
    def _sum_sparse(
        x: Sparse, codes: Codes, weight: Array | None, threshold: float | None, start: Array
    ) -> tuple[Array, Array]:
        """Return start + Σ w·x, and the weight of the entries stored as NaN."""
        classes, columns = start.shape

        def add(data: Array, threshold: float | None, out: Array) -> tuple[bool, bool]:
            refused, found_nan, found_duplicate = _core.sparse_totals(
                data, x.indices, x.indptr, columns, codes, classes, weight, threshold, out
            )
            refuse_at(refused, x)
            return found_nan, found_duplicate

        total = start.copy()
        found_nan, found_duplicate = add(x.data, threshold, total)
        if found_duplicate and threshold is not None and not x.has_canonical_format:
            x = without_duplicates(x)  # only the sum of an entry stored in parts can be compared with the threshold
            total = start.copy()
            found_nan, _ = add(x.data, threshold, total)
        if not found_nan:
            return total, np.zeros((1, 1))
        missing = np.zeros(start.shape)
        add(np.isnan(x.data).astype(np.float64), None, missing)
        return total, missing

    def __add__(self, other: Self) -> Self:
        return type(self)(self.weight + other.weight, self.total + other.total).trimmed()

    def __sub__(self, other: Self) -> Self:
        weight = subtract_weights(self.weight, other.weight)
        return type(self)(weight, subtract_weights(self.total, other.total)).trimmed()

    def own_without(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize the class of each row without that row: row i is class i of the result, (rows, columns)."""
        seen = ~np.isnan(x) * weight[:, None]
        return self.take(codes) - type(self)(seen, seen * np.where(np.isnan(x), 0.0, x))

    def pooled(self) -> Self:
        """Summarize all classes as one."""
        return type(self)(self.weight.sum(axis=0, keepdims=True), self.total.sum(axis=0, keepdims=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Totals) or self.total.shape != other.total.shape:
            return NotImplemented if not isinstance(other, Totals) else False
        same_weight = bool((self.weight == other.weight).all())  # the shapes may differ, and broadcast
        return same_weight and bool((self.total == other.total).all())

    def __repr__(self) -> str:
        classes, columns = self.total.shape
        return f"Totals({classes} classes × {columns} columns, total {self.total.sum():g})"
