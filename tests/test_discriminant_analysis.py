"""The discriminant analyses beside scikit-learn's, in the same run; and what scikit-learn's cannot do."""

from __future__ import annotations

import pickle
import re
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import sklearn
import sklearn.discriminant_analysis as theirs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice as sf
import suffice.discriminant_analysis as ours
from suffice import InvalidDataError, MismatchError, NotPartError
from suffice.core.errors import InvalidOptionError, NoLinearFormError, SingularCovarianceError
from suffice.families.linear_discriminant import LinearDiscriminant

LDA, QDA = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"


def peer_of(name, **params):
    """Scikit-learn's estimator, of a version whose answers are to be those here."""
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip("the discriminants are those of scikit-learn 1.9: earlier ones take other parameters and divisors")
    return getattr(theirs, name)(**params)


def pair(name, **params):
    return getattr(ours, name)(**params), peer_of(name, **params)


@cache
def data(name):
    """Rows, labels and new rows."""
    rng = np.random.default_rng(0)
    if name == "random":
        y = rng.choice(np.array(["sea", "air", "land", "fire"]), 160, p=[0.4, 0.3, 0.2, 0.1])
        codes = np.unique(y, return_inverse=True)[1]
        x = (rng.normal(size=(160, 6)) @ rng.normal(size=(6, 6)) + rng.normal(0, 2, (4, 6))[codes]) * np.logspace(
            -1, 2, 6
        )
        return x, y, x + rng.normal(size=x.shape) * x.std(axis=0)
    if name == "two":
        y = rng.choice(np.array([7, -2]), 90)
        x = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3)) + 0.2 * y[:, None]
        return x, y, rng.normal(0, 3, (40, 3))
    load = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}[name]
    x, y = load(return_X_y=True)
    if name == "digits":
        x, y = x[:900, x[:900].std(axis=0) > 4.5], y[:900]
    return x, y, x + rng.normal(0, 0.3, x.shape) * x.std(axis=0)


DATA = ["iris", "wine", "breast_cancer", "digits", "random", "two"]
every_data = pytest.mark.parametrize("name", DATA)


def assert_same_predictions(mine, peer, x, tolerance=1e-7):
    assert_array_equal(mine.classes_, peer.classes_)
    scores = peer.decision_function(x)
    found = mine.decision_function(x)
    assert found.shape == scores.shape
    assert_allclose(mine.predict_proba(x), peer.predict_proba(x), rtol=0, atol=tolerance)
    told, known = mine.predict_log_proba(x), peer.predict_log_proba(x)
    likely = known > -25  # scikit-learn's linear ones lose the digits of what is as good as 0
    assert_allclose(told[likely], known[likely], rtol=1e-5, atol=tolerance)
    if scores.ndim == 1:
        assert_allclose(found, scores, rtol=1e-6, atol=tolerance * (1 + np.abs(scores).max()))
        clear = np.abs(scores) > 1e-6
    else:
        size = np.abs(scores).max()
        assert_allclose(found, scores, rtol=1e-6, atol=tolerance * (1 + size))
        best = np.sort(scores, axis=1)
        clear = best[:, -1] - best[:, -2] > 1e-6
    assert_array_equal(mine.predict(x)[clear], peer.predict(x)[clear])


def signed(mine, peer):
    """Columns turned to point the way the peer's do."""
    return mine * np.sign((mine * peer).sum(axis=0))


def attributes(estimator):
    names = ("covariance_", "explained_variance_ratio_", "scalings_", "xbar_", "rotations_", "coef_", "intercept_")
    return {n for n in (*names, "means_", "priors_", "classes_", "n_features_in_") if hasattr(estimator, n)}


def assert_same_attributes(mine, peer, between=None):
    """All fitted attributes; directions up to their sign, and only those in which the means differ."""
    assert attributes(mine) == attributes(peer)
    for name in ("means_", "priors_", "xbar_", "covariance_"):
        if hasattr(peer, name):
            size = np.abs(np.asarray(getattr(peer, name))).max()
            assert_allclose(getattr(mine, name), getattr(peer, name), rtol=1e-8, atol=1e-11 * size, err_msg=name)
    if hasattr(peer, "coef_"):
        size = np.abs(peer.coef_).max()
        assert_allclose(mine.coef_, peer.coef_, rtol=1e-6, atol=1e-7 * size)
        assert_allclose(mine.intercept_, peer.intercept_, rtol=1e-6, atol=1e-7 * np.abs(peer.intercept_).max())
    if hasattr(peer, "explained_variance_ratio_"):
        assert_allclose(mine.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-6, atol=1e-8)
        kept = min(between or 99, len(peer.classes_) - 1, peer.scalings_.shape[1])
        assert mine.scalings_.shape == peer.scalings_.shape
        ratio = peer.explained_variance_ratio_[:kept]
        apart = np.abs(ratio[:, None] - ratio) + np.eye(len(ratio))
        clear = np.flatnonzero((apart > 1e-9).all(axis=0))  # where ratios are equal, any directions and order are right
        known = peer.scalings_[:, clear]
        assert_allclose(
            signed(mine.scalings_[:, clear], known), known, rtol=1e-5, atol=1e-6 * np.abs(known).max(initial=0.0)
        )


