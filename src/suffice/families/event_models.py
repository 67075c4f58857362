"""Event models: how a class is taken to have written a document.

They are the families `Multinomial`, `Complement` and `Bernoulli`, and the Dirichlet-multinomial, laid out for words:
most words occur in few classes, so only the totals that are not 0 are stored. A test holds each model equal to the
formula of its family. Every score is written as the score of a word where a class has it, `coef`, beside the score of
any word that the class does not have, `base`:

    score_y(x) = intercept_y + base_y Σ_j x_j + Σ_j x_j coef_jy

A word that is not in the vocabulary adds nothing. There is one exception: where documents are normalised to one length,
it is part of the length, and is scored as a word that no class has. A word that only the left-out document has is such
a word.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Mask, Positions, starts
from suffice.core.errors import NoDistributionError, NoFormulaError
from suffice.core.statistics import WordCounts
from suffice.core.statistics.statistic import clear_residue
from suffice.core.words import Lexicon, Texts, Weighting
from suffice.core.words.counting import Linear
from suffice.core.words.texts import ranges
from suffice.families.documents import Bags
from suffice.families.logarithms import log, log_ratio
from suffice.families.multinomial import log_urn
from suffice.formulas import in_base64, smallest_codes, to_json


class EventModel(ABC):
    """Scores of documents under every class."""

    sums_to_one: ClassVar[bool] = True  # whether the probabilities of a class's words do

    def __init__(self, counts: WordCounts, added: float):
        self.counts, self.added = counts, added  # smoothing adds `added` to every total
        self.classes, self.size = counts.n_classes, len(counts.vocabulary)

    @abstractmethod
    def scores(self, bags: Bags) -> Array:
        """Log p(x | y) up to a term that all classes share, (documents, classes)."""

    @abstractmethod
    def leave_one_out(self, bags: Bags, codes: Codes, weight: Array | None) -> Array:
        """Score each document with its weight subtracted from its class."""

    def shared(self, bags: Bags) -> Array:
        """Return the term that all classes share, (documents,)."""
        return np.zeros(len(bags))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parameters()}; {self.classes} classes, {self.size} features)"

    def to_page(self, blocks: int) -> dict[str, Any]:
        """Write what the report's script computes scores from."""
        return {
            "start": in_base64(self.counts.start, "<u4"),
            "codes": in_base64(self.counts.codes, smallest_codes(self.classes)),
            "coef": in_base64(self.counts.total, "<f8"),
            "base": to_json(np.zeros((blocks, self.classes))),
            "intercept": to_json(np.zeros(self.classes)),
            "exponent": 0.0,
            "length": to_json(np.zeros(blocks)),
            "excludes": False,
            "urn": False,
            "added": float(self.added),
            "total": to_json(np.zeros(self.classes)),
        }

    def _parameters(self) -> str:
        """Describe the parameters that are not by word."""
        return f"smoothing {self.added:.4g}"

    @property
    def density(self) -> EventModel:
        """Return the model whose p(x | y) is a distribution."""
        return self

    @abstractmethod
    def probability(self, lo: int, hi: int) -> Array:
        """The probability of words lo … hi − 1 in every class, (classes, words)."""

    @abstractmethod
    def contrast(self, bags: Bags, first: Any, second: Any) -> Array:
        """Return what each feature of each document adds to the score of class `first` minus that of `second`."""

    @abstractmethod
    def contrast_besides(self, bags: Bags, first: Any, second: Any) -> dict[str, Array]:
        """Return what else is added, (documents,), by the name of what adds it."""


