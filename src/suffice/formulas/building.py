"""What families build their formulas with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from suffice.formulas.arithmetic import Formula, Unknown, as_formula
from suffice.formulas.conditions import Below, Fraction, Missing, Where
from suffice.formulas.lookups import Steps
from suffice.formulas.node import Array

PATTERNS = 4  # columns of a block of which any may be missing: every pattern of gaps has a formula of its own
GUARDED = 64  # columns that are asked one by one whether they are there: more would make too high a tree


def unless_missing(column: str, formula: Formula) -> Formula:
    """What a column says; nothing, 0, where it is missing."""
    return Where(Missing(column), as_formula(0.0), formula)


def supported(column: str, formula: Formula, least: float, open_end: bool = False, whole: bool = False) -> Formula:
    """A formula where the column's number is at least (or above) something, and perhaps whole; else impossible."""
    nothing = as_formula(-np.inf)
    if whole:
        formula = Where(Fraction(column), nothing, formula)
    return Where(Below(column, least, touching=open_end), nothing, formula)


def excluding(column: str, beyond: float, numbers: Array) -> Formula:
    """Which classes a number above `beyond` excludes: `numbers` (classes,) are 0 or −inf."""
    return Steps(column, np.array([beyond]), np.stack([np.zeros_like(numbers), numbers], axis=1))


def by_gaps(names: Sequence[str], leaf: Callable[[tuple[int, ...]], Formula], carried: bool = False) -> Formula:
    """What a block of columns says, by which of them are there: `leaf` makes a formula of the positions observed.

    Of more than PATTERNS columns only complete rows have a value. Where a gap is `carried` to the value by arithmetic
    alone, more than GUARDED columns are not asked for it.
    """
    if len(names) > PATTERNS:
        whole = leaf(tuple(range(len(names))))
        for name in () if carried and len(names) > GUARDED else names:
            whole = Where(Missing(name), Unknown(), whole)
        return whole

    def choose(seen: tuple[int, ...], at: int) -> Formula:
        if at == len(names):
            return leaf(seen) if seen else as_formula(0.0)
        return Where(Missing(names[at]), choose(seen, at + 1), choose((*seen, at), at + 1))

    return choose((), 0)


def total(formulas: Sequence[Formula]) -> Formula:
    """The sum of formulas, 0 of none; in halves, so that the tree stays low."""
    if not formulas:
        return as_formula(0.0)
    if len(formulas) == 1:
        return formulas[0]
    half = len(formulas) // 2
    return total(formulas[:half]) + total(formulas[half:])
