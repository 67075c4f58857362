"""Classifiers for which old rows count less."""

from __future__ import annotations

from copy import copy
from math import isfinite
from numbers import Real
from typing import Any, Self

import numpy as np

from suffice import engines
from suffice.core.arrays import MOST_WEIGHT
from suffice.core.errors import InvalidOptionError, MismatchError
from suffice.core.frames import Frame
from suffice.core.frozen_options import same_options
from suffice.estimators._changing import LATE, Changing, as_time
from suffice.estimators._one_by_one import LEAST, OneByOne, check_weight
from suffice.estimators._threads import learning, lock_of, snapshot
from suffice.estimators.scikit_learn import check_is_fitted, clone

__all__ = ["Fading"]

MOST_FADED = 64.0  # half-lives until weights are rescaled, whether or not somebody asks


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
            if self._inner.__sklearn_is_fitted__():
                self._inner._rescale(2.0 ** max((self._epoch - now) / self.half_life, -1000.0))
            self._epoch = now

    def _now_counted(self, exact: bool) -> Any:
        if self._clock - self._epoch > (0.0 if exact else self.half_life / LATE):
            self._rebase(self._clock)
        return self._inner if self._inner.__sklearn_is_fitted__() else None

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
