"""The classifier for tables: columns of any kind in one model, and the questions that can be asked of it."""

import gc
import pickle
import warnings
import weakref

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import suffice as sf
from suffice import BayesClassifier, Dirichlet

GIVEN = {
    "height": sf.Gaussian(),
    "visits": sf.Poisson(),
    "hair": sf.Categorical(prior=Dirichlet(0.5)),
    "glasses": sf.Bernoulli(),
    ("lat", "lon"): sf.MultivariateGaussian(),
    ("pet", "car"): sf.JointCategorical(),
    "pay": sf.LogNormal(),
    "age": sf.Binned(edges=[0.0, 20.0, 40.0, 60.0, 100.0]),
    "time": sf.Kernel(),
    "shift": sf.Mixture(components=2),
}


def people(n=120, seed=0, gaps=0.08):
    """Rows of every kind of column, gaps among them, as a dict of columns; labels in "kind"."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["cat", "dog", "emu"], n, p=[0.5, 0.3, 0.2])
    at = np.searchsorted(["cat", "dog", "emu"], kind)
    lat = rng.normal(at, 1.0)
    columns = {
        "height": rng.normal(170 + 8 * at, 7),
        "visits": rng.poisson(1.0 + 2 * at),
        "hair": rng.choice(["fair", "grey", "dark"], n),
        "glasses": rng.random(n) < 0.2 + 0.25 * at,
        "lat": lat,
        "lon": 0.5 * lat + rng.normal(0, 0.5, n),
        "pet": rng.choice(["fish", "bird"], n),
        "car": rng.choice(["red", "blue", "none"], n),
        "pay": np.exp(rng.normal(3 + 0.4 * at, 0.5)),
        "age": rng.uniform(1 + 10 * at, 60, n),
        "time": rng.choice([-3.0, 3.0], n) * at + rng.normal(0, 0.5, n),
        "shift": rng.choice([-2.0, 2.0], n) * at + rng.normal(0, 0.7, n),
    }
    out = {}
    for name, values in columns.items():
        there = rng.random(n) >= gaps
        out[name] = [v if ok else None for v, ok in zip(values.tolist(), there, strict=True)]
    return out | {"kind": kind.tolist()}


def part(rows, index):
    return {name: np.array(values, dtype=object)[index].tolist() for name, values in rows.items()}


def features(rows):
    return {name: values for name, values in rows.items() if name != "kind"}


def given(**options):
    return BayesClassifier(GIVEN, calibrate=False, **options)


def simple(n=200, seed=0):
    """A data frame of the kinds that are inferred, and two classes."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "p", "q")
    own = y == "p"
    return pd.DataFrame(
        {
            "num": rng.normal(size=n) + 2 * own,
            "cat": np.where(rng.random(n) < 0.3 + 0.4 * own, "a", "b"),
            "flag": rng.random(n) < 0.2 + 0.5 * own,
            "count": rng.poisson(1 + 3 * own),
            "y": y,
        }
    )


# ---------------------------------------------------------------------------------------- one table, many types


TABLES = ["pandas", "polars", "lazy", "arrow", "duckdb", "dict of lists", "dict of arrays", "records", "structured"]


def as_tables():
    frame = simple()
    records = frame.to_dict("records")
    return {
        "pandas": frame,
        "polars": pl.DataFrame(frame),
        "lazy": pl.DataFrame(frame).lazy(),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
        "duckdb": duckdb.from_arrow(pa.Table.from_pandas(frame, preserve_index=False)),
        "dict of lists": {name: frame[name].tolist() for name in frame},
        "dict of arrays": {name: frame[name].to_numpy() for name in frame},
        "records": records,
        "structured": frame.astype({"cat": object, "y": object}).to_records(index=False).view(np.ndarray),
    }


@pytest.mark.parametrize("name", TABLES)
def test_every_type_of_table_gives_the_same_model(name):
    frame, table = simple(), as_tables()[name]
    usual = BayesClassifier().fit(frame, "y")
    found = BayesClassifier().fit(table, "y")
    assert str(found.schema_) == str(usual.schema_)
    assert_array_equal(found.predict_proba(table), usual.predict_proba(frame))
    assert found.feature_names_in_.tolist() == ["num", "cat", "flag", "count"]
    assert found.statistics_ == usual.statistics_


def test_an_array_a_sparse_matrix_and_a_list_of_rows_give_the_same_model():
    frame = simple()
    x, y = frame[["num", "count"]].to_numpy(), frame["y"].to_numpy()
    usual = (
        BayesClassifier()
        .fit(pd.DataFrame(x, columns=["x0", "x1"]), y)
        .predict_proba(pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1]}))
    )
    for rows in (x, np.asfortranarray(x), x.tolist(), sparse.csr_matrix(x), sparse.coo_array(x)):
        assert_array_equal(BayesClassifier().fit(rows, y).predict_proba(rows), usual)


def test_a_sparse_matrix_too_large_for_a_table_is_refused_with_advice():
    huge = sparse.csr_matrix((100_000, 100_000))
    with pytest.raises(sf.InvalidDataError, match="MultinomialNB and BernoulliNB"):
        BayesClassifier().fit(huge, np.zeros(100_000))


def test_labels_and_weights_may_be_named_or_given():
    frame = simple()
    frame["w"] = np.random.default_rng(1).integers(0, 4, len(frame))
    named = BayesClassifier().fit(frame, "y", sample_weight="w")
    rest = frame.drop(columns=["y", "w"])
    given = BayesClassifier().fit(rest, frame["y"], sample_weight=frame["w"])
    mixed = BayesClassifier().fit(frame.drop(columns="y"), frame["y"], sample_weight="w")
    assert_array_equal(named.predict_proba(frame), given.predict_proba(rest))
    assert_array_equal(named.predict_proba(frame), mixed.predict_proba(rest))
    assert named.feature_names_in_.tolist() == ["num", "cat", "flag", "count"]


def test_a_series_of_labels_may_be_called_like_a_column():
    frame = simple()
    labels = frame["y"].rename("num")
    clf = BayesClassifier().fit(frame.drop(columns="y").assign(w=1.0), labels, sample_weight="w")
    assert clf.feature_names_in_.tolist() == ["num", "cat", "flag", "count"]


