"""Families with rows to fit them on, for tests of everything that follows from their formulas."""

import numpy as np

import suffice as sf

RNG = np.random.default_rng(0)
ROWS = 60
LABELS = np.array(list("abc"))[np.arange(ROWS) % 3]
SHIFT = (np.arange(ROWS) % 3)[:, None]
REALS = RNG.normal(SHIFT + np.arange(3), 1.0 + SHIFT)
COUNTS = RNG.poisson(1.0 + SHIFT + np.arange(3)).astype(float)
TRUTHS = (RNG.random((ROWS, 3)) < 0.2 + 0.2 * SHIFT).astype(float)
TIMES = RNG.exponential(1.0 + SHIFT, (ROWS, 3))
NAMES = ["one", "two", "three"]


def with_gaps(x):
    x = np.array(x, dtype=float)
    x[::4, 0] = np.nan
    x[1::5, 1] = np.nan
    x[7] = np.nan
    return x


FAMILIES = {
    "bernoulli": (sf.Bernoulli(), TRUTHS),
    "bernoulli by likelihood": (sf.Bernoulli(prior=None), np.where(SHIFT == 0, 0.0, TRUTHS)),
    "bernoulli of shares": (sf.Bernoulli(threshold=None), TIMES / (1 + TIMES)),
    "bernoulli of shares by likelihood": (sf.Bernoulli(prior=None, threshold=None), np.where(SHIFT == 1, 1.0, TRUTHS)),
    "bernoulli above 1": (sf.Bernoulli(threshold=1.0), COUNTS),
    "multinomial": (sf.Multinomial(), COUNTS),
    "multinomial by likelihood": (sf.Multinomial(prior=None), np.where(SHIFT == 0, COUNTS * [1, 0, 1], COUNTS)),
    "dirichlet-multinomial": (sf.Multinomial(learn="predictive"), COUNTS),
    "complement": (sf.Complement(), COUNTS),
    "poisson": (sf.Poisson(), COUNTS),
    "poisson by likelihood": (sf.Poisson(prior=None), np.where(SHIFT == 0, 0.0, COUNTS)),
    "negative binomial": (sf.Poisson(learn="predictive"), COUNTS),
    "negative binomial without events": (
        sf.Poisson(prior=sf.Gamma(0.0, 1.0), learn="predictive"),
        np.where(SHIFT == 0, 0.0, COUNTS),
    ),
    "gaussian": (sf.Gaussian(), REALS),
    "gaussian by likelihood": (sf.Gaussian(prior=None), REALS),
    "gaussian mode": (sf.Gaussian(learn="map"), REALS),
    "gaussian shared": (sf.Gaussian(variance="shared"), REALS),
    "gaussian given": (sf.Gaussian(variance=2.0, learn="predictive"), REALS),
    "gaussian far away": (sf.Gaussian(), REALS + 1e8),
    "student": (sf.Gaussian(learn="predictive"), REALS),
    "log-normal": (sf.LogNormal(), TIMES + 0.1),
    "log-normal predictive": (sf.LogNormal(learn="predictive"), TIMES + 0.1),
    "exponential": (sf.Exponential(), TIMES),
    "lomax": (sf.Exponential(learn="predictive"), TIMES),
    "geometric": (sf.Geometric(), COUNTS),
    "geometric by likelihood": (sf.Geometric(prior=None), np.where(SHIFT == 0, 0.0, COUNTS)),
    "beta-geometric": (sf.Geometric(learn="predictive"), COUNTS),
    "beta-geometric without failures": (
        sf.Geometric(prior=sf.Beta(1.0, 0.0), learn="predictive"),
        np.where(SHIFT == 0, 0.0, COUNTS),
    ),
    "bins": (sf.Binned(), REALS),
    "bins by likelihood": (sf.Binned(prior=None, bins=5), REALS),
    "bins of given edges": (sf.Binned(edges=[0.0, 2.0]), COUNTS),
    "mixture": (sf.Mixture(2, max_iter=500), REALS),
    "kernel": (sf.Kernel(), REALS),
    "kernel of repeated values": (sf.Kernel(bandwidth=0.5), COUNTS),
    "numbered categories": (sf.Categorical(), COUNTS),
    "numbered categories by likelihood": (sf.Categorical(prior=None), COUNTS),
    "quadratic": (sf.MultivariateGaussian(), REALS),
    "quadratic by likelihood": (sf.MultivariateGaussian(prior=None), REALS),
    "diagonal": (sf.MultivariateGaussian(covariance="diagonal"), REALS),
    "multivariate student": (sf.MultivariateGaussian(learn="predictive"), REALS),
    "joint mixture": (sf.Mixture(2, joint=True, max_iter=500, select="bic"), REALS),
    "joint categories": (sf.JointCategorical(), COUNTS),
    "joint categories by likelihood": (sf.JointCategorical(prior=None), COUNTS),
}


def table_of_all_kinds(n=400):
    """Columns of every kind with missing values, one of them without information but for what is missing."""
    rng = np.random.default_rng(3)
    y = np.array(["no", "yes"])[np.arange(n) % 2]
    shift = np.arange(n) % 2
    kinds = np.array(["a", "b", "c", "d"])
    table = {
        "height": (rng.normal(shift, 1.0)).tolist(),
        "count": rng.poisson(1.0 + shift).tolist(),
        "kind": kinds[np.minimum(rng.integers(0, 3, n) + shift, 3)].tolist(),
        "class number": (rng.integers(0, 4, n) + 2 * shift).tolist(),
        "flag": (rng.random(n) < 0.3 + 0.4 * shift).tolist(),
        "noise": rng.choice(list("xyz"), n).tolist(),
    }
    for name, values in table.items():
        for i in rng.choice(n, n // 10, replace=False):
            values[i] = None
        if name == "noise":
            table[name] = [None if s and i % 3 == 0 else v for i, (s, v) in enumerate(zip(shift, values, strict=True))]
    return table, y
