"""Texts for scikit-learn: `BagOfWords`, a `CountVectorizer` that counts in native code."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike, NDArray

from suffice.core import words
from suffice.core.arrays import checked_sparse, is_sparse, is_table, without_duplicates
from suffice.core.errors import InvalidDataError, InvalidOptionError, InvalidTextError, MismatchError, NoFormulaError
from suffice.core.frames import as_frame
from suffice.core.words import Bag, Lexicon, Stem, Texts, Tokenization, Vocabulary, Weighting, stems
from suffice.core.words.tokenizing import MOST_COLUMNS
from suffice.estimators import parameter_checks
from suffice.estimators._threads import learning, snapshot
from suffice.estimators.parameter_checks import BOOLEAN, CALLABLE, Allowed, choice, interval
from suffice.estimators.scikit_learn import CountVectorizer, NotFittedError, as_sparse_interface, check_array, normalize

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
SAME_PATTERNS = {TOKEN_PATTERN, r"\b\w\w+\b", r"(?u)\w\w+", r"\w\w+"}  # these find the same words

Matrix: TypeAlias = Any  # a sparse matrix in rows; SciPy has several classes
Documents: TypeAlias = Any  # a list or iterator of texts, bytes, files or their names, or a column of texts


@dataclass(kw_only=True, eq=False, repr=False, match_args=False)
class BagOfWords(CountVectorizer):  # type: ignore[misc]  # scikit-learn has no hints
    r"""Texts as counts of their words: scikit-learn's `CountVectorizer`, with the words counted in native code.

    Parameters, attributes and matrices are those of `CountVectorizer`; additions and differences are listed here.
    Native code reads characters and the words of the default `token_pattern`. Another pattern, a `tokenizer` or an
    `analyzer` of your own is called for each text, which takes as long as in scikit-learn. Documents may also be a
    column of Arrow, pandas or Polars, or a table of one column; None is a missing text, which has no words.

    Parameters
    ----------
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, token_pattern, ngram_range,
    analyzer, max_df, min_df, vocabulary, binary, dtype
        As in `CountVectorizer`.
    stop_words : str, collection of str or None, default=None
        The name of a language (English is scikit-learn's list; others need `pip install 'suffice[text]'`), or words
        as they are in the text after lower-casing. For the most common words of your own texts, use `max_df`.
    max_features : int or None, default=None
        The number of words to keep, those that occur most often. Of words that occur equally often, the first in the
        alphabet are kept; scikit-learn does not specify which.
    stem : str, callable or None, default=None
        The language of a Snowball stemmer (needs `pip install 'suffice[text]'`), or a function from a word to its
        stem. It is called once for each distinct word, after stop words are left out.
    n_features : int or None, default=None
        The number of columns that words are hashed to, those of `HashingVectorizer(alternate_sign=False, norm=None)`.
        There is no vocabulary then, and fitting is not needed.
    weight : {"count", "binary", "sqrt", "log"}, default="count"
        The value of a word that occurs t times: t, 1, √t, or 1 + log t (`sublinear_tf` of scikit-learn).
    use_idf : bool, default=False
        Multiply by the inverse document frequency, log(n / df) + 1.
    smooth_idf : bool, default=True
        Compute the inverse document frequency as log((n + 1) / (df + 1)) + 1.
    norm : {"l1", "l2"} or None, default=None
        Divide each row by the sum of its entries, or by the root of the sum of their squares.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each word; created when it is first used.
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

    # Parameters that scikit-learn does not have, or restricts further.
    _parameters: ClassVar[Mapping[str, Allowed]] = {
        "stop_words": (str, list, tuple, set, frozenset, None),
        "stem": (str, CALLABLE, None),
        "n_features": (interval(Integral, 1, MOST_COLUMNS, "both"), None),
        "weight": (choice("count", "binary", "sqrt", "log"),),
        "use_idf": (BOOLEAN,),
        "smooth_idf": (BOOLEAN,),
        "norm": (choice("l1", "l2"), None),
    }

    input: Literal["content", "file", "filename"] = "content"  # scikit-learn's name
    encoding: str = "utf-8"
    decode_error: Literal["strict", "ignore", "replace"] = "strict"
    strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None
    lowercase: bool = True
    preprocessor: Callable[[Any], Any] | None = None
    tokenizer: Callable[[Any], Iterable[str]] | None = None
    stop_words: str | Iterable[str] | None = None
    token_pattern: str | None = TOKEN_PATTERN
    ngram_range: tuple[int, int] = (1, 1)
    analyzer: Literal["word", "char", "char_wb"] | Callable[[Any], Iterable[str]] = "word"
    max_df: float | int = 1.0
    min_df: float | int = 1
    max_features: int | None = None
    vocabulary: Mapping[str, int] | Iterable[str] | None = None
    binary: bool = False
    dtype: DTypeLike = np.int64
    stem: str | Callable[[str], str] | None = None
    n_features: int | None = None
    weight: Literal["count", "binary", "sqrt", "log"] = "count"
    use_idf: bool = False
    smooth_idf: bool = True
    norm: Literal["l1", "l2"] | None = None

    def fit_transform(self, raw_documents: Documents, y: object = None) -> Matrix:  # noqa: ARG002  # scikit-learn passes y
        """Learn the vocabulary of documents and return the sparse matrix of their counts, or weights."""
        documents = _documents(raw_documents)
        columns = self._check_parameters()
        read = self._read(documents)
        if self.n_features is not None:
            counts = _matrix(self.n_features, *words.hashed_matrix(*read))
        elif columns is not None:
            counts = columns.count(*read)
        else:
            columns, counts = self._learn(*read)
        idf = self._inverse_document_frequency(counts, columns) if self.use_idf else None
        out = self._weigh(counts, idf)
        with learning(self) as draft:
            draft.fixed_vocabulary_ = self.vocabulary is not None
            for name, value in {"_columns": columns, "idf_": idf}.items():
                draft.__dict__.pop(name, None)
                if value is not None:
                    setattr(draft, name, value)
        return out

    def transform(self, raw_documents: Documents) -> Matrix:
        """Count the known words of documents, and return the sparse matrix of their counts, or weights."""
        documents = _documents(raw_documents)
        if "_columns" not in vars(self):  # no vocabulary was learned
            given = self._check_parameters()
            if given is not None:
                self._columns, self.fixed_vocabulary_ = given, True
            elif self.n_features is None:
                raise NotFittedError("Vocabulary not fitted or provided")
        now = snapshot(self)
        if self.use_idf and not hasattr(now, "idf_"):
            raise NotFittedError("The inverse document frequencies are not known yet: fit some texts first")
        read = self._read(documents)
        if self.n_features is not None:
            counts = _matrix(self.n_features, *words.hashed_matrix(*read))
        else:
            counts = now._columns.count(*read)
        return self._weigh(counts, now.idf_ if self.use_idf else None)

    def _check_parameters(self) -> _Columns | None:
        """Check the parameters, and return the vocabulary given."""
        parameter_checks.check(type(self).__name__, self._parameters, vars(self))
        if self.stem is not None and self.analyzer != "word":
            raise InvalidOptionError(f"stem is about words: analyzer={self.analyzer!r} has none")
        if self.analyzer == "word" and self.tokenizer is None and self.token_pattern is None:
            raise InvalidOptionError("token_pattern is None: say what a word is by a pattern or a tokenizer")
        if self.n_features is not None:
            given = {"vocabulary": self.vocabulary is not None, "max_features": self.max_features is not None}
            given["max_df"] = self.max_df != 1.0 or isinstance(self.max_df, Integral)
            given["min_df"] = self.min_df != 1
            for name in (name for name, is_given in given.items() if is_given):
                raise InvalidOptionError(f"Hashing to n_features columns has no vocabulary, so {name} has no meaning")
        # scikit-learn checks its own parameters, and warns, when a copy is fitted to no documents. That needs a
        # vocabulary, and stop words in a form that scikit-learn knows.
        checked = copy(self)
        checked.stem, checked.vocabulary = None, ["word"] if self.vocabulary is None else self.vocabulary
        if isinstance(self.vocabulary, frozenset):
            checked.vocabulary = sorted(self.vocabulary)  # scikit-learn sorts sets only
        checked.stop_words = None if self.stop_words is None else list(self.get_stop_words() or ())
        try:
            CountVectorizer.fit_transform(checked, [])
        except ValueError as error:
            raise InvalidOptionError(str(error)) from None
        return None if self.vocabulary is None else checked._columns

    # ---- counting

    def _tokenization(self) -> Tokenization:
        """Return the part of the parameters that native code reads."""
        return Tokenization(
            lowercase=bool(self.lowercase),
            strip_accents=None if callable(self.strip_accents) else self.strip_accents,
            analyzer="word" if callable(self.analyzer) else self.analyzer,
            ngram_range=self.ngram_range,
            stop_words=self.stop_words if self.analyzer == "word" else None,  # type: ignore[arg-type]  # made a tuple
            stem=None if callable(self.stem) else self.stem,
            n_features=self.n_features,
        )

    def _read(self, documents: Documents) -> tuple[Texts, Tokenization, Stem | None]:
        """Return the texts, and what native code does with them."""
        tokenization = self._tokenization()
        default = self.tokenizer is None and self.token_pattern in SAME_PATTERNS
        if callable(self.analyzer) or (self.analyzer == "word" and not default):
            analyze = self.build_analyzer()
            features = ([] if document is None else analyze(document) for document in _each(documents))
            return _as_tokens(features), Tokenization(n_features=self.n_features), None
        if self.preprocessor is not None or callable(self.strip_accents):
            prepare = self.build_preprocessor()
            documents = [None if each is None else prepare(self.decode(each)) for each in _each(documents)]
            tokenization = replace(tokenization, lowercase=False, strip_accents=None)
        elif self.input != "content" or self.decode_error != "strict" or not _is_utf8(self.encoding):
            documents = [None if each is None else self.decode(each) for each in _each(documents)]
        elif not _is_readable(documents):
            documents = list(documents)
        texts = Texts.of(documents)
        if isinstance(documents, (list, tuple, np.ndarray)) and not texts.present.all():
            deque(_each(documents), maxlen=0)  # raises an error for NaN
        return texts, tokenization, partial(_stem_each, self.stem) if callable(self.stem) else None

    def _learn(self, texts: Texts, tokenization: Tokenization, stem: Stem | None) -> tuple[_Columns, Matrix]:
        """Return the vocabulary of texts, and their counts."""
        vocabulary, indptr, indices, data = words.count_matrix(texts, tokenization, stem)
        if not len(vocabulary):
            raise InvalidDataError("empty vocabulary; perhaps the documents only contain stop words")
        counts, n = _matrix(len(vocabulary), indptr, indices, data), len(texts)
        high: float = self.max_df * (1 if isinstance(self.max_df, Integral) else n)
        low: float = self.min_df * (1 if isinstance(self.min_df, Integral) else n)
        if high < low:
            raise InvalidOptionError("max_df corresponds to < documents than min_df")
        if low <= 1 and high >= n and self.max_features is None:
            return _Columns(vocabulary), counts
        frequency = _document_frequency(counts)
        kept = np.flatnonzero((frequency >= low) & (frequency <= high))
        if self.max_features is not None:  # the order is that of the alphabet, and a stable sort keeps it in ties
            often = frequency if self._is_binary else counts.sum(axis=0)
            kept = np.sort(kept[np.argsort(-often[kept], kind="stable")[: self.max_features]])
        if not len(kept):
            raise InvalidDataError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        return _Columns(vocabulary.take(kept)), counts[:, kept]

    @property
    def _is_binary(self) -> bool:
        return bool(self.binary) or self.weight == "binary"

    @property
    def _float_type(self) -> np.dtype[Any]:
        """The type of weights that are not integers: `dtype` if it is a float."""
        dtype = np.dtype(self.dtype)
        return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)

    def _as_read(self) -> Bag:
        """Return what is done with texts; an error names parameters that only Python can follow, or no vocabulary."""
        if "_columns" not in vars(self):
            raise NoFormulaError("BagOfWords has no vocabulary: fit some texts first, without n_features")
        python = {
            name
            for name in ("preprocessor", "tokenizer", "analyzer", "strip_accents", "stem")
            if callable(getattr(self, name))
        }
        python |= {"input"} if self.input != "content" else set()
        python |= {"token_pattern"} if self.analyzer == "word" and self.token_pattern not in SAME_PATTERNS else set()
        if python:
            raise NoFormulaError(f"BagOfWords reads texts as only Python can: leave out {', '.join(sorted(python))}")
        column = self._columns.column
        return Bag(
            self._columns.vocabulary,
            None if column is None else np.argsort(column),
            self._tokenization(),
            Weighting("binary" if self._is_binary else self.weight, self.norm),
            self.idf_ if self.use_idf else None,
        )

    def _inverse_document_frequency(self, counts: Matrix, columns: _Columns | None) -> NDArray[Any]:
        frequency, smooth = _document_frequency(counts).astype(self._float_type), int(self.smooth_idf)
        if not smooth and not frequency.all():
            at = int(np.argmin(frequency))
            what = f"column {at}" if columns is None else repr(columns.names[at])
            raise InvalidDataError(f"No document has {what}, so its idf is infinite: use smooth_idf=True")
        return np.log((counts.shape[0] + smooth) / (frequency + smooth)) + 1

    def _weigh(self, counts: Matrix, idf: NDArray[Any] | None) -> Matrix:
        """Return the matrix of weights: of the count, times the idf, divided by the norm of the row."""
        is_float = self.weight in ("sqrt", "log") or idf is not None or self.norm is not None
        out = counts.astype(self._float_type if is_float else self.dtype, copy=False)
        if self._is_binary:
            out.data.fill(1)
        if self.weight == "sqrt":
            np.sqrt(out.data, out=out.data)
        elif self.weight == "log":
            np.log(out.data, out=out.data)
            out.data += 1
        if idf is not None:
            out.data *= idf[out.indices]
        if self.norm is not None:
            out = normalize(out, norm=self.norm, copy=False)
        return as_sparse_interface(out)

    # ---- the vocabulary

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each word."""
        if "_columns" not in vars(self):
            hashed = self.n_features is not None
            why = "hashing to n_features columns has none" if hashed else "fit some texts first"
            raise AttributeError(f"{type(self).__name__} has no vocabulary_: {why}")
        return self._columns.by_name

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: Mapping[str, int]) -> None:
        self._columns = _Columns.of(vocabulary)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the words, column by column; hashed columns are numbered."""
        if self.n_features is not None:
            return np.array([f"bagofwords{j}" for j in range(self.n_features)], dtype=object)
        return super().get_feature_names_out(input_features)

    def inverse_transform(self, X: Any) -> list[NDArray[Any]]:
        """Return the words of each row of a matrix of counts or weights, without their order."""
        if self.n_features is not None:
            raise InvalidOptionError("Hashing to n_features columns cannot be undone: leave n_features out")
        n, X = len(self.get_feature_names_out()), without_duplicates(checked_sparse(X)) if is_sparse(X) else X
        X = check_array(X, accept_sparse="csr")
        if X.shape[1] != n:
            raise InvalidDataError(f"X has {X.shape[1]} columns, the vocabulary {n} words")
        return super().inverse_transform(X)

    def __sklearn_is_fitted__(self) -> bool:
        if self.use_idf:
            return hasattr(self, "idf_")
        return self.n_features is not None or "_columns" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = self.n_features is None or bool(self.use_idf)
        return tags

    # ---- steps

    def get_stop_words(self) -> frozenset[str] | None:
        """Return the stop words. Those of a language are also given as they are read from texts."""
        return None if self.stop_words is None else frozenset(self._tokenization().stop_list)

    def build_analyzer(self) -> Callable[[Any], list[str]]:
        """Return a function from a document to its features. Words are stemmed before they are joined."""
        if self.stem is None:
            return super().build_analyzer()
        find = copy(self).set_params(stem=None, ngram_range=(1, 1)).build_analyzer()
        stem = partial(stems.stem_words, self.stem) if isinstance(self.stem, str) else partial(_stem_each, self.stem)
        join = CountVectorizer(preprocessor=list, tokenizer=list, ngram_range=self.ngram_range).build_analyzer()
        return partial(_stem_and_join, find, stem, join)


