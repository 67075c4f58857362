"""A random sample of rows that can be merged: the rows with the smallest hashes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Positions, positions_in
from suffice.core.errors import MismatchError
from suffice.core.frames import Frame, row_hashes
from suffice.core.statistics.statistic import Statistic, check_array, check_codes


@dataclass(frozen=True, eq=False, repr=False)
class RowSample(Statistic):
    """At most `size` distinct rows of all classes together, each with its class, weight and hash.

    The sample depends on the content of the rows alone, not on their order: the sample of two sets of rows together
    follows from the samples of both (bottom-k sampling; Cohen and Kaplan, 2007). A row that is taken away is not
    replaced. The sample serves what needs rows, not only statistics.
    """

    rows: Frame
    hashes: NDArray[np.uint64]
    codes: Codes
    weight: Array
    classes: int
    size: int

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:  # noqa: ARG003  # the first rows show which columns there are
        """Summarize no rows."""
        nothing = np.zeros(0)
        return cls(Frame({}, 0), nothing.astype(np.uint64), nothing.astype(np.int32), nothing, classes, 0)

    @classmethod
    def of(
        cls,
        x: Frame,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        size: int = 0,
    ) -> Self:
        """Keep the rows of a table with the smallest hashes."""
        hashes = row_hashes(x)
        weight = np.ones(len(x)) if weight is None else weight
        some = candidates(hashes, weight, size)
        found = cls(x[some], hashes[some], codes[some], weight[some], classes, size)._tidy()
        return found if onto is None else onto + found

    def _take(self, rows: NDArray[np.int64] | slice, weight: Array) -> Self:
        """Keep the rows at the given positions, with other weights."""
        kept = self.rows[rows] if len(self.rows) else self.rows
        return type(self)(kept, self.hashes[rows], self.codes[rows], weight, self.classes, self.size)

    def _tidy(self) -> Self:
        """Sort by hash and class, merge equal rows of a class, and keep the rows of the `size` smallest hashes."""
        return self._take(*smallest(self.hashes, self.codes, self.weight, self.size))

    def __add__(self, other: Self) -> Self:
        if not len(self.hashes) or not len(other.hashes):
            return other if len(other.hashes) else self if self.size else other
        return type(self)(
            Frame.concat([self.rows, other.rows]),
            np.concatenate([self.hashes, other.hashes]),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.weight, other.weight]),
            self.classes,
            min(self.size, other.size),
        )._tidy()

    def __sub__(self, other: Self) -> Self:
        return self._take(*remaining(self, other)) if len(self.hashes) and len(other.hashes) else self

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        kept = slice(None) if factor else slice(0, 0)
        return self._take(kept, self.weight[kept] * factor)

    def take(self, classes: Positions) -> Self:
        """Keep the given classes, in that order."""
        codes = positions_in(classes, self.classes)[self.codes]
        kept = np.flatnonzero(codes >= 0)
        part = self._take(kept, self.weight[kept])
        return type(self)(part.rows, part.hashes, codes[kept], part.weight, len(classes), self.size)._tidy()

    def spread(self, positions: Positions, classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        codes = np.asarray(positions, dtype=np.int32)[self.codes] if len(self.codes) else self.codes
        return type(self)(self.rows, self.hashes, codes, self.weight, classes, self.size)._tidy()

    def check_arrays(self) -> None:
        """Raise an error if the arrays do not fit each other."""
        check_array("hashes", self.hashes, (-1,), np.uint64)
        check_array("codes", self.codes, self.hashes.shape, np.int32)
        check_array("weight", self.weight, self.hashes.shape)
        check_codes("codes", self.codes, self.classes)
        if self.rows.n != len(self.hashes):
            raise MismatchError(f"rows should be {len(self.hashes)}, found {self.rows.n}")

    def check_fits(self, other: object) -> None:
        """Accept any other sample: its columns are those of the blocks beside it."""
        if not isinstance(other, RowSample):
            super().check_fits(other)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.classes

    @property
    def n_columns(self) -> int:
        """The number of columns of the rows."""
        return len(self.rows.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowSample):
            return NotImplemented
        arrays = ("hashes", "codes", "weight")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)

    def __repr__(self) -> str:
        return f"RowSample({len(self.hashes)} rows of at most {self.size})"


class Hashed(Protocol):
    """Sampled rows or documents: the hash, class and weight of each."""

    @property
    def hashes(self) -> NDArray[np.uint64]: ...  # noqa: D102
    @property
    def codes(self) -> Codes: ...  # noqa: D102
    @property
    def weight(self) -> Array: ...  # noqa: D102


def candidates(hashes: NDArray[np.uint64], weight: Array, size: int) -> NDArray[np.int64]:
    """Find rows with weight that include all with the `size` smallest distinct hashes, and not many more."""
    some, most = np.flatnonzero(weight > 0), size
    while len(some) > most:  # a row that occurs several times has as many places among the smallest
        cut = np.partition(hashes[some], most)[most]
        first = some[hashes[some] <= cut]
        if len(np.unique(hashes[first])) > size:
            return first
        most = max(2 * most, 1)
    return some


def smallest(hashes: NDArray[np.uint64], codes: Codes, weight: Array, size: int) -> tuple[NDArray[np.int64], Array]:
    """Find the rows to keep, one for each distinct hash and class, sorted by both; return them and their weights."""
    order = np.lexsort((codes, hashes))
    hashes, codes, weight = hashes[order], codes[order], weight[order]
    is_first = np.ones(len(hashes), dtype=bool)
    is_first[1:] = (hashes[1:] != hashes[:-1]) | (codes[1:] != codes[:-1])
    first = np.flatnonzero(is_first)
    total = np.add.reduceat(weight, first) if len(first) else weight
    distinct = np.unique(hashes[first])
    if len(distinct) > size:
        kept = hashes[first] < distinct[size]
        first, total = first[kept], total[kept]
    return order[first], total


def remaining(sample: Hashed, other: Hashed) -> tuple[NDArray[np.int64], Array]:
    """Find the rows of a sample that keep some weight without those of another; return them and their weights."""
    others = zip(other.hashes.tolist(), other.codes.tolist(), other.weight.tolist(), strict=True)
    removed = {(h, c): w for h, c, w in others}
    taken = [removed.get(key, 0.0) for key in zip(sample.hashes.tolist(), sample.codes.tolist(), strict=True)]
    left = sample.weight - np.array(taken)
    kept = np.flatnonzero(left > 1e-9 * sample.weight)
    return kept, left[kept]
