"""Categorical naive Bayes with smoothing l: should you play tennis or not?"""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice.naive_bayes import CategoricalNB

NO, YES = 0, 1


def model(smoothing: float) -> sf.Model:
    x, y = data.tennis()
    return sf.Model.fit(x, y, sf.Categorical(prior=sf.Dirichlet(smoothing) if smoothing else None))


def test_without_smoothing_the_joint_of_yes_is_4_in_567_and_no_is_impossible():
    joint = np.exp(model(0).log_joint(data.TENNIS_QUESTION))[0]
    assert_allclose(joint[YES], 4 / 567, rtol=1e-13)
    assert joint[NO] == 0.0
    assert_allclose(model(0).posterior(data.TENNIS_QUESTION), [[0.0, 1.0]])


def test_with_laplace_smoothing_both_are_possible_and_yes_is_likelier():
    joint = np.exp(model(1).log_joint(data.TENNIS_QUESTION))[0]
    assert_allclose(joint, [float(Fraction(75, 10976)), float(Fraction(15, 1694))], rtol=1e-13)
    assert_allclose(model(1).posterior(data.TENNIS_QUESTION)[0, YES], 0.564434845212383, rtol=1e-13)
    assert model(1).predict(data.TENNIS_QUESTION).tolist() == ["Yes"]


@pytest.mark.parametrize("rows", [data.TENNIS_QUESTION, data.TENNIS_QUESTION.tolist()], ids=["array", "list"])
def test_the_estimator_gives_the_same_probability(rows):
    x, y = data.tennis()
    assert_allclose(CategoricalNB(alpha=1).fit(x, y).predict_proba(rows)[0, YES], 0.564434845212383, rtol=1e-13)
    assert_allclose(CategoricalNB(alpha=0).fit(x, y).predict_proba(rows)[0], [0.0, 1.0])


def test_numbered_categories_give_the_same_probability():
    x, y = data.tennis()
    numbers = np.stack([np.unique(column, return_inverse=True)[1] for column in x.T], axis=1)
    question = [[0, 1, 0, 0]]  # Overcast, Hot, High and Strong in alphabetical order
    assert_allclose(CategoricalNB().fit(numbers, y).predict_proba(question)[0, YES], 0.564434845212383, rtol=1e-13)


def test_the_class_prior_is_the_share_of_days():
    assert_allclose(np.exp(model(0).log_prior), [5 / 14, 9 / 14], rtol=1e-14)


def test_each_feature_has_a_conditional_probability_table():
    tables = {table.title: table for table in model(0).tables(data.TENNIS_COLUMNS)}
    expected = {
        "Outlook": (["Overcast", "Rain", "Sunny"], [[0, 4 / 9], [2 / 5, 3 / 9], [3 / 5, 2 / 9]]),
        "Temperature": (["Cool", "Hot", "Mild"], [[1 / 5, 3 / 9], [2 / 5, 2 / 9], [2 / 5, 4 / 9]]),
        "Humidity": (["High", "Normal"], [[4 / 5, 3 / 9], [1 / 5, 6 / 9]]),
        "Wind": (["Strong", "Weak"], [[3 / 5, 3 / 9], [2 / 5, 6 / 9]]),
    }
    for name, (rows, values) in expected.items():
        assert list(tables[name].rows) == rows
        assert list(tables[name].columns) == ["No", "Yes"]
        assert_allclose(tables[name].values, values, rtol=1e-14)


def test_the_table_of_a_feature_prints_as_text():
    tables = model(1).tables(data.TENNIS_COLUMNS)
    assert str(tables[4]) == "\n".join(
        [
            "Wind          No       Yes",  # 4/7 and 4/11, 3/7 and 7/11
            "Strong  0.571429  0.363636",
            "Weak    0.428571  0.636364",
        ]
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.5, 1.0, 3.0])
def test_every_column_of_a_table_sums_to_one(smoothing):
    for table in model(smoothing).tables()[1:]:
        assert_allclose(table.values.sum(axis=0), 1.0, rtol=1e-14)


def test_an_estimate_is_the_count_and_l_over_the_class_count_and_l_for_each_category():
    x, y = data.tennis()
    smoothing = Fraction(1, 2)
    outlook = model(0.5).tables()[1].values
    for c, label in enumerate(["No", "Yes"]):
        for k, category in enumerate(["Overcast", "Rain", "Sunny"]):
            count = int(((x[:, 0] == category) & (y == label)).sum())
            expected = (count + smoothing) / (int((y == label).sum()) + smoothing * 3)
            assert_allclose(outlook[k, c], float(expected), rtol=1e-14)
