"""Many columns of one kind as one distribution.

A product over columns of one family is that family of all these columns. So thousands of columns are estimated, scored
and left out by a few calls of kernels, and not one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.core.arrays import Array, Codes, Rows
from suffice.core.statistics import Batch
from suffice.families._base import Distribution
from suffice.families.choose import Chosen
from suffice.families.chosen import Choice, ChosenDistribution
from suffice.families.gaussian import Gaussian

FEW = 16  # Gaussian columns, from which on they are left out together
MANY = 256  # columns of a kind, from which on they are taken together: a few have kernels of their own


@dataclass(frozen=True)
class Together:
    """Columns of one kind, and their places among all blocks."""

    places: tuple[int, ...]
    parts: tuple[ChosenDistribution, ...]

    @property
    def votes(self) -> bool:
        """Whether the classes differ."""
        return self.parts[0].votes

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.parts[0].statistic.n_classes)

    @cached_property
    def choice(self) -> Choice:
        """The family of all columns, with their statistic; that of all classes together if they do not vote."""
        chooser = self.parts[0].chooser
        assert isinstance(chooser, Chosen), "others have no kind"
        made = chooser.make_together(
            [part.statistic for part in self.parts], [part.decided.candidate for part in self.parts]
        )
        return made if self.votes else made.pooled()

    @cached_property
    def fitted(self) -> Distribution:
        """The distribution of that family."""
        return self.choice.fit()

    def _rows(self, x: Batch) -> Rows:
        return self.choice.read([x.parts[j] for j in self.places])

    def log_density(self, x: Batch) -> Array:
        """Compute the sum of the log-densities of the columns, (rows, classes)."""
        scores = self.fitted.log_density(self.fitted.read(self._rows(x)))
        return scores if self.votes else np.repeat(scores, self.classes, axis=1)

    def leave_one_out(self, x: Batch, codes: Codes, weight: Array | None) -> Array:
        """Compute the same under the statistics without each row; that of columns that do not vote is of all rows."""
        if not self.votes:
            return self.log_density(x)
        choice = self.choice
        return choice.family.leave_one_out(choice.statistic, self.fitted, self._rows(x), codes, weight)


def each_left_out(parts: Mapping[int, Distribution], x: Batch, codes: Codes, weight: Array | None) -> dict[int, Array]:
    """Compute the log-density of each Gaussian column without the row, (rows, classes), where there are many of them.

    `parts` are distributions of blocks by their places. Those of other kinds are left out, and columns in which a row
    outweighs the others.
    """
    some = {j: part for j, part in parts.items() if isinstance(part, ChosenDistribution) and _is_gaussian(part)}
    if len(some) < FEW:
        return {}
    choice = Together(tuple(some), tuple(some.values())).choice
    assert isinstance(choice.family, Gaussian), "that is their kind"
    found = choice.family.columns_leave_one_out(
        choice.statistic, choice.read([x.parts[j] for j in some]), codes, weight
    )
    return {j: each for j, each in zip(some, found, strict=True) if each is not None}


def _is_gaussian(part: ChosenDistribution) -> bool:
    return part.votes and isinstance(part.chooser, Chosen) and part.decided.family == "student"


def groups(parts: Sequence[Distribution]) -> tuple[tuple[Together, ...], tuple[int, ...]]:
    """Return the columns that are taken together, and the places of the others."""
    kinds: defaultdict[Hashable, list[int]] = defaultdict(list)
    if len(parts) >= MANY:
        for j, part in enumerate(parts):
            kind = None
            if isinstance(part, ChosenDistribution) and isinstance(part.chooser, Chosen):
                kind = part.chooser.kind(part.decided.candidate)
            if kind is not None:
                kinds[type(part), type(part.chooser), kind].append(j)  # type: ignore[attr-defined]  # it is chosen
    found = [places for places in kinds.values() if len(places) >= MANY]
    apart = sorted(set(range(len(parts))).difference(*found))
    together = (Together(tuple(places), tuple(parts[j] for j in places)) for places in found)  # type: ignore[misc]
    return tuple(together), tuple(apart)
