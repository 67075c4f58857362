"""Generative against discriminative: learning curves of a model and of logistic regression, on the same rows.

A generative model assumes more, so it reaches its best accuracy with fewer rows. A discriminative model assumes less,
so it may overtake when there are many rows (Ng and Jordan, 2001). Where the curves cross depends on the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, checked_sparse, is_sparse
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import as_frame, profiles
from suffice.core.frames import texts as read_texts
from suffice.core.frames.input import as_column
from suffice.core.labels import Labels, encode_labels, label_list
from suffice.families import Table
from suffice.model.forms import in_form
from suffice.model.schema import infer
from suffice.views import logistic_baseline as logistic
from suffice.views.fitted import form_of, labels_of
from suffice.views.logistic_baseline import Columns, Rows
from suffice.views.plot.evaluation_plots import METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_ROWS = 20  # fewer rows cannot be compared
LEAST_OF_CLASS = 3  # rows that every class needs: one to test on, two to train on
TUNED_EACH_TIME = 500  # training rows, up to which C is chosen again in every repeat
DEFAULT_SIZES = 8  # how many sizes, if none are given
MOST_ROWS = 50_000  # training rows, if no sizes are given
BAND = 0.8  # the share of the repeats inside the band


@dataclass(frozen=True, repr=False)
class Comparison:
    """Learning curves of two models, the generative one first.

    `sizes` are the numbers of training rows. `accuracy` and `log_loss` on the `held_out` test rows, and `seconds` of
    training, have the shape (models, sizes, repeats). Print it for a table; `to_arrow` has every repeat, `plot` draws.
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
        """Return the 10 % quantile of the repeats, their median and their 90 % quantile, (sizes,) each."""
        tail = 0.5 * (1.0 - BAND)
        low, middle, high = np.quantile(self._values(metric)[model], [tail, 0.5, 1.0 - tail], axis=1)
        return low, middle, high

    @property
    def band_title(self) -> str:
        """What the band shows."""
        return f"median and middle {BAND:.0%} of {self.accuracy.shape[2]} repeats".replace("%", " %")

    def gain(self, metric: str = "accuracy") -> Array:
        """Return by how much the discriminative model is better, (sizes,): the median over paired repeats."""
        generative, discriminative = self._values(metric)
        better = discriminative - generative if metric == "accuracy" else generative - discriminative
        return np.asarray(np.median(better, axis=1))

    def crossing(self, metric: str = "accuracy") -> float | None:
        """Return the number of rows at which the curves cross for the last time; None if they do not.

        It is interpolated between two sizes, over the logarithm of the size.
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
        """Say in one sentence which model is better, and from how many rows on."""
        crossing, gain = self.crossing(metric), self.gain(metric)
        last = gain[-1]
        winner, loser = self.names[::-1] if (last or gain.max()) > 0 else self.names
        by = f"By {METRICS[metric].split(',')[0]}"
        if crossing is not None:
            return f"{by}, {winner} overtakes {loser} at about {_rounded(crossing):,} training rows."
        if last:
            found = f"{winner} is better from {self.sizes[0]:,} to {self.sizes[-1]:,} training rows"
        elif gain.any():
            found = f"{winner} is better with few rows, and they are equally good at the end"
        else:
            found = "they are equally good"
        return f"{by}, they do not cross: {found}."

    def table(self) -> Table:
        """Return the medians over the repeats, one row for each size."""
        columns, values = [], []
        for metric, title in (("accuracy", "accuracy"), ("log_loss", "log-loss"), ("seconds", "seconds")):
            for i, name in enumerate(self.names):
                columns.append(f"{title}, {name}")
                values.append(self.band(metric, i)[1])
        return Table("training rows", [f"{size:,}" for size in self.sizes], columns, np.stack(values, axis=1))

    def __repr__(self) -> str:
        return "\n".join([str(self.table()), self.verdict("accuracy"), self.verdict("log_loss")])

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` of every repeat: model, rows, repeat, accuracy, log_loss, seconds."""
        import pyarrow as pa

        model, size, repeat = np.indices(self.accuracy.shape)
        columns = {"model": np.array(self.names, dtype=object)[model], "rows": self.sizes[size], "repeat": repeat}
        columns |= {"accuracy": self.accuracy, "log_loss": self.log_loss, "seconds": self.seconds}
        return pa.table({name: values.ravel() for name, values in columns.items()})

    def plot(self, ax: Axes | None = None, *, metric: str = "accuracy") -> Axes:
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
    X: object,
    y: object,
    *,
    sizes: Sequence[int] | None = None,
    repeats: int = 10,
    held_out: float = 0.3,
    folds: int = 3,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare a generative classifier with regularised logistic regression, over growing numbers of training rows.

    The test rows are set aside once. Every repeat shuffles the other rows, and both models learn from the first
    20, 50, 100, … of them. Logistic regression is scikit-learn's: numbers are standardised, missing values imputed,
    categories one-hot encoded, texts turned into tf-idf. Its C is chosen by cross-validation: in every repeat up to 500
    rows, above that once for each size. The time of that search counts as training time.

    Parameters
    ----------
    estimator : classifier of suffice
        The generative model. A clone is trained; the estimator itself stays unchanged.
    X : table, array, sparse matrix or texts
        Rows.
    y : array-like of shape (n_samples,), or str
        Their labels, or the name of the column that holds them.
    sizes : sequence of int, default=None
        Numbers of training rows; by default eight, up to all rows that are not set aside, but at most 50 000.
    repeats : int, default=10
        How often the training rows are shuffled.
    held_out : float, default=0.3
        The share of the rows to test on.
    folds : int, default=3
        Folds of the cross-validation that chooses C.
    random_state : int, default=0
        Seed of the test rows and of the orders.
    progress : callable, default=None
        Called after each training with the number done and the number of all.

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
    from suffice.estimators.scikit_learn import clone

    for name, value, least in (("repeats", repeats, 1), ("folds", folds, 2)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise InvalidOptionError(f"{name} must be an integer of at least {least}, found {value!r}")
    if not 0 < held_out < 1:
        raise InvalidOptionError(f"held_out must be a share of the rows, between 0 and 1; found {held_out!r}")
    generative, rows, columns, labels = _read(estimator, X, y)
    _check(labels)
    rng = np.random.default_rng(random_state)
    test, pool = _set_aside(labels.codes, held_out, rng)
    wanted = _sizes(sizes, len(pool) if sizes is not None else min(len(pool), MOST_ROWS), len(labels.values))
    scores = np.empty((3, 2, len(wanted), repeats))
    chosen: dict[int, tuple[float, float]] = {}
    done = 0
    for r in range(repeats):
        order = _ordered(pool, labels.codes, rng)
        for s, size in enumerate(wanted):
            train = order[:size]
            p, seconds = _train_generative(clone(generative), rows, labels, train, test)
            scores[:, 0, s, r] = *_scores(p, labels.codes[test]), seconds
            if size <= TUNED_EACH_TIME or size not in chosen:
                chosen[size] = logistic.choose_strength(
                    columns, labels.codes, train, len(labels.values), folds, random_state + r
                )
            strength, search = chosen[size]
            p, seconds = logistic.train(columns, labels.codes, train, test, len(labels.values), strength)
            scores[:, 1, s, r] = *_scores(p, labels.codes[test]), search + seconds
            done += 1
            if progress is not None:
                progress(done, len(wanted) * repeats)
    names = (type(estimator).__name__, logistic.NAME)
    return Comparison(names, np.array(wanted), scores[0], scores[1], scores[2], len(test))


# ---------------------------------------------------------------------------------------------- one training


def _train_generative(
    model: Any, rows: Callable[[Rows], object], labels: Labels, train: Rows, test: Rows
) -> tuple[Array, float]:
    """Return p(y | x) of the test rows, and the seconds of training.

    The time includes a first prediction, because estimators compute some of their parameters when first asked.
    """
    y = labels.values[labels.codes]
    x, first = rows(train), rows(train[:1])
    begun = time.perf_counter()
    model.fit(x, y[train])
    model.predict_proba(first)
    seconds = time.perf_counter() - begun
    posterior = np.zeros((len(test), len(labels.values)))
    posterior[:, np.searchsorted(labels.values, model.classes_)] = model.predict_proba(rows(test))
    return posterior, seconds


def _scores(posterior: Array, codes: Codes) -> tuple[float, float]:
    """Return accuracy and log-loss."""
    return float(np.mean(posterior.argmax(axis=1) == codes)), logistic.log_loss(posterior, codes)


# ---------------------------------------------------------------------------------------------- rows


def _read(estimator: Any, X: Any, y: object) -> tuple[Any, Callable[[Rows], object], Columns, Labels]:
    """Return the estimator, a function that takes rows by number, the columns for logistic regression, and labels."""
    from suffice.estimators.scikit_learn import clone

    labels = encode_labels(labels_of(X, y))
    if isinstance(y, str):
        X = as_frame(X).drop(y)
    form = form_of(estimator)
    if form == "texts":
        documents = _documents(X)
        found = Columns.of_texts(documents), len(documents)
        taken: Callable[[Rows], object] = documents.__getitem__
    elif form == "table":
        table = as_frame(X)
        families = estimator.families if isinstance(estimator.families, dict) else None
        limit = None if estimator.limit == "auto" else estimator.limit  # rows in memory are all kept
        schema = infer(profiles(table), families, estimator.smoothing, "ignore", limit)
        # The families that all rows suggest: small training sets must not choose others.
        fixed = {block.names if len(block.names) > 1 else block.names[0]: block.family for block in schema.blocks}
        estimator = clone(estimator).set_params(families=fixed | dict.fromkeys(schema.left_out))
        found, whole = (Columns.of_table(schema.columns_in(table), schema), table.n), table.table()
        taken = whole.take
    else:
        dense = in_form(as_frame(X), "numbers") if hasattr(X, "columns") else X
        matrix = checked_sparse(X) if is_sparse(X) else np.asarray(dense)
        found = Columns.of_matrix(matrix, form == "categories"), matrix.shape[0]
        taken = matrix.__getitem__
    if found[1] != len(labels):
        raise InvalidDataError(f"There are {found[1]} rows and {len(labels)} labels")
    return estimator, taken, found[0], labels


def _check(labels: Labels) -> None:
    """Refuse too few rows or classes."""
    if len(labels) < LEAST_ROWS:
        raise InvalidDataError(f"There are {len(labels)} rows: learning curves need at least {LEAST_ROWS}")
    if len(labels.values) < 2:
        raise InvalidDataError(f"There is one class only, {label_list(labels.values)[0]!r}: a comparison needs two")
    count = np.bincount(labels.codes)
    rare = int(np.argmin(count))
    if count[rare] < LEAST_OF_CLASS:
        label = label_list(labels.values)[rare]
        raise InvalidDataError(
            f"Class {label!r} has {count[rare]} row(s): learning curves need {LEAST_OF_CLASS} of each class, one to "
            "test on and two to train on. Remove the class, or merge it with another"
        )


def _set_aside(codes: Codes, share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return the test rows, the same share of each class, and the other rows."""
    out = []
    for c in range(int(codes.max()) + 1):
        own = rng.permutation(np.flatnonzero(codes == c))
        out.append(own[: int(np.clip(round(share * len(own)), 1, len(own) - 2))])
    test = np.sort(np.concatenate(out))
    return test, np.setdiff1d(np.arange(len(codes)), test)


def _ordered(pool: Rows, codes: Codes, rng: np.random.Generator) -> Rows:
    """Return the rows in random order; every prefix has about the shares of the classes, and two rows of each."""
    shuffled = rng.permutation(pool)
    place = np.empty(len(pool))
    for c in np.unique(codes[pool]):
        own = np.flatnonzero(codes[shuffled] == c)
        place[own] = (np.arange(len(own)) + rng.random()) / len(own)
        place[own[:2]] -= 2.0
    return shuffled[np.argsort(place, kind="stable")]


def _sizes(sizes: Sequence[int] | None, most: int, classes: int) -> list[int]:
    """Return the sizes that were asked for, or sizes that are evenly spaced on a logarithmic scale."""
    least = min(max(2 * classes, 10), most)
    if sizes is None:
        spaced = np.geomspace(least, most, DEFAULT_SIZES)[:-1]
        return sorted({*(max(least, _rounded(size)) for size in spaced), most})
    found = sorted({int(size) for size in sizes})
    if not found:
        raise InvalidOptionError("sizes is empty: give at least one number of training rows")
    if found[0] < 2 * classes or found[-1] > most:
        raise InvalidOptionError(
            f"sizes must lie between {2 * classes}, two rows of each class, and {most}, the rows that are not set "
            f"aside; found {found[0] if found[0] < 2 * classes else found[-1]}"
        )
    return found


def _rounded(size: float) -> int:
    """Round a size to two significant digits."""
    unit = 10.0 ** max(0, np.floor(np.log10(size)) - 1)
    return int(round(size / unit) * unit)


def _documents(X: Any) -> NDArray[np.object_]:
    """Return texts, given as a list or as the only column of a table."""
    if isinstance(X, dict) or hasattr(X, "columns"):
        frame = as_frame(X)
        if len(frame.names) != 1:
            raise InvalidDataError(f"Expected one column of texts besides the labels, found {frame.names[:20]}")
        X = read_texts(frame.column(frame.names[0]), frame.names[0])
    elif not isinstance(X, (list, tuple, np.ndarray)):
        X = read_texts(as_column(X, "texts"), "texts")
    return np.asarray(X, dtype=object).ravel()
