"""What arrays on a GPU must give, whatever computes it: the answers of the same rows on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import suffice as sf
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB

ANSWERS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "score_samples")
ROWS, COLUMNS, CLASSES = 240, 5, 3


def _numbers() -> Any:
    rng = np.random.default_rng(1)
    return rng.normal(size=(ROWS, COLUMNS)) + labels()[:, None]


def labels() -> Any:
    return np.random.default_rng(0).integers(0, CLASSES, ROWS)


def weights() -> Any:
    return np.random.default_rng(2).random(ROWS)


def _with_gaps(x: Any) -> Any:
    return np.where(np.random.default_rng(3).random(x.shape) < 0.1, np.nan, x)


def _counts() -> Any:
    return np.random.default_rng(4).poisson(1 + np.arange(COLUMNS) % 3 * labels()[:, None]).astype(np.float64)


def _sparse(x: Any) -> Any:
    return sp.csr_array(x)


def _table() -> Any:
    """Columns of which each calls for another family: a bell, a few values, a ratio, one value mostly, gaps."""
    rng, y = np.random.default_rng(6), labels()
    size = np.exp(rng.normal(size=ROWS))
    waist = size * np.exp(0.1 * rng.normal(size=ROWS) + 0.3 * y)
    often = np.where(rng.random(ROWS) < 0.7, 0.0, rng.exponential(1 + y))
    columns = [rng.normal(size=ROWS) + y, rng.integers(0, 4, ROWS) * 0.1, size, waist, often]
    columns.append(np.where(rng.random(ROWS) < 0.2 + 0.2 * y, np.nan, rng.normal(size=ROWS) * (1 + y)))
    return np.stack(columns, axis=1)


def _tables() -> Iterator[tuple[str, Any, Any]]:
    x = _table()
    yield "table", sf.BayesClassifier(), x
    yield "table of float32", sf.BayesClassifier(), x.astype(np.float32)
    yield "table of integers", sf.BayesClassifier(), np.round(3 * np.nan_to_num(x)).astype(np.int64)
    yield "table of which few rows are kept", sf.BayesClassifier(keep=90), x
    yield "table of few cells", sf.BayesClassifier(limit=12, keep=90), x
    yield "table of exponents", sf.BayesClassifier(structure="columns"), x
    yield "table of pairs", sf.BayesClassifier(structure="pairs"), x
    yield "naive table", sf.BayesClassifier(structure="naive"), x
    yield "table with slopes of classes", sf.BayesClassifier(calibrate="classes"), x
    yield "table without calibration", sf.BayesClassifier(calibrate=False), x
    yield "table whose gaps tell", sf.BayesClassifier(missing="informative"), x
    named = {"x0": sf.Gaussian(), "x1": sf.Poisson(), "x2": sf.LogNormal(), "x3": sf.Kernel(), "x4": sf.Binned()}
    yield "table of named families", sf.BayesClassifier(named | {"x5": sf.Mixture()}), x
    yield "table without some columns", sf.BayesClassifier({"x0": None, "x3": None}, keep=90), x
    yield "table of booleans", sf.BayesClassifier(), x > 0.5


def cases() -> Iterator[tuple[str, Any, Any]]:
    """Yield a name, an estimator, and rows on the host."""
    x, counts = _numbers(), _counts()
    yield "gaussian", GaussianNB(), x
    yield "gaussian with gaps", GaussianNB(), _with_gaps(x)
    yield "gaussian of float32", GaussianNB(), _with_gaps(x).astype(np.float32)
    yield "gaussian of columns", GaussianNB(), np.asfortranarray(x)
    yield "gaussian of every other row and column", GaussianNB(), np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2]
    yield "gaussian far from 0", GaussianNB(), x + 1e8
    yield "gaussian of classes far apart", GaussianNB(), x + 1e6 * labels()[:, None]
    yield "gaussian of a constant column", GaussianNB(), np.column_stack([x, np.full(ROWS, 0.1)])
    yield "gaussian of integers", GaussianNB(), counts.astype(np.int32)
    yield "multinomial", MultinomialNB(), counts
    yield "multinomial of gaps", MultinomialNB(), _with_gaps(counts)
    yield "multinomial of fractions", MultinomialNB(), np.abs(x)
    yield "multinomial without smoothing", MultinomialNB(alpha=0), counts * (labels()[:, None] > np.arange(COLUMNS) % 3)
    yield "bernoulli", BernoulliNB(), _with_gaps(x)
    yield "bernoulli without a threshold", BernoulliNB(binarize=None), (x > 0).astype(np.float64)
    yield "complement", ComplementNB(), counts
    yield "poisson", PoissonNB(), _with_gaps(counts)
    yield "categorical", CategoricalNB(), counts.astype(np.int64)
    yield "categorical of gaps", CategoricalNB(), _with_gaps(counts)
    yield "sparse multinomial", MultinomialNB(), _sparse(counts)
    yield "sparse multinomial of fractions", MultinomialNB(), _sparse(counts * 0.1)
    yield "sparse bernoulli", BernoulliNB(), _sparse(counts.astype(np.float32))
    yield "sparse complement", ComplementNB(), _sparse(counts)
    yield "sparse poisson", PoissonNB(), _sparse(counts)
    for name, kind in (("linear", LinearDiscriminantAnalysis), ("quadratic", QuadraticDiscriminantAnalysis)):
        yield f"{name} discriminant", kind(), x
        yield f"{name} discriminant with gaps", kind(), _with_gaps(x)
        yield f"{name} discriminant of float32", kind(), x.astype(np.float32)
    yield from _tables()


def check_alike(estimator: Any, x: Any, weight: Any, put: Callable[[Any], Any], get: Callable[[Any], Any]) -> None:
    """Compare all that is learned and answered on a device with the host's; `put` copies there, and `get` back."""
    y = labels()
    heavy = None if weight is None else put(weight)
    here, there = (
        clone(estimator).fit(x, y, sample_weight=weight),
        clone(estimator).fit(put(x), put(y), sample_weight=heavy),
    )
    close = 1e-6 if x.dtype == np.float32 else 1e-11
    assert (here.classes_ == there.classes_).all()
    np.testing.assert_allclose(there.class_count_, here.class_count_, rtol=1e-12)
    for answer in ANSWERS:
        found, wanted = get(getattr(there, answer)(put(x))), getattr(here, answer)(x)
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=close, atol=close, err_msg=answer)
    few = slice(0, 40)  # leaving out a row with gaps takes a while on the host
    light, lent = (None, None) if weight is None else (weight[few], put(weight[few]))
    found, wanted = get(there.leave_one_out(put(x[few]), put(y[few]), lent)), here.leave_one_out(x[few], y[few], light)
    np.testing.assert_allclose(found, wanted, rtol=10 * close, atol=10 * close)
    np.testing.assert_allclose(there.score(put(x), put(y), heavy), here.score(x, y, weight), rtol=1e-12)
    some = slice(30, ROWS // 2)
    part = None if weight is None else weight[some]
    parted = None if weight is None else put(part)
    there.forget(put(x[some]), put(y[some]), parted)
    here.forget(x[some], y[some], part)
    np.testing.assert_allclose(get(there.predict_proba(put(x))), here.predict_proba(x), rtol=1e-4, atol=100 * close)
    there.partial_fit(put(x[some]), put(y[some]), sample_weight=parted)
    whole = clone(estimator).fit(x, y, sample_weight=weight)
    np.testing.assert_allclose(get(there.predict_proba(put(x))), whole.predict_proba(x), rtol=1e-4, atol=100 * close)
    merged = there + whole  # of a GPU and of the host
    np.testing.assert_allclose(merged.class_count_, 2 * whole.class_count_, rtol=1e-12)
