"""Experts: classifiers in closed form of the rows that a statistic keeps. Each gives evidence for classes.

    linear      a discriminant of scores, ranks, bins and categories, with one covariance: additive in the columns
    quadratic   Gaussians with a covariance for each class, of standard scores of numbers
    cosines     a discriminant of random cosines of ranks and categories: smooth boundaries of any shape

All leave rows out exactly, and choose one parameter by that. Evidence is log p(x | y) up to a term that all classes
share, if the expert were right about the columns; it is meant to be tempered and pooled with other evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from suffice.core.arrays import Array, Codes
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.families.product import Block
from suffice.model.cosine_expert import CosineExpert
from suffice.model.features import Features
from suffice.model.linear_expert import LinearExpert
from suffice.model.quadratic_expert import QuadraticExpert

Expert: TypeAlias = LinearExpert | QuadraticExpert | CosineExpert
EXPERTS: tuple[type[Expert], ...] = (LinearExpert, QuadraticExpert, CosineExpert)


def fit_experts(
    blocks: Sequence[Block], batch: Batch, codes: Codes, weight: Array, classes: int, log_prior: Array
) -> list[tuple[Expert, Array]]:
    """Fit all experts that can be fitted on rows, and return each with the evidence of rows left out, (rows, classes).

    `log_prior` is (classes,), or (rows, classes) if it is that of each row left out. If it has fewer rows, it is of the
    first, and only these are left out.
    """
    features = Features.fit(blocks, batch, weight)

    def fitted(expert: type[Expert]) -> tuple[Expert, Array] | None:
        return expert.fit(features, batch, codes, weight, classes, log_prior)

    return [found for found in in_threads(fitted, EXPERTS, batch.n * features.size) if found is not None]