@dataclass(frozen=True)
class _Columns:
    """A vocabulary and the column of each of its words, by default that of its position."""

    vocabulary: Vocabulary
    column: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, columns: Mapping[str, int]) -> _Columns:
        vocabulary, n = Vocabulary.of(columns), len(columns)
        column = np.fromiter(map(columns.__getitem__, vocabulary.names), np.int64, n)
        if not np.array_equal(np.sort(column), np.arange(n)):
            raise MismatchError(f"The columns of {n} words are the numbers from 0 to {n - 1}, each once")
        out = cls(vocabulary, column)
        vars(out)["by_name"] = dict(columns)
        return out

    @property
    def names(self) -> NDArray[Any]:
        """The words, column by column."""
        return self.vocabulary.names if self.column is None else self.vocabulary.names[np.argsort(self.column)]

    @cached_property
    def by_name(self) -> dict[str, int]:
        """The column of each word, in alphabetical order."""
        columns = range(len(self.vocabulary)) if self.column is None else self.column.tolist()
        return dict(zip(self.vocabulary.names.tolist(), columns, strict=True))

    def count(self, texts: Texts, tokenization: Tokenization, stem: Stem | None) -> Matrix:
        """Count the words in each text."""
        lexicon = vars(self).get("_lexicon")  # kept for the next texts, because building it takes time
        if lexicon is None or (lexicon.tokenization, lexicon.stem) != (tokenization, stem):
            lexicon = vars(self)["_lexicon"] = Lexicon(self.vocabulary, tokenization, stem)
        indptr, indices, data = lexicon.count(texts)
        counts = _matrix(len(self.vocabulary), indptr, indices if self.column is None else self.column[indices], data)
        counts.sort_indices()
        return counts

    def __getstate__(self) -> dict[str, Any]:
        return {"vocabulary": self.vocabulary, "column": self.column}  # what is made of them is not pickled


