"""Shapes and names that both the plots and the report draw."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from suffice.core.arrays import Array


def ellipse(mean: Array, covariance: Array, radius: float) -> Array:
    """Return points of the ellipse (x − μ)ᵀ Σ⁻¹ (x − μ) = radius², (2, points), for two columns."""
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    values, vectors = np.linalg.eigh(covariance)
    scale = radius * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean[:, None] + vectors * scale @ np.stack([np.cos(angle), np.sin(angle)]))


def outcome_names(outcomes: Iterable[str]) -> list[str]:
    """Return the names of outcomes; integers without `.0`.

    >>> outcome_names(["1.0", "2.0"]), outcome_names(["1.0", "2.5"])
    (['1', '2'], ['1.0', '2.5'])
    """
    names = list(outcomes)
    return [name.removesuffix(".0") for name in names] if all(name.endswith(".0") for name in names) else names
