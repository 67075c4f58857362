"""Statistics of rows on a device: how each is summed there, and made of the sums on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError
from suffice.core.statistics import Counts, Moments, Sample, Scatter, Statistic, Totals
from suffice.core.statistics.counts import refuse_too_many
from suffice.engines.gpu.device import Device
from suffice.engines.gpu.matrices import DenseRows, HostRows, SparseRows, halving, spans
from suffice.families import Summary

SORTED, SUMMERS = 4096, 512  # rows that a block sorts by class at a time, and its threads
BLOCKS = 528  # that share the rows
MOST_PARTS = 1 << 28  # bytes of the sums of all blocks
MOST_SHARED = 220 << 10  # bytes of shared memory that a block may have
CHUNK = 512  # rows that a warp sums
GROUP = 16  # tiles whose sums are added together
MOST_COUNTS = 160 << 10  # bytes in which a block counts classes
LEAST_TILE, MOST_TILE = 1 << 13, 1 << 16  # rows that are sorted by class together
MOST_CLASSES = 4096  # that a block can count
NEAREST = 16  # rows of a class whose mean is its pivot
PRODUCTS = 1 << 27  # entries of the rows of a class that are multiplied together
CROSSED, LEAST_CROSSED, CROSSERS = 256, 129, 256  # columns whose float32 products a block holds, and its threads
CORNERS, DEEP = 40, 32  # of 32 × 32 products that a block holds, and rows that it multiplies at a time
PIECE = 2048  # rows of a class that a block takes
MOST_PIECES = 1 << 22  # rows whose pieces are multiplied together
FINEST_SINGLE, LARGEST_SINGLE = 1e-20, 1e30  # variances whose products float32 holds
LOST_DIGITS = 100.0  # times the variance that the square of the mean about a pivot may be
TOO_SMALL = 1e-24  # the variance below which squares of float32 vanish

i4, i8, f8 = np.int32, np.int64, np.float64
Rows: TypeAlias = DenseRows | SparseRows


@dataclass(frozen=True)
class Labelled:
    """Rows on a device with the codes of their classes, −1 for rows that are left out, and their weights."""

    device: Device
    rows: Rows
    codes: Any
    classes: int
    weight: Any = None
    refuse: Callable[[], None] = field(
        default=lambda: None, compare=False
    )  # raise the error of an entry that is refused
    kept: dict[tuple[int, ...], tuple[Any, Any]] = field(
        default_factory=dict, compare=False
    )  # the last that was sorted

    def class_weight(self) -> Array:
        """Sum the weights of the rows of each class."""
        device, xp = self.device, self.device.xp
        if self.weight is not None:
            alone = DenseRows(device, self.weight[:, None])
            found: Array = device.to_host(_sums(replace(self, weight=None), alone, xp.zeros((self.classes, 1))))
            return found[:, 1, 0]
        out, shared = xp.zeros(self.classes, np.uint64), 4 * self.classes
        inside = shared <= min(MOST_COUNTS, device.most_shared)
        args = (xp.ascontiguousarray(self.codes), i8(len(self.codes)), i4(self.classes), i4(inside), out)
        blocks = max(1, min(-(-len(self.codes) // 1024), 264))
        device.launch("count_classes", (blocks,), 1024, args, shared if inside else 0)
        return device.to_host(out).astype(np.float64)

    def sorted(self, low: int, high: int, tile: int, first: int, classes: int) -> tuple[Any, Any]:
        """Return the rows of each tile in the order of their classes, and where each class starts in it."""
        place = (low, high, tile, first)
        if place not in self.kept:
            self.kept.clear()
            self.kept[place] = sorted_rows(self.device, self.codes[low:high], tile, first, classes)
        return self.kept[place]


def summarize(given: Labelled, summary: Summary[Any]) -> Statistic:
    """Compute a statistic of a formula of the entries; None of it but the sums leaves the device."""
    way = WAYS.get(summary.statistic)
    if way is None or summary.joint or isinstance(summary.of, tuple):
        raise InvalidDataError(
            f"{summary.statistic.__name__} is not summed on a GPU: copy the rows to the host, such as by cupy.asnumpy"
        )
    return way(given, summary)


# ---- sums by class


def tile_of(classes: int) -> int:
    """Return how many rows are sorted by class together: enough for a chunk of each class, as far as it goes."""
    wanted = CHUNK << max(classes - 1, 1).bit_length()
    return min(max(wanted, LEAST_TILE), MOST_TILE)


def _sums(
    given: Labelled,
    rows: DenseRows,
    pivot: Any,
    threshold: float | None = None,
    single: bool = False,
) -> Any:
    """Return Σ w, Σ w (x − pivot) and Σ w (x − pivot)² over observed entries, (classes, 3, columns), on the device.

    The pivots are on the device, too, and numbers of the rows' type. With `single`, differences from them and sums of
    eight of them are float32.
    """
    device, d = given.device, rows.shape[1]
    total = device.xp.zeros((given.classes, 3, d))
    kind = "weigh" if given.weight is not None else "few" if single else "sum"
    limit = (i4(threshold is not None), f8(0.0 if threshold is None else threshold))
    pack = 2 if kind != "weigh" and d % 2 == 0 and d > 8 and rows.is_aligned(2 * rows.dtype.itemsize) else 1
    lanes = 8 if d <= 8 else 32
    shared = _shared_of_block(given.classes, pack * lanes, lanes, rows.dtype.itemsize)
    if shared <= min(MOST_SHARED, device.most_shared):
        name = f"{kind}_f{rows.dtype.itemsize * 8}_{pack}_{lanes}"
        _sums_of_blocks(given, rows, pivot, limit, (name, pack * lanes, shared), total)
    else:
        for first in range(0, given.classes, MOST_CLASSES):
            few = slice(first, first + MOST_CLASSES)
            _sums_of_classes(given, rows, pivot[few], first, limit, kind, total[few])
    return total


def _shared_of_block(classes: int, wide: int, lanes: int, size: int) -> int:
    """Return the bytes of shared memory that the sums of all classes take, and what else a block holds there."""
    walkers, warps = SUMMERS // lanes, SUMMERS // 32
    sums = 8 * (classes + walkers) * (3 * wide + 1) + 8
    return sums + classes * wide * size + 4 * (classes * warps + 1 + warps + walkers) + 2 * SORTED


def _sums_of_blocks(
    given: Labelled, rows: DenseRows, pivot: Any, limit: tuple[Any, ...], kernel: tuple[str, int, int], total: Any
) -> None:
    """Add sums of all classes, which each block keeps in shared memory, to `total`."""
    device, xp, (n, d) = given.device, given.device.xp, rows.shape
    name, wide, shared = kernel
    blocks = max(1, min(BLOCKS, MOST_PARTS // (8 * max(total.size, 1))))
    span = max(SORTED, -(-n // blocks // 32) * 32)
    parts = xp.empty((-(-n // span), *total.shape))
    codes = xp.ascontiguousarray(given.codes)

    def add(low: int, high: int) -> None:
        x = rows.batch(low, high)
        w = None if given.weight is None else given.weight[low:high]
        read = (x, i8(x.strides[0] // x.itemsize), i8(high - low), i4(d), codes[low:high], i8(span), i4(0))
        out = parts[low // span :]
        some = (*read, i4(given.classes), w, pivot, *limit, out)
        device.launch(name, (-(-(high - low) // span), -(-d // wide)), SUMMERS, some, shared)

    halving(device, n, rows.rows_at_once(span), add, least=span)
    cells = (parts, i4(len(parts)), i8(total.size), total)
    device.launch("add_blocks", (-(-total.size // 32),), 1024, cells, 8 * 1024)


def _sums_of_classes(
    given: Labelled, rows: DenseRows, pivot: Any, first: int, limit: tuple[Any, ...], kind: str, total: Any
) -> None:
    """Add sums of some of many classes to `total`: rows are sorted by class first."""
    device, xp = given.device, given.device.xp
    (n, d), classes = rows.shape, len(pivot)
    tile = tile_of(classes)

    def add(low: int, high: int) -> None:
        x = rows.batch(low, high)
        order, starts = given.sorted(low, high, tile, first, classes)
        tiles, per_tile = len(starts), tile // CHUNK
        parts = xp.empty((tiles * (per_tile + classes), 3, d))
        w = None if given.weight is None else given.weight[low:high]
        most = 4 if kind == "few" else 2 if kind == "sum" and x.itemsize == 8 else 1
        pack = most if d % most == 0 and rows.is_aligned(16) else 1
        sizes = (i4(tile), i4(CHUNK), i4(classes))
        read = (x, i8(x.strides[0] // x.itemsize), i4(d), order, starts)
        device.launch(
            f"{kind}_f{x.itemsize * 8}_{pack}",
            (-(-tiles * per_tile // 4), -(-d // (32 * pack))),
            128,
            (*read, *sizes, i8(tiles * per_tile), w, pivot, *limit, parts),
        )
        groups = -(-tiles // GROUP)
        added = xp.empty((groups, classes, 3, d))
        some = (parts, starts, i4(tiles), i4(tile), i4(CHUNK), i4(classes), i4(d), i4(GROUP), added)
        device.launch("add_pieces", (groups, classes), min(1024, -(-3 * d // 32) * 32), some)
        device.launch("add_groups", (-(-total.size // 64),), 64, (added, i4(groups), i8(total.size), total))

    halving(device, n, rows.rows_at_once(tile * GROUP), add, least=tile)


def sorted_rows(device: Device, codes: Any, tile: int, first: int, classes: int) -> tuple[Any, Any]:
    """Return the rows of each tile in the order of their classes, and where each class starts in it."""
    xp, n = device.xp, len(codes)
    tiles = -(-n // tile)
    order, starts = xp.empty(n, np.int32), xp.empty((tiles, classes + 1), np.int32)
    room = min(MOST_COUNTS, device.most_shared) // (4 * (classes + 1))
    warps = 32 if room >= 32 else 8 if room >= 8 else 2
    shared = (classes + 1) * warps * 4
    sizes = (i8(n), i4(tile), i4(first), i4(classes))
    device.launch("order_rows", (tiles,), 32 * warps, (xp.ascontiguousarray(codes), *sizes, order, starts), shared)
    return order, starts


def _pivots(given: Labelled, rows: DenseRows) -> Any:
    """Return the mean of the first rows of each class, near which the others lie, (classes, columns) on the device."""
    device, xp, (n, d) = given.device, given.device.xp, rows.shape
    out = xp.empty((given.classes, d))
    look = min(n, max(LEAST_TILE, NEAREST * given.classes), MOST_TILE)
    x, codes = rows.batch(0, look), xp.ascontiguousarray(given.codes[:look])
    args = (x, i8(x.strides[0] // x.itemsize), i4(d), codes, i4(look), out)
    device.launch(f"near_means_f{x.itemsize * 8}", (given.classes,), 32, args, 4 * NEAREST)
    return out


# ---- Moments


def _moments(given: Labelled, summary: Summary[Any]) -> Moments:
    return moments_of(replace(given, rows=_dense(given, summary)))


def moments_of(given: Labelled, single: bool = True) -> Moments:
    """Compute the moments of dense rows; with `single`, those of float32 without weights are summed in it by eight."""
    rows = given.rows
    assert isinstance(rows, DenseRows), "the moments are of dense rows"
    device, near = given.device, _pivots(given, rows)
    single = single and rows.dtype == np.float32 and given.weight is None
    found, (no_number, vanished, far) = _centred(given, rows, near, single)
    if single and (no_number is not None or vanished is not None):
        single = False
        found, (no_number, vanished, far) = _centred(given, rows, near, single)
    if no_number is not None:
        rows.refuse_infinite()
        raise _too_large(no_number % rows.shape[1])
    if far is not None:  # the pivot was far from the class
        near = device.xp.asarray(found[1].astype(rows.dtype).astype(np.float64))
        found, _ = _centred(given, rows, near, single)
    return Moments(*found)


def _too_large(column: int) -> InvalidDataError:
    return InvalidDataError(
        f"Column {column!r} holds a value too large for float64: its square overflows; rescale the column"
    )


def _centred(given: Labelled, rows: DenseRows, pivot: Any, single: bool) -> tuple[Array, list[int | None]]:
    """Return weight, mean and centred squares, and the first of them that are no numbers, too small, or far away."""
    device, xp, cells = given.device, given.device.xp, pivot.size
    sums, out = _sums(given, rows, pivot, single=single), xp.empty((3, *pivot.shape))
    status = xp.full(3, cells, np.uint64)
    sizes = (i4(len(pivot)), i4(rows.shape[1]), f8(TOO_SMALL), f8(LOST_DIGITS))
    device.launch("finish_moments", (-(-cells // 128),), 128, (sums, pivot, *sizes, out, status))
    first = [None if at == cells else at for at in device.to_host(status).tolist()]
    found: Array = device.to_host(out)
    return found, first


def _dense(given: Labelled, summary: Summary[Any]) -> DenseRows:
    """Return the entries that are summarized, in the array's own namespace."""
    if isinstance(given.rows, SparseRows):
        raise InvalidDataError(f"{summary.statistic.__name__} is of dense rows, found a sparse matrix")
    return given.rows


