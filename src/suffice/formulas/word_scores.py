"""Scores of a text that are linear in its weighted words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.words import Lexicon, Texts, Weighting
from suffice.core.words.counting import Linear
from suffice.formulas.arithmetic import Formula, by_class
from suffice.formulas.environments import Environment
from suffice.formulas.node import Array, Json, Packing, Reads, to_json

Scores: TypeAlias = Callable[[NDArray[np.int32] | None], Linear]  # of some words of a vocabulary, or of all


class WordScores(Formula):
    """Σ_j x_j (base_y + coef_jy) of the weighted words x of a column of texts, and `intercept` (classes,).

    `scores` returns base and coef as `Linear` describes them. The score of a missing text is 0.
    """

    column: str
    lexicon: Lexicon
    weighting: Weighting
    scores: Scores
    intercept: Array

    converts: ClassVar = {"intercept": by_class}

    def on(self, rows: Environment) -> Array:
        """Score the texts."""
        texts = Texts.of(rows.values(self.column).tolist())
        out = self.lexicon.score(texts, self.weighting, self.scores)
        out[texts.present] += self.intercept
        return out

    def to_json(self, packed: Packing | None = None) -> dict[str, Json]:
        """Return how texts are cut, the vocabulary, and the numbers of its words."""
        numbers: dict[str, Any] = self.scores(None)._asdict() | {"intercept": self.intercept}
        return {
            "op": self.op,
            "column": self.column,
            "tokenization": asdict(self.lexicon.tokenization),
            "weighting": asdict(self.weighting),
            "words": self.lexicon.vocabulary.names.tolist(),
        } | {name: to_json(value, packed) for name, value in numbers.items()}

    def _columns_read(self) -> dict[str, Reads]:
        return {self.column: "category"}
