"""Small symbolic expressions over columns: evaluated in NumPy, compiled to SQL, to ONNX and to the script
of the report.

A family states what it sums, and a distribution states its log-density, as a formula over `X`, the entry of a column.
Parameters are arrays that broadcast: (classes, columns) over `X`, and (classes,) if a named column replaces `X`. So one
tree serves all classes, and its value is (rows, classes). The nodes are

- `X`, `Column` (a number by its name), `Constant`, the arithmetic `Add`, `Subtract`, `Multiply`, `Divide` (or + − × ÷),
- `Square`, `Sqrt`, `Abs`, `Log`, `Log1p`, `Exp`, `LogGamma`, `LogGammaRatio`, `LogSumExp`, and `TimesLog`: x · log p
  with 0 · log 0 = 0,
- `Linear`: Σ_j coef_j (x_j − origin_j) of several columns, `Bumps`: the log of a sum of Gaussian curves over a column,
- `Lookup` (categories), `Combinations` (categories of several columns), `Steps` (bins), `Above` (a threshold), and
  `CrossTable` (bins or categories of two columns),
- `Cosines`: a sum of cosines over several formulas,
- `WordScores`: Σ_j x_j score_jy of the words of a text,
- `Where`, which chooses by a condition: `Missing`, `Below`, `Fraction` or `Among`; and `Unknown`, which has no value.

Numbers may be infinite: a constant of −inf excludes a class. `to_json` writes the fields of every node.
"""

from suffice.formulas.arithmetic import (
    Abs,
    Add,
    Binary,
    Bumps,
    Column,
    Constant,
    Divide,
    Entry,
    Exp,
    Formula,
    Linear,
    Log,
    Log1p,
    LogGamma,
    LogSumExp,
    Multiply,
    Sqrt,
    Square,
    Subtract,
    Unary,
    Unknown,
    X,
    as_formula,
)
from suffice.formulas.conditions import (
    Among,
    Below,
    Condition,
    Fraction,
    Missing,
    Where,
    by_observed,
    known_keys,
    total,
    unless_missing,
)
from suffice.formulas.cosines import Cosines
from suffice.formulas.cross_tables import CrossTable
from suffice.formulas.lookups import Above, Combinations, LogGammaRatio, Lookup, Steps, TimesLog
from suffice.formulas.node import Array, Reads, in_base64, smallest_codes, to_json
from suffice.formulas.scoring import ForGaps, Scoring, Term
from suffice.formulas.word_scores import WordScores

__all__ = [
    "Above",
    "Abs",
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
    "Cosines",
    "CrossTable",
    "Divide",
    "Entry",
    "Exp",
    "ForGaps",
    "Formula",
    "Fraction",
    "Linear",
    "Log",
    "Log1p",
    "LogGamma",
    "LogGammaRatio",
    "LogSumExp",
    "Lookup",
    "Missing",
    "Multiply",
    "Reads",
    "Scoring",
    "Sqrt",
    "Square",
    "Steps",
    "Subtract",
    "Term",
    "TimesLog",
    "Unary",
    "Unknown",
    "Where",
    "WordScores",
    "X",
    "as_formula",
    "by_observed",
    "in_base64",
    "known_keys",
    "smallest_codes",
    "to_json",
    "total",
    "unless_missing",
]
