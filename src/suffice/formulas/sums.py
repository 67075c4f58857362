"""Sums over columns, and logarithms of sums of exponentials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.formulas.arithmetic import Column, Formula, Square, classwise
from suffice.formulas.node import Array, Reads
from suffice.formulas.plain_rows import Rows

FARTHEST = 1e150  # widths of a bump


@dataclass(frozen=True, eq=False)
class LogSumExp(Formula):
    """Log Σ_k exp(term_k), without overflow."""

    terms: tuple[Formula, ...]

    def on(self, rows: Rows) -> Array:
        """The largest term is taken out of the sum."""
        return _log_sum(np.stack(np.broadcast_arrays(*(term.on(rows) for term in self.terms)), axis=-1))


@dataclass(frozen=True, eq=False)
class Linear(Formula):
    """Σ_j coef_j (x_j − origin_j) over columns j; `origin` and `coef` are (classes or 1, columns)."""

    columns: tuple[str, ...]
    origin: Array
    coef: Array

    def __post_init__(self) -> None:
        for name in ("origin", "coef"):
            object.__setattr__(self, name, classwise(getattr(self, name), 2))

    def on(self, rows: Rows) -> Array:
        """The sum, column by column."""
        x = np.concatenate([rows.numbers(name) for name in self.columns], axis=1)
        return np.asarray(((x[:, None] - self.origin) * self.coef).sum(axis=2))

    def _own(self) -> dict[str, Reads]:
        return dict.fromkeys(self.columns, "number")


@dataclass(frozen=True, eq=False)
class Bumps(Formula):
    """Log Σ_k exp(height_k − ½ ((x − centre_k) / width_k)²) of one column: mixtures of Gaussians, and kernels.

    What is farther than 1e150 widths counts as so far, that squares stay finite and classes can be compared.

    `centre`, `width` and `height` are (classes, bumps); where a class has fewer bumps, those left over have the
    height −inf.
    """

    column: str
    centre: Array
    width: Array
    height: Array

    def __post_init__(self) -> None:
        for name in ("centre", "width", "height"):
            object.__setattr__(self, name, classwise(getattr(self, name), 2))

    def on(self, rows: Rows) -> Array:
        """The sum over all bumps."""
        z = (rows.numbers(self.column)[:, :, None] - self.centre) / self.width
        z = np.clip(z, -FARTHEST, FARTHEST)
        return _log_sum(self.height - 0.5 * z * z)

    def spelled_out(self) -> LogSumExp:
        """The same in simpler nodes, one term for each bump."""
        x = Column(self.column)
        each = zip(self.centre.T, self.width.T, self.height.T, strict=True)
        return LogSumExp(tuple(height - 0.5 * Square((x - centre) / width) for centre, width, height in each))

    def _own(self) -> dict[str, Reads]:
        return {self.column: "number"}


def _log_sum(terms: Array) -> Array:
    """Log Σ exp over the last axis; −inf where every term is."""
    top = terms.max(axis=-1)
    safe = np.where(np.isinf(top), 0.0, top)
    return np.asarray(safe + np.log(np.exp(terms - safe[..., None]).sum(axis=-1)))
