"""Rows that are not in memory: what every engine can do with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from suffice.core.errors import InvalidDataError
from suffice.core.frames import ColumnProfile, Frame, profiles
from suffice.core.statistics import ByClass
from suffice.engines.summarizing import Task
from suffice.model import storage

Question: TypeAlias = Literal["predict", "predict_proba", "predict_log_proba"]


HEAD = 10_000  # rows, which tell what the columns are
FEW = 100  # rows, where types tell it


class Source(ABC):
    """A table somewhere else: files, a stream, a data frame of Spark, Dask or Ray, a table of a database."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of its columns."""

    @abstractmethod
    def head(self, rows: int = HEAD) -> Any:
        """So many of its first rows as an Arrow table, to tell what columns are; none where `profiles` needs none."""

    def profiles(self, head: Frame) -> dict[str, ColumnProfile]:
        """A look at each column of the first rows: by default at those rows themselves."""
        return profiles(head)

    @abstractmethod
    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Summarize all rows; None where there are none."""

    @abstractmethod
    def answer(self, answer: Answer) -> Any:
        """The table as its engine has tables, lazily where it can, with the answers in columns of their own."""

    def check_column(self, name: str, what: str) -> None:
        """Refuse a column that is not there, naming the nearest."""
        if name in self.names:
            return
        near = get_close_matches(name, self.names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InvalidDataError(f"There is no column {name!r} {what}{hint} The columns are {self.names[:20]}")


@dataclass(frozen=True)
class Answer:
    """What is asked of a fitted estimator for every batch of rows; it travels as a task does."""

    estimator: bytes  # as `save` writes it
    question: Question
    names: tuple[str, ...]  # of the columns that the estimator reads

    @property
    def title(self) -> str | None:
        """What the columns of numbers are called before their class; None where only labels are asked for."""
        return {"predict_proba": "probability", "predict_log_proba": "log_probability"}.get(self.question)

    def to_bytes(self) -> bytes:
        """As it travels; what is stored are arrays, so the estimator's bytes go as one."""
        stored = {"estimator": np.frombuffer(self.estimator, np.uint8), "question": self.question, "names": self.names}
        return storage.to_bytes(stored)

    @classmethod
    def from_bytes(cls, data: bytes) -> Answer:
        """What `to_bytes` was made of."""
        stored = storage.from_bytes(data)
        return cls(stored["estimator"].tobytes(), stored["question"], stored["names"])
