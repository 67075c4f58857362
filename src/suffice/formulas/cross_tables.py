"""Numbers that are looked up by the codes of two columns."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from suffice.formulas.arithmetic import Formula, Unknown, as_formula
from suffice.formulas.conditions import Among, Below, Condition, Where
from suffice.formulas.environments import Environment
from suffice.formulas.lookups import Lookup, Steps
from suffice.formulas.node import Array, Json, Packing


class CrossTable(Formula):
    """The number of the cell that the codes of two columns choose; 0 where a code is missing.

    `numbers` is (classes, codes of the first, codes of the second). A code is a formula whose value is 0, 1, 2, …: the
    bins of `Steps` or the keys of a `Lookup`, in this order. Around it, `Where(condition, Unknown(), code)` says where
    it is missing.
    """

    first: Formula
    second: Formula
    numbers: Array

    converts: ClassVar = {"numbers": lambda numbers: np.asarray(numbers, dtype=np.float64)}

    def on(self, rows: Environment) -> Array:
        """Find the cells."""
        codes = np.concatenate(np.broadcast_arrays(self.first.on(rows), self.second.on(rows)), axis=1)
        missing = np.isnan(codes).any(axis=1)
        row, column = np.where(missing, 0, codes.T).astype(np.int64)
        return np.where(missing, 0.0, self.numbers[:, row, column]).T

    @cached_property
    def _spelled_out(self) -> Formula:
        conditions, first = unwrapped(self.first)
        more, second = unwrapped(self.second)
        rows = [_with_numbers(second, self.numbers[:, k]) for k in range(self.numbers.shape[1])]

        def chosen(lo: int, hi: int) -> Formula:  # a tree, because parsers of databases refuse deep ones
            if hi - lo == 1:
                return rows[lo]
            middle = (lo + hi) // 2
            condition: Condition
            if isinstance(first, Steps):
                condition = Below(first.of, float(first.edges[middle - 1]), True)
            else:
                condition = Among(first.column, first.keys[lo:middle])
            return Where(condition, chosen(lo, middle), chosen(middle, hi))

        out = chosen(0, len(rows))
        for condition in (conditions + more)[::-1]:
            out = Where(condition, as_formula(0.0), out)
        return out

    def spelled_out(self) -> Formula:
        """Return the same in simpler nodes."""
        return self._spelled_out

    def to_json(self, packed: Packing | None = None) -> dict[str, Json]:
        """Return the simpler nodes as JSON."""
        return self.spelled_out().to_json(packed)


def unwrapped(code: Formula) -> tuple[list[Condition], Steps | Lookup]:
    """Return the conditions under which a code is missing, and the code without them."""
    conditions = []
    while isinstance(code, Where) and isinstance(code.then, Unknown):
        conditions.append(code.condition)
        code = code.otherwise
    assert isinstance(code, (Steps, Lookup)), "codes are bins or categories"
    return conditions, code


def _with_numbers(code: Steps | Lookup, numbers: Array) -> Formula:
    """Return the numbers of codes, (classes, codes), in place of the codes."""
    if isinstance(code, Steps):
        return Steps(code.of, code.edges, numbers)
    return Lookup(code.column, code.keys, numbers[:, :-1], numbers[:, -1])
