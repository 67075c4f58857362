"""How a text is cut into features."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.errors import InvalidOptionError
from suffice.core.registry import Registered
from suffice.core.validation import Held, check_options
from suffice.core.words import stems, stop_words
from suffice.core.words.vocabulary import Vocabulary

Analyzer: TypeAlias = Literal["word", "char", "char_wb"]
Accents: TypeAlias = Literal["ascii", "unicode"]

ANALYZERS = ("word", "char", "char_wb")
ACCENTS = ("ascii", "unicode")
WORD = re.compile(r"\w\w+")  # the longest runs of two or more word characters
MOST_COLUMNS = 1 << 28  # of hashed features
MOST_WORDS, MOST_CHARACTERS = 255, 1 << 20  # in an n-gram


@dataclass(frozen=True)
class Tokenization(Registered, stored_as="Reading"):
    r"""How a text is cut into features: words, n-grams of words, or n-grams of characters.

    Words are the longest runs of two or more word characters, Python's `\w`, after lower-casing (`str.lower`) and, if
    asked for, the removal of accents. `ngram_range` is the least and the largest number of words or characters of a
    feature. `stop_words` are left out before words are joined: the list of a language by its name, or words as they are
    after lower-casing. `stem` is the language of the stemmer. With `n_features`, features are hashed to that many
    columns, and no vocabulary is kept.

    >>> Tokenization(ngram_range=(1, 2), stop_words=("the", "an", "the")).stop_words
    ('an', 'the')
    """

    lowercase: bool = True
    strip_accents: Accents | None = None
    analyzer: Analyzer = "word"
    ngram_range: tuple[int, int] = (1, 1)
    stop_words: str | tuple[str, ...] | None = None
    stem: str | None = None
    n_features: Annotated[int | None, Held(least=1, most=MOST_COLUMNS)] = None

    def __post_init__(self) -> None:
        check_options(self, "lowercase", "strip_accents", "analyzer", "stem", "n_features")
        self._set("ngram_range", _sizes(self.ngram_range, MOST_WORDS if self.analyzer == "word" else MOST_CHARACTERS))
        if self.stop_words is not None and not isinstance(self.stop_words, str):
            self._set("stop_words", _stop_tuple(self.stop_words))
        if self.n_features is not None:
            self._set("n_features", int(self.n_features))
        if self.analyzer != "word":
            for name in ("stop_words", "stem"):
                if getattr(self, name) is not None:
                    raise InvalidOptionError(f"{name} is about words: analyzer={self.analyzer!r} has none")
        if isinstance(self.stop_words, str):
            stop_words.check(self.stop_words)
        if self.stem is not None:
            stems.check(self.stem)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def joins_words(self) -> bool:
        """Whether features are words that are joined by spaces."""
        return self.analyzer == "word" and self.n_features is None

    @property
    def n_sizes(self) -> int:
        """The number of sizes of n-grams that are distinguished."""
        return self.ngram_range[1] - self.ngram_range[0] + 1 if self.joins_words else 1

    def features(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of features of each size in documents with so many words (or characters)."""
        least, most = self.ngram_range
        if self.analyzer != "word":
            return words[:, None]
        sizes = np.maximum(words[:, None] - np.arange(least, most + 1) + 1, 0)
        return sizes if self.joins_words else sizes.sum(axis=1, keepdims=True)

    def size_of(self, vocabulary: Vocabulary) -> NDArray[np.uint8]:
        """Return the size of each feature, counted from the smallest."""
        if self.n_sizes == 1:
            return np.zeros(len(vocabulary), dtype=np.uint8)
        out = np.empty(len(vocabulary), dtype=np.uint8)
        _core.name_sizes(vocabulary.text, vocabulary.start, self.ngram_range[0], self.n_sizes - 1, out)
        return out

    @cached_property
    def stop_list(self) -> dict[str, None]:
        """The stop words to look for in texts. Words of a named list are preprocessed like texts, given words not.

        They are the keys of a dict: skops before 0.16 stores a set without what is in it.
        """
        if self.stop_words is None:
            return {}
        if not isinstance(self.stop_words, str):
            return dict.fromkeys(sorted(self.stop_words))
        named = stop_words.named(self.stop_words)
        read = [preprocess(word, self.lowercase, self.strip_accents) for word in named]
        parts = {part for word in read for part in WORD.findall(word)}
        return dict.fromkeys(sorted(named | parts))  # "c'est" is read as "est"


def preprocess(text: str, lowercase: bool = True, strip_accents: Accents | None = None) -> str:
    """Make a text lower case, and remove accents: `"ascii"` drops what is not ASCII, `"unicode"` combining marks."""
    if lowercase:
        text = text.lower()
    if strip_accents is None or (strip_accents == "unicode" and text.isascii()):
        return text
    text = unicodedata.normalize("NFKD", text)
    if strip_accents == "ascii":
        return text.encode("ascii", "ignore").decode("ascii")
    return "".join([c for c in text if not unicodedata.combining(c)])


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _sizes(value: object, limit: int) -> tuple[int, int]:
    """Check the sizes of n-grams."""
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not all(map(_is_integer, value)):
        raise InvalidOptionError(f"The sizes of n-grams are two integers, such as (1, 2); found {value!r}")
    least, most = map(int, value)
    if most > limit:
        raise InvalidOptionError(f"n-grams have at most {limit} words or characters, found sizes {value}")
    if not 1 <= least <= most:
        raise InvalidOptionError(
            f"Invalid value for ngram_range={value}: lower boundary larger than the upper boundary, or less than 1"
        )
    return least, most


def _stop_tuple(words: object) -> tuple[str, ...]:
    """Check stop words; return them sorted and distinct."""
    if not isinstance(words, (tuple, list, set, frozenset)):
        raise InvalidOptionError(
            f"stop_words is the name of a language or a collection of words, found {type(words).__name__}"
        )
    for word in words:
        if not isinstance(word, str):
            raise InvalidOptionError(f"Stop words are strings, found {word!r} of type {type(word).__name__}")
    return tuple(sorted(set(words)))
