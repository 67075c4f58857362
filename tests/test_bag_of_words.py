"""BagOfWords against scikit-learn's CountVectorizer, TfidfVectorizer and HashingVectorizer, in the same run."""

import io
import pickle
import re
import subprocess
import sys
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

import suffice as sf
from suffice.core.errors import InvalidDataError, InvalidOptionError, InvalidTextError
from suffice.naive_bayes import MultinomialNB

TEXTS = [
    "The quick brown fox jumps over the lazy dog. The dog sleeps; the fox doesn't!",
    "Naïve café, déjà-vu — Ångström; coöperate: ÅNGSTRÖM café",
    "Straße, STRASSE und Fußball; İstanbul ile ıspanak; ΣΊΣΥΦΟΣ ὈΔΥΣΣΕΎΣ",
    "Съешь ещё этих мягких французских булок, да выпей же чаю. Ещё!",
    "我能吞下玻璃而不伤身体。我能 吞下 玻璃 日本語のテキスト ｶﾀｶﾅ",
    "अपना हिन्दी पाठ  العربيّة مُشَكَّلة  עברית עם נִקּוּד",
    "👩‍👩‍👧 family 🎉🎉 emoji😀word x2 🇩🇪 e\u0301tude ﬁne ①② H₂O",
    "",
    "   \n\t ",
    "a b c . , ; 1 2",
    "under_score 12_34 0x1F 3.14 e-mail user@example.org http://a.bc/de?f=gh",
    "repeat repeat repeat the the the the dog",
    "tab\tnew\nline\r\nform\x0cfeed\x00nul\x1fsep\u2028line\u00a0space",
    "ǅungla ǆ ΐ ﬀ İ",
]


def assert_same(found, expected, exact=True):
    """The same matrix, array by array, scikit-learn's with the columns of each row in order."""
    expected = type(expected)((expected.data, expected.indices, expected.indptr), shape=expected.shape, copy=True)
    expected.sort_indices()
    assert type(found) is type(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert_array_equal(found.indptr, expected.indptr)
    assert_array_equal(found.indices, expected.indices)
    assert (found.indptr.dtype, found.indices.dtype) == (expected.indptr.dtype, expected.indices.dtype)
    if exact:
        assert_array_equal(found.data, expected.data)
    else:
        assert_allclose(found.data, expected.data, rtol=1e-12)
    assert found.has_sorted_indices


def compare(texts, /, theirs=CountVectorizer, **options):
    """Fit both on the same texts, and ask both the same questions."""
    mine, other = sf.BagOfWords(**options), theirs(**options)
    assert_same(mine.fit_transform(texts), other.fit_transform(texts))
    assert mine.vocabulary_ == other.vocabulary_
    assert mine.fixed_vocabulary_ == other.fixed_vocabulary_
    names = mine.get_feature_names_out()
    assert names.dtype == object
    assert_array_equal(names, other.get_feature_names_out())
    again = texts[::2] if isinstance(texts, list) else texts
    assert_same(mine.transform(again), other.transform(again))
    counts = other.transform(again)
    for a, b in zip(mine.inverse_transform(counts), other.inverse_transform(counts), strict=True):
        assert_array_equal(a, b)
    return mine


# ------------------------------------------------------------------------------------------------ the matrix


def titled(options):
    """The same title in every process: no addresses, and sets in order."""

    def shown(value):
        if isinstance(value, (set, frozenset)):
            return str(sorted(value))
        return getattr(value, "__name__", str(value))

    return ",".join(f"{k}={shown(v)}" for k, v in options.items())[:80] or "default"


OPTIONS = [
    {},
    {"lowercase": False},
    {"strip_accents": "ascii"},
    {"strip_accents": "unicode"},
    {"strip_accents": "unicode", "lowercase": False},
    {"strip_accents": lambda text: text.replace("é", "e")},
    {"preprocessor": lambda text: text.upper()},
    {"preprocessor": str.title, "analyzer": "char", "ngram_range": (2, 2)},
    {"tokenizer": str.split, "token_pattern": None},
    {"tokenizer": str.split, "token_pattern": None, "ngram_range": (1, 3), "stop_words": ["the", "dog"]},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"token_pattern": r"[a-z]+(\d)"},
    {"token_pattern": r"\w\w+"},
    {"token_pattern": r"(?a)\w\w\w+", "ngram_range": (2, 2)},
    {"stop_words": "english"},
    {"stop_words": ["the", "dog", "café"]},
    {"stop_words": "english", "ngram_range": (1, 2)},
    {"stop_words": ["the"], "lowercase": False},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3)},
    {"ngram_range": (3, 8)},
    {"analyzer": "char"},
    {"analyzer": "char", "ngram_range": (1, 4)},
    {"analyzer": "char", "ngram_range": (3, 3), "strip_accents": "unicode"},
    {"analyzer": "char_wb"},
    {"analyzer": "char_wb", "ngram_range": (2, 5)},
    {"analyzer": "char_wb", "ngram_range": (6, 9), "lowercase": False},
    {"analyzer": str.split},
    {"analyzer": lambda text: [text[:1], text[:2]]},
    {"max_df": 2},
    {"max_df": 0.2},
    {"min_df": 2},
    {"min_df": 0.1},
    {"min_df": 2, "max_df": 3, "ngram_range": (1, 2)},
    {"min_df": 0.0, "max_df": 1.0},
    {"max_features": 1},
    {"max_features": 10_000},
    {"max_features": 1, "min_df": 2, "max_df": 2},
    {"vocabulary": ["dog", "the", "café", "never", "bush"]},
    {"vocabulary": {"the": 1, "dog": 0, "fox jumps": 2}, "ngram_range": (1, 2)},
    {"vocabulary": {"the", "dog"}},
    {"vocabulary": ["dog", "e"], "analyzer": "char"},
    {"vocabulary": ["the", "dog"], "tokenizer": str.split, "token_pattern": None},
    {"vocabulary": ["the", "dog"], "min_df": 14, "max_features": 1},
    {"binary": True},
    {"binary": True, "max_features": 1, "analyzer": "char"},
    {"dtype": np.float64},
    {"dtype": np.float32, "binary": True},
    {"dtype": np.uint8},
    {"dtype": bool},
]


