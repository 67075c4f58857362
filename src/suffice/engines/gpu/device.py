"""A CUDA device: its arrays by CuPy, its kernels compiled at run time, and arrays of other libraries."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InvalidDataError, MissingPackageError
from suffice.engines.gpu import HostArray, is_on_device

INSTALL = "Arrays on a GPU are read by CuPy: pip install 'suffice[gpu]', or the CuPy of your version of CUDA"


def number_of(x: Any) -> int:
    """Return the number of the device that an array lies on, or is meant for."""
    if isinstance(x, HostArray):
        return x.device
    if hasattr(type(x), "__dlpack_device__"):
        return int(x.__dlpack_device__()[1])
    array = x.data if hasattr(x, "tocsr") else x  # a sparse matrix lies where its entries do
    return int(getattr(getattr(array, "device", None), "id", 0))


def device_of(x: Any) -> Device:
    """Return the device that an array lies on."""
    return Device(number_of(x))


@dataclass(frozen=True)
class Device:
    """A device by its number. CuPy is imported when it is first used."""

    number: int

    @property
    def xp(self) -> Any:
        """The namespace of its arrays."""
        return _cupy()

    @property
    def most_shared(self) -> int:
        """The bytes of shared memory that a block may have."""
        return _most_shared(self.number)

    @property
    def log_gamma(self) -> Any:
        """Log Γ of the entries of an array."""
        _cupy()
        from cupyx.scipy.special import gammaln

        return gammaln

    @contextmanager
    def working_on(self, x: Any) -> Iterator[None]:
        """Work on the device, and on the stream of PyTorch if the array is PyTorch's."""
        xp, torch = self.xp, sys.modules.get("torch")
        stream: Any = nullcontext()
        if torch is not None and isinstance(x, torch.Tensor):
            stream = _stream(xp, torch.cuda.current_stream(x.device).cuda_stream, self.number)
        with xp.cuda.Device(self.number), stream:
            yield

    def own(self, x: Any, what: str) -> Any:
        """Return an array of another library as one of CuPy, without a copy; it must lie on this device."""
        if not is_on_device(x):
            return self.xp.asarray(np.asarray(x))
        if (there := number_of(x)) != self.number:
            raise InvalidDataError(
                f"{what} lies on device {there}, and X on device {self.number}: move one to the device of the other"
            )
        torch = sys.modules.get("torch")
        x = x.detach() if torch is not None and isinstance(x, torch.Tensor) else x
        try:
            found = self.xp.from_dlpack(x) if hasattr(type(x), "__dlpack__") else self.xp.asarray(x)
        except Exception as error:  # each library has errors of its own for types that CuPy lacks
            raise InvalidDataError(
                f"{what} cannot be read on the device: {error}. Convert it to float32, float64 or integers"
            ) from error
        if found.dtype.kind not in "fiub":
            raise InvalidDataError(f"{what} holds {found.dtype}. Convert it to float32, float64 or integers")
        return found

    def given_back(self, array: Any, like: Any) -> Any:
        """Return an array as the library of `like` has it, on the same device and without a copy, or on the host."""
        if isinstance(like, HostArray):
            return self.to_host(array)
        torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
        if torch is not None and isinstance(like, torch.Tensor):
            return torch.from_dlpack(array)
        if jax is not None and isinstance(like, jax.Array):
            if array.dtype.itemsize == 8 and not jax.config.jax_enable_x64:  # JAX has no such numbers then
                array = array.astype({"f": np.float32, "i": np.int32, "u": np.uint32}[array.dtype.kind])
            return jax.numpy.from_dlpack(array)
        return array

    def address(self, array: Any) -> int:
        """Return where an array lies in the memory of the device."""
        return int(array.data.ptr)

    def feed(self, x: NDArray[Any]) -> Feed:
        """Return what copies rows of an array on the host to the device."""
        return Feed(self, x)

    def to_host(self, array: Any) -> NDArray[Any]:
        """Copy an array to the host."""
        found: NDArray[Any] = self.xp.asnumpy(array)
        return found

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether an error says that the device has no memory left; give back what is kept for reuse."""
        if not isinstance(error, self.xp.cuda.memory.OutOfMemoryError):
            return False
        self.xp.get_default_memory_pool().free_all_blocks()
        return True

    def launch(self, name: str, grid: tuple[int, ...], threads: int, args: tuple[Any, ...], shared: int = 0) -> None:
        """Run a kernel; None is a null pointer, and numbers are NumPy's, of the types that it takes."""
        kernel = _kernel(self.number, name)
        if shared > 48 << 10:
            kernel.max_dynamic_shared_size_bytes = shared
        passed = tuple(np.uintp(0) if arg is None else arg for arg in args)
        kernel(grid, (threads,), passed, shared_mem=shared)


