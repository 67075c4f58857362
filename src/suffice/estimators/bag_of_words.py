"""Texts for scikit-learn: `BagOfWords`, a drop-in for `CountVectorizer` and `TfidfVectorizer`."""

from __future__ import annotations

import codecs
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from suffice.core import words
from suffice.core.arrays import is_table
from suffice.core.errors import InvalidDataError, InvalidOptionError, InvalidTextError
from suffice.core.frames import as_frame
from suffice.core.words import Lexicon, Stem, Texts, Tokenization, Vocabulary, stems
from suffice.core.words.analysis import character_ngrams, ngrams_within_words, preprocess, word_ngrams
from suffice.core.words.tokenizing import MOST_COLUMNS
from suffice.estimators import parameter_checks
from suffice.estimators._sklearn import (
    BaseEstimator,
    NotFittedError,
    TransformerMixin,
    as_sparse_interface,
    check_array,
    metadata_routing,
    normalize,
)
from suffice.estimators.parameter_checks import BOOLEAN, CALLABLE, Allowed, choice, has_method, interval

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
SAME_PATTERNS = {TOKEN_PATTERN, r"\b\w\w+\b", r"(?u)\w\w+", r"\w\w+"}  # these find the same words
WEIGHTS = ("count", "binary", "sqrt", "log")