@pytest.mark.parametrize("options", OPTIONS, ids=titled)
def test_matrix_and_vocabulary_are_scikit_learns(options):
    compare(TEXTS, **options)


@settings(max_examples=60)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=5),
    st.sampled_from(["word", "char", "char_wb"]),
    st.sampled_from([None, "ascii", "unicode"]),
    st.booleans(),
    st.sampled_from([(1, 1), (1, 2), (2, 4)]),
)
def test_any_text_gives_scikit_learns_matrix(texts, analyzer, accents, lowercase, ngram_range):
    options = {"analyzer": analyzer, "strip_accents": accents, "lowercase": lowercase, "ngram_range": ngram_range}
    try:
        CountVectorizer(**options).fit(texts)
    except ValueError as error:
        with pytest.raises(InvalidDataError, match=str(error)[:16]):
            sf.BagOfWords(**options).fit(texts)
    else:
        compare(texts, **options)


def test_texts_never_seen_have_only_known_words():
    mine, other = sf.BagOfWords().fit(TEXTS[:3]), CountVectorizer().fit(TEXTS[:3])
    assert_same(mine.transform(TEXTS), other.transform(TEXTS))
    assert_same(mine.transform(["nothing known"]), other.transform(["nothing known"]))
    assert_same(mine.transform([]), other.transform([]))


def test_of_words_that_occur_equally_often_the_first_of_the_alphabet_are_kept():
    texts = ["pear apple cherry cherry", "fig date banana cherry"]
    assert sf.BagOfWords(max_features=3).fit(texts).vocabulary_ == {"apple": 0, "banana": 1, "cherry": 2}
    for binary in (False, True):
        bag = sf.BagOfWords(max_features=1, binary=binary).fit(["zoo zoo zoo ant", "ant bee"])
        assert list(bag.vocabulary_) == (["ant"] if binary else ["zoo"])


