"""Helpers that families build their formulas with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from suffice.formulas.arithmetic import Formula, Unknown, as_formula
from suffice.formulas.conditions import Missing, Where

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
