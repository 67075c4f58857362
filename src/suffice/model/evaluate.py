"""Scores of predictions against labels. They are sums over rows, so evaluations of parts add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.arrays import Array, Values, as_weight
from suffice.core.errors import InvalidDataError, MismatchError
from suffice.core.labels import encode_labels, label_list, places_among, read_labels, union_labels
from suffice.families import Table

BINS = 15  # of equal width, of probabilities


@dataclass(frozen=True)
class Reliability:
    """Predicted probabilities of an event against its frequency, in bins of equal width.

    Weights and weighted sums, (bins,) each.
    """

    weight: Array
    said_total: Array
    true_total: Array

    @classmethod
    def of(cls, said: ArrayLike, true: ArrayLike, weight: ArrayLike | None = None, bins: int = BINS) -> Self:
        """Put the predicted probabilities of an event into bins, with whether the event happened.

        >>> Reliability.of([0.9, 0.9, 0.1, 0.1], [True, False, False, False]).error
        0.25
        """
        p, happened = np.asarray(said, dtype=np.float64), np.asarray(true, dtype=np.float64)
        w = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=np.float64)
        place = np.clip((p * bins).astype(np.int64), 0, bins - 1)
        return cls(*(_sums(place, w * each, bins) for each in (np.ones(len(p)), p, happened)))

    def __add__(self, other: Reliability) -> Reliability:
        return Reliability(
            self.weight + other.weight, self.said_total + other.said_total, self.true_total + other.true_total
        )

    @property
    def share(self) -> Array:
        """The share of the rows in each bin."""
        return self.weight / max(self.weight.sum(), np.finfo(np.float64).tiny)

    @property
    def said(self) -> Array:
        """The mean of the predicted probabilities in each bin; 0 in an empty one."""
        return _ratio(self.said_total, self.weight)

    @property
    def true(self) -> Array:
        """The share of the rows of each bin for which the event happened; 0 in an empty one."""
        return _ratio(self.true_total, self.weight)

    @property
    def error(self) -> float:
        """The mean over rows of |true − said| in the row's bin."""
        return float(self.share @ np.abs(self.true - self.said))

    def table(self) -> Table:
        """Return the bins that are not empty."""
        edges = np.linspace(0, 1, len(self.weight) + 1)
        some = np.flatnonzero(self.weight > 0)
        names = [f"{edges[i]:.2f} to {edges[i + 1]:.2f}" for i in some]
        values = np.stack([self.weight, self.said, self.true], axis=1)[some]
        return Table("probability", names, ["rows", "mean", "share right"], values)


