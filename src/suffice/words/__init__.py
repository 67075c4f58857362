"""Texts as counts of words: how they are read, and the vocabulary that is found."""

from suffice.words.counting import Lexicon, Stem, Weighting, count_matrix, hashed_matrix, matrix, word_totals
from suffice.words.reading import Reading
from suffice.words.texts import Texts
from suffice.words.vocabulary import Vocabulary

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
