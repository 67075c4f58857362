"""Features that become others after they are counted: stems, and the columns they are hashed to.

Each is found once for every distinct feature, not for every time it is in a text, and counts of those that become
the same are summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.words.vocabulary import Places, Vocabulary

Rows: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # indptr, indices and data of a matrix in rows


def fold(features: Vocabulary, stem: Callable[[Iterable[str]], list[str]]) -> tuple[Vocabulary, Places]:
    """The features word by word as `stem` makes them, and which of them each feature has become.

    >>> fold(Vocabulary.of(["slow", "slowness", "so slow"]), lambda words: [w.removesuffix("ness") for w in words])
    (Vocabulary(2 words: 'slow', 'so slow'), array([0, 0, 1]))
    """
    names = features.names
    words = sorted({word for name in names for word in name.split(" ")})
    stems = dict(zip(words, stem(words), strict=True))
    folded = [" ".join([stems[word] for word in name.split(" ")]) for name in names]
    vocabulary = Vocabulary.of(folded)
    return vocabulary, vocabulary.find(folded)


def hash_places(features: Vocabulary, n_features: int) -> Places:
    """The column of each feature, by MurmurHash3: that of scikit-learn's `HashingVectorizer`."""
    from sklearn.utils import murmurhash3_32

    text, start = features.text.tobytes(), features.start.tolist()
    hashes = [murmurhash3_32(text[lo:hi], 0) for lo, hi in pairwise(start)]
    signed = np.array(hashes, dtype=np.int64)
    lowest = -(1 << 31)  # has no absolute value in 32 bits
    return np.where(signed == lowest, (1 << 31) - n_features, np.abs(signed)) % n_features


def regroup(indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], places: Places, columns: int) -> Rows:
    """Move column j of a matrix in rows to `places[j]`, summing what meets there; −1 leaves it out."""
    import scipy.sparse

    moved = places[indices]
    kept = moved >= 0
    if not kept.all():
        before = np.concatenate([[0], np.cumsum(kept)])
        indptr, moved, data = before[indptr], moved[kept], data[kept]
    out = scipy.sparse.csr_array((data, moved, indptr), shape=(len(indptr) - 1, columns), copy=True)
    out.sum_duplicates()
    return out.indptr, out.indices, out.data
