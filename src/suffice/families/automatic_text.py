"""Texts that vote only if they tell more than chance would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.priors import Dirichlet
from suffice.core.statistics import WordCounts
from suffice.core.words import Texts
from suffice.families._base import Distribution, derived
from suffice.families.choose import MARGIN, Chosen, Score
from suffice.families.chosen import Candidate, Choice, ColumnDecision
from suffice.families.documents import Bags
from suffice.families.text import Text, TextDistribution, read_texts

KEPT = 2000  # documents that the column is judged by
TEMPERED_MARGIN = 2.0  # standard errors that a gain must exceed if an exponent was looked for
EXPONENTS = (0.5, 0.25, 0.125, 0.06, 0.03, 0.016, 0.008, 0.004)  # of evidence whose words are not independent


class AutomaticText(Chosen):
    """A `Text` of the multinomial event model that need not vote.

    The documents that are kept are left out in turn, as rows of other columns are. Evidence of many words is too sure
    of itself. So a text that does not beat the class prior as it is votes too if it does with an exponent below 1; as
    the best of several is taken, the gain must be worth more standard errors then.
    """

    reads: ClassVar = "text"

    @cached_property
    def text(self) -> Text:
        """The family of the texts."""
        return Text(prior=Dirichlet(self.amounts[0]), keep=KEPT)

    summary = derived(lambda self: self.text.summary)

    def read(self, x: Any) -> Texts | Bags:
        """Read a column of texts."""
        return read_texts(x)

    def all_options(self, counts: WordCounts) -> Iterator[Candidate]:  # noqa: ARG002  # whatever it holds
        """Yield the one family there is."""
        yield Candidate("text", self.amounts[0])

    def make(self, counts: WordCounts, candidate: Candidate) -> Choice:  # noqa: ARG002  # there is one
        """Make the family of texts."""
        return Choice("text", self.text, counts)

    def estimate(self, counts: WordCounts) -> Distribution:
        """Estimate the words of each class; of all classes together if the column does not vote."""
        fitted, kept = self.text.estimate(counts), self.text.kept_rows(counts)
        if kept is None or not len(kept.codes) or not self.gate:
            return fitted
        left_out = self.text.leave_one_out(counts, fitted, kept.rows, kept.codes, np.minimum(kept.weight, 1.0))
        score, *tempered = (
            Score(*_core.score_log_densities(np.ascontiguousarray(exponent * left_out), kept.codes, kept.weight))
            for exponent in (1.0, *EXPONENTS)
        )
        votes = score.mean - score.chance > MARGIN * score.error
        if not votes:
            score = max([score, *tempered], key=lambda each: each.mean)
            votes = score.mean - score.chance > TEMPERED_MARGIN * score.error
        return self.decided(counts, ColumnDecision("text", self.amounts[0], votes, score.mean, score.chance))

    def decided(self, counts: WordCounts, decision: ColumnDecision) -> Distribution:
        """Estimate the words as was decided."""
        if not decision.votes:
            return super().decided(counts, decision)
        fitted = self.text.estimate(counts)
        assert isinstance(fitted, TextDistribution)
        return replace(fitted, decisions=decision)

    def leave_one_out(
        self, statistic: WordCounts, fitted: Distribution, x: Any, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave out each text exactly."""
        if not fitted.votes:
            return fitted.log_density(x)
        return self.text.leave_one_out(statistic, fitted, x, codes, weight)
