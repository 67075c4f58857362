"""How good predictions are, by the labels of the rows: sums over rows, so that parts add up here too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.core.arrays import Array, Values, as_weight, encode_labels
from suffice.core.errors import InvalidDataError, MismatchError
from suffice.core.statistics.by_class import union_labels
from suffice.families import Table

BINS = 15  # of equal width, into which probabilities are put to compare what was said with what came true


@dataclass(frozen=True)
class Reliability:
    """What was said against what came true, in bins of equal width: weights and weighted sums, (bins,) each."""

    weight: Array
    said_total: Array
    true_total: Array

    @classmethod
    def of(cls, said: Any, true: Any, weight: Any = None, bins: int = BINS) -> Self:
        """Put probabilities of something into bins, with whether it came true.

        >>> Reliability.of([0.9, 0.9, 0.1, 0.1], [True, False, False, False]).error
        0.25
        """
        said, true = np.asarray(said, dtype=np.float64), np.asarray(true, dtype=np.float64)
        w = np.ones(len(said)) if weight is None else np.asarray(weight, dtype=np.float64)
        place = np.clip((said * bins).astype(np.int64), 0, bins - 1)
        return cls(*(_summed(place, w * each, bins) for each in (np.ones(len(said)), said, true)))

    def __add__(self, other: Reliability) -> Reliability:
        return Reliability(
            self.weight + other.weight, self.said_total + other.said_total, self.true_total + other.true_total
        )

    @property
    def share(self) -> Array:
        """The share of the rows that are in each bin."""
        return self.weight / max(self.weight.sum(), np.finfo(np.float64).tiny)

    @property
    def said(self) -> Array:
        """The mean probability in each bin; 0 in an empty one."""
        return np.divide(self.said_total, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0)

    @property
    def true(self) -> Array:
        """How often it came true in each bin; 0 in an empty one."""
        return np.divide(self.true_total, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0)

    @property
    def error(self) -> float:
        """The expected calibration error: the mean over rows of |came true − said| in the row's bin."""
        return float(self.share @ np.abs(self.true - self.said))

    def table(self) -> Table:
        """The bins that are not empty, for people."""
        edges = np.linspace(0, 1, len(self.weight) + 1)
        some = np.flatnonzero(self.weight > 0)
        names = [f"{edges[i]:.2f} to {edges[i + 1]:.2f}" for i in some]
        values = np.stack([self.weight, self.said, self.true], axis=1)[some]
        return Table("top probability", names, ["rows", "said", "came true"], values)


