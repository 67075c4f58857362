"""Numbers that are looked up: of categories, of combinations of them, and of bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.formulas.arithmetic import Formula, classwise
from suffice.formulas.node import Array, Reads
from suffice.formulas.plain_rows import Rows


@dataclass(frozen=True, eq=False)
class Lookup(Formula):
    """The number of the category in a column: `numbers` (classes, keys), or `otherwise` (classes,) of no known one."""

    column: str
    keys: tuple[Any, ...]
    numbers: Array
    otherwise: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", plain_keys(self.keys))
        object.__setattr__(self, "numbers", classwise(self.numbers, 2))
        object.__setattr__(self, "otherwise", classwise(self.otherwise, 1))

    def on(self, rows: Rows) -> Array:
        """By equality with the keys."""
        return _looked_up([(v,) for v in rows.values(self.column)], [(k,) for k in self.keys], self)

    def _own(self) -> dict[str, Reads]:
        return {self.column: "category"}


@dataclass(frozen=True, eq=False)
class Combinations(Formula):
    """The number of the combination of several columns' categories; `keys` holds a tuple of values for each."""

    columns: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    numbers: Array
    otherwise: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", tuple(plain_keys(key) for key in self.keys))
        object.__setattr__(self, "numbers", classwise(self.numbers, 2))
        object.__setattr__(self, "otherwise", classwise(self.otherwise, 1))

    def on(self, rows: Rows) -> Array:
        """By equality with the keys."""
        entries = list(zip(*(rows.values(name) for name in self.columns), strict=True))
        return _looked_up(entries, list(self.keys), self)

    def _own(self) -> dict[str, Reads]:
        return dict.fromkeys(self.columns, "category")


def _looked_up(entries: list[Any], keys: list[Any], table: Lookup | Combinations) -> Array:
    place = {key: i for i, key in enumerate(keys)}
    numbers = np.concatenate([table.numbers.T, table.otherwise[None]])
    return np.asarray(numbers[[place.get(entry, len(keys)) for entry in entries]])


@dataclass(frozen=True, eq=False)
class Steps(Formula):
    """The number of the bin of a column's value: `numbers` (classes, edges + 1); bins are closed on the right."""

    column: str
    edges: Array
    numbers: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", np.asarray(self.edges, dtype=np.float64))
        object.__setattr__(self, "numbers", classwise(self.numbers, 2))

    def on(self, rows: Rows) -> Array:
        """By how many edges lie below the value."""
        return np.asarray(self.numbers.T[np.searchsorted(self.edges, rows.numbers(self.column)[:, 0])])

    def _own(self) -> dict[str, Reads]:
        return {self.column: "number"}


def plain_keys(keys: Any) -> tuple[Any, ...]:
    """Categories as Python's own strings, numbers and truths."""
    return tuple(key.item() if isinstance(key, np.generic) else key for key in keys)
