"""Prequential evaluation: every row is first asked about, then learned."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import as_frame
from suffice.core.labels import each_label
from suffice.families import Table

LEAST = 1e-6  # probability of a class that is not known yet, so that its first row is no infinite loss
POINTS = 50  # of a table and a curve, unless asked for otherwise


class LearnsOne(Protocol):
    """What is needed of a model: those of river have it too."""

    def learn_one(self, x: Any, y: Any) -> Any:
        """Learn one row."""

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class."""


@dataclass(frozen=True, repr=False)
class Prequential:
    """How well a model answered before it was told: for each stretch of the stream, and from the beginning."""

    name: str
    row: NDArray[np.int64]  # the number of rows at the end of each stretch
    accuracy: Array
    log_loss: Array  # in nats
    seconds: float  # of processor time, for all rows

    @property
    def weight(self) -> Array:
        """The number of rows of each stretch."""
        return np.diff(self.row, prepend=0).astype(np.float64)

    @property
    def overall(self) -> tuple[float, float]:
        """Accuracy and log-loss of all rows."""
        return float(self.accuracy @ self.weight / self.row[-1]), float(self.log_loss @ self.weight / self.row[-1])

    def table(self) -> Table:
        """Return accuracy and log-loss of each stretch, and from the beginning to its end."""
        so_far = [np.cumsum(each * self.weight) / self.row for each in (self.accuracy, self.log_loss)]
        values = np.stack([self.accuracy, self.log_loss, *so_far], axis=1)
        columns = ["accuracy", "log-loss", "accuracy so far", "log-loss so far"]
        return Table("rows", [str(each) for each in self.row], columns, values)

    def __repr__(self) -> str:
        accuracy, loss = self.overall
        said = f"{self.row[-1]} rows, accuracy {accuracy:.4f}, log-loss {loss:.4f}"
        return f"Prequential({self.name}: {said}, {1e3 * self.seconds / self.row[-1]:.3f} ms a row)"


class Stretches:
    """How well answers were, counted row by row.

    Parameters
    ----------
    every : int
        How many rows make up a stretch.
    """

    def __init__(self, every: int) -> None:
        if not (isinstance(every, (int, np.integer)) and every >= 1):
            raise InvalidOptionError(f"every must be an integer of at least 1, found {every!r}")
        self.every = int(every)
        self.rows = 0
        self._ends: list[int] = []
        self._right: list[int] = []
        self._loss: list[float] = []
        self._begun = time.process_time()

    def add(self, found: dict[Any, float], label: Any) -> None:
        """Count an answer, the probabilities of the classes, to a row whose label is known now."""
        if self.rows % self.every == 0:
            self._ends.append(self.rows)
            self._right.append(0)
            self._loss.append(0.0)
        self._right[-1] += bool(found) and max(found, key=lambda each: found[each]) == label
        self._loss[-1] -= float(np.log(max(found.get(label, 0.0), LEAST)))
        self.rows += 1
        self._ends[-1] = self.rows

    @property
    def right(self) -> int:
        """How many answers were right."""
        return sum(self._right)

    def result(self, name: str) -> Prequential:
        """Return accuracy and log-loss of the stretches, of which the last may be shorter."""
        ends = np.array(self._ends, dtype=np.int64)
        accuracy, log_loss = (np.array(each) / np.diff(ends, prepend=0) for each in (self._right, self._loss))
        return Prequential(name, ends, accuracy, log_loss, time.process_time() - self._begun)


def prequential(model: LearnsOne, X: Any, y: Any = None, *, every: int | None = None, name: str = "") -> Prequential:
    """Ask a model about every row, then let it learn the row.

    Parameters
    ----------
    model : classifier
        Any with `learn_one` and `predict_proba_one`; it goes on from what it has learned.
    X : table, list of texts, or iterable of pairs
        Rows in their order; or pairs of a row (a dict or a text) and its label.
    y : array-like or str, default=None
        Labels, or the name of the column that holds them. Not for pairs.
    every : int, default=None
        How many rows make up a stretch; by default there are about 50 stretches, or 1000 rows each of an iterable of
        unknown length.
    name : str, default=''
        What to call the model.

    Returns
    -------
    result : Prequential
        Accuracy and log-loss by stretches: `table()`, `suffice.plot.prequential`.

    Examples
    --------
    >>> import suffice as sf
    >>> days = {"sky": ["sun", "rain"] * 50, "out": ["yes", "no"] * 50}
    >>> found = sf.prequential(sf.BayesClassifier(), days, "out", every=50)
    >>> found.accuracy.round(2)
    array([0.96, 1.  ])
    """
    pairs, n = _pairs(X, y)
    if every is None:
        every = 1000 if n is None else max(n // POINTS, 1)
    stretches = Stretches(every)
    for x, label in pairs:
        stretches.add(model.predict_proba_one(x), label)
        model.learn_one(x, label)
    if not stretches.rows:
        raise InvalidDataError("There is no row to ask about")
    return stretches.result(name or type(model).__name__)


def _pairs(X: Any, y: Any) -> tuple[Iterator[tuple[Any, Any]], int | None]:
    """Return pairs of rows and labels, and how many, if that is known."""
    if y is None:
        if not isinstance(X, Iterable) or hasattr(X, "columns") or isinstance(X, dict):
            raise InvalidDataError("Labels are needed: y, or pairs of a row and its label")
        return _checked(X), len(X) if isinstance(X, Sized) else None
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], str):
        rows, labels = list(X), y
    else:
        frame = as_frame(X)
        if isinstance(y, str):
            labels, frame = frame.column(y).to_pylist(), frame.drop(y)
        else:
            labels = y
        rows = frame.table().to_pylist()
    labels = each_label(labels)
    if len(labels) != len(rows):
        raise InvalidDataError(f"Found {len(rows)} rows and {len(labels)} labels")
    return zip(rows, labels, strict=True), len(rows)


def _checked(pairs: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InvalidDataError(f"Expected pairs of a row and its label, found {pair!r} at {i}")
        yield pair
