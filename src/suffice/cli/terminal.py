"""Output for people: tables that fit the terminal, signed bars, JSON; colours on a terminal only."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suffice.families import Table

LONGEST = 40  # characters of a cell
SPACE = "  "  # between columns


def is_terminal() -> bool:
    """Return whether the output is a terminal that shows colours."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Return the number of characters in a line."""
    return max(40, shutil.get_terminal_size((80, 24)).columns) if is_terminal() else 80


def say(text: str = "", style: str | None = None) -> None:
    """Print a line, on a terminal in a style (NO_COLOR is respected)."""
    text = visible(text)
    if style is not None and is_terminal():
        from rich.console import Console

        Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(text, style=style)
    else:
        print(text)


def visible(text: str) -> str:
    """Replace control characters, which a terminal would obey."""
    return "".join("\ufffd" if (each < " " and each != "\n") or "\x7f" <= each < "\xa0" else each for each in text)


def breadth(text: str) -> int:
    """Return the width of a text on a terminal: East Asian characters take two places, combining ones none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def padded(text: str, room: int, right: bool = False) -> str:
    """Pad a text with blanks, after it or before it."""
    blanks = " " * (room - breadth(text))
    return blanks + text if right else text + blanks


def prose(text: str) -> None:
    """Print sentences, wrapped to the width of the terminal."""
    for line in textwrap.wrap(text, min(width(), 80)):
        say(line)


def flow(items: Sequence[str]) -> None:
    """Print items, as many in a line as fit."""
    line = ""
    for item in items:
        if line and len(line) + len(SPACE) + len(item) > width():
            say(line)
            line = ""
        line += (SPACE if line else "") + item
    say(line)


def heading(text: str) -> None:
    """Print a heading, after an empty line."""
    say()
    say(text, "bold")


def show_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(as_json(value), ensure_ascii=False, indent=2))


def as_json(value: object) -> object:
    """Convert a value to what JSON has; NaN and infinity become null."""
    import numpy as np

    if isinstance(value, dict):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [as_json(each) for each in value]
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal; yield a function that takes the number of steps done and the number of all."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


# ------------------------------------------------------------------------------------------------ tables


def number(value: float | str | None) -> str:
    """Return integers, but for rounding, without decimals, and other numbers with four; strings as they are."""
    if value is None or isinstance(value, str):
        return value or ""
    value = float(value)
    if abs(value) < 1e15 and abs(value - round(value)) <= 1e-9 * abs(value):
        return f"{value:.0f}"
    return f"{value:.4f}" if 1e-4 <= abs(value) < 1e4 else f"{value:.4g}"


def counted(n: float, one: str, many: str) -> str:
    """Return a number with the singular or plural of its noun."""
    return f"{number(n)} {one if n == 1 else many}"


def entry(value: object) -> str:
    """Return a value of the data; a dash if it is missing."""
    if value is None or value != value:
        return "—"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def show_table(table: Table, rows: int | None = None) -> None:
    """Print a table, or its first rows; columns that do not fit into the line follow below."""
    shown = len(table.rows) if rows is None else min(rows, len(table.rows))
    cells = [[number(value) for value in table.values[i]] for i in range(shown)]
    words = [any(isinstance(v, str) and v[:1].isalpha() for v in table.values[:, j]) for j in range(len(table.columns))]
    show_columns(table.title, [str(name) for name in table.rows[:shown]], [str(c) for c in table.columns], cells, words)
    if shown < len(table.rows):
        say(f"… and {len(table.rows) - shown} more", "dim")


def show_columns(
    title: str, names: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], words: Sequence[bool]
) -> None:
    """Print columns side by side, as many at a time as fit into a line; columns of `words` are aligned left."""
    first = [cut(each) for each in (title, *names)]
    others = [[cut(each) for each in (c, *(row[j] for row in cells))] for j, c in enumerate(columns)]
    widths = [max(map(breadth, column)) for column in others]
    own, lo = max(map(breadth, first)), 0
    if columns and words[-1]:  # text in the last column may fill the rest of the line
        room = width() - own - sum(widths[:-1]) - len(SPACE) * len(widths)
        if room < LONGEST // 2:  # it follows below, where it has the line to itself
            room = max(LONGEST // 2, width() - own - len(SPACE))
        others[-1] = [cut(each, room) for each in (columns[-1], *(row[-1] for row in cells))]
        widths[-1] = max(map(breadth, others[-1]))
    while lo < len(columns) or not columns:
        hi, used = lo, own
        while hi < len(columns) and (hi == lo or used + len(SPACE) + widths[hi] <= width()):
            used += len(SPACE) + widths[hi]
            hi += 1
        if lo:
            say()
        for i, name in enumerate(first):
            if lo and i and not any(column[i] for column in others[lo:hi]):
                continue  # a column that follows below need not repeat rows without a value
            aligned = (
                padded(column[i], n, right=not word)
                for column, n, word in zip(others[lo:hi], widths[lo:hi], words[lo:hi], strict=True)
            )
            line = SPACE.join([padded(name, own), *aligned]).rstrip()
            say(line, "bold" if i == 0 else None)
        if not columns:
            return
        lo = hi


def cut(text: str, longest: int = LONGEST) -> str:
    """Return a text in one line, cut off if it is too long."""
    text = " ".join(text.split())
    if breadth(text) <= longest:
        return text
    text = text[: longest - 1]
    while breadth(text) > longest - 1:
        text = text[:-1]
    return text + "…"


# ------------------------------------------------------------------------------------------------ bars


def show_bars(rows: Sequence[tuple[str, float]], largest: float | None = None) -> None:
    """Print signed numbers as bars to the left and to the right of a line; bars above `largest` are cut off."""
    names = [cut(name, max(16, 2 * width() // 5)) for name, _ in rows]
    room = max(map(breadth, names), default=0)
    half = max(6, (width() - room - 12) // 2)
    finite = [abs(value) for _, value in rows if abs(value) != float("inf")]
    most = (max(finite, default=0.0) if largest is None or largest == float("inf") else largest) or 1.0
    for name, (_, value) in zip(names, rows, strict=True):
        length = half if abs(value) == float("inf") else min(half, round(half * abs(value) / most))
        bar = "█" * length
        if most * 1.005 < abs(value) < float("inf"):  # it is longer than it is drawn
            bar = f"◄{bar[1:]}" if value < 0 else f"{bar[:-1]}►"
        drawn = f"{bar:>{half}}│" if value < 0 else f"{'':{half}}│{bar}"
        line = f"{padded(name, room)} {value:+8.2f}  {drawn}".rstrip()
        say(line, "red" if value < 0 else "green")
