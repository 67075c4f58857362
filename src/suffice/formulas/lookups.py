"""Numbers that are looked up by a category, a combination of categories, a bin or a threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np

from suffice.core.arrays import Mask
from suffice.core.special import log_gamma_ratio, log_rising
from suffice.formulas.arithmetic import Formula, LogGamma, as_column, by_class, by_class_and_term
from suffice.formulas.environments import Environment
from suffice.formulas.node import Array, Json, Packing, Reads

MOST_EXACT = 2**53  # integers beyond are not all numbers of float64
NEAR_ZERO = 1e-12  # smaller numbers count as 0, as sums of shares are rounded

Key: TypeAlias = str | bool | int | float  # a category


def plain_keys(keys: Iterable[Key | np.generic]) -> tuple[Key, ...]:
    """Return categories as strings, numbers and booleans of Python."""
    return tuple(key.item() if isinstance(key, np.generic) else key for key in keys)


class Lookup(Formula):
    """The number of a column's category: `numbers` (classes, keys), or `otherwise` (classes,) if it is unknown."""

    column: str
    keys: tuple[Key, ...]
    numbers: Array
    otherwise: Array

    converts: ClassVar = {"keys": plain_keys, "numbers": by_class_and_term, "otherwise": by_class}

    def on(self, rows: Environment) -> Array:
        """Find the categories by equality with the keys."""
        return _looked_up(rows.values(self.column).tolist(), self.keys, self)

    def _columns_read(self) -> dict[str, Reads]:
        return {self.column: "category"}


class Combinations(Formula):
    """The number of a combination of categories of several columns; `keys` holds a tuple for each combination."""

    columns: tuple[str, ...]
    keys: tuple[tuple[Key, ...], ...]
    numbers: Array
    otherwise: Array

    converts: ClassVar = Lookup.converts | {"keys": lambda keys: tuple(map(plain_keys, keys))}

    def on(self, rows: Environment) -> Array:
        """Find the combinations by equality with the keys."""
        return _looked_up(list(zip(*(rows.values(name) for name in self.columns), strict=True)), self.keys, self)

    def _columns_read(self) -> dict[str, Reads]:
        return dict.fromkeys(self.columns, "category")


def _looked_up(entries: Sequence[object], keys: Sequence[object], table: Lookup | Combinations) -> Array:
    position = {key: i for i, key in enumerate(keys)}
    numbers = np.concatenate([table.numbers.T, table.otherwise[None]])
    return np.asarray(numbers[[position.get(entry, len(keys)) for entry in entries]])


class Steps(Formula):
    """The number of the bin that a value falls into. Bins are closed on the right.

    `numbers` is (classes, edges + 1), or over `X` any array whose last axis is that of the bins. A name stands for that
    column.
    """

    of: Formula
    edges: Array
    numbers: Array

    converts: ClassVar = {"of": as_column, "edges": by_class, "numbers": by_class_and_term}

    def on(self, rows: Environment) -> Array:
        """Count the edges below the value."""
        x = self.of.on(rows)
        if self.numbers.ndim == 2 and x.shape[1:] == (1,):
            out = self.numbers.T[np.searchsorted(self.edges, x[:, 0])]
        else:
            out = self.numbers[..., 0]
            for k, edge in enumerate(self.edges):
                out = np.where(x > edge, self.numbers[..., k + 1], out)
        return np.where(np.isnan(x), np.nan, out)


class Above(Formula):
    """1 where a value is above a limit, else 0; a missing value stays missing."""

    of: Formula
    limit: float

    def on(self, rows: Environment) -> Array:
        """Compare."""
        x = self.of.on(rows)
        return np.where(np.isnan(x), np.nan, x > self.limit)


class TimesLog(Formula):
    """x · log p for probabilities p of each class, where 0 · log 0 is 0.

    `p` is (classes,), or over `X` any array that broadcasts. `rest`, if it is given, is 1 − p: where p is near 1 it has
    the digits that p has lost.
    """

    of: Formula
    p: Array
    rest: Array | None = None

    converts: ClassVar = {"p": by_class, "rest": lambda rest: None if rest is None else by_class(rest)}

    @property
    def impossible(self) -> Mask:
        """Where p is 0."""
        return self.p <= 0

    @property
    def log(self) -> Array:
        """Log p, and 0 where p is 0."""
        out = np.log(self.p, out=np.zeros_like(self.p), where=self.p > 0)
        return out if self.rest is None else np.log1p(-self.rest, out=out, where=self.rest < 0.5)

    def on(self, rows: Environment) -> Array:
        """Multiply; the result is −inf where p is 0 and x is not."""
        x = self.of.on(rows)
        out = x * rows.own(self.log)
        if not self.impossible.any():
            return out
        return np.where((rows.own(self.p) <= 0) & (x > NEAR_ZERO), -np.inf, out)

    def spelled_out(self) -> Formula:
        """Return the same in simpler nodes."""
        if not self.impossible.any():
            return self.log * self.of
        excluded = np.where(self.impossible, -np.inf, 0.0)
        numbers = np.stack([np.zeros_like(excluded), excluded], axis=-1)
        return self.log * self.of + Steps(self.of, np.array([NEAR_ZERO]), numbers)

    def to_json(self, packed: Packing | None = None) -> dict[str, Json]:
        """Return the simpler nodes as JSON."""
        return self.spelled_out().to_json(packed)


class LogGammaRatio(Formula):
    """Log Γ(shape + apart + x) Γ(shape) / (Γ(shape + apart) Γ(shape + x)), of x ≥ 0, to all digits if they are large.

    `shape` and `apart` are (classes,), or over `X` arrays that broadcast.
    """

    of: Formula
    shape: Array
    apart: Array

    converts: ClassVar = {"shape": by_class, "apart": by_class}

    def on(self, rows: Environment) -> Array:
        """Compute it from differences that do not cancel."""
        return log_gamma_ratio(self.shape, self.apart, self.of.on(rows))

    def spelled_out(self) -> Formula:
        """Return the same in simpler nodes."""
        whole = self.shape + self.apart
        return LogGamma(self.of + whole) - LogGamma(self.of + self.shape) - log_rising(self.shape, self.apart)

    def to_json(self, packed: Packing | None = None) -> dict[str, Json]:
        """Return the simpler nodes as JSON."""
        return self.spelled_out().to_json(packed)
