"""A sorted vocabulary in two arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Mask
from suffice.core.errors import InvalidTextError, MismatchError
from suffice.core.frozen_options import Record
from suffice.core.validation import Held

Positions = NDArray[np.int64]
ArrowStrings: TypeAlias = Any  # an array of pyarrow, which has no type hints


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary(Record):
    """Distinct words sorted by code points: word i is `text[start[i] : start[i + 1]]` in UTF-8.

    There is no Python object for each word; `names` makes them on request.

    >>> words = Vocabulary.of(["dog", "cat", "dog"])
    >>> words, words[1], words.find(["dog", "cow"])
    (Vocabulary(2 words: 'cat', 'dog'), 'dog', array([ 1, -1]))
    """

    text: Annotated[NDArray[np.uint8], Held("bytes")]
    start: Annotated[Positions, Held("words+1", fills="bytes")]

    @classmethod
    def of(cls, names: Iterable[str] | ArrowStrings) -> Vocabulary:
        """Make a vocabulary of words in any order, which may repeat; also of an Arrow array of strings."""
        import pyarrow.compute as pc

        words = pc.unique(_as_arrow(names))
        return cls._of_arrow(words.take(pc.array_sort_indices(words)))

    @classmethod
    def _of_arrow(cls, words: ArrowStrings) -> Vocabulary:
        """Make a vocabulary of an Arrow array of distinct, sorted words."""
        text, start = string_buffers(words)
        return cls(text[start[0] : start[-1]].copy(), start - start[0])

    def _as_arrow(self, strings: bool = False) -> ArrowStrings:
        """Return an Arrow array of bytes, or of strings, that shares the memory."""
        import pyarrow as pa

        text, start = np.ascontiguousarray(self.text), np.ascontiguousarray(self.start)
        held = pa.large_string() if strings else pa.large_binary()
        return pa.Array.from_buffers(held, len(self), [None, pa.py_buffer(start), pa.py_buffer(text)])

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, place: int) -> str:
        if not -len(self) <= place < len(self):
            raise IndexError(f"There is no word {place}: the vocabulary has {len(self)}")
        place = place % len(self)
        return self.text[self.start[place] : self.start[place + 1]].tobytes().decode()

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(len(self), 4)))
        more = ", …" if len(self) > 4 else ""
        return f"Vocabulary({len(self)} words{': ' if shown else ''}{shown}{more})"

    @property
    def names(self) -> NDArray[Any]:
        """The words as Python strings, which every call makes again."""
        if not len(self):
            return np.empty(0, dtype=object)
        return np.asarray(self._as_arrow(strings=True).to_numpy(zero_copy_only=False), dtype=object)

    def find(self, names: Vocabulary | Iterable[str] | ArrowStrings) -> Positions:
        """Return the position of each word, −1 if it is not known. The words of a vocabulary stay bytes."""
        if isinstance(names, Vocabulary):
            out = np.empty(len(names), dtype=np.int64)
            _core.find_names(names.text, names.start, self.text, self.start, out)
            return out
        import pyarrow.compute as pc

        found = pc.index_in(_as_arrow(names), value_set=self._as_arrow())
        return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)

    def take(self, words: Positions | Mask) -> Vocabulary:
        """Keep the words at ascending positions, or of a mask."""
        kept = np.flatnonzero(words) if words.dtype == bool else words.astype(np.int64)
        if len(kept) and (kept[0] < 0 or kept[-1] >= len(self) or (np.diff(kept) <= 0).any()):
            raise MismatchError(f"The positions of words to keep must ascend and be less than {len(self)}")
        return Vocabulary._of_arrow(self._as_arrow().take(kept))

    def merged(self, other: Vocabulary) -> tuple[Vocabulary, Positions, Positions]:
        """Return the union of two vocabularies, and the positions in it of the words of each."""
        if self is other or (len(self) == len(other) and self == other):
            return self, np.arange(len(self)), np.arange(len(self))
        names, mine, theirs = _core.merge_names(self.text, self.start, other.text, other.start)
        return Vocabulary(*names), mine, theirs

    def check_agreement(self) -> None:
        """Raise an error if the words are not UTF-8, distinct and sorted."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            self._as_arrow(strings=True).validate(full=True)
        except pa.ArrowInvalid:
            raise MismatchError("The words of a vocabulary are not UTF-8") from None
        words = self._as_arrow()
        if len(self) > 1 and not pc.all(pc.less(words[:-1], words[1:])).as_py():
            raise MismatchError("The words of a vocabulary must be distinct and sorted")


def string_buffers(array: ArrowStrings) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the bytes of an Arrow array of strings and where each string starts, without a copy."""
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int64)
    dtype: type[np.signedinteger[Any]] = np.int64 if str(array.type).startswith("large_") else np.int32
    start = np.frombuffer(offsets, dtype=dtype)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, dtype=np.uint8), start


def _as_arrow(names: Vocabulary | Iterable[str] | ArrowStrings) -> ArrowStrings:
    """Convert words to one Arrow array of bytes."""
    import pyarrow as pa

    if isinstance(names, Vocabulary):
        return names._as_arrow()
    if not isinstance(names, (pa.Array, pa.ChunkedArray)):
        names = list(names)
        try:
            names = pa.array(names, type=pa.large_string())
        except UnicodeEncodeError as error:
            at = names.index(error.object)
            raise InvalidTextError(
                f"The word at position {at} holds a lone surrogate, which UTF-8 cannot encode"
            ) from None
        except (pa.ArrowException, TypeError):
            at = next(i for i, name in enumerate(names) if not isinstance(name, str))
            raise InvalidTextError(f"Words are strings, found {type(names[at]).__name__} at position {at}") from None
    if names.null_count:
        raise InvalidTextError("A vocabulary cannot hold missing words: leave None out")
    return pa.array(names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names).cast(pa.large_binary())
