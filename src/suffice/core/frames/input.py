"""Read anything tabular into a `Frame`: by its type or its Arrow interface, importing only what it came from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Values, is_sparse
from suffice.core.errors import InvalidDataError, SufficeError
from suffice.core.frames.frame import Column, Frame, value_type

_READ: WeakSet[Any] = WeakSet()  # Arrow's own readers give no rows, rather than an error, when read again


def as_frame(x: Any, names: Iterable[str] | None = None) -> Frame:
    """Read a table as named Arrow columns, copying only what Arrow holds in another form.

    `x` may be a data frame of pandas (its index is not read) or Polars (a lazy one is collected), a
    table, batch or stream of Arrow, a DuckDB relation, anything else with an Arrow C interface, a mapping
    of names to columns, a NumPy array of two dimensions or of records, or a list of records or of rows.
    Names that are not strings are turned into them, 0 into "0"; columns without names are x0, x1, ….
    `names` replaces them all.

    A stream is read once: passing it again is an error. (One that somebody else has read may look like one
    without rows: Arrow does not tell them apart.)

    >>> as_frame(np.array([[1.0, 2.0], [3.0, 4.0]]))
    Frame(2 rows × 2 columns: x0 number, x1 number)
    """
    frame = x if isinstance(x, Frame) else _read(x)
    if names is None:
        return frame
    names = [str(name) for name in names]
    if len(names) != len(frame.columns):
        raise InvalidDataError(f"{len(names)} names were given for {len(frame.columns)} columns")
    return _frame(names, list(frame.columns.values()), frame.n)


def is_pandas(x: Any, what: str = "DataFrame") -> bool:
    """Tell whether `x` is something of pandas, without importing it."""
    return _is_a(x, "pandas", what)


def is_polars(x: Any, what: str = "DataFrame") -> bool:
    """Tell whether `x` is something of Polars, without importing it."""
    return _is_a(x, "polars", what)


def is_arrow(x: Any, what: str) -> bool:
    """Tell whether `x` is something of Arrow, without importing it."""
    return _is_a(x, "pyarrow", what)


def is_duckdb(x: Any) -> bool:
    """Tell whether `x` is a DuckDB relation, without importing DuckDB."""
    return _is_a(x, "duckdb", "DuckDBPyRelation")


def is_in_memory(x: Any) -> bool:
    """Tell whether `x` is a data frame or a table of Arrow, all of whose rows are here."""
    return is_pandas(x) or is_polars(x) or is_arrow(x, "Table") or is_arrow(x, "RecordBatch")


def was_read(x: Any) -> bool:
    """Tell whether `x` is a stream of Arrow that has been read here."""
    return is_arrow(x, "RecordBatchReader") and x in _READ


def mark_read(x: Any) -> None:
    """Note that a stream of Arrow is read, so that reading it again is an error."""
    if is_arrow(x, "RecordBatchReader"):
        _READ.add(x)


def _is_a(x: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(x, kind)


def _read(x: Any) -> Frame:
    if is_sparse(x):
        raise InvalidDataError(
            "A sparse matrix has no columns of their own types: pass it to an estimator of suffice.naive_bayes, "
            "or as x.toarray() if it is small"
        )
    if is_pandas(x):
        return _frame(x.columns, [as_column(x.iloc[:, j], x.columns[j]) for j in range(x.shape[1])], len(x))
    if is_polars(x, "LazyFrame"):
        x = x.collect()
    if is_polars(x):  # its own way to Arrow gives types that every version of Arrow knows
        return _frame_of_arrow(x.to_arrow())
    if is_arrow(x, "Table") or is_arrow(x, "RecordBatch"):
        return _frame_of_arrow(x)
    if hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__") or is_duckdb(x):
        return _frame_of_arrow(_read_arrow(x))
    if isinstance(x, Mapping):
        return _frame(x, [as_column(values, name) for name, values in x.items()])
    if isinstance(x, (list, tuple)):
        return _read_rows(x)
    if not isinstance(x, np.ndarray) and hasattr(x, "__array__"):
        x = np.asarray(x)
    if isinstance(x, np.ndarray):
        return _read_array(x)
    advice = ": read the file first, if it is the name of one" if isinstance(x, (str, os.PathLike)) else ""
    raise InvalidDataError(f"Expected a table of rows and columns, found {_described(x)}{advice}")


def _described(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


# --------------------------------------------------------------------------------------------- frames


def _frame(names: Iterable[Any], columns: list[Column], n: int | None = None) -> Frame:
    """Columns of equal length and with names of their own."""
    held: dict[str, Column] = {}
    for name, column in zip(map(str, names), columns, strict=True):
        if name in held:
            raise InvalidDataError(f"Two columns are named {name!r}: give each a name of its own")
        held[name] = column
    lengths = {name: len(column) for name, column in held.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InvalidDataError(f"All columns must have equally many rows: {found}")
    return Frame(held, next(iter(lengths.values()), n or 0))


def _frame_of_arrow(table: Any) -> Frame:
    return _frame(table.schema.names, [_tidy(column) for column in table.columns], table.num_rows)


def _read_arrow(x: Any) -> Any:
    """The whole of an Arrow stream, as a table."""
    import pyarrow as pa

    reader = is_arrow(x, "RecordBatchReader")
    if was_read(x):
        raise InvalidDataError("This stream has been read before, and can be read only once: read it into a table")
    try:
        if hasattr(x, "__arrow_c_stream__"):
            table = x.read_all() if reader else pa.RecordBatchReader.from_stream(x).read_all()
        elif hasattr(x, "__arrow_c_array__"):
            table = pa.record_batch(x)
        else:
            table = x.fetch_arrow_table()  # older versions of DuckDB
    except pa.ArrowException as error:
        raise InvalidDataError(f"{_described(x)} could not be read as a table of Arrow columns: {error}") from error
    mark_read(x)
    return table


def _read_rows(rows: Sequence[Any]) -> Frame:
    """Records, which may lack some names, or rows of equally many entries."""
    records = [isinstance(row, Mapping) for row in rows]
    if any(records):
        if not all(records):
            at = records.index(not records[0])
            raise InvalidDataError(f"Row 0 is {_described(rows[0])}, row {at} is {_described(rows[at])}: mix neither")
        names = list(dict.fromkeys(name for row in rows for name in row))
        return _frame(names, [as_column([row.get(name) for row in rows], name) for name in names], len(rows))
    for i, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not (isinstance(row, (Sequence, np.ndarray))):
            raise InvalidDataError(f"Expected rows that each hold several entries, found {_described(row)} in row {i}")
        if len(row) != len(rows[0]):
            raise InvalidDataError(f"Row 0 has {len(rows[0])} entries, row {i} has {len(row)}: rows must be alike")
    width = len(rows[0]) if rows else 0
    names = [f"x{j}" for j in range(width)]
    return _frame(names, [as_column([row[j] for row in rows], names[j]) for j in range(width)], len(rows))


def _read_array(x: NDArray[Any]) -> Frame:
    if x.dtype.names is not None and x.ndim == 1:
        return _frame(x.dtype.names, [as_column(x[name], name) for name in x.dtype.names], len(x))
    if x.ndim != 2:
        raise InvalidDataError(f"Expected a table of rows and columns, found an array of shape {x.shape}")
    x = x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    names = [f"x{j}" for j in range(x.shape[1])]
    return _frame(names, [as_column(x[:, j], names[j]) for j in range(x.shape[1])], len(x))


# -------------------------------------------------------------------------------------------- columns


def as_column(values: Any, name: Any) -> Column:
    """One column as Arrow holds it: from a list, array, Series or Arrow array."""
    import pyarrow as pa

    try:
        if is_pandas(values, "Index") or _is_a(values, "pandas.api.extensions", "ExtensionArray"):
            values = sys.modules["pandas"].Series(values)
        if is_pandas(values, "Series"):
            return _tidy(_read_series(values, name))
        if is_polars(values, "Series"):
            return _tidy(values.to_arrow())
        if hasattr(values, "__arrow_c_stream__"):
            return _tidy(values if is_arrow(values, "ChunkedArray") else pa.chunked_array(values))
        if hasattr(values, "__arrow_c_array__"):
            return _tidy(pa.array(values))
        if isinstance(values, (list, tuple, range)):
            return _tidy(_read_objects(_as_objects(values), name))
        if hasattr(values, "__array__") and np.ndim(values) > 0:
            return _tidy(_read_vector(values if isinstance(values, np.ndarray) else np.asarray(values), name))
    except SufficeError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        found = getattr(values, "dtype", _described(values))
        raise InvalidDataError(f"Column {str(name)!r} ({found}) cannot be read as an Arrow column: {error}") from error
    raise InvalidDataError(f"Column {str(name)!r} must be a list or an array, found {_described(values)}")


def _as_objects(values: Sequence[Any]) -> Values:
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out


def _read_series(series: Any, name: Any) -> Any:
    """A column of pandas, whose missing entries are NaN, NaT, None or NA."""
    import pyarrow as pa

    kind = str(series.dtype)
    if kind == "object":
        return _read_objects(series.to_numpy(), name)
    if kind == "category":
        if str(series.cat.categories.dtype) not in {"str", "string"} and not _is_plain(series.cat.categories):
            series = series.cat.rename_categories([str(category) for category in series.cat.categories])
        return pa.array(series.array, from_pandas=True)
    if kind.startswith("period"):
        series = series.dt.to_timestamp()
    if kind.startswith("Sparse") or isinstance(series.dtype, np.dtype):
        return _read_vector(np.asarray(series), name, from_pandas=True)
    return pa.array(series, from_pandas=True)


def _is_plain(categories: Any) -> bool:
    """Whether categories are all strings, or numbers or bools: not intervals, and not a mix."""
    if categories.dtype == object:
        return all(isinstance(category, str) for category in categories)
    return getattr(categories.dtype, "kind", "O") in "iufb"


def _read_vector(values: Values, name: Any, from_pandas: bool = False) -> Any:
    """A NumPy array of one dimension."""
    import pyarrow as pa

    if values.ndim != 1:
        raise InvalidDataError(f"Column {str(name)!r} must have one dimension, found an array of shape {values.shape}")
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values = np.ma.getdata(values)
    if values.dtype.kind == "c":
        raise InvalidDataError(f"Column {str(name)!r} is complex: columns of numbers must be real")
    if values.dtype.kind == "O":
        if mask is not None:
            values = values.copy()
            values[mask] = None
        return _read_objects(values, name)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    if values.dtype.kind in "mM":
        values = _in_seconds(values)
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    column = pa.array(values, mask=mask, from_pandas=from_pandas)
    return column.cast(pa.string()) if values.dtype.kind == "S" else column


def _in_seconds(values: Values) -> Values:
    """Years, months, hours, … as a unit that Arrow has."""
    unit = np.datetime_data(values.dtype)
    if unit[0] in {"s", "ms", "us", "ns"} and unit[1] == 1:
        return values
    finer = unit[0] if unit[0] in {"s", "ms", "us", "ns"} else "D" if unit[0] in "YMWD" else "s"
    if values.dtype.kind == "m" and finer == "D":
        finer = "s"
    return values.astype(f"{values.dtype.kind}8[{finer}]")


def _read_objects(values: Values, name: Any) -> Any:
    """Python objects, None, NaN, NaT and NA among them; numbers of several types become floats."""
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        floats = _as_floats(values)
        if floats is not None:
            return pa.array(floats, from_pandas=True)
        found = sorted({type(value).__name__ for value in values if value is not None and not _is_nan(value)})
        raise InvalidDataError(
            f"Column {str(name)!r} holds values of type {', '.join(found)}, which cannot be one column: "
            "make them all strings, or all numbers"
        ) from None


def _as_floats(values: Values) -> NDArray[np.float64] | None:
    out = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        if value is None or _is_nan(value):
            continue
        if isinstance(value, (str, bytes, complex, np.complexfloating)) or not hasattr(value, "__float__"):
            return None
        out[i] = float(value)
    return out


def _is_nan(value: Any) -> bool:
    return type(value).__name__ in {"NAType", "NaTType"} or (isinstance(value, (float, np.floating)) and value != value)


def _tidy(column: Any) -> Column:
    """As chunks, of a type that has no second name: views, run lengths and extensions are unpacked."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array([column])
    if isinstance(column.type, pa.BaseExtensionType):
        storage = column.type.storage_type
        return _tidy(pa.chunked_array([chunk.storage for chunk in column.chunks], type=storage))
    if pa.types.is_run_end_encoded(column.type):
        return _tidy(pa.chunked_array([pc.run_end_decode(c) for c in column.chunks], type=column.type.value_type))
    if pa.types.is_string_view(value_type(column.type)):
        plain = pa.large_string()
        if pa.types.is_dictionary(column.type):
            plain = pa.dictionary(column.type.index_type, plain, column.type.ordered)
        return column.cast(plain)
    return column
