"""A column of texts: the family alone, and among other columns of a table."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

import suffice as sf
from suffice.core.errors import InvalidOptionError, InvalidTextError, NoDistributionError, NoLinearFormError
from suffice.core.statistics import WordCounts
from suffice.core.words import Texts
from suffice.families import page_words
from suffice.families import text as text_family
from suffice.families.text import TextDistribution
from suffice.model.joint import leave_one_out
from suffice.model.storage import from_bytes, to_bytes
from text_oracle import Corpus, left_out, random_texts

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


# ---- the family alone


def test_the_model_is_scikit_learns_multinomial_naive_bayes():
    model = sf.Model.fit(TEXTS, LABELS, sf.Text())
    peer = CountVectorizer().fit(TEXTS)
    theirs = MultinomialNB().fit(peer.transform(TEXTS), LABELS)
    new = ["rain in the sun", "nothing known", "", "warm warm"]
    assert_allclose(model.log_posterior(Texts.of(new)), theirs.predict_log_proba(peer.transform(new)), rtol=1e-12)
    assert_array_equal(model.distribution.vocabulary.names, peer.get_feature_names_out())


def test_a_missing_text_and_unknown_words_say_nothing():
    for family in (sf.Text(), sf.Text(event="complement"), sf.Text(learn="predictive"), sf.Text(prior=None)):
        model = sf.Model.fit(TEXTS, LABELS, family)
        assert_array_equal(model.log_conditional(Texts.of([None, "zzz qqq", ""])), 0.0)


def test_where_every_word_counts_as_there_or_not_an_empty_text_says_much():
    model = sf.Model.fit(TEXTS, LABELS, sf.Text(event="bernoulli"))
    missing, empty, unknown = model.log_conditional(Texts.of([None, "", "zzz"]))
    assert_array_equal(missing, 0.0)
    assert (empty < 0).all()
    assert_array_equal(empty, unknown)


def test_texts_are_read_from_whatever_holds_them():
    model = sf.Model.fit(TEXTS, LABELS, sf.Text())
    expected = model.log_joint(Texts.of(TEXTS))
    column = np.array(TEXTS, dtype=object)
    for held in (
        TEXTS,
        tuple(TEXTS),
        [text.encode() for text in TEXTS],
        column,
        column[:, None],
        [[text] for text in TEXTS],
        np.array(TEXTS),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:2], [], TEXTS[2:]]),
        pa.array(TEXTS, type=pa.large_string()),
        pa.array(TEXTS).dictionary_encode(),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="category"),
        pl.Series(TEXTS),
    ):
        assert_array_equal(model.log_joint(held), expected)
        assert_array_equal(sf.Model.fit(held, LABELS, sf.Text()).log_joint(TEXTS), expected)


def test_parts_merge_over_the_union_of_their_words_and_can_be_taken_away():
    family = sf.Text(keep=4)
    whole, first, second = (
        family.summarize(TEXTS[rows], LABELS[rows], np.arange(1.0, 7.0)[rows])
        for rows in (slice(None), slice(0, 4), slice(4, 6))
    )
    assert first + second == whole
    assert isinstance(whole.statistic, WordCounts)
    assert_array_equal(whole.statistic.documents, [15.0, 6.0])
    assert_array_equal(whole.weight, [15.0, 6.0])
    assert_array_equal((whole - second).statistic.total, first.statistic.total)
    assert (whole - second).statistic.vocabulary == first.statistic.vocabulary


@pytest.mark.parametrize(
    ("family", "event", "added"),
    [
        (sf.Text(), "multinomial", 1.0),
        (sf.Text(prior=sf.Dirichlet(0.3), learn="predictive"), "urn", 0.3),
        (sf.Text(prior=sf.Dirichlet(1.3), learn="map"), "multinomial", 0.3),
        (sf.Text(event="complement", prior=sf.Dirichlet(0.2)), "complement", 0.2),
        (sf.Text(event="bernoulli"), "bernoulli", 1.0),
    ],
    ids=str,
)
def test_leaving_one_out_is_the_model_of_the_others_over_the_same_words(family, event, added):
    texts, y = long_texts(40, vocabulary=12)
    codes = np.searchsorted(["no", "yes"], y).astype(np.int32)
    found = leave_one_out(family.summarize(texts, y), family, sf.ClassPrior(), texts, y)
    expected = left_out(event, added, Corpus(texts, term=family.term_weight), codes, 2)
    rest = np.bincount(codes) - np.eye(2)[codes]
    expected += np.log(rest / rest.sum(axis=1, keepdims=True))
    assert_allclose(found[:, 1] - found[:, 0], expected[:, 1] - expected[:, 0], rtol=1e-9, atol=1e-10)


def test_drawn_texts_have_the_words_and_lengths_of_their_class():
    texts, y = long_texts(300)
    model = sf.Model.fit(texts, y, sf.Text(prior=None))
    drawn, _ = model.sample(400, "yes", 0)
    found = model.distribution
    counts = Corpus(list(drawn[:, 0]), vocabulary=found.vocabulary.names).count
    assert abs(counts.sum() / 400 - 12) < 0.6
    own = Corpus([t for t, label in zip(texts, y, strict=True) if label == "yes"], vocabulary=found.vocabulary.names)
    share = own.count.sum(axis=0) / own.count.sum()
    assert np.abs(counts.sum(axis=0) / counts.sum() - share).max() < 0.02


def test_texts_drawn_word_by_word_or_not_at_all():
    texts, y = long_texts(200, vocabulary=8)
    model = sf.Model.fit(texts, y, sf.Text(event="bernoulli"))
    drawn, labels = model.sample(500, random_state=1)
    for label in ("no", "yes"):
        mine = Corpus(list(drawn[labels == label, 0]), vocabulary=model.distribution.vocabulary.names)
        assert mine.count.max() == 1
        seen = Corpus([t for t, c in zip(texts, y, strict=True) if c == label], term="binary").value.mean(axis=0)
        assert np.abs(mine.count.mean(axis=0) - seen).max() < 0.12
    for options in ({"analyzer": "char"}, {"n_features": 8}, {"ngrams": (2, 2)}):
        with pytest.raises(NoDistributionError):
            sf.Model.fit(texts, y, sf.Text(**options)).sample(1)
    empty, _ = sf.Model.fit(["a", "b"], [0, 1], sf.Text()).sample(2, random_state=0)
    assert empty[:, 0].tolist() == ["", ""]


def test_how_many_parameters_there_are():
    for family, expected in [(sf.Text(), 20), (sf.Text(event="bernoulli"), 22), (sf.Text(event="complement"), 22)]:
        found = family.estimate(family.summarize(TEXTS, LABELS).statistic)
        assert len(found.vocabulary) == 11
        assert found.n_parameters == expected


@pytest.mark.parametrize("most", [1, 7, 30])
def test_a_page_holds_the_words_of_which_scores_vary_most(most, monkeypatch):
    """Those of the largest n_j Var_y(log θ_jy), by the counts of a class that has few texts and one that has many."""
    texts, y = long_texts(200)
    some = np.flatnonzero((np.array(y) == "no") | (np.arange(200) < 20))
    texts, y = [texts[i] for i in some], np.array(y)[some]
    found = sf.Model.fit(texts, y, sf.Text()).distribution
    n = np.stack([Corpus(texts, vocabulary=found.vocabulary.names).count[y == c].sum(axis=0) for c in ("no", "yes")])
    log_theta = np.log((n + 1) / (n + 1).sum(axis=1, keepdims=True))
    told = n.sum(axis=0) * log_theta.var(axis=0)
    assert found.for_page is found, "there is room for all"
    for module in (page_words, text_family):
        monkeypatch.setattr(module, "MOST_WORDS", most)
    some = np.sort(np.argsort(-told, kind="stable")[:most])
    fewer = sf.Model.fit(texts, y, sf.Text()).distribution.for_page
    assert_array_equal(fewer.vocabulary.names, np.array(found.vocabulary.names)[some])


def test_tables_show_the_likeliest_words():
    model = sf.Model.fit(TEXTS, LABELS, sf.Text())
    table = model.tables(["weather"])[1]
    assert table.title == "weather"
    assert table.columns == ["glad", "sad"]
    assert table.rows[0] == "sun" or table.rows[0] == "rain"
    total, _ = Corpus(TEXTS).totals(np.repeat([1, 0], 3), 2)
    share = (total + 1) / (total + 1).sum(axis=1, keepdims=True)
    order = np.argsort(-share.max(axis=0), kind="stable")
    assert table.rows == [Corpus(TEXTS).vocabulary[i] for i in order]
    assert_allclose(table.values, share[:, order].T)


def test_a_text_has_no_linear_form_and_one_column():
    family = sf.Text()
    found = family.estimate(family.summarize(TEXTS, LABELS).statistic)
    assert found.n_columns == 1
    with pytest.raises(NoLinearFormError):
        found.linear()


def test_families_with_equal_options_are_equal_and_can_be_kept():
    family = sf.Text(event="auto", ngrams=(1, 2), stop_words=["the", "an", "the"], strip_accents="ascii")
    assert family.stop_words == ("an", "the")
    assert family.prior == "auto"
    assert (family.term_weight, family.length_norm, family.keep) == ("sqrt", "l2", 5000)
    again = from_bytes(to_bytes(family))
    assert again == family
    assert again != sf.Text()
    assert pickle.loads(pickle.dumps(family)) == family
    assert sf.Text().keep == 0
    assert "event='multinomial'" in repr(sf.Text())


def test_a_distribution_survives_pickling():
    family = sf.Text(event="auto", ngrams=(1, 2))
    found = family.estimate(family.summarize(TEXTS, LABELS).statistic)
    found.log_density(TEXTS)
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again, TextDistribution)
    assert_array_equal(again.log_density(TEXTS), found.log_density(TEXTS))


def test_what_is_no_text_is_named():
    with pytest.raises(InvalidTextError, match="Document 1 is no text but int"):
        sf.Text().summarize(["good", 3], ["a", "b"])
    with pytest.raises(InvalidTextError, match="single text"):
        sf.Text().summarize("good", ["a"])


# ---- a column among others


def table_of(n=300, seed=0):
    texts, y = long_texts(n, seed)
    noise = np.random.default_rng(1).normal(size=n)
    return {"note": texts, "size": np.where(y == "yes", 1.0, 0.0) + noise, "y": y}


def test_long_texts_in_a_table_are_read_as_words_and_learn_with_the_rest():
    table = table_of()
    texts = table["note"]
    clf = sf.BayesClassifier().fit(table, "y")
    assert dict(zip(clf.schema_.rows, clf.schema_.values[:, 0], strict=True))["note"] == "text"
    assert clf.score(table, "y") > 0.9
    top = clf.top_features("yes", 3)
    assert all(row.startswith("note: word") for row in top.rows)
    said = clf.evidence({"note": texts[:3], "size": [0.0, 1.0, None]})
    assert_allclose(np.array(said["prior"]) + said["note"] + said["size"] + said["rest"], said["log_odds"], rtol=1e-9)
    halves = [sf.BayesClassifier().fit({k: v[a:b] for k, v in table.items()}, "y") for a, b in ((0, 150), (150, 300))]
    assert_allclose((halves[0] + halves[1]).predict_proba(table), clf.predict_proba(table), rtol=1e-9)
    drawn, _ = clf.sample(2, random_state=0)
    assert all(isinstance(text, str) for text in drawn["note"])
    filled = clf.impute({"note": [texts[0], None], "size": [None, 1.0]})
    assert filled["note"][1] is None, "a text cannot be made up"


@pytest.mark.parametrize("event", ["multinomial", "complement", "bernoulli", "auto"])
def test_a_column_of_texts_takes_any_event_and_adds_to_the_others(event):
    table = table_of(80)
    family = sf.Text(event=event, ngrams=(1, 2))
    clf = sf.BayesClassifier({"note": family, "size": sf.Gaussian()}, calibrate=False).fit(table, "y")
    text = sf.Model.fit(table["note"], table["y"], family)
    number = sf.Model.fit(np.array(table["size"])[:, None], table["y"], sf.Gaussian())
    joint = text.log_joint(table["note"]) + number.log_conditional(np.array(table["size"])[:, None])
    joint -= np.logaddexp.reduce(joint, axis=1, keepdims=True)
    assert_allclose(clf.predict_log_proba(table), joint, rtol=1e-8, atol=1e-10)


def test_a_missing_text_in_a_table_leaves_the_rest_to_speak():
    table = table_of(80)
    clf = sf.BayesClassifier({"note": sf.Text(), "size": sf.Gaussian()}, calibrate=False).fit(table, "y")
    alone = sf.BayesClassifier({"size": sf.Gaussian()}, calibrate=False).fit({k: table[k] for k in ("size", "y")}, "y")
    row = {"note": pa.array([None], pa.string()), "size": [0.3]}
    assert_allclose(clf.predict_proba(row), alone.predict_proba({"size": [0.3]}), rtol=1e-10)


def test_a_table_with_texts_is_left_out_row_by_row_forgotten_and_kept():
    table = table_of(60)
    clf = sf.BayesClassifier({"note": sf.Text(), "size": sf.Gaussian()}, calibrate=False).fit(table, "y")
    found = clf.leave_one_out(table, "y")
    for i in (0, 31):
        others = {k: [v for j, v in enumerate(table[k]) if j != i] for k in table}
        rest = sf.BayesClassifier({"note": sf.Text(), "size": sf.Gaussian()}, calibrate=False).fit(others, "y")
        row = {"note": [table["note"][i]], "size": [table["size"][i]]}
        assert_allclose(found[i], rest.predict_log_proba(row)[0], rtol=1e-7, err_msg="no word is in one text alone")
    again = from_bytes(to_bytes(clf.statistics_.statistic))
    assert again == clf.statistics_.statistic
    rest = {k: v[:10] for k, v in table.items()}
    fresh = sf.BayesClassifier({"note": sf.Text(), "size": sf.Gaussian()}, calibrate=False)
    fresh.fit({k: v[10:] for k, v in table.items()}, "y")
    clf.forget(rest, "y")
    assert_allclose(clf.predict_proba(table), fresh.predict_proba(table), rtol=1e-7)


def test_a_number_is_no_text():
    with pytest.raises(InvalidOptionError, match="Text reads text, but column 'x' holds int64"):
        sf.BayesClassifier({"x": sf.Text()}).fit(pa.table({"x": [1, 2, 3], "y": ["a", "b", "a"]}), "y")


def test_random_texts_of_the_oracle_are_what_the_tests_think():
    texts, codes = random_texts(30)
    assert set(codes.tolist()) == {0, 1, 2}
    assert "" in texts
    assert max(len(Corpus([text]).vocabulary) for text in texts) > 3
