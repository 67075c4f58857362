"""Distributions of counts whose log is linear in x: Bernoulli, multinomial, Poisson."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Values, is_sparse, refuse_at, refuse_infinite
from suffice.core.errors import NoLinearFormError
from suffice.families._base import Distribution, Table, pack
from suffice.formulas import Column, Constant, Formula, Steps, Term, excluding, unless_missing


class LinearDistribution(Distribution):
    """log p(x | y) = Σ_j absent_j + x_j · coef_j, missing entries left out, plus what all classes share.

    `absent` is log p(x_j = 0 | y), zero for the multinomial, and `coef` what each unit of x_j adds;
    (classes, columns) each. Where one would be infinite the finite part is kept here and the
    impossible one in `vetoes`: products of 0 and −inf are NaN.
    """

    threshold: float | None = None  # where given, x_j is read as the truth of x_j > threshold

    @property
    @abstractmethod
    def scores(self) -> LinearScores:
        """The finite parts."""

    @property
    @abstractmethod
    def vetoes(self) -> LinearScores | None:
        """How many entries are impossible, which is linear in x as well; None where all are possible."""

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes)."""
        out = self.scores.of(x, self.threshold)
        out += self._shared(x)
        if self.vetoes is not None:
            out[self.vetoes.of(x, self.threshold) > 1e-12] = -np.inf
        return out

    def formula(self, names: Sequence[str]) -> list[Term]:
        """Absent + x · coef of each column, and which classes its entries exclude."""
        return [Term(n, (n,), unless_missing(n, self.formula_of(n, j))) for j, n in enumerate(names)]

    def formula_of(self, name: str, column: int) -> Formula:
        """What an entry of a column says."""
        coef = self.scores.coef[:, column]
        absent = np.zeros(len(coef)) if self.scores.absent is None else self.scores.absent[:, column]
        vetoes = self.vetoes
        if self.threshold is not None:  # a truth says one of two things
            said = np.stack([absent, absent + coef], axis=1)
            if vetoes is not None:
                without = np.zeros_like(coef) if vetoes.absent is None else vetoes.absent[:, column]
                said[np.stack([without, without + vetoes.coef[:, column]], axis=1) > 0] = -np.inf
            return Steps(name, np.array([self.threshold]), said)
        out = Constant(absent) + coef * Column(name)
        if vetoes is None:
            return out
        absent = np.zeros_like(coef) if vetoes.absent is None else vetoes.absent[:, column]
        present = absent + vetoes.coef[:, column]
        out = out + excluding(name, 1e-12, np.where(present > 0, -np.inf, 0.0))
        if not absent.any():
            return out
        return out + Steps(
            name, np.array([1.0 - 1e-12]), np.stack([np.where(absent > 0, -np.inf, 0.0), 0.0 * absent], 1)
        )

    def _shared(self, x: Any) -> Array | float:  # noqa: ARG002  # the Poisson looks at x
        """What log p(x | y) holds besides: the same for every class, (rows, 1)."""
        return 0.0

    def contrast(self, x: Any, first: NDArray[Any], second: NDArray[Any]) -> Array:
        """What each column adds to log p(x | first) − log p(x | second), (rows, columns)."""
        if self.vetoes is not None:
            return super().contrast(x, first, second)
        x = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)
        read = x if self.threshold is None else np.where(np.isnan(x), np.nan, x > self.threshold)
        out = read * (self.scores.coef[first] - self.scores.coef[second])
        if self.scores.absent is not None:
            out += self.scores.absent[first] - self.scores.absent[second]
        return np.where(np.isnan(x), 0.0, out)

    def linear(self) -> tuple[Array, Array]:
        """The coefficients and the sum of absent."""
        if self.vetoes is not None:
            raise NoLinearFormError(
                "Some probabilities are zero, so some coefficients would be infinite: smooth with a prior"
            )
        return self.scores.coef, self.scores.intercept

    @property
    @abstractmethod
    def parameter(self) -> Array:
        """The parameter of each class and column, for people."""

    title = "p(x | y)"

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return self.parameter.shape[1]

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """One table: a row for each column, a column for each class."""
        return [Table(self.title, list(names), [str(label) for label in labels], self.parameter.T)]


class LinearScores:
    """intercept + x · coefᵀ with intercept = Σ_j absent_j, missing entries left out of both sums."""

    def __init__(self, coef: Array, absent: Array | None = None):
        self.coef = coef
        self.absent = absent
        self.intercept = np.zeros(len(coef)) if absent is None else absent.sum(axis=1)

    @cached_property
    def _packed(self) -> tuple[Array, Array | None]:
        return pack(self.coef), None if self.absent is None else pack(self.absent)

    @classmethod
    def vetoing(cls, present: NDArray[np.bool_], absent: NDArray[np.bool_] | None = None) -> LinearScores | None:
        """Count impossible entries: where x_j = 1 is, and where x_j = 0 is. None if neither ever is."""
        if not present.any() and (absent is None or not absent.any()):
            return None
        one = present.astype(np.float64)
        return cls(one) if absent is None else cls(one - absent, absent.astype(np.float64))

    def of(self, x: Any, threshold: float | None) -> Array:
        """The scores of every row, (rows, classes)."""
        return self._sparse(x, threshold) if is_sparse(x) else self._dense(x, threshold)

    def _sparse(self, x: Any, threshold: float | None) -> Array:
        coef, absent = self._packed
        out = np.empty((x.shape[0], len(self.coef)))
        infinite = _core.sparse_scores(x.data, x.indices, x.indptr, threshold, coef, absent, self.intercept, out)
        refuse_at(infinite, x)
        return out

    def _dense(self, x: Any, threshold: float | None) -> Array:
        # A NaN or infinity in x shows in the scores, unless x is only compared with the threshold.
        if threshold is None:
            out = np.empty((x.shape[0], len(self.coef)))
            if _core.dense_scores(x, self._packed[0], self.intercept, out):
                return out
        refuse_infinite(x)
        gaps = np.isnan(x)
        read = np.where(gaps, 0.0, x if threshold is None else x > threshold)
        with np.errstate(over="ignore"):
            out = read @ self.coef.T + self.intercept
        if self.absent is not None and gaps.any():
            out -= gaps.astype(np.float64) @ self.absent.T
        return np.asarray(out)
