"""Counts of pairs of columns, whose values were numbered: the joint table of every two of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, starts
from suffice.core.errors import InvalidDataError, MismatchError
from suffice.core.statistics.compensated import Sums, added, check_rest, minus, plus, times
from suffice.core.statistics.statistic import Statistic
from suffice.core.validation import Held

MISSING = 255  # the code of a missing value
MOST_CODES = 250  # of a column
NO_CELL = 1 << 20  # beyond all cells of a pair
AT_ONCE = 1 << 22  # entries of rows with weights whose cells are computed at a time


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Statistic):
    """The weight of the rows of each class in every cell of the joint tables of pairs of columns.

    Columns hold codes below `sizes`, (columns,), and 255 where the value is missing; a row counts for a pair where
    both are present. `pairs` (2, pairs) names the columns of each pair. `weight` is (classes, cells): the cell of codes
    a and b of pair q is `offsets[q]` + a · sizes[second] + b. `rest` is what rounding took, as `compensated` says.

    >>> codes = np.array([[0, 0], [1, 0], [1, 0]], np.uint8)
    >>> pairs = np.array([[0], [1]], np.int32)
    >>> Pairs.of(codes, np.zeros(3, np.int32), 1, sizes=np.array([2, 1]), pairs=pairs).weight
    array([[1., 2.]])
    """

    sizes: Annotated[NDArray[np.int64], Held("columns", least=0, most=MOST_CODES)]
    pairs: Annotated[NDArray[np.int32], Held(2, "pairs", least=0)]
    weight: Annotated[Array, Held("classes", "cells", least=0)]
    rest: Annotated[Array | None, Held("classes", "cells", 2)] = None
    class_fields = ("weight", "rest")

    @classmethod
    def empty(
        cls, classes: int, columns: int, sizes: NDArray[np.int64] | None = None, pairs: NDArray[np.int32] | None = None
    ) -> Self:
        """Summarize no rows."""
        sizes = np.zeros(columns, np.int64) if sizes is None else np.asarray(sizes, np.int64)
        pairs = np.zeros((2, 0), np.int32) if pairs is None else pairs
        return cls(sizes, pairs, np.zeros((classes, int(cell_offsets(sizes, pairs)[-1]))))

    def check_agreement(self) -> None:
        """Raise an error if pairs are not of these columns, or there is not a weight for each of their cells."""
        if self.pairs.size and self.pairs.max() >= len(self.sizes):
            raise MismatchError(f"pairs must be of {len(self.sizes)} columns, found column {self.pairs.max()}")
        if self.weight.shape[1] != self.offsets[-1]:
            raise MismatchError(f"weight must be of {self.offsets[-1]} cells, found {self.weight.shape[1]}")
        check_rest("rest", self.weight, self.rest)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the cells of each pair start, and where the last ones end."""
        return cell_offsets(self.sizes, self.pairs)

    @classmethod
    def of(
        cls,
        x: NDArray[np.uint8],
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        sizes: NDArray[np.int64] | None = None,
        pairs: NDArray[np.int32] | None = None,
    ) -> Self:
        """Count rows of codes, (rows, columns)."""
        if not isinstance(x, np.ndarray) or x.dtype != np.uint8:
            raise InvalidDataError(f"Pairs are counted of an array of codes, uint8; found {type(x).__name__}")
        found = cls.empty(classes, x.shape[1], sizes, pairs)
        if onto is not None and onto.weight.size and onto.rest is None and weight is None:
            found = replace(onto, weight=onto.weight.copy())
            onto = None
        columns, codes = np.ascontiguousarray(x.T), np.ascontiguousarray(codes, np.int32)
        repeats = None if weight is None else _few_repeats(weight)
        if repeats is not None:  # as kept rows, of which few are equal: rows are counted faster than weights are added
            columns, codes = np.repeat(columns, repeats, axis=1), np.repeat(codes, repeats)
        if weight is None or repeats is not None or (weight == 1.0).all():
            _core.pair_counts(columns, found.sizes, found.pairs, found.offsets, codes, classes, found.weight)
        else:
            found = found._weighted(columns, codes, weight)
        return found if onto is None else onto + found

    def _weighted(self, columns: NDArray[np.uint8], codes: Codes, weight: Array) -> Self:
        """Add the weights of rows."""
        low = np.zeros(self.weight.shape)
        some, n = np.flatnonzero(weight), columns.shape[1]
        step = max(AT_ONCE // max(self.n_pairs, 1), 1)
        for lo in range(0, len(some), step):
            rows = some[lo : lo + step]
            found = codes[rows], len(self.weight), weight[rows]
            _core.category_counts(self._cells_within(columns[:, rows]).T, *found, self.offsets, self.weight, low)
        value, rest = added(self.weight, low, n)
        return replace(self, weight=value, rest=rest)

    def _cells_within(self, columns: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the cell of each row within every pair, (pairs, rows); one beyond its cells if a code is missing."""
        known = np.where(columns < self.sizes[:, None], columns, np.int32(NO_CELL))
        out = np.empty((self.n_pairs, columns.shape[1]), np.int32)
        for cells, (first, second) in zip(out, self.pairs.T.tolist(), strict=True):
            np.multiply(known[first], np.int32(self.sizes[second]), out=cells)
            cells += known[second]
        return out

    def cells(self, columns: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the cell of each row in every pair, (rows, pairs), of codes (columns, rows); −1 if one is missing."""
        first, second = columns[self.pairs[0]].T.astype(np.int64), columns[self.pairs[1]].T.astype(np.int64)
        height, width = self.sizes[self.pairs[0]], self.sizes[self.pairs[1]]
        cells = self.offsets[:-1] + first * width + second
        cells[(first >= height) | (second >= width)] = -1
        return cells

    def tables(self, table: Array) -> list[Array]:
        """Cut an array (classes, cells) into one (classes, codes of the first, codes of the second) for each pair."""
        shapes = zip(self.sizes[self.pairs[0]].tolist(), self.sizes[self.pairs[1]].tolist(), strict=True)
        parts = np.split(table, self.offsets[1:-1], axis=-1) if self.n_pairs else []
        return [part.reshape(len(table), *shape) for part, shape in zip(parts, shapes, strict=True)]

    def _sums(self) -> Sums:
        return Sums(self.weight, self.rest)

    def _with(self, sums: Sums) -> Self:
        return replace(self, weight=sums.value, rest=sums.rest)

    def __add__(self, other: Self) -> Self:
        return self._with(plus(self._sums(), other._sums()))

    def __sub__(self, other: Self) -> Self:
        return self._with(minus(self._sums(), other._sums()))

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        return self._with(times(self._sums(), factor))

    def check_fits(self, other: object) -> None:
        """Raise an error if `other` is not of the same codes and pairs."""
        super().check_fits(other)
        assert isinstance(other, Pairs), "checked above"
        if not (np.array_equal(self.sizes, other.sizes) and np.array_equal(self.pairs, other.pairs)):
            raise MismatchError("Counts of pairs of columns cannot be merged: they were made with different plans")

    def check_made_with(self, sizes: Any = None, pairs: Any = None, **_: Any) -> None:
        """Raise an error if the counts are of other codes or pairs."""
        if not (np.array_equal(self.sizes, sizes) and np.array_equal(self.pairs, pairs)):
            raise MismatchError("Counts of pairs must be of the codes and pairs of the plan")

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.sizes)

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return self.pairs.shape[1]

    def __repr__(self) -> str:
        return f"Pairs({self.n_classes} classes × {self.n_pairs} pairs of {self.n_columns} columns)"


def cell_offsets(sizes: NDArray[np.int64], pairs: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return where the cells of each pair start, and where the last ones end."""
    return starts(sizes[pairs[0]] * sizes[pairs[1]])


def _few_repeats(weight: Array) -> NDArray[np.int64] | None:
    """Return how often rows count, where that is other than once, a number of times, and twice on average at most."""
    if not weight.sum() <= 2 * len(weight) or (weight == 1.0).all():
        return None
    repeats = weight.astype(np.int64)
    return repeats if (repeats == weight).all() else None
