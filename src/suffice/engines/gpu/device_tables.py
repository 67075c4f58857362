"""Tables of numeric columns on a device: what blocks sum, the rows of least hash, and counts of pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InvalidDataError, naming_columns
from suffice.core.frames import ColumnProfile, Frame, as_frame
from suffice.core.frames.frame import ArrowType, Column
from suffice.core.frames.profile import ENOUGH
from suffice.core.frames.row_hashes import MISSING
from suffice.core.statistics import Blocks, Cells, Pairs, RowSample, Statistic
from suffice.core.statistics.cells import LIMIT
from suffice.core.statistics.pairs import MISSING as NO_CODE
from suffice.engines.gpu.device import Device
from suffice.engines.gpu.device_cells import Weights, count_columns
from suffice.engines.gpu.matrices import DenseRows, halving
from suffice.engines.gpu.summaries import Labelled, i4, i8, summarize
from suffice.families import Summary
from suffice.families.pair_plan import PairPlan
from suffice.families.product import Block, Product
from suffice.formulas import X

HASHED = 256  # rows that a block hashes
SPARE = 2.0  # times as many hashes as are kept that are looked at first
INSIDE = 96 << 10  # bytes of shared memory in which a block counts a pair
SPAN = 1 << 17  # rows of a block that counts a pair
CODED = 1 << 28  # codes of rows that are held at once
ON_THE_HOST = "copy the rows to the host, such as by cupy.asnumpy"


class DeviceProfile(ColumnProfile):
    """Facts about a column of an array on a device."""

    def __init__(self, values: Any, device: Device):
        self.values, self._frame = values, None
        numbers = np.dtype(values.dtype)
        missing = numbers.kind == "f" and bool(device.xp.isnan(values).all())
        self.kind = "empty" if missing else "bool" if numbers.kind == "b" else "number"

    @property
    def column(self) -> Column:
        """Refuse: the values are on the device."""
        raise InvalidDataError(f"Columns on a GPU are only read as numbers: {ON_THE_HOST}")

    @property
    def type(self) -> ArrowType:
        """The Arrow type."""
        import pyarrow as pa

        return pa.from_numpy_dtype(np.dtype(self.values.dtype))

    @property
    def is_integer(self) -> bool:
        """Whether its type is one of integers."""
        return np.dtype(self.values.dtype).kind in "iu"

    @property
    def is_row_number(self) -> bool:
        """Whether it only numbers the rows: it holds integers that increase by 1 from row to row."""
        steps = self.values[1:] - self.values[:-1] if self.is_integer and len(self.values) >= ENOUGH else None
        return steps is not None and bool((steps == 1).all())


def profiles(rows: DenseRows) -> dict[str, ColumnProfile]:
    """Profile every column of an array on a device."""
    return {name: DeviceProfile(rows.x[:, j], rows.device) for j, name in enumerate(names_of(rows.shape[1]))}


def names_of(columns: int) -> list[str]:
    """Return the names of columns of arrays, as the host has them."""
    return [f"x{j}" for j in range(columns)]


@dataclass(frozen=True)
class TableColumns:
    """The columns of rows on a device, by their place in the array, as blocks read them."""

    device: Device
    place: dict[str, int]

    @classmethod
    def of(cls, device: Device, columns: int) -> TableColumns:
        """Name the columns of an array."""
        return cls(device, {name: j for j, name in enumerate(names_of(columns))})

    def read(self, block: Block, columns: Any) -> Any:
        """Return the float64 numbers that a block reads, NaN where one is missing, of the columns (columns, rows)."""
        xp = self.device.xp
        each = [columns[self.place[name]] for name in block.names]
        if block.missing:
            return xp.isnan(each[0]).astype(np.float64)
        if block.found is None:
            return each[0]
        first, second = each
        with np.errstate(all="ignore"):
            if block.found.operation == "ratio":
                out = xp.where((first > 0) & (second > 0), first / second, np.nan)
            else:
                a, b = (x / scale for x, scale in zip(each, block.found.scales, strict=True))
                out = a - b if block.found.operation == "difference" else a + b
        return xp.where(xp.isfinite(out), out + 0.0, np.nan)

    def numbers(self, x: Any) -> Any:
        """Return rows as contiguous columns of float64, (columns, rows)."""
        return self.device.xp.ascontiguousarray(x.T, dtype=np.float64)

    def whole(self, rows: DenseRows, blocks: Sequence[Block]) -> DenseRows:
        """Return rows of what blocks read, (rows, blocks)."""
        plain = [self.place[block.names[0]] for block in blocks if block.found is None and not block.missing]
        if len(plain) == len(blocks):
            return rows if plain == list(range(rows.shape[1])) else DenseRows(self.device, rows.x[:, plain])
        out = self.device.xp.empty((rows.shape[0], len(blocks)))

        def read(low: int, high: int) -> None:
            columns = self.numbers(rows.batch(low, high))
            for j, block in enumerate(blocks):
                out[low:high, j] = self.read(block, columns)

        halving(self.device, rows.shape[0], max(1, CODED // (8 * rows.shape[1])), read)
        return DenseRows(self.device, out)


def check_blocks(family: Product, columns: int) -> None:
    """Refuse blocks that are not computed on a device, by their names, and those of named columns."""
    known = set(names_of(columns))
    for name in family.columns:
        if name not in known:
            raise InvalidDataError(
                f"The model was trained on a table with a column {name!r}, and columns of arrays on a GPU have no "
                f"names: {ON_THE_HOST}"
            )
    for block in family.blocks:
        if len(block.names) > 1 and block.found is None:
            raise InvalidDataError(
                f"Columns {list(block.names)} share a family, which a GPU does not learn: {ON_THE_HOST}"
            )
        if block.family.reads != "numbers":
            raise InvalidDataError(
                f"Column {block.title!r} is read as {block.family.reads}, and arrays on a GPU hold numbers: "
                f"{ON_THE_HOST}"
            )


def summarize_table(given: Labelled, family: Product) -> Blocks:
    """Summarize what every block of a table sums, the rows that are kept, and what its plan counts."""
    check_blocks(family, given.rows.shape[1])
    parts = _of_blocks(given, family.blocks)
    parts.append(_sample(given, family.most_kept, family.columns))
    if family.plan is not None:
        parts += planned_parts(given, family)
    return Blocks(tuple(parts), given.classes)


def planned_parts(given: Labelled, family: Product) -> list[Statistic]:
    """Summarize found columns and pairs."""
    plan = family.plan
    assert plan is not None, "pairs are counted by a plan"
    return [*_of_blocks(given, family.found), _pairs(given, family, plan)]


def _of_blocks(given: Labelled, blocks: Sequence[Block]) -> list[Statistic]:
    """Summarize each block; those whose values are counted in cells by the same options are counted together."""
    rows = given.rows
    assert isinstance(rows, DenseRows), "tables are dense"
    columns = TableColumns.of(given.device, rows.shape[1])
    found: dict[int, Statistic] = {}
    alike: dict[tuple[Any, ...], list[int]] = {}
    for j, block in enumerate(blocks):
        summary = block.family.summary
        if summary.statistic is Cells and summary.of is X:
            alike.setdefault(tuple(sorted(summary.statistic_options.items())), []).append(j)
            continue
        own = columns.whole(rows, [block])
        with naming_columns(block.names):
            own.refuse_infinite()
            if summary.of is not X and summary.threshold is None:
                own = DenseRows(given.device, _entries(given.device, summary, own))
            found[j] = summarize(
                replace(given, rows=own, kept={}), replace(summary, of=X) if summary.threshold is None else summary
            )
    for options, places in alike.items():
        some = columns.whole(rows, [blocks[j] for j in places])
        known = dict(options)
        limit, exact = known.get("limit", LIMIT), bool(known.get("exact_moments", False))
        with naming_columns([blocks[j].title for j in places]):
            counted = count_columns(replace(given, rows=some, kept={}), limit, exact)
        found.update(zip(places, counted, strict=True))
    return [found[j] for j in range(len(blocks))]


def _entries(device: Device, summary: Summary[Any], own: DenseRows) -> Any:
    """Evaluate the formula of what is summed in the namespace of the device."""
    of = summary.of[0] if isinstance(summary.of, tuple) else summary.of
    x = own.x.astype(np.float64)
    return device.xp.where(device.xp.isnan(x), np.nan, of.at(x, own=device.xp.asarray, log_gamma=device.log_gamma))


# ---- the rows that are kept


def hashes_of(device: Device, rows: DenseRows) -> Any:
    """Return the hash of each row on a device, as the host has it."""
    out, d = device.xp.empty(rows.shape[0], np.uint64), rows.shape[1]

    def some(low: int, high: int) -> None:
        x = rows.batch(low, high)
        args = (x, i8(x.strides[0] // x.itemsize), i8(high - low), i4(d), np.uint64(MISSING), out[low:high])
        device.launch(f"hash_rows_f{x.itemsize * 8}", (-(-(high - low) // HASHED),), HASHED, args)

    halving(device, rows.shape[0], rows.rows_at_once(1), some)
    return out


def _sample(given: Labelled, size: int, names: Sequence[str]) -> RowSample:
    """Keep the rows with the smallest hashes: only these are copied to the host."""
    device, xp, rows = given.device, given.device.xp, given.rows
    assert isinstance(rows, DenseRows), "tables are dense"
    if not size:
        return RowSample.of(frame_of(rows, slice(0, 0)).select(names), np.empty(0, np.int32), given.classes)
    columns = TableColumns.of(device, rows.shape[1])
    hashed = DenseRows(device, rows.x[:, [columns.place[name] for name in names]])
    hashes = hashes_of(device, rows if len(names) == rows.shape[1] else hashed)
    known = given.codes >= 0 if given.weight is None else (given.codes >= 0) & (given.weight > 0)
    some = _least(xp, hashes, known, size)
    order = xp.lexsort(xp.stack([given.codes[some].astype(np.uint64), hashes[some]]))
    some = some[order]
    hashes, codes = hashes[some], given.codes[some]
    other = xp.ones(len(some), bool)
    other[1:] = hashes[1:] != hashes[:-1]
    new = other.copy()
    new[1:] |= codes[1:] != codes[:-1]
    first = xp.flatnonzero(new & (xp.cumsum(other) <= size))
    end = int(xp.searchsorted(xp.cumsum(other), xp.asarray([size]), side="right")[0])
    last = xp.append(first[1:], xp.asarray([end]))[: len(first)]
    weights = Weights.of(given)
    if weights is None:
        heavy = (last - first).astype(np.float64)
    else:
        totals = []
        for part in (weights.high, weights.low):
            total = xp.zeros(len(some) + 1, np.int64)
            total[1:] = xp.cumsum(part[some])
            totals.append(total[last] - total[first])
        heavy = weights.joined(*totals)
    kept = frame_of(rows, some[first]).select(names)
    w = device.to_host(heavy)
    return RowSample.of(kept, device.to_host(codes[first]).astype(np.int32), given.classes, w, None, size)


def _least(xp: Any, hashes: Any, known: Any, size: int) -> Any:
    """Return the rows with the `size` smallest distinct hashes, and some others."""
    share = SPARE * size / max(len(hashes), 1)
    if share < 0.5:
        few = xp.flatnonzero(known & (hashes <= np.uint64(share * 2.0**64)))
        if len(xp.unique(hashes[few])) >= size:
            return few
    found = xp.unique(hashes[known])
    if len(found) > size:
        known = known & (hashes <= found[size - 1])
    return xp.flatnonzero(known)


def frame_of(rows: DenseRows, places: Any) -> Frame:
    """Copy some rows to the host, as a table."""
    return as_frame(np.ascontiguousarray(rows.device.to_host(rows.x[places])))


# ---- pairs of columns


def codes_of(device: Device, plan: PairPlan, parts: Sequence[Any]) -> Any:
    """Return the codes of rows by a plan, (columns, rows), of the columns that blocks read."""
    xp = device.xp
    out = xp.empty((len(plan.columns), len(parts[0])), np.uint8)
    for code, column in zip(out, plan.columns, strict=True):
        x = parts[column.block]
        assert column.edges is not None, "columns of numbers are coded by edges"
        code[:] = xp.where(xp.isnan(x), NO_CODE, xp.searchsorted(xp.asarray(column.edges), x))
    return out


def _pairs(given: Labelled, family: Product, plan: PairPlan) -> Pairs:
    """Count all pairs of columns by the plan."""
    device, xp, rows, classes = given.device, given.device.xp, given.rows, given.classes
    assert isinstance(rows, DenseRows), "tables are dense"
    empty = Pairs.empty(classes, len(plan.columns), plan.sizes, plan.pairs)
    if not plan.pairs.size or not rows.shape[0]:
        return empty
    columns, weights = TableColumns.of(device, rows.shape[1]), Weights.of(given)
    blocks = (*family.blocks, *family.found)
    total = xp.zeros((2, *empty.weight.shape), np.uint64)
    pairs, sizes, offsets = (
        xp.asarray(np.ascontiguousarray(each)) for each in (plan.pairs.astype(np.int32), plan.sizes, empty.offsets)
    )
    largest = int((plan.sizes[plan.pairs[0]] * plan.sizes[plan.pairs[1]]).max())
    shared = 4 * largest * classes
    inside = weights is None and shared <= min(INSIDE, device.most_shared)

    def count(low: int, high: int) -> None:
        numbers = columns.numbers(rows.batch(low, high))
        codes = codes_of(device, plan, [columns.read(block, numbers) for block in blocks])
        n, own = high - low, xp.ascontiguousarray(given.codes[low:high])
        spans = -(-n // SPAN)
        heavy = (None, None) if weights is None else (weights.high[low:high], weights.low[low:high])
        known = (pairs, i4(plan.pairs.shape[1]), sizes, offsets)
        args = (codes, i8(n), own, i4(classes), i8(-(-n // spans)), *known, *heavy, i4(inside), total)
        device.launch("count_pairs", (plan.pairs.shape[1], spans), 512, args, shared if inside else 0)

    halving(device, rows.shape[0], max(SPAN, CODED // max(len(blocks), 1) // SPAN * SPAN), count)
    if weights is None:
        found = total[0].astype(np.float64)
    else:
        found = weights.joined(total[0].view(np.int64), total[1].view(np.int64))
    weight: NDArray[np.float64] = device.to_host(found)
    return replace(empty, weight=weight)
