"""What distributions return for people: tables, linear forms, ranked outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes


class Outcomes(NamedTuple):
    """Possible values of columns: titles, made by number when asked for, and probabilities (classes, outcomes)."""

    title: Callable[[int], str]
    probability: Array


class KeptRows(NamedTuple):
    """Rows that a statistic keeps as they are, with their class numbers and weights."""

    rows: Any
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
    """Numbers or words for people: rows by columns, with a title."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: NDArray[Any]

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`, the names of the rows in its first column."""
        import pyarrow as pa

        return pa.table({self.title: list(self.rows)} | {c: self.values[:, j] for j, c in enumerate(self.columns)})

    def to_pandas(self) -> Any:
        """Return a pandas data frame, the names of the rows as its index."""
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
