"""The distinct values and their weights: for densities that a few numbers cannot summarize."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import (
    Array,
    Codes,
    Dense,
    Mask,
    Matrix,
    Positions,
    as_dense,
    is_sparse,
    positions_in,
    refuse_at,
    starts,
)
from suffice.core.errors import InvalidOptionError, MismatchError, NotPartError
from suffice.core.frozen_options import Record, same_options
from suffice.core.statistics.compensated import Sums, check_rest, minus, plus, rounded, segment_sums, times
from suffice.core.statistics.statistic import Statistic
from suffice.core.validation import Agrees, Held


@dataclass(frozen=True, eq=False, repr=False)
class Points(Record):
    """Distinct points (points, width) and their weights, class by class.

    The points of class c are at `start[c] : start[c + 1]`, sorted by the first coordinate, then by the next. `rest`
    (points, 2) is what rounding took from the weights, as `compensated` says.
    """

    values: Annotated[Array, Held("points", "width", missing=True)]
    weight: Annotated[Array, Held("points", above=0)]
    start: Annotated[NDArray[np.int64], Held("classes+1", fills="points")]
    rest: Annotated[Array | None, Held("points", 2)] = None

    def check_agreement(self) -> None:
        """Raise an error if the weights overflow, values of a column do not ascend in a class, or rows are repeated."""
        check_rest("rest", self.weight, self.rest)
        with np.errstate(over="ignore"):
            if not np.isfinite(self.weight.sum()):
                raise MismatchError("weight must have a sum that float64 holds")
        if self.values.shape[1] != 1:
            if len(tidy(self.values, self.codes, self.sums, len(self.start) - 1).weight) < len(self.weight):
                raise MismatchError("values must be distinct rows in each class")
            return
        values = self.values[:, 0]
        ascending = values[1:] > values[:-1]
        first = self.start[:-1][self.start[:-1] < len(values)]  # NaN is above nothing, but the first may be NaN
        ascending[first[first > 0] - 1] = True
        if not ascending.all() or np.isnan(values[first]).any():
            raise MismatchError("values must ascend within each class")

    def rounded(self) -> Points:
        """Return weights that were rounded to float64 elsewhere."""
        return Points(self.values, self.weight, self.start, rounded(self.weight))

    @property
    def sums(self) -> Sums:
        """The weights with what rounding took from them."""
        return Sums(self.weight, self.rest)

    def of_class(self, c: int) -> tuple[Array, Array]:
        """Return the points of one class, (points, width), and their weights."""
        own = slice(self.start[c], self.start[c + 1])
        return self.values[own], self.weight[own]

    @property
    def codes(self) -> Codes:
        """The class of each point."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))

    @property
    def class_weight(self) -> Array:
        """The weight of the points of each class."""
        return np.array([self.weight[a:b].sum() for a, b in pairwise(self.start)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Points):
            return NotImplemented
        same = np.array_equal(self.weight, other.weight) and np.array_equal(self.start, other.start)
        same = same and same_options(self.rest, other.rest)
        return same and np.array_equal(self.values, other.values, equal_nan=True)

    __hash__ = None


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Statistic):
    """The distinct points of each class and their weights: values of each column, or (`joint`) whole rows.

    `parts` has one `Points` for each column, or one for all columns. Missing values are left out; in a joint sample
    they stay NaN, and only rows without any value are left out.

    With a `limit`, a class with more than twice as many points in a part is compressed to that many: neighbours become
    one point, at their mean and with their total weight, with smaller cells towards both ends. This bounds memory; rows
    can then no longer be taken away.

    >>> sample = Sample.of(np.array([[2.0], [1.0], [2.0]]), np.zeros(3, np.int32), 1)
    >>> sample.parts[0].values.ravel(), sample.parts[0].weight
    (array([1., 2.]), array([1., 2.]))
    """

    parts: Annotated[tuple[Points, ...], Agrees("classes")]
    width: Annotated[int, Held(least=0, size="columns")]
    joint: bool = field(default=False, compare=False)
    limit: Annotated[int | None, Held(least=1)] = field(default=None, compare=False)

    @classmethod
    def empty(cls, classes: int, columns: int, joint: bool = False) -> Self:
        """Summarize no rows."""
        return cls(no_points(classes, columns, joint), columns, joint)

    def check_agreement(self) -> None:
        """Raise an error if the parts are not those of the columns."""
        if [part.values.shape[1] for part in self.parts] != ([self.width] if self.joint else [1] * self.width):
            raise MismatchError(f"parts must be of {self.width} columns")

    def check_made_with(self, joint: bool = False, **_: Any) -> None:
        """Raise an error if whole rows are needed and the values of each column were kept, or the other way round."""
        if joint != self.joint:
            raise MismatchError(f"Expected a sample with joint={joint}, found one with joint={self.joint}")

    @classmethod
    def of(
        cls,
        x: Matrix,
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
        x = as_dense(x) if is_sparse(x) else np.asarray(x)
        weight = _refuse_infinite(x, weight)
        rows, start = _by_class(codes, classes, weight)
        if joint:
            points = iter([np.asarray(x[rows], dtype=np.float64)])
        else:  # one column at a time, so that no copy of all of x is made
            points = (x[rows, j].astype(np.float64, copy=False)[:, None] for j in range(x.shape[1]))
        own = None if weight is None else Sums(weight[rows], None)
        found = cls(tuple(_sorted(values, own, start) for values in points), x.shape[1], joint, limit)._within_limit()
        return found if onto is None else onto + found

    def __add__(self, other: Self) -> Self:
        a, b = self._alike(other)
        parts = []
        for p, q in zip(a.parts, b.parts, strict=True):
            both, mine, theirs = side_by_side(p, q)
            value, rest = plus(mine, theirs)
            parts.append(Points(both.values, value, both.start, rest))
        return type(self)(tuple(parts), a.width, a.joint, a.limit)._within_limit()

    def __sub__(self, other: Self) -> Self:
        a, b = self._alike(other)
        parts = []
        for p, q in zip(a.parts, b.parts, strict=True):
            both, mine, theirs = side_by_side(p, q)
            try:
                weight = minus(mine, theirs)
            except NotPartError as error:
                why = " This sample was compressed to a limit and no longer has the rows." if a.limit else ""
                raise NotPartError(f"{error}{why}") from None
            left = weight.value > 0
            value, rest = weight.at(left)
            parts.append(Points(both.values[left], value, starts(left)[both.start], rest))
        return type(self)(tuple(parts), a.width, a.joint, a.limit)

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        if not factor:
            return type(self)(no_points(self.n_classes, self.width, self.joint), self.width, self.joint, self.limit)
        scaled = ((p, times(p.sums, factor)) for p in self.parts)
        return self._with(Points(p.values, weight.value, p.start, weight.rest) for p, weight in scaled)

    def take(self, classes: Positions) -> Self:
        """Keep the given classes, in that order."""
        return self._with(taken(p, classes) for p in self.parts)

    def spread(self, positions: Positions, classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        return self._with(taken(p, positions_in(positions, classes)) for p in self.parts)

    def pooled(self) -> Self:
        """Summarize all classes as one."""
        zeros = (np.zeros(len(p.weight), np.int32) for p in self.parts)
        return self._with(tidy(p.values, z, p.sums, 1) for p, z in zip(self.parts, zeros, strict=True))

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
        """Return both with the same options: an empty sample takes those of the other."""
        if (self.joint, self.limit) == (other.joint, other.limit):
            return self, other
        for one, two in sorted(((self, other), (other, self)), key=lambda pair: pair[0].joint or bool(pair[0].limit)):
            if not any(len(p.weight) for p in one.parts):
                parts = no_points(one.n_classes, two.width, two.joint)
                like = type(self)(parts, two.width, two.joint, two.limit)
                return (like, other) if one is self else (self, like)
        raise MismatchError(
            f"Samples of joint={self.joint}, limit={self.limit} and of joint={other.joint}, limit={other.limit} "
            "cannot be merged"
        )

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.parts[0].start) - 1 if self.parts else 0

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.width

    def __repr__(self) -> str:
        points = max((len(p.weight) for p in self.parts), default=0)
        what = "rows" if self.joint else "values of a column"
        return f"Sample({self.n_classes} classes × {self.width} columns, at most {points} distinct {what})"


def no_points(classes: int, columns: int, joint: bool) -> tuple[Points, ...]:
    """Return the points of no rows: a part for each column, or one for all of them."""
    width, parts = (columns, 1) if joint else (1, columns)
    none = Points(np.zeros((0, width)), np.zeros(0), np.zeros(classes + 1, np.int64))
    return (none,) * parts


def _refuse_infinite(x: Dense, weight: Array | None) -> Array | None:
    """Raise an error if a row with weight holds an infinite value; return the weights, None if all are 1."""
    infinite = np.isinf(x)
    if weight is not None:
        infinite &= (weight > 0)[:, None]
    if infinite.any():
        refuse_at(int(np.argmax(infinite)), x)
    return None if weight is None or (weight == 1.0).all() else weight


def _by_class(codes: Codes, classes: int, weight: Array | None = None) -> tuple[Positions, NDArray[np.int64]]:
    """Return the positions of all points with weight, sorted by class, and where each class starts."""
    if weight is not None and not (weight > 0).all():
        kept = np.flatnonzero(weight > 0)
        rows, start = _by_class(codes[kept], classes)
        return kept[rows], start
    small = codes.astype(np.int16) if classes < 1 << 15 else codes  # NumPy sorts small integers by counting
    return np.argsort(small, kind="stable"), starts(np.bincount(codes, minlength=classes))


def sorted_points(x: Array, codes: Codes, classes: int, weight: Array | None) -> Points:
    """Return the distinct values of a column, (rows,), class by class."""
    weight = _refuse_infinite(x[:, None], weight)
    rows, start = _by_class(codes, classes, weight)
    return _sorted(x[rows, None], None if weight is None else Sums(weight[rows], None), start)


def tidy(values: Array, codes: Codes, weight: Sums, classes: int) -> Points:
    """Sort points by class and value, and merge equal ones."""
    rows, start = _by_class(codes, classes)
    return _sorted(values[rows], weight.at(rows), start)


def _sorted(values: Array, weight: Sums | None, start: NDArray[np.int64]) -> Points:
    """Sort the points of each class, which starts at `start`, and merge equal ones; `weight` None is 1 each."""
    present: Mask = ~np.all(np.isnan(values), axis=1)
    if not present.all():
        start = starts(present)[start]
        values, weight = values[present], None if weight is None else weight.at(present)
    values = values + 0.0  # −0 is 0
    alone = values.shape[1] == 1
    if alone and weight is None:
        _core.sort_segments(values.reshape(-1), start, None)
    elif alone and weight is not None:
        order = np.empty(len(values), np.int64)
        _core.sort_segments(values.reshape(-1), start, order)
        weight = weight.at(order)
    else:
        order = np.concatenate([np.zeros(0, np.int64), *(a + _order(values[a:b]) for a, b in pairwise(start))])
        values, weight = values[order], None if weight is None else weight.at(order)
    before, after = values[:-1], values[1:]
    is_first = np.ones(len(values), dtype=bool)
    if alone:
        np.not_equal(before[:, 0], after[:, 0], out=is_first[1:])
    else:
        is_first[1:] = ((before != after) & ~(np.isnan(before) & np.isnan(after))).any(axis=1)
    is_first[start[:-1][start[:-1] < len(values)]] = True
    if is_first.all():
        value, rest = weight or Sums(np.ones(len(values)), None)
        return Points(values, value, start, rest)
    first = np.flatnonzero(is_first)
    ends = np.searchsorted(first, start)
    if weight is None:
        return Points(values[first], np.diff(first, append=len(values)).astype(float), ends)
    total = segment_sums(weight, first)
    return Points(values[first], total.value, ends, total.rest)


def _order(values: Array) -> NDArray[np.intp]:
    """Return the order of rows by their first column, and by the others where that leaves ties."""
    order = np.argsort(values[:, 0])
    lead = values[order, 0]
    return order if (lead[1:] > lead[:-1]).all() else np.lexsort(values.T[::-1])


def side_by_side(p: Points, q: Points) -> tuple[Points, Sums, Sums]:
    """Return the distinct points of both, and their weights in `p` and in `q`."""
    codes, classes, n = np.concatenate([p.codes, q.codes]), len(p.start) - 1, len(p.weight) + len(q.weight)
    # Numbered by an addend that is exact, each point of the union says where it was.
    numbers = np.concatenate([1.0 + np.arange(len(p.weight)), (n + 1.0) * (1.0 + np.arange(len(q.weight)))])
    both = tidy(np.concatenate([p.values, q.values]), codes, Sums(numbers, None), classes)
    theirs, mine = np.divmod(both.weight.astype(np.int64), n + 1)
    return both, _picked(p.sums, mine - 1), _picked(q.sums, theirs - 1)


def _picked(weight: Sums, at: Positions) -> Sums:
    """Return the weights at the given positions, 0 at −1."""
    value = np.append(weight.value, 0.0)[at]
    return Sums(value, None if weight.rest is None else np.append(weight.rest, np.zeros((1, 2)), axis=0)[at])


def taken(points: Points, classes: Positions) -> Points:
    """Return the points of the given classes; −1 stands for an empty class."""
    sizes = np.append(np.diff(points.start), 0)[classes]
    at = [np.arange(points.start[c], points.start[c + 1]) for c in classes if c >= 0]
    index = np.concatenate(at) if at else np.zeros(0, np.int64)
    weight, rest = points.sums.at(index)
    return Points(points.values[index], weight, starts(sizes), rest)


# ---------------------------------------------------------------------------------------- compression


def _compress(points: Points, limit: int) -> Points:
    """Return at most `limit` points for each class, each the mean of a cell of points."""
    alone = points.values.shape[1] == 1
    values, weights = [], []
    for c in range(len(points.start) - 1):
        own, weight = points.of_class(c)
        if len(weight) > limit:
            own, weight = _by_rank(own, weight, limit) if alone else _by_halving(own, weight, limit)
        values.append(own)
        weights.append(weight)
    start = starts(np.array([len(weight) for weight in weights], dtype=np.int64))
    at, weight = np.concatenate(values), np.concatenate(weights)
    return Points(at, weight, start) if alone else _sorted(at, Sums(weight, None), start)


def _by_rank(values: Array, weight: Array, limit: int) -> tuple[Array, Array]:
    """Return the mean and weight of each cell of sorted points; cells in rank q shrink like √(q(1−q)) to both ends."""
    # The arcsine scale of Dunning's t-digest: small cells in the tails, where densities differ most.
    middle = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    scale = np.arcsin(np.clip(2.0 * middle - 1.0, -1.0, 1.0)) / np.pi + 0.5
    cells = np.minimum((scale * limit).astype(np.int64), limit - 1)
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    total = np.add.reduceat(weight, first)
    means = np.add.reduceat(weight * values[:, 0], first) / total
    # Rounding must not move a mean out of its cell.
    least, most = values[first, 0], values[np.append(first[1:], len(values)) - 1, 0]
    return np.clip(means, least, most)[:, None], total


def _by_halving(values: Array, weight: Array, limit: int) -> tuple[Array, Array]:
    """Return the mean and weight of cells of rows: the largest cell is halved at the median of its widest column."""
    filled = np.where(np.isnan(values), 0.0, values)
    # Only rows that miss the same entries share a cell.
    pattern = np.unique(np.isnan(values), axis=0, return_inverse=True)[1].ravel()
    cells = [np.flatnonzero(pattern == p) for p in range(pattern.max() + 1)]
    if len(cells) > limit:
        raise InvalidOptionError(
            f"There are {len(cells)} patterns of missing values, more than the limit of {limit} points: raise it"
        )
    while len(cells) < limit:
        cells.sort(key=len)
        widest = cells.pop()
        if len(widest) == 1:
            cells.append(widest)
            break
        column = np.argmax(np.ptp(filled[widest], axis=0))
        order = widest[np.argsort(filled[widest, column], kind="stable")]
        total = np.cumsum(weight[order])
        half = int(np.clip(np.searchsorted(total, 0.5 * total[-1]), 1, len(order) - 1))
        cells += [order[:half], order[half:]]
    number = np.empty(len(weight), dtype=np.int64)
    for i, cell in enumerate(cells):
        number[cell] = i
    total = np.bincount(number, weights=weight).astype(np.float64, copy=False)
    means = [np.bincount(number, weights=weight * column) / total for column in values.T]
    return np.stack(means, axis=1), total
