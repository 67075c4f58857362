"""The attacks of this folder, by the names of their modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules

import attacks

BESIDES = {"__main__", "children", "found", "tally", "targets"}  # what attacks are run with


def find() -> Iterator[tuple[str, Callable[[float, int], Counter[str]]]]:
    """Yield the name and the function of every attack."""
    for module in iter_modules(attacks.__path__):
        if module.name not in BESIDES and not module.name.startswith("test_"):
            attack = getattr(import_module(f"attacks.{module.name}"), "attack", None)
            if attack is not None:
                yield module.name, attack


ATTACKS = dict(find())
