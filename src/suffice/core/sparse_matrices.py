"""Sparse matrices of SciPy, whose structure is checked before native code reads it.

The routines of SciPy trust the index arrays of a matrix: an index outside its shape makes them read and write memory
that is not theirs. `checked` looks at every array of every format first, and makes the CSR matrix that kernels read.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from suffice.core.errors import InvalidDataError

Vector: TypeAlias = NDArray[Any]
_INDEX = {np.dtype(np.int32), np.dtype(np.int64)}  # in the byte order of this machine
_VALUES = {np.dtype(np.float32), np.dtype(np.float64)}


class CheckedRows(scipy.sparse.csr_matrix):
    """A CSR matrix that `checked` has made. What SciPy makes of it, such as some of its rows, is well-formed too."""


def checked(x: Any) -> CheckedRows:
    """Return a sparse matrix or array of any format as CSR, of numbers of this machine's types; refuse a malformed one.

    Booleans and integers keep their type, so that they differ from floats; floats of other sizes become float64. The
    arrays are shared where they need no conversion. Nothing that the matrix says of itself is believed: SciPy finds out
    again whether its indices are sorted, when that is needed.
    """
    if type(x) is CheckedRows:
        return x
    if len(x.shape) != 2:
        raise InvalidDataError(f"Expected a table of rows and columns, found a sparse array of shape {x.shape}")
    if x.format not in _READERS:
        raise InvalidDataError(f"A sparse matrix of format {x.format!r} cannot be read: convert it by tocsr()")
    return _READERS[x.format](x, *map(int, x.shape))


def _malformed(what: str) -> InvalidDataError:
    return InvalidDataError(f"The sparse matrix is malformed: {what}. Build it again from its entries")


# ---------------------------------------------------------------------------------------------- formats


def _read_csr(x: Any, rows: int, columns: int) -> CheckedRows:
    data = _numbers(x.data, 1)
    indices, indptr = _compressed(x, len(data), rows, columns, "row")
    data = data if len(data) == len(indices) else data[: len(indices)]
    if indices.dtype != indptr.dtype:
        return CheckedRows((data, indices, indptr), shape=(rows, columns))
    made = CheckedRows.__new__(CheckedRows)  # the constructor would check again, which takes longer than all of this
    made.__dict__.update(vars(x))
    for claim in ("_has_sorted_indices", "_has_canonical_format"):
        made.__dict__.pop(claim, None)
    made.data, made.indices, made.indptr = data, indices, indptr
    return made


def _read_csc(x: Any, rows: int, columns: int) -> CheckedRows:
    data = _numbers(x.data, 1)
    indices, indptr = _compressed(x, len(data), columns, rows, "column")
    return _as_rows(scipy.sparse.csc_matrix((data[: len(indices)], indices, indptr), shape=(rows, columns)))


def _read_bsr(x: Any, rows: int, columns: int) -> CheckedRows:
    data = _numbers(x.data, 3)
    height, width = data.shape[1:]
    if not height or not width or rows % height or columns % width:
        raise _malformed(f"blocks of {height} × {width} do not fill {rows} × {columns}")
    indices, indptr = _compressed(x, len(data), rows // height, columns // width, "row of blocks")
    return _as_rows(scipy.sparse.bsr_matrix((data[: len(indices)], indices, indptr), shape=(rows, columns)))


def _read_coo(x: Any, rows: int, columns: int) -> CheckedRows:
    data = _numbers(x.data, 1)
    places = []
    for name, given, size in zip(("row", "col"), (x.row, x.col), (rows, columns), strict=True):
        found = _integers(given, name)
        if len(found) != len(data):
            raise _malformed(f"`{name}` has {len(found)} entries, and `data` has {len(data)}")
        _refuse_outside(found, size, name, lambda at: f"entry {at}")
        places.append(found)
    return _as_rows(scipy.sparse.coo_matrix((data, (places[0], places[1])), shape=(rows, columns)))


def _read_dia(x: Any, rows: int, columns: int) -> CheckedRows:
    data, offsets = _numbers(x.data, 2), _integers(x.offsets, "offsets")
    if len(offsets) != len(data):
        raise _malformed(f"`offsets` has {len(offsets)} entries, and `data` has {len(data)} diagonals")
    if len(np.unique(offsets)) < len(offsets):
        raise _malformed("`offsets` names a diagonal twice")
    inside = (offsets > -rows) & (offsets < columns)  # a diagonal outside holds no entry
    return _as_rows(scipy.sparse.dia_matrix((data[inside], offsets[inside]), shape=(rows, columns)))


def _read_lil(x: Any, rows: int, columns: int) -> CheckedRows:
    for name in ("rows", "data"):
        lists = getattr(x, name)
        if not isinstance(lists, np.ndarray) or lists.shape != (rows,) or not all(type(each) is list for each in lists):
            raise _malformed(f"`{name}` should be {rows} lists, one for each row")
    lengths = [len(each) for each in x.rows]
    for i, (n, values) in enumerate(zip(lengths, x.data, strict=True)):
        if n != len(values):
            raise _malformed(f"row {i} has {n} places and {len(values)} values")
    data = _listed(list(chain.from_iterable(x.data)), x.dtype)
    columns_of = _integers(_listed(list(chain.from_iterable(x.rows)), None), "rows")
    places = np.repeat(np.arange(rows), lengths)
    _refuse_outside(columns_of, columns, "rows", lambda at: f"row {places[at]}")
    return _as_rows(scipy.sparse.coo_matrix((data, (places, columns_of)), shape=(rows, columns)))


def _read_dok(x: Any, rows: int, columns: int) -> CheckedRows:
    keys = list(x.keys())
    for key in keys:
        if not isinstance(key, tuple) or len(key) != 2:
            raise _malformed(f"{key!r} is no pair of a row and a column")
    data = _listed(list(x.values()), x.dtype)
    places = []
    for name, given, size in zip(("rows", "columns"), zip(*keys, strict=True), (rows, columns), strict=False):
        found = _integers(_listed(list(given), None), name)
        _refuse_outside(found, size, name, lambda at: f"the key {keys[at]!r}")
        places.append(found)
    row, column = places or [np.zeros(0, np.int32)] * 2
    return _as_rows(scipy.sparse.coo_matrix((data, (row, column)), shape=(rows, columns)))


_READERS: dict[str, Callable[[Any, int, int], CheckedRows]] = {
    "csr": _read_csr,
    "csc": _read_csc,
    "bsr": _read_bsr,
    "coo": _read_coo,
    "dia": _read_dia,
    "lil": _read_lil,
    "dok": _read_dok,
}


def _as_rows(x: Any) -> CheckedRows:
    """Convert a matrix that was checked."""
    return CheckedRows(x.tocsr())


# ----------------------------------------------------------------------------------------------- arrays


def _compressed(x: Any, stored: int, size: int, others: int, what: str) -> tuple[Vector, Vector]:
    """Return `indices`, as many as are in use, and `indptr` of a format that compresses rows or columns."""
    indices, indptr = _integers(x.indices, "indices"), _integers(x.indptr, "indptr")
    if len(indptr) != size + 1:
        raise _malformed(f"`indptr` has {len(indptr)} entries and should have {size + 1}, one for each {what} and one")
    if indptr[0]:
        raise _malformed(f"`indptr` starts with {indptr[0]} and should start with 0")
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        at = int(np.argmax(falls))
        raise _malformed(f"`indptr` falls from {indptr[at]} to {indptr[at + 1]} after {what} {at}")
    if len(indices) != stored:
        raise _malformed(f"`indices` has {len(indices)} entries, and `data` has {stored}")
    if indptr[-1] > stored:
        raise _malformed(f"`indptr` ends with {indptr[-1]}, and only {stored} entries are stored")
    indices = indices if indptr[-1] == stored else indices[: indptr[-1]]
    _refuse_outside(
        indices, others, "indices", lambda at: f"{what} {np.searchsorted(indptr, at, side='right') - 1}, entry {at}"
    )
    return indices, indptr


def _integers(array: Any, name: str) -> Vector:
    """Return a vector of indices as int32 or int64, in this machine's byte order."""
    if type(array) is np.ndarray and array.ndim == 1 and array.dtype in _INDEX and array.flags.carray:
        return array
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
        shown = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        if isinstance(array, np.ndarray) and array.shape == (0,):  # an empty list has no type
            return np.zeros(0, np.int32)
        raise _malformed(f"`{name}` should be a vector of integers, found {shown}")
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and len(array) and array.max() >= 1 << 63:
        raise _malformed(f"`{name}` holds {array.max()} at entry {int(np.argmax(array))}")
    small = np.can_cast(array.dtype, np.int32)
    return np.require(array, np.int32 if small else np.int64, ["C", "A"])


