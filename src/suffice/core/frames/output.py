"""Return columns as the type of table that was passed in, with the types of its columns where the values fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import as_objects, as_strings
from suffice.core.frames.frame import Column, Frame, is_text, value_type
from suffice.core.frames.input import as_frame, is_a, is_in_memory
from suffice.core.labels import label_list

Table: TypeAlias = Any  # a table of any type that `as_frame` reads


def table_like(columns: Frame | Mapping[str, Any], source: Table) -> Table:
    """Return `columns`, arrays or Arrow columns by name, as a table of the type of `source`.

    A column that `source` has keeps its type there if every value fits: numbers are integers again if all are integers,
    categoricals keep their categories if all values are among them, and so on. A pandas frame keeps its index if the
    number of rows is the same. A list gives a list, of records or of rows; a lazy frame gives a data frame; streams,
    relations and everything else with an Arrow interface give an Arrow table.

    >>> table_like({"x": np.array([1.0, 2.0])}, {"x": [7, 8, 9]})
    {'x': [1, 2]}
    """
    values = columns if isinstance(columns, Frame) else as_frame(dict(columns))
    types = _types(source)
    fitted = {name: _fit(column, types.get(name)) for name, column in values.columns.items()}
    if isinstance(source, Frame):
        return Frame(fitted, values.n)
    if is_a(source, "pandas.DataFrame"):
        return _as_pandas(fitted, values.n, source)
    if is_a(source, "polars.DataFrame", "polars.LazyFrame"):
        import polars as pl

        schema = source.collect_schema()
        return pl.DataFrame([_polars_series(name, column, schema.get(name)) for name, column in fitted.items()])
    if isinstance(source, Mapping):
        own = {str(name): column for name, column in source.items()}
        names = {str(name): name for name in source}
        return {names.get(name, name): _column_like(column, own.get(name)) for name, column in fitted.items()}
    if isinstance(source, (list, tuple)):
        return _as_rows(fitted, values.n, source)
    if isinstance(source, np.ndarray):
        return _as_array(fitted, values.n, source)
    import pyarrow as pa

    if is_a(source, "pyarrow.RecordBatch"):
        return pa.record_batch({name: column.combine_chunks() for name, column in fitted.items()})
    return pa.table(fitted)


def prototype(source: Table) -> Table:
    """Return a table of the type of `source` with at most one row: all that `table_like` needs, without its memory."""
    import pyarrow as pa

    if isinstance(source, Mapping):
        return {name: _first_row(column, lambda other: np.array(other[:1])) for name, column in source.items()}
    return _first_row(source, lambda _: pa.table(_types(source)))


def _first_row(x: Any, otherwise: Callable[[Any], Any]) -> Any:
    """Return at most one row of a table or entry of a column; `otherwise` makes it for any other type."""
    import pyarrow as pa

    if isinstance(x, (list, tuple)):
        return x[:1]
    if is_a(x, "pandas.DataFrame", "pandas.Series"):
        return x.iloc[:1].copy()
    if is_a(x, "polars.DataFrame", "polars.LazyFrame", "polars.Series"):
        return x.clear()
    if is_a(x, "pyarrow.Table", "pyarrow.RecordBatch", "pyarrow.ChunkedArray", "pyarrow.Array"):
        try:
            return x.take([0][: len(x)])
        except pa.ArrowNotImplementedError:  # of views and run lengths, which have no categories to keep
            return x.slice(0, 0)
    return x[:1].copy() if isinstance(x, np.ndarray) else otherwise(x)


def _types(source: Table) -> dict[str, Column]:
    """Return the columns of `source` for their types and categories; of a stream, which can be read once, no rows."""
    import pyarrow as pa

    if is_a(source, "polars.LazyFrame") or is_a(source, "duckdb.DuckDBPyRelation"):
        source = source.limit(0)
    elif is_a(source, "pyarrow.RecordBatchReader"):
        source = pa.table({f.name: pa.chunked_array([], type=f.type) for f in source.schema})
    elif hasattr(source, "__arrow_c_stream__") and not is_in_memory(source):
        return {}
    return dict(as_frame(source).columns)


# ----------------------------------------------------------------------------------- types that still fit


def _fit(column: Column, model: Column | None) -> Column:
    """Convert values to the type of `model`; return them as they are if one does not fit."""
    import pyarrow as pa

    if model is None or column.type == model.type or pa.types.is_null(model.type):
        return column
    try:
        if pa.types.is_dictionary(model.type):
            return _fit_categories(column, model)
        return _fit_type(column, model.type)
    except pa.ArrowException:
        return column


def _fit_type(column: Column, wanted: Any) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_text(column.type) != is_text(wanted):
        return column
    if pa.types.is_floating(column.type) and not pa.types.is_floating(wanted):  # only floats have NaN
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    found = column.cast(wanted)
    if pa.types.is_boolean(wanted) or pa.types.is_decimal(wanted):  # Arrow rounds to these without an error
        back = found.cast(column.type)
        if not pc.all(pc.equal(back, column), min_count=0).as_py():
            return column
    return found


def _fit_categories(column: Column, model: Column) -> Column:
    """Encode values by the dictionary of `model`, or by a new one where that is empty, as in a stream."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = _fit_type(column, value_type(model.type))
    if plain.type != value_type(model.type):
        return column
    known = model.unify_dictionaries().chunk(0).dictionary if model.num_chunks else ()
    if not len(known):
        known = plain.unique().drop_null()
    places = [pc.index_in(chunk, value_set=known) for chunk in plain.chunks]
    if sum(place.null_count for place in places) != plain.null_count:
        return column
    ordered = model.type.ordered
    chunks = [pa.DictionaryArray.from_arrays(p.cast(model.type.index_type), known, ordered=ordered) for p in places]
    return pa.chunked_array(chunks, type=model.type)


