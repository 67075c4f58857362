"""Native kernels that accelerate formulas, by the class of a distribution. A test holds each equal to its formula."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from suffice import _core
from suffice.core.arrays import (
    Array,
    Dense,
    Matrix,
    Sparse,
    as_csr,
    is_sparse,
    pack,
    refuse_at,
    refuse_infinite,
    without_duplicates,
)

Kernel: TypeAlias = Callable[[Any, Any], Array]  # from a distribution and rows to the log-density, (rows, classes)
KERNELS: dict[type, Kernel] = {}
UNORDERED = -3  # what the kernel returns for rows whose entries may be stored in parts, which it would misread


def accelerates(distribution: type) -> Callable[[Kernel], Kernel]:
    """Register a kernel that computes the log-density of a class of distributions."""

    def register(kernel: Kernel) -> Kernel:
        KERNELS[distribution] = kernel
        return kernel

    return register


class LinearScores:
    """intercept + x · coefᵀ with intercept = Σ_j absent_j; missing entries are left out of both sums."""

    def __init__(self, coef: Array, absent: Array | None = None):
        self.coef = coef
        self.absent = absent
        self.intercept = np.zeros(len(coef)) if absent is None else absent.sum(axis=1)

    @cached_property
    def _packed(self) -> tuple[Array, Array | None]:
        return pack(self.coef), None if self.absent is None else pack(self.absent)

    def of(self, x: Matrix, threshold: float | None) -> Array:
        """Compute the scores of every row, (rows, classes)."""
        return self._sparse(x, threshold) if is_sparse(x) else self._dense(x, threshold)

    def _sparse(self, x: Sparse, threshold: float | None) -> Array:
        x, (coef, absent) = as_csr(x), self._packed
        out = np.empty((x.shape[0], len(self.coef)))

        def score(x: Sparse) -> int:
            return _core.sparse_scores(x.data, x.indices, x.indptr, threshold, coef, absent, self.intercept, out)

        found = score(x)
        refuse_at(score(without_duplicates(x)) if found == UNORDERED else found, x)
        return out

    def _dense(self, x: Dense, threshold: float | None) -> Array:
        # The kernel notices NaN and infinity in the scores. It cannot if x is only compared with the threshold.
        if threshold is None:
            out = np.empty((x.shape[0], len(self.coef)))
            if _core.dense_scores(x, self._packed[0], self.intercept, out):
                return out
        refuse_infinite(x)
        missing = np.isnan(x)
        entries = np.where(missing, 0.0, x if threshold is None else x > threshold)
        with np.errstate(over="ignore"):
            out = entries @ self.coef.T + self.intercept
        if self.absent is not None and missing.any():
            out -= missing.astype(np.float64) @ self.absent.T
        return np.asarray(out)
