"""What is known of a column without learning from it: enough to tell what it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from suffice.core.frames.frame import Column, Frame, Kind, kind

ENOUGH = 50  # rows from which on it can be judged what values have in common


class Look(ABC):
    """A look at a column: of rows that are here, or as somebody describes it who has them."""

    type: Any  # of Arrow

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """What kind of values it holds."""

    @property
    @abstractmethod
    def present(self) -> int:
        """How many entries are there."""

    @property
    @abstractmethod
    def distinct(self) -> int:
        """How many of them differ."""

    @property
    @abstractmethod
    def letters(self) -> float:
        """How long texts are on average."""

    @property
    @abstractmethod
    def counts_rows(self) -> bool:
        """Whether it just numbers the rows."""

    @property
    def keeps_values(self) -> bool:
        """Whether its distinct values can be had, as families need that are more than a few numbers."""
        return True

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers by its type."""
        import pyarrow as pa

        return bool(pa.types.is_integer(self.type))


class ColumnLook(Look):
    """A look at rows of Arrow."""

    def __init__(self, column: Column):
        self.column, self.type = column, column.type

    @property
    def kind(self) -> Kind:
        """What kind of values it holds."""
        return kind(self.column)

    @property
    def present(self) -> int:
        """How many entries are there."""
        return len(self.column) - self.column.null_count

    @property
    def distinct(self) -> int:
        """How many of them differ."""
        import pyarrow.compute as pc

        return int(pc.count_distinct(self.column).as_py())

    @property
    def letters(self) -> float:
        """How long texts are on average."""
        import pyarrow.compute as pc

        return float(pc.mean(pc.utf8_length(self.column)).as_py() or 0.0)

    @property
    def counts_rows(self) -> bool:
        """Whether whole numbers go up by 1 from row to row."""
        if not self.is_whole or len(self.column) < ENOUGH or self.column.null_count:
            return False
        return bool((np.diff(self.column.to_numpy()) == 1).all())


def looks(frame: Frame) -> dict[str, Look]:
    """A look at every column of a table."""
    return {name: ColumnLook(column) for name, column in frame.columns.items()}
