"""Rows that were learned one at a time and wait to be counted."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from suffice import engines
from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError
from suffice.core.frames import as_frame
from suffice.core.labels import label_list, read_labels
from suffice.core.statistics import ByClass
from suffice.estimators._answering import Answering
from suffice.model.learned import Learned

WAITING = 8  # rows wait until they are more than one in so many
MOST_WAITING = 1 << 16
NUMBER = (Real, np.bool_)
LABELS = frozenset((str, int, bool))  # types of labels that are known at sight


class Stream:
    """Rows that were learned one at a time and are not counted yet, and the estimator that answers about single rows.

    All of it belongs to `onto`: where an estimator holds something else, it has learned otherwise since.
    """

    def __init__(self, onto: Learned | None, first: bool = False) -> None:
        self.onto = onto
        self.rows: list[Any] = []
        self.labels: list[Any] = []
        self.weights: list[float] = []
        self.weight = 0.0  # of the rows that wait
        self.size = 0  # of texts that wait, in characters
        self.total = 0.0 if onto is None else float(onto.seen.weight.sum())
        self.known = {} if onto is None else {y: type(y) for y in label_list(onto.seen.labels) if type(y) in LABELS}
        self.kinds: dict[str, type] = {}  # of the values of columns
        self.first: list[tuple[Any, Any, float]] | None = [] if first else None
        self.chosen = 0.0  # the weight of the rows by which choices were made; 0 where none are kept
        self.view: Any = None

    def knows(self, label: Any) -> bool:
        """Whether a label is one of those that were counted, which need no check."""
        return type(label) in LABELS and self.known.get(label) is type(label)

    def put(self, row: Any, label: Any, weight: float) -> None:
        """Let a row wait."""
        self.rows.append(row)
        self.labels.append(label)
        self.weights.append(weight)
        self.weight += weight
        if self.first is not None:
            self.first.append((row, label, weight))

    @property
    def is_full(self) -> bool:
        """Whether so many rows wait that they are counted, whether or not somebody asks."""
        return len(self.rows) >= min(max(1024, self.total / WAITING), MOST_WAITING)

    @property
    def unsettled(self) -> bool:
        """Whether rows wait, or choices were made by fewer rows, or may depend on those that were."""
        return bool(self.rows) or 0 < self.chosen < self.total or (self.onto is not None and self.onto.is_near)

    def follow(self, learned: Learned) -> Stream:
        """Return the same with no row waiting and nothing chosen, onto what was learned from the rows that waited."""
        out = Stream(learned)
        out.kinds, out.first = self.kinds, self.first
        return out


class WaitingRows(Answering):
    """Estimators whose rows may wait: how single rows are read, learned and answered."""

    _waits: ClassVar[bool] = False  # whether rows wait to be counted: where there is anything to choose
    _first: ClassVar[bool] = False  # whether the first rows together show what the columns are

    _stream: Stream

    def _stream_so_far(self) -> Stream | None:
        """Return the stream; None where there is none, or something else was learned since."""
        stream: Stream | None = self.__dict__.get("_stream")
        return None if stream is None or stream.onto is not self.__dict__.get("_learned") else stream

    def _streaming(self) -> Stream:
        """Return the stream, which begins anew where something else was learned since."""
        stream = self._stream_so_far()
        if stream is None:
            learned = self.__dict__.get("_learned")
            stream = self._stream = Stream(learned, self._first and learned is None)
        return stream

    def _leave_stream(self) -> None:
        """Hold what was counted alone, as rows that wait are about to be."""
        self.__dict__.pop("_stream", None)

    # ---- rows

    def _learn_row(self, x: Any, y: Any, w: float, before: Learned | None) -> None:
        """Learn a row at once, or refuse it."""
        self._refuse_no_row(x)
        row = named(x)
        if before is not None:
            row = {name: row.get(name) for name in self._names()}
        self._learn_waiting([row], [y], [w], before)

    def _learn_waiting(self, rows: list[Any], labels: list[Any], weights: list[float], before: Learned | None) -> None:
        """Learn rows of values by name. A column that was learned before and that no row has counts as missing."""
        known = () if before is None else self._names()
        names = sorted({*known, *(name for row in rows for name in row)})  # the order within a dict says nothing
        table: Any
        if before is not None and self._numbers_categories(before, rows):
            table = self._matrix(rows)
        else:
            table = engines.Memory(as_frame({name: [row.get(name) for row in rows] for name in names}))
        weight = None if set(weights) == {1.0} else np.array(weights)
        self._learn_rows(table, labels, weight, before, partial=before is not None or not self._first)

    def _waiting_row(self, x: Any, stream: Stream) -> Any:  # noqa: ARG002  # most let none wait
        """Return what waits of a row; None if it must be read, and perhaps refused, at once."""
        return None

    def _note_row(self, x: Any, stream: Stream) -> None:
        """Note what a row that was learned tells about the next ones."""

    def _posterior_one(self, x: Any) -> Array:
        """Return p(y | x) of a row, (classes,), as this estimator is."""
        self._refuse_no_row(x)
        row = named(x)
        rows: Any
        if self._form == "numbers" or self._numbers_categories(self._learned, [row]):
            rows = self._matrix([row])
        else:
            rows = self._read_frame(as_frame({name: [row.get(name)] for name in self._names()}))
        found: Array = self._run(self._learned.posterior, rows, self._calibration())
        return found[0]

    def _numbers_categories(self, learned: Learned, rows: list[Any]) -> bool:
        """Whether categories are the numbers 0, 1, 2, … of an array, which a table would take for names.

        While no category is known, the values of the rows say what they are.
        """
        if self._form != "categories" or learned.form != "numbers" or "feature_names_in_" in self.__dict__:
            return False
        if learned.statistics.statistic.sizes.any():
            return True
        return all(value is None or isinstance(value, NUMBER) for row in rows for value in row.values())

    def _matrix(self, rows: list[Any]) -> Array:
        """Return rows of values by name as a matrix of numbers; None is missing."""
        names, out = self._names(), np.full((len(rows), len(self._names())), np.nan)
        for i, row in enumerate(rows):
            for j, name in enumerate(names):
                value = row.get(name)
                if value is not None:
                    if not isinstance(value, NUMBER):
                        raise InvalidDataError(f"{type(self).__name__} reads numbers, found the row {row!r}")
                    out[i, j] = float(value)
        return out

    def _expect_many(self) -> None:
        """Make ready for many questions about single rows."""

    def _refuse_no_row(self, x: Any) -> None:
        if not isinstance(x, Mapping):
            raise InvalidDataError(f"A row is a dict of values by the names of columns, found {x!r}")

    def _summarized(self, learned: Learned, rows: list[Any], labels: list[Any], weights: list[float]) -> ByClass[Any]:
        """Summarize rows as they were learned."""
        read: Any
        if self._numbers_categories(learned, rows):
            read = self._check_X(self._matrix(rows))
        else:
            read = self._read_frame(as_frame({name: [row.get(name) for row in rows] for name in self._names()}))
        return learned.family.summarize(read, read_labels(labels), np.array(weights))


def named(row: Any) -> Mapping[str, Any]:
    """Return a row whose names are strings."""
    if all(type(name) is str for name in row):
        found: Mapping[str, Any] = row
        return found
    return {str(name): value for name, value in row.items()}
