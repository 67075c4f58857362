"""Kernels and what is derived from formulas: each equals the formula evaluated in NumPy.

Kernel and formula add the same terms in another order, so they differ by rounding only. The tolerance is 64 ε times the
sum of the absolute values of all terms of a row: more than the rounding error of the few dozen operations for each row,
and far less than the effect of a wrong term.
"""

import numpy as np
import pytest
import scipy.sparse

import suffice as sf
from suffice import _core
from suffice.core.labels import encode_labels
from suffice.core.statistics.compensated import class_weight
from suffice.families import _derive as derive
from suffice.families import complement, exponential, gaussian, geometric, log_normal, multinomial, poisson
from suffice.families._base import Entrywise
from suffice.families._kernels import KERNELS
from suffice.families.bernoulli import BernoulliDistribution
from suffice.formulas import Above, Column, Steps, X, as_formula

CLASSES, COLUMNS, ROWS = 3, 5, 70
EPSILON = np.finfo(np.float64).eps
SHAPE = (CLASSES, COLUMNS)


def parameters(low, high, seed=0):
    return np.random.default_rng(seed).uniform(low, high, SHAPE)


def with_zeros(table):
    """A probability of 0 in the first column, for one class, and of the last column, for all."""
    table = table.copy()
    table[0, 0], table[:, -1] = 0.0, 0.0
    return table


THETA = parameters(0.05, 0.95)
CERTAIN = with_zeros(THETA)
WORDS = THETA / THETA.sum(axis=1, keepdims=True)
LENGTH = np.full(CLASSES, 9.0)
MEAN, DEVIATION = parameters(-3.0, 3.0), parameters(0.5, 4.0, seed=1)
NORMAL = gaussian.GaussianDistribution(MEAN, DEVIATION**2, 0)
STUDENT = gaussian.StudentDistribution(MEAN, DEVIATION**2, parameters(1.0, 9.0, seed=2), False)
SHARED = gaussian.GaussianDistribution(MEAN, np.tile(DEVIATION[:1] ** 2, (CLASSES, 1)), 0)

EXAMPLES = {
    "Gaussian": (NORMAL, "reals"),
    "Gaussian of shared variance": (SHARED, "reals"),
    "Gaussian far from 0": (gaussian.GaussianDistribution(MEAN + 1e8, DEVIATION**2, 0), "far"),
    "Student": (STUDENT, "reals"),
    "log-normal": (log_normal.LogNormalDistribution(NORMAL), "positive"),
    "log-Student": (log_normal.LogNormalDistribution(STUDENT), "positive"),
    "Bernoulli": (BernoulliDistribution(THETA, 1.0 - THETA), "counts"),
    "Bernoulli above 1": (BernoulliDistribution(THETA, 1.0 - THETA, 1.0), "counts"),
    "Bernoulli above -1": (BernoulliDistribution(THETA, 1.0 - THETA, -1.0), "reals"),
    "Bernoulli of shares": (BernoulliDistribution(THETA, 1.0 - THETA, None), "shares"),
    "Bernoulli with impossible values": (BernoulliDistribution(CERTAIN, 1.0 - CERTAIN), "counts"),
    "Bernoulli of shares with impossible values": (BernoulliDistribution(CERTAIN, 1.0 - CERTAIN, None), "shares"),
    "multinomial": (multinomial.MultinomialDistribution(WORDS, LENGTH), "counts"),
    "multinomial with impossible words": (multinomial.MultinomialDistribution(with_zeros(WORDS), LENGTH), "counts"),
    "complement": (complement.ComplementScores(parameters(0.1, 4.0)), "counts"),
    "Poisson": (poisson.PoissonRates(parameters(0.1, 5.0)), "counts"),
    "Poisson with impossible events": (poisson.PoissonRates(with_zeros(parameters(0.1, 5.0))), "counts"),
    "negative binomial": (poisson.NegativeBinomialCounts(parameters(0.5, 9.0), parameters(0.5, 3.0)), "counts"),
    "exponential": (exponential.ExponentialRates(parameters(0.2, 3.0)), "positive"),
    "Lomax": (exponential.LomaxTimes(parameters(1.5, 9.0), parameters(0.5, 3.0)), "positive"),
    "geometric": (geometric.GeometricProbabilities(THETA, 1.0 - THETA), "counts"),
    "geometric of certain success": (geometric.GeometricProbabilities(1.0 - CERTAIN, CERTAIN), "counts"),
    "beta-geometric": (geometric.BetaGeometricCounts(parameters(0.5, 9.0), parameters(0.5, 3.0)), "counts"),
}
EVERY = pytest.mark.parametrize(("distribution", "kind"), EXAMPLES.values(), ids=EXAMPLES)
LINEAR = pytest.mark.parametrize(
    ("distribution", "kind"),
    [pytest.param(*EXAMPLES[name], id=name) for name in EXAMPLES if EXAMPLES[name][0]._affine is not None],
)


