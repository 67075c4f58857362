"""Rows that are not in memory: what every engine can do with them."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from suffice.core.errors import InvalidDataError
from suffice.core.frames import ColumnProfile, Frame, profiles
from suffice.core.statistics import ByClass
from suffice.core.suggestions import did_you_mean
from suffice.engines.summarizing import Task, own_families
from suffice.families import Family
from suffice.model import storage
from suffice.model.predictor import Predictor
from suffice.model.predictor import Question as Question

HEAD = 10_000  # rows from which the kinds of columns are inferred
FEW = 100  # rows where the types of columns are enough


class Source(ABC):
    """A table of rows: in memory, files, a stream, a data frame of Spark, Dask or Ray, a table of a database."""

    most_values: ClassVar[int | None] = 5000  # distinct values of a column to keep for each class; the rows may be many
    origin: Any = None  # the user's own object, where rows are in memory

    @property
    def has_names(self) -> bool:
        """Whether columns are found by name: not those of an array that an estimator has read."""
        return True

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return np.dtype(np.float64)

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of its columns."""

    @abstractmethod
    def head(self, rows: int = HEAD) -> Any:
        """Return the first rows as an Arrow table, to infer what columns are; none where `profiles` needs none."""

    def profiles(self, head: Frame) -> dict[str, ColumnProfile]:
        """Return a profile of each column, by default that of its first rows."""
        return profiles(head)

    def labelled(self, target: Any, weight: Any) -> Source:
        """Return the rows with their labels and weights: here, the names of columns, which must be there."""
        for name, what in ((target, "y"), (weight, "sample_weight")):
            if not isinstance(name, str) and not (name is None and what == "sample_weight"):
                raise InvalidDataError(
                    f"Of rows that are not in memory, {what} is the name of a column; found {reprlib.repr(name)}"
                )
        self.check_column(target, "to learn")
        if weight is not None:
            self.check_column(weight, "of weights")
        return self

    def learn(self, task: Task, onto: ByClass[Any] | None = None, checkpoint: Path | None = None) -> ByClass[Any]:
        """Add the statistics of all rows to `onto`."""
        found = self.reduce(task, checkpoint)
        if found is None:
            raise InvalidDataError("There are no rows to learn from")
        return found if onto is None else onto + found

    @abstractmethod
    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Summarize all rows; return None if there are none."""

    @abstractmethod
    def answer(self, answer: Answer) -> Any:
        """Return the engine's own kind of table with the answers as further columns, lazily where the engine can."""

    def check_column(self, name: str, what: str) -> None:
        """Refuse a column that does not exist, naming the most similar one."""
        if name in self.names:
            return
        hint = did_you_mean(name, self.names)
        raise InvalidDataError(f"There is no column {name!r} {what}. {hint}The columns are {self.names[:20]}")


@storage.storable
@dataclass(frozen=True)
class Answer:
    """What is asked of a predictor for every batch of rows. It travels as a task does."""

    predictor: Predictor
    question: Question

    @property
    def families(self) -> tuple[type[Family[Any]], ...]:
        """The classes of families that are not the library's own: see `own_families`."""
        return own_families(self.predictor.learned.family)

    def to_bytes(self) -> bytes:
        """As it travels."""
        return storage.to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Answer:
        """What `to_bytes` was made of; a worker makes it, and the model in it, once for all of its batches."""
        return _received(data)


@lru_cache(maxsize=2)
def _received(data: bytes) -> Answer:
    found: Answer = storage.from_bytes(data)
    return found
