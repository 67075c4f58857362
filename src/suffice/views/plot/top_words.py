"""The words, or values of columns, that are most typical of each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice.core.errors import MismatchError
from suffice.families import Table
from suffice.views.plot import style
from suffice.views.plot.display import PanelsDisplay, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.estimators.generative_classifier import GenerativeClassifier

UNITS = {
    "log_odds": "log-odds against the other classes",
    "probability": "probability in the class",
    "information": "information on the class, in bits",
    "coefficient": "coefficient",
}
MOST_PANELS = 20  # classes in one picture


class TopWordsDisplay(PanelsDisplay):
    """The most typical words of each class, one panel per class.

    Parameters
    ----------
    tables : sequence of Table
        The result of `top_features` for each class.
    labels : sequence of labels
        The classes.
    by : {'log_odds', 'probability', 'information', 'coefficient'}
        What words are ranked by.
    """

    def __init__(self, tables: Sequence[Table], labels: Sequence[object], by: str):
        self.tables, self.labels, self.by = list(tables), list(labels), by

    @classmethod
    def from_estimator(
        cls,
        estimator: GenerativeClassifier,
        n: int = 10,
        *,
        by: str = "log_odds",
        labels: Sequence[object] | None = None,
        ax: style.OneOrMoreAxes | None = None,
    ) -> Self:
        """Draw the words, or values of columns, that are most typical of each class.

        Parameters
        ----------
        estimator : fitted estimator of suffice
            The classifier.
        n : int, default=10
            How many for each class.
        by : {'log_odds', 'probability', 'information'}, default='log_odds'
            What words are ranked by, as in `top_features`.
        labels : sequence of labels, default=None
            Which classes; by default all, or the twenty most frequent.
        ax : Axes, or array of them, default=None
            One for each class. A new figure by default.
        """
        known = estimator.classes_
        if labels is None:
            frequent = np.argsort(-np.asarray(estimator.class_count_), kind="stable")[:MOST_PANELS]
            labels = known[np.sort(frequent)].tolist()
        return cls([estimator.top_features(label, n, by) for label in labels], labels, by).plot(ax)

    @classmethod
    def from_coefficients(
        cls,
        coef: ArrayLike,
        words: Sequence[object],
        labels: Sequence[object],
        n: int = 10,
        *,
        ax: style.OneOrMoreAxes | None = None,
    ) -> Self:
        """Draw the words of a linear model, such as logistic regression, by their coefficients.

        Parameters
        ----------
        coef : array-like of shape (n_classes, n_words)
            Coefficients.
        words : sequence of str
            The words of the columns.
        labels : sequence of labels
            The classes.
        n : int, default=10
            How many for each class.
        ax : Axes, or array of them, default=None
            One for each class. A new figure by default.
        """
        coef = np.asarray(coef, dtype=np.float64)
        if coef.shape != (len(labels), len(words)):
            raise MismatchError(
                f"coef must have the shape {(len(labels), len(words))}, of {len(labels)} classes and {len(words)} "
                f"words; found {coef.shape}"
            )
        tables = []
        for label, own in zip(labels, coef, strict=True):
            some = np.argsort(-own, kind="stable")[:n]
            tables.append(Table(str(label), [str(words[i]) for i in some], ["coefficient"], own[some, None]))
        return cls(tables, labels, "coefficient").plot(ax)

    def plot(self, ax: style.OneOrMoreAxes | None = None) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, or array of them, default=None
            One for each class.
        """
        rows = max((len(table.rows) for table in self.tables), default=1)
        across = 2 if len(self.tables) <= 4 else 3 if len(self.tables) <= 9 else 4
        axes = style.panel_axes(ax, len(self.tables), (3.2, 0.8 + 0.2 * max(rows, 3)), across=across)
        for i, (panel, table, label) in enumerate(zip(axes, self.tables, self.labels, strict=True)):
            self._panel(panel, i, table)
            panel.set_title(style.shorten(label, 32), fontsize="medium")
            if i + across >= len(axes):  # nothing is below it
                panel.set_xlabel(UNITS[self.by], fontsize="small")
        return self._drawn_on(axes)

    def _panel(self, ax: Axes, i: int, table: Table) -> None:
        style.light_grid(ax, "x")
        size = np.asarray(table.values[:, list(table.columns).index(self.by)], dtype=np.float64)
        finite = np.where(np.isfinite(size), size, np.nan)
        top = np.nanmax(np.abs(finite), initial=0.0) or 1.0
        drawn = np.where(np.isfinite(size), size, np.sign(size) * 1.1 * top)  # a word that only one class has
        bars = ax.barh(np.arange(len(size)), drawn, height=0.78, linewidth=0, **style.bar(i))
        ax.bar_label(bars, [_short(value) for value in size], padding=2, fontsize="x-small")
        ax.set_yticks(np.arange(len(size)), [style.shorten(word, 20) for word in table.rows], fontsize="small")
        ax.set_ylim(len(size) - 0.4, -0.6)
        ax.margins(x=0.18)
        ax.tick_params(axis="x", labelsize="x-small")


top_words = drawing("top_words", TopWordsDisplay.from_estimator, lambda drawn: drawn.axes_)


def _short(value: float) -> str:
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.3g}".replace("-", "−")