class Words:
    """The words that an event model is of, all of them or those of one block, and what is summed over them.

    `own` marks these words, `by_class` is Σ_j n_yj over them, (classes,), and `by_word` is Σ_y n_yj of every word of
    the vocabulary.
    """

    def __init__(self, counts: WordCounts, own: Mask | None, by_word: Array, by_class: Array):
        self.own, self.by_word, self.by_class = own, by_word, by_class
        self.size = len(counts.vocabulary) if own is None else int(np.count_nonzero(own))

    @classmethod
    def all(cls, counts: WordCounts) -> Words:
        """Return all words."""
        (words,) = cls.blocks(counts, np.zeros(len(counts.vocabulary), np.uint8), 1)
        return words

    @classmethod
    def blocks(cls, counts: WordCounts, block: NDArray[np.uint8], blocks: int) -> list[Words]:
        """Return the words of each block; `block` is the block of every word."""
        by_word, by_class = np.empty(len(counts.vocabulary)), np.empty((blocks, counts.n_classes))
        _core.entry_sums(counts.start, counts.codes, counts.total, block, by_word, by_class)
        return [cls(counts, block == b if blocks > 1 else None, by_word, by_class[b]) for b in range(blocks)]


class Slots:
    """Words in parts: those of block b and group g are in slot b (groups + 1) + g, the last of a block has no words."""

    def __init__(self, block: NDArray[Any], blocks: int, group: NDArray[Any] | None = None, groups: int = 1):
        self.blocks, self.groups = blocks, groups
        self.of = block.astype(np.uint16) * np.uint16(groups + 1)
        if group is not None:
            self.of += group


class LinearEventModel(EventModel):
    """Scores that are linear in x. `base` is (blocks, classes), and `block` is the block of every word."""

    base: Array
    every: Array | None = None  # Σ_y n_yj of every word, if complements are scored
    intercept: Array | float = 0.0
    block: NDArray[Any] | None = None

    def coef_at(self, place: Positions, owner: Positions) -> Array:  # noqa: ARG002  # the contract
        """Return the score of words where a class has them: of the totals at `place`, which are of words `owner`."""
        return self.coef[place]

    @cached_property
    def coef(self) -> Array:
        """The score of every word where a class has it, one for each total."""
        return self.coef_at(np.arange(len(self.counts.total)), self.counts.owner)

    def text_scores(self, texts: Texts, lexicon: Lexicon, weighting: Weighting) -> Array | None:
        """Score texts in one pass; None if not only the words of a text decide."""
        if not self.added > 0 or np.any(self.intercept):
            return None
        return lexicon.score(texts, weighting, self.linear)

    def linear(self, words: NDArray[np.int32] | None) -> Linear:
        """Return the scores of some words, or of all."""
        counts, rest = self.counts, (self.base, self._lengths, self._exponent)
        if words is None:
            return Linear(counts.start, counts.codes, self.coef, *rest)
        length = counts.start[words + 1] - counts.start[words]
        place = ranges(counts.start[words], length)
        coef = self.coef_at(place, np.repeat(words, length))
        return Linear(starts(length), counts.codes[place], coef, *rest)

    _lengths: Array | float = 0.0  # see `MixedModel`
    _exponent = 0.0

    def to_page(self, blocks: int) -> dict[str, Any]:
        """Write the coefficients."""
        intercept = np.broadcast_to(np.asarray(self.intercept, dtype=np.float64), (self.classes,))
        base = np.broadcast_to(self.base, (blocks, self.classes))
        own = {"coef": in_base64(self.coef, "<f8"), "base": to_json(base), "intercept": to_json(intercept)}
        return super().to_page(blocks) | own

    def scores(self, bags: Bags) -> Array:
        """Sum over the features that each document has."""
        bags = self._weighed(bags)
        if self.block is None:
            out = bags.scores(self.counts, self.coef, self.base[0])
            if bags.unknown.any():
                out += bags.unknown.sum(axis=1, keepdims=True) * self.base
        else:
            out = bags.scores(self.counts, self.coef) + bags.lengths_by(self.block) @ self.base
        if np.any(self.intercept):
            out[bags.present] += self.intercept
        return self._vetoed(bags, out)

    def _factor(self, bags: Bags) -> Array:
        """Return e^(v ℓ) of each document and block: see `MixedModel`."""
        return np.exp(self._exponent * (np.log1p(bags.features) - self._lengths))

    def _weighed(self, bags: Bags) -> Bags:
        """Return documents with the values that are scored."""
        return bags if self.block is None else bags.scaled(self._factor(bags), self.block)

    def _vetoed(self, bags: Bags, scores: Array) -> Array:  # noqa: ARG002  # for models that exclude
        return scores

    def contrast(self, bags: Bags, first: Any, second: Any) -> Array:
        """x_j (coef_j,first + base_first − coef_j,second − base_second)."""
        weights = [self._weight_of(bags.feature, classes[bags.owner]) for classes in (first, second)]
        return self._weighed(bags).value * log_ratio(*weights)

    def contrast_besides(self, bags: Bags, first: Any, second: Any) -> dict[str, Array]:
        """Return the contribution of unknown words, where they are part of the length, and of the intercepts."""
        weighed, intercept = self._weighed(bags), np.broadcast_to(self.intercept, (self.classes,))
        unknown = (weighed.unknown * (self.base[:, first] - self.base[:, second]).T).sum(axis=1)
        absent = np.where(bags.present, intercept[first] - intercept[second], 0.0)
        return {"unknown words": unknown, "words that are not there": absent}

    def base_without(self, codes: Codes, removed: Array) -> Array:
        """Return `base` with so much taken from the class of each document, (documents, classes)."""
        raise NotImplementedError

    def _left_out(self, bags: Bags, codes: Codes, weight: Array | None) -> Array:
        """Score each document left out, by the words of all blocks."""
        slots = Slots(np.zeros(self.size, np.uint8), 1)
        return leave_out_by([self], bags, slots, bags.lengths[:, None], codes, weight).sum(axis=(1, 2))

    def _weight_of(self, feature: Any, codes: Any) -> Array:
        """Return coef + base of each feature in a class of its own."""
        at = entries_of(self.counts, feature, codes)
        block = 0 if self.block is None else self.block[feature]
        none = 0.0 if self.added > 0 else -np.inf  # without smoothing, a word that a class does not have excludes it
        return np.where(at >= 0, self.coef[at] if len(self.coef) else none, none) + self.base[block, codes]


