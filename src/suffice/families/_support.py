"""Which values a column may hold. They are stated once, to refuse data, to guard formulas and to draw plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from suffice.core.arrays import Array, Dense, Mask, Matrix, refuse_entries, refuse_infinite
from suffice.formulas import Below, Formula, Fraction, Where, as_formula

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
            refuse_entries(x, self._outside, self.expected, self.advice)

    def _outside(self, x: Dense) -> Mask:
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
    "boolean",
    most=1.0,
    expected="Expected booleans between 0 and 1.",
    advice=" Give a threshold to compare with.",
)
CATEGORIES: Support = Support("categories")
WORDS: Support = Support("words")
Support.REAL, Support.POSITIVE, Support.NON_NEGATIVE = REAL, POSITIVE, NON_NEGATIVE
Support.INTEGERS, Support.COUNTS, Support.BOOLEANS = INTEGERS, COUNTS, BOOLEANS