def test_without_ties_the_most_frequent_words_are_scikit_learns():
    rng = np.random.default_rng(0)
    words = [f"w{i:02d}" for i in range(40)]
    texts = [" ".join(np.repeat(words, np.arange(40) * (rng.permutation(2)[0] + 1) // 1)) for _ in range(3)]
    for limit in (1, 7, 38, 39, 40):
        compare(texts, max_features=limit)
        compare(texts, max_features=limit, min_df=1, max_df=3)


def test_missing_texts_have_no_words():
    for texts in ([None, "a dog"], pa.array([None, "a dog"]), pd.Series([None, "a dog"]), pl.Series([None, "a dog"])):
        assert_array_equal(sf.BagOfWords().fit_transform(texts).toarray(), [[0], [1]])
        slow = sf.BagOfWords(token_pattern=r"\w+")
        assert_array_equal(slow.fit_transform(texts).toarray(), [[0, 0], [1, 1]])
    prepared = sf.BagOfWords(preprocessor=str.upper).fit([None, "a dog"])
    assert prepared.vocabulary_ == {"DOG": 0}


@pytest.mark.skipif("sparse_interface" not in sklearn.get_config(), reason="this scikit-learn knows matrices only")
def test_the_kind_of_sparse_matrix_is_the_one_configured():
    with sklearn.config_context(sparse_interface="sparray"):
        compare(TEXTS)
        assert isinstance(sf.BagOfWords().fit_transform(TEXTS), scipy.sparse.csr_array)


# ------------------------------------------------------------------------------------------------- documents


def test_documents_come_in_many_forms():
    expected = CountVectorizer().fit_transform(TEXTS)
    arrow = pa.array(TEXTS)
    forms = {
        "tuple": tuple(TEXTS),
        "generator": (text for text in TEXTS),
        "dictionary values": dict(enumerate(TEXTS)).values(),
        "array": np.array(TEXTS, dtype=object),
        "fixed width": np.array(TEXTS),
        "bytes": [text.encode() for text in TEXTS],
        "some bytes": [text.encode() if i % 2 else text for i, text in enumerate(TEXTS)],
        "arrow": arrow,
        "large arrow": arrow.cast(pa.large_string()),
        "chunks": pa.chunked_array([TEXTS[:3], [], TEXTS[3:]]),
        "slice": pa.array(["before", *TEXTS, "after"])[1:-1],
        "dictionary": arrow.dictionary_encode(),
        "pandas": pd.Series(TEXTS),
        "pandas objects": pd.Series(TEXTS, dtype=object, index=range(50, 50 + len(TEXTS))),
        "pandas arrow": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())),
        "polars": pl.Series(TEXTS),
        "pandas table": pd.DataFrame({"text": TEXTS}),
        "polars table": pl.DataFrame({"text": TEXTS}),
        "arrow table": pa.table({"text": TEXTS}),
        "stream": pa.RecordBatchReader.from_batches(pa.schema([("t", pa.string())]), [pa.record_batch({"t": TEXTS})]),
    }
    for name, form in forms.items():
        assert_same(sf.BagOfWords().fit_transform(form), expected), name
    slow = CountVectorizer(token_pattern=r"\w+").fit_transform(TEXTS)
    for name in ("array", "bytes", "arrow", "chunks", "pandas", "polars", "polars table", "arrow table"):
        assert_same(sf.BagOfWords(token_pattern=r"\w+").fit_transform(forms[name]), slow)


def test_files_are_read(tmp_path):
    names = []
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i}.txt").write_bytes(text.encode())
        names.append(str(tmp_path / f"{i}.txt"))
    expected = CountVectorizer().fit_transform(TEXTS)
    assert_same(sf.BagOfWords(input="filename").fit_transform(names), expected)
    assert_same(sf.BagOfWords(input="file").fit_transform(io.BytesIO(text.encode()) for text in TEXTS), expected)
    assert_same(sf.BagOfWords(input="file").fit_transform([io.StringIO(text, newline="") for text in TEXTS]), expected)
    slow = CountVectorizer(input="filename", token_pattern=r"\w+").fit_transform(names)
    assert_same(sf.BagOfWords(input="filename", token_pattern=r"\w+").fit_transform(names), slow)


def test_other_encodings_are_read():
    latin = [text.encode("latin-1", "ignore") for text in TEXTS]
    compare(latin, encoding="latin-1")
    compare(latin, decode_error="ignore")
    compare(latin, decode_error="replace", analyzer="char")
    compare([text.encode("utf-16") for text in TEXTS], encoding="utf-16", ngram_range=(1, 2))
    compare([text.encode() for text in TEXTS], encoding="UTF8")


