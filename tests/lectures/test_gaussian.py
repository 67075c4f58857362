"""Gaussian naive Bayes with variances 1/n_c Σ (x − μ)²: male or female?"""

import numpy as np
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice.naive_bayes import GaussianNB

FEMALE, MALE = 0, 1


def model() -> sf.Model:
    return sf.Model.fit(*data.gender(), sf.Gaussian(prior=None))


def test_the_person_of_the_exercise_is_female():
    posterior, joint = model().posterior(data.GENDER_QUESTION)[0], model().log_joint(data.GENDER_QUESTION)[0]
    assert_allclose(posterior[FEMALE], 0.9999998455713323, rtol=1e-13)
    assert_allclose(joint[FEMALE] - joint[MALE], 15.683533389745794, rtol=1e-12)
    assert model().predict(data.GENDER_QUESTION).tolist() == ["female"]


def test_the_estimator_without_smoothing_gives_the_same_probability():
    clf = GaussianNB(var_smoothing=0.0).fit(*data.gender())
    assert clf.classes_.tolist() == ["female", "male"]
    assert_allclose(clf.predict_proba(data.GENDER_QUESTION)[0, FEMALE], 0.9999998455713323, rtol=1e-13)
    joint = clf.predict_joint_log_proba(data.GENDER_QUESTION)[0]
    assert_allclose(joint[FEMALE] - joint[MALE], 15.683533389745794, rtol=1e-12)


def test_means_and_variances_are_the_lectures():
    x, y = data.gender()
    found = model().distribution
    for c, label in enumerate(["female", "male"]):
        rows = x[y == label]
        assert_allclose(found.mean[c], rows.sum(axis=0) / 4, rtol=1e-14)
        assert_allclose(found.variance[c], ((rows - rows.sum(axis=0) / 4) ** 2).sum(axis=0) / 4, rtol=1e-12)
    assert_allclose(found.mean, [[5.4175, 132.5, 7.5], [5.855, 176.25, 11.25]], rtol=1e-14)
    assert_allclose(found.variance[:, 2], [1.25, 0.6875], rtol=1e-14)


def test_the_class_prior_is_one_half_each():
    assert_allclose(np.exp(model().log_prior), [0.5, 0.5], rtol=1e-15)


def test_with_missing_features_only_the_observed_ones_count():
    x, y = data.gender()
    question = np.array([[np.nan, 130.0, np.nan]])
    alone = sf.Model.fit(x[:, 1:2], y, sf.Gaussian(prior=None))
    assert_allclose(model().log_joint(question), alone.log_joint(np.array([[130.0]])), rtol=1e-13)
