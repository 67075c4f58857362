"""What formulas are written with: the values of a query, and the few operations that make others of them.

Formulas are compiled in one place, and written by Ibis for a table that it is connected to, or by sqlglot as text. A
value of Ibis has the operators and methods of `Value` by itself, so its writer is short. Text alone would not do for
Ibis: `Table.sql` needs a connection that tells the types of the answers, while sums are taken of formulas inside of
larger queries, and tables without a connection are asked too. Nor would Ibis do for text: it must be installed, with
the versions of sqlglot and of the drivers that it allows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from suffice.formulas.lookups import Key

ALL_ROWS = 2**63 - 1
# Databases that copy the text of a subquery to every use of its columns and compute it each time, which multiplies
# from step to step. They do not if the subquery has a limit.
REPEATING = ("materialize", "mysql", "postgres", "risingwave", "singlestore", "singlestoredb", "sqlite")


class ValueType(Protocol):
    """The type of a column."""

    def is_boolean(self) -> bool: ...  # noqa: D102
    def is_string(self) -> bool: ...  # noqa: D102
    def is_numeric(self) -> bool: ...  # noqa: D102
    def is_floating(self) -> bool: ...  # noqa: D102
    def is_float64(self) -> bool: ...  # noqa: D102
    def is_decimal(self) -> bool: ...  # noqa: D102


class Value(Protocol):
    """A value for every row: a column, or an expression; `Any` on the right is another value, or a constant."""

    def __add__(self, other: Any) -> Value: ...
    def __radd__(self, other: float) -> Value: ...
    def __sub__(self, other: Any) -> Value: ...
    def __rsub__(self, other: float) -> Value: ...
    def __mul__(self, other: Any) -> Value: ...
    def __rmul__(self, other: float) -> Value: ...
    def __truediv__(self, other: Any) -> Value: ...
    def __rtruediv__(self, other: float) -> Value: ...
    def __lt__(self, other: Any) -> Value: ...
    def __le__(self, other: Any) -> Value: ...
    def __gt__(self, other: Any) -> Value: ...
    def __ge__(self, other: Any) -> Value: ...
    def __eq__(self, other: Any) -> Value: ...  # type: ignore[override]
    def __and__(self, other: Value) -> Value: ...
    def __or__(self, other: Value) -> Value: ...
    def abs(self) -> Value: ...  # noqa: D102
    def floor(self) -> Value: ...  # noqa: D102
    def sqrt(self) -> Value: ...  # noqa: D102
    def exp(self) -> Value: ...  # noqa: D102
    def ln(self) -> Value: ...  # noqa: D102
    def cos(self) -> Value: ...  # noqa: D102
    def isnull(self) -> Value: ...  # noqa: D102
    def notnull(self) -> Value: ...  # noqa: D102
    def isnan(self) -> Value: ...  # noqa: D102
    def fill_null(self, other: float) -> Value: ...  # noqa: D102
    def ifelse(self, then: Any, otherwise: Any) -> Value: ...  # noqa: D102  # None stands for NULL
    def cast(self, name: str) -> Value: ...  # noqa: D102
    def type(self) -> ValueType: ...  # noqa: D102
    def get_name(self) -> str: ...  # noqa: D102


class Rows(ABC):
    """A query whose columns are values by name. Steps add columns, each step a query of the previous one."""

    nan: bool  # whether the database can test for NaN
    assumed: bool  # whether the types of the columns are assumed, as there is no connection

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The names of the columns."""

    @abstractmethod
    def __getitem__(self, name: str) -> Value:
        """Return a column."""

    @abstractmethod
    def step(self, columns: Mapping[str, Any]) -> Self:
        """Return the rows with further columns, each computed once."""

    @abstractmethod
    def select(self, names: Sequence[str], columns: Mapping[str, Any]) -> Self:
        """Return some columns, and further ones."""

    @abstractmethod
    def literal(self, value: Key) -> Value:
        """Return a constant."""

    @abstractmethod
    def missing_number(self) -> Value:
        """Return NULL as a float64."""

    @abstractmethod
    def as_float(self, x: Value) -> Value:
        """Cast a number to float64, also one that is taken for a float64: PostgreSQL reads 0.5 as a decimal."""

    @abstractmethod
    def cases(self, branches: Sequence[tuple[Value, Any]], otherwise: Any) -> Value:
        """Return the value of the first condition that is true; None stands for NULL."""

    @abstractmethod
    def greatest(self, values: Sequence[Any]) -> Value:
        """Return the greatest of some values."""

    @abstractmethod
    def substring(self, text: str, start: Value, length: int) -> Value:
        """Return some characters of a text; the first is number 1."""