# --------------------------------------------------------------------------------------- like scikit-learn

SOLVERS = [
    {"solver": "svd"},
    {"solver": "svd", "store_covariance": True},
    *({"solver": s, "shrinkage": a} for s in ("lsqr", "eigen") for a in (None, "auto", 0.0, 0.3, 1.0)),
    *(
        {"solver": s, "covariance_estimator": e}
        for s in ("lsqr", "eigen")
        for e in (LedoitWolf(), OAS(), EmpiricalCovariance(), ShrunkCovariance(shrinkage=0.2))
    ),
]


@every_data
@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_linear_answers_are_scikit_learns(name, options):
    x, y, rows = data(name)
    mine, peer = pair(LDA, **options)
    mine.fit(x, y), peer.fit(x, y)
    assert_same_predictions(mine, peer, rows)
    assert_same_attributes(mine, peer)
    if options["solver"] != "lsqr":
        known = peer.transform(rows)
        assert_allclose(signed(mine.transform(rows), known), known, rtol=1e-5, atol=1e-6 * np.abs(known).max())
        assert_array_equal(
            mine.get_feature_names_out(), [f"lineardiscriminantanalysis{i}" for i in range(known.shape[1])]
        )


@every_data
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_given_priors_weigh_like_scikit_learns(name, solver):
    x, y, rows = data(name)
    priors = np.arange(1.0, 1 + len(np.unique(y)))
    priors /= priors.sum()
    mine, peer = pair(LDA, solver=solver, priors=priors, store_covariance=True)
    assert_same_predictions(mine.fit(x, y), peer.fit(x, y), rows)
    assert_same_attributes(mine, peer)
    mine, peer = pair(LDA, solver=solver, priors=list(priors))
    assert_same_predictions(mine.fit(x, y), peer.fit(x, y), rows)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("components", [1, 2, 3])
def test_so_many_directions_are_given_as_are_asked_for(solver, components):
    x, y, rows = data("random")
    mine, peer = pair(LDA, solver=solver, n_components=components)
    known = peer.fit(x, y).transform(rows)
    found = mine.fit(x, y).transform(rows)
    assert found.shape == known.shape == (len(rows), components)
    assert_allclose(signed(found, known), known, rtol=1e-6, atol=1e-6)
    assert_allclose(mine.fit_transform(x, y), mine.transform(x))
    assert_same_attributes(mine, peer)
    assert_array_equal(mine.get_feature_names_out(), peer.get_feature_names_out())


QUADRATIC = [
    {},
    {"store_covariance": True},
    {"reg_param": 0.1},
    {"reg_param": 1.0, "store_covariance": True},
    {"tol": 0.0},
    *({"solver": "eigen", "shrinkage": a, "store_covariance": True} for a in (None, "auto", 0.0, 0.3, 1.0)),
    *({"solver": "eigen", "covariance_estimator": e} for e in (LedoitWolf(), OAS(), EmpiricalCovariance())),
    {"solver": "eigen", "reg_param": 0.3},
]


@every_data
@pytest.mark.parametrize("options", QUADRATIC, ids=str)
def test_quadratic_answers_are_scikit_learns(name, options):
    x, y, rows = data(name)
    options = {"tol": 1e-12, **options}
    if name == "digits":  # pixels vary in all classes only where there is noise
        rng = np.random.default_rng(1)
        x, rows = x + rng.normal(size=x.shape), rows + rng.normal(size=x.shape)
    mine, peer = pair(QDA, **options)
    mine.fit(x, y), peer.fit(x, y)
    assert_same_predictions(mine, peer, rows)
    assert attributes(mine) == attributes(peer)
    assert_allclose(mine.means_, peer.means_, rtol=1e-9, atol=1e-11)
    assert_allclose(mine.priors_, peer.priors_, rtol=1e-14)
    for c in range(len(peer.classes_)):
        largest = peer.scalings_[c].max()
        assert_allclose(mine.scalings_[c], peer.scalings_[c], rtol=1e-6, atol=1e-11 * largest)
        turned = mine.rotations_[c] * mine.scalings_[c] @ mine.rotations_[c].T
        assert_allclose(turned, peer.rotations_[c] * peer.scalings_[c] @ peer.rotations_[c].T, atol=1e-9 * largest)
        if name in ("iris", "two", "wine") and options.get("shrinkage") != 1.0 and options.get("reg_param") != 1.0:
            known = peer.rotations_[c]
            assert_allclose(signed(mine.rotations_[c], known), known, atol=1e-5)
        if options.get("store_covariance"):
            assert_allclose(mine.covariance_[c], peer.covariance_[c], rtol=1e-8, atol=1e-10 * largest)
    assert isinstance(mine.scalings_, list)
    assert isinstance(mine.rotations_, list)
    assert mine.rotations_[0].shape == peer.rotations_[0].shape


@every_data
def test_quadratic_answers_with_given_priors_are_scikit_learns(name):
    x, y, rows = data(name)
    priors = np.arange(1.0, 1 + len(np.unique(y)))
    mine, peer = pair(QDA, priors=priors / priors.sum(), reg_param=0.1)
    assert_same_predictions(mine.fit(x, y), peer.fit(x, y), rows)
    assert_allclose(mine.priors_, peer.priors_)


