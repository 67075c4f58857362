"""Experts: classifiers in closed form of the rows that a statistic keeps. Each gives evidence for classes.

    linear      a discriminant of scores, ranks, bins and categories, with one covariance: additive in the columns
    quadratic   Gaussians with a covariance for each class, of standard scores of numbers
    cosines     a discriminant of random cosines of ranks and categories: smooth boundaries of any shape

All leave rows out exactly, and choose one parameter by that. Evidence is log p(x | y) up to a term that all classes
share, if the expert were right about the columns; it is meant to be tempered and pooled with other evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from suffice.core.arrays import Array, Codes
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.families.product import Block
from suffice.model.cosine_expert import ALL_COLUMNS, CosineExpert
from suffice.model.exponents import folds_of
from suffice.model.features import Features
from suffice.model.linear_expert import LEVEL, LinearExpert
from suffice.model.quadratic_expert import QuadraticExpert, most_apart, numbers_of

Expert: TypeAlias = LinearExpert | QuadraticExpert | CosineExpert
ROWS_TO_CHOOSE = 20  # for each column: of more, columns that were chosen by all rows hardly look too good
UNTOLD = (LEVEL, ALL_COLUMNS)  # the titles of formulas of all columns together: no column tells what they say
EXPERTS: tuple[type[Expert], ...] = (LinearExpert, QuadraticExpert, CosineExpert)


def fit_experts(
    blocks: Sequence[Block],
    batch: Batch,
    codes: Codes,
    weight: Array,
    classes: int,
    log_prior: Array,
    near: Mapping[type[Expert], Expert | None] | None = None,
) -> list[tuple[Expert, Array]]:
    """Fit all experts that can be fitted on rows, and return each with the evidence of rows left out, (rows, classes).

    With `near`, only those of its kinds are fitted. What they choose is looked for next to that of fewer rows.

    `log_prior` is (classes,), or (rows, classes) if it is that of each row left out. If it has fewer rows, it is of the
    first, and only these are left out.
    """
    features = Features.fit(blocks, batch, weight)

    def fitted(expert: type[Expert]) -> tuple[Expert, Array] | None:
        rows = features, batch, codes, weight, classes, log_prior
        known = None if near is None else near[expert]
        if isinstance(known, (LinearExpert, CosineExpert)):
            next_to: tuple[Expert, Array] | None = type(known).fit(*rows, known)  # type: ignore[arg-type]  # of one type
            return next_to
        found = expert.fit(*rows)
        if found is None or not isinstance(found[0], QuadraticExpert):
            return found
        quadratic, left_out = found[0], found[1]
        return quadratic, _chosen_by_others(quadratic, left_out, features, batch, codes, weight, classes, log_prior)

    kinds = EXPERTS if near is None else tuple(near)
    return [found for found in in_threads(fitted, kinds, batch.n * features.size) if found is not None]


def _chosen_by_others(
    expert: QuadraticExpert,
    left_out: Array,
    features: Features,
    batch: Batch,
    codes: Codes,
    weight: Array,
    classes: int,
    log_prior: Array,
) -> Array:
    """Let the other folds choose for each fold the columns of an expert that takes some of many.

    Of many columns some differ between the classes by chance, and the rows that chose these would show the expert as
    too good. Many rows are not deceived so.
    """
    numbers = numbers_of(features)
    if numbers.size == expert.features.size or batch.n >= ROWS_TO_CHOOSE * numbers.size:
        return left_out
    z, out = numbers.matrix(batch), left_out.copy()
    for fold in folds_of(len(left_out)):
        others = np.r_[: fold.start, fold.stop : batch.n]
        best = most_apart(z[others], codes[others], weight[others], classes)
        found = QuadraticExpert.fit(numbers.of(best), batch, codes, weight, classes, log_prior)
        if found is not None:
            out[fold] = found[1][fold]
    return out
