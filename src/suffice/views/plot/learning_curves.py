"""How models get better with more rows."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array
from suffice.core.errors import InvalidOptionError
from suffice.views.plot import style

METRICS = {"accuracy": "accuracy", "log_loss": "log-loss, in nats", "seconds": "training time, in seconds"}


class Comparison(Protocol):
    """What is drawn: `suffice.Comparison`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The models."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows they were trained on."""

    @property
    def band_title(self) -> str:
        """What the band is."""

    def band(self, metric: str, model: int) -> tuple[Array, Array, Array]:
        """Low, middle and high, (sizes,) each."""

    def crossing(self, metric: str) -> float | None:
        """Where they cross."""


class LearningCurvesDisplay:
    """Accuracy or log-loss over the number of training rows: the median of all repeats, and a band around it.

    Parameters
    ----------
    comparison : Comparison
        What `suffice.compare` gives.
    metric : {'accuracy', 'log_loss', 'seconds'}, default='accuracy'
        What to draw.

    Attributes
    ----------
    ax_ : Axes
        What was drawn on.
    figure_ : Figure
        What it is part of.
    """

    def __init__(self, comparison: Comparison, metric: str = "accuracy"):
        if metric not in METRICS:
            raise InvalidOptionError(f"metric must be one of {tuple(METRICS)}, found {metric!r}")
        self.comparison, self.metric = comparison, metric

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, metric: str = "accuracy", ax: Any = None) -> Self:
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison
            What `suffice.compare` gives.
        metric : {'accuracy', 'log_loss', 'seconds'}, default='accuracy'
            What to draw.
        ax : Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : LearningCurvesDisplay
            With `ax_` and `figure_`.
        """
        return cls(comparison, metric).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw.

        Returns
        -------
        self : LearningCurvesDisplay
            With `ax_` and `figure_`.
        """
        ax = style.one(ax)
        style.plain(ax)
        found = self.comparison
        for i, name in enumerate(found.names):
            low, middle, high = found.band(self.metric, i)
            own = style.line(i)
            ax.fill_between(found.sizes, low, high, color=own["color"], alpha=0.16, linewidth=0)
            marker = style.points(i)["marker"]
            ax.plot(found.sizes, middle, marker=marker, markersize=4.5, label=style.ellipsed(name, 34), **own)
        ax.set_xscale("log")
        self._ticks(ax)
        if self.metric == "seconds":
            ax.set_yscale("log")
        crossing = found.crossing(self.metric)
        if crossing is not None and self.metric != "seconds":
            ax.axvline(crossing, color="0.45", linewidth=1.0, linestyle=(0, (2, 2)))
            ax.annotate(
                f"they cross at {crossing:,.0f} rows", (crossing, 1), xycoords=("data", "axes fraction"),
                xytext=(0, 3), textcoords="offset points", ha="center", va="bottom", fontsize="small",
            )  # fmt: skip
        ax.set_xlabel("training rows")
        ax.set_ylabel(METRICS[self.metric])
        ax.legend(fontsize="small", frameon=False, loc="best", title=found.band_title, title_fontsize="x-small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _ticks(self, ax: Any) -> None:
        """The sizes themselves, as long as they do not touch."""
        sizes = self.comparison.sizes
        kept = [sizes[0]]
        for size in sizes[1:]:
            if np.log(size / kept[-1]) >= 0.075 * np.log(max(sizes[-1] / sizes[0], 1.0001)):
                kept.append(size)
        ax.set_xticks(kept, [f"{size:,}" for size in kept], fontsize="small")
        ax.minorticks_off()


def learning_curves(comparison: Comparison, *, metric: str = "accuracy", ax: Any = None) -> Any:
    """Draw learning curves and return the axes; see `LearningCurvesDisplay`."""
    return LearningCurvesDisplay.from_comparison(comparison, metric=metric, ax=ax).ax_
