"""The cases: text, from raw documents, beside scikit-learn, Vowpal Wabbit, fastText, Polars and river."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import ComplementNB, MultinomialNB

from benchmarks.harness import (
    AnswersDifferError,
    Case,
    Group,
    Measurement,
    Quantity,
    Settings,
    Target,
    Task,
    agree,
    relative,
    versus,
)
from benchmarks.loading import first_answer
from benchmarks.naive_bayes import times
from benchmarks.text_memory import measure
from benchmarks.text_peers import FastText, Polars, River, VowpalWabbit, default_pipeline, spell_numbers
from benchmarks.text_quality import Corpus, cross_validated, held_out
from suffice import TextClassifier
from suffice.text import BagOfWords

SENSIBLE = 0.7  # accuracy on the test half; naming the largest class reaches 0.05
FEW = 200  # documents whose posteriors are compared


def groups(settings: Settings) -> list[Group]:
    """List all cases; none where the data are not there."""
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        print(
            "Nothing is measured: SUFFICE_DATA does not say where 20newsgroups-train.parquet, "
            "20newsgroups-test.parquet and sms-spam.parquet are",
            file=sys.stderr,
        )
        return []
    known = News(folder, 20 if settings.quick else 1, settings)
    parts = [speed_cases, other_cases, memory_cases, one_by_one_cases, leave_one_out_cases, quality_cases]
    return [Group(lambda: known, [case for part in parts for case in part(known)])]


@dataclass(frozen=True)
class News:
    """Both halves of 20 Newsgroups, read when first asked for, and models fitted to the first."""

    folder: str
    every: int
    settings: Settings
    _known: dict[Any, Any] = field(default_factory=dict)

    def half(self, which: str, column: str = "text") -> Corpus:
        """Read the training or the test half."""
        return Corpus.read(self.folder, f"20newsgroups-{which}", column, self.every)

    @cached_property
    def train(self) -> Corpus:
        """The documents to learn."""
        return self.half("train")

    @cached_property
    def test(self) -> Corpus:
        """The documents to ask about."""
        return self.half("test")

    def fitted(self, ngrams: tuple[int, int] = (1, 1)) -> tuple[Any, Any]:
        """Return ours and scikit-learn's multinomial model, fitted."""
        models = lecture_model(ngrams), default_pipeline(ngrams)
        return self.once(ngrams, lambda: tuple(m.fit(self.train.texts, self.train.labels) for m in models))

    def once(self, name: Any, find: Callable[[], Any]) -> Any:
        """Find something that several cases need, the first time it is asked for."""
        if name not in self._known:
            self._known[name] = find()
        return self._known[name]


def lecture_model(ngrams: tuple[int, int] = (1, 1), event: str = "multinomial") -> TextClassifier:
    """Ours with the options that make it scikit-learn's CountVectorizer and MultinomialNB, or ComplementNB."""
    prior = "uniform" if event == "complement" else None  # scikit-learn's has none
    return TextClassifier(event=event, ngrams=ngrams, smoothing=1.0, calibrate=False, prior=prior)


def learn(make: Callable[[], Any], corpus: Corpus, texts: Any = None) -> None:
    """Fit, and read the parameters, as ours computes them when they are first needed."""
    model = make().fit(corpus.texts if texts is None else texts, corpus.labels)
    if isinstance(model, TextClassifier):
        _ = model.event_.coef


def by_the_second(found: Measurement, megabytes: float) -> Measurement:
    """The same with speeds in place of times."""
    ours, theirs = (
        Quantity(megabytes / median(found.details[f"{side}_seconds"]), " MB/s") for side in ("ours", "theirs")
    )
    return replace(found, ours=ours, theirs=theirs, details=found.details | {"megabytes": megabytes})


# ------------------------------------------------------------------------------------------ scikit-learn


def speed_cases(news: News) -> list[Case]:  # noqa: ARG001
    """From raw text to counts, to a model and to answers."""
    to, back = "20 Newsgroups train (22 MB)", "20 Newsgroups test (14 MB)"
    return [
        Case(f"BagOfWords fit_transform, {to}", times(20), bags),
        Case(f"multinomial fit from raw text, {to}", times(30), partial(fits, (1, 1))),
        Case("multinomial fit, Arrow strings ÷ list of str", None, arrow),
        Case(f"multinomial predict from raw text, {back}", times(20), predictions),
        Case(f"multinomial fit, words and bigrams, {to}", times(30), partial(fits, (1, 2))),
        Case("default TextClassifier() fit ÷ multinomial, words and bigrams", Target(high=2.5), default_fit),
        Case("default TextClassifier(), loaded: the first answer", Target(high=100, unit=" ms"), default_first_answer),
    ]


