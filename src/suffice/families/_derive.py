"""Scores, linear forms, evidence and formulas of named columns, derived from the formula of a log-density."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from suffice.core.arrays import Array, Matrix, Positions, Sparse, as_csr, is_sparse, refuse_infinite, without_duplicates
from suffice.core.errors import NoLinearFormError
from suffice.families._kernels import LinearScores
from suffice.formulas import (
    Above,
    Add,
    Constant,
    Divide,
    Entry,
    Formula,
    LogGammaRatio,
    Multiply,
    Square,
    Steps,
    Subtract,
    TimesLog,
    as_formula,
    total,
)

AT_ONCE = 1 << 17  # numbers of a working array: 1 MiB, about what the cache holds


def pieces(x: Matrix, cells: int) -> Iterator[tuple[slice, Array]]:
    """Yield dense pieces of float64; a working array of `cells` numbers for each row stays small."""
    rows = max(1, AT_ONCE // max(1, cells))
    x = as_csr(x) if is_sparse(x) else x
    for lo in range(0, x.shape[0], rows):
        part = slice(lo, lo + rows)
        yield part, np.asarray(x[part].toarray() if is_sparse(x) else x[part], dtype=np.float64)


def sum_observed(density: Formula, x: Array) -> Array:
    """Return Σ_j log p(x_j | y) over the last axis; missing entries are left out."""
    return np.where(np.isnan(x), 0.0, density.at(x)).sum(axis=-1)


def log_density(density: Formula, x: Matrix, shape: tuple[int, int]) -> Array:
    """Evaluate a formula with parameters of `shape` (classes, columns) on every row, (rows, classes)."""
    refuse_infinite(x)
    out = np.empty((x.shape[0], shape[0]))
    for part, piece in pieces(x, shape[0] * shape[1]):
        out[part] = sum_observed(density, piece[:, None, :])
    return out


def stored_entries(x: Sparse) -> tuple[Positions, Positions, Array]:
    """Return row, column and value of every stored entry of a sparse matrix."""
    refuse_infinite(x)
    x = without_duplicates(x)
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    return rows, x.indices[: len(rows)], np.asarray(x.data[: len(rows)], dtype=np.float64)


def sparse_log_density(of_columns: Callable[[slice | Positions], Formula], x: Sparse, shape: tuple[int, int]) -> Array:
    """Evaluate a formula on a sparse matrix by its stored entries: Σ_j f_j(0) + Σ_stored f_j(x_j) − f_j(0).

    `of_columns` returns the formula with the parameters of the given columns, one after the other.
    """
    rows, columns, values = stored_entries(x)
    at_zero = np.broadcast_to(of_columns(slice(None)).at(np.zeros((1, shape[1]))), shape)
    out = np.repeat(at_zero.sum(axis=1)[None], x.shape[0], axis=0)
    step = max(1, AT_ONCE // max(1, shape[0]))
    for lo in range(0, len(values), step):
        part = slice(lo, lo + step)
        stored = of_columns(columns[part]).at(values[None, part])
        change = np.where(np.isnan(values[part]), 0.0, stored) - at_zero[:, columns[part]]
        for c in range(shape[0]):
            out[:, c] += np.bincount(rows[part], weights=change[c], minlength=len(out))
    return out


# ------------------------------------------------------------------------------------------- polynomials


def additive_terms(formula: Formula, sign: float = 1.0) -> Iterator[tuple[float, Formula]]:
    """Yield the terms of a sum, each with its sign."""
    if isinstance(formula, (Add, Subtract)):
        yield from additive_terms(formula.left, sign)
        yield from additive_terms(formula.right, -sign if isinstance(formula, Subtract) else sign)
    else:
        yield sign, formula


def is_shared(formula: Formula) -> bool:
    """Return whether all classes have the same value: no constant has an axis of classes."""
    constants = [node.values for node in formula.walk() if isinstance(node, Constant)]
    others = any(isinstance(node, (TimesLog, LogGammaRatio, Steps)) for node in formula.walk())
    return not others and all(np.ndim(c) < 2 or c.shape[-2] == 1 for c in constants)


def polynomial(formula: Formula) -> list[Array] | None:
    """Return the coefficients by power of the entry, or of the entry above a threshold; None for other formulas."""
    if isinstance(formula, Constant):
        return [formula.values]
    if isinstance(formula, (Entry, Above)):
        return [np.zeros(1), np.ones(1)]
    if isinstance(formula, TimesLog):
        inner = polynomial(formula.of)
        return None if inner is None else [formula.log * c for c in inner]
    if isinstance(formula, Square):
        inner = polynomial(formula.of)
        return None if inner is None else _product(inner, inner)
    if not isinstance(formula, (Add, Subtract, Multiply, Divide)):
        return None
    left, right = polynomial(formula.left), polynomial(formula.right)
    if left is None or right is None:
        return None
    if isinstance(formula, Multiply):
        return _product(left, right)
    if isinstance(formula, Divide):
        return [c / right[0] for c in left] if len(right) == 1 else None
    sign = -1.0 if isinstance(formula, Subtract) else 1.0
    size = max(len(left), len(right))
    padded = [c + [np.zeros(1)] * (size - len(c)) for c in (left, right)]
    return [a + sign * b for a, b in zip(*padded, strict=True)]


def _product(a: list[Array], b: list[Array]) -> list[Array]:
    out = [np.zeros(1)] * (len(a) + len(b) - 1)
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            out[i + j] = out[i + j] + p * q
    return out


@dataclass(frozen=True)
class Affine:
    """A log-density that is absent_j + x_j · coef_j up to a term that all classes share, (classes, columns) each.

    x_j is the entry, or with a `threshold` 1 where the entry is above it, else 0. Where a probability is 0, `absent`
    and `coef` hold the finite part. `vetoes` counts the impossible entries of a row, which is linear in x as well.
    """

    absent: Array
    coef: Array
    shared: Formula | None
    impossible: tuple[tuple[Array, Array], ...]  # absent and coef of the number of impossible entries
    threshold: float | None
    expanded: bool  # whether a square was multiplied out, which loses digits where x is far from 0

    @cached_property
    def scores(self) -> LinearScores:
        """The finite part of the scores."""
        return LinearScores(self.coef, self.absent if self.absent.any() else None)

    @cached_property
    def vetoes(self) -> LinearScores | None:
        """How many entries of a row are impossible."""
        if not self.impossible:
            return None
        absent, coef = (np.sum([each[i] for each in self.impossible], axis=0) for i in (0, 1))
        return LinearScores(coef, absent if absent.any() else None)

    def relative_log_density(self, x: Matrix) -> Array:
        """Score every row under every class, without the term that all classes share, (rows, classes)."""
        out = self.scores.of(x, self.threshold)
        if self.vetoes is not None:
            out[self.vetoes.of(x, self.threshold) > 1e-12] = -np.inf
        return out

    def log_density(self, x: Matrix) -> Array:
        """Score every row under every class, (rows, classes)."""
        out = self.relative_log_density(x)
        if self.shared is None:
            return out
        shared = self.shared
        if is_sparse(x):
            return out + sparse_log_density(lambda _: shared, x, (1, x.shape[1]))
        return out + log_density(shared, x, (1, x.shape[1]))

    def linear(self) -> tuple[Array, Array]:
        """Return coef (classes, columns) and the intercept of each class."""
        if self.impossible:
            raise NoLinearFormError(
                "Some probabilities are zero, so some coefficients would be infinite: smooth with a prior"
            )
        return self.coef, self.absent.sum(axis=1)


def affine(density: Formula, shape: tuple[int, int]) -> Affine | None:
    """Split a log-density into a part that is linear in x and a part that all classes share; None if there is more."""
    parts: list[Array] = [np.zeros(shape), np.zeros(shape)]
    shared: list[Formula] = []
    impossible: list[tuple[Array, Array]] = []
    expanded = False
    for sign, term in additive_terms(density):
        if isinstance(term, Constant) and term.values.ndim > 1 and _is_shared_table(term.values):
            shared.append(sign * as_formula(term.values[..., 0, :]))
            continue
        if is_shared(term) and polynomial(term) is None:
            shared.append(sign * term)
            continue
        powers = polynomial(term)
        if powers is None or not all(_is_shared_table(c) for c in powers[2:]):
            return None
        for power, c in enumerate(powers[:2]):
            parts[power] = parts[power] + sign * c
        expanded |= len(powers) > 2
        impossible += _impossible(term, shape)
    limits = {node.limit for node in density.walk() if isinstance(node, Above)}
    if len(limits) > 1:
        return None
    absent, coef = (np.ascontiguousarray(np.broadcast_to(p, shape)) for p in parts)
    rest = total(shared) if shared else None
    return Affine(absent, coef, rest, tuple(impossible), next(iter(limits), None), expanded)


def _is_shared_table(c: Array) -> bool:
    return c.ndim < 2 or bool((c == c[..., :1, :]).all())


def _impossible(term: Formula, shape: tuple[int, int]) -> Iterator[tuple[Array, Array]]:
    """Yield absent and coef of the entries that x · log 0 excludes."""
    for node in term.walk():
        if isinstance(node, TimesLog) and node.impossible.any():
            inner = polynomial(node.of)
            assert inner is not None, "probabilities are raised to linear powers"
            where = node.impossible.astype(np.float64)
            made = [np.broadcast_to(where * c, shape) for c in (*inner, np.zeros(1))[:2]]
            yield made[0], made[1]


# ------------------------------------------------------------------------------------------ named columns


def tabulated(density: Formula, x: Formula) -> Formula:
    """Replace a formula that depends on a column only by one threshold by a table of its two values."""
    above = [node for node in density.walk() if isinstance(node, Above) and node.of is x]
    uses = sum(node is x for node in density.walk())
    if not above or uses > len(above) or len({node.limit for node in above}) > 1:
        return density
    limit = above[0].limit
    # Evaluated on a row below the threshold and on one above it, (rows, classes).
    both = _with_entry(density, x).at(np.array([[limit], [np.nextafter(limit, np.inf)]]))
    return Steps(x, np.array([limit]), both.T)


def _with_entry(formula: Any, x: Formula) -> Any:
    """Replace a column by `X`."""
    if formula is x:
        return Entry()
    if not isinstance(formula, Formula):
        return formula
    changed = {f.name: _with_entry(getattr(formula, f.name), x) for f in fields(formula)}
    return replace(formula, **changed)
