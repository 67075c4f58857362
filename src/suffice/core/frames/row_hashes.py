"""A 64-bit hash of the content of each row, the same in every process and for every type of table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.frames.columns import dictionary_codes, numbers
from suffice.core.frames.frame import Column, Frame, column_kind, is_text, unreadable, value_type

Hashes: TypeAlias = NDArray[np.uint64]

MISSING = np.uint64(0x9AE16A3B2F90404F)


def row_hashes(frame: Frame, names: Iterable[str] | None = None) -> Hashes:
    """Hash the entries of the named columns, in this order, row by row.

    Equal values have equal hashes, whatever their type: 1, 1.0 and True; null and NaN; a string, alone or in a
    dictionary; a time in any resolution down to a microsecond. The names of the columns do not matter. Numbers are
    hashed as float64, so integers beyond 2⁵³ may share a hash.

    >>> from suffice.core.frames import as_frame
    >>> a = row_hashes(as_frame({"x": [1, 2, None], "y": ["a", "a", "b"]}))
    >>> b = row_hashes(as_frame({"x": [1.0, 2.0, np.nan], "y": ["a", "a", "b"]}))
    >>> bool((a == b).all()), len(set(a.tolist()))
    (True, 3)
    """
    names = frame.names if names is None else list(names)
    out, matrix = np.empty(frame.n, dtype=np.uint64), frame.matrix
    if matrix is not None and all(name in matrix.place for name in names):
        columns: list[Any] = [np.ascontiguousarray(matrix.matrix[matrix.place[name]]) for name in names]
    else:
        columns = [_bits(frame, name) for name in names]
    _core.row_hashes(columns, int(MISSING), out)
    return out


def _bits(frame: Frame, name: str) -> Hashes | Array | tuple[Codes, Hashes]:
    """Return each entry as float64, or 64 bits: the microseconds of a time; of strings, codes and the hash of each."""
    column = frame.column(name)
    kind = column_kind(column)
    if kind == "empty":
        return np.full(len(column), MISSING)
    if is_text(value_type(column.type)):
        # Strings that no row has do no harm here.
        codes, found = frame.once("wider codes", name, lambda _: frame.once("codes", name, dictionary_codes))
        return codes, np.append(_string_hashes(found), MISSING)
    if kind == "date":
        return _times(column, name)
    if kind == "other":
        raise unreadable(column, name, "part of a row's hash: leave it out, or convert it to text or numbers")
    return np.ascontiguousarray(frame.once("numbers", name, partial(numbers, name=name)))


def _string_hashes(found: Column) -> Hashes:
    digests = [
        MISSING if text is None else int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
        for text in found.to_pylist()
    ]
    return np.array(digests, dtype=np.uint64)


def _times(column: Column, name: str) -> Hashes:
    import pyarrow as pa

    held = value_type(column.type)
    if pa.types.is_timestamp(held):
        common = pa.timestamp("us", tz=held.tz)
    elif pa.types.is_date(held):
        common = pa.timestamp("us")
    elif pa.types.is_time(held):
        common = pa.time64("us")
    elif pa.types.is_duration(held):
        common = pa.duration("us")
    else:
        raise unreadable(column, name, "part of a row's hash: leave it out, or convert it to text or numbers")
    whole = column.cast(held).cast(common, safe=False).cast(pa.int64())
    valid = np.asarray(whole.is_valid())
    return np.where(valid, np.asarray(whole.fill_null(0)).view(np.uint64), MISSING)
