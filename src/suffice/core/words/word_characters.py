"""What the kernels take for a character of words, for those who cut texts by regular expressions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from suffice.core.words.counting import count_matrix
from suffice.core.words.texts import Texts
from suffice.core.words.tokenizing import Tokenization

SIGMA, FINAL_SIGMA = "Σ", "ς"
DOTTED_I = "İ"  # becomes i and a dot above, which is no character of words: so a word ends here
SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True)
class WordCharacters:
    """Characters of words, all but `DOTTED_I`, and those that lower-casing changes, with what they become.

    Whether Σ becomes `FINAL_SIGMA` depends on the `cased` characters around it; between them and Σ there may be
    `ignored` ones. No character is both.
    """

    all: str
    lower: dict[str, str]
    cased: str
    ignored: str


@cache
def word_characters() -> WordCharacters:
    """Ask the kernels for words of each character and a digit, and Python for what decides about Σ."""
    every = [chr(c) for c in range(0x110000) if c not in SURROGATES]
    words, *_ = count_matrix(Texts.of([" ".join(f"{c}1" for c in every)]), Tokenization(lowercase=False))
    found = [word[0] for word in words.names if len(word) == 2 and word[0] != DOTTED_I]
    lower, start, which, _ = count_matrix(Texts.of([f"{c}1" for c in found]), Tokenization())
    assert np.array_equal(start, np.arange(len(found) + 1)), "each is a word in lower case"
    read = {c: lower[int(i)][0] for c, i in zip(found, which, strict=True)}
    deciding = [c for c in every if _is_final("A" + c)]  # of their own, or by leaving it to the letter before
    return WordCharacters(
        "".join(found),
        {c: low for c, low in read.items() if c != low},
        "".join(c for c in deciding if _is_final("1" + c)),
        "".join(c for c in deciding if not _is_final("1" + c)),
    )


def _is_final(before: str) -> bool:
    """Return whether Σ after these characters, at the end of a text, is a final one."""
    return (before + SIGMA).lower()[-1] == FINAL_SIGMA


def ranges_of(characters: Iterable[str]) -> str:
    r"""Write characters as what is between the brackets of a regular expression.

    >>> print(ranges_of("cab_"))
    \x{5F}\x{61}-\x{63}
    """
    codes = np.array(sorted(map(ord, set(characters))))
    ends = np.flatnonzero(np.append(np.diff(codes) > 1, True))
    begins = np.append(0, ends[:-1] + 1)
    return "".join(
        rf"\x{{{a:X}}}" if a == b else rf"\x{{{a:X}}}-\x{{{b:X}}}"
        for a, b in zip(codes[begins], codes[ends], strict=True)
    )
