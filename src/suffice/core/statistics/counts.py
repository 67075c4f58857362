"""Weighted counts of categories, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import (
    Array,
    Categories,
    Codes,
    Mask,
    Positions,
    Rows,
    Values,
    as_categories,
    refuse_at,
    starts,
)
from suffice.core.errors import InvalidDataError, MismatchError, NotPartError
from suffice.core.frozen_options import same_options
from suffice.core.labels import places_among, union_labels
from suffice.core.statistics.compensated import Sums, added, check_rest, minus, plus, pooled, rounded, times
from suffice.core.statistics.statistic import Statistic
from suffice.core.validation import Held, Labels

MOST_CELLS = 1 << 28  # 2 GiB of counts; more is a mistake in the numbering of categories
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Statistic):
    """The weight of every category of every column, by class.

    `weight` is (classes, Σ sizes): the categories of column j start at `offsets[j]`. A category is known by its value
    `keys[j][i]`, or, where `keys` is None, by its number i. Summaries are merged by value: each may have seen other
    categories. A value may be a tuple: a combination of the values of several columns. `rest` is what rounding took
    from the weights, as `compensated` says.

    >>> counts = Counts.of(np.array([["a"], ["b"], ["a"]]), np.zeros(3, np.int32), 1)
    >>> counts.keys, counts.weight
    ((array(['a', 'b'], dtype='<U1'),), array([[2., 1.]]))
    """

    sizes: Annotated[NDArray[np.int64], Held("columns", least=0)]
    keys: tuple[Annotated[Values, Labels()], ...] | None
    weight: Annotated[Array, Held("classes", "categories", least=0)]
    rest: Annotated[Array | None, Held("classes", "categories", 2)] = None
    class_fields = ("weight", "rest")

    def __post_init__(self) -> None:
        """Drop `keys` without any value: no rows are one statistic, whatever values were there before."""
        if self.keys is not None and not self.sizes.any():
            object.__setattr__(self, "keys", None)

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""
        return cls(np.zeros(columns, dtype=np.int64), None, np.zeros((classes, 0)))

    def check_agreement(self) -> None:
        """Raise an error if there are not as many weights, and as many values, as categories."""
        sizes = self.sizes.tolist()
        if self.weight.shape[1] != sum(sizes):
            raise MismatchError(f"weight must be of {sum(sizes)} categories, found {self.weight.shape[1]}")
        if self.keys is not None and [len(known) for known in self.keys] != sizes:
            raise MismatchError("keys must be as many as sizes")
        check_rest("rest", self.weight, self.rest)

    @classmethod
    def of(cls, x: Rows, codes: Codes, classes: int, weight: Array | None = None, onto: Self | None = None) -> Self:
        """Summarize columns of categories, as `as_categories` reads them."""
        x = as_categories(x)
        if weight is not None and not weight.all():  # rows of weight 0 are absent, and so are their categories
            x, codes, weight = x[weight > 0], codes[weight > 0], weight[weight > 0]
        whole = weight is None or _core.all_whole(weight)
        if onto is not None and (onto.keys is not None or x.keys is not None or onto.rest is not None or not whole):
            return onto + cls.of(x, codes, classes, weight)  # categories are matched by value
        # The first rows mostly show all categories. Where they do not, all rows are searched.
        first = Categories(x.codes[:4096], x.keys)
        out = cls._with_room(category_sizes(first), x, classes, onto)
        low = None if whole else np.zeros(out.weight.shape)
        if (
            _core.category_counts(x.codes, codes, classes, weight, out.offsets, out.weight, low) != -1
            and x.keys is None
        ):
            out = cls._with_room(category_sizes(x), x, classes, onto)
            low = None if whole else np.zeros(out.weight.shape)
            _core.category_counts(x.codes, codes, classes, weight, out.offsets, out.weight, low)
        if low is not None:
            out = cls(out.sizes, out.keys, *added(out.weight, low, x.shape[0]))
        return out if weight is None else out.trimmed()

    @classmethod
    def _with_room(cls, sizes: NDArray[np.int64], x: Categories, classes: int, onto: Self | None) -> Self:
        """Copy the counts so far to a table with room for `sizes` categories."""
        refuse_too_many(sizes, classes)
        if onto is None:
            return cls(sizes, x.keys, np.zeros((classes, int(sizes.sum()))))
        roomy = onto.resized(sizes)
        return roomy if roomy is not onto else cls(onto.sizes, None, onto.weight.copy())

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the categories of each column start, and where the last ones end."""
        return starts(self.sizes)

    def columns(self, table: NDArray[T]) -> list[NDArray[T]]:
        """Cut an array (…, Σ sizes) into one for each column."""
        return np.split(table, self.offsets[1:-1], axis=-1)

    def __add__(self, other: Self) -> Self:
        a, b = self._aligned(other)
        return type(self)(a.sizes, a.keys, *plus(a._sums, b._sums))

    def __sub__(self, other: Self) -> Self:
        a, b = self._aligned(other)
        if (a.sizes > self.sizes).any():
            raise NotPartError("Cannot take away categories that were never added")
        return type(self)(a.sizes, a.keys, *minus(a._sums, b._sums)).trimmed()

    @property
    def _sums(self) -> Sums:
        return Sums(self.weight, self.rest)

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        return type(self)(self.sizes, self.keys, *times(self._sums, factor))

    def _moved(self, sizes: NDArray[np.int64], keys: tuple[Values, ...] | None, places: NDArray[np.int64]) -> Self:
        """Return the same weights in a table of other sizes, category i being at `places[i]`."""
        shape = (len(self.weight), int(sizes.sum()))
        weight, rest = np.zeros(shape), None if self.rest is None else np.zeros((*shape, 2))
        weight[:, places] = self.weight
        if rest is not None:
            rest[:, places] = self.rest
        return type(self)(sizes, keys, weight, rest)

    def _only(self, sizes: NDArray[np.int64], keys: tuple[Values, ...] | None, kept: Mask) -> Self:
        """Keep some categories."""
        rest = None if self.rest is None else self.rest.compress(kept, axis=1)
        return type(self)(
            sizes, keys, self.weight.compress(kept, axis=1), rest
        )  # unlike indexing, this stays row-major

    def resized(self, sizes: NDArray[np.int64]) -> Self:
        """Make room for at least this many numbered categories in each column."""
        sizes = np.maximum(self.sizes, sizes)
        refuse_too_many(sizes, len(self.weight))
        if np.array_equal(sizes, self.sizes):
            return self
        moved = np.repeat(starts(sizes)[:-1] - self.offsets[:-1], self.sizes)
        return self._moved(sizes, self.keys, np.arange(self.weight.shape[1]) + moved)

    def _aligned(self, other: Self) -> tuple[Self, Self]:
        """Return both over the union of their categories."""
        if self.keys is None and other.keys is None:
            return self.resized(other.sizes), other.resized(self.sizes)
        if not other.weight.size:
            return self, type(self)(self.sizes, self.keys, np.zeros((len(other.weight), self.weight.shape[1])))
        if not self.weight.size:
            return type(self)(other.sizes, other.keys, np.zeros((len(self.weight), other.weight.shape[1]))), other
        mine, theirs = self._named(), other._named()
        keys = tuple(_union(j, a, b) for j, (a, b) in enumerate(zip(mine, theirs, strict=True)))
        return self._over(keys, mine), other._over(keys, theirs)

    def _named(self) -> tuple[Values, ...]:
        return self.keys if self.keys is not None else tuple(np.arange(size) for size in self.sizes)

    def _over(self, keys: tuple[Values, ...], own: tuple[Values, ...]) -> Self:
        sizes = np.array([len(k) for k in keys], dtype=np.int64)
        found = (np.arange(len(k)) if k is o else _places(o, k) for k, o in zip(keys, own, strict=True))
        places = [start + positions for start, positions in zip(starts(sizes), found, strict=False)]
        return self._moved(sizes, keys, np.concatenate(places).astype(np.int64))

    def trimmed(self) -> Self:
        """Drop categories of weight 0; numbered ones only at the end, so that the others keep their numbers."""
        used: Mask = np.any(self.weight > 0, axis=0)
        if used.all():
            return self
        if self.keys is None:
            last = [int(np.flatnonzero(u)[-1]) + 1 if u.any() else 0 for u in self.columns(used)]
            sizes = np.array(last, dtype=np.int64)
            keep = np.concatenate([np.arange(size) < end for size, end in zip(self.sizes, last, strict=True)])
            return self._only(sizes, None, keep)
        parts = self.columns(used)
        keys = tuple(k[u] for k, u in zip(self.keys, parts, strict=True))
        sizes = np.array([u.sum() for u in parts], dtype=np.int64)
        return self._only(sizes, keys, used)

    def rounded(self) -> Self:
        """Return weights that were rounded to float64 elsewhere."""
        return type(self)(self.sizes, self.keys, self.weight, rounded(self.weight))

    def pooled(self) -> Self:
        """Summarize all classes as one."""
        return type(self)(self.sizes, self.keys, *pooled(self._sums))

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.sizes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        if len(self.sizes) != len(other.sizes) or len(self.weight) != len(other.weight):
            return False
        try:
            a, b = self._aligned(other)
        except MismatchError:  # categories of other types
            return False
        return np.array_equal(a.weight, b.weight) and same_options(a.rest, b.rest)

    def __repr__(self) -> str:
        classes, columns = len(self.weight), len(self.sizes)
        return f"Counts({classes} classes × {columns} columns, {int(self.sizes.sum())} categories)"


