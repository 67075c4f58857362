"""Bad texts: a named error that says where and what, or the answer that is documented; a failure changes nothing."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import suffice as sf
from suffice.core.errors import InvalidDataError, InvalidOptionError, InvalidTextError, SufficeError
from suffice.text import BagOfWords

TEXTS = ["rain and more rain", "Cold rain, cold wind!", "sun, sun, SUN", "a warm wind"]
LABELS = np.array(["sad", "sad", "glad", "glad"])
EVENTS = ["auto", "multinomial", "complement", "bernoulli"]


def classifier(event: str = "multinomial", **options) -> sf.TextClassifier:
    return sf.TextClassifier(event=event, **({"ngrams": (1, 1), "smoothing": 1.0, "calibrate": False} | options))


def count(texts, **options):
    bag = BagOfWords(**options)
    x = bag.fit_transform(texts)
    return dict(zip(bag.get_feature_names_out(), x.toarray().T.tolist(), strict=True))


# ------------------------------------------------------------------------------------------- what is no text

# what is bad, the documents, what the error says
REFUSED = [
    ("bytes that are not UTF-8", [*TEXTS[:2], b"na\xefve", TEXTS[3]], r"(?s)ocument 2\b.*UTF-8"),
    ("bytes that end within a character", [*TEXTS[:3], "caf\u00e9".encode()[:-1]], r"(?s)ocument 3\b.*UTF-8"),
    ("bytes that spell a character too long", [*TEXTS[:3], b"\xc0\xafab"], r"(?s)ocument 3\b.*UTF-8"),
    ("bytes that spell a surrogate", [*TEXTS[:3], b"\xed\xa0\x80ab"], r"(?s)ocument 3\b.*(UTF-8|surrogate)"),
    ("a lone surrogate", [TEXTS[0], "half \ud83d of one", *TEXTS[2:]], r"(?s)ocument 1\b.*surrogate"),
    ("a number", [TEXTS[0], 3.5, *TEXTS[2:]], r"(?s)ocument 1\b.*float"),
    ("a whole number", [*TEXTS[:3], 7], r"(?s)ocument 3\b.*int"),
    ("a mapping", [*TEXTS[:3], {"text": "sun"}], r"(?s)ocument 3\b.*dict"),
    ("an array of numbers", np.array([1.0, 2.0, 3.0, 4.0]), r"(?s)float|double"),
    ("Arrow numbers", pa.array([1, 2, 3, 4]), r"(?s)int"),
]
IDS = [case[0] for case in REFUSED]


@pytest.mark.parametrize("method", ["fit", "partial_fit", "forget"])
@pytest.mark.parametrize(("texts", "message"), [case[1:] for case in REFUSED], ids=IDS)
def test_what_is_no_text_is_refused_where_it_stands_and_nothing_is_lost(method, texts, message):
    model = classifier().fit(TEXTS, LABELS)
    before = model.predict_log_proba(TEXTS)
    with pytest.raises(InvalidTextError, match=message):
        getattr(model, method)(texts, LABELS)
    assert_array_equal(model.predict_log_proba(TEXTS), before)
    assert issubclass(InvalidTextError, SufficeError)
    assert issubclass(InvalidTextError, ValueError)
    if method == "partial_fit":
        fresh = classifier()
        with pytest.raises(InvalidTextError, match=message):
            fresh.partial_fit(texts, LABELS)
        assert vars(fresh) == vars(classifier()), "a failed first piece leaves no trace"


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(("texts", "message"), [case[1:] for case in REFUSED], ids=IDS)
def test_what_is_no_text_gets_no_answer(event, texts, message):
    model = classifier(event).fit(TEXTS, LABELS)
    for method in ("predict", "predict_proba", "predict_log_proba", "score_samples"):
        if event in ("auto", "complement") and method == "score_samples":
            continue  # a score without a distribution has no density
        with pytest.raises(InvalidTextError, match=message):
            getattr(model, method)(texts)


@pytest.mark.parametrize(("texts", "message"), [case[1:] for case in REFUSED], ids=IDS)
def test_what_is_no_text_has_no_words(texts, message):
    bag = BagOfWords().fit(TEXTS)
    for call in (bag.transform, bag.fit, bag.fit_transform, BagOfWords().fit_transform):
        with pytest.raises(InvalidTextError, match=message):
            call(texts)
    assert bag.transform(TEXTS).shape == (4, 7), "what was fitted is still there"


@pytest.mark.parametrize("text", ["one text", b"one text"], ids=["str", "bytes"])
def test_a_single_text_is_not_a_list_of_letters(text):
    model = classifier().fit(TEXTS, LABELS)
    for call in (
        lambda: model.predict(text),
        lambda: model.fit(text, LABELS),
        lambda: model.partial_fit(text, ["sad"]),
        lambda: BagOfWords().fit(text),
        lambda: BagOfWords().fit(TEXTS).transform(text),
    ):
        with pytest.raises(InvalidDataError, match=r"(?i)string|str|list|document"):
            call()
    assert model.predict(["cold rain"]).tolist() == ["sad"]


def test_a_number_where_texts_are_expected_is_refused():
    for texts in (3, 3.5, None):
        with pytest.raises((SufficeError, TypeError, ValueError)):
            classifier().fit(texts, LABELS)


def test_rows_and_labels_must_agree():
    model = classifier()
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[4, 3\]"):
        model.fit(TEXTS, LABELS[:3])
    with pytest.raises(ValueError, match="0 sample"):
        model.fit([], [])
    with pytest.raises(ValueError, match=r"row 1 is missing|contains NaN"):
        model.fit(TEXTS, np.array(["sad", None, "glad", "glad"], object))
    with pytest.raises(NotFittedError, match="TextClassifier instance is not fitted yet"):
        model.predict(TEXTS)


# ------------------------------------------------------------------------------------------- odd, but text


def test_a_nul_parts_words_as_any_other_sign():
    assert count(["sun\0rain sun", "\0\0"]) == {"rain": [1, 0], "sun": [2, 0]}
    assert count(pa.array(["sun\0rain sun", "\0"])) == {"rain": [1, 0], "sun": [2, 0]}
    assert count([b"sun\0rain sun"]) == {"rain": [1], "sun": [2]}
    model = classifier().fit(TEXTS, LABELS)
    assert_allclose(model.predict_proba(["cold\0rain"]), model.predict_proba(["cold rain"]), rtol=1e-12)
    assert count(["a\0b"], analyzer="char") == {"\0": [1], "a": [1], "b": [1]}


@pytest.mark.parametrize("letter", ["x", "é", "字", "𝒳"], ids=["ASCII", "two bytes", "three bytes", "four bytes"])
def test_a_word_may_have_a_million_letters(letter):
    word = letter * 1_000_000
    texts = [f"short {word} end", word, f"{word}{letter} short"]
    found = count(texts)
    expected = {"end": [1, 0, 0], "short": [1, 0, 1], word.lower(): [1, 1, 0], (word + letter).lower(): [0, 0, 1]}
    assert found == expected
    pairs = count(texts[:1], ngram_range=(1, 2))
    assert set(pairs) == {"end", "short", word.lower(), f"short {word.lower()}", f"{word.lower()} end"}
    model = classifier().fit(texts, ["a", "b", "c"])
    assert model.predict(["end", word, word + letter]).tolist() == ["a", "b", "c"]


def test_a_large_document_is_read_in_little_time_and_counted_in_full():
    piece = "Rain and cold wind, über alles; sun\n"
    many = 5_000_000 // len(piece.encode())
    begun = time.perf_counter()
    found = count([piece * many, piece])
    assert time.perf_counter() - begun < 5
    assert found == {word: [many, 1] for word in ("alles", "and", "cold", "rain", "sun", "wind", "über")}
    model = classifier().fit([piece * many, "warm sun"], ["long", "short"])
    assert model.predict(["rain", "warm"]).tolist() == ["long", "short"]
    assert np.isfinite(model.predict_log_proba(["rain " * 100_000])).all()


@pytest.mark.parametrize("event", EVENTS)
def test_an_empty_document_is_learned_as_one_and_gets_finite_answers(event):
    model = classifier(event).fit([*TEXTS, "", " \t\n", "! ?"], [*LABELS, "sad", "sad", "glad"])
    p = model.predict_proba(["", " ", "...", "a b c"])
    assert np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert_allclose(p, p[[0, 0, 0, 0]], rtol=1e-12, err_msg="all of these have no words")


def test_of_an_empty_document_the_multinomial_model_says_the_prior():
    model = classifier().fit([*TEXTS, ""], [*LABELS, "sad"])
    assert_allclose(model.predict_proba(["", "unknown words only"]), [[2 / 5, 3 / 5]] * 2, rtol=1e-12)


@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("make", [list, lambda t: np.array(t, object), pa.array], ids=["list", "array", "Arrow"])
def test_of_a_missing_document_nothing_is_known(event, make):
    texts = make([*TEXTS, None])
    model = classifier(event).fit(texts, [*LABELS, "sad"])
    found = model.predict_proba(make([None, "rain"]))
    assert_allclose(found[0], [2 / 5, 3 / 5], rtol=1e-12, err_msg="the prior, in which it counts as a row")
    without = classifier(event).fit(TEXTS, LABELS)
    odds = [np.log(m.predict_proba(["rain"])[0]) @ [1, -1] for m in (model, without)]
    assert_allclose(odds[0] - odds[1], np.log(2 / 3), rtol=1e-9, err_msg="of the words it says nothing")


def test_missing_documents_have_no_words():
    assert count([None, "sun", ""]) == {"sun": [0, 1, 0]}
    assert count(pa.array([None, "sun", ""])) == {"sun": [0, 1, 0]}


@pytest.mark.parametrize("event", EVENTS)
def test_a_document_of_only_stop_words_is_an_empty_one(event):
    model = classifier(event, stop_words="english").fit(TEXTS, LABELS)
    assert "and" not in set(model.vocabulary_)
    found = model.predict_proba(["and the of", "", "and AND"])
    assert_allclose(found, found[[1, 1, 1]], rtol=1e-12)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (["", "", "! ?", "a b"], {}),
        (["and the", "of", "the", "is"], {"stop_words": "english"}),
        (TEXTS, {"ngrams": (9, 9)}),
        ([None] * 4, {}),
    ],
    ids=["empty documents", "stop words only", "n-grams longer than every document", "missing documents"],
)
def test_an_empty_vocabulary_gives_a_named_error_or_one_answer(event, texts, options):
    model, labels = classifier(event, **options), ["sad", "sad", "sad", "glad"]
    try:
        model.fit(texts, labels)
        found = model.predict_proba(["sun", "", texts[0]])
    except InvalidDataError as error:
        found, said = None, str(error)
    if found is None:
        assert "vocabulary" in said
    else:
        prior = [1 / 4, 3 / 4] if event in ("multinomial", "bernoulli") else found[0]  # a complement has no prior
        assert_allclose(found, [prior] * 3, rtol=1e-9)
        assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_an_empty_vocabulary_has_no_columns_to_make():
    for texts, options in (
        (["", "a b"], {}),
        (["and the"], {"stop_words": "english"}),
        (TEXTS, {"ngram_range": (9, 9)}),
    ):
        with pytest.raises(InvalidDataError, match="empty vocabulary"):
            BagOfWords(**options).fit(texts)


def test_documents_shorter_than_the_n_grams_are_empty_beside_longer_ones():
    model = classifier(ngrams=(3, 3)).fit(TEXTS, LABELS)
    assert set(model.vocabulary_) == {
        "rain and more",
        "and more rain",
        "cold rain cold",
        "rain cold wind",
        "sun sun sun",
    }
    assert_allclose(model.predict_proba(["warm wind"]), [[1 / 2, 1 / 2]], rtol=1e-12)


def test_words_alone_may_come_after_documents_without_any():
    model = classifier().partial_fit(["", None], ["sad", "glad"])
    model.partial_fit(TEXTS, LABELS)
    whole = classifier().fit(["", None, *TEXTS], ["sad", "glad", *LABELS])
    assert_allclose(model.predict_proba(TEXTS), whole.predict_proba(TEXTS), rtol=1e-12)


# ------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"event": "poisson"}, "poisson"),
        ({"ngrams": (2, 1)}, "ngram"),
        ({"ngrams": (0, 1)}, "ngram"),
        ({"ngrams": 2}, "ngram"),
        ({"smoothing": -1.0}, "smoothing"),
        ({"smoothing": float("nan")}, "smoothing"),
        ({"smoothing": "much"}, "smoothing"),
        ({"term_weight": "cube"}, "term_weight"),
        ({"length_norm": "l3"}, "length_norm"),
        ({"analyzer": "sentence"}, "analyzer"),
        ({"strip_accents": "greek"}, "strip_accents"),
        ({"stop_words": [1, 2]}, "(?i)stop.words"),
        ({"keep": -1}, "keep"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_that_make_no_sense_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        sf.TextClassifier(**options).fit(TEXTS, LABELS)


@pytest.mark.parametrize("read", [lambda o: classifier(**o).fit(TEXTS, LABELS), lambda o: BagOfWords(**o).fit(TEXTS)])
def test_an_unknown_language_of_stop_words_or_stems_is_named_beside_those_known(read):
    pytest.importorskip("stop_words")
    with pytest.raises(InvalidOptionError, match=r"(?s)'klingon'.*english.*german"):
        read({"stop_words": "klingon"})
    pytest.importorskip("Stemmer")
    with pytest.raises(InvalidOptionError, match=r"(?s)'klingon'.*english.*german"):
        read({"stem": "klingon"})
