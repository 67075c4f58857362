"""A linear discriminant of features of all columns, shrunk to a sphere, as an expert: evidence in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, Positions
from suffice.core.errors import MismatchError
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.core.validation import Held
from suffice.formulas import Constant, Formula, Term, total, unless_missing
from suffice.model.column_scores import CategoryTable, Pieces, column_scores
from suffice.model.features import Features, NumberFeatures
from suffice.model.ridge_scatter import SHRINKAGES, FittedRows, RidgeScatter, can_learn, shrinkages_near
from suffice.model.storage import storable

LEVEL = "level of the linear expert"  # the title of what no column tells
AT_ONCE = 1 << 16  # rows that are scored at a time


@storable
@dataclass(frozen=True, eq=False)
class LinearExpert:
    """E_k(x) = intercept_k + coef_k · φ(x), the log-density of Gaussians with one covariance, see `ridge_scatter`.

    φ are the features, `mean` those of the class means, (classes, features). Terms that all classes share are left out:
    the sum over classes is 0. `shrinkage` is λ, by exact leave-one-out.
    """

    features: Features
    coef: Annotated[Array, Held("classes", "features")]
    intercept: Annotated[Array, Held("classes")]
    mean: Annotated[Array, Held("classes", "features")]
    shrinkage: Annotated[float, Held(above=0)]

    title: ClassVar[str] = "linear"

    @classmethod
    def fit(
        cls,
        features: Features,
        batch: Batch,
        codes: Codes,
        weight: Array,
        unit: Array,
        classes: int,
        log_prior: Array,
        near: LinearExpert | None = None,
    ) -> tuple[LinearExpert, Array] | None:
        """Fit on rows, and return the evidence of each without it too, (rows, classes); None if nothing can be learned.

        `unit` is the weight of each row that is left out. `log_prior` (classes,) or (rows, classes) is what the
        evidence is judged together with; see `ExpertRows`. The shrinkage is looked for next to that of `near`, the
        expert of fewer rows.
        """
        if not can_learn(codes, weight, features.size):
            return None
        own: Any = features.matrix(batch)
        if near is not None:
            own = own.astype(np.float32)  # as those of cosines always are
        scatter = RidgeScatter.of(own, codes, weight, classes)
        shrinkages = SHRINKAGES if near is None else shrinkages_near(near.shrinkage)
        shrinkage, linear, left_out = scatter.fit(own, codes, weight, unit, log_prior, shrinkages)
        return cls(features, *linear, scatter.drawn + scatter.origin, shrinkage), left_out

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def check_agreement(self) -> None:
        """Raise an error if there is not a coefficient for each feature."""
        if self.coef.shape[1] != self.features.size:
            raise MismatchError(f"coef must be of {self.features.size} features, found {self.coef.shape[1]}")

    @cached_property
    def _scores(self) -> list[Pieces | CategoryTable]:
        each = zip(self.features.columns, self.features.slices, strict=True)
        return [column_scores(column, self.coef[:, own]) for column, own in each]

    def evidence(self, batch: Batch) -> Array:
        """Compute E of every row and class, (rows, classes)."""

        def some(lo: int) -> Array:
            part = batch[lo : lo + AT_ONCE]
            out = np.repeat(self.intercept[None], part.n, axis=0)
            for scores in self._scores:
                scores.add(part, out)
            return out

        starts = range(0, batch.n, AT_ONCE)
        parts = in_threads(some, starts, batch.n * len(self._scores))
        return np.concatenate([np.zeros((0, len(self.intercept))), *parts])

    def left_out(self, batch: Batch, codes: Codes, unit: Array, fitted: FittedRows | None = None) -> Array:
        """Compute the evidence of each row under the expert without `unit` of its weight, (rows, classes).

        The rows must be some of those that the expert was `fitted` on; by default they are all of them.
        """
        rows = batch, codes, unit
        return RidgeScatter.left_out_of(self.features.matrix, self.shrinkage, rows, fitted or rows, len(self.coef))

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each part of `contrast`: each column, and what no column tells."""
        return (*((column.name,) for column in self.features.columns), ())

    def contrast(self, batch: Batch, first: Positions, second: Positions) -> Array:
        """Compute what each column adds to E_first − E_second, (rows, parts).

        A column adds (coef_first − coef_second) · (φ − the mean of all class means), over its features. What this is
        for a missing value, and what no column tells, is the last part, so that columns which are missing add 0.
        """
        rows, out = np.arange(batch.n), np.zeros((batch.n, len(self.parts)))
        out[:, -1] = self.intercept[first] - self.intercept[second]
        for j, (column, level) in enumerate(zip(self.features.columns, self._levels, strict=True)):
            middle = level[first] - level[second]
            scores, missing = np.zeros((batch.n, len(self.coef))), column.is_missing(batch)
            self._scores[j].add(batch, scores)
            out[:, j] = np.where(missing, 0.0, scores[rows, first] - scores[rows, second] - middle)
            out[:, -1] += np.where(missing, 0.0, middle)
        return out

    def formula(self, names: Sequence[str] = ()) -> list[Term]:  # noqa: ARG002  # features know their names
        """Return a formula for each column, 0 where it is missing, and one of the level; their sum is the evidence."""
        out: list[Term] = []
        rest: list[Formula] = [Constant(self.intercept)]
        for column, scores, level in zip(self.features.columns, self._scores, self._levels, strict=True):
            formula = scores.formula() - level
            if isinstance(column, NumberFeatures) and column.missing:  # it says whether a number is there
                rest.append(Constant(level))
            else:
                formula = unless_missing(column.name, formula)
                rest.append(unless_missing(column.name, Constant(level)))
            out.append(Term(column.name, (column.name,), formula))
        columns = tuple(dict.fromkeys(column.name for column in self.features.columns))
        return [*out, Term(LEVEL, columns, total(rest))]

    @cached_property
    def _levels(self) -> list[Array]:
        """What each column adds to E at the mean of all class means, (classes,)."""
        middle = self.mean.mean(axis=0)
        return [np.asarray(self.coef[:, own] @ middle[own]) for own in self.features.slices]