def category_sizes(x: Categories) -> NDArray[np.int64]:
    """Return the number of categories of each column: of its keys, or the largest code + 1."""
    if x.keys is not None:
        return np.array([len(k) for k in x.keys], dtype=np.int64)
    low, high = np.empty((2, x.shape[1]), dtype=np.int64)
    refuse_at(_core.category_range(x.codes, low, high), x.codes)
    if (low < 0).any():
        refuse_at(int(np.argmax(x.codes <= -1)), x.codes)
    return np.minimum(high, 1 << 53) + 1


def refuse_too_many(sizes: NDArray[np.int64], classes: int) -> None:
    """Refuse numbers of categories that would need a table too large."""
    if max(classes, 1) * sum(sizes.tolist()) > MOST_CELLS:  # Python integers do not overflow
        column = int(np.argmax(sizes))
        raise InvalidDataError(
            f"Column {column} holds the category number {sizes[column] - 1}, which would need a table of "
            f"{sizes[column]} categories: number them 0, 1, 2, … (OrdinalEncoder does) or pass strings"
        )


def _union(column: int, a: Values, b: Values) -> Values:
    try:
        if len(a) and len(b) and _is_text(a[0]) != _is_text(b[0]):
            raise TypeError("NumPy would turn the numbers into strings, and Python orders tuples of any length")
        if not len(a) or not len(b):  # an empty array may have another type
            return a if len(a) else b
        if _are_numbers(a, b):
            return union_labels(a, b)  # exact, or an error
        return a if a is b or np.array_equal(a, b) else np.union1d(a, b)
    except MismatchError:
        raise MismatchError(
            f"Column {column} held categories of {a.dtype} before and now holds {b.dtype}: no type of numbers holds "
            "all of them exactly. Pass them as strings"
        ) from None
    except TypeError:
        raise MismatchError(
            f"Column {column} held {_described(a[0])} categories before and now holds {_described(b[0])}: "
            "they cannot be one column's categories"
        ) from None


def _are_numbers(a: Values, b: Values) -> bool:
    """Return whether both are numbers, of two types: NumPy would round integers to floats."""
    return a.dtype != b.dtype and a.dtype.kind in "iuf" and b.dtype.kind in "iuf"


def _places(some: Values, keys: Values) -> Positions:
    """Return the positions of some categories among `keys`, which have them all."""
    return places_among(some, keys) if _are_numbers(some, keys) else np.searchsorted(keys, some)


def _is_text(value: object) -> object:
    """Return whether a value is a string; for a tuple, whether each part is."""
    return tuple(map(_is_text, value)) if isinstance(value, tuple) else isinstance(value, str)


def _described(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_described, value))})"
    return type(value).__name__
