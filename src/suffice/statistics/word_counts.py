"""Counts of words by class, over a vocabulary that grows as texts come."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.statistics.counts import Counts
from suffice.tables import Array, Codes, Values

WORD = re.compile(r"\w\w+")  # two letters or more, as scikit-learn's CountVectorizer finds them
DOCUMENT = ""  # counted once for every text: no word is empty


@dataclass(frozen=True)
class Documents:
    """Texts as the numbers of their words: text i has `words[start[i] : start[i + 1]]`, places in `vocabulary`.

    `vocabulary` is sorted. A missing text has no words, and `present` tells it from an empty one.

    >>> Documents.of(["Words, words!", None]).vocabulary
    array(['words'], dtype='<U5')
    """

    words: NDArray[np.int64]
    start: NDArray[np.int64]
    present: NDArray[np.bool_]
    vocabulary: Values

    @classmethod
    def of(cls, texts: Iterable[Any]) -> Documents:
        """Find the words of texts, in lower case; None is missing."""
        number: dict[str, int] = {}
        found: list[int] = []
        start, present = [0], []
        for text in texts:
            known = isinstance(text, str)
            present.append(known)
            if known:
                found.extend(number.setdefault(word, len(number)) for word in WORD.findall(text.lower()))
            start.append(len(found))
        vocabulary = np.array(list(number), dtype=str) if number else np.empty(0, dtype="<U1")
        order = np.argsort(vocabulary)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        words = rank[np.array(found, dtype=np.int64)] if found else np.empty(0, dtype=np.int64)
        return cls(words, np.array(start, dtype=np.int64), np.array(present, dtype=bool), vocabulary[order])

    @property
    def shape(self) -> tuple[int, int]:
        """Texts, and one column."""
        return len(self.present), 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """What answers are given in."""
        return np.dtype(np.float64)

    def __len__(self) -> int:
        return len(self.present)

    def __getitem__(self, rows: Any) -> Documents:
        some = np.atleast_1d(np.arange(len(self))[rows])
        lengths = (self.start[1:] - self.start[:-1])[some]
        start = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.start[some] - start[:-1], lengths) + np.arange(start[-1])
        return Documents(self.words[at], start, self.present[some], self.vocabulary)

    @property
    def owner(self) -> NDArray[np.int64]:
        """The text of each word."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def over(self, vocabulary: Values) -> Any:
        """The counts of the words of another sorted vocabulary, a sparse matrix; words not in it are left out."""
        import scipy.sparse

        place = np.searchsorted(vocabulary, self.vocabulary)
        place[place == len(vocabulary)] = 0
        if len(vocabulary):
            place[vocabulary[place] != self.vocabulary] = -1
        else:
            place[:] = -1
        column = place[self.words] if len(self.words) else self.words
        kept = column >= 0
        ones = np.ones(int(kept.sum()))
        shape = (len(self), len(vocabulary))
        out = scipy.sparse.csr_matrix((ones, (self.owner[kept], column[kept])), shape=shape)
        out.sum_duplicates()
        return out


@dataclass(frozen=True, eq=False, repr=False)
class WordCounts(Counts):
    """The weight of every word of one column of texts, by class; `""` counts the texts.

    >>> counts = WordCounts.of(Documents.of(["a dog", "dog dog"]), np.zeros(2, np.int32), 1)
    >>> counts.keys, counts.weight
    ((array(['', 'dog'], dtype='<U3'),), array([[2., 3.]]))
    """

    @classmethod
    def of(cls, x: Any, codes: Codes, classes: int, weight: Array | None = None, onto: Self | None = None) -> Self:
        """Count the words of texts."""
        w = np.ones(len(x)) if weight is None else weight
        size = len(x.vocabulary) + 1
        cells = codes[x.owner].astype(np.int64) * size + x.words + 1
        counted = np.bincount(cells, weights=w[x.owner], minlength=classes * size).reshape(classes, size)
        counted[:, 0] = np.bincount(codes[x.present], weights=w[x.present], minlength=classes)
        keys = np.concatenate([np.array([DOCUMENT], dtype=x.vocabulary.dtype), x.vocabulary])
        found = cls(np.array([size], dtype=np.int64), (keys,), counted.astype(np.float64)).trimmed()
        return found if onto is None else onto + found

    def __repr__(self) -> str:
        return f"WordCounts({len(self.weight)} classes, {max(int(self.sizes.sum()) - 1, 0)} words)"
