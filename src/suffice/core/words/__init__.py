"""Texts as counts of words: how they are read, and the vocabulary that is found."""

from suffice.core.words.counting import Lexicon, Stem, Weighting, count_matrix, hashed_matrix, matrix, word_totals
from suffice.core.words.texts import Texts
from suffice.core.words.tokenizing import Reading
from suffice.core.words.vocabulary import Vocabulary

__all__ = [
    "Lexicon",
    "Reading",
    "Stem",
    "Texts",
    "Vocabulary",
    "Weighting",
    "count_matrix",
    "hashed_matrix",
    "matrix",
    "word_totals",
]