def test_documents_may_be_lists_of_words_already():
    documents = [["New York", "is", "big"], ["New York"], []]
    compare(documents, analyzer=lambda document: document)
    compare(documents, tokenizer=lambda d: d, preprocessor=lambda d: d, token_pattern=None, ngram_range=(1, 2))
    compare(pd.Series(documents), analyzer=lambda document: document)


# ------------------------------------------------------------------------------------------------ tf-idf, weights


@pytest.mark.parametrize("norm", [None, "l1", "l2"])
@pytest.mark.parametrize("use_idf", [False, True])
@pytest.mark.parametrize("smooth_idf", [False, True])
@pytest.mark.parametrize("sublinear_tf", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tf_idf_is_scikit_learns(norm, use_idf, smooth_idf, sublinear_tf, dtype):
    shared = {"norm": norm, "use_idf": use_idf, "smooth_idf": smooth_idf, "dtype": dtype}
    other = TfidfVectorizer(sublinear_tf=sublinear_tf, **shared)
    mine = sf.BagOfWords(weight="log" if sublinear_tf else "count", **shared)
    assert_same(mine.fit_transform(TEXTS), other.fit_transform(TEXTS), exact=False)
    assert_same(mine.transform(TEXTS[::-1]), other.transform(TEXTS[::-1]), exact=False)
    assert hasattr(mine, "idf_") == use_idf
    if use_idf:
        assert_allclose(mine.idf_, other.idf_, rtol=1e-12)


def test_weights_of_whole_numbers_become_real_ones():
    counts = CountVectorizer().fit_transform(TEXTS).toarray()
    for weight, expected in {
        "count": counts,
        "binary": counts > 0,
        "sqrt": np.sqrt(counts),
        "log": np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0),
    }.items():
        found = sf.BagOfWords(weight=weight).fit_transform(TEXTS)
        assert found.dtype == (np.int64 if weight in ("count", "binary") else np.float64)
        assert_allclose(found.toarray(), expected, rtol=1e-15)
    assert_allclose(sf.BagOfWords(weight="sqrt", binary=True).fit_transform(TEXTS).toarray(), counts > 0)


def test_a_word_no_document_has_needs_a_smooth_idf():
    with pytest.raises(InvalidDataError, match=r"No document has 'never'.*smooth_idf=True"):
        sf.BagOfWords(vocabulary=["dog", "never"], use_idf=True, smooth_idf=False).fit(TEXTS)
    smooth = {"vocabulary": ["dog", "never"], "use_idf": True}
    other = TfidfVectorizer(norm=None, **smooth).fit(TEXTS)
    assert_allclose(sf.BagOfWords(**smooth).fit(TEXTS).idf_, other.idf_, rtol=1e-12)


def test_without_fitting_there_is_no_idf():
    with pytest.raises(NotFittedError, match="fit some texts"):
        sf.BagOfWords(vocabulary=["dog"], use_idf=True).transform(TEXTS)


# --------------------------------------------------------------------------------------------- stems and hashing


def test_stems_are_counted_together():
    texts = ["He walks slowly", "walking, walked: slowness of walkers", "slow"]
    bag = sf.BagOfWords(stem="english", stop_words=["he", "of"]).fit(texts)
    assert bag.vocabulary_ == {"slow": 0, "slowli": 1, "walk": 2, "walker": 3}
    assert_array_equal(bag.transform(texts).toarray(), [[0, 1, 1, 0], [1, 0, 2, 1], [1, 0, 0, 0]])
    assert_array_equal(bag.fit_transform(texts).toarray(), bag.transform(texts).toarray())


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("stem", ["english", lambda word: word[:3]], ids=["english", "own"])
def test_stems_by_the_fast_road_are_those_of_the_slow_one_and_of_scikit_learn_with_a_tokenizer(ngram_range, stem):
    from suffice.core.words import stems

    options = {"ngram_range": ngram_range, "stop_words": ["the", "over"]}
    fast = sf.BagOfWords(stem=stem, **options)
    slow = sf.BagOfWords(stem=stem, token_pattern=r"(?u)\b(\w\w+)\b", **options)

    def analyzer(text):
        words = [w for w in CountVectorizer().build_analyzer()(text) if w not in options["stop_words"]]
        words = stems.stem_words(stem, words) if isinstance(stem, str) else [w[:3] for w in words]
        return [
            " ".join(words[i : i + n])
            for n in range(ngram_range[0], ngram_range[1] + 1)
            for i in range(len(words) - n + 1)
        ]

    other = CountVectorizer(analyzer=analyzer)
    expected = other.fit_transform(TEXTS)
    for bag in (fast, slow):
        assert_same(bag.fit_transform(TEXTS), expected)
        assert bag.vocabulary_ == other.vocabulary_
        assert_same(bag.transform(TEXTS[::-1]), other.transform(TEXTS[::-1]))
        assert sorted(bag.build_analyzer()(TEXTS[0])) == sorted(analyzer(TEXTS[0]))


