"""The estimators beside scikit-learn's, in the same run, on probabilities and not only on labels."""

import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
import sklearn
import sklearn.naive_bayes as theirs
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice.naive_bayes as ours
from suffice import MismatchError, NoDistributionError, NoLinearFormError, NotPartError

SCIKIT_LEARN = tuple(map(int, sklearn.__version__.split(".")[:2]))
SHARED = ["GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"]
ALL = [*SHARED, "PoissonNB"]
COUNTS = ["BernoulliNB", "MultinomialNB", "ComplementNB", "PoissonNB"]


def problem(name, seed=0, n=200, columns=6, classes=3):
    """Rows that suit an estimator, with labels that are neither sorted nor 0..K−1."""
    rng = np.random.default_rng(seed)
    y = rng.choice(np.array([7, -2, 30, 4, 5, 6, 11, 12])[:classes], n)
    if name == "GaussianNB":
        scale = 10.0 ** rng.integers(-3, 4, columns)
        x = (rng.normal(size=(n, columns)) + 0.1 * y[:, None]) * scale
    elif name == "CategoricalNB":
        x = rng.integers(0, 5, (n, columns))
    else:
        x = rng.poisson(1.5, (n, columns)).astype(np.float64)
    return x, y, rng.integers(0, 4, n) * 0.5


def pair(name, **params):
    return getattr(ours, name)(**params), getattr(theirs, name)(**params)


def assert_same_answers(mine, peer, x, tolerance=1e-10):
    np.testing.assert_array_equal(mine.classes_, peer.classes_)
    np.testing.assert_allclose(mine.predict_proba(x), peer.predict_proba(x), rtol=0, atol=tolerance)
    np.testing.assert_allclose(mine.predict_log_proba(x), peer.predict_log_proba(x), rtol=tolerance, atol=tolerance)
    joint = peer.predict_joint_log_proba(x)
    np.testing.assert_allclose(mine.predict_joint_log_proba(x), joint, rtol=tolerance, atol=tolerance)
    best = np.sort(joint, axis=1)
    clear = np.ones(len(joint), bool) if joint.shape[1] == 1 else best[:, -1] - best[:, -2] > 1e-9  # not a tie
    np.testing.assert_array_equal(mine.predict(x)[clear], peer.predict(x)[clear])
    assert mine.predict_proba(x).dtype == peer.predict_proba(x).dtype


# ------------------------------------------------------------------------------------- like scikit-learn


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("seed", range(5))
def test_probabilities_equal_scikit_learns(name, seed):
    x, y, _ = problem(name, seed, classes=2 + seed)
    mine, peer = pair(name)
    assert_same_answers(mine.fit(x, y), peer.fit(x, y), x)


@pytest.mark.parametrize("name", SHARED)
def test_constructor_parameters_and_defaults_are_scikit_learns(name):
    mine, peer = pair(name)
    assert mine.get_params() == peer.get_params()
    assert repr(mine) == repr(peer)


@pytest.mark.parametrize("name", SHARED)
def test_fitted_attributes_are_scikit_learns(name):
    x, y, _ = problem(name)
    mine, peer = pair(name)
    mine.fit(x, y), peer.fit(x, y)
    for attribute, value in vars(peer).items():
        if not attribute.endswith("_"):
            continue
        own = getattr(mine, attribute)
        for a, b in zip(own, value, strict=True) if isinstance(value, list) else [(own, value)]:
            np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=attribute)
            assert np.asarray(a).dtype == np.asarray(b).dtype, attribute


@pytest.mark.parametrize("name", SHARED)
def test_weighted_probabilities_equal_scikit_learns(name):
    x, y, weight = problem(name)
    options = {}
    if name == "GaussianNB":
        options["var_smoothing"] = 0.0  # scikit-learn reckons it from the unweighted variance
    mine, peer = pair(name, **options)
    assert_same_answers(mine.fit(x, y, weight), peer.fit(x, y, weight), x)


def test_smoothing_of_weighted_variances_differs_from_scikit_learn_only_in_epsilon():
    x, y, weight = problem("GaussianNB")
    mine = ours.GaussianNB(var_smoothing=1e-3).fit(x, y, weight)
    assert mine.epsilon_ == pytest.approx(1e-3 * np.cov(x.T, aweights=weight, ddof=0).diagonal().max(), rel=1e-12)
    same_epsilon = mine.epsilon_ / x.var(axis=0).max()
    assert_same_answers(mine, theirs.GaussianNB(var_smoothing=same_epsilon).fit(x, y, weight), x)