def entries_of(counts: WordCounts, feature: Any, codes: Any) -> NDArray[np.int64]:
    """Return the position of the total of each feature in a class of its own, −1 where there is none."""
    keys = counts.owner * counts.n_classes + counts.codes
    wanted = feature.astype(np.int64) * counts.n_classes + codes
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1) if len(keys) else np.full(len(wanted), -1)


def leave_out_by(
    models: Sequence[LinearEventModel], bags: Bags, slots: Slots, lengths: Array, codes: Codes, weight: Array | None
) -> Array:
    """Score each document left out in parts: Σ_j x_j coef_jy over each group of words, then base_y Σ_j x_j.

    There is a model for each block, all of one kind. `lengths` is Σ_j x_j of each document and block.
    Returns (documents, blocks, groups + 1, classes).
    """
    counts = models[0].counts
    out = np.empty((len(bags), slots.blocks, slots.groups + 1, counts.n_classes))
    added = np.repeat([model.added for model in models], slots.groups + 1)
    rows, table = (codes, counts.n_classes, weight), (counts.start, counts.codes, counts.total)
    _core.bag_left_out(*bags.arrays, *rows, *table, models[0].every, slots.of, added, out)
    for b, model in enumerate(models):
        own = lengths[:, b]
        out[:, b, -1] = own[:, None] * model.base_without(codes, own if weight is None else weight * own)
    return out


