"""The words, or values of columns, that tell most of each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import MismatchError
from suffice.families import Table
from suffice.views.plot import style

UNITS = {
    "log_odds": "log-odds against the other classes",
    "probability": "probability in the class",
    "information": "information on the class, in bits",
    "coefficient": "coefficient",
}
MOST = 20  # classes that fit a picture


class TopWordsDisplay:
    """The most telling words of each class, one panel a class.

    Parameters
    ----------
    tables : sequence of Table
        What `top_features` gives for each class.
    labels : sequence of labels
        The classes.
    by : {'log_odds', 'probability', 'information', 'coefficient'}
        What they are ranked by.

    Attributes
    ----------
    axes_ : ndarray of Axes
        One for each class.
    ax_ : Axes
        The first of them.
    figure_ : Figure
        What they are part of.
    """

    def __init__(self, tables: Sequence[Table], labels: Sequence[Any], by: str):
        self.tables, self.labels, self.by = list(tables), list(labels), by

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        n: int = 10,
        *,
        by: str = "log_odds",
        labels: Sequence[Any] | None = None,
        ax: Any = None,
    ) -> Self:
        """Rank the words, or values of columns, of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator of suffice
            What was learned.
        n : int, default=10
            How many for each class.
        by : {'log_odds', 'probability', 'information'}, default='log_odds'
            What they are ranked by, as in `top_features`.
        labels : sequence of labels, default=None
            Which classes; by default all, or the twenty most frequent.
        ax : Axes, or array of them, default=None
            One for each class. A new figure by default.

        Returns
        -------
        display : TopWordsDisplay
            With `axes_` and `figure_`.
        """
        known = estimator.classes_
        if labels is None:
            often = np.argsort(-np.asarray(estimator.class_count_), kind="stable")[:MOST]
            labels = known[np.sort(often)].tolist()
        return cls([estimator.top_features(label, n, by) for label in labels], labels, by).plot(ax)

    @classmethod
    def from_coefficients(
        cls, coef: Any, words: Sequence[Any], labels: Sequence[Any], n: int = 10, *, ax: Any = None
    ) -> Self:
        """Rank the words of a linear model, such as logistic regression, by their coefficients.

        Parameters
        ----------
        coef : array-like of shape (n_classes, n_words)
            Coefficients.
        words : sequence of str
            What they are of.
        labels : sequence of labels
            The classes.
        n : int, default=10
            How many for each class.
        ax : Axes, or array of them, default=None
            One for each class. A new figure by default.

        Returns
        -------
        display : TopWordsDisplay
            With `axes_` and `figure_`.
        """
        coef = np.asarray(coef, dtype=np.float64)
        if coef.shape != (len(labels), len(words)):
            raise MismatchError(
                f"Coefficients of shape {coef.shape} are not those of {len(labels)} classes and {len(words)} words"
            )
        tables = []
        for label, own in zip(labels, coef, strict=True):
            some = np.argsort(-own, kind="stable")[:n]
            tables.append(Table(f"tells of {label}", [str(words[i]) for i in some], ["coefficient"], own[some, None]))
        return cls(tables, labels, "coefficient").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, or array of them, default=None
            One for each class.

        Returns
        -------
        self : TopWordsDisplay
            With `axes_` and `figure_`.
        """
        rows = max((len(table.rows) for table in self.tables), default=1)
        across = 2 if len(self.tables) <= 4 else 3 if len(self.tables) <= 9 else 4
        axes = style.several(ax, len(self.tables), (3.2, 0.8 + 0.2 * max(rows, 3)), across=across)
        for i, (where, table, label) in enumerate(zip(axes, self.tables, self.labels, strict=True)):
            self._panel(where, i, table, label, below=i + across >= len(axes))
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _panel(self, ax: Any, i: int, table: Table, label: Any, below: bool) -> None:
        style.plain(ax, "x")
        size = np.asarray(table.values[:, list(table.columns).index(self.by)], dtype=np.float64)
        finite = np.where(np.isfinite(size), size, np.nan)
        top = np.nanmax(np.abs(finite), initial=0.0) or 1.0
        drawn = np.where(np.isfinite(size), size, np.sign(size) * 1.1 * top)  # a word that only one class has
        bars = ax.barh(np.arange(len(size)), drawn, height=0.78, linewidth=0, **style.bar(i))
        ax.bar_label(bars, [_short(value) for value in size], padding=2, fontsize="x-small")
        ax.set_yticks(np.arange(len(size)), [style.ellipsed(word, 20) for word in table.rows], fontsize="small")
        ax.set_ylim(len(size) - 0.4, -0.6)
        ax.margins(x=0.18)
        ax.tick_params(axis="x", labelsize="x-small")
        if below:
            ax.set_xlabel(UNITS[self.by], fontsize="small")
        ax.set_title(style.ellipsed(label, 32), fontsize="medium")


def top_words(
    estimator: Any, n: int = 10, *, by: str = "log_odds", labels: Sequence[Any] | None = None, ax: Any = None
) -> NDArray[Any]:
    """Draw the most telling words of each class and return the axes; see `TopWordsDisplay.from_estimator`."""
    return TopWordsDisplay.from_estimator(estimator, n, by=by, labels=labels, ax=ax).axes_


def _short(value: float) -> str:
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.3g}".replace("-", "−")
