"""Count the features of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.errors import InvalidOptionError, InvalidTextError
from suffice.core.words.stems import stem_words
from suffice.core.words.texts import Texts, named_errors, padded
from suffice.core.words.tokenizing import ACCENTS, ANALYZERS, Tokenization
from suffice.core.words.vocabulary import Positions, Vocabulary

FEW = 16  # bytes of a vocabulary for each byte of text that is read without a table

TermWeight: TypeAlias = Literal["count", "binary", "sqrt", "log"]
LengthNorm: TypeAlias = Literal["l1", "l2"]
CsrArrays: TypeAlias = tuple[Positions, NDArray[np.int32], NDArray[np.int64]]  # indptr, indices and data
Stem: TypeAlias = Callable[[Iterable[str]], list[str]]  # from many words to their stems


@dataclass(frozen=True)
class Weighting:
    """The value of a feature that occurs c times in a document, and what the values of the document are divided by.

    The value is c, 1, √c or 1 + log c (`term`). `norm` divides by Σ v or √Σ v² over the features of one size: single
    words, pairs of words, and so on. Features that are not in the vocabulary are part of these sums.
    """

    term: TermWeight = "count"
    norm: LengthNorm | None = None

    def __post_init__(self) -> None:
        if self.term not in get_args(TermWeight):
            raise InvalidOptionError(f"term_weight must be one of {get_args(TermWeight)}, found {self.term!r}")
        if self.norm not in (None, *get_args(LengthNorm)):
            raise InvalidOptionError(f"length_norm must be one of {(None, *get_args(LengthNorm))}, found {self.norm!r}")

    @property
    def numbers(self) -> tuple[int, int]:
        """The numbers that kernels know the options by."""
        return get_args(TermWeight).index(self.term), (None, *get_args(LengthNorm)).index(self.norm)

    def of(self, start: Positions, count: NDArray[np.int64], size: NDArray[np.uint8]) -> Array:
        """Return the values of documents with counts `count[start[i] : start[i + 1]]`, whose features have a `size`."""
        value_of: dict[str, Callable[[Array], Array]] = {
            "count": np.asarray,
            "binary": np.ones_like,
            "sqrt": np.sqrt,
            "log": lambda c: 1.0 + np.log(c),
        }
        value = np.asarray(value_of[self.term](count.astype(np.float64)))
        if self.norm is None or not len(value):
            return value
        owner = np.repeat(np.arange(len(start) - 1), np.diff(start)) * (int(size.max()) + 1) + size
        sums = np.bincount(owner, value**2 if self.norm == "l2" else value)
        return np.asarray(value / (np.sqrt(sums) if self.norm == "l2" else sums)[owner])


class Bag(NamedTuple):
    """What `BagOfWords` does with texts: `order` are the words column by column, by default those of the vocabulary.

    Unlike those of event models, its norms are over the known words of all sizes.
    """

    vocabulary: Vocabulary
    order: Positions | None
    tokenization: Tokenization
    weighting: Weighting
    idf: Array | None


class Weighed(NamedTuple):
    """A CSR matrix, the number of words of each document, and sums over its unknown features of each size."""

    start: Positions
    feature: NDArray[np.int32]
    value: Array
    words: Positions
    unknown: Array


class Linear(NamedTuple):
    """Scores of features for the classes that have them: those of feature i are at `start[i] : start[i + 1]`.

    `base` (sizes, classes) is the score of any feature of a size; one row is that of all sizes. Values of a document
    are multiplied by e^(exponent (log(1 + n_b) − length_b)), where n_b is the number of its features of size b.
    """

    start: Positions
    codes: Codes
    coef: Array
    base: Array
    length: Array | float
    exponent: float


@dataclass(frozen=True)
class Lexicon:
    """A vocabulary ready to be looked up in texts. `stem` replaces the stemmer of the tokenization."""

    vocabulary: Vocabulary
    tokenization: Tokenization
    stem: Stem | None = None
    # Of each feature: those of a lower tier are closer together in memory, so that frequent ones stay in the cache.
    tier: NDArray[np.uint8] | None = field(default=None, compare=False, repr=False)

    def count(self, texts: Texts) -> CsrArrays:
        """Count the features of the vocabulary in each document; columns ascend in each row."""
        with named_errors():
            native, place = self.native_for(texts)
            start, feature, count = _core.count_words(texts.native, native)
        return start, feature if place is None else place[feature], count

    def weigh(self, texts: Texts, weighting: Weighting) -> Weighed:
        """Weigh the features of the vocabulary in each document; columns are in no order."""
        with named_errors():
            native, place = self.native_for(texts)
            found = Weighed(*_core.weigh_words(texts.native, native, *weighting.numbers))
        feature = found.feature if place is None else place[found.feature]
        return found._replace(feature=feature, unknown=found.unknown.reshape(len(texts), self.tokenization.n_sizes))

    def score(self, texts: Texts, weighting: Weighting, scores: Callable[[NDArray[np.int32] | None], Linear]) -> Array:
        """Compute scores that are linear in the weighted features of each document, (documents, classes).

        `scores` returns those of the features at some places of the vocabulary, or of all. Those of all are kept in a
        table, until other `scores` are asked for.
        """
        with named_errors():
            native, place = self.native_for(texts)
            kept = vars(self).get("_scored")
            if kept is not None and kept[0] is native and kept[1] == scores:
                found, table, base, length = kept[2:]
            else:
                found = scores(place)
                table = _core.ScoreTable(native, found.start, found.codes, found.coef, found.base.shape[1])
                sizes = self.tokenization.n_sizes
                base = np.array(np.broadcast_to(found.base, (sizes, found.base.shape[1])), np.float64).ravel()
                length = np.array(np.broadcast_to(found.length, (sizes,)), np.float64)
                if native is vars(self).get("_native"):
                    vars(self)["_scored"] = native, scores, found, table, base, length
            out, (term, norm) = np.empty((len(texts), found.base.shape[1])), weighting.numbers
            _core.word_scores(texts.native, native, term, norm, table, base, length, found.exponent, out)
        return out

    def native_for(self, texts: Texts) -> tuple[_core.Lexicon, NDArray[np.int32] | None]:
        """Return a native lexicon, and the places of its features in the vocabulary; None if it has all of them.

        A table of a large vocabulary takes longer to make than few texts to read. So at first only the features that
        texts have are looked up, by their names. The table is kept unless words are stemmed: new words may have a stem
        that is known.
        """
        found = vars(self).get("_native")
        if found is not None:
            return found, None
        tokenization = native_for(self.tokenization, texts, self.stem)
        if self._are_few(texts):
            names, *_ = _core.word_matrix(texts.native, tokenization)
            some = Vocabulary(*names)
            place = self.vocabulary.find(some)
            own = some.take(place >= 0)
            return _core.Lexicon(padded(own.text), own.start, tokenization), place[place >= 0].astype(np.int32)
        found = _core.Lexicon(padded(self.vocabulary.text), self.vocabulary.start, tokenization, self.tier)
        if self.stem is None and self.tokenization.stem is None:
            vars(self)["_native"] = found
        return found, None

    def expect_many(self) -> None:
        """Look up all features from now on, as many texts will come, one at a time."""
        vars(self)["_read"] = len(self.vocabulary.text)

    def _are_few(self, texts: Texts) -> bool:
        """Return whether texts, and those that were read before, are few for the vocabulary."""
        sizes = np.empty(len(texts), dtype=np.int64)
        texts.native.sizes(sizes)
        read = vars(self)["_read"] = vars(self).get("_read", 0) + int(sizes.sum())
        return bool(FEW * read < len(self.vocabulary.text))

    def __getstate__(self) -> dict[str, Any]:
        names = "vocabulary", "tokenization", "stem", "tier"
        return {name: getattr(self, name) for name in names}


def count_matrix(
    texts: Texts, tokenization: Tokenization, stem: Stem | None = None
) -> tuple[Vocabulary, Positions, NDArray[np.int32], NDArray[np.int64]]:
    """Count all features: return the sorted vocabulary and a CSR matrix whose columns ascend in each row.

    `stem` replaces the stemmer of the tokenization. The names of hashed features are hexadecimal column numbers.

    >>> vocabulary, indptr, indices, data = count_matrix(Texts.of(["A dog, a cat", "dog eats dog"]), Tokenization())
    >>> vocabulary.names.tolist(), indptr.tolist(), indices.tolist(), data.tolist()
    (['cat', 'dog', 'eats'], [0, 2, 4], [0, 1, 1, 2], [1, 1, 2, 1])
    """
    with named_errors():
        names, indptr, indices, data = _core.word_matrix(texts.native, native_for(tokenization, texts, stem))
    return Vocabulary(*names), indptr, indices, data


def hashed_matrix(texts: Texts, tokenization: Tokenization, stem: Stem | None = None) -> CsrArrays:
    """Count features, hashed to `n_features` columns."""
    if tokenization.n_features is None:
        raise InvalidOptionError("Features are hashed to n_features columns: give their number")
    names, indptr, indices, data = count_matrix(texts, tokenization, stem)
    digits = names.text.reshape(len(names), 8)[:, 1:].astype(np.int32)  # after "#"; columns ascend as their names do
    column = np.where(digits < ord("a"), digits - ord("0"), digits - ord("a") + 10) @ (1 << np.arange(24, -1, -4))
    return indptr, column.astype(np.int32)[indices], data


def word_totals(
    texts: Texts,
    codes: Codes,
    classes: int,
    weight: Array | None,
    tokenization: Tokenization,
    weighting: Weighting,
    exact: bool,
    kept: Positions | None = None,
) -> tuple[CsrArrays, Vocabulary, Positions, Codes, list[Array], list[Array]]:
    """Sum the features of documents by class.

    Return the counts of features in the documents that are `kept`; the vocabulary; start and classes of totals, those
    of feature i being at `start[i] : start[i + 1]`; totals, and the weight of the documents and of the words of each
    class; and, if they are to be `exact`, what rounding took from the three.
    """
    with named_errors():
        bags, names, start, of_class, *sums = _core.word_totals(
            texts.native,
            codes,
            classes,
            weight,
            native_for(tokenization, texts),
            *weighting.numbers,
            exact,
            np.zeros(0, np.int64) if kept is None else kept,
        )
    return bags, Vocabulary(*names), start, of_class, sums[:3], sums[3:] if exact else []


def native(tokenization: Tokenization, replaced: dict[str, str | None] | None = None) -> _core.Tokenization:
    """Make the tokenization that kernels read. `replaced` maps words to what they become, or to None to drop them."""
    replaced = {**tokenization.stop_list} if replaced is None else replaced
    words = Vocabulary.of({*replaced, *(word for word in replaced.values() if word is not None)})
    read_as = [replaced.get(word, word) for word in words.names]
    target = np.full(len(words), -1, dtype=np.int64)
    kept = np.array([word is not None for word in read_as], dtype=bool)
    target[kept] = words.find([word for word in read_as if word is not None])
    return _core.Tokenization(
        tokenization.lowercase,
        (None, *ACCENTS).index(tokenization.strip_accents),
        ANALYZERS.index(tokenization.analyzer),
        *tokenization.ngram_range,
        tokenization.n_features or 0,
        padded(words.text),
        words.start,
        target,
    )


_plain_native = lru_cache(64)(native)  # single texts are read in less time than it takes to make one


def native_for(tokenization: Tokenization, texts: Texts, stem: Stem | None = None) -> _core.Tokenization:
    """Make the tokenization that kernels read for certain texts: each of their distinct words is stemmed once."""
    if stem is None and tokenization.stem is not None:
        stem = partial(stem_words, tokenization.stem)
    if stem is None:
        return _plain_native(tokenization)
    plain = Tokenization(lowercase=tokenization.lowercase, strip_accents=tokenization.strip_accents)
    names, *_ = _core.word_matrix(texts.native, native(plain))
    words = [word for word in Vocabulary(*names).names if word not in tokenization.stop_list]
    stems = dict(zip(words, stem(words), strict=True))
    for word, short in stems.items():
        if not isinstance(short, str):
            raise InvalidTextError(f"The stem of {word!r} must be a string, found {type(short).__name__}")
        if tokenization.ngram_range[1] > 1 and min(short, default="~") <= " ":
            raise InvalidTextError(
                f"The stem of {word!r} is {short!r}: words with white space cannot be joined to others"
            )
    return native(tokenization, stems | tokenization.stop_list)