@pytest.mark.parametrize("name", SHARED)
def test_learning_in_chunks_equals_scikit_learns_chunks(name):
    x, y, weight = problem(name)
    options = {"var_smoothing": 0.0} if name == "GaussianNB" else {}
    if name == "CategoricalNB":
        options["min_categories"] = 5
    mine, peer = pair(name, **options)
    for part in np.array_split(np.arange(len(y)), 7):
        mine.partial_fit(x[part], y[part], classes=np.unique(y), sample_weight=weight[part])
        peer.partial_fit(x[part], y[part], classes=np.unique(y), sample_weight=weight[part])
    assert_same_answers(mine, peer, x)


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "ComplementNB"])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_every_sparse_format_gives_the_answers_of_scikit_learn(name, kind, make):
    x, y, weight = problem(name, n=60)
    sparse = make(x).asformat(kind)
    mine, peer = pair(name)
    assert_same_answers(mine.fit(sparse, y, weight), peer.fit(sparse, y, weight), sparse)
    np.testing.assert_allclose(mine.predict_log_proba(sparse), mine.predict_log_proba(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SHARED)
def test_many_classes_give_the_answers_of_scikit_learn(name):
    x, _, _ = problem(name, n=600)
    y = np.random.default_rng(1).integers(0, 150, len(x))
    mine, peer = pair(name)
    assert_same_answers(mine.fit(x, y), peer.fit(x, y), x)
    if name in ("BernoulliNB", "MultinomialNB"):
        sparse = scipy.sparse.csr_matrix(x)
        assert_same_answers(mine.fit(sparse, y), peer.fit(sparse, y), sparse)


@pytest.mark.parametrize("name", SHARED)
def test_float32_stays_float32_where_it_does_in_scikit_learn(name):
    x, y, _ = problem(name)
    x = x.astype(np.float32)
    mine, peer = pair(name)
    mine.fit(x, y), peer.fit(x, y)
    for rows in (x, x.astype(np.float64)):
        if SCIKIT_LEARN < (1, 9):
            break  # whose answers are double where the parameters are
        for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
            assert getattr(mine, method)(rows).dtype == getattr(peer, method)(rows).dtype
    # Ours reckons in double precision: it agrees with scikit-learn on the same numbers held as doubles.
    peer = clone(peer).fit(x.astype(np.float64), y)
    np.testing.assert_allclose(mine.predict_proba(x.astype(np.float64)), peer.predict_proba(x), rtol=0, atol=1e-7)
    np.testing.assert_allclose(mine.fit(x.astype(np.float64), y).predict_proba(x), peer.predict_proba(x), atol=1e-10)


@pytest.mark.parametrize("name", SHARED[1:])
@pytest.mark.parametrize("options", [{"alpha": 0.3}, {"fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}])
def test_options_of_discrete_estimators_mean_what_they_mean_in_scikit_learn(name, options):
    x, y, _ = problem(name)
    mine, peer = pair(name, **options)
    assert_same_answers(mine.fit(x, y), peer.fit(x, y), x)
    np.testing.assert_allclose(mine.class_log_prior_, peer.class_log_prior_)


def test_other_options_mean_what_they_mean_in_scikit_learn():
    x, y, _ = problem("GaussianNB")
    for options in ({"priors": [0.2, 0.3, 0.5]}, {"var_smoothing": 1e-2}):
        mine, peer = pair("GaussianNB", **options)
        assert_same_answers(mine.fit(x, y), peer.fit(x, y), x)
    x, y, _ = problem("MultinomialNB")
    for name, options in [
        ("MultinomialNB", {"alpha": [0.1, 1, 2, 3, 4, 5]}),
        ("ComplementNB", {"norm": True}),
        ("BernoulliNB", {"binarize": 1.5}),
        ("CategoricalNB", {"min_categories": 9}),
        ("CategoricalNB", {"min_categories": [9, 9, 9, 9, 9, 10]}),
    ]:
        mine, peer = pair(name, **options)
        assert_same_answers(mine.fit(x, y), peer.fit(x, y), x)
    truths = (x > 1).astype(float)
    mine, peer = pair("BernoulliNB", binarize=None)
    assert_same_answers(mine.fit(truths, y), peer.fit(truths, y), truths)


@pytest.mark.parametrize("name", SHARED)
def test_one_class_gives_the_answers_of_scikit_learn(name):
    x, _, _ = problem(name)
    mine, peer = pair(name)
    assert_same_answers(mine.fit(x, np.ones(len(x))), peer.fit(x, np.ones(len(x))), x)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("GaussianNB", {"priors": [0.5, 0.5]}, "Number of priors must match number of classes."),
        ("GaussianNB", {"priors": [0.5, 0.5, 0.5]}, "The sum of the priors should be 1."),
        ("GaussianNB", {"priors": [-0.5, 0.5, 1.0]}, "Priors must be non-negative."),
        ("MultinomialNB", {"class_prior": [0.5, 0.5]}, "Number of priors must match number of classes."),
        ("MultinomialNB", {"alpha": [1.0, 2.0]}, "When alpha is an array"),
        ("MultinomialNB", {"alpha": [-1.0, 1, 1, 1, 1, 1]}, "All values in alpha must be greater than 0."),
        ("BernoulliNB", {"binarize": -1.0}, "The 'binarize' parameter of BernoulliNB must be"),
        ("CategoricalNB", {"min_categories": [1.5] * 6}, "'min_categories' should have integral type"),
        ("CategoricalNB", {"min_categories": [3, 4]}, "'min_categories' should have shape"),
        ("GaussianNB", {"var_smoothing": -1.0}, "The 'var_smoothing' parameter of GaussianNB must be"),
    ],
)
def test_bad_parameters_are_refused_in_scikit_learns_words(name, params, message):
    x, y, _ = problem(name)
    mine, peer = pair(name, **params)
    with pytest.raises(ValueError, match=re.escape(message)):
        mine.fit(x, y)
    if params != {"min_categories": [3, 4]}:  # of which NumPy complains before scikit-learn does
        with pytest.raises(ValueError, match=re.escape(message)):
            peer.fit(x, y)


def test_a_small_alpha_is_raised_with_scikit_learns_warning():
    x, y, _ = problem("MultinomialNB")
    mine, peer = pair("MultinomialNB", alpha=0.0, force_alpha=False)
    for estimator in (mine, peer):
        with pytest.warns(UserWarning, match="alpha too small will result in numeric errors"):
            estimator.fit(x, y)
    assert_same_answers(mine, peer, x)


@pytest.mark.parametrize("name", ALL)
def test_estimators_work_in_pipelines_searches_and_pickles(name):
    x, y, weight = problem(name)
    estimator = getattr(ours, name)()
    parameter = "var_smoothing" if name == "GaussianNB" else "alpha"
    search = GridSearchCV(estimator, {parameter: [1e-3, 1.0]}, cv=3).fit(x, y)
    assert search.best_score_ > 0
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict_proba(x), search.best_estimator_.predict_proba(x))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(getattr(ours, name)().set_fit_request(sample_weight=True))
        routed.fit(x, y, sample_weight=weight)
        np.testing.assert_array_equal(routed.predict(x), estimator.fit(x, y, weight).predict(x))


def test_array_api_dispatch_with_numpy_arrays_changes_nothing():
    if SCIKIT_LEARN < (1, 8):
        pytest.importorskip("array_api_compat", reason="later versions of scikit-learn bring it along")
    x, y, _ = problem("GaussianNB")
    plain = ours.GaussianNB().fit(x, y)
    with sklearn.config_context(array_api_dispatch=True):
        mine = ours.GaussianNB().fit(x, y)
        assert type(mine.predict_proba(x)) is np.ndarray
    np.testing.assert_array_equal(mine.predict_proba(x), plain.predict_proba(x))


def test_data_frames_keep_their_column_names():
    pd = pytest.importorskip("pandas")
    x, y, _ = problem("GaussianNB")
    frame = pd.DataFrame(x, columns=list("abcdef"))
    mine, peer = pair("GaussianNB")
    mine.fit(frame, y), peer.fit(frame, y)
    assert mine.feature_names_in_.tolist() == list("abcdef")
    assert_same_answers(mine, peer, frame)
    with pytest.raises(ValueError, match="feature names"):
        mine.predict(frame[list("bacdef")])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        mine.predict(x)


def test_iris_is_classified_as_scikit_learn_does():
    x, y = load_iris(return_X_y=True)
    mine, peer = pair("GaussianNB")
    scores = [cross_val_score(make_pipeline(StandardScaler(), e), x, y).mean() for e in (mine, peer)]
    assert scores[0] == scores[1] > 0.94


# ----------------------------------------------------------------------------------- better than scikit-learn


@pytest.mark.parametrize("name", ALL)
@given(cuts=st.lists(st.integers(0, 200), max_size=4))
def test_any_chunking_gives_what_fit_gives(name, cuts):
    x, y, weight = problem(name)
    options = {"var_smoothing": 0.1} if name == "GaussianNB" else {}
    whole = getattr(ours, name)(**options).fit(x, y, weight)
    chunked = getattr(ours, name)(**options)
    for part in np.split(np.arange(len(y)), sorted(cuts)):
        if weight[part].any():
            chunked.partial_fit(x[part], y[part], sample_weight=weight[part])
    np.testing.assert_array_equal(chunked.classes_, whole.classes_)
    np.testing.assert_allclose(chunked.predict_log_proba(x), whole.predict_log_proba(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_new_classes_may_arrive_at_any_time(name):
    x, y, _ = problem(name)
    order = np.argsort(y, kind="stable")
    x, y = x[order], y[order]
    first = y == y[0]
    grown = getattr(ours, name)().partial_fit(x[first], y[first]).partial_fit(x[~first], y[~first])
    whole = getattr(ours, name)().fit(x, y)
    np.testing.assert_array_equal(grown.classes_, whole.classes_)
    np.testing.assert_allclose(grown.predict_log_proba(x), whole.predict_log_proba(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_declared_classes_are_there_before_their_rows(name):
    x, y, _ = problem(name)
    some = y != 30
    model = getattr(ours, name)().partial_fit(x[some], y[some], classes=[-2, 7, 30])
    assert model.classes_.tolist() == [-2, 7, 30]
    assert model.class_count_[2] == 0
    if name != "ComplementNB":  # whose scores know no prior
        assert (model.predict_proba(x)[:, 2] == 0).all()
    with pytest.raises(ValueError, match="is not the same as on last call"):
        model.partial_fit(x, y, classes=[1, 2])
    model.partial_fit(x[~some], y[~some])
    whole = getattr(ours, name)().fit(x, y)
    np.testing.assert_allclose(model.predict_log_proba(x), whole.predict_log_proba(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_a_missing_entry_is_left_out_in_prediction(name):
    x, y, _ = problem(name)
    x = x.astype(np.float64)
    gappy = x.copy()
    gappy[:, 2] = np.nan
    rest = np.delete(x, 2, axis=1)
    model, smaller = getattr(ours, name)().fit(x, y), getattr(ours, name)()
    if name in ("MultinomialNB", "ComplementNB"):
        # The words that are left keep their probabilities, as the prior odds of the classes do.
        expected = rest @ np.delete(model.feature_log_prob_, 2, axis=1).T
        expected = expected + (0 if name == "ComplementNB" else model.class_log_prior_)
    elif name == "GaussianNB":
        smaller.set_params(var_smoothing=0.0), model.set_params(var_smoothing=0.0).fit(x, y)
        expected = smaller.fit(rest, y).predict_joint_log_proba(rest)
    else:
        expected = smaller.fit(rest, y).predict_joint_log_proba(rest)
    np.testing.assert_allclose(model.predict_joint_log_proba(gappy), expected, rtol=1e-10)
    if name in COUNTS:
        answer = model.predict_joint_log_proba(scipy.sparse.csr_matrix(gappy))
        np.testing.assert_allclose(answer, expected, rtol=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_a_missing_entry_is_left_out_in_training(name):
    x, y, weight = problem(name)
    x = x.astype(np.float64)
    rng = np.random.default_rng(5)
    gaps = rng.random(x.shape) < 0.3
    gappy = np.where(gaps, np.nan, x)
    options = {"var_smoothing": 0.0} if name == "GaussianNB" else {}
    if name == "CategoricalNB":
        options["min_categories"] = 5
    model = getattr(ours, name)(**options).fit(gappy, y, weight)
    alone = [getattr(ours, name)(**options).fit(x[~gaps[:, [j]].ravel()][:, [j]], y[~gaps[:, j]], weight[~gaps[:, j]])
             for j in range(x.shape[1])]  # fmt: skip
    if name == "GaussianNB":
        np.testing.assert_allclose(model.theta_, np.hstack([m.theta_ for m in alone]), rtol=1e-10)
        np.testing.assert_allclose(model.var_, np.hstack([m.var_ for m in alone]), rtol=1e-10)
    elif name == "CategoricalNB":
        for j, m in enumerate(alone):
            np.testing.assert_allclose(model.feature_log_prob_[j], m.feature_log_prob_[0], rtol=1e-10)
    elif name in ("BernoulliNB", "PoissonNB"):
        own = np.hstack([m.feature_log_prob_ for m in alone])
        np.testing.assert_allclose(model.feature_log_prob_, own, rtol=1e-10)
    else:
        own = np.hstack([m.feature_count_ for m in alone])
        np.testing.assert_allclose(model.feature_count_, own, rtol=1e-12)
    assert np.isfinite(model.predict_log_proba(gappy)).all()


def test_masked_entries_are_missing():
    x, y, _ = problem("GaussianNB")
    mask = np.random.default_rng(0).random(x.shape) < 0.2
    masked, gappy = np.ma.masked_array(x, mask), np.where(mask, np.nan, x)
    a, b = ours.GaussianNB().fit(masked, y), ours.GaussianNB().fit(gappy, y)
    np.testing.assert_array_equal(a.predict_proba(masked), b.predict_proba(gappy))
    codes = np.random.default_rng(1).integers(0, 3, x.shape)
    a = ours.CategoricalNB().fit(np.ma.masked_array(codes, mask), y)
    b = ours.CategoricalNB().fit(np.where(mask, np.nan, codes), y)
    np.testing.assert_array_equal(a.predict_proba(codes), b.predict_proba(codes))


def test_nulls_of_data_frames_are_missing():
    pd = pytest.importorskip("pandas")
    x, y, _ = problem("MultinomialNB")
    gappy = x.copy()
    gappy[::3, 1] = np.nan
    frame = pd.DataFrame(gappy, columns=list("abcdef")).astype("Int64")
    a, b = ours.MultinomialNB().fit(frame, y), ours.MultinomialNB().fit(gappy, y)
    np.testing.assert_array_equal(a.predict_proba(frame), b.predict_proba(gappy))


def test_string_categories_work_and_so_do_pandas_categoricals():
    pd = pytest.importorskip("pandas")
    codes, y, _ = problem("CategoricalNB")
    names = np.array(["red", "green", "blue", "amber", "violet"])
    order = np.argsort(names)
    coded = ours.CategoricalNB().fit(np.argsort(order)[codes], y)
    strings = names[codes].astype(object)
    for table in (
        strings,
        names[codes],
        strings.tolist(),
        pd.DataFrame(strings),
        pd.DataFrame(strings).astype("category"),
    ):
        if isinstance(table, pd.DataFrame):
            table.columns = [f"c{j}" for j in range(6)]
        model = ours.CategoricalNB().fit(table, y)
        np.testing.assert_allclose(
            model.predict_proba(table), coded.predict_proba(np.argsort(order)[codes]), rtol=1e-12
        )
        assert model.categories_[0].tolist() == sorted(names)
    gappy = strings.copy()
    gappy[0, 0] = None
    assert np.isfinite(model.fit(gappy, y).predict_log_proba(gappy)).all()


def test_string_labels_come_back_as_they_went_in():
    x, y, _ = problem("GaussianNB")
    words = np.array(["spam", "eggs", "ham"], dtype=object)[np.unique(y, return_inverse=True)[1]]
    for labels in (words, words.astype(str), words.tolist()):
        model = ours.GaussianNB().fit(x, labels)
        assert set(model.predict(x)) <= {"spam", "eggs", "ham"}
        assert model.classes_.tolist() == ["eggs", "ham", "spam"]


def test_numbers_in_files_and_single_rows_are_the_same_categories_as_those_of_an_array(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("u,v,y\n1,0,a\n0,2,b\n3,1,a\n")
    by_row = ours.CategoricalNB()
    for row, label in [({"u": 1, "v": 0}, "a"), ({"u": 0, "v": 2}, "b"), ({"u": 3, "v": 1}, "a")]:
        by_row.learn_one(row, label)
    pd = pytest.importorskip("pandas")
    asked = pd.DataFrame({"u": [1.0, 2.0, np.nan], "v": [0.0, 7.0, 2.0]})
    a = 2 / 3 * np.array([2 / 5 * 2 / 5, 1 / 6 * 1 / 6, 1 / 5])
    b = 1 / 3 * np.array([1 / 4 * 1 / 4, 1 / 5 * 1 / 5, 2 / 4])
    for model in (by_row, ours.CategoricalNB().fit(str(file), "y")):
        np.testing.assert_allclose(model.predict_proba(asked)[:, 0], a / (a + b), rtol=1e-12)
        np.testing.assert_allclose(model.predict_proba(asked.astype(np.float32))[:, 0], a / (a + b), rtol=1e-6)
        with pytest.raises(MismatchError, match="column 0 were numbers in training and are strings here"):
            model.predict(asked.astype(str))
    table = pd.read_csv(file)
    numbered = ours.CategoricalNB().fit(table[["u", "v"]], table["y"])
    found = numbered.predict_proba(str(file)).read_all()["probability a"]
    np.testing.assert_allclose(found, numbered.predict_proba(table[["u", "v"]])[:, 0], rtol=1e-12)


def test_an_unseen_category_never_raises_and_never_shrinks_what_is_known():
    x = np.array([[0, 1], [1, 2], [2, 0], [0, 2]])
    model = ours.CategoricalNB().fit(x, [0, 0, 1, 1])
    posterior = model.predict_proba([[7, 1]])
    # As if a fourth category had been listed: 1/(2+4) in both classes, beside 2/5 against 1/5.
    np.testing.assert_allclose(posterior, [[2 / 3, 1 / 3]])
    model.partial_fit([[0, 0]], [0])
    assert model.n_categories_.tolist() == [3, 3]
    model.partial_fit([[5, 0]], [0])
    assert model.n_categories_.tolist() == [6, 3]
    named = ours.CategoricalNB().fit([["a"], ["b"]], ["x", "y"])
    np.testing.assert_allclose(named.predict_proba([["c"]]), [[0.5, 0.5]])


def test_alpha_vectors_work_in_bernoulli():
    x, y, _ = problem("BernoulliNB")
    alpha = np.arange(1.0, 7.0)
    model = ours.BernoulliNB(alpha=alpha).fit(x, y)
    for j in range(6):
        one = theirs.BernoulliNB(alpha=alpha[j]).fit(x[:, [j]], y)
        np.testing.assert_allclose(model.feature_log_prob_[:, [j]], one.feature_log_prob_, rtol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_a_row_of_weight_zero_changes_nothing(name):
    x, y, _ = problem(name)
    model = getattr(ours, name)().fit(x, y)
    strange = x[:1] * 0 + 4
    extra, labels = np.vstack([x, strange, strange]), np.append(y, [y[0], 99])
    weight = np.append(np.ones(len(y)), [0.0, 0.0])
    again = getattr(ours, name)().fit(extra, labels, weight)
    np.testing.assert_array_equal(again.classes_, model.classes_)
    if name == "CategoricalNB":
        again.set_params(min_categories=5).fit(extra, labels, weight)
        model.set_params(min_categories=5).fit(x, y)
    np.testing.assert_allclose(again.predict_log_proba(x), model.predict_log_proba(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_invalid_priors_are_refused_by_every_estimator(name):
    x, y, _ = problem(name)
    parameter = "priors" if name == "GaussianNB" else "class_prior"
    for prior in ([-0.5, 0.5, 1.0], [0.5, 0.5, 0.5], [0.5, 0.5], [[1.0]]):
        with pytest.raises(ValueError, match=r"[Pp]riors"):
            getattr(ours, name)(**{parameter: prior}).fit(x, y)


@pytest.mark.parametrize("name", ALL[1:])
@pytest.mark.filterwarnings("ignore::suffice.ImpossibleRowWarning")
def test_alpha_zero_never_yields_nan(name):
    x, y, _ = problem(name)
    x[y == 7, 0] = 0
    x[y == 30, 1] = 0
    more = {"beta": 0.0} if name == "PoissonNB" else {}
    model = getattr(ours, name)(alpha=0.0, **more).fit(x, y)
    rows = [x] if name == "CategoricalNB" else [x, scipy.sparse.csr_matrix(x)]
    for table in rows:
        assert not np.isnan(model.predict_joint_log_proba(table)).any()
        np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1.0)
    assert not np.isnan(model.leave_one_out(x, y)).any()


@pytest.mark.parametrize("name", ALL)
def test_merging_two_estimators_equals_fitting_both_halves(name):
    x, y, weight = problem(name)
    a = getattr(ours, name)().fit(x[:80], y[:80], weight[:80])
    b = getattr(ours, name)().fit(x[80:], y[80:], weight[80:])
    whole = getattr(ours, name)().fit(x, y, weight)
    before = a.predict_log_proba(x)
    for merged in (a + b, sum([a, b])):
        np.testing.assert_allclose(merged.predict_log_proba(x), whole.predict_log_proba(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(a.predict_log_proba(x), before)


def test_estimators_that_do_not_belong_together_are_not_merged():
    x, y, _ = problem("MultinomialNB")
    a = ours.MultinomialNB().fit(x, y)
    with pytest.raises(MismatchError, match=r"alpha is 1\.0 here and 2\.0 there"):
        a + ours.MultinomialNB(alpha=2.0).fit(x, y)
    with pytest.raises(MismatchError, match="6 and 5 columns"):
        a + ours.MultinomialNB().fit(x[:, :5], y)
    with pytest.raises(TypeError):
        a + ours.GaussianNB().fit(x, y)
    pd = pytest.importorskip("pandas")
    p = ours.MultinomialNB().fit(pd.DataFrame(x, columns=list("abcdef")), y)
    with pytest.raises(MismatchError, match="column 1 is 'b' here and 'q' there"):
        p + ours.MultinomialNB().fit(pd.DataFrame(x, columns=list("aqcdef")), y)


@pytest.mark.parametrize("name", ALL)
def test_forgetting_undoes_learning(name):
    x, y, weight = problem(name)
    model = getattr(ours, name)().partial_fit(x[:120], y[:120], sample_weight=weight[:120])
    before = model.predict_log_proba(x)
    model.partial_fit(x[120:], y[120:], sample_weight=weight[120:])
    model.forget(x[120:], y[120:], weight[120:])
    np.testing.assert_allclose(model.predict_log_proba(x), before, rtol=1e-8, atol=1e-10)
    with pytest.raises(NotPartError):
        model.forget(np.vstack([x] * 3), np.tile(y, 3))
    np.testing.assert_allclose(model.predict_log_proba(x), before, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_forgetting_the_only_rows_of_a_class_forgets_the_class(name):
    x, y, _ = problem(name)
    new = y == 30
    model = getattr(ours, name)().fit(x[~new], y[~new])
    before = model.predict_log_proba(x)
    model.partial_fit(x[new], y[new]).forget(x[new], y[new])
    assert model.classes_.tolist() == [-2, 7]
    np.testing.assert_allclose(model.predict_log_proba(x), before, rtol=1e-8, atol=1e-10)
    model.forget(x[~new], y[~new])
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.predict(x)


@pytest.mark.parametrize("name", ALL)
def test_dropping_a_class_equals_refitting_without_it(name):
    x, y, weight = problem(name)
    if name == "CategoricalNB":
        x[0], y[0], weight[0] = 4, -2, 1.0  # both know all five categories
    model = getattr(ours, name)().fit(x, y, weight)
    keep = y != 30
    without = getattr(ours, name)().fit(x[keep], y[keep], weight[keep])
    np.testing.assert_allclose(
        model.drop_class(30).predict_log_proba(x), without.predict_log_proba(x), rtol=1e-10, atol=1e-12
    )
    with pytest.raises(NotPartError, match="No class 30: the classes are -2, 7"):
        model.drop_class(30)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_leaving_one_out_equals_refitting_without_it(name, weighted, gaps):
    x, y, weight = problem(name, n=60)
    x = x.astype(np.float64)
    if gaps:
        x[np.random.default_rng(3).random(x.shape) < 0.2] = np.nan
    weight = weight + 0.5 if weighted else None
    options = {"var_smoothing": 0.01} if name == "GaussianNB" else {}
    if name == "CategoricalNB":
        options["min_categories"] = 5  # which categories exist is not learned anew
    if name == "ComplementNB" and gaps:
        options["norm"] = True
    model = getattr(ours, name)(**options).fit(x, y, weight)
    refitted = np.empty((60, 3))
    for i in range(60):
        rest = np.arange(60) != i
        left = clone(model).fit(x[rest], y[rest], None if weight is None else weight[rest])
        refitted[i] = left.predict_log_proba(x[i : i + 1])
    np.testing.assert_allclose(model.leave_one_out(x, y, weight), refitted, rtol=1e-9, atol=1e-9)
    if name in COUNTS:
        sparse = scipy.sparse.csr_matrix(x)
        np.testing.assert_allclose(model.leave_one_out(sparse, y, weight), refitted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "PoissonNB"])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_linear_form_gives_the_posterior(name, classes):
    x, y, _ = problem(name, classes=classes)
    model = getattr(ours, name)().fit(x, y)
    coef, intercept = model.linear_form()
    read = (x > 0) if name == "BernoulliNB" else x
    scores = read @ coef.T + intercept
    log_proba = model.predict_log_proba(x)
    if classes == 2:
        assert coef.shape == (1, 6)
        np.testing.assert_allclose(scores[:, 0], log_proba[:, 1] - log_proba[:, 0], rtol=1e-12, atol=1e-12)
    else:
        odds = log_proba - log_proba[:, :1]
        np.testing.assert_allclose(scores - scores[:, :1], odds, rtol=1e-11, atol=1e-12)


def test_where_there_is_no_linear_form_the_error_says_why():
    x, y, _ = problem("GaussianNB")
    with pytest.raises(NoLinearFormError, match="quadratic in x"):
        ours.GaussianNB().fit(x, y).linear_form()
    x, y, _ = problem("CategoricalNB")
    with pytest.raises(NoLinearFormError, match="indicators"):
        ours.CategoricalNB().fit(x, y).linear_form()
    x[y == 7, 0] = 0
    with pytest.raises(NoLinearFormError, match="smooth"):
        ours.MultinomialNB(alpha=0).fit(x, y).linear_form()


@pytest.mark.parametrize("name", ALL)
def test_rows_drawn_from_a_model_have_its_proportions(name):
    x, y, _ = problem(name)
    options = {"var_smoothing": 0.0} if name == "GaussianNB" else {}
    model = getattr(ours, name)(**options).fit(x, y)
    if name == "ComplementNB":
        with pytest.raises(NoDistributionError, match="draw rows"):
            model.sample(3)
        return
    rows, labels = model.sample(20_000, random_state=0)
    shares = [np.mean(labels == c) for c in model.classes_]
    np.testing.assert_allclose(shares, model.class_count_ / model.class_count_.sum(), atol=0.015)
    again = clone(model).fit(rows, labels)
    if name == "GaussianNB":
        assert (np.abs(again.theta_ - model.theta_) < 0.05 * np.sqrt(model.var_)).all()
        np.testing.assert_allclose(again.var_, model.var_, rtol=0.1)
    elif name == "PoissonNB":
        np.testing.assert_allclose(again.rate_, model.rate_, rtol=0.05)
    elif name == "CategoricalNB":
        for a, b in zip(again.feature_log_prob_, model.feature_log_prob_, strict=True):
            np.testing.assert_allclose(np.exp(a), np.exp(b), atol=0.03)
    else:
        np.testing.assert_allclose(np.exp(again.feature_log_prob_), np.exp(model.feature_log_prob_), atol=0.03)
    of_one, label = model.sample(4, label=7, random_state=1)
    assert of_one.shape == (4, 6)
    assert label.tolist() == [7] * 4
    with pytest.raises(MismatchError, match="No class 'x'"):
        model.sample(1, label="x")


@pytest.mark.slow
def test_a_thousand_classes_need_no_dense_indicator_matrix():
    """In a process of its own: the extra memory of a fit with 1000 classes stays under 100 MB."""
    script = """
import resource, numpy as np, scipy.sparse
from suffice.naive_bayes import MultinomialNB
rng = np.random.default_rng(0)
n, m = 200_000, 20
words = rng.integers(0, 1000, n * m, dtype=np.int32)
x = scipy.sparse.csr_matrix((np.ones(n * m), words, np.arange(n + 1) * m), shape=(n, 1000))
y = rng.integers(0, 1000, n)
MultinomialNB().fit(x[:2000], y[:2000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = MultinomialNB().fit(x, y)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, len(model.classes_), model.feature_count_.sum())
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert int(out[0]) < 100_000, f"{out[0]} KiB"
    assert out[1:] == ["1000", "4000000.0"]


def test_tables_are_for_people():
    model = ours.CategoricalNB().fit([["hot"], ["cool"], ["cool"]], ["no", "yes", "yes"])
    prior, cpt = model.tables()
    assert str(cpt).splitlines() == ["x0          no   yes", "cool  0.333333  0.75", "hot   0.666667  0.25"]
    assert str(prior).splitlines()[0].split() == ["prior", "no", "yes"]


def test_labels_of_another_dtype_but_the_same_values_are_the_same_labels():
    x, y, _ = problem("GaussianNB")
    model = ours.GaussianNB().fit(x, y)
    np.testing.assert_array_equal(model.leave_one_out(x, y.astype(float)), model.leave_one_out(x, y))
    words = np.array(["a", "b", "c"])[np.unique(y, return_inverse=True)[1]]
    model = ours.GaussianNB().fit(x, words)
    np.testing.assert_array_equal(model.leave_one_out(x, words.astype(object)), model.leave_one_out(x, words))


def test_what_was_learned_cannot_be_written_to():
    x, y, _ = problem("MultinomialNB")
    model = ours.MultinomialNB().fit(x, y)
    with pytest.raises(ValueError, match="read-only"):
        model.feature_count_[0, 0] = 1000
    with pytest.raises(ValueError, match="read-only"):
        model.class_count_[0] = 1000


def test_one_number_may_weigh_all_rows():
    x, y, _ = problem("GaussianNB")
    assert ours.GaussianNB().fit(x, y, 2.0).class_count_.sum() == 2 * len(y)


def test_forgetting_rows_that_were_never_learned_is_refused():
    model = ours.GaussianNB().fit([[0.0], [1.0], [2.0], [5.0]], ["a", "a", "a", "b"])
    before = model.predict_proba([[1.0]])
    with pytest.raises(NotPartError):
        model.forget([[100.0]], ["a"])
    np.testing.assert_array_equal(model.predict_proba([[1.0]]), before)


def test_dropping_the_only_class_is_refused():
    with pytest.raises(ValueError, match="'a' is the only class"):
        ours.GaussianNB().fit([[0.0], [1.0]], ["a", "a"]).drop_class("a")


def test_category_numbers_of_every_number_type_are_read():
    y = [0, 1, 0, 1]
    expected = ours.CategoricalNB().fit([[0.0], [1.0], [np.nan], [2.0]], y).category_count_[0]
    for dtype in (np.float16, np.float32, np.longdouble, ">f8"):
        x = np.array([[0.0], [1.0], [np.nan], [2.0]], dtype)
        np.testing.assert_array_equal(ours.CategoricalNB().fit(x, y).category_count_[0], expected)
    for dtype in (bool, np.uint8, np.int16, np.uint64, ">i8"):
        model = ours.CategoricalNB().fit(np.array([[0], [1], [1], [0]], dtype), y)
        assert model.category_count_[0].tolist() == [[1, 1], [1, 1]]
    with pytest.raises(ValueError, match="category number"):
        ours.CategoricalNB().fit([[1e300], [1.0]], [0, 1])
    assert np.isfinite(ours.CategoricalNB().fit([[0], [1]], [0, 1]).predict_log_proba([[1e300]])).all()


def test_masked_strings_are_missing_and_numpys_strings_are_strings():
    names = np.array([["red"], ["blue"], ["red"]])
    masked = np.ma.masked_array(names, [[False], [True], [False]])
    model = ours.CategoricalNB().fit(masked, [0, 1, 1])
    assert model.categories_[0].tolist() == ["red"]
    model = ours.CategoricalNB().fit(np.array([[np.str_("a")], [np.str_("b")]], object), [0, 1])
    assert model.categories_[0].tolist() == ["a", "b"]


def test_a_small_variance_beside_a_large_mean_is_kept():
    rng = np.random.default_rng(0)
    x, y = np.c_[1e9 + rng.normal(size=100), 1e-8 * rng.normal(size=100)], np.arange(100) % 2
    mine, peer = pair("GaussianNB", var_smoothing=0.0)
    np.testing.assert_allclose(mine.fit(x, y).var_[:, 1], peer.fit(x, y).var_[:, 1], rtol=1e-10)


@pytest.mark.parametrize("name", SHARED)
def test_string_labels_have_the_dtype_they_have_in_scikit_learn(name):
    pd = pytest.importorskip("pandas")
    x, y, _ = problem(name)
    words = np.array(["spam", "eggs", "ham"], dtype=object)[np.unique(y, return_inverse=True)[1]]
    mine, peer = pair(name)
    for labels in (words, words.astype(str), words.tolist(), pd.Series(words), pd.Series(words, dtype="category")):
        mine.fit(x, labels), peer.fit(x, labels)
        assert mine.classes_.dtype == peer.classes_.dtype
        assert mine.predict(x).dtype == peer.predict(x).dtype


def test_forgetting_an_outlier_leaves_the_variance_of_the_rest():
    x, y = np.random.default_rng(0).normal(size=(40, 1)), np.arange(40) % 2
    x[0] = 1e7
    rest = ours.GaussianNB(var_smoothing=0).fit(x[1:], y[1:])
    model = ours.GaussianNB(var_smoothing=0).fit(x, y)
    expected = rest.predict_log_proba(x[:1])
    # Sixteen digits hold the 1e14 of the outlier's square and leave one or two for what is beside it.
    np.testing.assert_allclose(model.leave_one_out(x, y)[:1], expected, rtol=0.1)
    np.testing.assert_allclose(model.forget(x[:1], y[:1]).var_, rest.var_, rtol=0.1)


def test_a_far_first_row_of_next_to_no_weight_takes_no_digits_from_the_variance():
    n = 1000
    x = (np.where(np.arange(n) < 20, 1e9, 0.0) + np.random.default_rng(0).normal(size=n))[:, None]
    weight = 0.9 ** np.arange(n)[::-1]
    for rows in (np.c_[x, x], np.asfortranarray(np.c_[x, x])):
        forwards = ours.GaussianNB(var_smoothing=0).fit(rows, np.zeros(n, int), weight)
        backwards = ours.GaussianNB(var_smoothing=0).fit(rows[::-1], np.zeros(n, int), weight[::-1])
        np.testing.assert_allclose(forwards.var_, backwards.var_, rtol=1e-9)


def test_a_class_that_has_shown_nothing_of_a_column_knows_what_all_know():
    x = np.array([[np.nan, 1], [np.nan, 2], [5, 1], [6, 2.0]])
    model = ours.GaussianNB().fit(x, [0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[0, 1.5], [5.5, 1.5], [-3, 1.5]]), 0.5)
    np.testing.assert_allclose(model.leave_one_out(x, [0, 0, 1, 1]).shape, (4, 2))


def test_data_at_a_tiny_scale_are_told_apart():
    x, y, _ = problem("GaussianNB")
    mine, peer = pair("GaussianNB")
    assert_same_answers(mine.fit(x * 1e-110, y), peer.fit(x * 1e-110, y), x * 1e-110, tolerance=1e-9)


def test_numbers_and_names_are_not_merged_into_one_column():
    model = ours.CategoricalNB().partial_fit([[0], [1]], [0, 1])
    for names in (np.array([["a"], ["b"]]), [["a"], ["b"]]):
        with pytest.raises(MismatchError, match="cannot be one column's categories"):
            model.partial_fit(names, [0, 1])


def test_category_numbers_whose_sum_overflows_are_refused():
    for rows in ([[0] * 4, [2**62 - 1] * 4], [[0], [2**63 - 1]]):
        with pytest.raises(ValueError, match="category number"):
            ours.CategoricalNB().fit(np.array(rows), [0, 1])
    with pytest.raises(ValueError, match="min_categories must be"):
        ours.CategoricalNB(min_categories=2**61).fit(np.zeros((2, 8), int), [0, 1]).predict(np.zeros((1, 8), int))


def test_a_masked_label_is_missing():
    with pytest.raises(ValueError, match="the label of row 1 is missing"):
        ours.GaussianNB().fit(np.zeros((3, 1)), np.ma.array([0, 1, 2], mask=[0, 1, 0]))


def test_leaving_out_gaps_of_a_single_sparse_column_is_exact():
    x, y = scipy.sparse.csr_matrix([[3.0], [3.0], [np.nan]]), [0, 1, 0]
    np.testing.assert_allclose(ours.PoissonNB().fit(x, y).leave_one_out(x, y)[2], np.log([0.5, 0.5]))


def test_rows_of_no_weight_may_have_a_label_of_their_own_when_left_out():
    x, y, _ = problem("GaussianNB")
    y, weight = np.append(y, 99), np.append(np.ones(len(y)), 0.0)
    x = np.vstack([x, x[:1]])
    model = ours.GaussianNB().fit(x, y, weight)
    out = model.leave_one_out(x, y, weight)
    np.testing.assert_allclose(out[-1:], model.predict_log_proba(x[-1:]))


def test_a_pickle_holds_what_was_learned_and_not_what_follows_from_it():
    x, y, _ = problem("MultinomialNB")
    model = ours.MultinomialNB().fit(x, y)
    before = len(pickle.dumps(model))
    model.predict(x)
    assert len(pickle.dumps(model)) == before


def test_an_alpha_changed_after_fitting_changes_nothing():
    x, y, _ = problem("MultinomialNB")
    alpha = np.ones(6)
    model = ours.MultinomialNB(alpha=alpha).fit(x, y)
    alpha[:] = 100
    np.testing.assert_array_equal(model.predict_proba(x), ours.MultinomialNB().fit(x, y).predict_proba(x))


def test_unusual_labels_and_matrices_are_read():
    x, y, _ = problem("MultinomialNB")
    high = np.where(y == 7, np.uint64(2**63 + 5), np.uint64(2**63 + 9))
    assert ours.MultinomialNB().fit(x, high).classes_.tolist() == [2**63 + 5, 2**63 + 9]
    halves = np.array(["\ud800", "b"])[np.arange(12_000) % 2]
    assert len(ours.GaussianNB().fit(np.zeros((12_000, 1)), halves).classes_) == 2
    sparse = scipy.sparse.csr_matrix(x)
    sparse.data = np.repeat(sparse.data, 2)[::2]
    np.testing.assert_array_equal(
        ours.MultinomialNB().fit(sparse, y).feature_count_, ours.MultinomialNB().fit(x, y).feature_count_
    )
    with pytest.raises(ValueError, match="dates"):
        ours.GaussianNB().fit(np.array([["2020-01-01"], ["2020-01-02"]], "datetime64[D]"), [0, 1])
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"at least one array or dtype|0 feature"):
        ours.CategoricalNB().fit(pd.DataFrame(index=range(2)), [0, 1])
    single = pd.DataFrame(np.float32(x), columns=list("abcdef"))
    assert ours.GaussianNB().fit(single, y).predict_proba(single).dtype == np.float32


def test_categories_are_unknown_where_none_was_seen_in_training():
    nothing = np.array([[None, None]] * 3, dtype=object)
    clf = ours.CategoricalNB().fit(nothing, ["a", "b", "b"])
    some = np.array([["red", "blue"], ["red", None]], dtype=object)
    np.testing.assert_allclose(clf.predict_proba(some), [[1 / 3, 2 / 3]] * 2)
    whole = ours.CategoricalNB().fit(np.vstack([nothing, some]), ["a", "b", "b", "a", "b"]).forget(some, ["a", "b"])
    np.testing.assert_allclose(whole.predict_proba(some), clf.predict_proba(some))
