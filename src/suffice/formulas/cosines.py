"""Sums of cosines over several numbers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from suffice.formulas.arithmetic import Formula, by_class, by_class_and_term
from suffice.formulas.environments import Environment
from suffice.formulas.node import Array


class Cosines(Formula):
    """Σ_d coef_d cos 2π(phase_d + Σ_j frequency_jd φ_j) of numbers φ_j, formulas that all classes share.

    `frequency` is (numbers, cosines), `phase` is (cosines,), and `coef` is (classes, cosines).
    """

    of: tuple[Formula, ...]
    frequency: Array
    phase: Array
    coef: Array

    converts: ClassVar = {"frequency": by_class_and_term, "phase": by_class, "coef": by_class_and_term}

    def on(self, rows: Environment) -> Array:
        """Multiply the numbers by all frequencies, and the cosines by all coefficients."""
        numbers = np.concatenate([np.broadcast_to(each.on(rows), (rows.n, 1)) for each in self.of], axis=1)
        return np.asarray(np.cos(2.0 * np.pi * (numbers @ self.frequency + self.phase)) @ self.coef.T)
