"""Fitting a structure: exponents of columns and pairs, experts, and the weights of their pool, on the kept rows.

Every member of the pool is a set of exponents, or an expert with one. Its scores of a row come from exact leave-one-out
evidence, and from exponents that were fitted without the row. The pool weighs the members by the same log-loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.families.choose import MARGIN
from suffice.families.covariance import one_blas_thread
from suffice.families.pair_plan import PairPlan
from suffice.families.product import Product
from suffice.model.calibration import bounded, mixture
from suffice.model.cosine_expert import CosineExpert
from suffice.model.experts import EXPERTS, Expert, fit_experts
from suffice.model.exponents import AT_ONCE, LogLinear, folds_of, log_losses, relative
from suffice.model.planning import FEWEST_ROWS, MOST_COLUMNS
from suffice.model.structure import Parts, Structure, StructureName, coded_columns, columns_with_gaps

if TYPE_CHECKING:
    from suffice.model.learned import Learned

PULL = 20.0  # strength, in rows, of the pull of exponents towards the common one, and of weights towards equal ones
ROWS_FOR_A_PAIR = 30  # kept rows for each pair, so that each pair has an exponent of its own
MOST_WORK = 1e9  # rows × exponents², and × classes of more than two: a second of Newton's method
ENOUGH_ROWS = 5000  # that exponents are fitted on, if there are so many
ENOUGH_NEARBY = 7000  # kept rows, where a structure of fewer rows is known
MOST_CELLS = 1 << 21  # rows × classes that are scored: fewer rows tell enough where classes are many
LEAST = np.log(1e-12)  # lower bound of a log-prior
WORTH = 2.0  # standard errors of the log-loss that cosines must gain
ENTRIES = 1 << 15  # of columns that are judged together
BLOCKS_AT_ONCE = 256  # whose evidence is computed at a time, where only their sum is needed
NEGLIGIBLE = 0.02  # a member of the pool with less weight is left out
KNOWN_GAPS = 0.01  # the share of rows with a gap in a column from which on experts know what it means,
LEAST_GAPS = 20  # and how many there must be


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
    if len(kept.codes) < FEWEST_ROWS or len(learned.labels) < 2:
        return None
    if near is not None:
        kept = kept.first(ENOUGH_NEARBY)
    parts = Parts(learned)
    learned, family = parts.learned, parts.family
    columns, classes = len(family.blocks) + len(family.found), len(learned.labels)
    every = family.read(kept.rows)
    scored = slice(0, min(every.n, max(MOST_CELLS // classes, FEWEST_ROWS)))
    x, weight = every[scored], np.minimum(kept.weight[scored], 1.0)
    codes, unit, log_prior = learned.left_out_prior(x.n, learned.labels[kept.codes[scored]], weight)
    # The only row of a class does not show how well the class is known.
    others = learned.statistics.weight[codes] > unit * (1 + 1e-9)
    some = np.flatnonzero(others & np.isfinite(log_prior[np.arange(len(codes)), codes]))
    if len(some) < FEWEST_ROWS:
        return None
    many = columns > MOST_COLUMNS  # too many for an exponent each
    places = PairPlaces.of(family.plan if name != "columns" else None, columns, len(some), classes)
    exponents = 1 if many else columns + places.exponents
    some = some[: max(_affordable(exponents, classes), ENOUGH_ROWS)]
    rows, log_prior = x[some], np.maximum(log_prior, LEAST)
    pool = Pool(codes[some], kept.weight[some], relative(log_prior[some]))

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
    judged = int(np.searchsorted(some, parts.expert_rows.stop)) if name == "pool" else len(some)
    judges = pool[:judged]

    def experts() -> list[Member]:
        if name != "pool":
            return []
        first = parts.expert_rows
        own = every[first], kept.codes[first], kept.weight[first], classes, log_prior[first]
        fitted = fit_experts(family.blocks, *own, None if near is None else near.experts())
        return [judges.expert(expert, left_out[some[:judged]]) for expert, left_out in fitted]

    found = in_threads(lambda members: members(), (exponents_of_columns, experts), x.n * exponents)
    without = [replace(each, scores=each.scores[:, :judged]) for each in found[0]]
    structure = judges.combined(name, parts, without + found[1])
    needed = _rarely_missing(structure.experts, every[parts.expert_rows])
    if not needed:
        return structure
    return replace(structure, needed=needed, for_gaps=judges.combined("pairs", parts, without))


def _rarely_missing(experts: Sequence[Expert], rows: Batch) -> tuple[str, ...]:
    """Return the columns of experts in which hardly any of the rows that these were fitted on has a gap."""
    columns, least = columns_with_gaps(experts), max(KNOWN_GAPS * rows.n, LEAST_GAPS)
    return tuple(name for name, column in columns.items() if np.count_nonzero(column.is_missing(rows)) < least)


def _affordable(exponents: int, classes: int) -> int:
    """Return how many rows so many exponents can be fitted on in the time that there is."""
    return int(MOST_WORK / (max(exponents, 1) ** 2 * (1 if classes == 2 else classes)))


@dataclass(frozen=True)
class PairPlaces:
    """Which exponents are those of a pair: one of its own, or the sum of one of each column.

    `to` (2, pairs) are their places among the exponents of pairs, twice the same if there is one.
    """

    to: NDArray[np.int32]
    exponents: int

    @classmethod
    def of(cls, plan: PairPlan | None, columns: int, rows: int, classes: int) -> PairPlaces:
        """Give each pair an exponent of its own, if there are enough rows for that, and time."""
        if plan is None:
            return cls(np.zeros((2, 0), np.int32), 0)
        pairs = plan.pairs.shape[1]
        if rows >= ROWS_FOR_A_PAIR * pairs and _affordable(columns + pairs, classes) >= ENOUGH_ROWS:
            return cls(np.repeat(np.arange(pairs, dtype=np.int32)[None], 2, axis=0), pairs)
        return cls(plan.pairs, len(plan.columns))

    def fill(self, parts: Parts, x: Batch, codes: Codes, unit: Array, start: int, out: NDArray[np.float32]) -> None:
        """Add the evidence of pairs of rows left out to `out`, (classes − 1, rows, exponents), from `start` on."""
        if self.to.size:
            every, to = np.ones(self.to.shape[1]), self.to + np.int32(start)
            parts.pair_evidence.left_out(coded_columns(x), codes, unit, every, to, out)

    def of_pairs(self, w: Array) -> Array:
        """Return the exponent of each pair, from the exponents of pairs."""
        return np.where(self.to[0] == self.to[1], 0.0, w[self.to[1]]) + w[self.to[0]]


@dataclass(frozen=True)
class Member:
    """A member of a pool: scores of rows, (classes − 1, rows), and what they are made of."""

    name: str
    scores: Array
    columns: Array
    pairs: Array
    expert: tuple[Expert, float] | None = None


class Pool:
    """The rows that exponents are fitted on. All scores are relative to the first class."""

    def __init__(self, codes: Codes, weight: Array, log_prior: Array):
        self.codes, self.weight, self.log_prior = codes, weight, log_prior

    def __getitem__(self, rows: slice) -> Pool:
        return Pool(self.codes[rows], self.weight[rows], self.log_prior[:, rows])

    def _problem(self, parts: Array | NDArray[np.float32], start: Array, penalty: float) -> LogLinear:
        """State a fit of exponents."""
        return LogLinear(parts, self.log_prior, self.codes, self.weight, start, np.full(parts.shape[2], penalty))

    def several(self, columns: list[Array]) -> list[list[Array]]:
        """Divide columns of few rows into some that are worth a call of NumPy together."""
        size = max(1, ENTRIES // self.log_prior.size)
        return [columns[lo : lo + size] for lo in range(0, len(columns), size)]

    def choose_by_others(self, columns: list[Array]) -> None:
        """Let the other folds choose for each fold which columns vote; `columns` are evidence, (classes − 1, rows).

        Columns vote if they tell more than chance. Of many columns some do so by chance: the rows that chose them would
        show them as well known, and their exponents would be far too large.
        """
        folds, w = folds_of(len(self.codes)), self.weight
        base, starts = log_losses(self.log_prior, self.codes), [fold.start for fold in folds]
        weight = w.sum() - np.add.reduceat(w, starts)  # of the other folds

        def choose(some: list[Array]) -> None:  # several columns at a time, as rows one after the other
            scores = np.concatenate([self.log_prior + part for part in some], axis=1)
            gain = base - log_losses(scores, np.tile(self.codes, len(some))).reshape(len(some), -1)
            own, squares = (np.add.reduceat(w * each, starts, axis=1) for each in (gain, gain**2))
            mean, square = ((each.sum(axis=1, keepdims=True) - each) / weight for each in (own, squares))
            error = np.sqrt(np.maximum(square - mean**2, 0.0) / weight)
            for part, silent in zip(some, mean <= MARGIN * error, strict=True):
                for k in np.flatnonzero(silent):
                    part[:, folds[k]] = 0.0

        in_threads(choose, self.several(columns), len(columns) * self.log_prior.size)

    def naive(self, whole: Array, columns: int, blocks: int) -> Member:
        """One exponent for the sum of the first columns, which are those of `blocks`."""
        problem = self._problem(whole[:, :, None], np.full(1, 0.5), 1.0)
        w = problem.fit()
        exponents = np.zeros(columns)
        exponents[:blocks] = w
        return Member("naive", problem.cross_fitted(w), exponents, np.zeros(0))

    def exponents(self, evidence: NDArray[np.float32], columns: int, places: PairPlaces) -> Member:
        """An exponent for every column and for pairs, which come after the columns, drawn towards the common ones."""
        sums = [evidence[:, :, :columns].sum(axis=2)]
        if places.exponents:
            sums.append(evidence[:, :, columns:].sum(axis=2))
        common = self._problem(np.stack(sums, axis=2), np.array([0.5, 0.1])[: len(sums)], 1.0).fit()
        problem = self._problem(evidence, np.repeat(common, [columns, places.exponents][: len(sums)]), PULL)
        w = problem.fit()
        name = "pairs" if places.exponents else "columns"
        return Member(name, problem.cross_fitted(w), w[:columns], places.of_pairs(w[columns:]))

    def expert(self, expert: Expert, left_out: Array) -> Member:
        """An expert with one exponent, by its evidence of rows left out, (rows, classes)."""
        own = relative(left_out)
        w = self._problem(own[:, :, None], np.ones(1), 1.0).fit()
        scores = self.log_prior + w[0] * own
        return Member(type(expert).__name__, scores, np.zeros(0), np.zeros(0), (expert, float(w[0])))

    def _weigh(self, members: list[Member], begin: Array | None = None) -> tuple[Array, Array]:
        """Fit the weights of members, ≥ 0, from `begin` on; return them, and the log-loss of each row."""
        m = len(members)
        parts = np.stack([each.scores - self.log_prior for each in members], axis=2)
        problem = self._problem(parts, np.full(m, 1.0 / m), PULL)
        w = problem.fit(begin)
        return w, problem.losses(problem.scores(w))

    def _chosen(self, members: list[Member]) -> tuple[list[Member], Array, Array]:
        """Choose the members that have weight; return them, their weights, and the log-loss of each row.

        Cosines, which no column tells of, must gain two standard errors.
        """
        w, losses = self._weigh(members)
        without = [each for each in members if each.name != CosineExpert.__name__]
        if len(without) < len(members):
            simpler, others = self._weigh(without)
            gain = others - losses
            mean = float(np.average(gain, weights=self.weight))
            error = np.sqrt(np.average((gain - mean) ** 2, weights=self.weight) / self.weight.sum())
            if mean <= WORTH * error:
                members, w, losses = without, simpler, others
        while (w < NEGLIGIBLE).any() and len(members) > 1:
            least = int(np.argmin(w))
            members = members[:least] + members[least + 1 :]
            w, losses = self._weigh(members, np.delete(w, least))
        return members, w, losses

    def combined(self, name: StructureName, parts: Parts, members: list[Member]) -> Structure:
        """Combine the members."""
        members, w, losses = self._chosen(members)
        family, classes = parts.family, len(self.log_prior) + 1
        columns = np.zeros(len(family.blocks) + len(family.found))
        pairs = np.zeros(0 if family.plan is None else family.plan.pairs.shape[1])
        experts, weights = [], []
        for member, share in zip(members, w, strict=True):
            columns[: len(member.columns)] += share * member.columns
            pairs[: len(member.pairs)] += share * member.pairs
            if member.expert is not None:
                experts.append(member.expert[0])
                weights.append(share * member.expert[1])
        prior = self._problem(np.zeros((classes - 1, len(self.codes), 0)), np.zeros(0), 0.0)
        mixed = mixture(np.exp(-losses), np.exp(-prior.losses(self.log_prior)), self.weight)
        return Structure(
            np.ones(classes),
            np.zeros(classes),
            mixed,
            name,
            columns,
            pairs,
            tuple(experts),
            np.array(weights),
            family.found,
            family.plan,
            tuple(each.decisions for each in parts.distributions),
        )
