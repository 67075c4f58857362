"""A linear discriminant of random cosines of ranks and categories, as an expert for smooth boundaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from itertools import chain
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Positions
from suffice.core.errors import MismatchError
from suffice.core.labels import label_list
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.core.validation import Held
from suffice.formulas import Cosines, Term
from suffice.model.column_scores import feature_formulas
from suffice.model.features import CategoryFeatures, Features, NumberFeatures
from suffice.model.ridge_scatter import SHRINKAGES, FittedRows, RidgeScatter, can_learn, shrinkages_near
from suffice.model.storage import storable

COSINES = 512  # or twice as many
FEWEST, ENTRIES = 64, 1 << 15  # with many classes there are fewer, so that classes × cosines stay below the latter
NARROWEST, WIDEST = 0.3, 3.0  # widths of the kernels that the cosines mix, relative to the spread
# Shares of the spread of the features that are tried: narrower kernels follow finer boundaries.
SPREADS = (1.0, 1.0 / 3.0)
ALL_COLUMNS = "cosines of all columns"  # the title of their formula
SEED = 20060  # of the frequencies, which are the same for all tables
LANES = 16  # the kernel computes so many cosines at a time
AT_ONCE = 1 << 16  # rows whose cosines are computed at a time


@storable
@dataclass(frozen=True, eq=False)
class CosineExpert:
    """E_k(x) = intercept_k + coef_k · z(x),   z(x) = √(2/D) cos 2π(ω φ(x) / spread + phase).

    A linear discriminant, as `ridge_scatter` has it, of D cosines. φ are ranks of numbers and indicators of categories,
    and `spread` is the root of the mean of |φ|², or a third of it. The frequencies ω depend on nothing but how many
    features and cosines there are (random Fourier features; Rahimi and Recht, 2007): they are Gaussian, of widths from
    0.3 to 3, so that the cosines mix wide and narrow kernels. `shrinkage` is λ. It and the spread are found by exact
    leave-one-out.
    """

    features: Features
    spread: Annotated[float, Held(above=0)]
    coef: Annotated[Array, Held("classes", "cosines")]
    intercept: Annotated[Array, Held("classes")]
    shrinkage: Annotated[float, Held(above=0)]

    title: ClassVar[str] = "cosines"

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
        near: CosineExpert | None = None,
        spread: float = 1.0,
        most: int | None = None,
        shrinkages: Sequence[float] = SHRINKAGES,
    ) -> tuple[CosineExpert, Array] | None:
        """Fit on rows, and return the evidence of each without it too, (rows, classes); None if nothing can be learned.

        `unit` is the weight of each row that is left out. `log_prior` (classes,) or (rows, classes) is what the
        evidence is judged together with; see `ExpertRows`. There are `most` cosines, fewer if there are many classes;
        `spread` is a share of that of the features. Both are taken from `near`, an expert of fewer rows or cosines, and
        `shrinkages` are those next to that of it.
        """
        features = cosine_columns(features)
        if not can_learn(codes, weight, features.size):
            return None
        whole = spread_of(features, batch, weight)
        if not whole > 0:
            return None
        if near is not None:
            spread = min(SPREADS, key=lambda each: abs(np.log(near.spread / (each * whole))))
        spread *= whole
        if most is None:
            most = COSINES if near is None else near.coef.shape[1]
        cosines = int(np.clip(ENTRIES // classes, FEWEST, most)) // LANES * LANES
        own = CosineFeatures(features, spread, cosines).matrix(batch)
        scatter = RidgeScatter.of(own, codes, weight, classes)
        if near is not None:
            shrinkages = shrinkages_near(near.shrinkage)
        shrinkage, linear, left_out = scatter.fit(own, codes, weight, unit, log_prior, shrinkages)
        return cls(features, spread, *linear, shrinkage), left_out

    def check_agreement(self) -> None:
        """Raise an error if there are no features, or more cosines than are ever made."""
        if not self.features.size:
            raise MismatchError("features must be of at least one column")
        if not 0 < self.coef.shape[1] <= 2 * COSINES or self.coef.shape[1] % LANES:
            raise MismatchError(f"coef must be of {LANES} to {2 * COSINES} cosines, found {self.coef.shape[1]}")

    @cached_property
    def _cosines(self) -> CosineFeatures:
        return CosineFeatures(self.features, self.spread, self.coef.shape[1])

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def evidence(self, batch: Batch) -> Array:
        """Compute E of every row and class, (rows, classes)."""
        coef = np.ascontiguousarray(self.coef)

        def some(lo: int) -> Array:
            return self._cosines.scores(batch[lo : lo + AT_ONCE], coef, self.intercept)

        parts = in_threads(some, range(0, batch.n, AT_ONCE), batch.n * self.coef.shape[1])
        return np.concatenate([np.zeros((0, len(self.intercept))), *parts])

    def of_one(self) -> Callable[[Mapping[str, Any]], Array]:
        """Return what computes E of one row, (classes,): floats, categories and None by the names of columns."""
        return self._cosines.scores_of_one(np.ascontiguousarray(self.coef), self.intercept)

    def left_out(self, batch: Batch, codes: Codes, unit: Array, fitted: FittedRows | None = None) -> Array:
        """Compute the evidence of each row under the expert without `unit` of its weight, (rows, classes).

        The rows must be some of those that the expert was `fitted` on; by default they are all of them.
        """
        rows = batch, codes, unit
        return RidgeScatter.left_out_of(self._cosines.matrix, self.shrinkage, rows, fitted or rows, len(self.coef))

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each part of `contrast`: one part, which no column tells."""
        return ((),)

    def contrast(self, batch: Batch, first: Positions, second: Positions) -> Array:
        """Compute E_first − E_second, (rows, 1): it can not be told by column."""
        rows, evidence = np.arange(batch.n), self.evidence(batch)
        return np.asarray(evidence[rows, first] - evidence[rows, second])[:, None]

    def formula(self, names: Sequence[str] = ()) -> list[Term]:  # noqa: ARG002  # features know their names
        """Return one formula, of all columns, in float64; `evidence` computes cosines in float32."""
        frequency, phase = (each.astype(np.float64) for each in self._cosines.waves)
        of = tuple(chain.from_iterable(feature_formulas(column) for column in self.features.columns))
        cosines = Cosines(of, frequency, phase, self._cosines.height * self.coef)
        columns = tuple(dict.fromkeys(column.name for column in self.features.columns))
        return [Term(ALL_COLUMNS, columns, cosines + self.intercept)]


