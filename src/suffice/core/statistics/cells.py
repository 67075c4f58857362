"""Counts of the values of a column in cells: bounded memory, exact sums and differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Matrix, Positions, as_dense, is_sparse, positions_in, refuse_at, starts
from suffice.core.errors import InvalidOptionError, MismatchError, naming_columns
from suffice.core.parallel import in_threads
from suffice.core.statistics.compensated import Sums, added, minus, plus, segment_sums, times
from suffice.core.statistics.moments import Moments
from suffice.core.statistics.sample import Points, no_points, side_by_side, sorted_points, taken, tidy
from suffice.core.statistics.statistic import Statistic
from suffice.core.validation import Agrees, Held

FINEST = -1074  # the level at which every float64 is a cell of its own
COARSEST = 1024  # the level of two cells: numbers below 0, and the others
LIMIT = 4096  # cells of a class and column
SEGMENTS = 512  # classes of columns that moments are computed of at a time


@dataclass(frozen=True, eq=False, repr=False)
class Cells(Statistic):
    """How many values of each column lie in each cell [k·2^e, (k + 1)·2^e), for every class.

    The level e of a column is the least at which no class has more than `limit` cells. With few distinct values it is
    −1074, and the cells are the values themselves. A cell of a coarser level is a union of cells of a finer one, so
    sums are exact: the result is a function of the rows alone, whatever their order and however they were divided.
    Differences are exact at the level that was reached, which may be coarser than that of the rows left.

    `parts` holds the lower edge and the weight of each cell, `level` (columns,) the levels. With `limit=None` all
    values are kept. With `exact_moments`, the moments of the values are `kept` as soon as some cells are wider than a
    value.

    >>> cells = Cells.of(np.array([[0.1], [0.9], [1.5], [7.0]]), np.zeros(4, np.int32), 1, limit=3)
    >>> cells.level, cells.parts[0].values.ravel(), cells.parts[0].weight
    (array([0], dtype=int32), array([0., 1., 7.]), array([2., 1., 1.]))
    """

    parts: Annotated[tuple[Points, ...], Agrees("classes")]
    level: Annotated[NDArray[np.int32], Held("columns", least=FINEST, most=COARSEST)]
    limit: Annotated[int | None, Held(least=1)] = field(default=LIMIT, compare=False)
    exact_moments: bool = field(default=False, compare=False)
    kept: Annotated[Moments | None, Agrees("classes", "columns")] = None

    @classmethod
    def empty(cls, classes: int, columns: int, limit: int | None = LIMIT, exact_moments: bool = False) -> Self:
        """Summarize no rows."""
        level = np.full(columns, FINEST, np.int32)
        return cls(no_points(classes, columns, joint=False), level, limit, exact_moments)

    def check_agreement(self) -> None:
        """Raise an error if a part is not of one column, or an edge is not that of a cell."""
        if len(self.parts) != len(self.level):
            raise MismatchError(f"parts must be of {len(self.level)} columns, found {len(self.parts)}")
        for part, level in zip(self.parts, self.level.tolist(), strict=True):
            if part.values.shape[1] != 1:
                raise MismatchError("values must be of one column")
            if not np.array_equal(edges(part.values, level), part.values):
                raise MismatchError(f"values must be edges of cells of level {level}")
            if self.limit is not None and np.diff(part.start).max(initial=0) > max(self.limit, 2):
                raise MismatchError(f"There must be at most {self.limit} cells for each class")
        if (self.kept is not None) != (self.exact_moments and not self.exact.all()):
            raise MismatchError("Moments must be kept where they are to be exact and cells are wider than a value")

    def check_made_with(self, exact_moments: bool = False, **_: Any) -> None:
        """Raise an error if exact moments are needed and were not kept."""
        if exact_moments and not self.exact_moments:
            raise MismatchError("Expected cells with exact moments, found cells without")

    @classmethod
    def of(
        cls,
        x: Matrix,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        limit: int | None = LIMIT,
        exact_moments: bool = False,
    ) -> Self:
        """Count the values of rows of real numbers; NaN is missing."""
        if limit is not None and limit < 1:
            raise InvalidOptionError(f"There must be at least 1 cell, found limit={limit}")
        x = np.asarray(as_dense(x) if is_sparse(x) else x, dtype=np.float64)
        if weight is not None and (weight == 1.0).all():
            weight = None
        if onto is not None and (onto.limit != limit or not onto._is_whole() or weight is not None or limit is None):
            return onto + cls.of(x, codes, classes, weight, None, limit, exact_moments)
        if limit is None:
            parts = tuple(sorted_points(x[:, j], codes, classes, weight) for j in range(x.shape[1]))
            return cls(parts, np.full(x.shape[1], FINEST, np.int32), None, exact_moments)
        found = cls._counted(x, codes, classes, weight, onto, limit)
        exact_moments = exact_moments and (onto is None or onto.exact_moments)
        kept = None
        if exact_moments and not found.exact.all():
            kept = Moments.of(x, codes, classes, weight, None if onto is None else onto.moments)
        return cls(found.parts, found.level, limit, exact_moments, kept)

    @classmethod
    def _counted(
        cls, x: Array, codes: Codes, classes: int, weight: Array | None, onto: Self | None, limit: int
    ) -> Self:
        """Count in cells, and add them to those of `onto`."""
        columns = [x[:, j] for j in range(x.shape[1])]
        found, infinite = cls._count_columns(columns, codes, classes, weight, onto, limit)
        if (infinite >= 0).any():
            j = int(np.argmax(infinite >= 0))
            refuse_at(int(infinite[j]) * x.shape[1] + j, x)
        return found

    @classmethod
    def _count_columns(
        cls,
        columns: Sequence[Array],
        codes: Codes,
        classes: int,
        weight: Array | None,
        onto: Self | None,
        limit: int,
    ) -> tuple[Self, NDArray[np.int64]]:
        """Count in cells, and add them to those of `onto`; also return the row of an infinite value, or −1."""
        level = np.full(len(columns), FINEST, np.int32) if onto is None else onto.level
        before = None if onto is None else onto._flat()
        (level, edge, total, low, start), infinite = _core.count_cells(
            columns, codes, classes, weight, limit, level, before
        )
        weights = Sums(total, None) if weight is None else added(total, low, len(codes))
        first = start[:-1:classes] if classes else np.zeros(len(columns), np.int64)
        own = np.lib.stride_tricks.as_strided(start, (len(columns), classes + 1), (8 * classes, 8)) - first[:, None]
        ends, edge = [*first.tolist(), len(edge)], edge.reshape(-1, 1)
        parts = []
        for j in range(len(columns)):
            part = slice(ends[j], ends[j + 1])
            value, rest = weights.at(part) if weights.rest is not None else (weights.value[part], None)
            parts.append(Points(edge[part], value, own[j], rest))
        return cls(tuple(parts), level, limit), infinite

    @classmethod
    def of_columns(
        cls,
        columns: Sequence[Array],
        codes: Codes,
        classes: int,
        weight: Array | None,
        onto: Sequence[Self | None],
        names: Sequence[tuple[str, ...]],
        limit: int | None = LIMIT,
        exact_moments: bool = False,
    ) -> list[Self]:
        """Count several columns, each for itself, by one call of the kernel; what `of` gives for each of them.

        `onto` are cells to add to, or None, and `names` those of the columns, for errors.
        """
        if weight is not None and (weight == 1.0).all():
            weight = None
        before = [cells for cells in onto if cells is not None]
        plain = all(cells.limit == limit and cells._is_whole() for cells in before) and weight is None
        if limit is None or (before and (len(before) < len(onto) or not plain)):

            def one(column: tuple[Array, Self | None, tuple[str, ...]]) -> Self:
                x, old, name = column
                with naming_columns(name):
                    return cls.of(x[:, None], codes, classes, weight, old, limit, exact_moments)

            return in_threads(one, zip(columns, onto, names, strict=True), len(codes) * len(columns))
        columns = [np.asarray(column, dtype=np.float64) for column in columns]
        whole = None
        if before:
            whole = cls(tuple(p for b in before for p in b.parts), np.concatenate([b.level for b in before]), limit)
        found, infinite = cls._count_columns(columns, codes, classes, weight, whole, limit)
        if (infinite >= 0).any():
            j = int(np.argmax(infinite >= 0))
            with naming_columns(names[j]):
                refuse_at(int(infinite[j]), columns[j][:, None])
        keep = exact_moments and all(cells.exact_moments for cells in before)
        wide = found.level != FINEST

        kept: list[Moments | None] = [None] * len(columns)
        if keep and wide.any():
            at = np.flatnonzero(wide).tolist()
            some, old = [columns[j] for j in at], [before[j].moments for j in at] if before else None
            each = Moments.of_columns(some, codes, classes, weight, old, [names[j] for j in at])
            for j, held in zip(at, each, strict=True):
                kept[j] = held
        levels = found.level.reshape(-1, 1)
        return [
            cls((part,), levels[j], limit, keep, held)
            for j, (part, held) in enumerate(zip(found.parts, kept, strict=True))
        ]

    def _is_whole(self) -> bool:
        return all(p.rest is None and _core.all_whole(p.weight) for p in self.parts)

    def _flat(self) -> tuple[Array, Array, NDArray[np.int64]]:
        """Return edges, weights and starts of all columns in one array each."""
        offsets = np.cumsum([0, *(len(p.weight) for p in self.parts)])
        begins = [p.start[:-1] + at for p, at in zip(self.parts, offsets[:-1], strict=True)]
        return (
            np.concatenate([np.zeros(0), *(p.values[:, 0] for p in self.parts)]),
            np.concatenate([np.zeros(0), *(p.weight for p in self.parts)]),
            np.concatenate([*begins, offsets[-1:]]).astype(np.int64),
        )

    def __add__(self, other: Self) -> Self:
        return self._merged(other, plus)

    def __sub__(self, other: Self) -> Self:
        return self._merged(other, minus)

    def _merged(self, other: Self, merge: Any) -> Self:
        """Summarize the rows of both, or those of this one without the other's, at the level that both need."""
        limit = self._common_limit(other)
        level = np.maximum(self.level, other.level)
        parts, levels = [], []
        for p, q, own, theirs, e in zip(self.parts, other.parts, self.level, other.level, level, strict=True):
            a = p if own == e else coarser(p, int(e))
            b = q if theirs == e else coarser(q, int(e))
            both, mine, less = side_by_side(a, b)
            weight = merge(mine, less)
            if merge is minus:
                left = weight.value > 0
                value, rest = weight.at(left)
                found = Points(both.values[left], value, starts(left)[both.start], rest)
            else:
                found = Points(both.values, weight.value, both.start, weight.rest)
            found, e = _within(found, int(e), limit)
            parts.append(found)
            levels.append(e)
        out = type(self)(tuple(parts), np.array(levels, np.int32), limit, self.exact_moments and other.exact_moments)
        if not out.exact_moments or out.exact.all():
            return out
        return replace(out, kept=self.moments + other.moments if merge is plus else self.moments - other.moments)

    def _common_limit(self, other: Self) -> int | None:
        if self.limit == other.limit:
            return self.limit
        for one, two in ((self, other), (other, self)):
            if not any(len(p.weight) for p in one.parts):
                return two.limit
        raise MismatchError(f"Cells of limit={self.limit} and of limit={other.limit} cannot be merged")

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        if not factor:
            return self.empty(self.n_classes, self.n_columns, self.limit, self.exact_moments)
        scaled = ((p, times(p.sums, factor)) for p in self.parts)
        parts = (Points(p.values, weight.value, p.start, weight.rest) for p, weight in scaled)
        return self._with(parts, lambda moments: moments.scale(factor))

    def take(self, classes: Positions) -> Self:
        """Keep the given classes, in that order."""
        return self._with((taken(p, classes) for p in self.parts), lambda moments: moments.take(classes))

    def spread(self, positions: Positions, classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        places = positions_in(positions, classes)
        parts = (taken(p, places) for p in self.parts)
        return self._with(parts, lambda moments: moments.spread(positions, classes))

    def pooled(self) -> Self:
        """Summarize all classes as one, at the same levels: there may be as many cells as all classes have."""
        zeros = (np.zeros(len(p.weight), np.int32) for p in self.parts)
        parts = (tidy(p.values, z, p.sums, 1) for p, z in zip(self.parts, zeros, strict=True))
        return self._with(parts, Moments.pooled)

    def _with(self, parts: Iterable[Points], change: Callable[[Moments], Moments]) -> Self:
        kept = None if self.kept is None else change(self.kept)
        return type(self)(tuple(parts), self.level, self.limit, self.exact_moments, kept)

    @cached_property
    def moments(self) -> Moments:
        """The moments of the values; of the middles of cells where they are wider and no exact ones were kept."""
        if self.kept is not None:
            return self.kept
        each = [Moments.of(p.values, p.codes, self.n_classes, p.weight) for p in self.points]
        if len(each) == 1:
            return each[0]
        stacked = (np.concatenate([getattr(m, f) for m in each], axis=-1) for f in Moments.class_fields)
        return Moments(*stacked) if each else Moments.empty(self.n_classes, 0)

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Whether the cells of each column are its values, (columns,)."""
        return self.level == FINEST

    @cached_property
    def points(self) -> tuple[Points, ...]:
        """The middle of each cell as a value with the weight of the cell, for each column."""
        middles = (middle(p.values, level) for p, level in zip(self.parts, self.level.tolist(), strict=True))
        return tuple(
            p if level == FINEST else replace(p, values=values)
            for p, values, level in zip(self.parts, middles, self.level.tolist(), strict=True)
        )

    def places(self, column: int, x: Array) -> Array:
        """Return the middle of the cell of each value of a column: the value itself where all values are kept."""
        level = int(self.level[column])
        return x if level == FINEST else middle(edges(x, level), level)

    def last_values(self, column: int, edge: Array) -> Array:
        """Return the largest number in each of the cells that begin at `edge`."""
        level = int(self.level[column])
        return edge if level == FINEST else _last(edge, _end(edge, level))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.parts[0].start) - 1 if self.parts else 0

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.level)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cells):
            return NotImplemented
        if self.parts != other.parts or not np.array_equal(self.level, other.level):
            return False
        a, b = self.kept, other.kept  # cells are exact; moments are up to rounding
        if a is None or b is None:
            return True
        return np.array_equal(a.weight, b.weight) and all(
            np.allclose(mine, theirs, rtol=1e-9, atol=1e-9 * np.abs(mine).max(initial=0.0))
            for mine, theirs in ((a.mean, b.mean), (a.squares, b.squares))
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays

    def __repr__(self) -> str:
        cells = max((len(p.weight) for p in self.parts), default=0)
        return f"Cells({self.n_classes} classes × {self.n_columns} columns, at most {cells} cells of a column)"


def moments_of_columns(columns: Sequence[Cells]) -> Moments:
    """Return the moments of columns of the same classes, each by itself, side by side: what `moments` gives for each.

    Where cells are values, a class of a column is a class of one long column, as far as the kernel is concerned.
    """
    classes = columns[0].n_classes
    exact = [j for j, cells in enumerate(columns) if cells.kept is None]
    held = [[getattr(cells.kept, f) for f in Moments.class_fields] for cells in columns if cells.kept is not None]
    step = max(1, SEGMENTS // max(classes, 1))

    def some(lo: int) -> list[Array]:
        points = [columns[j].points[0] for j in exact[lo : lo + step]]
        bounds = np.stack([p.start for p in points])
        codes = np.repeat(np.arange(len(points) * classes, dtype=np.int32), np.diff(bounds).ravel())
        values = np.concatenate([p.values for p in points])
        found = Moments.of(values, codes, len(points) * classes, np.concatenate([p.weight for p in points]))
        fields = (getattr(found, f).reshape(len(points), classes, -1) for f in Moments.class_fields)
        return [np.moveaxis(part, 0, -1) for part in fields]

    work = sum(len(columns[j].parts[0].weight) for j in exact)
    found = in_threads(some, range(0, len(exact), step), work)
    order = np.argsort([*exact, *(j for j, cells in enumerate(columns) if cells.kept is not None)])
    made: list[Any] = []
    for i, name in enumerate(Moments.class_fields):
        lost = [part[i] if name == "rest" else part[i][:, 0] for part in found]
        known = [part[i] for part in held]
        if any(part is None for part in known):
            made.append(None)  # they were rounded elsewhere
        else:
            made.append(np.ascontiguousarray(np.concatenate([*lost, *known], axis=-1)[..., order]))
    return Moments(*made)


def edges(x: Array, level: int) -> Array:
    """Return the lower edge of the cell of each value, ⌊x / 2^e⌋ · 2^e; the least float64 where that overflows."""
    if level == FINEST:
        return x + 0.0
    with np.errstate(over="ignore", under="ignore"):
        far = ~(np.abs(x) < np.ldexp(1.0, level + 52))  # multiples of 2^e; and NaN
        below = np.floor(np.ldexp(np.where(far, 0.0, x), -level))
        below[(below == 0) & (x < 0)] = -1.0  # the quotient was rounded to 0
        found = np.maximum(np.ldexp(below, level), np.finfo(np.float64).min)
    return np.where(far, x, found) + 0.0


def middle(edge: Array, level: int) -> Array:
    """Return the middle of the cells that begin at `edge`; the edge itself where the cell holds no other number."""
    if level == FINEST:
        return edge
    end = _end(edge, level)
    return np.where(_last(edge, end) == edge, edge, 0.5 * edge + 0.5 * end)


def _end(edge: Array, level: int) -> Array:
    """Return where the cells that begin at `edge` end: the next edge, or the largest float64."""
    least, most = np.finfo(np.float64).min, np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        end = np.minimum(edge + np.ldexp(1.0, level), most)
    if level > 971:  # the lowest cell begins at −2¹⁰²⁴, which is no float64
        end[edge == least] = -2.0 * (np.ldexp(1.0, 1023) - np.ldexp(1.0, level - 1))
    return end


def _last(edge: Array, end: Array) -> Array:
    """Return the largest number of cells that begin at `edge` and end before `end`."""
    with np.errstate(over="ignore"):
        last = np.where(end == np.finfo(np.float64).max, end, np.nextafter(end, -np.inf))
    return np.where(end > edge, last, edge)


def coarser(points: Points, level: int) -> Points:
    """Return the cells of a coarser level."""
    edge = edges(points.values[:, 0], level)
    if not len(edge):
        return points
    is_first = np.ones(len(edge), dtype=bool)
    np.not_equal(edge[:-1], edge[1:], out=is_first[1:])
    is_first[points.start[:-1][points.start[:-1] < len(edge)]] = True
    first = np.flatnonzero(is_first)
    total = segment_sums(points.sums, first)
    return Points(edge[first].reshape(-1, 1), total.value, np.searchsorted(first, points.start), total.rest)


def _within(points: Points, level: int, limit: int | None) -> tuple[Points, int]:
    """Return the cells at the least level, from `level` on, at which no class has more than `limit`."""
    if limit is None or np.diff(points.start).max(initial=0) <= limit:
        return points, level
    low, high = min(level + 1, COARSEST), COARSEST
    while low < high:
        half = (low + high) // 2
        if _most(points, half) > limit:
            low = half + 1
        else:
            high = half
    return coarser(points, low), low


def _most(points: Points, level: int) -> int:
    """Return the largest number of cells of a class at a coarser level."""
    edge = edges(points.values[:, 0], level)
    changes = np.append(True, edge[1:] != edge[:-1])
    changes[points.start[:-1][points.start[:-1] < len(edge)]] = True
    return int(np.diff(starts(changes)[points.start]).max(initial=0))
