"""Classifiers of the newest rows alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from math import isfinite
from numbers import Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import Frame
from suffice.engines.files import Files
from suffice.estimators._changing import LATE, Changing
from suffice.estimators._threads import lock_of

__all__ = ["Window"]

Read: TypeAlias = Callable[[Any, str], tuple[Any, list[Any], Array, int]]  # rows, labels, times and number of a batch


class RowsAgain:
    """The rows of files that were learned, read a second time, from the oldest on, as they leave a window."""

    def __init__(self, source: Files, target: str):
        self.source, self.target = source, target
        self.learned = self.gone = 0
        self._rows: Iterator[tuple[Any, Any]] | None = None

    def _read(self, read: Read) -> Iterator[tuple[Any, Any]]:
        for batch in self.source.batches(shown=False):
            if batch.num_rows:
                rows, labels, _, _ = read(batch, self.target)
                yield from zip(rows.table().to_pylist(), labels, strict=True)

    def next(self, read: Read) -> tuple[Any, Any]:
        """Return the oldest row that was not read again yet, and its label; `read` reads a batch as it was learned."""
        if self._rows is None:
            self._rows = islice(self._read(read), self.gone, None)
        self.gone += 1
        found = next(self._rows, None)
        if found is None:
            raise InvalidDataError(f"The files have fewer than the {self.learned} rows that were learned from them")
        return found

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_rows": None, "source": Files(self.source.asked, self.source.without)}


class Window(Changing):
    """A classifier of the newest rows alone: older ones are forgotten, by subtraction.

    The rows of the window are kept; those of files are read again instead, when they leave it. The result is that of
    learning the rows of the window and no others.

    Parameters
    ----------
    estimator : estimator
        Any classifier of suffice.
    rows : int, default=None
        How many rows are in the window.
    span : float, default=None
        Or how old they may be, in the unit of the column of times. Times that are dates count in seconds.
    time : str, default=None
        The name of a column with the time of each row, which is not learned from; needed for `span`.

    Examples
    --------
    >>> import suffice as sf
    >>> clf = sf.Window(sf.BayesClassifier(structure="naive"), rows=50)
    >>> for day in range(200):
    ...     weather, mood = ("sun", "rain")[day % 2], ("good", "bad")[(day + day // 100) % 2]
    ...     clf = clf.learn_one({"weather": weather}, mood)
    >>> clf.predict_one({"weather": "sun"}), clf.estimator_.class_count_.sum()
    ('bad', np.float64(50.0))
    """

    _held: list[tuple[Any, Any, float]]  # rows that were learned, the oldest first: row, label (of files None), time
    _again: list[RowsAgain]  # files whose rows are held without a label
    _gone: int  # how many of them have left the window, and are not forgotten yet

    _sorted: ClassVar[str] = "Rows of a window come in the order of their times"

    def __init__(
        self, estimator: Any = None, rows: int | None = None, span: float | None = None, time: str | None = None
    ):
        self.estimator = estimator
        self.rows = rows
        self.span = span
        self.time = time

    def _begin(self) -> None:
        if (self.rows is None) == (self.span is None):
            raise InvalidOptionError("A window has a number of rows, or a span of time: give one of the two")
        if self.rows is not None and not (isinstance(self.rows, int) and self.rows >= 1):
            raise InvalidOptionError(f"rows must be an integer of at least 1, found {self.rows!r}")
        if self.span is not None and (not isinstance(self.span, Real) or not (isfinite(self.span) and self.span > 0)):
            raise InvalidOptionError(f"span must be a number above 0, found {self.span!r}")
        if self.span is not None and self.time is None:
            raise InvalidOptionError("A span of time needs the name of the column of times: give time")
        super()._begin()
        self._held, self._gone, self._again = [], 0, []

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one row, the newest; rows that leave the window for it are forgotten."""
        with lock_of(self):
            self._begin_once()
            self._learn_row(x, y)
        return self

    def _learn_row(self, x: Any, y: Any) -> None:
        time = self._time_of(x)
        if time < self._clock:
            raise InvalidDataError(f"{self._sorted}: found {time:g} after {self._clock:g}")
        row = self._without_time(x)
        self._inner.learn_one(row, y)
        self._hold(dict(row) if isinstance(row, Mapping) else row, y, time)

    def _hold(self, row: Any, y: Any, time: float) -> None:
        """Hold a row that was learned; forget those that leave the window for it, once they are enough."""
        self._held.append((row, y, time))
        self._clock = time
        while self._leaves(self._gone):
            self._gone += 1
        if self._gone * LATE > len(self._held):
            self._forget_gone()

    def _learn(self, X: Any, y: Any) -> None:
        self._inner = copy(self._inner)  # all rows are learned, or none
        self._copy_held()
        super()._learn(X, y)

    def _learn_files(self, source: Files, y: str) -> None:
        again = RowsAgain(source, y)
        self._again.append(again)
        for batch in source.batches():
            if batch.num_rows:
                self._learn_piece(batch, y, again)

    def _learn_piece(self, X: Any, y: Any, again: RowsAgain | None = None) -> None:
        """Learn rows one after the other, and hold them, unless they are read again."""
        rows, labels, times, n = self._read(X, y)
        if n and (np.diff(times, prepend=self._clock) < 0).any():
            raise InvalidDataError(self._sorted)
        each: Sequence[Any]
        if isinstance(rows, np.ndarray):
            each = [{f"x{j}": value for j, value in enumerate(row)} for row in rows.tolist()]
            if n and not self._inner.__sklearn_is_fitted__():
                self._inner.partial_fit(rows[:1], labels[:1])
                self._hold(each[0], labels[0], float(times[0]))
                each, labels, times = each[1:], labels[1:], times[1:]
        else:
            each = rows.table().to_pylist() if isinstance(rows, Frame) else rows
        for row, label, time in zip(each, labels, times.tolist(), strict=True):
            self._inner.learn_one(row, label)
            if again is None:
                self._hold(row, label, time)
            else:
                again.learned += 1
                self._hold(None, None, time)

    def _leaves(self, at: int) -> bool:
        """Whether the row at a place among those held is not in the window."""
        if self.rows is not None:
            return len(self._held) - at > self.rows
        assert self.span is not None, "checked"
        return self._held[at][2] <= self._clock - self.span

    def _forget_gone(self) -> None:
        gone = [self._row_again(*self._held[i][:2]) for i in range(self._gone)]
        if not gone:
            return
        self._inner._unlearn([row for row, _ in gone], [y for _, y in gone], [1.0] * len(gone))
        del self._held[: self._gone]
        self._gone = 0

    def __copy__(self) -> Self:
        made = super().__copy__()
        if "_inner" in made.__dict__:
            made._copy_held()
        return made

    def _copy_held(self) -> None:
        self._held, self._again = self._held.copy(), [copy(each) for each in self._again]

    def _row_again(self, row: Any, label: Any) -> tuple[Any, Any]:
        """Return a row that is held, and its label; one of files is read again."""
        if label is not None:
            return row, label
        found = self._again[0].next(self._read)
        if self._again[0].gone == self._again[0].learned:
            self._again.pop(0)
        return found

    def _now_counted(self, exact: bool) -> Any:
        if exact:
            self._forget_gone()
        return self._inner if self._held else None
