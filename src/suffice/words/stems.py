"""Words without their endings, by the rules of Snowball."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType

from suffice.errors import InvalidOptionError, MissingPackageError

CACHE = 1 << 16  # words that a stemmer remembers: n-grams and documents bring the same ones again


def languages() -> list[str]:
    """The languages that can be stemmed."""
    return list(_package().algorithms())


def check(language: str) -> None:
    """Refuse a language without rules, naming those that have them."""
    known = languages()
    if language not in known:
        raise InvalidOptionError(f"No stemmer for {language!r}. Known are {', '.join(known)}")


def stemmer(language: str) -> Callable[[Iterable[str]], list[str]]:
    """Make what stems many words at a call; of one thread, as it remembers a bounded number of them.

    >>> stemmer("english")(["slow", "slowness", "slowed", "slowly"])
    ['slow', 'slow', 'slow', 'slowli']
    """
    check(language)
    made = _package().Stemmer(language, CACHE)
    return lambda words: made.stemWords(list(words))


def _package() -> ModuleType:
    try:
        import Stemmer
    except ImportError:
        raise MissingPackageError(
            "Stems are made by the package PyStemmer, which is not installed: pip install 'suffice[text]'"
        ) from None
    return Stemmer
