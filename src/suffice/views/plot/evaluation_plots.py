"""How well models predict: confusion matrix, reliability diagram, and learning curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.core.labels import label_list
from suffice.model.evaluate import BINS, Reliability
from suffice.views.fitted import Classifier, ProbabilisticClassifier, labels_of
from suffice.views.plot import style
from suffice.views.plot.display import Display, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.estimators.monitor import Monitor
    from suffice.views.comparison import Comparison
    from suffice.views.prequential import Prequential

WITH_COUNTS = 24  # classes, up to which the counts fit into the cells
WITH_NAMES = 40  # classes, up to which all names fit beside the picture
WITH_SHARES = 6  # classes, up to which a cell has room for count and share
DIAGONAL = "perfectly calibrated"
PREDICTED = "the predicted class"  # the event whose error is the calibration error
METRICS = {"accuracy": "accuracy", "log_loss": "log-loss, in nats", "seconds": "training time, in seconds"}


class ConfusionDisplay(Display):
    """How often rows of each class were predicted as each class: counts, shaded by the share of the true class.

    Parameters
    ----------
    matrix : ndarray of shape (n_classes, n_classes)
        Counts: true classes down, predicted classes across.
    labels : ndarray of shape (n_classes,)
        The classes.
    """

    def __init__(self, matrix: NDArray[Any], labels: Values):
        self.matrix, self.labels = matrix, labels

    @classmethod
    def from_estimator(cls, estimator: Classifier, X: object, y: object, *, ax: Axes | None = None) -> Self:
        """Draw the confusion matrix of a fitted classifier, over rows whose labels are known.

        Parameters
        ----------
        estimator : fitted classifier
            Any that has `predict`.
        X : table, array or texts
            Rows.
        """
        true = labels_of(X, y)
        labels = np.unique(np.concatenate([np.asarray(estimator.classes_), true]))
        return cls.from_predictions(true, estimator.predict(X), labels=labels, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the confusion matrix of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_pred : array-like of shape (n_samples,)
            Predictions.
        labels : sequence of labels, default=None
            The classes, in the order they are drawn; by default all of both, sorted.
        """
        true, predicted = np.asarray(y_true), np.asarray(y_pred)
        if len(true) != len(predicted) or not len(true):
            raise InvalidDataError(f"There are {len(true)} labels and {len(predicted)} predictions")
        known = np.unique(np.concatenate([true, predicted])) if labels is None else np.asarray(labels)
        place = {label: i for i, label in enumerate(label_list(known))}
        unknown = [each for each in {*label_list(true), *label_list(predicted)} if each not in place]
        if unknown:
            raise MismatchError(f"{unknown[0]!r} is none of the labels to draw")
        rows, columns = (np.array([place[each] for each in label_list(some)]) for some in (true, predicted))
        n = len(known)
        return cls(np.bincount(rows * n + columns, minlength=n * n).reshape(n, n), known).plot(ax)

    @property
    def share(self) -> Array:
        """The matrix divided by the sums of its rows."""
        rows = self.matrix.sum(axis=1, keepdims=True)
        return np.asarray(self.matrix / np.maximum(rows, 1))

    def _size(self) -> tuple[float, float]:
        side = float(np.clip(2.2 + 0.42 * len(self.labels), 3.6, 10.0))
        return side + 0.9, side

    def _draw(self, ax: Axes) -> None:
        n, share = len(self.labels), self.share
        drawn = ax.imshow(share, cmap="Greys", vmin=0.0, vmax=1.0)
        if n <= WITH_COUNTS:
            size = "medium" if n <= WITH_SHARES else "small" if n <= 12 else "x-small"
            for i, j in np.ndindex(n, n):
                if self.matrix[i, j] or n <= WITH_SHARES:
                    ink = "white" if share[i, j] > 0.55 else "black"
                    text = f"{self.matrix[i, j]:,}" + (f"\n{100 * share[i, j]:.0f} %" if n <= WITH_SHARES else "")
                    ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)
        small = "small" if n <= 12 else "x-small"
        ticks = range(0, n, max(1, -(-n // WITH_NAMES)))
        names = style.distinct_names([self.labels[i] for i in ticks])
        tilted: style.Style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(ticks, names, fontsize=small, **(tilted if max(map(len, names)) > 6 or n > 12 else {}))
        ax.set_yticks(ticks, names, fontsize=small)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")
        right, total = np.trace(self.matrix), self.matrix.sum()
        ax.set_title(f"{right:,} of {total:,} right ({right / total:.1%})", fontsize="medium")
        bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.03)
        bar.set_label("share of the true class")
        bar.outline.set_linewidth(0)


confusion = drawing("confusion", ConfusionDisplay.from_estimator, lambda drawn: drawn.ax_)


class ReliabilityDisplay(Display):
    """How often an event happened among rows that were given a probability, over that probability.

    A new figure has a histogram of the probabilities below the curve, on the axes `counts_ax_`.

    Parameters
    ----------
    said : ndarray of shape (n_bins,)
        The mean of the predicted probabilities in each bin; NaN in an empty bin.
    true : ndarray of shape (n_bins,)
        The share of the rows of the bin for which the event happened.
    count : ndarray of shape (n_bins,)
        The number of rows of the bin.
    event : str
        What the probability is of.
    name : str, default=None
        Who predicted; shown in the legend.
    """

    counts_ax_: Axes | None

    def __init__(self, said: Array, true: Array, count: Array, event: str, name: str | None = None):
        self.said, self.true, self.count, self.event, self.name = said, true, count, event, name

    @classmethod
    def from_estimator(
        cls,
        estimator: ProbabilisticClassifier,
        X: object,
        y: object,
        *,
        label: object = None,
        bins: int = BINS,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw how often events happen that a fitted classifier gave a probability.

        Parameters
        ----------
        estimator : fitted classifier
            Any that has `predict_proba`.
        X : table, array or texts
            Rows that were not used for training.
        label : label, default=None
            The class whose probability is judged. By default the second of two classes; of more classes, for each row
            the predicted one.
        bins : int, default=15
            The number of bins, which have equal widths.
        name : str, default=None
            Who predicted; by default the estimator's class.
        """
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        options |= {"label": label, "bins": bins, "name": type(estimator).__name__ if name is None else name, "ax": ax}
        return cls.from_predictions(labels_of(X, y), p, classes=estimator.classes_, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        label: object = None,
        bins: int = BINS,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw how often events happen that were given a probability.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
            Probabilities: of the second of two classes, or of every class.
        classes : array-like of shape (n_classes,), default=None
            The classes, in the order of the columns; by default those of the labels, sorted.
        """
        y, p = np.asarray(y_true), np.asarray(y_proba, dtype=np.float64)
        known = np.unique(y) if classes is None else np.asarray(classes)
        if p.ndim == 1:
            p = np.stack([1.0 - p, p], axis=1)
        if len(p) != len(y) or not len(y):
            raise InvalidDataError(f"There are {len(y)} labels and {len(p)} rows of probabilities")
        if p.shape[1] != len(known):
            raise MismatchError(
                f"There are {p.shape[1]} columns of probabilities but {len(known)} classes: pass classes="
            )
        if not ((p >= 0) & (p <= 1 + 1e-9)).all():
            raise InvalidDataError("Probabilities must lie between 0 and 1")
        if not isinstance(bins, (int, np.integer)) or bins < 1:
            raise InvalidOptionError(f"bins must be an integer of at least 1, found {bins!r}")
        if label is None and len(known) != 2:
            given, happened, event = p.max(axis=1), known[p.argmax(axis=1)] == y, PREDICTED
        else:
            at = style.chosen_classes(known, None if label is None else [label], np.ones(len(known)))[-1]
            given, happened, event = p[:, at], y == known[at], str(known[at])
        binned = Reliability.of(given, happened, bins=bins)
        empty = np.where(binned.weight > 0, 0.0, np.nan)  # an empty bin has no mean
        return cls(binned.said + empty, binned.true + empty, binned.weight, event, name).plot(ax, **options)

    @property
    def error(self) -> float:
        """The mean distance from the diagonal, weighted by rows.

        Of the predicted class it is the calibration error; of one class it is called the error of p(class).
        """
        seen = self.count > 0
        return float(self.count[seen] @ np.abs(self.true[seen] - self.said[seen]) / self.count.sum())

    def plot(self, ax: Axes | None = None, *, counts_ax: Axes | None = None, place: int = 0) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; several displays may share axes.
        counts_ax : Axes, default=None
            Where to draw a histogram of the probabilities; a new figure has it below the curve.
        place : int, default=0
            Which colour, line and marker to use.
        """
        if ax is None:
            layout = {"height_ratios": (4, 1), "sharex": True, "figsize": (5.0, 5.8), "layout": "constrained"}
            ax, counts_ax = style.pyplot().subplots(2, 1, **layout)[1]
        self.ax_ = ax = style.single_axes(ax)
        style.light_grid(ax)
        if not any(each.get_label() == DIAGONAL for each in ax.get_lines()):
            ax.plot([0, 1], [0, 1], color="0.5", linewidth=1.2, linestyle=(0, (1, 1.5)), label=DIAGONAL)
        seen = np.flatnonzero(self.count > 0)
        said, true = self.said[seen], self.true[seen]
        low, high = _wilson_interval(true, self.count[seen])
        kind = "calibration error" if self.event == PREDICTED else f"error of p({style.shorten(self.event, 16)})"
        label = f"{kind} {self.error:.3f}" if self.name is None else f"{self.name}: {kind} {self.error:.3f}"
        ax.errorbar(
            said, true, yerr=np.stack([true - low, high - true]), marker=style.marker(place), markersize=5,
            elinewidth=0.9, capsize=2, label=style.shorten(label, 64), **style.line(place),
        )  # fmt: skip
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        event = style.shorten(self.event)
        ax.set_ylabel(f"share of rows that are {event}")
        ax.set_xlabel(f"predicted probability of {event}")
        ax.legend(fontsize="small", frameon=False, loc="upper left")
        self.counts_ax_ = counts_ax
        if counts_ax is not None:
            self._histogram(style.single_axes(counts_ax), place)
            counts_ax.set_xlabel(ax.get_xlabel())
            ax.set_xlabel("")
        return self

    def _histogram(self, ax: Axes, place: int) -> None:
        style.light_grid(ax)
        edges = np.linspace(0, 1, len(self.count) + 1)
        ax.stairs(self.count, edges, fill=True, color=style.colour(place), alpha=0.25)
        ax.stairs(self.count, edges, baseline=None, **style.line(place))
        ax.set_ylabel("rows")
        ax.set_ylim(0, None)


reliability = drawing("reliability", ReliabilityDisplay.from_estimator, lambda drawn: drawn.ax_)


def _wilson_interval(share: Array, n: Array) -> tuple[Array, Array]:
    """Return the 95 % interval of a share of n rows (Wilson, 1927)."""
    z = 1.959963984540054
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return np.minimum(np.maximum(middle - half, 0.0), share), np.maximum(np.minimum(middle + half, 1.0), share)


class LearningCurvesDisplay(Display):
    """Accuracy, log-loss or training time over the number of training rows: median of all repeats, and a band.

    Parameters
    ----------
    comparison : Comparison
        The result of `suffice.compare`.
    metric : {'accuracy', 'log_loss', 'seconds'}, default='accuracy'
        What to draw.
    """

    def __init__(self, comparison: Comparison, metric: str = "accuracy"):
        if metric not in METRICS:
            raise InvalidOptionError(f"metric must be one of {tuple(METRICS)}, found {metric!r}")
        self.comparison, self.metric = comparison, metric

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, metric: str = "accuracy", ax: Axes | None = None) -> Self:
        """Draw learning curves."""
        return cls(comparison, metric).plot(ax)

    def _draw(self, ax: Axes) -> None:
        style.light_grid(ax)
        curves = self.comparison
        for i, name in enumerate(curves.names):
            low, middle, high = curves.band(self.metric, i)
            ax.fill_between(curves.sizes, low, high, color=style.colour(i), alpha=0.16, linewidth=0)
            look: style.Style = {"marker": style.marker(i), "markersize": 4.5} | style.line(i)
            ax.plot(curves.sizes, middle, label=style.shorten(name, 34), **look)
        ax.set_xscale("log")
        self._ticks(ax)
        if self.metric == "seconds":
            ax.set_yscale("log")
        crossing = curves.crossing(self.metric)
        if crossing is not None and self.metric != "seconds":
            ax.axvline(crossing, color="0.45", linewidth=1.0, linestyle=(0, (2, 2)))
            ax.annotate(
                f"they cross at {crossing:,.0f} rows", (crossing, 1), xycoords=("data", "axes fraction"),
                xytext=(0, 3), textcoords="offset points", ha="center", va="bottom", fontsize="small",
            )  # fmt: skip
        ax.set_xlabel("training rows")
        ax.set_ylabel(METRICS[self.metric])
        ax.legend(fontsize="small", frameon=False, loc="best", title=curves.band_title, title_fontsize="x-small")

    def _ticks(self, ax: Axes) -> None:
        """Label the sizes themselves, except those whose labels would touch."""
        sizes = self.comparison.sizes
        kept = [sizes[0]]
        for size in sizes[1:]:
            if np.log(size / kept[-1]) >= 0.075 * np.log(max(sizes[-1] / sizes[0], 1.0001)):
                kept.append(size)
        ax.set_xticks(kept, [f"{size:,}" for size in kept], fontsize="small")
        ax.minorticks_off()


learning_curves = drawing("learning_curves", LearningCurvesDisplay.from_comparison, lambda drawn: drawn.ax_)


class PrequentialDisplay(Display):
    """Accuracy or log-loss of models along a stream: of each stretch, and (thin) from the beginning.

    Parameters
    ----------
    results : list of Prequential
        Results of `suffice.prequential`, of one stream.
    metric : {'accuracy', 'log_loss'}, default='accuracy'
        What to draw.
    """

    def __init__(self, results: list[Prequential], metric: str = "accuracy"):
        if metric not in ("accuracy", "log_loss"):
            raise InvalidOptionError(f"metric must be 'accuracy' or 'log_loss', found {metric!r}")
        self.results, self.metric = results, metric

    @classmethod
    def from_results(cls, *results: Prequential, metric: str = "accuracy", ax: Axes | None = None) -> Self:
        """Draw results.

        Parameters
        ----------
        *results : Prequential
            Results of `suffice.prequential`.
        """
        if not results:
            raise InvalidDataError("There is no result to draw")
        return cls(list(results), metric).plot(ax)

    def _draw(self, ax: Axes) -> None:
        style.light_grid(ax)
        for i, result in enumerate(self.results):
            values = getattr(result, self.metric)
            so_far = np.cumsum(values * result.weight) / result.row
            ax.plot(result.row, values, label=style.shorten(result.name, 34), **style.line(i))
            ax.plot(result.row, so_far, color=style.colour(i), linewidth=0.8, alpha=0.6)
        from matplotlib.lines import Line2D

        ax.set_xlabel("rows")
        ax.set_ylabel(METRICS[self.metric])
        thin = Line2D([], [], color="0.5", linewidth=0.8, label="from the beginning")
        ax.legend(handles=[*ax.get_legend_handles_labels()[0], thin], fontsize="small", frameon=False, loc="best")


prequential = drawing("prequential", PrequentialDisplay.from_results, lambda drawn: drawn.ax_)


class MonitorDisplay(Display):
    """The wealth of bets that something has changed, along the rows; an alarm is raised at the dashed line.

    Parameters
    ----------
    watched : Monitor
        After `update`.
    most : int, default=6
        How many series are drawn: those of the largest wealth.
    """

    def __init__(self, watched: Monitor, most: int = 6):
        self.watched, self.most = watched, most

    @classmethod
    def from_monitor(cls, watched: Monitor, *, most: int = 6, ax: Axes | None = None) -> Self:
        """Draw a monitor."""
        if not watched.n_rows_:
            raise InvalidDataError("The monitor has not seen a row yet: update it first")
        return cls(watched, most).plot(ax)

    def _draw(self, ax: Axes) -> None:
        style.light_grid(ax)
        watched, rows = self.watched, self.watched.rows_
        paths = {name: watched.wealth(name) for name in watched.series}
        chosen = sorted(paths, key=lambda name: -float(paths[name].max()))[: self.most]
        for i, name in enumerate(chosen):
            ax.plot(rows, paths[name], label=style.shorten(name, 34), **style.line(i))
        ax.axhline(watched.threshold, color="0.45", linewidth=1.0, linestyle=(0, (4, 3)))
        for alarm in watched.alarms_:
            if alarm.what in chosen:
                ax.axvline(alarm.since, color=style.colour(chosen.index(alarm.what)), linewidth=0.8, alpha=0.5)
        ax.set_yscale("log")
        ax.set_xlabel("rows")
        ax.set_ylabel("wealth of bets on a change")
        ax.legend(fontsize="small", frameon=False, loc="best")


monitor = drawing("monitor", MonitorDisplay.from_monitor, lambda drawn: drawn.ax_)
