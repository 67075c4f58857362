"""Copies of every estimator, by every library that makes them, fitted in every way: the same to the last bit."""

import copy
import io
import pickle

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import skops.io

import suffice as sf
from attacks.sequences import AROUND, around
from attacks.targets import TEXTS, estimator_classes, make, rows_for
from suffice.naive_bayes import CategoricalNB

pytestmark = pytest.mark.filterwarnings("ignore")


def by_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


def by_skops(estimator):
    data = skops.io.dumps(estimator)
    types = skops.io.get_untrusted_types(data=data)
    known = ("numpy.dtype", "numpy.random._generator.Generator")
    assert all(name.startswith("suffice.") or name in known for name in types), types
    return skops.io.loads(data, trusted=types)


def by_file(estimator):
    file = io.BytesIO()
    estimator.save(file)
    file.seek(0)
    return sf.load(file)


COPIES = {
    "pickle": lambda e: pickle.loads(pickle.dumps(e)),
    "oldest pickle": lambda e: pickle.loads(pickle.dumps(e, protocol=2)),
    "cloudpickle": lambda e: cloudpickle.loads(cloudpickle.dumps(e)),
    "joblib": by_joblib,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "skops": by_skops,
    "save": by_file,
}

Y = np.array(["ham", "eggs", "spam"] * 4)
WEIGHT = np.linspace(0.5, 3, len(Y))


def table(cls):
    """Return the rows as columns by name."""
    rows = rows_for(cls)
    if cls._form == "texts":
        return {"text": rows}
    rows = np.array(list("abcdefg"))[rows.astype(int)] if cls._form == "categories" else rows
    return {f"c{j}": rows[:, j] for j in range(rows.shape[1])}


def arrays(cls, _):
    return make(cls).fit(rows_for(cls), Y), rows_for(cls)


def weights(cls, _):
    return make(cls).fit(rows_for(cls), Y, sample_weight=WEIGHT), rows_for(cls)


def missing(cls, _):
    rows = rows_for(cls)
    if cls._form == "texts":
        rows[3] = None
    else:
        rows[4, 1] = rows[7, 0] = np.nan
    return make(cls).fit(rows, Y), rows


def pieces(cls, _):
    rows, model = rows_for(cls), make(cls)
    for i in range(len(Y)):
        model.partial_fit(
            rows[i : i + 1], Y[i : i + 1].tolist(), classes=None if i else sorted({"eggs", "ham", "spam"})
        )
    return model, rows


def pandas(cls, _):
    rows = pd.DataFrame(table(cls))
    return make(cls).fit(rows.assign(label=pd.Categorical(Y)), "label"), rows["text"] if cls._form == "texts" else rows


def polars(cls, _):
    rows = pl.DataFrame(table(cls))
    return make(cls).fit(rows.with_columns(label=pl.Series(Y)), "label"), rows["text"] if cls._form == "texts" else rows


def stream(cls, _):
    rows = pa.table(table(cls))
    parts = rows.append_column("label", pa.array(Y)).to_batches(max_chunksize=5)
    model = make(cls).fit(iter(parts), "label")
    return model, rows["text"] if cls._form == "texts" else rows.to_pandas()


def files(cls, tmp_path):
    rows = pa.table(table(cls))
    for i in range(3):
        pq.write_table(rows.append_column("label", pa.array(Y))[4 * i : 4 * i + 4], tmp_path / f"{i}.parquet")
    model = make(cls).fit(str(tmp_path / "*.parquet"), "label")
    return model, rows["text"] if cls._form == "texts" else rows.to_pandas()


WAYS = [arrays, weights, missing, pieces, pandas, polars, stream, files]
CLASSES = estimator_classes()


def assert_same(found, expected):
    """Compare two answers to the last bit."""
    if hasattr(expected, "to_numpy") and hasattr(expected, "columns"):
        found, expected = found.to_numpy(), expected.to_numpy()
    np.testing.assert_array_equal(found, expected)


def check_copy(model, made, rows):
    """Check that a copy is a model of its own that answers, learns, merges and forgets as the original does."""
    assert made is not model
    assert type(made) is type(model)
    before = model.predict_proba(rows)
    for method in ("predict_proba", "predict", "predict_log_proba"):
        assert_same(getattr(made, method)(rows), getattr(model, method)(rows))
    np.testing.assert_array_equal(made.class_count_, model.class_count_)
    assert made.classes_.dtype == model.classes_.dtype
    # The copies learn apart: what one learns, the other does not.
    twin = pickle.loads(pickle.dumps(model))
    for each in (made, twin):
        each.partial_fit(rows, Y)
    assert_same(made.predict_proba(rows), twin.predict_proba(rows))
    assert_same(model.predict_proba(rows), before)
    assert_same((made + model).predict_proba(rows), (twin + model).predict_proba(rows))
    for each in (made, twin):
        each.forget(rows, Y).drop_class("ham")
    assert_same(made.predict_proba(rows), twin.predict_proba(rows))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_copy_answers_and_learns_as_the_original(cls, way, tmp_path):
    model, rows = way(cls, tmp_path)
    for copied in COPIES.values():
        check_copy(model, copied(model), rows)