@pytest.mark.parametrize("name", [LDA, QDA])
def test_parameters_and_defaults_are_scikit_learns(name):
    mine, peer = pair(name)
    assert mine.get_params() == peer.get_params()
    assert repr(mine) == repr(peer)
    assert list(mine.get_params()) == list(peer.get_params())
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "score"):
        assert hasattr(mine, method)


@pytest.mark.parametrize(
    ("name", "options"),
    [(LDA, {}), (LDA, {"solver": "lsqr"}), (LDA, {"solver": "eigen", "shrinkage": 0.1}), (QDA, {"reg_param": 0.01})],
    ids=str,
)
def test_float32_rows_give_float32_answers(name, options):
    x, y, rows = data("wine")
    mine, peer = pair(name, **options)
    x, rows = x.astype(np.float32), rows.astype(np.float32)
    mine.fit(x, y)
    peer.fit(x.astype(float), y)
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        assert getattr(mine, method)(rows).dtype == np.float32
        assert getattr(mine, method)(rows.astype(float)).dtype == np.float64
    assert mine.means_.dtype == np.float32
    assert_allclose(mine.predict_proba(rows), peer.predict_proba(rows), atol=1e-4)
    if name == LDA:
        assert mine.coef_.dtype == mine.intercept_.dtype == np.float32
        if options.get("solver") != "lsqr":
            assert mine.transform(rows).dtype == np.float32


def test_pandas_go_in_and_come_out():
    pd = pytest.importorskip("pandas")
    iris = load_iris()
    frame = pd.DataFrame(iris.data, columns=iris.feature_names)
    labels = pd.Series(iris.target_names[iris.target])
    mine, peer = pair(LDA, n_components=2)
    mine.set_output(transform="pandas"), peer.set_output(transform="pandas")
    known, found = peer.fit(frame, labels).transform(frame), mine.fit(frame, labels).transform(frame)
    assert list(found.columns) == list(known.columns)
    assert_allclose(signed(found.to_numpy(), known.to_numpy()), known.to_numpy(), atol=1e-8)
    assert_array_equal(mine.feature_names_in_, iris.feature_names)
    with pytest.raises(ValueError, match="feature names"):
        mine.predict(frame.rename(columns={"sepal length (cm)": "other"}))


def test_one_class_is_scikit_learns():
    x = np.random.default_rng(0).normal(size=(8, 3))
    mine, peer = pair(LDA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(x, np.zeros(8, int))
        mine.fit(x, np.zeros(8, int))
    assert_array_equal(mine.predict(x), np.zeros(8))
    assert_allclose(mine.predict_proba(x), np.ones((8, 1)))
    assert mine.explained_variance_ratio_.shape == peer.explained_variance_ratio_.shape


@pytest.mark.parametrize("solver", ["svd", "lsqr"])
def test_collinear_and_constant_columns_are_scikit_learns(solver):
    x, y, rows = data("iris")
    for widen in (
        lambda t: np.column_stack([t, t[:, 1]]),
        lambda t: np.column_stack([t, np.full(len(t), 3.0)]),
        lambda t: np.column_stack([t, t @ [1.0, -2.0, 0.5, 3.0], t[:, 0]]),
    ):
        mine, peer = pair(LDA, solver=solver)
        assert_same_predictions(mine.fit(widen(x), y), peer.fit(widen(x), y), widen(rows), 1e-6)
        if solver == "svd":
            assert mine.scalings_.shape == peer.scalings_.shape
            known = peer.transform(widen(rows))
            assert_allclose(signed(mine.transform(widen(rows)), known), known, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("solver", ["svd", "lsqr"])
def test_a_column_constant_within_classes_is_scikit_learns(solver):
    x, y, rows = data("iris")
    mine, peer = pair(LDA, solver=solver)
    for told in (np.zeros(3), np.array([0.0, 1.0, 1.0])):
        widened = np.column_stack([x, 5.0 + told[y]])
        mine.fit(widened, y), peer.fit(widened, y)
        asked = np.column_stack([rows, 5.0 + told[y[::-1]]])
        assert_allclose(mine.coef_, peer.coef_, rtol=1e-6, atol=1e-6)
        assert_allclose(mine.decision_function(asked), asked @ mine.coef_.T + mine.intercept_, rtol=1e-8)
        assert_same_predictions(mine, peer, asked, 1e-6)


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match="The number of samples must be more than the number of classes"):
        ours.LinearDiscriminantAnalysis().fit(X[:1], Y[:1])


def test_fewer_rows_than_columns_are_scikit_learns():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(18, 40)), np.arange(18) % 3
    x += y[:, None]
    rows = rng.normal(size=(10, 40)) + 1
    mine, peer = pair(LDA)
    assert_same_predictions(mine.fit(x, y), peer.fit(x, y), rows, 1e-6)
    known = peer.transform(rows)
    assert_allclose(signed(mine.transform(rows), known), known, rtol=1e-5, atol=1e-6)
    for options in ({"solver": "lsqr", "shrinkage": "auto"}, {"solver": "eigen", "shrinkage": 0.5}):
        mine, peer = pair(LDA, **options)
        assert_same_predictions(mine.fit(x, y), peer.fit(x, y), rows, 1e-6)
    mine, peer = pair(QDA, solver="eigen", shrinkage=0.5)
    assert_same_predictions(mine.fit(x, y), peer.fit(x, y), rows, 1e-6)


