"""One formula or another, by a condition; and helpers that families build their formulas with."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

import numpy as np

from suffice.core.arrays import Mask
from suffice.formulas.arithmetic import Formula, Unknown, as_column, as_formula
from suffice.formulas.environments import Environment
from suffice.formulas.lookups import Combinations, Key, Lookup, plain_keys
from suffice.formulas.node import Array, Node, Reads


class Condition(Node):
    """A boolean for every row."""

    @abstractmethod
    def on(self, rows: Environment) -> Mask:
        """Return the boolean for every row, (rows, 1)."""


class Where(Formula):
    """One formula where a condition is true, another where it is false."""

    condition: Condition
    then: Formula
    otherwise: Formula

    def on(self, rows: Environment) -> Array:
        """Choose row by row."""
        return np.where(self.condition.on(rows), self.then.on(rows), self.otherwise.on(rows))


class Missing(Condition):
    """The column's entry is null, or NaN."""

    column: str

    def on(self, rows: Environment) -> Mask:
        """Return True where it is."""
        return np.array([v is None for v in rows.values(self.column)])[:, None]


class Below(Condition):
    """The value of a formula is below a limit, or with `touching` equal to it. A name stands for that column."""

    of: Formula
    limit: float
    touching: bool = False

    converts: ClassVar = {"of": as_column}

    def on(self, rows: Environment) -> Mask:
        """Return True where it is."""
        x = self.of.on(rows)
        return x <= self.limit if self.touching else x < self.limit


class Fraction(Condition):
    """The value of a formula is not an integer. A name stands for that column."""

    of: Formula

    converts: ClassVar = {"of": as_column}

    def on(self, rows: Environment) -> Mask:
        """Return True where it is not."""
        x = self.of.on(rows)
        return np.floor(x) < x


class Among(Condition):
    """The column's category is one of `keys`."""

    column: str
    keys: tuple[Key, ...]

    converts: ClassVar = {"keys": plain_keys}

    def on(self, rows: Environment) -> Mask:
        """Return True where it is."""
        known = set(self.keys)
        return np.array([v in known for v in rows.values(self.column)])[:, None]

    def _columns_read(self) -> dict[str, Reads]:
        return {self.column: "category"}


PATTERNS = 4  # columns of a block up to which every pattern of missing values has its own formula
GUARDED = 64  # columns up to which each is tested for missing values; more would make the tree too deep


def unless_missing(column: str, formula: Formula) -> Formula:
    """Return 0 where a column is missing, and the formula elsewhere."""
    return Where(Missing(column), as_formula(0.0), formula)


def by_observed(names: Sequence[str], leaf: Callable[[tuple[int, ...]], Formula], carried: bool = False) -> Formula:
    """Choose the formula of a block by its observed columns; `leaf` makes the formula for their positions.

    With more than PATTERNS columns only complete rows have a value. If arithmetic alone makes the result of a missing
    value NaN (`carried`), more than GUARDED columns are not tested.
    """
    if len(names) > PATTERNS:
        whole = leaf(tuple(range(len(names))))
        for name in () if carried and len(names) > GUARDED else names:
            whole = Where(Missing(name), Unknown(), whole)
        return whole

    def choose(observed: tuple[int, ...], at: int) -> Formula:
        if at == len(names):
            return leaf(observed) if observed else as_formula(0.0)
        return Where(Missing(names[at]), choose(observed, at + 1), choose((*observed, at), at + 1))

    return choose((), 0)


def total(formulas: Sequence[Formula]) -> Formula:
    """Add formulas; the sum of none is 0. The sum is split into halves, so that the tree stays shallow."""
    if not formulas:
        return as_formula(0.0)
    if len(formulas) == 1:
        return formulas[0]
    half = len(formulas) // 2
    return total(formulas[:half]) + total(formulas[half:])


def known_keys(formulas: Iterable[Formula]) -> dict[str, dict[Key, None]]:
    """Return the categories of each column that formulas look up, in the order in which they are found."""
    found: dict[str, dict[Key, None]] = {}
    for formula in formulas:
        for node in formula.walk():
            if isinstance(node, (Lookup, Among)):
                found.setdefault(node.column, {}).update(dict.fromkeys(node.keys))
            elif isinstance(node, Combinations):
                for i, name in enumerate(node.columns):
                    found.setdefault(name, {}).update(dict.fromkeys(key[i] for key in node.keys))
    return found
