"""Rows that fade, and rows that leave a window: each against learning the rows anew."""

import copy
import datetime
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import suffice as sf
from attacks.targets import estimator_classes, rows_for
from attacks.targets import make as attacked
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.errors import ImpossibleRowWarning, InvalidDataError, InvalidOptionError, MismatchError
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


@every
@pytest.mark.filterwarnings("ignore")
def test_a_stream_goes_on_from_its_file(estimator, make, tmp_path):
    n, path = 90, tmp_path / "stream.suffice"
    x, y = make(n)
    first = one_by_one(sf.Fading(estimator, half_life=20), x[:50], y[:50])
    first.estimator_.save(path)
    again = sf.Fading(half_life=20).resume(sf.load(path))
    assert_refitted(again, estimator, x[:50], y[:50], 2.0 ** (-np.arange(50)[::-1] / 20), asked=x)
    one_by_one(again, x[50:], y[50:])
    assert_refitted(again, estimator, x, y, 2.0 ** (-np.arange(n)[::-1] / 20))


@pytest.mark.parametrize("at", [None, 50.0])
@pytest.mark.parametrize("learn", [one_by_one, lambda clf, x, y, when: clf.partial_fit(x.assign(when=when), y)])
def test_a_resumed_stream_of_times_fades_from_the_time_that_is_now(at, learn):
    x, y = table(90)
    fitted = refit(NAIVE, x[:60], y[:60])
    before = fitted.class_count_.copy()
    again = sf.Fading(half_life=10, time="when").resume(fitted, at)
    learn(again, x[60:], y[60:], when=np.full(30, 70.0))
    old = 1.0 if at is None else 0.25  # by default the next row comes at once
    assert_refitted(again, NAIVE, x, y, np.repeat([old, 1.0], [60, 30]))
    assert fitted.class_count_.tolist() == before.tolist()


def test_what_is_resumed_is_cloned_with_its_options():
    x, y = table(30)
    clf = sf.Fading(half_life=5).resume(NAIVE.fit(x, y))
    assert clone(clf).estimator.structure == "naive"
    assert not clone(clf).__sklearn_is_fitted__()


def test_only_a_fitted_classifier_is_resumed():
    x, y = table(30)
    clf = sf.Fading(GaussianNB(), half_life=5)
    with pytest.raises(InvalidOptionError, match="fitted must be a classifier of suffice, found 'model'"):
        clf.resume("model")
    with pytest.raises(NotFittedError):
        clf.resume(sf.BayesClassifier())
    with pytest.raises(InvalidOptionError, match="time= names no column"):
        clf.resume(refit(NAIVE, x, y), at=3.0)
    with pytest.raises(InvalidDataError, match="when"):
        sf.Fading(half_life=5, time="when").resume(refit(NAIVE, x, y), at="soon")
    assert isinstance(clf.estimator, GaussianNB)
    assert not clf.__sklearn_is_fitted__()


# Laws: any stream of any estimator, however it is cut into pieces and rows.

quickly = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
lengths, seeds, half_lives = st.integers(4, 60), st.integers(0, 1000), st.floats(0.5, 200)
cuts = st.lists(st.integers(0, 60), max_size=3)


def in_pieces(clf, x, y, at, when=None):
    """Learn rows in order: those up to an odd place as a piece, the others one by one."""
    begin, named = 0, isinstance(x, list) and when is not None
    for end in [*sorted(at), len(y)]:
        own = slice(begin, min(end, len(y)))
        rows = pd.DataFrame({"text": x[own]}) if named else x[own]
        extra = {} if when is None else {"when": when[own]}
        if end % 2 and own.start < own.stop:
            clf.partial_fit(rows if when is None else rows.assign(**extra), y[own])
        else:
            one_by_one(clf, rows, y[own], **extra)
        begin = max(begin, own.stop)
    return clf


def assert_refitted(clf, estimator, x, y, weight=None, asked=None):
    """The statistics and answers are those of learning the rows anew."""
    asked, now = x if asked is None else asked, clf.estimator_
    try:
        expected = refit(estimator, x, y, weight)
    except ValueError:  # `fit` refuses one class; a stream may have had no other yet
        expected = type(estimator)(**estimator.get_params()).partial_fit(x, y, sample_weight=weight)
    assert now.classes_.tolist() == expected.classes_.tolist()
    assert_allclose(now.class_count_, expected.class_count_, rtol=1e-9)
    assert_allclose(now.predict_proba(asked), expected.predict_proba(asked), rtol=1e-9, atol=1e-12)


