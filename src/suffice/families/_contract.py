"""What families state and distributions return: supports of columns, summaries, tables, linear forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import (
    Array,
    Categories,
    Codes,
    Dense,
    Mask,
    Matrix,
    Rows,
    as_dense,
    is_sparse,
    refuse_entries,
    refuse_infinite,
)
from suffice.core.frozen_options import Record
from suffice.core.statistics import ByClass, Counts, Statistic, Totals
from suffice.core.statistics.hash_samples import HashSample
from suffice.formulas import Above, Below, Formula, Fraction, Where, X, as_formula

COUNTS_ARE_NOT_NEGATIVE = "Negative values in data passed as counts or category numbers."


@dataclass(frozen=True)
class Support:
    """The values that a column may hold. `kind` says how p(x | y) is drawn over them.

    Numbers lie between `least` and `most`; with `open`, `least` itself is outside. With `integers`, other numbers are
    refused. Errors say `expected` and `advice`.
    """

    kind: Literal["real", "positive", "integer", "boolean", "categories", "words", "bins"]
    least: float = -np.inf
    open: bool = False
    most: float = np.inf
    integers: bool = False
    expected: str = ""
    advice: str = ""
    values: tuple[bool, ...] = ()  # all possible values, if they can be listed
    bounds: Array | None = None  # of bins, one more than there are bins; open ends reach to the last known value

    REAL: ClassVar[Support]  # any number
    POSITIVE: ClassVar[Support]  # above 0
    NON_NEGATIVE: ClassVar[Support]  # at least 0
    INTEGERS: ClassVar[Support]  # 0, 1, 2, …
    COUNTS: ClassVar[Support]  # at least 0, drawn as integers; fractions are accepted
    BOOLEANS: ClassVar[Support]  # 0 and 1

    def refuse(self, x: Matrix) -> None:
        """Raise an error if a matrix, dense or sparse, holds a value outside the support; NaN is missing."""
        if self.expected:
            refuse_infinite(x)
            refuse_entries(x, self.outside, self.expected, self.advice)

    def outside(self, x: Dense) -> Mask:
        """Return which entries are outside the support; NaN is not."""
        out: Mask = x <= self.least if self.open else x < self.least
        if np.isfinite(self.most):
            out |= x > self.most
        return out | (np.floor(x) < x) if self.integers else out

    def guard(self, x: Formula, density: Formula) -> Formula:
        """Return a log-density that is −∞ outside the support."""
        impossible = as_formula(-np.inf)
        if self.integers:
            density = Where(Fraction(x), impossible, density)
        return Where(Below(x, self.least, self.open), impossible, density) if np.isfinite(self.least) else density


REAL: Support = Support("real")
POSITIVE: Support = Support(
    "positive", 0.0, open=True, expected="Expected numbers above 0.", advice=" Only those have a logarithm."
)
NON_NEGATIVE: Support = Support("positive", 0.0, expected="Expected times or other amounts of at least 0.")
INTEGERS: Support = Support(
    "integer",
    0.0,
    integers=True,
    expected="Expected integers of at least 0.",
    advice=" For times that are not integers, use Exponential.",
)
COUNTS: Support = Support("integer", 0.0, expected=COUNTS_ARE_NOT_NEGATIVE)
BOOLEANS: Support = Support("boolean", values=(False, True))
COMPARED: Support = Support("boolean")  # numbers that are compared with a threshold
SHARES: Support = Support(
    "boolean", most=1.0, expected="Expected booleans between 0 and 1.", advice=" Give a threshold to compare with."
)
CATEGORIES: Support = Support("categories")
WORDS: Support = Support("words")
Support.REAL, Support.POSITIVE, Support.NON_NEGATIVE = REAL, POSITIVE, NON_NEGATIVE
Support.INTEGERS, Support.COUNTS, Support.BOOLEANS = INTEGERS, COUNTS, BOOLEANS


S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True)
class Summary(Generic[S]):
    """A statistic, the formula of an entry that it summarizes, and the statistic's options.

    `of` is one formula over `X` for all columns, or one for each column.

    >>> from suffice.core.statistics import Totals
    >>> from suffice.formulas import Square
    >>> Summary(Totals, of=Square(X)).take(np.array([[1.0], [3.0]]), np.zeros(2, np.int32), 1).total
    array([[10.]])
    """

    joint: ClassVar[bool] = False  # whether it summarizes combinations of columns, not each column by itself

    statistic: type[S]
    of: Formula | tuple[Formula, ...] = X
    options: dict[str, Any] = field(default_factory=dict)

    def take(self, x: Rows, codes: Codes, classes: int, weight: Array | None = None) -> S:
        """Summarize rows whose classes are given as numbers."""
        return self.statistic.of(self.entries(x), codes, classes, weight, **self.statistic_options)

    def by_class(self, x: Rows, y: Any, weight: Any = None, onto: ByClass[S] | None = None) -> ByClass[S]:
        """Summarize rows by their labels in one pass, and add the result to `onto`."""
        return ByClass.of(self.statistic, self.entries(x), y, weight, onto, **self.statistic_options)

    @property
    def threshold(self) -> float | None:
        """The threshold that the native kernel of totals applies by itself; None for any other formula."""
        native = self.statistic is Totals and isinstance(self.of, Above) and self.of.of is X
        return self.of.limit if native else None  # type: ignore[union-attr]  # it is Above

    @property
    def statistic_options(self) -> dict[str, Any]:
        """The options that the statistic is computed with."""
        return self.options if self.threshold is None else self.options | {"threshold": self.threshold}

    def entries(self, x: Rows) -> Rows:
        """Compute the entries that the statistic summarizes from columns that were read."""
        if self.of is X or self.threshold is not None:
            return x
        x = as_dense(x) if is_sparse(x) else x
        refuse_infinite(x)
        if isinstance(self.of, tuple):
            out = np.stack([of.at(x[:, j : j + 1])[:, 0] for j, of in enumerate(self.of)], axis=1)
        else:
            out = self.of.at(x)
        return Categories(out, None) if self.statistic is Counts else out


class Decisions(Record):
    """What an estimate decided, other than by a closed form of the statistic: a choice, a weight that was searched.

    It is a record of few numbers that a file holds beside the statistic, so that they are not searched for again.
    """


class Outcomes(NamedTuple):
    """Possible values of columns: a function from an outcome's number to its title, and probabilities.

    `probability` is (classes, outcomes).
    """

    title: Callable[[int], str]
    probability: Array


class KeptRows(NamedTuple):
    """Rows that a statistic keeps unchanged, with their class numbers and weights.

    `unit` is the weight that is taken away where a row is left out. `HashSample` says what the other two weights are.
    """

    rows: Rows
    codes: Codes
    weight: Array
    unit: Array
    without_copies: Array
    independent: Array

    @classmethod
    def of(cls, rows: Rows, sample: HashSample) -> KeptRows:
        """Take the classes and weights of a sample of rows."""
        return cls(rows, sample.codes, sample.weight, sample.unit, sample.without_copies, sample.independent)

    def first(self, n: int) -> KeptRows:
        """Return the first rows: as they come in the order of their hashes, these are a random sample."""
        if len(self.codes) <= n:
            return self
        return KeptRows(self.rows[:n], self.codes[:n], *(weight[:n] for weight in self[2:]))

    def divided(self, rows: int) -> KeptRows:
        """Return about so many rows: each that was seen several times becomes several, which share its weight.

        All rows come once before the first comes again, so that folds of rows one after the other have copies.
        """
        most = -(-rows // max(len(self.codes), 1))
        times = np.clip(np.floor(self.without_copies), 1, most).astype(np.int64)
        at = np.concatenate([np.flatnonzero(times > t) for t in range(most)])
        weight, alone, independent = (
            (each / times)[at] for each in (self.weight, self.without_copies, self.independent)
        )
        return KeptRows(self.rows[at], self.codes[at], weight, np.minimum(self.unit[at], weight), alone, independent)


class LinearForm(NamedTuple):
    """Scores coef·x + intercept whose differences between classes are log-odds.

    For two classes, `coef` is (1, columns) and the score is the log-odds of the second against the
    first; for more it is (classes, columns) and the posterior is the softmax of the scores.
    """

    coef: Array
    intercept: Array


@dataclass(frozen=True)
class Table:
    """A table of numbers or words for people, with a title and names of its rows and columns."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: NDArray[Any]

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`; its first column holds the names of the rows."""
        import pyarrow as pa

        return pa.table({self.title: list(self.rows)} | {c: self.values[:, j] for j, c in enumerate(self.columns)})

    def to_pandas(self) -> Any:
        """Return a pandas data frame; its index holds the names of the rows."""
        import pandas as pd

        return pd.DataFrame(self.values, index=pd.Index(self.rows, name=self.title), columns=list(self.columns))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        cells = [[v if isinstance(v, str) else f"{v:.6g}" for v in row] for row in self.values]
        lines = [[self.title, *map(str, self.columns)]]
        lines += [[str(name), *row] for name, row in zip(self.rows, cells, strict=True)]
        columns = list(zip(*lines, strict=True))
        widths = [max(map(len, column)) for column in columns]
        words = [True, *(any(isinstance(v, str) and v[:1].isalpha() for v in column) for column in self.values.T)]
        aligned = (
            "  ".join(c.ljust(n) if w else c.rjust(n) for c, n, w in zip(line, widths, words, strict=True))
            for line in lines
        )
        return "\n".join(line.rstrip() for line in aligned)
