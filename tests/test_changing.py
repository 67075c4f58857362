"""Rows that fade, and rows that leave a window: each against learning the rows anew."""

import copy
import datetime
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import suffice as sf
from attacks.targets import estimator_classes, rows_for
from attacks.targets import make as attacked
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.errors import ImpossibleRowWarning, InvalidDataError, InvalidOptionError, MismatchError
from suffice.estimators.changing import Held
from suffice.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    KernelNB,
    MixtureNB,
    MultinomialNB,
    PoissonNB,
)

NAIVE = sf.BayesClassifier(structure="naive")
WORDS = ["red", "green", "blue", "sun", "moon"]


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    y[: min(n, 2)] = np.arange(min(n, 2))
    kind = np.where(rng.random(n) < 0.3 + 0.4 * y, "a", "b")
    return pd.DataFrame({"kind": kind, "number": np.round(rng.normal(y, 1.0, n), 2)}), np.array(["no", "yes"])[y]


def texts(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    y[: min(n, 2)] = np.arange(min(n, 2))
    return [" ".join(rng.permutation(WORDS)[: 2 + k]) for k in y], np.array(["no", "yes"])[y]


def numbers(n, seed=0):
    frame, y = table(n, seed)
    return frame[["number"]].assign(other=np.random.default_rng(seed).normal(size=n)), y


def counts(n, seed=0):
    frame, y = numbers(n, seed)
    return frame.abs().round(), y


def categories(n, seed=0):
    frame, y = table(n, seed)
    return frame.assign(number=frame["number"].round().astype(str)), y


CASES = {
    "table": (NAIVE, table),
    "pool": (sf.BayesClassifier(), table),
    "columns": (sf.BayesClassifier(calibrate="columns", missing="informative"), table),
    "joint": (sf.BayesClassifier({("number", "other"): sf.MultivariateGaussian()}, calibrate=False), numbers),
    "texts": (sf.TextClassifier(), texts),
    "multinomial texts": (sf.TextClassifier(event="multinomial", smoothing=1.0, calibrate=False), texts),
    "gaussian": (GaussianNB(), numbers),
    "bernoulli": (BernoulliNB(), numbers),
    "multinomial": (MultinomialNB(), counts),
    "complement": (ComplementNB(), counts),
    "poisson": (PoissonNB(), counts),
    "categorical": (CategoricalNB(), categories),
    "kernel": (KernelNB(), numbers),
    "mixture": (MixtureNB(), numbers),
    "linear": (LinearDiscriminantAnalysis(), numbers),
    "quadratic": (QuadraticDiscriminantAnalysis(reg_param=0.1), numbers),
}
every = pytest.mark.parametrize(("estimator", "make"), list(CASES.values()), ids=list(CASES))


def one_by_one(clf, x, y, ask=False, **extra):
    rows = x if isinstance(x, list) else x.assign(**extra).to_dict("records")
    for row, label in zip(rows, y.tolist(), strict=True):
        if ask:
            clf.predict_proba_one(row)
        clf.learn_one(row, label)
    return clf


def refit(estimator, x, y, weight=None):
    return type(estimator)(**estimator.get_params()).fit(x, y, sample_weight=weight)


# ---- fading


@every
@pytest.mark.parametrize("ask", [False, True])
def test_fading_equals_learning_with_the_weights_of_ages(estimator, make, ask):
    n = 60 if ask else 150
    x, y = make(n)
    clf = one_by_one(sf.Fading(estimator, half_life=20), x, y, ask)
    weight = 2.0 ** (-np.arange(n)[::-1] / 20)
    expected = refit(estimator, x, y, weight)
    assert_allclose(clf.estimator_.class_count_, expected.class_count_, rtol=1e-9)
    assert_allclose(clf.predict_proba(x), expected.predict_proba(x), rtol=1e-9, atol=1e-12)


def test_a_step_of_fading_takes_as_long_as_without_it(monkeypatch):
    x, y = numbers(3000)
    scaled = []
    rescale = GaussianNB._rescale
    monkeypatch.setattr(GaussianNB, "_rescale", lambda self, factor: scaled.append(factor) or rescale(self, factor))
    one_by_one(sf.Fading(GaussianNB(), half_life=20), x, y)
    assert len(scaled) == 2  # statistics are multiplied once in 64 half-lives, where nobody asks
    scaled.clear()
    one_by_one(sf.Fading(GaussianNB(), half_life=320), x, y, ask=True)
    assert len(scaled) <= 3000 / 20  # and at most once in a sixteenth of one where somebody does


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(4, 40),
    half_life=st.floats(0.5, 100),
    cuts=st.lists(st.integers(0, 40), max_size=3),
    seed=st.integers(0, 1000),
)
def test_pieces_and_rows_fade_alike(n, half_life, cuts, seed):
    x, y = numbers(n, seed)
    clf, at = sf.Fading(GaussianNB(), half_life=half_life), 0
    for cut in [*sorted(cuts), n]:
        part = slice(at, min(cut, n))
        if cut % 2:
            clf.partial_fit(x[part], y[part])
        else:
            one_by_one(clf, x[part], y[part])
        at = max(at, min(cut, n))
    weight = 2.0 ** (-np.arange(n)[::-1] / half_life)
    expected = GaussianNB().fit(x, y, sample_weight=weight)
    assert_allclose(clf.estimator_.class_count_, expected.class_count_, rtol=1e-9)
    assert_allclose(clf.estimator_.theta_, expected.theta_, rtol=1e-9, atol=1e-12)
    assert_allclose(clf.estimator_.var_, expected.var_, rtol=1e-7, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(times=st.lists(st.floats(-50, 50), min_size=2, max_size=30), half_life=st.floats(0.5, 50))
def test_ages_are_those_of_the_column_of_times_in_any_order(times, half_life):
    n = len(times)
    x, y = numbers(n)
    clf = one_by_one(sf.Fading(GaussianNB(), half_life=half_life, time="when"), x, y, when=times)
    weight = 2.0 ** ((np.array(times) - max(times)) / half_life)
    assert_allclose(clf.estimator_.class_count_, [weight[y == k].sum() for k in ("no", "yes")], rtol=1e-9)
    assert "when" not in clf.estimator_.feature_names_in_


@settings(max_examples=20, deadline=None)
@given(split=st.integers(4, 36), seed=st.integers(0, 100))
def test_streams_with_clocks_of_their_own_merge_exactly(split, seed):
    x, y = numbers(40, seed)
    times = np.sort(np.random.default_rng(seed).uniform(0, 100, 40))
    order = np.random.default_rng(seed + 1).permutation(40)
    parts = [np.sort(order[:split]), np.sort(order[split:])]
    make = lambda: sf.Fading(GaussianNB(), half_life=15, time="when")  # noqa: E731
    both = [one_by_one(make(), x.iloc[p], y[p], when=times[p]) for p in parts]
    if {len(set(y[p])) for p in parts} != {2}:
        return
    merged = both[0] + both[1]
    whole = one_by_one(make(), x, y, when=times)
    assert_allclose(merged.estimator_.class_count_, whole.estimator_.class_count_, rtol=1e-9)
    assert_allclose(merged.predict_proba(x), whole.predict_proba(x), rtol=1e-7)
    merged.learn_one({"number": 0.0, "other": 1.0, "when": 120.0}, "yes")
    whole.learn_one({"number": 0.0, "other": 1.0, "when": 120.0}, "yes")
    assert_allclose(merged.estimator_.class_count_, whole.estimator_.class_count_, rtol=1e-9)


@every
def test_streams_of_every_estimator_merge_to_the_weights_of_their_times(estimator, make):
    n, rng = 80, np.random.default_rng(3)
    x, y = make(n)
    times = np.sort(rng.uniform(0, 60, n))
    rows = [{"text": row} for row in x] if isinstance(x, list) else x.to_dict("records")
    first = rng.random(n) < 0.5
    first[:4] = [True, True, False, False]
    y[:4] = ["no", "yes", "no", "yes"]
    parts = [sf.Fading(estimator, half_life=15, time="when") for _ in range(2)]
    for row, label, when, own in zip(rows, y.tolist(), times.tolist(), first, strict=True):
        parts[0 if own else 1].learn_one(row | {"when": when}, label)
    expected = refit(estimator, x, y, 2.0 ** ((times - times.max()) / 15))
    merged = parts[0] + parts[1]
    assert_allclose(merged.estimator_.class_count_, expected.class_count_, rtol=1e-9)
    assert_allclose(merged.predict_proba(x), expected.predict_proba(x), rtol=1e-7, atol=1e-9)


def test_streams_by_rows_are_each_as_old_as_their_own_rows_say():
    x, y = numbers(60)
    a, b = (one_by_one(sf.Fading(GaussianNB(), half_life=10), x[p], y[p]) for p in (slice(0, 40), slice(40, 60)))
    expected = a.estimator_.class_count_ + b.estimator_.class_count_
    assert_allclose((a + b).estimator_.class_count_, expected, rtol=1e-12)
    with pytest.raises(MismatchError, match="half_life"):
        a + sf.Fading(GaussianNB(), half_life=11).fit(x, y)


@every
def test_after_thousands_of_half_lives_only_the_new_rows_count(estimator, make):
    x, y = make(40)
    clf = sf.Fading(estimator, half_life=0.01)
    one_by_one(clf, x, y)
    found = clf.estimator_
    assert found.class_count_.sum() == pytest.approx(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleRowWarning)  # a kernel of one row is a point
        assert np.isfinite(found.predict_proba(x)).all()
    clf = sf.Fading(GaussianNB(), half_life=1, time="t")
    clf.learn_one({"x": 1.0, "t": 0}, "a").learn_one({"x": 2.0, "t": 1e6}, "b").learn_one({"x": 2.0, "t": 5}, "a")
    assert clf.estimator_.class_count_.sum() == 1


def test_dates_count_in_seconds():
    start = datetime.datetime(2024, 1, 1)
    clf = sf.Fading(GaussianNB(), half_life=3600, time="at")
    for hour in range(3):
        clf.learn_one({"x": float(hour), "at": start + datetime.timedelta(hours=hour)}, "ab"[hour % 2])
    assert clf.estimator_.class_count_.tolist() == pytest.approx([1.25, 0.5])
    written = sf.Fading(GaussianNB(), half_life=3600, time="at")
    for hour in range(3):
        written.learn_one({"x": float(hour), "at": f"2024-01-01T{hour:02}:00"}, "ab"[hour % 2])
    assert written.estimator_.class_count_.tolist() == pytest.approx([1.25, 0.5])


def test_a_world_that_changed_is_learned_anew():
    clf, plain = sf.Fading(NAIVE, half_life=30), sf.BayesClassifier(structure="naive")
    for i in range(600):
        label = "ab"[(i + (i >= 300)) % 2]
        for each in (clf, plain):
            each.learn_one({"x": "uv"[i % 2]}, label)
    assert clf.predict_proba_one({"x": "u"})["b"] > 0.9
    assert plain.predict_proba_one({"x": "u"})["b"] < 0.6


# ---- windows


@every
@pytest.mark.parametrize("ask", [False, True])
def test_a_window_equals_learning_its_rows(estimator, make, ask):
    n = 80 if ask else 200
    x, y = make(n)
    clf = one_by_one(sf.Window(estimator, rows=50), x, y, ask)
    expected = refit(estimator, x[-50:], y[-50:])
    assert_allclose(clf.estimator_.class_count_, expected.class_count_)
    assert_allclose(clf.predict_proba(x), expected.predict_proba(x), rtol=1e-9, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(n=st.integers(3, 60), rows=st.integers(1, 70), seed=st.integers(0, 1000), cut=st.integers(0, 60))
def test_any_window_of_any_stream_equals_a_refit(n, rows, seed, cut):
    x, y = numbers(n, seed)
    clf = sf.Window(GaussianNB(), rows=rows)
    one_by_one(clf, x[:cut], y[:cut])
    if cut < n:
        clf.partial_fit(x[cut:], y[cut:])
    expected = GaussianNB().fit(x[-rows:], y[-rows:])
    assert_allclose(clf.estimator_.class_count_, expected.class_count_)
    assert_allclose(clf.estimator_.theta_, expected.theta_, rtol=1e-9, atol=1e-9)
    assert clf.classes_.tolist() == expected.classes_.tolist()


def test_a_window_beyond_the_first_rows_of_a_table_equals_a_refit():
    x, y = table(2500)
    clf = sf.Window(NAIVE, rows=1500).fit(x, y)
    expected = refit(NAIVE, x[-1500:], y[-1500:])
    assert_allclose(clf.predict_proba(x), expected.predict_proba(x), rtol=1e-9)


def test_a_span_of_time_is_a_window_too():
    x, y = numbers(100)
    times = np.sort(np.random.default_rng(1).uniform(0, 100, 100))
    clf = one_by_one(sf.Window(GaussianNB(), span=25.0, time="when"), x, y, when=times)
    own = times > times[-1] - 25
    expected = GaussianNB().fit(x[own], y[own])
    assert_allclose(clf.predict_proba(x), expected.predict_proba(x), rtol=1e-9)
    with pytest.raises(InvalidDataError, match="order"):
        clf.learn_one({"number": 1.0, "other": 1.0, "when": 3.0}, "yes")


def test_single_rows_are_answered_from_a_window():
    clf = sf.Window(NAIVE, rows=100)
    for i in range(400):
        clf.predict_one({"x": "uv"[i % 2]})
        clf.learn_one({"x": "uv"[i % 2]}, "ab"[(i + (i >= 200)) % 2])
    assert clf.predict_one({"x": "u"}) == "b"
    assert len(clf._held) <= 107


# ---- both


@pytest.mark.parametrize("make", [lambda: sf.Fading(NAIVE, half_life=50), lambda: sf.Window(NAIVE, rows=120)])
def test_files_are_learned_in_their_order(make, tmp_path):
    x, y = table(300)
    whole = x.assign(y=y)
    whole[:200].to_csv(tmp_path / "a.csv", index=False)
    whole[200:].to_csv(tmp_path / "b.csv", index=False)
    there = make().fit([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")], "y")
    here = make().fit(x, y)
    assert_allclose(there.predict_proba(x), here.predict_proba(x), rtol=1e-9)
    for clf in (there, here):  # more rows push those of the files out
        one_by_one(clf, x[:70], y[:70])
    assert_allclose(there.predict_proba(x), here.predict_proba(x), rtol=1e-9)
    again = pickle.loads(pickle.dumps(there))
    for clf in (again, here):
        one_by_one(clf, x[70:140], y[70:140])
    assert_allclose(again.predict_proba(x), here.predict_proba(x), rtol=1e-9)
    with pytest.raises(InvalidDataError, match="the name of a column"):
        make().fit(str(tmp_path / "a.csv"), y)
    with pytest.raises(InvalidDataError, match="no column 'z'"):
        make().fit(str(tmp_path / "a.csv"), "z")


def test_rows_of_files_are_not_held_and_files_that_lost_rows_are_named(tmp_path):
    x, y = numbers(400)
    x.assign(y=y).to_csv(tmp_path / "a.csv", index=False)
    clf = sf.Window(GaussianNB(), rows=300).fit(str(tmp_path / "a.csv"), "y")
    assert {row for row, _, _ in clf._held} == {Held.IN_FILES}
    assert_allclose(clf.estimator_.theta_, GaussianNB().fit(x[100:], y[100:]).theta_, rtol=1e-9, atol=1e-12)
    again = pickle.loads(pickle.dumps(clf))
    x[:150].assign(y=y[:150]).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InvalidDataError, match="fewer than the 400 rows"):
        one_by_one(again, x[:100], y[:100])


def test_what_makes_no_sense_is_refused():
    for bad in (0, -1, np.nan, np.inf, "a"):
        with pytest.raises(InvalidOptionError, match="half_life"):
            sf.Fading(GaussianNB(), half_life=bad).learn_one({"x": 1.0}, "a")
    for options in ({}, {"rows": 5, "span": 3.0}, {"rows": 0}, {"rows": 2.5}, {"span": 3.0}, {"span": -1, "time": "t"}):
        with pytest.raises(InvalidOptionError):
            sf.Window(GaussianNB(), **options).learn_one({"x": 1.0}, "a")
    with pytest.raises(InvalidOptionError, match="classifier of suffice"):
        sf.Fading(None, half_life=3).learn_one({"x": 1.0}, "a")
    clf = sf.Fading(GaussianNB(), half_life=3, time="when").learn_one({"x": 1.0, "when": 1}, "a")
    for row in ({"x": 1.0}, {"x": 1.0, "when": None}, {"x": 1.0, "when": "noon"}):
        with pytest.raises(InvalidDataError, match="when"):
            clf.learn_one(row, "a")
    with pytest.raises(MismatchError, match="when"):
        clf.partial_fit(pd.DataFrame({"x": [1.0]}), ["a"])
    assert clf.estimator_.class_count_.sum() == 1


@pytest.mark.parametrize("make", [lambda: sf.Fading(NAIVE, half_life=9), lambda: sf.Window(NAIVE, rows=20)])
def test_nothing_is_known_before_anything_is_learned_and_pickles_go_on(make):
    from sklearn.exceptions import NotFittedError

    clf = make()
    assert clf.predict_one({"x": 1}) is None
    assert clf.predict_proba_one({"x": 1}) == {}
    with pytest.raises(NotFittedError):
        clf.predict(pd.DataFrame({"x": [1]}))
    x, y = table(30)
    one_by_one(clf, x, y)
    other = pickle.loads(pickle.dumps(clf))
    one_by_one(clf, x, y)
    one_by_one(other, x, y)
    assert_allclose(other.predict_proba(x), clf.predict_proba(x), rtol=1e-9)


WRAPPERS = {"fading": lambda e: sf.Fading(e, half_life=5.0), "window": lambda e: sf.Window(e, rows=6)}
either = pytest.mark.parametrize("wrap", list(WRAPPERS.values()), ids=list(WRAPPERS))
EVERY = pytest.mark.parametrize("cls", estimator_classes(), ids=lambda cls: cls.__name__)
LABELS = np.array(["a", "b", "c"] * 4)


@either
@EVERY
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_changes_and_its_copies_learn_apart(cls, wrap):
    rows = rows_for(cls)
    clf = wrap(attacked(cls)).fit(rows, LABELS)
    before = clf.predict_proba(rows)
    names = clf.estimator_._names()
    row = rows[0] if cls._form == "texts" else dict(zip(names, rows[0].tolist(), strict=True))
    for copied in (copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))):
        made = copied(clf)
        np.testing.assert_array_equal(made.predict_proba(rows), before)
        for _ in range(20):
            made.learn_one(row, "a")
        assert not np.array_equal(made.predict_proba(rows), before)
        np.testing.assert_array_equal(clf.predict_proba(rows), before)


@either
@EVERY
@pytest.mark.filterwarnings("ignore")
def test_rows_that_are_refused_change_nothing(cls, wrap):
    rows = rows_for(cls)
    clf = wrap(attacked(cls)).fit(rows, LABELS)
    before = clf.predict_proba(rows)
    last = [[None]] if cls._form == "texts" else [[np.inf] * 3]
    worse = [*rows[:4], *last[0]] if cls._form == "texts" else np.concatenate([rows[:4], last])
    for x, y in [(rows, LABELS[:3]), (rows, 3), (rows, None), (rows[:2], ["a", None]), (worse, ["a"] * 4 + [None])]:
        for step in (clf.fit, clf.partial_fit):
            with pytest.raises(ValueError, match=r"label|Label"):
                step(x, y)
    with pytest.raises(ValueError, match=r"[Rr]ow|Document"):
        clf.learn_one(3, "a")
    np.testing.assert_array_equal(clf.predict_proba(rows), before)


@either
def test_labels_stay_what_they_are(wrap):
    x = np.arange(8.0)[:, None] ** 2
    with pytest.raises(ValueError, match=r"mix of|cannot be classes"):
        wrap(GaussianNB()).fit(x, [1, "a"] * 4)
    days = list(np.array(["2020-01-01", "2020-01-02"], "M8[ns]"))
    for labels in (["a", "a\0"], days, [2**53, 2**53 + 1], [True, False]):
        clf = wrap(GaussianNB()).fit(x, labels * 4)
        expected = GaussianNB().fit(x, labels * 4).classes_
        assert clf.classes_.tolist() == expected.tolist()
        assert clf.classes_.dtype.kind == expected.dtype.kind


@either
def test_several_threads_lose_no_row(wrap):
    clf = sf.Window(GaussianNB(), rows=10**6) if isinstance(wrap(None), sf.Window) else sf.Fading(GaussianNB(), 1e12)
    x, y = np.arange(20.0)[:, None] % 7, np.arange(20) % 2

    def learn():
        for _ in range(10):
            clf.partial_fit(x, y)
            clf.learn_one({"x0": 1.0}, 0)
            clf.predict(x)

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert clf.estimator_.class_count_.sum() == pytest.approx(4 * 10 * 21, rel=1e-6)
