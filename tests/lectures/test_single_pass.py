"""One pass through the data, no gradients: only statistics are kept, and those of a stream are those of the whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB


def stream(x, y, size):
    """Pieces that can be read once only."""
    for start in range(0, len(y), size):
        yield x[start : start + size], y[start : start + size]


@pytest.mark.parametrize("size", [1, 3, 5, 100])
def test_counts_of_a_stream_are_exactly_those_of_the_whole(size):
    x, y = data.tennis()
    family = sf.Categorical()
    assert sum(family.summarize(*piece) for piece in stream(x, y, size)) == family.summarize(x, y)
    _, words, sentiments = data.sentiment()
    for family in (sf.Multinomial(), sf.Bernoulli(), sf.Poisson()):
        parts = [family.summarize(*piece) for piece in stream(words, sentiments, size)]
        assert sum(parts) == family.summarize(words, sentiments)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_moments_of_a_stream_are_those_of_the_whole(size):
    x, y = data.gender()
    family = sf.Gaussian()
    found = sum(family.summarize(*piece) for piece in stream(x, y, size))
    assert found.labels.tolist() == ["female", "male"]
    for c, label in enumerate(found.labels):
        rows = x[y == label]
        assert found.weight[c] == 4
        assert_allclose(found.statistic.mean[c], rows.mean(axis=0), rtol=1e-14)
        assert_allclose(found.statistic.squares[c], 4 * rows.var(axis=0), rtol=1e-12)


@pytest.mark.parametrize("size", [1, 4])
def test_learning_from_a_stream_answers_the_exercises(size):
    tennis, gender = CategoricalNB(), GaussianNB(var_smoothing=0.0)
    for piece in stream(*data.tennis(), size):
        tennis.partial_fit(*piece)
    for piece in stream(*data.gender(), size):
        gender.partial_fit(*piece)
    assert_allclose(tennis.predict_proba(data.TENNIS_QUESTION)[0, 1], 0.564434845212383, rtol=1e-13)
    assert_allclose(gender.predict_proba(data.GENDER_QUESTION)[0, 0], 0.9999998455713323, rtol=1e-13)


@pytest.mark.parametrize("clf", [BernoulliNB(), MultinomialNB(), ComplementNB(), PoissonNB(), GaussianNB()], ids=str)
def test_learning_row_by_row_is_learning_at_once(clf):
    rng = np.random.default_rng(0)
    x, y = rng.poisson(2.0, (50, 4)).astype(float), rng.integers(0, 3, 50)
    whole = type(clf)().fit(x, y)
    parts = type(clf)()
    for piece in stream(x, y, 1):
        parts.partial_fit(*piece)
    assert_allclose(parts.predict_joint_log_proba(x), whole.predict_joint_log_proba(x), rtol=1e-10)


def test_a_model_is_made_of_statistics_alone():
    x, y = data.gender()
    family = sf.Gaussian(prior=None)
    statistics = family.summarize(x, y)
    del x, y
    posterior = sf.Model.of(statistics, family).posterior(data.GENDER_QUESTION)
    assert_allclose(posterior[0, 0], 0.9999998455713323, rtol=1e-13)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_table_that_comes_in_pieces_gives_the_model_of_the_whole(size):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    rows = {
        "number": rng.normal(y, 1.0),
        "name": rng.choice(list("abc"), 60).astype(object),
        "truth": rng.random(60) < 0.3 + 0.2 * y,
    }
    clf = sf.BayesClassifier()
    for start in range(0, 60, size):
        clf.partial_fit({name: column[start : start + size] for name, column in rows.items()}, y[start : start + size])
    whole = sf.BayesClassifier().fit(rows, y)
    assert clf.statistics_ == whole.statistics_
    assert_allclose(clf.predict_proba(rows), whole.predict_proba(rows), rtol=1e-9)
