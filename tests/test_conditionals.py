"""What p(x | y) looks like, as arrays: against SciPy's densities, the tables, and the top features."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.stats as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import suffice as sf
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.model.class_conditionals import Bars, Curve, Ellipses, Words, conditionals
from suffice.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, KernelNB, MultinomialNB, PoissonNB

RNG = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 80)
X = RNG.normal(size=(240, 2)) + np.repeat([[0.0, 0.0], [3.0, 1.0], [6.0, -2.0]], 80, axis=0)
N = RNG.poisson(np.repeat([[1.0, 4.0], [3.0, 2.0], [9.0, 2.0]], 80, axis=0))


def mass_under(curve):
    """What lies under each class's curve."""
    if curve.kind == "steps":
        return curve.density @ np.diff(curve.x)
    if curve.kind == "mass":
        return curve.density.sum(axis=1)
    return np.trapezoid(curve.density, curve.x, axis=1)


def test_a_gaussian_column_is_its_normal_density():
    model = GaussianNB().fit(X, Y)
    first, second = conditionals(model)
    assert isinstance(first, Curve)
    assert (first.title, first.columns, first.kind, first.votes) == ("x0", ("x0",), "density", True)
    assert_array_equal(first.labels, ["a", "b", "c"])
    for j, curve in enumerate((first, second)):
        for c in range(3):
            expected = st.norm.pdf(curve.x, model.theta_[c, j], np.sqrt(model.var_[c, j]))
            assert_allclose(curve.density[c], expected, rtol=1e-10, atol=1e-300)
        assert (np.diff(curve.x) > 0).all()
        assert_allclose(mass_under(curve), 1.0, atol=0.02)


@pytest.mark.parametrize(
    "family",
    [
        sf.Gaussian(learn="predictive"),
        sf.Kernel(),
        sf.Mixture(),
        sf.Binned(),
        sf.Binned(edges=[[0.0, 2.0, 3.5]] * 2),
        sf.MultivariateGaussian(),
    ],
)
def test_curves_hold_almost_all_the_mass(family):
    for found in conditionals(sf.Model.fit(X, Y, family)):
        for curve in getattr(found, "margins", (found,)):
            assert_allclose(mass_under(curve), 1.0, atol=0.03)


@pytest.mark.parametrize("family", [sf.Exponential(), sf.LogNormal(), sf.Exponential(learn="predictive")])
def test_positive_numbers_are_drawn_from_just_above_zero(family):
    for curve in conditionals(sf.Model.fit(np.exp(X), Y, family)):
        assert curve.x[0] > 0
        assert_allclose(mass_under(curve), 1.0, atol=0.06)


@pytest.mark.parametrize("family", [sf.Poisson(), sf.Geometric(), sf.Poisson(learn="predictive")])
def test_counts_have_probabilities_at_whole_numbers(family):
    for curve in conditionals(sf.Model.fit(N, Y, family)):
        assert curve.kind == "mass"
        assert_array_equal(curve.x, np.arange(len(curve.x)))
        assert_allclose(mass_under(curve), 1.0, atol=0.02)


def test_a_poisson_column_is_its_probability_mass():
    model = PoissonNB().fit(N, Y)
    curve = conditionals(model)[0]
    rate = sf.Poisson().estimate(sf.Poisson().summarize(N, Y).statistic).rate
    assert_allclose(curve.density[1], st.poisson.pmf(curve.x, rate[1, 0]), rtol=1e-9)


def test_large_counts_are_drawn_at_some_whole_numbers_only():
    curve = conditionals(PoissonNB().fit(N * 1000, Y))[0]
    assert len(curve.x) < 200
    assert_array_equal(curve.x, np.round(curve.x))


def test_bins_are_their_probability_over_their_width():
    edges = [0.0, 2.0, 5.0]
    curve = conditionals(sf.Model.fit(X[:, :1], Y, sf.Binned(edges=[edges], prior=None)))[0]
    counts, _ = np.histogram(-X[:80, 0], bins=[-np.inf, -5.0, -2.0, -0.0, np.inf])  # bins are closed on the right
    assert curve.kind == "steps"
    assert_allclose(curve.x, [-2.0, *edges, 8.0])  # open bins are drawn as wide as their neighbours
    assert_allclose(curve.density[0] * np.diff(curve.x), counts[::-1] / 80, atol=1e-12)


def test_two_bins_are_bars_for_both_are_open():
    x, y = np.array([[1.0], [2.0], [7.0], [8.0], [9.0]]), ["a", "a", "a", "b", "b"]
    (bars,) = conditionals(sf.Model.fit(x, y, sf.Binned(prior=None, edges=[5])))
    assert bars.outcomes == ("≤ 5", "> 5")
    assert_allclose(bars.probability, [[2 / 3, 1 / 3], [0, 1]])