@pytest.mark.parametrize("make", [given, BayesClassifier], ids=["given", "auto"])
def test_integer_weights_are_repetition(make):
    rows = people()
    times = np.random.default_rng(2).integers(0, 4, 120)
    again = np.repeat(np.arange(120), times)
    weighed, repeated = make().fit(rows, "kind", sample_weight=times), make().fit(part(rows, again), "kind")
    assert_allclose(weighed.predict_log_proba(rows), repeated.predict_log_proba(rows), rtol=1e-7, atol=1e-9)


# -------------------------------------------------------------------------------------------- families and types


def test_the_log_joint_is_the_sum_of_single_blocks():
    rows = people()
    clf = given().fit(rows, "kind")
    joint = clf.predict_joint_log_proba(rows)
    prior = np.log(clf.class_count_ / clf.class_count_.sum())
    total = np.tile(prior, (120, 1))
    for key, family in GIVEN.items():
        names = key if isinstance(key, tuple) else (key,)
        x = np.array([rows[name] for name in names], dtype=object).T
        if family.reads == "numbers":
            x = np.array([[np.nan if v is None else float(v) for v in row] for row in x])
        total += sf.Model.fit(x, rows["kind"], family).log_conditional(x)
    assert_allclose(joint, total, rtol=1e-9)


def test_schema_shows_what_was_given_chosen_and_left_out():
    n = 200
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz "))
    frame = pa.table(
        {
            "number": rng.normal(size=n) + y,
            "truth": pa.array((rng.random(n) < 0.3 + 0.4 * y).tolist()),
            "text": np.where(rng.random(n) < 0.3 + 0.4 * y, "yes", "no"),
            "category": pa.array(np.where(rng.random(n) < 0.3 + 0.4 * y, "u", "v")).dictionary_encode(),
            "date": pa.array(np.datetime64("2020-01-01") + np.arange(n)),
            "row": np.arange(n) + 17,
            "name": [f"n{i}" for i in range(n)],
            "note": ["".join(rng.choice(letters, 60)) for _ in range(n)],
            "nothing": pa.nulls(n),
            "gaps": np.full(n, np.nan),
            "same": np.ones(n),
            "list": [[1]] * n,
            "asked": rng.normal(size=n),
            "own": rng.normal(size=n),
            "explicit": rng.normal(size=n) + y,
        }
    )
    with pytest.warns(sf.LeftOutWarning, match=r"'date days' \(it numbers the rows\); .*; column 'list'"):
        clf = BayesClassifier({"asked": None, "own": sf.Gaussian(), "explicit": "auto"}).fit(frame, y)
    shown = dict(zip(clf.schema_.rows, clf.schema_.values.tolist(), strict=True))
    assert shown["number"][1] == shown["explicit"][1] == "yes"
    assert shown["truth"][:2] == ["bernoulli", "yes"]
    assert shown["text"][:2] == shown["category"][:2] == ["categorical", "yes"]
    assert shown["own"][:2] == ["Gaussian", "yes"]
    assert shown["same"][1] == "no"
    left = {name: cells[3] for name, cells in shown.items() if cells[1] == "left out"}
    assert set(left) == {"date days", "row", "name", "nothing", "gaps", "list", "asked"}
    assert left["date days"] == "it numbers the rows"
    assert shown["date month"][3] == "the month, read from dates; it tells no more than chance would"
    assert left["row"] == "it numbers the rows"
    assert left["name"] == "200 of 200 values differ: it names the rows"
    assert shown["note"][0] == "text"
    assert left["nothing"] == left["gaps"] == "it holds no value"
    assert "list<" in left["list"]
    assert left["asked"] == "left out as asked"
    assert "left out as asked" in str(clf.schema_)
    assert np.isfinite(clf.predict_proba(frame)).all()


def test_auto_for_a_column_and_for_all_is_the_same():
    frame = simple()
    all_of_it, named = BayesClassifier().fit(frame, "y"), BayesClassifier({"num": "auto"}).fit(frame, "y")
    assert_array_equal(all_of_it.predict_proba(frame), named.predict_proba(frame))


def test_a_column_left_out_is_as_good_as_absent():
    frame = simple()
    without = BayesClassifier({"cat": None}).fit(frame, "y")
    absent = BayesClassifier().fit(frame.drop(columns="cat"), "y")
    assert_array_equal(without.predict_proba(frame), absent.predict_proba(frame))


# --------------------------------------------------------------------------------------- gaps, and what is new


def test_informative_gaps_add_the_odds_of_being_missing():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    x = np.where(rng.random(300) < 0.1 + 0.5 * y, np.nan, rng.normal(size=300))
    clf = BayesClassifier({"x": sf.Gaussian()}, missing="informative", calibrate=False).fit({"x": x}, y)
    plain = BayesClassifier({"x": sf.Gaussian()}, calibrate=False).fit({"x": x}, y)
    share = np.array([(np.isnan(x[y == c]).sum() + 1) / (150 + 2) for c in (0, 1)])
    gap = np.isnan(x)[:, None]
    expected = plain.predict_joint_log_proba({"x": x}) + np.where(gap, np.log(share), np.log1p(-share))
    assert_allclose(clf.predict_joint_log_proba({"x": x}), expected, rtol=1e-10)
    assert clf.schema_.rows == ["x", "x missing"]
    assert clf.score({"x": x}, y) > plain.score({"x": x}, y)
    evidence = clf.evidence({"x": x[:5]})
    assert_allclose(
        evidence["x missing"],
        np.where(gap[:5, 0], np.log(share[1] / share[0]), np.log((1 - share[1]) / (1 - share[0]))),
    )


def test_a_category_never_met_has_the_probability_of_one_listed_and_never_seen():
    frame = simple()
    clf = BayesClassifier({"num": None, "flag": None, "count": None}, calibrate=False).fit(frame, "y")
    n = clf.class_count_
    found = clf.predict_joint_log_proba({"cat": ["new"]})
    assert_allclose(found[0], np.log(n / n.sum()) + np.log(1 / (n + 3)), rtol=1e-12)


