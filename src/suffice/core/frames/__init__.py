"""Anything tabular as named Arrow columns, what families read from them, and answers as the type that was passed in."""

from suffice.core.frames.columns import categories, label_codes, labels, numbers, texts, weights
from suffice.core.frames.frame import Frame, kind
from suffice.core.frames.input import as_frame
from suffice.core.frames.output import example, like
from suffice.core.frames.profile import Look, looks
from suffice.core.frames.row_hashes import row_hashes

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
