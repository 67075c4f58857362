"""Words that are in every text, by language."""

from __future__ import annotations

from functools import cache

from suffice.errors import InvalidOptionError, MissingPackageError


def languages() -> list[str]:
    """The languages that have a list here: English always, the others from the package `stop-words`."""
    try:
        from stop_words import AVAILABLE_LANGUAGES
    except ImportError:
        return ["english"]
    return sorted({"english", *AVAILABLE_LANGUAGES})


def check(language: str) -> None:
    """Refuse a language without a list, naming those that have one."""
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
    """The list of a language. English is scikit-learn's, so that results are the same."""
    check(language)
    if language == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    from stop_words import get_stop_words

    return frozenset(get_stop_words(language))