def test_absent_columns_count_as_missing_and_extra_ones_are_ignored():
    frame = simple()
    clf = BayesClassifier().fit(frame, "y")
    with pytest.warns(sf.MissingColumnWarning, match=r"\['num'\]"):
        absent = clf.predict_proba(frame.drop(columns="num"))
    assert_array_equal(absent, clf.predict_proba(frame.assign(num=np.nan)))
    assert_array_equal(clf.predict_proba(frame.assign(more="x")), clf.predict_proba(frame))
    shuffled = frame[["y", "count", "flag", "cat", "num"]]
    assert_array_equal(clf.predict_proba(shuffled), clf.predict_proba(frame))


def test_with_nothing_observed_the_prior_remains():
    frame = simple()
    for calibrate in (True, False, "classes"):
        clf = BayesClassifier(calibrate=calibrate, prior=[0.3, 0.7], structure="pairs").fit(frame, "y")
        if calibrate != "classes":  # which moves the prior, by its biases
            empty = {name: [None] for name in ("num", "cat", "flag", "count")}
            assert_allclose(clf.predict_proba(empty), [[0.3, 0.7]], rtol=1e-12)


def test_columns_absent_from_more_rows_count_as_missing_there():
    frame = simple()
    given, named = BayesClassifier().fit(frame, "y"), BayesClassifier().fit(frame, "y")
    with pytest.warns(sf.MissingColumnWarning, match="'num'"):
        given.partial_fit(frame[["cat", "flag", "count"]], frame["y"])
    with pytest.warns(sf.MissingColumnWarning, match="'num'"):
        named.partial_fit(frame[["cat", "flag", "count", "y"]], "y")
    assert_array_equal(given.predict_proba(frame), named.predict_proba(frame))


def test_new_classes_join_at_any_time():
    rows = people()
    kinds = np.array(rows["kind"])
    clf = given().fit(part(rows, kinds != "emu"), "kind").partial_fit(part(rows, kinds == "emu"), "kind")
    whole = given().fit(rows, "kind")
    assert clf.classes_.tolist() == ["cat", "dog", "emu"]
    assert_allclose(clf.predict_log_proba(rows), whole.predict_log_proba(rows), rtol=1e-8, atol=1e-9)


# ------------------------------------------------------------------------------------------------- questions


@pytest.mark.parametrize("calibrate", [True, False, "classes"])
def test_evidence_adds_up_to_the_log_odds(calibrate):
    frame = simple()
    clf = BayesClassifier(calibrate=calibrate, structure="naive").fit(frame, "y")
    found = clf.evidence(frame)
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == [
        "label",
        "against",
        "prior",
        "num",
        "cat",
        "flag",
        "count",
        "rest",
        "log_odds",
    ]
    log_p = clf.predict_log_proba(frame)
    assert_array_equal(found["log_odds"], log_p[:, 1] - log_p[:, 0])
    parts = found.drop(columns=["label", "against", "log_odds"]).sum(axis=1)
    assert_allclose(parts.to_numpy(float), found["log_odds"].to_numpy(float), rtol=1e-12, atol=1e-12)
    assert_allclose(found["prior"], np.log(clf.class_count_[1] / clf.class_count_[0]), rtol=1e-12)
    if calibrate is False:
        assert_allclose(found["rest"], 0.0, atol=1e-12)


def test_the_evidence_of_a_column_is_its_log_likelihood_ratio():
    rows = people()
    clf = given().fit(rows, "kind")
    found = clf.evidence(rows, label="dog", against="emu")
    for key in ("height", ("lat", "lon")):
        names = key if isinstance(key, tuple) else (key,)
        alone = given().set_params(families={key: GIVEN[key]}).fit({n: rows[n] for n in (*names, "kind")}, "kind")
        joint = alone.predict_joint_log_proba({n: rows[n] for n in names}) - np.log(clf.class_count_ / 120)
        assert_allclose(found[", ".join(names)], joint[:, 1] - joint[:, 2], rtol=1e-9, atol=1e-9)
    log_p = clf.predict_log_proba(rows)
    assert_allclose(found["log_odds"], log_p[:, 1] - log_p[:, 2], rtol=1e-12)


def test_of_many_classes_the_likeliest_two_are_compared():
    rows = people()
    clf = given().fit(rows, "kind")
    found, log_p = clf.evidence(rows), clf.predict_log_proba(rows)
    order = np.argsort(-log_p, axis=1)
    assert_array_equal(found["label"], clf.classes_[order[:, 0]])
    assert_array_equal(found["against"], clf.classes_[order[:, 1]])
    assert (np.array(found["log_odds"]) >= 0).all()
    against = clf.evidence(rows, against="cat")
    assert set(against["against"]) == {"cat"}
    with pytest.raises(sf.MismatchError, match="No class 'fox': the classes are 'cat', 'dog', 'emu'"):
        clf.evidence(rows, label="fox")


def test_impossible_values_leave_no_nan_in_the_evidence():
    frame = simple()
    clf = BayesClassifier(smoothing=0, calibrate=False).fit(frame, "y")
    with pytest.warns(sf.ImpossibleRowWarning):
        found = clf.evidence(frame[:3].assign(cat="new"))
    assert not found.drop(columns=["label", "against"]).isna().any(axis=None)


def test_top_features_by_each_measure():
    frame = simple()
    clf = BayesClassifier(calibrate=False).fit(frame, "y")
    own, other = frame[frame.y == "p"], frame[frame.y == "q"]

    def share(rows, name, value, m):
        return ((rows[name] == value).sum() + 1) / (len(rows) + m)

    p = {f"cat = {v}": (share(own, "cat", v, 2), share(other, "cat", v, 2)) for v in "ab"}
    p["flag"] = (share(own, "flag", True, 2), share(other, "flag", True, 2))
    prior = len(own) / len(frame)
    for measure in ("log_odds", "probability", "information"):
        table = clf.top_features("p", by=measure)
        found = dict(zip(table.rows, table.values, strict=True))
        for name, (a, b) in p.items():
            joint = np.array([[prior * a, prior * (1 - a)], [(1 - prior) * b, (1 - prior) * (1 - b)]])
            alone = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            assert_allclose(found[name], [np.log(a / b), a, (joint * np.log2(joint / alone)).sum()], rtol=1e-10)
        at = table.values[:, ("log_odds", "probability", "information").index(measure)]
        assert_array_equal(at, np.sort(at)[::-1])
        assert ("num" in found) is (measure == "information")
    assert len(clf.top_features("p", n=2).rows) == 2
    with pytest.raises(sf.InvalidOptionError, match="by must be one of"):
        clf.top_features("p", by="magic")
    with pytest.raises(sf.MismatchError, match="No class 'r'"):
        clf.top_features("r")


