"""The cases: BayesClassifier beside LightGBM, both with their defaults, on a million rows."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
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


class Rows:
    """The same rows as each of the two likes them best. Models are kept: LightGBM takes half a minute to make one."""

    def __init__(self, ours: Any, theirs: Any, labels: Any, sensible: float):
        self.ours, self.theirs, self.labels, self.sensible = ours, theirs, labels, sensible
        self.codes = np.unique(labels, return_inverse=True)[1]
        self.models: dict[str, Any] = {}

    def fit_ours(self) -> None:
        """Fit ours."""
        self.models["ours"] = fitted(BayesClassifier(), self.ours, self.labels)

    def fit_theirs(self) -> None:
        """Fit LightGBM."""
        self.models["theirs"] = fitted(lightgbm(), self.theirs, self.codes)

    def accuracies(self) -> dict[str, Any]:
        """Both accuracies on some of the rows learned; raises where one is no better than guessing."""
        found: dict[str, Any] = {"note": NOTE}
        for name, X in (("ours", self.ours), ("theirs", self.theirs)):
            best = self.models[name].predict_proba(X[:JUDGED]).argmax(axis=1)  # classes are sorted on both sides
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
    return Rows(X, frame, np.tile(labels, copies), SENSIBLE)


def numbers(rows: int) -> Rows:
    """Draw rows around a centre for each class, one array for both."""
    X, y = gaussian(rows, 10, 10)
    return Rows(X, X, y, 0.5)


def fits(settings: Settings, rows: Rows) -> Measurement:
    """Compare fits."""
    found = versus(Task(rows.fit_ours), Task(rows.fit_theirs), settings, {})
    found.details["agreement"] = rows.accuracies()
    return found


def predictions(settings: Settings, rows: Rows) -> Measurement:
    """Compare the posteriors of all rows."""
    if not rows.models:  # where fits were not asked for
        rows.fit_ours()
        rows.fit_theirs()
    ours = partial(rows.models["ours"].predict_proba, rows.ours)
    theirs = partial(rows.models["theirs"].predict_proba, rows.theirs)
    return versus(Task(ours), Task(theirs), settings, rows.accuracies())
