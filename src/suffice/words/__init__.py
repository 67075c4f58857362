"""Texts as counts of words: how they are read, and the vocabulary that is found."""

from suffice.words.counting import Texts
from suffice.words.folding import fold, hash_places, regroup
from suffice.words.matrices import count_matrix, matrix
from suffice.words.reading import Reading
from suffice.words.vocabulary import Vocabulary

__all__ = [
    "Reading",
    "Texts",
    "Vocabulary",
    "count_matrix",
    "fold",
    "hash_places",
    "matrix",
    "regroup",
]
