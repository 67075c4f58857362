"""Cells of columns on a device: values are counted by their places in a table, or sorted where a table has no room.

A sample of rows shows where the values of a column are. The level of a part of the rows is never above that of all, so
values are counted at that level, and the cells are joined on the host to the level of all rows. Values that have no
place in the table are few, and are counted on the host; if they are many, the column is sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError
from suffice.core.parallel import in_threads
from suffice.core.statistics import Cells
from suffice.core.statistics.cells import COARSEST, FINEST, edges
from suffice.core.statistics.sample import Points
from suffice.engines.gpu.device import Device
from suffice.engines.gpu.matrices import DenseRows, HostRows, halving
from suffice.engines.gpu.summaries import Labelled, fresh_status, i4, i8, moments_of, units

SAMPLE = 1 << 15  # rows that show where values are
FARTHEST_LEVEL = 900  # of cells that kernels count: their quotients neither overflow nor vanish
FARTHEST_CELL = 1 << 51  # from 0 of a grid: kernels number cells exactly
COMMON = 0.9  # the share of distinct values of a column below which some are common
MARGIN = 1.3  # times the cells that a sample is in: the places of a column
ASIDE = 1 << 20  # values without a place that are counted on the host, at most
TOGETHER = 4  # columns that a block counts beside each other, if there is room
TURNED = 1 << 30  # bytes of columns that are turned at once, otherwise
TILE = 64  # rows and columns of a tile that is turned
PLAIN_LEVEL = 100  # of grids whose cells float32 numbers exactly
PLACES = 2  # times the limit of cells: the places of a table
FEWEST_PLACES = 256
INSIDE = 200 << 10  # bytes of shared memory of a block that counts
BESIDE = 112 << 10  # bytes of which two blocks have room side by side
COUNTERS, ALONE = 512, 1024  # threads of a block that counts columns beside each other, or one
MOST_BLOCKS = 1056
EXACT_GRID, LISTED = 1, 2  # ways that a column is counted, as kernels number them
COLUMN = np.dtype(
    [("inverse", "f8"), ("low", "i8"), ("way", "i4"), ("width", "i4"), ("begin", "i4"), ("end", "i4")]
)  # what a kernel knows of a column


@dataclass(frozen=True)
class Weights:
    """The weights of rows on a device as sums of two integers, high / scale + low / finer, which add up exactly."""

    high: Any
    low: Any
    scale: float
    finer: float

    @classmethod
    def of(cls, given: Labelled) -> Weights | None:
        """Take the weights apart; None where each is 1."""
        weight = given.weight
        if weight is None or bool((weight == 1.0).all()):
            return None
        scale, finer = units(float(weight.max()) or 1.0, len(weight))
        high = np.rint(weight * scale)
        return cls(high.astype(np.int64), np.rint((weight - high / scale) * finer).astype(np.int64), scale, finer)

    def joined(self, high: Any, low: Any) -> Any:
        """Put sums of two integers together."""
        return high.astype(np.float64) / self.scale + low.astype(np.float64) / self.finer


def count_columns(given: Labelled, limit: int | None, exact_moments: bool) -> list[Cells]:
    """Count the values of each column in cells, what `Cells.of_columns` gives for each of them."""
    if limit is None:
        raise InvalidDataError(
            "limit=None keeps all values of a column, and rows on a GPU stay there: give a number, or copy the rows to "
            "the host, such as by cupy.asnumpy"
        )
    rows = given.rows
    assert isinstance(rows, DenseRows), "tables are dense"
    if isinstance(rows, HostRows):
        raise InvalidDataError("Cells of rows on the host are counted there: pass the array itself, not on_gpu(X)")
    weights = Weights.of(given)
    if weights is not None:
        rows.refuse_infinite()
        found = [_sorted(given, j, limit, weights) for j in range(rows.shape[1])]
    else:
        counts = CellCounts.of(given, limit)
        counts.count()
        found = counts.cells()
    wide = [j for j, cells in enumerate(found) if cells.level[0] != FINEST]
    found = [replace(cells, exact_moments=exact_moments) for cells in found]
    if exact_moments and wide:
        some = rows if len(wide) == len(found) else DenseRows(given.device, rows.x[:, wide])
        moments = moments_of(replace(given, rows=some), single=False)
        for i, j in enumerate(wide):
            found[j] = replace(found[j], kept=moments.of_some(np.array([i])))
    return found


# ---- where values are


@dataclass(frozen=True)
class CellCounts:
    """Where the values of rows without weights are counted on a device."""

    given: Labelled
    limit: int
    columns: Any  # what kernels know of each column
    levels: NDArray[np.int64]  # of grids
    values: Array  # of lists
    common: bool  # whether a column has values that come again and again
    known: Any  # columns and values on the device
    listed: Any
    table: Any  # (columns, classes, places)
    many: Any  # values without a place: all, and those of each column
    aside: tuple[Any, Any, Any]  # their columns, classes and values
    status: Any

    @classmethod
    def of(cls, given: Labelled, limit: int) -> CellCounts:
        """Settle how each column is counted, and make room for the counts."""
        xp, (n, d) = given.device.xp, given.rows.shape
        columns, levels, values, common = _places(given, limit, max(PLACES * limit, FEWEST_PLACES))
        places = int(columns["width"].max(initial=0))
        places = max(2, places + places % 2)
        return cls(
            given,
            limit,
            columns,
            levels,
            values,
            common,
            xp.asarray(columns.view(np.uint8)),
            xp.asarray(values if len(values) else np.zeros(1)),
            xp.zeros((d, given.classes, places), np.uint32),
            xp.zeros(1 + d, np.uint64),
            (xp.empty(ASIDE, np.int32), xp.empty(ASIDE, np.int32), xp.empty(ASIDE)),
            fresh_status(given.device, n * d),
        )

    def count(self) -> None:
        """Count all rows by the kernel."""
        given, device, xp, rows = self.given, self.given.device, self.given.device.xp, self.given.rows
        assert isinstance(rows, DenseRows), "tables are dense"
        (n, d), size, (classes, places) = rows.shape, rows.dtype.itemsize, self.table.shape[1:]

        def bytes_of(together: int) -> int:
            return int((together * classes * places + 1) // 2 * 4)

        beside = d % TOGETHER == 0 and bytes_of(TOGETHER) <= min(BESIDE, device.most_shared)
        together = TOGETHER if beside else 1
        inside = bytes_of(together) <= min(INSIDE, device.most_shared)
        grids = (self.columns["way"] == 0) & (self.levels >= -PLAIN_LEVEL) & (self.levels <= 0)
        plain = size == 4 and not self.common and bool((grids & (np.abs(self.columns["low"]) < 1 << 29)).all())
        name = f"{'plain' if plain else 'count'}_cells_f{size * 8}_{together}"
        aligned, groups = beside and rows.is_aligned(together * size), -(-d // together)

        def count(low: int, high: int) -> None:
            x, many = rows.batch(low, high), high - low
            apart = 1
            if not beside:  # a column by itself is read fastest if it is contiguous
                turned = xp.empty((d, many), x.dtype)
                tiles, by_row = (-(-many // TILE), -(-d // TILE)), (x, i8(x.strides[0] // size), i8(many), i4(d))
                device.launch(f"turn_rows_f{size * 8}", tiles, 256, (*by_row, turned), TILE * (TILE + 1) * size)
                x, apart = turned, many
            stride = x.strides[0] // size if beside else 1
            threads = COUNTERS if beside else ALONE
            spans = max(1, min(-(-many // (4 * threads)), -(-MOST_BLOCKS // groups)))
            codes = xp.ascontiguousarray(given.codes[low:high])
            read = (x, i8(stride), i8(apart), i4(aligned), i8(many), i4(d), codes, i4(classes), i8(-(-many // spans)))
            to = (self.table, self.many, i8(ASIDE), *self.aside, i8(low), self.status)
            args = (*read, self.known, self.listed, i4(places), i4(self.common), i4(inside), *to)
            device.launch(name, (spans * groups,), threads, args, bytes_of(together) if inside else 0)

        step = rows.rows_at_once(1)
        halving(device, n, step if beside else min(step, max(1, TURNED // (size * d))), count)

    def cells(self) -> list[Cells]:
        """Make cells of the counts. Columns with too many values that have no place are sorted."""
        given, device, (n, d) = self.given, self.given.device, self.given.rows.shape
        infinite = int(device.to_host(self.status)[0])
        if infinite < n * d:
            given.rows.refuse(infinite)
        counts, left = device.to_host(self.table), device.to_host(self.many).astype(np.int64)
        column, code, value = (device.to_host(each[: min(int(left[0]), ASIDE)]) for each in self.aside)

        def cells_of(j: int) -> Cells | None:
            """Make the cells of a column; None if it must be sorted."""
            how = self.columns[j]
            if left[1 + j] and left[0] > ASIDE:
                return None
            if how["way"] == LISTED:
                points = _listed(self.values[how["begin"] : how["end"]], counts[j])
                found = Cells((points,), np.array([FINEST], np.int32), self.limit)
            else:
                found = _on_grid(how, int(self.levels[j]), counts[j], self.limit)
            if not left[1 + j] and how["way"] != LISTED:
                return found
            own = column == j
            return found + Cells.of(value[own][:, None], code[own], given.classes, None, None, self.limit)

        made = in_threads(cells_of, range(d), counts.size)
        return [_sorted(given, j, self.limit, None) if cells is None else cells for j, cells in enumerate(made)]


def _listed(values: Array, counts: NDArray[np.uint32]) -> Points:
    """Return values with their counts, (classes, places)."""
    codes, place = np.nonzero(counts)
    start = np.searchsorted(codes, np.arange(len(counts) + 1)).astype(np.int64)
    return Points(values[place][:, None] + 0.0, counts[codes, place].astype(np.float64), start)


def _on_grid(how: Any, level: int, counts: NDArray[np.uint32], limit: int) -> Cells:
    """Make cells of counts on a grid, (classes, places), at the least level at which no class has too many."""
    codes, place = np.nonzero(counts)
    weight, cell, coarser = counts[codes, place].astype(np.float64), place + how["low"], 0
    while np.bincount(codes, minlength=1).max(initial=0) > max(limit, 1) and level + coarser < COARSEST:
        coarser += 1
        new = np.ones(len(cell), bool)
        new[1:] = (cell[1:] >> 1 != cell[:-1] >> 1) | (codes[1:] != codes[:-1])
        first = np.flatnonzero(new)
        weight, cell, codes = np.add.reduceat(weight, first), cell[first] >> 1, codes[first]
    start = np.searchsorted(codes, np.arange(len(counts) + 1)).astype(np.int64)
    with np.errstate(over="ignore"):  # the lowest cell may begin beyond float64
        edge = np.maximum(np.ldexp(cell.astype(np.float64), level + coarser), np.finfo(np.float64).min) + 0.0
    points = Points(edge[:, None], weight, start)
    exact = how["way"] == EXACT_GRID and not coarser
    return Cells((points,), np.array([FINEST if exact else level + coarser], np.int32), limit)


def _places(given: Labelled, limit: int, room: int) -> tuple[Any, NDArray[np.int64], Array, bool]:
    """Settle how each column is counted: what kernels know of it, the level of its grid, and all values of lists.

    Last, whether a column has values that come again and again.
    """
    rows = given.rows
    assert isinstance(rows, DenseRows)
    d = rows.shape[1]
    columns, levels = np.zeros(d, COLUMN), np.full(d, FINEST, np.int64)
    columns["way"] = LISTED
    if not rows.shape[0]:
        return columns, levels, np.empty(0), False
    device = given.device
    pooled, own = _samples(given)
    distinct, least = _changes(device, own, own), _least_levels(device, own, limit)
    units_of, (low, high, middle) = _units_of(device, pooled), _spread(device, pooled)
    lists: list[Array] = []
    for j in range(d):
        grid = distinct[j] > limit
        level = int(least[j] if grid else units_of[j])
        if np.isnan(low[j]) or abs(level) > FARTHEST_LEVEL:
            continue
        with np.errstate(over="ignore"):
            first, last, centre = (np.floor(np.ldexp(x, -level)) for x in (low[j], high[j], middle[j]))
        need = last - first + 1.0
        if grid or need <= room:
            width = min(room, int(min(need, room) * MARGIN) + 8)
            begin = first - (width - need) // 2 if need <= room else centre - room // 2
            if abs(begin) < FARTHEST_CELL:
                columns[j] = (2.0**-level, int(begin), 0 if grid else EXACT_GRID, width, 0, 0)
                levels[j] = level
        else:
            values = device.to_host(device.xp.unique(pooled[:, j]))
            values = values[~np.isnan(values)]
            if len(values) <= room:
                at = sum(map(len, lists))
                columns[j] = (1.0, 0, LISTED, len(values), at, at + len(values))
                lists.append(values)
    present = device.to_host((pooled == pooled).sum(axis=0))
    common = bool((_changes(device, pooled, pooled) < COMMON * present).any())
    return columns, levels, np.concatenate([np.empty(0), *lists]), common


def _samples(given: Labelled) -> tuple[Any, Any]:
    """Return sorted columns of rows of all classes, and of the largest class; NaN stands for what is not finite."""
    xp, rows = given.device.xp, given.rows
    assert isinstance(rows, DenseRows)

    def spaced(places: Any) -> Any:
        some = rows.x[places[:: max(1, len(places) // SAMPLE)][:SAMPLE]].astype(np.float64) + 0.0
        return xp.sort(xp.where(xp.isfinite(some), some, np.nan), axis=0)

    largest = int(given.class_weight().argmax())
    return spaced(xp.flatnonzero(given.codes >= 0)), spaced(xp.flatnonzero(given.codes == largest))


def _changes(device: Device, values: Any, of: Any) -> NDArray[np.int64]:
    """Return how many different numbers `of` belong to each sorted column of values."""
    new = (of[1:] != of[:-1]) & (values[1:] == values[1:])
    return device.to_host(new.sum(axis=0) + (values[:1] == values[:1]).sum(axis=0)).astype(np.int64)


def _least_levels(device: Device, own: Any, limit: int) -> NDArray[np.int64]:
    """Return a level of each column that is not above that of sorted columns of a class, mostly that level."""
    low, high = np.full(own.shape[1], FINEST + 1), np.full(own.shape[1], COARSEST)
    while (open_ := low < high).any():
        half = (low + high) // 2
        with np.errstate(all="ignore"):
            cells = np.floor(np.ldexp(own, device.xp.asarray((-half).astype(np.int32))))
        fits = _changes(device, own, cells) <= limit
        low, high = np.where(open_ & ~fits, half + 1, low), np.where(open_ & fits, half, high)
    return low


def _units_of(device: Device, values: Any) -> NDArray[np.int64]:
    """Return the largest e of each column for which all values are multiples of 2^e; 0 if all are 0 or missing."""
    xp = device.xp
    bits = xp.ascontiguousarray(values).view(np.int64)
    exponent, fraction = bits >> 52 & 0x7FF, bits & ((1 << 52) - 1)
    whole = xp.where(exponent > 0, fraction | 1 << 52, fraction)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    unit = xp.where((values == 0) | (values != values), 1 << 20, xp.maximum(exponent, 1) - 1075 + lowest)
    found = device.to_host(unit.min(axis=0)).astype(np.int64)
    return np.where(found == 1 << 20, 0, found)


def _spread(device: Device, values: Any) -> tuple[Array, Array, Array]:
    """Return the least, the largest and the middle number of sorted columns; NaN if there is none."""
    xp = device.xp
    present = (values == values).sum(axis=0)
    columns, last = xp.arange(values.shape[1]), xp.maximum(present - 1, 0)
    low, high, middle = (device.to_host(values[place, columns]) for place in (last * 0, last, last // 2))
    return low, high, middle


# ---- columns that are sorted


def _sorted(given: Labelled, column: int, limit: int, weights: Weights | None) -> Cells:
    """Count the values of one column by sorting them."""
    device, xp, rows = given.device, given.device.xp, given.rows
    assert isinstance(rows, DenseRows)
    x = rows.x[:, column].astype(np.float64) + 0.0
    some = ~xp.isnan(x) & (given.codes >= 0)
    some = xp.flatnonzero(some if weights is None else some & (given.weight > 0))
    codes = given.codes[some]
    order = xp.lexsort(xp.stack([x[some], codes.astype(np.float64)]))
    some = some[order]
    x, codes = x[some], codes[order]
    values, codes, firsts = _firsts(xp, x, codes)
    level = _level(device, values, codes, given.classes, limit)
    if level != FINEST:
        _, codes, merged = _firsts(xp, edges(values, level), codes)
        values, firsts = edges(values, level)[merged], firsts[merged]
    ends = xp.append(firsts[1:], xp.asarray([len(some)]))
    weight = (ends - firsts).astype(np.float64)
    if weights is not None:
        high, low = (_sums_between(xp, each[some], firsts, ends) for each in (weights.high, weights.low))
        weight = weights.joined(high, low)
    start = np.searchsorted(device.to_host(codes), np.arange(given.classes + 1)).astype(np.int64)
    points = Points(device.to_host(values)[:, None], device.to_host(weight), start)
    return Cells((points,), np.array([level], np.int32), limit)


def _firsts(xp: Any, values: Any, codes: Any) -> tuple[Any, Any, Any]:
    """Return sorted values and codes once for each pair, and where each begins."""
    new = xp.ones(len(values), bool)
    new[1:] = (values[1:] != values[:-1]) | (codes[1:] != codes[:-1])
    at = xp.flatnonzero(new)
    return values[at], codes[at], at


def _sums_between(xp: Any, numbers: Any, begin: Any, end: Any) -> Any:
    """Sum integers from each begin to its end."""
    total = xp.zeros(len(numbers) + 1, np.int64)
    total[1:] = xp.cumsum(numbers)
    return total[end] - total[begin]


def _level(device: Device, values: Any, codes: Any, classes: int, limit: int) -> int:
    """Return the least level at which no class has more than `limit` cells."""
    xp = device.xp

    def fits(level: int) -> bool:
        own = codes if level == FINEST else _firsts(xp, edges(values, level), codes)[1]
        return not len(own) or int(xp.bincount(own, minlength=classes).max()) <= limit

    low, high = FINEST, COARSEST
    while low < high:
        half = (low + high) // 2
        low, high = (low, half) if fits(half) else (half + 1, high)
    return low
