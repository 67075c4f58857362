"""Fitting a structure: exponents of columns and pairs, experts, and the weights of their pool, on the kept rows.

Every member of the pool is a set of exponents, or an expert with one. Its scores of a row come from exact leave-one-out
evidence, and from exponents that were fitted without the row. The pool weighs the members by the same log-loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes
from suffice.core.statistics import Batch
from suffice.families import KeptRows
from suffice.families.covariance import one_blas_thread
from suffice.families.product import Product
from suffice.model.calibration import bounded, mixture
from suffice.model.cosine_expert import CosineExpert
from suffice.model.experts import Expert, fit_experts
from suffice.model.exponents import LogLinear
from suffice.model.planning import FEWEST_ROWS
from suffice.model.structure import Parts, Structure, StructureName

if TYPE_CHECKING:
    from suffice.model.learned import Learned

PULL = 30.0  # strength, in rows, of the pull of exponents towards the common one
ROWS_FOR_A_PAIR = 30  # kept rows for each pair, so that each pair has an exponent of its own
MOST_WORK = 1e9  # rows × exponents², and × classes of more than two: a second of Newton's method
MOST_COLUMNS = 300  # that have an exponent each
ENOUGH_ROWS = 5000  # that exponents are fitted on, if there are so many
EXPERT_ROWS = 10_000  # that experts are fitted on where not all rows are kept
LEAST = np.log(1e-12)  # lower bound of a log-prior
WORTH = 2.0  # standard errors of the log-loss that cosines must gain
NEGLIGIBLE = 0.02  # a member of the pool with less weight is left out


def fit_structure(learned: Learned, name: StructureName) -> Structure | None:
    """Fit exponents on the kept rows; None if there are too few of them, or a single class."""
    with one_blas_thread(0):  # its threads would spin while ours work, and change the last digits
        return _fit_structure(learned, name)


def _fit_structure(learned: Learned, name: StructureName) -> Structure | None:
    parts = Parts(learned)
    learned, family = parts.learned, parts.family
    kept = family.kept_rows(parts.statistic)
    if len(kept.codes) < FEWEST_ROWS or len(learned.labels) < 2:
        return None
    x = family.read(kept.rows)
    codes, unit, log_prior = learned.left_out_prior(x.n, learned.labels[kept.codes], np.minimum(kept.weight, 1.0))
    # The only row of a class does not show how well the class is known.
    others = learned.statistics.weight[codes] > unit * (1 + 1e-9)
    some = np.flatnonzero(others & np.isfinite(log_prior[np.arange(len(codes)), codes]))
    if len(some) < FEWEST_ROWS:
        return None
    plan = family.plan if name != "columns" else None
    pairs = 0 if plan is None else plan.pairs.shape[1]
    columns = len(family.blocks) + len(family.found)
    own = len(some) >= ROWS_FOR_A_PAIR * pairs and _affordable(columns + pairs, len(learned.labels)) >= ENOUGH_ROWS
    exponents = columns + (pairs if own else 0 if plan is None else len(plan.columns))
    exponents = exponents if columns <= MOST_COLUMNS else 1
    some = some[: max(_affordable(exponents, len(learned.labels)), ENOUGH_ROWS)]
    rows = x[some]
    members = Members(codes[some], kept.weight[some], _finite(log_prior[some]))
    each = [bounded(part) for part in parts.columns_left_out(rows, codes[some], unit[some])]
    evidence = np.stack(each, axis=2)
    members.naive(evidence, len(family.blocks))
    if columns > MOST_COLUMNS:  # too many for an exponent each
        plan, pairs = None, 0
    if columns <= MOST_COLUMNS:
        found = PairParts.of(parts, rows, codes[some], unit[some], own) if pairs else None
        members.pairs(evidence, found)
    if name == "pool":
        members.experts(family, x, kept, log_prior, some)
    return members.pooled(name, parts)


def _affordable(exponents: int, classes: int) -> int:
    """Return how many rows so many exponents can be fitted on in the time that there is."""
    return int(MOST_WORK / (max(exponents, 1) ** 2 * (1 if classes == 2 else classes)))


@dataclass
class PairParts:
    """Evidence of pairs as columns of a design: of each pair, or of all pairs of a column."""

    evidence: Array  # (rows, classes, exponents)
    spread: Array  # (pairs, exponents): the exponent of a pair is a sum of these

    @classmethod
    def of(cls, parts: Parts, x: Batch, codes: Codes, unit: Array, own: bool) -> PairParts:
        """Compute the evidence of rows that are left out; with `own` each pair has an exponent of its own."""
        evidence, plan = parts.pair_evidence, parts.family.plan
        assert plan is not None, "there are pairs"
        q, (n, classes) = plan.pairs.shape[1], (len(codes), len(parts.learned.labels))
        columns = len(plan.columns)
        each = evidence.left_out(np.ascontiguousarray(x.parts[-1].T), codes, unit)
        if own:
            return cls(np.stack(list(each), axis=2), np.eye(q))
        spread = np.zeros((q, columns))
        total = np.zeros((columns, n, classes))
        for k, ((i, j), part) in enumerate(zip(plan.pairs.T, each, strict=True)):
            spread[k, i] = spread[k, j] = 1.0
            total[i] += part
            total[j] += part
        return cls(np.ascontiguousarray(total.transpose(1, 2, 0)), spread)


class Members:
    """The members of a pool: scores of kept rows, and how they are made of exponents."""

    def __init__(self, codes: Codes, weight: Array, log_prior: Array):
        self.codes, self.weight, self.log_prior = codes, weight, log_prior
        self.names: list[str] = []
        self.scores: list[Array] = []
        self.of_columns: list[Array] = []
        self.of_pairs: list[Array] = []
        self.of_experts: list[tuple[Expert, float] | None] = []

    def _problem(self, parts: Array, start: Array, penalty: float) -> LogLinear:
        """State a fit of exponents."""
        return LogLinear(parts, self.log_prior, self.codes, self.weight, start, np.full(parts.shape[2], penalty))

    def naive(self, columns: Array, blocks: int) -> None:
        """One exponent for all columns."""
        whole = columns[:, :, :blocks].sum(axis=2, keepdims=True)
        problem = self._problem(whole, np.full(1, 0.5), 1.0)
        w = problem.fit()
        exponents = np.zeros(columns.shape[2])
        exponents[:blocks] = w
        self._add("naive", problem.cross_fitted(w), exponents)

    def pairs(self, columns: Array, pairs: PairParts | None) -> None:
        """An exponent for every column and for pairs, drawn towards the common ones."""
        p = columns.shape[2]
        sums = [columns.sum(axis=2)] if pairs is None else [columns.sum(axis=2), pairs.evidence.sum(axis=2)]
        common = self._problem(np.stack(sums, axis=2), np.array([0.5, 0.1])[: len(sums)], 1.0).fit()
        start, design = np.full(p, common[0]), columns
        if pairs is not None:
            start = np.concatenate([start, np.full(pairs.evidence.shape[2], common[1])])
            design = np.concatenate([columns, pairs.evidence], axis=2)
        problem = self._problem(design, start, PULL)
        w = problem.fit()
        of_pairs = None if pairs is None else pairs.spread @ w[p:]
        self._add("columns" if pairs is None else "pairs", problem.cross_fitted(w), w[:p], of_pairs)

    def experts(self, family: Product, x: Batch, kept: KeptRows, log_prior: Array, some: NDArray[np.int64]) -> None:
        """Linear and quadratic discriminants and cosines, fitted on kept rows; `some` of them are those of the pool."""
        rows = slice(0, x.n if x.n < family.most_kept else max(EXPERT_ROWS, int(some[-1]) + 1))
        x, weight = x[rows], kept.weight[rows]
        classes = log_prior.shape[1]
        fitted = fit_experts(family.blocks, x, kept.codes[rows], weight, classes, _finite(log_prior[rows]))
        for expert, left_out in fitted:
            own = left_out[some]
            w = self._problem(own[:, :, None], np.ones(1), 1.0).fit()
            self._add(type(expert).__name__, self.log_prior + w[0] * own, expert=(expert, float(w[0])))

    def _add(
        self, name: str, scores: Array, columns: Array | None = None, pairs: Array | None = None, expert: Any = None
    ) -> None:
        self.names.append(name)
        self.scores.append(scores)
        self.of_columns.append(np.zeros(0) if columns is None else columns)
        self.of_pairs.append(np.zeros(0) if pairs is None else pairs)
        self.of_experts.append(expert)

    def _pool(self, chosen: list[int]) -> tuple[Array, Array]:
        """Fit the weights of some members, ≥ 0; return them, and the log-loss of each row."""
        m = len(chosen)
        parts = np.stack([self.scores[i] - self.log_prior for i in chosen], axis=2)
        problem = self._problem(parts, np.full(m, 1.0 / m), 1.0)
        w = problem.fit()
        scores = self.log_prior + parts @ w
        top = scores.max(axis=1, keepdims=True)
        losses = np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0] - scores[np.arange(len(self.codes)), self.codes]
        return w, losses

    def _chosen(self) -> tuple[list[int], Array]:
        """Choose the members that have weight. Cosines, which no column tells of, must gain two standard errors."""
        chosen = list(range(len(self.names)))
        w, losses = self._pool(chosen)
        cosines = [i for i in chosen if self.names[i] == CosineExpert.__name__]
        if cosines:
            without = [i for i in chosen if i not in cosines]
            simpler, others = self._pool(without)
            gain = others - losses
            mean = float(np.average(gain, weights=self.weight))
            error = np.sqrt(np.average((gain - mean) ** 2, weights=self.weight) / self.weight.sum())
            if mean <= WORTH * error:
                chosen, w = without, simpler
        while (w < NEGLIGIBLE).any() and len(chosen) > 1:
            del chosen[int(np.argmin(w))]
            w, _ = self._pool(chosen)
        return chosen, w

    def pooled(self, name: StructureName, parts: Parts) -> Structure:
        """Combine the members."""
        chosen, w = self._chosen()
        family = parts.family
        columns = np.zeros(len(family.blocks) + len(family.found))
        pairs = np.zeros(0 if family.plan is None else family.plan.pairs.shape[1])
        experts, weights = [], []
        for i, share in zip(chosen, w, strict=True):
            columns[: len(self.of_columns[i])] += share * self.of_columns[i]
            pairs[: len(self.of_pairs[i])] += share * self.of_pairs[i]
            expert = self.of_experts[i]
            if expert is not None:
                experts.append(expert[0])
                weights.append(share * expert[1])
        each = [share * (self.scores[i] - self.log_prior) for i, share in zip(chosen, w, strict=True)]
        scores = self.log_prior + np.sum(each, axis=0)
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mixed = mixture(p, np.exp(self.log_prior), self.codes, self.weight)
        classes = self.log_prior.shape[1]
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


def _finite(log_prior: Array) -> Array:
    return np.maximum(log_prior, LEAST)
