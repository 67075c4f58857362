"""Tokens of raw texts against Python's `re` and scikit-learn's analyzers."""

import re
import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from suffice import _core

# One compiled module serves several Pythons, and has the letters of one of them. Those of Latin scripts do not change.
SAME = _core.unicode_version == unicodedata.unidata_version
EVERY = [chr(c) for c in range(sys.maxunicode + 1 if SAME else 0x250) if not 0xD800 <= c < 0xE000]
# All but unassigned characters, ideographs and syllables, of which one is like the other.
NOTABLE = [
    c for c in EVERY if not unicodedata.name(c, "CJK" if ord(c) > 255 else c).startswith(("CJK", "HANGUL S", "TANGUT"))
]
ACCENTS = [None, "ascii", "unicode"]
SEGMENT = 1 << 15


def tokens(document, lowercase=True, accents=None, analyzer="word", ngrams=(1, 1)):
    return _core.tokens(document, lowercase, accents, analyzer, *ngrams)


def expected(document, lowercase=True, accents=None, analyzer="word", ngrams=(1, 1)):
    if analyzer == "word":  # scikit-learn's pattern has \b, which is the same for greedy words and slower
        prepare = CountVectorizer(lowercase=lowercase, strip_accents=accents).build_preprocessor()
        return re.findall(r"\w\w+", prepare(document))
    return CountVectorizer(
        lowercase=lowercase, strip_accents=accents, analyzer=analyzer, ngram_range=ngrams
    ).build_analyzer()(document)


def check(document, **options):
    """The same tokens in the same order, from every way to hold the text."""
    want = expected(document, **options)
    assert tokens(document, **options) == want
    assert tokens(document.encode(), **options) == want


# Every letter of every script, with what scripts are known for.
TEXTS = {
    "nothing": "",
    "one letter": "a",
    "ASCII": "The quick_brown fox, x 42 jumps-over THE l4zy dog's tail; a b c.",
    "NUL": "one\0two\0\0t\0three\0",
    "Latin-1": "Ça été ÉTÉ naïve Straße \xa0ÿ\xb5\xaa\xba \xbd\xb2 d\x85e ÀÈÌ",
    "Latin": "Łódź Žižek ĳsberg ǅ ǈubljana ŉ ſpiegel Ǣ ﬁnal ﬄ",
    "Greek": "ΟΔΥΣΣΕΥΣ Σ ΑΣ ΣΑ Α'Σ ΑΣ' ΑΣ'Β ΑΣ.Β ΑΣ: ΑΣ\u00ad ΑΣ\u00adΑ 1Σ 1'Σ ΑΣ1 Σ'Σ'Σ ΑΣΣ ΑʰΣ ʰΣ ᾼΣ ΆΣ\u0345 ᾳ ᾈΣ",
    "Turkish": "İSTANBUL Iğdır ıİ diyarbakİr İΣ ΑİΣ",
    "Russian": "Всё смешалось в доме Облонских. Ёлки И Й й",
    "Chinese": "人人生而自由,在尊严和权利上一律平等。\u3000\u3000甲 乙丙",
    "Japanese": "ガギグ ｶﾞｷﾞ ㌀ ｱ か゛ が",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 각 갛힣",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में क़",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระ",
    "Arabic": "يولد جميع الناس أحرارًا ﷺ ﷲ ١٢٣",
    "Vietnamese": "Tất cả mọi người sinh ra đều được tự do",
    "marks": "e\u0301te\u0301 a\u0323\u0301b \u0301\u0302 cafe\u0301",
    "emoji": "I ❤️ 👩‍👩‍👧‍👦 family 🇫🇷 👍🏽 1️⃣ ok\u200d\u200cno 🅰 Ⓐ",
    "mathematics": "𝒜𝔅ℂ 𝟘𝟙 x² ½ ⅷ Ⅷ ① ㎏",
    "Deseret": "𐐀𐐨 𞤀𞤢 𝐀Σ 𐐀Σ",
    "white space": "  a  b\t\tc \n d\u2028\u2028e\u2028f\x1c\x1dg\x1fh \x85 i\u3000 j\v\f k  ",
    "punctuation": "_ __ _a a_ \u203f\u203f a\u203fb ⁀",
}


