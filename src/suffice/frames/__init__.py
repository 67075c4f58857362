"""Anything tabular as named Arrow columns, what families read from them, and answers as the type that was passed in."""

from suffice.frames.columns import categories, label_codes, labels, numbers, texts, weights
from suffice.frames.frame import Frame, kind
from suffice.frames.giving_back import example, like
from suffice.frames.hashes import row_hashes
from suffice.frames.looks import Look, looks
from suffice.frames.reading import as_frame

__all__ = [
    "Frame",
    "Look",
    "as_frame",
    "categories",
    "example",
    "kind",
    "label_codes",
    "labels",
    "like",
    "looks",
    "numbers",
    "row_hashes",
    "texts",
    "weights",
]
