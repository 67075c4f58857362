"""Every family in floating point against itself in exact arithmetic."""

import re
from pathlib import Path

import numpy as np
import pytest

import accuracy
import exact
import shipped
from exact import mp
from suffice.core.special import log_gamma, log_gamma_ratio, log_rising

PAGE = (Path(__file__).parents[1] / "docs" / "accuracy.md").read_text(encoding="utf-8")


def test_every_family_has_an_exact_twin_and_a_bound():
    assert set(exact.TWINS) == set(accuracy.BOUNDS) == set(shipped.family_names())


@pytest.mark.parametrize(("name", "learn"), accuracy.cases())
def test_rounding_errors_stay_below_the_bound(name, learn):
    estimate, density, posterior = accuracy.BOUNDS[name]
    for rows, errors in accuracy.measure(name, learn).items():
        assert errors.estimate <= estimate, rows
        assert errors.density <= density, rows
        assert errors.posterior <= posterior, rows


@pytest.mark.parametrize("name", accuracy.ESTIMATORS)
def test_probabilities_are_as_exact_as_those_of_scikit_learn(name):
    for rows, ours, theirs in accuracy.beside_scikit_learn(name):
        if theirs is not None:
            assert ours is not None, rows
            assert ours <= max(2.0 * theirs, 64 * accuracy.EPS), rows


def test_the_page_has_every_family_and_its_bounds():
    for name, learn in accuracy.cases():
        assert re.search(rf"^\| {name} \| {learn and f'`{learn}`'} \|", PAGE, re.MULTILINE)
    for name, bounds in accuracy.BOUNDS.items():
        assert f"| {name} | {' | '.join(f'{bound:g}' for bound in bounds)} |" in PAGE
    assert all(f"`{name}`" in PAGE for name in accuracy.ESTIMATORS)


SIZES = [1e-3, 0.5, 1.0, 2.0, 9.999, 10.0, 11.5, 1e3, 1e8, 1e15]


@pytest.mark.parametrize("a", SIZES)
@pytest.mark.parametrize("x", [0.0, 0.25, 1.0, 7.0, 1e4, 1e15])
def test_ratios_of_gamma_functions_keep_their_digits(a, x):
    from_a, to = mp.mpf(a), mp.mpf(a) + mp.mpf(x)
    rising = mp.loggamma(to) - mp.loggamma(from_a)
    assert abs(float(log_rising(a, x)) - rising) <= 32 * accuracy.EPS * max(1, abs(rising), abs(mp.log(from_a)))
    for p in SIZES:
        ratio = mp.loggamma(to + p) + mp.loggamma(from_a) - mp.loggamma(to) - mp.loggamma(from_a + p)
        least = mp.loggamma(from_a + max(p, x) + min(p, x)) - mp.loggamma(from_a + max(p, x))  # a term of the sum
        found = float(log_gamma_ratio(a, p, x))
        assert abs(found - ratio) <= 64 * accuracy.EPS * max(1, abs(ratio), abs(least), abs(mp.log(from_a)))
        assert found == pytest.approx(float(log_gamma_ratio(a, x, p)), rel=1e-12, abs=1e-12)


def test_the_logarithm_of_gamma_is_that_of_mpmath():
    x = np.concatenate([np.geomspace(1e-300, 1e300, 200), np.linspace(0.1, 30, 100)])
    expected = np.array([float(mp.loggamma(mp.mpf(v))) for v in x])
    np.testing.assert_allclose(log_gamma(x), expected, rtol=8 * accuracy.EPS, atol=32 * accuracy.EPS)
