"""Distributions of counts whose log is linear in x: Bernoulli, multinomial, Poisson."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.errors import NoLinearFormError
from suffice.families.family import Distribution, Table, pack
from suffice.tables import Array, Values, is_sparse, refuse_at


class LinearDistribution(Distribution):
    """log p(x | y) = Σ_j absent_j + x_j (present_j − absent_j), missing entries left out, plus a shared part.

    `present` is log p(x_j = 1 | y) and `absent` log p(x_j = 0 | y), (classes, columns), zero for the
    multinomial; both may be −inf. Products of 0 and −inf are avoided by keeping the finite parts and the
    impossible ones, the vetoes, in tables of their own.
    """

    threshold: float | None = None  # where given, x_j is read as the truth of x_j > threshold

    @property
    @abstractmethod
    def present(self) -> Array:
        """Log p(x_j = 1 | y) up to what all classes share."""

    @property
    def absent(self) -> Array | None:
        """Log p(x_j = 0 | y), None for zero."""
        return None

    @cached_property
    def _scores(self) -> _LinearScores:
        return _LinearScores(_finite(self.present), None if self.absent is None else _finite(self.absent))

    @cached_property
    def _vetoes(self) -> _LinearScores | None:
        """The number of impossible entries is linear in x as well."""
        present = np.isinf(self.present)
        absent = None if self.absent is None else np.isinf(self.absent)
        if not present.any() and (absent is None or not absent.any()):
            return None
        return _LinearScores(present.astype(np.float64), None if absent is None else absent.astype(np.float64))

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes)."""
        out = self._scores.of(x, self.threshold)
        out += self._shared(x)
        if self._vetoes is not None:
            out[self._vetoes.of(x, self.threshold) > 1e-12] = -np.inf
        return out

    def _shared(self, x: Any) -> Array | float:  # noqa: ARG002  # the Poisson looks at x
        """What log p(x | y) holds besides: the same for every class, (rows, 1)."""
        return 0.0

    def linear(self) -> tuple[Array, Array]:
        """The differences present − absent and the sum of absent."""
        if self._vetoes is not None:
            raise NoLinearFormError(
                "Some probabilities are zero, so some coefficients would be infinite: smooth with a prior"
            )
        return self._scores.coef, self._scores.intercept

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


class _LinearScores:
    """intercept + x · coefᵀ, leaving out missing entries; coef = present − absent, intercept = Σ_j absent_j."""

    def __init__(self, present: Array, absent: Array | None):
        self.coef = present if absent is None else present - absent
        self.absent = absent
        self.intercept = np.zeros(len(present)) if absent is None else absent.sum(axis=1)

    @cached_property
    def _packed(self) -> tuple[Array, Array | None]:
        return pack(self.coef), None if self.absent is None else pack(self.absent)

    def of(self, x: Any, threshold: float | None) -> Array:
        return self._sparse(x, threshold) if is_sparse(x) else self._dense(x, threshold)

    def _sparse(self, x: Any, threshold: float | None) -> Array:
        coef, absent = self._packed
        out = np.empty((x.shape[0], len(self.coef)))
        infinite = _core.sparse_scores(x.data, x.indices, x.indptr, threshold, coef, absent, self.intercept, out)
        refuse_at(infinite, x)
        return out

    def _dense(self, x: Any, threshold: float | None) -> Array:
        # A NaN or infinity in x shows in the product, unless x is only compared with the threshold.
        if threshold is None:
            with np.errstate(invalid="ignore", over="ignore"):
                out = np.asarray(x @ self.coef.T, dtype=np.float64)
            if np.isfinite(out).all():
                out += self.intercept
                return out
        refuse_infinite(x)
        gaps = np.isnan(x)
        read = np.where(gaps, 0.0, x if threshold is None else x > threshold)
        out = read @ self.coef.T + self.intercept
        if self.absent is not None and gaps.any():
            out -= gaps.astype(np.float64) @ self.absent.T
        return np.asarray(out)


def _finite(logs: Array) -> Array:
    return np.where(np.isinf(logs), 0.0, logs)


def log(p: Array) -> Array:
    """Log p, −inf where p is 0, without a warning."""
    return np.log(p, out=np.full_like(p, -np.inf), where=p > 0)


def refuse_infinite(x: Any) -> None:
    """Raise if a dense matrix holds an infinite value, naming the first."""
    infinite = np.isinf(x)
    if infinite.any():
        refuse_at(int(np.argmax(infinite)), x)


def gather(table: Array, x: Any, codes: Any) -> tuple[Array, Array, NDArray[np.int64]]:
    """Table[codes[i], j] beside every entry (i, j) that matters: (table entries, x entries, row numbers).

    Missing entries and zeros do not matter.
    """
    if is_sparse(x):
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        columns, values = x.indices[: len(rows)], x.data[: len(rows)]
    else:
        rows, columns = (a.ravel() for a in np.indices(x.shape))
        values = x.ravel()
    seen = (values == values) & (values != 0)
    rows, columns, values = rows[seen], columns[seen], values[seen].astype(np.float64)
    return np.broadcast_to(table, (len(table), x.shape[1]))[codes[rows], columns], values, rows


def add_up(values: Array, rows: Any, n: int) -> Array:
    """Sum values by row."""
    return np.bincount(rows, weights=values, minlength=n).astype(np.float64, copy=False)
