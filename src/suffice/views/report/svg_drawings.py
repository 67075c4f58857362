"""Small pictures as inline SVG: the style sheet of the page has their colours; dashes and lightness differ too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from suffice.core.arrays import Array
from suffice.model.class_conditionals import Bars, Curve, Ellipses, Words
from suffice.model.evaluate import Evaluation, Reliability
from suffice.views.report.html import Attribute, Markup, named, short, tag
from suffice.views.report.written_numbers import amount, minus, percent, signed
from suffice.views.round_numbers import ticks

WIDTH, HEIGHT = 340, 170
LEFT, RIGHT, TOP, BOTTOM = 10, 10, 10, 26
MOST_CLASSES = 8  # classes drawn at once, the most frequent
MOST_BARS = 12  # outcomes of a column
WORDS_RANKED, MOST_WORDS = 60, 10  # of the words ranked for a class, the first that speak for it are shown


def picture(label: str, width: float, height: float, *children: Markup) -> Markup:
    """Return an SVG drawing with a label for screen readers."""
    box = f"0 0 {short(width)} {short(height)}"
    return tag("svg", tag("title", label), *children, viewBox=box, role="img", aria_label=label, class_="picture")


def swatch(place: int) -> Markup:
    """Return the line of a class for a legend."""
    line = tag("path", d="M1 6H27", class_=f"line k{place % MOST_CLASSES}")
    return tag("svg", line, viewBox="0 0 28 12", class_="swatch", aria_hidden="true")


def strip(bar: Markup) -> Markup:
    """Return a bar of up to 100 units for the cell of a table."""
    return tag("svg", bar, viewBox="0 0 100 10", preserveAspectRatio="none", class_="strip", aria_hidden="true")


def points(x: Array, y: Array) -> str:
    """Return a path through points, without points that make no visible difference."""
    return "M" + "L".join(f"{short(a)} {short(b)}" for a, b in _needed(np.stack([x, y], axis=1)).tolist())


def _needed(points: Array) -> Array:
    """Return the points that a line needs to stay within 0.1 of all (Douglas and Peucker, 1973)."""
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    spans = [(0, len(points) - 1)]
    while spans:
        lo, hi = spans.pop()
        if hi - lo < 2:
            continue
        along, inner = points[hi] - points[lo], points[lo + 1 : hi] - points[lo]
        length = float(np.hypot(*along))
        away = np.abs(along[0] * inner[:, 1] - along[1] * inner[:, 0]) / length if length else np.hypot(*inner.T)
        far = int(np.argmax(away))
        if away[far] > 0.1:
            keep[lo + 1 + far] = True
            spans += [(lo, lo + 1 + far), (lo + 1 + far, hi)]
    return points[keep]


class Axis:
    """A scale from numbers to coordinates."""

    def __init__(self, low: float, high: float, begin: float, end: float, integers: bool = False):
        self.low, self.high = low, high if high > low else low + 1.0
        self.begin, self.end, self.integers = begin, end, integers

    def at(self, value: ArrayLike) -> Array:
        """Return the coordinates of values."""
        return self.begin + (np.asarray(value) - self.low) / (self.high - self.low) * (self.end - self.begin)

    def point(self, value: float) -> float:
        """Return the coordinate of a value."""
        return float(self.at(value))

    def below(self, height: float) -> list[Markup]:
        """Return the horizontal line, its ticks and their numbers."""
        out = [tag("line", x1=self.begin, x2=self.end, y1=height, y2=height, class_="axis")]
        for value in ticks(self.low, self.high):
            if self.integers and not value.is_integer():
                continue
            x, number = self.point(value), _number(value)
            out.append(tag("line", x1=x, x2=x, y1=height, y2=height + 4, class_="axis"))
            out.append(tag("text", number, y=height + 16, class_="tick", **self._anchor(x, len(number))))
        return out

    def beside(self, x: float) -> list[Markup]:
        """Return the numbers to the left of a vertical line."""
        at = [(value, self.point(value) + 4) for value in ticks(self.low, self.high)]
        return [tag("text", _number(value), x=x, y=y, text_anchor="end", class_="tick") for value, y in at]

    def _anchor(self, x: float, letters: int) -> dict[str, Attribute]:
        """Return the position of a number under a tick, inside the picture at both ends."""
        half = 3.2 * letters
        if x + half > self.end + 9:
            return {"x": self.end + 9, "text_anchor": "end"}
        if x - half < self.begin - 9:
            return {"x": self.begin - 9, "text_anchor": "start"}
        return {"x": x, "text_anchor": "middle"}


def _number(value: float) -> str:
    return minus(f"{value:,.6g}" if abs(value) >= 10_000 else f"{value:.6g}")  # 2007 may be a year


# ------------------------------------------------------------------------------------------------ columns


def curve(shown: Curve, classes: Sequence[int]) -> Markup:
    """Draw the density of a number under each class."""
    if not shown.x.size:
        return tag("p", "No value was seen in training.", class_="note")
    some = [0] if not shown.votes else list(classes)
    density = shown.density[some]
    x = Axis(float(shown.x[0]), float(shown.x[-1]), LEFT, WIDTH - RIGHT, integers=shown.kind == "mass")
    # The spike of a class that hardly varies would flatten the others, so the picture may cut it off.
    peaks = density.max(axis=1)
    top = min(float(peaks.max()), 4.0 * float(np.median(peaks))) or 1.0
    floor = HEIGHT - BOTTOM
    drawn = []
    for row, c in zip(density, some, strict=True):
        y = floor - np.minimum(row / top, 1.03) * (floor - TOP)
        kind = "all" if not shown.votes else f"k{classes.index(c) % MOST_CLASSES}"
        if shown.kind == "steps":
            edges = np.repeat(x.at(shown.x), 2)[1:-1]
            outline = points(edges, np.repeat(y, 2))
            outline = f"M{short(edges[0])} {floor}{outline.replace('M', 'L', 1)}L{short(edges[-1])} {floor}"
        else:
            outline = points(x.at(shown.x), y)
        if shown.kind != "mass":
            closed = f"{outline}L{WIDTH - RIGHT} {floor}L{LEFT} {floor}Z"
            drawn.append(tag("path", d=closed, class_=f"area {kind}"))
        drawn.append(tag("path", d=outline, class_=f"line {kind}"))
        if shown.kind == "mass" and len(row) <= 60:
            dots = zip(x.at(shown.x).tolist(), y.tolist(), strict=True)
            drawn += [tag("circle", cx=a, cy=b, r=2.2, class_=f"dot {kind}") for a, b in dots]
    what = {"density": "Density", "steps": "Density by bins", "mass": "Probability"}[shown.kind]
    return picture(f"{what} of {shown.title} under each class", WIDTH, HEIGHT, *drawn, *x.below(floor))


def bars(shown: Bars, classes: Sequence[int]) -> Markup:
    """Draw the probability of each outcome under each class."""
    order = np.sort(np.argsort(-shown.probability.max(axis=0), kind="stable")[:MOST_BARS])
    some = [0] if not shown.votes else list(classes)
    thick = 9 if len(some) <= 4 else 5
    pitch = thick * len(some) + 8
    top = float(shown.probability[some].max(initial=0.0)) or 1.0
    left, right = 112, 46
    drawn = []
    for i, k in enumerate(order.tolist()):
        y = 4 + i * pitch
        name = tag("title", shown.outcomes[k]), cut(shown.names[k], 17)
        drawn.append(tag("text", *name, x=left - 6, y=y + (pitch - 8) / 2 + 4, text_anchor="end", class_="name"))
        for row, c in enumerate(some):
            p = float(shown.probability[c, k])
            length = p / top * (WIDTH - left - right)
            kind = "all" if not shown.votes else f"k{row % MOST_CLASSES}"
            above, wide = y + row * thick, max(length, 0.5)
            drawn.append(tag("rect", x=left, y=above, width=wide, height=thick - 1, class_=f"fill {kind}"))
            if len(some) <= 4:
                drawn.append(tag("text", percent(p), x=left + length + 4, y=above + thick - 1, class_="value"))
    height = 4 + len(order) * pitch
    found = picture(f"Probability of each value of {shown.title} under each class", WIDTH, height, *drawn)
    rest = len(shown.outcomes) - len(order)
    return found if not rest else tag("div", found, tag("p", f"and {rest} rarer values", class_="note"))


def ellipses(shown: Ellipses, classes: Sequence[int]) -> Markup:
    """Draw one and two standard deviations around the mean of each class, in the first two columns."""
    some = list(classes)
    mean, reach = shown.mean[:, :2], 2.3 * np.sqrt(shown.covariance[:, [0, 1], [0, 1]])
    low, high = (mean - reach)[some].min(axis=0), (mean + reach)[some].max(axis=0)
    height = 240
    x = Axis(float(low[0]), float(high[0]), 44, WIDTH - RIGHT)
    y = Axis(float(low[1]), float(high[1]), height - 40, TOP)
    drawn = []
    for place, c in enumerate(some):
        kind = f"k{place % MOST_CLASSES}"
        for deviations in (1.0, 2.0):
            path = shown.outline(c, deviations)
            outline = points(x.at(path[0]), y.at(path[1])) + "Z"
            drawn.append(tag("path", d=outline, class_=f"area {kind}"))
            drawn.append(tag("path", d=outline, class_=f"line thin {kind}"))
        drawn.append(tag("circle", r=3, cx=x.point(mean[c, 0]), cy=y.point(mean[c, 1]), class_=f"dot {kind}"))
    drawn += [*x.below(height - 40), *y.beside(38)]
    drawn.append(tag("line", x1=44, x2=44, y1=TOP, y2=height - 40, class_="axis"))
    across, up = (cut(name, 28) for name in shown.columns[:2])
    middle: dict[str, Attribute] = {"text_anchor": "middle", "class_": "name"}
    drawn.append(tag("text", across, x=WIDTH / 2 + 17, y=height - 6, **middle))
    drawn.append(tag("text", up, x=10, y=105, transform="rotate(-90 10 105)", **middle))
    both = f"{shown.columns[0]} across and {shown.columns[1]} up"
    label = f"One and two standard deviations around the mean of each class, {both}"
    return picture(label, WIDTH, height, *drawn)


def words(shown: Words, classes: Sequence[int]) -> Markup:
    """List the most informative words that speak for each class, with their log-odds."""
    own = {
        c: [(w, v) for w, v in zip(shown.words[c], shown.log_odds[c].tolist(), strict=True) if v > 0] for c in classes
    }
    finite = [v for each in own.values() for _, v in each[:MOST_WORDS] if np.isfinite(v)]
    top = max([abs(v) for v in finite], default=1.0) or 1.0
    out = []
    for place, c in enumerate(classes):
        rows = []
        for word, odds in own[c][:MOST_WORDS]:
            bar = tag("rect", width=100 * min(abs(odds) / top, 1.0), height=8, y=1, class_=f"fill k{place}")
            cells = tag("td", strip(bar), class_="strip-cell"), tag("td", signed(odds), class_="number")
            rows.append(tag("tr", tag("th", named(word), scope="row"), cells))
        head = tag("caption", swatch(place), named(shown.labels[c]))
        out.append(tag("table", head, tag("tbody", rows), class_="bars"))
    return tag("div", out, class_="word-lists")


def cut(text: str, length: int) -> str:
    """Return a text that is not longer than `length`."""
    return text if len(text) <= length else text[: length - 1] + "…"


# ------------------------------------------------------------------------------------------------ evaluation


def reliability(shown: Reliability) -> Markup:
    """Draw how often the predicted class was right, over its predicted probability."""
    size, floor = 300, 262
    x, y = Axis(0.0, 1.0, 42, size - 16), Axis(0.0, 1.0, floor, 16)
    drawn = [tag("line", x1=42, y1=floor, x2=size - 16, y2=16, class_="diagonal")]
    for at in y.at(ticks(0.0, 1.0)).tolist():
        drawn.append(tag("line", x1=42, x2=size - 16, y1=at, y2=at, class_="grid"))
    drawn += [*y.beside(36), *x.below(floor)]
    some = np.flatnonzero(shown.weight > 0)
    said, true, share = shown.said[some], shown.true[some], shown.share[some]
    if len(some):
        drawn.append(tag("path", d=points(x.at(said), y.at(true)), class_="line thin faint k0"))
    for a, b, part in zip(said.tolist(), true.tolist(), share.tolist(), strict=True):
        title = tag("title", f"predicted {percent(a)}, right {percent(b)}, {percent(part)} of the rows")
        dot = tag("circle", r=3.0 + 9.0 * part**0.5, class_="dot k0")
        drawn.append(tag("g", title, dot, transform=f"translate({short(x.point(a))} {short(y.point(b))})"))
    middle: dict[str, Attribute] = {"text_anchor": "middle", "class_": "name"}
    drawn.append(tag("text", "predicted probability", x=163, y=size - 4, **middle))
    drawn.append(tag("text", "share right", x=11, y=139, transform="rotate(-90 11 139)", **middle))
    return picture("Reliability: how often the predicted class was right, by its probability", size, size, *drawn)


def confusion(shown: Evaluation) -> Markup:
    """Return the confusion matrix as a table: true classes down, predicted classes across."""
    names = [str(label) for label in shown.classes.tolist()]
    share = shown.confusion / np.maximum(shown.confusion.sum(axis=1, keepdims=True), 1e-300)
    heads = [tag("th", tag("span", named(n)), scope="col") for n in names]
    head = tag("tr", tag("th", "true ↓ predicted →", scope="col"), heads)
    body = []
    for i, name in enumerate(names):
        cells = [
            tag("td", amount(n), class_=f"cell h{round(10 * part) if n else 'none'}" + (" right" if i == j else ""))
            for j, (n, part) in enumerate(zip(shown.confusion[i].tolist(), share[i].tolist(), strict=True))
        ]
        body.append(tag("tr", tag("th", named(name), scope="row"), cells))
    caption = tag("caption", "Rows of each class, by the class that was predicted")
    kind = "confusion many" if len(names) > MOST_CLASSES else "confusion"
    return tag("table", caption, tag("thead", head), tag("tbody", body), class_=kind)
