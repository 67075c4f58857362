"""Real numbers made discrete: heights of ≤ 3', 3'–4', 4'–5', 5'–6' and above, or bins found in the data."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from lectures import data

EDGES = [3.0, 4.0, 5.0, 6.0]
HEIGHTS = np.array([2.8, 3.0, 3.2, 3.9, 4.0, 4.7, 5.1, 5.5, 5.9, 6.0, 6.2, 7.0])
WHO = np.array(["child"] * 6 + ["adult"] * 6)


def share(who: str, above: float, up_to: float) -> float:
    own = [h for h, w in zip(HEIGHTS, WHO, strict=True) if w == who]
    return float(Fraction(sum(above < h <= up_to for h in own), len(own)))


def test_maximum_likelihood_over_bins_is_counting():
    model = sf.Model.fit(HEIGHTS[:, None], WHO, sf.Binned(prior=None, edges=EDGES))
    bounds = [-np.inf, *EDGES, np.inf]
    expected = [[share(who, a, b) for a, b in pairwise(bounds)] for who in model.labels]
    assert_allclose(model.distribution.probability, expected, rtol=1e-15)
    assert list(model.tables(["height"])[1].rows) == ["≤ 3", "3 – 4", "4 – 5", "5 – 6", "> 6"]


@pytest.mark.parametrize("options", [{"how": "quantile"}, {"how": "width"}, {"how": "mdl"}], ids=str)
def test_bins_found_in_the_data_are_counted_in_the_same_way(options):
    x, y = data.gender()
    model = sf.Model.fit(x, y, sf.Binned(prior=None, **options))
    fitted = model.distribution
    for j, (edges, table) in enumerate(zip(fitted.edges, fitted.table.counts.columns(fitted.probability), strict=True)):
        bounds = [-np.inf, *edges, np.inf]
        for label, row in zip(model.labels, table, strict=True):
            own = x[y == label, j]
            expected = [np.mean((own > a) & (own <= b)) for a, b in pairwise(bounds)]
            assert_allclose(row, expected, rtol=1e-15)


def test_feet_tell_the_sexes_apart_by_one_cut():
    x, y = data.gender()
    model = sf.Model.fit(x, y, sf.Binned(how="mdl"))
    assert_array_equal(model.distribution.edges[2], [9.5])  # between the largest woman's foot and the smallest man's
    assert_array_equal(model.predict(x), y)
