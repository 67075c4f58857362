"""The elements that sections of a page are made of: templates, tables, tiles and notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from suffice.views.report.html import Child, Markup, markup, named, tag


class Section(NamedTuple):
    """A section of the page; `key` is its anchor."""

    key: str
    title: str
    content: Markup


def filled(name: str, **values: Child) -> Markup:
    """Fill in a template beside this file; strings are escaped."""
    return Markup(Template(text_of(name)).substitute({key: markup(value) for key, value in values.items()}))


def text_of(name: str) -> str:
    """Return the text of a file beside this one."""
    return files("suffice.views.report").joinpath(name).read_text("utf-8")


def section(of: Section) -> Markup:
    """Return a section as an element."""
    heading = tag("h2", of.title, id=f"{of.key}-title")
    return tag("section", heading, of.content, id=of.key, aria_labelledby=f"{of.key}-title")


def table(
    caption: Child,
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    written: Sequence[Callable[[Any], str] | None],
) -> Markup:
    """Return a table; the first cell of each row is its heading. `written` says how numbers of a column are written.

    Columns without any content are left out.
    """
    kept = [j for j in range(len(heads)) if j == 0 or any(str(row[j]) for row in rows)]
    number = ["number" if written[j] else None for j in kept]
    top = tag("tr", [tag("th", heads[j], scope="col", class_=n) for j, n in zip(kept, number, strict=True)])
    body = []
    for row in rows:
        cells = [tag("td", _cell(row[j], written[j]), class_=n) for j, n in zip(kept[1:], number[1:], strict=True)]
        body.append(tag("tr", tag("th", _cell(row[0], None), scope="row"), cells))
    return tag("div", tag("table", tag("caption", caption), tag("thead", top), tag("tbody", body)), class_="scroll")


def _cell(cell: object, written: Callable[[Any], str] | None) -> Markup:
    if isinstance(cell, Markup):
        return cell
    if not str(cell):
        return Markup()
    return markup(written(cell)) if written else named(cell)


def tiles(values: dict[str, str]) -> Markup:
    """Return numbers at a glance."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in values.items()], class_="tiles")


def note(*text: Child) -> Markup:
    """Return a remark."""
    return tag("p", *text, class_="note")
