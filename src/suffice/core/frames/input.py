"""Read tables of any type as a `Frame`, without importing libraries that the caller does not use."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time, timedelta
from itertools import chain
from numbers import Number
from typing import Any, TypeAlias
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Values, as_objects, is_sparse
from suffice.core.errors import InvalidDataError, SufficeError
from suffice.core.frames.arrow_arrays import as_numpy
from suffice.core.frames.frame import ArrowType, Column, Frame, MatrixColumns
from suffice.core.parallel import in_threads

ArrowTable: TypeAlias = Any  # a table or batch of pyarrow
PandasSeries: TypeAlias = Any  # or an index

MOST_NESTED = 64  # lists within lists
CACHED = 1 << 14  # entries that are transposed together
MANY_COLUMNS = 256  # from which on a table of numbers is read as one matrix, if there are no more rows than columns
TURNED = 8  # of such parts that a thread takes at a time

_READ: WeakSet[Any] = WeakSet()  # a reader of Arrow that is read again gives no rows and no error


def as_frame(x: Any, names: Iterable[str] | None = None) -> Frame:
    """Read a table as named Arrow columns, copying only what Arrow holds in another form.

    `x` may be a data frame of pandas (its index is not read) or Polars (a lazy one is collected), a table, batch or
    stream of Arrow, a DuckDB relation, anything else with an Arrow C interface, a mapping of names to columns, a NumPy
    array of two dimensions or of records, or a list of records or of rows. Names are converted to strings, 0 to "0";
    columns without names are x0, x1, …. `names` replaces all names.

    A stream can be read once; passing it again is an error. (A stream that was read elsewhere looks like one without
    rows: Arrow does not distinguish them.)

    >>> as_frame(np.array([[1.0, 2.0], [3.0, 4.0]]))
    Frame(2 rows × 2 columns: x0 number, x1 number)
    """
    frame = x if isinstance(x, Frame) else _read(x)
    if names is None:
        return frame
    names = [str(name) for name in names]
    if len(names) != len(frame.columns):
        raise InvalidDataError(f"{len(names)} names were given for {len(frame.columns)} columns")
    if frame.matrix is not None and len(set(names)) == len(names):
        at = frame.matrix.place.values()
        return Frame(MatrixColumns(dict(zip(names, at, strict=True)), frame.matrix.matrix), frame.n)
    return _frame(names, list(frame.columns.values()), frame.n)


def taken(x: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a table, matrix, column or list, in a type of its own."""
    if hasattr(x, "iloc"):
        return x.iloc[rows]
    if isinstance(x, (list, tuple)):
        return [x[i] for i in rows]
    if isinstance(x, np.ndarray) or is_sparse(x) or is_a(x, "polars.DataFrame", "polars.Series"):
        return (x.tocsr() if is_sparse(x) else x)[rows]
    if is_a(x, "pyarrow.Table", "pyarrow.RecordBatch", "pyarrow.Array", "pyarrow.ChunkedArray"):
        return x.take(rows)
    return as_frame(x)[rows].table()


def is_a(x: object, *classes: str) -> bool:
    """Return whether `x` is an instance of one of the classes, such as "pandas.DataFrame", without importing them."""
    for module, _, name in (path.rpartition(".") for path in classes):
        cls = getattr(sys.modules.get(module), name, None)
        if cls is not None and isinstance(x, cls):
            return True
    return False


def is_in_memory(x: object) -> bool:
    """Return whether `x` is a data frame or an Arrow table, with all rows in memory."""
    return is_a(x, "pandas.DataFrame", "polars.DataFrame", "pyarrow.Table", "pyarrow.RecordBatch")


def was_read(x: object) -> bool:
    """Return whether `x` is an Arrow stream that was read before."""
    return is_a(x, "pyarrow.RecordBatchReader") and x in _READ


def mark_read(x: object) -> None:
    """Mark an Arrow stream as read, so that reading it again is an error."""
    if is_a(x, "pyarrow.RecordBatchReader"):
        _READ.add(x)


