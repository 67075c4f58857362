"""Classifiers for data that change: rows that fade, and rows that leave a window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from datetime import date, datetime
from itertools import islice
from math import isfinite
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from suffice import engines
from suffice.core.arrays import MOST_WEIGHT, Array, Values
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.core.frames import Frame, as_frame
from suffice.core.frozen_options import same_options
from suffice.core.labels import each_label
from suffice.engines.files import Files
from suffice.estimators._one_by_one import LEAST, OneByOne, check_weight
from suffice.estimators._threads import learning, lock_of, snapshot
from suffice.estimators.scikit_learn import BaseEstimator, ClassifierMixin, check_is_fitted, clone

__all__ = ["Fading", "Window"]

MOST_FADED = 64.0  # half-lives until weights are rescaled, whether or not somebody asks
LATE = 16  # single rows are answered by statistics that are off by one in so many, at most
SECONDS = ("datetime64[us]", 1e6)


class Changing(ClassifierMixin, BaseEstimator):
    """A classifier around another one, which it makes learn and forget."""

    estimator: Any
    time: str | None
    _inner: OneByOne
    _clock: float

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows, the first of them being the oldest, forgetting whatever was learned before."""
        with learning(self) as draft:
            draft._begin()
            draft._learn(X, y)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows, in their order, or as their times say.

        Parameters
        ----------
        X : table, list of texts, or files by name
            Rows, the first of them being the oldest; files are read in batches.
        y : array-like or str
            Labels, or the name of their column.

        Returns
        -------
        self : object
            The classifier.
        """
        with learning(self) as draft:
            draft._begin_once()
            draft._learn(X, y)
        return self

    def _learn(self, X: Any, y: Any) -> None:
        """Learn from more rows, all or none."""
        source = engines.find(X)
        if source is None:
            self._learn_piece(X, y)
            return
        if not isinstance(source, Files) or not isinstance(y, str):
            raise InvalidDataError(
                f"{type(self).__name__} learns rows in memory, one at a time, or from files with y the name of a column"
            )
        source.check_column(y, "to learn")
        self._learn_files(source, y)

    def _learn_files(self, source: Files, y: str) -> None:
        """Learn from the rows of files, in batches."""
        for batch in source.batches():
            if batch.num_rows:
                self._learn_piece(batch, y)

    @abstractmethod
    def _learn_piece(self, X: Any, y: Any) -> None:
        """Learn from rows in memory, all or none."""

    @abstractmethod
    def _now_counted(self, exact: bool) -> Any:
        """Return the classifier of the rows as they count now; None if nothing was learned."""

    def _current(self, exact: bool) -> Any:
        """Return the classifier of the rows as they count now, while no other thread learns; None if there is none."""
        with lock_of(self):
            return self._now_counted(exact) if "_inner" in self.__dict__ else None

    def __copy__(self) -> Self:
        with lock_of(self):
            made = snapshot(self)
            if "_inner" in made.__dict__:
                made._inner = copy(made._inner)
        return made

    @property
    def estimator_(self) -> Any:
        """The classifier of the rows as they count now: an estimator like any other, which can be saved."""
        found = self._current(exact=True)
        if found is None:
            check_is_fitted(self)
            raise AssertionError("check_is_fitted raises")
        return found._now()

    def __sklearn_is_fitted__(self) -> bool:
        return self._current(exact=True) is not None

    @property
    def classes_(self) -> Values:
        """Class labels, sorted, (n_classes,)."""
        found: Values = self.estimator_.classes_
        return found

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row."""
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return p(y | x) for each row and class."""
        return self.estimator_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> Any:
        """Return log p(y | x) for each row and class."""
        return self.estimator_.predict_log_proba(X)

    def predict_one(self, x: Any) -> Any:
        """Return the most probable class of one row; None if nothing was learned."""
        found = self._current(exact=False)
        return None if found is None else found.predict_one(self._without_time(x))

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return p(y | x) of one row; no class if nothing was learned."""
        found = self._current(exact=False)
        return {} if found is None else found.predict_proba_one(self._without_time(x))

    def settle(self) -> Self:
        """Make all choices by all rows, now."""
        if self.__sklearn_is_fitted__():
            self._inner.settle()
        return self

    # ---- rows

    def _begin(self) -> None:
        if not isinstance(self.estimator, OneByOne):
            raise InvalidOptionError(f"estimator must be a classifier of suffice, found {self.estimator!r}")
        if self.time is not None and not isinstance(self.time, str):
            raise InvalidOptionError(f"time must be the name of a column, found {self.time!r}")
        self._inner = clone(self.estimator)
        self._clock = -np.inf if self.time is not None else 0.0

    def _begin_once(self) -> None:
        if "_inner" not in self.__dict__:
            self._begin()

    def _without_time(self, x: Any) -> Any:
        if self.time is None or not isinstance(x, Mapping):
            return x
        return {name: value for name, value in x.items() if name != self.time}

    def _time_of(self, x: Any) -> float:
        """Return the time of a row: that of its column, or its number."""
        if self.time is None:
            return self._clock + 1.0
        if not isinstance(x, Mapping) or x.get(self.time) is None:
            raise InvalidDataError(f"The row has no time: its column {self.time!r} is missing")
        return as_time(x[self.time], self.time)

    def _read(self, X: Any, y: Any) -> tuple[Any, list[Any], Array, int]:
        """Return rows without their times, their labels, times, and number."""
        if y is None:
            raise InvalidDataError("Labels are needed: y, or the name of their column")
        rows: Any
        if isinstance(X, (list, tuple)) and self._inner._form == "texts" and self.time is None:
            rows, labels, n = X, each_label(y), len(X)
        else:
            rows = as_frame(X)
            labels, n = rows.column(y).to_pylist() if isinstance(y, str) else each_label(y), rows.n
            rows = rows.drop(y) if isinstance(y, str) else rows
        if len(labels) != n:
            raise InvalidDataError(f"Found {n} rows and {len(labels)} labels")
        if self.time is None:
            plain = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and self._inner._form != "table"
            return X if plain else rows, labels, self._next(n), n  # an array has no names
        if self.time not in rows.columns:
            raise MismatchError(f"There is no column {self.time!r} of times; there are {rows.names[:20]}")
        times = [as_time(value, self.time) for value in rows.column(self.time).to_pylist()]
        return rows.drop(self.time), labels, np.array(times), n

    def _next(self, n: int) -> Array:
        """Return the times of the next rows, where these are their numbers."""
        return np.arange(n, dtype=np.float64) + (self._clock + 1.0)

    def _options(self) -> dict[str, Any]:
        return dict(self.get_params(deep=False))


