"""What a database says of its columns when it is asked what they are."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pyarrow as pa

from suffice.core.frames import ColumnProfile
from suffice.core.frames.frame import ColumnKind, column_kind
from suffice.core.frames.profile import ENOUGH
from suffice.engines.sql.checks import MOST
from suffice.engines.sql.expressions import missing, number
from suffice.engines.sql.table_columns import run

FACTS = ("distinct", "range", "letters")


class Surveyed:
    """Facts of some columns of a table, in one query each time something new is asked."""

    def __init__(self, table: Any, names: tuple[str, ...]):
        self.table, self.names = table, names

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many entries of each column are there, and how many rows, as column ""."""
        asked = {f"n{j}": (~missing(self.table[name])).sum() for j, name in enumerate(self.names)}
        found = run(self.table.aggregate(n=self.table.count(), **asked), "how many entries are there").to_pylist()[0]
        return {"": found["n"]} | {name: found[f"n{j}"] or 0 for j, name in enumerate(self.names)}

    @cached_property
    def facts(self) -> dict[tuple[str, str], Any]:
        """About how many values differ, what whole numbers range over, and how long texts are."""
        asked: dict[str, Any] = {}
        for j, name in enumerate(self.names):
            x = self.table[name]
            if x.type().is_numeric():
                asked[f"distinct{j}"] = number(x).approx_nunique()
            if x.type().is_integer():
                asked[f"range{j}"] = x.cast("float64").max() - x.cast("float64").min()
            if x.type().is_string():
                asked |= {f"distinct{j}": x.approx_nunique(), f"letters{j}": x.length().cast("float64").mean()}
        found = run(self.table.aggregate(**asked), "how many values differ").to_pylist()[0] if asked else {}
        return {(name, what): found.get(f"{what}{j}") for j, name in enumerate(self.names) for what in FACTS}


class TableColumnProfile(ColumnProfile):
    """A look at a column of a database."""

    def __init__(self, name: str, type: Any, surveyed: Surveyed):  # noqa: A002  # as Arrow says
        self.name, self.type, self.surveyed = name, type, surveyed

    @property
    def kind(self) -> ColumnKind:
        """What kind of values it holds."""
        if self.surveyed.counts[""] and not self.n_present:
            return "empty"
        return column_kind(pa.chunked_array([], self.type))

    @property
    def n_present(self) -> int:
        """How many entries are there."""
        return self.surveyed.counts[self.name]

    @property
    def n_distinct(self) -> int:
        """About how many of them differ."""
        return int(self._fact("distinct"))

    @property
    def mean_length(self) -> float:
        """How long texts are on average."""
        return float(self._fact("letters"))

    @property
    def is_row_number(self) -> bool:
        """Whether whole numbers leave no gap, and about as many differ as there are rows."""
        n = self.surveyed.counts[""]
        if not self.is_integer or n < ENOUGH or self.n_present < n:
            return False
        return bool(self._fact("range") == n - 1 and self.n_distinct > 0.9 * n)

    @property
    def keeps_values(self) -> bool:
        """Whether its distinct values are few enough to be fetched."""
        return self.n_distinct <= MOST

    def _fact(self, what: str) -> Any:
        return self.surveyed.facts[self.name, what] or 0