def _read(x: Any) -> Frame:
    if is_sparse(x):
        raise InvalidDataError(
            "A sparse matrix has no columns of their own types: pass it to an estimator of suffice.naive_bayes, "
            "or as x.toarray() if it is small"
        )
    if is_a(x, "pandas.DataFrame"):
        if _is_wide(*x.shape) and (x.dtypes == np.float64).all():
            return _frame_of_matrix(x.columns, _transposed(x.to_numpy()))
        return _frame(x.columns, [as_column(x.iloc[:, j], x.columns[j]) for j in range(x.shape[1])], len(x))
    if is_a(x, "polars.LazyFrame"):
        x = x.collect()
    if is_a(x, "polars.DataFrame"):  # to_arrow gives types that every version of Arrow knows
        return _frame_of_arrow(x.to_arrow())
    if is_a(x, "pyarrow.Table", "pyarrow.RecordBatch"):
        return _frame_of_arrow(x)
    if hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__") or is_a(x, "duckdb.DuckDBPyRelation"):
        return _frame_of_arrow(_read_arrow(x))
    if isinstance(x, Mapping):
        if x and all(map(_is_entry, x.values())):  # one row
            return _read_rows([x])
        return _frame(x, [as_column(values, name) for name, values in x.items()])
    if isinstance(x, (list, tuple)):
        return _read_rows(x)
    if not isinstance(x, np.ndarray) and hasattr(x, "__array__"):
        x = np.asarray(x)
    if isinstance(x, np.ndarray):
        return _read_array(x)
    advice = ": read the file first, if it is the name of one" if isinstance(x, (str, os.PathLike)) else ""
    raise InvalidDataError(f"Expected a table of rows and columns, found {_described(x)}{advice}")


ENTRIES = (str, bytes, Number, np.generic, date, time, timedelta)


def _is_entry(value: object) -> bool:
    """Return whether this is an entry of one row, and not a column."""
    return value is None or isinstance(value, ENTRIES) or type(value).__name__ in {"NAType", "NaTType"}


def _described(x: object) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


# --------------------------------------------------------------------------------------------- frames


