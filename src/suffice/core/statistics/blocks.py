"""One statistic for each block of columns, all of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np

from suffice.core.arrays import Array, Codes, Mask, Positions, Rows
from suffice.core.errors import MismatchError, naming_columns
from suffice.core.parallel import in_threads
from suffice.core.statistics.cells import Cells
from suffice.core.statistics.hash_samples import MOST_CLASSES
from suffice.core.statistics.statistic import Statistic
from suffice.core.validation import Agrees, Held


@dataclass(frozen=True)
class Batch:
    """The same rows in the form that each block of columns reads: matrices, categories, texts or a table."""

    parts: tuple[Rows, ...]
    n: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and blocks."""
        return self.n, len(self.parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the results."""
        return np.dtype(np.float64)

    def __getitem__(self, rows: slice | Positions | Mask) -> Batch:
        parts = tuple(part[rows] for part in self.parts)
        return Batch(parts, parts[0].shape[0] if parts else len(np.arange(self.n)[rows]))

    def __len__(self) -> int:
        return self.n


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(Statistic):
    """One statistic for each block, all over the same classes.

    >>> from suffice.core.statistics import Moments, Totals
    >>> rows = Batch((np.array([[1.0], [3.0]]), np.array([[2.0], [0.0]])), 2)
    >>> Blocks.of(rows, np.zeros(2, np.int32), 1, readers=((Moments, {}), (Totals, {}))).parts
    (Moments(1 classes × 1 columns, weight 2 at most), Totals(1 classes × 1 columns, total 2))
    """

    parts: Annotated[tuple[Statistic, ...], Agrees("classes")]
    classes: Annotated[int, Held(least=0, most=MOST_CLASSES, size="classes")] = field(compare=False)

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:  # noqa: ARG003  # the first rows show which blocks there are
        """Summarize no rows."""
        return cls((), classes)

    @classmethod
    def of(
        cls,
        x: Batch,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        readers: tuple[tuple[type[Statistic], dict[str, Any]], ...] = (),
        names: tuple[tuple[str, ...], ...] | None = None,
    ) -> Self:
        """Summarize each block by its statistic and the options of its `of` in `readers`; `names` are for errors."""
        before: Iterable[Statistic | None] = [None] * len(readers) if onto is None or not onto.parts else onto.parts
        called = names or ((),) * len(readers)

        def summary(block: tuple[Rows, Any, Statistic | None, tuple[str, ...]]) -> Statistic:
            part, (statistic, options), old, own = block
            with naming_columns(own) if own else nullcontext():
                return statistic.of(part, codes, classes, weight, old, **options)

        blocks = list(zip(x.parts, readers, before, called, strict=True))
        options = next((options for statistic, options in readers if statistic is Cells), None)
        alike = [statistic is Cells and own == options for statistic, own in readers]
        together = [j for j, same in enumerate(alike) if same and _is_column(x.parts[j])]
        parts: list[Any] = [None] * len(readers)
        if len(together) > 1 and options is not None:
            one = [(x.parts[j][:, 0], blocks[j][2], called[j]) for j in together]
            columns, old, own_names = zip(*one, strict=True)
            counted = Cells.of_columns(columns, codes, classes, weight, old, own_names, **options)
            for j, cells in zip(together, counted, strict=True):
                parts[j] = cells
        rest = [j for j, part in enumerate(parts) if part is None]
        others = in_threads(summary, [blocks[j] for j in rest], len(codes) * len(rest))
        for j, part in zip(rest, others, strict=True):
            parts[j] = part
        return cls(tuple(parts), classes)

    def __add__(self, other: Self) -> Self:
        if not self.parts or not other.parts:
            return self if self.parts else other
        return type(self)(tuple(a + b for a, b in self._pairs(other)), self.classes)

    def __sub__(self, other: Self) -> Self:
        if not other.parts:
            return self
        return type(self)(tuple(a - b for a, b in self._pairs(other)), self.classes)

    def _pairs(self, other: Self | Blocks) -> Iterable[tuple[Statistic, Statistic]]:
        return zip(self.parts, other.parts, strict=True)

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        return self._each(lambda part: part.scale(factor), self.classes)

    def take(self, classes: Positions) -> Self:
        """Keep the given classes, in that order."""
        return self._each(lambda part: part.take(classes), len(classes))

    def trimmed(self) -> Self:
        """Drop what no row with weight has shown."""
        return self._each(lambda part: part.trimmed(), self.classes)

    def spread(self, positions: Positions, classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        return self._each(lambda part: part.spread(positions, classes), classes)

    def _each(self, change: Callable[[Statistic], Statistic], classes: int) -> Self:
        return type(self)(tuple(change(part) for part in self.parts), classes)

    def check_fits(self, other: object) -> None:
        """Raise an error if `other` is not of the same blocks."""
        if not isinstance(other, Blocks):
            raise MismatchError(f"{type(self).__name__} and {type(other).__name__} cannot be merged")
        if self.parts and other.parts:
            super().check_fits(other)
            for mine, theirs in self._pairs(other):
                mine.check_fits(theirs)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.classes

    @property
    def n_columns(self) -> int:
        """The number of blocks."""
        return len(self.parts)

    def __repr__(self) -> str:
        return f"Blocks({self.classes} classes × {len(self.parts)} blocks)"


def _is_column(x: Rows) -> bool:
    """Return whether rows are a dense matrix of one column of numbers."""
    return isinstance(x, np.ndarray) and x.shape[1] == 1
