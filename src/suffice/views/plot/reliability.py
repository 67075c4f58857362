"""Whether what is given 70 % happens in 70 % of the cases."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.model.evaluate import Reliability
from suffice.views.plot import style
from suffice.views.plot.answers import labels_of


class ReliabilityDisplay:
    """How often something happened among rows that were given a probability, over that probability.

    Parameters
    ----------
    said : ndarray of shape (n_bins,)
        The mean probability that was given, in each bin; NaN where none was.
    true : ndarray of shape (n_bins,)
        How often it happened.
    count : ndarray of shape (n_bins,)
        How many rows there were.
    event : str
        What the probability is of.
    name : str, default=None
        Whose probabilities they are.

    Attributes
    ----------
    ax_ : Axes
        What was drawn on.
    counts_ax_ : Axes or None
        How often each probability was given, below.
    figure_ : Figure
        What they are part of.
    """

    def __init__(self, said: Array, true: Array, count: Array, event: str, name: str | None = None):
        self.said, self.true, self.count, self.event, self.name = said, true, count, event, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        label: Any = None,
        bins: int = 10,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Ask a fitted classifier about rows whose labels are known.

        Parameters
        ----------
        estimator : fitted classifier
            Any that has `predict_proba`.
        X : table, array or texts
            Rows that were not learned from.
        y : array-like, or str
            Their labels, or the column that holds them.
        label : label, default=None
            The class whose probability it is: by default the second of two, else that of whatever is predicted.
        bins : int, default=10
            Into how many bins of equal width probabilities are sorted.
        name : str, default=None
            What to call it; by default the estimator's class.
        ax : Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As `plot` takes them.

        Returns
        -------
        display : ReliabilityDisplay
            With `ax_` and `figure_`.
        """
        told = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(
            labels_of(X, y), told, classes=estimator.classes_, label=label, bins=bins, name=name, ax=ax, **options
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        classes: Any = None,
        label: Any = None,
        bins: int = 10,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw probabilities that were given to rows whose labels are known.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
            Probabilities: of the second of two classes, or of every class.
        classes : array-like of shape (n_classes,), default=None
            The classes, in the order of the columns; by default those of the labels, sorted.
        label : label, default=None
            The class whose probability it is: by default the second of two, else that of whatever is predicted.
        bins : int, default=10
            Into how many bins of equal width probabilities are sorted.
        name : str, default=None
            Whose probabilities they are.
        ax : Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As `plot` takes them.

        Returns
        -------
        display : ReliabilityDisplay
            With `ax_` and `figure_`.
        """
        y, p = np.asarray(y_true), np.asarray(y_proba, dtype=np.float64)
        known = np.unique(y) if classes is None else np.asarray(classes)
        if p.ndim == 1:
            p = np.stack([1.0 - p, p], axis=1)
        if len(p) != len(y) or not len(y):
            raise InvalidDataError(f"There are {len(y)} labels and {len(p)} rows of probabilities")
        if p.shape[1] != len(known):
            raise MismatchError(f"There are probabilities of {p.shape[1]} classes, and {len(known)} classes: name them")
        if not ((p >= 0) & (p <= 1 + 1e-9)).all():
            raise InvalidDataError("Probabilities lie between 0 and 1")
        if not isinstance(bins, (int, np.integer)) or bins < 1:
            raise InvalidOptionError(f"bins must be a whole number of at least 1, found {bins!r}")
        if label is None and len(known) != 2:
            given, happened, event = p.max(axis=1), known[p.argmax(axis=1)] == y, "the predicted class"
        else:
            at = style.chosen_classes(known, None if label is None else [label], np.ones(len(known)))[-1]
            given, happened, event = p[:, at], y == known[at], str(known[at])
        return cls(*sorted_into_bins(given, happened, bins), event, name).plot(ax, **options)

    @property
    def error(self) -> float:
        """The mean distance from the diagonal, weighed by rows."""
        seen = self.count > 0
        return float(self.count[seen] @ np.abs(self.true[seen] - self.said[seen]) / self.count.sum())

    def plot(self, ax: Any = None, *, counts_ax: Any = None, place: int = 0) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; several displays may share axes.
        counts_ax : Axes, default=None
            Where to draw how often each probability was given; of a new figure it is the lower part.
        place : int, default=0
            Which colour, line and marker to take.

        Returns
        -------
        self : ReliabilityDisplay
            With `ax_`, `counts_ax_` and `figure_`.
        """
        if ax is None:
            how = {"height_ratios": (4, 1), "sharex": True, "figsize": (5.0, 5.8), "layout": "constrained"}
            ax, counts_ax = style.pyplot().subplots(2, 1, **how)[1]
        ax = style.one(ax)
        style.plain(ax)
        if not any(each.get_label() == "as often as said" for each in ax.get_lines()):
            ax.plot([0, 1], [0, 1], color="0.5", linewidth=1.2, linestyle=(0, (1, 1.5)), label="as often as said")
        seen = np.flatnonzero(self.count > 0)
        low, high = _interval(self.true[seen], self.count[seen])
        own = style.line(place)
        label = f"error {self.error:.3f}" if self.name is None else f"{self.name}: error {self.error:.3f}"
        ax.errorbar(
            self.said[seen], self.true[seen], yerr=[self.true[seen] - low, high - self.true[seen]], markersize=5,
            marker=style.points(place)["marker"], elinewidth=0.9, capsize=2, label=style.ellipsed(label, 48), **own,
        )  # fmt: skip
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_ylabel(f"how often it was {style.ellipsed(self.event)}")
        ax.set_xlabel(f"probability of {style.ellipsed(self.event)}")
        ax.legend(fontsize="small", frameon=False, loc="upper left")
        self.ax_, self.counts_ax_, self.figure_ = ax, counts_ax, ax.figure
        if counts_ax is not None:
            self._counts(style.one(counts_ax), own)
        return self

    def _counts(self, below: Any, own: dict[str, Any]) -> None:
        style.plain(below)
        edges = np.linspace(0, 1, len(self.count) + 1)
        below.stairs(self.count, edges, fill=True, color=own["color"], alpha=0.25)
        below.stairs(self.count, edges, baseline=None, **own)
        below.set_ylabel("rows")
        below.set_ylim(0, None)
        below.set_xlabel(self.ax_.get_xlabel())
        self.ax_.set_xlabel("")


def reliability(
    estimator: Any, X: Any, y: Any, *, label: Any = None, bins: int = 10, ax: Any = None, **options: Any
) -> Any:
    """Draw how often what is given a probability happens, and return the axes; see `ReliabilityDisplay`."""
    how = {"label": label, "bins": bins, "ax": ax} | options
    return ReliabilityDisplay.from_estimator(estimator, X, y, **how).ax_


def sorted_into_bins(given: Array, happened: Any, bins: int) -> tuple[Array, Array, Array]:
    """In each of `bins` bins of equal width: the mean probability given, how often it happened, and the rows."""
    found = Reliability.of(given, happened, bins=bins)
    some = np.where(found.weight > 0, 1.0, np.nan)  # an empty bin has no mean
    return found.said * some, found.true * some, found.weight


def _interval(share: Array, n: Array) -> tuple[Array, Array]:
    """Wilson's 95 % interval of a share of n rows."""
    z = 1.959963984540054
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return np.minimum(np.maximum(middle - half, 0.0), share), np.maximum(np.minimum(middle + half, 1.0), share)
