"""The cases: BayesClassifier beside LightGBM, both with their defaults, on a million rows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.classifier import SENSIBLE
from benchmarks.data import gaussian
from benchmarks.harness import AnswersDifferError, Case, Group, Measurement, Settings, Task, short, versus
from benchmarks.naive_bayes import times
from benchmarks.quality_models import Native, lightgbm
from benchmarks.tables import ADULT, Table, fitted
from suffice import BayesClassifier

JUDGED = 20_000  # rows by which both are found sensible
NOTE = "different models: their answers are not compared, both must reach a sensible accuracy"


@dataclass(frozen=True)
class Rows:
    """The same rows as each of the two likes them best, and both models fitted to them."""

    ours: Any
    theirs: Any
    labels: Any
    codes: Any
    sensible: float
    fit_ours: Callable[[], Any]
    fit_theirs: Callable[[], Any]
    fitted: tuple[Any, Any]

    @classmethod
    def of(cls, ours: Any, theirs: Any, labels: Any, sensible: float) -> Rows:
        """Fit both."""
        codes = np.unique(labels, return_inverse=True)[1]
        fits = (lambda: fitted(BayesClassifier(), ours, labels), lambda: fitted(lightgbm(), theirs, codes))
        return cls(ours, theirs, labels, codes, sensible, *fits, (fits[0](), fits[1]()))

    def accuracies(self) -> dict[str, Any]:
        """Both accuracies on some of the rows learned; raises where one is no better than guessing."""
        found: dict[str, Any] = {"note": NOTE}
        for name, model, X in zip(("ours", "theirs"), self.fitted, (self.ours, self.theirs), strict=True):
            best = model.predict_proba(X[:JUDGED]).argmax(axis=1)  # classes are sorted on both sides
            found[name] = float(np.mean(best == self.codes[:JUDGED]))
            if found[name] < self.sensible:
                raise AnswersDifferError(f"from any sensible ones: {name} have an accuracy of {found[name]:.3f}")
        return found


def groups(settings: Settings) -> list[Group]:
    """List all cases; those of Adult only where it is."""
    rows = settings.rows(1_000_000)
    size = f"{short(rows)} × 10 numbers, 10 classes"
    once = replace(settings, repeats=1)  # LightGBM takes half a minute
    cases = [
        Case(f"BayesClassifier fit, {size}", times(10), partial(fits, once)),
        Case(f"BayesClassifier predict_proba, {size}", None, partial(predictions, once)),
    ]
    found = [Group(partial(numbers, rows), cases)]
    if not os.environ.get("SUFFICE_DATA"):
        print("Adult is left out: SUFFICE_DATA does not say where the data are", file=sys.stderr)
        return found
    copies = 2 if settings.quick else 30
    cases = [
        Case(f"BayesClassifier fit, Adult × {copies}", times(5), partial(fits, settings)),
        Case(f"BayesClassifier predict_proba, Adult × {copies}", times(3), partial(predictions, settings)),
    ]
    return [Group(partial(adult, copies), cases), *found]


def adult(copies: int) -> Rows:
    """Repeat Adult's training half: ours from Arrow, LightGBM from pandas with its categories made beforehand."""
    table = Table.read(ADULT)
    once, labels = table.rows(table.splits[0][0])
    X = pa.concat_tables([once] * copies).combine_chunks()
    frame = Native(lightgbm).with_categories_of(once).frame(X)
    return Rows.of(X, frame, np.tile(labels, copies), SENSIBLE)


def numbers(rows: int) -> Rows:
    """Draw rows around a centre for each class, one array for both."""
    X, y = gaussian(rows, 10, 10)
    return Rows.of(X, X, y, 0.5)


def fits(settings: Settings, rows: Rows) -> Measurement:
    """Compare fits."""
    return versus(Task(rows.fit_ours), Task(rows.fit_theirs), settings, rows.accuracies())


def predictions(settings: Settings, rows: Rows) -> Measurement:
    """Compare the posteriors of all rows."""
    ours, theirs = rows.fitted
    first, second = partial(ours.predict_proba, rows.ours), partial(theirs.predict_proba, rows.theirs)
    return versus(Task(first), Task(second), settings, rows.accuracies())
