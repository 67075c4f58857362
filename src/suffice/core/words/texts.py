"""Documents as kernels read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Mask, Positions, starts
from suffice.core.errors import InvalidTextError
from suffice.core.frames.frame import Column, is_text, value_type
from suffice.core.frames.input import as_column
from suffice.core.words.vocabulary import string_buffers

PADDING = 8  # kernels may read so many bytes beyond the last


@contextmanager
def named_errors() -> Iterator[None]:
    """Say which document cannot be read, and why."""
    try:
        yield
    except _core.BadDocument as error:
        document, position, found = error.args
        raise InvalidTextError(f"Document {document} cannot be read: {found} at position {position}") from None


class Texts:
    """A column of documents. None and NaN are missing documents, which differ from empty ones.

    Arrow buffers, bytes and Python strings of ASCII are read where they are, without a copy. Other Python strings are
    encoded in UTF-8, which Python keeps with the string: this is where half a character, a lone surrogate, is refused.
    Bytes that are not UTF-8 are found when words are counted. Documents may also be given as features (`of_tokens`), or
    as sequences of word numbers.

    >>> len(Texts.of(["a text", None, ""]))
    3
    """

    def __init__(self, native: _core.Texts, tokens: tuple[NDArray[Any], ...] | None = None):
        self.native, self.tokens = native, tokens

    @classmethod
    def of(cls, documents: Any) -> Texts:
        """Read a list or array of `str`, `bytes` (UTF-8) and None, an Arrow column, or sequences of word numbers."""
        if isinstance(documents, Texts):
            return documents
        if isinstance(documents, (str, bytes)):
            raise InvalidTextError("Expected a list of texts, found a single text: put it into a list")
        if isinstance(documents, np.ndarray):
            if documents.ndim == 2 and documents.shape[1] == 1:
                documents = documents[:, 0]
            if documents.ndim != 1:
                raise InvalidTextError(f"Expected one column of texts, found an array of shape {documents.shape}")
            documents = documents.tolist()
        if isinstance(documents, (list, tuple)):
            first = next((each for each in documents if each is not None), None)
            if isinstance(first, (list, tuple, np.ndarray)):
                return cls._of_numbers(documents)
            return cls._of_strings(tuple(documents))
        return cls._of_arrow(as_column(documents, "texts"))

    @classmethod
    def _of_strings(cls, documents: tuple[Any, ...]) -> Texts:
        native = _core.Texts()
        with named_errors():
            at = native.add_strings(documents)
        if at >= 0:
            found = type(documents[at]).__name__
            raise InvalidTextError(
                f"Document {at} is no text but {found}: {shortened(documents[at])}. Texts are str, or None"
            )
        return cls(native)

    @classmethod
    def _of_arrow(cls, column: Column) -> Texts:
        import pyarrow as pa

        if pa.types.is_null(column.type):
            return cls._of_strings((None,) * len(column))
        if not is_text(value_type(column.type)):
            raise InvalidTextError(f"Expected texts, found a column of {column.type}")
        if column.type not in (pa.string(), pa.large_string()):
            column = column.cast(pa.large_string())
        native = _core.Texts()
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            if not len(chunk):
                continue
            present = chunk.is_valid().to_numpy(zero_copy_only=False) if chunk.null_count else None
            native.add_arrow(*string_buffers(chunk), present)
        return cls(native)

    @classmethod
    def of_tokens(
        cls,
        text: NDArray[np.uint8],
        start: NDArray[np.int64],
        document_start: NDArray[np.int64],
        present: Mask | None = None,
    ) -> Texts:
        """Read documents given as features, `document_start[d] : document_start[d + 1]` being those of document d.

        Feature t is `text[start[t] : start[t + 1]]`. `present` marks documents that are not missing, by default all.
        """
        native = _core.Texts()
        start, document_start = (np.ascontiguousarray(each, dtype=np.int64) for each in (start, document_start))
        native.set_tokens(padded(text), start, document_start, present)
        return cls(native, (text, start, document_start))

    @classmethod
    def _of_numbers(cls, documents: Any) -> Texts:
        """Read sequences of word numbers; the name of a word is its number."""
        import pyarrow as pa

        rows = [np.asarray([] if each is None else each) for each in documents]
        for i, row in enumerate(rows):
            if row.ndim != 1 or (len(row) and (row.dtype.kind not in "iu" or row.max() > np.iinfo(np.int64).max)):
                found = type(documents[i]).__name__
                raise InvalidTextError(
                    f"Document {i} is a {found} that is no sequence of word numbers. A text is a str: join its words"
                )
        numbers = np.concatenate([np.empty(0, np.int64), *(row.astype(np.int64) for row in rows)])
        text, start = string_buffers(pa.array(numbers).cast(pa.large_string()))
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        present = np.array([each is not None for each in documents], dtype=bool)
        return cls.of_tokens(text, start, starts(lengths), present)

    def __len__(self) -> int:
        return len(self.native)

    @property
    def shape(self) -> tuple[int, int]:
        """Documents, and one column."""
        return len(self), 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the results."""
        return np.dtype(np.float64)

    def __getitem__(self, rows: slice | Positions | Mask) -> Texts:
        some = np.atleast_1d(np.arange(len(self))[rows]).astype(np.int64)
        if self.tokens is None:
            return Texts(self.native.take(some))
        text, start, document_start = self.tokens
        places = ranges(document_start[some], np.diff(document_start)[some])
        letters = ranges(start[places], np.diff(start)[places])
        return Texts.of_tokens(
            text[letters], starts(np.diff(start)[places]), starts(np.diff(document_start)[some]), self.present[some]
        )

    @property
    def present(self) -> Mask:
        """Which documents are not missing."""
        out = np.empty(len(self), dtype=bool)
        self.native.missing(out)
        return ~out

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """A hash of each document, the same for every type of input and on every machine."""
        out = np.empty(len(self), dtype=np.uint64)
        self.native.hashes(out)
        return out


def padded(text: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Append bytes that kernels may read."""
    return np.concatenate([text, np.zeros(PADDING, dtype=np.uint8)])


def ranges(first: Positions, length: Positions) -> NDArray[np.int64]:
    """Concatenate the ranges of `length[i]` numbers from `first[i]` on."""
    start = starts(length)
    return np.repeat(first - start[:-1], length) + np.arange(start[-1])
