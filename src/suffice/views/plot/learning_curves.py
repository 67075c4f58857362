"""Learning curves: accuracy, log-loss or training time over the number of training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from suffice.core.errors import InvalidOptionError
from suffice.views.plot import style
from suffice.views.plot.display import Display, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.views.comparison import Comparison

METRICS = {"accuracy": "accuracy", "log_loss": "log-loss, in nats", "seconds": "training time, in seconds"}


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
        """Draw learning curves.

        Parameters
        ----------
        comparison : Comparison
            The result of `suffice.compare`.
        metric : {'accuracy', 'log_loss', 'seconds'}, default='accuracy'
            What to draw.
        ax : Axes, default=None
            Where to draw; a new figure by default.
        """
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
