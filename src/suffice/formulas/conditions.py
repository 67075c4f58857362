"""One formula or another, by a condition."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from suffice.core.arrays import Mask
from suffice.formulas.arithmetic import Formula, as_column
from suffice.formulas.environments import Environment
from suffice.formulas.lookups import Key, plain_keys
from suffice.formulas.node import Array, Node, Reads


class Condition(Node):
    """A boolean for every row."""

    @abstractmethod
    def on(self, rows: Environment) -> Mask:
        """Return the boolean for every row, (rows, 1)."""


@dataclass(frozen=True, eq=False)
class Where(Formula):
    """One formula where a condition is true, another where it is false."""

    condition: Condition
    then: Formula
    otherwise: Formula

    def on(self, rows: Environment) -> Array:
        """Choose row by row."""
        return np.where(self.condition.on(rows), self.then.on(rows), self.otherwise.on(rows))


@dataclass(frozen=True, eq=False)
class Missing(Condition):
    """The column's entry is null, or NaN."""

    column: str

    def on(self, rows: Environment) -> Mask:
        """Return True where it is."""
        return np.array([v is None for v in rows.values(self.column)])[:, None]


@dataclass(frozen=True, eq=False)
class Below(Condition):
    """The value of a formula is below a limit, or with `touching` equal to it. A name stands for that column."""

    of: Formula
    limit: float
    touching: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", as_column(self.of))

    def on(self, rows: Environment) -> Mask:
        """Return True where it is."""
        x = self.of.on(rows)
        return x <= self.limit if self.touching else x < self.limit


@dataclass(frozen=True, eq=False)
class Fraction(Condition):
    """The value of a formula is not an integer. A name stands for that column."""

    of: Formula

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", as_column(self.of))

    def on(self, rows: Environment) -> Mask:
        """Return True where it is not."""
        x = self.of.on(rows)
        return np.floor(x) < x


@dataclass(frozen=True, eq=False)
class Among(Condition):
    """The column's category is one of `keys`."""

    column: str
    keys: tuple[Key, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", plain_keys(self.keys))

    def on(self, rows: Environment) -> Mask:
        """Return True where it is."""
        known = set(self.keys)
        return np.array([v in known for v in rows.values(self.column)])[:, None]

    def _columns_read(self) -> dict[str, Reads]:
        return {self.column: "category"}
