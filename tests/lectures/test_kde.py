"""Kernel density class-conditionals:  p(x_d | y = c) = 1/N_c Σ_{n: y_n = c} K_h(x_d − x_nd)."""

import math

import numpy as np
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice.naive_bayes import KernelNB


def bump(u: float, h: float) -> float:
    """K_h for the standard Gaussian density K."""
    return math.exp(-0.5 * (u / h) ** 2) / (math.sqrt(2 * math.pi) * h)


def test_the_density_is_the_average_of_the_bumps():
    points, h = [1.0, 2.0, 2.0, 5.5], 0.8
    family = sf.Kernel(bandwidth=h)
    fitted = family.estimate(family.summarize(np.array(points)[:, None], ["c"] * 4).statistic)
    for x in (0.0, 2.0, 3.7, 9.0):
        by_hand = sum(bump(x - p, h) for p in points) / len(points)
        assert_allclose(fitted.log_density(np.array([[x]])), math.log(by_hand), rtol=1e-12)


def test_a_kernel_is_symmetric_and_integrates_to_one():
    grid = np.linspace(-12, 12, 24_001)
    for kernel in ("gaussian", "epanechnikov", "triangular", "uniform", "biweight", "cosine"):
        family = sf.Kernel(kernel, 1.3)
        fitted = family.estimate(family.summarize([[0.0]], [0]).statistic)
        density, mirrored = (np.exp(fitted.log_density(x[:, None])[:, 0]) for x in (grid, -grid))
        assert_allclose(density, mirrored, rtol=1e-12)
        assert_allclose(np.trapezoid(density, grid), 1.0, atol=1e-3)


def test_naive_bayes_with_kernel_densities_is_the_product_of_the_averages():
    x, y = data.gender()
    widths = np.array([0.3, 15.0, 1.0])
    clf = KernelNB(bandwidth=widths).fit(x, y)
    question = np.asarray(data.GENDER_QUESTION, float)[0]
    joint = {}
    for label in ("female", "male"):
        rows = x[y == label]
        joint[label] = len(rows) / len(y)
        for d in range(3):
            joint[label] *= sum(bump(question[d] - row[d], widths[d]) for row in rows) / len(rows)
    expected = joint["female"] / (joint["female"] + joint["male"])
    assert_allclose(clf.predict_proba(question[None])[0, 0], expected, rtol=1e-10)
    assert clf.predict(question[None]).tolist() == ["female" if expected > 0.5 else "male"]
