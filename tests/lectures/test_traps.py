"""What trips naive Bayes up: strange labels, classes of one row, constant columns, categories of one class, gaps."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from lectures import data
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

LABELS = [[7, -2], [True, False], ["zebra", "ape"], [3.0, -1.0], np.array(["b", "a"], dtype=object)]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_may_be_anything_in_any_order(labels):
    x, y = data.gender()
    named = np.asarray(labels)[(y == "female").astype(int)]  # the first label is male
    clf = GaussianNB(var_smoothing=0.0).fit(x, named)
    assert clf.classes_.tolist() == sorted(labels)
    female = clf.classes_.tolist().index(labels[1])
    assert_allclose(clf.predict_proba(data.GENDER_QUESTION)[0, female], 0.9999998455713323, rtol=1e-13)
    assert clf.predict(data.GENDER_QUESTION).tolist() == [labels[1]]


@pytest.mark.parametrize("clf", [GaussianNB(), BernoulliNB(), MultinomialNB(), CategoricalNB()], ids=str)
def test_a_class_of_one_row_is_a_class(clf):
    x = np.array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 0.0], [3.0, 0.0, 2.0]])
    y = ["many", "many", "many", "one"]
    p = clf.fit(x, y).predict_proba(x)
    assert np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert clf.predict(x[3:]).tolist() == ["one"]


def test_a_bare_gaussian_is_not_certain_of_a_class_of_one_row():
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), ["many", "many", "many", "one"]
    p = sf.Model.fit(x, y, sf.Gaussian()).posterior(np.array([[2.9]]))[0]
    assert 0.01 < p[0] < 0.99


def test_a_column_constant_within_a_class_is_a_point_mass_and_no_nan():
    x, y = np.array([[5.0, 0.0], [5.0, 1.0], [4.0, 2.0], [6.0, 3.0]]), ["same", "same", "varies", "varies"]
    clf = GaussianNB(var_smoothing=0.0).fit(x, y)
    p = clf.predict_proba([[5.0, 1.0], [5.1, 1.0], [np.nan, 1.0]])
    assert np.isfinite(p).all()
    assert p[0, 0] > 0.999, "exactly the constant"
    assert p[1, 0] == 0.0, "anything else"
    alone = GaussianNB(var_smoothing=0.0).fit(x[:, 1:], y).predict_proba([[1.0]])
    assert_allclose(p[2], alone[0], rtol=1e-12, err_msg="not observed: the other column decides")


def test_a_category_of_one_class_alone_excludes_the_others_only_without_smoothing():
    x, y = data.tennis()
    overcast = np.array([["Overcast", None, None, None]], dtype=object)
    joint = {c: Fraction(n, 14) for c, n in (("No", 5), ("Yes", 9))}
    plain = CategoricalNB(alpha=0).fit(x, y).predict_proba(overcast)[0]
    assert_array_equal(plain, [0.0, 1.0])
    no, yes = joint["No"] * Fraction(0 + 1, 5 + 3), joint["Yes"] * Fraction(4 + 1, 9 + 3)
    smoothed = CategoricalNB(alpha=1).fit(x, y).predict_proba(overcast)[0]
    assert_allclose(smoothed, [float(no / (no + yes)), float(yes / (no + yes))], rtol=1e-13)


@pytest.mark.parametrize("clf", [BernoulliNB(alpha=0), CategoricalNB(alpha=0)], ids=str)
def test_a_gap_beside_an_impossible_entry_is_no_nan(clf):
    x, y = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]), ["a", "a", "b", "b"]
    rows = np.array([[1.0, np.nan], [np.nan, 1.0], [np.nan, np.nan]])
    p = clf.fit(x, y).predict_proba(rows)
    assert_allclose(p, [[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]], rtol=1e-12)
    assert_array_equal(clf.predict_joint_log_proba(rows)[0, 1], -np.inf)


def test_a_gap_is_no_nan_where_every_class_is_impossible():
    x, y = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), ["a", "b"]
    clf = BernoulliNB(alpha=0).fit(x, y)
    with pytest.warns(sf.ImpossibleRowWarning):
        assert_allclose(clf.predict_proba([[1.0, 1.0, np.nan]]), [[0.5, 0.5]])


def test_a_text_of_a_hundred_thousand_words_has_probabilities():
    clf = sf.TextClassifier(event="multinomial", ngrams=(1, 1), smoothing=1.0, calibrate=False)
    clf.fit(["yes", "no"], ["good", "bad"])  # θ is 2/3 for a class's own word, 1/3 for the other's
    balanced = "yes no " * 50_000
    assert_allclose(clf.predict_proba([balanced, balanced + "yes"]), [[1 / 2, 1 / 2], [1 / 3, 2 / 3]], rtol=1e-8)
    assert_allclose(clf.predict_log_proba(["yes " * 100_000])[0], [-100_000 * np.log(2), 0.0], rtol=1e-9)
