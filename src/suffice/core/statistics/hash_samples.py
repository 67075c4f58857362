"""Random samples of rows and of documents that can be merged: those with the smallest hashes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Positions, positions_in, starts
from suffice.core.errors import MismatchError
from suffice.core.frames import Frame, row_hashes
from suffice.core.frozen_options import Record
from suffice.core.statistics.compensated import Sums, minus, rounded, segment_sums, times
from suffice.core.statistics.statistic import Statistic
from suffice.core.validation import Held
from suffice.core.words import Texts
from suffice.core.words.texts import ranges

ENOUGH_ROWS = 1e9  # which weigh so much that no penalty matters
MOST_CLASSES = 1 << 24  # of a sample of rows, which has no array of that length
SEEN_ONCE = 0.05  # the share of the distinct rows of a class that were seen once, below which its rows are copies,
ALIKE = 0.5  # unless more than this share of its weight is of rows that other classes have, too,
POSSIBLE = 100  # or unless the values of all columns make no more rows than this, for each that there is

Hashes: TypeAlias = Annotated[NDArray[np.uint64], Held("rows")]
RowCodes: TypeAlias = Annotated[Codes, Held("rows", below="classes")]
RowWeights: TypeAlias = Annotated[Array, Held("rows", least=0)]
RowRests: TypeAlias = Annotated[Array | None, Held("rows", 2)]


class HashSample:
    """At most `size` distinct rows or documents, those with the smallest hashes, each with its class and weight.

    The sample depends on the content of the rows alone, not on their order: the sample of two sets of rows together
    follows from the samples of both (bottom-k sampling; Cohen and Kaplan, 2007). A row that is taken away is not
    replaced. `rest` (rows, 2) is what rounding took from the weights, as `compensated` says.
    """

    hashes: NDArray[np.uint64]
    codes: Codes
    weight: Array
    size: int
    rest: Array | None

    def _content(self, rows: Positions | slice) -> dict[str, Any]:
        """Return the fields that hold the content of the rows at the given positions."""
        raise NotImplementedError

    def _joined_content(self, other: Self) -> dict[str, Any]:
        """Return the fields that hold the content of the rows of both."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.hashes)

    def _keep(self, rows: Positions | slice, weight: Sums) -> Self:
        """Keep the rows at the given positions, with other weights."""
        held = {"hashes": self.hashes[rows], "codes": self.codes[rows], "weight": weight.value, "rest": weight.rest}
        return replace(self, **held, **self._content(rows))  # type: ignore[type-var]

    def _sums(self, rows: Positions | slice = slice(None)) -> Sums:
        return Sums(self.weight, self.rest).at(rows)

    @cached_property
    def unit(self) -> Array:
        """The weight of each row that is taken away where it is left out: 1, or all of it.

        A row that was seen several times may well be seen again, so that one of its copies is left out. If hardly any
        row of a class was seen once, its rows were repeated, or weigh more than others. Such copies will not be seen
        again, but they would tell the class of the one that is left out. Rows that several classes have in common are
        no copies, nor are those of columns of so few values that rows come again by themselves.
        """
        one = np.minimum(self.weight, 1.0)
        if not (self.weight > 1.0).any():
            return one
        _, codes = np.unique(self.codes, return_inverse=True)
        _, same, times = np.unique(self.hashes, return_inverse=True, return_counts=True)

        def share(some: NDArray[np.bool_], weight: Array) -> Array:
            return np.asarray(np.bincount(codes, weight * some) / np.bincount(codes, weight))

        once, alike = share(self.weight <= 1.0, np.ones(len(self))), share(times[same] > 1, self.weight)
        whole = (once < SEEN_ONCE) & (alike <= ALIKE)
        if not whole.any() or self._most_possible(POSSIBLE * len(times)):
            return one
        return np.where(whole[codes], self.weight, one)

    def _most_possible(self, rows: int) -> bool:  # noqa: ARG002  # texts are all different
        """Return whether the values of all columns make up to so many rows."""
        return False

    @cached_property
    def without_copies(self) -> Array:
        """The weights of rows as if each row that is left out as a whole weighed 1, or less."""
        return np.asarray(self.weight / np.maximum(self.unit, 1.0))

    @cached_property
    def independent(self) -> Array:
        """The weights, divided by a number, so that their sum tells how many rows there are beside copies.

        More than `ENOUGH_ROWS` are as good as these, and sums of squares do not overflow.
        """
        total = self.weight.sum()
        return self.weight * float(min(self.without_copies.sum(), ENOUGH_ROWS) / total) if total else self.weight

    def _is_full(self) -> bool:
        """Return whether there are as many distinct hashes as are kept."""
        if not 0 < self.size <= len(self):
            return False
        return len(_starts_of(np.sort(self.hashes))) >= self.size

    def _tidy(self) -> Self:
        """Sort by hash and class, merge equal rows of a class, and keep the rows of the `size` smallest hashes."""
        return self._keep(*smallest(self.hashes, self.codes, self._sums(), self.size))

    def __add__(self, other: Self) -> Self:
        if not len(self) or not len(other):
            return other if len(other) else self if self.size else other
        arrays: dict[str, Any] = {n: np.concatenate([getattr(self, n), getattr(other, n)]) for n in ("hashes", "codes")}
        rests = [np.zeros((len(s), 2)) if s.rest is None else s.rest for s in (self, other)]
        arrays["weight"] = np.concatenate([self.weight, other.weight])
        arrays["rest"] = None if self.rest is None and other.rest is None else np.concatenate(rests)
        both = self._joined_content(other) | arrays
        return replace(self, size=min(self.size, other.size), **both)._tidy()  # type: ignore[type-var]

    def __sub__(self, other: Self) -> Self:
        if not len(self) or not len(other):
            return self
        keys = zip(other.hashes.tolist(), other.codes.tolist(), strict=True)
        places = dict(zip(keys, range(len(other)), strict=True))
        mine = zip(self.hashes.tolist(), self.codes.tolist(), strict=True)
        at = np.array([places.get(key, -1) for key in mine], dtype=np.int64)
        taken, some = other._sums(at), at < 0
        taken.value[some] = 0.0
        if taken.rest is not None:
            taken.rest[some] = 0.0
        left = minus(self._sums(), taken)
        kept = np.flatnonzero(left.value > 0)
        return self._keep(kept, left.at(kept))

    def rounded(self) -> Self:
        """Return weights that were rounded to float64 elsewhere."""
        return replace(self, rest=rounded(self.weight))  # type: ignore[type-var]

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        kept = slice(None) if factor else slice(0, 0)
        return self._keep(kept, times(self._sums(kept), factor))

    def over(self, positions: Codes) -> Self:
        """Move class c to `positions[c]`, or leave its rows out where that is negative."""
        codes = positions[self.codes] if len(self) else self.codes
        kept = np.flatnonzero(codes >= 0)
        return replace(self, codes=codes)._keep(kept, self._sums(kept))._tidy()  # type: ignore[type-var]