def test_tables_are_of_every_block_by_name():
    rows = people()
    clf = given().fit(rows, "kind")
    text = "\n".join(map(str, clf.tables()))
    for name in rows:
        assert name in text or name == "kind"
    hair = next(table for table in clf.tables() if table.title == "hair")
    kinds, values = np.array(rows["kind"]), np.array(rows["hair"], dtype=object)
    for c, kind in enumerate(clf.classes_):
        counts = np.array([np.sum((kinds == kind) & (values == v)) for v in hair.rows]) + 0.5
        assert_allclose(hair.values[:, c], counts / counts.sum(), rtol=1e-12)


def test_the_linear_form_gives_the_log_odds():
    frame = simple()
    families = {"num": sf.Gaussian(variance="shared"), "cat": None, "flag": sf.Bernoulli(), "count": sf.Poisson()}
    clf = BayesClassifier(families, calibrate=False).fit(frame, "y")
    coef, intercept = clf.linear_form()
    x = frame[["num", "flag", "count"]].to_numpy(dtype=float)
    assert_allclose((x @ coef.T + intercept)[:, 0], clf.evidence(frame)["log_odds"], rtol=1e-9, atol=1e-9)
    with pytest.raises(sf.NoLinearFormError):
        given().fit(people(), "kind").linear_form()


def test_parameters_are_counted_block_by_block():
    rows = people()
    whole = given().fit(rows, "kind").n_parameters_
    total = 2
    for key in GIVEN:
        names = key if isinstance(key, tuple) else (key,)
        own = {name: rows[name] for name in (*names, "kind")}
        total += BayesClassifier({key: GIVEN[key]}, calibrate=False).fit(own, "kind").n_parameters_ - 2
    assert whole == total


# --------------------------------------------------------------------------------------------- adding and forgetting


def test_a_merged_model_is_the_model_of_all_rows_calibration_too():
    rows = people()
    a, b = part(rows, slice(0, 50)), part(rows, slice(50, 120))
    families = {"hair": sf.Categorical(), "visits": sf.Categorical(), ("pet", "car"): sf.JointCategorical()}
    whole = BayesClassifier(families).fit(rows, "kind")
    merged = BayesClassifier(families).fit(a, "kind") + BayesClassifier(families).fit(b, "kind")
    assert_allclose(merged.predict_proba(rows), whole.predict_proba(rows), rtol=1e-6)
    assert_allclose(merged.calibration_.slope, whole.calibration_.slope, rtol=1e-4)
    assert_array_equal(merged.outliers(rows, 0.1), whole.outliers(rows, 0.1))
    assert str(merged.schema_) == str(whole.schema_)
    again = sum(BayesClassifier(families).fit(piece, "kind") for piece in (a, b))
    assert_array_equal(again.predict_proba(rows), merged.predict_proba(rows))


