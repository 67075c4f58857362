"""The structure of JSON lines, checked before Arrow parses them: it crashes if values are deep, or a line is `null`."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice import _core
from suffice.core.errors import InvalidDataError

DEEPEST = 64  # levels, the limit of Arrow's own format too
MARK = b"\xef\xbb\xbf"  # with which some programs begin a text in UTF-8


class StructureCheck:
    """Passes on blocks of JSON lines as they come; refuses what is no object, or is nested deeper than `DEEPEST`."""

    def __init__(self) -> None:
        self.state = np.zeros(4, np.int64)  # of the text so far, as the kernel keeps it: lines, depth, …
        self.started = False

    def __call__(self, block: Any) -> Any:
        """Check a block, and return it."""
        if not self.started and bytes(block[:3]) == MARK:
            block = block[3:]
        self.started = True
        at = _core.misplaced_bracket(np.frombuffer(block, np.uint8), DEEPEST, self.state)
        if at >= 0:
            raise InvalidDataError(self._refusal(bytes(block[at : at + 20])))
        return block

    def _refusal(self, found: bytes) -> str:
        line, depth = self.state[:2].tolist()
        if depth:
            return (
                f"Line {line + 1} is nested more than {DEEPEST} levels deep: write an object of plain values to a line"
            )
        if found[:1] == b"[":
            return f"It holds an array of JSON in line {line + 1}: write one object to a line instead"
        text = found.split(b"\n")[0].decode(errors="replace").strip()
        example = '{"a": 1}'
        return f"Line {line + 1} holds {text!r} where an object should begin: write one to a line, such as {example}"