@dataclass(frozen=True)
class Evaluation:
    """Predictions against labels. Evaluations of parts of the rows add up to that of all: `a + b`.

    `confusion` is the weight of the rows of each class (rows) that were called each class (columns).
    """

    classes: Values
    confusion: Array
    loss: Array  # Σ w (−log p(own class)), by class
    squares: float  # Σ w Σ_k (p_k − 1[own class is k])²
    reliability: Reliability  # of the class called, by the probability it was given

    @classmethod
    def of(cls, labels: Any, classes: Any, probabilities: Any, weight: Any = None) -> Self:
        """Compare p(y | x), (rows, classes), with the labels of the rows.

        A label that is none of the classes had probability 0: it makes a class of its own, and the log-loss infinite.

        >>> Evaluation.of(["a", "b", "b"], ["a", "b"], [[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
        Evaluation(3 rows, 2 classes, accuracy 0.6667, log-loss 0.6460)
        """
        p, known, found = np.asarray(probabilities, dtype=np.float64), np.asarray(classes), encode_labels(labels)
        if p.shape != (len(found), len(known)):
            raise InvalidDataError(
                f"Expected probabilities of {len(found)} rows and {len(known)} classes, found shape {p.shape}"
            )
        if len(found) and not (p >= 0).all():  # NaN is not either
            raise InvalidDataError("Probabilities must be numbers of at least 0")
        w = as_weight(weight, len(found))
        w = np.ones(len(found)) if w is None else w
        if not w.all():  # rows that weigh nothing are absent, and so are their classes
            return cls.of(found.values[found.codes[w > 0]], known, p[w > 0], w[w > 0])
        all_classes = union_labels(known, found.values)
        at, k = np.arange(len(found)), len(all_classes)
        padded = np.zeros((len(found), k))
        padded[:, np.searchsorted(all_classes, known)] = p
        own, called = np.searchsorted(all_classes, found.values)[found.codes], padded.argmax(axis=1)
        with np.errstate(divide="ignore"):
            losses = -np.log(padded[at, own])
        truth = np.zeros_like(padded)
        truth[at, own] = 1.0
        return cls(
            classes=all_classes,
            confusion=_summed(own * k + called, w, k * k).reshape(k, k),
            loss=_summed(own, w * losses, k),
            squares=float(w @ ((padded - truth) ** 2).sum(axis=1)),
            reliability=Reliability.of(padded[at, called], called == own, w),
        )

    def __add__(self, other: Any) -> Evaluation:
        """The evaluation of the rows of both."""
        if isinstance(other, int) and other == 0:  # sum() starts from 0
            return self
        if not isinstance(other, Evaluation):
            return NotImplemented
        if self.classes.dtype.kind != other.classes.dtype.kind:
            raise MismatchError(f"Cannot add: classes are {self.classes.dtype} here and {other.classes.dtype} there")
        classes = union_labels(self.classes, other.classes)
        confusion, loss = np.zeros((len(classes), len(classes))), np.zeros(len(classes))
        for each in (self, other):
            at = np.searchsorted(classes, each.classes)
            confusion[np.ix_(at, at)] += each.confusion
            loss[at] += each.loss
        squares, reliability = self.squares + other.squares, self.reliability + other.reliability
        return Evaluation(classes, confusion, loss, squares, reliability)

    __radd__ = __add__

    def __repr__(self) -> str:
        scores = f"accuracy {self.accuracy:.4f}, log-loss {self.log_loss:.4f}"
        return f"Evaluation({self.weight:g} rows, {len(self.classes)} classes, {scores})"

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.confusion.sum())

    def _per_row(self, total: float) -> float:
        return float(total / self.weight) if self.weight else 0.0

    @property
    def accuracy(self) -> float:
        """The share of rows that were called what they are."""
        return self._per_row(float(np.trace(self.confusion)))

    @property
    def log_loss(self) -> float:
        """The mean of −log p(own class), in nats."""
        return self._per_row(float(self.loss.sum()))

    @property
    def brier(self) -> float:
        """The mean of Σ_k (p_k − 1[own class is k])²; for two classes, whose errors are the same, of one of them."""
        return self._per_row(self.squares) / (2.0 if len(self.classes) == 2 else 1.0)

    @property
    def calibration_error(self) -> float:
        """The mean over rows of |share that is right − mean probability| in the row's bin."""
        return self.reliability.error

    @property
    def precision(self) -> Array:
        """Of the rows called each class, the share that are; 0 where none was called it."""
        return _ratio(np.diag(self.confusion), self.confusion.sum(axis=0))

    @property
    def recall(self) -> Array:
        """Of the rows of each class, the share that were called it; 0 where there are none."""
        return _ratio(np.diag(self.confusion), self.support)

    @property
    def f1(self) -> Array:
        """The harmonic mean of precision and recall; 0 where both are."""
        return _ratio(2 * np.diag(self.confusion), self.confusion.sum(axis=0) + self.support)

    @property
    def support(self) -> Array:
        """The weight of the rows of each class."""
        return self.confusion.sum(axis=1)

    def scores(self) -> dict[str, float]:
        """The numbers that judge all rows together."""
        return {
            "accuracy": self.accuracy,
            "log-loss": self.log_loss,
            "Brier score": self.brier,
            "calibration error": self.calibration_error,
        }

    def tables(self) -> list[Table]:
        """Scores, the classes one by one, the confusion matrix and the reliability of probabilities, for people."""
        names = [str(label) for label in self.classes.tolist()]
        scores = self.scores()
        by_class = np.stack([self.precision, self.recall, self.f1, self.support], axis=1)
        return [
            Table("score", list(scores), ["value"], np.array(list(scores.values()))[:, None]),
            Table("class", names, ["precision", "recall", "f1", "rows"], by_class),
            Table("is \\ called", names, names, self.confusion),
            self.reliability.table(),
        ]

    def as_dict(self) -> dict[str, Any]:
        """All of it as numbers, lists and strings, as JSON has them; an infinite log-loss is None."""
        own = zip(self.classes.tolist(), self.precision, self.recall, self.f1, self.support, strict=True)
        bins = zip(self.reliability.weight, self.reliability.said, self.reliability.true, strict=True)
        return {
            "rows": self.weight,
            "accuracy": self.accuracy,
            "log_loss": self.log_loss if np.isfinite(self.log_loss) else None,
            "brier": self.brier,
            "calibration_error": self.calibration_error,
            "classes": [
                {"label": label, "precision": float(p), "recall": float(r), "f1": float(f), "rows": float(n)}
                for label, p, r, f, n in own
            ],
            "confusion": self.confusion.tolist(),
            "reliability": [{"rows": float(n), "said": float(s), "true": float(t)} for n, s, t in bins],
        }


def _summed(place: Any, values: Array, n: int) -> Array:
    """The sum of the values at each of n places."""
    return np.bincount(place, values, minlength=n).astype(np.float64)


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