def rows(kind, dtype=np.float64, seed=3):
    rng = np.random.default_rng(seed)
    x = {
        "reals": lambda: rng.normal(0.0, 5.0, (ROWS, COLUMNS)),
        "far": lambda: 1e8 + rng.normal(0.0, 5.0, (ROWS, COLUMNS)),
        "positive": lambda: rng.exponential(2.0, (ROWS, COLUMNS)) + 1e-3,
        "counts": lambda: rng.poisson(rng.choice([0.3, 6.0], (ROWS, COLUMNS))).astype(float),
        "shares": lambda: rng.choice([0.0, 0.25, 1.0], (ROWS, COLUMNS)),
    }[kind]()
    return x.astype(dtype)


def with_missing(x):
    x = x.copy()
    x[np.random.default_rng(4).random(x.shape) < 0.2] = np.nan
    x[0] = np.nan  # nothing is observed
    return x


def by_formula(distribution, x):
    """The log-density by the formula, (rows, classes)."""
    return derive.log_density(distribution.density(X), x, distribution.dimensions)


def size_of_terms(distribution, x):
    """The sum of the absolute values of all that is added for a row, (rows, classes), impossible entries left out."""
    wide = np.nan_to_num(np.asarray(x, dtype=np.float64))[:, None, :]
    density = np.abs(distribution.density(X).at(wide))
    sizes = np.where(np.isfinite(density), density, 0.0).sum(axis=2)
    affine = distribution._affine
    if affine is not None:
        sizes = sizes + np.abs(affine.absent).sum(axis=1) + (np.abs(wide) * np.abs(affine.coef)).sum(axis=2)
    return sizes + 1.0


def assert_same(found, expected, sizes, ulps=64):
    assert found.shape == expected.shape
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    finite = np.isfinite(expected)
    assert np.isfinite(found[finite]).all()
    off = np.abs(found[finite] - expected[finite]) / (ulps * EPSILON * np.broadcast_to(sizes, found.shape)[finite])
    assert off.max(initial=0.0) <= 1.0, f"off by {off.max():.1f} times the tolerance"


def test_every_distribution_of_entries_has_an_example():
    def below(cls):
        return {cls}.union(*(below(each) for each in cls.__subclasses__()))

    ours = {cls for cls in below(Entrywise) - {Entrywise} if cls.__module__.startswith("suffice.")}
    assert ours == {type(distribution) for distribution, _ in EXAMPLES.values()}
    assert {cls for cls in KERNELS if cls.__module__.startswith("suffice.")} <= ours


@EVERY
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_the_log_density_of_a_kernel_is_that_of_the_formula(distribution, kind, dtype, order, missing):
    x = rows(kind, dtype)
    x = np.asarray(with_missing(x) if missing else x, order=order)
    sizes = size_of_terms(distribution, x)
    assert_same(distribution.log_density(x), by_formula(distribution, x), sizes)
    if missing:
        np.testing.assert_array_equal(distribution.log_density(x)[0], 0.0)


SPARSE = [name for name, (distribution, _) in EXAMPLES.items() if distribution.sparse and "above -1" not in name]


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_the_log_density_of_a_sparse_matrix_is_that_of_the_formula(name, dtype, missing):
    distribution, kind = EXAMPLES[name]
    x = rows(kind, dtype)
    x[np.random.default_rng(5).random(x.shape) < 0.5] = 0.0
    x = with_missing(x) if missing else x
    matrix = scipy.sparse.csr_matrix(x)
    assert_same(distribution.log_density(matrix), by_formula(distribution, x), size_of_terms(distribution, x))


@pytest.mark.parametrize("name", SPARSE)
def test_zeros_that_are_stored_and_entries_stored_in_parts_change_nothing(name):
    distribution, kind = EXAMPLES[name]
    x = rows(kind)
    x[::2, 1] = 0.0
    every = np.indices(x.shape).reshape(2, -1)
    halves = np.concatenate([0.5 * x.ravel(), 0.5 * x.ravel()])
    matrix = scipy.sparse.csr_matrix((halves, np.concatenate([every, every], axis=1)), shape=x.shape)
    whole = scipy.sparse.csr_matrix((x.ravel(), every), shape=x.shape)
    for stored in (matrix, whole):
        assert stored.nnz == x.size
        assert_same(distribution.log_density(stored), by_formula(distribution, x), size_of_terms(distribution, x))


