"""Arrays that already live on a GPU: they are summarized and scored there, and only statistics leave it.

Arrays of CuPy, PyTorch, JAX, and whatever else speaks DLPack or has `__cuda_array_interface__`, are recognized by what
they can do: none of these packages is imported for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.errors import InvalidDataError

if TYPE_CHECKING:
    from suffice.engines.gpu.device_rows import DeviceRows

CUDA, CUDA_MANAGED = 2, 13  # what DLPack calls them


def is_on_device(x: Any) -> bool:
    """Return whether an array, or a sparse matrix of CuPy, lies on a GPU."""
    if isinstance(x, (np.ndarray, list, tuple, dict, str)):
        return False
    if type(x).__module__.startswith("cupyx.scipy.sparse"):
        return True
    if hasattr(type(x), "__dlpack_device__"):
        try:
            return int(x.__dlpack_device__()[0]) in (CUDA, CUDA_MANAGED)
        except Exception:  # a tracer of JAX, or a library's own reason: it is no array of numbers
            return False
    return hasattr(x, "__cuda_array_interface__")


@dataclass(frozen=True, eq=False)
class HostArray:
    """Rows on the host that a GPU learns and answers, batch by batch: see `on_gpu`."""

    values: NDArray[Any]
    device: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.values.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the entries."""
        return self.values.dtype

    def __len__(self) -> int:
        return len(self.values)


def on_gpu(X: ArrayLike, device: int = 0) -> HostArray:
    """Return rows on the host for a GPU to learn and answer: they need not fit into its memory.

    The rows are copied batch by batch, the next one while the last is summed. Answers come back as NumPy arrays. Copies
    are fastest from memory that is pinned, such as by `cupyx.empty_pinned` or `torch.Tensor.pin_memory`, and of
    contiguous float32 or float64.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows on the host, of numbers.
    device : int, default=0
        The number of the GPU.

    Returns
    -------
    rows : HostArray
        What `fit`, `partial_fit`, `forget`, `predict` and others take as X. Labels and weights may be on either side.

    Examples
    --------
    >>> import suffice as sf
    >>> rows = sf.on_gpu([[0.0, 1.0], [2.0, 3.0]])
    >>> rows.shape
    (2, 2)
    """
    values = np.asarray(X)
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        raise InvalidDataError(f"Expected rows of numbers, found an array of shape {values.shape} and {values.dtype}")
    return HostArray(values, device)


def find(x: Any) -> DeviceRows | None:
    """Return the rows of an array on a GPU, or of one that is learned there; None for anything else."""
    if not is_on_device(x) and not isinstance(x, HostArray):
        return None
    from suffice.engines.gpu.device_rows import DeviceRows

    return DeviceRows.of(x)
