"""Texts, and the counts of their features."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidTextError
from suffice.frames.reading import as_column
from suffice.words.analysis import analyze
from suffice.words.folding import Rows
from suffice.words.reading import Reading
from suffice.words.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Texts:
    """Documents, each a text, missing (None), or already cut into features (a list)."""

    documents: list[Any]

    @classmethod
    def of(cls, documents: Any) -> Texts:
        """From a list, tuple or array of `str`, `bytes` (UTF-8) and None, or anything that Arrow reads as strings."""
        if isinstance(documents, np.ndarray) and documents.ndim == 1:
            documents = documents.tolist()
        if not isinstance(documents, (list, tuple)):
            documents = as_column(documents, "texts").to_pylist()
        return cls([_checked(document, i) for i, document in enumerate(documents)])

    @classmethod
    def of_tokens(cls, text: NDArray[np.uint8], start: NDArray[np.int64], document_start: NDArray[np.int64]) -> Texts:
        """Feature t is `text[start[t] : start[t + 1]]`, document d has `document_start[d]` to that of d + 1."""
        data, at, docs = text.tobytes(), start.tolist(), document_start.tolist()
        cut = [data[lo:hi].decode() for lo, hi in pairwise(at)]
        return cls([cut[lo:hi] for lo, hi in pairwise(docs)])

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, rows: Any) -> Texts:
        return Texts([self.documents[i] for i in np.atleast_1d(np.arange(len(self))[rows])])

    def features(self, reading: Reading) -> Any:
        """Count the features of one document after the other."""
        for document in self.documents:
            yield Counter(document if isinstance(document, list) else analyze(document or "", reading))


def _checked(document: Any, position: int) -> str | None:
    try:
        if isinstance(document, bytes):
            return document.decode()
        if isinstance(document, str):
            document.encode()
            return document
    except UnicodeDecodeError as error:
        raise InvalidTextError(f"Document {position} is not UTF-8: {error}") from None
    except UnicodeEncodeError as error:
        raise InvalidTextError(f"Document {position} holds a lone surrogate: {error}") from None
    if document is None:
        return None
    raise InvalidTextError(f"Document {position} is no text but {type(document).__name__}")


def count_matrix(texts: Texts, reading: Reading) -> tuple[Vocabulary, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Count all features, before stems are taken: the sorted vocabulary, and a matrix in rows, columns ascending."""
    counts = list(texts.features(reading))
    vocabulary = Vocabulary.of(set().union(*counts))
    return (vocabulary, *_rows(counts, vocabulary))


def matrix(texts: Texts, reading: Reading, vocabulary: Vocabulary) -> Rows:
    """Count the features that are in a vocabulary."""
    return _rows(texts.features(reading), vocabulary)


def _rows(counts: Any, vocabulary: Vocabulary) -> Rows:
    number = {name: i for i, name in enumerate(vocabulary.names)}
    indptr: list[int] = [0]
    indices: list[int] = []
    data: list[int] = []
    for row in counts:
        found = sorted((number[feature], n) for feature, n in row.items() if feature in number)
        indices.extend(i for i, _ in found)
        data.extend(n for _, n in found)
        indptr.append(len(indices))
    return np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int32), np.array(data, dtype=np.int32)