def _matrix(columns: int, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]) -> Matrix:
    index = np.int32 if max(len(data), columns) <= np.iinfo(np.int32).max else np.int64
    parts = data.view(np.int64), indices.astype(index, copy=False), indptr.astype(index, copy=False)  # not `longlong`
    return scipy.sparse.csr_array(parts, shape=(len(indptr) - 1, columns))


def _document_frequency(counts: Matrix) -> NDArray[np.int64]:
    return np.bincount(counts.indices, minlength=counts.shape[1])


# ------------------------------------------------------------------------------------------------- documents


def _documents(raw: Documents) -> Documents:
    """Return the column of a table of one column, and other documents as they are."""
    if isinstance(raw, (str, bytes)):
        raise InvalidDataError(
            "Iterable over raw text documents expected, string object received. For one document, pass [document]."
        )
    if is_table(raw) or hasattr(raw, "schema"):
        frame = as_frame(raw)
        if len(frame.names) != 1:
            raise InvalidDataError(f"Texts are one column; the table has {len(frame.names)}: pass one of {frame.names}")
        return frame.columns[frame.names[0]]
    if isinstance(raw, np.ndarray) and raw.ndim == 2 and raw.shape[1] == 1:
        return raw[:, 0]
    if not isinstance(raw, Iterable) and not _is_readable(raw):
        raise InvalidDataError(f"Iterable over raw text documents expected, found {type(raw).__name__}")
    return raw


