"""What attacks are aimed at: every estimator of the package, with options and rows that suit it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from attacks.sequences import exported as estimator_classes
from suffice.estimators.generative_classifier import GenerativeClassifier

__all__ = ["estimator_classes", "make", "methods_of_rows", "rows_for"]

# Options without which an estimator refuses the few rows of an attack, or answers too slowly.
OPTIONS: dict[str, dict[str, Any]] = {
    "QuadraticDiscriminantAnalysis": {"reg_param": 0.1},
    "TextClassifier": {"event": "multinomial", "smoothing": 1.0, "keep": 10},
}
TEXTS = ["buy now", "now or never", "lunch at noon", "noon", "buy buy buy", "see you there"]


def make(cls: type[GenerativeClassifier]) -> Any:
    """Make an estimator with options that suit few rows."""
    return cls(**OPTIONS.get(cls.__name__, {}))


def rows_for(cls: type[GenerativeClassifier], n: int = 12) -> Any:
    """Return rows that an estimator accepts, not all alike."""
    if cls._form == "texts":
        return [TEXTS[i % len(TEXTS)] for i in range(n)]
    numbers = np.random.default_rng(5).integers(0, 4, (n, 3)).astype(np.float64)
    numbers[:, 0] += np.arange(n) % 3  # no column is constant within a class
    return numbers


def methods_of_rows(cls: type) -> Iterator[str]:
    """Yield the names of the public methods that take rows."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and "X" in inspect.signature(method).parameters:
            yield name