class BagOfWords(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]  # no hints
    r"""Texts as counts of their words: a drop-in for scikit-learn's `CountVectorizer`, read in native code.

    Parameters, attributes and matrices are those of `CountVectorizer`; what is named below is more, or otherwise.
    Words in native code are those of the default `token_pattern`, and characters; another pattern, a `tokenizer` or an
    `analyzer` of your own is called text by text, which takes as long as scikit-learn takes.

    Parameters
    ----------
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, token_pattern, ngram_range,
    analyzer, max_df, min_df, vocabulary, binary, dtype
        As in `CountVectorizer`.
    stop_words : str, collection of str or None, default=None
        The name of a language (English is scikit-learn's list; others need `pip install 'suffice[text]'`), or words
        as they stand in the text after lower-casing. For the most common words of your own texts, use `max_df`.
    max_features : int or None, default=None
        Keep that many of the words that occur most often; of words that occur equally often, those first in the
        alphabet, which scikit-learn leaves open.
    stem : str, callable or None, default=None
        The language by whose Snowball rules words lose their endings (needs `pip install 'suffice[text]'`), or a
        function from a word to its stem. Called once for each distinct word, after stop words are taken out.
    n_features : int or None, default=None
        Hash words to that many columns, those of `HashingVectorizer(alternate_sign=False, norm=None)`: no vocabulary
        is held, and nothing needs to be fitted.
    weight : {"count", "binary", "sqrt", "log"}, default="count"
        What a word that occurs t times counts for: t, 1, √t, or 1 + log t (`sublinear_tf` of scikit-learn).
    use_idf : bool, default=False
        Multiply by the inverse document frequency, log(n / df) + 1.
    smooth_idf : bool, default=True
        Take the idf as log((n + 1) / (df + 1)) + 1.
    norm : {"l1", "l2"} or None, default=None
        Divide each row by the sum of its entries, or by the root of the sum of their squares.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each word; made when it is asked for.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    idf_ : ndarray
        The inverse document frequencies, with `use_idf`.

    Examples
    --------
    >>> bag = BagOfWords()
    >>> bag.fit_transform(["A dog, a cat.", "Dog eats dog"]).toarray()
    array([[1, 1, 0],
           [0, 2, 1]])
    >>> bag.vocabulary_
    {'cat': 0, 'dog': 1, 'eats': 2}
    """

    # The documents are no metadata, whatever they are called.
    __metadata_request__fit: ClassVar = {"raw_documents": metadata_routing.UNUSED}
    __metadata_request__transform: ClassVar = {"raw_documents": metadata_routing.UNUSED}

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        "input": (choice("filename", "file", "content"),),
        "encoding": (str,),
        "decode_error": (choice("strict", "ignore", "replace"),),
        "strip_accents": (choice("ascii", "unicode"), None, CALLABLE),
        "lowercase": (BOOLEAN,),
        "preprocessor": (CALLABLE, None),
        "tokenizer": (CALLABLE, None),
        "stop_words": (str, list, tuple, set, frozenset, None),
        "token_pattern": (str, None),
        "ngram_range": (tuple,),
        "analyzer": (choice("word", "char", "char_wb"), CALLABLE),
        "max_df": (interval(float, 0, 1, "both"), interval(Integral, 1)),
        "min_df": (interval(float, 0, 1, "both"), interval(Integral, 1)),
        "max_features": (interval(Integral, 1), None),
        "vocabulary": (Mapping, has_method("__iter__"), None),
        "binary": (BOOLEAN,),
        "stem": (str, CALLABLE, None),
        "n_features": (interval(Integral, 1, MOST_COLUMNS, "both"), None),
        "weight": (choice(*WEIGHTS),),
        "use_idf": (BOOLEAN,),
        "smooth_idf": (BOOLEAN,),
        "norm": (choice("l1", "l2"), None),
    }

    def __init__(
        self,
        *,
        input: Literal["content", "file", "filename"] = "content",  # noqa: A002  # scikit-learn's name
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
        strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None,
        lowercase: bool = True,
        preprocessor: Callable[[Any], Any] | None = None,
        tokenizer: Callable[[Any], Iterable[str]] | None = None,
        stop_words: str | Iterable[str] | None = None,
        token_pattern: str | None = TOKEN_PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Literal["word", "char", "char_wb"] | Callable[[Any], Iterable[str]] = "word",
        max_df: float | int = 1.0,
        min_df: float | int = 1,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        dtype: DTypeLike = np.int64,
        stem: str | Callable[[str], str] | None = None,
        n_features: int | None = None,
        weight: Literal["count", "binary", "sqrt", "log"] = "count",
        use_idf: bool = False,
        smooth_idf: bool = True,
        norm: Literal["l1", "l2"] | None = None,
    ):
        self.input = input
        self.encoding = encoding
        self.decode_error = decode_error
        self.strip_accents = strip_accents
        self.lowercase = lowercase
        self.preprocessor = preprocessor
        self.tokenizer = tokenizer
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.max_df = max_df
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype
        self.stem = stem
        self.n_features = n_features
        self.weight = weight
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.norm = norm

    # ---- learning

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the vocabulary of texts.

        Parameters
        ----------
        raw_documents : iterable of str or bytes, Arrow or pandas or Polars column
            Texts; None is missing and has no words. Files or their names, where `input` says so.
        y : any
            Not used.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self.fit_transform(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:  # noqa: ARG002  # scikit-learn passes y
        """Learn the vocabulary of texts and count their words.

        Parameters
        ----------
        raw_documents : iterable of str or bytes, Arrow or pandas or Polars column
            Texts; None is missing and has no words. Files or their names, where `input` says so.
        y : any
            Not used.

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
            The counts, or weights.
        """
        documents = _documents(raw_documents)
        parameter_checks.check(type(self).__name__, self._parameters, vars(self))
        self._check_options()
        self._warn_of_unused()
        columns = _Columns.given(self.vocabulary, self.lowercase)
        self._check_stop_words()
        texts, tokenization = self._read(documents)
        if self.n_features is not None or columns is not None:
            counts = self._count(texts, tokenization, columns)
        else:
            columns, counts = self._learn(texts, tokenization)
        idf = self._inverse_document_frequency(counts, columns) if self.use_idf else None
        out = self._weigh(counts, idf)
        for name in ("_columns", "idf_", "fixed_vocabulary_"):
            self.__dict__.pop(name, None)
        self.fixed_vocabulary_ = self.vocabulary is not None
        if columns is not None:
            self._columns = columns
        if idf is not None:
            self.idf_ = idf
        return out

    def transform(self, raw_documents: Any) -> Any:
        """Count the known words of texts.

        Parameters
        ----------
        raw_documents : iterable of str or bytes, Arrow or pandas or Polars column
            Texts; None is missing and has no words. Files or their names, where `input` says so.

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
            The counts, or weights.
        """
        documents = _documents(raw_documents)
        if "fixed_vocabulary_" not in self.__dict__:  # fitting has checked them
            parameter_checks.check(type(self).__name__, self._parameters, vars(self))
            self._check_options()
        columns = None if self.n_features is not None else self._known()
        if self.use_idf and not hasattr(self, "idf_"):
            raise NotFittedError("The inverse document frequencies are not known yet: fit some texts first")
        texts, tokenization = self._read(documents)
        return self._weigh(self._count(texts, tokenization, columns), self.idf_ if self.use_idf else None)

    # ---- counting

    def _reading(self) -> Tokenization:
        """How native code reads the texts, as far as it does."""
        named = self.analyzer if isinstance(self.analyzer, str) else "word"
        accents = self.strip_accents if isinstance(self.strip_accents, str) else None
        stops: Any = self.stop_words
        stops = tuple(stops) if stops is not None and not isinstance(stops, str) else stops
        return Tokenization(
            lowercase=bool(self.lowercase),
            strip_accents=accents,
            analyzer=named,
            ngram_range=self.ngram_range,
            stop_words=stops if self.analyzer == "word" else None,
            stem=self.stem if isinstance(self.stem, str) else None,
            n_features=self.n_features,
        )

    @property
    def _cuts_texts(self) -> bool:
        """Whether Python cuts the texts into features."""
        if callable(self.analyzer):
            return True
        return self.analyzer == "word" and (self.tokenizer is not None or self.token_pattern not in SAME_PATTERNS)

    def _read(self, documents: Any) -> tuple[Texts, Tokenization]:
        """The texts, and what native code is still to do with them."""
        tokenization = self._reading()
        if self._cuts_texts:
            return _cut(map(self.build_analyzer(), _each(documents))), Tokenization(n_features=self.n_features)
        plain = self.input == "content" and self.decode_error == "strict" and _is_utf8(self.encoding)
        if self.preprocessor is not None or callable(self.strip_accents):
            prepare = self.build_preprocessor()
            read = (self.decode(document) for document in _each(documents))
            documents = [None if document is None else prepare(document) for document in read]
            tokenization = replace(tokenization, lowercase=False, strip_accents=None)
        elif not plain:
            documents = [self.decode(document) for document in _each(documents)]
        elif not _is_readable(documents):
            documents = list(documents)
        texts = Texts.of(documents)
        _refuse_nan(documents, texts)
        return texts, tokenization

    def _count(self, texts: Texts, tokenization: Tokenization, columns: _Columns | None) -> _Counts:
        """The counts of known features, or of hashed ones."""
        if columns is None:
            assert tokenization.n_features is not None
            return _Counts(*words.hashed_matrix(texts, tokenization, self._own_stem()), tokenization.n_features)
        counts = _Counts(*columns.lexicon(tokenization, self._own_stem()).count(texts), len(columns.vocabulary))
        return counts if columns.column is None else counts.moved(columns.column)

    def _learn(self, texts: Texts, tokenization: Tokenization) -> tuple[_Columns, _Counts]:
        """The vocabulary of these texts, and their counts over it."""
        features, indptr, indices, data = words.count_matrix(texts, tokenization, self._own_stem())
        counts = _Counts(indptr, indices, data, len(features))
        if not len(features):
            raise InvalidDataError("empty vocabulary; perhaps the documents only contain stop words")
        n = len(texts)
        high = self.max_df if isinstance(self.max_df, Integral) else self.max_df * n
        low = self.min_df if isinstance(self.min_df, Integral) else self.min_df * n
        if high < low:
            raise InvalidOptionError("max_df corresponds to < documents than min_df")
        if low <= 1 and high >= n and self.max_features is None:
            return _Columns(features), counts  # every word is in some document
        frequency = counts.document_frequency()
        kept = (frequency >= low) & (frequency <= high)
        if self.max_features is not None and kept.sum() > self.max_features:
            often = frequency if self._is_binary else counts.totals()
            candidates = np.flatnonzero(kept)  # in the order of the alphabet, which a stable sort keeps among equals
            most = candidates[np.argsort(-often[candidates], kind="stable")[: self.max_features]]
            kept = np.zeros(len(features), dtype=bool)
            kept[most] = True
        if not kept.any():
            raise InvalidDataError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        if kept.all():
            return _Columns(features), counts
        return _Columns(features.take(kept)), counts.select(kept)

    @property
    def _is_binary(self) -> bool:
        return bool(self.binary) or self.weight == "binary"

    def _real_type(self) -> np.dtype[Any]:
        """The type of weights that are not integers: `dtype`, where it is real."""
        dtype = np.dtype(self.dtype)
        return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)

    def _inverse_document_frequency(self, counts: _Counts, columns: _Columns | None) -> NDArray[Any]:
        dtype = self._real_type()
        frequency = counts.document_frequency().astype(dtype)
        if not self.smooth_idf and (frequency == 0).any():
            at = int(np.argmin(frequency))
            what = f"column {at}" if columns is None else repr(columns.names()[at])
            raise InvalidDataError(f"No document has {what}, so its idf is infinite: take smooth_idf=True")
        frequency += float(self.smooth_idf)
        idf = np.full_like(frequency, len(counts.indptr) - 1 + int(self.smooth_idf))
        idf /= frequency
        return np.log(idf, out=idf) + dtype.type(1)

    def _weigh(self, counts: _Counts, idf: NDArray[Any] | None) -> Any:
        """The matrix: tf, times idf, over the norm of the row."""
        import scipy.sparse

        weighed = self.weight in ("sqrt", "log") or idf is not None or self.norm is not None
        dtype = self._real_type() if weighed else np.dtype(self.dtype)
        data = np.ones(len(counts.data), dtype) if self._is_binary else counts.data.astype(dtype)
        if self.weight == "sqrt":
            np.sqrt(data, out=data)
        elif self.weight == "log":
            np.log(data, out=data)
            data += 1
        if idf is not None:
            data *= idf[counts.indices]
        size = np.int32 if max(len(data), counts.columns) <= np.iinfo(np.int32).max else np.int64
        parts = (data, counts.indices.astype(size, copy=False), counts.indptr.astype(size, copy=False))
        out = scipy.sparse.csr_array(parts, shape=(len(counts.indptr) - 1, counts.columns))
        out.has_sorted_indices = out.has_canonical_format = True
        if self.norm is not None:
            out = normalize(out, norm=self.norm, copy=False)
        return as_sparse_interface(out)

    # ---- what was learned

    def _known(self) -> _Columns:
        """The vocabulary learned, or given."""
        if "_columns" not in self.__dict__:
            columns = None if self.n_features is not None else _Columns.given(self.vocabulary)
            if columns is None:
                raise NotFittedError("Vocabulary not fitted or provided")
            self._columns, self.fixed_vocabulary_ = columns, True
        return self._columns

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each word, made when it is first asked for."""
        if "_columns" not in self.__dict__:
            hashed = (
                "hashing to n_features columns holds none" if self.n_features is not None else "fit some texts first"
            )
            raise AttributeError(f"{type(self).__name__} has no vocabulary_: {hashed}")
        return self._columns.by_name

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: Mapping[str, int] | Iterable[str]) -> None:
        columns = _Columns.given(vocabulary)
        assert columns is not None
        self._columns = columns

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002  # scikit-learn's
        """The words, column by column; hashed columns are numbered.

        Parameters
        ----------
        input_features : any
            Not used.

        Returns
        -------
        names : ndarray of str objects
            The name of each column.
        """
        if self.n_features is not None:
            return np.array([f"bagofwords{j}" for j in range(self.n_features)], dtype=object)
        return self._known().names()

    def inverse_transform(self, X: Any) -> list[NDArray[Any]]:
        """The words that each row has, without their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts or weights.

        Returns
        -------
        words : list of arrays of str
            The words of each row, in the order of the columns.
        """
        import scipy.sparse

        if self.n_features is not None:
            raise InvalidOptionError("Hashing to n_features columns cannot be undone: leave n_features out")
        names = self._known().names()
        rows = scipy.sparse.csr_array(check_array(X, accept_sparse="csr"))
        if rows.shape[1] != len(names):
            raise InvalidDataError(f"X has {rows.shape[1]} columns, the vocabulary {len(names)} words")
        rows.sort_indices()
        found = []
        for lo, hi in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            found.append(names[rows.indices[lo:hi][rows.data[lo:hi] != 0]].astype(str))
        return found

    def __sklearn_is_fitted__(self) -> bool:
        if self.n_features is not None and not self.use_idf:
            return True
        return "_columns" in self.__dict__ or "idf_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = self.n_features is None or bool(self.use_idf)
        return tags

    # ---- how a text is read, step by step

    def decode(self, doc: Any) -> Any:
        """Read a document from where it is, and bytes by their encoding.

        Parameters
        ----------
        doc : bytes, str, file or name of a file
            The document.

        Returns
        -------
        doc : str
            Its text.
        """
        if self.input == "filename":
            with open(doc, "rb") as file:
                doc = file.read()
        elif self.input == "file":
            doc = doc.read()
        if isinstance(doc, bytes):
            doc = doc.decode(self.encoding, self.decode_error)
        if isinstance(doc, float) and doc != doc:
            raise InvalidTextError("np.nan is an invalid document, expected byte or unicode string.")
        return doc

    def build_preprocessor(self) -> Callable[[Any], Any]:
        """Build what lower-cases a text and strips accents.

        Returns
        -------
        preprocessor : callable
            From a text to a text.
        """
        if self.preprocessor is not None:
            return self.preprocessor
        if callable(self.strip_accents):
            return partial(_preprocess_with, self.strip_accents, bool(self.lowercase))
        accents = self._reading().strip_accents
        return partial(preprocess, lowercase=bool(self.lowercase), strip_accents=accents)

    def build_tokenizer(self) -> Callable[[Any], Iterable[str]]:
        """Build what cuts a text into words.

        Returns
        -------
        tokenizer : callable
            From a text to words.
        """
        if self.tokenizer is not None:
            return self.tokenizer
        if self.token_pattern is None:
            raise InvalidOptionError("token_pattern is None: say what a word is by a pattern or a tokenizer")
        pattern = re.compile(self.token_pattern)
        if pattern.groups > 1:
            raise InvalidOptionError(
                "More than 1 capturing group in token pattern. Only a single group should be captured."
            )
        return pattern.findall

    def get_stop_words(self) -> frozenset[str] | None:
        """The stop words.

        Returns
        -------
        stop_words : frozenset of str or None
            The words that are left out.
        """
        return None if self.stop_words is None else self._reading().stop_list

    def build_analyzer(self) -> Callable[[Any], Iterable[str]]:
        """Build what makes the features of a text, all steps together.

        Returns
        -------
        analyzer : callable
            From a document to its features.
        """
        if callable(self.analyzer):
            return partial(_analyze, self.decode, self.analyzer)
        tokenization = self._reading()
        if self.analyzer != "word":
            ngrams = character_ngrams if self.analyzer == "char" else ngrams_within_words
            make = partial(ngrams, ngram_range=tokenization.ngram_range)
            return partial(_analyze, self.decode, self.build_preprocessor(), make)
        stem: Stem | None = None
        if isinstance(self.stem, str):
            stem = partial(stems.stem_words, self.stem)
        elif self.stem is not None:
            stem = partial(_stem_each, self.stem)
        make = partial(_features_of_words, tokenization.stop_list, stem, tokenization.ngram_range)
        return partial(_analyze, self.decode, self.build_preprocessor(), self.build_tokenizer(), make)

    def _own_stem(self) -> Stem | None:
        """A stemmer of the user's, where native code finds the words."""
        return partial(_stem_each, self.stem) if callable(self.stem) and not self._cuts_texts else None

    # ---- what does not go together

    def _check_options(self) -> None:
        """Refuse options of ours that would do nothing."""
        if self.stem is not None:
            if self.analyzer != "word":
                raise InvalidOptionError(f"stem is about words: with analyzer={self.analyzer!r} there are none to stem")
            if isinstance(self.stem, str):
                stems.check(self.stem)
        if self.n_features is not None:
            odd = [name for name in ("vocabulary", "max_features") if getattr(self, name) is not None]
            odd += ["max_df"] * (self.max_df != 1.0 or isinstance(self.max_df, Integral)) + ["min_df"] * (
                self.min_df != 1
            )
            if odd:
                raise InvalidOptionError(
                    f"Hashing to n_features columns holds no vocabulary, so {odd[0]} has no meaning"
                )

    def _warn_of_unused(self) -> None:
        """Warn of options that scikit-learn's other options overrule, as it does."""
        unused = []
        if self.tokenizer is not None and self.token_pattern is not None:
            unused.append(("token_pattern", "'tokenizer' is not None'"))
        if callable(self.analyzer):
            if self.preprocessor is not None:
                unused.append(("preprocessor", "'analyzer' is callable'"))
            if self.ngram_range != (1, 1):
                unused.append(("ngram_range", "'analyzer' is callable'"))
        if self.analyzer != "word":
            other_pattern = self.token_pattern is not None and self.token_pattern != TOKEN_PATTERN
            given = {"stop_words": self.stop_words is not None, "token_pattern": other_pattern}
            given["tokenizer"] = self.tokenizer is not None
            unused.extend((name, "'analyzer' != 'word'") for name, is_given in given.items() if is_given)
        for name, why in unused:
            warnings.warn(f"The parameter {name!r} will not be used since {why}", UserWarning, stacklevel=3)

    def _check_stop_words(self) -> None:
        """Warn of stop words that no text can have, because texts are read otherwise."""
        if self.analyzer != "word" or self.stop_words is None:
            return
        stop_list = self._reading().stop_list
        try:
            prepare, cut = self.build_preprocessor(), self.build_tokenizer()
            odd = sorted({word for stop in stop_list for word in cut(prepare(stop)) if word not in stop_list})
        except Exception:  # a callable made for other texts
            return
        if odd:
            warnings.warn(
                "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words generated "
                f"tokens {odd!r} not in stop_words.",
                UserWarning,
                stacklevel=3,
            )


