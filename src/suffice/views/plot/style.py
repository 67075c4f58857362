"""How pictures look: told apart in colour, by the colour-blind and in print without colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Values
from suffice.core.errors import InvalidOptionError, MismatchError, MissingPackageError

# Okabe and Ito's colours, which the colour-blind tell apart. Seven of them, eight lines, five hatches
# and eight markers: no two classes of many get the same ones.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (9, 3)), (0, (1, 4)), (0, (9, 2, 3, 2)))
HATCHES = ("", "///", "...", "\\\\\\", "xxx")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
GRID = "0.92"
LONG = 22  # letters of a name, beyond which it is cut
BESIDE = 4  # classes whose names fit into the picture
MOST_CLASSES = 8  # lines that can be told apart in one picture


def pyplot() -> Any:
    """Matplotlib's pyplot, imported when something is drawn."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingPackageError("Pictures are drawn by matplotlib: pip install 'suffice[plot]'") from error
    return plt


def line(i: int) -> dict[str, Any]:
    """Colour and line of the i-th class."""
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": LINES[i % len(LINES)], "linewidth": 1.6}


def bar(i: int) -> dict[str, Any]:
    """Colour and hatch of the i-th class's bars: the hatch in white, the edge dark."""
    return {"facecolor": COLOURS[i % len(COLOURS)], "hatch": HATCHES[i % len(HATCHES)], "edgecolor": "white"}


def points(i: int) -> dict[str, Any]:
    """Colour and marker of the i-th class."""
    return {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}


def ellipsed(name: Any, most: int = LONG) -> str:
    """A name that fits: on one line, cut in its middle, and none of it read as a formula."""
    text = " ".join(str(name).split())
    if len(text) > most:
        head = (most - 1 + 1) // 2
        text = f"{text[:head].rstrip()}…{text[len(text) - (most - 1 - head) :].lstrip()}"
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown  # legends leave out what begins with an underscore


def told_apart(names: Any, most: int = LONG) -> list[str]:
    """Names that fit and are still different: what all of them begin and end with is cut first."""
    whole = [" ".join(str(name).split()) for name in names]
    short = [ellipsed(name, most) for name in whole]
    if len(set(short)) == len(set(whole)):
        return short
    head = _shared(whole)
    tail = _shared([name[head:][::-1] for name in whole])
    short = [ellipsed(f"{'…' * (head > 0)}{name[head : len(name) - tail]}{'…' * (tail > 0)}", most) for name in whole]
    if len(set(short)) == len(set(whole)):
        return short
    return [f"{i + 1}: {ellipsed(name, most - 4)}" for i, name in enumerate(whole)]


def _shared(names: list[str]) -> int:
    """How many letters all of them begin with."""
    return next((i for i, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0)


def number(value: float) -> str:
    """A signed number, with a true minus; what is less than 0.005 has one digit that is not 0.

    >>> number(-1.234), number(0.0021), number(0.0)
    ('−1.23', '+0.002', '0.00')
    """
    if np.isinf(value):
        return "+∞" if value > 0 else "−∞"
    if abs(value) < 1e-9:
        return "0.00"
    return (f"{value:+.1g}" if abs(value) < 0.005 else f"{value:+.2f}").replace("-", "−")


def legend(ax: Any, n: int, **options: Any) -> Any:
    """Name n classes: within the axes where they are few, beside them where they are many."""
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)} if n > BESIDE else {"loc": "best"}
    found = ax.legend(fontsize="small", title_fontsize="small", framealpha=0.85, handlelength=2.8, **(beside | options))
    found.get_frame().set_linewidth(0)
    return found


def plain(ax: Any, grid: str = "both") -> None:
    """A light grid behind, and no box."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, axis=grid, color=GRID, linewidth=0.7)
    ax.set_axisbelow(True)


def one(ax: Any, size: tuple[float, float] = (6.0, 4.0)) -> Any:
    """The axes that were passed, or those of a new figure."""
    if ax is None:
        return pyplot().subplots(figsize=size, layout="constrained")[1]
    if not hasattr(ax, "plot"):
        raise InvalidOptionError(f"ax must be axes of matplotlib, found {type(ax).__name__}")
    return ax


def several(ax: Any, n: int, size: tuple[float, float], across: int = 3) -> NDArray[Any]:
    """As many axes as there are panels: those that were passed, or those of a new figure, (n,)."""
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
        raise InvalidOptionError(f"There are {n} panels to draw and ax holds {len(found)} axes: pass {n}, or none")
    return np.asarray([one(each) for each in found])


def chosen_classes(known: Values, labels: Sequence[Any] | None, weight: Any) -> list[int]:
    """The places of the classes to draw: those asked for, or the most frequent ones where there are many."""
    if labels is None:
        if len(known) <= MOST_CLASSES:
            return list(range(len(known)))
        return sorted(np.argsort(-np.asarray(weight), kind="stable")[:MOST_CLASSES].tolist())
    listed = known.tolist()
    for label in labels:
        if label not in listed:
            raise MismatchError(f"No class {label!r}: the classes are {', '.join(map(repr, listed))}")
    return [listed.index(label) for label in labels]
