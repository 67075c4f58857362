"""What a family sums: a statistic of a formula over its columns. Every engine computes it, in memory or in SQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from suffice.core.arrays import Array, Categories, Codes, Rows, is_sparse, refuse_infinite
from suffice.core.statistics import ByClass, Counts, Statistic, Totals
from suffice.formulas import Above, Formula, X

S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True)
class Summary(Generic[S]):
    """A statistic, the formula of an entry that it summarizes, and the statistic's options.

    `of` is one formula over `X` for all columns, or one for each column.

    >>> from suffice.core.statistics import Totals
    >>> from suffice.formulas import Square
    >>> Summary(Totals, of=Square(X)).take(np.array([[1.0], [3.0]]), np.zeros(2, np.int32), 1).total
    array([[10.]])
    """

    joint: ClassVar[bool] = False  # whether it summarizes combinations of columns, not each column by itself

    statistic: type[S]
    of: Formula | tuple[Formula, ...] = X
    options: dict[str, Any] = field(default_factory=dict)

    def take(self, x: Rows, codes: Codes, classes: int, weight: Array | None = None) -> S:
        """Summarize rows whose classes are given as numbers."""
        return self.statistic.of(self.entries(x), codes, classes, weight, **self.statistic_options)

    def by_class(self, x: Rows, y: Any, weight: Any = None, onto: ByClass[S] | None = None) -> ByClass[S]:
        """Summarize rows by their labels in one pass, and add the result to `onto`."""
        return ByClass.of(self.statistic, self.entries(x), y, weight, onto, **self.statistic_options)

    @property
    def threshold(self) -> float | None:
        """The threshold that the native kernel of totals applies by itself; None for any other formula."""
        native = self.statistic is Totals and isinstance(self.of, Above) and self.of.of is X
        return self.of.limit if native else None  # type: ignore[union-attr]  # it is Above

    @property
    def statistic_options(self) -> dict[str, Any]:
        """The options that the statistic is computed with."""
        return self.options if self.threshold is None else self.options | {"threshold": self.threshold}

    def entries(self, x: Rows) -> Rows:
        """Compute the entries that the statistic summarizes from columns that were read."""
        if self.of is X or self.threshold is not None:
            return x
        x = x.toarray() if is_sparse(x) else x
        refuse_infinite(x)
        if isinstance(self.of, tuple):
            out = np.stack([of.at(x[:, j : j + 1])[:, 0] for j, of in enumerate(self.of)], axis=1)
        else:
            out = self.of.at(x)
        return Categories(out, None) if self.statistic is Counts else out
