"""Sums over columns, and logarithms of sums of exponentials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.formulas.arithmetic import Formula, Square, as_column, classwise
from suffice.formulas.environments import Environment
from suffice.formulas.node import Array, Reads

MOST_WIDTHS = 1e150  # the largest distance of a value from the centre of a curve


@dataclass(frozen=True, eq=False)
class LogSumExp(Formula):
    """Log Σ_k exp(term_k), without overflow."""

    terms: tuple[Formula, ...]

    def on(self, rows: Environment) -> Array:
        """Subtract the largest term before the exponentials."""
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

    def on(self, rows: Environment) -> Array:
        """Sum column by column."""
        x = np.concatenate([rows.numbers(name) for name in self.columns], axis=1)
        return np.asarray(((x[:, None] - self.origin) * self.coef).sum(axis=2))

    def _columns_read(self) -> dict[str, Reads]:
        return dict.fromkeys(self.columns, "number")


@dataclass(frozen=True, eq=False)
class Bumps(Formula):
    """Log Σ_k exp(height_k − ½ ((x − centre_k) / width_k)²) of one column: mixtures of Gaussians, and kernels.

    A distance of more than 1e150 widths counts as 1e150, so that squares stay finite and classes can be compared.
    `centre`, `width` and `height` are (classes, terms). A class with fewer terms is padded with terms of height −inf.
    """

    of: Formula
    centre: Array
    width: Array
    height: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", as_column(self.of))
        for name in ("centre", "width", "height"):
            object.__setattr__(self, name, classwise(getattr(self, name), 2))

    def on(self, rows: Environment) -> Array:
        """Sum over all terms."""
        z = (self.of.on(rows)[:, :, None] - self.centre) / self.width
        z = np.clip(z, -MOST_WIDTHS, MOST_WIDTHS)
        return _log_sum(self.height - 0.5 * z * z)

    def spelled_out(self) -> LogSumExp:
        """Return the same in simpler nodes."""
        each = zip(self.centre.T, self.width.T, self.height.T, strict=True)
        return LogSumExp(tuple(height - 0.5 * Square((self.of - centre) / width) for centre, width, height in each))


def _log_sum(terms: Array) -> Array:
    """Compute log Σ exp over the last axis; −inf if all terms are."""
    top = terms.max(axis=-1)
    safe = np.where(np.isinf(top), 0.0, top)
    return np.asarray(safe + np.log(np.exp(terms - safe[..., None]).sum(axis=-1)))