@dataclass(frozen=True)
class Evaluation:
    """Predictions against labels. The sum `a + b` of evaluations is the evaluation of all rows.

    `confusion` is the weight of the rows of each true class (down) that were predicted as each class (across).
    """

    classes: Values
    confusion: Array
    loss: Array  # Σ w (−log p(true class)), by true class
    squares: float  # Σ w Σ_k (p_k − 1[true class is k])²
    reliability: Reliability  # of the predicted class

    @classmethod
    def of(
        cls, labels: ArrayLike, classes: ArrayLike, probabilities: ArrayLike, weight: ArrayLike | None = None
    ) -> Self:
        """Compare p(y | x), (rows, classes), with the labels of the rows.

        A label that is none of the classes had probability 0: it is added as a class, and the log-loss is infinite.

        >>> Evaluation.of(["a", "b", "b"], ["a", "b"], [[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
        Evaluation(3 rows, 2 classes, accuracy 0.6667, log-loss 0.6460)
        """
        p, known, found = np.asarray(probabilities, dtype=np.float64), read_labels(classes), encode_labels(labels)
        if p.shape != (len(found), len(known)):
            raise InvalidDataError(
                f"Expected probabilities of {len(found)} rows and {len(known)} classes, found shape {p.shape}"
            )
        if len(found) and not (p >= 0).all():  # also refuses NaN
            raise InvalidDataError("Probabilities must be numbers of at least 0")
        w = as_weight(weight, len(found))
        w = np.ones(len(found)) if w is None else w
        if not w.all():  # rows of weight 0 are absent, and so are their classes
            return cls.of(found.values[found.codes[w > 0]], known, p[w > 0], w[w > 0])
        all_classes = union_labels(known, found.values)
        at, k = np.arange(len(found)), len(all_classes)
        padded = np.zeros((len(found), k))
        padded[:, places_among(known, all_classes)] = p
        own, predicted = places_among(found.values, all_classes)[found.codes], padded.argmax(axis=1)
        with np.errstate(divide="ignore"):
            losses = -np.log(padded[at, own])
        one_hot = np.zeros_like(padded)
        one_hot[at, own] = 1.0
        return cls(
            classes=all_classes,
            confusion=_sums(own * k + predicted, w, k * k).reshape(k, k),
            loss=_sums(own, w * losses, k),
            squares=float(w @ ((padded - one_hot) ** 2).sum(axis=1)),
            reliability=Reliability.of(padded[at, predicted], predicted == own, w),
        )

    def __add__(self, other: Evaluation | int) -> Evaluation:
        """Return the evaluation of the rows of both."""
        if isinstance(other, int) and other == 0:  # sum() starts from 0
            return self
        if not isinstance(other, Evaluation):
            return NotImplemented
        if self.classes.dtype.kind != other.classes.dtype.kind:
            raise MismatchError(f"Cannot add: classes are {self.classes.dtype} here and {other.classes.dtype} there")
        classes = union_labels(self.classes, other.classes)
        confusion, loss = np.zeros((len(classes), len(classes))), np.zeros(len(classes))
        for each in (self, other):
            at = places_among(each.classes, classes)
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
        """The share of rows whose class was predicted."""
        return self._per_row(float(np.trace(self.confusion)))

    @property
    def log_loss(self) -> float:
        """The mean of −log p(true class), in nats."""
        return self._per_row(float(self.loss.sum()))

    @property
    def brier(self) -> float:
        """The mean of Σ_k (p_k − 1[true class is k])²; for two classes, half of it, which is the usual definition."""
        return self._per_row(self.squares) / (2.0 if len(self.classes) == 2 else 1.0)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: |share right − mean probability| of the predicted class, by 15 bins.

        It is the mean over rows of that difference in the row's bin. The same of the probability of one class is the
        error of p(class), which `plot.reliability` shows.
        """
        return self.reliability.error

    @property
    def precision(self) -> Array:
        """Of the rows predicted as each class, the share that are of it; 0 if there are none."""
        return _ratio(np.diag(self.confusion), self.confusion.sum(axis=0))

    @property
    def recall(self) -> Array:
        """Of the rows of each class, the share that were predicted as it; 0 if there are none."""
        return _ratio(np.diag(self.confusion), self.support)

    @property
    def f1(self) -> Array:
        """The harmonic mean of precision and recall; 0 if both are."""
        return _ratio(2 * np.diag(self.confusion), self.confusion.sum(axis=0) + self.support)

    @property
    def support(self) -> Array:
        """The weight of the rows of each class."""
        return self.confusion.sum(axis=1)

    def scores(self) -> dict[str, float]:
        """Return the scores over all rows."""
        return {
            "accuracy": self.accuracy,
            "log-loss": self.log_loss,
            "Brier score": self.brier,
            "calibration error": self.calibration_error,
        }

    def tables(self) -> list[Table]:
        """Return tables of the scores, of each class, of the confusion matrix and of the reliability."""
        names = [str(label) for label in label_list(self.classes)]
        scores = self.scores()
        by_class = np.stack([self.precision, self.recall, self.f1, self.support], axis=1)
        return [
            Table("score", list(scores), ["value"], np.array(list(scores.values()))[:, None]),
            Table("class", names, ["precision", "recall", "f1", "rows"], by_class),
            Table("true \\ predicted", names, names, self.confusion),
            self.reliability.table(),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and strings, for JSON; an infinite log-loss is None."""
        own = zip(label_list(self.classes), self.precision, self.recall, self.f1, self.support, strict=True)
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


def _sums(place: NDArray[np.integer], values: Array, n: int) -> Array:
    """Return the sum of the values at each of n places."""
    return np.bincount(place, values, minlength=n).astype(np.float64)


def _ratio(part: Array, whole: Array) -> Array:
    """Return part / whole, and 0 where whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
