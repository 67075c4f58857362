"""Counts of the values of a column in cells: bounded memory, exact sums and differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Matrix, Positions, as_dense, is_sparse, positions_in, refuse_at, starts
from suffice.core.errors import InvalidOptionError, MismatchError
from suffice.core.statistics.compensated import Sums, added, minus, plus, segment_sums, times
from suffice.core.statistics.moments import Moments
from suffice.core.statistics.sample import Points, no_points, side_by_side, sorted_points, taken, tidy
from suffice.core.statistics.statistic import Statistic
from suffice.core.validation import Agrees, Held

FINEST = -1074  # the level at which every float64 is a cell of its own
COARSEST = 1024  # the level of two cells: numbers below 0, and the others
LIMIT = 4096  # cells of a class and column


@dataclass(frozen=True, eq=False, repr=False)
class Cells(Statistic):
    """How many values of each column lie in each cell [k·2^e, (k + 1)·2^e), for every class.

    The level e of a column is the least at which no class has more than `limit` cells. With few distinct values it is
    −1074, and the cells are the values themselves. A cell of a coarser level is a union of cells of a finer one, so
    sums are exact: the result is a function of the rows alone, whatever their order and however they were divided.
    Differences are exact at the level that was reached, which may be coarser than that of the rows left.

    `parts` holds the lower edge and the weight of each cell, `level` (columns,) the levels. With `limit=None` all
    values are kept. `moments` are those of the values, exact, where a family needs them.

    >>> cells = Cells.of(np.array([[0.1], [0.9], [1.5], [7.0]]), np.zeros(4, np.int32), 1, limit=3)
    >>> cells.level, cells.parts[0].values.ravel(), cells.parts[0].weight
    (array([0], dtype=int32), array([0., 1., 7.]), array([2., 1., 1.]))
    """

    parts: Annotated[tuple[Points, ...], Agrees("classes")]
    level: Annotated[NDArray[np.int32], Held("columns", least=FINEST, most=COARSEST)]
    moments: Annotated[Moments | None, Agrees("classes", "columns")] = None
    limit: Annotated[int | None, Held(least=1)] = field(default=LIMIT, compare=False)

    @classmethod
    def empty(cls, classes: int, columns: int, moments: bool = False, limit: int | None = LIMIT) -> Self:
        """Summarize no rows."""
        level = np.full(columns, FINEST, np.int32)
        own = Moments.empty(classes, columns) if moments else None
        return cls(no_points(classes, columns, joint=False), level, own, limit)

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

    def check_made_with(self, moments: bool = False, **_: Any) -> None:
        """Raise an error if moments are needed and were not kept."""
        if moments and self.moments is None:
            raise MismatchError("Expected cells with moments, found cells without")

    @classmethod
    def of(
        cls,
        x: Matrix,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        moments: bool = False,
        limit: int | None = LIMIT,
    ) -> Self:
        """Count the values of rows of real numbers; NaN is missing."""
        if limit is not None and limit < 1:
            raise InvalidOptionError(f"There must be at least 1 cell, found limit={limit}")
        x = np.asarray(as_dense(x) if is_sparse(x) else x, dtype=np.float64)
        if weight is not None and (weight == 1.0).all():
            weight = None
        if limit is None:
            parts = tuple(sorted_points(x[:, j], codes, classes, weight) for j in range(x.shape[1]))
            found = cls(parts, np.full(x.shape[1], FINEST, np.int32), None, limit)
            found = found if onto is None else replace(onto, moments=None) + found
        else:
            found = cls._counted(x, codes, classes, weight, onto, limit)
        if not moments or (onto is not None and onto.moments is None):
            return found
        own = Moments.of(x, codes, classes, weight, None if onto is None else onto.moments)
        return replace(found, moments=own)

    @classmethod
    def _counted(
        cls, x: Array, codes: Codes, classes: int, weight: Array | None, onto: Self | None, limit: int
    ) -> Self:
        """Count in cells, and add them to those of `onto` in the same pass where their weights are exact."""
        columns = [x[:, j] for j in range(x.shape[1])]
        simple = onto is not None and weight is None and onto.limit == limit and onto._is_exact()
        level = np.full(len(columns), FINEST, np.int32) if onto is None else onto.level
        before = onto._flat() if simple and onto is not None else None
        (level, edge, total, low, start), infinite = _core.count_cells(
            columns, codes, classes, weight, limit, level, before
        )
        if (infinite >= 0).any():
            j = int(np.argmax(infinite >= 0))
            refuse_at(int(infinite[j]) * x.shape[1] + j, x)
        weights = Sums(total, None) if weight is None else added(total, low, len(codes))
        parts = []
        for j in range(len(columns)):
            ends = start[j * classes : (j + 1) * classes + 1]
            own = slice(ends[0], ends[-1])
            value, rest = weights.at(own)
            parts.append(Points(edge[own, None], value, ends - ends[0], rest))
        found = cls(tuple(parts), level, None, limit)
        return found if onto is None or simple else replace(onto, moments=None) + found

    def _is_exact(self) -> bool:
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
        moments = None
        if self.moments is not None and other.moments is not None:
            moments = self.moments + other.moments if merge is plus else self.moments - other.moments
        return type(self)(tuple(parts), np.array(levels, np.int32), moments, limit)

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
            return self.empty(self.n_classes, self.n_columns, self.moments is not None, self.limit)
        scaled = ((p, times(p.sums, factor)) for p in self.parts)
        return self._with(
            (Points(p.values, weight.value, p.start, weight.rest) for p, weight in scaled),
            None if self.moments is None else self.moments.scale(factor),
        )

    def take(self, classes: Positions) -> Self:
        """Keep the given classes, in that order."""
        moments = None if self.moments is None else self.moments.take(classes)
        return self._with((taken(p, classes) for p in self.parts), moments)

    def spread(self, positions: Positions, classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        moments = None if self.moments is None else self.moments.spread(positions, classes)
        return self._with((taken(p, positions_in(positions, classes)) for p in self.parts), moments)

    def pooled(self) -> Self:
        """Summarize all classes as one, at the same levels: there may be as many cells as all classes have."""
        zeros = (np.zeros(len(p.weight), np.int32) for p in self.parts)
        parts = (tidy(p.values, z, p.sums, 1) for p, z in zip(self.parts, zeros, strict=True))
        return self._with(parts, None if self.moments is None else self.moments.pooled())

    def _with(self, parts: Iterable[Points], moments: Moments | None) -> Self:
        return type(self)(tuple(parts), self.level, moments, self.limit)

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
        return self.parts == other.parts and np.array_equal(self.level, other.level) and self.moments == other.moments

    __hash__ = None

    def __repr__(self) -> str:
        cells = max((len(p.weight) for p in self.parts), default=0)
        return f"Cells({self.n_classes} classes × {self.n_columns} columns, at most {cells} cells of a column)"


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
    return Points(edge[first, None], total.value, np.searchsorted(first, points.start), total.rest)


def _within(points: Points, level: int, limit: int | None) -> tuple[Points, int]:
    """Return the cells at the least level, from `level` on, at which no class has more than `limit`."""
    if limit is None or np.diff(points.start).max(initial=0) <= limit:
        return points, level
    low, high = level + 1, COARSEST
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


def of_points(points: Sequence[Points], limit: int | None) -> Cells:
    """Return the cells of values that are known with their weights."""
    found = [_within(p, FINEST, limit) for p in points]
    return Cells(tuple(p for p, _ in found), np.array([e for _, e in found], np.int32), None, limit)
