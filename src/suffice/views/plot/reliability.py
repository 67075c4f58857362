"""Reliability diagram: among rows that were given a probability of 70 %, does the event happen in 70 %?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.model.evaluate import Reliability
from suffice.views.fitted import ProbabilisticClassifier, labels_of
from suffice.views.plot import style
from suffice.views.plot.display import Display, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIAGONAL = "perfectly calibrated"


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
        bins: int = 10,
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
        y : array-like, or str
            Their labels, or the name of the column that holds them.
        label : label, default=None
            The class whose probability is judged. By default the second of two classes; of more classes, for each row
            the predicted one.
        bins : int, default=10
            The number of bins, which have equal widths.
        name : str, default=None
            Who predicted; by default the estimator's class.
        ax : Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            Options of `plot`.
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
        bins: int = 10,
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
        label : label, default=None
            The class whose probability is judged, as in `from_estimator`.
        bins : int, default=10
            The number of bins, which have equal widths.
        name : str, default=None
            Who predicted.
        ax : Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            Options of `plot`.
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
            given, happened, event = p.max(axis=1), known[p.argmax(axis=1)] == y, "the predicted class"
        else:
            at = style.chosen_classes(known, None if label is None else [label], np.ones(len(known)))[-1]
            given, happened, event = p[:, at], y == known[at], str(known[at])
        binned = Reliability.of(given, happened, bins=bins)
        empty = np.where(binned.weight > 0, 0.0, np.nan)  # an empty bin has no mean
        return cls(binned.said + empty, binned.true + empty, binned.weight, event, name).plot(ax, **options)

    @property
    def error(self) -> float:
        """The mean distance from the diagonal, weighted by rows: the expected calibration error."""
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
        label = f"error {self.error:.3f}" if self.name is None else f"{self.name}: error {self.error:.3f}"
        ax.errorbar(
            said, true, yerr=np.stack([true - low, high - true]), marker=style.marker(place), markersize=5,
            elinewidth=0.9, capsize=2, label=style.shorten(label, 48), **style.line(place),
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