class Feed:
    """Copies batches of rows from the host to the device: the next on a stream of its own, while kernels read the last.

    There are two buffers. A batch is read by kernels that are launched before the next one is asked for.
    """

    def __init__(self, device: Device, x: NDArray[Any]):
        self.device, self.x = device, x
        self.stream: Any = None
        self.buffers: list[Any] = [None, None]
        self.turn = 0
        self.ahead: tuple[int, int, Any, Any] | None = None  # rows from, to, where they are copied to, and the event

    def batch(self, low: int, high: int) -> Any:
        """Return rows on the device, and begin to copy as many of those that follow."""
        xp = self.device.xp
        if self.stream is None:
            self.stream = xp.cuda.Stream(non_blocking=True)
        main = xp.cuda.get_current_stream()
        read = main.record()
        ahead, self.ahead = self.ahead, None
        if ahead is None or ahead[:2] != (low, high):
            ahead = (low, high, *self._copy(low, high, read))
        main.wait_event(ahead[3])
        after = min(len(self.x), 2 * high - low)
        if after > high:
            self.ahead = (high, after, *self._copy(high, after, read))
        return ahead[2]

    def _copy(self, low: int, high: int, read: Any) -> tuple[Any, Any]:
        """Copy rows into the buffer that kernels have read once the event `read` has come; return them and an event."""
        self.turn ^= 1
        held = self.buffers[self.turn]
        if held is None or len(held) < high - low:
            main = self.device.xp.cuda.get_current_stream()
            main.wait_event(self.stream.record())  # a copy to it may be under way, and its memory is used again
            self.buffers[self.turn] = held = None
            held = self.device.xp.empty((high - low, self.x.shape[1]), self.x.dtype)
            self.buffers[self.turn] = held
            read = main.record()
        part = held[: high - low]
        self.stream.wait_event(read)
        part.set(np.ascontiguousarray(self.x[low:high]), stream=self.stream)
        return part, self.stream.record()

    def __del__(self) -> None:
        if self.stream is not None:  # a copy may be under way to memory that is given back now
            self.stream.synchronize()


@dataclass(frozen=True)
class _OtherStream:
    """A stream of another library, as the protocol of CUDA names it."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def _stream(xp: Any, address: int, number: int) -> Any:
    """Return a stream of another library as one of CuPy, of which older versions know the address alone."""
    if hasattr(xp.cuda.Stream, "from_external"):
        return xp.cuda.Stream.from_external(_OtherStream(address))
    return xp.cuda.ExternalStream(address, number)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise MissingPackageError(INSTALL) from error
    return cupy


@cache
def _most_shared(number: int) -> int:
    return int(_cupy().cuda.Device(number).attributes["MaxSharedMemoryPerBlockOptin"])


@cache
def _module() -> Any:
    code = files("suffice.engines.gpu").joinpath("kernels.cu").read_text(encoding="utf-8")
    return _cupy().RawModule(code=code, options=("-std=c++17",))


@cache
def _kernel(number: int, name: str) -> Any:
    del number  # a kernel is loaded on each device
    return _module().get_function(name)
