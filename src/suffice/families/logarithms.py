"""Logarithms of probabilities that may be zero."""

from __future__ import annotations

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes, Matrix, as_csr, count_entries, refuse_at, without_duplicates
from suffice.core.statistics.statistic import clear_residue


def log(p: Array, of_zero: float = -np.inf) -> Array:
    """Compute log p, and `of_zero` where p is 0, without a warning."""
    if p.size and p.min() > 0:
        return np.log(p)
    return np.log(p, out=np.full_like(p, of_zero), where=p > 0)


def log_sums(table: Array, x: Matrix, codes: Codes, removed: Array) -> tuple[Array, Array]:
    """Compute Σ_j x_ij log(table[codes[i], j] − removed[i] · x_ij) and Σ_j x_ij of each row.

    Missing entries are left out. The first sum is −inf where nothing is left of a count.
    """
    x, table = without_duplicates(as_csr(x)), np.ascontiguousarray(table)
    sums, lengths = np.empty((2, x.shape[0]))
    refuse_at(_core.sparse_log_sums(x.data, x.indices, x.indptr, codes, removed, table, sums, lengths), x)
    return sums, lengths


def peak_losses(table: Array, x: Matrix, codes: Codes, removed: Array) -> Array:
    """Compute Σ_j max(t_j, 0) − max(t_j − removed[i] · x_ij, 0) of each row, where t = table[codes[i]]."""
    rows, columns, values = count_entries(x)
    before = table[codes[rows], columns]
    after = clear_residue(before - removed[rows] * values, before)
    lost = np.maximum(before, 0.0) - np.maximum(after, 0.0)
    return np.asarray(np.bincount(rows, weights=lost, minlength=x.shape[0]), dtype=np.float64)


def log_ratio(a: Array, b: Array) -> Array:
    """Compute a − b, the log-odds of two log-probabilities; 0 where both are impossible."""
    return np.subtract(a, b, out=np.zeros_like(a), where=~(np.isneginf(a) & np.isneginf(b)))
