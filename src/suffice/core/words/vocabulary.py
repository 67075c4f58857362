"""Sorted distinct words in two arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.errors import InvalidTextError, MismatchError
from suffice.core.registry import Registered

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary(Registered):
    """Distinct words in the order of their code points: word i is `text[start[i] : start[i + 1]]` in UTF-8.

    No Python object is held for a word; `names` makes them when they are asked for.

    >>> words = Vocabulary.of(["dog", "cat", "dog"])
    >>> words, words[1], words.find(["dog", "cow"])
    (Vocabulary(2 words: 'cat', 'dog'), 'dog', array([ 1, -1]))
    """

    text: NDArray[np.uint8]
    start: Positions

    @classmethod
    def of(cls, names: Iterable[str] | Any) -> Vocabulary:
        """Sort words and keep each once; an Arrow array of strings serves as well."""
        import pyarrow.compute as pc

        words = pc.unique(_as_arrow(names))
        return cls._of_arrow(words.take(pc.array_sort_indices(words)))

    @classmethod
    def _of_arrow(cls, words: Any) -> Vocabulary:
        """From an Arrow array of distinct, sorted words."""
        _, offsets, data = words.buffers()
        start = np.frombuffer(offsets, dtype=np.int64)[words.offset :][: len(words) + 1] if len(words) else np.zeros(1)
        start = start.astype(np.int64)
        text = np.frombuffer(data, dtype=np.uint8)[start[0] : start[-1]].copy() if data else np.empty(0, np.uint8)
        return cls(text, start - start[0])

    def _as_arrow(self, strings: bool = False) -> Any:
        """The same as Arrow holds it, looking at our memory: bytes, or strings."""
        import pyarrow as pa

        kind = pa.LargeStringArray if strings else pa.LargeBinaryArray
        text, start = np.ascontiguousarray(self.text), np.ascontiguousarray(self.start)
        if strings:
            return kind.from_buffers(len(self), pa.py_buffer(start), pa.py_buffer(text))
        return kind.from_buffers(pa.large_binary(), len(self), [None, pa.py_buffer(start), pa.py_buffer(text)])

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, place: int) -> str:
        if not -len(self) <= place < len(self):
            raise IndexError(f"There is no word {place}: the vocabulary has {len(self)}")
        place = place % len(self)
        return self.text[self.start[place] : self.start[place + 1]].tobytes().decode()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return np.array_equal(self.start, other.start) and np.array_equal(self.text, other.text)

    __hash__ = None  # type: ignore[assignment]  # equality looks into arrays

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(len(self), 4)))
        more = ", …" if len(self) > 4 else ""
        return f"Vocabulary({len(self)} words{': ' if shown else ''}{shown}{more})"

    @property
    def names(self) -> NDArray[Any]:
        """The words as Python strings, made anew at each call."""
        if not len(self):
            return np.empty(0, dtype=object)
        return np.asarray(self._as_arrow(strings=True).to_numpy(zero_copy_only=False), dtype=object)

    def find(self, names: Vocabulary | Iterable[str] | Any) -> Positions:
        """The place of each word, −1 where it is not known. No Python object is made of another vocabulary's words."""
        import pyarrow.compute as pc

        found = pc.index_in(_as_arrow(names), value_set=self._as_arrow())
        return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)

    def take(self, places: NDArray[Any]) -> Vocabulary:
        """Keep the words at these places, given in ascending order, or as a mask."""
        places = np.asarray(places)
        places = np.flatnonzero(places) if places.dtype == bool else places.astype(np.int64)
        if len(places) and (places[0] < 0 or places[-1] >= len(self) or (np.diff(places) <= 0).any()):
            raise MismatchError("The places of words to keep must ascend and be those of the vocabulary")
        return Vocabulary._of_arrow(self._as_arrow().take(places))

    def merged(self, other: Vocabulary) -> tuple[Vocabulary, Positions, Positions]:
        """All words of both, and where those of each are among them."""
        if self is other or (len(self) == len(other) and self == other):
            return self, np.arange(len(self)), np.arange(len(self))
        names, mine, theirs = _core.merge_names(self.text, self.start, other.text, other.start)
        return Vocabulary(*names), mine, theirs

    def check_arrays(self) -> None:
        """Refuse arrays that are no vocabulary; for what comes from outside, as from a file."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for name, dtype in (("text", np.uint8), ("start", np.int64)):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise MismatchError(f"{name} of a vocabulary should be {np.dtype(dtype)} of one dimension")
        start = self.start
        if not len(start) or start[0] or start[-1] != len(self.text) or (np.diff(start) < 0).any():
            raise MismatchError("The words of a vocabulary do not fill its text")
        try:
            self._as_arrow(strings=True).validate(full=True)
        except pa.ArrowInvalid:
            raise MismatchError("The words of a vocabulary are not UTF-8") from None
        words = self._as_arrow()
        if len(self) > 1 and not pc.all(pc.less(words[:-1], words[1:])).as_py():
            raise MismatchError("The words of a vocabulary must be distinct and sorted")


def _as_arrow(names: Any) -> Any:
    """Words as one Arrow array of bytes."""
    import pyarrow as pa

    if isinstance(names, Vocabulary):
        return names._as_arrow()
    if not isinstance(names, (pa.Array, pa.ChunkedArray)):
        names = list(names)
        try:
            names = pa.array(names, type=pa.large_string())
        except UnicodeEncodeError as error:
            at = names.index(error.object)
            raise InvalidTextError(f"The word at position {at} holds a lone surrogate, which no text has") from None
        except (pa.ArrowException, TypeError):
            at = next(i for i, name in enumerate(names) if not isinstance(name, str))
            raise InvalidTextError(f"Words are strings, found {type(names[at]).__name__} at position {at}") from None
    if names.null_count:
        raise InvalidTextError("A vocabulary has no missing words: leave None out")
    return pa.array(names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names).cast(pa.large_binary())
