"""A generative model can be drawn from: x ~ p(x | y), or (x, y) ~ p(x, y)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice import BayesClassifier

N = 40000


def five_errors(share, n=N):
    return 5 * np.sqrt(np.maximum(share * (1 - share), 1e-12) / n)


def test_tennis_days_are_drawn_as_often_as_the_tables_say():
    x, y = data.tennis()
    rows = dict(zip(data.TENNIS_COLUMNS, x.T.tolist(), strict=True))
    families = dict.fromkeys(rows, sf.Categorical(prior=sf.Dirichlet(1)))
    clf = BayesClassifier(families, calibrate=False).fit(rows, y)
    drawn, labels = clf.sample(N, random_state=0)
    assert abs(np.mean(labels == "Yes") - 9 / 14) < five_errors(9 / 14)
    for j, name in enumerate(data.TENNIS_COLUMNS):
        values = np.unique(x[:, j].astype(str))
        for label, days in (("No", 5), ("Yes", 9)):
            own = np.array(drawn[name], dtype=object)[labels == label]
            for value in values:
                count = np.sum((x[:, j] == value) & (y == label))
                share = (count + 1) / (days + len(values))
                assert abs(np.mean(own == value) - share) < five_errors(share, len(own))


def test_people_of_a_class_are_drawn_with_its_means_and_variances():
    x, y = data.gender()
    rows = {"height": x[:, 0], "weight": x[:, 1], "foot": x[:, 2]}
    clf = BayesClassifier(dict.fromkeys(rows, sf.Gaussian(prior=None)), calibrate=False).fit(rows, y)
    drawn, labels = clf.sample(N, label="male", random_state=0)
    assert set(labels) == {"male"}
    for name, values in rows.items():
        own = values[y == "male"]
        assert abs(np.mean(drawn[name]) - own.mean()) < 5 * own.std() / np.sqrt(N)
        assert_allclose(np.var(drawn[name]), own.var(), rtol=5 * np.sqrt(2 / N))
    found = np.corrcoef([drawn["height"], drawn["weight"]])[0, 1]
    assert abs(found) < 5 / np.sqrt(N)  # independent, given the class


def test_columns_of_a_block_are_drawn_together():
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal([0.0, 1.0], [[1.0, 0.8], [0.8, 2.0]], 300)
    pets = rng.choice(["cat", "dog"], 300)
    food = np.where(pets == "cat", "fish", rng.choice(["meat", "corn"], 300))
    rows = {"a": x[:, 0], "b": x[:, 1], "pet": pets, "food": food}
    families = {("a", "b"): sf.MultivariateGaussian(prior=None), ("pet", "food"): sf.JointCategorical(prior=None)}
    clf = BayesClassifier(families, calibrate=False).fit(rows, np.zeros(300))
    drawn, _ = clf.sample(N, random_state=1)
    assert_allclose(np.cov([drawn["a"], drawn["b"]]), np.cov(x.T, bias=True), atol=0.08)
    assert set(np.array(drawn["food"])[np.array(drawn["pet"]) == "cat"]) == {"fish"}
    share = np.mean((pets == "dog") & (food == "corn"))
    found = np.mean((np.array(drawn["pet"]) == "dog") & (np.array(drawn["food"]) == "corn"))
    assert abs(found - share) < five_errors(share)


def test_draws_are_repeatable_and_of_known_classes():
    x, y = data.gender()
    clf = BayesClassifier().fit({"height": x[:, 0]}, y)
    assert_allclose(*(clf.sample(5, random_state=7)[0]["height"] for _ in range(2)))
    with pytest.raises(sf.MismatchError, match="No class 'robot'"):
        clf.sample(1, label="robot")
