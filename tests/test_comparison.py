"""Generative against discriminative: the same rows for both, where the curves cross, and what is refused."""

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import suffice as sf
from suffice.core import frames
from suffice.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB
from suffice.views import logistic_baseline as logistic
from suffice.views.comparison import Comparison, _ordered, _set_aside, _sizes, compare
from suffice.views.logistic_baseline import Columns

mpl.use("Agg")

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
SMALL = {"sizes": [9, 60], "repeats": 2}


def curves(generative, discriminative, sizes=(10, 100, 1000, 10000)):
    """A comparison of one repeat with these accuracies."""
    accuracy = np.array([generative, discriminative])[:, :, None]
    return Comparison(("bayes", "logistic"), np.array(sizes), accuracy, 1 - accuracy, np.ones_like(accuracy), 30)


# ------------------------------------------------------------------------------------- where they cross


def test_the_crossing_is_interpolated_over_the_logarithm_of_the_size():
    found = curves([0.8, 0.8, 0.8, 0.8], [0.5, 0.7, 0.9, 0.95])
    assert_allclose(found.crossing(), 10**2.5)
    assert_allclose(found.gain(), [-0.3, -0.1, 0.1, 0.15])
    assert found.verdict() == "By accuracy, logistic overtakes bayes at about 320 training rows."


def test_of_several_crossings_the_last_counts():
    found = curves([0.6, 0.8, 0.7, 0.8], [0.7, 0.7, 0.8, 0.9])
    assert_allclose(found.crossing(), 10**2.5)


def test_the_generative_model_may_be_the_one_that_overtakes():
    found = curves([0.5, 0.7, 0.9, 0.95], [0.8, 0.8, 0.8, 0.8])
    assert "bayes overtakes logistic at about 320" in found.verdict()


def test_curves_that_do_not_cross_say_so():
    found = curves([0.5, 0.6, 0.7, 0.8], [0.6, 0.7, 0.8, 0.9])
    assert found.crossing() is None
    assert found.verdict() == ("By accuracy, they do not cross: logistic is better from 10 to 10,000 training rows.")
    assert "equally good" in curves([0.5] * 4, [0.5] * 4).verdict()
    assert "bayes is better with few rows" in curves([0.6, 0.6, 0.6, 0.6], [0.5, 0.6, 0.6, 0.6]).verdict()


def test_a_touch_is_no_crossing_and_a_tie_lies_between_both():
    assert curves([0.8, 0.8, 0.8, 0.8], [0.7, 0.8, 0.7, 0.7]).crossing() is None
    assert_allclose(curves([0.8, 0.8, 0.8, 0.8], [0.7, 0.8, 0.9, 0.9]).crossing(), 100)


def test_less_log_loss_is_better():
    found = curves([0.8, 0.8, 0.8, 0.8], [0.5, 0.7, 0.9, 0.95])
    assert_allclose(found.crossing("log_loss"), 10**2.5)


def test_bands_are_quantiles_over_the_repeats():
    accuracy = np.arange(22.0).reshape(2, 1, 11) / 100
    found = Comparison(("a", "b"), np.array([10]), accuracy, accuracy, accuracy, 5)
    assert_allclose(found.band("accuracy", 0), [[0.01], [0.05], [0.09]])
    assert found.band_title == "median and middle 80 % of 11 repeats"


# ------------------------------------------------------------------------------------- for people and programs


def test_it_prints_a_table_and_two_sentences():
    found = curves([0.8, 0.8, 0.8, 0.8], [0.5, 0.7, 0.9, 0.95])
    shown = str(found)
    assert shown.splitlines()[0].split("  ")[0] == "training rows"
    assert "10,000" in shown
    assert shown.splitlines()[-2:] == [found.verdict(), found.verdict("log_loss")]
    table = found.table()
    assert_allclose(table.values[:, 0], [0.8] * 4)
    assert table.columns[1] == "accuracy, logistic"


