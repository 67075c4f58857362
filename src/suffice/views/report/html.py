"""HTML that is safe by construction: only what these functions build is markup, everything else is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import TypeAlias


class Markup(str):
    """A string that is HTML and is not escaped again."""

    __slots__ = ()


Child: TypeAlias = "Markup | str | int | Iterable[Child] | None"
Attribute: TypeAlias = str | float | bool | None

VOID_HTML = {"br", "meta", "link", "input"}  # elements without an end tag
VOID_SVG = {"rect", "line", "path", "circle", "ellipse", "polyline"}


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element.

    Underscores in names of attributes become hyphens. The values `None` and `False` omit an attribute, and `True`
    writes it without a value. Floats are coordinates, and have at most two decimals.

    >>> tag("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    shown = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if name in VOID_HTML or name in VOID_SVG:
        return Markup(f"<{name}{shown}>" if name in VOID_HTML else f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{markup(*children)}</{name}>")


def markup(*children: Child) -> Markup:
    """Concatenate children; strings are escaped."""
    out: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            out.append(child)
        elif isinstance(child, (str, int)):
            out.append(escape(readable(str(child))))
        else:
            out.append(markup(*child))
    return Markup("".join(out))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    if isinstance(value, float):
        value = short(value)
    return f" {name}" if value is True else f' {name}="{escape(readable(str(value)))}"'


def short(value: float) -> str:
    """Return a coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def readable(text: str) -> str:
    """Replace characters that a page cannot hold: NUL and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def named(text: object) -> Markup:
    """Return a name from the data; `bdi` keeps its writing direction from changing the text around it."""
    return tag("bdi", str(text))


def embedded(value: object, **attributes: Attribute) -> Markup:
    """Return a script element of JSON, in which nothing can end the element or be read as HTML."""
    written = json.dumps(value, allow_nan=False, separators=(",", ":"))  # ASCII, so no other line separators
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    shown = "".join(_attribute(key, each) for key, each in attributes.items())
    return Markup(f'<script type="application/json"{shown}>{written}</script>')
