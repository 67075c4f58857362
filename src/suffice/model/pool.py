"""The pool: sets of exponents and experts, each with its scores of rows left out, and the weights that combine them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.families.choose import MARGIN
from suffice.families.pair_plan import PairPlan
from suffice.model.calibration import mixture
from suffice.model.cosine_expert import CosineExpert
from suffice.model.experts import Expert
from suffice.model.exponents import LogLinear, folds_of, log_losses, probabilities, relative
from suffice.model.structure import Parts, Structure, StructureName, coded_columns

PULL = 20.0  # strength, in rows, of the pull of exponents towards the common one, and of weights towards equal ones
ROWS_FOR_A_PAIR = 30  # kept rows for each pair, so that each pair has an exponent of its own
MOST_WORK = 1e9  # rows × exponents², and × classes of more than two: a second of Newton's method
ENOUGH_ROWS = 5000  # that exponents are fitted on, if there are so many
WORTH = 2.0  # standard errors of the log-loss that cosines must gain
ENTRIES = 1 << 15  # of columns that are judged together
NEGLIGIBLE = 0.02  # a member of the pool with less weight is left out


def affordable(exponents: int, classes: int) -> int:
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
        if rows >= ROWS_FOR_A_PAIR * pairs and affordable(columns + pairs, classes) >= ENOUGH_ROWS:
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
        w = problem.fit() * whole.any()  # 0 if all columns are silent, as in `exponents`
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
        w[~evidence.any(axis=(0, 1))] = 0.0  # what the other folds leave out everywhere says nothing
        name = "pairs" if places.exponents else "columns"
        return Member(name, problem.cross_fitted(w), w[:columns], places.of_pairs(w[columns:]))

    def expert(self, expert: Expert, left_out: Array) -> Member:
        """An expert with one exponent, by its evidence of rows left out, (rows, classes)."""
        own = relative(left_out)
        w = self._problem(own[:, :, None], np.ones(1), 1.0).fit()
        scores = self.log_prior + w[0] * own
        return Member(type(expert).__name__, scores, np.zeros(0), np.zeros(0), (expert, float(w[0])))

    def _weigh(self, members: list[Member], begin: Array | None = None) -> tuple[Array, Array]:
        """Fit the weights of members, ≥ 0, from `begin` on; return them, and the scores, (classes − 1, rows)."""
        m = len(members)
        parts = np.stack([each.scores - self.log_prior for each in members], axis=2)
        problem = self._problem(parts, np.full(m, 1.0 / m), PULL)
        w = problem.fit(begin)
        return w, problem.scores(w)

    def posterior(self, members: list[Member]) -> Array:
        """Return p(y | x) of all classes but the first by members with their weights, (classes − 1, rows)."""
        _, scores = self._weigh(self._of_own_rows(members))
        return probabilities(scores)[0]

    def _of_own_rows(self, members: list[Member]) -> list[Member]:
        """Return members with their scores of the rows of the pool, which are the first."""
        return [replace(each, scores=each.scores[:, : len(self.codes)]) for each in members]

    def _chosen(self, members: list[Member]) -> tuple[list[Member], Array, Array]:
        """Choose the members that have weight; return them, their weights, and the scores, (classes − 1, rows).

        Cosines, which no column tells of, must gain two standard errors.
        """
        without = [each for each in members if each.name != CosineExpert.__name__]
        if len(without) < len(members) and not self.better(members, without, WORTH):
            members = without
        w, scores = self._weigh(members)
        while (w < NEGLIGIBLE).any() and len(members) > 1:
            least = int(np.argmin(w))
            members = members[:least] + members[least + 1 :]
            w, scores = self._weigh(members, np.delete(w, least))
        return members, w, scores

    def better(self, members: list[Member], others: list[Member], errors: float) -> bool:
        """Return whether members have a lower mean log-loss than others, by more than so many standard errors.

        Where some have scores of the first rows only, these judge.
        """
        rows = min(each.scores.shape[1] for each in (*members, *others))
        judges = self[:rows]

        def losses(some: list[Member]) -> Array:
            return log_losses(judges._weigh(judges._of_own_rows(some))[1], judges.codes)

        gain = losses(others) - losses(members)
        mean = float(np.average(gain, weights=judges.weight))
        error = np.sqrt(np.average((gain - mean) ** 2, weights=judges.weight) / judges.weight.sum())
        return bool(mean > errors * error)

    def combined(self, name: StructureName, parts: Parts, members: list[Member]) -> Structure:
        """Combine the members."""
        members, w, scores = self._chosen(members)
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
        own, prior = (np.exp(-log_losses(each, self.codes)) for each in (scores, self.log_prior))
        mixed = mixture(own, prior, self.weight)
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
