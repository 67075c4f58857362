"""Rows that are not in memory: what every engine can do with them."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from suffice.core.errors import InvalidDataError, InvalidOptionError, RefusedValueError, did_you_mean
from suffice.core.frames import ColumnProfile, Frame, as_frame, profiles
from suffice.core.labels import label_list
from suffice.core.statistics import ByClass
from suffice.engines.summarizing import Task, own_families
from suffice.families import Family, KeptRows
from suffice.families.product import Product
from suffice.model import storage
from suffice.model.predictor import TITLES, Predictor, Question

HEAD = 10_000  # rows from which the kinds of columns are inferred
FEW = 100  # rows where the types of columns are enough
EXPECTED = 10  # times as many rows as the first ones are expected of an engine


class FirstRows(NamedTuple):
    """Rows that settle how pairs of columns are counted, the number of rows that are expected, and of classes."""

    kept: KeptRows
    total: float
    classes: int


class Source(ABC):
    """A table of rows: in memory, files, a stream, a data frame of Spark, Dask or Ray, a table of a database."""

    origin: Any = None  # the user's own object, where rows are in memory
    once: ClassVar[bool] = False  # whether rows can be read a single time

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

    def first_rows(self, task: Task) -> FirstRows | None:
        """Return rows that settle how pairs of columns are counted: by default the first; None if there are none."""
        frame = as_frame(self.head())
        rows = task.labelled_rows(frame) if frame.n else None
        frame = frame if rows is None else frame[rows]
        if not frame.n or not isinstance(task.family, Product):
            return None
        seen = task.summarize_frame(frame, *task.labels_in(frame), None)
        total = EXPECTED * float(seen.weight.sum())
        return FirstRows(task.family.kept_rows(seen.statistic), total, len(seen.labels))

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

    def check_divides(self) -> None:
        """Raise an error if rows without labels cannot be divided among classes, again and again."""
        if self.once:
            raise InvalidOptionError("A stream can be read once, and rows without labels are read again and again")

    def learn(self, task: Task, onto: ByClass[Any] | None = None, checkpoint: Path | None = None) -> ByClass[Any]:
        """Add the statistics of all rows to `onto`."""
        found = self.reduce(task, checkpoint)
        if found is None:
            which = "rows with a label" if task.drop_unlabelled else "rows"
            raise InvalidDataError(f"There are no {which} to learn from")
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


# ---- rows with answers appended, in Arrow


def new_columns(answer: Answer, names: Sequence[str] = ()) -> dict[str, Any]:
    """The Arrow types of the columns that are appended to a table of columns `names`."""
    import pyarrow as pa

    labels = label_list(answer.predictor.labels)
    columns = {"prediction": pa.array(labels).type}
    if answer.question != "predict":
        columns |= {f"{TITLES[answer.question]} {label}": pa.float64() for label in labels}
    for name in columns:
        if name in names:
            raise InvalidDataError(f"There is a column {name!r} already, where the answers should go: rename it")
    return columns


def append(answer: bytes | Answer, table: Any) -> Any:
    """Arrow rows with the answers in columns of their own."""
    import pyarrow as pa

    asked = Answer.from_bytes(answer) if isinstance(answer, bytes) else answer
    answers = asked.predictor.answer(asked.question, table) if table.num_rows else {}
    for name, kind in new_columns(asked).items():
        table = table.append_column(pa.field(name, kind), pa.array(answers.get(name, []), kind))
    return table


def answered(answer: Answer, schema: Any, batches: Iterable[Any]) -> Any:
    """A `pyarrow.RecordBatchReader` of the rows and their answers; a batch is read when it is asked for."""
    import pyarrow as pa

    whole = pa.schema([*schema, *(pa.field(*column) for column in new_columns(answer, schema.names).items())])

    def rows() -> Iterator[Any]:
        before = 0
        for batch in batches:
            if batch.num_rows:
                try:
                    table = append(answer, batch)
                except RefusedValueError as error:
                    raise error.shifted(before) from None
                yield pa.RecordBatch.from_arrays(table.columns, schema=whole)
            before += batch.num_rows

    return pa.RecordBatchReader.from_batches(whole, rows())
