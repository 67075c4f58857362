"""Texts as bags of words: against scikit-learn's counts and multinomial model in the same run."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

import suffice as sf
from suffice.errors import InvalidOptionError
from suffice.model import leave_one_out
from suffice.statistics import Documents, WordCounts

SAD, GLAD = (
    ["rain and more rain", "Cold rain, cold wind!", "no sun at all"],
    ["sun, sun, SUN", "a warm wind", "über-warm"],
)
TEXTS, LABELS = SAD + GLAD, np.repeat(["sad", "glad"], 3)


def long_texts(n, seed=0, vocabulary=60):
    rng = np.random.default_rng(seed)
    words = np.array([f"word{i}" for i in range(vocabulary)])
    y = rng.integers(0, 2, n)
    share = 0.5 * rng.dirichlet(np.full(vocabulary, 0.3), 2) + 0.5 / vocabulary
    return [" ".join(rng.choice(words, 12, p=share[c])) for c in y], np.array(["no", "yes"])[y]


def test_words_and_counts_are_those_of_scikit_learns_vectorizer():
    found = Documents.of(TEXTS)
    peer = CountVectorizer().fit(TEXTS)
    assert_array_equal(found.vocabulary, peer.get_feature_names_out())
    assert_array_equal(found.over(found.vocabulary).toarray(), peer.transform(TEXTS).toarray())
    some = found[[4, 0]]
    assert_array_equal(some.over(found.vocabulary).toarray(), peer.transform([TEXTS[4], TEXTS[0]]).toarray())


def test_the_model_is_scikit_learns_multinomial_naive_bayes():
    model = sf.Model.fit(TEXTS, LABELS, sf.Text())
    peer = CountVectorizer().fit(TEXTS)
    theirs = MultinomialNB().fit(peer.transform(TEXTS), LABELS)
    new = ["rain in the sun", "nothing known", "", "warm warm"]
    assert_allclose(model.log_posterior(Documents.of(new)), theirs.predict_log_proba(peer.transform(new)), rtol=1e-12)


def test_a_missing_text_and_unknown_words_say_nothing():
    model = sf.Model.fit(TEXTS, LABELS, sf.Text())
    assert_allclose(model.log_conditional(Documents.of([None, "zzz qqq", ""])), 0.0)


def test_parts_merge_over_the_union_of_their_words_and_can_be_taken_away():
    family = sf.Text()
    whole, first, second = (
        family.summarize(TEXTS[part], LABELS[part], np.arange(1.0, 7.0)[part])
        for part in (slice(None), slice(0, 4), slice(4, 6))
    )
    assert first + second == whole
    assert whole - second == first
    assert isinstance(whole.statistic, WordCounts)
    assert whole.statistic.keys[0][0] == "", "texts are counted too"
    assert_array_equal(whole.statistic.weight[:, 0], [15.0, 6.0])


@pytest.mark.parametrize("family", [sf.Text(), sf.Text(prior=sf.Dirichlet(0.3), learn="predictive")], ids=str)
def test_leaving_one_out_is_the_model_of_the_others_over_the_same_words(family):
    texts, y = long_texts(40, vocabulary=12)
    statistics = family.summarize(texts, y)
    found = leave_one_out(statistics, family, sf.ClassPrior(), texts, y)
    for i in (0, 7, 39):
        rest = statistics - family.summarize(texts[i : i + 1], y[i : i + 1])
        again = sf.Model.of(rest, family).log_joint(Documents.of(texts[i : i + 1]))[0]
        gone = len(statistics.statistic.keys[0]) - len(rest.statistic.keys[0])
        assert gone == 0, "every word is in some other text here"
        assert_allclose(found[i], again, rtol=1e-10)


def test_drawn_texts_have_the_words_and_lengths_of_their_class():
    texts, y = long_texts(300)
    model = sf.Model.fit(texts, y, sf.Text(prior=None))
    drawn, _ = model.sample(400, "yes", 0)
    counts = Documents.of(drawn[:, 0]).over(model.distributions[0].vocabulary)
    assert abs(counts.sum() / 400 - 12) < 0.6
    share = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
    assert np.abs(share - model.distributions[0].words.probability[1]).max() < 0.02


def test_long_texts_in_a_table_are_read_as_words_and_learn_with_the_rest():
    texts, y = long_texts(300)
    table = {"note": texts, "size": np.where(y == "yes", 1.0, 0.0) + np.random.default_rng(1).normal(size=300), "y": y}
    clf = sf.BayesClassifier().fit(table, "y")
    assert dict(zip(clf.schema_.rows, clf.schema_.values[:, 0], strict=True))["note"] == "Text"
    assert clf.score(table, "y") > 0.9
    top = clf.top_features("yes", 3)
    assert all(row.startswith("note: word") for row in top.rows)
    said = clf.evidence({"note": texts[:3], "size": [0.0, 1.0, None]})
    assert_allclose(
        np.array(said["prior"]) + said["note"] + said["size"] + said["calibration"], said["log_odds"], rtol=1e-9
    )
    halves = [sf.BayesClassifier().fit({k: v[a:b] for k, v in table.items()}, "y") for a, b in ((0, 150), (150, 300))]
    assert_allclose((halves[0] + halves[1]).predict_proba(table), clf.predict_proba(table), rtol=1e-9)
    drawn, _ = clf.sample(2, random_state=0)
    assert all(isinstance(text, str) for text in drawn["note"])
    filled = clf.impute({"note": [texts[0], None], "size": [None, 1.0]})
    assert filled["note"][1] is None, "a text cannot be made up"


def test_a_number_is_no_text():
    with pytest.raises(InvalidOptionError, match="Text reads text, but column 'x' holds int64"):
        sf.BayesClassifier({"x": sf.Text()}).fit(pa.table({"x": [1, 2, 3], "y": ["a", "b", "a"]}), "y")