def test_means_that_do_not_differ_in_some_direction_leave_it_out():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(90, 4)), np.arange(90) % 3
    for c in range(3):
        x[y == c] -= x[y == c].mean(axis=0)
    x[:, 0] += y  # the means lie on a line
    mine, peer = pair(LDA)
    mine.fit(x, y), peer.fit(x, y)
    assert mine.scalings_.shape == peer.scalings_.shape == (4, 1)
    assert_same_predictions(mine, peer, x)
    assert_allclose(signed(mine.transform(x), peer.transform(x)), peer.transform(x), atol=1e-8)


# ---------------------------------------------------------------------------------- errors and warnings


class _NoCovariance(LedoitWolf):
    def fit(self, X, y=None):  # noqa: ARG002
        return self


X, Y = np.random.default_rng(5).normal(size=(12, 3)), np.repeat(["a", "b", "c"], 4)
COLLINEAR = X[:, [0, 1, 1]]
ERRORS = [
    (LDA, {"shrinkage": 0.5}, X, Y),
    (LDA, {"shrinkage": "auto"}, X, Y),
    (LDA, {"covariance_estimator": OAS()}, X, Y),
    (LDA, {"solver": "lsqr", "shrinkage": 0.5, "covariance_estimator": OAS()}, X, Y),
    (LDA, {"solver": "eigen", "shrinkage": "auto", "covariance_estimator": OAS()}, X, Y),
    (LDA, {"solver": "lsqr", "covariance_estimator": _NoCovariance()}, X, Y),
    (LDA, {"solver": "best"}, X, Y),
    (LDA, {"solver": "lsqr", "shrinkage": "some"}, X, Y),
    (LDA, {"solver": "lsqr", "shrinkage": 1.5}, X, Y),
    (LDA, {"solver": "lsqr", "shrinkage": -0.1}, X, Y),
    (LDA, {"n_components": 0}, X, Y),
    (LDA, {"n_components": 3}, X, Y),
    (LDA, {"n_components": 1.5}, X, Y),
    (LDA, {"tol": -1.0}, X, Y),
    (LDA, {"store_covariance": "yes"}, X, Y),
    (LDA, {"covariance_estimator": "OAS"}, X, Y),
    (LDA, {"priors": [0.5, 0.6, -0.1]}, X, Y),
    (LDA, {"priors": "mine"}, X, Y),
    (LDA, {"solver": "eigen"}, X * [1.0, 1.0, 0.0], Y),
    (LDA, {}, X[::4], Y[::4]),
    (LDA, {}, X, Y[:5]),
    (LDA, {}, X, np.linspace(0, 1, 12)),
    (QDA, {"shrinkage": 0.5}, X, Y),
    (QDA, {"covariance_estimator": OAS()}, X, Y),
    (QDA, {"solver": "eigen", "shrinkage": 0.5, "covariance_estimator": OAS()}, X, Y),
    (QDA, {"solver": "eigen", "covariance_estimator": _NoCovariance()}, X, Y),
    (QDA, {"solver": "lsqr"}, X, Y),
    (QDA, {"reg_param": -0.1}, X, Y),
    (QDA, {"reg_param": 1.5}, X, Y),
    (QDA, {"tol": -1.0}, X, Y),
    (QDA, {}, X, np.repeat("a", 12)),
    (QDA, {}, X[:9], Y[:9]),
    (QDA, {}, COLLINEAR, Y),
    (QDA, {"solver": "eigen"}, COLLINEAR, Y),
    (QDA, {}, X[[0, 1, 2, 4, 5, 6]], Y[[0, 1, 2, 4, 5, 6]]),
    (QDA, {"solver": "eigen"}, X[[0, 1, 2, 4, 5, 6]], Y[[0, 1, 2, 4, 5, 6]]),
    (QDA, {"tol": 100.0}, X, Y),
]


def in_order(said):
    """A message with the sets in it sorted: scikit-learn prints them as this process hashes them."""
    return re.sub(r"\{(.*?)\}", lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}", said)


@pytest.mark.parametrize(
    ("name", "options", "x", "y"), ERRORS, ids=[f"{i}-{e[0][0]}-{e[1]}" for i, e in enumerate(ERRORS)]
)
def test_what_scikit_learn_refuses_is_refused_in_its_words_and_nothing_is_lost(name, options, x, y):
    mine, peer = pair(name, **options)
    with pytest.raises(Exception) as theirs_is:  # noqa: PT011  # whatever it is
        peer.fit(x, y)
    said = in_order(str(theirs_is.value))
    before = dict(vars(mine))
    kind = ValueError if "parameter of" in said else theirs_is.type  # what scikit-learn raises there is private to it
    with pytest.raises(kind) as ours_is:
        mine.fit(x, y)
    assert vars(mine) == before
    if theirs_is.type is not np.linalg.LinAlgError or name == QDA:
        first = re.split(r"\. |: |$", said)[0].rstrip(".")
        assert first in in_order(str(ours_is.value))
    good = getattr(ours, name)(**({"reg_param": 0.1} if name == QDA else {})).fit(X, Y)
    answers, attributes_ = good.predict_proba(X), dict(vars(good))
    good.set_params(**options)
    if (x is not X or y is not Y) and not options:
        with pytest.raises(theirs_is.type):
            good.set_params(reg_param=0.0).fit(x, y) if name == QDA else good.fit(x, y)
        assert vars(good).keys() == attributes_.keys()
        assert_array_equal(good.predict_proba(X), answers)


