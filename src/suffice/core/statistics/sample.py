"""The values themselves, each distinct one once with its weight: for densities that no few numbers sum up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, is_sparse, refuse_at
from suffice.core.errors import InvalidOptionError, MismatchError, NotPartError
from suffice.core.registry import Registered
from suffice.core.statistics.statistic import Statistic, check_array, subtract_weights


@dataclass(frozen=True, eq=False, repr=False)
class Points(Registered):
    """Distinct points (points, width) and their weights, class by class.

    Those of class c are at `start[c] : start[c + 1]`, in ascending order, the first coordinate first.
    """

    values: Array
    weight: Array
    start: NDArray[np.int64]

    def check_arrays(self) -> None:
        """Refuse arrays that do not belong together."""
        check_array("values", self.values, (-1, -1))
        check_array("weight", self.weight, self.values.shape[:1])
        check_array("start", self.start, (-1,), np.int64)
        ends = self.start[[0, -1]].tolist() if len(self.start) else None
        if ends != [0, len(self.values)] or (np.diff(self.start) < 0).any():
            raise MismatchError("start should lead from the first point to the last")

    def of_class(self, c: int) -> tuple[Array, Array]:
        """The points of one class, (points, width), and their weights."""
        own = slice(self.start[c], self.start[c + 1])
        return self.values[own], self.weight[own]

    @property
    def codes(self) -> Codes:
        """The class of each point."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))

    @property
    def class_weight(self) -> Array:
        """The weight of each class's points."""
        return np.array([self.weight[a:b].sum() for a, b in pairwise(self.start)])


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Statistic):
    """A weighted multiset for each class: of each column's values apart, or (`joint`) of whole rows.

    `parts` has one `Points` for each column, or one for all columns. Apart, missing entries are left out; a
    joint row keeps its gaps as NaN, and only a row of nothing but gaps is left out.

    With a `limit`, a class that has come to hold more than twice that many points in a part is compressed to
    that many: neighbours become one point of their joint weight at their mean, finer towards both ends. Memory
    is then bounded, and rows can no longer be taken away.

    >>> sample = Sample.of(np.array([[2.0], [1.0], [2.0]]), np.zeros(3, np.int32), 1)
    >>> sample.parts[0].values.ravel(), sample.parts[0].weight
    (array([1., 2.]), array([1., 2.]))
    """

    parts: tuple[Points, ...]
    width: int
    joint: bool = False
    limit: int | None = None

    @classmethod
    def empty(cls, classes: int, columns: int, joint: bool = False) -> Self:
        """Summarize no rows."""
        return cls(_no_points(classes, columns, joint), columns, joint)

    def check_arrays(self) -> None:
        """Refuse parts that do not belong together."""
        widths = [self.width] if self.joint else [1] * self.width
        if [p.values.shape[1] for p in self.parts] != widths or len({len(p.start) for p in self.parts}) > 1:
            raise MismatchError(f"parts should be of {self.width} columns and of the same classes")
        if not isinstance(self.joint, bool) or (self.limit is not None and not self.limit >= 1):
            raise MismatchError(f"joint={self.joint!r} and limit={self.limit!r} are no options of a sample")

    @classmethod
    def of(
        cls,
        x: Any,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        joint: bool = False,
        limit: int | None = None,
    ) -> Self:
        """Keep the values of rows of real numbers; NaN is missing."""
        if limit is not None and limit < 1:
            raise InvalidOptionError(f"A sample must be allowed at least 1 point, found limit={limit}")
        x = x.toarray() if is_sparse(x) else np.asarray(x)
        weight = _refuse_infinite(x, weight)
        rows, start = _by_class(codes, classes, weight)
        parts: Iterator[Points] | list[Points]
        if joint:
            block = np.asarray(x[rows], dtype=np.float64)
            parts = [_sorted(block, None if weight is None else weight[rows], start)]
        else:  # one column at a time, so that no copy of all of x is made
            columns = (x[rows, j].astype(np.float64, copy=False)[:, None] for j in range(x.shape[1]))
            heavy = None if weight is None else weight[rows]
            parts = (_sorted(column, heavy, start) for column in columns)
        found = cls(tuple(parts), x.shape[1], joint, limit)._within_limit()
        return found if onto is None else onto + found

    def __add__(self, other: Self) -> Self:
        a, b = self._alike(other)
        both = (_merged(p, q) for p, q in zip(a.parts, b.parts, strict=True))
        parts = tuple(_tidy(values, codes, each.sum(axis=0), classes) for values, codes, each, classes in both)
        return type(self)(parts, a.width, a.joint, a.limit)._within_limit()

    def __sub__(self, other: Self) -> Self:
        a, b = self._alike(other)
        parts = []
        for p, q in zip(a.parts, b.parts, strict=True):
            values, codes, weights, classes = _merged(p, q)
            both = _tidy(values, codes, weights[0] + 1j * weights[1], classes)  # sorted once, summed apart
            try:
                rest = subtract_weights(both.weight.real, both.weight.imag)
            except NotPartError as error:
                why = " This sample was compressed to a limit: its rows are gone." if a.limit else ""
                raise NotPartError(f"{error}{why}") from None
            left = rest > 0
            start = np.concatenate([[0], np.cumsum(left)])[both.start]
            parts.append(Points(both.values[left], rest[left], start))
        return type(self)(tuple(parts), a.width, a.joint, a.limit)

    def scale(self, factor: float) -> Self:
        """Make every row `factor` times as heavy."""
        if not factor:
            return type(self)(_no_points(self.n_classes, self.width, self.joint), self.width, self.joint, self.limit)
        return self._with(Points(p.values, p.weight * factor, p.start) for p in self.parts)

    def take(self, classes: NDArray[Any]) -> Self:
        """Keep the given classes, in that order."""
        return self._with(_taken(p, classes) for p in self.parts)

    def spread(self, positions: NDArray[Any], classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        source = np.full(classes, -1)
        source[positions] = np.arange(len(positions))
        return self._with(_taken(p, source) for p in self.parts)

    def pooled(self) -> Self:
        """Summarize all classes as one."""
        zeros = (np.zeros(len(p.weight), np.int32) for p in self.parts)
        return self._with(_tidy(p.values, z, p.weight, 1) for p, z in zip(self.parts, zeros, strict=True))

    def compressed(self, limit: int) -> Self:
        """Summarize by at most `limit` points for each class and part, of the same weight and mean."""
        return self._with(_compress(p, limit) for p in self.parts)

    def _within_limit(self) -> Self:
        if self.limit is None or all(np.diff(p.start).max(initial=0) <= 2 * self.limit for p in self.parts):
            return self
        return self.compressed(self.limit)

    def _with(self, parts: Iterator[Points]) -> Self:
        return type(self)(tuple(parts), self.width, self.joint, self.limit)

    def _alike(self, other: Self) -> tuple[Self, Self]:
        """Both, after `empty`, which knows of no options, has taken those of the other."""
        if (self.joint, self.limit) == (other.joint, other.limit):
            return self, other
        for one, two in sorted(((self, other), (other, self)), key=lambda pair: pair[0].joint or bool(pair[0].limit)):
            if not any(len(p.weight) for p in one.parts):
                parts = _no_points(one.n_classes, two.width, two.joint)
                like = type(self)(parts, two.width, two.joint, two.limit)
                return (like, other) if one is self else (self, like)
        raise MismatchError(
            f"Samples of joint={self.joint}, limit={self.limit} and of joint={other.joint}, limit={other.limit} "
            "cannot be merged"
        )

    @property
    def n_classes(self) -> int:
        """How many classes are summarized."""
        return len(self.parts[0].start) - 1 if self.parts else 0

    @property
    def n_columns(self) -> int:
        """How many columns are summarized."""
        return self.width

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sample):
            return NotImplemented
        if len(self.parts) != len(other.parts) or self.width != other.width:
            return False
        return all(
            np.array_equal(p.values, q.values, equal_nan=True)
            and np.array_equal(p.weight, q.weight)
            and np.array_equal(p.start, q.start)
            for p, q in zip(self.parts, other.parts, strict=True)
        )

    def __repr__(self) -> str:
        points = max((len(p.weight) for p in self.parts), default=0)
        what = "rows" if self.joint else "values of a column"
        return f"Sample({self.n_classes} classes × {self.width} columns, at most {points} distinct {what})"