def test_a_merged_model_goes_on_learning_and_draws_rows():
    frame = simple()
    merged = BayesClassifier().fit(frame[:100], "y") + BayesClassifier().fit(frame[100:150], "y")
    drawn, _ = merged.sample(5, random_state=0)
    assert drawn.dtypes.to_dict() == frame.drop(columns="y").dtypes.to_dict()
    merged.partial_fit(frame[150:], "y")
    whole = BayesClassifier().fit(frame, "y")
    assert_allclose(merged.predict_proba(frame), whole.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("make", [given, BayesClassifier], ids=["given", "auto"])
def test_learning_in_pieces_is_learning_at_once(make):
    rows = people()
    clf = make()
    for lo in range(0, 120, 40):
        clf.partial_fit(part(rows, slice(lo, lo + 40)), "kind")
    whole = make().fit(rows, "kind")
    assert_allclose(clf.predict_log_proba(rows), whole.predict_log_proba(rows), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", [given, lambda: BayesClassifier(calibrate=False)], ids=["given", "auto"])
def test_forgetting_is_never_having_learned(make):
    rows = people()
    clf = make().fit(rows, "kind").forget(part(rows, slice(80, 120)), "kind")
    without = make().fit(part(rows, slice(0, 80)), "kind")
    assert_allclose(clf.predict_proba(rows), without.predict_proba(rows), atol=1e-9)


def test_what_was_never_learned_cannot_be_forgotten_and_nothing_changes():
    frame = simple()
    clf = BayesClassifier().fit(frame[:100], "y")
    before = clf.predict_proba(frame)
    with pytest.raises(sf.NotPartError):
        clf.forget(frame[100:], "y")
    assert_array_equal(clf.predict_proba(frame), before)


def test_rows_without_a_column_they_were_learned_with_cannot_be_forgotten():
    frame = simple()
    clf = BayesClassifier().fit(frame, "y")
    with pytest.raises(sf.MismatchError, match=r"\['num'\] are not in this table"):
        clf.forget(frame[:10].drop(columns="num"), "y")
    assert clf.class_count_.sum() == 200


def test_classes_are_dropped_renamed_and_joined():
    rows = people()
    kinds = np.array(rows["kind"])
    clf = given().fit(rows, "kind")
    dropped = pickle.loads(pickle.dumps(clf)).drop_class("emu")
    without = given().fit(part(rows, kinds != "emu"), "kind")
    assert_allclose(dropped.predict_proba(rows), without.predict_proba(rows), atol=1e-9)
    renamed = pickle.loads(pickle.dumps(clf)).rename_class("cat", "zebra")
    assert renamed.classes_.tolist() == ["dog", "emu", "zebra"]
    assert_allclose(renamed.predict_proba(rows)[:, [2, 0, 1]], clf.predict_proba(rows), atol=1e-12)
    joined = pickle.loads(pickle.dumps(clf)).rename_class("emu", "dog")
    together = given().fit(rows | {"kind": np.where(kinds == "emu", "dog", kinds).tolist()}, "kind")
    assert joined.classes_.tolist() == ["cat", "dog"]
    assert_allclose(joined.predict_proba(rows), together.predict_proba(rows), atol=1e-8)
    with pytest.raises(sf.MismatchError, match="No class 'fox'"):
        clf.rename_class("fox", "wolf")
    with pytest.raises(sf.MismatchError, match="cannot be classes of one model"):
        clf.rename_class("cat", 7)
    assert clf.classes_.tolist() == ["cat", "dog", "emu"]


def test_merging_names_the_first_column_that_differs():
    frame = simple()
    clf = BayesClassifier().fit(frame, "y")
    other = BayesClassifier().fit(frame.assign(cat=np.arange(200.0) % 7), "y")
    with pytest.raises(sf.MismatchError, match=r"column 'cat' is .*Categorical.* here and .*Automatic.* there"):
        _ = clf + other
    with pytest.warns(sf.LeftOutWarning, match=r"column 'cat' \(200 of 200 values differ"):
        named = BayesClassifier().fit(frame.assign(cat=[f"id {i}" for i in range(200)]), "y")
    with pytest.raises(sf.MismatchError, match=r"column 'cat' is .* here and left out there"):
        _ = clf + named
    with pytest.raises(sf.MismatchError, match="column 'num' is"):
        _ = clf + BayesClassifier({"num": sf.Gaussian()}).fit(frame, "y")
    with pytest.raises(sf.MismatchError, match="prior is None here"):
        _ = clf + BayesClassifier(prior="uniform").fit(frame, "y")
    with pytest.raises(sf.MismatchError, match="'numb'"):
        _ = clf + BayesClassifier().fit(frame.rename(columns={"num": "numb"}), "y")
    with pytest.raises(TypeError):
        _ = clf + 3


@pytest.mark.parametrize("weighed", [False, True])
def test_leave_one_out_is_refitting_without_each_row(weighed):
    rows = people(40)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 40) if weighed else np.ones(40)
    families = {key: GIVEN[key] for key in ("height", "visits", "hair", "glasses", ("lat", "lon"), "pay", "age")}
    families |= dict.fromkeys(["pet", "car", "time", "shift"])
    make = BayesClassifier(families, calibrate=False)
    found = clone(make).fit(rows, "kind", weight).leave_one_out(rows, "kind", weight)
    for i in range(40):
        rest = np.arange(40) != i
        without = clone(make).fit(part(rows, rest), "kind", weight[rest])
        expected = without.predict_log_proba(part(rows, slice(i, i + 1)))
        assert_allclose(found[i], expected[0], rtol=1e-8, atol=1e-8)


def test_calibrated_leave_one_out_tempers_the_evidence_and_not_the_prior():
    frame = simple(60)
    families = {"num": sf.Gaussian(), "cat": sf.Categorical(), "flag": None, "count": None}
    clf = BayesClassifier(families, structure="naive").fit(frame, "y")
    found, c = clf.leave_one_out(frame, "y"), clf.calibration_
    for i in range(60):
        rest = frame.drop(index=i)
        raw = BayesClassifier(families, calibrate=False).fit(rest, "y")
        prior = raw.class_count_ / 59
        evidence = raw.predict_joint_log_proba(frame[i : i + 1])[0] - np.log(prior)
        p = prior * np.exp(c.slope * evidence)
        assert_allclose(np.exp(found[i]), (1 - c.mixed) * p / p.sum() + c.mixed * prior, rtol=1e-8)


def test_cross_validation_is_refitting_on_the_other_folds():
    rows = people(60)
    families = {key: GIVEN[key] for key in ("height", "visits", "hair", "glasses", ("lat", "lon"))}
    families |= dict.fromkeys(["pet", "car", "time", "shift", "pay", "age"])
    make = BayesClassifier(families, calibrate=False)
    found = clone(make).fit(rows, "kind").cross_validate(rows, "kind", folds=5, random_state=3)
    fold = np.random.default_rng(3).permutation(60) % 5
    for k in range(5):
        rest = clone(make).fit(part(rows, fold != k), "kind")
        assert_allclose(found[fold == k], rest.predict_log_proba(part(rows, fold == k)), rtol=1e-8, atol=1e-8)


def test_a_class_that_only_its_own_fold_has_is_impossible_there():
    frame = simple(50)
    frame.loc[7, "y"] = "lone"
    found = BayesClassifier(calibrate=False).fit(frame, "y").cross_validate(frame, "y", folds=5)
    assert np.isneginf(found[7, 0])
    assert not np.isnan(found).any()
    with pytest.raises(sf.InvalidOptionError, match="folds"):
        BayesClassifier().fit(frame, "y").cross_validate(frame, "y", folds=1)


# ---------------------------------------------------------------------------------------------- sampling and gaps


def test_rows_are_drawn_as_the_training_table_had_them():
    for name, table in as_tables().items():
        drawn, labels = BayesClassifier().fit(table, "y").sample(20, random_state=1)
        assert set(labels) <= {"p", "q"}, name
        if name in {"pandas", "polars", "arrow"}:
            assert type(drawn) is type(table)
    again, _ = BayesClassifier().fit(simple(), "y").sample(20, random_state=1)
    frame = simple()
    assert again.dtypes.to_dict() == frame.drop(columns="y").dtypes.to_dict()
    only, labels = BayesClassifier().fit(frame, "y").sample(7, label="q", random_state=0)
    assert len(only) == 7
    assert set(labels) == {"q"}


@pytest.mark.parametrize("how", ["mean", "mode", "sample"])
def test_gaps_of_every_kind_are_filled_and_the_rest_stays(how):
    rows = people(gaps=0.2)
    for clf in (given(), BayesClassifier(calibrate=False)):
        clf.fit(rows, "kind")
        filled = clf.impute(rows, how, random_state=0)
        for name, values in rows.items():
            for before, after in zip(values, filled[name], strict=True):
                assert after is not None
                assert before is None or after == before
        assert set(map(type, filled["glasses"])) == {bool}
        assert set(filled["hair"]) <= {"fair", "grey", "dark"}
        assert set(filled["pet"]) <= {"fish", "bird"}


@pytest.mark.parametrize("how", ["mean", "mode", "sample"])
def test_a_filled_table_is_of_the_type_it_was(how):
    frame = simple().astype({"flag": "boolean", "count": "Int64", "cat": "category"})
    clf = BayesClassifier().fit(frame, "y")
    frame.loc[0, ["num", "cat", "flag", "count"]] = pd.NA
    filled = clf.impute(frame, how, random_state=0)
    assert not filled.isna().any(axis=None)
    assert filled["cat"].dtype == frame["cat"].dtype
    assert filled["flag"].dtype == frame["flag"].dtype
    pd.testing.assert_frame_equal(filled[1:][["num", "cat", "flag"]], frame[1:][["num", "cat", "flag"]])
    polars = clf.impute(pl.from_pandas(frame), how, random_state=0)
    assert isinstance(polars, pl.DataFrame)
    assert polars["flag"].dtype == pl.Boolean


def test_naive_gaps_are_filled_by_what_classes_expect_weighed_by_the_posterior():
    rows = people()
    clf = given().fit(rows, "kind")
    question = part(rows, slice(0, 6))
    question["height"] = [None] * 6
    question["hair"] = [None] * 6
    posterior = clf.predict_proba(question)
    kinds = np.array(rows["kind"])
    height = np.array([np.nan if v is None else v for v in rows["height"]])
    means = clf.tables()
    mean = next(t for t in means if t.title == "height").values
    hair = next(t for t in means if t.title == "hair")
    filled = clf.impute(question)
    rough = posterior @ [np.nanmean(height[kinds == kind]) for kind in clf.classes_]
    assert_allclose(filled["height"], rough, rtol=2e-3)  # the prior of the mean is weak
    assert mean.shape[-1] == 3 or mean.shape[0] == 3
    assert filled["hair"] == [hair.rows[k] for k in (hair.values @ posterior.T).argmax(axis=0)]
    usual = clf.impute(question, "mode")["height"]
    rough = [np.nanmean(height[kinds == clf.classes_[k]]) for k in posterior.argmax(axis=1)]
    assert_allclose(usual, rough, rtol=2e-3)


def test_draws_within_a_gaussian_block_have_the_conditional_mean_and_variance():
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal([1.0, -2.0], [[2.0, 1.2], [1.2, 1.5]], 400)
    clf = BayesClassifier({("a", "b"): sf.MultivariateGaussian(prior=None)}, calibrate=False)
    clf.fit({"a": x[:, 0], "b": x[:, 1]}, ["one"] * 400)
    mean, cov = x.mean(axis=0), np.cov(x.T, bias=True)
    n = 20000
    drawn = np.array(clf.impute({"a": np.full(n, 3.0), "b": np.full(n, np.nan)}, "sample", random_state=0)["b"])
    expected = mean[1] + cov[0, 1] / cov[0, 0] * (3.0 - mean[0])
    variance = cov[1, 1] - cov[0, 1] ** 2 / cov[0, 0]
    assert abs(drawn.mean() - expected) < 5 * np.sqrt(variance / n)
    assert abs(drawn.var() / variance - 1) < 5 * np.sqrt(2 / n)
    assert_allclose(clf.impute({"a": [3.0], "b": [np.nan]})["b"], [expected], rtol=1e-6)


def test_draws_for_a_naive_gap_come_from_the_posterior_mixture():
    frame = simple(400)
    clf = BayesClassifier({"cat": sf.Categorical(), "num": sf.Gaussian(), "flag": None, "count": None}, calibrate=False)
    clf.fit(frame, "y")
    question = pd.DataFrame({"num": np.full(8000, 1.0), "cat": [None] * 8000})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.MissingColumnWarning)
        posterior = clf.predict_proba(question[:1])[0]
        table = next(t for t in clf.tables() if t.title == "cat")
        share = posterior @ table.values[table.rows.index("a")]
        drawn = clf.impute(question, "sample", random_state=0)["cat"]
    assert abs((drawn == "a").mean() - share) < 5 * np.sqrt(share * (1 - share) / 8000)