def test_priors_that_do_not_sum_to_one_are_renormalised_with_a_warning():
    mine, peer = pair(LDA, priors=[0.5, 0.5, 0.5])
    for estimator in (mine, peer):
        with pytest.warns(UserWarning, match="The priors do not sum to 1. Renormalizing"):
            estimator.fit(X, Y)
    assert_allclose(mine.priors_, peer.priors_)
    assert_same_predictions(mine, peer, X)


def test_least_squares_have_no_directions():
    mine, peer = pair(LDA, solver="lsqr")
    for estimator in (mine.fit(X, Y), peer.fit(X, Y)):
        with pytest.raises(NotImplementedError, match="transform not implemented for 'lsqr' solver"):
            estimator.transform(X)
    assert not hasattr(mine, "scalings_")
    assert not hasattr(mine, "xbar_")


@pytest.mark.parametrize("name", [LDA, QDA])
def test_nothing_is_there_before_fitting(name):
    mine, peer = pair(name, store_covariance=True)
    assert not attributes(mine)
    assert not attributes(peer)


def test_priors_for_another_number_of_classes_are_refused():
    for name in (LDA, QDA):
        with pytest.raises(ValueError, match="Number of priors must match number of classes"):
            getattr(ours, name)(priors=[0.5, 0.5]).fit(X, Y)


def test_a_singular_class_is_named():
    with pytest.raises(SingularCovarianceError, match=r"class a is not full rank.*reg_param"):
        ours.QuadraticDiscriminantAnalysis().fit(np.vstack([COLLINEAR, COLLINEAR + 1]), np.repeat(["a", "b"], 12))


# ------------------------------------------------------------------------------- what scikit-learn's lack

MODELS = [
    (LDA, {}),
    (LDA, {"solver": "lsqr"}),
    (LDA, {"solver": "eigen"}),
    (LDA, {"solver": "lsqr", "shrinkage": 0.3}),
    (LDA, {"solver": "eigen", "shrinkage": "auto"}),
    (LDA, {"solver": "lsqr", "covariance_estimator": OAS()}),
    (LDA, {"solver": "eigen", "priors": [0.2, 0.3, 0.5]}),
    (LDA, {"priors": [0.2, 0.3, 0.5]}),
    (QDA, {}),
    (QDA, {"reg_param": 0.2}),
    (QDA, {"solver": "eigen", "shrinkage": 0.3}),
    (QDA, {"solver": "eigen", "shrinkage": "auto"}),
    (QDA, {"solver": "eigen", "covariance_estimator": EmpiricalCovariance()}),
    (QDA, {"priors": [0.2, 0.3, 0.5]}),
]
every_model = pytest.mark.parametrize(("name", "options"), MODELS, ids=str)


def rows_of_three_classes(seed=0, n=60, d=3):
    rng = np.random.default_rng(seed)
    y = rng.choice(np.array(["x", "a", "m"]), n)
    codes = np.unique(y, return_inverse=True)[1]
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(0, 1.5, (3, d))[codes]
    return x, y


def assert_alike(a, b, x, tolerance=1e-8):
    assert_array_equal(a.classes_, b.classes_)
    assert_allclose(a.predict_log_proba(x), b.predict_log_proba(x), rtol=tolerance, atol=tolerance)
    assert_allclose(a.decision_function(x), b.decision_function(x), rtol=tolerance, atol=tolerance)
    assert_allclose(a.predict_joint_log_proba(x), b.predict_joint_log_proba(x), rtol=tolerance, atol=tolerance)
    if hasattr(a, "transform") and a.solver != "lsqr":
        assert_allclose(signed(a.transform(x), b.transform(x)), b.transform(x), atol=1e-6)


@every_model
def test_a_whole_weight_is_that_many_rows(name, options):
    x, y = rows_of_three_classes(1)
    weight = np.arange(60) % 4
    mine = getattr(ours, name)(**options).fit(x, y, sample_weight=weight)
    again = getattr(ours, name)(**options).fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    peer = peer_of(name, **options).fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    assert_alike(mine, again, x)
    assert_same_predictions(mine, peer, x)
    assert_same_attributes(mine, peer) if name == LDA else None
    assert_allclose(mine.class_count_, [weight[y == label].sum() for label in ("a", "m", "x")])


