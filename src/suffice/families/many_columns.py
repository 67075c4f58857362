"""The families of many columns of numbers, chosen at once by a kernel: what `Automatic` chooses for each.

A table of thousands of columns has few rows, or it would not be in memory. A call of NumPy takes about as long as a
column of it then, and each column needs hundreds of them. The kernel takes all columns whose cells are values of
integer weight; the others are estimated one by one. Objects of a column are made when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, refuse_at
from suffice.core.errors import naming_columns
from suffice.core.frames import Frame, numbers
from suffice.core.statistics import Batch, Cells, RowSample
from suffice.core.statistics.cells import FINEST
from suffice.families._base import Distribution
from suffice.families.binned import BINS
from suffice.families.choose import (
    COMMON,
    MARGIN,
    MOST_CATEGORIES,
    REPEATS,
    SCORED,
    SCORES,
    Automatic,
    Choice,
    ChosenDistribution,
    SilentDistribution,
)

WORTH_IT = 64  # columns
NAMES = ("student", "bins", "values", "kernel")


class LateChoice(ChosenDistribution):
    """The distribution of a column whose family is known; it is estimated when it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name not in ("choice", "fitted"):
            raise AttributeError(name)
        self.__dict__.update(_estimated(self.__dict__))
        return self.__dict__[name]


class LateSilence(SilentDistribution):
    """The same of a column that does not vote."""

    def __getattr__(self, name: str) -> Any:
        if name not in ("choice", "fitted"):
            raise AttributeError(name)
        made = _estimated(self.__dict__)["choice"]
        choice = Choice(made.name, made.family, made.statistic.pooled(), made.read)
        self.__dict__.update(choice=choice, fitted=choice.fit())
        return self.__dict__[name]


def _estimated(held: dict[str, Any]) -> dict[str, Any]:
    choice = next(c for c in held["_family"].candidates(held["_cells"]) if c.name == held["_name"])
    return {"choice": choice, "fitted": choice.fit()}


def _late(family: Automatic, cells: Cells, name: str, votes: bool, score: float, chance: float) -> Distribution:
    made: Any = object.__new__(LateChoice if votes else LateSilence)
    made.__dict__.update(_family=family, _cells=cells, _name=name, score=score, chance=chance, classes=cells.n_classes)
    return made


@dataclass(frozen=True, eq=False)
class ManyColumns:
    """Columns that a kernel was given, by their positions among the blocks, and the families that it has `chosen`.

    `evidence` (rows, classes) is the sum of the log-densities of the rows kept, each without itself, up to a term that
    all classes share.
    """

    positions: tuple[int, ...]
    parts: dict[int, Distribution]  # by position, of the columns whose family the kernel has chosen
    chosen: Any
    evidence: Array

    @classmethod
    def of(
        cls, families: Sequence[Any], names: Sequence[tuple[str, ...]], statistics: Sequence[Any]
    ) -> ManyColumns | None:
        """Choose the families of the columns that the kernel takes; None if they are few."""
        *blocks, kept = statistics
        first = next((f for f in families if type(f) is Automatic), None)
        if first is None or isinstance(first.smoothing, str) or len(blocks) < WORTH_IT:
            return None
        if not isinstance(kept, RowSample):
            return None
        classes = kept.n_classes
        most = min(SCORED, max(SCORES // max(classes, 1), SCORED // 5))  # values, all of which are scored then
        some = [
            j
            for j, (family, cells) in enumerate(zip(families, blocks, strict=True))
            if (family is first or _is_alike(family, first))
            and cells.parts[0].rest is None
            and 0 < len(cells.parts[0].weight) <= most
            and cells.level[0] == FINEST
        ]
        if len(some) < WORTH_IT:
            return None
        parts = [blocks[j].parts[0] for j in some]
        weight = np.concatenate([p.weight for p in parts])
        whole = _core.all_whole(weight) and weight.min() >= 1.0
        if not whole or not _core.all_whole(kept.weight) or kept.weight.min(initial=1.0) < 1.0:
            return None
        ends = np.stack([p.start for p in parts])
        start = np.concatenate([[0], np.cumsum(ends[:, 1:] - ends[:, :-1])]).astype(np.int64)
        at = np.concatenate([p.values for p in parts])[:, 0]
        rows = _matrix(kept.rows, [names[j][0] for j in some])
        evidence = np.zeros((len(kept.codes), classes))
        rules = (float(first.smoothing), BINS, MOST_CATEGORIES, REPEATS, COMMON, MARGIN if first.gate else -1.0)
        chosen = _core.ChosenColumns(at, weight, start, classes, *rules, rows, kept.codes, evidence)
        if not chosen.known:
            return None
        told = (chosen.choice, chosen.votes, chosen.score, chosen.chance)
        made = zip(some, *(array.tolist() for array in told), strict=True)
        late = {
            j: _late(first, blocks[j], NAMES[choice], bool(votes), score, chance)
            for j, choice, votes, score, chance in made
            if choice >= 0
        }
        return cls(tuple(some), late, chosen, evidence)

    def add(self, x: Batch, out: Array, names: Sequence[tuple[str, ...]]) -> None:
        """Add the log-densities of rows to `out` (rows, classes), up to a term that all classes share.

        `names` are those of the columns of all blocks, for errors.
        """
        columns = [x.parts[j][:, 0] for j in self.positions]
        infinite = self.chosen.add(columns, out)
        if infinite >= 0:
            row, column = divmod(infinite, len(columns))
            at = self.positions[column]
            with naming_columns(names[at]):
                refuse_at(row, x.parts[at])


def _is_alike(family: Any, other: Automatic) -> bool:
    return type(family) is Automatic and family.smoothing == other.smoothing and family.gate == other.gate


def _matrix(rows: Frame, names: Sequence[str]) -> Array:
    """Return the values of columns of numbers, (columns, rows)."""
    if not rows.n:
        return np.zeros((len(names), 0))
    if rows.matrix is not None:
        return np.ascontiguousarray(rows.matrix.matrix[[rows.matrix.place[name] for name in names]])
    return np.stack([numbers(rows.column(name), name) for name in names])