# ---- Totals


def _totals(given: Labelled, summary: Summary[Any]) -> Totals:
    threshold = summary.threshold
    if isinstance(given.rows, SparseRows):
        seen, total = _sparse_totals(given, given.rows, threshold)
        return Totals(seen, total).trimmed().rounded()
    rows, zero = given.rows, given.device.xp.zeros((given.classes, given.rows.shape[1]))
    if threshold is not None:
        rows.refuse_infinite()
    found: Array = given.device.to_host(_sums(given, rows, zero, threshold))
    if threshold is None:
        if not np.isfinite(found[:, 1]).all():
            rows.refuse_infinite()
            column = int(np.argwhere(~np.isfinite(found[:, 1]))[0, 1])
            raise InvalidDataError(f"Column {column} holds values so large that their sum overflows")
        rows.refuse_where(lambda x: x < 0)
    weight, total = np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])
    return Totals(weight, total).trimmed().rounded()


def _sparse_totals(given: Labelled, x: SparseRows, threshold: float | None) -> tuple[Array, Array]:
    """Return the observed weight and the totals of a sparse matrix, which are summed as integers."""
    device, xp, (n, d) = given.device, given.device.xp, x.shape
    rows = given.class_weight()
    largest = 1.0 if threshold is not None or not x.data.size else float(x.data.max())
    if np.isnan(largest):  # then the weights of missing entries are summed in the same units
        largest = max(1.0, float(xp.nan_to_num(x.data, nan=0.0).max()))
    if not 0 < largest < np.inf:
        largest = 1.0  # there is nothing to sum, or the kernel says where the entry is that it refuses
    heaviest = 1.0 if given.weight is None or not n else float(given.weight.max())
    scale, finer = units(largest * (heaviest or 1.0), n)
    sums = xp.zeros((4, given.classes, d), np.uint64)
    status = fresh_status(device, n * d)
    limit = (i4(threshold is not None), f8(0.0 if threshold is None else threshold))
    stored, sizes = (x.data, x.indices, x.starts), (i8(n), i4(d), i4(given.classes))
    device.launch(
        f"sparse_totals_{x.suffix()}",
        (max(1, min(-(-n // 8), 1 << 18)),),
        256,
        (*stored, *sizes, given.codes, given.weight, *limit, f8(scale), f8(finer), sums[0], sums[1], sums[2:], status),
    )
    infinite, gaps, odd = device.to_host(status).tolist()
    if odd < n:
        raise InvalidDataError("The sparse matrix is malformed: it stores a column index outside its shape")
    if infinite < n * d:
        given.refuse()
        x.refuse(infinite)

    def joined(first: int) -> Array:
        """Put two integers together."""
        high, low = (sums[k].view(np.int64).astype(np.float64) for k in (first, first + 1))
        found: Array = device.to_host(high / scale + low / finer)
        return found

    seen = rows[:, None] - joined(2) if gaps else rows[:, None]
    return np.ascontiguousarray(seen), joined(0)


def units(largest: float, rows: int) -> tuple[float, float]:
    """Return units of two integers whose sums over rows stay below 2⁶²."""
    room = 61 - int(np.ceil(np.log2(max(rows, 2))))
    scale = 2.0 ** min(room - int(np.ceil(np.log2(largest))), 900)  # finer units must be finite, too
    return scale, scale * 2.0**room


def fresh_status(device: Device, none: int) -> Any:
    """Return what a kernel reports to: the first refused entry, how many rows are lost, the first odd row."""
    return device.xp.asarray(np.array([none, 0, none], np.uint64))


# ---- Counts


def category_indices(
    device: Device, rows: DenseRows, offsets: NDArray[np.int64], unseen: Any, missing: int
) -> SparseRows:
    """Return a sparse matrix of ones, one for each observed category: of column j at offsets[j] + its number.

    A category beyond those of its column is at `unseen[j]`, and a missing entry at `missing`.
    """
    xp, (n, d) = device.xp, rows.shape
    whole = np.dtype(rows.x.dtype).kind != "f"
    gone = xp.zeros(rows.shape, bool) if whole else xp.isnan(rows.x)
    number = xp.where(gone, 0, rows.x).astype(np.int64)
    start, size = xp.asarray(offsets[:-1].astype(np.int64)), xp.asarray(np.diff(offsets).astype(np.int64))
    place = xp.where(number < size, start + number, xp.asarray(unseen))
    place = xp.where(gone, missing, place).astype(np.int32)
    ones = xp.ones(n * d, np.float32)
    return SparseRows(device, ones, place.ravel(), xp.arange(n + 1, dtype=np.int32) * d, (n, missing + 1))


def refuse_categories(rows: DenseRows) -> None:
    """Refuse infinite and negative numbers of categories."""
    rows.refuse_infinite()
    rows.refuse_where(lambda x: x <= -1)


def _counts(given: Labelled, summary: Summary[Any]) -> Counts:
    device, xp, rows = given.device, given.device.xp, _dense(given, summary)
    if isinstance(rows, HostRows):
        raise InvalidDataError("Categories of rows on the host are counted there: pass the array itself, not on_gpu(X)")
    refuse_categories(rows)
    codes, weight = given.codes, given.weight
    if weight is not None and not bool((weight > 0).all()):  # rows of weight 0 are absent, and so are their categories
        kept = xp.flatnonzero(weight > 0)
        rows, codes, weight = DenseRows(device, rows.x[kept]), codes[kept], weight[kept]
    n, d = rows.shape
    high = xp.full(d, -1.0) if not n else xp.nan_to_num(xp.where(codes[:, None] < 0, -1, rows.x), nan=-1.0).max(axis=0)
    sizes = np.minimum(device.to_host(high), 2.0**53).astype(np.int64) + 1
    refuse_too_many(sizes, given.classes)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    total = np.zeros((given.classes, int(offsets[-1])))
    step = max(1, (1 << 26) // max(d, 1))

    def count(low: int, high: int) -> None:
        part = DenseRows(device, rows.x[low:high])
        ones = category_indices(device, part, offsets, xp.zeros(d, np.int64), int(offsets[-1]))
        w = None if weight is None else weight[low:high]
        _, found = _sparse_totals(Labelled(device, ones, codes[low:high], given.classes, w), ones, None)
        nonlocal total
        total = total + found[:, :-1]

    halving(device, n, step, count)
    return Counts(sizes, None, total).trimmed().rounded()


# ---- Scatter


def _scatter(given: Labelled, summary: Summary[Any]) -> Scatter:
    if summary.options.get("fourth"):
        raise InvalidDataError(
            "Shrinkage by Ledoit and Wolf needs products of squares, which are not summed on a GPU: give a number as "
            "shrinkage, or copy the rows to the host"
        )
    device, xp, rows = given.device, given.device.xp, _dense(given, summary)
    d, classes = rows.shape[1], given.classes
    moments = _moments(given, summary)
    whole = bool((moments.weight == given.class_weight()[:, None]).all())  # no entry is missing
    gaps: list[Any] = []
    weight, mean = np.ascontiguousarray(moments.weight[:, 0]), moments.mean  # unless an entry is missing
    cross = _single_products(given, rows, moments) if whole else None
    if cross is None:
        sums = _double_products(given, rows, mean, gaps, whole)
        cross = xp.stack([q0[:d, :d] for _, _, q0 in sums])
    if not whole:
        weight = device.to_host(xp.stack([n0 for n0, _, _ in sums]))
        step = device.to_host(xp.stack([s0[:d] for _, s0, _ in sums]))
        off = np.divide(step, weight[:, None], out=np.zeros_like(step), where=weight[:, None] > 0)
        cross = cross - xp.asarray(off)[:, :, None] * xp.asarray(step)[:, None, :]
        mean = np.where(weight[:, None] > 0, mean + off, 0.0)
    cross = 0.5 * (cross + cross.transpose(0, 2, 1))
    places = xp.arange(d)
    cross[:, places, places] = xp.maximum(cross[:, places, places], 0.0)
    odd = device.to_host(~xp.isfinite(cross[:, places, places]))
    if odd.any():
        raise _too_large(int(np.argwhere(odd)[0, 1]))
    return Scatter(
        weight, mean, device.to_host(cross), _incomplete(gaps, classes, d, summary, given.weight is not None)
    )


def _single_products(given: Labelled, rows: DenseRows, moments: Moments) -> Any:
    """Return cross-products of whole float32 rows about their means, (classes, columns, columns), on the device.

    Products are those of float32; sums over the rows of a piece are float32, and over pieces float64. None if there are
    weights, too few rows or columns for it to be worthwhile, or numbers whose products float32 does not hold.
    """
    device, xp, (n, d), classes = given.device, given.device.xp, rows.shape, given.classes
    variance = np.where(moments.squares > 0, moments.variance, 1.0)
    fits = given.weight is None and rows.dtype == np.float32 and LEAST_CROSSED <= d <= CROSSED
    fits = fits and n >= PIECE * classes and variance.min() > FINEST_SINGLE and variance.max() < LARGEST_SINGLE
    if not fits:
        return None
    centre = moments.mean.astype(np.float32)
    about, out = xp.asarray(centre), xp.zeros((classes, d, d))
    shared = 2 * DEEP * 4 * CROSSED + 2 * 3 * DEEP * 2 * (CROSSED + 8) + 4 * CROSSED + 4 * PIECE
    if shared > device.most_shared:
        return None

    def add(low: int, high: int) -> None:
        x = rows.batch(low, high)
        order, starts = given.sorted(low, high, MOST_TILE, 0, classes)
        pieces, first = _pieces_of_tiles(device.to_host(starts))
        parts = xp.empty((len(pieces), CORNERS, 32, 32), np.float32)
        read = (x, i8(x.strides[0] // x.itemsize), i4(rows.is_aligned(16)), i4(d), order, xp.asarray(pieces), about)
        device.launch("cross_rows", (len(pieces),), CROSSERS, (*read, parts), shared)
        device.launch("add_crossed", (CORNERS * 4, classes), 256, (parts, xp.asarray(first), i4(d), out))

    halving(device, n, rows.rows_at_once(MOST_TILE, MOST_PIECES), add, least=MOST_TILE)
    off = xp.asarray(moments.mean - centre)
    out -= xp.asarray(moments.weight[:, :1, None]) * off[:, :, None] * off[:, None, :]
    return out if bool(xp.isfinite(out).all()) else None


def _pieces_of_tiles(starts: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Cut the rows of each class, sorted within tiles, into pieces: (class, first place, rows), class by class.

    Also return which piece is the first of each class.
    """
    tiles, classes = len(starts), starts.shape[1] - 1
    begin = (starts[:, :-1] + MOST_TILE * np.arange(tiles)[:, None]).T.ravel()
    rows = np.diff(starts, axis=1).T.ravel()
    parts = -(-rows // PIECE)
    each = -(-rows // np.maximum(parts, 1))
    whole = np.repeat(np.arange(len(rows)), parts)
    at = (np.arange(len(whole)) - np.repeat(np.cumsum(parts) - parts, parts)) * each[whole]
    pieces = np.stack([whole // tiles, begin[whole] + at, np.minimum(each[whole], rows[whole] - at)], axis=1)
    first = np.searchsorted(pieces[:, 0], np.arange(classes + 1))
    return np.ascontiguousarray(pieces, np.int32), first.astype(np.int32)


def _double_products(
    given: Labelled, rows: DenseRows, pivot: Array, gaps: list[Any], whole: bool
) -> list[tuple[Any, Any, Any]]:
    """Sum weights, differences from the pivot and their products in float64, by cuBLAS, for each class.

    Rows with missing entries, if not all are `whole`, are added to `gaps`.
    """
    device, xp, (n, d), classes = given.device, given.device.xp, rows.shape, given.classes
    wide = -(-d // 8) * 8
    about = xp.asarray(pivot)
    sums = [(xp.zeros(()), xp.zeros(wide), xp.zeros((wide, wide))) for _ in range(classes)]
    pieces = max(1, PRODUCTS // wide)

    def add(low: int, high: int) -> None:
        x, found, missed = rows.batch(low, high), list(sums), []
        w = None if given.weight is None else given.weight[low:high]
        order = xp.argsort(given.codes[low:high], kind="stable").astype(np.int32)
        bounds = device.to_host(xp.searchsorted(given.codes[low:high][order], xp.arange(classes + 1)))
        for c, begin, end in _pieces(bounds, pieces):
            own = order[begin:end]
            z, root = xp.empty((len(own), wide)), xp.empty(len(own))
            sizes = (i8(x.strides[0] // x.itemsize), i4(d))
            args = (x, *sizes, own, i4(len(own)), w, about[c], z, i4(wide), root)
            device.launch(f"centre_f{x.itemsize * 8}", (-(-len(own) // 8),), 256, args)
            n0, s0, q0 = found[c]
            if not whole:
                incomplete = root < 0
                there = own[incomplete]
                heavy = np.ones(len(there)) if w is None else device.to_host(w[there])
                missed.append((device.to_host(x[there]).astype(np.float64), c, heavy, device.to_host(there) + low))
                root = xp.where(incomplete, 0.0, root)
                n0, s0 = n0 + root @ root, s0 + root @ z
            found[c] = (n0, s0, q0 + z.T @ z)
        sums[:] = found  # at the end: a batch that finds no memory is halved, and begins again
        gaps.extend(missed)

    halving(device, n, rows.rows_at_once(1, max(1 << 16, (1 << 31) // max(d, 1))), add)
    return sums


def _pieces(bounds: NDArray[np.int64], most: int) -> Iterator[tuple[int, int, int]]:
    """Cut the rows of each class, sorted by class, into pieces: the class, and the places from which to which."""
    for c in range(len(bounds) - 1):
        begin, end = int(bounds[c]), int(bounds[c + 1])
        parts = -(-(end - begin) // most)
        for low, high in spans(end - begin, -(-(end - begin) // max(parts, 1))) if parts else ():
            yield c, begin + low, begin + high


def _incomplete(gaps: list[Any], classes: int, d: int, summary: Summary[Any], weighted: bool) -> Sample:
    """Return the rows with missing entries, which a scatter keeps unless it is of complete rows."""
    if not gaps or summary.options.get("complete"):
        return Sample.empty(classes, d, joint=True)
    order = np.argsort(np.concatenate([at for *_, at in gaps]), kind="stable")
    x = np.concatenate([rows for rows, *_ in gaps])[order]
    codes = np.concatenate([np.full(len(rows), c, np.int32) for rows, c, *_ in gaps])[order]
    w = np.concatenate([heavy for _, _, heavy, _ in gaps])[order]
    return Sample.of(x, codes, classes, w if weighted else None, joint=True)


WAYS: dict[type[Statistic], Callable[[Labelled, Summary[Any]], Statistic]] = {
    Moments: _moments,
    Totals: _totals,
    Counts: _counts,
    Scatter: _scatter,
}
