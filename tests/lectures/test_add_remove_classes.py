"""A class can be added or removed without retraining the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from lectures import data
from suffice.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB

ESTIMATORS = [BernoulliNB(), CategoricalNB(), ComplementNB(), GaussianNB(), MultinomialNB(), PoissonNB()]
every_estimator = pytest.mark.parametrize("clf", ESTIMATORS, ids=lambda clf: type(clf).__name__)

rng = np.random.default_rng(0)
X = rng.poisson([[1.0, 4.0, 2.0], [3.0, 1.0, 2.0], [2.0, 2.0, 5.0]], (20, 3, 3)).reshape(60, 3).astype(float)
Y = np.tile(["bird", "cat", "dog"], 20)


@every_estimator
def test_removing_a_class_equals_fitting_without_it(clf):
    kept = Y != "cat"
    without = type(clf)().fit(X[kept], Y[kept])
    removed = type(clf)().fit(X, Y).drop_class("cat")
    assert removed.classes_.tolist() == ["bird", "dog"]
    known = X[(X[kept].max(axis=0) >= X).all(axis=1)]  # whatever numbers a category had in the rows that stay
    assert_allclose(removed.predict_joint_log_proba(known), without.predict_joint_log_proba(known), rtol=1e-10)


@every_estimator
def test_adding_a_class_equals_fitting_with_it(clf):
    new = Y == "cat"
    grown = type(clf)().fit(X[~new], Y[~new]).partial_fit(X[new], Y[new])
    assert grown.classes_.tolist() == ["bird", "cat", "dog"]
    together = type(clf)().fit(X, Y)
    assert_allclose(grown.predict_joint_log_proba(X), together.predict_joint_log_proba(X), rtol=1e-10)


def test_the_other_classes_keep_their_parameters_to_the_bit():
    before = GaussianNB(var_smoothing=0.0).fit(X, Y)
    means, variances = before.theta_, before.var_
    after = before.drop_class("bird")
    assert_array_equal(after.theta_, means[1:])
    assert_array_equal(after.var_, variances[1:])
    assert_allclose(after.class_prior_, [1 / 2, 1 / 2], rtol=1e-15)


def test_a_third_outcome_joins_the_tennis_table():
    x, y = data.tennis()
    clf = CategoricalNB(alpha=0).fit(x, y)
    clf.partial_fit(np.array([["Overcast", "Hot", "High", "Strong"]] * 2, dtype=object), ["Perhaps"] * 2)
    assert_allclose(np.exp(clf.class_log_prior_), [5 / 16, 2 / 16, 9 / 16], rtol=1e-14)
    # The joint of yes was 4/567 at a prior of 9/14; of the new class every factor is 1.
    joint = np.exp(clf.predict_joint_log_proba(data.TENNIS_QUESTION))[0]
    assert_allclose(joint, [0, 2 / 16, 4 / 567 * 14 / 16], rtol=1e-13)


def test_two_models_of_different_classes_add_up_to_one_of_both():
    x, y = data.gender()
    men, women = (GaussianNB(var_smoothing=0.0).fit(x[y == label], y[y == label]) for label in ("male", "female"))
    assert_allclose((men + women).predict_proba(data.GENDER_QUESTION)[0, 0], 0.9999998455713323, rtol=1e-13)


def test_statistics_of_classes_are_dropped_and_added_too():
    x, y = data.gender()
    family = sf.Gaussian()
    both = family.summarize(x, y)
    assert both.drop("male") == family.summarize(x[y == "female"], y[y == "female"])
    assert both.drop("male") + family.summarize(x[y == "male"], y[y == "male"]) == both


def test_removing_a_class_that_is_not_there_is_refused_and_changes_nothing():
    clf = GaussianNB().fit(X, Y)
    with pytest.raises(sf.NotPartError, match="No class 'fish': the classes are 'bird', 'cat', 'dog'"):
        clf.drop_class("fish")
    assert clf.classes_.tolist() == ["bird", "cat", "dog"]


def test_a_table_of_columns_of_several_kinds_gains_and_loses_a_class():
    rows = {"count": X[:, 0], "name": np.array(["low", "high"], dtype=object)[(X[:, 1] > 2).astype(int)]}
    families = {"count": sf.Poisson(), "name": sf.Categorical()}

    def some(own):
        return {name: column[own] for name, column in rows.items()}

    new = Y == "cat"
    without = sf.BayesClassifier(families).fit(some(~new), Y[~new])
    together = sf.BayesClassifier(families).fit(rows, Y)
    grown = sf.BayesClassifier(families).fit(some(~new), Y[~new]).partial_fit(some(new), Y[new])
    assert_allclose(grown.predict_proba(rows), together.predict_proba(rows), rtol=1e-9)
    assert_allclose(grown.drop_class("cat").predict_proba(rows), without.predict_proba(rows), rtol=1e-9)