@every_model
def test_any_cutting_of_the_data_gives_what_fitting_the_whole_gives(name, options):
    x, y = rows_of_three_classes(2)
    order = np.argsort(y, kind="stable")[::-1]  # classes come one after another
    whole = getattr(ours, name)(**options).fit(x, y)
    clf = getattr(ours, name)(**{k: v for k, v in options.items() if k != "priors"})
    if "priors" in options:
        clf = getattr(ours, name)(**options)
        for part in np.array_split(order, 5):
            clf.partial_fit(x[part], y[part], classes=np.unique(y))
    else:
        for part in np.array_split(order, 7):
            clf.partial_fit(x[part], y[part])
    assert_alike(clf, whole, x)
    if "priors" in options:
        return
    half = [getattr(ours, name)(**options).partial_fit(x[s], y[s]) for s in (slice(0, 25), slice(25, None))]
    assert_alike(half[0] + half[1], whole, x)
    assert_alike(sum(half), whole, x)
    assert_alike(whole.partial_fit(x[:10] + 1, y[:10]).forget(x[:10] + 1, y[:10]), clf, x, 1e-7)


@every_model
def test_forgetting_and_dropping_equal_fitting_the_rest(name, options):
    x, y = rows_of_three_classes(3)
    clf = getattr(ours, name)(**options).fit(x, y)
    clf.forget(x[:15], y[:15])
    assert_alike(clf, getattr(ours, name)(**options).fit(x[15:], y[15:]), x, 1e-7)
    if "priors" in options:
        with pytest.raises(ValueError, match="Number of priors"):
            clf.drop_class("m")
        assert_array_equal(clf.classes_, ["a", "m", "x"])
        return
    clf.drop_class("m")
    left = y[15:] != "m"
    assert_alike(clf, getattr(ours, name)(**options).fit(x[15:][left], y[15:][left]), x, 1e-7)
    with pytest.raises(NotPartError):
        clf.forget(x[:1] + 1e6, ["a"])
    with pytest.raises(NotPartError):
        clf.drop_class("m")


def test_models_of_other_options_or_columns_do_not_merge():
    x, y = rows_of_three_classes(4)
    one = ours.LinearDiscriminantAnalysis().fit(x, y)
    with pytest.raises(MismatchError, match="solver"):
        one + ours.LinearDiscriminantAnalysis(solver="lsqr").fit(x, y)
    with pytest.raises(MismatchError, match="columns"):
        one + ours.LinearDiscriminantAnalysis().fit(x[:, :2], y)
    with pytest.raises(TypeError):
        one + ours.QuadraticDiscriminantAnalysis().fit(x, y)


@every_model
def test_leaving_one_out_equals_scikit_learn_refitted_without_each_row(name, options):
    x, y = rows_of_three_classes(5, n=36)
    found = getattr(ours, name)(**options).fit(x, y).leave_one_out(x, y)
    peer = peer_of(name, **options)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        expected = peer.fit(x[rest], y[rest]).predict_log_proba(x[i : i + 1])[0]
        assert_allclose(found[i], expected, rtol=1e-5, atol=1e-7)


@every_model
def test_leaving_one_out_of_weighted_rows_with_gaps_equals_fitting_the_rest(name, options):
    x, y = rows_of_three_classes(6, n=36)
    weight = np.where(np.arange(36) % 5, 1.0, 2.0)
    weight[7] = 0.0
    x[3, 1] = x[11, 0] = x[12, :2] = x[20] = np.nan
    found = getattr(ours, name)(**options).fit(x, y, weight).leave_one_out(x, y, weight)
    for i in range(0, len(y), 3):
        rest = np.arange(len(y)) != i
        again = getattr(ours, name)(**options).fit(x[rest], y[rest], weight[rest])
        assert_allclose(found[i], again.predict_log_proba(x[i : i + 1])[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"solver": "lsqr"}], ids=str)
def test_leaving_one_out_of_collinear_columns_equals_fitting_the_rest(options):
    x, y = rows_of_three_classes(7, n=30, d=2)
    x = np.column_stack([x, x[:, 0] - x[:, 1]])
    mine, peer = pair(LDA, **options)
    found = mine.fit(x, y).leave_one_out(x, y)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        expected = peer.fit(x[rest], y[rest]).predict_log_proba(x[i : i + 1])[0]
        assert_allclose(found[i], expected, rtol=1e-4, atol=1e-5)


def test_leaving_out_the_only_row_of_a_class_leaves_the_others():
    x, y = rows_of_three_classes(8, n=30)
    x, y = np.vstack([x, [[5.0, 5, 5]]]), np.append(y, "z")
    for options in ({}, {"solver": "eigen", "shrinkage": 0.1}):
        found = ours.LinearDiscriminantAnalysis(**options).fit(x, y).leave_one_out(x, y)
        expected = peer_of(LDA, **options).fit(x[:-1], y[:-1]).predict_log_proba(x[-1:])[0]
        assert found[-1, -1] == -np.inf
        assert_allclose(np.maximum(found[-1, :-1], -700), np.maximum(expected, -700), rtol=1e-5, atol=1e-7)
        assert not np.isnan(found).any()