class MultinomialModel(LinearEventModel):
    """Every word drawn from the class's bag:  θ_yj = (n_yj + a) / N_y,  N_y = Σ_j n_yj + a V."""

    def __init__(self, counts: WordCounts, added: float, words: Words | None = None):
        super().__init__(counts, added)
        self.words = Words.all(counts) if words is None else words
        self.total = self.words.by_class + added * self.words.size
        smallest = np.log(added) if added > 0 else 0.0
        self.base = (smallest - log(self.total, of_zero=0.0))[None]

    def coef_at(self, place: Positions, owner: Positions) -> Array:  # noqa: ARG002  # the contract
        """Log(1 + n / a); without smoothing, log n: a word that a class does not have excludes it."""
        total = self.counts.total[place]
        return np.log1p(total / self.added) if self.added > 0 else log(total, of_zero=0.0)

    def to_page(self, blocks: int) -> dict[str, Any]:
        """Without smoothing a word that a class does not have excludes it."""
        return super().to_page(blocks) | {"excludes": not self.added > 0}

    def _vetoed(self, bags: Bags, scores: Array) -> Array:
        if self.added > 0:
            return scores
        there = (self.counts.total > 0).astype(np.float64)
        known = bags.ones.scores(self.counts, there)
        scores[(known < np.diff(bags.start)[:, None]) | (bags.unknown.sum(axis=1) > 0)[:, None]] = -np.inf
        return scores

    def leave_one_out(self, bags: Bags, codes: Codes, weight: Array | None) -> Array:
        """Only the document's own class changes, and there only its words: n_yj − w x_j, and N_y − w Σ_j x_j."""
        if self.added > 0:
            return self._left_out(bags, codes, weight)
        counts, sums, lengths = self.counts, np.empty(len(bags)), bags.lengths
        out, rows, parts = self.scores(bags), (codes, self.classes, weight), (counts.start, counts.codes)
        _core.bag_log_sums(*bags.arrays, *rows, *parts, counts.total, 0.0, -np.inf, sums)
        sums[bags.unknown.sum(axis=1) > 0] = -np.inf  # of documents without weight: all words of others are known
        removed = lengths if weight is None else weight * lengths
        total = clear_residue(self.total[codes] - removed, self.total[codes])
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(total > 0, sums - lengths * np.log(total), -np.inf)
        out[np.arange(len(bags)), codes] = np.where(lengths > 0, own, 0.0)
        return out

    def base_without(self, codes: Codes, removed: Array) -> Array:
        """Only the class of the document has less."""
        out, whole = np.repeat(self.base, len(codes), axis=0), self.total[codes]
        out[np.arange(len(codes)), codes] = np.log(self.added) - log(clear_residue(whole - removed, whole), of_zero=0.0)
        return out

    def probability(self, lo: int, hi: int) -> Array:
        """θ."""
        counts = self.counts.dense(lo, hi) + self.added
        return np.divide(counts, self.total[:, None], out=np.zeros_like(counts), where=self.total[:, None] > 0)


class ComplementModel(LinearEventModel):
    """How badly the words of the other classes fit:  −log θ_(not y)j,  θ_(not y)j = (n_j − n_yj + a) / N_(not y)."""

    sums_to_one = False

    def __init__(self, counts: WordCounts, added: float, words: Words | None = None):
        super().__init__(counts, added)
        self.words = Words.all(counts) if words is None else words
        self.every = self.all = self.words.by_word
        self.rest = self.words.by_class.sum() - self.words.by_class + added * self.words.size
        self.base = log(self.rest, of_zero=0.0)[None]

    def coef_at(self, place: Positions, owner: Positions) -> Array:
        """Log((n_j + a) / (n_j − n_yj + a))."""
        whole = self.all[owner]
        others = clear_residue(whole - self.counts.total[place], whole)
        return np.asarray(np.log(whole + self.added) - np.log(others + self.added))

    def shared(self, bags: Bags) -> Array:
        """−Σ_j x_j log(n_j + a)."""
        return -bags.sums(bags.value * np.log(self.all + self.added)[bags.feature])

    @property
    def density(self) -> EventModel:
        """Refuse: there is none."""
        raise NoDistributionError(
            "event='complement' only scores classes: there is no p(x | y). event='multinomial' has one of these words"
        )

    def probability(self, lo: int, hi: int) -> Array:
        """The smoothed share of words in each class itself, to rank them by."""
        return MultinomialModel(self.counts, self.added).probability(lo, hi)

    def leave_one_out(self, bags: Bags, codes: Codes, weight: Array | None) -> Array:
        """A document is part of every other class's complement: its words change in all of them."""
        return self._left_out(bags, codes, weight)

    def base_without(self, codes: Codes, removed: Array) -> Array:
        """The complements of all other classes have less."""
        rest = self.rest - removed[:, None]
        rest[np.arange(len(codes)), codes] = self.rest[codes]
        return log(np.maximum(rest, 0.0), of_zero=0.0)