class Fading(Changing):
    """A classifier for which old rows count less:  a row weighs 2^(−age / half_life).

    The statistics are multiplied by one number, so that a step costs as much as without fading. The result is that of
    learning all rows with these weights.

    Parameters
    ----------
    estimator : estimator
        Any classifier of suffice.
    half_life : float
        The age at which a row counts half: in rows, or in the unit of the column of times. Dates count in seconds.
    time : str, default=None
        The name of a column with the time of each row, which is not learned from. By default the age of a row is the
        number of rows after it.

    Examples
    --------
    >>> import suffice as sf
    >>> clf = sf.Fading(sf.BayesClassifier(structure="naive"), half_life=20)
    >>> for day in range(200):
    ...     weather, mood = ("sun", "rain")[day % 2], ("good", "bad")[(day + day // 100) % 2]
    ...     clf = clf.learn_one({"weather": weather}, mood)
    >>> clf.predict_one({"weather": "sun"})
    'bad'
    """

    _epoch: float  # the time whose rows weigh 1 in the statistics

    def __init__(self, estimator: Any = None, half_life: float = 1000.0, time: str | None = None):
        self.estimator = estimator
        self.half_life = half_life
        self.time = time

    def _begin(self) -> None:
        if not isinstance(self.half_life, Real) or not (isfinite(self.half_life) and self.half_life > 0):
            raise InvalidOptionError(f"half_life must be a number above 0, found {self.half_life!r}")
        super()._begin()
        self._epoch = self._clock

    def resume(self, fitted: Any, at: Any = None) -> Self:
        """Go on from a classifier, such as the `estimator_` of a stream that was saved and loaded.

        Parameters
        ----------
        fitted : estimator
            A fitted classifier of suffice. Its rows count now as they count in it, and fade from now on. It stays as
            it is, and its options are those that hold.
        at : float or date, default=None
            The time that is now, if there is a column of times; by default that of the next row.

        Returns
        -------
        self : object
            The classifier.
        """
        if not isinstance(fitted, OneByOne):
            raise InvalidOptionError(f"fitted must be a classifier of suffice, found {fitted!r}")
        check_is_fitted(fitted)
        if at is not None and self.time is None:
            raise InvalidOptionError("at is a time, and time= names no column: ages are numbers of rows")
        with learning(self) as draft:
            draft.estimator = clone(fitted)
            draft._begin()
            draft._inner = copy(fitted)
            if at is not None:
                draft._clock = draft._epoch = as_time(at, str(self.time))
        return self

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> Self:
        """Learn one row, which is the newest unless its time says otherwise."""
        with lock_of(self):
            self._begin_once()
            self._learn_row(x, y, w)
        return self

    def _learn_row(self, x: Any, y: Any, w: float) -> None:
        check_weight(w)
        time = self._time_of(x)
        epoch = time if self._epoch == -np.inf else self._epoch
        age = (epoch - time) / self.half_life
        if age < -MOST_FADED or (age < 0 and w * 2.0**-age > MOST_WEIGHT):
            self._rebase(time)
            epoch, age = time, 0.0
        weight = w * 2.0**-age
        if not 0 < weight < LEAST:  # less is nothing
            self._inner.learn_one(self._without_time(x), y, weight)
        self._epoch, self._clock = epoch, max(self._clock, time)

    def _learn_piece(self, X: Any, y: Any) -> None:
        rows, labels, times, n = self._read(X, y)
        if not n:
            return
        now = max(self._clock, float(times.max()))
        self._inner = copy(self._inner)  # rows fade and are learned, or neither
        if self._epoch != -np.inf:
            self._rebase(now)
        weight = 2.0 ** ((times - now) / self.half_life)
        weight[weight < LEAST] = 0.0
        rows = engines.Memory(rows) if isinstance(rows, Frame) else rows
        self._inner.partial_fit(rows, labels, sample_weight=weight)
        self._epoch = self._clock = now

    def _rebase(self, now: float) -> None:
        """Let the rows of another time weigh 1 in the statistics."""
        if self._epoch != now:
            if "_learned" in self._inner.__dict__ or self._inner._is_unsettled():
                self._inner._rescale(2.0 ** max((self._epoch - now) / self.half_life, -1000.0))
            self._epoch = now

    def _now_counted(self, exact: bool) -> Any:
        if self._clock - self._epoch > (0.0 if exact else self.half_life / LATE):
            self._rebase(self._clock)
        known = "_learned" in self._inner.__dict__ or self._inner._is_unsettled()
        return self._inner if known else None

    def __add__(self, other: Any) -> Self:
        """Merge two streams: by their times, or each as old as its own rows say."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self._options(), other._options()
        for name, value in mine.items():
            same = repr(value) == repr(theirs[name]) if name == "estimator" else same_options(value, theirs[name])
            if not same:
                raise MismatchError(f"Cannot merge: {name} is {value!r} here and {theirs[name]!r} there")
        now = max(self._clock, other._clock) if self.time is not None else None
        parts = []
        for each in (self, other):
            inner = each.estimator_
            part = snapshot(each)
            part._inner = inner
            part._rebase(part._clock if now is None else now)
            parts.append(part._inner._now())
        merged = clone(self)
        merged._begin()
        merged._inner = parts[0] + parts[1]
        merged._clock = merged._epoch = 0.0 if now is None else now
        return merged


class RowsAgain:
    """The rows of files that were learned, read a second time, from the oldest on, as they leave a window."""

    def __init__(self, source: Files, target: str):
        self.source, self.target = source, target
        self.learned = self.gone = 0
        self._rows: Iterator[tuple[Any, Any]] | None = None

    def _read(self, window: Window) -> Iterator[tuple[Any, Any]]:
        for batch in self.source.batches(shown=False):
            if batch.num_rows:
                rows, labels, _, _ = window._read(batch, self.target)
                yield from zip(rows.table().to_pylist(), labels, strict=True)

    def next(self, window: Window) -> tuple[Any, Any]:
        """Return the oldest row that was not read again yet, and its label."""
        if self._rows is None:
            self._rows = islice(self._read(window), self.gone, None)
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
        found = self._again[0].next(self)
        if self._again[0].gone == self._again[0].learned:
            self._again.pop(0)
        return found

    def _now_counted(self, exact: bool) -> Any:
        if exact:
            self._forget_gone()
        return self._inner if self._held else None


def as_time(value: Any, name: str) -> float:
    """Return a time as a number; of a date, or a string that is one, the seconds since 1970."""
    if isinstance(value, Real) and not isinstance(value, bool) and isfinite(value):
        return float(value)
    if isinstance(value, (str, date, datetime, np.datetime64)):
        try:
            kind, unit = SECONDS
            return float(np.datetime64(value).astype(kind).astype(np.int64)) / unit
        except (ValueError, TypeError):
            pass
    raise InvalidDataError(f"Column {name!r} must hold times, numbers or dates, found {value!r}")