def test_a_bin_of_one_value_is_drawn_as_wide_as_the_narrowest():
    x = np.r_[np.zeros(90), np.arange(5.0, 35.0)][:, None]
    curve = conditionals(sf.Model.fit(x, np.tile(["a", "b"], 60), sf.Binned()))[0]
    widths = np.diff(curve.x)
    assert_allclose(widths[0], widths[1:].min())
    assert curve.x[1] == 0.0
    assert (np.diff(curve.x) > 0).all()
    assert np.isfinite(curve.density).all()
    assert_allclose(mass_under(curve), 1.0)


@pytest.mark.parametrize(("value", "width"), [(0.0, 1.0), (0.25, 1.0), (5.0, 5.0), (-3.0, 3.0)])
def test_a_column_of_one_value_is_a_bin_as_wide_as_it_or_one(value, width):
    (curve,) = conditionals(sf.Model.fit(np.full((6, 1), value), ["a", "b"] * 3, sf.Binned()))
    assert_allclose(curve.x, [value - width, value])
    assert_allclose(curve.density, 1.0 / width)


def test_categories_are_the_bars_of_their_table():
    model = CategoricalNB().fit(N, Y)
    bars = conditionals(model)
    for bar, table in zip(bars, model.tables()[1:], strict=True):
        assert isinstance(bar, Bars)
        assert bar.outcomes == tuple(table.rows)
        assert_array_equal(bar.probability, table.values.T)


def test_only_the_columns_of_categories_that_are_wanted_are_bars():
    model = CategoricalNB().fit(N.clip(0, 2), Y)
    assert [bars.title for bars in conditionals(model)] == ["x0", "x1"]
    assert [bars.title for bars in conditionals(model, ["x1"])] == ["x1"]


def test_truths_are_true_or_false_and_many_of_them_are_words():
    model = BernoulliNB().fit(N > 2, Y)
    bar = conditionals(model, ["x1"])
    assert [each.title for each in bar] == ["x1"]
    assert bar[0].outcomes == ("false", "true")
    assert_allclose(bar[0].probability[:, 1], np.exp(model.feature_log_prob_[:, 1]))
    assert_allclose(bar[0].probability.sum(axis=1), 1.0)
    many = BernoulliNB().fit(np.tile(N > 2, 15), Y)
    assert isinstance(conditionals(many)[0], Words)


def test_words_are_the_top_features():
    names = [f"word{j}" for j in range(2)]
    model = MultinomialNB().fit(N, Y)
    (words,) = conditionals(model, names=names, by="probability")
    for c, label in enumerate("abc"):
        table = model.top_features(label, by="probability")
        assert [word.replace("word", "x") for word in words.words[c]] == table.rows
        assert_array_equal(words.probability[c], table.values[:, 1])


def test_words_of_texts_are_named_without_their_column():
    texts = ["Cheap pills, buy now", "Lunch at noon?", "You won: claim your cash now", "The report is attached"]
    model = sf.TextClassifier().fit(texts, ["spam", "mail"] * 2)
    (words,) = conditionals(model, words=3)
    assert words.words[1] == tuple(model.top_features("spam", 3).rows)
    assert [each.words[1] for each in conditionals(model, words=1)] == [words.words[1][:1]]
    rows = {"note": texts * 20, "size": np.arange(80) % 7}
    table = sf.BayesClassifier({"note": sf.Text()}).fit(rows, ["spam", "mail"] * 40)
    note, _ = conditionals(table, words=2)
    assert note.title == "note"
    assert not any(word.startswith("note") for own in note.words for word in own)


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_gaussians_over_a_block_have_means_covariances_and_margins(kind):
    model = kind(store_covariance=True).fit(X, Y)
    (block,) = conditionals(model)
    assert isinstance(block, Ellipses)
    assert_allclose(block.mean, model.means_)
    for c in range(3):
        for j, curve in enumerate(block.margins):
            expected = st.norm.pdf(curve.x, model.means_[c, j], np.sqrt(block.covariance[c, j, j]))
            assert_allclose(curve.density[c], expected, rtol=1e-8, atol=1e-300)


def test_the_outline_of_a_class_has_one_distance_from_its_mean():
    """Of narrow and wide columns: (x − μ)ᵀ Σ⁻¹ (x − μ) is the square of the radius all around."""
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X * [0.1, 30.0], Y)
    (block,) = conditionals(model)
    for c, radius in ((0, 1.0), (2, 2.5)):
        away = block.outline(c, radius).T - model.means_[c]
        assert_allclose(np.einsum("ni,ij,nj->n", away, np.linalg.inv(block.covariance[c]), away), radius**2)
        angle = np.unwrap(np.arctan2(*(away / away.std(axis=0)).T))
        assert_allclose(abs(angle[-1] - angle[0]), 2.0 * np.pi)


