"""Learning curves: a generative model is better with few rows, logistic regression overtakes it with many."""

import matplotlib as mpl
import numpy as np
import pyarrow.parquet
import pytest
from sklearn.datasets import load_breast_cancer

import suffice as sf
from suffice.naive_bayes import GaussianNB

mpl.use("Agg")


@pytest.fixture(scope="module")
def cancer():
    return sf.compare(GaussianNB(), *load_breast_cancer(return_X_y=True), sizes=[10, 20, 60, 200, 398], repeats=7)


def test_naive_bayes_is_better_with_few_rows_and_overtaken_with_many(cancer):
    gain = cancer.gain("accuracy")
    assert gain[0] < -0.01
    assert gain[-1] > 0.02
    assert 10 < cancer.crossing("accuracy") < 200
    assert cancer.verdict("accuracy").startswith("By accuracy, logistic regression overtakes GaussianNB at about")


def test_naive_bayes_is_soon_as_good_as_it_gets_and_logistic_regression_goes_on_learning(cancer):
    naive, logistic = (np.median(each, axis=1) for each in cancer.accuracy)
    assert naive[-1] - naive[1] < 0.02
    assert logistic[-1] - logistic[1] > 0.03


def test_counting_is_faster_than_descending_a_gradient(cancer):
    naive, logistic = np.median(cancer.seconds[:, -1], axis=1)
    assert naive < logistic / 5


def test_the_plot_shows_the_crossing(cancer):
    ax = cancer.plot()
    assert [line.get_label() for line in ax.get_lines()[:2]] == ["GaussianNB", "logistic regression"]
    at = ax.get_lines()[2].get_xdata()[0]
    assert at == pytest.approx(cancer.crossing("accuracy"))
    assert any("they cross at" in text.get_text() for text in ax.texts)


def test_where_its_assumptions_hold_the_generative_model_is_not_overtaken():
    """Independent Gaussians: then logistic regression is right as well, but needs more rows to find out."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    x = rng.normal(size=(2000, 20)) + 0.5 * y[:, None]
    found = sf.compare(GaussianNB(), x, y, sizes=[60, 200, 1400], repeats=7)
    gain = found.gain("accuracy")
    assert gain.max() < 0.01
    assert gain.min() < -0.005
    assert abs(gain[-1]) < 0.01


def test_on_census_data_one_line_is_better_with_few_rows_and_with_many(data_dir):
    adult = pyarrow.parquet.read_table(data_dir / "adult-train.parquet").slice(0, 4000)
    found = sf.compare(sf.BayesClassifier(), adult, "income", sizes=[200, 2800], repeats=5)
    gain = found.gain("log_loss")
    assert gain[0] < 0
    assert gain[-1] < 0