def test_arrow_has_a_row_for_every_training():
    found = compare(GaussianNB(), X, NAMES, **SMALL)
    table = found.to_arrow()
    assert table.num_rows == 2 * 2 * 2
    assert set(table["model"].to_pylist()) == {"GaussianNB", "logistic regression"}
    assert set(table["rows"].to_pylist()) == {9, 60}
    assert_allclose(table["accuracy"].to_numpy().reshape(found.accuracy.shape), found.accuracy)


def test_it_draws_itself():
    found = curves([0.8, 0.8, 0.8, 0.8], [0.5, 0.7, 0.9, 0.95])
    ax = found.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("training rows", "accuracy")
    assert "they cross at 316 rows" in [text.get_text() for text in ax.texts]
    assert_allclose(ax.get_lines()[0].get_ydata(), [0.8] * 4)
    assert found.plot(metric="seconds").get_ylabel() == "training time, in seconds"


# ------------------------------------------------------------------------------------- the same rows


def test_both_learn_from_the_same_rows_and_are_judged_by_the_same():
    found = compare(GaussianNB(), X, NAMES, sizes=[60], repeats=1)
    rng = np.random.default_rng(0)
    out, pool = _set_aside(Y, 0.3, rng)
    some = _ordered(pool, Y, rng)[:60]
    model = GaussianNB().fit(X[some], NAMES[some])
    assert_allclose(found.accuracy[0, 0, 0], model.score(X[out], NAMES[out]))
    assert_allclose(found.log_loss[0, 0, 0], log_loss(NAMES[out], model.predict_proba(X[out])))
    expected = pipeline(best_strength(some)).fit(X[some], NAMES[some])
    assert_allclose(found.accuracy[1, 0, 0], expected.score(X[out], NAMES[out]))
    assert_allclose(found.log_loss[1, 0, 0], log_loss(NAMES[out], expected.predict_proba(X[out])), rtol=1e-4)


def pipeline(strength):
    return make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=300))


def best_strength(some):
    """By scikit-learn's own cross-validation, over the same folds."""
    folds = [(rest, out) for out, rest in logistic.folds_of(Y[some], 3, 0)]
    loss = [
        -np.average(
            cross_val_score(pipeline(c), X[some], NAMES[some], cv=folds, scoring="neg_log_loss"),
            weights=[len(out) for _, out in folds],
        )
        for c in logistic.STRENGTHS
    ]
    return logistic.STRENGTHS[int(np.argmin(loss))]


def test_the_strength_is_the_best_by_cross_validation():
    for some in (np.arange(0, 150, 2), np.arange(0, 150, 7)):
        chosen, seconds = logistic.choose_strength(Columns.of_matrix(X), Y.astype(np.int32), some, 3, 3, 0)
        assert chosen == best_strength(some)
        assert seconds > 0


def test_folds_have_every_class_to_learn_from_and_every_row_once_to_judge_by():
    codes = np.repeat([0, 1, 2], [9, 2, 2])
    folds = logistic.folds_of(codes, 3, 0)
    assert_array_equal(np.sort(np.concatenate([out for out, _ in folds])), np.arange(13))
    for out, rest in folds:
        assert not set(out) & set(rest)
        assert set(codes[rest]) == {0, 1, 2}


def test_rows_set_aside_are_a_share_of_every_class():
    codes = np.repeat([0, 1, 2], [100, 20, 3])
    out, pool = _set_aside(codes, 0.3, np.random.default_rng(0))
    assert_array_equal(np.bincount(codes[out]), [30, 6, 1])
    assert_array_equal(np.sort(np.concatenate([out, pool])), np.arange(123))


def test_every_beginning_of_an_order_has_its_classes_in_their_shares():
    codes = np.repeat([0, 1, 2], [600, 300, 100])
    order = _ordered(np.arange(1000), codes, np.random.default_rng(0))
    assert_array_equal(np.sort(order), np.arange(1000))
    assert_array_equal(np.bincount(codes[order[:6]]), [2, 2, 2])
    for n in (50, 200, 700):
        assert_allclose(np.bincount(codes[order[:n]]) / n, [0.6, 0.3, 0.1], atol=0.05)