# -------------------------------------------------------------------------------------- types of tables


def _as_pandas(columns: dict[str, Column], n: int, source: Table) -> Table:
    import pandas as pd

    index = source.index if len(source) == n else pd.RangeIndex(n)
    known = {str(name): (name, source.iloc[:0, j]) for j, name in enumerate(source.columns)}
    names, own = zip(*(known.get(name, (name, None)) for name in columns), strict=True) if columns else ((), ())
    data = [_series(column, like, index) for column, like in zip(columns.values(), own, strict=True)]
    frame = pd.concat(data, axis=1) if data else pd.DataFrame(index=index)
    frame.columns = pd.Index(list(names), dtype=None if data else object)
    return frame


def _series(column: Column, own: Any, index: Any) -> Any:
    """Make a pandas Series of the type of `own`, which is None if the source does not have the column."""
    import pandas as pd

    dtype = None if own is None else own.dtype
    if str(dtype) == "object":
        return pd.Series(column.to_pylist(), index=index, dtype=object)
    if isinstance(dtype, pd.CategoricalDtype):
        return _categorical(column, dtype, index)
    would_be_strings = isinstance(dtype, pd.StringDtype) and not is_text(column.type)
    if dtype is not None and hasattr(dtype, "__from_arrow__") and not would_be_strings:
        try:
            return pd.Series(dtype.__from_arrow__(column), index=index)
        except (TypeError, ValueError, NotImplementedError):
            pass  # the values do not fit: pandas chooses a type
    series = column.to_pandas()
    series.index = index
    if dtype is not None and dtype.kind in "mMf" and series.dtype.kind == dtype.kind:
        series = series.astype(dtype)
    return series


def _categorical(column: Column, dtype: Any, index: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return pd.Series(column.to_pandas().to_numpy(), index=index)
    column = column.unify_dictionaries()
    parts = [np.asarray(chunk.indices.cast(pa.int64()).fill_null(-1)) for chunk in column.chunks]
    codes = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), index=index)


def _polars_series(name: str, column: Column, dtype: Any) -> Any:
    import polars as pl

    series = pl.Series(name, column)
    if dtype in (pl.Categorical, pl.Enum) and series.dtype in (pl.String, pl.Categorical, pl.Enum):
        cast = series.cast(pl.String).cast(dtype, strict=False)
        return cast if cast.null_count() == series.null_count() else series
    return series


def _column_like(column: Column, own: Any) -> Any:
    """Convert one column of a mapping to the type of the column `own` that it had."""
    if isinstance(own, (list, tuple)):
        return column.to_pylist()
    if is_a(own, "pandas.Series"):
        import pandas as pd

        same = len(own) == len(column)
        return _series(column, own.iloc[:0], own.index if same else pd.RangeIndex(len(column))).rename(own.name)
    if is_a(own, "polars.Series"):
        return _polars_series(own.name, column, own.dtype)
    if is_a(own, "pyarrow.ChunkedArray"):
        return column
    if is_a(own, "pyarrow.Array"):
        return column.combine_chunks()
    array = _as_vector(column, own.dtype if isinstance(own, np.ndarray) else None)
    if isinstance(own, np.ma.MaskedArray):
        return np.ma.MaskedArray(array, mask=np.asarray(column.is_null(nan_is_null=True)))
    return array


def _as_vector(column: Column, dtype: Any = None) -> NDArray[Any]:
    """Make a NumPy array, of the given type if that can hold the values; missing ones are NaN, NaT or None."""
    import pyarrow as pa

    if dtype is not None and dtype.kind == "O":
        out = np.empty(len(column), dtype=object)
        out[:] = column.to_pylist()
        return out
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    array = np.asarray(column.to_numpy())
    if is_text(column.type) and not column.null_count:
        return as_strings(array.tolist())
    if dtype is not None and array.dtype != dtype and dtype.kind == array.dtype.kind and dtype.kind in "iufbmM":
        array = array.astype(dtype)
    return array


def _as_rows(columns: dict[str, Column], n: int, source: Sequence[Any]) -> list[Any]:
    lists = [column.to_pylist() for column in columns.values()]
    rows = list(zip(*lists, strict=True)) if lists else [()] * n
    if len(source) and isinstance(source[0], Mapping):
        return [dict(zip(columns, row, strict=True)) for row in rows]
    return rows if len(source) and isinstance(source[0], tuple) else [list(row) for row in rows]


def _as_array(columns: dict[str, Column], n: int, source: NDArray[Any]) -> NDArray[Any]:
    if source.dtype.names is not None:
        vectors = {
            name: _as_vector(column, source.dtype[name] if name in source.dtype.names else None)
            for name, column in columns.items()
        }
        out = np.empty(n, dtype=[(name, vector.dtype) for name, vector in vectors.items()])
        for name, vector in vectors.items():
            out[name] = vector
        return out
    matrix = np.empty((n, len(columns)), dtype=source.dtype)
    parts = [_as_vector(column, source.dtype) for column in columns.values()]
    if parts:
        kinds = {"number" if part.dtype.kind in "iuf" else part.dtype.kind for part in parts}
        # One NumPy type holds columns of one kind without changing values.
        matrix = np.stack(parts if len(kinds) == 1 else [as_objects(label_list(part)) for part in parts], axis=1)
    if not isinstance(source, np.ma.MaskedArray):
        return matrix
    missing = np.array([np.asarray(column.is_null(nan_is_null=True)) for column in columns.values()], dtype=bool)
    return np.ma.MaskedArray(matrix, mask=missing.reshape(len(columns), n).T)
