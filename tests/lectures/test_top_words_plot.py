"""The most telling words of each newsgroup as a picture: for naive Bayes, and for logistic regression."""

import matplotlib as mpl
import numpy as np
import pyarrow.parquet
import pytest
from sklearn.linear_model import LogisticRegression

import suffice as sf
from lectures.test_top_words_text import LECTURE
from suffice import plot
from suffice.text import BagOfWords

mpl.use("Agg")
import matplotlib.pyplot as plt

# Some of the lecture's column of logistic regression; others in it are the oddity of a single document.
REGRESSION = {
    "comp.sys.mac.hardware": "mac",
    "rec.autos": "car",
    "rec.motorcycles": "bike",
    "sci.crypt": "encryption",
}


@pytest.fixture
def bodies(data_dir):
    table = pyarrow.parquet.read_table(data_dir / "20newsgroups-train.parquet", columns=["label", "body"])
    yield table["body"].to_pylist(), np.array(table["label"].to_pylist())
    plt.close("all")


def first_words(axes):
    """What is written at the top bar of each panel."""
    return [ax.get_yticklabels()[0].get_text() for ax in axes]


def test_the_first_words_drawn_are_the_lectures(bodies):
    clf = sf.TextClassifier(event="bernoulli", ngrams=(1, 1), stop_words="english", smoothing=1.0, calibrate=False)
    shown = plot.TopWordsDisplay.from_estimator(clf.fit(*bodies), 5, by="probability")
    assert tuple(first_words(shown.axes_)) == LECTURE
    assert [ax.get_title() for ax in shown.axes_] == clf.classes_.tolist()
    for ax in shown.axes_:
        widths = [bar.get_width() for bar in ax.patches]
        assert len(widths) == 5
        assert widths == sorted(widths, reverse=True)


def test_the_words_of_logistic_regression_are_drawn_beside_them(bodies):
    texts, labels = bodies
    own = np.isin(labels, list(REGRESSION))
    bags = BagOfWords(binary=True, stop_words="english", max_features=10000, dtype=np.float64)
    x = bags.fit_transform([text for text, some in zip(texts, own, strict=True) if some])
    model = LogisticRegression(max_iter=200).fit(x, labels[own])
    shown = plot.TopWordsDisplay.from_coefficients(model.coef_, bags.get_feature_names_out(), model.classes_, 3)
    assert dict(zip(model.classes_.tolist(), first_words(shown.axes_), strict=True)) == REGRESSION


def test_the_picture_is_drawn_without_data_from_afar_too():
    texts = ["the car and the bike", "a bike is fast", "god is love", "love and god"]
    clf = sf.TextClassifier(event="bernoulli", ngrams=(1, 1), stop_words="english", smoothing=1.0, calibrate=False)
    clf.fit(texts, ["ride", "ride", "faith", "faith"])
    axes = plot.top_words(clf, 2, by="probability")
    assert {tick.get_text() for tick in axes[0].get_yticklabels()} == {"god", "love"}
    assert first_words(axes)[1] == "bike"
    plt.close("all")
