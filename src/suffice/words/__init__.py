"""Texts as counts of words: how they are read, and the vocabulary that is found."""

from suffice.words.counting import Lexicon, Weighting, word_totals
from suffice.words.folding import fold, hash_places, regroup
from suffice.words.matrices import count_matrix, matrix
from suffice.words.reading import Reading
from suffice.words.texts import Texts
from suffice.words.vocabulary import Vocabulary

__all__ = [
    "Lexicon",
    "Reading",
    "Texts",
    "Vocabulary",
    "Weighting",
    "count_matrix",
    "fold",
    "hash_places",
    "matrix",
    "regroup",
    "word_totals",
]