@dataclass(frozen=True, eq=False)
class CosineFeatures:
    """Cosines of ranks and categories, computed by a kernel: a category adds its row of frequencies."""

    features: Features
    spread: float
    cosines: int

    def matrix(self, batch: Batch) -> NDArray[np.float32]:
        """Compute the cosines of rows, (rows, cosines)."""
        out = np.empty((batch.n, self.cosines), np.float32)
        _core.cosines(*self._read(batch), *self.waves, self.height, out)
        return out

    def scores(self, batch: Batch, coef: Array, intercept: Array) -> Array:
        """Compute the product of the cosines of rows with coef (classes, cosines), plus the intercept (classes,)."""
        out = np.empty((batch.n, len(coef)))
        _core.cosine_scores(*self._read(batch), *self.waves, self.height, coef, intercept, out)
        return out

    @property
    def height(self) -> float:
        """The greatest value of a cosine."""
        return float(np.sqrt(2.0 / self.cosines))

    @cached_property
    def waves(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The frequencies (features, cosines) and phases (cosines,), in turns."""
        frequency, phase = frequencies(self.features.size, self.cosines)
        return (frequency / self.spread).astype(np.float32), phase.astype(np.float32)

    def _read(self, batch: Batch) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
        """Return ranks, the positions of categories among the features (−1 if there is none), and those of ranks."""
        numbers, categories = self._numbers, self._categories
        x = np.empty((batch.n, len(numbers)), np.float32)
        codes = np.empty((batch.n, len(categories)), np.int32)
        for j, (number, _) in enumerate(numbers):
            number.fill_ranks(batch, x[:, j])
        for j, (category, own) in enumerate(categories):
            table = np.full(len(category.keys) + 2, -1, np.int32)
            table[: own.stop - own.start] = np.arange(own.start, own.stop)
            codes[:, j] = table[category.read(batch)]
        return x, codes, np.array([own.start for _, own in numbers], np.int64)

    def scores_of_one(self, coef: Array, intercept: Array) -> Callable[[Mapping[str, Any]], Array]:
        """Return what computes `scores` of one row of values by the names of columns, without a batch."""
        numbers = [(column.name, column.missing, column.rank_of_one()) for column, _ in self._numbers]
        categories = []
        for column, own in self._categories:
            places = {key: own.start + i for i, key in enumerate(label_list(column.keys))}
            categories.append((column.name, places, own.stop - 1 if column.rest else -1))
        (frequency, phase), starts = self.waves, np.array([own.start for _, own in self._numbers], np.int64)

        def scores(row: Mapping[str, Any]) -> Array:
            x, codes = np.empty((1, len(numbers)), np.float32), np.empty((1, len(categories)), np.int32)
            for j, (name, missing, rank) in enumerate(numbers):
                value = row[name]
                x[0, j] = rank(float(value is None) if missing else value)
            for j, (name, places, rest) in enumerate(categories):
                value = row[name]
                codes[0, j] = -1 if value is None else places.get(value, rest)
            out = np.empty((1, len(coef)))
            _core.cosine_scores(x, codes, starts, frequency, phase, self.height, coef, intercept, out)
            return out[0]

        return scores

    @cached_property
    def _numbers(self) -> list[tuple[NumberFeatures, slice]]:
        each = zip(self.features.columns, self.features.slices, strict=True)
        return [(column, own) for column, own in each if isinstance(column, NumberFeatures)]

    @cached_property
    def _categories(self) -> list[tuple[CategoryFeatures, slice]]:
        each = zip(self.features.columns, self.features.slices, strict=True)
        return [(column, own) for column, own in each if isinstance(column, CategoryFeatures)]


def cosine_columns(features: Features) -> Features:
    """Return the features that cosines are of."""
    return features.only("ranks", "categories")


def spread_of(features: Features, batch: Batch, weight: Array) -> float:
    """Compute the root of the mean of |φ|²."""
    total = 0.0
    for column in features.columns:
        if isinstance(column, NumberFeatures):
            total += float(weight @ column.rank(column.read(batch)) ** 2)
        else:
            codes = column.read(batch)
            total += float(weight[(codes >= 0) & (codes < column.sizes["categories"])].sum())
    return float(np.sqrt(total / weight.sum()))


@lru_cache(maxsize=8)
def frequencies(features: int, cosines: int) -> tuple[Array, Array]:
    """Return frequencies ω (features, cosines) and phases (cosines,), in turns.

    They come from the bits of a generator, not from its distributions: versions of NumPy may change the latter, and a
    file that was written by another version must mean the same.
    """
    from scipy.special import ndtri

    bits = np.random.PCG64(SEED).random_raw(cosines * (features + 2))
    uniform = ((np.asarray(bits) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    phase, width, rest = uniform[:cosines], uniform[cosines : 2 * cosines], uniform[2 * cosines :]
    spread = NARROWEST * (WIDEST / NARROWEST) ** width
    return ndtri(rest).reshape(features, cosines) / (2.0 * np.pi * spread), phase