def bags(news: News) -> Measurement:
    """Compare the counts of all words in all documents, and the time they take."""
    bag, peer = BagOfWords(), CountVectorizer()
    found, expected = (words.fit_transform(news.train.texts) for words in (bag, peer))
    if not np.array_equal(bag.get_feature_names_out(), peer.get_feature_names_out()):
        raise AnswersDifferError("in the vocabulary")
    expected.sort_indices()  # which scikit-learn leaves in the order of the text
    sides = [partial(_bag, make, news.train.texts) for make in (BagOfWords, CountVectorizer)]
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise AnswersDifferError(f"{found.shape} {found.dtype} and {expected.shape} {expected.dtype}")
    agreement = agree(*([m.indptr, m.indices, m.data] for m in (found, expected)), rtol=0, atol=0)
    return versus(*map(Task, sides), news.settings, agreement)


def _bag(make: Callable[[], Any], texts: list[str]) -> Any:
    return make().fit_transform(texts)


def same_posteriors(news: News, ngrams: tuple[int, int], asked: Corpus) -> dict[str, float]:
    """Raise unless ours and scikit-learn's posteriors are equal."""
    return agree(*(model.predict_log_proba(asked.texts) for model in news.fitted(ngrams)))


def fits(ngrams: tuple[int, int], news: News) -> Measurement:
    """Compare fits whose models give the same posteriors."""
    agreement = same_posteriors(news, ngrams, news.test[np.arange(FEW)])
    sides = (partial(learn, partial(make, ngrams), news.train) for make in (lecture_model, default_pipeline))
    return versus(*map(Task, sides), news.settings, agreement)


def arrow(news: News) -> Measurement:
    """Compare our fit from Arrow's strings with that from a list."""
    texts = pa.array(news.train.texts, pa.large_string())
    sides = (partial(learn, lecture_model, news.train, source) for source in (texts, None))
    agreement = agree(
        lecture_model().fit(texts, news.train.labels).predict_log_proba(news.test.texts[:FEW]),
        news.fitted()[0].predict_log_proba(news.test.texts[:FEW]),
    )
    return relative(*map(Task, sides), news.settings, agreement)


def predictions(news: News) -> Measurement:
    """Compare the labels of all documents of the test half."""
    agreement = same_posteriors(news, (1, 1), news.test)
    sides = [partial(model.predict, news.test.texts) for model in news.fitted()]
    if not np.array_equal(*(side() for side in sides)):
        raise AnswersDifferError("in a label")
    return versus(*map(Task, sides), news.settings, agreement)


def default_fit(news: News) -> Measurement:
    """Compare the fit with all that it chooses, and calibrated, to counting alone."""
    sides = (partial(learn, make, news.train) for make in (TextClassifier, partial(lecture_model, (1, 2))))
    return relative(*map(Task, sides), news.settings)


def default_first_answer(news: News) -> Measurement:
    """Time the first answer of a default model that was loaded."""
    model = TextClassifier().fit(news.train.texts, news.train.labels)
    return first_answer(model, news.test.texts[:1], news.settings)


# ------------------------------------------------------------------------------------------ others


def other_cases(news: News) -> list[Case]:  # noqa: ARG001
    """Ours from raw text; theirs from text cut into words before the time counts, but for Polars."""
    cases = []
    for name, make in (("Vowpal Wabbit", VowpalWabbit), ("fastText", partial(FastText, threads=_threads()))):
        cases += [
            Case(f"multinomial fit from raw text, against {name} on words", times(1), partial(other_fit, make)),
            Case(f"multinomial predict from raw text, against {name} on words", times(1), partial(other_ask, make)),
            Case(f"default predict from raw text, against {name} on words", times(1), partial(default_ask, make)),
        ]
    return [*cases, Case("multinomial fit from raw text, against Polars counting words", None, polars)]


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _other(make: Callable[..., Any], news: News, folder: str) -> Any:
    """Prepare the peer: its files are written, and it has learned, in an order without runs of one class."""
    mixed = news.train[np.random.default_rng(0).permutation(len(news.train))]
    peer = make(Path(folder), mixed.texts, mixed.labels, news.test.texts)
    peer.fit()
    return peer


def _sensible(model: Any, peer: Any, news: News) -> dict[str, Any]:
    """Give both accuracies; raises where the peer is out of order."""
    if news.settings.quick:
        return {"note": "a quick run"}
    numbers = np.array(spell_numbers(news.test.labels))
    found = {
        "ours": float(np.mean(model.predict(news.test.texts) == news.test.labels)),
        "theirs": float(np.mean(np.array(peer.predict()) == numbers)),
    }
    for name, accuracy in found.items():
        if not accuracy >= SENSIBLE:
            raise AnswersDifferError(f"from any sensible ones: {name} have an accuracy of {accuracy:.3f}")
    return {"note": "different models: their answers are not compared", **found}


