"""Arrays that say they lie on a GPU, and a device that is the host: all but the arithmetic of a card can be checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln

from gpu.host_build import HostKernels
from suffice.core.errors import InvalidDataError
from suffice.engines.gpu import HostArray


class DeviceArray:
    """An array of which the host knows no more than DLPack tells."""

    def __init__(self, values: Any, number: int = 0):
        self.values, self.number = np.asarray(values), number
        self.shape, self.dtype = self.values.shape, self.values.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.number

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __len__(self) -> int:
        return len(self.values)


class DeviceCsr:
    """A sparse matrix of which the parts are those of SciPy's."""

    def __init__(self, matrix: Any):
        self.matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype
        self.data, self.indices, self.indptr = matrix.data, matrix.indices, matrix.indptr

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    @property
    def has_canonical_format(self) -> bool:
        return bool(self.matrix.has_canonical_format)

    def tocsr(self) -> DeviceCsr:
        return DeviceCsr(self.matrix.tocsr())

    def copy(self) -> DeviceCsr:
        return DeviceCsr(self.matrix.copy())

    def sum_duplicates(self) -> None:
        self.matrix.sum_duplicates()
        self.__init__(self.matrix)  # type: ignore[misc]


class HostFeed:
    """Rows that are copied to a device; the copies are noted."""

    def __init__(self, x: Any):
        self.x, self.copied = x, 0

    def batch(self, low: int, high: int) -> Any:
        self.copied += high - low
        return self.x[low:high].copy()


class HostDevice:
    """What `engines.gpu.device.Device` is, with NumPy in place of CuPy and the kernels built for the host."""

    xp = np
    most_shared = 227 << 10
    log_gamma = staticmethod(gammaln)

    def __init__(self, folder: Path, number: int = 0, memory: int | None = None):
        self.number, self.memory = number, memory
        self.kernels = HostKernels(folder)
        self.launched: list[str] = []
        self.to_host_bytes = 0

    @contextmanager
    def working_on(self, _: Any) -> Iterator[None]:
        yield

    def own(self, x: Any, what: str) -> Any:
        if x.number != self.number:
            raise InvalidDataError(f"{what} lies on device {x.number}, and X on device {self.number}")
        return x.values

    def given_back(self, array: Any, like: Any) -> Any:
        return array if isinstance(like, HostArray) else DeviceArray(array)

    def feed(self, x: Any) -> Any:
        return HostFeed(x)

    def address(self, array: Any) -> int:
        return int(array.ctypes.data)

    def to_host(self, array: Any) -> Any:
        self.to_host_bytes += np.asarray(array).nbytes
        return np.array(array)

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, MemoryError)

    def launch(self, name: str, grid: tuple[int, ...], threads: int, args: tuple[Any, ...], shared: int = 0) -> None:
        self.launched.append(name)
        self.kernels.launch(name, grid, threads, args, shared)
