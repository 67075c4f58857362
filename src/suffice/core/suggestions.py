"""Hints for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the question for the known name that is closest, or nothing.

    >>> did_you_mean("incme", ["age", "income"])
    "Did you mean 'income'? "
    >>> did_you_mean("x", ["age", "income"])
    ''
    """
    near = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"Did you mean {near[0]!r}? " if near else ""
