"""One row at a time: rows are counted when enough of them wait, and choices are kept until there are many more rows.

Families, bins, exponents and smoothing are choices: they take a search over all that was learned. For answers about
single rows they are made anew when the weight has grown by an eighth, near those of before, which takes less. Every
other answer makes them first, by all that is kept and from the beginning, so that it does not depend on how the rows
came.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sized
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np

from suffice.core.arrays import LEAST_WEIGHT, MOST_WEIGHT, Array, is_missing
from suffice.core.errors import InvalidDataError, InvalidOptionError, LeftOutWarning, MissingLabelError, QuantityWarning
from suffice.core.labels import label_list
from suffice.core.statistics import ByClass
from suffice.estimators._threads import learning, lock_of, snapshot
from suffice.estimators._waiting_rows import LABELS, WAITING, Stream, WaitingRows, named

GROWTH = 1.125  # of the weight, after which choices are made anew
FIRST = 1000  # rows that show what the columns of a table are
LESS = 1.0 - 2.0**-40  # of the weight: by all rows as they count now, other choices might be made
LEAST = 2.0**-400  # of the weight of a row: less is nothing


class OneByOne(WaitingRows):
    """Estimators that learn a row, answer about a row, and so on."""

    # Where single rows are answered about: the labels, what scores a row as `predict_one` gets it, and the posterior of
    # that, or None where it takes longer. In a class of options, each of these would be one.
    _classes_one: list[Any]
    _quick: tuple[Callable[..., Any], Callable[[Array], Array]] | None = None

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> Self:
        """Learn one row.

        Rows wait until they make up an eighth of the weight, or until anything else is asked than about single
        rows. The first 1000 rows of a table show what its columns are: until then, columns and families are found anew
        with all other choices.

        Parameters
        ----------
        x : dict, or str
            Values by the names of columns. Columns that are not there, and None, are missing; columns that are new are
            not learned. For texts: the text.
        y : label
            The class of the row.
        w : float, default=1.0
            The weight of the row: 0, or from 1e-140 to 1e140.

        Returns
        -------
        self : object
            The estimator.

        Examples
        --------
        >>> from suffice import BayesClassifier
        >>> clf = BayesClassifier()
        >>> for height, sex in [(1.9, "m"), (1.6, "f"), (1.8, "m"), (1.5, "f")] * 5:
        ...     found = clf.predict_one({"height": height})
        ...     clf = clf.learn_one({"height": height}, sex)
        >>> clf.predict_one({"height": 1.85})
        'm'
        """
        check_weight(w)
        if isinstance(y, np.generic) and y.dtype.kind not in "mM":  # of which Python has not all
            y = y.item()
        check_label(y)
        with lock_of(self):
            stream = self._stream_so_far()
            if self._waits and stream is not None and stream.knows(y):
                row = self._waiting_row(x, stream)
                if row is not None:
                    if w:
                        stream.put(row, y, float(w))
                        if stream.is_full:
                            self._count()
                    return self
            self._count()
            before = self._streaming()
            with learning(self) as draft:
                draft._leave_stream()
                if before.first is not None:
                    self._refuse_no_row(x)
                    draft._learn_first(before, (dict(named(x)), y, float(w)))
                else:
                    draft._learn_row(x, y, float(w), draft.__dict__.get("_learned"))
                    draft._stream = draft._kept_choices(before)
            self._note_row(x, self._stream)
        return self

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return p(y | x) of one row; no class if nothing was learned.

        Choices (families, bins, exponents, smoothing, the pool of experts of a table) are kept until the weight has
        grown by an eighth; `settle` makes all of them now. The counts lack at most an eighth of the weight.

        Parameters
        ----------
        x : dict, or str
            Values by the names of columns; for texts: the text.

        Returns
        -------
        probabilities : dict
            The probability of each class.
        """
        view = self._answering_one()
        if view is None:
            return {}
        return dict(zip(view._classes_one, view._posterior_one(x).tolist(), strict=True))

    def predict_one(self, x: Any) -> Any:
        """Return the most probable class of one row, as `predict_proba_one` has it; None if nothing was learned.

        Parameters
        ----------
        x : dict, or str
            Values by the names of columns; for texts: the text.

        Returns
        -------
        label : label
            The class.
        """
        view = self._answering_one()
        if view is None:
            return None
        return view._classes_one[int(view._posterior_one(x).argmax())]

    def settle(self) -> Self:
        """Count all rows that were learned one at a time, and make all choices by all of them, now."""
        with lock_of(self):
            self._settled().decide(self._calibrate())
        return self

    def set_params(self, **params: Any) -> Self:
        """Set parameters. Rows that wait are counted first, by the parameters they were given to.

        Parameters
        ----------
        **params : dict
            Parameters by their names.
        """
        with lock_of(self):
            self._settle()
            self.__dict__.pop("_stream", None)  # the next rows meet the new parameters at once
            super().set_params(**params)
        return self

    # ---- counting and choosing

    def _answering_one(self) -> Self | None:
        """Return the estimator that answers about single rows."""
        with lock_of(self):
            stream = self._streaming()
            if stream.rows and (stream.view is None or stream.weight * WAITING > stream.total):
                self._count()
                stream = self._stream
            if stream.view is None and stream.onto is not None:
                learned = self._learned
                learned.decide(self._calibrate())
                stream.chosen = stream.chosen or stream.total
                stream.view = snapshot(self)
                stream.view.__dict__.pop("_stream")
                stream.view._classes_one = label_list(learned.labels)
                stream.view._expect_many()
            view: Self | None = stream.view
            return view

    def _count(self) -> None:
        """Count the rows that wait, and keep the choices as long as they are to be kept."""
        stream = self._streaming()
        if not stream.rows:
            return
        with learning(self) as draft:
            draft._leave_stream()
            if stream.first is not None and stream.total + stream.weight >= GROWTH * stream.chosen:
                draft._learn_first(stream)
            else:
                draft._learn_waiting(stream.rows, stream.labels, stream.weights, draft.__dict__.get("_learned"))
                draft._stream = draft._kept_choices(stream)

    def _learn_first(self, stream: Stream, *more: tuple[Any, Any, float]) -> None:
        """Learn all of the first rows anew: more of them show better what the columns are."""
        assert stream.first is not None, "columns are not settled"
        first = [*stream.first, *more]
        settled = len(first) >= FIRST
        with warnings.catch_warnings():
            if not settled:  # what is left out is said once
                warnings.simplefilter("ignore", LeftOutWarning)
                warnings.simplefilter("ignore", QuantityWarning)
            rows, labels, weights = (list(each) for each in zip(*first, strict=True))
            self._learn_waiting(rows, labels, weights, None)
        self._stream = self._kept_choices(stream, keep=False)
        self._stream.first = None if settled else first

    def _kept_choices(self, stream: Stream, keep: bool = True) -> Stream:
        """Return the stream onto what was just learned, with the choices of before unless there is much more."""
        before, new = stream.onto, stream.follow(self._learned)
        if before is None:
            return new
        if keep and new.total < GROWTH * stream.chosen and self._learned.takes_choices(before):
            new.chosen = min(stream.chosen, LESS * new.total)
        self._learned.search_near(before)
        return new

    # ---- rows that fade, or leave

    def _rescale(self, factor: float) -> None:
        """Multiply the weights of all rows by a factor, and keep the choices."""
        with lock_of(self):
            self._count()
            stream = self._streaming()
            if stream.onto is not None:
                seen = stream.onto.seen.scale(factor)
                self._replace_seen(seen.take(np.flatnonzero(seen.weight > 0)), stream, factor, 0.0)
                if stream.first is not None:
                    first = ((x, y, w * factor) for x, y, w in stream.first)
                    self._stream.first = [each for each in first if each[2] >= LEAST]

    def _unlearn(self, rows: list[Any], labels: list[Any], weights: list[float]) -> None:
        """Take away the rows that were learned first, and keep the choices until too many are gone."""
        with lock_of(self):
            self._count()
            stream = self._streaming()
            assert stream.onto is not None, "these rows were learned"
            if stream.first is not None:
                with learning(self) as draft:
                    draft._leave_stream()
                    stream.first = stream.first[len(rows) :]
                    draft._learn_first(stream)
                return
            gone = self._summarized(stream.onto, rows, labels, weights)
            self._replace_seen(stream.onto.seen - gone, stream, 1.0, float(gone.weight.sum()))

    def _replace_seen(self, seen: ByClass[Any], stream: Stream, factor: float, gone: float) -> None:
        with learning(self) as draft:
            before = draft._learned
            draft._leave_stream()
            if not len(seen.labels):
                for name in draft._fitted:
                    draft.__dict__.pop(name, None)
                return
            draft._become(replace(before, seen=seen))
            draft._stream = new = stream.follow(draft._learned)
            chosen = max(LESS * stream.chosen * factor - gone, 0.0)
            if 0 < new.total < GROWTH * chosen and draft._learned.takes_choices(before):
                new.chosen = chosen
            draft._learned.search_near(before)

    def _settle(self) -> None:
        super()._settle()
        if not self._is_unsettled():
            return
        with lock_of(self):
            if not self._is_unsettled():  # another thread has done it
                return
            stream = self._stream
            with learning(self) as draft:
                draft._leave_stream()
                if stream.first is not None:
                    draft._learn_first(stream)
                elif stream.rows:
                    draft._learn_waiting(stream.rows, stream.labels, stream.weights, draft.__dict__.get("_learned"))
                first = draft._stream.first if stream.first is not None else None
                draft._learned = replace(draft._learned)  # drops choices that were made by fewer rows
                draft._stream = stream.follow(draft._learned)
                draft._stream.first = first

    def _is_unsettled(self) -> bool:
        stream = self._stream_so_far()
        return stream is not None and stream.unsettled

    def _now(self) -> Self:
        now = super()._now()
        now.__dict__.pop("_stream", None)  # rows that have come since belong to the estimator
        return now

    def __sklearn_is_fitted__(self) -> bool:
        return super().__sklearn_is_fitted__() or self._is_unsettled()

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_stream", None)  # a copy waits for rows of its own
        return state


def check_weight(w: Any) -> None:
    """Refuse what is no weight of a row: rows wait, and none may be refused after it was accepted."""
    if not isinstance(w, Real) or not (w == 0 or LEAST_WEIGHT <= float(w) <= MOST_WEIGHT):
        raise InvalidOptionError(f"w must be 0, or a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}, found {w!r}")


def check_label(y: Any) -> None:
    """Refuse what is no label of one row."""
    if type(y) in LABELS:
        return
    if isinstance(y, Sized) and not isinstance(y, (str, bytes)):
        raise InvalidDataError(f"The label of one row must be a single value, found {y!r}")
    if is_missing(y):
        raise MissingLabelError(0)