def _refuse_outside(indices: Vector, size: int, name: str, where: Callable[[int], str]) -> None:
    """Refuse indices below 0 or from `size` on. As unsigned numbers, negative ones are the largest."""
    unsigned: Vector = indices.view(np.uint32 if indices.dtype == np.int32 else np.uint64)
    if len(indices) and unsigned.max() >= size:
        at = int(np.argmax(unsigned >= size))
        raise _malformed(f"`{name}` holds {indices[at]} ({where(at)}) and should hold numbers from 0 to {size - 1}")


def _numbers(data: Any, dimensions: int) -> Vector:
    """Return the stored values as numbers in this machine's byte order."""
    if type(data) is np.ndarray and data.ndim == dimensions and data.dtype in _VALUES and data.flags.carray:
        return data
    if not isinstance(data, np.ndarray) or data.ndim != dimensions:
        shown = f"an array of shape {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
        raise _malformed(f"`data` should be an array of {dimensions} dimensions, found {shown}")
    kind = data.dtype.kind
    if kind == "c":
        raise InvalidDataError("Complex data not supported: the columns must be real numbers")
    if kind == "O":
        return _from_objects(data)
    if kind not in "biuf":
        raise InvalidDataError(f"Expected numbers, found a sparse matrix of {data.dtype}")
    if kind == "f" and data.dtype.itemsize not in (4, 8):
        data = data.astype(np.float64)
    return np.require(data, data.dtype.newbyteorder("="), ["C", "A"])


def _from_objects(data: Vector) -> Vector:
    try:
        return data.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        for at, value in enumerate(data.flat):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                raise InvalidDataError(
                    f"could not convert {value!r}, entry {at} of the sparse matrix, to a number"
                ) from None
        raise


def _listed(values: list[Any], dtype: Any) -> Vector:
    """Return Python objects as an array, of `dtype` if that is one of numbers, and as NumPy finds them otherwise."""
    try:
        found = np.array(values, dtype if dtype is not None and np.dtype(dtype).kind in "biufc" else None)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidDataError(f"could not convert the entries of the sparse matrix to {dtype}: {error}") from None
    return found if dtype is None else _numbers(found, 1)
