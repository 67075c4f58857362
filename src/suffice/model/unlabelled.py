"""Rows without labels: their classes are summed out by EM, on the same statistics.

Each row is divided among the classes by its posterior, and its parts are summarized with these weights. What rows with
labels taught is kept apart, and the model is estimated from the sum of both,

    labelled + λ · divided,     with the weight λ of a row without a label

With a given λ, the two steps are repeated until the shares of the classes settle: EM (Dempster, Laird and Rubin, 1977;
with λ, Nigam, McCallum, Thrun and Mitchell, 2000).

Otherwise λ is chosen after every pass over the rows, and the iteration ends when no λ helps any more. Leaving a row out
would not judge it fairly: it has helped to divide the others. So labelled rows are left out by folds, and each fold has
its own division by a model without it. The scores of rows that are left out so also calibrate the result. λ = 0,
ignoring the rows, is one of the candidates, and the others must be better than that by more than the standard error of
the difference, row by row: where labelled rows cannot tell, the others are refused. Labelled rows are often chosen by
class, in other shares than those of all rows; so this must hold of labelled rows as they are, and also if each class
weighs as much as it does among the rows without labels.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from suffice.core.arrays import Array, Codes, Rows, Values
from suffice.core.errors import ImpossibleRowWarning, InvalidOptionError, MismatchError, NotConvergedWarning
from suffice.core.labels import label_list
from suffice.core.statistics import Blocks, ByClass, Pairs, RowSample, Statistic, WordCounts
from suffice.core.statistics.compensated import plus
from suffice.core.statistics.hash_samples import DocumentSample
from suffice.core.validation import Held
from suffice.families import Family
from suffice.families.product import Product
from suffice.model.calibration import Calibration
from suffice.model.storage import storable

if TYPE_CHECKING:
    from suffice.model.learned import Calibrate, Learned

LOG = logging.getLogger(__name__)

WEIGHTS = (1.0, 0.3, 0.1, 0.03, 0.01)  # of a row without a label, one of which is chosen
PASSES = 12  # at most, where the weight is chosen
STEPS = 200  # at most, where it is given
NEAR = 1e-7  # a step that moves no larger share of the rows to another class ends EM
LEAST = 0.05  # of a posterior, where the weight is chosen: smaller parts of a row cost time and tell nothing
TINY = 1e-9  # the same where the weight is given
AT_ONCE = 1 << 14  # rows that are divided at a time
JUDGES = 3000  # labelled rows that the weight is chosen by, at most
FOLDS = 3  # in which they are left out,
FEW, MORE_FOLDS = 300, 10  # and of so few: without a third of them, labels would teach less than they do
CALIBRATIONS = 10  # each without some of the scores of rows left out, which it judges


@storable
@dataclass(frozen=True)
class Unlabelled:
    """What rows without labels taught: the statistics of their parts, which have the weight that was chosen.

    `rows` is their own weight, `passes` how often they were divided, and `ignored` and `reached` the log-loss on
    labelled rows left out, without and with them, NaN where the weight was given. `divided` is None where they were
    refused, as no weight made that better. `slope` and `mixed` are the calibration by the rows left out; without any,
    slope is 0.
    """

    divided: ByClass[Any] | None
    rows: Annotated[float, Held(least=0)]
    passes: Annotated[int, Held(least=0)]
    ignored: Annotated[float, Held(missing=True)]
    reached: Annotated[float, Held(missing=True)]
    slope: Annotated[float, Held(least=0, most=1e100)] = 0.0
    mixed: Annotated[float, Held(least=0, most=1)] = 0.0

    def calibration(self, classes: int) -> Calibration | None:
        """Return the calibration by rows that were left out; None if there is none."""
        if self.divided is None or not self.slope:
            return None
        return Calibration(np.full(classes, self.slope), np.zeros(classes), self.mixed)

    @property
    def weight(self) -> float:
        """The weight λ of a row: 0 where the rows were refused."""
        if self.divided is None or not self.rows:
            return 0.0
        return float(self.divided.weight.sum()) / self.rows

    def __add__(self, other: Unlabelled) -> Unlabelled:
        parts = [each.divided for each in (self, other) if each.divided is not None]
        divided = sum(parts[1:], parts[0]) if parts else None
        shared = ((each.slope, each.mixed) for each in (self, other) if each.divided is not None)
        slope, mixed = min(shared, default=(0.0, 0.0))  # the more careful one
        rows, passes = self.rows + other.rows, max(self.passes, other.passes)
        return Unlabelled(divided, rows, passes, np.nan, np.nan, slope, mixed)

    def over(self, labels: Values) -> Unlabelled:
        """Return the same for some classes: what was divided to others is lost, and rows count as they were."""
        if self.divided is None:
            return self
        known = set(label_list(labels))
        some = np.flatnonzero([label in known for label in label_list(self.divided.labels)])
        return replace(self, divided=self.divided.take(some) if len(some) else None)

    def check_for(self, learned: Learned) -> None:
        """Raise an error if the parts are of other classes or columns than those that were learned."""
        if self.divided is None:
            return
        known = set(label_list(learned.labels))
        if any(label not in known for label in label_list(self.divided.labels)):
            raise MismatchError("unlabelled.divided must be of the classes that were learned")
        plain_family(learned.family).check_statistic(self.divided.statistic)
        together(learned.statistics, self)


def plain_family(family: Family[Any]) -> Family[Any]:
    """Return the family that parts of rows are summarized by: without a plan of pairs, and without keeping rows."""
    return replace(family, keep=0, found=(), plan=None) if isinstance(family, Product) else family


def together(labelled: ByClass[Any], unlabelled: Unlabelled | None) -> ByClass[Any]:
    """Return what the model is estimated from. Kept rows, found columns and pairs are those of the labelled rows."""
    divided = None if unlabelled is None else unlabelled.divided
    if divided is None:
        return labelled
    parts = divided.over(labelled.labels)
    weight = plus(labelled.sums, parts.sums)
    return ByClass(labelled.labels, weight.value, _added(labelled.statistic, parts.statistic), weight.rest)


def _added(labelled: Statistic, divided: Statistic) -> Statistic:
    if isinstance(labelled, (RowSample, Pairs)):
        return labelled
    if isinstance(labelled, Blocks):
        assert isinstance(divided, Blocks), "of the same family"
        own = tuple(_added(a, b) for a, b in zip(labelled.parts, divided.parts, strict=False))
        return Blocks((*own, *labelled.parts[len(own) :]), labelled.classes)
    if isinstance(labelled, WordCounts):
        assert isinstance(divided, WordCounts), "of the same family"
        return labelled + replace(divided, kept=DocumentSample.empty())
    return labelled + divided


def divided(
    learned: Learned,
    calibration: Calibration | None,
    rows: Any,
    weight: Array | None,
    least: float,
    onto: ByClass[Any] | None = None,
) -> ByClass[Any] | None:
    """Summarize rows that were read, each divided among the classes by its posterior."""
    family = plain_family(learned.family)
    read = learned.family.read(rows)
    for lo in range(0, len(read) if hasattr(read, "__len__") else read.shape[0], AT_ONCE):
        part = read[lo : lo + AT_ONCE]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImpossibleRowWarning)  # such rows are divided by the prior
            p = np.asarray(learned.posterior(part, calibration), np.float64)
        p = np.where(p > least, p, 0.0)
        p /= p.sum(axis=1, keepdims=True)
        if weight is not None:
            p *= weight[lo : lo + AT_ONCE, None]
        at, codes = np.nonzero(p)
        if len(at):
            onto = family.summarize(part[at], learned.labels[codes], p[at, codes], onto)
    return onto


Divide: TypeAlias = Callable[["Learned", "Calibration | None", float], "ByClass[Any] | None"]


@dataclass(frozen=True)
class _Fold:
    """What was learned without some labelled rows, and these rows."""

    learned: Learned
    rows: Any
    codes: Codes
    weight: Array

    def with_parts(self, parts: ByClass[Any], weight: float) -> Learned:
        """Return what was learned with divided rows of a weight."""
        return replace(self.learned, unlabelled=Unlabelled(parts.scale(weight), 0.0, 1, np.nan, np.nan))

    def scores(self, learned: Learned) -> tuple[Array, Array]:
        """Return the evidence of the rows that were left out, (rows, classes), and the log-prior, (classes,)."""
        evidence = learned.model.relative_log_conditional(self.rows)
        return np.asarray(evidence, np.float64), learned.training_log_prior


class LabelledRows(NamedTuple):
    """Rows with the positions of their labels, and weights."""

    rows: Rows
    codes: Codes
    weight: Array


def folds_of(learned: Learned, judges: LabelledRows) -> list[_Fold]:
    """Leave labelled rows out in parts, each with rows of every class; the only row of a class stays."""
    read = learned.family.read(judges.rows)
    place, folds = np.zeros(len(judges.codes), dtype=np.int64), MORE_FOLDS if len(judges.codes) <= FEW else FOLDS
    for k in range(len(learned.labels)):
        own = np.flatnonzero(judges.codes == k)
        place[own] = np.arange(len(own)) % folds if len(own) > 1 else -1
    out = []
    for fold in range(folds):
        own = np.flatnonzero(place == fold)
        if len(own):
            labels = learned.labels[judges.codes[own]]
            seen = learned.seen - learned.family.summarize(read[own], labels, judges.weight[own])
            rest = replace(learned, seen=seen)
            if len(rest.labels) == len(learned.labels):
                out.append(_Fold(rest, read[own], judges.codes[own], judges.weight[own]))
    return out


def learn_unlabelled(
    learned: Learned, divide: Divide, weight: float | None, calibrate: Calibrate, judges: LabelledRows | None
) -> Learned:
    """Return what was learned together with rows without labels; with no such rows, the same."""
    if weight is not None:
        return _with_weight(learned, divide, weight, bool(calibrate))
    folds = folds_of(learned, judges) if judges is not None and len(judges.codes) else []
    if not folds:
        few = judges is not None and len(judges.codes)
        why = "No class has a second labelled row to leave out" if few else "There are no labelled rows at hand"
        raise InvalidOptionError(
            f"{why}, to choose the weight of rows without labels by: give it as a number, such as unlabelled=0.1"
        )
    found = _chosen(folds, divide, bool(calibrate), _losses(folds, [each.learned for each in folds], calibrate))
    if found is None:
        return learned
    if not found.steps:
        return replace(learned, unlabelled=Unlabelled(None, found.rows, 1, found.ignored, found.ignored))
    out, before = learned, None
    for each, fitted in found.steps:  # the same steps with all labelled rows
        own = divide(out, out.calibration(bool(calibrate)) if before is None else before, LEAST)
        assert own is not None, "there are rows"
        fit = (1.0, 0.0) if fitted is None else (float(fitted.slope[0]), fitted.mixed)
        record = Unlabelled(own.scale(each), found.rows, len(found.steps), found.ignored, found.reached, *fit)
        out, before = replace(learned, unlabelled=record), fitted
    return out


@dataclass(frozen=True)
class _Chosen:
    """The weight and the calibration of each pass that helped, and the log-loss of rows left out, without and with."""

    steps: list[tuple[float, Calibration | None]]
    rows: float
    ignored: float
    reached: float


def _chosen(folds: list[_Fold], divide: Divide, calibrate: bool, alone: Array) -> _Chosen | None:
    """Choose a weight after each pass, until none helps; `alone` are the losses without rows that have no labels.

    None if there are no such rows.
    """
    codes, weights = (np.concatenate([getattr(fold, name) for fold in folds]) for name in ("codes", "weight"))
    ignored = float(weights @ alone / weights.sum())
    lowest, calibration, rows = ignored, None, 0.0
    steps: list[tuple[float, Calibration | None]] = []
    current = [each.learned for each in folds]
    for _ in range(PASSES):
        by = [each.calibration(calibrate) if calibration is None else calibration for each in current]
        found_parts = [divide(each, one, LEAST) for each, one in zip(current, by, strict=True)]
        parts = [each for each in found_parts if each is not None]
        if len(parts) < len(folds):
            return None
        rows = float(parts[0].weight.sum())
        trials = [_trial(folds, parts, each, calibrate) for each in WEIGHTS]
        means = [float(weights @ losses / weights.sum()) for losses, _ in trials]
        best = int(np.argmin(means))
        loss, (losses, fitted), weight = means[best], trials[best], WEIGHTS[best]
        as_others = weights * _ratio_of_shares(parts, codes, weights, folds[0].learned.labels)
        helps = all(is_better(losses, alone, each) for each in (weights, as_others))
        LOG.info(
            "rows without labels: pass %d, weight %g, log-loss %.4f, %.4f without them%s",
            len(steps) + 1,
            weight,
            loss,
            ignored,
            "" if helps else ": they do not help by more than a standard error",
        )
        if not (loss < lowest and helps):
            break
        lowest, calibration = loss, fitted
        current = [fold.with_parts(part, weight) for fold, part in zip(folds, parts, strict=True)]
        steps.append((weight, fitted))
    return _Chosen(steps, rows, ignored, lowest)


def _trial(
    folds: list[_Fold], parts: list[ByClass[Any]], weight: float, calibrate: bool
) -> tuple[Array, Calibration | None]:
    """Return the losses of rows left out where divided rows have a weight, and the calibration of their scores.

    A calibration of few rows flatters them, so each row is judged by one that was fitted without it.
    """
    # Models of texts are large: one is there at a time.
    scored = [fold.scores(fold.with_parts(part, weight)) for fold, part in zip(folds, parts, strict=True)]
    evidence = np.concatenate([each for each, _ in scored])
    log_prior = np.concatenate([np.repeat(prior[None], len(each), axis=0) for each, prior in scored])
    codes, w = (np.concatenate([getattr(fold, name) for fold in folds]) for name in ("codes", "weight"))
    if not calibrate:
        plain = Calibration.none(evidence.shape[1])
        return _each_loss(plain.log_posterior(evidence, log_prior), codes), None
    log_posterior = np.empty_like(evidence)
    place = np.random.default_rng(0).permutation(len(codes)) % CALIBRATIONS
    for part in range(min(CALIBRATIONS, len(codes))):
        own, others = place == part, place != part
        without = Calibration.fit(evidence[others], log_prior[others], codes[others], w[others])
        log_posterior[own] = without.log_posterior(evidence[own], log_prior[own])
    return _each_loss(log_posterior, codes), Calibration.fit(evidence, log_prior, codes, w)


def _losses(folds: list[_Fold], models: list[Learned], calibrate: Calibrate) -> Array:
    """Return the losses of rows left out, as the models answer."""
    found = [
        each.log_posterior(fold.rows, each.calibration(calibrate)) for fold, each in zip(folds, models, strict=True)
    ]
    return _each_loss(np.concatenate(found), np.concatenate([fold.codes for fold in folds]))


def _each_loss(log_posterior: Array, codes: Codes) -> Array:
    return -np.maximum(log_posterior[np.arange(len(codes)), codes], -50.0)  # one impossible row does not decide alone


def is_better(losses: Array, than: Array, weight: Array) -> bool:
    """Whether losses are lower, row by row, by more than the standard error of the mean difference."""
    gain, share = than - losses, weight / weight.sum()
    mean = float(share @ gain)
    return mean > float(np.sqrt(share**2 @ (gain - mean) ** 2))


def _ratio_of_shares(parts: list[ByClass[Any]], codes: Codes, weight: Array, labels: Values) -> Array:
    """Return for each labelled row the share of its class among rows without labels, by that among labelled ones."""
    known = np.bincount(codes, weight, len(labels))
    others = np.sum([part.over(labels).weight for part in parts], axis=0)
    return (others / np.where(known > 0, known, 1.0))[codes] * (known.sum() / others.sum())


def _with_weight(learned: Learned, divide: Divide, weight: float, calibrate: Calibrate) -> Learned:
    """Repeat both steps of EM with a given weight until the shares of the classes settle."""
    found, before = learned, None
    for step in range(STEPS):
        parts = divide(found, found.calibration(calibrate), TINY)
        if parts is None:
            return learned
        rows = float(parts.weight.sum())
        found = replace(learned, unlabelled=Unlabelled(parts.scale(weight), rows, step + 1, np.nan, np.nan))
        after = parts.over(learned.labels).weight / rows
        if before is not None and np.abs(after - before).max() < NEAR:
            return found
        before = after
    warnings.warn(
        f"The classes of rows without labels did not settle in {STEPS} passes", NotConvergedWarning, stacklevel=5
    )
    return found
