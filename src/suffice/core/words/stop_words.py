"""Words that are in every text, by language."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from suffice.core.errors import InvalidOptionError, MissingPackageError


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
        return _english()
    from stop_words import get_stop_words

    return frozenset(get_stop_words(language))


def _english() -> frozenset[str]:
    """scikit-learn's list, from the file it is in: importing all the rest takes a second."""
    home = find_spec("sklearn")
    if home is not None and home.submodule_search_locations:
        file = Path(home.submodule_search_locations[0]) / "feature_extraction" / "_stop_words.py"
        spec = spec_from_file_location("_stop_words", file) if file.exists() else None
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return frozenset(module.ENGLISH_STOP_WORDS)
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)
