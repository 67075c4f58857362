"""Which classes are taken for which."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError, MismatchError
from suffice.views.plot import style
from suffice.views.plot.answers import labels_of

NUMBERED = 24  # classes whose counts still fit into their cells
SPARSE = 40  # classes whose names still fit beside the picture


class ConfusionDisplay:
    """How often rows of each class were taken for each: shaded by the share of the class, with the counts.

    Parameters
    ----------
    matrix : ndarray of shape (n_classes, n_classes)
        Counts: true classes down, predicted ones across.
    labels : ndarray of shape (n_classes,)
        The classes.

    Attributes
    ----------
    ax_ : Axes
        What was drawn on.
    figure_ : Figure
        What it is part of.
    """

    def __init__(self, matrix: NDArray[Any], labels: Values):
        self.matrix, self.labels = matrix, labels

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Ask a fitted classifier about rows whose labels are known.

        Parameters
        ----------
        estimator : fitted classifier
            Any that has `predict`.
        X : table, array or texts
            Rows.
        y : array-like, or str
            Their labels, or the column that holds them.
        ax : Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : ConfusionDisplay
            With `ax_` and `figure_`.
        """
        true = labels_of(X, y)
        labels = np.unique(np.concatenate([np.asarray(estimator.classes_), true]))
        return cls.from_predictions(true, estimator.predict(X), labels=labels, ax=ax)

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, *, labels: Any = None, ax: Any = None) -> Self:
        """Draw predictions of rows whose labels are known.

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

        Returns
        -------
        display : ConfusionDisplay
            With `ax_` and `figure_`.
        """
        true, told = np.asarray(y_true), np.asarray(y_pred)
        if len(true) != len(told) or not len(true):
            raise InvalidDataError(f"There are {len(true)} labels and {len(told)} predictions")
        known = np.unique(np.concatenate([true, told])) if labels is None else np.asarray(labels)
        place = {label: i for i, label in enumerate(known.tolist())}
        strange = [each for each in {*true.tolist(), *told.tolist()} if each not in place]
        if strange:
            raise MismatchError(f"{strange[0]!r} is none of the labels to draw")
        at = [np.array([place[each] for each in some.tolist()]) for some in (true, told)]
        n = len(known)
        return cls(np.bincount(at[0] * n + at[1], minlength=n * n).reshape(n, n), known).plot(ax)

    @property
    def share(self) -> Array:
        """Of each class, what share was taken for which."""
        rows = self.matrix.sum(axis=1, keepdims=True)
        return np.asarray(self.matrix / np.maximum(rows, 1))

    def plot(self, ax: Any = None) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw.

        Returns
        -------
        self : ConfusionDisplay
            With `ax_` and `figure_`.
        """
        n = len(self.labels)
        side = float(np.clip(2.2 + 0.42 * n, 3.6, 10.0))
        ax = style.one(ax, (side + 0.9, side))
        share = self.share
        drawn = ax.imshow(share, cmap="Greys", vmin=0.0, vmax=1.0)
        if n <= NUMBERED:
            size = "medium" if n <= 6 else "small" if n <= 12 else "x-small"
            for i, j in np.ndindex(n, n):
                if self.matrix[i, j] or n <= 6:
                    ink = "white" if share[i, j] > 0.55 else "black"
                    text = f"{self.matrix[i, j]:,}" + (f"\n{100 * share[i, j]:.0f} %" if n <= 6 else "")
                    ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)
        small = "small" if n <= 12 else "x-small"
        every = max(1, -(-n // SPARSE))
        ticks = range(0, n, every)
        names = style.told_apart([self.labels[i] for i in ticks])
        upright = max(map(len, names)) > 6 or n > 12
        ax.set_xticks(
            ticks, names, fontsize=small, rotation=45 if upright else 0, ha="right" if upright else "center",
            rotation_mode="anchor" if upright else "default",
        )  # fmt: skip
        ax.set_yticks(ticks, names, fontsize=small)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")
        right = np.trace(self.matrix)
        ax.set_title(f"{right:,} of {self.matrix.sum():,} right ({right / self.matrix.sum():.1%})", fontsize="medium")
        bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.03)
        bar.set_label("share of the true class")
        bar.outline.set_linewidth(0)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def confusion(estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw which classes are taken for which, and return the axes; see `ConfusionDisplay`."""
    return ConfusionDisplay.from_estimator(estimator, X, y, ax=ax).ax_
