"""NumPy arrays as Arrow arrays and back, without a copy where there is a way.

`pyarrow.array` and `pyarrow.Array.to_numpy` import pandas where it is installed, to see whether it has a part in the
conversion. That takes longer than most commands at a terminal, so plain numbers, booleans and strings go by their
buffers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Values


def as_arrow(values: Values) -> Any:
    """Return a NumPy array of one dimension as an Arrow array."""
    import pyarrow as pa

    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    n, kind = len(values), values.dtype.kind
    if kind in "iuf" and values.dtype.itemsize <= 8:
        data = pa.py_buffer(np.ascontiguousarray(values))
        return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), n, [None, data])
    if kind == "b":
        return pa.Array.from_buffers(pa.bool_(), n, [None, pa.py_buffer(np.packbits(values, bitorder="little"))])
    if kind == "U":
        texts = [text.encode() for text in values.tolist()]
        ends = np.cumsum([0, *map(len, texts)])
        wide = ends[-1] > np.iinfo(np.int32).max
        offsets = pa.py_buffer(ends.astype(np.int64 if wide else np.int32))
        text = pa.large_string() if wide else pa.string()
        return pa.Array.from_buffers(text, n, [None, offsets, pa.py_buffer(b"".join(texts))])
    return pa.array(values.tolist() if kind == "O" else values)


def as_numpy(array: Any) -> NDArray[Any]:
    """Return an Arrow array of numbers or booleans as a NumPy array; numbers among which some are null as floats."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    plain = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    if not (plain or pa.types.is_boolean(array.type)) or (not plain and array.null_count):
        return array.to_numpy(zero_copy_only=False)
    if not len(array):
        return np.empty(0, _dtype(array.type))
    validity, data = array.buffers()
    if not plain:
        return _bits(data, array.offset, len(array))
    dtype = _dtype(array.type)
    values = np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)
    if not array.null_count:
        return values
    values = values.astype(np.result_type(dtype, np.float16) if dtype.kind == "f" else np.float64)
    values[~_bits(validity, array.offset, len(array))] = np.nan
    return values


def _dtype(type_: Any) -> np.dtype[Any]:
    """The NumPy type of an Arrow type of numbers or booleans; pyarrow 20's `to_pandas_dtype` imports pandas."""
    return np.dtype({"halffloat": "float16", "float": "float32", "double": "float64"}.get(str(type_), str(type_)))


def _bits(buffer: Any, offset: int, n: int) -> NDArray[np.bool_]:
    """The n bits of a buffer after the first `offset`."""
    first = offset // 8
    some = np.frombuffer(buffer, np.uint8)[first : (offset + n + 7) // 8]
    return np.unpackbits(some, bitorder="little")[offset - 8 * first :][:n].astype(np.bool_)