@pytest.mark.parametrize(("columns", "title"), [(4, "x0, x1, x2, x3"), (5, "x0, x1, x2, x3, …")])
def test_a_block_is_titled_by_its_first_four_columns(columns, title):
    rows = np.random.default_rng(0).normal(size=(240, columns))
    assert conditionals(QuadraticDiscriminantAnalysis().fit(rows, Y))[0].title == title


def test_combinations_of_a_joint_table_are_bars():
    (bars,) = conditionals(sf.Model.fit(N.clip(0, 1), Y, sf.JointCategorical(prior=None)))
    assert bars.outcomes[:2] == ("0, 0", "0, 1")
    assert bars.columns == ("x0", "x1")
    both = (N[:80] == 0).all(axis=1).mean()
    assert_allclose(bars.probability[0, 0], both)


def test_a_table_has_one_for_each_block_and_silent_columns_say_so():
    rng = np.random.default_rng(1)
    rows = {
        "age": [None if i % 9 == 0 else v for i, v in enumerate(X[:, 0].tolist())],
        "job": [["shop", "law", None][int(v > 1) + int(v > 4)] for v in X[:, 0]],
        "noise": rng.normal(size=240),
        "left": X[:, 0],
        "right": X[:, 1],
    }
    families = {("left", "right"): sf.MultivariateGaussian()}
    model = sf.BayesClassifier(families, missing="informative").fit(rows, Y)
    found = {each.title: each for each in conditionals(model)}
    assert list(found)[:4] == ["age", "job", "noise", "left, right"]
    assert found["age"].votes
    assert not found["noise"].votes
    assert_array_equal(found["noise"].density[0], found["noise"].density[2])
    assert found["job"].outcomes == ("law", "shop")
    assert found["age missing"].outcomes == ("false", "true")
    assert isinstance(found["left, right"], Ellipses)
    only = conditionals(model, ["right"])
    assert [each.title for each in only] == ["left, right"]
    assert [margin.title for margin in only[0].margins] == ["right"]


def test_a_column_without_values_has_an_empty_curve_and_a_constant_one_a_narrow_one():
    rows = np.column_stack([np.full(240, np.nan), np.ones(240), X[:, 0]])
    empty, constant, _ = conditionals(sf.Model.fit(rows, Y, sf.Binned()))
    assert empty.density.shape == (3, 0)
    assert np.isfinite(constant.density).all()
    constant = conditionals(GaussianNB().fit(rows[:, 1:], Y))[0]
    assert np.isfinite(constant.density).all()
    assert constant.x[0] < 1 < constant.x[-1]


def test_the_same_model_always_gives_the_same_arrays():
    model = KernelNB().fit(X, Y)
    for first, second in zip(conditionals(model), conditionals(model), strict=True):
        assert_array_equal(first.x, second.x)
        assert_array_equal(first.density, second.density)


def test_many_classes_still_get_a_short_curve():
    curve = conditionals(GaussianNB().fit(np.arange(400.0)[:, None], np.arange(400) % 100))[0]
    assert curve.density.shape == (100, len(curve.x))
    assert len(curve.x) <= 161 + 9 * 100


def test_only_as_many_are_made_as_are_asked_for():
    assert [each.title for each in conditionals(GaussianNB().fit(X, Y), most=1)] == ["x0"]
    assert len(conditionals(GaussianNB().fit(X, Y), most=5)) == 2


def test_what_is_wrong_is_said():
    rows = {"height": X[:, 0], "weight": X[:, 1]}
    model = sf.BayesClassifier().fit(rows, Y)
    with pytest.raises(sf.MismatchError, match=r"no column 'hieght'\. Did you mean 'height'"):
        conditionals(model, ["hieght"])
    with pytest.raises(sf.MismatchError, match=r"no column 'zzz'\. The columns are 'height', 'weight'"):
        conditionals(model, ["zzz"])
    with pytest.raises(NotFittedError):
        conditionals(GaussianNB())
    with pytest.raises(sf.InvalidOptionError, match="found LogisticRegression"):
        conditionals(LogisticRegression().fit(X, Y))
    with pytest.raises(sf.InvalidOptionError, match="by must be one of"):
        conditionals(model, by="size")
    with pytest.raises(sf.InvalidOptionError, match="words must be at least 1"):
        conditionals(model, words=0)
    with pytest.raises(sf.NoDistributionError):
        conditionals(ComplementNB().fit(N, Y))


def test_neither_scikit_learn_nor_matplotlib_is_needed():
    code = (
        "import sys, suffice as sf\n"
        "from suffice.model.class_conditionals import conditionals\n"
        "conditionals(sf.Model.fit([[0.0], [1.0], [5.0]], ['a', 'a', 'b'], sf.Gaussian()))\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sklearn", "pandas", "matplotlib"} & set(loaded)