class BernoulliModel(LinearEventModel):
    """Every word of the vocabulary there or not:  ψ_yj = (n_yj + a) / (N_y + 2a), n and N counting documents."""

    sums_to_one = False

    def to_page(self, blocks: int) -> dict[str, Any]:
        """Refuse a model without smoothing."""
        if not self.added > 0:
            raise NoFormulaError(
                "Text cannot be scored here: without smoothing a word that is not there may exclude a class"
            )
        return super().to_page(blocks)

    def __init__(self, counts: WordCounts, added: float):
        super().__init__(counts, added)
        n, size = counts.total, counts.documents
        without = clear_residue(size[counts.codes] - n, n)
        self.without = without + added
        never = log(size + added, of_zero=0.0)
        present = np.log1p(n / added) if added > 0 else log(n, of_zero=0.0)
        self.coef = present + never[counts.codes] - log(self.without, of_zero=0.0)
        self.base = ((np.log(added) if added > 0 else 0.0) - never)[None]
        self.intercept = self._absent(size, self.without)

    def _absent(self, size: Array, without: Array) -> Array:
        """Return Σ_j log(1 − ψ_yj) over the words for which 1 − ψ is not 0."""
        never = log(size + self.added, of_zero=0.0)
        known = self.counts.by_class(log(np.maximum(without, 0.0), of_zero=0.0) - never[self.counts.codes])
        return known + self.size * (never - log(size + 2 * self.added, of_zero=0.0))

    def _vetoed(self, bags: Bags, scores: Array) -> Array:
        if self.added > 0:
            return scores
        there = bags.ones.scores(self.counts, np.ones(len(self.coef)))
        wrong = (there < np.diff(bags.start)[:, None]) | self._lacks(bags)
        scores[wrong & bags.present[:, None]] = -np.inf
        return scores

    def _lacks(self, bags: Bags) -> NDArray[np.bool_]:
        """Return whether a document lacks a word that every document of the class has, (documents, classes)."""
        always = (self.without <= 0).astype(np.float64)
        return np.asarray(bags.ones.scores(self.counts, always) < self.counts.by_class(always))

    def contrast_besides(self, bags: Bags, first: Any, second: Any) -> dict[str, Array]:
        """Return the contribution of absent words; without smoothing they may exclude a class."""
        absent = np.where(self._lacks(bags), -np.inf, self.intercept)
        at = np.arange(len(bags))
        odds = log_ratio(absent[at, first], absent[at, second])
        return {"words that are not there": np.where(bags.present, odds, 0.0)}

    def leave_one_out(self, bags: Bags, codes: Codes, weight: Array | None) -> Array:
        """The document's own class has w documents less, and its words are in w documents less."""
        out, counts, n = self.scores(bags), self.counts, len(bags)
        w = np.ones(n) if weight is None else weight
        there, absent_there, absent = np.empty(n), np.empty(n), np.empty(n)
        parts = *bags.arrays, codes, self.classes, weight, counts.start, counts.codes
        _core.bag_log_sums(*parts, counts.total, self.added, -np.inf, there)
        _core.bag_log_sums(*parts, self.without, 0.0, 0.0, absent_there)
        possible = clear_residue(counts.documents[codes] - w, counts.documents[codes]) + 2 * self.added > 0
        for removed in np.unique(w):  # documents of one weight leave the same number behind
            rows = np.flatnonzero(w == removed)
            left = clear_residue(counts.documents - removed, counts.documents)
            without = np.maximum(clear_residue(self.without - removed, self.without), 0.0)
            absent[rows] = self._absent(left, without)[codes[rows]]
            if self.added == 0:  # a word that all the others have, and this one has not
                always = (without <= 0).astype(np.float64)
                found = bags.ones.scores(counts, always)
                possible[rows] &= (found >= counts.by_class(always))[rows, codes[rows]]
        own = np.where(possible, absent + there - absent_there, -np.inf)
        out[np.arange(n), codes] = np.where(bags.present, own, 0.0)
        return out

    def probability(self, lo: int, hi: int) -> Array:
        """ψ."""
        size = (self.counts.documents + 2 * self.added)[:, None]
        counts = self.counts.dense(lo, hi) + self.added
        return np.divide(counts, size, out=np.zeros_like(counts), where=size > 0)


