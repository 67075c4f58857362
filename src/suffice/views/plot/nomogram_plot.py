"""The nomogram: scales of log-odds, one for each column, to add up by eye."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Self

from suffice.core.errors import InvalidOptionError
from suffice.views.nomogram_scales import Nomogram, Scale, placed
from suffice.views.plot import style
from suffice.views.plot.display import Display, drawing
from suffice.views.round_numbers import ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.estimators.generative_classifier import GenerativeClassifier

MOST_SCALES = 14  # columns that are drawn, the most telling
LETTER = 0.0092  # the width of a letter, as a share of the axis
INK, SOFT, TURN = "0.15", "0.45", "#D55E00"


class NomogramDisplay(Display):
    """Scales of log-odds: to classify a row, find each value on its scale, read its log-odds above, and add them up.

    The sum and the prior give the probability at the bottom. A number whose log-odds rise and fall has its values above
    the line where they rise or fall first, and below it where they turn back; the ends of these parts are marked.

    Parameters
    ----------
    nomogram : Nomogram
        The scales.
    most : int
        How many scales to draw, the longest first.
    """

    def __init__(self, nomogram: Nomogram, most: int = MOST_SCALES):
        if most < 1:
            raise InvalidOptionError(f"most must be at least 1, found {most}")
        self.nomogram, self.most = nomogram, most

    @classmethod
    def from_estimator(
        cls,
        estimator: GenerativeClassifier,
        *,
        label: object = None,
        against: object = None,
        most: int = MOST_SCALES,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scales of a fitted classifier of a table or of numbers.

        Parameters
        ----------
        label, against : label, default=None
            The classes to compare: by default the second of two against the first, or the two most frequent of more.
        most : int, default=14
            How many columns to draw, the most telling.
        """
        return cls(Nomogram.of(estimator, label, against), most).plot(ax)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """The scales that are drawn."""
        return self.nomogram.scales[: self.most]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return self._size()

    def _size(self) -> tuple[float, float]:
        return 8.5, 1.9 + 0.55 * (len(self.scales) + 1)

    def _draw(self, ax: Axes) -> None:
        found, n = self.nomogram, len(self.scales)
        low, high = found.span
        label, against = style.shorten(found.label), style.shorten(found.against)
        ax.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
        ax.set_ylim(n + 2.7, -0.6)
        ax.spines[:].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        ax.set_xlabel(f"log-odds of {label} against {against} that a value adds", fontsize="small")
        ax.tick_params(axis="x", labelsize="small", color=SOFT)
        marks = ticks(low, high, 8)
        ax.set_xticks(marks, [f"{each:+g}".replace("-", "−") if each else "0" for each in marks])
        ax.vlines(marks, -0.6, n + 0.4, color=style.GRID, linewidth=0.7, zorder=0)
        ax.vlines([0.0], -0.6, n + 0.4, color=SOFT, linewidth=0.8, linestyle=":", zorder=0)
        ax.plot([found.prior], [0], marker="D", color=INK, markersize=4)
        for y, scale in enumerate(self.scales, start=1):
            self._scale(ax, y, scale, LETTER * (high - low))
        self._sum(ax, n + 1.3)
        rows = [0, *range(1, n + 1), n + 1.3, n + 2.3]
        names = ["prior", *(style.shorten(scale.title, 26) for scale in self.scales), "sum", f"p({label})"]
        ax.set_yticks(rows, names, fontsize="small")
        ax.annotate(
            _wrapped(self._remarks()), (0.0, 0.0), xycoords="axes fraction", fontsize="x-small", color=SOFT, va="top"
        )

    def _scale(self, ax: Axes, y: int, scale: Scale, letter: float) -> None:
        low, high = scale.span
        ax.plot([low, high], [y, y], color=INK, linewidth=1.0)
        for end, beyond in ((low, scale.least < low), (high, scale.most > high)):
            if beyond:
                ax.plot([end], [y], marker="<" if end == low else ">", color=INK, markersize=5)
        for tick, side in placed(scale, letter, letter):
            ax.plot([tick.at] * 2, [y, y - 0.13 * (side or 1)], color=INK if side else SOFT, linewidth=0.8)
            if side:
                where: style.Style = {
                    "va": "bottom" if side > 0 else "top",
                    "ha": "center",
                    "fontsize": "x-small",
                    "color": INK,
                }
                ax.text(tick.at, y - 0.15 * side, style.shorten(tick.name, 24), **where)
        for run in scale.runs[1:] if scale.kind == "number" else ():
            turn = min(max(run[0].at, low), high)
            ax.plot([turn], [y], marker="o", color=TURN, markersize=3.5)

    def _sum(self, ax: Axes, y: float) -> None:
        """Draw the axis of sums, and below it that of probabilities, over the whole width."""
        low, high = self.nomogram.total_span
        begin, end = self.nomogram.span

        def at(value: float) -> float:
            return begin + (value - low) / (high - low) * (end - begin)

        marks: Iterable[tuple[float, str]] = ((t, f"{t:g}".replace("-", "−")) for t in ticks(low, high, 9))
        _axis(ax, y, begin, end, marks, at)
        shown: list[tuple[float, str]] = []
        for p, value in sorted(self.nomogram.probability_ticks(), key=lambda each: abs(each[0] - 0.5)):
            if all(abs(at(value) - at(other)) > 0.055 * (end - begin) for other, _ in shown):
                shown.append((value, f"{100 * p:g} %"))
        _axis(ax, y + 1.0, begin, end, shown, at)

    def _remarks(self) -> str:
        left = len(self.nomogram.scales) - len(self.scales)
        more = f"Columns that say less and are not drawn: {left}. " if left else ""
        several = "The probability is that of the first of the two classes, if it is one of them. "
        return f"{more}{several if self.nomogram.of_more else ''}{self.nomogram.remainder}".strip()


def _axis(
    ax: Axes, y: float, begin: float, end: float, marks: Iterable[tuple[float, str]], at: Callable[[float], float]
) -> None:
    ax.plot([begin, end], [y, y], color=INK, linewidth=1.2)
    for value, name in marks:
        ax.plot([at(value)] * 2, [y, y - 0.13], color=INK, linewidth=0.8)
        ax.text(at(value), y - 0.15, name, va="bottom", ha="center", fontsize="x-small", color=INK)


def _wrapped(text: str, width: int = 118) -> str:
    from textwrap import fill

    return "\n".join(fill(line, width) for line in text.splitlines()).replace("$", r"\$")


nomogram = drawing("nomogram", NomogramDisplay.from_estimator, lambda drawn: drawn.ax_)