@pytest.mark.parametrize("accents", ACCENTS)
@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_many_scripts_have_the_tokens_scikit_learn_finds(name, accents):
    text = TEXTS[name]
    for lowercase, widened in [(True, text), (False, text), (True, text + " \u0416"), (True, "😀" + text * 5)]:
        for analyzer, ngrams in [("word", (1, 1)), ("char", (1, 3)), ("char_wb", (2, 9)), ("char", (2, 2))]:
            check(widened, lowercase=lowercase, accents=accents, analyzer=analyzer, ngrams=ngrams)


@pytest.mark.parametrize("accents", ACCENTS)
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_character_is_what_python_says(lowercase, accents):
    text = " ".join(f"{c}x{c}" for c in EVERY)
    assert tokens(text, lowercase, accents) == expected(text, lowercase, accents)
    for form in ("{0}x {0}", "a{0}b{0}{0}\t", "Σ{0} Α{0}ΣΑ"):
        check(" ".join(form.format(c) for c in NOTABLE), lowercase=lowercase, accents=accents)


@pytest.mark.parametrize("accents", ACCENTS)
@pytest.mark.parametrize(("analyzer", "ngrams"), [("char", (2, 2)), ("char_wb", (3, 4))])
def test_every_character_is_in_the_ngrams_scikit_learn_finds(analyzer, ngrams, accents):
    check(" ".join(f"{c}b{c}{c}" for c in NOTABLE), accents=accents, analyzer=analyzer, ngrams=ngrams)


@pytest.mark.parametrize("form", ["Α{0}Σ {0}Σ", "1{0}Σ ΑΣ{0} ", "ΑΣ{0}Α ΑΣ{0}1", "Α{0}{0}Σ{0}{0}Σ{0}"])
def test_a_final_sigma_is_final_whatever_stands_beside_it(form):
    check("1".join(form.format(c) for c in NOTABLE))


LETTERS = st.one_of(
    st.text() if SAME else st.text(EVERY), st.text(alphabet="aZ_9 .'\n\té Σİ\u0301\u3000人😀", max_size=300)
)


@given(
    text=LETTERS,
    lowercase=st.booleans(),
    accents=st.sampled_from(ACCENTS),
    analyzer=st.sampled_from(["word", "char", "char_wb"]),
    least=st.integers(1, 4),
    more=st.integers(0, 4),
)
def test_any_text_has_the_tokens_scikit_learn_finds(text, lowercase, accents, analyzer, least, more):
    check(text, lowercase=lowercase, accents=accents, analyzer=analyzer, ngrams=(least, least + more))


@pytest.mark.parametrize("letter", ["a", "é", "я", "人", "😀", "𐐀"])
def test_words_are_whole_wherever_a_block_of_64_bytes_ends(letter):
    for before in range(66):
        for size in (1, 2, 63, 65, 130):
            text = "." * before + letter.upper() * size + " " + "Yz" * (size % 3)
            assert tokens(text) == tokens(text.encode()) == re.findall(r"\w\w+", text.lower())


