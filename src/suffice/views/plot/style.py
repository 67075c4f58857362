"""Colours, lines and names of the pictures: readable in colour, for the colour-blind, and in black and white."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.arrays import Values
from suffice.core.errors import InvalidOptionError, MissingPackageError
from suffice.core.labels import position_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    OneOrMoreAxes: TypeAlias = Axes | Sequence[Axes] | NDArray[np.object_]

Style: TypeAlias = dict[str, Any]  # keyword arguments of matplotlib

# The palette of Okabe and Ito, which is safe for the colour-blind. The numbers of colours (7), lines (8), hatches (5)
# and markers (8) differ, so that their combinations repeat late.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
LINES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (9, 3)), (0, (1, 4)), (0, (9, 2, 3, 2)))
HATCHES = ("", "///", "...", "\\\\\\", "xxx")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
GRID = "0.92"
NAME_LENGTH = 22  # characters of a name; longer names are shortened
INSIDE = 4  # more classes than this are named beside the axes, not inside
MOST_CLASSES = 8  # classes drawn as lines in one picture


def pyplot() -> Any:
    """Import matplotlib's pyplot, when something is drawn."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingPackageError("Pictures need matplotlib: pip install 'suffice[plot]'") from error
    return plt


def colour(i: int) -> str:
    """Return the colour of the i-th class."""
    return COLOURS[i % len(COLOURS)]


def marker(i: int) -> str:
    """Return the marker of the i-th class."""
    return MARKERS[i % len(MARKERS)]


def line(i: int) -> Style:
    """Return colour and line style of the i-th class."""
    return {"color": colour(i), "linestyle": LINES[i % len(LINES)], "linewidth": 1.6}


def bar(i: int) -> Style:
    """Return colour and hatch of the bars of the i-th class."""
    return {"facecolor": colour(i), "hatch": HATCHES[i % len(HATCHES)], "edgecolor": "white"}


def shorten(name: object, longest: int = NAME_LENGTH) -> str:
    """Return a name on one line, cut in the middle if it is too long, and escaped so that it is not read as TeX."""
    text = " ".join(str(name).split())
    if len(text) > longest:
        head = longest // 2
        text = f"{text[:head].rstrip()}…{text[len(text) - (longest - 1 - head) :].lstrip()}"
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown  # legends skip names that begin with an underscore


def distinct_names(names: Iterable[object], longest: int = NAME_LENGTH) -> list[str]:
    """Shorten names so that they stay distinct: first drop the prefix and suffix that all of them share."""
    whole = [" ".join(str(name).split()) for name in names]
    head = _common_prefix(whole)
    tail = _common_prefix([name[head:][::-1] for name in whole])
    without = [f"{'…' * (head > 0)}{name[head : len(name) - tail]}{'…' * (tail > 0)}" for name in whole]
    for candidates in (whole, without):
        short = [shorten(name, longest) for name in candidates]
        if len(set(short)) == len(set(whole)):
            return short
    return [f"{i + 1}: {shorten(name, longest - 4)}" for i, name in enumerate(whole)]


def _common_prefix(names: list[str]) -> int:
    """Return the number of characters that all names begin with."""
    return next((i for i, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0)


def signed(value: float) -> str:
    """Return a number with its sign; below 0.005 with one significant digit.

    >>> signed(-1.234), signed(0.0021), signed(0.0)
    ('−1.23', '+0.002', '0.00')
    """
    if abs(value) < 1e-9:
        return "0.00"
    return (f"{value:+.1g}" if abs(value) < 0.005 else f"{value:+.2f}").replace("-", "−").replace("inf", "∞")


def legend(ax: Axes, n: int, **options: Any) -> None:
    """Draw a legend of n classes: inside the axes if they are few, beside them otherwise."""
    where: Style = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)} if n > INSIDE else {"loc": "best"}
    look: Style = {"fontsize": "small", "title_fontsize": "small", "framealpha": 0.85, "handlelength": 2.8}
    ax.legend(**(look | where | options)).get_frame().set_linewidth(0)


def light_grid(ax: Axes, axis: Any = "both") -> None:
    """Draw a light grid behind the data, and no box."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, axis=axis, color=GRID, linewidth=0.7)
    ax.set_axisbelow(True)


def single_axes(ax: Axes | None, size: tuple[float, float] = (6.0, 4.0)) -> Axes:
    """Return the axes that were passed, or those of a new figure."""
    if ax is None:
        found: Axes = pyplot().subplots(figsize=size, layout="constrained")[1]
        return found
    if not hasattr(ax, "plot"):
        raise InvalidOptionError(f"ax must be matplotlib axes, found {type(ax).__name__}")
    return ax


def panel_axes(ax: OneOrMoreAxes | None, n: int, size: tuple[float, float], across: int = 3) -> NDArray[np.object_]:
    """Return n axes, one for each panel: those that were passed, or those of a new figure."""
    if ax is None:
        across = min(n, across)
        down = -(-n // across)
        figure, grid = pyplot().subplots(
            down, across, figsize=(size[0] * across, size[1] * down), layout="constrained", squeeze=False
        )
        for spare in grid.ravel()[n:]:
            figure.delaxes(spare)
        return np.asarray(grid.ravel()[:n])
    found = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(found) != n:
        raise InvalidOptionError(f"There are {n} panels to draw, but ax holds {len(found)} axes: pass {n}, or none")
    return np.asarray([single_axes(each) for each in found])


def chosen_classes(known: Values, labels: Sequence[object] | None, weight: ArrayLike) -> list[int]:
    """Return the indices of the classes to draw: the given ones, or the most frequent if there are many."""
    if labels is None:
        if len(known) <= MOST_CLASSES:
            return list(range(len(known)))
        return sorted(np.argsort(-np.asarray(weight), kind="stable")[:MOST_CLASSES].tolist())
    return [position_of(label, known) for label in labels]
