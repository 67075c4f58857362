"""Texts as bags of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice.errors import NoLinearFormError
from suffice.families.family import Distribution, Family, Table
from suffice.families.multinomial import Multinomial
from suffice.priors import Dirichlet
from suffice.statistics import Documents, Totals, WordCounts
from suffice.tables import Array, Codes, Values

SHOWN = 20  # words in a table for people


@dataclass(frozen=True, eq=False, repr=False)
class Text(Family[WordCounts]):
    """A text as the words that are in it, in any order:  p(x | y) = Π_w θ_yw^(times w is in x).

    Words are two letters or more, in lower case. The vocabulary is that of all texts learned, and grows with them; a
    word never learned says nothing, and so does a missing text. What is learned of θ is what `Multinomial` learns.

    >>> family = Text()
    >>> found = family.estimate(family.summarize([["good good"], ["bad"]], ["+", "-"]).statistic)
    >>> found.vocabulary, found.words.probability
    (array(['bad', 'good'], dtype='<U4'), array([[0.25      , 0.75      ],
           [0.66666667, 0.33333333]]))
    """

    kind: ClassVar = WordCounts
    reads: ClassVar = "text"
    weak_prior: ClassVar = Dirichlet(1.0)

    def check_width(self, columns: int) -> None:  # the prior is over words
        """Accept one column of texts."""

    def read(self, x: Any) -> Documents:
        """Find the words of a column of texts."""
        return read_texts(x)

    @cached_property
    def multinomial(self) -> Multinomial:
        """How the probabilities of words are learned."""
        return Multinomial(self.prior, self.learn)

    def estimate(self, counts: WordCounts) -> TextDistribution:
        """The probability of every word in every class."""
        vocabulary, totals = _totals(counts)
        return TextDistribution(vocabulary, self.multinomial.estimate(totals))

    def leave_one_out(
        self, counts: WordCounts, fitted: Distribution, x: Any, codes: Codes, weight: Array | None
    ) -> Array:
        """As `Multinomial` does; the vocabulary stays that of all texts."""
        assert isinstance(fitted, TextDistribution)
        vocabulary, totals = _totals(counts)
        return self.multinomial.leave_one_out(totals, fitted.words, x.over(vocabulary), codes, weight)


def read_texts(x: Any) -> Documents:
    """Texts from a column, a table of one column, or what has been read already."""
    if isinstance(x, Documents):
        return x
    return Documents.of(row[0] if isinstance(row, (list, tuple, np.ndarray)) else row for row in x)


def _totals(counts: WordCounts) -> tuple[Values, Totals]:
    """The vocabulary, and the total of every word; the first key counts the texts."""
    if counts.keys is None or not len(counts.keys[0]):
        return np.empty(0, dtype="<U1"), Totals(np.zeros((len(counts.weight), 1)), np.zeros((len(counts.weight), 0)))
    return counts.keys[0][1:], Totals(counts.weight[:, :1], np.ascontiguousarray(counts.weight[:, 1:]))


@dataclass(frozen=True)
class TextDistribution(Distribution):
    """A sorted vocabulary, and the distribution of its words."""

    vocabulary: Values
    words: Any

    def read(self, x: Any) -> Documents:
        """Find the words of a column of texts."""
        return read_texts(x)

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of the known words of every text under every class, (rows, classes)."""
        if not len(self.vocabulary):  # nobody has said a word
            return np.zeros((len(x), len(self.words.length)))
        return self.words.log_density(x.over(self.vocabulary))

    def linear(self) -> Any:
        """Refuse: a text is no number."""
        raise NoLinearFormError("The log-odds are linear in the counts of words, not in a column: tables() shows them")

    @property
    def n_columns(self) -> int:
        """One column of texts."""
        return 1

    @property
    def n_parameters(self) -> int:
        """One less than the words for each class."""
        return self.words.n_parameters

    def outcomes(self, names: Sequence[str]) -> Iterator[tuple[str, Array]]:
        """Each word being drawn."""
        if hasattr(self.words, "probability"):
            yield from ((f"{names[0]}: {w}", p) for w, p in zip(self.vocabulary, self.words.probability.T, strict=True))

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """The words that are the most probable in any class."""
        table = self.words.probability if hasattr(self.words, "probability") else self.words.alpha
        most = np.argsort(-table.max(axis=0), kind="stable")[:SHOWN]
        rows = [str(word) for word in self.vocabulary[most]]
        return [Table(str(names[0]), rows, [str(label) for label in labels], table[:, most].T)]

    def sample(self, codes: Codes, rng: np.random.Generator) -> NDArray[Any]:
        """Draw texts: as many words as texts of the class have, in no order."""
        out = np.empty((len(codes), 1), dtype=object)
        counts = np.asarray(self.words.sample(codes, rng)).astype(np.int64) if len(self.vocabulary) else None
        for i in range(len(codes)):
            drawn = np.repeat(self.vocabulary, counts[i]) if counts is not None else self.vocabulary
            out[i, 0] = " ".join(rng.permutation(drawn))
        return out