@pytest.mark.parametrize("how", COPIES)
def test_models_with_unusual_state_survive(how):
    numbers = np.arange(12.0)
    mixed = {
        "a": numbers,
        "b": ["x", "y", None, "z"] * 3,
        "c": [True, False, None] * 4,
        "d": ["k", "l\0", "m"] * 4,
        "e": pd.Categorical(["u", "v"] * 6),
    }
    joint = sf.BayesClassifier(families={("b", "d"): "joint-categorical", "a": "binned"}, missing="informative")
    check_copy(model := joint.fit(mixed, Y), COPIES[how](model), mixed)
    together = sf.BayesClassifier(families={("a", "n"): "multivariate-gaussian"}, calibrate="classes", keep=7)
    both = {"a": numbers, "n": np.sqrt(numbers) % 1}
    check_copy(model := together.fit(both, Y), COPIES[how](model), both)
    words = [["sun", "hot"], ["rain", "cool"], ["rain", None]] * 4
    check_copy(model := CategoricalNB().fit(words, Y), COPIES[how](model), words)
    texts = rows_for(sf.TextClassifier)
    filtered = sf.TextClassifier(stop_words=["or", "at"], stem="english", n_features=64, event="auto", keep=9)
    check_copy(model := filtered.fit(texts, Y), COPIES[how](model), texts)


@pytest.mark.parametrize("how", [how for how in COPIES if how != "save"])
def test_a_bag_of_words_survives(how):
    texts = rows_for(sf.TextClassifier)
    for bag in (
        sf.BagOfWords(use_idf=True, stop_words=["or"]),
        sf.BagOfWords(n_features=16),
        sf.BagOfWords(stem="english"),
    ):
        expected = bag.fit_transform(texts).toarray()
        np.testing.assert_array_equal(COPIES[how](bag).transform(texts).toarray(), expected)


def one_by_one(cls):
    """Return the rows as they come one at a time."""
    rows = table(cls)
    return rows["text"] if cls._form == "texts" else pd.DataFrame(rows).to_dict("records")


@pytest.mark.parametrize("how", [how for how in COPIES if how != "save"])
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("outer", around(), ids=lambda outer: outer.__name__)
def test_a_classifier_around_another_survives(outer, cls, how):
    model, rows = outer(make(cls), **AROUND.get(outer.__name__, {})), one_by_one(cls)
    for row, label in zip(rows * 2, [*Y, *Y], strict=True):  # rows fade, and leave a window
        model.learn_one(row, label)

    def answers(each):
        return [each.predict_proba_one(row) for row in rows]

    made = COPIES[how](model)
    assert type(made) is type(model)
    before = answers(model)
    assert answers(made) == before
    twin = COPIES[how](model)
    assert answers(twin) == before
    for row in rows[:5]:
        made.learn_one(row, "ham")
        twin.learn_one(row, "ham")
    assert answers(made) == answers(twin)
    assert answers(model) == before  # copies learn apart
    assert answers(made) != before


@pytest.mark.parametrize("how", [how for how in COPIES if how != "save"])
def test_a_window_of_files_survives(how, tmp_path):
    rows = pa.table({"a": np.arange(12.0), "label": pa.array(Y)})
    pq.write_table(rows, tmp_path / "rows.parquet")
    model = sf.Window(make(sf.BayesClassifier), rows=7).fit(str(tmp_path / "*.parquet"), "label")
    made = COPIES[how](model)
    for each in (made, model):
        each.partial_fit({"a": [3.0, 4.0]}, ["ham", "spam"])
    expected = make(sf.BayesClassifier).fit({"a": [7.0, 8.0, 9.0, 10.0, 11.0, 3.0, 4.0]}, [*Y[7:], "ham", "spam"])
    for each in (made, model):
        np.testing.assert_array_equal(each.estimator_.class_count_, expected.class_count_)
        np.testing.assert_allclose(each.predict_proba({"a": [1.0, 9.0]}), expected.predict_proba({"a": [1.0, 9.0]}))


@pytest.mark.parametrize("how", [how for how in COPIES if how != "save"])
def test_a_monitor_survives(how):
    rng = np.random.default_rng(3)
    rows = {"a": rng.normal(size=200), "b": rng.choice(["x", "y"], 200)}
    monitor = sf.Monitor(sf.BayesClassifier(structure="naive").fit(rows, rng.choice(["u", "v"], 200)))
    monitor.update({"a": rng.normal(size=50), "b": ["x", "y"] * 25})
    made = COPIES[how](monitor)
    later = {"a": rng.normal(4, 1, 80), "b": ["x", "y"] * 40}
    assert made.update(later) == monitor.update(later)
    assert repr(made.table()) == repr(monitor.table())


@pytest.mark.parametrize("how", COPIES)
def test_clusters_survive(how):
    kind = np.repeat([0, 1], 20)
    rows = {"a": np.random.default_rng(0).normal(6 * kind, 1), "b": np.array(["x", "y"])[kind].tolist()}
    for model, X in ((sf.cluster(rows, 2), rows), (sf.cluster(rows_for(sf.TextClassifier), 2), TEXTS[:4])):
        assert_same(COPIES[how](model).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("how", [how for how in COPIES if how != "save"])
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_estimator_that_is_not_fitted_survives(cls, how):
    made = COPIES[how](make(cls))
    assert not made.__sklearn_is_fitted__()
    assert repr(made.get_params()) == repr(make(cls).get_params())
