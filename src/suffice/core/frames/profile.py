"""Facts about a column from which its family is chosen."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from suffice.core.frames.frame import ArrowType, Column, ColumnKind, Frame, column_kind

ENOUGH = 50  # with fewer rows it cannot be judged what values have in common


class ColumnProfile:
    """Facts about an Arrow column. A subclass may have them from elsewhere, such as from a database."""

    type: ArrowType

    def __init__(self, column: Column):
        self.column, self.type = column, column.type

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
        return bool((np.diff(self.column.to_numpy()) == 1).all())

    @property
    def is_integer(self) -> bool:
        """Whether its type is one of integers."""
        import pyarrow as pa

        return bool(pa.types.is_integer(self.type))


def profiles(frame: Frame) -> dict[str, ColumnProfile]:
    """Profile every column of a table."""
    return {name: ColumnProfile(column) for name, column in frame.columns.items()}
