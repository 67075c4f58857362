"""Read Arrow columns as arrays: numbers, category codes, labels, weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Categories, Codes, Mask, Values, as_strings, as_weight, encode
from suffice.core.errors import InvalidDataError, MissingLabelError
from suffice.core.frames.arrow_arrays import as_numpy
from suffice.core.frames.frame import Column, Frame, column_kind, is_text, unreadable, value_type
from suffice.core.labels import Labels, refuse_changed

MOST_BYTES = 1 << 31  # of the strings of a column whose offsets are of 32 bits


def numbers(column: Column, name: str | None = None) -> Array:
    """Read a column of numbers or booleans as float64, nulls as NaN.

    Integers beyond 2⁵³ are rounded to the nearest float64. Infinite values are kept: statistics refuse them. The result
    may be a read-only view of Arrow's memory.
    """
    import pyarrow as pa

    column = _chunked(column)
    if column_kind(column) == "empty":
        return np.full(len(column), np.nan)
    held = value_type(column.type)
    plain = pa.types.is_integer(held) or pa.types.is_floating(held)
    if not (plain or pa.types.is_decimal(held) or pa.types.is_boolean(held)):
        raise unreadable(column, name, "numbers: treat it as categories, or convert it first")
    if pa.types.is_dictionary(column.type):
        codes, found = dictionary_codes(column)
        values = np.append(numbers(found, name), np.nan)
        return values[codes]
    return as_numpy(column if plain else column.cast(pa.float64())).astype(np.float64, copy=False)


def categories(*columns: Column, names: Sequence[str] | None = None, frame: Frame | None = None) -> Categories:
    """Number the distinct values of each column in sorted order, as `arrays.encode` does; missing ones get −1.

    Columns may hold strings, numbers, booleans or dictionaries of these. Categories of a dictionary that no row has are
    left out. Arrow finds the distinct values, so that no row becomes a Python object. A `frame` whose columns they are
    keeps what was found.

    >>> import pyarrow as pa
    >>> found = categories(pa.array(["b", None, "a", "b"]))
    >>> found.codes.ravel(), found.keys
    (array([ 1, -1,  0,  1], dtype=int32), (array(['a', 'b'], dtype='<U1'),))
    """
    if not columns:
        raise InvalidDataError("Expected at least one column of categories, found none")
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise InvalidDataError(f"All columns must have equally many rows, found {lengths}")
    codes = np.empty((lengths[0], len(columns)), dtype=np.int32, order="F")
    keys = []
    for j, column in enumerate(columns):
        name = None if names is None else names[j]
        own, found = _encode(column, name, "categories", frame)
        keys.append(found)
        if len(columns) == 1:
            return Categories(own[:, None], tuple(keys))
        codes[:, j] = own
    return Categories(codes, tuple(keys))


def texts(column: Column, name: str | None = None) -> list[str | None]:
    """Read a column of strings, or of categories that are strings, as Python strings; None for nulls."""
    import pyarrow as pa

    column = _chunked(column)
    held = value_type(column.type)
    if not is_text(held) and not pa.types.is_null(held) and column_kind(column) != "empty":
        raise unreadable(column, name, "text: convert it first")
    return column.to_pylist()


def labels(column: Column, name: str | None = None) -> Values:
    """Read the label of each row: strings, integers, floats or booleans."""
    return label_codes(column, name).each


def label_codes(column: Column, name: str | None = None) -> Labels:
    """Read labels as codes: what `encode_labels(labels(column))` gives, without a string for each row."""
    codes, values = _encode(_chunked(column), name, "labels")
    if len(codes) and codes.min() < 0:
        raise MissingLabelError.of(codes < 0)
    return Labels(codes, values)


def weights(column: Column, name: str | None = None) -> Array:
    """Read a column of weights: finite numbers ≥ 0, none missing."""
    weight = as_weight(numbers(column, name), len(column))
    assert weight is not None
    return weight


def _chunked(column: Column) -> Column:
    import pyarrow as pa

    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _encode(column: Column, name: str | None, what: str, frame: Frame | None = None) -> tuple[Codes, Values]:
    import pyarrow as pa

    column = _chunked(column)
    held = value_type(column.type)
    if column_kind(column) == "empty":
        numeric = pa.types.is_floating(held) or pa.types.is_integer(held) or pa.types.is_decimal(held)
        return np.full(len(column), -1, dtype=np.int32), np.empty(0, dtype=np.float64 if numeric else "<U1")
    if column_kind(column) in {"date", "other"}:
        raise unreadable(column, name, f"{what}: convert it to text or numbers first")
    if (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)) and not column.null_count:
        return encode(as_numpy(column))
    if frame is None or name is None:
        codes, found = dictionary_codes(column)
    else:
        codes, found = frame.once("codes", name, dictionary_codes)
    values = _keys(found)
    if is_text(column.type):  # they are distinct, present and sorted
        return codes, values
    if what == "labels" and pa.types.is_decimal(found.type):
        refuse_changed(found.to_pylist(), values, name)
    present = as_numpy(found.is_valid()) & ~_is_nan(values)
    if pa.types.is_dictionary(column.type):  # it may hold values that no row has
        seen = np.zeros(len(found) + 1, dtype=bool)
        seen[codes] = True
        present &= seen[:-1]
    keys, order = np.unique(values[present], return_inverse=True)  # also merges 0.0 and −0.0
    rank = np.full(len(found) + 1, -1, dtype=np.int32)
    rank[:-1][present] = order
    return rank[codes], keys


def dictionary_codes(column: Column) -> tuple[Codes, Column]:
    """Return the position of each entry in an Arrow array of distinct values, −1 for nulls, and that array.

    The distinct values of a column of strings are sorted, and none is null.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_text(column.type):
        return _string_codes(column)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    if column.num_chunks == 0:
        return np.empty(0, dtype=np.int32), pa.array([], type=column.type.value_type)
    column = column.unify_dictionaries()
    codes, lo = np.empty(len(column), dtype=np.int32), 0
    for chunk in column.chunks:
        codes[lo : lo + len(chunk)] = as_numpy(
            chunk.indices.cast(pa.int64()).fill_null(-1) if chunk.null_count else chunk.indices
        )
        lo += len(chunk)
    return codes, column.chunk(0).dictionary


def _string_codes(column: Column) -> tuple[Codes, Column]:
    import pyarrow as pa

    column = _chunked(column)
    wide = column.type if pa.types.is_large_string(column.type) or column.nbytes < MOST_BYTES else pa.large_string()
    whole = column.cast(wide).combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    codes = np.empty(len(whole), dtype=np.int32)
    if not len(whole):
        return codes, whole
    validity, offsets, data = whole.buffers()
    offset_type: Any = np.int64 if pa.types.is_large_string(whole.type) else np.int32
    place = np.frombuffer(offsets, offset_type)[whole.offset : whole.offset + len(whole) + 1]
    bits = None if validity is None or not whole.null_count else np.frombuffer(validity, np.uint8)
    text = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    first = _core.string_codes(place, text, bits, whole.offset, codes)
    return codes, whole.take(pa.array(first))


def _keys(found: Column) -> Values:
    """Convert distinct values to NumPy; nulls become 0 or an empty string."""
    import pyarrow as pa

    if pa.types.is_decimal(found.type):
        return numbers(found)
    if pa.types.is_integer(found.type) or pa.types.is_floating(found.type) or pa.types.is_boolean(found.type):
        return found.fill_null(0).to_numpy(zero_copy_only=False) if found.null_count else as_numpy(found)
    return as_strings([text or "" for text in found.to_pylist()])


def _is_nan(values: Values) -> Mask:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