def test_sizes_are_spaced_by_their_logarithm_and_end_with_all_rows():
    sizes = _sizes(None, 5000, 2)
    assert sizes[0] == 10
    assert sizes[-1] == 5000
    ratios = np.diff(np.log(sizes))
    assert ratios.max() / ratios.min() < 1.3
    assert _sizes([50, 20, 50], 100, 3) == [20, 50]
    assert _sizes(None, 8, 3) == [8]


def test_the_same_random_state_gives_the_same_curves_and_the_estimator_stays_as_it_was():
    model = GaussianNB()
    first, again = (compare(model, X, NAMES, **SMALL) for _ in range(2))
    assert_array_equal(first.accuracy, again.accuracy)
    assert_array_equal(first.log_loss, again.log_loss)
    other = compare(model, X, NAMES, random_state=1, **SMALL)
    assert (first.log_loss != other.log_loss).any()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


# ------------------------------------------------------------------------------------- any kind of rows


def test_a_mixed_table_with_gaps_and_its_target_by_name():
    rng = np.random.default_rng(0)
    n = 120
    y = np.arange(n) % 2
    rows = {
        "size": [None if i % 7 == 0 else float(v) for i, v in enumerate(rng.normal(size=n) + 2 * y)],
        "job": [None if i % 5 == 0 else ["law", "shop"][int(v)] for i, v in enumerate((y + (rng.random(n) < 0.3)) % 2)],
        "member": (rng.random(n) < 0.3 + 0.4 * y).tolist(),
        "note": [["a pair of shoes", "the law of the land"][c] + f" and a word number {i}" for i, c in enumerate(y)],
        "buys": np.array(["no", "yes"])[y],
    }
    found = compare(sf.BayesClassifier(), rows, "buys", sizes=[20, 80], repeats=2)
    assert (found.accuracy[:, 1] > 0.8).all()
    assert np.isfinite(found.log_loss).all()


def test_what_columns_are_is_told_by_all_rows():
    """In any other order than its own, a column that numbers the rows would look like a number that tells much."""
    rows = dict(zip("abcd", X.T, strict=True))
    plain, numbered = (compare(sf.BayesClassifier(), r, NAMES, **SMALL) for r in (rows, rows | {"id": np.arange(150)}))
    assert_array_equal(plain.log_loss, numbered.log_loss)


def test_tables_are_encoded_by_what_the_model_takes_columns_for():
    frame = frames.as_frame({"age": [1.0, None, 3.0], "job": ["a", None, "b"], "gone": [1.0, 2.0, 3.0]})
    from suffice.model.schema import infer

    schema = infer(frames.profiles(frame), {"gone": None})
    columns = Columns.of_table(frame, schema)
    parts = dict(columns.parts)
    assert parts["numbers"].shape == (3, 1)
    assert parts["categories"][:, 0].tolist() == ["a", "None", "b"]
    x = columns.encoder(np.arange(3))(np.arange(3))
    assert x.shape == (3, 1 + 3)
    assert_allclose(x.toarray()[:, 0], [-1.2247449, 0.0, 1.2247449], rtol=1e-6)  # the gap is the median


def test_texts_are_weighed_by_tf_idf():
    texts = ["cheap pills now", "lunch at noon", "claim your cash now", "the report is here"] * 10
    kinds = ["spam", "mail"] * 20
    columns = Columns.of_texts(texts)
    expected = TfidfVectorizer(sublinear_tf=True).fit_transform(texts).toarray()
    assert_allclose(columns.encoder(np.arange(40))(np.arange(40)).toarray(), expected)
    found = compare(sf.TextClassifier(), texts, kinds, sizes=[8, 20], repeats=2)
    assert (found.accuracy[:, 1] == 1).all()
    by_name = compare(sf.TextClassifier(), {"text": texts, "kind": kinds}, "kind", sizes=[8, 20], repeats=2)
    assert_array_equal(found.accuracy, by_name.accuracy)
    arrow = compare(sf.TextClassifier(), pa.chunked_array([texts]), kinds, sizes=[8, 20], repeats=2)
    assert_array_equal(found.accuracy, arrow.accuracy)


