"""Confusion matrix: which classes are predicted for which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError, MismatchError
from suffice.views.fitted import Classifier, labels_of
from suffice.views.plot import style
from suffice.views.plot.display import Display, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WITH_COUNTS = 24  # classes, up to which the counts fit into the cells
WITH_NAMES = 40  # classes, up to which all names fit beside the picture
WITH_SHARES = 6  # classes, up to which a cell has room for count and share


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
        y : array-like, or str
            Their labels, or the name of the column that holds them.
        ax : Axes, default=None
            Where to draw; a new figure by default.
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
        ax : Axes, default=None
            Where to draw; a new figure by default.
        """
        true, predicted = np.asarray(y_true), np.asarray(y_pred)
        if len(true) != len(predicted) or not len(true):
            raise InvalidDataError(f"There are {len(true)} labels and {len(predicted)} predictions")
        known = np.unique(np.concatenate([true, predicted])) if labels is None else np.asarray(labels)
        place = {label: i for i, label in enumerate(known.tolist())}
        unknown = [each for each in {*true.tolist(), *predicted.tolist()} if each not in place]
        if unknown:
            raise MismatchError(f"{unknown[0]!r} is none of the labels to draw")
        rows, columns = (np.array([place[each] for each in some.tolist()]) for some in (true, predicted))
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
