"""Declaration and docstrings of estimators: every parameter and attribute is stated once, where it is defined."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T", bound=type)

ENTRY = re.compile(r"^(\w+) : .*(?:\n(?:    .*)?)*", re.MULTILINE)
SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
# Attributes that fitting sets, and that no property describes.
SET_BY_FITTING = {
    "n_features_in_": "n_features_in_ : int\n    Number of columns.",
    "feature_names_in_": "feature_names_in_ : ndarray\n    Names of the columns, if any, (n_features_in_,).",
}


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(*, kw_only: bool = True) -> Callable[[T], T]:
    """Make the fields of a class the parameters of its constructor, and complete its docstring."""

    def declare(cls: T) -> T:
        dataclass(eq=False, repr=False, match_args=False, kw_only=kw_only)(cls)
        if not cls.__name__.startswith("_"):
            complete(cls)
        return cls

    return declare


def complete(cls: type) -> None:
    """Complete the docstring of an estimator, as numpydoc reads it.

    Parameters that it does not describe itself are described by a base class. Its attributes are the properties whose
    names end with an underscore; their docstrings describe them.
    """
    summary, sections = _sections(cls)
    described = {name: entry for base in reversed(cls.__mro__) for name, entry in _parameters(base).items()}
    names = [name for name in inspect.signature(cls.__init__).parameters if name in described]  # type: ignore[misc]
    parts = [summary.rstrip(), _section("Parameters", [described[name] for name in names])]
    parts.append(_section("Attributes", [_attributes(cls)[name] for name in sorted(_attributes(cls))]))
    parts += [_section(title, [text]) for title, text in sections.items() if title != "Parameters"]
    cls.__doc__ = "\n\n".join(parts)


def _sections(cls: type) -> tuple[str, dict[str, str]]:
    """Split the docstring of a class into its summary and its sections by title."""
    summary, *rest = SECTION.split(inspect.cleandoc(vars(cls).get("__doc__") or ""))
    return summary, {title: text.strip() for title, text in zip(rest[::2], rest[1::2], strict=True)}


def _parameters(cls: type) -> dict[str, str]:
    text = _sections(cls)[1].get("Parameters", "")
    return {found[1]: found[0].rstrip() for found in ENTRY.finditer(text)}


def _attributes(cls: type) -> dict[str, str]:
    found = dict(SET_BY_FITTING)
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if (
                isinstance(value, property)
                and name.endswith("_")
                and not name.startswith("_")
                and value.fget is not None
            ):
                kind = value.fget.__annotations__.get("return", "object")
                kind = {"Array": "ndarray", "Values": "ndarray", "Any": "object"}.get(kind, kind)
                text = "\n    ".join(inspect.cleandoc(value.__doc__ or "").splitlines())
                found[name] = f"{name} : {kind}\n    {text}"
    return found


def _section(title: str, entries: list[str]) -> str:
    body = "\n".join(entries)
    return f"{title}\n{'-' * len(title)}\n{body}"
