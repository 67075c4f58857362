"""Texts as counts of words: tokenization, vocabularies and counting."""

from suffice.core.words.counting import Bag, Lexicon, Stem, Weighting, count_matrix, hashed_matrix, word_totals
from suffice.core.words.texts import Texts
from suffice.core.words.tokenizing import Tokenization
from suffice.core.words.vocabulary import Vocabulary

__all__ = [
    "Bag",
    "Lexicon",
    "Stem",
    "Texts",
    "Tokenization",
    "Vocabulary",
    "Weighting",
    "count_matrix",
    "hashed_matrix",
    "word_totals",
]
