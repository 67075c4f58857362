"""Generative against discriminative: learning curves of a model and of logistic regression, on the same rows.

A generative model gets to its best with few rows, for it assumes more; a discriminative one, which assumes less, may
overtake it when there are many (Ng and Jordan, 2001). Where they cross is a matter of the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Labels, encode_labels, is_sparse
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import Frame, as_frame, profiles
from suffice.core.frames import labels as read_labels
from suffice.core.frames import numbers as read_numbers
from suffice.core.frames import texts as read_texts
from suffice.core.frames.input import as_column
from suffice.families import Table
from suffice.model.schema import Schema, infer
from suffice.views import logistic_baseline as logistic
from suffice.views.logistic_baseline import Columns, Rows
from suffice.views.plot.learning_curves import METRICS

LEAST = 20  # rows below which there is nothing to compare
OF_EACH = 3  # rows that every class needs: one to judge by, two to learn from
ALWAYS = 500  # training rows up to which the regularisation is chosen anew in every repeat
STEPS = 8  # sizes, if none are given
MOST = 50_000  # training rows, if none are given
BAND = 0.8  # the share of the repeats that the band holds

Progress = Callable[[int, int], None]


@dataclass(frozen=True, repr=False)
class Comparison:
    """Learning curves of two models, the generative first.

    `sizes` are the numbers of training rows; `accuracy`, `log_loss` (on the `held_out` rows) and `seconds` (of
    training) are (models, sizes, repeats). Print it for a table; `to_arrow` has every repeat; `plot` draws it.
    """

    names: tuple[str, str]
    sizes: NDArray[np.int64]
    accuracy: Array
    log_loss: Array
    seconds: Array
    held_out: int

    def _values(self, metric: str) -> Array:
        if metric not in METRICS:
            raise InvalidOptionError(f"metric must be one of {tuple(METRICS)}, found {metric!r}")
        return np.asarray(getattr(self, metric))

    def band(self, metric: str, model: int) -> tuple[Array, Array, Array]:
        """The low end of the middle four fifths of the repeats, their median, and the high end, (sizes,) each."""
        rest = 0.5 * (1.0 - BAND)
        low, middle, high = np.quantile(self._values(metric)[model], [rest, 0.5, 1.0 - rest], axis=1)
        return low, middle, high

    @property
    def band_title(self) -> str:
        """What the band is, in words."""
        return f"median and middle {BAND:.0%} of {self.accuracy.shape[2]} repeats".replace("%", " %")

    def gain(self, metric: str = "accuracy") -> Array:
        """By how much the discriminative model is better, the median over repeats on the same rows, (sizes,)."""
        generative, discriminative = self._values(metric)
        better = discriminative - generative if metric == "accuracy" else generative - discriminative
        return np.asarray(np.median(better, axis=1))

    def crossing(self, metric: str = "accuracy") -> float | None:
        """The number of rows from which on the other model is better than at first; None if they do not cross.

        Between the last two sizes that disagree it is interpolated, over the logarithm of the size.
        """
        gain = self.gain(metric)
        sign = np.sign(gain)
        last = sign[-1]
        if last == 0 or not (sign == -last).any():
            return None
        before = int(np.flatnonzero(sign == -last)[-1])
        after = before + 1 + int(np.flatnonzero(sign[before + 1 :] == last)[0])
        share = gain[before] / (gain[before] - gain[after])
        logs = np.log(self.sizes)
        return float(np.exp(logs[before] + share * (logs[after] - logs[before])))

    def verdict(self, metric: str = "accuracy") -> str:
        """Which is better where, in one sentence."""
        crossing, last = self.crossing(metric), self.gain(metric)[-1]
        winner, loser = (self.names[1], self.names[0]) if last > 0 else self.names
        by = f"By {METRICS[metric].split(',')[0]}"
        if crossing is not None:
            return f"{by}, {winner} overtakes {loser} at about {_rounded(crossing):,} training rows."
        if last == 0 and not self.gain(metric).any():
            return f"{by}, they do not cross: they are as good as each other."
        if last == 0:
            winner, loser = (self.names[1], self.names[0]) if self.gain(metric).max() > 0 else self.names
            return f"{by}, they do not cross: {winner} is better with few rows, and they are as good at the end."
        return (
            f"{by}, they do not cross: {winner} is better from {self.sizes[0]:,} to {self.sizes[-1]:,} training rows."
        )

    def table(self) -> Table:
        """Medians over the repeats: a row for each size."""
        columns, values = [], []
        for metric, title in (("accuracy", "accuracy"), ("log_loss", "log-loss"), ("seconds", "seconds")):
            for i, name in enumerate(self.names):
                columns.append(f"{title}, {name}")
                values.append(self.band(metric, i)[1])
        return Table("training rows", [f"{size:,}" for size in self.sizes], columns, np.stack(values, axis=1))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "\n".join([str(self.table()), self.verdict("accuracy"), self.verdict("log_loss")])

    def to_arrow(self) -> Any:
        """Every repeat as a row of a `pyarrow.Table`: model, rows, repeat, accuracy, log_loss, seconds."""
        import pyarrow as pa

        model, size, repeat = np.indices(self.accuracy.shape)
        columns = {"model": np.array(self.names, dtype=object)[model], "rows": self.sizes[size], "repeat": repeat}
        columns |= {"accuracy": self.accuracy, "log_loss": self.log_loss, "seconds": self.seconds}
        return pa.table({name: values.ravel() for name, values in columns.items()})

    def plot(self, ax: Any = None, *, metric: str = "accuracy") -> Any:
        """Draw the learning curves and return the axes.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; a new figure by default.
        metric : {'accuracy', 'log_loss', 'seconds'}, default='accuracy'
            What to draw.
        """
        from suffice.views.plot import learning_curves

        return learning_curves(self, metric=metric, ax=ax)


def compare(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int] | None = None,
    repeats: int = 10,
    held_out: float = 0.3,
    folds: int = 3,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare a generative classifier with regularised logistic regression, over growing numbers of training rows.

    Some rows are set aside to judge by, the same for all. In every repeat the others are put into another order, and
    both models learn from the first 20, 50, 100, … of them. Logistic regression is scikit-learn's: numbers
    standardised, gaps imputed, categories as indicators, texts as tf-idf, its C chosen by cross-validation (in every
    repeat up to 500 rows, beyond once for each size; the time that takes is part of its training time).

    Parameters
    ----------
    estimator : classifier of suffice
        The generative model; it is cloned and not changed.
    X : table, array, sparse matrix or texts
        Rows.
    y : array-like of shape (n_samples,), or str
        Their labels, or the column that holds them.
    sizes : sequence of int, default=None
        Numbers of training rows; by default eight, up to all that are not set aside, but 50 000 at most.
    repeats : int, default=10
        How often the rows are put into another order.
    held_out : float, default=0.3
        The share of the rows to judge by.
    folds : int, default=3
        Of the cross-validation that chooses C.
    random_state : int, default=0
        Decides which rows are set aside, and the orders.
    progress : callable, default=None
        Called with how many of how many trainings are done, after each.

    Returns
    -------
    comparison : Comparison
        Print it, or draw it with its `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice.estimators.naive_bayes import GaussianNB
    >>> found = compare(GaussianNB(), *load_iris(return_X_y=True), sizes=[12, 100], repeats=2)
    >>> found.accuracy.shape
    (2, 2, 2)
    """
    from sklearn.base import clone

    for name, value, least in (("repeats", repeats, 1), ("folds", folds, 2)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise InvalidOptionError(f"{name} must be a whole number of at least {least}, found {value!r}")
    if not 0 < held_out < 1:
        raise InvalidOptionError(f"held_out is a share of the rows, between 0 and 1; found {held_out!r}")
    settled, rows, columns, labels = _read(estimator, X, y)
    _check(labels)
    rng = np.random.default_rng(random_state)
    out, pool = _set_aside(labels.codes, held_out, rng)
    wanted = _sizes(sizes, len(pool) if sizes is not None else min(len(pool), MOST), len(labels.values))
    scores = np.empty((3, 2, len(wanted), repeats))
    chosen: dict[int, tuple[float, float]] = {}
    done = 0
    for r in range(repeats):
        order = _ordered(pool, labels.codes, rng)
        for s, size in enumerate(wanted):
            some = order[:size]
            p, seconds = _generative(clone(settled), rows, labels, some, out)
            scores[:, 0, s, r] = *_judged(p, labels.codes[out]), seconds
            if size <= ALWAYS or size not in chosen:
                chosen[size] = logistic.choose_strength(
                    columns, labels.codes, some, len(labels.values), folds, random_state + r
                )
            strength, search = chosen[size]
            trained = logistic.train(columns, labels.codes, some, len(labels.values), strength)
            scores[:, 1, s, r] = *_judged(trained.posterior(out), labels.codes[out]), search + trained.seconds
            done += 1
            if progress is not None:
                progress(done, len(wanted) * repeats)
    names = (type(estimator).__name__, logistic.NAME)
    return Comparison(names, np.array(wanted), scores[0], scores[1], scores[2], len(out))


# ---------------------------------------------------------------------------------------------- one training


def _generative(model: Any, rows: Any, labels: Labels, some: Rows, out: Rows) -> tuple[Array, float]:
    """p(y | x) of the rows set aside, and how long it took to learn; a first answer settles what waits until asked."""
    y = labels.values[labels.codes]
    train, first = rows(some), rows(some[:1])
    begun = time.perf_counter()
    model.fit(train, y[some])
    model.predict_proba(first)
    seconds = time.perf_counter() - begun
    told = np.zeros((len(out), len(labels.values)))
    told[:, np.searchsorted(labels.values, model.classes_)] = model.predict_proba(rows(out))
    return told, seconds


def _judged(posterior: Array, codes: Codes) -> tuple[float, float]:
    """Accuracy and log-loss."""
    return float(np.mean(posterior.argmax(axis=1) == codes)), logistic.log_loss(posterior, codes)


# ---------------------------------------------------------------------------------------------- rows


def _read(estimator: Any, X: Any, y: Any) -> tuple[Any, Callable[[Rows], Any], Columns, Labels]:
    """The estimator, some rows as it takes them, all as logistic regression does, and the labels."""
    from sklearn.base import clone

    from suffice.estimators.naive_bayes import CategoricalNB
    from suffice.estimators.table_classifier import BayesClassifier
    from suffice.text import TextClassifier

    if isinstance(y, str):
        frame = as_frame(X)
        target = read_labels(frame.column(y), y)
        X = frame.drop(y)
    else:
        target = y
    labels = encode_labels(target)
    if isinstance(estimator, TextClassifier):
        documents = _documents(X)
        found = Columns.of_texts(documents), len(documents)
        taken: Callable[[Rows], Any] = partial(_some_of, documents)
    elif isinstance(estimator, BayesClassifier):
        table = as_frame(X)
        families = estimator.families if isinstance(estimator.families, dict) else None
        limit = None if estimator.limit == "auto" else estimator.limit  # rows that are here are all kept
        schema = infer(profiles(table), families, estimator.smoothing, "ignore", limit)
        estimator = clone(estimator).set_params(families=_settled(schema))
        found, whole = (Columns.of_table(table, schema), table.n), table.table()
        taken = whole.take
    else:
        matrix = X.tocsr() if is_sparse(X) else _as_matrix(X)
        found = Columns.of_matrix(matrix, isinstance(estimator, CategoricalNB)), matrix.shape[0]
        taken = matrix.__getitem__
    if found[1] != len(labels):
        raise InvalidDataError(f"There are {found[1]} rows and {len(labels)} labels")
    return estimator, taken, found[0], labels


def _settled(schema: Schema) -> dict[Any, Any]:
    """What all rows tell of the columns, so that a few do not tell otherwise: such as that one numbers the rows."""
    families = {block.names if len(block.names) > 1 else block.names[0]: block.family for block in schema.blocks}
    return families | dict.fromkeys(schema.left_out)


def _check(labels: Labels) -> None:
    """Refuse what cannot be compared on."""
    if len(labels) < LEAST:
        raise InvalidDataError(f"There are {len(labels)} rows: learning curves need at least {LEAST}")
    if len(labels.values) < 2:
        raise InvalidDataError(f"There is one class only, {labels.values.tolist()[0]!r}: nothing is to be told apart")
    count = np.bincount(labels.codes)
    rare = int(np.argmin(count))
    if count[rare] < OF_EACH:
        label = labels.values.tolist()[rare]
        raise InvalidDataError(
            f"Class {label!r} has {count[rare]} row(s): learning curves need {OF_EACH} of each class, one to judge by "
            "and two to learn from. Leave it out, or merge it with another"
        )


def _set_aside(codes: Codes, share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """The rows to judge by, as many of each class as there are of it, and the others."""
    out = []
    for c in range(int(codes.max()) + 1):
        own = rng.permutation(np.flatnonzero(codes == c))
        out.append(own[: int(np.clip(round(share * len(own)), 1, len(own) - 2))])
    judged = np.sort(np.concatenate(out))
    return judged, np.setdiff1d(np.arange(len(codes)), judged)


def _ordered(pool: Rows, codes: Codes, rng: np.random.Generator) -> Rows:
    """The rows in random order, any beginning of which has the classes in about their shares, and two of each."""
    shuffled = rng.permutation(pool)
    place = np.empty(len(pool))
    for c in np.unique(codes[pool]):
        own = np.flatnonzero(codes[shuffled] == c)
        place[own] = (np.arange(len(own)) + rng.random()) / len(own)
        place[own[:2]] -= 2.0
    return shuffled[np.argsort(place, kind="stable")]


def _sizes(sizes: Sequence[int] | None, most: int, classes: int) -> list[int]:
    """Those that were asked for, or about evenly spaced ones of their logarithm."""
    least = min(max(2 * classes, 10), most)
    if sizes is None:
        spaced = np.geomspace(least, most, STEPS)[:-1]
        return sorted({*(max(least, _rounded(size)) for size in spaced), most})
    found = sorted({int(size) for size in sizes})
    if not found:
        raise InvalidOptionError("sizes is empty: there is nothing to train on")
    if found[0] < 2 * classes or found[-1] > most:
        raise InvalidOptionError(
            f"sizes must lie between {2 * classes}, two rows of each class, and {most}, the rows that are not set "
            f"aside; found {found[0] if found[0] < 2 * classes else found[-1]}"
        )
    return found


def _rounded(size: float) -> int:
    """A size of two digits and zeros."""
    unit = 10.0 ** max(0, np.floor(np.log10(size)) - 1)
    return int(round(size / unit) * unit)


def _documents(X: Any) -> list[str | None]:
    """Texts: a list of them, or the one column of a table."""
    if isinstance(X, (list, tuple, np.ndarray)):
        return np.asarray(X, dtype=object).ravel().tolist()
    if not isinstance(X, (Frame, dict)) and not hasattr(X, "columns"):
        return read_texts(as_column(X, "texts"), "texts")
    frame = as_frame(X)
    if len(frame.names) != 1:
        raise InvalidDataError(f"Expected one column of texts besides the labels, found {frame.names[:20]}")
    return read_texts(frame.column(frame.names[0]), frame.names[0])


def _some_of(documents: list[str | None], some: Rows) -> list[str | None]:
    return [documents[i] for i in some]


def _as_matrix(X: Any) -> NDArray[Any]:
    """Rows by columns, from an array or a table of numbers."""
    if isinstance(X, np.ndarray) or not hasattr(X, "columns"):
        return np.asarray(X)
    frame = as_frame(X)
    return np.stack([np.asarray(read_numbers(frame.column(name), name)) for name in frame.names], axis=1)