def test_combinations_fill_what_agrees_with_the_rest():
    pets = ["cat", "cat", "dog", "dog", "dog"] * 8
    food = ["fish", "fish", "meat", "meat", "corn"] * 8
    clf = BayesClassifier({("pet", "food"): sf.JointCategorical()}, calibrate=False)
    clf.fit({"pet": pets, "food": food}, [0, 1] * 20)
    assert clf.impute({"pet": ["cat", "dog", None], "food": [None, None, "fish"]}, "mode") == {
        "pet": ["cat", "dog", "cat"],
        "food": ["fish", "meat", "fish"],
    }
    drawn = clf.impute({"pet": ["dog"] * 3000, "food": [None] * 3000}, "sample", random_state=0)["food"]
    assert set(drawn) <= {"meat", "corn"}
    assert abs(drawn.count("meat") / 3000 - 2 / 3) < 0.05


def test_several_columns_of_one_categorical_block_are_filled_each_by_its_own():
    rows = {"a": ["x", "x", "y", None], "b": ["u", "v", "v", "v"]}
    clf = BayesClassifier({("a", "b"): sf.Categorical()}, calibrate=False).fit(rows, [0, 0, 1, 1])
    for how in ("mean", "mode"):
        assert clf.impute({"a": [None], "b": [None]}, how)["b"] == ["v"]
        assert clf.impute(rows, how)["a"][:3] == rows["a"][:3]
    assert clf.impute({"a": [None], "b": ["u"]}, "sample", random_state=0)["a"][0] in {"x", "y"}
    assert "b = v" in clf.top_features(1).rows


def test_how_to_fill_is_one_of_three():
    with pytest.raises(sf.InvalidOptionError, match="how must be"):
        BayesClassifier().fit(simple(), "y").impute(simple(), "median")


def test_outliers_are_below_the_quantile_of_what_was_learned():
    frame = simple(400)
    clf = BayesClassifier().fit(frame, "y")
    density = clf.score_samples(frame)
    assert_allclose(density, logsumexp(clf.predict_joint_log_proba(frame), axis=1), rtol=1e-12)
    for rate in (0.0, 0.01, 0.1, 0.5):
        assert_array_equal(clf.outliers(frame, rate), density < np.sort(density)[max(int(np.ceil(rate * 400)) - 1, 0)])
    assert clf.outliers(frame[:1].assign(num=1e6))[0]
    with pytest.raises(sf.InvalidOptionError, match="rate"):
        clf.outliers(frame, 2.0)
    with pytest.raises(sf.InvalidDataError, match="keep above 0"):
        BayesClassifier(keep=0).fit(frame, "y").outliers(frame)


