"""How one text is read, in plain Python: what the native code must give, and what callables are put together with.

The rules are those of scikit-learn's `CountVectorizer`, so that vocabularies are the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suffice.core.words.tokenizing import Tokenization

WORD = re.compile(r"\w\w+")  # the longest runs of two or more word characters
SPACES = re.compile(r"\s\s+")


def preprocess(text: str, lowercase: bool = True, strip_accents: str | None = None) -> str:
    """Make a text lower case, and take accents away: all that is not ASCII, or what combines with a letter."""
    if lowercase:
        text = text.lower()
    if strip_accents is None or (strip_accents == "unicode" and text.isascii()):
        return text
    text = unicodedata.normalize("NFKD", text)
    if strip_accents == "ascii":
        return text.encode("ascii", "ignore").decode("ascii")
    return "".join([c for c in text if not unicodedata.combining(c)])


def word_ngrams(words: Sequence[str], ngram_range: tuple[int, int]) -> list[str]:
    """Neighbouring words, joined by a space."""
    least, most = ngram_range
    if most == 1:
        return list(words)
    sizes = range(least, min(most, len(words)) + 1)
    return [" ".join(words[i : i + n]) for n in sizes for i in range(len(words) - n + 1)]


def character_ngrams(text: str, ngram_range: tuple[int, int]) -> list[str]:
    """Neighbouring characters, runs of white space being one space."""
    text = SPACES.sub(" ", text)
    least, most = ngram_range
    sizes = range(least, min(most, len(text)) + 1)
    return [text[i : i + n] for n in sizes for i in range(len(text) - n + 1)]


def ngrams_within_words(text: str, ngram_range: tuple[int, int]) -> list[str]:
    """Neighbouring characters of each word, a space on either side of it; a word that is shorter, once."""
    least, most = ngram_range
    found: list[str] = []
    for word in text.split():
        padded = f" {word} "
        for n in range(least, most + 1):
            found.extend(padded[i : i + n] for i in range(max(len(padded) - n, 0) + 1))
            if n >= len(padded):
                break
    return found


def analyze(text: str, tokenization: Tokenization) -> list[str]:
    """The features of one text, in the order of their size; stems aside."""
    text = preprocess(text, tokenization.lowercase, tokenization.strip_accents)
    if tokenization.analyzer == "char":
        return character_ngrams(text, tokenization.ngram_range)
    if tokenization.analyzer == "char_wb":
        return ngrams_within_words(text, tokenization.ngram_range)
    words, stops = WORD.findall(text), tokenization.stop_list
    if stops:
        words = [word for word in words if word not in stops]
    return word_ngrams(words, tokenization.ngram_range)
