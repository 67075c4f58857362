"""Texts that vote only if they tell more than chance would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.errors import MismatchError
from suffice.core.priors import Dirichlet
from suffice.core.statistics import WordCounts
from suffice.core.words import Texts
from suffice.families._base import Distribution, derived
from suffice.families._contract import Decisions
from suffice.families.choose import MARGIN, Chosen, Score
from suffice.families.chosen import Candidate, Choice, ColumnDecision
from suffice.families.documents import Bags
from suffice.families.text import Text, TextDistribution, read_texts

KEPT = 2000  # documents that the column is judged by
TEMPERED_MARGIN = 2.0  # standard errors that a gain must exceed if an exponent was looked for
EXPONENTS = (0.5, 0.25, 0.125, 0.06, 0.03, 0.016, 0.008, 0.004)  # of evidence whose words are not independent


@dataclass(frozen=True, eq=False)
class TextColumnDecision(ColumnDecision):
    """Whether a column of texts votes, and what was chosen for its words, if anything was."""

    words: Decisions | None = None


class AutomaticText(Chosen):
    """A `Text` that need not vote, of the event model of `TextClassifier`: what its words weigh is chosen.

    The documents that are kept are left out in turn, as rows of other columns are. Evidence of many words is too sure
    of itself. So a text that does not beat the class prior as it is votes too if it does with an exponent below 1; as
    the best of several is taken, the gain must be worth more standard errors then.

    With `event="multinomial"`, words have the same smoothing as categories and nothing is chosen: such are the columns
    in files of version 0.2.
    """

    event: Literal["multinomial", "auto"] = "multinomial"

    reads: ClassVar = "text"

    @cached_property
    def text(self) -> Text:
        """The family of the texts."""
        if self.event == "auto":
            return Text(event="auto", keep=KEPT)
        return Text(prior=Dirichlet(self.amounts[0]), keep=KEPT)

    summary = derived(lambda self: self.text.summary)

    def read(self, x: Any) -> Texts | Bags:
        """Read a column of texts."""
        return read_texts(x)

    def all_options(self, counts: WordCounts) -> Iterator[Candidate]:  # noqa: ARG002  # whatever it holds
        """Yield the one family there is."""
        yield Candidate("text", self.amounts[0])

    def make(self, counts: WordCounts, candidate: Candidate) -> Choice:  # noqa: ARG002  # there is one
        """Make a family that gives the density of texts of any classes, also of all together."""
        if self.event == "multinomial":
            return Choice("text", self.text, counts)
        weights: Any = {"term_weight": self.text.term_weight, "length_norm": self.text.length_norm}
        return Choice("text", Text(prior=Dirichlet(self.amounts[0]), keep=KEPT, **weights), counts)

    def estimate(self, counts: WordCounts) -> Distribution:
        """Estimate the words of each class; of all classes together if the column does not vote."""
        fitted, kept = self.text.estimate(counts), self.text.kept_rows(counts)
        decision = TextColumnDecision("text", self.amounts[0], True, np.nan, np.nan, words=fitted.decisions)
        if not len(kept.codes) or not self.gate:
            return replace(fitted, decisions=decision)
        left_out = self.text.leave_one_out(counts, fitted, kept.rows, kept.codes, kept.unit)
        score, *tempered = (
            Score(*_core.score_log_densities(np.ascontiguousarray(exponent * left_out), kept.codes, kept.independent))
            for exponent in (1.0, *EXPONENTS)
        )
        votes = score.mean - score.chance > MARGIN * score.error
        if not votes:
            score = max([score, *tempered], key=lambda each: each.mean)
            votes = score.mean - score.chance > TEMPERED_MARGIN * score.error
        decision = replace(decision, votes=votes, score=score.mean, chance=score.chance)
        return replace(fitted, decisions=decision) if votes else super().decided(counts, decision)

    def decided(self, counts: WordCounts, decision: ColumnDecision) -> Distribution:
        """Estimate the words as was decided."""
        if not decision.votes:
            return super().decided(counts, decision)
        words = decision.words if isinstance(decision, TextColumnDecision) else None
        return replace(self.text.estimate_decided(counts, words), decisions=decision)

    def check_decisions(self, statistic: Any, decisions: Decisions | None) -> None:
        """Refuse decisions about other event models, too."""
        super().check_decisions(statistic, decisions)
        words = decisions.words if isinstance(decisions, TextColumnDecision) else None
        if decisions is not None and self.event == "auto" and words is None:
            raise MismatchError(f"{type(self).__name__} does not decide {decisions!r}")
        self.text.check_decisions(statistic, words)

    def leave_one_out(
        self, statistic: WordCounts, fitted: Distribution, x: Any, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave out each text exactly."""
        if not fitted.votes:
            return fitted.log_density(x)
        assert isinstance(fitted, TextDistribution)
        return self.text.leave_one_out(statistic, fitted, x, codes, weight)