# ----------------------------------------------------------------------------------------------- scikit-learn


def test_it_is_a_scikit_learn_classifier():
    frame = simple()
    x, y = frame.drop(columns="y"), frame["y"]
    clf = clone(BayesClassifier(smoothing=2.0, families={"num": sf.Gaussian()}))
    assert clf.get_params()["smoothing"] == 2.0
    assert cross_val_score(clf, x, y, cv=3).min() > 0.7
    pipeline = make_pipeline(FunctionTransformer(lambda t: t.assign(num=t["num"] * 2)), BayesClassifier()).fit(x, y)
    assert pipeline.score(x, y) > 0.7
    search = GridSearchCV(BayesClassifier(), {"smoothing": [0.1, 1.0, "auto"], "calibrate": [True, False]}, cv=3)
    assert search.fit(x, y).best_score_ > 0.7
    html = search.best_estimator_._repr_html_()
    assert "BayesClassifier" in html
    assert repr(BayesClassifier(smoothing=2.0)) == "BayesClassifier(smoothing=2.0)"


def test_a_pickled_classifier_answers_and_learns_as_before():
    frame = simple()
    clf = BayesClassifier().fit(frame[:150], "y")
    again = pickle.loads(pickle.dumps(clf))
    assert_array_equal(again.predict_proba(frame), clf.predict_proba(frame))
    assert str(again.schema_) == str(clf.schema_)
    again.partial_fit(frame[150:], "y")
    assert_allclose(again.predict_proba(frame), BayesClassifier().fit(frame, "y").predict_proba(frame), rtol=1e-9)
    assert len(again.sample(3, random_state=0)[1]) == 3


def test_the_score_is_the_share_of_labels_predicted_named_or_given():
    frame = simple()
    clf = BayesClassifier().fit(frame, "y")
    right = clf.predict(frame) == frame["y"]
    assert clf.score(frame, "y") == clf.score(frame.drop(columns="y"), frame["y"]) == right.mean()
    weight = np.arange(200.0)
    assert_allclose(clf.score(frame.assign(w=weight), "y", sample_weight="w"), np.average(right, weights=weight))


def test_the_training_table_is_not_kept_alive():
    frame = simple()
    watched = weakref.ref(frame)
    clf = BayesClassifier().fit(frame, "y")
    del frame
    gc.collect()
    assert watched() is None
    assert isinstance(clf.sample(3, random_state=0)[0], pd.DataFrame)


def test_values_are_counted_in_at_most_so_many_cells():
    frame = simple(600)
    small, whole = BayesClassifier(limit=60).fit(frame, "y"), BayesClassifier().fit(frame, "y")
    assert_allclose(small.predict_proba(frame), whole.predict_proba(frame), atol=0.1)
    assert_allclose(small.leave_one_out(frame, "y"), whole.leave_one_out(frame, "y"), atol=0.3)
    rest = BayesClassifier(limit=60).fit(frame[10:], "y")
    assert small.forget(frame[:10], "y").statistics_ == rest.statistics_


def test_columns_may_be_called_like_parts_of_the_evidence():
    frame = simple().rename(columns={"num": "prior", "cat": "label"})
    found = BayesClassifier().fit(frame, "y").evidence(frame)
    assert {"prior (column)", "label (column)"} <= set(found.columns)
    parts = found.drop(columns=["label", "against", "log_odds"]).sum(axis=1)
    assert_allclose(parts, found["log_odds"], rtol=1e-12, atol=1e-12)


def test_a_class_named_in_advance_can_be_renamed():
    frame = simple()
    clf = BayesClassifier().partial_fit(frame, "y", classes=["p", "q", "r"])
    assert clf.rename_class("r", "s").classes_.tolist() == ["p", "q", "s"]
    assert clf.rename_class("s", "q").classes_.tolist() == ["p", "q"]


# ------------------------------------------------------------------------------------------------- bad input


def refuses(error, match, **options):
    def check(table, y="y", **how):
        with pytest.raises(error, match=match):
            BayesClassifier(**options).fit(table, y, **how)

    return check


def test_a_target_that_is_absent_or_all_missing_is_refused():
    frame = simple()
    refuses(sf.InvalidDataError, "no column 'z' to learn. The columns are .*'num'")(frame, "z")
    refuses(sf.InvalidDataError, "target column 'y' holds no label")(frame.assign(y=None))
    refuses(sf.InvalidDataError, "target column 'y' holds no label")(frame.assign(y=np.nan))
    refuses(sf.MissingLabelError, "row 3")(frame.assign(y=frame["y"].where(frame.index != 3, None)))
    refuses(sf.InvalidDataError, "no column 'w'")(frame, sample_weight="w")
    refuses(ValueError, "requires y")(frame, None)


def test_a_constant_target_makes_a_model_that_predicts_it():
    frame = simple()
    for calibrate in (True, "classes", False):
        clf = BayesClassifier(calibrate=calibrate).fit(frame.assign(y="only"), "y")
        assert_array_equal(clf.predict_proba(frame), np.ones((200, 1)))
        assert set(clf.predict(frame)) == {"only"}
    assert np.isfinite(clf.score_samples(frame)).all()
    with pytest.raises(sf.InvalidOptionError, match="only one"):
        clf.evidence(frame)


def test_columns_of_one_name_are_refused():
    frame = simple()
    refuses(sf.InvalidDataError, "Two columns are named 'num'")(pd.concat([frame, frame[["num"]]], axis=1))
    refuses(sf.InvalidDataError, "Two columns are named 'a'")(pa.table([[1, 2], [2, 3], [0, 1]], names=["a", "a", "y"]))


