"""Experts: classifiers in closed form of the rows that a statistic keeps. Each gives evidence for classes.

    linear      a discriminant of scores, ranks, bins and categories, with one covariance: additive in the columns
    quadratic   Gaussians with a covariance for each class, of standard scores of numbers
    cosines     a discriminant of random cosines of ranks and categories: smooth boundaries of any shape

All leave rows out exactly, and choose one parameter by that. Evidence is log p(x | y) up to a term that all classes
share, if the expert were right about the columns; it is meant to be tempered and pooled with other evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from suffice.core.arrays import Array, Codes, Positions
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.families.product import Block
from suffice.model.cosine_expert import ALL_COLUMNS, SPREADS, CosineExpert, CosineFeatures, cosine_columns, spread_of
from suffice.model.exponents import folds_of
from suffice.model.features import Features
from suffice.model.linear_expert import LEVEL, LinearExpert
from suffice.model.quadratic_expert import QuadraticExpert, most_apart, numbers_of
from suffice.model.ridge_scatter import SHRINKAGES
from suffice.model.tempered_loss import tempered_loss

Expert: TypeAlias = LinearExpert | QuadraticExpert | CosineExpert
ROWS_TO_CHOOSE = 20  # for each column: of more, columns that were chosen by all rows hardly look too good
TRIED_ROWS, TRIED_COSINES = 4096, 256  # that show whether cosines are worth fitting, and with which spread
GLANCE = 1.25  # the mean z² from which on cosines are tried where no pair of columns tells anything
BEHIND = 0.01  # the log-loss by which few cosines of the better spread may be behind: narrow kernels need more of them
UNTOLD = (LEVEL, ALL_COLUMNS)  # the titles of formulas of all columns together: no column tells what they say
EXPERTS: tuple[type[Expert], ...] = (LinearExpert, QuadraticExpert, CosineExpert)


@dataclass(frozen=True, eq=False)
class ExpertRows:
    """The rows that experts are fitted on.

    `unit` is the weight of each row that is left out. `log_prior` is (classes,), or (rows, classes) if it is that of
    each row left out. If it has fewer rows, it is of the first, and only these are left out.
    """

    features: Features
    batch: Batch
    codes: Codes
    weight: Array
    unit: Array
    classes: int
    log_prior: Array

    @classmethod
    def of(
        cls,
        blocks: Sequence[Block],
        batch: Batch,
        codes: Codes,
        weight: Array,
        unit: Array,
        classes: int,
        log_prior: Array,
    ) -> ExpertRows:
        """Settle the features of the rows."""
        return cls(Features.fit(blocks, batch, weight), batch, codes, weight, unit, classes, log_prior)

    @property
    def arguments(self) -> tuple[Features, Batch, Codes, Array, Array, int, Array]:
        """What `fit` of every expert takes."""
        return self.features, self.batch, self.codes, self.weight, self.unit, self.classes, self.log_prior

    def first(self, n: int) -> ExpertRows:
        """Return the first rows, with the features of all."""
        log_prior = self.log_prior[:n] if self.log_prior.ndim == 2 else self.log_prior
        rows = self.codes[:n], self.weight[:n], self.unit[:n]
        return ExpertRows(self.features, self.batch[:n], *rows, self.classes, log_prior)

    def log_loss(self, left_out: Array) -> float:
        """Return the log-loss of evidence of the first rows, each left out."""
        first = self.first(len(left_out))
        return tempered_loss(left_out, first.log_prior, first.codes, first.weight)[0]


class Tried(NamedTuple):
    """An expert of few cosines and few rows, the evidence of these left out, and the spreads that may be the best."""

    expert: CosineExpert
    left_out: Array
    spreads: tuple[float, ...]


def fit_experts(
    rows: ExpertRows, near: Mapping[type[Expert], Expert | None] | Iterable[type[Expert]] = EXPERTS
) -> list[tuple[Expert, Array]]:
    """Fit experts of some kinds; return each that can be fitted, and the evidence of rows left out, (rows, classes).

    With `near`, what they choose is looked for next to that of fewer rows.
    """
    known = near if isinstance(near, Mapping) else dict.fromkeys(near)

    def fitted(kind: type[Expert]) -> tuple[Expert, Array] | None:
        expert = known[kind]
        if isinstance(expert, (LinearExpert, CosineExpert)):
            next_to: tuple[Expert, Array] | None = type(expert).fit(*rows.arguments, expert)  # type: ignore[arg-type]  # of one type
            return next_to
        if kind is CosineExpert:
            return fit_cosines(rows, SPREADS)
        found = kind.fit(*rows.arguments)
        if found is None or not isinstance(found[0], QuadraticExpert):
            return found
        return found[0], _chosen_by_others(found[0], found[1], rows)

    found = in_threads(fitted, known, rows.batch.n * rows.features.size)
    return [each for each in found if each is not None]


def fit_cosines(rows: ExpertRows, spreads: Iterable[float]) -> tuple[CosineExpert, Array] | None:
    """Fit cosines of the spread that has the least log-loss of rows left out."""
    fitted = [CosineExpert.fit(*rows.arguments, spread=spread) for spread in spreads]
    found = [each for each in fitted if each is not None]
    return found[0] if len(found) == 1 else min(found, key=lambda each: rows.log_loss(each[1]), default=None)


def try_cosines(rows: ExpertRows) -> Tried | None:
    """Fit few cosines on few rows: a tenth of the work shows whether all are worth fitting, and with which spreads."""
    first = rows.first(TRIED_ROWS)
    found = [
        (spread, CosineExpert.fit(*first.arguments, spread=spread, most=TRIED_COSINES, shrinkages=SHRINKAGES[1::2]))
        for spread in SPREADS
    ]
    each = [(first.log_loss(fitted[1]), spread, fitted) for spread, fitted in found if fitted is not None]
    if not each:
        return None
    loss, _, best = min(each, key=lambda one: one[0])
    return Tried(*best, tuple(spread for own, spread, _ in each if own <= loss + BEHIND))


def cosines_tell(rows: ExpertRows, at: Positions, p: Array) -> bool:
    """Return whether few cosines explain a part of what posteriors leave unexplained: a glance, before any is fitted.

    p (classes − 1, rows at) are those of all classes but the first. With r_k = 1[y = k] − p_k and a cosine c less its
    mean, z² = (Σ w r_k c)² / Σ (w r_k c)² is about 1 on average if r is nothing but chance.
    """
    features, some = cosine_columns(rows.features), rows.batch[at]
    whole = spread_of(features, rows.batch, rows.weight)
    if not whole > 0:
        return False
    weight = rows.weight[at] / rows.weight.max()  # float32 can hold its square
    rest = (((rows.codes[at] == np.arange(1, rows.classes)[:, None]) - p) * weight).astype(np.float32)

    def tell(spread: float) -> bool:
        c = CosineFeatures(features, spread * whole, TRIED_COSINES).matrix(some)
        c -= c.mean(axis=0)
        z2 = (rest @ c) ** 2 / np.maximum(rest**2 @ c**2, np.finfo(np.float32).tiny)
        return bool(z2.mean() > GLANCE)

    return any(in_threads(tell, SPREADS, 16 * len(at) * TRIED_COSINES))


def _chosen_by_others(expert: QuadraticExpert, left_out: Array, rows: ExpertRows) -> Array:
    """Let the other folds choose for each fold the columns of an expert that takes some of many.

    Of many columns some differ between the classes by chance, and the rows that chose these would show the expert as
    too good. Many rows are not deceived so.
    """
    _, batch, codes, weight, _, classes, _ = rows.arguments
    numbers = numbers_of(rows.features)
    if numbers.size == expert.features.size or batch.n >= ROWS_TO_CHOOSE * numbers.size:
        return left_out
    z, out = numbers.matrix(batch), left_out.copy()
    for fold in folds_of(len(left_out)):
        others = np.r_[: fold.start, fold.stop : batch.n]
        best = most_apart(z[others], codes[others], weight[others], classes)
        found = QuadraticExpert.fit(numbers.of(best), *rows.arguments[1:])
        if found is not None:
            out[fold] = found[1][fold]
    return out
