"""A table of bad input: for every estimator a named error, or the answer that is documented."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import suffice as sf
import suffice.discriminant_analysis as discriminants
import suffice.naive_bayes as ours
from attacks.targets import estimator_classes, make, rows_for
from suffice import InvalidDataError, NegativeValueError, SufficeError
from suffice.core.errors import SingularCovarianceError

ALL = ours.__all__
COUNTS = ["MultinomialNB", "ComplementNB", "PoissonNB"]

X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 0.0], [1.0, 1.0]])
Y = np.array(["a", "a", "b", "b"])


def with_entry(value, row=2, column=1):
    x = X.copy()
    x[row, column] = value
    return x


# what is bad, X, y, weight, the error, what it says
FIT = [
    ("empty X", np.empty((0, 2)), np.empty(0), None, ValueError, "Found array with 0 sample"),
    ("no features", np.empty((4, 0)), Y, None, ValueError, r"0 feature\(s\)"),
    ("one dimension", X[:, 0], Y, None, ValueError, "Expected 2D array, got 1D array"),
    ("three dimensions", X[None], Y, None, ValueError, "dim 3"),
    ("infinite", with_entry(np.inf), Y, None, InvalidDataError, "infinity .* Found inf in row 2, column 1"),
    ("minus infinite", with_entry(-np.inf), Y, None, InvalidDataError, "infinity .* Found -inf in row 2, column 1"),
    ("too few labels", X, Y[:3], None, ValueError, r"inconsistent numbers of samples: \[4, 3\]"),
    ("too many labels", X, np.append(Y, "a"), None, ValueError, r"inconsistent numbers of samples: \[4, 5\]"),
    ("no labels", X, None, None, ValueError, "requires y to be passed, but the target y is None"),
    (
        "mixed labels",
        X,
        np.array(["a", 1, "b", 2], object),
        None,
        ValueError,
        "(?i)mix of|unknown label type|Cannot order",
    ),
    ("missing label", X, np.array(["a", None, "b", "b"], object), None, ValueError, "row 1 is missing|contains NaN"),
    ("NaN label", X, np.array([0.0, 1.0, np.nan, 1.0]), None, sf.MissingLabelError, "row 2 is missing"),
    ("continuous labels", X, np.array([0.1, 0.2, 0.3, 0.4]), None, ValueError, "Unknown label type"),
    ("two-dimensional labels", X, np.ones((4, 2)), None, ValueError, "1d array"),
    ("zero total weight", X, Y, np.zeros(4), InvalidDataError, "total weight of all rows is zero"),
    (
        "negative weight",
        X,
        Y,
        [1, 1, -1, 1],
        InvalidDataError,
        "Negative values .* `sample_weight`: row 2",
    ),
    ("NaN weight", X, Y, [1, np.nan, 1, 1], InvalidDataError, "row 1 has weight nan"),
    ("infinite weight", X, Y, [1, np.inf, 1, 1], InvalidDataError, "row 1 has weight inf"),
    (
        "huge weight",
        X,
        Y,
        [1, 1e308, 1e308, 1],
        InvalidDataError,
        r"row 1 has weight 1e\+308. Weights are 0 or from 1e-140",
    ),
    ("tiny weight", X, Y, [1, 1, 5e-324, 1], InvalidDataError, "row 2 has weight 5e-324. Weights are 0 or from 1e-140"),
    ("weights that are words", X, Y, list("abcd"), InvalidDataError, "Sample weights must be numbers"),
    ("complex weights", X, Y, [1, 1j, 1, 1], InvalidDataError, "Sample weights must be numbers"),
    ("too few weights", X, Y, [1, 1, 1], InvalidDataError, r"sample_weight.shape == \(3,\), expected \(4,\)"),
    ("weights of two dimensions", X, Y, np.ones((4, 1)), InvalidDataError, "must be 1D"),
    ("complex", X.astype(complex), Y, None, ValueError, "Complex data not supported"),
]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("what", "x", "y", "weight", "error", "message"), FIT, ids=[case[0] for case in FIT])
def test_bad_training_data_is_refused_and_nothing_is_lost(name, method, what, x, y, weight, error, message):
    fresh = getattr(ours, name)()
    with pytest.raises(error, match=message):
        getattr(fresh, method)(x, y, sample_weight=weight)
    assert vars(fresh) == vars(getattr(ours, name)()), "a failed first fit leaves no trace"

    model = getattr(ours, name)().fit(X, Y)
    before, attributes = model.predict_log_proba(X), dict(vars(model))
    if method == "partial_fit" and what == "zero total weight":
        model.partial_fit(x, y, sample_weight=weight)  # to a fitted model such rows are merely absent
    else:
        with pytest.raises(error, match=message):
            getattr(model, method)(x, y, sample_weight=weight)
        assert vars(model) == attributes
    np.testing.assert_array_equal(model.predict_log_proba(X), before)


PREDICT = [
    ("empty X", np.empty((0, 2)), ValueError, "Found array with 0 sample"),
    ("too few columns", X[:, :1], ValueError, "X has 1 features, but .* is expecting 2 features as input"),
    ("too many columns", np.ones((2, 3)), ValueError, "X has 3 features, but .* is expecting 2 features as input"),
    ("one dimension", X[0], ValueError, "Expected 2D array, got 1D array"),
    ("infinite", with_entry(np.inf), InvalidDataError, "infinity .* Found inf in row 2, column 1"),
]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("x", "error", "message"), [c[1:] for c in PREDICT], ids=[c[0] for c in PREDICT])
def test_bad_rows_to_predict_are_refused(name, x, error, message):
    model = getattr(ours, name)().fit(X, Y)
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        with pytest.raises(error, match=message):
            getattr(model, method)(x)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "forget", "drop_class", "sample", "leave_one_out"])
def test_asking_before_fitting_is_refused(name, method):
    arguments = {"forget": (X, Y), "leave_one_out": (X, Y), "drop_class": ("a",), "sample": (1,)}.get(method, (X,))
    with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted yet"):
        getattr(getattr(ours, name)(), method)(*arguments)
    assert not hasattr(getattr(ours, name)(), "classes_")


@pytest.mark.parametrize("name", [*COUNTS, "CategoricalNB"])
def test_negative_counts_are_refused_where_they_stand(name):
    message = rf"Negative values in data passed to {name} \(input X\)\. Found -1\.0 in row 2, column 1"
    with pytest.raises(NegativeValueError, match=message):
        getattr(ours, name)().fit(with_entry(-1.0), Y)
    if name == "CategoricalNB":
        with pytest.raises(NegativeValueError, match=message):
            ours.CategoricalNB().fit(X, Y).predict(with_entry(-1.0))
    else:
        with pytest.raises(NegativeValueError, match=message):
            getattr(ours, name)().fit(scipy.sparse.csr_matrix(with_entry(-1.0)), Y)


@pytest.mark.parametrize("name", ALL)
def test_one_row_is_enough(name):
    model = getattr(ours, name)().fit(X[:1], Y[:1])
    assert model.predict(X).tolist() == ["a"] * 4
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((4, 1)))


@pytest.mark.parametrize("name", ALL)
def test_a_class_of_one_row_is_a_class(name):
    model = getattr(ours, name)().fit(X[:3], Y[:3])
    assert np.isfinite(model.predict_joint_log_proba(X[:3])).all()
    assert model.predict_proba(X).sum() == pytest.approx(4.0)


@pytest.mark.parametrize("name", ALL)
def test_a_column_of_nothing_but_gaps_says_nothing(name):
    empty = X.copy()
    empty[:, 1] = np.nan
    alone, beside = getattr(ours, name)().fit(X[:, :1], Y), getattr(ours, name)().fit(empty, Y)
    if name in ("MultinomialNB", "ComplementNB"):  # a word never seen still has a share of the bag
        alone.fit(np.c_[X[:, 0], np.zeros(4)], Y)
        np.testing.assert_allclose(
            beside.predict_proba(empty), alone.predict_proba(np.c_[X[:, 0], np.full(4, np.nan)]), rtol=1e-12
        )
    else:
        np.testing.assert_allclose(beside.predict_proba(empty), alone.predict_proba(X[:, :1]), rtol=1e-9)
    assert np.isfinite(beside.predict_log_proba(X)).all(), "a value where none was ever seen is no surprise"


@pytest.mark.parametrize("name", ALL)
def test_a_class_all_of_whose_entries_are_missing_keeps_its_prior(name):
    x = X.copy()
    x[2:] = np.nan
    model = getattr(ours, name)().fit(x, Y)
    posterior = model.predict_proba(np.full((1, 2), np.nan))
    np.testing.assert_allclose(posterior, [[0.5, 0.5]])
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("name", ["GaussianNB", "MixtureNB", "BernoulliNB", *COUNTS])
def test_objects_that_are_not_numbers_are_named(name):
    with pytest.raises((ValueError, TypeError), match=r"many|could not convert"):
        getattr(ours, name)().fit(np.array([[1, 2], [3, "many"]], object), ["a", "b"])


def test_sparse_rows_are_refused_where_every_entry_counts():
    for name in ("GaussianNB", "MixtureNB", "CategoricalNB"):
        with pytest.raises(TypeError, match=r"(?i)sparse data was passed"):
            getattr(ours, name)().fit(scipy.sparse.csr_matrix(X), Y)


def test_infinite_values_in_sparse_rows_are_refused_where_they_stand():
    bad = scipy.sparse.csr_matrix(with_entry(np.inf))
    for name in ("BernoulliNB", *COUNTS):
        with pytest.raises(InvalidDataError, match="Found inf in row 2, column 1"):
            getattr(ours, name)().fit(bad, Y)
        with pytest.raises(InvalidDataError, match="Found inf in row 2, column 1"):
            getattr(ours, name)().fit(X, Y).predict(bad)


def test_values_whose_squares_overflow_are_refused():
    for name in ("GaussianNB", "MixtureNB"):
        with pytest.raises(InvalidDataError, match="Column 1 holds a value too large"):
            getattr(ours, name)().fit(with_entry(1e200), Y)


def test_truths_outside_zero_and_one_are_refused_without_a_threshold():
    with pytest.raises(InvalidDataError, match=r"Expected booleans between 0 and 1\. Found 2\.0 in row 1, column 1"):
        ours.BernoulliNB(binarize=None).fit(X, Y)


def test_category_numbers_beyond_reason_are_refused():
    with pytest.raises(InvalidDataError, match="Column 1 holds the category number 3000000000"):
        ours.CategoricalNB().fit([[0, 3_000_000_000], [1, 2]], ["a", "b"])


def test_a_feature_constant_within_each_class_gives_certainty_and_no_nan():
    x = np.array([[1.0], [1.0], [2.0], [2.0]])
    for smoothing in (0.0, 1e-9):
        model = ours.GaussianNB(var_smoothing=smoothing).fit(x, Y)
        np.testing.assert_allclose(model.predict_proba(x), [[1, 0], [1, 0], [0, 1], [0, 1]], atol=1e-12)
    model = ours.GaussianNB().fit(np.ones((4, 1)), Y)
    np.testing.assert_allclose(model.predict_proba([[1.0], [5.0]]), 0.5)


def test_labels_other_than_those_learned_cannot_be_left_out():
    with pytest.raises(SufficeError, match="'z' was not in the training data"):
        ours.GaussianNB().fit(X, Y).leave_one_out(X, ["z", "a", "b", "b"])


def test_negative_counts_have_no_poisson_density():
    model = ours.PoissonNB().fit(X, Y)
    for rows in (with_entry(-1.0), scipy.sparse.csr_matrix(with_entry(-1.0))):
        with pytest.raises(NegativeValueError, match=r"PoissonNB \(input X\)\. Found -1\.0 in row 2, column 1"):
            model.predict(rows)


def test_alpha_must_be_one_number_for_each_column():
    with pytest.raises(SufficeError, match="When alpha is an array"):
        ours.MultinomialNB(alpha=[[1.0, 2.0], [3.0, 4.0]]).fit(X, Y)


# ---------------------------------------------------------------------------------- blocks of columns

BLOCK, TWO = np.random.default_rng(0).normal(size=(12, 3)), np.repeat(["a", "b"], 6)
ANALYSES = [
    discriminants.LinearDiscriminantAnalysis(),
    discriminants.LinearDiscriminantAnalysis(solver="lsqr"),
    discriminants.LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
    discriminants.QuadraticDiscriminantAnalysis(),
    discriminants.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
]
every_analysis = pytest.mark.parametrize("clf", ANALYSES, ids=str)
BLOCK_FIT = [c for c in FIT if c[0] not in ("empty X", "no features", "too few labels", "too many labels")]


@every_analysis
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("what", "x", "y", "weight", "error", "message"), BLOCK_FIT, ids=[c[0] for c in BLOCK_FIT])
def test_bad_training_data_for_a_block_is_refused_and_nothing_is_lost(clf, method, what, x, y, weight, error, message):
    fresh = clone(clf)
    with pytest.raises(error, match=message):
        getattr(fresh, method)(x, y, sample_weight=weight)
    assert vars(fresh) == vars(clone(clf))
    rng = np.random.default_rng(1)
    model = clone(clf).fit(rng.normal(size=(12, 2)), np.repeat(["a", "b"], 6))
    before, attributes = model.predict_log_proba(X), dict(vars(model))
    if not (method == "partial_fit" and what == "zero total weight"):
        with pytest.raises(error, match=message):
            getattr(model, method)(x, y, sample_weight=weight)
        assert vars(model) == attributes
    np.testing.assert_array_equal(model.predict_log_proba(X), before)


@every_analysis
def test_infinite_values_in_a_block_are_refused_where_they_stand(clf):
    bad = BLOCK.copy()
    bad[7, 2] = np.inf
    for table in (bad, np.asfortranarray(bad), bad.astype(np.float32)):
        with pytest.raises(InvalidDataError, match="Found inf in row 7, column 2"):
            clone(clf).fit(table, TWO)
        model = clone(clf).fit(BLOCK, TWO)
        for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "impute", "transform"):
            if hasattr(model, method) and not (method == "transform" and model.solver == "lsqr"):
                with pytest.raises(InvalidDataError, match="Found inf in row 7, column 2"):
                    getattr(model, method)(table)


@every_analysis
def test_values_of_a_block_whose_squares_overflow_are_refused(clf):
    bad = BLOCK.copy()
    bad[7, 2] = 1e200
    with pytest.raises(InvalidDataError, match="Column 2 holds a value too large"):
        clone(clf).fit(bad, TWO)


@every_analysis
def test_rows_of_another_width_are_refused(clf):
    model = clone(clf).fit(BLOCK, TWO)
    for rows in (BLOCK[:, :2], np.ones((2, 4))):
        for method in ("predict", "predict_proba", "decision_function", "impute"):
            with pytest.raises(ValueError, match=r"X has \d features, but .* is expecting 3 features"):
                getattr(model, method)(rows)
        with pytest.raises(ValueError, match=r"X has \d features, but .* is expecting 3 features"):
            model.partial_fit(rows, TWO[: len(rows)])


@every_analysis
def test_sparse_rows_are_refused_for_a_block(clf):
    with pytest.raises(TypeError, match=r"(?i)sparse data was passed"):
        clone(clf).fit(scipy.sparse.csr_matrix(BLOCK), TWO)


SHAPES = {
    "a singular covariance": (BLOCK[:, [0, 1, 1]], TWO),
    "a constant column": (BLOCK * [1, 0, 1], TWO),
    "fewer rows than columns in a class": (BLOCK[4:], TWO[4:]),
    "a class of one row": (BLOCK[5:], TWO[5:]),
    "fewer rows than columns": (BLOCK[[0, 1, 6]], TWO[[0, 1, 6]]),
    "all rows alike": (np.ones((6, 3)), TWO[3:9]),
}


@pytest.mark.parametrize("shape", SHAPES)
@every_analysis
def test_too_little_variation_gives_a_named_error_or_finite_answers(clf, shape):
    x, y = SHAPES[shape]
    try:
        model = clone(clf).fit(x, y)
    except SufficeError:
        return
    for rows in (BLOCK, x, np.where(BLOCK > 0, np.nan, BLOCK)):
        assert np.isfinite(model.predict_proba(rows)).all()
        assert not np.isnan(model.predict_log_proba(rows)).any()
        assert np.isfinite(model.impute(rows)).all()
    if shape != "fewer rows than columns":  # of which one less leaves no variation at all
        assert not np.isnan(model.leave_one_out(x, y)).any()


@every_analysis
def test_rows_of_nothing_but_gaps_give_a_named_error_or_the_prior(clf):
    nothing = np.full((6, 3), np.nan)
    try:
        model = clone(clf).fit(nothing, TWO[3:9])
    except SufficeError:
        return
    np.testing.assert_allclose(model.predict_proba(nothing[:1]), [[0.5, 0.5]])
    assert np.isfinite(model.predict_proba(BLOCK)).all()


def test_a_singular_covariance_is_an_error_where_scikit_learn_has_one_and_says_what_to_do():
    x, y = SHAPES["a singular covariance"]
    with pytest.raises(SingularCovarianceError, match=r"class a is not full rank\. Increase .*`reg_param`"):
        discriminants.QuadraticDiscriminantAnalysis().fit(x, y)
    with pytest.raises(SingularCovarianceError, match=r"solver='svd'.*shrinkage"):
        discriminants.LinearDiscriminantAnalysis(solver="eigen").fit(BLOCK * [1, 0, 1], y)
    with pytest.raises(SingularCovarianceError, match="class b has 3 samples and 3 features"):
        discriminants.QuadraticDiscriminantAnalysis().fit(BLOCK[:9], TWO[:9])
    with pytest.raises(InvalidDataError, match="only 1 sample in class b"):
        discriminants.QuadraticDiscriminantAnalysis().fit(BLOCK[:7], TWO[:7])
    with pytest.raises(InvalidDataError, match="number of classes has to be greater than one"):
        discriminants.QuadraticDiscriminantAnalysis().fit(BLOCK[:6], TWO[:6])


def test_options_for_other_columns_are_refused_with_later_rows_too():
    X, y = np.arange(12.0).reshape(4, 3), [0, 1, 0, 1]
    model = sf.naive_bayes.KernelNB(bandwidth=0.5).fit(X, y).set_params(bandwidth=[1.0, 2.0])
    before = model.class_count_.tolist()
    with pytest.raises(sf.MismatchError, match="options for 2 columns, data of 3"):
        model.partial_fit(X, y)
    assert model.class_count_.tolist() == before


@pytest.mark.parametrize("cls", estimator_classes(), ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("weight", [1e308, 1e141, 5e-324, 1e-141, -1.0, np.nan, np.inf])
def test_every_estimator_refuses_weights_out_of_range_by_row(cls, weight):
    rows, labels, weights = rows_for(cls), ["a", "b"] * 6, np.ones(12)
    weights[7] = weight
    model = make(cls)
    for step in (model.fit, make(cls).fit(rows, labels).partial_fit):
        with pytest.raises(InvalidDataError, match=r"`sample_weight`: row 7 has weight"):
            step(rows, labels, sample_weight=weights)
    table = {"text": rows} if cls._form == "texts" else {f"c{j}": rows[:, j] for j in range(3)}
    with pytest.raises(InvalidDataError, match="row 7 has weight"):
        model.fit(table | {"label": labels, "w": weights}, "label", "w")


@pytest.mark.parametrize("cls", estimator_classes(), ids=lambda cls: cls.__name__)
def test_every_estimator_learns_weights_at_both_ends_of_the_range(cls):
    rows, labels = rows_for(cls), ["a", "b"] * 6
    expected = make(cls).fit(rows, labels).predict(rows)
    for size in (1e-140, 1e139):
        model = make(cls).fit(rows, labels, sample_weight=np.full(12, size))
        assert np.isfinite(model.predict_proba(rows)).all()
        np.testing.assert_allclose(model.class_count_, 6 * size, rtol=1e-12)
        if cls.__name__ in ("GaussianNB", "LinearDiscriminantAnalysis"):  # which have no prior to weigh rows against
            np.testing.assert_array_equal(model.predict(rows), expected)