@dataclass(frozen=True, eq=False, repr=False)
class RowSample(HashSample, Statistic):
    """At most `size` distinct rows of all classes together: for what needs rows, not only statistics."""

    rows: Frame = field(compare=False)
    hashes: Hashes
    codes: RowCodes
    weight: RowWeights
    classes: Annotated[int, Held(least=0, most=MOST_CLASSES, size="classes")] = field(compare=False)
    size: Annotated[int, Held(least=0)] = field(compare=False)
    rest: RowRests = None

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
        hashes = row_hashes(x) if size else np.zeros(len(x), np.uint64)
        # No larger hash will be kept.
        most = {} if onto is None or onto.size != size or not onto._is_full() else {"most": int(onto.hashes.max())}
        if weight is None:
            rows, count = _core.least_rows(hashes, codes, size, **most)
            kept = Sums(count, None)
        else:
            some = _core.least_hashes(hashes, weight, size, **most)
            first, kept = smallest(hashes[some], codes[some], Sums(weight[some], None), size)
            rows = some[first]
        if onto is not None and len(onto) and not len(rows):
            return onto
        found = cls(x[rows], hashes[rows], codes[rows], kept.value, classes, size, kept.rest)
        return found if onto is None else onto + found

    def _content(self, rows: Positions | slice) -> dict[str, Any]:
        return {"rows": self.rows[rows] if len(self.rows) else self.rows}

    def _most_possible(self, rows: int) -> bool:
        made = 1
        for name in self.rows.names:
            made *= len(self.rows.column(name).unique())
            if made > rows:
                return False
        return True

    def _joined_content(self, other: Self) -> dict[str, Any]:
        return {"rows": Frame.concat([self.rows, other.rows])}

    def take(self, classes: Positions) -> Self:
        """Keep the given classes, in that order."""
        return replace(self.over(positions_in(classes, self.classes)), classes=len(classes))

    def spread(self, positions: Positions, classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        return replace(self.over(np.asarray(positions, dtype=np.int32)), classes=classes)

    def check_agreement(self) -> None:
        """Raise an error if there is not a hash for each row."""
        if self.rows.n != len(self.hashes):
            raise MismatchError(f"rows must be {len(self.hashes)}, found {self.rows.n}")

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

    def __repr__(self) -> str:
        return f"RowSample({len(self.hashes)} rows of at most {self.size})"


@dataclass(frozen=True, eq=False, repr=False)
class DocumentSample(HashSample, Record, stored_as="BagSample"):
    """At most `size` distinct documents, each as the counts of its features.

    Document i has the features `feature[start[i] : start[i + 1]]`, as often as `count` says. Features are positions in
    a vocabulary that is kept elsewhere.
    """

    hashes: Hashes
    codes: RowCodes
    weight: RowWeights
    start: Annotated[NDArray[np.int64], Held("rows+1", fills="entries")]
    feature: Annotated[NDArray[np.int32], Held("entries", below="words")]
    count: Annotated[NDArray[np.int64], Held("entries", least=1)]
    size: Annotated[int, Held(least=0)] = field(compare=False)
    rest: RowRests = None

    @classmethod
    def empty(cls, size: int = 0) -> DocumentSample:
        """Keep no documents."""
        none = np.zeros(0, np.int32)
        hashes, counts = none.astype(np.uint64), none.astype(np.int64)
        return cls(hashes, none, np.zeros(0), np.zeros(1, np.int64), none, counts, size)

    @classmethod
    def chosen(
        cls, texts: Texts, codes: Codes, weight: Array | None, size: int
    ) -> tuple[NDArray[np.int64], DocumentSample]:
        """Choose the documents with the smallest hashes, missing ones left out.

        Return their positions, and a sample that lacks their features: `with_bags` adds them.
        """
        if not size:
            return np.zeros(0, np.int64), cls.empty()
        hashes = texts.hashes
        heavy = np.where(texts.present, 1.0 if weight is None else weight, 0.0)
        some = _core.least_hashes(hashes, heavy, size)
        first, kept = smallest(hashes[some], codes[some], Sums(heavy[some], None), size)
        rows, none = some[first], cls.empty()
        nothing = np.zeros(len(rows) + 1, np.int64), none.feature, none.count
        return rows, cls(hashes[rows], codes[rows], kept.value, *nothing, size, kept.rest)

    def with_bags(
        self, start: NDArray[np.int64], feature: NDArray[np.int32], count: NDArray[np.int64]
    ) -> DocumentSample:
        """Return the sample with the features of its documents."""
        return replace(self, start=start, feature=feature, count=count)

    def _content(self, rows: Positions | slice) -> dict[str, Any]:
        length = np.diff(self.start)[rows]
        at = ranges(self.start[:-1][rows], length)
        return {"start": starts(length), "feature": self.feature[at], "count": self.count[at]}

    def _joined_content(self, other: Self) -> dict[str, Any]:
        return {
            "start": np.concatenate([self.start, self.start[-1] + other.start[1:]]),
            "feature": np.concatenate([self.feature, other.feature]),
            "count": np.concatenate([self.count, other.count]),
        }

    def moved(self, positions: Positions) -> DocumentSample:
        """Move feature j to `positions[j]`, which ascend."""
        return replace(self, feature=positions[self.feature].astype(np.int32))

    def __repr__(self) -> str:
        return f"DocumentSample({len(self)} documents of at most {self.size})"


def _starts_of(ascending: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return where each distinct number begins."""
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)])


def smallest(hashes: NDArray[np.uint64], codes: Codes, weight: Sums, size: int) -> tuple[NDArray[np.int64], Sums]:
    """Find the rows to keep, one for each distinct hash and class, sorted by both; return them and their weights."""
    order = np.lexsort((codes, hashes))
    hashes, codes = hashes[order], codes[order]
    weight = weight.at(order)
    is_first = np.ones(len(hashes), dtype=bool)
    is_first[1:] = (hashes[1:] != hashes[:-1]) | (codes[1:] != codes[:-1])
    first = np.flatnonzero(is_first)
    total = weight if len(first) == len(hashes) else segment_sums(weight, first)
    distinct = _starts_of(hashes[first])
    if len(distinct) > size:  # what comes before the first hash too many
        kept = slice(int(distinct[size]))
        first, total = first[kept], total.at(kept)
    return order[first], total
