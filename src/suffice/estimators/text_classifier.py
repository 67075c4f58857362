"""The classifier for texts: raw documents in, calibrated probabilities out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice import engines
from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError, InvalidTextError
from suffice.core.frames import Frame, as_frame
from suffice.core.frames.input import is_in_memory
from suffice.core.labels import read_labels
from suffice.core.priors import ClassPrior, Dirichlet
from suffice.core.statistics import ByClass, WordCounts
from suffice.estimators._documentation import estimator
from suffice.estimators._fitted import PathLike
from suffice.estimators._left_out import LeftOut, MissingLabels
from suffice.estimators._threads import answering, lock_of
from suffice.estimators._waiting_rows import Stream
from suffice.estimators.generative_classifier import CalibratedClassifier
from suffice.estimators.parameter_checks import ARRAY_LIKE, BOOLEAN, Allowed, choice, interval
from suffice.families import Table, Text
from suffice.families.text import TextDistribution, read_texts
from suffice.model.explain import word_evidence
from suffice.model.forms import Form
from suffice.model.learned import Learned

PENDING = 1 << 20  # bytes of text that may wait to be counted, at least


@estimator()
class TextClassifier(CalibratedClassifier):
    """Naive Bayes for texts: reads raw documents, counts while it reads, and knows how sure it may be.

    By default words, and pairs of words, are weighted by the root of their count and brought to length 1 in each
    document; the score of a class is a weighted sum of a multinomial and a complement one for words and for pairs, and
    smoothing and weights are those of least exact leave-one-out log-loss. With `event="multinomial", ngrams=(1, 1),
    smoothing=1.0, calibrate=False` it is the multinomial naive Bayes of textbooks and of scikit-learn.

    Parameters
    ----------
    event : {'auto', 'multinomial', 'complement', 'bernoulli'}, default='auto'
        What a document is: draws of words from the class's bag; words scored by how badly they fit the other classes;
        for each word of the vocabulary whether it is there; or, with 'auto', the first two together.
    ngrams : (int, int), default=(1, 2)
        How few and how many neighbouring words (or characters) make a feature.
    smoothing : float or 'auto', default='auto'
        What is added to every count; with 'auto' what predicts documents left out best. 0 is maximum likelihood.
    calibrate : bool or 'classes', default=True
        Temper the evidence so that probabilities can be believed, fitted on exact leave-one-out scores of documents
        kept for that. With 'classes' every class has a slope and bias of its own.
    term_weight : {'count', 'binary', 'sqrt', 'log'} or None, default=None
        What a word that occurs t times counts for: t, 1, √t or 1 + log t. By default t; with 'bernoulli' 1, with
        'auto' √t.
    length_norm : {'l1', 'l2', 'auto'} or None, default='auto'
        Divide a document's values by their sum, or by the root of the sum of their squares. By default only for
        event='auto', which takes 'l2'.
    learn : {'mean', 'map', 'predictive'}, default='mean'
        The posterior mean of the words' probabilities, its mode, or the posterior integrated out: with 'predictive' the
        multinomial becomes the Dirichlet-multinomial, for which a word seen once is likelier to come again.
    analyzer : {'word', 'char', 'char_wb'}, default='word'
        Features of words of two or more letters, of characters, or of characters within words.
    lowercase : bool, default=True
        Make texts lower case first.
    strip_accents : {'ascii', 'unicode'} or None, default=None
        Take accents away.
    stop_words : str, collection of str or None, default=None
        Words to leave out: the list of a language by its name, or your own.
    stem : str or None, default=None
        The language by whose Snowball rules words lose their endings.
    n_features : int or None, default=None
        Hash features to that many, so that memory is bounded whatever comes.
    prior : array-like, 'uniform', Dirichlet or None, default=None
        Prior probabilities of the classes; by default those of the data.
    keep : int, default=5000
        Documents kept beside the totals, as counts of their features and chosen by a hash of what they hold, for
        whatever is chosen or calibrated.

    Examples
    --------
    >>> from suffice import TextClassifier
    >>> texts = ["cheap pills now", "cheap watches", "lunch at noon?", "see you at lunch"]
    >>> clf = TextClassifier(event="multinomial", smoothing=1.0, calibrate=False).fit(texts, ["spam"] * 2 + ["ham"] * 2)
    >>> clf.predict(["cheap lunch pills"])
    array(['spam'], dtype='<U4')
    """

    _form: ClassVar[Form] = "texts"

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        "event": (choice("auto", "multinomial", "complement", "bernoulli"),),
        "ngrams": (tuple, list),
        "smoothing": (choice("auto"), interval(Real, 0)),
        "calibrate": (BOOLEAN, choice("classes")),
        "term_weight": (choice("count", "binary", "sqrt", "log"), None),
        "length_norm": (choice("l1", "l2", "auto"), None),
        "learn": (choice("mean", "map", "predictive"),),
        "analyzer": (choice("word", "char", "char_wb"),),
        "lowercase": (BOOLEAN,),
        "strip_accents": (choice("ascii", "unicode"), None),
        "stop_words": (str, list, tuple, set, frozenset, None),
        "stem": (str, None),
        "n_features": (interval(Integral, 1, 1 << 28, "both"), None),
        "prior": (choice("uniform"), ARRAY_LIKE, Dirichlet, ClassPrior, None),
        "keep": (interval(Integral, 0),),
    }

    event: Literal["auto", "multinomial", "complement", "bernoulli"] = "auto"
    ngrams: tuple[int, int] = (1, 2)
    smoothing: float | Literal["auto"] = "auto"
    calibrate: bool | Literal["classes"] = True
    term_weight: Literal["count", "binary", "sqrt", "log"] | None = None
    length_norm: Literal["l1", "l2", "auto"] | None = "auto"
    learn: Literal["mean", "map", "predictive"] = "mean"
    analyzer: Literal["word", "char", "char_wb"] = "word"
    lowercase: bool = True
    strip_accents: Literal["ascii", "unicode"] | None = None
    stop_words: str | Iterable[str] | None = None
    stem: str | None = None
    n_features: int | None = None
    prior: Any = None
    keep: int = 5000

    def _family(self) -> Text:
        prior: Any
        learn: Any = self.learn
        if self.smoothing == "auto":
            prior = "auto"
        elif self.smoothing == 0:
            prior, learn = None, "mle" if learn == "mean" else learn
        else:
            prior = Dirichlet(float(self.smoothing))
        needed = self.calibrate is not False or self.event == "auto" or self.smoothing == "auto"
        return Text(
            prior=prior,
            learn=learn,
            event=self.event,
            ngrams=tuple(self.ngrams),  # type: ignore[arg-type]  # checked there
            term_weight=self.term_weight,
            length_norm=self.length_norm,
            analyzer=self.analyzer,
            lowercase=bool(self.lowercase),
            strip_accents=self.strip_accents,
            stop_words=self.stop_words,
            stem=self.stem,
            n_features=self.n_features,
            keep=self.keep if needed else 0,
        )

    # ---- learning

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: PathLike | None = None,
        missing_labels: MissingLabels = "error",
        unlabelled: float | Literal["learn"] | None = None,
    ) -> Self:
        """Learn from texts, forgetting whatever was learned before.

        Parameters
        ----------
        X : list or array of str, Arrow or data frame column, or sequences of word numbers; or a table
            Documents; None or NaN is a missing one, which says nothing. A table has one column of strings besides the
            labels.
        y : array-like of shape (n_samples,), str or int
            Labels: numbers or strings; or, where X is a table of texts and labels, the name of their column.
        """
        options: dict[str, Any] = {"missing_labels": missing_labels, "unlabelled": unlabelled}
        return super().fit(X, y, sample_weight, checkpoint=checkpoint, **options)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        sample_weight: Any = None,
        *,
        missing_labels: MissingLabels = "error",
    ) -> Self:
        """Learn from more texts, with words and classes never seen before. Any cutting gives what `fit` gives.

        Few documents at a time are gathered, and counted together when there are enough of them or something is asked.

        Parameters
        ----------
        X : list or array of str, Arrow or data frame column, or sequences of word numbers
            More documents.
        y : array-like of shape (n_samples,)
            Labels; new classes may appear at any time.
        """
        with lock_of(self):
            stream = self._stream_so_far()
            plain = classes is None and sample_weight is None and missing_labels == "error"
            if not (plain and stream is not None and self._take(X, y, stream)):
                super().partial_fit(X, y, classes, sample_weight, missing_labels=missing_labels)
                self._streaming()
        return self

    # ---- documents that wait

    _waits: ClassVar[bool] = True

    def _take(self, texts: Any, labels: Any, stream: Stream) -> bool:
        """Let a few plain strings of classes that are known wait; what else there may be is for others to check."""
        if not isinstance(texts, list) or not isinstance(labels, (list, tuple)):
            return False
        if len(texts) != len(labels) or not 0 < len(texts) <= 64:
            return False
        if not all(map(stream.knows, labels)) or not all(map(_is_plain, texts)):
            return False
        for text, label in zip(texts, labels, strict=True):
            stream.put(text, label, 1.0)
        stream.size += sum(map(len, texts))
        if stream.onto is not None and stream.size > max(PENDING, _size(stream.onto)):
            self._settle()
        return True

    def _waiting_row(self, x: Any, stream: Stream) -> str | None:
        text = self._text_of(x)
        if not _is_plain(text):
            return None
        stream.size += len(text)
        return text

    def _learn_row(self, x: Any, y: Any, w: float, before: Learned | None) -> None:
        self._learn_rows([self._text_of(x)], [y], None if w == 1 else [w], before, partial=True)

    def _learn_waiting(self, rows: list[Any], labels: list[Any], weights: list[float], before: Learned | None) -> None:
        assert before is not None, "documents wait of classes that are known"
        weight = None if set(weights) == {1.0} else np.array(weights)
        seen = before.family.summarize(rows, read_labels(labels), weight, before.seen)
        self._become(replace(before, seen=seen))

    def _summarized(self, learned: Learned, rows: list[Any], labels: list[Any], weights: list[float]) -> ByClass[Any]:
        weight = None if set(weights) == {1.0} else np.array(weights)
        return learned.family.summarize([self._text_of(row) for row in rows], read_labels(labels), weight)

    def _posterior_one(self, x: Any) -> Array:
        text = self._text_of(x)
        plain = _is_plain(text)
        read = read_texts([text]) if plain else self._check_X([text])
        if plain and self._quick is not None:
            evidence, posterior = self._quick
            return posterior(evidence(self._learned, read))[0]
        found: Array = self._run(self._learned.posterior, read, self._calibration())
        return found[0]

    def _expect_many(self) -> None:
        calibration = self._calibration()
        if calibration is not None:
            self._quick = calibration.evidence, calibration.answering(self._learned.model.log_prior)
        distribution = self._learned.model.distribution
        assert isinstance(distribution, TextDistribution), "documents are texts"
        distribution.lexicon.expect_many()

    def _text_of(self, x: Any) -> Any:
        """Return the text of a row: a string, or a dict that holds it under the name of the column, or nothing else."""
        if not isinstance(x, Mapping):
            return x
        named = self.__dict__.get("feature_names_in_")
        if named is not None and named[0] in x:
            return x[named[0]]
        texts = [value for value in x.values() if isinstance(value, (str, bytes))]
        if len(texts) != 1:
            raise InvalidDataError(f"Expected one text in a row, found {len(texts)} among {list(x)[:20]}")
        return texts[0]

    # ---- reading input

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        if isinstance(X, Iterable) and not hasattr(X, "__len__") and not hasattr(X, "__arrow_c_stream__"):
            X = list(engines.unread(X))
        named = getattr(self, "feature_names_in_", None)
        if not reset and named is not None and is_in_memory(X):  # the column of texts, by its name
            frame = as_frame(X)
            X = frame.column(str(named[0])) if named[0] in frame.columns else X
        texts = read_texts(X)
        if not len(texts):
            raise InvalidDataError("Found array with 0 sample(s) while a minimum of 1 is required: there is no text")
        if reset:
            self.n_features_in_ = 1
        return texts

    def _note_columns(self, head: Frame, source: engines.Source) -> None:
        super()._note_columns(head.select([self._column_of_texts(head)]), source)

    @staticmethod
    def _column_of_texts(head: Frame) -> str:
        """Return the only column, or the only one of strings."""
        texts = [name for name in head.names if head.kind_of(name) == "text"]
        if len(head.names) != 1 and len(texts) != 1:
            raise InvalidDataError(
                f"Expected one column of texts besides the labels, found {head.names[:20]}: pass one of these columns"
            )
        return head.names[0] if len(head.names) == 1 else texts[0]

    def _note_left_out(self, rows: Any, left_out: LeftOut, first: bool) -> None:
        others = [name for name in rows.names if name != self._names()[0]] if isinstance(rows, Frame) and first else []
        left_out.columns |= dict.fromkeys(others, "it is not the column of texts")

    def _check_fit(self) -> None:
        counts: WordCounts = self._settled().statistics.statistic
        if not len(counts.vocabulary):
            raise InvalidTextError(
                "empty vocabulary: no text has a feature. Words are two letters or more; perhaps the texts only "
                "contain stop words, or are shorter than the n-grams"
            )

    # ---- answering

    def _distribution(self) -> TextDistribution:
        return self._settled().model.distribution  # type: ignore[return-value]

    @answering
    def evidence(self, X: Any, label: Any = None, against: Any = None) -> Any:
        """Return which words spoke for one class against another, in log-odds that add up.

        Parameters
        ----------
        X : str, or list or array of str
            A document, or several.

        Returns
        -------
        evidence : Table, or list of Tables
            For each document: the prior log-odds, what each of its known words or n-grams adds, the most telling first,
            what unknown or absent words add (where they do), what calibration changes, and the sum, the log-odds of
            `predict_proba`.
        """
        if isinstance(X, (str, bytes)):
            return self.evidence([X], label, against)[0]
        learned, texts = self._settled(), self._check_X(X)
        log_posterior, calibration = self.predict_log_proba(texts), self._calibration()
        return word_evidence(learned.model, texts, log_posterior, label, against, calibration)

    @answering
    def sample(self, n: int = 1, label: Any = None, random_state: Any = None) -> tuple[NDArray[Any], Values]:
        """Write documents: as many words as those of the class have, each drawn by its probability there.

        Returns
        -------
        X : ndarray of str of shape (n,)
            Documents.
        y : ndarray of shape (n,)
            Their labels.
        """
        drawn, labels = super().sample(n, label, random_state)
        return drawn[:, 0], labels

    # ---- what was learned

    def _titles(self) -> list[str]:
        return [""]  # words need no column before them

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The number of each feature, in the order of their code points."""
        return {name: i for i, name in enumerate(self._distribution().vocabulary.names)}

    @answering
    def tables(self) -> list[Table]:
        """Return the class prior and the most probable words as tables for people; print them to read them."""
        return self._settled().model.tables(["words"])

    @property
    def event_(self) -> Any:
        """The event model as it was smoothed and weighted."""
        return self._distribution().event

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = False
        tags.no_validation = True
        return tags


def _is_plain(text: Any) -> bool:
    """Tell whether this is a string that needs no check."""
    return type(text) is str and (text.isascii() or _is_whole(text))


def _is_whole(text: str) -> bool:
    """Tell whether a text has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _size(learned: Learned) -> int:
    """About how many bytes the totals take, which are copied when documents are added."""
    counts: WordCounts = learned.seen.statistic
    return counts.vocabulary.text.nbytes + counts.start.nbytes + counts.total.nbytes