def other_fit(make: Callable[..., Any], news: News) -> Measurement:
    """Compare learning the training half."""
    with tempfile.TemporaryDirectory() as folder:
        peer = _other(make, news, folder)
        sensible = _sensible(news.fitted()[0], peer, news)
        ours = partial(learn, lecture_model, news.train)
        return by_the_second(versus(Task(ours), Task(peer.fit), news.settings, sensible), news.train.megabytes)


def other_ask(make: Callable[..., Any], news: News, model: Any = None) -> Measurement:
    """Compare labelling the test half."""
    model = news.fitted()[0] if model is None else model
    with tempfile.TemporaryDirectory() as folder:
        peer = _other(make, news, folder)
        ours = partial(model.predict, news.test.texts)
        found = versus(Task(ours), Task(peer.predict), news.settings, _sensible(model, peer, news))
        return by_the_second(found, news.test.megabytes)


def default_ask(make: Callable[..., Any], news: News) -> Measurement:
    """The same by our default model."""
    return other_ask(make, news, TextClassifier().fit(news.train.texts, news.train.labels))


def polars(news: News) -> Measurement:
    """Compare fitting with counting words by class, from Arrow's strings on their side."""
    peer = Polars(pa.array(news.train.texts), pa.array(news.train.labels))
    ours = partial(learn, lecture_model, news.train)
    pairs = {"pairs of a word and a class": len(peer.count())}
    return by_the_second(versus(Task(ours), Task(peer.count), news.settings, pairs), news.train.megabytes)


# ------------------------------------------------------------------------------------------ memory


def memory_cases(news: News) -> list[Case]:  # noqa: ARG001  # all lists are asked for alike
    """The peak over the raw text, in processes of their own."""
    cases = []
    for ngrams, words in (((1, 1), "words"), ((1, 2), "words and bigrams")):
        for size, name, target in (
            ("table_mb", "a table of words × classes", Target(high=1.5)),
            ("saved_mb", "the saved model", None),
        ):
            what = f"multinomial fit, {words}: peak memory ÷ {name}"
            cases.append(Case(what, target, partial(memory, ngrams, size)))
    return [*cases, Case("a document of 100 MB: peak memory of a fit", None, large_document)]


def memory(ngrams: tuple[int, int], size: str, news: News) -> Measurement:
    """Return how many times the model's size a fit takes beyond the text."""
    found = news.once(("memory", ngrams), lambda: _both_memories(ngrams, news))
    share = found["ours"]["extra_mb"] / found["ours"][size]
    mine, other = (Quantity(found[side]["extra_mb"], " MB") for side in ("ours", "theirs"))
    return Measurement(share, mine, other, Quantity(share, ""), found)


def _both_memories(ngrams: tuple[int, int], news: News) -> dict[str, Any]:
    return {side: measure(side, ngrams, news.folder, news.every) for side in ("ours", "theirs")}


def large_document(news: News) -> Measurement:
    """Learn one document of a hundred megabytes, which must take little more than its words; also check its counts."""
    repeat = 1 if news.settings.quick else round(100 / news.train.megabytes + 0.5)
    found = measure("ours", (1, 1), news.folder, news.every, repeat)
    once, many = (BagOfWords().fit_transform(["\n".join(news.train.texts * n)]) for n in (1, repeat))
    agreement = agree(many.toarray(), repeat * once.toarray(), rtol=0, atol=0)
    return Measurement(found["extra_mb"], Quantity(found["extra_mb"], " MB"), details=found | {"agreement": agreement})


# ------------------------------------------------------------------------------------------ one document at a time


def one_by_one_cases(news: News) -> list[Case]:  # noqa: ARG001
    """A document arrives, is learned, and is gone."""
    return [Case("learning one document at a time, against river", times(10), one_by_one)]


def one_by_one(news: News) -> Measurement:
    """Compare learning all documents one by one, with a question at the end so that nothing is left undone."""
    mixed = news.train[np.random.default_rng(0).permutation(len(news.train))]
    sides = [partial(side, mixed) for side in (_ours_by_one, _river_by_one)]
    found, expected = (side() for side in sides)
    order, few = sorted(set(mixed.labels)), mixed.texts[:20]  # learned: river counts unknown words, others skip them
    posteriors = [[peer[label] for label in order] for peer in map(expected.predict_proba, few)]
    agreement = agree(found.predict_proba(few), np.array(posteriors))
    return by_the_second(versus(*map(Task, sides), news.settings, agreement), mixed.megabytes)


def _ours_by_one(corpus: Corpus) -> Any:
    model = lecture_model()
    for text, label in zip(corpus.texts, corpus.labels.tolist(), strict=True):
        model.partial_fit([text], [label])
    model.predict(corpus.texts[:1])
    return model