def test_a_family_that_does_not_fit_says_column_type_and_what_would():
    frame = simple()
    message = "Gaussian reads numbers, but column 'cat' holds (large_)?string.* fit: Categorical, JointCategorical"
    refuses(sf.InvalidOptionError, message, families={"cat": sf.Gaussian()})(frame)
    refuses(sf.InvalidOptionError, "column 'cat'", families={("num", "cat"): sf.MultivariateGaussian()})(frame)
    dated = frame.assign(num=pd.Timestamp("2020-01-01"))
    refuses(sf.InvalidOptionError, "'num' holds timestamp", families={"num": sf.Categorical()})(dated)
    lists = pa.table({"l": [[1], [2]], "y": [0, 1]})
    refuses(sf.InvalidOptionError, "'l' holds list<", families={"l": sf.Categorical()})(lists)
    refuses(sf.InvalidDataError, "No column is left to learn from: 'l': list<.*not supported")(lists)
    refuses(sf.InvalidOptionError, "'num' must have a family, the name of one, 'auto' or None", families={"num": 3})(
        frame
    )


def test_a_column_named_twice_or_unknown_is_refused():
    frame, block = simple(), sf.MultivariateGaussian()
    refuses(sf.InvalidOptionError, "'num' twice", families={("num", "count"): block, "num": sf.Gaussian()})(frame)
    refuses(sf.InvalidOptionError, "'num' twice", families={("num", "num"): block})(frame)
    refuses(sf.InvalidDataError, "no column 'nun': the columns are 'num'", families={"nun": sf.Gaussian()})(frame)


def test_infinite_and_negative_numbers_name_their_column():
    frame = simple()
    endless = frame.assign(num=np.where(np.arange(200) == 5, np.inf, frame["num"]))
    refuses(sf.InfiniteValueError, "Found inf in row 5, column 'num'")(endless)
    refuses(sf.InfiniteValueError, "row 5, column 'num'", families={("count", "num"): sf.MultivariateGaussian()})(
        endless
    )
    refuses(sf.NegativeValueError, "row 0, column 'count'", families={"count": sf.Poisson()})(frame.assign(count=-1))
    clf = BayesClassifier().fit(frame, "y")
    with pytest.raises(sf.InfiniteValueError, match="row 5, column 'num'"):
        clf.predict(endless)


def test_other_tables_than_in_training_are_refused():
    frame = simple()
    clf = BayesClassifier().fit(frame, "y")
    with pytest.raises(sf.MismatchError, match=r"None of the columns .* it had \['num', 'cat', 'flag', 'count'\]"):
        clf.predict({"other": [1]})
    wide = {f"c{j}": [0.5 * j, 1.0 + j] for j in range(12)}
    with pytest.raises(sf.MismatchError) as refused:
        BayesClassifier().fit(wide, [0, 1]).predict({f"d{j}": [1.0] for j in range(12)})
    assert all(f"'{name}9'" in str(refused.value) and f"'{name}10'" not in str(refused.value) for name in "cd")
    with pytest.raises(sf.InvalidDataError, match=r"Column 'num' has the Arrow type .*string.*numbers"):
        clf.predict(frame.assign(num="tall"))
    with pytest.raises(sf.MismatchError, match=r"Column 'cat': .*strings in training and are numbers here"):
        clf.predict(frame.assign(cat=3))
    with pytest.raises(ValueError, match="features"):
        BayesClassifier().fit(np.eye(4), [0, 1, 0, 1]).predict(np.eye(3))


def test_no_rows_and_no_columns_are_refused():
    frame = simple()
    refuses(sf.InvalidDataError, "0 sample")(frame[:0])
    refuses(sf.InvalidDataError, "no column to learn from besides the labels")(frame[["y"]])
    refuses(sf.InvalidDataError, "0 feature")(frame[[]], frame["y"])
    assert len(BayesClassifier().fit(frame, "y").predict(frame[:0])) == 0


def test_a_failed_call_leaves_the_classifier_as_it_was():
    frame = simple()
    clf = BayesClassifier().fit(frame, "y")
    before, schema = clf.predict_proba(frame), str(clf.schema_)
    bad = frame.assign(num=np.inf)
    for attempt in (
        lambda: clf.fit(bad, "y"),
        lambda: clf.fit(frame, "nothing"),
        lambda: clf.fit({"other": [np.inf, 1.0], "y": [0, 1]}, "y"),
        lambda: clf.partial_fit(bad, "y"),
        lambda: clf.partial_fit(frame.assign(cat=3), "y"),
        lambda: clf.partial_fit(frame.assign(y=5), "y"),
        lambda: clf.forget(bad, "y"),
        lambda: clf.drop_class("z"),
    ):
        with pytest.raises(ValueError, match=r"."):
            attempt()
        assert_array_equal(clf.predict_proba(frame), before)
        assert str(clf.schema_) == schema
    fresh = BayesClassifier()
    with pytest.raises(sf.InfiniteValueError):
        fresh.fit(bad, "y")
    assert vars(fresh) == vars(BayesClassifier())


def test_many_rows_are_gone_through_in_parts_and_errors_say_where(monkeypatch):
    rng = np.random.default_rng(3)
    table = {"x": rng.normal(size=90), "s": rng.choice(["a", "b"], 90), "y": rng.integers(0, 2, 90)}
    clf = sf.BayesClassifier({"x": sf.Gaussian()}).fit(table, "y")
    whole = clf.predict_proba(table)
    monkeypatch.setattr("suffice.families.product.AT_ONCE", 16)
    assert_allclose(clf.predict_proba(table), whole, rtol=1e-12)
    table["x"][77] = np.inf
    with pytest.raises(sf.InfiniteValueError, match="row 77"):
        clf.predict_proba(table)


def test_what_is_chosen_is_logged_and_times_are_for_debugging(caplog):
    table = {"x": [1.0, 2.0, 8.0, 9.0] * 20, "same": ["k"] * 80, "y": [0, 0, 1, 1] * 20}
    with caplog.at_level("INFO", logger="suffice"):
        BayesClassifier().fit(table, "y").predict(table)
    said = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("x: ") and line.endswith("bits") for line in said)
    assert [line.partition(":")[0] for line in said if "does not vote" in line] == ["same"]
    assert any(line.startswith("same: categorical") and "does not vote" in line for line in said)
    assert any(line.startswith(("Structure(", "Calibration(")) for line in said)
    assert not any(" s" in line and "in 0." in line for line in said)
    caplog.clear()
    with caplog.at_level("DEBUG", logger="suffice"):
        BayesClassifier().fit(table, "y").predict(table)
    times = [record.getMessage() for record in caplog.records if record.levelname == "DEBUG"]
    assert len(times) == 3