@EVERY
def test_the_relative_log_density_differs_by_what_all_classes_share(distribution, kind):
    x = with_missing(rows(kind))
    relative, whole = distribution.relative_log_density(x), by_formula(distribution, x)
    np.testing.assert_array_equal(np.isneginf(relative), np.isneginf(whole))
    possible = np.isfinite(whole).all(axis=1)
    shared = whole[possible] - relative[possible]
    sizes = size_of_terms(distribution, x)[possible]
    assert_same(shared, np.repeat(shared[:, :1], CLASSES, axis=1), sizes + sizes[:, :1])


def test_at_an_offset_of_1e8_a_gaussian_keeps_every_digit():
    # Multiples of 1/8 are exact also at the offset, and x − μ is then exact: the log-density must be the same.
    x, mean = np.round(8.0 * rows("reals")) / 8.0, np.round(8.0 * MEAN) / 8.0
    near, far = (gaussian.GaussianDistribution(mean + offset, DEVIATION**2, 0) for offset in (0.0, 1e8))
    np.testing.assert_array_equal(far.log_density(x + 1e8), near.log_density(x))


@LINEAR
def test_the_linear_form_gives_the_log_odds(distribution, kind):
    if distribution._affine.impossible:
        with pytest.raises(sf.NoLinearFormError, match="probabilities are zero"):
            distribution.linear()
        return
    x = rows(kind)
    entries = x if distribution._affine.threshold is None else (x > distribution._affine.threshold).astype(float)
    coef, intercept = distribution.linear()
    scores = entries @ coef.T + intercept
    whole = by_formula(distribution, x)
    sizes = size_of_terms(distribution, x)
    assert_same(scores - scores[:, :1], whole - whole[:, :1], sizes + sizes[:, :1])


def test_the_linear_form_of_a_shared_variance_is_that_of_the_textbook():
    coef, intercept = SHARED.linear()
    variance = SHARED.variance[0]
    np.testing.assert_allclose(coef, MEAN / variance, rtol=1e-13)
    expected = (-0.5 * MEAN**2 / variance).sum(axis=1)
    np.testing.assert_allclose(intercept - intercept[0], expected - expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name, (d, _) in EXAMPLES.items() if d._affine is None])
def test_what_is_not_linear_says_so(name):
    with pytest.raises(sf.NoLinearFormError):
        EXAMPLES[name][0].linear()


@EVERY
def test_the_formula_of_a_named_column_is_that_of_the_entries(distribution, kind):
    x = rows(kind)
    whole = np.zeros((ROWS, CLASSES))
    for j in range(COLUMNS):
        whole += distribution.column_density(Column("x"), j).evaluate({"x": x[:, j]})
    assert_same(whole, by_formula(distribution, x), size_of_terms(distribution, x))


@pytest.mark.parametrize("limit", [-1.0, 0.0, 0.5, 1e8])
@pytest.mark.parametrize("theta", [THETA, CERTAIN], ids=["possible", "impossible"])
def test_a_tabulated_formula_is_the_one_it_replaces(limit, theta):
    x = Column("x")
    values = [limit, np.nextafter(limit, np.inf), np.nextafter(limit, -np.inf), limit - 9.0, limit + 9.0]
    for column in range(COLUMNS):
        distribution = BernoulliDistribution(theta[:, column], 1.0 - theta[:, column], limit)
        formula = distribution.density(x)
        table = derive.tabulated(formula, x)
        assert isinstance(table, Steps)
        np.testing.assert_array_equal(table.evaluate({"x": values}), formula.evaluate({"x": values}))


def test_only_formulas_of_one_threshold_are_tabulated():
    x = Column("x")
    once = 2.0 * Above(x, 1.0) + as_formula([0.5, 1.5])
    assert isinstance(derive.tabulated(once, x), Steps)
    for formula in (once + x, once + Above(x, 2.0), x * x, as_formula([1.0, 2.0])):
        assert derive.tabulated(formula, x) is formula


# ---- cosines


@pytest.mark.parametrize(("numbers", "categories", "cosines"), [(2, 3, 80), (0, 2, 16), (3, 0, 48), (0, 0, 64)])
@pytest.mark.parametrize("rows", [0, 1, 700])
def test_cosines_equal_those_of_numpy(numbers, categories, cosines, rows):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, numbers)).astype(np.float32)
    codes = rng.integers(-1, 8, size=(rows, categories)).astype(np.int32)  # of 7 features: -1 and 7 add nothing
    frequency = rng.normal(size=(7, cosines)).astype(np.float32)
    phase, at = rng.random(cosines).astype(np.float32), rng.integers(0, 7, numbers)
    table = np.vstack([frequency, np.zeros((2, cosines))])
    turns = phase + x.astype(np.float64) @ table[at] + table[codes].sum(axis=1)
    expected = 0.5 * np.cos(2 * np.pi * turns)
    out = np.empty((rows, cosines), np.float32)
    _core.cosines(x, codes, at, frequency, phase, 0.5, out)
    np.testing.assert_allclose(out, expected, atol=1e-5)  # angles of some turns in float32
    coef, intercept = rng.normal(size=(3, cosines)), rng.normal(size=3)
    scores = np.empty((rows, 3))
    _core.cosine_scores(x, codes, at, frequency, phase, 0.5, coef, intercept, scores)
    # Coefficients, and the sums of up to eight products, are rounded to float32.
    rounding = 10 * 2.0**-24 * (np.abs(out) @ np.abs(coef).T)
    assert (np.abs(scores - (out.astype(np.float64) @ coef.T + intercept)) <= rounding + 1e-12).all()