@pytest.mark.parametrize("options", [{}, {"binary": True}, {"analyzer": "char_wb", "ngram_range": (2, 4)}])
@pytest.mark.parametrize("n_features", [1, 7, 1 << 20])
def test_hashed_columns_are_scikit_learns(options, n_features):
    other = HashingVectorizer(n_features=n_features, alternate_sign=False, norm=None, dtype=np.int64, **options)
    expected = other.transform(TEXTS)
    mine = sf.BagOfWords(n_features=n_features, **options)
    assert_same(mine.transform(TEXTS), expected)
    assert_same(mine.fit_transform(TEXTS), expected)
    assert len(mine.get_feature_names_out()) == n_features
    assert not hasattr(mine, "vocabulary_")
    check_is_fitted(mine)


def test_hashing_goes_with_idf_and_norm_but_with_no_vocabulary():
    bag = sf.BagOfWords(n_features=16, use_idf=True, norm="l2").fit(TEXTS)
    assert bag.idf_.shape == (16,)
    assert_allclose(scipy.sparse.linalg.norm(bag.transform(TEXTS[:3]), axis=1), 1)
    with pytest.raises(NotFittedError):
        sf.BagOfWords(n_features=16, use_idf=True).transform(TEXTS)
    for other in ({"vocabulary": ["dog"]}, {"max_features": 3}, {"min_df": 2}, {"max_df": 0.5}):
        with pytest.raises(InvalidOptionError, match=f"{next(iter(other))} has no meaning"):
            sf.BagOfWords(n_features=16, **other).fit(TEXTS)
    with pytest.raises(InvalidOptionError, match="cannot be undone"):
        bag.inverse_transform(bag.transform(TEXTS))


def test_stop_words_of_many_languages_have_names():
    bag = sf.BagOfWords(stop_words="german").fit(["Der Hund und die Katze sind nicht hier"])
    assert list(bag.vocabulary_) == ["hund", "katze"]
    assert "und" in bag.get_stop_words()
    assert sf.BagOfWords().get_stop_words() is None
    assert (
        sf.BagOfWords(stop_words="english").get_stop_words() == CountVectorizer(stop_words="english").get_stop_words()
    )


# ------------------------------------------------------------------------------------------- steps, one by one


@pytest.mark.parametrize("options", OPTIONS[:28], ids=titled)
def test_the_steps_are_scikit_learns(options):
    mine, other = sf.BagOfWords(**options), CountVectorizer(**options)
    for text in TEXTS:
        assert sorted(mine.build_analyzer()(text)) == sorted(other.build_analyzer()(text))
        assert mine.build_preprocessor()(text) == other.build_preprocessor()(text)
        if not options.get("analyzer"):
            assert list(mine.build_tokenizer()(text)) == list(other.build_tokenizer()(text))
    assert mine.decode("é".encode()) == "é"


# ----------------------------------------------------------------------------------------- a scikit-learn citizen


def test_parameters_are_scikit_learns_and_more():
    mine, theirs = sf.BagOfWords().get_params(), CountVectorizer().get_params()
    assert theirs.items() <= mine.items()
    assert set(mine) - set(theirs) == {"stem", "n_features", "weight", "use_idf", "smooth_idf", "norm"}


def test_clones_pickles_and_set_params():
    bag = sf.BagOfWords(ngram_range=(1, 2), stop_words=["the"], stem="english", use_idf=True)
    expected = bag.fit_transform(TEXTS)
    assert bag.vocabulary_["café"] >= 0, "made before pickling"
    again = pickle.loads(pickle.dumps(bag))
    assert_same(again.transform(TEXTS), expected)
    assert len(pickle.dumps(again)) < 6000, "what is made of the vocabulary is not pickled"
    assert clone(bag).get_params() == bag.get_params()
    assert not hasattr(clone(bag), "vocabulary_")
    pickle.loads(pickle.dumps(bag.build_analyzer()))(TEXTS[0])
    assert_same(
        bag.set_params(stop_words=None, stem=None, use_idf=False).fit_transform(TEXTS),
        CountVectorizer(ngram_range=(1, 2)).fit_transform(TEXTS),
    )
    assert not hasattr(bag, "idf_")


