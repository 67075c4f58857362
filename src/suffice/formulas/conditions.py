"""One formula or another, by a condition."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.formulas.arithmetic import Formula, as_column
from suffice.formulas.lookups import plain_keys
from suffice.formulas.node import Array, Node, Reads
from suffice.formulas.plain_rows import Environment


class Condition(Node):
    """A boolean for every row."""

    @abstractmethod
    def on(self, rows: Environment) -> NDArray[np.bool_]:
        """Return the boolean for every row, (rows, 1)."""


@dataclass(frozen=True, eq=False)
class Where(Formula):
    """One formula where a condition holds, another where it does not."""

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

    def on(self, rows: Environment) -> NDArray[np.bool_]:
        """Return True where it is."""
        return np.array([v is None for v in rows.values(self.column)])[:, None]


@dataclass(frozen=True, eq=False)
class Below(Condition):
    """The value of a formula is below a limit, or, with `touching`, at it. A name stands for that column."""

    of: Formula
    limit: float
    touching: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", as_column(self.of))

    def on(self, rows: Environment) -> NDArray[np.bool_]:
        """Return True where it is."""
        x = self.of.on(rows)
        return x <= self.limit if self.touching else x < self.limit


@dataclass(frozen=True, eq=False)
class Fraction(Condition):
    """The value of a formula is not an integer. A name stands for that column."""

    of: Formula

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", as_column(self.of))

    def on(self, rows: Environment) -> NDArray[np.bool_]:
        """Return True where it is not."""
        x = self.of.on(rows)
        return np.floor(x) < x


@dataclass(frozen=True, eq=False)
class Among(Condition):
    """The column's category is one of some."""

    column: str
    keys: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", plain_keys(self.keys))

    def on(self, rows: Environment) -> NDArray[np.bool_]:
        """Return True where it is."""
        known = set(self.keys)
        return np.array([v in known for v in rows.values(self.column)])[:, None]

    def _own(self) -> dict[str, Reads]:
        return {self.column: "category"}