@every_model
def test_gaps_are_learned_from_and_integrated_out(name, options):
    x, y = rows_of_three_classes(9, n=90)
    gaps = x.copy()
    gaps[np.random.default_rng(0).random(x.shape) < 0.15] = np.nan
    clf = getattr(ours, name)(**options).fit(gaps, y)
    proba = clf.predict_proba(gaps)
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_allclose(clf.predict_proba(np.full((1, 3), np.nan)), clf.priors_[None], rtol=1e-12)
    assert clf.score(gaps, y) > 0.5
    scores = clf.decision_function(gaps)
    assert_allclose(scores - scores[:, :1], np.log(proba) - np.log(proba[:, :1]), rtol=1e-7, atol=1e-7)
    # One column seen: the marginal under the whole model, by the density of each class alone.
    model = sf.Model.fit(gaps, y, sf.MultivariateGaussian(prior=None))
    if name == QDA and not options:
        assert_allclose(proba, model.posterior(gaps), rtol=1e-8, atol=1e-10)
    whole = np.isfinite(gaps).all(axis=1)
    assert np.array_equal(clf.predict(gaps), clf.classes_[proba.argmax(axis=1)])
    if hasattr(clf, "coef_"):
        linear = x[whole] @ clf.coef_.T + clf.intercept_
        assert_allclose(clf.decision_function(x[whole]), linear, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_rows_with_gaps_are_filled_before_they_are_projected(solver):
    x, y = rows_of_three_classes(10)
    clf = ours.LinearDiscriminantAnalysis(solver=solver).fit(x, y)
    rows = x[:8].copy()
    rows[0, 1] = rows[3, :2] = rows[5] = np.nan
    filled = clf.impute(rows)
    seen = ~np.isnan(rows)
    assert_array_equal(filled[seen], rows[seen])
    assert_allclose(clf.transform(rows), clf.transform(filled), rtol=1e-10, atol=1e-12)
    # By hand: E[x_m | x_o] of each class, weighed by p(y | x_o).
    own = np.vstack([x[y == label] - x[y == label].mean(axis=0) for label in clf.classes_])
    sigma = own.T @ own / len(x)
    slope = sigma[1, [0, 2]] @ np.linalg.inv(sigma[np.ix_([0, 2], [0, 2])])
    each = clf.means_[:, 1] + (rows[0, [0, 2]] - clf.means_[:, [0, 2]]) @ slope
    assert filled[0, 1] == pytest.approx(clf.predict_proba(rows[:1])[0] @ each, rel=1e-9)
    assert_allclose(filled[5], clf.priors_ @ clf.means_, rtol=1e-9)


def test_labels_of_any_kind_and_order():
    x, y = rows_of_three_classes(11)
    plain = ours.LinearDiscriminantAnalysis().fit(x, y)
    codes = np.array([30, -2, 7])[np.unique(y, return_inverse=True)[1]]
    other = ours.LinearDiscriminantAnalysis().fit(x, codes)
    assert_array_equal(other.classes_, [-2, 7, 30])
    assert_allclose(other.predict_proba(x)[:, [2, 0, 1]], plain.predict_proba(x), rtol=1e-9)
    for labels in (y.astype(object), list(y), codes == 7):
        mine, peer = pair(QDA)
        assert_same_predictions(mine.fit(x, labels), peer.fit(x, labels), x)


def test_drawn_rows_are_of_the_model():
    x, y = rows_of_three_classes(12)
    for clf in (ours.LinearDiscriminantAnalysis().fit(x, y), ours.QuadraticDiscriminantAnalysis().fit(x, y)):
        drawn, labels = clf.sample(40_000, random_state=0)
        again = type(clf)().fit(drawn, labels)
        assert_allclose(again.priors_, clf.priors_, atol=0.01)
        assert_allclose(again.means_, clf.means_, atol=0.1)
        assert clf.sample(3, label="m", random_state=1)[1].tolist() == ["m"] * 3


def test_the_linear_form_is_the_coefficients_and_quadratic_has_none():
    x, y = rows_of_three_classes(13)
    clf = ours.LinearDiscriminantAnalysis().fit(x, y)
    assert_allclose(clf.linear_form().coef, clf.coef_)
    with pytest.raises(NoLinearFormError, match="quadratic"):
        ours.QuadraticDiscriminantAnalysis().fit(x, y).linear_form()


@pytest.mark.parametrize("name", [LDA, QDA])
def test_estimators_are_cloned_pickled_searched_and_piped(name):
    x, y, rows = data("iris")
    options = {"solver": "eigen", "shrinkage": 0.2}
    clf = getattr(ours, name)(**options).fit(x, y)
    assert clone(clf).get_params() == clf.get_params()
    assert not hasattr(clone(clf), "classes_")
    loaded = pickle.loads(pickle.dumps(clf))
    assert_array_equal(loaded.predict_log_proba(rows), clf.predict_log_proba(rows))
    mine, peer = pair(name, **options)
    grid = {"shrinkage": [0.0, 0.1, 0.5, "auto"]}
    searches = [GridSearchCV(e, grid, cv=3).fit(x, y) for e in (mine, peer)]
    assert searches[0].best_params_ == searches[1].best_params_
    assert_allclose(searches[0].cv_results_["mean_test_score"], searches[1].cv_results_["mean_test_score"])
    pipes = [make_pipeline(StandardScaler(), e) for e in (mine, peer)]
    assert_allclose(cross_val_score(pipes[0], x, y), cross_val_score(pipes[1], x, y))
    if name == LDA:
        pipes = [
            make_pipeline(lda(n_components=2), GaussianNB())
            for lda in (ours.LinearDiscriminantAnalysis, theirs.LinearDiscriminantAnalysis)
        ]
        assert_allclose(*(p.fit(x, y).predict_proba(rows) for p in pipes), atol=1e-8)


class SquaredDeviations:
    """Estimates a covariance, and can do nothing else: it has no parameters to be cloned by."""

    def fit(self, X):
        self.covariance_ = np.cov(X.T, bias=True) + 0.1 * np.eye(X.shape[1])


@pytest.mark.parametrize(("name", "solver"), [(LDA, "lsqr"), (LDA, "eigen"), (QDA, "eigen")])
def test_a_covariance_estimator_needs_no_more_than_fit_and_covariance(name, solver):
    x, y, rows = data("iris")
    options = {"solver": solver, "covariance_estimator": SquaredDeviations()}
    mine = getattr(ours, name)(**options).fit(x, y)
    assert not hasattr(options["covariance_estimator"], "covariance_"), "it is used as it is, for every class anew"
    each = [np.cov(x[y == c].T, bias=True) + 0.1 * np.eye(4) for c in range(3)]
    if name == LDA:
        assert_allclose(mine.covariance_, np.mean(each, axis=0), rtol=1e-10)
    else:
        assert_allclose(mine.set_params(store_covariance=True).covariance_, each, rtol=1e-10)
    _, peer = pair(name, **options)
    assert_same_predictions(mine, peer.fit(x, y), rows)


def test_a_failed_piece_leaves_the_estimator_unchanged():
    x, y = rows_of_three_classes(14)
    for clf in (ours.LinearDiscriminantAnalysis(), ours.QuadraticDiscriminantAnalysis()):
        clf.fit(x, y)
        before, answers = dict(vars(clf)), clf.predict_proba(x)
        bad = x.copy()
        bad[4, 1] = np.inf
        for attempt in (clf.fit, clf.partial_fit, clf.forget):
            with pytest.raises(InvalidDataError, match="Found inf in row 4, column 1"):
                attempt(bad, y)
        with pytest.raises(ValueError, match="features"):
            clf.partial_fit(x[:, :2], y)
        assert vars(clf) == before
        assert_array_equal(clf.predict_proba(x), answers)


def test_partial_fit_with_declared_classes_answers_before_their_rows_come():
    x, y = rows_of_three_classes(15)
    clf = ours.LinearDiscriminantAnalysis().partial_fit(x[y != "m"], y[y != "m"], classes=["a", "m", "x"])
    proba = clf.predict_proba(x)
    assert np.isfinite(proba).all()
    assert_allclose(proba[:, 1], 0.0, atol=1e-12)
    clf.partial_fit(x[y == "m"], y[y == "m"])
    assert_alike(clf, ours.LinearDiscriminantAnalysis().fit(x, y), x)


def test_the_answers_far_from_zero_are_those_near_it():
    x, y = rows_of_three_classes(16)
    x = np.round(x * 2**16) / 2**16
    far = 2.0**27
    for name, options in (
        (LDA, {}),
        (LDA, {"solver": "eigen", "shrinkage": 0.2}),
        (QDA, {}),
        (QDA, {"reg_param": 0.1}),
    ):
        near = getattr(ours, name)(**options).fit(x, y)
        away = getattr(ours, name)(**options).fit(x + far, y)
        assert_allclose(away.predict_proba(x + far), near.predict_proba(x), atol=1e-5, err_msg=f"{name} {options}")


def test_an_option_that_needs_estimating_again_is_refused_by_its_name():
    with pytest.raises(InvalidOptionError, match="n_components cannot be larger"):
        ours.LinearDiscriminantAnalysis(n_components=2).fit(X[:8], Y[:8])


def test_shrinkage_is_estimated_where_a_column_does_not_vary_and_has_missing_values():
    rows = np.array([[0.0, 0.0], [0.0, 0.0], [np.nan, 0.0]])
    clf = ours.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").partial_fit(rows, list("aaa"))
    assert_allclose(clf.predict_proba(rows), 1.0)


def test_a_column_that_varies_by_rounding_alone_counts_as_constant():
    rows = np.array([[0.0, 1e6], [2.0, 1e6], [5.0, 1e6], [6.0, 1e6]])
    family = LinearDiscriminant(prior=None, tied=True)
    exact = family.summarize(rows, list("aabb")).statistic
    mean, cross = exact.mean.copy(), exact.cross.copy()
    mean[1, 1] = np.nextafter(1e6, 2e6)
    cross[:, 1, 1] = 1e-25
    found, expected = (
        family.estimate(each).relative_log_density(rows) for each in (replace(exact, mean=mean, cross=cross), exact)
    )
    assert_allclose(found[:, 1] - found[:, 0], expected[:, 1] - expected[:, 0], rtol=1e-9)


def test_an_estimator_of_covariances_takes_complete_rows_only():
    x = X.copy()
    x[::7, 0] = np.nan
    whole = ~np.isnan(x).any(axis=1)
    options = {"solver": "lsqr", "covariance_estimator": LedoitWolf()}
    with_gaps = ours.LinearDiscriminantAnalysis(**options).fit(x, Y)
    complete = ours.LinearDiscriminantAnalysis(**options).fit(x[whole], Y[whole])
    assert_allclose(with_gaps.covariance_, complete.covariance_, rtol=1e-12)
    assert_allclose(with_gaps.means_, complete.means_, rtol=1e-12)