@pytest.mark.parametrize("filler", ["a b  cd ", "é жъ  ", "人 "])
@pytest.mark.parametrize(
    ("analyzer", "ngrams"), [("word", (1, 1)), ("char", (1, 1)), ("char", (4, 4)), ("char_wb", (3, 3))]
)
def test_tokens_are_whole_wherever_a_segment_ends(filler, analyzer, ngrams):
    # The text moves on, so that the segment ends in each of its parts once.
    size = len(filler.encode())
    text = (filler * (SEGMENT // size + 1))[: SEGMENT * len(filler) // size - 150]
    for before in range(0, 140, 4):
        document = "q" * before + text + "Wörld  \u3000\n ΣΑΣ''" + "!" * (before % 7) + "End. " + "xy z" * 40
        want = expected(document, analyzer=analyzer, ngrams=ngrams)
        assert tokens(document, analyzer=analyzer, ngrams=ngrams) == want


@pytest.mark.parametrize("gap", [" ", "\n", "\u3000", "\n ", " \u3000", "\u2028\u2028\u2028"])
def test_white_space_at_the_end_of_a_segment_is_put_together(gap):
    for before in range(SEGMENT - 8, SEGMENT + 3):
        document = "x" * before + gap + "y" * 80
        assert tokens(document, analyzer="char", ngrams=(2, 2)) == expected(document, analyzer="char", ngrams=(2, 2))
    blanks = "é" + gap * 2 * SEGMENT + "b"
    check(blanks, analyzer="char", ngrams=(1, 3))
    check(blanks, analyzer="char_wb", ngrams=(1, 3))


@pytest.mark.parametrize("letter", ["a", "Ж"])
def test_a_million_letters_are_one_word(letter):
    word = letter * 1_000_000
    check(f"some {word} more")
    check(word, analyzer="char_wb", ngrams=(3, 3))
    assert tokens(f"{word} b", analyzer="char_wb", ngrams=(2_000_000, 2_000_001)) == [f" {word.lower()} ", " b "]


def test_ngrams_longer_than_a_segment():
    text = "".join(chr(0x4E00 + i) for i in range(15_000)) * 2
    for n in (10_923, 29_900, 30_000, 30_001):
        part = text[: n + 99]
        assert tokens(part, analyzer="char", ngrams=(n, n)) == [part[i : i + n] for i in range(len(part) - n + 1)]


def test_a_long_range_of_sizes_comes_in_parts():
    check("Ab c" * 300, analyzer="char", ngrams=(1, 200))
    check("Abcé" * 100, analyzer="char_wb", ngrams=(1, 450))


def test_a_sigma_looks_as_far_as_it_must():
    ignored = "'" * 100_000
    check(f"ΑΣ{ignored}Σ Α{ignored}Σ{ignored}1 ΑΣ{ignored}")
    check("ΑΣ'" * 50_000)


def test_a_missing_document_has_no_tokens():
    for analyzer in ("word", "char", "char_wb"):
        assert tokens(None, analyzer=analyzer, ngrams=(1, 3)) == []


BAD = [
    b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xc3a", b"\xc3\xc3", b"\xe0\x80\x80", b"\xe0\x9f\xbf",
    b"\xe2\x82", b"\xe2", b"\xe2a\x80", b"\xe2\x82a", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x80\x80\x80",
    b"\xf0\x8f\xbf\xbf", b"\xf0\x9f\x98", b"\xf0\x9f", b"\xf0", b"\xf0\x9f\x98a", b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80", b"\xfe", b"\xff",
]  # fmt: skip


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("bad", BAD, ids=bytes.hex)
def test_bytes_that_are_not_utf_8_are_refused_with_their_position(bad, analyzer):
    for before in ("", "abc ", "é", "x" * 63, "ж" * 32, "A" * 64, "α Σ" * 9_000):
        for after in (b"", b" more text", b"\xc3\xa9" * 40):
            document = before.encode() + bad + after
            with pytest.raises(UnicodeDecodeError) as python:
                document.decode()
            with pytest.raises(ValueError, match=rf"not UTF-8 at position {python.value.start}$"):
                tokens(document, analyzer=analyzer)


@given(st.binary(max_size=80))
def test_bytes_are_refused_where_python_refuses_them(document):
    try:
        text = document.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(ValueError, match=rf"at position {error.start}$"):
            tokens(document)
    else:
        assert tokens(document) == expected(text)


@pytest.mark.parametrize("surrogate", [0xD800, 0xDBFF, 0xDC00, 0xDFFF])
@pytest.mark.parametrize("before", ["", "abc", "ж" * 100, "😀 x", "ΑΣ", "a" * 70_000])
def test_lone_surrogates_are_refused_with_their_position(before, surrogate):
    for after in ("", " x", "😀"):
        with pytest.raises(ValueError, match=rf"a lone surrogate at position {len(before)}$"):
            tokens(before + chr(surrogate) + after)


def test_what_is_no_text_is_refused():
    with pytest.raises(TypeError, match="str, bytes or None"):
        tokens(3.5)
    for wrong in [{"accents": "none"}, {"analyzer": "words"}, {"ngrams": (0, 1)}, {"ngrams": (3, 2)}]:
        with pytest.raises(ValueError, match="must"):
            tokens("text", **wrong)


def test_accents_are_those_of_the_decomposed_text():
    # The one law the table rests on: characters decompose one by one, whatever stands beside them.
    text = "".join(EVERY)
    whole = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    assert Counter(tokens(text, lowercase=False, accents="unicode")) == Counter(re.findall(r"\w\w+", whole))
