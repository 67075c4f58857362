"""Which experts join the pool: all of a kind, or cosines only where few of them are promising."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.arrays import Array, Positions
from suffice.core.parallel import in_threads
from suffice.model.cosine_expert import COSINES, CosineExpert
from suffice.model.experts import (
    TRIED_ROWS,
    Expert,
    ExpertRows,
    Tried,
    cosines_tell,
    fit_cosines,
    fit_experts,
    try_cosines,
)
from suffice.model.pool import WORTH, Member, Pool
from suffice.model.structure import EXPERT_ROWS

PROMISING = 1.0  # standard errors that few cosines must gain before all are fitted, and twice as many in the end
# Enough rows to tell twice as many cosines apart, and few enough to take little time.
ROWS_FOR_TWICE = range(4 * COSINES, EXPERT_ROWS)


@dataclass(frozen=True, eq=False)
class ExpertSearch:
    """The kinds of experts to fit, each with that of fewer rows if there is one, and how they are judged.

    `pool` has the rows that judge, and `places` says where these are among all rows. Experts are fitted on the first.
    Cosines are tried beside the others, or after a glance at what these leave unexplained if they are `doubtful`.
    """

    kinds: Mapping[type[Expert], Expert | None]
    pool: Pool
    places: Positions
    doubtful: bool = False

    def member(self, expert: Expert, left_out: Array) -> Member:
        """Make a member of the pool of an expert and its evidence of the first rows, each left out."""
        own = self.places[: np.searchsorted(self.places, len(left_out))]
        return self.pool[: len(own)].expert(expert, left_out[own])

    def fit(self, rows: ExpertRows) -> tuple[list[Member], Tried | None]:
        """Fit all experts but new cosines, of which a few are tried."""
        now = {kind: near for kind, near in self.kinds.items() if not (kind is CosineExpert and self._tries_cosines)}
        tries = self._tries_cosines and not self.doubtful
        searches: list[Any] = [lambda: fit_experts(rows, now), lambda: try_cosines(rows) if tries else None]
        found, tried = in_threads(lambda search: search(), searches, rows.batch.n * rows.features.size)
        return [self.member(*each) for each in found], tried

    @property
    def _tries_cosines(self) -> bool:
        """Whether there are to be cosines, and none of fewer rows are known."""
        return CosineExpert in self.kinds and self.kinds[CosineExpert] is None

    def cosines(self, rows: ExpertRows, tried: Tried | None, members: list[Member]) -> list[Member]:
        """Fit all cosines if few of them are promising beside other members; then twice as many, if that is quick."""
        judges = self.pool
        if self.doubtful and self._tries_cosines:
            own = self.places[: np.searchsorted(self.places, TRIED_ROWS)]
            tried = try_cosines(rows) if cosines_tell(rows, own, judges[: len(own)].posterior(members)) else None
        if tried is None or not judges.better(
            [*members, self.member(tried.expert, tried.left_out)], members, PROMISING
        ):
            return []
        found = fit_cosines(rows, tried.spreads)
        if found is None:
            return []
        with_all = [*members, self.member(*found)]
        if rows.batch.n in ROWS_FOR_TWICE and judges.better(with_all, members, WORTH):
            twice = CosineExpert.fit(*rows.arguments, near=found[0], most=2 * COSINES)
            if twice is not None and judges.better([*members, self.member(*twice)], with_all, PROMISING):
                return [self.member(*twice)]
        return with_all[-1:]
