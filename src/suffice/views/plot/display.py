"""What all displays share, and the functions that draw them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import update_wrapper
from inspect import cleandoc, signature
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar, cast

from suffice.views.plot import style

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

P = ParamSpec("P")
D = TypeVar("D", bound="Display")
T = TypeVar("T")
ENTRY = re.compile(r"^([*\w, ]+) : .*(?:\n(?:    .*)?)*", re.MULTILINE)


def _parameters(docstring: str | None) -> dict[str, str]:
    """Return the descriptions of parameters in a docstring, by name."""
    section = cleandoc(docstring or "").partition("Parameters\n----------\n")[2]
    return {name: found[0].rstrip() for found in ENTRY.finditer(section) for name in re.findall(r"\w+", found[1])}


class Display:
    """A picture. Constructors that begin with `from_` draw it, and `plot` draws it again; all return the display.

    `ax_` are the axes it was drawn on. What several constructors of several displays take:

    Parameters
    ----------
    estimator : fitted estimator of suffice
        The classifier.
    y : array-like, or str
        Labels of the rows, or the name of the column that holds them.
    ax : Axes, default=None
        Where to draw; a new figure by default.
    **options : dict
        Options of `plot`.
    """

    ax_: Axes

    def __init_subclass__(cls) -> None:
        """Complete docstrings: what a method does not describe is described by the class, a base or another method."""
        methods = [
            getattr(each, "__func__", each) for name, each in vars(cls).items() if name.startswith(("from_", "plot"))
        ]
        known: dict[str, str] = {}
        for documented in (*reversed(cls.__mro__), *reversed(methods), cls):
            known |= _parameters(documented.__doc__)
        for method in methods:
            described = known | _parameters(method.__doc__)
            entries = dict.fromkeys(described[name] for name in signature(method).parameters if name in described)
            summary = cleandoc(method.__doc__ or "").partition("\n\nParameters\n")[0]
            method.__doc__ = "\n".join([summary, "", "Parameters", "----------", *entries])

    @property
    def figure_(self) -> Figure:
        """The figure of the axes."""
        return cast("Figure", self.ax_.figure)  # or a SubFigure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw.
        """
        self.ax_ = style.single_axes(ax, self._size())
        self._draw(self.ax_)
        return self

    def _size(self) -> tuple[float, float]:
        """Return width and height of a new figure, in inches."""
        return 6.0, 4.0

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


class PanelsDisplay(Display):
    """A picture of several panels; `ax_` is the first of `axes_`.

    Parameters
    ----------
    ax : Axes, or array of them, default=None
        Where to draw: one for each panel. A new figure by default.
    """

    axes_: NDArray[np.object_]

    def _drawn_on(self, axes: NDArray[np.object_]) -> Self:
        self.axes_, self.ax_ = axes, axes[0]
        return self


def drawing(name: str, draw: Callable[P, D], axes: Callable[[D], T]) -> Callable[P, T]:
    """Return the function `name` that draws a display and returns its axes; it has the parameters of `draw`."""

    def function(*args: P.args, **kwargs: P.kwargs) -> T:
        return axes(draw(*args, **kwargs))

    update_wrapper(function, draw, assigned=("__module__",), updated=())
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{cleandoc(draw.__doc__ or '')}\n\nReturns\n-------\nax : Axes, or array of them\n    Where it is drawn."
    )
    vars(function)["__signature__"] = signature(draw).replace(return_annotation="Axes")
    return function