class UrnModel(EventModel):
    """The Dirichlet-multinomial: the class's bag is unknown, and a word drawn once is likelier to be drawn again.

    p(x | y) = Γ(A_y) / Γ(A_y + m) Π_j Γ(n_yj + a + x_j) / Γ(n_yj + a),  A_y = Σ_j n_yj + a V.
    """

    def __init__(self, counts: WordCounts, added: float):
        super().__init__(counts, added)
        self.multinomial = MultinomialModel(counts, added)
        total = self.multinomial.total
        self.total = np.where(total > 0, total, 1.0)  # without a vocabulary the size does not matter

    def scores(self, bags: Bags) -> Array:
        """Sum over the features that each document has."""
        return self._scores(bags, None, None)

    def leave_one_out(self, bags: Bags, codes: Codes, weight: Array | None) -> Array:
        """Only the document's own class changes."""
        return self._scores(bags, codes, weight)

    def to_page(self, blocks: int) -> dict[str, Any]:
        """Write the totals of words and of classes."""
        return super().to_page(blocks) | {"urn": True, "total": to_json(self.total)}

    def _scores(self, bags: Bags, codes: Codes | None, weight: Array | None) -> Array:
        counts, out, lengths = self.counts, np.empty((len(bags), self.classes)), bags.lengths
        parts = counts.start, counts.codes, counts.total
        _core.bag_urns(*bags.arrays, codes, self.classes, weight, *parts, self.added, out)
        bag = np.repeat(self.total[None], len(bags), axis=0)
        if codes is not None:
            bag[np.arange(len(bags)), codes] -= lengths if weight is None else weight * lengths
        return out - log_urn(bag, lengths[:, None])

    def shared(self, bags: Bags) -> Array:
        """Return the score of words that no class has."""
        return bags.sums(log_urn(self.added, bags.value))

    def probability(self, lo: int, hi: int) -> Array:
        """Return the probability of each word as the first one drawn."""
        return self.multinomial.probability(lo, hi)

    def contrast(self, bags: Bags, first: Any, second: Any) -> Array:
        """Log Γ(n + a + x) − log Γ(n + a) in one class less that in the other."""
        gains = []
        for classes in (first, second):
            at = entries_of(self.counts, bags.feature, classes[bags.owner])
            n = np.where(at >= 0, self.counts.total[at] if len(self.counts.total) else 0.0, 0.0) + self.added
            gains.append(log_urn(n, bags.value))
        return gains[0] - gains[1]

    def contrast_besides(self, bags: Bags, first: Any, second: Any) -> dict[str, Array]:
        """Log Γ(A) − log Γ(A + m) in one class less that in the other."""
        sizes = (self.total[classes] for classes in (first, second))
        gains = [-log_urn(size, bags.lengths) for size in sizes]
        return {"the number of words": gains[0] - gains[1]}


@dataclass(frozen=True)
class Part:
    """One of the scores that are added: of a block's words, with its weight, and exponents of groups of words."""

    block: int
    weight: float
    model: MultinomialModel | ComplementModel
    exponents: Array


