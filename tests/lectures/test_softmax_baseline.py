"""Softmax regression on the same bags of words, to compare naive Bayes with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import suffice as sf
from lectures.newsgroups import four_newsgroups
from suffice.naive_bayes import BernoulliNB
from suffice.text import BagOfWords

SENTENCES = ["God is love", "OpenGL on the GPU is fast"]
EXPECTED = ["soc.religion.christian", "comp.graphics"]


@pytest.fixture
def newsgroups(data_dir):
    return four_newsgroups(data_dir)


def test_softmax_regression_names_the_lectures_sentences(newsgroups):
    model = make_pipeline(BagOfWords(binary=True, dtype=np.float64), LogisticRegression(C=1e5, max_iter=300))
    model.fit(*newsgroups)
    assert model.predict(SENTENCES).tolist() == EXPECTED
    assert model.score(*newsgroups) == 1.0


def test_naive_bayes_of_the_same_bags_agrees(newsgroups):
    model = make_pipeline(BagOfWords(binary=True), BernoulliNB()).fit(*newsgroups)
    assert model.predict(SENTENCES)[1] == EXPECTED[1]
    assert sf.TextClassifier().fit(*newsgroups).predict(SENTENCES).tolist() == EXPECTED


def test_both_are_a_softmax_of_linear_scores(newsgroups):
    """They differ in how w and b are found, and not in what they are used for."""
    texts, y = newsgroups[0][:400], newsgroups[1][:400]
    bags = BagOfWords(binary=True, max_features=300, dtype=np.float64).fit(texts)
    x = bags.transform(texts)
    naive, regression = BernoulliNB().fit(x, y), LogisticRegression(max_iter=300).fit(x, y)
    form = naive.linear_form()
    for coef, intercept, model in (
        (form.coef, form.intercept, naive),
        (regression.coef_, regression.intercept_, regression),
    ):
        assert coef.shape == (4, 300)
        assert_allclose(softmax(x @ coef.T + intercept, axis=1), model.predict_proba(x), rtol=1e-8, atol=1e-12)


def test_the_comparison_puts_both_on_the_same_documents(newsgroups):
    texts, y = newsgroups[0][:300], newsgroups[1][:300]
    found = sf.compare(sf.TextClassifier(), texts, y, sizes=[30, 200], repeats=1)
    assert found.names == ("TextClassifier", "logistic regression")
    assert (found.accuracy[:, 1] > found.accuracy[:, 0]).all()
    assert (found.accuracy[:, 1] > 0.6).all()
