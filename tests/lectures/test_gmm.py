"""Gaussian mixtures as class-conditionals."""

import numpy as np
from numpy.testing import assert_allclose

import suffice as sf
from suffice.naive_bayes import GaussianNB, MixtureNB


def bimodal(rng, n):
    """Class "mixed" has two bumps, class "plain" one, of the same mean and variance."""
    y = np.array(["mixed", "plain"])[rng.integers(2, size=n)]
    left = rng.random(n) < 0.3
    bump = np.where(left, rng.normal(-3.0, 0.5, n), rng.normal(2.0, 1.0, n))
    return np.where(y == "mixed", bump, rng.normal(0.5, 2.45, n))[:, None], y


def test_a_mixture_of_two_recovers_its_parameters():
    x, y = bimodal(np.random.default_rng(0), 20_000)
    found = MixtureNB(components=2, tol=1e-6, max_iter=1000).fit(x, y)
    assert_allclose(found.weights_[0, 0], [0.3, 0.7], atol=0.02)
    assert_allclose(found.means_[0, 0], [-3.0, 2.0], atol=0.03)
    assert_allclose(found.variances_[0, 0], [0.25, 1.0], rtol=0.05)


def test_a_mixture_beats_one_gaussian_on_rows_held_out():
    rng = np.random.default_rng(1)
    (x, y), (new_x, new_y) = bimodal(rng, 2000), bimodal(rng, 2000)
    mixture, gaussian = sf.Model.fit(x, y, sf.Mixture(2)), sf.Model.fit(x, y, sf.Gaussian(prior=None))
    own = new_y == "mixed"
    better = mixture.log_conditional(new_x)[own, 0] - gaussian.log_conditional(new_x)[own, 0]
    assert better.mean() > 0.3, "nats a row"
    assert mixture.log_density(new_x).mean() > gaussian.log_density(new_x).mean() + 0.1
    assert MixtureNB().fit(x, y).score(new_x, new_y) > GaussianNB().fit(x, y).score(new_x, new_y) + 0.1


def test_a_joint_mixture_beats_columns_apart_where_they_hang_together():
    rng = np.random.default_rng(2)

    def ring(n):
        angle = rng.uniform(0, 2 * np.pi, n)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0, 0.1, (n, 2))

    x, new = ring(1500), ring(1500)
    joint = sf.Model.fit(x, np.zeros(1500), sf.Mixture(8, joint=True))
    apart = sf.Model.fit(x, np.zeros(1500), sf.Mixture(8))
    assert joint.log_density(new).mean() > apart.log_density(new).mean() + 0.3
