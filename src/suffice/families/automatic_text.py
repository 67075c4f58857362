"""Texts that vote only if they tell more than chance would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from suffice.core.arrays import Array, Codes
from suffice.core.priors import Dirichlet
from suffice.core.statistics import WordCounts
from suffice.core.words import Texts
from suffice.families._base import Distribution, derived
from suffice.families._contract import Decisions
from suffice.families.choose import MARGIN, Candidate, Choice, Chosen, ColumnDecision
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

    def options(self, counts: WordCounts) -> Iterator[Candidate]:
        """Yield the one family there is."""
        amount = self.amounts[0]
        yield Candidate("text", amount, lambda: Choice("text", self.text, counts, smoothing=amount))

    def rows(self, counts: WordCounts) -> tuple[Bags, Codes, Array]:
        """Return the documents that are kept."""
        kept = self.text.kept_rows(counts)
        return kept.rows, kept.codes, kept.weight

    def estimate(self, counts: WordCounts) -> Distribution:
        """Estimate the words of each class; of all classes together if the column does not vote."""
        (choice,) = self.candidates(counts)
        x, codes, weight = self.rows(counts)
        fitted = choice.fit()
        if not len(codes) or not self.gate:
            return fitted
        score, *tempered = choice.scores(fitted, x, codes, weight, (1.0, *EXPONENTS))
        votes = score.mean - score.chance > MARGIN * score.error
        if not votes:
            score = max([score, *tempered], key=lambda each: each.mean)
            votes = score.mean - score.chance > TEMPERED_MARGIN * score.error
        decision = ColumnDecision("text", choice.smoothing, bool(votes), score.mean, score.chance)
        return self.estimate_decided(counts, decision)

    def estimate_decided(self, counts: WordCounts, decisions: Decisions | None) -> Distribution:
        """Estimate the words as was decided before."""
        if decisions is None:
            return self.estimate(counts)
        assert isinstance(decisions, ColumnDecision)
        choice = self._decided(counts, decisions).make()
        if not decisions.votes:
            return self._silent(choice, decisions.score, decisions.chance, counts.n_classes)
        fitted = choice.fit()
        assert isinstance(fitted, TextDistribution)
        return replace(fitted, decisions=decisions)

    def leave_one_out(
        self, statistic: WordCounts, fitted: Distribution, x: Any, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave out each text exactly."""
        if not fitted.votes:
            return fitted.log_density(x)
        return self.text.leave_one_out(statistic, fitted, x, codes, weight)
