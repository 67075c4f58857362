"""Facts about a column from which its family is chosen."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from suffice.core.arrays import Mask
from suffice.core.frames.columns import dictionary_codes
from suffice.core.frames.frame import ArrowType, Column, ColumnKind, Frame, MatrixColumns, column_kind, is_text
from suffice.core.frames.readings import ColumnReading, as_number, part_of, suggested

NEARLY = 0.95  # share of the texts that are one token
ONE_TOKEN = "^[!-~]+$"  # of characters that are typed, none of them a space: other scripts have words without spaces
ENOUGH = 50  # with fewer rows it cannot be judged what values have in common


class ColumnProfile:
    """Facts about an Arrow column. A subclass may have them from elsewhere, such as from a database."""

    type: ArrowType

    def __init__(self, column: Column, frame: Frame | None = None, name: str = ""):
        self.column, self.type = column, column.type
        self._frame, self._name = frame, name

    @cached_property
    def kind(self) -> ColumnKind:
        """The kind of its values."""
        return column_kind(self.column)

    @property
    def n_present(self) -> int:
        """The number of values that are not missing."""
        return len(self.column) - self.column.null_count

    @property
    def n_distinct(self) -> int:
        """The number of distinct values."""
        import pyarrow.compute as pc

        if self._frame is not None and is_text(self.type):  # it is read by its distinct values later
            return len(self._frame.once("codes", self._name, dictionary_codes)[1])
        return int(pc.count_distinct(self.column).as_py())

    @property
    def mean_length(self) -> float:
        """The mean length of texts, in characters."""
        import pyarrow.compute as pc

        return float(pc.mean(pc.utf8_length(self.column)).as_py() or 0.0)

    @property
    def is_row_number(self) -> bool:
        """Whether it only numbers the rows: it holds integers that increase by 1 from row to row."""
        if not self.is_integer or len(self.column) < ENOUGH or self.column.null_count:
            return False
        first = self.column.slice(0, ENOUGH).to_numpy()
        return bool((np.diff(first) == 1).all() and (np.diff(self.column.to_numpy()) == 1).all())

    @property
    def is_integer(self) -> bool:
        """Whether its type is one of integers."""
        import pyarrow as pa

        return bool(pa.types.is_integer(self.type))

    @property
    def is_one_token(self) -> bool:
        """Whether nearly all texts are one token, as the names of rows are: UUIDs, hashes, addresses of pages."""
        import pyarrow as pa
        import pyarrow.compute as pc

        one = pc.match_substring_regex(self.column, ONE_TOKEN)
        return float(pc.mean(one.cast(pa.float64())).as_py() or 0.0) >= NEARLY

    # ---- columns that are read from it

    def readings(self, name: str) -> tuple[ColumnReading, ...]:
        """Return the columns of numbers that a column of strings or times is best read as; none if it is as it is."""
        if self.kind not in ("text", "date"):
            return ()
        codes = None
        if self._frame is not None and is_text(self.type):
            codes = self._frame.once("codes", self._name, dictionary_codes)
        return suggested(self.column, name, codes)

    def as_number(self, name: str) -> ColumnReading | None:
        """Return how it is read as one column of numbers; None if it cannot be, or need not be."""
        return as_number(self.column, name) if self.kind in ("text", "date") else None

    def part(self, name: str, part: str) -> ColumnReading | None:
        """Return how the column `part` is read from the column `name`; None if it cannot be."""
        named = part.startswith(f"{name} ") and self.kind in ("text", "date")
        return part_of(self.column, name, part) if named else None

    def read(self, reading: ColumnReading) -> ColumnProfile:
        """Profile the column that is read from it; numbers without fractions are integers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = reading.of(self.column)
        present = pc.fill_null(column, 0.0) if column_kind(column) == "number" else None
        present = None if present is None else pc.if_else(pc.is_finite(present), present, 0.0)
        if present is None or not pc.all(pc.equal(present, pc.floor(present))).as_py():
            return ColumnProfile(column)
        missing = pc.is_null(column, nan_is_null=True)
        return ColumnProfile(pc.if_else(missing, None, column).cast(pa.int64(), safe=False))


class NumberProfile(ColumnProfile):
    """Facts about a column of a matrix of float64."""

    def __init__(self, columns: MatrixColumns, name: str, empty: bool):
        self._columns, self._name, self._frame = columns, name, None
        self.kind = "empty" if empty else "number"  # it needs no computation

    @property
    def column(self) -> Column:  # it is made when it is asked for
        """The Arrow column."""
        return self._columns[self._name]

    @property
    def type(self) -> ArrowType:  # all are of the same
        """The Arrow type."""
        import pyarrow as pa

        return pa.float64()

    is_row_number: ClassVar = False  # they are no integers
    is_integer: ClassVar = False

    def readings(self, name: str) -> tuple[ColumnReading, ...]:  # noqa: ARG002  # they are numbers
        """Return none: they are numbers."""
        return ()


def profiles(frame: Frame) -> dict[str, ColumnProfile]:
    """Profile every column of a table."""
    if frame.matrix is not None:
        missing: Mask = np.isnan(frame.matrix.matrix[:, 0])
        empty = np.asarray(np.isnan(frame.matrix.matrix).all(axis=1)) if missing.any() else missing
        return {name: NumberProfile(frame.matrix, name, bool(empty[j])) for name, j in frame.matrix.place.items()}
    return {name: ColumnProfile(column, frame, name) for name, column in frame.columns.items()}