def test_sparse_counts_and_numbered_categories():
    rng = np.random.default_rng(0)
    counts = rng.poisson(1 + 2 * np.eye(3)[Y], size=(150, 3))
    dense, sparse = (compare(MultinomialNB(), x, NAMES, **SMALL) for x in (counts, sp.csr_array(counts)))
    assert_allclose(dense.accuracy[0], sparse.accuracy[0])
    found = compare(CategoricalNB(min_categories=12), counts, NAMES, **SMALL)
    assert (found.accuracy > 0.4).all()


def test_a_pandas_frame_of_numbers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = compare(GaussianNB(), frame.assign(kind=NAMES), "kind", **SMALL)
    assert_allclose(found.accuracy, compare(GaussianNB(), X, NAMES, **SMALL).accuracy)


def test_numbers_may_have_gaps():
    x = X.copy()
    x[::5, 1] = np.nan
    x[:, 3] = np.nan
    assert np.isfinite(compare(GaussianNB(), x, NAMES, **SMALL).log_loss).all()


# ------------------------------------------------------------------------------------- watching and stopping


def test_progress_is_told_after_each_training():
    told = []
    compare(GaussianNB(), X, NAMES, progress=lambda done, total: told.append((done, total)), **SMALL)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_it_can_be_interrupted():
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(GaussianNB(), X, NAMES, progress=stop, **SMALL)


# ------------------------------------------------------------------------------------- what is refused


def test_what_is_wrong_is_said():
    model = GaussianNB()
    with pytest.raises(sf.InvalidDataError, match="There are 12 rows: learning curves need at least 20"):
        compare(model, X[:12], NAMES[:12])
    with pytest.raises(sf.InvalidDataError, match="one class only, 'setosa'"):
        compare(model, X[:50], NAMES[:50])
    with pytest.raises(sf.InvalidDataError, match=r"Class 'virginica' has 2 row\(s\)"):
        compare(model, X[:102], NAMES[:102])
    with pytest.raises(sf.InvalidDataError, match="150 rows and 149 labels"):
        compare(model, X, NAMES[1:])
    with pytest.raises(sf.MissingLabelError):
        compare(model, X, [None, *NAMES[1:]])
    with pytest.raises(sf.InvalidDataError, match="no column 'kin'"):
        compare(sf.BayesClassifier(), {"a": X[:, 0], "kind": NAMES}, "kin")
    with pytest.raises(sf.InvalidDataError, match="one column of texts besides the labels"):
        compare(sf.TextClassifier(), {"a": NAMES, "b": NAMES, "kind": NAMES}, "kind")
    for wrong in ([2, 50], [20, 500]):
        with pytest.raises(sf.InvalidOptionError, match="sizes must lie between 6"):
            compare(model, X, NAMES, sizes=wrong)
    with pytest.raises(sf.InvalidOptionError, match="sizes is empty"):
        compare(model, X, NAMES, sizes=[])
    with pytest.raises(sf.InvalidOptionError, match="repeats must be an integer of at least 1"):
        compare(model, X, NAMES, repeats=0)
    with pytest.raises(sf.InvalidOptionError, match="folds must be an integer of at least 2"):
        compare(model, X, NAMES, folds=1)
    with pytest.raises(sf.InvalidOptionError, match="held_out must be a share"):
        compare(model, X, NAMES, held_out=1.0)
    with pytest.raises(sf.InvalidOptionError, match="metric must be one of"):
        curves([0.5] * 4, [0.5] * 4).crossing("speed")
