"""Estimating p(y | x) by counting the training rows that are exactly x."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from lectures import data
from suffice.core.errors import ImpossibleRowWarning


def counted(x, y, row, label) -> float:
    """Rows equal to `row` with the label, among all rows equal to `row`."""
    same = [tuple(r) == tuple(row) for r in x]
    return float(Fraction(sum(s and c == label for s, c in zip(same, y, strict=True)), sum(same)))


@pytest.mark.parametrize("seed", range(3))
def test_the_posterior_is_the_share_of_the_label_among_identical_rows(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 3, (300, 3)), rng.integers(0, 4, 300)
    model = sf.Model.fit(x, y, sf.JointCategorical(prior=None))
    expected = [[counted(x, y, row, label) for label in range(4)] for row in x]
    assert_allclose(model.posterior(x), expected, rtol=1e-13, atol=1e-15)


def test_two_columns_of_the_tennis_table_are_counted():
    x, y = data.tennis()
    outlook_and_wind = x[:, [0, 3]]
    model = sf.Model.fit(outlook_and_wind, y, sf.JointCategorical(prior=None))
    expected = [[counted(outlook_and_wind, y, row, label) for label in model.labels] for row in outlook_and_wind]
    assert_allclose(model.posterior(outlook_and_wind), expected, rtol=1e-13, atol=1e-15)


def test_a_row_that_was_never_seen_leaves_nothing_to_count():
    x, y = data.tennis()
    model = sf.Model.fit(x, y, sf.JointCategorical(prior=None))
    assert not any((row == data.TENNIS_QUESTION[0]).all() for row in x)
    with pytest.warns(ImpossibleRowWarning):
        assert_allclose(model.posterior(data.TENNIS_QUESTION), [np.exp(model.log_prior)])
    assert_array_equal(model.predict(x), y)  # and every row that was seen is its own best witness