class MixedModel(LinearEventModel):
    """Scores added with weights: of every block of words a multinomial and a complement one.

    score_y(x) = Σ_b e^(v ℓ_b) Σ_k w_bk Σ_j x_j (base_bky + f_bkg(j) coef_bkjy), where ℓ_b is log(1 + features of the
    document in the block) less `length[b]`: long documents may be surer of themselves than short ones, or less. `group`
    is the group g of every word, by how often it occurs, and f the exponent of what a class with it says. `mixed` is
    the part of the prior that belongs to it, and `bias` what is added to the score of each class, where probabilities
    are wanted.
    """

    block: NDArray[Any]

    def __init__(
        self,
        counts: WordCounts,
        block: NDArray[Any],
        group: NDArray[Any],
        parts: Sequence[Part],
        exponent: float,
        length: Array,
        mixed: float,
        bias: Array,
    ):
        super().__init__(counts, parts[0].model.added)
        self.bias = bias if len(bias) else np.zeros(self.classes)
        self.block, self.group, self.parts = block, group, tuple(parts)
        self.exponent, self.length, self.mixed = exponent, length, mixed
        self._lengths, self._exponent = length, exponent
        self.base = np.zeros((len(length), self.classes))
        for part in parts:
            self.base[part.block] += part.weight * part.model.base[0]

    def coef_at(self, place: Positions, owner: Positions) -> Array:
        """Add the scores of the parts of each word's block."""
        out = np.empty(len(place))
        place, owner = (np.ascontiguousarray(each, dtype=np.int64) for each in (place, owner))
        every = self.parts[0].model.words.by_word
        _core.mixed_coef(place, owner, self.counts.total, every, self._slots.of, self._scores_of_slots, out)
        return out

    @cached_property
    def _slots(self) -> Slots:
        return Slots(self.block, len(self.length), self.group, len(self.parts[0].exponents))

    @property
    def _scores_of_slots(self) -> Array:
        """The weight and the smoothing of the multinomial, then of the complement score, of each slot."""
        out = np.tile([0.0, 1.0], (self._slots.blocks, self._slots.groups + 1, 2))
        for part in self.parts:
            own = out[part.block, :-1, 2:] if part.model.every is not None else out[part.block, :-1, :2]
            own[:, 0], own[:, 1] = part.weight * part.exponents, part.model.added
        return out.reshape(-1, 4)

    def _parameters(self) -> str:
        kinds = (type(part.model).__name__.removesuffix("Model").lower() for part in self.parts)
        parts = (
            f"{part.weight:.3g} × {kind} of block {part.block} (smoothing {part.model.added:.3g})"
            for part, kind in zip(self.parts, kinds, strict=True)
        )
        exponents = np.concatenate([part.exponents for part in self.parts])
        span = f"exponents {exponents.min():.3g} to {exponents.max():.3g}"
        return f"{' + '.join(parts)}; {span}; length exponent {self.exponent:.3g}, mixed {self.mixed:.3g}"

    def to_page(self, blocks: int) -> dict[str, Any]:
        """Write the exponent of lengths, too."""
        return super().to_page(blocks) | {"exponent": float(self.exponent), "length": to_json(self.length)}

    @cached_property
    def density(self) -> EventModel:
        """One multinomial of all words, smoothed as those of the first block are."""
        return MultinomialModel(self.counts, self.added)

    def leave_one_out(self, bags: Bags, codes: Codes, weight: Array | None) -> Array:
        """The sum over the parts, each leaving the document out."""
        out, factor, lengths = np.zeros((len(bags), self.classes)), self._factor(bags), bags.lengths_by(self.block)
        kinds = len(self.parts) // self._slots.blocks
        for own in (self.parts[k::kinds] for k in range(kinds)):  # those of one kind, by block
            found = leave_out_by([part.model for part in own], bags, self._slots, lengths, codes, weight)
            each = np.array([part.weight * np.append(part.exponents, 1.0) for part in own])
            out += np.einsum("nb,bg,nbgk->nk", factor, each, found)
        return out

    def probability(self, lo: int, hi: int) -> Array:
        """Return the probabilities of the multinomial."""
        return self.density.probability(lo, hi)
