"""Regularised logistic regression on any table or text: what generative models are compared with.

It is scikit-learn's, with the usual preprocessing: numbers are imputed by their median and standardised, categories are
one-hot encoded (missing is a category of its own), texts become tf-idf, and C is chosen by cross-validation.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, checked_sparse, is_sparse
from suffice.core.frames import Frame, numbers, texts
from suffice.model.schema import Schema

NAME = "logistic regression"
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)  # C: the larger, the less it is regularised
SMALL = 1 << 20  # numbers in a matrix, up to which more threads of BLAS only slow it down
FLOOR = 1e-15  # of a probability: no row adds more than 34.5 nats to the log-loss

Rows = NDArray[np.int64]
Kind = Literal["numbers", "categories", "text", "sparse"]


@dataclass(frozen=True)
class Columns:
    """The columns of logistic regression, by how they are encoded: numbers, categories, text, or sparse counts."""

    parts: tuple[tuple[Kind, Any], ...]

    @classmethod
    def of_table(cls, frame: Frame, schema: Schema) -> Columns:
        """Take the columns that the generative model reads, as the kind that it reads them."""
        found: dict[Kind, list[Any]] = {"numbers": [], "categories": [], "text": []}
        for block in schema.blocks:
            for name in () if block.missing else block.names:
                column = frame.column(name)
                if block.family.reads == "numbers":
                    found["numbers"].append(np.asarray(numbers(column, name), dtype=np.float64))
                elif block.family.reads == "text":
                    found["text"].append(np.array([each or "" for each in texts(column, name)], dtype=object))
                else:
                    found["categories"].append(np.array([str(each) for each in column.to_pylist()], dtype=object))
        words: list[tuple[Kind, Any]] = [("text", column) for column in found.pop("text")]
        return cls((*((kind, np.stack(columns, axis=1)) for kind, columns in found.items() if columns), *words))

    @classmethod
    def of_matrix(cls, x: Any, categories: bool = False) -> Columns:
        """Take a matrix, dense or sparse; with `categories` its numbers are codes of categories."""
        if is_sparse(x):
            return cls((("sparse", checked_sparse(x)),))
        x = np.asarray(x)
        return cls((("categories", x.astype(str).astype(object)) if categories else ("numbers", x.astype(np.float64)),))

    @classmethod
    def of_texts(cls, documents: Iterable[str | None]) -> Columns:
        """Take a column of texts."""
        return cls((("text", np.array([each or "" for each in documents], dtype=object)),))

    def encoder(self, rows: Rows) -> Callable[[Rows], Any]:
        """Fit the preprocessing on some rows, and return the function that turns rows into a matrix."""
        from scipy.sparse import csr_array, hstack, issparse

        fitted = [(_transformer(kind).fit(data[rows]), data) for kind, data in self.parts]

        def encode(wanted: Rows) -> Any:
            parts = [transformer.transform(data[wanted]) for transformer, data in fitted]
            if any(issparse(part) for part in parts):
                return hstack([csr_array(part) for part in parts], format="csr")
            return np.hstack(parts)

        return encode


def _transformer(kind: Kind) -> Any:
    from suffice.estimators import scikit_learn as skl

    if kind == "numbers":
        imputer = skl.SimpleImputer(strategy="median", keep_empty_features=True)
        return skl.make_pipeline(imputer, skl.StandardScaler())
    if kind == "categories":
        return skl.OneHotEncoder(handle_unknown="ignore")
    return skl.TfidfVectorizer(sublinear_tf=True) if kind == "text" else skl.MaxAbsScaler()


def train(columns: Columns, codes: Codes, rows: Rows, test: Rows, classes: int, strength: float) -> tuple[Array, float]:
    """Fit logistic regression with a given C; return p(y | x) of the test rows, and the seconds of training."""
    begun = time.perf_counter()
    encode = columns.encoder(rows)
    model = _regression(strength)
    _fit(model, encode(rows), codes[rows])
    seconds = time.perf_counter() - begun
    return _posterior(model, encode(test), classes), seconds


def _posterior(model: Any, x: Any, classes: int) -> Array:
    """Return p(y | x), (rows, classes); 0 for classes that were absent in training."""
    out = np.zeros((x.shape[0], classes))
    out[:, model.classes_] = model.predict_proba(x)
    return out


def choose_strength(
    columns: Columns, codes: Codes, rows: Rows, classes: int, folds: int, random_state: int
) -> tuple[float, float]:
    """Return the C of the lowest cross-validated log-loss, and the seconds of the search."""
    begun = time.perf_counter()
    loss = np.zeros(len(STRENGTHS))
    for test, rest in folds_of(codes[rows], folds, random_state):
        encode = columns.encoder(rows[rest])
        x, held = encode(rows[rest]), encode(rows[test])
        model = _regression(STRENGTHS[0], warm_start=True)  # each fit starts at the solution of the previous C
        for k, strength in enumerate(STRENGTHS):
            model.set_params(C=strength)
            _fit(model, x, codes[rows[rest]])
            loss[k] += log_loss(_posterior(model, held, classes), codes[rows[test]]) * len(test)
    return STRENGTHS[int(np.argmin(loss))], time.perf_counter() - begun


def log_loss(posterior: Array, codes: Codes) -> float:
    """Return the mean of −log p of the true classes."""
    return float(-np.log(np.maximum(posterior[np.arange(len(codes)), codes], FLOOR)).mean())


def _regression(strength: float, **options: Any) -> Any:
    from suffice.estimators.scikit_learn import LogisticRegression

    return LogisticRegression(C=strength, max_iter=300, **options)


def _fit(model: Any, x: Any, codes: Codes) -> None:
    """Fit without the warning of convergence: after 300 steps the fit is good enough for a comparison."""
    from threadpoolctl import threadpool_limits

    from suffice.estimators.scikit_learn import ConvergenceWarning

    small = is_sparse(x) or x.size <= SMALL
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas") if small else nullcontext():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, codes)


def folds_of(codes: Codes, folds: int, random_state: int) -> list[tuple[Rows, Rows]]:
    """Return test rows and training rows of each fold; a class of two rows or more is always in the training rows."""
    rng = np.random.default_rng(random_state)
    fold = np.empty(len(codes), dtype=np.int64)
    for c in np.unique(codes):
        own = rng.permutation(np.flatnonzero(codes == c))
        fold[own] = (np.arange(len(own)) + rng.integers(folds)) % folds
    pairs = [(np.flatnonzero(fold == k), np.flatnonzero(fold != k)) for k in range(folds)]
    return [(test, rest) for test, rest in pairs if len(test) and len(np.unique(codes[rest])) > 1]
