"""Experts: their evidence with and without a row, weights, formulas, storage, and tables that tell little."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_t
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from suffice import _core
from suffice.core.arrays import Categories
from suffice.core.errors import MismatchError, StorageError
from suffice.core.statistics import Batch
from suffice.families.bin_edges import of_quantiles_with_ties
from suffice.families.categorical import Categorical
from suffice.families.gaussian import Gaussian
from suffice.families.product import Block
from suffice.model import storage
from suffice.model.cosine_expert import COSINES, SPREADS, CosineExpert, CosineFeatures, frequencies
from suffice.model.expert_search import ExpertSearch
from suffice.model.experts import EXPERTS as KINDS
from suffice.model.experts import ExpertRows, fit_cosines, fit_experts, try_cosines
from suffice.model.features import MOST, Features
from suffice.model.linear_expert import LinearExpert
from suffice.model.pool import Member, Pool
from suffice.model.quadratic_expert import STRENGTHS, ClassScatters, QuadraticExpert
from suffice.model.ridge_scatter import SHRINKAGES, RidgeScatter
from suffice.model.tempered_loss import tempered_loss

EXPERTS = [LinearExpert, QuadraticExpert, CosineExpert]
PRECISION = {LinearExpert: 1e-8, QuadraticExpert: 1e-8, CosineExpert: 2e-5}  # cosines are of float32
BLOCKS = (
    Block(("x", "z"), Gaussian()),
    Block(("name",), Categorical()),
    Block(("n",), Gaussian()),
    Block(("x",), Gaussian(), missing=True),
)
NAMES = np.array(["a", "b", "c", "d"], dtype=object)


def table(n=150, classes=3, seed=0, gaps=True):
    """Rows of numbers, categories and counts that depend on the class, some of them missing; with weights."""
    rng = np.random.default_rng(seed)
    codes = (np.arange(n) % classes).astype(np.int32)
    x = rng.normal(size=(n, 2)) + codes[:, None] * [1.0, -0.5]
    x[:, 1] *= 1 + codes
    names = ((codes + rng.integers(0, 3, n)) % 4).astype(np.int32)
    counts = rng.poisson(2 + codes, n).astype(float)
    if gaps:
        x[rng.random(n) < 0.1, 0] = np.nan
        names[rng.random(n) < 0.1] = -1
    absent = np.isnan(x[:, :1]).astype(float)
    batch = Batch((x, Categories(names[:, None], (NAMES,)), counts[:, None], absent), n)
    return batch, codes, np.ones(n)


def columns_of(batch):
    """The same rows as columns of Python objects by name, for formulas."""
    x, names, counts, _ = batch.parts
    words = [None if c < 0 else names.keys[0][c] for c in names.codes[:, 0]]
    return {"x": x[:, 0], "z": x[:, 1], "name": words, "n": counts[:, 0]}


def fitted(cls, batch, codes, weight, classes=3, features=None, unit=None):
    features = features or Features.fit(BLOCKS, batch, weight)
    prior = np.log(np.maximum(np.bincount(codes, weights=weight, minlength=classes), 0.5) / weight.sum())
    return cls.fit(features, batch, codes, weight, one(weight) if unit is None else unit, classes, prior)


def one(weight):
    """What is left out of each row where copies of it stay."""
    return np.minimum(weight, 1.0)


def apart(evidence):
    """Evidence up to a term that all classes share."""
    return evidence - evidence.mean(axis=1, keepdims=True)


def discriminant(x, codes, weight, classes, origin, ridge, at):
    """The linear discriminant whose means are drawn to the origin by one row in every class, by its definition."""
    means, scatter = [], np.zeros((x.shape[1],) * 2)
    for k in range(classes):
        own, w = x[codes == k], weight[codes == k]
        if w.sum() > 0:
            mean = w @ own / w.sum()
            scatter += ((own - mean) * w[:, None]).T @ (own - mean)
        means.append((w @ own + origin) / (w.sum() + 1.0))
    precision = (weight.sum() + classes) * np.linalg.inv(scatter + ridge * np.eye(len(scatter)))
    return apart(np.stack([-0.5 * np.einsum("ij,jk,ik->i", at - m, precision, at - m) for m in means], axis=1))


def student(z, codes, weight, classes, strength, pooled, at):
    """The predictive density with a prior of `strength` rows of covariance `pooled`, by SciPy."""
    out, p = [], z.shape[1]
    for k in range(classes):
        own, w = np.vstack([z[codes == k], np.zeros(p)]), np.append(weight[codes == k], 1.0)
        kappa, mean = w.sum(), w @ own / w.sum()
        scale = ((own - mean) * w[:, None]).T @ (own - mean) + strength * pooled
        freedom = kappa - 1.0 + strength - p + 1.0
        t = multivariate_t(mean, scale * (kappa + 1) / (kappa * freedom), df=freedom)
        out.append(np.atleast_1d(t.logpdf(at)))
    constant = 0.5 * p * np.log(np.pi)
    return np.stack(out, axis=1) + constant


# ---- features


def test_features_are_scores_ranks_bins_and_categories():
    batch, _, weight = table()
    x, names, _, _ = batch.parts
    features = Features.fit(BLOCKS, batch, weight)
    phi, at = features.matrix(batch), dict(zip([c.name for c in features.columns], features.slices, strict=False))
    seen = ~np.isnan(x[:, 0])
    score = np.where(seen, (x[:, 0] - x[seen, 0].mean()) / x[seen, 0].std(), 0.0)
    own = phi[:, features.slices[0]]
    np.testing.assert_allclose(own[:, 0], np.clip(score, -5, 5), atol=1e-12)
    rank = np.zeros(len(x))
    rank[seen] = np.sqrt(12) * ((np.argsort(np.argsort(x[seen, 0])) + 0.5) / seen.sum() - 0.5)
    np.testing.assert_allclose(own[:, 1], rank, atol=0.05)  # of 256 knots
    assert own[:, 2:].shape[1] == 10
    np.testing.assert_array_equal(own[:, 2:].sum(axis=1), seen)
    assert np.abs(own[seen, 2:].mean(axis=0) - 0.1).max() < 0.02
    expected = names.codes == np.arange(4)
    np.testing.assert_array_equal(phi[:, at["name"]], expected)
    assert features.only("categories").size == 4


def test_a_value_that_fills_a_bin_is_alone_in_it():
    values, weight = np.arange(100.0), np.ones(100)
    weight[40] = 200.0
    edges = of_quantiles_with_ties(values, weight, 5)
    assert {39.5, 40.5} <= set(edges.tolist())
    rest = np.bincount(np.searchsorted(edges, values), weights=np.where(values == 40, 0, weight))
    assert rest.max() <= 20
    np.testing.assert_array_equal(of_quantiles_with_ties(np.array([3.0, 1.0, 1.0, 2.0]), np.ones(4), 5), [1.5, 2.5])
    assert not len(of_quantiles_with_ties(np.zeros(3), np.ones(3), 5))


def test_categories_are_found_by_key_and_rare_ones_are_the_rest():
    keys = np.array([f"k{i:02}" for i in range(60)], dtype=object)
    codes = np.concatenate([np.repeat(np.arange(50), 2), np.arange(50, 60)])[:, None].astype(np.int32)
    blocks = (Block(("c",), Categorical()),)
    features = Features.fit(blocks, Batch((Categories(codes, (keys,)),), 110), np.ones(110))
    assert features.size == 51
    other = Categories(np.array([[0], [1], [2], [-1]], np.int32), (np.array(["k05", "k55", "new"], dtype=object),))
    phi = features.matrix(Batch((other,), 4))
    assert [row.nonzero()[0].tolist() for row in phi] == [[5], [50], [50], []]


def test_there_are_at_most_a_thousand_features_and_scores_come_first():
    x = np.random.default_rng(0).normal(size=(50, 700))
    features = Features.fit((Block(tuple(f"x{j}" for j in range(700)), Gaussian()),), Batch((x,), 50), np.ones(50))
    assert features.size == MOST
    assert features.only("scores").size == 700
    assert features.only("ranks").size == 300


def test_blocks_of_other_columns_are_refused():
    batch, _, weight = table()
    features = Features.fit(BLOCKS, batch, weight)
    features.check_blocks(BLOCKS)
    with pytest.raises(MismatchError, match="no column 'x' of numbers in block 0"):
        features.check_blocks(BLOCKS[1:])
    with pytest.raises(MismatchError, match="no column 'name' of categories in block 1"):
        features.check_blocks((BLOCKS[0], Block(("other",), Categorical()), *BLOCKS[2:]))
    with pytest.raises(MismatchError, match="no column 'name' of categories in block 1"):
        features.check_blocks((BLOCKS[0], Block(("name",), Gaussian()), *BLOCKS[2:]))
    with pytest.raises(MismatchError, match="no column 'n' of numbers in block 2"):
        features.check_blocks(BLOCKS[:2])


# ---- evidence


def test_the_linear_expert_is_the_discriminant_of_its_features():
    batch, codes, weight = table()
    weight = weight + (np.arange(len(codes)) % 4)
    expert, _ = fitted(LinearExpert, batch, codes, weight)
    phi = expert.features.matrix(batch)
    origin = weight @ phi / weight.sum()
    ridge = RidgeScatter.of(phi.copy(), codes, weight, 3).ridge(expert.shrinkage)
    expected = discriminant(phi, codes, weight, 3, origin, ridge, phi)
    np.testing.assert_allclose(expert.evidence(batch), expected, rtol=1e-8, atol=1e-8)


def awkward_columns(n=400):
    rng = np.random.default_rng(0)
    yield "ties", np.where(rng.random(n) < 0.9, 0.0, rng.integers(1, 300, n))
    yield "neighbours", 1.0 + 1e-13 * rng.integers(0, 3, n) + (rng.random(n) < 0.3)
    yield "far", np.where(rng.random(n) < 0.01, 1e12, rng.normal(size=n))
    yield "offset", 1e9 + rng.normal(size=n)
    yield "tails", rng.standard_cauchy(n) ** 3
    yield "tiny", 1e-200 * rng.normal(size=n)


@pytest.mark.parametrize("x", [pytest.param(x, id=name) for name, x in awkward_columns()])
def test_looking_up_equals_multiplying_features_out(x):
    codes = (np.arange(len(x)) % 3).astype(np.int32)
    x = np.where(np.arange(len(x)) % 9 == 0, np.nan, x)[:, None]
    blocks, batch, weight = (Block(("x",), Gaussian()),), Batch((x,), len(x)), np.ones(len(x))
    expert, _ = fitted(LinearExpert, batch, codes, weight, features=Features.fit(blocks, batch, weight))
    between = np.nanpercentile(x, np.linspace(0, 100, 501))[:, None]
    for rows in (batch, Batch((between,), 501), Batch((np.array([[-1e300], [1e300], [np.nan]]),), 3)):
        expected = expert.features.matrix(rows) @ expert.coef.T + expert.intercept
        np.testing.assert_allclose(expert.evidence(rows), expected, rtol=1e-7, atol=1e-8)
        found = sum(term.formula.evaluate({"x": rows.parts[0][:, 0]}) for term in expert.formula(["x"]))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


def test_the_linear_expert_is_that_of_scikit_learn_with_class_means_drawn_to_that_of_all():
    batch, codes, weight = table(300)
    expert, _ = fitted(LinearExpert, batch, codes, weight)
    phi = expert.features.matrix(batch)
    n, middle = np.bincount(codes), phi.mean(axis=0)
    means = np.stack([phi[codes == k].mean(axis=0) for k in range(3)])
    rows = phi + ((middle - means) / (n + 1)[:, None])[codes]  # as far as one row at the mean of all would draw them
    scatter = RidgeScatter.of(phi.copy(), codes, weight, 3)
    ratio = scatter.ridge(expert.shrinkage) * phi.shape[1] / np.trace(scatter.scatter)
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=ratio / (1 + ratio)).fit(rows, codes)
    expected = (phi @ peer.coef_.T + peer.intercept_ - np.log(peer.priors_)) * 303 / 300 / (1 + ratio)
    np.testing.assert_allclose(apart(expert.evidence(batch)), apart(expected), rtol=1e-6, atol=1e-7)


def test_the_quadratic_expert_is_student_s_t_of_scipy():
    batch, codes, weight = table()
    weight = weight + (np.arange(len(codes)) % 4)
    expert, _ = fitted(QuadraticExpert, batch, codes, weight)
    assert [c.name for c in expert.features.columns] == ["x", "z", "n"]
    z = expert.features.matrix(batch)
    pooled = ClassScatters.of(z, codes, weight, 3).pooled
    expected = student(z, codes, weight, 3, expert.strength, pooled, z)
    np.testing.assert_allclose(expert.evidence(batch), expected, rtol=1e-10)


def test_the_cosine_expert_is_the_discriminant_of_cosines():
    batch, codes, weight = table()
    expert, _ = fitted(CosineExpert, batch, codes, weight)
    phi = expert.features.matrix(batch)
    omega, phase = frequencies(phi.shape[1], 512)
    cosines = np.sqrt(2 / 512) * np.cos(2 * np.pi * (phi @ omega / expert.spread + phase))
    np.testing.assert_allclose(CosineFeatures(expert.features, expert.spread, 512).matrix(batch), cosines, atol=1e-6)
    assert expert.spread == pytest.approx(np.sqrt((phi**2).sum(axis=1).mean()))
    ridge = RidgeScatter.of(cosines.copy(), codes, weight, 3).ridge(expert.shrinkage)
    expected = discriminant(cosines, codes, weight, 3, cosines.mean(axis=0), ridge, cosines)
    np.testing.assert_allclose(expert.evidence(batch), expected, rtol=1e-2, atol=1e-3)  # cosines are of float32


def test_frequencies_depend_on_nothing_but_their_number():
    frequencies.cache_clear()
    first = frequencies(3, 8)[0].copy()
    frequencies.cache_clear()
    np.testing.assert_array_equal(frequencies(3, 8)[0], first)
    assert not np.array_equal(first[:, 0], first[:, 1])
    many, phase = frequencies(900, 512)
    widths = 1 / (2 * np.pi * many.std(axis=0))
    assert 0.27 < widths.min() < 0.33 < 2.7 < widths.max() < 3.3
    assert abs(np.median(np.log(widths))) < 0.15
    assert abs(phase.mean() - 0.5) < 0.05


def test_evidence_of_many_rows_is_that_of_each():
    batch, codes, weight = table()
    many = batch[np.arange(70_000) % batch.n]
    for cls in EXPERTS:
        expert, _ = fitted(cls, batch, codes, weight)
        expected = expert.evidence(batch)[np.arange(70_000) % batch.n]
        np.testing.assert_allclose(expert.evidence(many), expected, rtol=1e-4, atol=1e-5)
        assert expert.evidence(batch[:0]).shape == (0, 3)


# ---- leaving rows out


@pytest.mark.parametrize(("weighted", "whole"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("cls", [LinearExpert, CosineExpert])
def test_a_row_left_out_is_a_row_that_was_never_there(cls, weighted, whole):
    batch, codes, weight = table(60)
    codes[:] = np.where(np.arange(60) == 7, 2, codes % 2)  # a class of one row
    weight = weight * (0.5 + np.arange(60) % 3) if weighted else weight
    unit = weight if whole else one(weight)
    expert, left_out = fitted(cls, batch, codes, weight, unit=unit)
    phi = expert.features.matrix(batch)
    if cls is CosineExpert:
        phi = CosineFeatures(expert.features, expert.spread, 512).matrix(batch).astype(np.float64)
    ridge = RidgeScatter.of(phi.copy(), codes, weight, 3).ridge(expert.shrinkage)
    for i in [0, 1, 7, 30, 59]:
        rest = weight.copy()
        rest[i] -= unit[i]
        expected = discriminant(phi, codes, rest, 3, rest @ phi / rest.sum(), ridge, phi[i : i + 1])
        near = PRECISION[cls] * max(float(np.abs(expected).max()), 1.0)  # small ones are differences of large ones
        np.testing.assert_allclose(left_out[i : i + 1], expected, rtol=PRECISION[cls], atol=near)
    every = expert.left_out(batch, codes, unit, (batch, codes, weight))
    np.testing.assert_allclose(every, left_out, rtol=PRECISION[cls], atol=PRECISION[cls])
    some = np.array([3, 7, 8])
    part = expert.left_out(batch[some], codes[some], unit[some], (batch, codes, weight))
    np.testing.assert_allclose(part, left_out[some], rtol=PRECISION[cls], atol=PRECISION[cls])


@pytest.mark.parametrize(("weighted", "whole"), [(False, False), (True, False), (True, True)])
def test_a_row_left_out_of_the_quadratic_expert_was_never_there(weighted, whole):
    batch, codes, weight = table(60)
    codes[:] = np.where(np.arange(60) == 7, 2, codes % 2)
    weight = weight * (0.5 + np.arange(60) % 3) if weighted else weight
    unit = weight if whole else one(weight)
    expert, left_out = fitted(QuadraticExpert, batch, codes, weight, unit=unit)
    z = expert.features.matrix(batch)
    for i in [0, 1, 7, 30, 59]:
        rest = weight.copy()
        rest[i] -= unit[i]
        # The prior has the scatter of the other rows, in the same proportion.
        pooled = ClassScatters.of(z, codes, rest, 3).cross.sum(axis=0) / (weight.sum() + 3) + 1e-6 * np.eye(z.shape[1])
        expected = student(z, codes, rest, 3, expert.strength, pooled, z[i : i + 1])
        np.testing.assert_allclose(left_out[i : i + 1], expected, rtol=1e-8)
    np.testing.assert_allclose(expert.left_out(batch, codes, unit), left_out)


@pytest.mark.parametrize("cls", EXPERTS)
def test_only_the_rows_that_a_prior_is_of_are_left_out(cls):
    batch, codes, weight = table()
    prior = np.log(np.full((40, 3), 1 / 3))
    expert, left_out = cls.fit(Features.fit(BLOCKS, batch, weight), batch, codes, weight, one(weight), 3, prior)
    expected = expert.left_out(batch[:40], codes[:40], one(weight[:40]), (batch, codes, weight))
    np.testing.assert_allclose(apart(left_out), apart(expected), rtol=PRECISION[cls], atol=PRECISION[cls])


def test_the_parameter_of_least_left_out_loss_is_chosen():
    batch, codes, weight = table()
    prior = np.log(np.full(3, 1 / 3))
    expert, left_out = fitted(QuadraticExpert, batch, codes, weight)
    losses = {}
    for rows in STRENGTHS:
        strength = rows * 3 + 2.0
        z = expert.features.matrix(batch)
        other = replace(expert, strength=strength, whitening=ClassScatters.of(z, codes, weight, 3).whitening(strength))
        losses[strength] = tempered_loss(other.left_out(batch, codes, one(weight)), prior, codes, weight)[0]
    assert min(losses, key=losses.get) == expert.strength
    expert, left_out = fitted(LinearExpert, batch, codes, weight)
    losses = {
        s: tempered_loss(
            replace(expert, shrinkage=s).left_out(batch, codes, one(weight), (batch, codes, weight)),
            prior,
            codes,
            weight,
        )[0]
        for s in SHRINKAGES
    }
    assert min(losses, key=losses.get) == expert.shrinkage
    assert left_out.shape == (150, 3)


def test_the_parameter_of_cosines_is_chosen_as_well_if_there_are_more_of_them_than_rows():
    batch, codes, weight = table()
    few, prior = slice(0, 60), np.log(np.full(3, 1 / 3))
    expert, left_out = fitted(CosineExpert, batch[few], codes[few], weight[few])
    assert expert.coef.shape[1] > len(left_out) + 3
    losses = {}
    for s in SHRINKAGES:
        other = replace(expert, shrinkage=s).left_out(
            batch[few], codes[few], one(weight[few]), (batch[few], codes[few], weight[few])
        )
        losses[s] = tempered_loss(other, prior, codes[few], weight[few])[0]
    assert min(losses, key=losses.get) == expert.shrinkage


def test_the_kernel_of_ranks_interpolates_as_numpy_does():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=5000), [np.nan, 9.0, -9.0, 0.0, -0.0]])
    for knots in (np.array([0.0]), np.sort(rng.normal(size=200)), x[:7].copy()):
        knots = np.unique(knots)
        values, out = rng.normal(size=len(knots)), np.ones((len(x), 2), np.float32)
        _core.interpolate(x, knots, values, out[:, 1])
        expected = np.where(np.isnan(x), 0.0, np.interp(x, knots, values))
        np.testing.assert_allclose(out[:, 1], expected, rtol=1e-6, atol=1e-6)
        assert (out[:, 0] == 1.0).all()


def test_the_exponent_of_least_loss_is_found():
    rng = np.random.default_rng(0)
    evidence, codes = rng.normal(size=(300, 3)) * 9, rng.integers(0, 3, 300).astype(np.int32)
    evidence[np.arange(300), codes] += 5
    weight, prior = rng.random(300), np.log([0.2, 0.3, 0.5])

    def loss(a):
        scores = prior + a * evidence
        own = scores[np.arange(300), codes]
        return weight @ (np.logaddexp.reduce(scores, axis=1) - own) / weight.sum() + (a - 1) ** 2 / weight.sum() / 2

    grid = np.linspace(0, 2, 2001)
    found, exponent = tempered_loss(evidence, prior, codes, weight)
    assert found == pytest.approx(min(map(loss, grid)), abs=1e-5)
    assert exponent == pytest.approx(grid[np.argmin([loss(a) for a in grid])], abs=2e-3)
    assert tempered_loss(-evidence, prior, codes, weight)[1] == 0.0


# ---- weights and order


@pytest.mark.parametrize("cls", EXPERTS)
def test_a_weight_of_three_is_three_rows(cls):
    batch, codes, _ = table(90)
    weight = 1.0 + np.arange(90) % 3
    again = np.repeat(np.arange(90), weight.astype(int))
    expert, left_out = fitted(cls, batch, codes, weight)
    other, others = fitted(cls, batch[again], codes[again], np.ones(len(again)))
    tolerance = {"rtol": 1e-6, "atol": 1e-6} if cls is not CosineExpert else {"rtol": 1e-3, "atol": 1e-3}
    np.testing.assert_allclose(other.evidence(batch), expert.evidence(batch), **tolerance)
    np.testing.assert_allclose(others, left_out[again], **tolerance)


@pytest.mark.parametrize("cls", EXPERTS)
def test_the_order_of_rows_and_rows_of_no_weight_do_not_matter(cls):
    batch, codes, weight = table(90)
    weight[5] = 0.0
    order = np.random.default_rng(1).permutation(np.delete(np.arange(90), 5))
    expert, left_out = fitted(cls, batch, codes, weight)
    other, others = fitted(cls, batch[order], codes[order], weight[order])
    tolerance = {"rtol": 1e-6, "atol": 1e-6} if cls is not CosineExpert else {"rtol": 1e-3, "atol": 1e-3}
    np.testing.assert_allclose(other.evidence(batch), expert.evidence(batch), **tolerance)
    np.testing.assert_allclose(others, left_out[order], **tolerance)


# ---- parts and formulas


@pytest.mark.parametrize("cls", EXPERTS)
def test_the_parts_of_a_contrast_add_up_and_missing_columns_add_nothing(cls):
    batch, codes, weight = table()
    expert, _ = fitted(cls, batch, codes, weight)
    first, second = codes, (codes + 1) % 3
    rows, evidence, parts = np.arange(150), expert.evidence(batch), expert.contrast(batch, codes, (codes + 1) % 3)
    assert parts.shape == (150, len(expert.parts))
    assert expert.parts[-1] == ()
    np.testing.assert_allclose(parts.sum(axis=1), evidence[rows, first] - evidence[rows, second], rtol=1e-9, atol=1e-9)
    if cls is not CosineExpert:
        assert expert.parts[0] == ("x",)
        missing = np.isnan(batch.parts[0][:, 0])
        assert not parts[missing, 0].any()
        assert parts[~missing, 0].all()


def test_columns_tell_all_that_the_quadratic_expert_knows_of_independent_columns():
    rng = np.random.default_rng(0)
    codes = (np.arange(3000) % 2).astype(np.int32)
    x = rng.normal(size=(3000, 3)) * np.where(codes, 0.3, 2.0)[:, None]
    blocks, batch = (Block(("a", "b", "c"), Gaussian()),), Batch((x,), 3000)
    expert, _ = fitted(QuadraticExpert, batch, codes, np.ones(3000), 2, Features.fit(blocks, batch, np.ones(3000)))
    parts = expert.contrast(batch, codes, 1 - codes)
    assert np.abs(parts[:, -1]).max() < 0.02
    assert np.median(np.abs(parts[:, :-1])) > 1.0


def test_a_column_of_the_linear_expert_adds_nothing_halfway_between_the_class_means():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(2), 200).astype(np.int32)
    x = rng.normal(size=(400, 1)) * 0.1 + np.where(codes, 1.0, -1.0)[:, None]
    blocks, batch = (Block(("x",), Gaussian()),), Batch((x,), 400)
    features = Features.fit(blocks, batch, np.ones(400)).only("scores")
    expert, _ = fitted(LinearExpert, batch, codes, np.ones(400), 2, features)
    middle = 0.5 * (x[codes == 0].mean() + x[codes == 1].mean())
    at = Batch((np.array([[middle], [1.0]]),), 2)
    parts = expert.contrast(at, np.array([1, 1]), np.array([0, 0]))
    assert abs(parts[0, 0]) < 0.01 * parts[1, 0]


@pytest.mark.parametrize("cls", EXPERTS)
def test_formulas_compute_the_evidence(cls):
    batch, codes, weight = table()
    expert, _ = fitted(cls, batch, codes, weight)
    columns = columns_of(batch)
    terms = expert.formula(["x", "z", "name", "n"])
    found = sum(np.broadcast_to(term.formula.evaluate(columns), (150, 3)) for term in terms)
    precision = PRECISION[cls] if cls is CosineExpert else 1e-9
    np.testing.assert_allclose(found, expert.evidence(batch), rtol=precision, atol=precision)
    far = batch[:2]
    far.parts[0][:] = [[1e9, -1e9], [-1e9, 1e9]]
    found = sum(np.broadcast_to(term.formula.evaluate(columns_of(far)), (2, 3)) for term in terms)
    np.testing.assert_allclose(found, expert.evidence(far), rtol=precision, atol=precision)


# ---- storage


@pytest.mark.parametrize("cls", EXPERTS)
def test_experts_come_back_from_files_as_they_were(cls):
    batch, codes, weight = table()
    expert, left_out = fitted(cls, batch, codes, weight)
    again = storage.from_bytes(storage.to_bytes(expert))
    np.testing.assert_array_equal(again.evidence(batch), expert.evidence(batch))
    found = again.left_out(batch, codes, one(weight), (batch, codes, weight))
    np.testing.assert_allclose(found, left_out, rtol=PRECISION[cls], atol=PRECISION[cls])


@pytest.mark.parametrize("cls", EXPERTS)
def test_files_of_experts_that_do_not_fit_together_are_refused(cls):
    batch, codes, weight = table()
    expert, _ = fitted(cls, batch, codes, weight)
    broken = [replace(expert, features=Features(()))]
    if cls is not QuadraticExpert:
        broken += [replace(expert, coef=np.zeros((3, 2000))), replace(expert, intercept=np.zeros(2))]
        broken += [replace(expert, shrinkage=-1.0), replace(expert, coef=np.full(expert.coef.shape, np.nan))]
    else:
        broken += [replace(expert, whitening=-expert.whitening), replace(expert, whitening=np.zeros((3, 3, 2)))]
        broken += [replace(expert, strength=1.0), replace(expert, weight=np.zeros(3))]
    column = expert.features.columns[0]
    for change in ({"knots": np.array([1.0, 1.0]), "ranks": np.zeros(2)}, {"deviation": 0.0}, {"block": -1}):
        broken.append(replace(expert, features=Features((replace(column, **change), *expert.features.columns[1:]))))
    for each in broken:
        with pytest.raises(StorageError):
            storage.from_bytes(storage.to_bytes(each))


# ---- tables of which little can be learned


def odd_tables():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(6, 3))
    nothing = np.full((6, 1), np.nan)
    keys = (np.array(["a", "b"], dtype=object),)
    category = Categories(np.array([[0], [1], [0], [1], [0], [-1]], np.int32), keys)
    codes = np.array([0, 0, 0, 1, 1, 1], np.int32)
    x3, x1 = Block(("a", "b", "c"), Gaussian()), Block(("a",), Gaussian())
    name = Block(("name",), Categorical())
    wide = Block(tuple(f"x{j}" for j in range(90)), Gaussian())
    yield "one class", (x3,), (numbers,), np.zeros(6, np.int32)
    yield "a class of one row", (x3,), (numbers,), np.array([0, 0, 0, 1, 1, 2], np.int32)
    yield "a class of no row", (x3,), (numbers,), np.array([0, 0, 0, 1, 1, 1], np.int32)
    yield "constant", (x3,), (np.ones((6, 3)),), codes
    yield "nearly constant", (x1,), (np.array([[1.0]] * 5 + [[1.0 + 2e-16]]),), codes
    yield "missing", (x1, name), (nothing, category), codes
    yield "all missing", (x1,), (nothing,), codes
    yield "no numbers", (name,), (category,), codes
    yield "one category", (name,), (Categories(np.zeros((6, 1), np.int32), keys),), codes
    yield "more columns than rows", (wide,), (rng.normal(size=(6, 90)),), codes
    yield "huge numbers", (x3,), (numbers * [1e300, 1e-300, 1e140],), codes
    yield "infinite numbers", (x3,), (np.where(numbers > 1, np.inf, numbers),), codes
    yield "separated", (x1,), (codes[:, None] * 1.0,), codes
    yield "codes without names", (name,), (Categories(np.array([[0.0], [1], [2], [1], [0], [np.nan]]), None),), codes


@pytest.mark.parametrize("cls", EXPERTS)
@pytest.mark.parametrize(("blocks", "parts", "codes"), [pytest.param(*rest, id=name) for name, *rest in odd_tables()])
def test_odd_tables_give_finite_evidence_or_no_expert(cls, blocks, parts, codes):
    batch, weight = Batch(parts, 6), np.ones(6)
    with np.errstate(all="raise", under="ignore"):
        features = Features.fit(blocks, batch, weight)
        found = fitted(cls, batch, codes, weight, features=features)
        if found is None:
            return
        expert, left_out = found
        assert np.isfinite(left_out).all()
        assert np.isfinite(expert.evidence(batch)).all()
        assert np.isfinite(expert.contrast(batch, codes, (codes + 1) % 3)).all()
        assert storage.from_bytes(storage.to_bytes(expert)) is not None


@pytest.mark.parametrize("unit", [1e-140, 1e140])
@pytest.mark.parametrize("cls", EXPERTS)
def test_weights_of_any_size_give_finite_evidence(cls, unit):
    batch, codes, weight = table(60)
    expert, left_out = fitted(cls, batch, codes, weight * unit)
    assert np.isfinite(left_out).all()
    assert np.isfinite(expert.evidence(batch)).all()


@pytest.mark.parametrize("classes", [40, 700])
@pytest.mark.parametrize("cls", EXPERTS)
def test_many_classes_of_few_rows_are_learned(cls, classes):
    batch, codes, weight = table(3 * classes, classes)
    expert, left_out = fitted(cls, batch, codes, weight, classes)
    assert np.isfinite(left_out).all()
    assert (expert.evidence(batch).argmax(axis=1) == codes).mean() > 3 / classes


def test_all_experts_that_can_be_are_fitted():
    batch, codes, weight = table()
    prior = np.zeros((150, 3))
    found = fit_experts(ExpertRows.of(BLOCKS, batch, codes, weight, one(weight), 3, prior))
    assert [expert.title for expert, _ in found] == ["linear", "quadratic", "cosines"]
    for expert, left_out in found:
        precision = PRECISION[type(expert)]
        expected = expert.left_out(batch, codes, one(weight), (batch, codes, weight))
        np.testing.assert_allclose(left_out, expected, rtol=precision, atol=precision)
    names = Batch(batch.parts[1:2], 150)
    found = fit_experts(ExpertRows.of(BLOCKS[1:2], names, codes, weight, one(weight), 3, prior))
    assert [expert.title for expert, _ in found] == ["linear", "cosines"]
    assert fit_experts(ExpertRows.of(BLOCKS[1:2], names, np.zeros_like(codes), weight, one(weight), 3, prior)) == []


def waves(n, turns, seed=0, others=0):
    """Two numbers whose class changes so many times along each of them, and other numbers."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2 + others))
    codes = (np.sin(np.pi * turns * x[:, :2]).prod(axis=1) > 0).astype(np.int32)
    blocks = (Block(tuple(f"x{j}" for j in range(2 + others)), Gaussian()),)
    return ExpertRows.of(blocks, Batch((x,), n), codes, np.ones(n), np.ones(n), 2, np.log(np.bincount(codes) / n))