def test_cosines_refuse_arrays_that_do_not_fit():
    x, codes, at = np.zeros((4, 1), np.float32), np.zeros((4, 1), np.int32), np.zeros(1, np.int64)
    frequency, phase, coef = np.zeros((2, 16), np.float32), np.zeros(16, np.float32), np.zeros((3, 16))
    given = [x, codes, at, frequency, phase, 1.0, coef, np.zeros(3), np.zeros((4, 3))]
    _core.cosine_scores(*given)
    wrong = [
        (1, codes[:3]),
        (2, at + 2),
        (2, at - 1),
        (2, np.zeros(2, np.int64)),
        (3, np.zeros((2, 8), np.float32)),
        (4, phase[:8]),
        (6, coef[:2]),
        (6, np.zeros((3, 32))),
        (8, np.zeros((4, 2))),
    ]
    for position, value in wrong:
        with pytest.raises(ValueError, match=r"for each|rows of frequencies|multiple of 16|output size"):
            _core.cosine_scores(*given[:position], value, *given[position + 1 :])
    with pytest.raises(ValueError, match="output size"):
        _core.cosines(*given[:6], np.zeros((4, 15), np.float32))


@pytest.mark.parametrize("how", [0, 1, 2, 3])
def test_combinations_of_columns_are_those_of_numpy(how):
    values = np.array([-1e308, -1.5, -0.0, 0.0, 2.0, 1e308, np.inf, np.nan])
    pairs = np.array(np.meshgrid(values, values)).reshape(2, -1).T
    a, b = np.repeat(pairs, 400, axis=0).T  # rows of several blocks, one number after the other's
    out = np.empty(len(a))
    _core.combine_columns(a, b, how, 0.5, 2.0, out)
    with np.errstate(all="ignore"):
        ratio = np.where((a > 0) & (b > 0), a / b, np.nan)
        expected = [a, ratio, a / 0.5 - b / 2.0, a / 0.5 + b / 2.0][how]
    np.testing.assert_array_equal(out, np.where(np.isfinite(expected), expected, np.nan))
    assert not np.signbit(out[out == 0]).any()
    with pytest.raises(ValueError, match="kinds of combinations"):
        _core.combine_columns(a, b, 4, 1.0, 1.0, out)
    with pytest.raises(ValueError, match="output size"):
        _core.combine_columns(a, b[1:], 1, 1.0, 1.0, out)


@pytest.mark.parametrize("threads", ["1", "5"])
@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint64, bool])
@pytest.mark.parametrize("rows", [1, 7, 300_000])
def test_labels_of_integers_are_numbered_as_numpy_numbers_them(rows, dtype, threads, monkeypatch):
    monkeypatch.setenv("SUFFICE_NUM_THREADS", threads)
    y = np.random.default_rng(rows).choice([3, 4, 9, 11, 500], rows).astype(dtype)
    values, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    found = encode_labels(y)
    assert found.values.dtype == y.dtype
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.codes, codes)
    np.testing.assert_array_equal(class_weight(found.codes, len(values), None).value, counts)


@pytest.mark.parametrize("low", [-(2**63), 2**63 - 1 - 9, -3])
def test_labels_at_the_ends_of_the_integers_are_numbered(low):
    y = np.array([low, low + 9, low], dtype=np.int64)
    assert encode_labels(y).codes.tolist() == [0, 1, 0]
    assert encode_labels(y).values.tolist() == [low, low + 9]


def test_what_is_no_object_among_json_lines_is_found_wherever_blocks_are_cut():
    text = b'{"a": "}\\"[", "b": [1, {"c": 2}]}\n\n{"d":\n 1}\nnull\n'
    for cut in range(len(text) + 1):
        state, found = np.zeros(4, np.int64), []
        for begin, block in ((0, text[:cut]), (cut, text[cut:])):
            at = _core.misplaced_bracket(np.frombuffer(block, np.uint8), 3, state)
            found += [begin + at] if at >= 0 else []
        assert found[:1] == [text.index(b"null")]
        state[:] = 0
        assert _core.misplaced_bracket(np.frombuffer(text[:cut], np.uint8), 2, state) == (23 if cut > 23 else -1)
        assert text[23:24] == b"{"  # the third level
