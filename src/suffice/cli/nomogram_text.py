"""A nomogram in letters, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from suffice.cli.terminal import breadth, cut, padded, prose, say, width

if TYPE_CHECKING:
    from suffice.views.nomogram_scales import Nomogram, Scale

LONGEST_TITLE = 24
LONGEST_NAME = 24


def show_nomogram(shown: Nomogram, most: int) -> None:
    """Print the scales, one below the other, with the names of values above and below each line."""
    from suffice.views.round_numbers import ticks

    scales = shown.scales[:most]
    room = max(breadth(cut(title, LONGEST_TITLE)) for title in ("prior", *(scale.title for scale in scales)))
    line = _Line(*shown.span, width() - room - 2)
    say(f"What a value adds to the log-odds of {shown.label} against {shown.against}", "bold")
    marks = ticks(line.low, line.high, 7)
    say(_named("", room, line.names((t, f"{t:+g}" if t else "0") for t in marks)))
    say(_named("prior", room, line.marks([shown.prior], " ", "◆")))
    for scale in scales:
        _show(scale, line, room)
    total = _Line(*shown.total_span, line.room)
    sums = [(t, f"{t:+g}" if t else "0") for t in ticks(total.low, total.high, 7)]
    shares = sorted(shown.probability_ticks(), key=lambda each: abs(each[0] - 0.5))
    for title, names in (("sum", sums), (f"p({shown.label})", [(at, f"{100 * p:g} %") for p, at in shares])):
        say()
        say(_named("", room, total.names(names)))
        say(_named(title, room, total.marks([at for at, _ in names], "─", "┴", total.low, total.high)))
    say()
    left = len(shown.scales) - len(scales)
    prose(
        "Add up the prior and what each value adds; the last line turns the sum into a probability"
        f"{', if the row is of one of the two classes' if shown.of_more else ''}. {shown.remainder}"
        f"{f' Columns that say less and are not shown: {left}.' if left else ''}"
    )


class _Line:
    """Places in a line of the terminal for log-odds."""

    def __init__(self, low: float, high: float, room: int):
        self.low, self.high, self.room = low, high, room

    def at(self, value: float) -> int:
        """Return the place of a number."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(share * (self.room - 1))

    def names(self, ticks: Iterable[tuple[float, str]]) -> str:
        """Write names where they fit, centred."""
        out = [" "] * self.room
        for value, name in ticks:
            text = cut(name, LONGEST_NAME)
            begin = min(max(self.at(value) - breadth(text) // 2, 0), self.room - breadth(text))
            if all(each == " " for each in out[max(begin - 1, 0) : begin + breadth(text) + 1]):
                out[begin : begin + breadth(text)] = [*text, *[""] * (breadth(text) - len(text))]
        return "".join(out)

    def marks(
        self, values: Iterable[float], line: str, mark: str, low: float | None = None, high: float | None = None
    ) -> str:
        """Draw a line from `low` to `high` with marks."""
        out = [" "] * self.room
        if low is not None and high is not None:
            begin, end = self.at(low), self.at(high)
            out[begin : end + 1] = [line] * (end + 1 - begin)
        for value in values:
            out[self.at(value)] = mark
        return "".join(out)


def _named(title: str, room: int, text: str) -> str:
    return f"{padded(cut(title, LONGEST_TITLE), room)}  {text}".rstrip()


def _show(scale: Scale, line: _Line, room: int) -> None:
    from suffice.views.nomogram_scales import placed

    letter = (line.high - line.low) / (line.room - 1)
    ticks = placed(scale, letter, letter)
    low, high = scale.span
    drawn = list(line.marks([tick.at for tick, _ in ticks], "─", "┼", low, high))
    for end, beyond, arrow in ((low, scale.least < low, "◄"), (high, scale.most > high, "►")):
        if beyond:
            drawn[line.at(end)] = arrow
    above, below = (line.names((tick.at, tick.name) for tick, side in ticks if side == s) for s in (1, -1))
    say(_named("", room, above))
    say(_named(scale.title, room, "".join(drawn)))
    if below.strip():
        say(_named("", room, below))