def _frame(names: Iterable[Any], columns: list[Column], n: int | None = None) -> Frame:
    """Make a frame; raise an error if names repeat or columns differ in length."""
    held: dict[str, Column] = {}
    for name, column in zip(map(str, names), columns, strict=True):
        if name in held:
            raise InvalidDataError(f"Two columns are named {name!r}: rename one of them")
        held[name] = column
    lengths = {name: len(column) for name, column in held.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InvalidDataError(f"All columns must have equally many rows: {found}")
    return Frame(held, next(iter(lengths.values()), n or 0))


def _is_wide(rows: int, columns: int) -> bool:
    """Return whether a table has so many columns, and so few rows, that a copy costs less than an object for each."""
    return columns >= max(MANY_COLUMNS, rows)


def _frame_of_matrix(names: Iterable[Any], matrix: NDArray[np.float64]) -> Frame:
    """Make a frame of columns that are the rows of a matrix."""
    place = {str(name): j for j, name in enumerate(names)}
    if len(place) < len(matrix):
        return _frame(names, list(matrix))  # which says what is named twice
    return Frame(MatrixColumns(place, matrix), matrix.shape[1])


def _frame_of_arrow(table: ArrowTable) -> Frame:
    import pyarrow as pa

    if _is_wide(table.num_rows, table.num_columns) and set(table.schema.types) == {pa.float64()}:
        matrix = np.empty((table.num_columns, table.num_rows))
        for row, column in zip(matrix, table.columns, strict=True):
            row[:] = as_numpy(column)
        return _frame_of_matrix(table.schema.names, matrix)
    return _frame(table.schema.names, [_tidy(column) for column in table.columns], table.num_rows)


def _read_arrow(x: Any) -> ArrowTable:
    """Read all of an Arrow stream as a table."""
    import pyarrow as pa

    reader = is_a(x, "pyarrow.RecordBatchReader")
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
    """Read records, some of which may lack names, or rows of equal length."""
    records = [isinstance(row, Mapping) for row in rows]
    if any(records):
        if not all(records):
            at = records.index(not records[0])
            found = f"Row 0 is {_described(rows[0])}, row {at} is {_described(rows[at])}"
            raise InvalidDataError(f"{found}: pass only records or only lists")
        names = list(dict.fromkeys(name for row in rows for name in row))
        return _frame(names, [as_column([row.get(name) for row in rows], name) for name in names], len(rows))
    for i, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not (isinstance(row, (Sequence, np.ndarray))):
            raise InvalidDataError(f"Expected rows that each hold several entries, found {_described(row)} in row {i}")
        if len(row) != len(rows[0]):
            raise InvalidDataError(f"Row 0 has {len(rows[0])} entries, row {i} has {len(row)}: they must be equal")
    width = len(rows[0]) if rows else 0
    return _unnamed([[row[j] for row in rows] for j in range(width)], len(rows))


def _unnamed(columns: Sequence[Any], n: int) -> Frame:
    """Make a frame of columns without names: x0, x1, …."""
    names = [f"x{j}" for j in range(len(columns))]
    return _frame(names, list(map(as_column, columns, names)), n)


def _read_array(x: NDArray[Any]) -> Frame:
    if x.dtype.names is not None and x.ndim == 1:
        return _frame(x.dtype.names, [as_column(x[name], name) for name in x.dtype.names], len(x))
    if x.ndim != 2:
        raise InvalidDataError(f"Expected a table of rows and columns, found an array of shape {x.shape}")
    x = x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    if x.dtype == np.float64 and x.dtype.isnative and x.size and not isinstance(x, np.ma.MaskedArray):
        return _frame_of_matrix((f"x{j}" for j in range(x.shape[1])), _transposed(x))
    return _unnamed([x[:, j] for j in range(x.shape[1])], len(x))


def _transposed(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns of a matrix as contiguous rows; a copy is made a few rows at a time, in the cache."""
    if x.T.flags.c_contiguous:
        return x.T
    out = np.empty(x.shape[::-1])
    step = max(1, CACHED // x.shape[1])

    def turn(begin: int) -> None:
        for lo in range(begin, min(begin + TURNED * step, len(x)), step):
            out[:, lo : lo + step] = x[lo : lo + step].T

    in_threads(turn, range(0, len(x), TURNED * step), x.size)
    return out


# -------------------------------------------------------------------------------------------- columns


def as_column(values: Any, name: object) -> Column:
    """Convert a list, array, Series or Arrow array to an Arrow column."""
    import pyarrow as pa

    try:
        if is_a(values, "pandas.Index", "pandas.api.extensions.ExtensionArray"):
            values = sys.modules["pandas"].Series(values)
        if is_a(values, "pandas.Series"):
            return _tidy(_read_series(values, name))
        if is_a(values, "polars.Series"):
            return _tidy(values.to_arrow())
        if hasattr(values, "__arrow_c_stream__"):
            return _tidy(values if is_a(values, "pyarrow.ChunkedArray") else pa.chunked_array(values))
        if hasattr(values, "__arrow_c_array__"):
            return _tidy(pa.array(values))
        if isinstance(values, (list, tuple, range)):
            return _tidy(_read_objects(as_objects(values), name))
        if hasattr(values, "__array__") and np.ndim(values) > 0:
            return _tidy(_read_vector(values if isinstance(values, np.ndarray) else np.asarray(values), name))
    except SufficeError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        found = getattr(values, "dtype", _described(values))
        raise InvalidDataError(f"Column {str(name)!r} ({found}) cannot be read as an Arrow column: {error}") from error
    raise InvalidDataError(f"Column {str(name)!r} must be a list or an array, found {_described(values)}")


def _read_series(series: PandasSeries, name: object) -> Column:
    """Convert a column of pandas; NaN, NaT, None and NA are missing."""
    import pyarrow as pa

    dtype = str(series.dtype)
    if dtype == "object":
        return _read_objects(series.to_numpy(), name)
    if dtype == "category":
        if str(series.cat.categories.dtype) not in {"str", "string"} and not _is_plain(series.cat.categories):
            series = series.cat.rename_categories([str(category) for category in series.cat.categories])
        return pa.array(series.array, from_pandas=True)
    if dtype.startswith("period"):
        series = series.dt.to_timestamp()
    if dtype.startswith("Sparse") or isinstance(series.dtype, np.dtype):
        return _read_vector(np.asarray(series), name, from_pandas=True)
    return pa.array(series, from_pandas=True)


def _is_plain(categories: PandasSeries) -> bool:
    """Return whether categories are all strings, or all numbers or booleans; not intervals, and not a mix."""
    if categories.dtype == object:
        return all(isinstance(category, str) for category in categories)
    return getattr(categories.dtype, "kind", "O") in "iufb"


def _read_vector(values: Values, name: object, from_pandas: bool = False) -> Column:
    """Convert a NumPy array of one dimension."""
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
    """Convert years, months, hours, … to a unit that Arrow has."""
    unit = np.datetime_data(values.dtype)
    if unit[0] in {"s", "ms", "us", "ns"} and unit[1] == 1:
        return values
    finer = unit[0] if unit[0] in {"s", "ms", "us", "ns"} else "D" if unit[0] in "YMWD" else "s"
    if values.dtype.kind == "m" and finer == "D":
        finer = "s"
    return values.astype(f"{values.dtype.kind}8[{finer}]")


def _read_objects(values: Values, name: object) -> Column:
    """Convert Python objects; None, NaN, NaT and NA are missing, and numbers of several types become floats."""
    import pyarrow as pa

    refuse_hazards(values, name)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        floats = _as_floats(values)
        if floats is not None:
            return pa.array(floats, from_pandas=True)
        _refuse_half_characters(values, name)
        raise _mixed(values, name) from None


def _refuse_half_characters(values: Values, name: object) -> None:
    """Refuse a string with half of a character, a surrogate, which no file and no table of Arrow can hold."""
    for row, value in enumerate(values):
        bad = re.search("[\ud800-\udfff]", value) if isinstance(value, str) else None
        if bad is not None:
            raise InvalidDataError(
                f"Row {row} of column {str(name)!r} holds {bad[0]!r}, half of a character, which is no text: read the "
                "text with the encoding that it was written in, or replace the character"
            )


def _mixed(values: Iterable[Any], name: object) -> InvalidDataError:
    found = sorted({type(value).__name__ for value in values if value is not None and not _is_nan(value)})
    return InvalidDataError(
        f"Column {str(name)!r} holds values of type {', '.join(found)}, which cannot be one column: "
        "make them all strings, or all numbers"
    )


def refuse_hazards(values: Iterable[Any], name: object) -> None:
    """Refuse objects on which Arrow ends the process, or which it changes: times of NumPy among numbers, deep nests."""
    for _ in range(MOST_NESTED):
        types = set(map(type, values))
        times = {t for t in types if issubclass(t, (np.datetime64, np.timedelta64))}
        if len(times) > 1 or any(issubclass(t, np.complexfloating) for t in types):
            raise _mixed(values, name)
        if times and any(issubclass(t, np.generic) for t in types - times):
            raise _mixed(values, name)
        if times and any(isinstance(value, (int, float)) and not _is_nan(value) for value in values):
            raise _mixed(values, name)  # Arrow would count a time as the number of its units
        if not any(issubclass(t, (list, tuple, dict, np.ndarray)) for t in types):
            return
        nests = {id(v): v for v in values if isinstance(v, (list, tuple, dict, np.ndarray))}  # each is looked at once
        inside = (v.values() if isinstance(v, dict) else v for v in nests.values() if _holds_objects(v))
        values = list(chain.from_iterable(inside))
    raise InvalidDataError(f"Column {str(name)!r} holds lists within lists, deeper than {MOST_NESTED}: flatten them")


def _holds_objects(nest: Any) -> bool:
    return nest.dtype.kind == "O" and nest.ndim > 0 if isinstance(nest, np.ndarray) else True


NOT_NUMBERS = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)


def _as_floats(values: Values) -> NDArray[np.float64] | None:
    out = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        if value is None or _is_nan(value):
            continue
        if isinstance(value, NOT_NUMBERS) or not hasattr(value, "__float__"):
            return None
        out[i] = float(value)
    return out


def _is_nan(value: object) -> bool:
    return type(value).__name__ in {"NAType", "NaTType"} or (isinstance(value, (float, np.floating)) and value != value)


def _tidy(column: Column) -> Column:
    """Return a chunked array of a type for which Arrow has all functions that are used here.

    Extension types become the type that they are stored as, run lengths are spelled out, and half floats, views and
    dictionaries of such values become plain ones.
    """
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array([column])
    held = column.type
    if isinstance(held, pa.BaseExtensionType):
        return _tidy(pa.chunked_array([chunk.storage for chunk in column.chunks], type=held.storage_type))
    if pa.types.is_run_end_encoded(held):
        return _tidy(pa.chunked_array([_each_row(runs) for runs in column.chunks], type=held.value_type))
    if pa.types.is_dictionary(held):
        return column if _plain_type(held.value_type) is None else _tidy_dictionary(column)
    plain = _plain_type(held)
    return column if plain is None else column.cast(plain)


def _plain_type(held: ArrowType) -> ArrowType | None:
    """Return the type to which a column is converted; None if it is as it should be."""
    import pyarrow as pa

    if isinstance(held, pa.BaseExtensionType):
        return _plain_type(held.storage_type) or held.storage_type
    if pa.types.is_run_end_encoded(held) or pa.types.is_dictionary(held):
        return _plain_type(held.value_type) or held.value_type
    others = {pa.float16(): pa.float32(), pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return others.get(held)


def _each_row(runs: Column) -> Column:
    """Return an array of run lengths as one value for each row; Arrow itself decodes fewer types than it takes."""
    rows = np.arange(runs.offset, runs.offset + len(runs))
    return runs.values.take(np.searchsorted(runs.run_ends, rows, side="right"))


def _tidy_dictionary(column: Column) -> Column:
    """Return a column whose dictionary is of a plain type: of dictionaries of dictionaries, the inner one."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type.value_type):
        inner = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
        return _tidy(pa.chunked_array(inner, type=column.type.value_type))
    plain = pa.dictionary(column.type.index_type, _plain_type(column.type.value_type), column.type.ordered)
    chunks = []
    for chunk in column.chunks:
        values = _tidy(chunk.dictionary).combine_chunks()
        chunks.append(pa.DictionaryArray.from_arrays(chunk.indices, values, ordered=column.type.ordered))
    return pa.chunked_array(chunks, type=plain)
