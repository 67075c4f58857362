"""Columns of different types in one model: the log joint is the sum of the single-column models'."""

import numpy as np
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice import BayesClassifier
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, PoissonNB


def test_numbers_categories_truths_and_counts_add_up():
    rng = np.random.default_rng(0)
    n = 80
    y = rng.choice(["ham", "spam", "list"], n)
    own = np.searchsorted(["ham", "list", "spam"], y)
    rows = {
        "size": rng.normal(own, 1.0),
        "sender": rng.choice(["friend", "shop", "unknown"], n).astype(object),
        "link": rng.random(n) < 0.3 + 0.2 * own,
        "words": rng.poisson(3.0 + own),
    }
    families = {
        "size": sf.Gaussian(prior=None),
        "sender": sf.Categorical(prior=sf.Dirichlet(1)),
        "link": sf.Bernoulli(prior=sf.Beta(1, 1)),
        "words": sf.Poisson(prior=None),
    }
    together = BayesClassifier(families, calibrate=False).fit(rows, y)
    single = [
        (GaussianNB(var_smoothing=0.0), rows["size"]),
        (CategoricalNB(alpha=1), rows["sender"]),
        (BernoulliNB(alpha=1), rows["link"].astype(float)),
        (PoissonNB(alpha=0, beta=0), rows["words"].astype(float)),
    ]
    log_prior = np.log([np.mean(y == label) for label in together.classes_])
    total = log_prior + sum(clf.fit(x[:, None], y).predict_joint_log_proba(x[:, None]) - log_prior for clf, x in single)
    assert_allclose(together.predict_joint_log_proba(rows), total, rtol=1e-10)
    assert_allclose(together.score_samples(rows), np.log(np.exp(total).sum(axis=1)), rtol=1e-10)


def test_people_are_told_apart_by_height_and_by_tennis_weather():
    """The exercises' answers are of separate tables; of one table with both kinds of column the odds multiply."""
    x, y = data.gender()
    hair = np.array(["short", "short", "long", "short", "long", "long", "short", "long"], dtype=object)
    families = {"height": sf.Gaussian(prior=None), "hair": sf.Categorical(prior=None)}
    clf = BayesClassifier(families, calibrate=False).fit({"height": x[:, 0], "hair": hair}, y)
    height = GaussianNB(var_smoothing=0.0).fit(x[:, :1], y).predict_proba([[5.8]])[0]
    odds = height[1] / height[0] * (3 / 4) / (1 / 4)  # short hair: three of four men, one of four women
    found = clf.predict_proba({"height": [5.8], "hair": ["short"]})[0]
    assert_allclose(found[1] / found[0], odds, rtol=1e-10)
