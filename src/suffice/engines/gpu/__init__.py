"""Arrays that already live on a GPU: they are summarized and scored there, and only statistics leave it.

Arrays of CuPy, PyTorch, JAX, and whatever else speaks DLPack or has `__cuda_array_interface__`, are recognized by what
they can do: none of these packages is imported for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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


def find(x: Any) -> DeviceRows | None:
    """Return the rows of an array on a GPU; None for anything else."""
    if not is_on_device(x):
        return None
    from suffice.engines.gpu.device_rows import DeviceRows

    return DeviceRows.of(x)
