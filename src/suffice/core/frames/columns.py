"""What families read from Arrow columns: numbers, category codes, labels, weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core import arrays as tables
from suffice.core.arrays import Array, Categories, Codes, Labels, Values
from suffice.core.errors import InvalidDataError, MissingLabelError
from suffice.core.frames.arrow_arrays import as_numpy
from suffice.core.frames.frame import Column, column_kind, is_text, refuse, value_type


def numbers(column: Column, name: str | None = None) -> Array:
    """A column of numbers or bools as float64, NaN where it is null.

    Whole numbers beyond 2⁵³ are rounded to the nearest float64. Infinite values pass: whoever learns from
    them refuses them. The result may be a view of Arrow's memory, and then is read-only.
    """
    import pyarrow as pa

    column = _chunked(column)
    if column_kind(column) == "empty":
        return np.full(len(column), np.nan)
    held = value_type(column.type)
    plain = pa.types.is_integer(held) or pa.types.is_floating(held)
    if not (plain or pa.types.is_decimal(held) or pa.types.is_boolean(held)):
        raise refuse(column, name, "numbers: treat it as categories, or convert it first")
    if pa.types.is_dictionary(column.type):
        codes, found = numbered(column)
        values = np.append(numbers(found, name), np.nan)
        return values[codes]
    if not plain:
        column = column.cast(pa.float64())
    if column.num_chunks == 1:
        return _floats(column.chunk(0))
    out, lo = np.empty(len(column)), 0
    for chunk in column.chunks:
        out[lo : lo + len(chunk)] = _floats(chunk)
        lo += len(chunk)
    return out


def _floats(chunk: Any) -> Array:
    """Arrow gives floats, with NaN, for whole numbers among which some are null."""
    return as_numpy(chunk).astype(np.float64, copy=False)


def categories(*columns: Column, names: Sequence[str] | None = None) -> Categories:
    """Number each column's distinct values in sorted order, as `tables.encode` does; missing ones get −1.

    Strings, numbers, bools and dictionaries of them; categories of a dictionary that no row has are left
    out. Distinct values are found by Arrow, so no row becomes a Python object.

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
        codes[:, j], found = _encode(_chunked(column), None if names is None else names[j], "categories")
        keys.append(found)
    return Categories(codes, tuple(keys))


def texts(column: Column, name: str | None = None) -> list[str | None]:
    """A column of strings, or of categories that are strings, as Python has them; None where it is null."""
    import pyarrow as pa

    column = _chunked(column)
    held = value_type(column.type)
    if not is_text(held) and not pa.types.is_null(held) and column_kind(column) != "empty":
        raise refuse(column, name, "text: convert it first")
    return column.to_pylist()


def labels(column: Column, name: str | None = None) -> Values:
    """The label of each row, as `tables.encode_labels` reads them: strings, whole numbers, floats or bools."""
    found = label_codes(column, name)
    return found.values[found.codes]


def label_codes(column: Column, name: str | None = None) -> Labels:
    """The same, numbered: what `tables.encode_labels(labels(column))` gives, without a string for each row."""
    codes, values = _encode(_chunked(column), name, "labels")
    if len(codes) and codes.min() < 0:
        raise MissingLabelError(int(np.argmax(codes < 0)))
    return Labels(codes, values)


def weights(column: Column, name: str | None = None) -> Array:
    """A column of weights: finite numbers ≥ 0, none of them missing."""
    weight = tables.as_weight(numbers(column, name), len(column))
    assert weight is not None  # only None gives None
    return weight


def _chunked(column: Any) -> Column:
    import pyarrow as pa

    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _encode(column: Column, name: str | None, what: str) -> tuple[Codes, Values]:
    import pyarrow as pa

    held = value_type(column.type)
    if column_kind(column) == "empty":
        numeric = pa.types.is_floating(held) or pa.types.is_integer(held) or pa.types.is_decimal(held)
        return np.full(len(column), -1, dtype=np.int32), np.empty(0, dtype=np.float64 if numeric else "<U1")
    if column_kind(column) in {"date", "other"}:
        raise refuse(column, name, f"{what}: convert it to text or numbers first")
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_decimal(held):
            column = column.cast(pa.float64())
        elif (pa.types.is_integer(held) or pa.types.is_boolean(held)) and not column.null_count:
            return tables.encode(as_numpy(column))
    codes, found = numbered(column)
    values = _keys(found)
    present = as_numpy(found.is_valid()) & ~_is_nan(values)
    if pa.types.is_dictionary(column.type):  # which may hold values that no row has
        seen = np.zeros(len(found) + 1, dtype=bool)
        seen[codes] = True
        present &= seen[:-1]
    keys, order = np.unique(values[present], return_inverse=True)  # also joins 0.0 and −0.0
    rank = np.full(len(found) + 1, -1, dtype=np.int32)
    rank[:-1][present] = order
    return rank[codes], keys


def numbered(column: Column) -> tuple[Codes, Any]:
    """Each entry's place in an Arrow array of distinct values, −1 where it is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    if column.num_chunks == 0:
        return np.empty(0, dtype=np.int32), pa.array([], type=column.type.value_type)
    column = column.unify_dictionaries()
    codes, lo = np.empty(len(column), dtype=np.int32), 0
    for chunk in column.chunks:
        indices = chunk.indices
        codes[lo : lo + len(chunk)] = np.nan_to_num(as_numpy(indices), nan=-1)
        lo += len(chunk)
    return codes, column.chunk(0).dictionary


def _keys(found: Any) -> Values:
    """Distinct values as NumPy holds them, gaps filled with anything."""
    import pyarrow as pa

    if pa.types.is_decimal(found.type):
        return numbers(found)
    if pa.types.is_integer(found.type) or pa.types.is_floating(found.type) or pa.types.is_boolean(found.type):
        return found.fill_null(0).to_numpy(zero_copy_only=False) if found.null_count else as_numpy(found)
    return np.array([text or "" for text in found.to_pylist()], dtype=str)


def _is_nan(values: Values) -> NDArray[np.bool_]:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
