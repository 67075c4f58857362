"""What a monitor has seen, as an HTML page in the style of the report."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.errors import InvalidDataError
from suffice.core.output_files import check_place, replacing
from suffice.views.report.html import Markup, named, tag
from suffice.views.report.page import hashed
from suffice.views.report.page_elements import Section, filled, note, section, table, text_of, tiles
from suffice.views.report.svg_drawings import Axis, picture, points, swatch
from suffice.views.report.written_numbers import amount, percent, score, signed

if TYPE_CHECKING:
    from suffice.estimators.monitor import Monitor

WIDTH, HEIGHT = 680.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 10.0, 10.0, 26.0
TITLE = "What has changed"
MOST_SERIES = 6  # that are drawn: those of the largest wealth


def write_monitor(monitor: Monitor, path: str | os.PathLike[str], title: str = TITLE) -> None:
    """Write what a monitor has seen to one HTML file that needs no network.

    Parameters
    ----------
    monitor : Monitor
        After `update`.
    path : str or path
        The file to write; an existing file is replaced in one step.
    title : str, default='What has changed'
        The title of the page.
    """
    check_place(path)
    page = render_monitor(monitor, title)
    with replacing(path) as file:
        file.write(page.encode())


def render_monitor(monitor: Monitor, title: str = TITLE) -> str:
    """Return the HTML that `write_monitor` writes."""
    if not monitor.n_rows_:
        raise InvalidDataError("The monitor has not seen a row yet: update it first")
    style = Markup(text_of("page.css"))
    sections = [_summary(monitor), _series(monitor), _wealth(monitor)]
    said = [f"{amount(monitor.n_rows_)} rows", f"compared with {amount(monitor.n_reference_)} before them"]
    return filled(
        "page.html",
        title=title,
        subtitle=" · ".join(said if monitor.n_reference_ else said[:1]),
        style=style,
        style_hash=hashed(style),
        script_hash=Markup("'none'"),
        links=[tag("li", tag("a", each.title, href=f"#{each.key}")) for each in sections],
        sections=[section(each) for each in sections],
        version=version("suffice"),
        script=[],
    )


def _summary(monitor: Monitor) -> Section:
    alarms = monitor.alarms_
    shown = {
        "rows": amount(monitor.n_rows_),
        "alarms": amount(len(alarms)),
        "probability of a false alarm": f"≤ {percent(monitor.rate)}",
    }
    said = [tag("li", named(str(alarm))) for alarm in alarms]
    content = tag("ul", said) if said else note("Nothing has changed, as far as these rows tell.")
    return Section("summary", "Summary", Markup(tiles(shown) + content))


def _series(monitor: Monitor) -> Section:
    known = {alarm.what: alarm for alarm in monitor.alarms_}
    rows = []
    for name in monitor.series:
        alarm, wealth = known.get(name), monitor.wealth(name)
        each = (alarm.row, alarm.since, alarm.change) if alarm is not None else ("", "", "")
        rows.append([name, float(wealth[-1]), float(wealth.max()), *each])
    heads = ["series", "wealth", "largest wealth", "alarm at row", "since row", "change, nats a row"]
    written = [None, _wealth_written, _wealth_written, amount, amount, signed]
    caption = (
        f"Each column, whole rows, and labels given rows. An alarm is raised at a wealth of {monitor.threshold:.0f}."
    )
    return Section("series", "What is watched", table(caption, heads, rows, written))


def _wealth_written(wealth: float) -> str:
    return score(wealth) if wealth < 1e4 else f"{wealth:.1e}"


def _wealth(monitor: Monitor) -> Section:
    rows = monitor.rows_
    paths = {name: np.log10(np.maximum(monitor.wealth(name), 1e-300)) for name in monitor.series}
    shown = sorted(paths, key=lambda name: -float(paths[name].max()))[:MOST_SERIES]
    least = max(min(float(paths[name].min()) for name in shown), -6.0)
    most = max(np.log10(monitor.threshold) + 1.0, min(max(float(paths[name].max()) for name in shown), 30.0))
    x = Axis(0.0, max(float(rows[-1]), 1.0), LEFT, WIDTH - RIGHT, integers=True)
    y = Axis(least, most, HEIGHT - BOTTOM, TOP)
    drawn = x.below(HEIGHT - BOTTOM)
    for power in range(int(np.ceil(least)), int(np.floor(most)) + 1, max(1, round((most - least) / 6))):
        at = y.point(power)
        drawn.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="grid"))
        drawn.append(
            tag("text", f"10^{power}".replace("-", "−"), x=LEFT - 6, y=at + 4, text_anchor="end", class_="tick")
        )
    at = y.point(float(np.log10(monitor.threshold)))
    drawn.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="diagonal"))
    drawn.append(tag("text", "alarm", x=LEFT + 4, y=at - 5, class_="tick"))
    for i, name in enumerate(shown):
        line = points(x.at(rows), y.at(np.clip(paths[name], least, most)))
        drawn.append(tag("path", d=line, class_=f"line k{i}"))
    legend = tag("ul", [tag("li", swatch(i), " ", named(name)) for i, name in enumerate(shown)], class_="legend")
    label = "The wealth of bets that something has changed, along the rows"
    explained = note(
        "Bets win if the ranks of the numbers are no longer uniform. If nothing changes, any wealth exceeds the line, "
        f"ever, with a probability of at most {percent(monitor.rate)}."
    )
    return Section("wealth", "Bets on a change", Markup(picture(label, WIDTH, HEIGHT, *drawn) + legend + explained))
