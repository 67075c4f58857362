"""One row at a time: learning, answering, and what river asks of a classifier."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import suffice as sf
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.errors import InvalidDataError, InvalidOptionError, MissingLabelError
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

RNG = np.random.default_rng(7)
WORDS = np.array(["one", "two", "three", "four", "five", "six", "seven", "eight"])


def table(n, rng=RNG):
    y = rng.integers(0, 2, n)
    number = np.round(rng.normal(y, 1.0), 3)
    kind = np.where(rng.random(n) < 0.3 + 0.4 * y, "a", "b")
    values = zip(number.tolist(), kind.tolist(), (rng.random(n) < 0.5).tolist(), strict=True)
    rows = [{"number": a, "kind": b, "flag": c} for a, b, c in values]
    for i in range(0, n, 7):
        rows[i]["number"] = None
    return rows, ["yes" if each else "no" for each in y]


def texts(n, rng=RNG):
    y = rng.integers(0, 2, n)
    weights = np.linspace(1, 3, len(WORDS))
    chance = np.stack([weights / weights.sum(), weights[::-1] / weights.sum()])
    return [" ".join(rng.choice(WORDS, 6, p=chance[k])) for k in y], [f"class {k}" for k in y]


def columns(rows):
    return {name: [row.get(name) for row in rows] for name in sorted(rows[0])}


def streamed(clf, rows, labels, ask=True):
    for row, label in zip(rows, labels, strict=True):
        if ask:
            clf.predict_proba_one(row)
        clf.learn_one(row, label)
    return clf


@pytest.mark.parametrize("ask", [False, True])
@pytest.mark.parametrize("n", [3, 60, 1300])
def test_a_table_that_came_row_by_row_is_what_fit_gives(n, ask):
    rows, labels = table(n, np.random.default_rng(n))
    clf = streamed(sf.BayesClassifier(structure="naive"), rows, labels, ask)
    fitted = sf.BayesClassifier(structure="naive").fit(columns(rows), labels)
    assert_allclose(clf.predict_proba(columns(rows)), fitted.predict_proba(columns(rows)), rtol=1e-9)
    assert clf.statistics_ == fitted.statistics_


def test_texts_that_came_one_by_one_are_what_fit_gives():
    rows, labels = texts(300)
    clf = streamed(sf.TextClassifier(), rows, labels)
    fitted = sf.TextClassifier().fit(rows, labels)
    assert_allclose(clf.predict_proba(rows), fitted.predict_proba(rows), rtol=1e-9)


@pytest.mark.parametrize(
    "make", [GaussianNB, BernoulliNB, MultinomialNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]
)
def test_rows_of_numbers_are_learned_one_by_one(make):
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    x = rng.poisson(2.0 + y[:, None] * [1, 2, 0.5], (60, 3)).astype(float)
    rows = [{"c": c, "a": a, "b": b} for a, b, c in x.tolist()]
    clf = streamed(make(), rows, y.tolist(), ask=False)
    fitted = make().fit(x, y)
    assert_allclose(clf.predict_proba(_frame(x)), fitted.predict_proba(x))
    found = clf.predict_proba_one(rows[5])
    assert_allclose([found[0], found[1]], fitted.predict_proba(x[5:6])[0])
    assert clf.predict_one(rows[5]) == fitted.predict(x[5:6])[0]


def _frame(x):
    import pandas as pd

    return pd.DataFrame(x, columns=["a", "b", "c"])


def test_categories_are_learned_one_by_one():
    rows = [{"hair": h, "eyes": e} for h, e in ["rb", "rg", "bb", "bg", "rb", "bg"]]
    clf = streamed(CategoricalNB(), rows, list("xxyyxy"))
    assert clf.predict_one({"hair": "r", "eyes": "b"}) == "x"
    assert sum(clf.predict_proba_one({"hair": "b"}).values()) == pytest.approx(1)


def test_a_category_may_follow_rows_of_an_array_that_had_none():
    gaps = np.array([[None, None]], dtype=object)
    clf = CategoricalNB().fit(gaps, ["a"])
    assert clf.predict_proba_one({"x0": "red"}) == {"a": 1.0}
    clf.learn_one({"x0": "red", "x1": None}, "b")
    whole = CategoricalNB().fit(np.array([[None, None], ["red", None]], dtype=object), ["a", "b"])
    np.testing.assert_array_equal(clf.predict_proba(gaps), whole.predict_proba(gaps))
    red = np.array([["red", None]], dtype=object)
    np.testing.assert_array_equal(clf.predict_proba(red), whole.predict_proba(red))


def test_categories_that_are_numbers_of_an_array_stay_numbers_one_by_one():
    rows, y = (
        np.array([[2.0, 3.0], [np.nan, 1.0], [0.0, np.nan], [1.0, 2.0], [np.nan, np.nan]]),
        np.array(list("aabba")),
    )
    clf = CategoricalNB().fit(rows[:2], y[:2])
    for row, label in zip(rows[2:], y[2:], strict=True):
        clf.learn_one({f"x{j}": None if np.isnan(v) else v for j, v in enumerate(row)}, label)
    whole = CategoricalNB().fit(rows, y)
    np.testing.assert_array_equal(clf.predict_proba(rows), whole.predict_proba(rows))
    assert clf.predict_proba_one({"x0": 2.0}) == dict(
        zip("ab", whole.predict_proba(np.array([[2.0, np.nan]]))[0], strict=True)
    )
    with pytest.raises(InvalidDataError, match="reads numbers"):
        clf.predict_one({"x0": "2"})


def test_nothing_is_answered_before_anything_is_learned():
    for clf in (sf.BayesClassifier(), sf.TextClassifier(), GaussianNB()):
        assert clf.predict_one({"x": 1.0}) is None
        assert clf.predict_proba_one({"x": 1.0}) == {}


def test_answers_lack_at_most_an_eighth_of_the_weight():
    rows, labels = table(800, np.random.default_rng(5))
    clf = sf.BayesClassifier(structure="naive")
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        clf.predict_proba_one(row)
        clf.learn_one(row, label)
        clf.predict_proba_one(row)
        seen = clf._stream.view._learned.seen.weight.sum()
        assert seen * (1 + 1 / 8) >= i + 1
        assert clf._stream.chosen * 1.125 >= seen


@pytest.mark.parametrize("options", [{"structure": "naive"}, {"calibrate": "columns"}, {"structure": "pairs"}, {}])
def test_all_choices_are_those_of_all_rows_but_an_eighth(options):
    rows, labels = table(400, np.random.default_rng(6))
    clf, known, weights = sf.BayesClassifier(**options), None, []
    for row, label in zip(rows, labels, strict=True):
        clf.predict_proba_one(row)
        clf.learn_one(row, label)
        clf.predict_proba_one(row)
        view = clf._stream.view
        seen, found = view._learned.seen.weight.sum(), view._calibration()
        assert seen <= 1.125 * clf._stream.chosen
        if found is not known:  # exponents, pairs and experts were fitted anew
            known = found
            weights.append(seen)
    late = np.array(weights)[np.array(weights) > 50]
    assert (late[1:] / late[:-1]).max() <= 1.125**2  # rows wait until they are an eighth, too


def test_settling_makes_choices_by_all_rows():
    rows, labels = texts(200)
    clf = streamed(sf.TextClassifier(), rows, labels).settle()
    fitted = sf.TextClassifier().fit(rows, labels)
    for row in rows[:20]:
        found = clf.predict_proba_one(row)
        assert_allclose(list(found.values()), fitted.predict_proba([row])[0], rtol=1e-12)


def test_a_search_that_began_at_earlier_choices_is_made_anew_for_exact_answers():
    asked, rows = ["buy now", "now", "noon"], [("noon", "c", 1e9), ("buy buy buy", "c", 1.0), ("buy now", "a", 1e-3)]
    texts, labels, weights = zip(*rows, strict=True)
    expected = sf.TextClassifier().fit(list(texts), list(labels), np.array(weights)).predict_proba(asked)
    clf = sf.TextClassifier()
    for text, label, weight in rows:
        clf.predict_one(text)  # decides, and the next search begins there
        clf.learn_one(text, label, weight)
    clf.predict_one("noon")
    assert_allclose(clf.predict_proba(asked), expected, rtol=1e-12)
    assert_allclose(clf.settle().predict_proba(asked), expected, rtol=1e-12)


def test_a_class_that_is_new_is_answered_at_once():
    rows, labels = table(100)
    clf = streamed(sf.BayesClassifier(structure="naive"), rows, labels)
    clf.learn_one(rows[0], "maybe")
    assert set(clf.predict_proba_one(rows[0])) == {"yes", "no", "maybe"}


def test_columns_may_be_absent_and_new_ones_are_not_learned():
    rows, labels = table(1100)
    clf = streamed(sf.BayesClassifier(structure="naive"), rows, labels)
    clf.learn_one({"number": 1.0, "extra": 5}, "yes").learn_one({"kind": "a"}, "no")
    assert clf.predict_one({"extra": 3}) in ("yes", "no")
    assert clf.class_count_.sum() == 1102
    assert list(clf.feature_names_in_) == ["flag", "kind", "number"]


@pytest.mark.parametrize("n", [5, 1100])
@pytest.mark.parametrize("bad", [{"number": "many"}, {"number": np.inf}, "text", None])
def test_a_row_that_is_refused_leaves_all_as_it_was(bad, n):
    rows, labels = table(n, np.random.default_rng(n))
    clf = streamed(sf.BayesClassifier(structure="naive"), rows, labels, ask=False)
    with pytest.raises((ValueError, TypeError)):
        clf.learn_one(bad, "yes")
    assert clf.class_count_.sum() == n
    clf.learn_one(rows[1], "yes")
    assert clf.class_count_.sum() == n + 1


def test_values_outside_the_support_of_a_family_are_refused_when_they_come():
    clf = sf.BayesClassifier({"wait": sf.Exponential()})
    clf.learn_one({"wait": 1.0}, "a").learn_one({"wait": 3.0}, "b")
    with pytest.raises(ValueError, match="Negative values"):
        clf.learn_one({"wait": -1.0}, "a")
    assert clf.class_count_.tolist() == [1, 1]


def test_a_row_without_values_is_a_row_of_its_class():
    rows, labels = table(30)
    clf = streamed(sf.BayesClassifier(structure="naive"), rows, labels).learn_one({}, "yes")
    assert clf.class_count_.sum() == 31
    for unfitted in (sf.BayesClassifier(), GaussianNB()):
        with pytest.raises(InvalidDataError):
            unfitted.learn_one({}, "yes")


def test_weights_count():
    rows, labels = table(40)
    weighted, repeated = sf.BayesClassifier(structure="naive"), sf.BayesClassifier(structure="naive")
    for row, label in zip(rows, labels, strict=True):
        weighted.learn_one(row, label, w=2.0)
        repeated.learn_one(row, label).learn_one(row, label)
    weighted.learn_one(rows[0], "yes", w=0)
    assert_allclose(weighted.class_count_, repeated.class_count_)
    for w in (-1, np.nan, np.inf, "2"):
        with pytest.raises(InvalidOptionError, match="w must be"):
            weighted.learn_one(rows[0], "yes", w=w)


def test_a_row_that_changes_after_it_was_learned_changes_nothing():
    rows, labels = table(30)
    clf = sf.BayesClassifier(structure="naive")
    for row, label in zip(rows, labels, strict=True):
        mine = dict(row)
        clf.learn_one(mine, label)
        mine["number"] = 1e9
    fitted = sf.BayesClassifier(structure="naive").fit(columns(rows), labels)
    assert clf.statistics_ == fitted.statistics_


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf))])
def test_a_copy_in_the_middle_of_a_stream_has_all_rows(duplicate):
    rows, labels = table(50)
    clf = streamed(sf.BayesClassifier(structure="naive"), rows, labels)
    other = duplicate(clf)
    assert other.class_count_.sum() == 50
    clf.learn_one(rows[0], "yes")
    assert (other.class_count_.sum(), clf.class_count_.sum()) == (50, 51)


def test_learning_by_rows_and_by_tables_may_alternate():
    rows, labels = table(120)
    clf = sf.BayesClassifier(structure="naive").fit(columns(rows[:40]), labels[:40])
    streamed(clf, rows[40:80], labels[40:80])
    clf.partial_fit(columns(rows[80:]), labels[80:])
    fitted = sf.BayesClassifier(structure="naive").fit(columns(rows), labels)
    assert clf.statistics_ == fitted.statistics_
    clf.forget(columns(rows[:10]), labels[:10])
    assert clf.class_count_.sum() == 110
    assert (clf + clf).class_count_.sum() == 220


def test_new_parameters_do_not_reach_rows_that_came_before():
    rows, labels = table(30)
    clf = streamed(sf.BayesClassifier(structure="naive"), rows, labels)
    assert clf.set_params(calibrate=False).class_count_.sum() == 30


def test_a_row_of_a_text_is_a_string_or_the_only_string_of_a_dict():
    clf = sf.TextClassifier(event="multinomial", smoothing=1.0, calibrate=False)
    clf.learn_one("good", "+").learn_one({"text": "bad", "n": 3}, "-").learn_one({"text": "good"}, "+")
    assert clf.predict_one({"text": "good"}) == clf.predict_one("good") == "+"
    with pytest.raises(InvalidDataError, match="one text"):
        clf.learn_one({"a": "x", "b": "y"}, "+")


def test_the_default_classifier_of_tables_answers_while_it_learns():
    rows, labels = table(400, np.random.default_rng(1))
    clf, right = sf.BayesClassifier(), 0
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        right += i >= 200 and clf.predict_one(row) == label
        clf.learn_one(row, label)
    assert right / 200 > 0.65
    fitted = sf.BayesClassifier().fit(columns(rows), labels)
    assert_allclose(clf.predict_proba(columns(rows)), fitted.predict_proba(columns(rows)), rtol=1e-9)


@pytest.mark.parametrize("make", [lambda: sf.BayesClassifier(structure="naive"), sf.TextClassifier])
def test_a_weight_that_cannot_be_counted_is_refused_before_the_row_waits(make):
    rows, labels = table(60) if isinstance(make(), sf.BayesClassifier) else texts(60)
    clf = streamed(make(), rows, labels)
    for w in (1e308, 1e-300, 5e-324, -1.0, float("nan"), float("inf"), "1", None):
        with pytest.raises(InvalidOptionError, match="w must be 0, or a number from 1e-140 to 1e"):
            clf.learn_one(rows[0], labels[0], w)
    assert clf.settle().class_count_.sum() == 60
    for w in (1e-140, 1e140, 0):
        clf.learn_one(rows[0], labels[0], w)
    assert clf.settle().class_count_.sum() == pytest.approx(1e140)


def test_fading_weights_that_are_nothing_are_not_learned():
    clf = sf.Fading(sf.BayesClassifier(structure="naive"), half_life=1.0, time="t")
    for time in (0, 1000, 0, 500, 999, 600.5, 1e6, 0):
        clf.learn_one({"a": 1.0, "t": time}, "p", 1e-30).learn_one({"a": 1.0, "t": time}, "q", 1e100)
        clf.predict_one({"a": 1.0})
    assert_allclose(clf.estimator_.class_count_, [1e-30, 1e100])
    for w in ("x", -1.0, float("nan"), 1e300):
        with pytest.raises(InvalidOptionError, match="w must be"):
            clf.learn_one({"a": 1.0, "t": 2e6}, "p", w)


@pytest.mark.parametrize("value", [1e160, 1e300, -1e308])
@pytest.mark.parametrize("before", [60, 1100])  # columns are not settled, and are
def test_a_number_that_no_answer_could_be_made_with_is_refused_when_it_is_learned(value, before):
    rows, labels = table(before)
    clf = streamed(sf.BayesClassifier(structure="naive"), rows, labels, ask=False)
    clf.predict_one(rows[0])
    with pytest.raises(InvalidDataError, match=r"Column 'number': Values from .* have no squares"):
        clf.learn_one(rows[1] | {"number": value}, labels[1])
    assert clf.settle().class_count_.sum() == before
    with pytest.raises(InvalidDataError, match=r"Column 'number'"):
        sf.BayesClassifier().fit({"number": [1.0, 2.0, value, 3.0]}, labels[:4])
    with pytest.raises(InvalidDataError, match=r"Column 'number'"):
        sf.BayesClassifier().fit({"number": [1e90, 2.0, 3.0, 3.0]}, labels[:4], [1e140, 1.0, 1.0, 1.0])
    same = sf.BayesClassifier(structure="naive").fit(
        {"number": [abs(value)] * 4, "b": [1.0, 2.0, 3.0, 4.0]}, labels[:4]
    )
    assert np.isfinite(same.predict_proba({"number": [abs(value)], "b": [1.5]})).all()


def test_a_row_without_any_value_may_be_all_that_waits():
    table = {"a": ["red", "blue", "red", None] * 5, "b": ["x", "y", "y", "x"] * 5}
    labels = ["p", "q", "p", "q"] * 5
    clf = sf.BayesClassifier(structure="pairs").fit(table, labels)
    clf.learn_one({"a": None, "b": None}, "p", 50.0).learn_one({}, "p", 50.0)
    assert clf.class_count_.tolist() == [110.0, 10.0]


@pytest.mark.parametrize("estimator", [sf.BayesClassifier(), sf.TextClassifier(), GaussianNB()], ids=repr)
def test_one_row_has_one_label(estimator):
    row = "a text" if isinstance(estimator, sf.TextClassifier) else {"x0": 1.0}
    estimator = clone(estimator).learn_one(row, "u")
    for label in (["u"], ("u",), {"u"}, np.array(["u", "v"])):
        with pytest.raises(InvalidDataError, match="must be a single value"):
            estimator.learn_one(row, label)
    for missing in (None, float("nan"), pd.NA, pd.NaT):
        with pytest.raises(MissingLabelError, match="label of row 0"):
            estimator.learn_one(row, missing)
    assert estimator.class_count_.tolist() == [1]
