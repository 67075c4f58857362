"""HTML that is safe by construction: what is not made here is text, and text is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any, TypeAlias


class Markup(str):
    """A string that is HTML already."""

    __slots__ = ()


Child: TypeAlias = "Markup | str | int | Iterable[Child] | None"

ALONE = {"br", "meta", "link", "input", "rect", "line", "path", "circle", "ellipse", "polyline"}  # without an end tag


def tag(name: str, /, *children: Child, **attributes: Any) -> Markup:
    """An element. Underscores in names of attributes are hyphens, `None` and `False` leave one out, `True` is bare.

    >>> tag("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    shown = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if name in ALONE:
        return Markup(f"<{name}{shown}>" if name in {"br", "meta", "link", "input"} else f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{markup(*children)}</{name}>")


def markup(*children: Child) -> Markup:
    """Everything one after another, strings escaped."""
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


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(readable(str(value)))}"'


def readable(text: str) -> str:
    """Text that a page can hold: no NUL, no lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def named(text: Any) -> Markup:
    """A name that came with the data, its direction of writing kept to itself."""
    return tag("bdi", str(text))


def embedded(value: Any, **attributes: Any) -> Markup:
    """A script element of JSON, in which nothing can end the element or be read as HTML."""
    written = json.dumps(value, allow_nan=False, separators=(",", ":"))  # in ASCII: nothing else ends a line either
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    shown = "".join(_attribute(key, each) for key, each in attributes.items())
    return Markup(f'<script type="application/json"{shown}>{written}</script>')
