"""Rows on a device, dense or sparse, as kernels read them: in batches of contiguous rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.arrays import refuse_at
from suffice.engines.gpu.device import Device

BATCH_BYTES = 1 << 30  # of rows that must be converted before a kernel reads them
MOST_ROWS = 1 << 28  # of a batch: their numbers are 32-bit integers
FEED_BYTES = 1 << 26  # of rows that are copied from the host at a time
LEAST_ROWS = 1 << 10  # of a batch: a device without memory for so few is full


@dataclass(frozen=True)
class Refused:
    """What an error says of a matrix that holds a refused entry: as much of it as is copied to the host."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    entry: Any

    def __getitem__(self, place: tuple[int, int]) -> Any:
        return self.entry


@dataclass(frozen=True)
class DenseRows:
    """A matrix on a device, of any layout and of any type of numbers."""

    device: Device
    x: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.x.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float32 or float64: the type that kernels read."""
        kind = np.dtype(self.x.dtype)
        single = kind in (np.float32, np.float16)
        return np.dtype(np.float32 if single else np.float64)

    @property
    def is_plain(self) -> bool:
        """Whether kernels can read the rows where they are."""
        x, size = self.x, self.dtype.itemsize
        in_rows = x.shape[1] == 1 or x.strides[1] == size
        return np.dtype(x.dtype) == self.dtype and in_rows and x.strides[0] >= 0 and x.strides[0] % size == 0

    def batch(self, low: int, high: int) -> Any:
        """Return rows that kernels can read: contiguous ones of float32 or float64."""
        part = self.x[low:high]
        return part if self.is_plain else self.device.xp.ascontiguousarray(part, dtype=self.dtype)

    def is_aligned(self, size: int) -> bool:
        """Return whether kernels can read `size` bytes at once wherever so many begin in a row of a batch."""
        if not self.is_plain:  # batches are copies, row by row
            return self.shape[1] * self.dtype.itemsize % size == 0
        return self.device.address(self.x) % size == 0 and self.x.strides[0] % size == 0

    def part(self, low: int, high: int) -> Any:
        """Return rows on the device, of whatever type."""
        return self.x[low:high]

    def rows_at_once(self, multiple: int, most: int = MOST_ROWS) -> int:
        """Return how many rows a batch may have: a multiple, so that batches do not change the sums."""
        if not self.is_plain:
            most = min(most, BATCH_BYTES // (self.dtype.itemsize * max(self.shape[1], 1)))
        return max(multiple, most // multiple * multiple)

    def refuse(self, position: int) -> None:
        """Raise the error of a refused entry at row * columns + column."""
        entry = self.device.to_host(self.x[divmod(position, self.shape[1])]).astype(self.dtype)[()]
        refuse_at(position, Refused(self.shape, self.dtype, entry))  # type: ignore[arg-type]  # a matrix to read from

    def place(self, at: int) -> int:
        """Return row * columns + column of entry `at`."""
        return at

    def refuse_where(self, outside: Callable[[Any], Any]) -> None:
        """Raise the error of the first entry that `outside` says is refused, if there is one."""
        for low, high in spans(self.shape[0], self.rows_at_once(1, max(1, BATCH_BYTES // (8 * self.shape[1])))):
            refused = outside(self.part(low, high))
            if bool(refused.any()):
                self.refuse(low * self.shape[1] + int(refused.ravel().argmax()))

    def refuse_infinite(self) -> None:
        """Raise the error of the first infinite entry, if there is one."""
        if np.dtype(self.x.dtype).kind == "f":
            self.refuse_where(self.device.xp.isinf)

    def take_to_host(self, rows: Any) -> Any:
        """Copy some rows to the host."""
        return self.device.to_host(self.x[rows]).astype(self.dtype, copy=False)


@dataclass(frozen=True)
class HostRows(DenseRows):
    """A matrix on the host, of which a device reads one batch after the other."""

    feed: Any = None

    @property
    def is_plain(self) -> bool:
        """Whether kernels can read the rows where they are: never."""
        return False

    def part(self, low: int, high: int) -> Any:
        """Copy rows to the device."""
        return self.feed.batch(low, high)

    def batch(self, low: int, high: int) -> Any:
        """Return rows that kernels can read: contiguous ones of float32 or float64."""
        return self.part(low, high).astype(self.dtype, copy=False)

    def rows_at_once(self, multiple: int, most: int = MOST_ROWS) -> int:
        """Return how many rows a batch may have: a multiple, so that batches do not change the sums."""
        most = min(most, FEED_BYTES // (self.dtype.itemsize * max(self.shape[1], 1)))
        return max(multiple, most // multiple * multiple)

    def refuse(self, position: int) -> None:
        """Raise the error of a refused entry at row * columns + column."""
        refuse_at(position, self.x.astype(self.dtype, copy=False))

    def take_to_host(self, rows: Any) -> Any:
        """Return some rows."""
        places = rows if isinstance(rows, slice) else self.device.to_host(rows)
        return self.x[places].astype(self.dtype, copy=False)


@dataclass(frozen=True)
class SparseRows:
    """A CSR matrix of CuPy, or its parts."""

    device: Device
    data: Any
    indices: Any
    starts: Any
    shape: tuple[int, int]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float32 or float64."""
        return np.dtype(self.data.dtype)

    def suffix(self) -> str:
        """The types of entries and of positions, as the names of kernels have them."""
        return f"f{self.dtype.itemsize * 8}_i{np.dtype(self.indices.dtype).itemsize * 8}"

    def place(self, at: int) -> int:
        """Return row * columns + column of stored entry `at`."""
        row = int(self.device.xp.searchsorted(self.starts, self.device.xp.asarray([at]), side="right")[0]) - 1
        return row * self.shape[1] + int(self.indices[at])

    def piece(self, low: int, high: int) -> SparseRows:
        """Return rows that follow each other."""
        ends = self.device.to_host(self.starts[[low, high]])
        own, starts = slice(int(ends[0]), int(ends[1])), self.starts[low : high + 1]
        return SparseRows(self.device, self.data[own], self.indices[own], starts, (high - low, self.shape[1]))

    def refuse(self, position: int) -> None:
        """Raise the error of a refused entry at row * columns + column."""
        row, column = divmod(position, self.shape[1])
        ends = self.device.to_host(self.starts[row : row + 2])
        own = slice(int(ends[0]), int(ends[1]))
        places, values = (self.device.to_host(part[own]) for part in (self.indices, self.data))
        odd = ~np.isfinite(values) & ~np.isnan(values) | (values < 0)
        entry = values[(places == column) & odd][0]
        refuse_at(position, Refused(self.shape, self.dtype, entry))  # type: ignore[arg-type]  # a matrix to read from

    def take_to_host(self, rows: slice) -> Any:
        """Copy rows that follow each other to the host."""
        from scipy.sparse import csr_array

        low, high, _ = rows.indices(self.shape[0])
        starts = self.device.to_host(self.starts[low : high + 1])
        own = slice(int(starts[0]), int(starts[-1]))
        parts = self.device.to_host(self.data[own]), self.device.to_host(self.indices[own]), starts - starts[0]
        return csr_array(parts, shape=(high - low, self.shape[1]))


def spans(rows: int, step: int) -> Iterator[tuple[int, int]]:
    """Cut rows into batches."""
    for low in range(0, rows, step):
        yield low, min(rows, low + step)


def halving(device: Device, rows: int, step: int, work: Callable[[int, int], None], least: int = LEAST_ROWS) -> None:
    """Work on batches of rows; if the device has no memory left, halve the batch and go on."""
    low = 0
    while low < rows:
        high = min(rows, low + step)
        try:
            work(low, high)
        except Exception as error:
            if step <= least or not device.is_out_of_memory(error):
                raise
            step = max(least, step // 2 // least * least)
            continue
        low = high
