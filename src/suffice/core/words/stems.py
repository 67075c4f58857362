"""Stems of words, by the Snowball stemmers of PyStemmer."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from suffice.core.errors import InvalidOptionError, MissingPackageError

CACHE = 1 << 16  # stems that a stemmer keeps: the same words come again and again
_STEMMERS = threading.local()  # by language: a stemmer is not thread-safe


def check(language: str) -> None:
    """Raise an error if there is no stemmer for a language."""
    try:
        import Stemmer
    except ImportError:
        raise MissingPackageError(
            "Stems are made by the package PyStemmer, which is not installed: pip install 'suffice[text]'"
        ) from None
    known = Stemmer.algorithms()
    if language not in known:
        raise InvalidOptionError(f"No stemmer for {language!r}. Known are {', '.join(known)}")


def stem_words(language: str, words: Iterable[str]) -> list[str]:
    """Return the stem of each word.

    >>> stem_words("english", ["slow", "slowness", "slowed", "slowly"])
    ['slow', 'slow', 'slow', 'slowli']
    """
    own: dict[str, Any] = _STEMMERS.__dict__
    if language not in own:
        check(language)
        from Stemmer import Stemmer

        own[language] = Stemmer(language, CACHE)
    return own[language].stemWords(list(words))