# --------------------------------------------------------------------------------------------- counts and columns


@dataclass(frozen=True)
class _Counts:
    """A matrix in rows, each row's columns ascending."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
    columns: int

    def document_frequency(self) -> NDArray[np.int64]:
        """How many rows have each column."""
        return np.bincount(self.indices, minlength=self.columns)

    def totals(self) -> NDArray[np.float64]:
        """The sum of each column."""
        return np.bincount(self.indices, weights=self.data, minlength=self.columns).astype(np.float64)

    def select(self, kept: NDArray[np.bool_]) -> _Counts:
        """The columns of a mask."""
        entries = kept[self.indices]
        before = np.concatenate([[0], np.cumsum(entries)])
        place = (np.cumsum(kept) - 1).astype(self.indices.dtype)
        return _Counts(before[self.indptr], place[self.indices[entries]], self.data[entries], int(kept.sum()))

    def moved(self, places: NDArray[np.int64]) -> _Counts:
        """Column j at `places[j]`, a permutation."""
        import scipy.sparse

        shape = (len(self.indptr) - 1, self.columns)
        out = scipy.sparse.csr_array((self.data, places[self.indices], self.indptr), shape=shape)
        out.sort_indices()
        return _Counts(out.indptr, out.indices, out.data, self.columns)


@dataclass(frozen=True)
class _Columns:
    """A vocabulary and the column of each of its words, by default its place."""

    vocabulary: Vocabulary
    column: NDArray[np.int64] | None = None

    @classmethod
    def given(cls, vocabulary: Any, lowercase: bool = False) -> _Columns | None:
        """From a mapping of words to columns, or words in order."""
        if vocabulary is None:
            return None
        if isinstance(vocabulary, Mapping):
            names, columns = list(vocabulary), np.array(list(vocabulary.values()), dtype=object)
            if len(set(columns)) != len(names):
                raise InvalidOptionError("Vocabulary contains repeated indices.")
            missing = set(range(len(names))) - set(columns)
            if missing:
                raise InvalidOptionError(f"Vocabulary of size {len(names)} doesn't contain index {min(missing)}.")
        else:
            names = sorted(vocabulary) if isinstance(vocabulary, (set, frozenset)) else list(vocabulary)
            columns = np.arange(len(names))
        if not names:
            raise InvalidOptionError("empty vocabulary passed to fit")
        words_ = Vocabulary.of(names)
        if len(words_) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise InvalidOptionError(f"Duplicate term in vocabulary: {twice!r}")
        if lowercase and any(any(map(str.isupper, name)) for name in names):
            warnings.warn(
                "Upper case characters found in vocabulary while 'lowercase' is True. These entries will not be "
                "matched with any documents",
                UserWarning,
                stacklevel=3,
            )
        column = np.empty(len(names), dtype=np.int64)
        column[words_.find(names)] = columns.astype(np.int64)
        return cls(words_, None if np.array_equal(column, np.arange(len(names))) else column)

    def names(self) -> NDArray[Any]:
        """The words, column by column."""
        names = self.vocabulary.names
        if self.column is None:
            return names
        out = np.empty_like(names)
        out[self.column] = names
        return out

    @cached_property
    def by_name(self) -> dict[str, int]:
        """The column of each word, in the order of the alphabet."""
        columns = range(len(self.vocabulary)) if self.column is None else self.column.tolist()
        return dict(zip(self.vocabulary.names.tolist(), columns, strict=True))

    def lexicon(self, tokenization: Tokenization, stem: Stem | None) -> Lexicon:
        """The vocabulary ready to be looked up, kept for the next texts that are read the same way."""
        if stem is not None:
            return Lexicon(self.vocabulary, tokenization, stem)
        kept: Lexicon | None = self.__dict__.get("_lexicon")
        if kept is None or kept.tokenization != tokenization:
            kept = self.__dict__["_lexicon"] = Lexicon(self.vocabulary, tokenization)
        return kept

    def __getstate__(self) -> dict[str, Any]:
        """The arrays, without what was made of them."""
        return {"vocabulary": self.vocabulary, "column": self.column}


# ------------------------------------------------------------------------------------------------- documents


def _documents(raw: Any) -> Any:
    """What documents can be taken from: a table of one column is that column."""
    if isinstance(raw, (str, bytes)):
        raise InvalidDataError(
            "Iterable over raw text documents expected, string object received. For one document, pass [document]."
        )
    if is_table(raw) or hasattr(raw, "schema"):
        frame = as_frame(raw)
        if len(frame.names) != 1:
            raise InvalidDataError(f"Texts are one column; the table has {len(frame.names)}: pass one of {frame.names}")
        return frame.columns[frame.names[0]]
    if not isinstance(raw, Iterable) and not _is_readable(raw):
        raise InvalidDataError(f"Iterable over raw text documents expected, found {type(raw).__name__}")
    return raw


def _is_readable(documents: Any) -> bool:
    """Whether `Texts` takes these as they are."""
    interfaces = ("__arrow_c_stream__", "__arrow_c_array__", "__array__")
    return isinstance(documents, (list, tuple)) or any(hasattr(documents, name) for name in interfaces)


def _refuse_nan(documents: Any, texts: Texts) -> None:
    """Refuse NaN in a list, as scikit-learn does. In a column of pandas it is a missing text."""
    if not isinstance(documents, (list, tuple, np.ndarray)) or texts.present.all():
        return
    each = documents.ravel().tolist() if isinstance(documents, np.ndarray) else documents
    at = next((i for i in np.flatnonzero(~texts.present) if each[i] is not None), None)
    if at is not None:
        raise InvalidTextError(
            f"np.nan is an invalid document, expected byte or unicode string. Document {at} is; a missing one is None"
        )


def _each(documents: Any) -> Iterator[Any]:
    """One document after the other, as Python has them; pandas says by itself what is missing."""
    if hasattr(documents, "to_pylist"):
        return iter(documents.to_pylist())
    if hasattr(documents, "isna"):
        return (None if gone else document for document, gone in zip(documents, documents.isna(), strict=True))
    return iter(documents)


def _is_utf8(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        raise InvalidOptionError(f"Unknown encoding {encoding!r}") from None


def _cut(documents: Iterable[Iterable[str]]) -> Texts:
    """Documents that are features already, put one after the other."""
    text, start, document_start = bytearray(), [0], [0]
    for i, features in enumerate(documents):
        for feature in features:
            if not isinstance(feature, str):
                raise InvalidTextError(f"Features are strings, found {type(feature).__name__} in document {i}")
            try:
                text += feature.encode()
            except UnicodeEncodeError as error:
                raise InvalidTextError(f"A feature of document {i} holds a lone surrogate: {error}") from None
            start.append(len(text))
        document_start.append(len(start) - 1)
    return Texts.of_tokens(
        np.frombuffer(text, dtype=np.uint8), np.array(start, dtype=np.int64), np.array(document_start, dtype=np.int64)
    )


# The steps below are functions of this module, so that what is built of them can be pickled.


def _analyze(*steps_and_document: Any) -> Any:
    """Put a document, which comes last, through steps."""
    *steps, document = steps_and_document
    for step in steps:
        if document is None:
            return []
        document = step(document)
    return document


def _preprocess_with(strip_accents: Callable[[str], str], lowercase: bool, text: str) -> str:
    return strip_accents(text.lower() if lowercase else text)


def _features_of_words(
    stop_list: frozenset[str],
    stem: Stem | None,
    ngram_range: tuple[int, int],
    found: Iterable[str],
) -> list[str]:
    kept = [word for word in found if word not in stop_list]
    return word_ngrams(kept if stem is None else stem(kept), ngram_range)


def _stem_each(stem: Callable[[str], str], found: Iterable[str]) -> list[str]:
    return [stem(word) for word in found]
