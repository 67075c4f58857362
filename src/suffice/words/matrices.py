"""Texts as matrices of counts, with all that a `Reading` says: what was counted may become stems, or be hashed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from numpy.typing import NDArray

from suffice.errors import InvalidOptionError
from suffice.words import counting, stems
from suffice.words.folding import Rows, fold, hash_places, regroup
from suffice.words.reading import Reading
from suffice.words.texts import Texts
from suffice.words.vocabulary import Vocabulary

Stem: TypeAlias = Callable[[Iterable[str]], list[str]]  # of many words at a call


def count_matrix(
    texts: Texts, reading: Reading, stem: Stem | None = None
) -> tuple[Vocabulary, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Count all features: the sorted vocabulary, and a matrix in rows, each row's columns ascending.

    `stem` takes the place of the reading's.

    >>> vocabulary, indptr, indices, data = count_matrix(Texts.of(["A dog, a cat", "dog eats dog"]), Reading())
    >>> vocabulary.names.tolist(), indptr.tolist(), indices.tolist(), data.tolist()
    (['cat', 'dog', 'eats'], [0, 2, 4], [0, 1, 1, 2], [1, 1, 2, 1])
    """
    if reading.n_features is not None:
        raise InvalidOptionError("Features that are hashed have no vocabulary: matrix() counts them")
    return _count(texts, reading, stem)


def matrix(texts: Texts, reading: Reading, vocabulary: Vocabulary | None, stem: Stem | None = None) -> Rows:
    """Count the features of a vocabulary, or, where there is none, in the columns that features are hashed to."""
    if (vocabulary is None) != (reading.n_features is not None):
        raise InvalidOptionError("Features are counted over a vocabulary, or hashed to n_features columns: say one")
    if vocabulary is None:
        assert reading.n_features is not None
        features, indptr, indices, data = _count(texts, reading, stem)
        places, columns = hash_places(features, reading.n_features), reading.n_features
    elif stem is None and reading.stem is None:
        return counting.matrix(texts, reading, vocabulary)
    else:
        features, indptr, indices, data = _count(texts, reading, stem)
        places, columns = vocabulary.find(features), len(vocabulary)
    return regroup(indptr, indices, data, places, columns)


def _count(
    texts: Texts, reading: Reading, stem: Stem | None
) -> tuple[Vocabulary, NDArray[Any], NDArray[Any], NDArray[Any]]:
    features, indptr, indices, data = counting.count_matrix(texts, reading)
    if stem is None and reading.stem is not None:
        stem = partial(stems.stem_words, reading.stem)
    if stem is None:
        return features, indptr, indices, data
    folded, places = fold(features, stem)
    return (folded, *regroup(indptr, indices, data, places, len(folded)))
