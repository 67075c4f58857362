"""Make the data that the benchmarks run on, quickly and always the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Array = NDArray[Any]
CHUNK = 1 << 16


def gaussian(rows: int, columns: int, classes: int, seed: int = 0) -> tuple[Array, Array]:
    """Draw labels, and rows around a centre of each label, without large temporaries."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows)
    y[:classes] = np.arange(classes)
    centres, spreads = rng.normal(size=(classes, columns)), rng.uniform(0.5, 2.0, size=(classes, columns))
    X = np.empty((rows, columns))
    for start in range(0, rows, CHUNK):
        part, labels = X[start : start + CHUNK], y[start : start + CHUNK]
        rng.standard_normal(out=part)
        part *= spreads[labels]
        part += centres[labels]
    return X, y


def bumps(rows: int, columns: int, components: int, classes: int, seed: int = 0) -> tuple[Array, Array]:
    """Draw labels, and every entry from one of several Gaussians of its label and column."""
    rng = np.random.default_rng(seed)
    y = _labels(rng, rows, classes)
    shape = (classes, columns, components)
    centres, spreads = rng.normal(scale=3.0, size=shape), rng.uniform(0.4, 1.5, size=shape)
    below = rng.dirichlet(np.full(components, 3.0), size=shape[:2]).cumsum(axis=2)[y, :, :-1]
    which = (rng.random((rows, columns, 1)) > below).sum(axis=2)
    at = (y[:, None], np.arange(columns), which)
    return rng.normal(centres[at], spreads[at]), y


def with_missing(X: Array, share: float, seed: int = 0) -> Array:
    """Copy a matrix, replacing a share of its entries by NaN."""
    rng = np.random.default_rng(seed)
    out = X.copy()
    for start in range(0, len(out), CHUNK):
        part = out[start : start + CHUNK]
        part[rng.random(part.shape, dtype=np.float32) < share] = np.nan
    return out


def documents(rows: int, vocabulary: int, words: int, classes: int, seed: int = 0) -> tuple[csr_matrix, Array]:
    """Draw documents of `words` words each by Zipf's law; columns stand in no order of frequency."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(1.0 / np.arange(1, vocabulary + 1))
    place = rng.permutation(vocabulary).astype(np.int32)
    ranks = np.searchsorted(cumulative, rng.random(rows * words) * cumulative[-1])
    return _counts(place[np.minimum(ranks, vocabulary - 1)], rows, vocabulary), _labels(rng, rows, classes)


def scattered_counts(rows: int, columns: int, nonzeros: int, classes: int, seed: int = 0) -> tuple[csr_matrix, Array]:
    """Draw about `nonzeros` counts a row, all columns equally likely."""
    rng = np.random.default_rng(seed)
    indices = rng.integers(columns, size=rows * nonzeros, dtype=np.int32)
    return _counts(indices, rows, columns), _labels(rng, rows, classes)


def categories(rows: int, columns: int, sizes: int, classes: int, seed: int = 0) -> tuple[Array, Array]:
    """Draw category codes 0 … sizes − 1 that depend on the label."""
    rng = np.random.default_rng(seed)
    y = _labels(rng, rows, classes)
    X = rng.integers(sizes, size=(rows, columns))
    np.minimum(X, rng.integers(sizes, size=(classes, columns))[y] + 2, out=X)
    X[0] = sizes - 1
    return X, y


def _labels(rng: np.random.Generator, rows: int, classes: int) -> Array:
    y = rng.integers(classes, size=rows)
    y[:classes] = np.arange(classes)[:rows]
    return y


def _counts(indices: Array, rows: int, columns: int) -> csr_matrix:
    indptr = np.linspace(0, len(indices), rows + 1).astype(np.int32)
    X = csr_matrix((np.ones(len(indices)), indices, indptr), shape=(rows, columns))
    X.sum_duplicates()
    X.data, X.indices = X.data.copy(), X.indices.copy()  # give back the room of the duplicates
    return X
