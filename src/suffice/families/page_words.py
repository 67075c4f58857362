"""The words of a text that a page can hold: the most telling ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.arrays import Array, Codes, Positions, starts
from suffice.core.errors import NoDistributionError
from suffice.core.statistics import WordCounts
from suffice.core.statistics.hash_samples import DocumentSample
from suffice.core.words.texts import ranges
from suffice.families.documents import Bags
from suffice.families.event_models import LinearEventModel
from suffice.formulas import in_base64, smallest_codes

MOST_WORDS = 200_000  # features of a text that a page holds
MOST_BYTES = 8_000_000  # that they take


class FewerWords(LinearEventModel):
    """The scores of a linear event model for some words; all others are unknown. Scores are rounded to float32."""

    def __init__(self, whole: LinearEventModel, words: Positions):
        counts = whole.counts
        length = np.diff(counts.start)[words]
        place = ranges(counts.start[words], length)
        some = replace(
            counts,
            vocabulary=counts.vocabulary.take(words.astype(np.int64)),
            start=starts(length),
            codes=counts.codes[place],
            total=counts.total[place],
            total_rest=None,
            kept=DocumentSample.empty(),
        )
        super().__init__(some, whole.added)
        self.coef = whole.coef_at(place, np.repeat(words, length)).astype(np.float32).astype(np.float64)
        self.base, self.intercept = whole.base, whole.intercept
        self.block = None if whole.block is None else whole.block[words]
        self._lengths, self._exponent = whole._lengths, whole._exponent
        self.words, self._whole_block = words, whole.block

    def to_page(self, blocks: int) -> dict[str, Any]:
        """Write scores as float32."""
        lengths = np.broadcast_to(np.asarray(self._lengths, dtype=np.float64), (blocks,))
        own = {"coef": in_base64(self.coef, "<f4"), "exponent": float(self._exponent), "length": lengths.tolist()}
        return super().to_page(blocks) | own

    def bags_of(self, bags: Bags) -> Bags:
        """Return documents of the words of the whole model as documents of these; the others are unknown."""
        place = np.minimum(np.searchsorted(self.words, bags.feature), len(self.words) - 1)
        known, blocks = self.words[place] == bags.feature, bags.unknown.shape[1]
        block = 0 if self._whole_block is None else self._whole_block[bags.feature]
        at, value = (bags.owner * blocks + block)[~known], bags.value[~known]
        unknown = bags.unknown + np.bincount(at, value, len(bags) * blocks).reshape(len(bags), blocks)
        feature = place[known].astype(np.int32)
        return Bags(starts(known)[bags.start], feature, bags.value[known], bags.features, unknown, bags.present)

    def leave_one_out(self, bags: Bags, codes: Codes, weight: Array | None) -> Array:  # noqa: ARG002  # the contract
        """Refuse: these words are for answers."""
        raise NoDistributionError("Some of the words of a model only answer: ask the whole model")

    def probability(self, lo: int, hi: int) -> Array:  # noqa: ARG002  # the contract
        """Refuse: these words are for answers."""
        raise NoDistributionError("Some of the words of a model only answer: ask the whole model")


def most_telling(model: LinearEventModel) -> Positions:
    """Return the words that a page can hold, ascending: those of the largest n_j Var_y(score_jy).

    n_j is the total of the word in all classes, and score_jy = base_y + coef_jy.
    """
    counts = model.counts
    owner, words, sums = counts.owner, len(counts.vocabulary), np.bincount
    block = np.zeros(words, dtype=np.int64) if model.block is None else model.block
    centred = model.base - model.base.mean(axis=1, keepdims=True)  # the differences are large, and the scores larger
    base = centred[block[owner], counts.codes]
    mean = sums(owner, model.coef, words) / model.classes
    squares = (centred**2).sum(axis=1)[block] + sums(owner, (base + model.coef) ** 2 - base**2, words)
    variance = np.maximum(squares / model.classes - mean**2, 0.0)
    order = np.argsort(-sums(owner, counts.total, words) * variance, kind="stable")[:MOST_WORDS]
    size = np.cumsum(_bytes(counts)[order])
    return np.sort(order[: max(1, int(np.searchsorted(size, MOST_BYTES, side="right")))])


def _bytes(counts: WordCounts) -> Array:
    """Return how much each word takes: its name in quotes and a comma, where it starts, and its scores in base 64."""
    entry = 4 + np.dtype(smallest_codes(counts.n_classes)).itemsize
    letters = np.diff(counts.vocabulary.start)
    return np.asarray(letters + 3 + (4 + entry * np.diff(counts.start)) * 4 / 3)
