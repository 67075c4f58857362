"""How good a model is on rows, and how often what a page can hold of it agrees with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from suffice import engines
from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import as_frame
from suffice.core.labels import read_labels
from suffice.families.documents import Bags
from suffice.families.page_words import FewerWords
from suffice.families.text import TextDistribution
from suffice.model.evaluate import Evaluation
from suffice.model.joint import Model
from suffice.model.learned import Learned
from suffice.views.fitted import form_of, nameless, spelled_as
from suffice.views.report.panel import page_model

if TYPE_CHECKING:
    from suffice.estimators.generative_classifier import GenerativeClassifier

Answer = Callable[[Any], Array]
MOST_KEPT = 2000  # documents that were learned, where no rows are judged


@dataclass(frozen=True)
class Agreement:
    """On how many of some rows two models predict the same class."""

    same: int
    rows: int
    learned: bool = False  # whether the rows were learned

    @classmethod
    def of(cls, one: Array, other: Array, learned: bool = False) -> Agreement:
        """Compare p(y | x) of rows, (rows, classes) each."""
        return cls(int(np.count_nonzero(one.argmax(axis=1) == other.argmax(axis=1))), len(one), learned)

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.same + other.same, self.rows + other.rows)


def judge(
    batches: Iterable[tuple[Any, Values, Any]], classes: Values, answer: Answer, on_page: Answer | None = None
) -> tuple[Evaluation, Agreement | None]:
    """Judge answers by rows, labels and weights, batch by batch; `on_page` gives the answers of a page, if others."""
    total: Evaluation | None = None
    agreement = None if on_page is None else Agreement(0, 0)
    for rows, labels, weight in batches:
        p = answer(rows)
        own = Evaluation.of(labels, classes, p, weight)
        total = own if total is None else total + own
        if agreement is not None and on_page is not None:
            agreement += Agreement.of(p, on_page(rows))
    if total is None:
        raise InvalidDataError("There are no rows to evaluate predictions on")
    return total, agreement


def agreement_on_kept(learned: Learned, calibration: Any) -> Agreement | None:
    """Return how often a page agrees on the texts that were kept in learning; None if there are none."""
    event = page_model(learned.model).distribution
    if not isinstance(event, TextDistribution) or not isinstance(event.event, FewerWords):
        return None
    kept = learned.family.kept_rows(learned.estimated.statistic)
    if kept is None or not len(kept.codes):
        return None
    assert isinstance(kept.rows, Bags), "texts are kept as words"
    bags = kept.rows.rows(slice(0, min(MOST_KEPT, len(kept.rows))))
    short = learned.answering_by(page_model(learned.model))
    ours, theirs = learned.posterior(bags, calibration), short.posterior(event.event.bags_of(bags), calibration)
    return Agreement.of(ours, theirs, learned=True)


# ------------------------------------------------------------------------------------------------ rows of Python


def batches_of(
    estimator: GenerativeClassifier, data: object, target: object, weight: ArrayLike | None
) -> Iterator[tuple[Any, Values, Any]]:
    """Yield rows as `answers_of` reads them, labels as the classes are spelled, and weights."""
    if target is None:
        raise InvalidOptionError("To evaluate predictions, pass the labels, or the name of their column, as target")
    source = engines.find(data)
    if source is not None:
        if not hasattr(source, "batches"):
            raise InvalidOptionError(f"A report can evaluate rows of files or in memory, found {type(data).__name__}")
        if not isinstance(target, str):
            raise InvalidOptionError("For rows from files, target must be the name of the column that holds the labels")
        source.check_column(target, "of labels")
        for batch in source.batches():
            if batch.num_rows:
                yield from batches_of(estimator, batch, target, weight)
        return
    if isinstance(target, str) or isinstance(weight, str):
        found = engines.Memory(as_frame(data)).labelled(target, weight)
        frame, target, weight, form = found.rows, found.labels, found.weight, form_of(estimator)
        if form != "table":
            known = [str(name) for name in getattr(estimator, "feature_names_in_", frame.names)]
            frame = frame.select(known) if set(known) <= set(frame.names) else frame
        data = engines.in_form(frame, form)
    yield data, spelled_as(estimator.classes_, read_labels(target)), weight


def answers_of(
    estimator: GenerativeClassifier, target: object = None, weight: object = None, model: Model | None = None
) -> Answer:
    """Return what computes p(y | x) of the rows of `batches_of`; by another `model`, if one is given."""
    by_name = isinstance(target, str) or isinstance(weight, str)
    found = nameless(estimator) if by_name and form_of(estimator) != "table" else estimator
    if model is not None:
        estimator._calibration()  # of the whole model, before another one answers
        found = copy(found)
        found.__dict__["_learned"] = estimator._settled().answering_by(model)
    return found.predict_proba
