"""Weighted totals: what counts, rates and proportions are estimated from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes, Matrix, Sparse, as_csr, is_sparse, refuse_at, without_duplicates
from suffice.core.errors import InvalidDataError, MismatchError
from suffice.core.statistics.compensated import (
    Sums,
    added,
    check_rest,
    class_weight,
    minus,
    plus,
    pooled,
    product,
    rounded,
    times,
)
from suffice.core.statistics.statistic import ArrayStatistic
from suffice.core.validation import Held


@dataclass(frozen=True, eq=False, repr=False)
class Totals(ArrayStatistic):
    """Observed weight Σ w and total Σ w·x of each class and column.

    `total` is (classes, columns), and so is `weight`, unless it is the same in all columns, as it is where no entry is
    missing: then it is (classes, 1), so that a large vocabulary needs one table and not two. `weight_rest` and
    `total_rest` are what rounding took from them, as `compensated` says.

    >>> Totals.of(np.array([[1.0, 0.0], [2.0, np.nan]]), np.zeros(2, np.int32), 1).total
    array([[3., 0.]])
    """

    weight: Annotated[Array, Held("classes", ("columns", 1), least=0)]
    total: Annotated[Array, Held("classes", "columns", least=0)]
    weight_rest: Annotated[Array | None, Held("classes", ("columns", 1), 2)] = None
    total_rest: Annotated[Array | None, Held("classes", "columns", 2)] = None
    class_fields = ("weight", "total", "weight_rest", "total_rest")

    @classmethod
    def _from(cls, weight: Sums, total: Sums) -> Self:
        return cls(weight.value, total.value, weight.rest, total.rest).trimmed()

    @property
    def _sums(self) -> tuple[Sums, Sums]:
        return Sums(self.weight, self.weight_rest), Sums(self.total, self.total_rest)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.total.shape[-1]

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""
        return cls(np.zeros((classes, 1)), np.zeros((classes, columns)))

    def check_agreement(self) -> None:
        """Raise an error if remainders are not those of the weights and totals."""
        if self.weight_rest is not None and self.weight_rest.shape[:-1] != self.weight.shape:
            raise MismatchError("weight_rest must be of as many columns as weight")
        check_rest("weight_rest", self.weight, self.weight_rest)
        check_rest("total_rest", self.total, self.total_rest)

    def trimmed(self) -> Self:
        """Keep one weight for all columns where it is the same in all: equal totals then have equal arrays."""
        if self.weight.shape[-1] == 1 or (self.weight != self.weight[..., :1]).any():
            return self
        lost = self.weight_rest
        if lost is not None:
            if (lost[..., 0] != lost[..., :1, 0]).any():
                return self
            lost = lost.max(axis=-2, keepdims=True)  # the largest doubt
        return type(self)(self.weight[..., :1].copy(), self.total, lost, self.total_rest)

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
        rows = class_weight(codes, classes, weight)
        rows = Sums(rows.value[:, None], None if rows.rest is None else rows.rest[:, None])
        whole = (weight is None or _core.all_whole(weight)) and (threshold is not None or cls._seems_whole(x))
        found = cls._sum(x, codes, weight, threshold, start, exact=False) if whole else None
        found = found or cls._sum(x, codes, weight, threshold, start, exact=True)
        assert found is not None, "any number can be summed exactly"
        total, missing = found
        weights = plus(start._sums[0], rows)
        return cls._from(minus(weights, missing) if missing.value.any() else weights, total)

    @staticmethod
    def _seems_whole(x: Matrix) -> bool:
        """Tell whether the first entries are integers: else there is no use in trying to sum all as such."""
        some = x.data[:64] if is_sparse(x) else x[:1]
        return _core.all_whole(np.ascontiguousarray(some, dtype=np.float64), summed=False)

    @classmethod
    def _sum(
        cls, x: Matrix, codes: Codes, weight: Array | None, threshold: float | None, start: Self, exact: bool
    ) -> tuple[Sums, Sums] | None:
        """Return the totals so far + Σ w·x, and the weight of missing entries.

        Unless `exact`, all weights are integers, and None is returned if a total is not: then entries are not either.
        """
        shape = start.total.shape
        onto = not exact and start.total_rest is None  # float64 adds integers exactly
        total, missing = start.total.copy() if onto else np.zeros(shape), np.zeros(shape)
        low = np.zeros((2, *shape)) if exact else None
        if is_sparse(x):
            cls._sum_sparse(x, codes, weight, threshold, total, missing, low)
        else:
            refuse_at(_core.totals(x, codes, len(total), weight, threshold, total, missing, low), x)
        if low is None:
            if not _core.all_whole(total, summed=False):
                return None
            found, absent = Sums(total, None), Sums(missing, None)
        else:
            if not np.isfinite(total).all():
                column = int(np.argwhere(~np.isfinite(total))[0, 1])
                raise InvalidDataError(f"Column {column} holds values so large that their sum overflows")
            with np.errstate(over="ignore", invalid="ignore"):
                found, absent = (
                    added(high, lost, x.shape[0]) for high, lost in zip((total, missing), low, strict=True)
                )
        return found if onto or not start.total.any() else plus(start._sums[1], found), absent

    @staticmethod
    def _sum_sparse(
        x: Sparse,
        codes: Codes,
        weight: Array | None,
        threshold: float | None,
        total: Array,
        missing: Array,
        low: Array | None,
    ) -> None:
        """Add Σ w·x and the weight of the entries stored as NaN."""
        classes, columns = total.shape
        before = total.copy()

        def add(data: Array, threshold: float | None, out: Array, lost: Array | None) -> tuple[bool, bool]:
            refused, found_nan, found_duplicate = _core.sparse_totals(
                data, x.indices, x.indptr, columns, codes, classes, weight, threshold, out, lost
            )
            refuse_at(refused, x)
            return found_nan, found_duplicate

        found_nan, found_duplicate = add(x.data, threshold, total, None if low is None else low[0])
        if found_duplicate and threshold is not None and not x.has_canonical_format:
            x = without_duplicates(x)  # only the sum of an entry stored in parts can be compared with the threshold
            total[:] = before
            if low is not None:
                low[0] = 0.0
            found_nan, _ = add(x.data, threshold, total, None if low is None else low[0])
        if found_nan:
            add(np.isnan(x.data).astype(np.float64), None, missing, None if low is None else low[1])

    def __add__(self, other: Self) -> Self:
        return self._from(*map(plus, self._sums, other._sums))

    def __sub__(self, other: Self) -> Self:
        return self._from(*map(minus, self._sums, other._sums))

    def own_without(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize the class of each row without that row: row i is class i of the result, (rows, columns)."""
        seen = ~np.isnan(x) * weight[:, None]
        total = product(seen, np.where(np.isnan(x), 0.0, x))
        own = self.take(codes)
        return type(self)._from(minus(own._sums[0], Sums(seen, None)), minus(own._sums[1], total))

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        return self._from(*(times(sums, factor) for sums in self._sums))

    def rounded(self) -> Self:
        """Return sums that were rounded to float64 elsewhere."""
        return type(self)(self.weight, self.total, rounded(self.weight), rounded(self.total))

    def pooled(self) -> Self:
        """Summarize all classes as one."""
        return self._from(*map(pooled, self._sums))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Totals) or self.total.shape != other.total.shape:
            return NotImplemented if not isinstance(other, Totals) else False
        same_weight = bool((self.weight == other.weight).all())  # the shapes may differ, and broadcast
        same_rest = all(
            (a is None and b is None) or (a is not None and b is not None and bool((a == b).all()))
            for a, b in ((self.weight_rest, other.weight_rest), (self.total_rest, other.total_rest))
        )
        return same_weight and same_rest and bool((self.total == other.total).all())

    def __repr__(self) -> str:
        classes, columns = self.total.shape
        return f"Totals({classes} classes × {columns} columns, total {self.total.sum():g})"
