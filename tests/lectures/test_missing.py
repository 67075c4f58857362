"""Missing features: prediction from what is observed, and training on gaps."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB

YES = 1


@pytest.mark.parametrize("gap", [None, np.nan], ids=str)
def test_tennis_with_the_wind_unknown(gap):
    x, y = data.tennis()
    question = np.array([["Overcast", "Hot", "High", gap]], dtype=object)
    clf = CategoricalNB(alpha=1).fit(x, y)
    assert_allclose(clf.predict_proba(question)[0, YES], 0.6706586826347305, rtol=1e-13)
    assert_allclose(clf.predict_proba(question.tolist())[0, YES], 0.6706586826347305, rtol=1e-13)
    model = sf.Model.fit(x, y, sf.Categorical(prior=sf.Dirichlet(1)))
    assert_allclose(model.posterior(question)[0, YES], 0.6706586826347305, rtol=1e-13)


def test_the_product_runs_over_observed_features_only():
    x, y = data.tennis()
    joint = sf.Model.fit(x, y, sf.Categorical(prior=None)).log_joint(np.array([[None, "Hot", None, "Weak"]]))
    no, yes = Fraction(5, 14) * Fraction(2, 5) * Fraction(2, 5), Fraction(9, 14) * Fraction(2, 9) * Fraction(6, 9)
    assert_allclose(np.exp(joint)[0], [float(no), float(yes)], rtol=1e-13)


def test_with_nothing_observed_the_prior_remains():
    x, y = data.tennis()
    posterior = CategoricalNB().fit(x, y).predict_proba(np.array([[None] * 4], dtype=object))
    assert_allclose(posterior, [[5 / 14, 9 / 14]], rtol=1e-14)


def test_training_skips_a_gap_in_its_column_alone():
    x, y = data.tennis()
    x = x.copy()
    x[0, 3] = None  # a weak wind on a day without tennis
    tables = CategoricalNB(alpha=0).fit(x, y).tables()
    assert_allclose(tables[4].values[:, 0], [3 / 4, 1 / 4], rtol=1e-14)  # Strong, Weak among four days
    assert_allclose(tables[1].values[:, 0], [0, 2 / 5, 3 / 5], rtol=1e-14)  # Outlook is still of five
    assert_allclose(tables[0].values, [[5 / 14, 9 / 14]], rtol=1e-14)


def test_missing_numbers_truths_and_counts_are_left_out_of_sums():
    x = np.array([[1.0, 2.0], [0.0, np.nan], [np.nan, 5.0], [1.0, 1.0]])
    y = ["a", "a", "a", "b"]
    gaussian = sf.Model.fit(x, y, sf.Gaussian(prior=None)).distribution
    assert_allclose(gaussian.mean[0], [1 / 2, 7 / 2], rtol=1e-15)
    assert_allclose(gaussian.variance[0], [1 / 4, 9 / 4], rtol=1e-15)
    assert_allclose(np.exp(BernoulliNB(alpha=1).fit(x, y).feature_log_prob_[0]), [2 / 4, 3 / 4], rtol=1e-14)
    assert_allclose(PoissonNB(alpha=0, beta=0).fit(x, y).rate_[0], [1 / 2, 7 / 2], rtol=1e-15)
    assert_allclose(np.exp(MultinomialNB(alpha=1).fit(x, y).feature_log_prob_[0]), [2 / 10, 8 / 10], rtol=1e-14)


def test_someone_of_unknown_height_is_judged_by_weight_and_feet():
    x, y = data.gender()
    question = np.array([[np.nan, 130.0, 8.0]])
    found = GaussianNB(var_smoothing=0.0).fit(x, y).predict_joint_log_proba(question)
    alone = GaussianNB(var_smoothing=0.0).fit(x[:, 1:], y).predict_joint_log_proba(question[:, 1:])
    assert_allclose(found, alone, rtol=1e-13)


def test_inside_a_block_the_density_of_what_is_observed_is_the_marginal_one():
    x, y = data.gender()
    question = np.array([[np.nan, 130.0, 8.0]])
    whole = sf.Model.fit(x, y, sf.MultivariateGaussian(prior=None))
    alone = sf.Model.fit(x[:, 1:], y, sf.MultivariateGaussian(prior=None))
    assert_allclose(whole.log_joint(question), alone.log_joint(question[:, 1:]), rtol=1e-10)
    assert_allclose(whole.posterior(question), alone.posterior(question[:, 1:]), rtol=1e-10)


def test_inside_a_block_training_uses_what_is_observed():
    """With gaps in the last column only, the others are learned from all rows and it from its regression on them."""
    x, y = data.gender()
    gaps = x[:, 1:].copy()
    gaps[[1, 6], 1] = np.nan
    found = sf.Model.fit(gaps, y, sf.MultivariateGaussian(prior=None)).distribution
    for c, label in enumerate(("female", "male")):
        own = gaps[y == label]
        seen = own[~np.isnan(own[:, 1])]
        slope = np.cov(seen.T, bias=True)[0, 1] / seen[:, 0].var()
        mean = own[:, 0].mean()
        assert_allclose(found.mean[c], [mean, seen[:, 1].mean() + slope * (mean - seen[:, 0].mean())], rtol=1e-7)
        assert_allclose(found.covariance[c, 0], [own[:, 0].var(), slope * own[:, 0].var()], rtol=1e-6)


@pytest.mark.parametrize("gap", [None, np.nan], ids=str)
def test_a_table_of_tennis_with_the_wind_unknown_or_its_column_absent(gap):
    x, y = data.tennis()
    rows = dict(zip(data.TENNIS_COLUMNS, x.T.tolist(), strict=True))
    clf = sf.BayesClassifier(dict.fromkeys(rows, sf.Categorical(prior=sf.Dirichlet(1))), calibrate=False).fit(rows, y)
    question = {"Outlook": ["Overcast"], "Temperature": ["Hot"], "Humidity": ["High"]}
    assert_allclose(clf.predict_proba(question | {"Wind": [gap]})[0, YES], 0.6706586826347305, rtol=1e-13)
    with pytest.warns(sf.MissingColumnWarning, match="Wind"):
        assert_allclose(clf.predict_proba(question)[0, YES], 0.6706586826347305, rtol=1e-13)
