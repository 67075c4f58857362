"""A random sample of whole rows that merges: the rows whose hashes are the smallest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes
from suffice.core.errors import MismatchError
from suffice.core.frames import Frame, row_hashes
from suffice.core.statistics.statistic import Statistic, check_array


@dataclass(frozen=True, eq=False, repr=False)
class RowSample(Statistic):
    """At most `size` distinct rows of all classes together, each with its class, weight and hash.

    Which rows those are depends on what they hold alone, not on their order or on who saw them: the sample of
    two lots of rows together is made of the samples of both (bottom-k sampling; Cohen and Kaplan, 2007). A row that is
    taken away leaves its place empty. Questions that need rows, and not only statistics, are asked of these.
    """

    rows: Frame
    hashes: NDArray[np.uint64]
    codes: Codes
    weight: Array
    classes: int
    size: int

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:  # noqa: ARG003  # which columns there are, rows will tell
        """Summarize no rows."""
        nothing = np.zeros(0)
        return cls(Frame({}, 0), nothing.astype(np.uint64), nothing.astype(np.int32), nothing, classes, 0)

    @classmethod
    def of(
        cls,
        x: Any,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        size: int = 0,
    ) -> Self:
        """Keep the rows of a table whose hashes are the smallest."""
        hashes = row_hashes(x)
        weight = np.ones(len(x)) if weight is None else weight
        some = candidates(hashes, weight, size)
        found = cls(x[some], hashes[some], codes[some], weight[some], classes, size)._tidy()
        return found if onto is None else onto + found

    def _tidy(self) -> Self:
        """Sort by hash and class, make equal rows of a class one, and keep as many hashes as there is room for."""
        first, heavy = smallest(self.hashes, self.codes, self.weight, self.size)
        rows = self.rows[first] if len(self.rows) else self.rows
        return type(self)(rows, self.hashes[first], self.codes[first], heavy, self.classes, self.size)

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
        if not len(self.hashes) or not len(other.hashes):
            return self
        left = weight_without(self, other)
        kept = np.flatnonzero(left > 0)
        return type(self)(self.rows[kept], self.hashes[kept], self.codes[kept], left[kept], self.classes, self.size)

    def scale(self, factor: float) -> Self:
        """Make every row `factor` times as heavy."""
        kept = slice(None) if factor else slice(0, 0)
        weight = self.weight[kept] * factor
        return type(self)(self.rows[kept], self.hashes[kept], self.codes[kept], weight, self.classes, self.size)

    def take(self, classes: NDArray[Any]) -> Self:
        """Keep the given classes, in that order."""
        place = np.full(self.classes, -1, dtype=np.int32)
        place[classes] = np.arange(len(classes), dtype=np.int32)
        codes = place[self.codes]
        kept = np.flatnonzero(codes >= 0)
        return type(self)(
            self.rows[kept], self.hashes[kept], codes[kept], self.weight[kept], len(classes), self.size
        )._tidy()

    def spread(self, positions: NDArray[Any], classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        codes = np.asarray(positions, dtype=np.int32)[self.codes] if len(self.codes) else self.codes
        return type(self)(self.rows, self.hashes, codes, self.weight, classes, self.size)._tidy()

    def check_arrays(self) -> None:
        """Refuse arrays that do not belong together."""
        check_array("hashes", self.hashes, (-1,), np.uint64)
        check_array("codes", self.codes, self.hashes.shape, np.int32)
        check_array("weight", self.weight, self.hashes.shape)
        known = not len(self.codes) or 0 <= self.codes.min() <= self.codes.max() < self.classes
        if self.rows.n != len(self.hashes) or not known:
            raise MismatchError(f"rows should be {len(self.hashes)}, of {self.classes} classes")

    def check_fits(self, other: object) -> None:
        """Accept samples of the same kind: their columns are those of the blocks beside them."""
        if not isinstance(other, RowSample):
            super().check_fits(other)

    @property
    def n_classes(self) -> int:
        """How many classes are summarized."""
        return self.classes

    @property
    def n_columns(self) -> int:
        """How many columns the rows have."""
        return len(self.rows.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowSample):
            return NotImplemented
        arrays = ("hashes", "codes", "weight")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)

    def __repr__(self) -> str:
        return f"RowSample({len(self.hashes)} rows of at most {self.size})"


def candidates(hashes: NDArray[np.uint64], weight: Array, size: int) -> NDArray[np.int64]:
    """Rows among which are all with the `size` smallest distinct hashes: not many more, and none without weight."""
    some, most = np.flatnonzero(weight > 0), size
    while len(some) > most:  # rows that occur often take several places in line
        cut = np.partition(hashes[some], most)[most]
        first = some[hashes[some] <= cut]
        if len(np.unique(hashes[first])) > size:
            return first
        most = max(2 * most, 1)
    return some


def smallest(hashes: NDArray[np.uint64], codes: Codes, weight: Array, size: int) -> tuple[NDArray[np.int64], Array]:
    """The rows to keep, sorted by hash and class, equal rows of a class being one; and what each then weighs."""
    order = np.lexsort((codes, hashes))
    hashes, codes, weight = hashes[order], codes[order], weight[order]
    fresh = np.ones(len(hashes), dtype=bool)
    fresh[1:] = (hashes[1:] != hashes[:-1]) | (codes[1:] != codes[:-1])
    first = np.flatnonzero(fresh)
    heavy = np.add.reduceat(weight, first) if len(first) else weight
    distinct = np.unique(hashes[first])
    if len(distinct) > size:
        kept = hashes[first] < distinct[size]
        first, heavy = first[kept], heavy[kept]
    return order[first], heavy


def weight_without(sample: Any, other: Any) -> Array:
    """What rows of a sample weigh without those of another; 0 where nothing is left."""
    others = zip(other.hashes.tolist(), other.codes.tolist(), other.weight.tolist(), strict=True)
    gone = {(h, c): w for h, c, w in others}
    taken = [gone.get(key, 0.0) for key in zip(sample.hashes.tolist(), sample.codes.tolist(), strict=True)]
    left = sample.weight - np.array(taken)
    return np.where(left > 1e-9 * sample.weight, left, 0.0)
