"""Logarithms of probabilities, of which some are zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice import _core
from suffice.tables import Array, Codes, as_csr, refuse_at


def log(p: Array, of_zero: float = -np.inf) -> Array:
    """Log p, and `of_zero` where p is 0, without a warning."""
    if p.size and p.min() > 0:
        return np.log(p)
    return np.log(p, out=np.full_like(p, of_zero), where=p > 0)


def finite_log(p: Array) -> Array:
    """Log p, and 0 where p is 0: what is impossible is counted by the vetoes."""
    return log(p, of_zero=0.0)


def log_sums(table: Array, x: Any, codes: Codes, removed: Array) -> tuple[Array, Array]:
    """Σ_j x_ij log(table[codes[i], j] − removed[i] · x_ij) and Σ_j x_ij of each row, missing entries left out.

    The first is −inf where nothing is left of a count.
    """
    x = as_csr(x)
    sums, lengths = np.empty((2, x.shape[0]))
    table = np.ascontiguousarray(table)
    refuse_at(_core.sparse_log_sums(x.data, x.indices, x.indptr, codes, removed, table, sums, lengths), x)
    return sums, lengths
