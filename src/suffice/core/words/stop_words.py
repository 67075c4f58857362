"""Lists of stop words by language."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from suffice.core.errors import InvalidOptionError, MissingPackageError


def languages() -> list[str]:
    """List the languages with stop words: English always, others if the package `stop-words` is installed."""
    try:
        from stop_words import AVAILABLE_LANGUAGES
    except ImportError:
        return ["english"]
    return sorted({"english", *AVAILABLE_LANGUAGES})


def check(language: str) -> None:
    """Raise an error if there is no list for a language."""
    known = languages()
    if language in known:
        return
    if known == ["english"]:
        raise MissingPackageError(
            f"not a built-in stop list: {language!r}. English is; lists of other languages come with the package "
            "stop-words: pip install 'suffice[text]'"
        )
    raise InvalidOptionError(f"not a built-in stop list: {language!r}. Known are {', '.join(known)}")


@cache
def named(language: str) -> frozenset[str]:
    """Return the stop words of a language. The English list is that of scikit-learn, so that results are the same."""
    check(language)
    if language == "english":
        return frozenset(Path(__file__).with_name("english_stop_words.txt").read_text(encoding="ascii").split())
    from stop_words import get_stop_words

    return frozenset(get_stop_words(language))