@every
@pytest.mark.filterwarnings("ignore")
def test_rows_in_any_pieces_fade_by_their_ages(estimator, make):
    @quickly
    @given(lengths, half_lives, cuts, seeds)
    def law(n, half_life, at, seed):
        x, y = make(n, seed)
        clf = in_pieces(sf.Fading(estimator, half_life=half_life), x, y, at)
        assert_refitted(clf, estimator, x, y, 2.0 ** (-np.arange(n)[::-1] / half_life))

    law()


@every
@pytest.mark.filterwarnings("ignore")
def test_rows_in_any_order_fade_by_the_column_of_times(estimator, make):
    @quickly
    @given(st.lists(st.floats(-50, 50), min_size=4, max_size=40), half_lives, cuts, seeds)
    def law(times, half_life, at, seed):
        x, y = make(len(times), seed)
        times = np.array(times)
        clf = in_pieces(sf.Fading(estimator, half_life=half_life, time="when"), x, y, at, times)
        assert_refitted(clf, estimator, x, y, 2.0 ** ((times - times.max()) / half_life))
        assert "when" not in getattr(clf.estimator_, "feature_names_in_", [])

    law()


@every
@pytest.mark.filterwarnings("ignore")
def test_streams_with_clocks_of_their_own_merge_exactly(estimator, make):
    @quickly
    @given(st.integers(8, 60), st.floats(5, 200), st.floats(0, 300), cuts, seeds)
    def law(n, half_life, late, at, seed):
        rng = np.random.default_rng(seed)
        x, y = make(n, seed)
        own = rng.random(n) < 0.5
        own[[0, -1]] = True, False
        times = rng.uniform(0, 100, n) + late * own  # one of the clocks is ahead
        parts = []
        for some in (np.flatnonzero(own), np.flatnonzero(~own)):
            rows = [x[i] for i in some] if isinstance(x, list) else x.iloc[some]
            clf = sf.Fading(estimator, half_life=half_life, time="when")
            parts.append(in_pieces(clf, rows, y[some], at, times[some]))
        weight = 2.0 ** ((times - times.max()) / half_life)
        merged = parts[0] + parts[1]
        assert_refitted(merged, estimator, x, y, weight)
        assert_refitted(parts[1] + parts[0], estimator, x, y, weight)
        later = times.max() + 3 * half_life  # and goes on
        row = {"text": x[0]} if isinstance(x, list) else x.iloc[0].to_dict()
        merged.learn_one(row | {"when": later}, y[0].item())
        more = [*x, x[0]] if isinstance(x, list) else pd.concat([x, x[:1]], ignore_index=True)
        assert_refitted(merged, estimator, more, np.append(y, y[0]), np.append(weight / 8, 1.0))

    law()


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


@every
@pytest.mark.filterwarnings("ignore")
def test_any_window_of_any_stream_equals_a_refit(estimator, make):
    @quickly
    @given(lengths, st.integers(1, 70), cuts, seeds)
    def law(n, rows, at, seed):
        x, y = make(n, seed)
        clf = in_pieces(sf.Window(estimator, rows=rows), x, y, at)
        assert_refitted(clf, estimator, x[-rows:], y[-rows:], asked=x)

    law()


@every
@pytest.mark.filterwarnings("ignore")
def test_any_span_of_any_stream_equals_a_refit(estimator, make):
    @quickly
    @given(lengths, st.floats(0.5, 150), cuts, seeds)
    def law(n, span, at, seed):
        x, y = make(n, seed)
        times = np.sort(np.random.default_rng(seed).uniform(0, 100, n))
        clf = in_pieces(sf.Window(estimator, span=span, time="when"), x, y, at, times)
        rows = int((times > times[-1] - span).sum())
        assert_refitted(clf, estimator, x[-rows:], y[-rows:], asked=x)

    law()


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
    assert {row for row, _, _ in clf._held} == {None}
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


def test_texts_may_come_as_rows_first_and_in_a_column_of_tables_and_files_later(tmp_path):
    x, y = texts(40)
    frame = pd.DataFrame({"words": x, "y": y})
    frame[20:].to_csv(tmp_path / "more.csv", index=False)
    expected = sf.TextClassifier().fit(x, y).predict_proba(x)
    for more in (lambda clf: clf.partial_fit(frame[20:], "y"), lambda clf: clf.partial_fit(tmp_path / "more.csv", "y")):
        for clf in (sf.TextClassifier().fit(x[:20], y[:20]), one_by_one(sf.TextClassifier(), x[:20], y[:20])):
            assert_allclose(more(clf).predict_proba(x), expected, rtol=1e-9)
            assert clf.feature_names_in_.tolist() == ["words"]


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
