"""Rows that no class can have, and classes that no prior allows."""

from dataclasses import replace

import numpy as np
import pytest

import suffice as sf

X, Y = np.array([[0.0], [0.0], [0.0], [1.0]]), np.array(["a", "a", "a", "b"])
IMPOSSIBLE = np.array([[7.0], [0.0]])  # no class has a 7


@pytest.fixture
def model():
    """A model without smoothing, in which values that were not seen are impossible."""
    return sf.Model.fit(X, Y, sf.Categorical(prior=None))


@pytest.mark.parametrize("log", [False, True])
def test_a_row_that_is_impossible_under_every_class_gets_the_prior(model, log):
    with pytest.warns(sf.ImpossibleRowWarning, match="1 of 2 rows"):
        found = np.exp(model.log_posterior(IMPOSSIBLE)) if log else model.posterior(IMPOSSIBLE)
    np.testing.assert_allclose(found, [[0.75, 0.25], [1.0, 0.0]], rtol=1e-12)
    assert model.predict(IMPOSSIBLE).tolist() == ["a", "a"]
    rare = replace(model, log_prior=np.log([0.25, 0.75]))
    assert rare.predict(IMPOSSIBLE).tolist() == ["b", "a"]
    with pytest.warns(sf.ImpossibleRowWarning, match="1 of 2 rows"):
        np.testing.assert_allclose(rare.posterior(IMPOSSIBLE)[0], [0.25, 0.75], rtol=1e-12)


def test_without_any_prior_all_classes_are_equally_probable(model):
    none = replace(model, log_prior=np.full(2, -np.inf))
    with pytest.warns(sf.ImpossibleRowWarning, match="2 of 2 rows"):
        np.testing.assert_allclose(none.posterior(IMPOSSIBLE), np.full((2, 2), 0.5), rtol=1e-12)
    assert none.predict(IMPOSSIBLE).tolist() == ["a", "a"]
    _, drawn = none.sample(400, random_state=0)
    assert 150 < (drawn == "a").sum() < 250
    _, drawn = model.sample(400, random_state=0)
    assert 260 < (drawn == "a").sum() < 340
