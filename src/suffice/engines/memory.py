"""Rows in memory: the nearest engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suffice.core import frames
from suffice.core.arrays import Values
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import Frame
from suffice.core.frames.input import is_a
from suffice.core.labels import Labels, refuse_changed
from suffice.core.statistics import ByClass
from suffice.engines.source import HEAD, Answer, Source, append
from suffice.engines.summarizing import Task


@dataclass(frozen=True)
class Memory(Source):
    """A table, or rows that an estimator has read; with their labels, once these are known."""

    rows: Any  # a Frame, or what a family reads
    labels: Values | Labels | None = None
    weight: Any = None
    origin: Any = None  # what the table was made of

    @property
    def has_names(self) -> bool:
        """Whether the rows are a table."""
        return isinstance(self.rows, Frame)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return getattr(self.rows, "dtype", np.dtype(np.float64))

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self._frame.names

    @property
    def _frame(self) -> Frame:
        assert isinstance(self.rows, Frame), "only tables are asked for their columns"
        return self.rows

    def labelled(self, target: Any, weight: Any) -> Memory:
        """Take the columns of labels and weights, those that are named, out of the table."""
        labels, rest = target, self._frame
        if isinstance(target, str):
            self.check_column(target, "to learn")
            column = self._frame.column(target)
            if len(column) and frames.column_kind(column) == "empty":
                raise InvalidDataError(f"The target column {target!r} holds no label at all")
            labels, rest = frames.label_codes(column, target), rest.drop(target)
            given = _given(self.origin, target)
            if given is not None:
                refuse_changed(given, labels.each, target)
        if isinstance(weight, str):
            self.check_column(weight, "of weights")
            rest = rest.drop(weight) if weight in rest.columns else rest
            weight = frames.weights(self._frame.column(weight), weight)
        return Memory(rest, labels, weight, self.origin)

    def head(self, rows: int = HEAD) -> Frame:  # noqa: ARG002  # all are at hand
        """All rows."""
        return self._frame

    def learn(self, task: Task, onto: ByClass[Any] | None = None, checkpoint: Path | None = None) -> ByClass[Any]:
        """Add the statistics of all rows to `onto`."""
        if checkpoint is not None:
            raise InvalidOptionError("checkpoint is for rows that come from files: these are in memory already")
        if not isinstance(self.rows, Frame):
            return task.family.summarize(self.rows, self.labels, self.weight, onto)
        assert self.labels is not None, "rows are learned with their labels"
        if not self.rows.n:
            raise InvalidDataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return task.summarize_frame(self.rows, self.labels, self.weight, onto)

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any]:
        """Summarize all rows."""
        return self.learn(task, None, checkpoint)

    def answer(self, answer: Answer) -> Any:
        """Return the table with the answers in columns of their own."""
        return append(answer, self._frame.table())


def _given(origin: Any, name: str) -> list[Any] | None:
    """Return the objects of a column as the user passed them, unless all are strings; None if it held no objects."""
    if isinstance(origin, (list, tuple)):
        column: Any = [row.get(name) for row in origin] if all(isinstance(row, Mapping) for row in origin) else None
    elif isinstance(origin, Mapping) or is_a(origin, "pandas.DataFrame"):
        column = origin[next(key for key in origin if str(key) == name)]  # names need not be strings
    else:
        column = None
    typed = str(getattr(column, "dtype", "object"))
    if column is None or not (typed in ("object", "category") or typed.startswith("|S")):
        return None
    listed = list(column)
    return None if all(type(each) is str for each in listed) else listed
