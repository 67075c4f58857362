"""What distributions return for people: tables, linear forms, ranked outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Rows


class Outcomes(NamedTuple):
    """Possible values of columns: a function from an outcome's number to its title, and probabilities.

    `probability` is (classes, outcomes).
    """

    title: Callable[[int], str]
    probability: Array


class KeptRows(NamedTuple):
    """Rows that a statistic keeps unchanged, with their class numbers and weights."""

    rows: Rows
    codes: Codes
    weight: Array


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
