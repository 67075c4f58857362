"""Pictures: which axes they are drawn on, what they show, that grey is enough, and what is refused."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import suffice as sf
from suffice import plot
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.model.evaluate import Evaluation
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, KernelNB, MultinomialNB, PoissonNB
from suffice.views.plot import style

mpl.use("Agg")
import matplotlib.pyplot as plt  # after the backend was chosen

RNG = np.random.default_rng(0)
Y = np.repeat(["ash", "birch", "cedar"], 60)
X = RNG.normal(size=(180, 2)) + np.repeat([[0.0, 0.0], [3.0, 1.0], [6.0, -2.0]], 60, axis=0)
N = RNG.poisson(np.repeat([[1.0, 4.0], [3.0, 2.0], [9.0, 2.0]], 60, axis=0))
TABLE = {
    "age": [None if i % 9 == 0 else v for i, v in enumerate(X[:, 0].tolist())],
    "job": [["shop", "law", None][int(v > 1) + int(v > 4)] for v in X[:, 0]],
    "member": X[:, 1] > 0,
    "noise": RNG.normal(size=180),
    "left": X[:, 0],
    "right": X[:, 1],
}
TEXTS = ["Cheap pills, buy now", "Lunch at noon?", "You won: claim your cash now", "The report is attached"] * 5
KINDS = ["spam", "mail"] * 10


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture
def mixed():
    return sf.BayesClassifier({("left", "right"): sf.MultivariateGaussian()}).fit(TABLE, Y)


@pytest.fixture
def texts():
    return sf.TextClassifier().fit(TEXTS, KINDS)


def written(ax):
    """All that is written on axes."""
    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.findobj(mpl.text.Text) if text.get_text()]


def styles(ax):
    return [(line.get_linestyle(), line.get_color()) for line in ax.get_lines()]


# --------------------------------------------------------------------------------------- every picture


def pictures(mixed, texts):
    """Each by its name: the function, its display, and what to call them with."""
    compared = sf.Comparison(
        ("model", "logistic regression"),
        np.array([10, 100, 1000]),
        np.array([[[0.8, 0.8], [0.85, 0.85], [0.86, 0.86]], [[0.6, 0.62], [0.84, 0.86], [0.95, 0.95]]]),
        np.ones((2, 3, 2)),
        np.ones((2, 3, 2)),
        50,
    )
    watched = sf.Monitor(GaussianNB().fit(X, Y))
    watched.update(X, Y)
    streamed = sf.prequential(GaussianNB(), {"x0": X[:, 0], "y": Y}, "y")
    return {
        "monitor": (lambda ax: plot.monitor(watched, ax=ax)),
        "prequential": (lambda ax: plot.prequential(streamed, ax=ax)),
        "conditionals": (lambda ax: plot.conditionals(mixed, ["age"], ax=ax)),
        "decision_regions": (lambda ax: plot.decision_regions(mixed, TABLE, Y, columns=("age", "left"), ax=ax)),
        "evidence": (lambda ax: plot.evidence(mixed, TABLE, row=1, ax=ax)),
        "nomogram": (lambda ax: plot.nomogram(mixed, ax=ax)),
        "reliability": (lambda ax: plot.reliability(mixed, TABLE, Y, ax=ax)),
        "confusion": (lambda ax: plot.confusion(mixed, TABLE, Y, ax=ax)),
        "top_words": (lambda ax: plot.top_words(texts, labels=["spam"], ax=ax)),
        "learning_curves": (lambda ax: plot.learning_curves(compared, ax=ax)),
    }


@pytest.mark.parametrize("name", [n for n in plot.__all__ if n[0].islower()])
def test_every_picture_returns_its_axes_and_draws_on_those_it_is_given(name, mixed, texts):
    draw = pictures(mixed, texts)[name]
    fresh = np.atleast_1d(draw(None)).ravel()
    assert all(isinstance(each, mpl.axes.Axes) for each in fresh)
    figure, (own, other) = plt.subplots(1, 2)
    returned = np.atleast_1d(draw(own)).ravel()
    assert returned[0] is own
    assert not other.has_data()
    assert figure.axes[:2] == [own, other]
    assert own.has_data()
    figure.canvas.draw()


def test_every_display_has_its_axes_and_figure(mixed, texts):
    made = [
        plot.ConditionalsDisplay.from_estimator(mixed),
        plot.DecisionRegionsDisplay.from_estimator(GaussianNB().fit(X, Y)),
        plot.EvidenceDisplay.from_estimator(GaussianNB().fit(X, Y), X[:1]),
        plot.ReliabilityDisplay.from_estimator(GaussianNB().fit(X, Y), X, Y),
        plot.ConfusionDisplay.from_estimator(GaussianNB().fit(X, Y), X, Y),
        plot.TopWordsDisplay.from_estimator(texts),
    ]
    for display in made:
        assert isinstance(display.ax_, mpl.axes.Axes)
        assert display.figure_ is display.ax_.figure
        again = display.plot(getattr(display, "axes_", display.ax_))
        assert again is display


def test_without_matplotlib_it_says_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "sys.modules['matplotlib.pyplot'] = None\n"
        "import suffice as sf, suffice.plot\n"
        "from suffice.naive_bayes import GaussianNB\n"
        "model = GaussianNB().fit([[0.0], [1.0], [4.0], [5.0]], list('aabb'))\n"
        "try:\n"
        "    sf.plot.conditionals(model)\n"
        "except sf.MissingPackageError as error:\n"
        "    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'suffice[plot]'" in out


def test_importing_the_pictures_does_not_import_matplotlib():
    code = "import sys, suffice.plot, suffice.views.comparison; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"matplotlib", "sklearn", "pandas"} & set(loaded)


# --------------------------------------------------------------------------------------- densities


def test_a_panel_for_each_column_of_a_mixed_table(mixed):
    axes = plot.conditionals(mixed)
    assert [ax.get_title() for ax in axes] == [
        "age",
        "job",
        "member",
        "noise (does not vote)",
        "50 % and 90 % of each class",
    ]
    assert axes[0].get_xlabel() == "age"
    assert {"law", "shop", "probability"} <= set(written(axes[1]))
    assert "all classes" in written(axes[3])
    assert len(axes[3].get_lines()) == 1


def test_curves_differ_by_their_line_and_not_by_colour_alone():
    (ax, _) = plot.conditionals(GaussianNB().fit(X, Y))
    lines = styles(ax)
    assert len({style for style, _ in lines}) == len({colour for _, colour in lines}) == 3
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["ash", "birch", "cedar"]


def test_bars_differ_by_their_hatch_and_carry_their_numbers():
    ax = plot.conditionals(CategoricalNB().fit(N.clip(0, 2), Y))[0]
    assert len({patch.get_hatch() for patch in ax.patches}) == 3
    p = CategoricalNB().fit(N.clip(0, 2), Y).tables()[1].values
    assert {f"{v:.2f}" for v in p.ravel()} <= set(written(ax))


@pytest.mark.parametrize(
    "estimator",
    [KernelNB(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), sf.BayesClassifier(limit=20)],
)
def test_numbers_of_any_family_are_drawn(estimator):
    axes = plot.conditionals(estimator.fit(X, Y))
    assert all(ax.has_data() for ax in axes)


def test_counts_bins_truths_and_words_are_drawn(texts):
    assert plot.conditionals(PoissonNB().fit(N, Y))[0].get_ylabel() == "probability"
    many = plot.conditionals(sf.Model.fit(X, Y, sf.Binned()))[0]
    assert many.get_ylabel() == "density"
    few = plot.conditionals(sf.Model.fit(X, Y, sf.Binned(edges=[[0.0, 2.5]] * 2)))[0]
    assert {"≤ 0", "0 – 2.5", "> 2.5"} <= set(written(few))
    assert {"true", "false"} <= set(written(plot.conditionals(BernoulliNB().fit(N > 2, Y))[0]))
    assert "log-odds against the other classes" in written(plot.conditionals(texts)[0])
    assert plot.conditionals(MultinomialNB().fit(N, Y), names=["pear", "plum"])[0].has_data()


def test_a_class_that_hardly_varies_does_not_flatten_the_others():
    x = np.r_[np.full(40, 5.0) + 1e-9 * np.arange(40), RNG.normal(size=80)][:, None]
    ax = plot.conditionals(GaussianNB(var_smoothing=0).fit(x, np.repeat(["a", "b", "c"], 40)))[0]
    assert ax.get_ylim()[1] < 100


def test_columns_without_a_value_say_so():
    rows = np.column_stack([np.full(180, np.nan), X[:, 0]])
    assert "no value was seen" in written(plot.conditionals(sf.Model.fit(rows, Y, sf.Binned()))[0])


def test_of_many_classes_the_most_frequent_are_drawn_and_a_table_takes_the_place_of_bars():
    labels = np.array([f"kind {i % 20}" for i in range(400)])
    rows = {"size": RNG.normal(size=400) + np.arange(400) % 20, "shape": np.array(list("abcd"))[np.arange(400) % 4]}
    size, shape = plot.conditionals(sf.BayesClassifier().fit(rows, labels))
    twice = plot.conditionals(GaussianNB().fit(np.column_stack([rows["size"]] * 2), labels))
    assert [ax.get_legend() for ax in twice] == [None, None]
    assert len(twice[0].figure.legends[0].get_texts()) == 8
    assert size.get_legend().get_title().get_text() == "8 of 20 classes"
    assert len(shape.images) == 1
    asked = plot.conditionals(sf.BayesClassifier().fit(rows, labels), ["size"], labels=["kind 3", "kind 19"])[0]
    assert [text.get_text() for text in asked.get_legend().get_texts()] == ["kind 3", "kind 19"]


def test_of_many_categories_those_that_differ_most_are_drawn():
    rows = {"town": [f"town {int(v) % 30}" for v in np.arange(600)]}
    rows["town"][:200] = ["capital"] * 200
    ax = plot.conditionals(sf.BayesClassifier().fit(rows, np.repeat(["in", "out", "out"], 200)))[0]
    assert ax.get_xlabel() == "probability, 12 of 31 shown"
    assert "capital" in written(ax)


# --------------------------------------------------------------------------------------- regions


def test_regions_are_what_is_predicted_and_contours_hold_their_share():
    model = QuadraticDiscriminantAnalysis().fit(X, Y)
    shown = plot.DecisionRegionsDisplay.from_estimator(model, X, Y, grid_resolution=120)
    grid = np.stack([each.ravel() for each in np.meshgrid(shown.x, shown.y)], axis=1)
    predicted = model.predict(grid).reshape(120, 120)
    assert_array_equal(model.classes_[shown.posterior.argmax(axis=0)], predicted)
    image = shown.ax_.images[0].get_array()
    assert_array_equal(model.classes_[image], predicted)
    # Half of a Gaussian lies where the log-density is less than −log(1 − ½) below its peak.
    wide = plot.DecisionRegionsDisplay.from_estimator(model, grid_resolution=300)
    for i in range(3):
        nine, half = wide.levels(i)
        peak = wide.log_density[i].max()
        assert_allclose([peak - half, peak - nine], [np.log(2), np.log(10)], rtol=0.06)


def test_regions_of_two_columns_of_many_leave_the_others_missing(mixed):
    shown = plot.DecisionRegionsDisplay.from_estimator(mixed, columns=("age", "right"), grid_resolution=20)
    rows = {name: [None] * 400 for name in TABLE}
    a, b = np.meshgrid(shown.x, shown.y)
    rows |= {"age": a.ravel(), "right": b.ravel()}
    assert_allclose(shown.posterior.reshape(3, -1).T, mixed.predict_proba(rows), rtol=1e-9)
    assert shown.names == ("age", "right")


def test_regions_stand_side_by_side_and_name_their_classes():
    both = {"naive": GaussianNB().fit(X, Y), "full": QuadraticDiscriminantAnalysis().fit(X, Y)}
    axes = plot.decision_regions(both, X, Y, grid_resolution=60)
    assert [ax.get_title() for ax in axes] == ["naive", "full"]
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert {"ash", "birch", "cedar"} <= set(written(axes[0]))
    markers = {
        tuple(map(tuple, each.get_paths()[0].vertices.round(3)))
        for each in axes[0].collections
        if len(each.get_offsets()) > 1
    }
    assert len(markers) == 3


def test_regions_of_counts_and_of_positive_numbers_stay_where_these_can_be():
    counts = plot.DecisionRegionsDisplay.from_estimator(PoissonNB().fit(N, Y), N, Y, grid_resolution=30)
    assert counts.x[0] == 0
    times = sf.BayesClassifier({"a": sf.LogNormal(), "b": sf.Exponential()})
    rows = {"a": np.exp(X[:, 0]), "b": np.exp(X[:, 1])}
    shown = plot.DecisionRegionsDisplay.from_estimator(times.fit(rows, Y), rows, Y, grid_resolution=30)
    assert shown.x[0] > 0
    assert np.isfinite(shown.posterior).all()


def test_regions_of_pandas_rows_with_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["height", "width"])
    ax = plot.decision_regions(GaussianNB().fit(frame, Y), frame.assign(kind=Y), "kind", grid_resolution=30)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "width")


@pytest.mark.parametrize("classes", [1, 2, 12])
def test_regions_of_one_two_and_many_classes(classes):
    labels = np.arange(180) % classes
    assert plot.decision_regions(GaussianNB().fit(X, labels), X, labels, grid_resolution=30).has_data()


# --------------------------------------------------------------------------------------- evidence


def test_the_waterfall_ends_at_the_log_odds(mixed):
    shown = plot.EvidenceDisplay.from_estimator(mixed, TABLE, row=7, label="birch", against="ash")
    p = mixed.predict_proba({name: values[7:8] for name, values in TABLE.items()})[0]
    assert_allclose(shown.log_odds, np.log(p[1] / p[0]), rtol=1e-9)
    assert shown.steps[0][0] == "prior"
    assert shown.steps[-1][0] == "rest"
    text = written(shown.ax_)
    assert "log-odds of birch against ash" in text
    assert f"age = {TABLE['age'][7]:.4g}" in text
    signs = {np.sign(patch.get_width()): patch.get_hatch() for patch in shown.ax_.patches[:-1]}
    assert signs[1.0] != signs[-1.0]


@pytest.mark.parametrize(
    "rows", [X, X.tolist(), [{"a": a, "b": b} for a, b in X.tolist()]], ids=["array", "lists", "records"]
)
def test_the_waterfall_of_rows_of_any_kind(rows):
    clf = sf.BayesClassifier().fit(rows, Y)
    shown = plot.EvidenceDisplay.from_estimator(clf, rows, row=100, label="birch", against="ash")
    p = clf.predict_proba(rows)[100]
    assert_allclose(shown.log_odds, np.log(p[1] / p[0]), atol=1e-9)
    assert all(" = " in name for name, _ in shown.steps[1:-1])


def test_what_rounding_leaves_is_no_calibration():
    clf = sf.BayesClassifier(calibrate=False).fit(X, Y)
    for row in range(0, 180, 9):
        names = [name for name, _ in plot.EvidenceDisplay.from_estimator(clf, X, row=row).steps]
        assert names[0] == "prior"
        assert "rest" not in names
        plt.close("all")
    raw = sf.TextClassifier(calibrate=False, event="multinomial").fit(TEXTS, KINDS)
    shown = plot.EvidenceDisplay.from_estimator(raw, "Buy the cheap lunch now and claim")
    assert "rest" not in [name for name, _ in shown.steps]


def test_the_waterfall_of_a_text_names_its_words(texts):
    shown = plot.EvidenceDisplay.from_estimator(texts, "Claim your lunch now", most=2)
    p = texts.predict_proba(["Claim your lunch now"])[0]
    assert_allclose(shown.log_odds, np.log(p[1] / p[0]), rtol=1e-9)
    assert any("others" in name for name, _ in shown.steps)
    assert len(shown.steps) <= 5


def test_a_class_that_is_ruled_out_is_drawn_and_said_to_be_so():
    model = CategoricalNB(alpha=0, force_alpha=True).fit([[0], [0], [1]], ["a", "a", "b"])
    shown = plot.EvidenceDisplay.from_estimator(model, [[0]])
    assert shown.log_odds == -np.inf
    assert "−∞" in written(shown.ax_)


# --------------------------------------------------------------------------------------- how good it is


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_calibration_error_is_the_same_in_the_picture_and_in_an_evaluation():
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(3), 400)
    y = np.array(list("abc"))[[rng.choice(3, p=row) for row in p]]
    shown = plot.ReliabilityDisplay.from_predictions(y, p, classes=list("abc"))
    assert_allclose(shown.error, Evaluation.of(y, list("abc"), p).calibration_error)


def test_reliability_counts_what_happened_in_each_bin():
    p = np.array([0.05, 0.05, 0.15, 0.95, 0.95, 0.95, 0.95])
    y = np.array([0, 0, 1, 1, 1, 1, 0])
    shown = plot.ReliabilityDisplay.from_predictions(y, p, bins=10)
    assert_allclose(shown.said[[0, 1, 9]], [0.05, 0.15, 0.95])
    assert_allclose(shown.true[[0, 1, 9]], [0, 1, 0.75])
    assert_array_equal(shown.count, [2, 1, 0, 0, 0, 0, 0, 0, 0, 4])
    assert_allclose(shown.error, (2 * 0.05 + 0.85 + 4 * 0.2) / 7)
    assert shown.counts_ax_ is not None


def test_reliability_of_many_classes_is_that_of_the_predicted_one_or_of_one_that_is_named():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    y = ["a", "c", "c"]
    predicted = plot.ReliabilityDisplay.from_predictions(y, p, classes=list("abc"))
    assert predicted.event == "the predicted class"
    assert_allclose(np.nansum(predicted.said), 0.7 + 0.6 + 0.4)
    assert any("calibration error" in text for text in legend_texts(predicted.ax_))
    of_c = plot.ReliabilityDisplay.from_predictions(y, p, classes=list("abc"), label="c", bins=10)
    assert any("error of p(c)" in text for text in legend_texts(of_c.ax_))
    assert_allclose(of_c.said[[1, 3, 4]], [0.1, 0.3, 0.4])
    assert_allclose(of_c.true[[1, 3, 4]], [0, 1, 1])


def test_two_reliability_curves_share_axes_and_one_diagonal():
    _, ax = plt.subplots()
    for place, model in enumerate((GaussianNB(), LinearDiscriminantAnalysis())):
        plot.reliability(model.fit(X, Y), X, Y, ax=ax, place=place)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0] == "perfectly calibrated"
    assert len(labels) == 3


def test_confusion_counts_who_was_taken_for_whom():
    shown = plot.ConfusionDisplay.from_predictions(["a", "a", "b", "b", "b"], ["a", "b", "b", "b", "c"])
    assert_array_equal(shown.matrix, [[1, 1, 0], [0, 2, 1], [0, 0, 0]])
    assert_allclose(shown.share[1], [0, 2 / 3, 1 / 3])
    assert "3 of 5 right (60.0%)" in written(shown.ax_)


@pytest.mark.parametrize("classes", [2, 9, 20, 90])
def test_confusion_of_few_and_many_classes(classes):
    y = np.arange(400) % classes
    shown = plot.ConfusionDisplay.from_predictions(y, np.roll(y, 1))
    assert len(shown.ax_.get_xticks()) <= 45


def test_labels_may_be_a_column_of_the_table(mixed):
    whole = TABLE | {"tree": Y.tolist()}
    by_name, by_hand = (plot.ConfusionDisplay.from_estimator(mixed, whole, y) for y in ("tree", Y))
    assert_array_equal(by_name.matrix, by_hand.matrix)


# --------------------------------------------------------------------------------------- words


@pytest.mark.parametrize("by", ["log_odds", "probability", "information"])
def test_top_words_are_the_top_features_of_each_class(texts, by):
    shown = plot.TopWordsDisplay.from_estimator(texts, 3, by=by)
    for ax, label in zip(shown.axes_, texts.classes_, strict=True):
        table = texts.top_features(label, 3, by)
        assert ax.get_title() == label
        assert [tick.get_text() for tick in ax.get_yticklabels()] == list(table.rows)
        assert_allclose([bar.get_width() for bar in ax.patches], table.values[:, table.columns.index(by)])


def test_top_values_of_a_table_are_drawn_too(mixed):
    assert plot.top_words(mixed, 4, by="probability")[0].has_data()


def test_a_word_that_only_one_class_has_is_drawn_to_the_end():
    clf = sf.TextClassifier(event="multinomial", smoothing=0.0, ngrams=(1, 1), calibrate=False).fit(TEXTS, KINDS)
    ax = plot.top_words(clf, 3, labels=["spam"])[0]
    assert np.isfinite([bar.get_width() for bar in ax.patches]).all()
    assert "∞" in written(ax)


def test_words_of_a_linear_model_are_ranked_by_their_coefficients():
    shown = plot.TopWordsDisplay.from_coefficients([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], ["x", "y", "z"], ["a", "b"], 2)
    assert [list(table.rows) for table in shown.tables] == [["x", "z"], ["y", "z"]]
    assert [tick.get_text() for tick in shown.axes_[1].get_yticklabels()] == ["y", "z"]
    with pytest.raises(sf.MismatchError, match="of 2 classes and 3 words"):
        plot.TopWordsDisplay.from_coefficients([[3.0, 1.0, 2.0]], ["x", "y", "z"], ["a", "b"])


# --------------------------------------------------------------------------------------- names


def test_long_names_are_cut_in_the_middle_and_stay_different():
    assert style.shorten("short") == "short"
    assert style.shorten("a" * 30 + "b" * 30, 9) == "aaaa…bbbb"
    assert len(style.shorten("x" * 100)) == style.NAME_LENGTH
    assert style.shorten("two\nlines\tand $x^2$") == r"two lines and \$x^2\$"
    long = [f"a class of a long name, number {i}, that goes on and on" for i in (1, 2, 30)]
    assert style.distinct_names(long) == ["…1…", "…2…", "…30…"]
    assert len(set(style.distinct_names(["x" * 40 + "a" + "y" * 40 + t for t in "pq"] + ["z" * 90]))) == 3


def test_hostile_names_are_drawn_as_they_are():
    rows = {"$\\frac{": X[:, 0], "<script>": X[:, 1]}
    labels = np.array(["$a$", "_hidden", "x" * 300])[np.arange(180) // 60]
    for ax in plot.conditionals(sf.BayesClassifier().fit(rows, labels)):
        ax.figure.canvas.draw()
        assert len(ax.get_legend().get_texts()) == 3
    plot.confusion(sf.BayesClassifier().fit(rows, labels), rows, labels).figure.canvas.draw()


# --------------------------------------------------------------------------------------- what is refused


def test_what_is_wrong_is_said(mixed, texts):
    with pytest.raises(sf.MismatchError, match=r"no column 'agee'\. Did you mean 'age'"):
        plot.conditionals(mixed, ["agee"])
    with pytest.raises(sf.InvalidOptionError, match=r"two columns, and there are 6: choose two with columns=\(…, …\)"):
        plot.decision_regions(mixed)
    with pytest.raises(sf.InvalidOptionError, match="two columns, and there are 1"):
        plot.decision_regions(mixed, columns=("age",))
    with pytest.raises(sf.InvalidOptionError, match="two columns, and there are 1"):
        plot.decision_regions(mixed, columns=("age", "age"))
    with pytest.raises(sf.MismatchError, match="Did you mean 'right'"):
        plot.decision_regions(mixed, columns=("age", "rigt"))
    with pytest.raises(sf.InvalidOptionError, match="over numbers, and column 'job' holds none"):
        plot.decision_regions(mixed, columns=("age", "job"))
    with pytest.raises(sf.InvalidOptionError, match="grid_resolution must be at least 2"):
        plot.decision_regions(GaussianNB().fit(X, Y), grid_resolution=1)
    with pytest.raises(sf.InvalidDataError, match="180 rows and 3 labels"):
        plot.decision_regions(GaussianNB().fit(X, Y), X, Y[:3])
    with pytest.raises(sf.InvalidOptionError, match="There are 5 panels to draw, but ax holds 1 axes"):
        plot.conditionals(mixed, ax=plt.subplots()[1])
    with pytest.raises(sf.InvalidOptionError, match="ax must be matplotlib axes, found str"):
        plot.confusion(GaussianNB().fit(X, Y), X, Y, ax="here")
    with pytest.raises(sf.MismatchError, match="No class 'oak'"):
        plot.conditionals(mixed, labels=["oak"])
    with pytest.raises(sf.MismatchError, match="No class 'oak'"):
        plot.reliability(mixed, TABLE, Y, label="oak")
    with pytest.raises(sf.InvalidDataError, match="There is no row 400: there are 180"):
        plot.evidence(mixed, TABLE, row=400)
    with pytest.raises(sf.InvalidOptionError, match="most must be at least 1"):
        plot.evidence(mixed, TABLE, most=0)
    with pytest.raises(sf.InvalidDataError, match="2 labels and 1 predictions"):
        plot.ConfusionDisplay.from_predictions(["a", "b"], ["a"])
    with pytest.raises(sf.MismatchError, match="'b' is none of the labels"):
        plot.ConfusionDisplay.from_predictions(["a", "b"], ["a", "a"], labels=["a"])
    with pytest.raises(sf.InvalidDataError, match="between 0 and 1"):
        plot.ReliabilityDisplay.from_predictions([0, 1], [0.5, 1.5])
    with pytest.raises(sf.MismatchError, match="2 columns of probabilities but 3 classes"):
        plot.ReliabilityDisplay.from_predictions([0, 1, 2], [0.5, 0.5, 0.1])
    with pytest.raises(sf.InvalidOptionError, match="bins must be"):
        plot.ReliabilityDisplay.from_predictions([0, 1], [0.5, 0.5], bins=0)
    with pytest.raises(sf.InvalidOptionError, match="by must be one of"):
        plot.top_words(texts, by="size")
    with pytest.raises(sf.InvalidOptionError, match="metric must be one of"):
        plot.LearningCurvesDisplay(None, "speed")


@pytest.mark.parametrize("draw", [plot.conditionals, plot.decision_regions, plot.top_words])
def test_what_was_not_fitted_cannot_be_drawn(draw):
    with pytest.raises(NotFittedError):
        draw(GaussianNB())
