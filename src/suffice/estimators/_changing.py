"""What classifiers for data that change have in common: another one that learns and forgets, and the times of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from datetime import date, datetime
from math import isfinite
from numbers import Real
from typing import Any, Self

import numpy as np

from suffice import engines
from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.core.frames import as_frame
from suffice.core.labels import each_label
from suffice.engines.files import Files
from suffice.estimators._one_by_one import OneByOne
from suffice.estimators._threads import learning, lock_of, snapshot
from suffice.estimators.scikit_learn import BaseEstimator, ClassifierMixin, check_is_fitted, clone

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
