"""The nomogram as inline SVG."""

from __future__ import annotations

from collections.abc import Iterable

from suffice.views.nomogram_scales import Nomogram, Scale, placed
from suffice.views.report.html import Attribute, Markup, named, tag
from suffice.views.report.svg_drawings import Axis, cut, picture
from suffice.views.report.written_numbers import minus, signed
from suffice.views.round_numbers import ticks

MOST_SCALES = 20  # columns that are drawn, the most telling
WIDTH, LEFT, RIGHT = 960, 190, 40
TOP, PITCH = 40, 42
LETTER = 6.8  # the width of a letter


def nomogram(shown: Nomogram) -> Markup:
    """Draw the scales, the axis of their sum and that of probabilities."""
    scales = shown.scales[:MOST_SCALES]
    x = Axis(*shown.span, LEFT, WIDTH - RIGHT)
    floor = TOP + PITCH * (len(scales) + 1)
    drawn = [tag("line", x1=x.point(t), x2=x.point(t), y1=TOP - 8, y2=floor - 14, class_="grid") for t in _marks(x)]
    drawn += [tag("text", _signed(t), x=x.point(t), y=TOP - 14, text_anchor="middle", class_="tick") for t in _marks(x)]
    zero = x.point(0.0)
    drawn.append(tag("line", x1=zero, x2=zero, y1=TOP - 8, y2=floor - 14, class_="diagonal"))
    drawn += [_name("prior", TOP + 12), tag("circle", cx=x.point(shown.prior), cy=TOP + 12, r=4, class_="dot k0")]
    for i, scale in enumerate(scales, start=1):
        drawn += _scale(scale, x, TOP + 12 + PITCH * i)
    total = Axis(*shown.total_span, LEFT, WIDTH - RIGHT)
    sums = [(t, _signed(t)) for t in ticks(total.low, total.high, 9)]
    drawn += _axis("sum", total, floor + 26, sums)
    drawn += _axis(f"p({shown.label})", total, floor + 62, _apart(shown, total))
    label = f"Nomogram: what each value adds to the log-odds of {shown.label} against {shown.against}"
    return picture(label, WIDTH, floor + 76, *drawn)


def _signed(value: float) -> str:
    return minus(f"{value:+g}") if value else "0"


def _marks(x: Axis) -> list[float]:
    return ticks(x.low, x.high, 8)


def _name(text: str, y: float) -> Markup:
    return tag("text", tag("title", text), cut(text, 26), x=LEFT - 26, y=y + 4, text_anchor="end", class_="name")


def _scale(scale: Scale, x: Axis, y: float) -> Iterable[Markup]:
    low, high = scale.span
    a, b = x.point(low), x.point(high)
    yield _name(scale.title, y)
    yield tag("line", x1=a, x2=b, y1=y, y2=y, class_="scale")
    for at, way, beyond in ((a, -6, scale.least < low), (b, 6, scale.most > high)):
        if beyond:
            yield tag("path", d=f"M{at + way:.1f} {y}L{at:.1f} {y - 4}V{y + 4}Z", class_="tip")
    unit = (x.high - x.low) / (x.end - x.begin)
    for tick, side in placed(scale, LETTER * unit, 4 * unit):
        at = x.point(tick.at)
        what = tag("title", f"{tick.name}: {signed(tick.at)}")
        line = tag("line", x1=at, x2=at, y1=y, y2=y - 6 * (side or 1), class_="scale" if side else "axis")
        where: dict[str, Attribute] = {"x": at, "y": y - 9 if side > 0 else y + 17, "text_anchor": "middle"}
        yield tag("g", what, line, tag("text", cut(tick.name, 24), **where) if side else None)
    for run in scale.runs[1:] if scale.kind == "number" else ():
        yield tag("circle", cx=x.point(min(max(run[0].at, low), high)), cy=y, r=3, class_="dot k1")


def _axis(name: str, x: Axis, y: float, marks: Iterable[tuple[float, str]]) -> Iterable[Markup]:
    yield _name(name, y)
    yield tag("line", x1=x.begin, x2=x.end, y1=y, y2=y, class_="scale")
    for value, text in marks:
        at = x.point(value)
        yield tag("line", x1=at, x2=at, y1=y, y2=y - 6, class_="scale")
        yield tag("text", text, x=at, y=y - 9, text_anchor="middle", class_="tick")


def _apart(shown: Nomogram, x: Axis) -> list[tuple[float, str]]:
    """Return the probabilities whose names do not overlap; those in the middle come first."""
    out: list[tuple[float, str]] = []
    for p, value in sorted(shown.probability_ticks(), key=lambda each: abs(each[0] - 0.5)):
        if all(abs(x.point(value) - x.point(other)) > 48 for other, _ in out):
            out.append((value, f"{100 * p:g} %"))
    return out


def remarks(shown: Nomogram) -> Markup:
    """Say how to read it, and what is not drawn."""
    names = tag("strong", named(shown.label)), " against ", tag("strong", named(shown.against))
    how = (
        "Find each value of a row on its scale, and read above how much it adds to the log-odds of ", *names,
        ". Add these and the prior up: the two lowest lines turn the sum into a probability",
        ", if the row is of one of the two classes. " if shown.of_more else ". ",
        "A missing value adds nothing. A scale that turns has its values above the line first, then below it.",
    )  # fmt: skip
    left = len(shown.scales) - MOST_SCALES
    more = tag("p", f"Columns that say less and are not drawn: {left}.", class_="note") if left > 0 else None
    rest = str(shown.remainder)
    return tag("div", tag("p", *how), more, tag("p", rest, class_="note") if rest else None)
