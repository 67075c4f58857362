"""What all displays share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

from suffice.views.plot import style

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


class Display:
    """A picture. Constructors that begin with `from_` draw it, and `plot` draws it again; all return the display.

    Attributes
    ----------
    ax_ : Axes
        The axes it was drawn on.
    figure_ : Figure
        The figure of these axes.
    """

    ax_: Axes
    figure_: Figure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw.
        """
        ax = style.single_axes(ax, self._size())
        self._draw(ax)
        return self._drawn_on(ax)

    def _size(self) -> tuple[float, float]:
        """Return width and height of a new figure, in inches."""
        return 6.0, 4.0

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def _drawn_on(self, ax: Axes) -> Self:
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)  # or a SubFigure
        return self


class PanelsDisplay(Display):
    """A picture of several panels.

    Attributes
    ----------
    axes_ : ndarray of Axes
        One for each panel.
    ax_ : Axes
        The first of them.
    figure_ : Figure
        The figure of these axes.
    """

    axes_: NDArray[np.object_]

    def _drawn_on_all(self, axes: NDArray[np.object_]) -> Self:
        self.axes_ = axes
        return self._drawn_on(axes[0])
