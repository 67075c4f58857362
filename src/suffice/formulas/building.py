"""Helpers that families build their formulas with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from suffice.formulas.arithmetic import Formula, Unknown, as_formula
from suffice.formulas.conditions import Missing, Where

PATTERNS = 4  # columns of a block of which any may be missing: every pattern of missing values has a formula of its own
GUARDED = 64  # columns that are checked one by one for missing values: more would make the tree too deep


def unless_missing(column: str, formula: Formula) -> Formula:
    """Return 0 where a column is missing, and the formula elsewhere."""
    return Where(Missing(column), as_formula(0.0), formula)


def by_observed(names: Sequence[str], leaf: Callable[[tuple[int, ...]], Formula], carried: bool = False) -> Formula:
    """Choose a formula for a block by which of its columns are observed; `leaf` makes it from their positions.

    With more than PATTERNS columns only complete rows have a value. If a missing value reaches the result by arithmetic
    alone (`carried`), more than GUARDED columns are not checked for it.
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
    """Add formulas; none give 0. The sum is made in halves, so that the tree stays shallow."""
    if not formulas:
        return as_formula(0.0)
    if len(formulas) == 1:
        return formulas[0]
    half = len(formulas) // 2
    return total(formulas[:half]) + total(formulas[half:])
