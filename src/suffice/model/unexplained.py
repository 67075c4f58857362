"""What naive Bayes leaves unexplained, and whether found columns and pairs of columns explain some of it.

Before all rows are counted by a plan, some of the kept rows tell what is worth counting. p_k is the posterior of naive
Bayes without the row, by bins and with one exponent for all columns. Further evidence E_k of a row, with an exponent u,
changes the log-loss by −g u + …, where

    g = mean of E_y − Σ_k p_k E_k

If the columns tell all that there is to know, g is 0 but for chance; z is g by its standard error. The score test of
statistics is this one. Where g is below 0, the exponents of others would gain by the evidence. Found columns are
computed from two columns, so they explain nothing where no pair does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Rows
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch, Pairs
from suffice.families import Family
from suffice.families.pair_plan import PairPlan, code_column, plan_pairs
from suffice.families.product import Block
from suffice.model.pair_evidence import PairEvidence
from suffice.model.tempered_loss import tempered_loss

BINS = 12  # of a column of numbers
JUDGES, PAIR_JUDGES = 8192, 4096  # rows that are enough for columns, and for all pairs together
MOST_ENTRIES = 1 << 21  # of p, rows × classes
AT_ONCE = 1 << 20  # entries of evidence that are computed at a time
CHANCE = 0.05  # that one of all pairs is as far from 0 as is taken for a reason to count them all
SPREAD = 1.5  # root of the mean z² of all pairs that is such a reason, too: it is about 1 by chance
LIKELY = 3.0  # standard errors from 0 of a found column that is counted


class Unexplained(NamedTuple):
    """Rows of codes of classes, with weights; the weight that is left out; and p(y | x) without it, (classes, rows)."""

    codes: Codes
    weight: Array
    unit: Array
    p: Array

    @staticmethod
    def can_be_judged(rows: int, classes: int) -> bool:
        """Return whether there are enough rows, and not too many classes."""
        return rows >= JUDGES and classes * JUDGES <= MOST_ENTRIES

    @classmethod
    def of(
        cls, families: tuple[Family[Any] | None, ...], rows: Batch, codes: Codes, weight: Array, classes: int
    ) -> Self:
        """Compute p of the first rows by blocks of columns. None takes no part."""
        codes, weight = codes[:JUDGES], weight[:JUDGES]
        some = cls(codes, weight, np.minimum(weight, 1.0), np.zeros((classes, len(codes))))
        blocks = [(family, part) for family, part in zip(families, rows.parts, strict=True) if family is not None]
        each = in_threads(lambda block: some._evidence(*block), blocks, 4 * some.p.size * len(blocks))
        evidence = np.zeros(some.p.shape)
        for own in each:
            if own is not None:
                evidence += own
        share = np.bincount(codes, weight, minlength=classes) / weight.sum()
        log_prior = np.log(share, out=np.full(classes, -np.inf), where=share > 0)
        _, exponent = tempered_loss(evidence.T, log_prior, codes, weight)
        scores = log_prior[:, None] + exponent * evidence
        scores -= scores.max(axis=0)
        p = np.exp(scores, out=scores)
        p /= p.sum(axis=0)
        return some._replace(p=p)

    def _evidence(self, family: Family[Any], part: Rows) -> Array | None:
        """Return log p(bin | y) of a block without the row, (classes, rows), 0 where it is missing; None without bins.

        The counts of each class are smoothed by one row that is spread as the bins of all classes.
        """
        part = part[: len(self.codes)]
        column = code_column(0, family, part, self.weight, BINS)
        if column is None:
            return None
        classes, size, codes = len(self.p), column.size, column.codes(part)
        out = np.zeros(self.p.shape)
        present = np.flatnonzero(codes < size)
        y, cell, weight, unit = self.codes[present], codes[present], self.weight[present], self.unit[present]
        counts = np.bincount(y * size + cell.astype(np.int64), weight, minlength=classes * size).reshape(classes, size)
        every, total = counts.sum(axis=0), counts.sum(axis=1)
        spread = (every + 0.5) / (every.sum() + 0.5 * size)
        out[:, present] = np.log((counts + spread) / (total + 1.0)[:, None])[:, cell]
        left = np.maximum(counts[y, cell] - unit, 0.0) + spread[cell]
        out[y, present] = np.log(left / (np.maximum(total[y] - unit, 0.0) + 1.0))
        return out

    def is_explained_by(self, block: Block, part: Rows) -> bool:
        """Return whether a found column explains a part of what is unexplained."""
        evidence = self._evidence(block.family, part)
        if evidence is None:
            return True
        mean = (self.p * evidence).sum(axis=0)
        own = evidence[self.codes, np.arange(len(mean))]
        return bool(abs(self._scores((own - mean)[:, None])[0]) > LIKELY)

    def plan_without_pairs(self, families: tuple[Family[Any] | None, ...], rows: Batch) -> PairPlan | None:
        """Return a plan of blocks of columns without pairs; None if pairs explain a part of what is unexplained."""
        from scipy.special import ndtri

        few = slice(PAIR_JUDGES)
        some = Unexplained(self.codes[few], self.weight[few], self.unit[few], self.p[:, few])
        (classes, n), rows = some.p.shape, rows[few]
        plan = plan_pairs(families, rows, some.codes, some.weight, classes, float(n))
        if not plan.pairs.size:
            return plan
        columns = np.ascontiguousarray(plan.codes(rows.parts, n).T)
        z = some._scores(some._of_pairs(plan, columns))
        if np.abs(z).max() > -ndtri(CHANCE / 2 / len(z)) or np.sqrt(np.mean(z**2)) > SPREAD:
            return None
        return replace(plan, pairs=plan.pairs[:, :0])

    def _scores(self, each: Array) -> Array:
        """Return z of evidence by its E_y − Σ_k p_k E_k of the first rows, (rows, kinds)."""
        weight, total = self.weight[: len(each), None], self.weight[: len(each)].sum()
        slope = (weight * each).sum(axis=0) / total  # no product of matrices: threads of BLAS would spin
        error = np.sqrt(np.maximum((weight * each**2).sum(axis=0) / total - slope**2, 0.0) / total)
        return np.divide(slope, error, out=np.zeros(len(slope)), where=error > 0)

    def _of_pairs(self, plan: PairPlan, columns: NDArray[np.uint8]) -> Array:
        """Return E_y − Σ_k p_k E_k of the evidence of each pair of columns of codes (columns, rows), (rows, pairs)."""
        (classes, n), pairs = self.p.shape, plan.pairs.shape[1]
        counts = Pairs.of(columns.T, self.codes, classes, self.weight, sizes=plan.sizes, pairs=plan.pairs)
        evidence, every = PairEvidence(counts), np.ones(pairs)
        out, to = np.zeros((n, pairs)), np.repeat(np.arange(pairs, dtype=np.int32)[None], 2, axis=0)
        step = max(AT_ONCE // (classes * pairs), 1)
        for lo in range(0, n, step):
            own = slice(lo, min(lo + step, n))
            y, p = self.codes[own], self.p[1:, own].astype(np.float32)
            part = np.zeros((*p.shape, pairs), np.float32)  # relative to the first class
            evidence.left_out(np.ascontiguousarray(columns[:, own]), y, self.unit[own], every, to, part)
            others = np.flatnonzero(y > 0)
            out[lo + others] = part[y[others] - 1, others]
            part *= p[:, :, None]
            out[own] -= part.sum(axis=0)
        return out
