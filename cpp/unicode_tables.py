"""Write unicode_tables.hpp: what the Python that runs this makes of each character.

Run by CMake, so that the words found in C++ are those that `re` and `str.lower` of the same Python find.
Whatever can be asked of `str` itself is asked: word characters of `str.isalnum`, white space of `str.isspace`,
lower case of `str.lower`, and how a character decides about a final sigma (Σ lower-cased to ς or σ) of the lower case
of strings with a Σ behind the character.
"""

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

CHARACTERS = 0x110000
SURROGATES = range(0xD800, 0xE000)
HANGUL = range(0xAC00, 0xD7A4)
BLOCK = 128

WORD, SPACE, CASED, IGNORABLE, LOWER, SEQUENCE = (1 << bit for bit in range(6))


def is_final_sigma(before: str) -> bool:
    """Whether a Σ behind `before`, at the end of a text, becomes ς."""
    return (before + "Σ").lower()[-1] == "ς"


def flags(character: str) -> int:
    """What a character is, apart from its lower case."""
    found = WORD * (character.isalnum() or character == "_") | SPACE * character.isspace()
    # A character that is ignored lets what stands before it decide; another one decides itself.
    after_letter, after_digit = is_final_sigma("A" + character), is_final_sigma("1" + character)
    return found | CASED * (after_letter and after_digit) | IGNORABLE * (after_letter and not after_digit)


def without_accents(character: str) -> str:
    """The character's compatibility decomposition without combining marks."""
    return "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c))


def array(name: str, values: Sequence[int], kind: str = "") -> str:
    """A C++ array of the narrowest unsigned type, or of the type given."""
    most = max(values)
    kind = kind or f"std::uint{8 if most < 1 << 8 else 16 if most < 1 << 16 else 32}_t"
    lines = (", ".join(map(str, values[i : i + 32])) for i in range(0, len(values), 32))
    return f"inline constexpr {kind} {name}[{len(values)}] = {{\n" + ",\n".join(lines) + "};\n"


def two_levels(name: str, values: Sequence[int]) -> str:
    """Two arrays: value of c = name_entry[name_block[c / BLOCK] * BLOCK + c % BLOCK]; equal blocks are kept once."""
    blocks: dict[tuple[int, ...], int] = {}
    first = [blocks.setdefault(tuple(values[c : c + BLOCK]), len(blocks)) for c in range(0, CHARACTERS, BLOCK)]
    return array(f"{name}_block", first) + array(f"{name}_entry", [value for block in blocks for value in block])


def numbered(values: Iterable[T]) -> tuple[list[int], dict[T, int]]:
    """Each value's number, and the distinct values in the order of their numbers."""
    numbers: dict[T, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values], numbers


def characters() -> str:
    """Tables of flags and lower case: `lower` is added to a character, or the number of a sequence."""
    sequences: dict[tuple[int, ...], int] = {}

    def properties(c: int) -> tuple[int, int]:
        if c in SURROGATES:
            return 0, 0
        lower = tuple(map(ord, chr(c).lower()))
        if len(lower) == 1:
            return flags(chr(c)) | LOWER * (lower[0] != c), lower[0] - c
        return flags(chr(c)) | LOWER | SEQUENCE, sequences.setdefault(lower, len(sequences))

    entries, records = numbered(properties(c) for c in range(CHARACTERS))
    longest = max((len(sequence) for sequence in sequences), default=1)
    rows = [", ".join(map(str, (*sequence, *[0] * (longest - len(sequence))))) for sequence in sequences] or ["0"]
    return (
        two_levels("character", entries)
        + f"inline constexpr Character character_records[{len(records)}] = {{\n"
        + ",\n".join(f"{{{lower}, {found}}}" for found, lower in records)
        + "};\n"
        + f"inline constexpr char32_t lower_sequences[{len(rows)}][{longest}] = {{"
        + ", ".join(f"{{{row}}}" for row in rows)
        + "};\n"
    )


def accents() -> str:
    """Tables of characters without accents, as UTF-8; entry 0 stands for a character that stays as it is."""

    def stripped(c: int) -> bytes | None:
        if c in SURROGATES or c in HANGUL:
            return None
        text = without_accents(chr(c))
        return None if text == chr(c) else text.encode()

    for c in HANGUL:
        lead, rest = divmod(c - HANGUL.start, 588)
        vowel, tail = divmod(rest, 28)
        jamo = chr(0x1100 + lead) + chr(0x1161 + vowel) + (chr(0x11A7 + tail) if tail else "")
        assert without_accents(chr(c)) == jamo, "Hangul syllables are decomposed in tokens.cpp"
    assert all(without_accents(chr(c)) == chr(c) for c in range(128)), "ASCII has no accents"
    strips = [stripped(c) for c in range(CHARACTERS)]
    entries, texts = numbered([None, *strips])
    starts, blob = [0, 0], b""
    for text in [text for text in texts if text is not None]:
        blob += text
        starts.append(len(blob))
    longest = max(map(len, filter(None, texts)))
    return (
        two_levels("accent", entries[1:])
        + array("accent_start", starts)
        + array("accent_text", list(blob), "std::uint8_t")
        + f"inline constexpr int accent_longest = {longest};\n"
    )


HEAD = f"""// Written by unicode_tables.py.
// Unicode {unicodedata.unidata_version} as Python {sys.version.split()[0]} has it.
#pragma once

#include <cstdint>

namespace suffice::unicode {{

enum Flag : std::uint8_t {{
    word = {WORD}, space = {SPACE}, cased = {CASED}, ignorable = {IGNORABLE}, lower = {LOWER}, sequence = {SEQUENCE}
}};
struct Character {{
    std::int32_t lower;
    std::uint8_t flags;
}};
inline constexpr int block = {BLOCK};
inline constexpr const char* version = "{unicodedata.unidata_version}";
"""


def main(path: str) -> None:
    """Write the tables to a file."""
    Path(path).write_text(HEAD + characters() + accents() + "\n}  // namespace suffice::unicode\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
