"""Fitted log-densities as small symbolic expressions, which a database or a web page can compute without this library.

A `Formula` is a tree of frozen nodes over named columns. Parameters are arrays over the classes, (classes,), or (1,)
where all classes share them, so one tree serves every class: its value is (rows, classes). The nodes are

- `Column` (a number), `Constant`, the arithmetic `Add`, `Subtract`, `Multiply`, `Divide` (or + − × ÷ in Python),
- `Square`, `Log`, `Log1p`, `Exp`, `LogGamma`, `LogSumExp`,
- `Linear`: Σ_j coef_j (x_j − origin_j) of several columns, `Bumps`: the log of a sum of Gaussian bumps over one,
- `Lookup` (categories), `Combinations` (categories of several columns), `Steps` (bins),
- `Where`, which chooses by a condition: `Missing`, `Below`, `Fraction` or `Among`; and `Unknown`, which has no value.

Numbers may be infinite: a constant of −inf excludes a class. Every node's fields are its JSON, see `to_json`.
"""

from __future__ import annotations

from suffice.formulas.arithmetic import (
    Add,
    Binary,
    Column,
    Constant,
    Divide,
    Exp,
    Formula,
    Log,
    Log1p,
    LogGamma,
    Multiply,
    Square,
    Subtract,
    Unary,
    Unknown,
    as_formula,
)
from suffice.formulas.building import by_gaps, excluding, supported, total, unless_missing
from suffice.formulas.conditions import Among, Below, Condition, Fraction, Missing, Where
from suffice.formulas.lookups import Combinations, Lookup, Steps
from suffice.formulas.node import Array, Node, Packing, Reads, to_json
from suffice.formulas.plain_rows import Rows
from suffice.formulas.scoring import Scoring, Term
from suffice.formulas.sums import Bumps, Linear, LogSumExp

__all__ = [
    "Add",
    "Among",
    "Array",
    "Below",
    "Binary",
    "Bumps",
    "Column",
    "Combinations",
    "Condition",
    "Constant",
    "Divide",
    "Exp",
    "Formula",
    "Fraction",
    "Linear",
    "Log",
    "Log1p",
    "LogGamma",
    "LogSumExp",
    "Lookup",
    "Missing",
    "Multiply",
    "Node",
    "Packing",
    "Reads",
    "Rows",
    "Scoring",
    "Square",
    "Steps",
    "Subtract",
    "Term",
    "Unary",
    "Unknown",
    "Where",
    "as_formula",
    "by_gaps",
    "excluding",
    "supported",
    "to_json",
    "total",
    "unless_missing",
]
