"""Tokenization in plain Python, for callables of `BagOfWords` and as the reference of the native code.

The rules are those of scikit-learn's `CountVectorizer`, so that vocabularies are the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

WORD = re.compile(r"\w\w+")  # the longest runs of two or more word characters
SPACES = re.compile(r"\s\s+")


def preprocess(text: str, lowercase: bool = True, strip_accents: str | None = None) -> str:
    """Make a text lower case, and remove accents: `"ascii"` drops what is not ASCII, `"unicode"` combining marks."""
    if lowercase:
        text = text.lower()
    if strip_accents is None or (strip_accents == "unicode" and text.isascii()):
        return text
    text = unicodedata.normalize("NFKD", text)
    if strip_accents == "ascii":
        return text.encode("ascii", "ignore").decode("ascii")
    return "".join([c for c in text if not unicodedata.combining(c)])


def word_ngrams(words: Sequence[str], ngram_range: tuple[int, int]) -> list[str]:
    """Return the n-grams of words, joined by spaces."""
    least, most = ngram_range
    if most == 1:
        return list(words)
    sizes = range(least, min(most, len(words)) + 1)
    return [" ".join(words[i : i + n]) for n in sizes for i in range(len(words) - n + 1)]


def character_ngrams(text: str, ngram_range: tuple[int, int]) -> list[str]:
    """Return the n-grams of characters, after runs of white space became one space."""
    text = SPACES.sub(" ", text)
    least, most = ngram_range
    sizes = range(least, min(most, len(text)) + 1)
    return [text[i : i + n] for n in sizes for i in range(len(text) - n + 1)]


def ngrams_within_words(text: str, ngram_range: tuple[int, int]) -> list[str]:
    """Return the n-grams of characters of each word between two spaces; a shorter word gives itself, once."""
    least, most = ngram_range
    found: list[str] = []
    for word in text.split():
        padded = f" {word} "
        for n in range(least, most + 1):
            found.extend(padded[i : i + n] for i in range(max(len(padded) - n, 0) + 1))
            if n >= len(padded):
                break
    return found
