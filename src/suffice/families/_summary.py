"""What a family sums: a statistic of a formula over its columns. Memory, files, clusters and SQL all read this."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from suffice.core.arrays import Array, Categories, Codes, is_sparse, refuse_infinite
from suffice.core.statistics import ByClass, Counts, Statistic, Totals
from suffice.formulas import Above, Formula, X

S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True)
class Summary(Generic[S]):
    """A kind of statistic, the formula of each entry that it summarizes, and options of the statistic.

    `of` is one formula over `X` for all columns, or one for each column.

    >>> from suffice.core.statistics import Totals
    >>> from suffice.formulas import Square
    >>> Summary(Totals, of=Square(X)).take(np.array([[1.0], [3.0]]), np.zeros(2, np.int32), 1).total
    array([[10.]])
    """

    together: ClassVar[bool] = False  # whether it sees combinations of the columns, not each apart

    kind: type[S]
    of: Formula | tuple[Formula, ...] = X
    options: dict[str, Any] = field(default_factory=dict)

    def take(self, x: Any, codes: Codes, classes: int, weight: Array | None = None) -> S:
        """Summarize rows whose classes are numbered."""
        return self.kind.of(self.entries(x), codes, classes, weight, **self.kind_options)

    def by_class(self, x: Any, y: Any, weight: Any = None, onto: ByClass[S] | None = None) -> ByClass[S]:
        """Summarize rows by their labels in one pass, and add that to `onto`."""
        return ByClass.of(self.kind, self.entries(x), y, weight, onto, **self.kind_options)

    @property
    def threshold(self) -> float | None:
        """The threshold that the kernel of totals compares entries with by itself; None for any other formula."""
        native = self.kind is Totals and isinstance(self.of, Above) and self.of.of is X
        return self.of.limit if native else None  # type: ignore[union-attr]  # it is Above

    @property
    def kind_options(self) -> dict[str, Any]:
        """What the statistic is told."""
        return self.options if self.threshold is None else self.options | {"threshold": self.threshold}

    def entries(self, x: Any) -> Any:
        """Compute what the statistic summarizes from columns that were read."""
        if self.of is X or self.threshold is not None:
            return x
        x = x.toarray() if is_sparse(x) else x
        refuse_infinite(x)
        if isinstance(self.of, tuple):
            out = np.stack([of.at(x[:, j : j + 1])[:, 0] for j, of in enumerate(self.of)], axis=1)
        else:
            out = self.of.at(x)
        return Categories(out, None) if self.kind is Counts else out