def test_in_pipelines_unions_column_transformers_and_searches():
    texts = [
        f"{word} {other} filler" for word in ("good", "great", "bad", "awful") for other in ("day", "food", "film")
    ]
    y = ["+"] * 6 + ["-"] * 6
    pipe = make_pipeline(sf.BagOfWords(), MultinomialNB()).fit(texts, y)
    other = make_pipeline(CountVectorizer(), sklearn.naive_bayes.MultinomialNB()).fit(texts, y)
    assert_allclose(pipe.predict_proba(texts), other.predict_proba(texts), rtol=1e-12)
    assert_array_equal(pipe[:-1].get_feature_names_out(), other[:-1].get_feature_names_out())
    union = FeatureUnion([("word", sf.BagOfWords()), ("char", sf.BagOfWords(analyzer="char_wb", ngram_range=(2, 3)))])
    theirs = FeatureUnion(
        [("word", CountVectorizer()), ("char", CountVectorizer(analyzer="char_wb", ngram_range=(2, 3)))]
    )
    assert_array_equal(union.fit_transform(texts).toarray(), theirs.fit_transform(texts).toarray())
    assert_array_equal(union.get_feature_names_out(), theirs.get_feature_names_out())
    table = pd.DataFrame({"text": texts, "n": range(12)})
    for which in ("text", ["text"]):  # scikit-learn's own counts the letters of the column's name for the second
        columns = ColumnTransformer([("text", sf.BagOfWords(), which)], remainder="passthrough").fit(table)
        assert columns.transform(table).shape == (12, 9)
        assert columns.get_feature_names_out()[0] == "text__awful"
    search = GridSearchCV(
        make_pipeline(sf.BagOfWords(), LogisticRegression()),
        {"bagofwords__ngram_range": [(1, 1), (1, 2)], "bagofwords__weight": ["count", "log"]},
        cv=2,
    ).fit(texts, y)
    assert search.predict(["a great film"]).tolist() == ["+"]


def test_scikit_learns_checks_that_concern_a_reader_of_texts():
    name = "BagOfWords"
    for check in (
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_mixin_order,
    ):
        check(name, sf.BagOfWords())


@pytest.mark.parametrize("name", sorted(set(sf.BagOfWords().get_params()) - {"dtype"}))  # NumPy judges a dtype
def test_a_parameter_of_a_strange_type_is_refused_by_name(name):
    class Strange: ...

    with pytest.raises(sf.InvalidOptionError, match=f"The '{name}' parameter of BagOfWords must be .*Strange"):
        sf.BagOfWords(**{name: Strange()}).fit(["a text"])


def test_tags_are_scikit_learns():
    mine, theirs = sklearn.utils.get_tags(sf.BagOfWords()), sklearn.utils.get_tags(CountVectorizer())
    assert mine.input_tags == theirs.input_tags
    assert mine.requires_fit
    assert not sklearn.utils.get_tags(sf.BagOfWords(n_features=8)).requires_fit


def test_a_given_vocabulary_needs_no_fitting():
    for use in ("transform", "inverse", "names"):
        bag = sf.BagOfWords(vocabulary=["dog", "cat"])
        assert not hasattr(bag, "vocabulary_")
        if use == "transform":
            assert_array_equal(bag.transform(["dog cat dog"]).toarray(), [[2, 1]])
        elif use == "inverse":
            assert_array_equal(bag.inverse_transform([[1, 0]])[0], ["dog"])
        else:
            assert bag.get_feature_names_out().tolist() == ["dog", "cat"]
        assert bag.vocabulary_ == {"dog": 0, "cat": 1}
        assert bag.fixed_vocabulary_


def test_a_vocabulary_may_be_any_collection_of_words():
    for words in ({"dog", "cat"}, frozenset({"dog", "cat"}), np.array(["cat", "dog"]), iter(["cat", "dog"])):
        assert sf.BagOfWords(vocabulary=words).fit(["dog"]).vocabulary_ == {"cat": 0, "dog": 1}
    with pytest.raises(InvalidOptionError, match="vocabulary has no meaning"):
        sf.BagOfWords(n_features=16, vocabulary=np.array(["cat", "dog"])).fit(TEXTS)


