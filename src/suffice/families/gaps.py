"""Gaps of rows filled with what is expected in their place."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.tables import Array, is_sparse


def fill_gaps(x: Any, mean: Array) -> Array:
    """Each row as it is, and in its gaps each class's mean: (rows, classes, columns)."""
    x = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)[:, None, :]
    return np.where(np.isnan(x), mean, x)