@pytest.mark.parametrize(("turns", "others", "spread"), [(2, 4, SPREADS[0]), (9, 0, SPREADS[1])])
def test_finer_boundaries_have_cosines_of_a_narrower_spread(turns, others, spread):
    rows, new = waves(1500, turns, 0, others), waves(1500, turns, 1, others)
    found = fit_cosines(rows, SPREADS)
    one_by_one = [fit_cosines(rows, (each,)) for each in SPREADS]
    losses = [tempered_loss(left_out, rows.log_prior, rows.codes, rows.weight)[0] for _, left_out in one_by_one]
    whole = one_by_one[0][0].spread
    assert found[0].spread == pytest.approx(SPREADS[np.argmin(losses)] * whole) == pytest.approx(spread * whole)
    right = [np.mean(each.evidence(new.batch).argmax(axis=1) == new.codes) for each, _ in one_by_one]
    assert np.argmax(right) == np.argmin(losses)
    assert spread in try_cosines(rows).spreads


def test_an_expert_of_fewer_rows_hands_on_its_spread_and_the_number_of_its_cosines():
    rows = waves(600, 9)
    before, _ = CosineExpert.fit(*rows.arguments, spread=SPREADS[1], most=128)
    after, _ = CosineExpert.fit(*waves(900, 9, 1).arguments, near=before)
    assert after.coef.shape == before.coef.shape == (2, 128)
    assert after.spread == pytest.approx(before.spread, rel=0.1)
    twice, _ = CosineExpert.fit(*rows.arguments, near=before, most=256)
    assert twice.coef.shape == (2, 256)
    assert twice.spread == before.spread