def _river_by_one(corpus: Corpus) -> River:
    model = River()
    for text, label in zip(corpus.texts, corpus.labels.tolist(), strict=True):
        model.learn(text, label)
    model.predict_proba(corpus.texts[0])
    return model


# ------------------------------------------------------------------------------------------ leaving one out


def leave_one_out_cases(news: News) -> list[Case]:
    """Exact leave-one-out posteriors of all documents beside ordinary ones."""
    rows = f"{len(news.train)} documents"
    return [
        Case(f"{event} leave_one_out ÷ predict_log_proba, {rows}", Target(high=most), partial(leave_one_out, event))
        for event, most in (("multinomial", 3), ("complement", 7))
    ]


def leave_one_out(event: str, news: News) -> Measurement:
    """Compare leaving each document out with not doing so; some are checked by fitting the others again."""
    texts, labels = news.train.texts, news.train.labels
    model = lecture_model(event=event).fit(texts, labels)
    sides = (partial(model.leave_one_out, texts, labels), partial(model.predict_log_proba, texts))
    places = np.linspace(0, len(texts) - 1, 5).astype(int)
    expected = _refits(event, news.train, places)
    agreement = agree(sides[0]()[places], expected, rtol=1e-9, atol=1e-9)
    return relative(*map(Task, sides), news.settings, agreement)


def _refits(event: str, corpus: Corpus, places: Any) -> Any:
    """Fit all documents but one by scikit-learn, over the words of all, and return the posterior of that one."""
    make = {"multinomial": MultinomialNB, "complement": ComplementNB}[event]
    counts = CountVectorizer().fit_transform(corpus.texts)
    found = []
    for i in places:
        others = np.flatnonzero(np.arange(len(corpus)) != i)
        found.append(make().fit(counts[others], corpus.labels[others]).predict_log_proba(counts[i : i + 1]))
    return np.concatenate(found)


# ------------------------------------------------------------------------------------------ how good the answers are

# Accuracy at least, log-loss and calibration error at most.
BARS = {"text": (0.86, 0.55, 0.045), "body": (0.72, 1.04, 0.05)}
ALLOWED = 0.01  # halves swapped, everything may be so much worse
PARTS = (("accuracy", " %", 100), ("log_loss", " nats", 1), ("calibration_error", " %", 100))


def quality_cases(news: News) -> list[Case]:  # noqa: ARG001
    """How good the defaults are on documents not learned; theirs is scikit-learn's default pipeline."""
    cases = []
    for column, bars in BARS.items():
        for swapped in (False, True):
            for (part, unit, scale), bar in zip(PARTS, bars, strict=True):
                name = f"default on `{column}`{', halves swapped' if swapped else ''}: {part.replace('_', ' ')}"
                slack = ALLOWED * swapped
                low, high = (bar - slack, None) if part == "accuracy" else (None, bar + slack)
                target = Target(low and scale * low, high and scale * high, unit)
                cases.append(Case(name, target, partial(judge, _halves(column, swapped), part, unit, scale)))
    messages = [
        ("accuracy", Target(low=98.5, unit=" %")),
        ("log_loss", None),
        ("calibration_error", None),
    ]
    for (part, target), (_, unit, scale) in zip(messages, PARTS, strict=True):
        name = f"default on SMS spam, ten folds: {part.replace('_', ' ')}"
        cases.append(Case(name, target, partial(judge, _messages, part, unit, scale)))
    wrong = Case("default on SMS spam, ten folds: false positives", Target(high=0.5, unit=" %"), false_positives)
    return [*cases, wrong]


def judge(find: Callable[[News], Any], part: str, unit: str, scale: float, news: News) -> Measurement:
    """Return one number of a task's quality."""
    mine, other = (scale * getattr(quality[0], part) for quality in find(news))
    return Measurement(mine, Quantity(mine, unit), Quantity(other, unit))


def false_positives(news: News) -> Measurement:
    """Return the share of ham that is predicted as spam."""
    mine, other = (100 * wrong for _, wrong in _messages(news))
    return Measurement(mine, Quantity(mine, " %"), Quantity(other, " %"))


def _halves(column: str, swapped: bool) -> Callable[[News], Any]:
    """Learn one half and ask about the other, ours first."""

    def find(news: News) -> Any:
        halves = [news.half(which, column) for which in (("test", "train") if swapped else ("train", "test"))]
        return [(held_out(make, *halves), None) for make in (TextClassifier, default_pipeline)]

    return lambda news: news.once((column, swapped), partial(find, news))


def _messages(news: News) -> Any:
    """Learn nine folds and ask about the tenth, ours first."""

    def find() -> Any:
        messages = Corpus.read(news.folder, "sms-spam", every=news.every)
        return [cross_validated(make, messages, "spam") for make in (TextClassifier, default_pipeline)]

    return news.once("messages", find)