def test_a_vocabulary_may_be_set_as_scikit_learns():
    bag = sf.BagOfWords()
    bag.vocabulary_ = {"dog": 1, "cat": 0}
    assert_array_equal(bag.transform(["dog cat dog"]).toarray(), [[1, 2]])
    check_is_fitted(bag)
    for columns in ([0, 0], [0, 2], [-1, 0]):
        with pytest.raises(sf.MismatchError, match="from 0 to 1, each once"):
            bag.vocabulary_ = dict(zip(["dog", "cat"], columns, strict=True))


def test_a_bag_of_words_is_a_count_vectorizer():
    assert isinstance(sf.BagOfWords(), CountVectorizer)


def test_a_text_classifier_does_not_import_what_only_a_bag_of_words_needs():
    code = "import sys, suffice; from suffice.text import TextClassifier; TextClassifier(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "suffice.estimators.text_classifier" in loaded
    assert not {"sklearn.feature_extraction", "suffice.estimators.bag_of_words"} & set(loaded)


# ---------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "texts", "match"),
    [
        ({}, [], "empty vocabulary"),
        ({}, ["", "  "], "empty vocabulary"),
        ({"stop_words": "english"}, ["the of"], "only contain stop words"),
        ({"ngram_range": (5, 6)}, ["too short"], "empty vocabulary"),
        ({"min_df": 2}, ["one two", "six"], "After pruning, no terms remain"),
        ({"max_df": 1, "min_df": 2}, ["one", "one"], "max_df corresponds to < documents than min_df"),
        ({"ngram_range": (2, 1)}, ["one"], "ngram_range"),
        ({"vocabulary": []}, ["one"], "empty vocabulary passed to fit"),
        ({"vocabulary": ["a", "b", "a"]}, ["one"], "Duplicate term in vocabulary: 'a'"),
        ({"vocabulary": {"a": 0, "b": 0}}, ["one"], "Vocabulary contains repeated indices"),
        ({"vocabulary": {"a": 0, "b": 2}}, ["one"], "Vocabulary of size 2 doesn't contain index 1"),
        ({"token_pattern": r"(\w)(\w)"}, ["one"], "More than 1 capturing group in token pattern"),
        ({}, "a single text", "Iterable over raw text documents expected, string object received"),
        ({"stop_words": "klingon"}, ["one"], "not a built-in stop list|stop_words"),
        ({"analyzer": "letters"}, ["one"], "analyzer"),
        ({"max_df": 1.5}, ["one"], "max_df"),
        ({"strip_accents": "all"}, ["one"], "strip_accents"),
    ],
)
def test_what_scikit_learn_refuses_is_refused_alike(options, texts, match):
    for kind in (CountVectorizer, sf.BagOfWords):
        with pytest.raises(ValueError, match=match):
            kind(**options).fit(texts)


