"""Documents as the kernels read them: in the memory of whoever holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.errors import InvalidTextError
from suffice.core.frames.frame import is_text, value_type
from suffice.core.frames.input import as_column

PADDING = 8  # bytes that kernels may read beyond the last


class Texts:
    """A column of documents. None and NaN are missing ones, which is not the same as empty ones.

    Python's strings and Arrow's buffers are read where they are; nothing is copied. That they are texts, with no lone
    surrogate and no byte that is not UTF-8, shows when their words are counted. Documents may also come already cut
    into features (`of_tokens`), or as sequences of word numbers.

    >>> len(Texts.of(["a text", None, ""]))
    3
    """

    def __init__(self, native: _core.Texts, tokens: tuple[NDArray[Any], ...] | None = None):
        self.native, self.tokens = native, tokens

    @classmethod
    def of(cls, documents: Any) -> Texts:
        """From a list or array of `str`, `bytes` (UTF-8) and None, an Arrow column, or sequences of word numbers."""
        if isinstance(documents, Texts):
            return documents
        if isinstance(documents, (str, bytes)):
            raise InvalidTextError("Expected several texts, found a single one: put it into a list")
        if isinstance(documents, np.ndarray):
            documents = _flat(documents).tolist()
        if isinstance(documents, (list, tuple)):
            first = next((each for each in documents if each is not None), None)
            if isinstance(first, (list, tuple, np.ndarray)):
                return cls._of_numbers(documents)
            return cls._of_strings(tuple(documents))
        return cls._of_arrow(as_column(documents, "texts"))

    @classmethod
    def _of_strings(cls, documents: tuple[Any, ...]) -> Texts:
        native = _core.Texts()
        at = native.add_strings(documents)
        if at >= 0:
            kind = type(documents[at]).__name__
            raise InvalidTextError(
                f"Document {at} is no text but {kind}: {_shown(documents[at])}. Texts are str, or None"
            )
        return cls(native)

    @classmethod
    def _of_arrow(cls, column: Any) -> Texts:
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
            _, offsets, data = chunk.buffers()
            dtype = np.dtype(np.int32 if chunk.type == pa.string() else np.int64)
            start: NDArray[Any] = np.frombuffer(offsets, dtype=dtype)[chunk.offset : chunk.offset + len(chunk) + 1]
            text = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
            present = chunk.is_valid().to_numpy(zero_copy_only=False) if chunk.null_count else None
            native.add_arrow(text, start, present)
        return cls(native)

    @classmethod
    def of_tokens(
        cls,
        text: NDArray[np.uint8],
        start: NDArray[np.int64],
        document_start: NDArray[np.int64],
        present: NDArray[np.bool_] | None = None,
    ) -> Texts:
        """Feature t is `text[start[t] : start[t + 1]]`, document d has `document_start[d]` to that of d + 1.

        `present` tells which documents are not missing: by default all.
        """
        native = _core.Texts()
        start, document_start = (np.ascontiguousarray(each, dtype=np.int64) for each in (start, document_start))
        native.set_tokens(padded(text), start, document_start, present)
        return cls(native, (text, start, document_start))

    @classmethod
    def _of_numbers(cls, documents: Any) -> Texts:
        """From sequences of word numbers; a word is called by its number."""
        import pyarrow as pa

        rows = [np.asarray([] if each is None else each) for each in documents]
        for i, row in enumerate(rows):
            if row.ndim != 1 or (len(row) and (row.dtype.kind not in "iu" or row.max() > np.iinfo(np.int64).max)):
                kind = type(documents[i]).__name__
                raise InvalidTextError(
                    f"Document {i} is a {kind} that is no sequence of word numbers. A text is a str: join its words"
                )
        numbers = np.concatenate([np.empty(0, np.int64), *(row.astype(np.int64) for row in rows)])
        names = pa.array(numbers).cast(pa.large_string())
        _, offsets, data = names.buffers()
        text = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
        start = np.frombuffer(offsets, dtype=np.int64)[: len(names) + 1]
        lengths = [len(row) for row in rows]
        present = np.array([each is not None for each in documents], dtype=bool)
        return cls.of_tokens(text, start, _starts(np.array(lengths, dtype=np.int64)), present)

    def __len__(self) -> int:
        return len(self.native)

    @property
    def shape(self) -> tuple[int, int]:
        """Texts, and one column."""
        return len(self), 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """What answers are given in."""
        return np.dtype(np.float64)

    def __getitem__(self, rows: Any) -> Texts:
        some = np.atleast_1d(np.arange(len(self))[rows]).astype(np.int64)
        if self.tokens is None:
            return Texts(self.native.take(some))
        text, start, document_start = self.tokens
        places = ranges(document_start[some], np.diff(document_start)[some])
        letters = ranges(start[places], np.diff(start)[places])
        return Texts.of_tokens(
            text[letters], _starts(np.diff(start)[places]), _starts(np.diff(document_start)[some]), self.present[some]
        )

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which documents are not missing."""
        out = np.empty(len(self), dtype=bool)
        self.native.missing(out)
        return ~out

    @property
    def sizes(self) -> NDArray[np.int64]:
        """About how many bytes each document has."""
        out = np.empty(len(self), dtype=np.int64)
        self.native.sizes(out)
        return out

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """A hash of each document, the same however it is held and on every machine."""
        out = np.empty(len(self), dtype=np.uint64)
        self.native.hashes(out)
        return out


def padded(text: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The same bytes, with a few more that kernels may read."""
    return np.concatenate([text, np.zeros(PADDING, dtype=np.uint8)])


def ranges(first: NDArray[Any], length: NDArray[Any]) -> NDArray[np.int64]:
    """`first[i]`, `first[i] + 1`, … for each i, one after the other."""
    start = _starts(length)
    return np.repeat(first - start[:-1], length) + np.arange(start[-1])


def _starts(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _flat(documents: NDArray[Any]) -> NDArray[Any]:
    if documents.ndim == 2 and documents.shape[1] == 1:
        return documents[:, 0]
    if documents.ndim != 1:
        raise InvalidTextError(f"Expected one column of texts, found an array of shape {documents.shape}")
    return documents


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
