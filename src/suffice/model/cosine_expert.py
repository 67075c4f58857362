"""A linear discriminant of random cosines of ranks and categories, as an expert for smooth boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Positions
from suffice.core.errors import MismatchError, NoFormulaError
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.core.validation import Held
from suffice.formulas import Term
from suffice.model.features import Features
from suffice.model.linear_expert import FittedRows
from suffice.model.ridge_scatter import RidgeScatter, can_learn
from suffice.model.storage import storable

COSINES = 512
FEWEST, ENTRIES = 64, 1 << 15  # with many classes there are fewer, so that classes × cosines stay below the latter
NARROWEST, WIDEST = 0.3, 3.0  # widths of the kernels that the cosines mix, relative to the spread of the features
SEED = 20060  # of the frequencies, which are the same for all tables
AT_ONCE = 1 << 12  # rows whose cosines are computed at a time


@storable
@dataclass(frozen=True, eq=False)
class CosineExpert:
    """E_k(x) = intercept_k + coef_k · √(2/D) cos(ω φ(x) / spread + phase), a linear discriminant, see `ridge_scatter`.

    φ are ranks of numbers and indicators of categories, ω frequencies that depend on nothing but how many features and
    cosines there are (random Fourier features; Rahimi and Recht, 2007): Gaussian ones of widths from 0.3 to 3, so that
    the cosines mix wide and narrow kernels. `spread` is the root of the mean of |φ|². `shrinkage` is λ, by exact
    leave-one-out.
    """

    features: Features
    spread: Annotated[float, Held(above=0)]
    coef: Annotated[Array, Held("classes", "cosines")]
    intercept: Annotated[Array, Held("classes")]
    shrinkage: Annotated[float, Held(above=0)]

    @classmethod
    def fit(
        cls, features: Features, batch: Batch, codes: Codes, weight: Array, classes: int, log_prior: Array
    ) -> tuple[CosineExpert, Array] | None:
        """Fit on rows, and return the evidence of each without it too, (rows, classes); None if nothing can be learned.

        `log_prior` (classes,) or (rows, classes) is what the evidence is judged together with.
        """
        features = features.only("ranks", "categories")
        if not can_learn(codes, weight, features.size):
            return None
        phi = features.matrix(batch)
        spread = float(np.sqrt(weight @ np.einsum("ij,ij->i", phi, phi) / weight.sum()))
        if not spread > 0:
            return None
        cosines = int(np.clip(min(ENTRIES // classes, len(codes)), FEWEST, COSINES))
        own = _cosines(phi, spread, cosines)
        scatter = RidgeScatter.of(own, codes, weight, classes)
        shrinkage = scatter.choose(own, codes, weight, log_prior)
        ridge = scatter.ridge(shrinkage)
        return cls(features, spread, *scatter.linear(ridge), shrinkage), scatter.left_out(own, codes, weight, ridge)

    def check_agreement(self) -> None:
        """Raise an error if there are no features, or more cosines than are ever made."""
        if not self.features.size:
            raise MismatchError("features must be of at least one column")
        if not 0 < self.coef.shape[1] <= COSINES:
            raise MismatchError(f"coef must be of at most {COSINES} cosines, found {self.coef.shape[1]}")

    def evidence(self, batch: Batch) -> Array:
        """Compute E of every row and class, (rows, classes)."""

        def some(lo: int) -> Array:
            phi = self.features.matrix(batch[lo : lo + AT_ONCE])
            return np.asarray(_cosines(phi, self.spread, self.coef.shape[1]) @ self.coef.T + self.intercept)

        parts = in_threads(some, range(0, batch.n, AT_ONCE), batch.n * self.coef.shape[1])
        return np.concatenate([np.zeros((0, len(self.intercept))), *parts])

    def left_out(self, batch: Batch, codes: Codes, weight: Array, fitted: FittedRows | None = None) -> Array:
        """Compute the evidence of each row under the expert without min(weight, 1) of it, (rows, classes).

        The rows must be some of those that the expert was `fitted` on; by default they are all of them.
        """
        kept, kept_codes, kept_weight = fitted or (batch, codes, weight)
        classes, size = self.coef.shape
        every = _cosines(self.features.matrix(kept), self.spread, size)
        scatter = RidgeScatter.of(every, kept_codes, kept_weight, classes)
        own = _cosines(self.features.matrix(batch), self.spread, size) - (scatter.mean + scatter.origin)[codes]
        return scatter.left_out(own, codes, weight, scatter.ridge(self.shrinkage))

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each part of `contrast`: one part, which no column tells."""
        return ((),)

    def contrast(self, batch: Batch, first: Positions, second: Positions) -> Array:
        """Compute E_first − E_second, (rows, 1): it can not be told by column."""
        rows, evidence = np.arange(batch.n), self.evidence(batch)
        return np.asarray(evidence[rows, first] - evidence[rows, second])[:, None]

    def formula(self, names: Sequence[str] = ()) -> list[Term]:  # noqa: ARG002  # features know their names
        """Refuse: hundreds of cosines of all columns are no formula to send to a database or a page."""
        raise NoFormulaError(
            f"The expert of {self.coef.shape[1]} random cosines has no formula: fit with "
            'structure="pairs", which has one'
        )


def _cosines(phi: Array, spread: float, cosines: int) -> Array:
    """Compute √(2/D) cos(ω φ / spread + phase), (rows, cosines): the sum in float32, whose digits are enough for it."""
    frequency, phase = frequencies(phi.shape[1], cosines)
    turned = phi.astype(np.float32) @ (frequency / np.float32(spread))
    turned += phase
    np.cos(turned, out=turned)
    turned *= np.float32(np.sqrt(2.0 / cosines))
    return turned.astype(np.float64)


@lru_cache(maxsize=8)
def frequencies(features: int, cosines: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return frequencies ω (features, cosines) and phases (cosines,).

    They come from the bits of a generator, not from its distributions: versions of NumPy may change the latter, and a
    file that was written by another version must mean the same.
    """
    from scipy.special import ndtri

    bits = np.random.PCG64(SEED).random_raw(cosines * (features + 2))
    uniform = ((np.asarray(bits) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    phase, width, rest = uniform[:cosines], uniform[cosines : 2 * cosines], uniform[2 * cosines :]
    spread = NARROWEST * (WIDEST / NARROWEST) ** width
    frequency = ndtri(rest).reshape(features, cosines) / spread
    return frequency.astype(np.float32), (2.0 * np.pi * phase).astype(np.float32)
