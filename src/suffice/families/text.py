"""Texts as bags of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Positions, Values
from suffice.core.errors import (
    InvalidDataError,
    InvalidOptionError,
    InvalidTextError,
    MismatchError,
    NoDistributionError,
    NoFormulaError,
)
from suffice.core.frames import as_frame
from suffice.core.frames.input import is_in_memory
from suffice.core.priors import Dirichlet
from suffice.core.statistics import WordCounts
from suffice.core.validation import CheckedIn, Held, check_options
from suffice.core.words import Lexicon, Texts, Tokenization, Vocabulary, Weighting
from suffice.core.words.counting import LengthNorm, TermWeight
from suffice.core.words.tokenizing import MOST_COLUMNS, Accents, Analyzer
from suffice.families._base import DEFAULT, Distribution, Family, derived
from suffice.families._contract import WORDS, Decisions, KeptRows, Outcomes, Summary, Table
from suffice.families._event_tuning import BlocksOfWords, TextDecisions, tuned
from suffice.families.documents import Bags, in_parts
from suffice.families.event_models import (
    BernoulliModel,
    ComplementModel,
    EventModel,
    LinearEventModel,
    MixedModel,
    MultinomialModel,
    UrnModel,
)
from suffice.families.page_words import MOST_WORDS, FewerWords, most_telling
from suffice.formulas import Term, WordScores

Event: TypeAlias = Literal["multinomial", "complement", "bernoulli", "auto"]

# The default weight of a count and norm of a document. Other event models use counts unchanged.
DEFAULT_WEIGHTS: dict[str, tuple[str, str | None]] = {"bernoulli": ("binary", None), "auto": ("sqrt", "l2")}
SHOWN = 20  # words in a table for people
MOST_DRAWN = 10_000_000  # words of a text
AT_ONCE = 1 << 16  # words whose probabilities are computed at a time


class Text(Family[WordCounts]):
    """A text as a bag of words:  p(x | y) = Π_w θ_yw^(number of times w occurs in x).

    That is the multinomial event model. With `event="bernoulli"` every word of the vocabulary occurs or does not. With
    "complement" a class is scored by how badly the words of the other classes fit. "auto" is the sum of a multinomial
    and a complement score. By default, words have two letters or more and are read in lower case. The vocabulary is
    that of all training texts and grows with them. Unknown words and missing texts do not change the scores.
    By default the value of a word is the number of its occurrences; for "bernoulli" it is 1; for "auto" it is the
    square root of the number, and documents are scaled to length 1 (`term_weight="sqrt"`, `length_norm="l2"`).

    `prior` is a Dirichlet with one α for all words, used as by `Multinomial`. For "bernoulli" it is a Beta with that α
    for both outcomes. With `prior="auto"`, α has the least leave-one-out log-loss over `keep` documents that are kept
    with the totals.

    >>> family = Text()
    >>> found = family.estimate(family.summarize(["good good", "bad"], ["+", "-"]).statistic)
    >>> found.vocabulary, found.event.probability(0, 2)
    (Vocabulary(2 words: 'bad', 'good'), array([[0.25      , 0.75      ],
           [0.66666667, 0.33333333]]))
    """

    event: Event = "multinomial"
    ngrams: tuple[int, int] = (1, 1)
    term_weight: TermWeight | None = None
    length_norm: LengthNorm | Literal["auto"] | None = "auto"
    analyzer: Analyzer = "word"
    lowercase: bool = True
    strip_accents: Accents | None = None
    stop_words: Annotated[Any, CheckedIn("tokenization")] = None
    stem: str | None = None
    n_features: Annotated[int | None, Held(least=1, most=MOST_COLUMNS)] = None
    keep: Annotated[int | None, Held(least=0)] = None

    reads: ClassVar = "text"
    by_column: ClassVar = False
    weak_prior: ClassVar = Dirichlet(1.0)

    def __post_init__(self) -> None:
        check_options(self)
        automatic = isinstance(self.prior, str) and self.prior == "auto"
        if automatic or (self.event == "auto" and self.prior is DEFAULT):
            if self.learn not in (None, "mean"):
                raise InvalidOptionError(f"Text: learn={self.learn!r} needs a smoothing that is a number, not 'auto'")
            object.__setattr__(self, "prior", "auto")
            object.__setattr__(self, "learn", "mean")
        else:
            super().__post_init__()
        self._check_event()
        object.__setattr__(self, "ngrams", self.tokenization.ngram_range)
        object.__setattr__(self, "stop_words", self.tokenization.stop_words)
        object.__setattr__(self, "term_weight", self.weighting.term)
        object.__setattr__(self, "length_norm", self.weighting.norm)
        if self.keep is None:
            object.__setattr__(self, "keep", 5000 if self.automatic else 0)

    def _check_event(self) -> None:
        if isinstance(self.prior, Dirichlet) and np.ndim(self.prior.alpha):
            raise InvalidOptionError("Text: the vocabulary grows, so the prior has one α for all words")
        if isinstance(self.prior, Dirichlet):
            alpha = float(self.prior.alpha)
            if self.learn == "map" and alpha < 1:
                raise InvalidOptionError(
                    f"Text: learn='map' needs α of at least 1, found {alpha:g}: with a smaller α there is no mode"
                )
            if self.learn == "predictive" and not alpha > 0:
                raise InvalidOptionError("Text: learn='predictive' needs a prior with α > 0")
        if self.event in ("complement", "auto"):
            if self.learn in ("map", "predictive"):
                raise InvalidOptionError(f"Text: learn={self.learn!r} has no meaning for event={self.event!r}")
            if self.prior is None or (isinstance(self.prior, Dirichlet) and not float(self.prior.alpha) > 0):
                raise InvalidOptionError(f"Text: event={self.event!r} needs smoothing: a prior Dirichlet(α) with α > 0")
        if self.event == "bernoulli":
            if self.term_weight not in (None, "binary") or self.length_norm not in ("auto", None):
                raise InvalidOptionError(
                    "Text: with event='bernoulli' a word occurs or does not: leave out term_weight and length_norm"
                )
            if self.learn == "predictive":  # for one document it is the posterior mean
                object.__setattr__(self, "learn", "mean")

    @property
    def automatic(self) -> bool:
        """Whether anything is chosen by leaving documents out."""
        return self.event == "auto" or isinstance(self.prior, str)

    @cached_property
    def tokenization(self) -> Tokenization:
        """How texts are split into words."""
        return Tokenization(
            self.lowercase,
            self.strip_accents,
            self.analyzer,
            self.ngrams,
            self.stop_words,
            self.stem,
            self.n_features,
        )

    @cached_property
    def weighting(self) -> Weighting:
        """How counts of words become values."""
        term, norm = DEFAULT_WEIGHTS.get(self.event, ("count", None))
        norm = norm if self.length_norm == "auto" else self.length_norm
        return Weighting(self.term_weight or term, norm)  # type: ignore[arg-type]  # checked there

    @property
    def summary(self) -> Summary[WordCounts]:  # type: ignore[override]  # it depends on the options
        """Totals of words, and a sample of documents."""
        options = {"tokenization": self.tokenization, "weighting": self.weighting, "keep": self.keep}
        return Summary(WordCounts, options=options)

    def read(self, x: Any) -> Texts | Bags:
        """Read a column of texts."""
        return read_texts(x)

    @property
    def added(self) -> float:
        """The number that is added to every count."""
        if self.prior is None:
            return 0.0
        return float(self.prior.alpha) - (1.0 if self.learn == "map" else 0.0)

    def estimate(self, counts: WordCounts) -> TextDistribution:
        """Estimate the event model from the totals."""
        return self.estimate_decided(counts, None)

    decides = derived(lambda self: self.automatic)
    searches_near: ClassVar = True

    def estimate_near(self, counts: WordCounts, decisions: Decisions) -> TextDistribution:
        """Estimate the event model; the search for the smoothing begins at what was found before."""
        return self._estimated(counts, None, decisions)

    def estimate_decided(self, counts: WordCounts, decisions: Decisions | None) -> TextDistribution:
        """Estimate the event model with the smoothing and the weights that were found before."""
        return self._estimated(counts, decisions, None)

    def _estimated(self, counts: WordCounts, decisions: Decisions | None, near: Decisions | None) -> TextDistribution:
        if not self.automatic:
            return TextDistribution(counts.vocabulary, self.model(counts), self.tokenization, self.weighting)
        words = BlocksOfWords(counts, self.tokenization)
        if decisions is None:
            alpha = None if isinstance(self.prior, str) else float(self.prior.alpha)
            assert near is None or isinstance(near, TextDecisions)
            decisions = tuned(words, self.event, self.weighting, self.tokenization, alpha, near)
        assert isinstance(decisions, TextDecisions)
        event = decisions.model(words, self.event)
        return TextDistribution(counts.vocabulary, event, self.tokenization, self.weighting, decisions)

    def check_decisions(self, counts: WordCounts, decisions: Decisions | None) -> None:
        """Refuse decisions about other event models or blocks of words."""
        if not self.automatic or decisions is None:
            super().check_decisions(counts, decisions)
        elif not isinstance(decisions, TextDecisions):
            raise MismatchError(f"Text does not decide {decisions!r}")
        else:
            decisions.check_for(self.event, self.tokenization, counts.n_classes)

    def model(self, counts: WordCounts) -> EventModel:
        """Return the event model with the smoothing that the options give."""
        if self.event == "complement":
            return ComplementModel(counts, self.added)
        if self.event == "bernoulli":
            return BernoulliModel(counts, self.added)
        return UrnModel(counts, self.added) if self.learn == "predictive" else MultinomialModel(counts, self.added)

    def kept_rows(self, counts: WordCounts) -> KeptRows:
        """Return the sample of documents."""
        block = self.tokenization.size_of(counts.vocabulary)
        bags = Bags.kept(counts, self.weighting, block, self.tokenization.n_sizes)
        return KeptRows.of(bags, counts.kept)

    def leave_one_out(
        self,
        counts: WordCounts,  # noqa: ARG002  # the model holds them
        fitted: Distribution,
        x: Texts | Bags,
        codes: Codes,
        weight: Array | None,
    ) -> Array:
        """Leave out each text exactly. The vocabulary and the chosen smoothing stay those of all texts."""
        assert isinstance(fitted, TextDistribution)
        out, lo = [], 0
        for bags in in_parts(x, fitted.lexicon, self.weighting):
            part = slice(lo, lo + len(bags))
            out.append(fitted.event.leave_one_out(bags, codes[part], None if weight is None else weight[part]))
            lo += len(bags)
        return np.concatenate(out)


def read_texts(x: Any) -> Texts | Bags:
    """Read texts from a column or from a table of one column; texts that were read already are returned."""
    if isinstance(x, (Texts, Bags)):
        return x
    if isinstance(x, (list, tuple)):
        return Texts.of([row[0] for row in x] if len(x) and all(map(_is_row, x)) else x)
    if is_in_memory(x):
        columns = as_frame(x).columns
        if len(columns) != 1:
            raise InvalidTextError(
                f"Expected one column of texts, found a table of {len(columns)}: {', '.join(columns)}"
            )
        (x,) = columns.values()
    return Texts.of(x)


def _is_row(row: object) -> bool:
    """Return whether this is a row of a table whose only column holds texts."""
    return isinstance(row, (list, tuple)) and len(row) == 1 and (row[0] is None or isinstance(row[0], (str, bytes)))


class TextDistribution(Distribution):
    """A vocabulary, and the event model over it."""

    vocabulary: Vocabulary
    event: EventModel
    tokenization: Tokenization
    weighting: Weighting
    decisions: Decisions | None = None

    reads: ClassVar = "text"
    support = WORDS
    why_not_linear: ClassVar = "The log-odds are linear in the counts of words, not in a column: evidence() shows them"

    def read(self, x: Any) -> Texts | Bags:
        """Read a column of texts."""
        return read_texts(x)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The vocabulary, ready to be looked up."""
        return Lexicon(self.vocabulary, self.tokenization, tier=_tiers(self.event.counts))

    def bags(self, x: Any) -> Iterator[Bags]:
        """Yield the known words of the documents, some documents at a time."""
        return in_parts(self.read(x), self.lexicon, self.weighting)

    def log_density(self, x: Texts | Bags) -> Array:
        """Compute log p(x | y) of the known words of every text under every class, (rows, classes)."""
        return np.concatenate([self.event.scores(bags) + self.event.shared(bags)[:, None] for bags in self.bags(x)])

    def relative_log_density(self, x: Texts | Bags) -> Array:
        """Compute the same up to a term that all classes share."""
        if isinstance(x, Texts) and isinstance(self.event, LinearEventModel):
            found = self.event.text_scores(x, self.lexicon, self.weighting)
            if found is not None:
                return found
        return np.concatenate([self.event.scores(bags) for bags in self.bags(x)])

    @property
    def expected(self) -> Array:
        """Refuse: there is no mean of texts."""
        raise NoDistributionError("A missing text cannot be filled in; sample() draws a text of a class")

    # The same with an event model that is a distribution of words; complement scores are not.
    as_density = derived(lambda self: replace(self, event=self.event.density))
    # The share of the class prior that was fitted together with the weights of a sum of models.
    mixed = derived(lambda self: self.event.mixed if isinstance(self.event, MixedModel) else None)
    # And the biases of classes.
    bias = derived(lambda self: self.event.bias if isinstance(self.event, MixedModel) else None)
    n_columns = derived(lambda _: 1)
    # One for each class and word; less one for each class if the probabilities of words sum to one.
    n_parameters = derived(lambda self: self.event.classes * max(self.event.size - self.event.sums_to_one, 0))

    @cached_property
    def for_page(self) -> TextDistribution:
        """The same with the most telling words, if there are more than a page can hold; the others are unknown then."""
        if (
            len(self.vocabulary) <= MOST_WORDS
            or not isinstance(self.event, LinearEventModel)
            or not self.event.added > 0
        ):
            return self
        event = FewerWords(self.event, most_telling(self.event))
        return replace(self, vocabulary=event.counts.vocabulary, event=event)

    def formula(self, names: Sequence[str]) -> list[Term]:
        """Return the scores of words; a model that is not linear in the values of words is refused."""
        event = self.event
        if not isinstance(event, LinearEventModel) or not event.added > 0:
            how = "with learn='predictive'" if isinstance(event, UrnModel) else "without smoothing"
            raise NoFormulaError(
                f"Text has no formula {how}: its scores are not sums over words. Fit with another learn or smoothing"
            )
        words = WordScores(names[0], self.lexicon, self.weighting, event.linear, np.asarray(event.intercept))
        return [Term(str(names[0]), tuple(names[:1]), words)]

    def to_page(self, column: str) -> dict[str, Any]:
        """Return the vocabulary, the scores of words and the tokenization as JSON, for the script of the report.

        A tokenization that the script does not have is refused.
        """
        tokens, words = self.tokenization, len(self.vocabulary)
        refused = {
            "stems are made by rules that the page does not have": tokens.stem is not None,
            "hashed features have no words": tokens.n_features is not None,
            "accents are removed by tables that the page does not have": tokens.strip_accents == "unicode",
            f"{words} words and phrases are more than the {MOST_WORDS} a page holds": words > MOST_WORDS,
        }
        for why, holds in refused.items():
            if holds:
                raise NoFormulaError(f"Text cannot be scored here: {why}")
        least, most = tokens.ngram_range
        reading = {"analyzer": tokens.analyzer, "lowercase": tokens.lowercase, "strip_accents": tokens.strip_accents}
        return {
            "column": column,
            "words": self.vocabulary.names.tolist(),
            "how": reading | {"least": least, "most": most, "stop": list(tokens.stop_list)},
            "weighting": {"term": self.weighting.term, "norm": self.weighting.norm},
            **self.event.to_page(tokens.n_sizes),
        }

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:
        """Yield each word."""
        for lo in range(0, self.event.size, AT_ONCE):
            hi = min(lo + AT_ONCE, self.event.size)
            yield Outcomes(partial(self._title, names, lo), self.event.probability(lo, hi))

    def _title(self, names: Sequence[str], lo: int, i: int) -> str:
        word = self.vocabulary[lo + i]
        return f"{names[0]}: {word}" if names[0] else word

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return the words that are most probable in any class."""
        found: list[tuple[float, int, Array]] = []
        for lo in range(0, self.event.size, AT_ONCE):
            table = self.event.probability(lo, min(lo + AT_ONCE, self.event.size))
            most = np.argsort(-table.max(axis=0), kind="stable")[:SHOWN]
            found += [(-float(table[:, i].max()), lo + int(i), table[:, i]) for i in most]
        found = sorted(found, key=lambda each: each[:2])[:SHOWN]
        values = np.array([p for *_, p in found]).reshape(len(found), self.event.classes)
        return [Table(str(names[0]), [self.vocabulary[i] for _, i, _ in found], [str(each) for each in labels], values)]

    def sample(self, codes: Codes, rng: np.random.Generator) -> Values:
        """Draw texts: words are drawn independently; their number is Poisson around the mean length of the class."""
        if self.tokenization.analyzer != "word" or self.tokenization.n_features is not None:
            raise NoDistributionError("Texts can be drawn from words only, not from characters or hashed features")
        counts, event = self.event.counts, self.event.density
        lengths = np.divide(counts.words, counts.documents, out=np.zeros(event.classes), where=counts.documents > 0)
        if not lengths.max(initial=0.0) < MOST_DRAWN:
            raise InvalidDataError(f"Texts of {lengths.max():g} words are too long to be drawn")
        # Phrases of one word are first where there are any.
        words = np.flatnonzero(self.tokenization.size_of(self.vocabulary) == 1 - self.tokenization.ngram_range[0])
        if event.size and not len(words):
            raise NoDistributionError(
                "The features are n-grams only, and texts are drawn from single words: use ngrams=(1, …)"
            )
        out = np.full((len(codes), 1), "", dtype=object)
        classes = np.unique(codes)
        for c, p in zip(classes, self._probability(event, classes, words), strict=True):
            for i in np.flatnonzero(codes == c):
                out[i, 0] = " ".join(self.vocabulary[int(j)] for j in _draw(words, p, lengths[c], event, rng))
        return out

    @staticmethod
    def _probability(event: EventModel, classes: Positions, words: Positions) -> Array:
        """Return the probability of words in some classes, (classes, words)."""
        out = np.zeros((len(classes), len(words)))
        for lo in range(0, event.size, AT_ONCE):
            hi = min(lo + AT_ONCE, event.size)
            own = slice(*np.searchsorted(words, [lo, hi]))
            out[:, own] = event.probability(lo, hi)[np.ix_(classes, words[own] - lo)]
        return out


def _tiers(counts: WordCounts) -> NDArray[np.uint8]:
    """Return a number for each word that is lower the more classes have it: such words occur most often."""
    having = np.diff(counts.start)
    least = np.array([[2], [4], [counts.n_classes // 2 + 1]])
    return np.asarray(3 - np.count_nonzero(having >= least, axis=0), dtype=np.uint8)


def _draw(words: Positions, p: Array, length: float, event: EventModel, rng: np.random.Generator) -> Positions:
    if isinstance(event, BernoulliModel):
        return rng.permutation(words[rng.random(len(words)) < p])
    if not len(words) or not p.sum() > 0:
        return words[:0]
    return rng.choice(words, size=rng.poisson(length), p=p / p.sum())
