"""Lists of stop words by language."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

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
        return _english()
    from stop_words import get_stop_words

    return frozenset(get_stop_words(language))


def _english() -> frozenset[str]:
    """Read the list of scikit-learn from its file, because importing the package takes a second."""
    home = find_spec("sklearn")
    if home is not None and home.origin is not None:
        file = Path(home.origin).parent / "feature_extraction" / "_stop_words.py"
        if file.exists():
            return frozenset(run_path(str(file))["ENGLISH_STOP_WORDS"])
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)