@pytest.mark.parametrize(
    ("options", "texts", "match"),
    [
        ({}, ["fine", 3], "1.*int"),
        ({}, ["fine", float("nan")], "np.nan is an invalid document.*Document 1"),
        ({}, np.array([["fine"], [float("nan")]], dtype=object), "np.nan is an invalid document.*Document 1"),
        ({"n_features": (1 << 28) + 1}, ["one"], "n_features"),
        ({"stem": len}, ["one"], "stem of 'one' must be a string, found int"),
        ({"stem": "{} b".format, "ngram_range": (1, 2)}, ["one"], "cannot be joined"),
        ({}, [b"\xff"], "UTF-8"),
        ({}, ["\ud800"], "surrogate"),
        ({"analyzer": lambda document: document}, [["a"], ["b", 3]], "found int in document 1"),
        ({"analyzer": lambda document: document}, [["\ud800"]], "document 0 holds a lone surrogate"),
        ({"decode_error": "ignore"}, [float("nan")], "np.nan is an invalid document"),
        ({}, b"bytes", "For one document"),
        ({}, 3, "found int"),
        ({}, pd.DataFrame({"a": ["x"], "b": ["y"]}), r"pass one of \['a', 'b'\]"),
        ({"stem": "english", "analyzer": "char"}, ["one"], "stem is about words"),
        ({"stem": "english", "analyzer": str.split}, ["one"], "stem is about words"),
        ({"stem": "klingon"}, ["one"], "Known are"),
        ({"stop_words": ["a", 3]}, ["one"], "Stop words are strings"),
        ({"encoding": "klingon"}, [b"one"], "Unknown encoding"),
        ({"token_pattern": None}, ["one"], "a pattern or a tokenizer"),
        ({"weight": "heavy"}, ["one"], "weight"),
        ({"norm": "l3"}, ["one"], "norm"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(options, texts, match):
    bag = sf.BagOfWords().fit(["some words"])
    bag.set_params(**options)
    with pytest.raises(ValueError, match=match):
        bag.fit(texts)
    assert bag.vocabulary_ == {"some": 0, "words": 1}


def test_texts_that_cannot_be_read_are_named():
    with pytest.raises(InvalidTextError):
        sf.BagOfWords().fit(["fine", None, 3.5])


def test_before_fitting_there_is_nothing():
    bag = sf.BagOfWords()
    for ask in (lambda: bag.transform(TEXTS), bag.get_feature_names_out, lambda: bag.inverse_transform([[1]])):
        with pytest.raises(NotFittedError, match="Vocabulary not fitted or provided"):
            ask()
    with pytest.raises(NotFittedError):
        check_is_fitted(bag)
    with pytest.raises(InvalidDataError, match="X has 3 columns, the vocabulary 1"):
        bag.fit(["dog"]).inverse_transform([[1, 2, 3]])


@pytest.mark.parametrize(
    "options",
    [
        {"tokenizer": str.split},
        {"analyzer": str.split, "preprocessor": str.lower},
        {"analyzer": str.split, "ngram_range": (1, 2)},
        {"analyzer": "char", "stop_words": ["the"]},
        {"analyzer": "char", "token_pattern": r"\w+"},
        {"analyzer": "char", "tokenizer": str.split, "token_pattern": None},
        {"stop_words": ["don't", "isn't"]},
        {"vocabulary": ["Dog", "cat"]},
    ],
    ids=titled,
)
def test_scikit_learns_warnings_are_given(options):
    texts = ["Don't, isn't: dog cat"]
    said = []
    for kind in (CountVectorizer, sf.BagOfWords):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kind(**options).fit(texts)
        said.append(sorted(str(warning.message) for warning in caught))
    assert said[0] == said[1]
    assert said[0]


def test_odd_texts_are_read():
    long = "x" * 1_000_000
    compare([f"{long} short {long}", "a\0b\0cd ef\0gh", "short"])
    compare([long[:3000]], analyzer="char", ngram_range=(2999, 3000))


def test_the_guides_code_runs_from_top_to_bottom(capsys):
    guide = (Path(__file__).parent.parent / "docs" / "text.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(compile(block, "text.md", "exec"), scope)
    shown = capsys.readouterr().out
    assert "{'and': 0, 'cat': 1, 'dog': 2, 'sleeps': 3, 'the': 4}" in shown
    assert "['+']" in shown


# ------------------------------------------------------------------------------------------------- 20 newsgroups


@lru_cache
def newsgroups(folder: Path) -> list[str]:
    import pyarrow.parquet

    return pyarrow.parquet.read_table(folder / "20newsgroups-train.parquet", columns=["text"])["text"].to_pylist()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_df": 2, "max_df": 0.5, "stop_words": "english"},
        {"strip_accents": "unicode", "lowercase": False, "binary": True},
        {"ngram_range": (1, 2), "every": 60},
        {"analyzer": "char_wb", "ngram_range": (3, 4), "every": 60},
        {"analyzer": "char", "ngram_range": (1, 3), "every": 60},
        {"token_pattern": r"(?u)\b\w+\b", "every": 60},
    ],
    ids=titled,
)
def test_on_newsgroups_the_matrix_is_scikit_learns(data_dir, options):
    every = options.get("every", 12)
    texts = newsgroups(data_dir)[::every]
    mine = sf.BagOfWords(**{k: v for k, v in options.items() if k != "every"})
    other = CountVectorizer(**{k: v for k, v in options.items() if k != "every"})
    assert_same(mine.fit_transform(texts), other.fit_transform(texts))
    assert mine.vocabulary_ == other.vocabulary_