def search_of(rows):
    """A search whose pool has all rows, and its first member: chance."""
    log_prior = np.tile(np.diff(rows.log_prior), (1, len(rows.codes)))
    pool = Pool(rows.codes, rows.weight, log_prior)
    chance = Member("naive", log_prior, np.zeros(0), np.zeros(0))
    return ExpertSearch(dict.fromkeys(KINDS), pool, np.arange(len(rows.codes))), chance


def test_cosines_are_tried_before_all_are_fitted(monkeypatch):
    rows = waves(900, 2)
    search, chance = search_of(rows)
    members, tried = search.fit(rows)
    assert "CosineExpert" not in [each.name for each in members]
    assert tried.expert.coef.shape[1] < COSINES
    (found,) = search.cosines(rows, tried, [chance])
    assert found.expert[0].coef.shape[1] == COSINES
    known = replace(found, name="naive")  # beside what says the same, few cosines promise nothing
    monkeypatch.setattr("suffice.model.expert_search.fit_cosines", None)
    assert search.cosines(rows, tried, [known]) == []


def test_twice_as_many_cosines_are_fitted_where_they_gain():
    for turns, cosines in ((2, COSINES), (14, 2 * COSINES)):
        rows = waves(2500, turns)
        search, chance = search_of(rows)
        (found,) = search.cosines(rows, search.fit(rows)[1], [chance])
        assert found.expert[0].coef.shape[1] == cosines


def test_no_expert_is_made_of_one_class_or_no_features():
    batch, codes, weight = table()
    for cls in EXPERTS:
        assert fitted(cls, batch, np.zeros_like(codes), weight) is None
        assert fitted(cls, batch, codes, weight, features=Features(())) is None
    only = Features.fit(BLOCKS, batch, weight).only("categories")
    assert fitted(QuadraticExpert, batch, codes, weight, features=only) is None
    assert fitted(LinearExpert, batch, codes, weight, features=only) is not None


def test_of_many_columns_the_quadratic_expert_takes_those_that_tell_classes_apart():
    rng = np.random.default_rng(0)
    codes = (np.arange(200) % 2).astype(np.int32)
    x = rng.normal(size=(200, 80))
    x[:, 75:] += 2.0 * codes[:, None]
    blocks, batch = (Block(tuple(f"x{j}" for j in range(80)), Gaussian()),), Batch((x,), 200)
    expert, _ = fitted(QuadraticExpert, batch, codes, np.ones(200), 2, Features.fit(blocks, batch, np.ones(200)))
    names = [column.name for column in expert.features.columns]
    assert len(names) == 60
    assert {"x75", "x76", "x77", "x78", "x79"} <= set(names)