def _no_points(classes: int, columns: int, joint: bool) -> tuple[Points, ...]:
    width, parts = (columns, 1) if joint else (1, columns)
    none = Points(np.zeros((0, width)), np.zeros(0), np.zeros(classes + 1, np.int64))
    return (none,) * parts


def _refuse_infinite(x: Array, weight: Array | None) -> Array | None:
    """Raise if a row that counts holds an infinite value; return the weights, None where all are 1."""
    infinite = np.isinf(x)
    if weight is not None:
        infinite &= (weight > 0)[:, None]
    if infinite.any():
        refuse_at(int(np.argmax(infinite)), x)
    return None if weight is None or (weight == 1.0).all() else weight


def _by_class(codes: Codes, classes: int, weight: Array | None = None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The positions of all points with weight, class by class, and where each class begins."""
    if weight is not None and not (weight > 0).all():
        kept = np.flatnonzero(weight > 0)
        rows, start = _by_class(codes[kept], classes)
        return kept[rows], start
    small = codes.astype(np.int16) if classes < 1 << 15 else codes  # NumPy counts small integers instead of comparing
    start = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=classes))]).astype(np.int64)
    return np.argsort(small, kind="stable"), start


def _tidy(values: Array, codes: Codes, weight: NDArray[Any], classes: int) -> Points:
    """Sort points by class and value, and make equal ones one."""
    rows, start = _by_class(codes, classes)
    return _sorted(values[rows], weight[rows], start)


def _sorted(values: Array, weight: NDArray[Any] | None, start: NDArray[np.int64]) -> Points:
    """Sort the points of each class, which begins at `start`, and make equal ones one; `weight` None is 1 each."""
    lost = np.isnan(values).all(axis=1)
    if lost.any():
        start = np.concatenate([[0], np.cumsum(~lost)])[start]
        values, weight = values[~lost], None if weight is None else weight[~lost]
    values = values + 0.0  # −0 is 0
    alone = values.shape[1] == 1
    if alone:
        order = None if weight is None else np.empty(len(values), np.int64)
        _core.sort_segments(values.reshape(-1), start, order)
        weight = None if weight is None else weight[order]
    else:
        order = np.concatenate([np.zeros(0, np.int64), *(a + _order(values[a:b]) for a, b in pairwise(start))])
        values, weight = values[order], None if weight is None else weight[order]
    before, after = values[:-1], values[1:]
    fresh = np.ones(len(values), dtype=bool)
    if alone:
        np.not_equal(before[:, 0], after[:, 0], out=fresh[1:])
    else:
        fresh[1:] = ((before != after) & ~(np.isnan(before) & np.isnan(after))).any(axis=1)
    fresh[start[:-1][start[:-1] < len(values)]] = True
    if fresh.all():
        return Points(values, np.ones(len(values)) if weight is None else weight, start)
    first = np.flatnonzero(fresh)
    heavy = np.diff(first, append=len(values)).astype(float) if weight is None else np.add.reduceat(weight, first)
    return Points(values[first], heavy, np.searchsorted(first, start))


def _order(values: Array) -> NDArray[np.intp]:
    """Sort rows by their first column, and by the others only where that leaves ties."""
    order = np.argsort(values[:, 0])
    lead = values[order, 0]
    return order if (lead[1:] > lead[:-1]).all() else np.lexsort(values.T[::-1])


def _merged(p: Points, q: Points) -> tuple[Array, Codes, Array, int]:
    """The points of both, their classes, the weights either gives them (2, points), and how many classes."""
    weights = np.zeros((2, len(p.weight) + len(q.weight)))
    weights[0, : len(p.weight)], weights[1, len(p.weight) :] = p.weight, q.weight
    return np.concatenate([p.values, q.values]), np.concatenate([p.codes, q.codes]), weights, len(p.start) - 1


def _taken(points: Points, classes: NDArray[Any]) -> Points:
    """The points of the given classes; −1 is a class without any."""
    sizes = np.append(np.diff(points.start), 0)[classes]
    at = [np.arange(points.start[c], points.start[c + 1]) for c in classes if c >= 0]
    index = np.concatenate(at) if at else np.zeros(0, np.int64)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Points(points.values[index], points.weight[index], start)


# ---------------------------------------------------------------------------------------- compression


def _compress(points: Points, limit: int) -> Points:
    """At most `limit` points for each class, each the mean of those of its cell."""
    alone = points.values.shape[1] == 1
    values, weights = [], []
    for c in range(len(points.start) - 1):
        own, weight = points.of_class(c)
        if len(weight) > limit:
            own, weight = _by_rank(own, weight, limit) if alone else _by_halving(own, weight, limit)
        values.append(own)
        weights.append(weight)
    start = np.concatenate([[0], np.cumsum([len(weight) for weight in weights])]).astype(np.int64)
    whole, heavy = np.concatenate(values), np.concatenate(weights)
    return Points(whole, heavy, start) if alone else _sorted(whole, heavy, start)


def _by_rank(values: Array, weight: Array, limit: int) -> tuple[Array, Array]:
    """The mean and weight of each cell of sorted points, in their order."""
    cells = _cells_by_rank(weight, limit)
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    heavy = np.add.reduceat(weight, first)
    means = np.add.reduceat(weight * values[:, 0], first) / heavy
    # A sum's rounding may not carry a mean beyond the points it is of: cells stay apart.
    least, most = values[first, 0], values[np.append(first[1:], len(values)) - 1, 0]
    return np.clip(means, least, most)[:, None], heavy


def _by_halving(values: Array, weight: Array, limit: int) -> tuple[Array, Array]:
    """The mean and weight of each cell of rows."""
    number = np.unique(_cells_by_halving(values, weight, limit), return_inverse=True)[1]
    heavy = np.bincount(number, weights=weight).astype(np.float64, copy=False)
    sums = [np.bincount(number, weights=weight * column) / heavy for column in values.T]
    return np.stack(sums, axis=1), heavy


def _cells_by_rank(weight: Array, limit: int) -> NDArray[np.int64]:
    """Cells of sorted points, of a width in rank q that shrinks like √(q(1−q)) towards both ends."""
    # The arcsine scale of Dunning's t-digest: it keeps the tails, which decide how far off a value is.
    middle = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    scale = np.arcsin(np.clip(2.0 * middle - 1.0, -1.0, 1.0)) / np.pi + 0.5
    return np.minimum((scale * limit).astype(np.int64), limit - 1)


def _cells_by_halving(values: Array, weight: Array, limit: int) -> NDArray[np.int64]:
    """Cells made by halving, at the median of its widest column, the cell that has the most points."""
    filled = np.where(np.isnan(values), 0.0, values)
    # A row's gaps are part of what it is: only rows with the same gaps can share a cell.
    gaps = np.unique(np.isnan(values), axis=0, return_inverse=True)[1].ravel()
    cells = [np.flatnonzero(gaps == g) for g in range(gaps.max() + 1)]
    if len(cells) > limit:
        raise InvalidOptionError(f"There are more patterns of gaps ({len(cells)}) than the limit of {limit} points")
    while len(cells) < limit:
        cells.sort(key=len)
        widest = cells.pop()
        if len(widest) == 1:
            cells.append(widest)
            break
        column = np.argmax(np.ptp(filled[widest], axis=0))
        order = widest[np.argsort(filled[widest, column], kind="stable")]
        heavy = np.cumsum(weight[order])
        half = int(np.clip(np.searchsorted(heavy, 0.5 * heavy[-1]), 1, len(order) - 1))
        cells += [order[:half], order[half:]]
    out = np.empty(len(weight), dtype=np.int64)
    for number, cell in enumerate(cells):
        out[cell] = number
    return out