def _is_readable(documents: Documents) -> bool:
    """Return whether `Texts` reads these as they are."""
    interfaces = ("__arrow_c_stream__", "__arrow_c_array__", "__array__")
    return isinstance(documents, (list, tuple)) or any(hasattr(documents, name) for name in interfaces)


def _each(documents: Documents) -> Iterator[Any]:
    """Yield the documents as Python objects, None for missing values of a column. NaN in a list is an error."""
    if hasattr(documents, "to_pylist"):
        documents = documents.to_pylist()
    elif hasattr(documents, "isna"):
        documents = (None if missing else each for each, missing in zip(documents, documents.isna(), strict=True))
    for i, document in enumerate(documents):
        if isinstance(document, float) and np.isnan(document):
            raise InvalidTextError(
                f"np.nan is an invalid document, expected byte or unicode string. Document {i} is; use None if missing"
            )
        yield document


def _is_utf8(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        raise InvalidOptionError(f"Unknown encoding {encoding!r}") from None


def _as_tokens(documents: Iterable[Iterable[str]]) -> Texts:
    """Concatenate documents that are given as features."""
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
    return Texts.of_tokens(np.frombuffer(text, dtype=np.uint8), np.array(start), np.array(document_start))


# The steps are functions of this module, so that an analyzer can be pickled.


def _stem_each(stem: Callable[[str], str], found: Iterable[str]) -> list[str]:
    return [stem(word) for word in found]


def _stem_and_join(
    find: Callable[[Any], list[str]], stem: Stem, join: Callable[[list[str]], list[str]], document: Any
) -> list[str]:
    return join(stem(find(document)))
