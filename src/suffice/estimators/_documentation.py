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
# Parameters of methods that mean the same everywhere.
GLOSSARY = {
    "X": "X : array-like of shape (n_samples, n_features), or table\n    Rows; NaN and null mean missing.",
    "y": "y : array-like of shape (n_samples,), or str\n    Labels, or the name of the column of X that holds them.",
    "sample_weight": "sample_weight : array-like of shape (n_samples,) or str, default=None\n"
    "    Weights of the rows, 1 each by default, or the name of the column of X that holds them.",
    "random_state": "random_state : int or numpy.random.Generator, default=None\n    Makes the draws repeatable.",
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
    described: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        described |= _entries(_sections(vars(base).get("__doc__"))[1])
    names = [name for name in inspect.signature(cls.__init__).parameters if name in described]  # type: ignore[misc]
    summary, sections = _sections(vars(cls).get("__doc__"))
    parts = {"Parameters": "\n".join(described[name] for name in names)}
    parts["Attributes"] = "\n".join(entry for _, entry in sorted(_attributes(cls).items()))
    cls.__doc__ = _joined(summary, parts | {title: text for title, text in sections.items() if title not in parts})


def complete_methods(cls: type) -> None:
    """Complete the docstrings of the public methods of a class.

    Parameters and results that a method does not describe are described by the method that it overrides, or, if there
    is none, by the glossary.
    """
    for name, method in vars(cls).items():
        if name.startswith("_") or not inspect.isfunction(method) or not method.__doc__:
            continue
        summary, own = _sections(method.__doc__)
        overridden = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
        ours = overridden is not None and overridden.__module__.startswith("suffice")
        before = _sections(overridden.__doc__)[1] if ours else {}
        described = GLOSSARY | _entries(before) | _entries(own)
        entries = [described[each] for each in inspect.signature(method).parameters if each in described]
        if entries:
            own["Parameters"] = "\n".join(entries)
        if method.__annotations__.get("return") == "Self":
            before.setdefault("Returns", "self : object\n    The estimator.")
        titles = sorted({*before, *own}, key=["Parameters", "Returns", "Examples"].index)
        method.__doc__ = _joined(summary, {title: own.get(title) or before[title] for title in titles})


def _sections(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Split a docstring into its summary and its sections by title."""
    summary, *rest = SECTION.split(inspect.cleandoc(docstring or ""))
    return summary, {title: text.strip() for title, text in zip(rest[::2], rest[1::2], strict=True)}


def _joined(summary: str, sections: dict[str, str]) -> str:
    """Join what `_sections` has split."""
    parts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items()]
    return "\n\n".join([summary.rstrip(), *parts])


def _entries(sections: dict[str, str]) -> dict[str, str]:
    """Return the parameters that a docstring describes, by name."""
    return {found[1]: found[0].rstrip() for found in ENTRY.finditer(sections.get("Parameters", ""))}


def _attributes(cls: type) -> dict[str, str]:
    found = dict(SET_BY_FITTING)
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            public = name.endswith("_") and not name.startswith("_")
            if public and isinstance(value, property) and value.fget is not None:
                kind = value.fget.__annotations__.get("return", "object")
                kind = {"Array": "ndarray", "Values": "ndarray", "Any": "object"}.get(kind, kind)
                text = "\n    ".join(inspect.cleandoc(value.__doc__ or "").splitlines())
                found[name] = f"{name} : {kind}\n    {text}"
    return found
