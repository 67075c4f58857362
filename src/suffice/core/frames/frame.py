"""Named Arrow columns of equal length, and the kind of values that a column holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.errors import InvalidDataError, MismatchError
from suffice.core.frames.arrow_arrays import as_arrow, as_numpy

Column: TypeAlias = Any  # a chunked or plain array of pyarrow, which has no type hints
ArrowType: TypeAlias = Any
ColumnKind: TypeAlias = Literal["bool", "number", "text", "category", "date", "empty", "other"]
FEW_STRINGS = 4096  # distinct ones of all rows, which are read again for a slice faster than the strings of its rows


class MatrixColumns(Mapping[str, Column]):
    """Columns that are rows `place[name]` of one float64 matrix; each becomes an Arrow column when it is asked for.

    A table of a hundred thousand columns is read by its matrix, without an object for each column.
    """

    def __init__(self, place: dict[str, int], matrix: NDArray[np.float64]):
        self.place, self.matrix = place, matrix
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._made:
            import pyarrow as pa

            self._made[name] = pa.chunked_array([as_arrow(self.matrix[self.place[name]])])
        return self._made[name]

    def of_rows(self, rows: Any) -> MatrixColumns:
        """Select rows."""
        return MatrixColumns(self.place, self.matrix[:, rows])

    def row(self, name: str) -> NDArray[np.float64]:
        """Return the values of a column."""
        return self.matrix[self.place[name]]

    def __contains__(self, name: object) -> bool:
        return name in self.place

    def __iter__(self) -> Iterator[str]:
        return iter(self.place)

    def __len__(self) -> int:
        return len(self.place)


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """Columns by name, in order, each an Arrow column of `n` entries.

    Slices and selections share memory with what they were taken from.

    >>> from suffice.core.frames import as_frame
    >>> as_frame({"age": [39, 50], "job": ["clerk", None]})
    Frame(2 rows × 2 columns: age number, job text)
    """

    columns: Mapping[str, Column]
    n: int

    @property
    def matrix(self) -> MatrixColumns | None:
        """The columns as one matrix, if they came as one."""
        return self.columns if isinstance(self.columns, MatrixColumns) else None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n, len(self.columns)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.columns)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {self.kind_of(name)}" for name in self.names[:8])
        more = ", …" if len(self.columns) > 8 else ""
        colon = ": " if shown else ""
        return f"Frame({self.n} rows × {len(self.columns)} columns{colon}{shown}{more})"

    def __getitem__(self, rows: slice | ArrayLike) -> Frame:
        """Select rows by a slice, a mask or positions."""
        if self.matrix is not None:
            some = self.matrix.of_rows(rows if isinstance(rows, slice) else np.atleast_1d(_as_rows(rows)))
            return Frame(some, some.matrix.shape[1])
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.n)
            if step == 1:
                n = max(0, stop - start)
                out = Frame({name: column.slice(start, n) for name, column in self.columns.items()}, n)
                out.__dict__["_known"] = _of_slice(self.__dict__.get("_known", {}), slice(start, start + n))
                return out
        positions = np.atleast_1d(np.arange(self.n)[rows if isinstance(rows, slice) else _as_rows(rows)])
        return Frame({name: column.take(positions) for name, column in self.columns.items()}, len(positions))

    def column(self, name: str) -> Column:
        """Return one column, as Arrow holds it."""
        if name not in self.columns:
            raise InvalidDataError(f"There is no column {name!r}: the columns are {listed(self.names)}")
        return self.columns[name]

    def once(self, what: str, name: str, make: Callable[[Column], Any]) -> Any:
        """Return what is made of a column; it is made when it is first asked for, and kept."""
        known = self.__dict__.setdefault("_known", {})
        if (what, name) not in known:
            known[what, name] = make(self.column(name))
        return known[what, name]

    def select(self, names: Iterable[str]) -> Frame:
        """Select columns by name, in this order."""
        names, matrix = list(names), self.matrix
        if matrix is None or not all(name in matrix.place for name in names):
            out = Frame({name: self.column(name) for name in names}, self.n)
        else:
            out = Frame(MatrixColumns({name: matrix.place[name] for name in names}, matrix.matrix), self.n)
        out.__dict__["_known"] = self.__dict__.setdefault("_known", {})  # the columns are the same
        return out

    def drop(self, name: str) -> Frame:
        """Leave one column out."""
        self.column(name)
        return self.select(other for other in self.columns if other != name)

    def kind_of(self, name: str) -> ColumnKind:
        """Return the kind of values that a column holds: see `column_kind`."""
        return column_kind(self.column(name))

    def __getstate__(self) -> dict[str, Any]:
        """Return the table as bytes in the format of Arrow: not every library that copies objects knows Arrow's."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        whole = self.table().combine_chunks()
        with pa.ipc.new_stream(sink, whole.schema) as writer:
            writer.write_table(whole)
        return {"arrow": bytes(sink.getvalue()), "n": self.n}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import pyarrow as pa

        table = pa.ipc.open_stream(pa.py_buffer(state["arrow"])).read_all()
        columns = dict(zip(table.column_names, table.columns, strict=True))
        self.__dict__.update(columns=columns, n=state["n"])

    def table(self) -> Any:
        """Return the columns as a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.table(dict(self.columns))

    def is_selection_of(self, other: Frame) -> bool:
        """Return whether it holds columns of the same rows, because it was selected from `other`."""
        known = self.__dict__.get("_known")
        return known is not None and known is other.__dict__.get("_known")

    @classmethod
    def concat(cls, frames: Sequence[Frame]) -> Frame:
        """Concatenate the rows of several frames of the same columns."""
        if not frames:
            return cls({}, 0)
        first = frames[0]
        for i, frame in enumerate(frames[1:], start=1):
            if frame.names != first.names:
                raise MismatchError(
                    f"Frame 0 has the columns {listed(first.names)}, frame {i} has {listed(frame.names)}"
                )
        n, matrices = sum(frame.n for frame in frames), [frame.matrix for frame in frames]
        if first.matrix is not None and all(m is not None and m.place == first.matrix.place for m in matrices):
            whole = np.concatenate([m.matrix for m in matrices if m is not None], axis=1)
            return cls(MatrixColumns(first.matrix.place, whole), n)
        columns = {name: _joined(name, [frame.columns[name] for frame in frames]) for name in first.names}
        return cls(columns, n)


def _of_slice(known: Mapping[tuple[str, str], Any], rows: slice) -> dict[tuple[str, str], Any]:
    """Return what is known of columns of some rows by what is known of all rows.

    Distinct strings of all rows may be in none of these, so their codes are "wider codes".
    """
    out = {key: x[rows] for key, x in known.items() if key[0] == "numbers"}
    for (what, name), made in known.items():
        if what in ("codes", "wider codes") and len(made[1]) <= FEW_STRINGS:
            codes, found = made
            out["wider codes", name] = codes[rows], found
    return out


def _as_rows(rows: ArrayLike) -> NDArray[Any]:
    array = np.asarray(rows)
    return array.astype(np.intp) if array.size == 0 and array.dtype != bool else array


def _joined(name: str, columns: list[Column]) -> Column:
    """Concatenate columns, as the type that holds the values of all."""
    import pyarrow as pa

    types = list(dict.fromkeys(column.type for column in columns if not pa.types.is_null(column.type)))
    if len(types) > 1 and all(is_text(value_type(t)) for t in types):
        types = [pa.large_string()]
    try:
        schemas = [pa.schema([(name, t)]) for t in types or [pa.null()]]
        common = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        chunks = [chunk for column in columns for chunk in column.cast(common).chunks]
    except pa.ArrowException:
        found = ", ".join(str(t) for t in types)
        raise MismatchError(f"Column {name!r} holds {found}: no type holds all of these") from None
    return pa.chunked_array(chunks, type=common)


def listed(names: Sequence[str]) -> str:
    """List names in quotes, at most 20."""
    shown = ", ".join(repr(name) for name in names[:20])
    return (shown + (", …" if len(names) > 20 else "")) or "none"


# ----------------------------------------------------------------------------------------------- kinds


def column_kind(column: Column) -> ColumnKind:
    """Return the kind of values that a column holds.

    | kind | Arrow types |
    |---|---|
    | bool | bool |
    | number | integers, floats, decimals |
    | text | strings |
    | category | dictionaries of strings, numbers or booleans: categoricals and enums of pandas, Polars, DuckDB |
    | date | dates, timestamps, times, durations, intervals, and dictionaries of them |
    | empty | null; any type, if there are rows and all are null or NaN |
    | other | binary, lists, structs, maps, unions |
    """
    import pyarrow as pa

    if pa.types.is_null(column.type) or (len(column) and column.null_count == len(column)):
        return "empty"
    if pa.types.is_floating(column.type) and len(column) and _all_nan(column):
        return "empty"
    inner = _kind_of_type(value_type(column.type))
    if pa.types.is_dictionary(column.type) and inner in {"bool", "number", "text"}:
        return "category"
    return inner


def value_type(arrow_type: ArrowType) -> ArrowType:
    """Return the type of the values of a column, those of its dictionary if it has one."""
    import pyarrow as pa

    return arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type


def is_text(arrow_type: ArrowType) -> bool:
    """Return whether an Arrow type is a type of strings."""
    return str(arrow_type) in {"string", "large_string", "string_view"}


def _kind_of_type(arrow_type: ArrowType) -> ColumnKind:
    import pyarrow as pa

    is_a = pa.types
    if is_a.is_boolean(arrow_type):
        return "bool"
    if is_a.is_integer(arrow_type) or is_a.is_floating(arrow_type) or is_a.is_decimal(arrow_type):
        return "number"
    if is_text(arrow_type):
        return "text"
    if is_a.is_temporal(arrow_type):
        return "date"
    return "empty" if is_a.is_null(arrow_type) else "other"


def _all_nan(column: Column) -> bool:
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        for lo in range(0, len(chunk), 4096):  # in most columns the first entries have a number
            if not np.isnan(as_numpy(chunk.slice(lo, 4096))).all():
                return False
    return True


def unreadable(column: Column, name: str | None, what: str) -> InvalidDataError:
    """Make the error of a column that cannot be read as `what` because of its type."""
    whose = "The column" if name is None else f"Column {name!r}"
    return InvalidDataError(f"{whose} has the Arrow type {column.type}, which cannot be read as {what}")
