"""What is known of a column without learning from it: enough to tell what it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from suffice.core.frames.frame import Column, ColumnKind, Frame, column_kind

ENOUGH = 50  # rows from which on it can be judged what values have in common


class ColumnProfile(ABC):
    """A look at a column: of rows that are here, or as somebody describes it who has them."""

    type: Any  # of Arrow

    @property
    @abstractmethod
    def kind(self) -> ColumnKind:
        """What kind of values it holds."""

    @property
    @abstractmethod
    def n_present(self) -> int:
        """How many entries are there."""

    @property
    @abstractmethod
    def n_distinct(self) -> int:
        """How many of them differ."""

    @property
    @abstractmethod
    def mean_length(self) -> float:
        """How long texts are on average."""

    @property
    @abstractmethod
    def is_row_number(self) -> bool:
        """Whether it just numbers the rows."""

    @property
    def keeps_values(self) -> bool:
        """Whether its distinct values can be had, as families need that are more than a few numbers."""
        return True

    @property
    def is_integer(self) -> bool:
        """Whether it holds whole numbers by its type."""
        import pyarrow as pa

        return bool(pa.types.is_integer(self.type))


class ArrowColumnProfile(ColumnProfile):
    """A look at rows of Arrow."""

    def __init__(self, column: Column):
        self.column, self.type = column, column.type

    @cached_property
    def kind(self) -> ColumnKind:
        """What kind of values it holds."""
        return column_kind(self.column)

    @property
    def n_present(self) -> int:
        """How many entries are there."""
        return len(self.column) - self.column.null_count

    @property
    def n_distinct(self) -> int:
        """How many of them differ."""
        import pyarrow.compute as pc

        return int(pc.count_distinct(self.column).as_py())

    @property
    def mean_length(self) -> float:
        """How long texts are on average."""
        import pyarrow.compute as pc

        return float(pc.mean(pc.utf8_length(self.column)).as_py() or 0.0)

    @property
    def is_row_number(self) -> bool:
        """Whether whole numbers go up by 1 from row to row."""
        if not self.is_integer or len(self.column) < ENOUGH or self.column.null_count:
            return False
        return bool((np.diff(self.column.to_numpy()) == 1).all())


def profiles(frame: Frame) -> dict[str, ColumnProfile]:
    """A look at every column of a table."""
    return {name: ArrowColumnProfile(column) for name, column in frame.columns.items()}
