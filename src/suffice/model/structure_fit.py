"""Fitting a structure: exponents of columns and pairs, experts, and the weights of their pool, on the kept rows.

Every member of the pool is a set of exponents, or an expert with one. Its scores of a row come from exact leave-one-out
evidence, and from exponents that were fitted without the row. The pool weighs the members by the same log-loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.arrays import Array
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.families.covariance import one_blas_thread
from suffice.families.product import Product
from suffice.model.calibration import bounded
from suffice.model.cosine_expert import CosineExpert
from suffice.model.expert_search import ExpertSearch
from suffice.model.experts import EXPERTS, Expert, ExpertRows, Tried
from suffice.model.exponents import AT_ONCE, relative
from suffice.model.planning import FEWEST_ROWS, MOST_COLUMNS
from suffice.model.pool import ENOUGH_ROWS, Member, PairPlaces, Pool, affordable
from suffice.model.structure import Parts, Structure, StructureName, columns_with_gaps

if TYPE_CHECKING:
    from suffice.model.learned import Learned

ENOUGH_NEARBY = 7000  # kept rows, where a structure of fewer rows is known
MOST_CELLS = 1 << 21  # rows × classes that are scored: fewer rows tell enough where classes are many
LEAST = np.log(1e-12)  # lower bound of a log-prior
BLOCKS_AT_ONCE = 256  # whose evidence is computed at a time, where only their sum is needed
KNOWN_GAPS = 0.01  # the share of rows with a gap in a column from which on experts know what it means,
LEAST_GAPS = 20  # and how many there must be
DIVIDED = 250  # rows, about, that few distinct ones are divided into


@dataclass(frozen=True)
class Nearby:
    """The structure of fewer rows, where many are fitted one after the other: a new one costs less, and is as good.

    Rows beyond `ENOUGH_NEARBY` are left out. Experts that take long are fitted if the structure has them; the others
    are tried if `tries_all`.
    """

    structure: Structure
    tries_all: bool

    def experts(self) -> dict[type[Expert], Expert | None]:
        """Return the kinds of experts that are fitted, each with that of fewer rows."""
        known = {type(each): each for each in self.structure.experts}
        return {
            kind: known.get(kind) for kind in EXPERTS if self.tries_all or kind in known or kind is not CosineExpert
        }


def fit_structure(learned: Learned, name: StructureName, near: Nearby | None = None) -> Structure | None:
    """Fit exponents on the kept rows; None if there are too few of them, or a single class."""
    with one_blas_thread(0):  # its threads would spin while ours work, and change the last digits
        return _fit_structure(learned, name, near)


def _fit_structure(learned: Learned, name: StructureName, near: Nearby | None) -> Structure | None:
    assert isinstance(learned.family, Product), "tables have a structure"
    kept = learned.family.kept_rows(learned.statistics.statistic)
    few = len(kept.codes) < FEWEST_ROWS
    if few:  # which may have come often
        kept = kept.divided(DIVIDED)
    if len(kept.codes) < FEWEST_ROWS or len(learned.labels) < 2:
        return None
    if near is not None:
        kept = kept.first(ENOUGH_NEARBY)
    parts = Parts(learned)
    learned, family = parts.learned, parts.family
    columns, classes = len(family.blocks) + len(family.found), len(learned.labels)
    every = family.read(kept.rows)
    scored = slice(0, min(every.n, max(MOST_CELLS // classes, FEWEST_ROWS)))
    x = every[scored]
    codes, unit, log_prior = learned.left_out_prior(x.n, learned.labels[kept.codes[scored]], kept.unit[scored])
    # The only row of a class does not show how well the class is known.
    others = learned.statistics.weight[codes] > unit * (1 + 1e-9)
    some = np.flatnonzero(others & np.isfinite(log_prior[np.arange(len(codes)), codes]))
    if len(some) < FEWEST_ROWS:
        return None
    many = columns > MOST_COLUMNS  # too many for an exponent each
    places = PairPlaces.of(family.plan if name != "columns" else None, columns, len(some), classes)
    exponents = 1 if many else columns + places.exponents
    some = some[: max(affordable(exponents, classes), ENOUGH_ROWS)]
    rows, log_prior = x[some], np.maximum(log_prior, LEAST)
    pool = Pool(codes[some], kept.independent[some], relative(log_prior[some]))

    def left_out(places: Sequence[int]) -> list[Array]:
        """Return the evidence of blocks and found columns, which vote where the other folds say so."""
        found = dict(zip(places, parts.columns_left_out(rows, codes[some], unit[some], places), strict=True))
        found |= parts.silent_left_out(rows, codes[some], unit[some], places)

        def compared(parts: list[Array]) -> list[Array]:
            return np.split(relative(bounded(np.concatenate(parts))), len(parts), axis=1)

        several = in_threads(compared, pool.several(list(found.values())), len(found) * len(some) * classes)
        each = [part for parts in several for part in parts]
        pool.choose_by_others(each)
        return each

    each = [] if many else left_out(range(columns))

    def exponents_of_columns() -> list[Member]:
        if many:  # their sum is enough
            summed = np.zeros((classes - 1, len(some)))
            for lo in range(0, len(family.blocks), BLOCKS_AT_ONCE):
                summed += sum(left_out(range(lo, min(lo + BLOCKS_AT_ONCE, len(family.blocks)))))
            return [pool.naive(summed, columns, len(family.blocks))]
        evidence = np.zeros((classes - 1, len(some), exponents), np.float32)  # half the memory to read

        def fill(lo: int) -> None:
            for j, part in enumerate(each):
                evidence[:, lo : lo + AT_ONCE, j] = part[:, lo : lo + AT_ONCE]

        in_threads(fill, range(0, len(some), AT_ONCE), evidence.size)
        places.fill(parts, rows, codes[some], unit[some], columns, evidence)
        summed = np.zeros((classes - 1, len(some)))
        for part in each[: len(family.blocks)]:
            summed += part
        return [pool.naive(summed, columns, len(family.blocks)), pool.exponents(evidence, columns, places)]

    # The rows of experts are those that members of the pool are weighed by.
    first = slice(0, every.n) if few else parts.expert_rows
    judged = int(np.searchsorted(some, first.stop)) if name == "pool" else len(some)
    judges = pool[:judged]

    kinds: Mapping[type[Expert], Expert | None] = dict.fromkeys(EXPERTS) if near is None else near.experts()
    naive = family.plan is not None and family.plan.is_naive and not family.found
    if naive:  # linear and quadratic discriminants see what pairs of columns say, which is nothing
        kinds = {kind: each for kind, each in kinds.items() if kind is CosineExpert}
    search = ExpertSearch(kinds, judges, some[:judged], doubtful=naive)

    def experts() -> tuple[list[Member], ExpertRows, Tried | None] | None:
        if name != "pool":
            return None
        own = every[first], kept.codes[first], kept.weight[first], kept.unit[first], classes, log_prior[first]
        fitted = ExpertRows.of(family.blocks, *own)
        members, tried = search.fit(fitted)
        return members, fitted, tried

    searches: tuple[Callable[[], Any], ...] = (exponents_of_columns, experts)
    of_columns, of_experts = in_threads(lambda search: search(), searches, x.n * exponents)
    without = [replace(each, scores=each.scores[:, :judged]) for each in of_columns]
    members = without
    if of_experts is not None:
        own, fitted, tried = of_experts
        members = without + own
        members += search.cosines(fitted, tried, members)
    structure = judges.combined(name, parts, members)
    needed = _rarely_missing(structure.experts, every[first])
    if not needed:
        return structure
    return replace(structure, needed=needed, for_gaps=judges.combined("pairs", parts, without))


def _rarely_missing(experts: Sequence[Expert], rows: Batch) -> tuple[str, ...]:
    """Return the columns of experts in which hardly any of the rows that these were fitted on has a gap."""
    columns, least = columns_with_gaps(experts), max(KNOWN_GAPS * rows.n, LEAST_GAPS)
    return tuple(name for name, column in columns.items() if np.count_nonzero(column.is_missing(rows)) < least)
