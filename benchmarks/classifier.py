"""The cases: BayesClassifier on Adult beside what one would write with scikit-learn, both from an Arrow table."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import AnswersDifferError, Case, Group, Measurement, Settings, Target, Task, short, versus
from benchmarks.loading import first_answer
from benchmarks.naive_bayes import times
from benchmarks.peers import MixedNB
from suffice import BayesClassifier

TARGET = "income"
SENSIBLE = 0.79  # accuracy; always naming the larger class reaches 0.759
NOTE = "different models: their answers are not compared, both must reach an accuracy of 0.79"


def groups(settings: Settings) -> list[Group]:
    """List all cases; none where the data are not there."""
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        print("BayesClassifier on Adult is left out: SUFFICE_DATA does not say where the data are", file=sys.stderr)
        return []
    copies = 5 if settings.quick else 100
    once = read("train", folder)
    size = f"Adult × {copies} ({short(round(copies * once.num_rows, -3))} rows from Arrow)"
    cases = [
        Case(f"BayesClassifier fit, {size}", times(40), partial(fits, settings)),
        Case(f"BayesClassifier predict_proba, {size}", times(20), partial(predictions, settings, "auto")),
        Case(
            f"BayesClassifier(structure='naive') predict_proba, {size}",
            times(20),
            partial(predictions, settings, "naive"),
        ),
    ]
    soon = Case(
        "BayesClassifier, loaded: the first answer, Adult", Target(high=10, unit=" ms"), partial(loaded, settings)
    )
    return [Group(lambda: Adult.of(once, copies), cases), Group(lambda: once, [soon])]


def loaded(settings: Settings, table: pa.Table) -> Measurement:
    """Time the first answer of a model that was loaded."""
    return first_answer(BayesClassifier().fit(table, TARGET), table.slice(0, 1), settings)


def read(part: str, folder: str) -> pa.Table:
    """Read the train or test part of Adult as columns of Arrow, nulls and all."""
    return pq.read_table(Path(folder) / f"adult-{part}.parquet")


def kinds(table: pa.Table) -> tuple[list[str], list[str]]:
    """Name the numbers and the categories among the features."""
    names = [name for name in table.column_names if name != TARGET]
    numbers = [n for n in names if pa.types.is_integer(table[n].type) or pa.types.is_floating(table[n].type)]
    return numbers, [name for name in names if name not in numbers]


@dataclass(frozen=True)
class Adult:
    """The rows many times over, and both models fitted to them."""

    table: pa.Table
    ours: dict[str, BayesClassifier]  # by structure
    theirs: MixedNB

    @classmethod
    def of(cls, once: pa.Table, copies: int) -> Adult:
        """Repeat the rows as one table whose columns lie in one piece."""
        table = pa.concat_tables([once] * copies).combine_chunks()
        ours = {structure: fit_ours(table, structure=structure) for structure in ("auto", "naive")}
        return cls(table, ours, fit_theirs(table))

    @property
    def features(self) -> pa.Table:
        """The rows without their labels."""
        return self.table.drop_columns([TARGET])

    def accuracies(self, structure: str) -> dict[str, Any]:
        """Both accuracies on the rows learned; raises where one is no better than guessing."""
        y = self.table[TARGET].to_numpy()
        found: dict[str, Any] = {"note": NOTE}
        for name, p, model in (
            ("ours", self.ours[structure].predict_proba(self.features), self.ours[structure]),
            ("theirs", self.theirs.predict_proba(self.features.to_pandas()), self.theirs),
        ):
            found[name] = float(np.mean(np.asarray(model.classes_)[p.argmax(axis=1)] == y))
            if not found[name] >= SENSIBLE:
                raise AnswersDifferError(f"from any sensible ones: {name} have an accuracy of {found[name]:.3f}")
        return found


def fit_ours(table: pa.Table, **options: Any) -> BayesClassifier:
    """Fit, until families are chosen and calibrated, which waits until it is first asked for."""
    model = BayesClassifier(**options).fit(table, TARGET)
    assert model.n_parameters_, "families are chosen"
    assert model.calibration_.slope.size, "two classes have two slopes"
    return model


def fit_theirs(table: pa.Table) -> MixedNB:
    """Bring the table into pandas, impute, encode and fit."""
    frame = table.to_pandas()
    return MixedNB(*kinds(table)).fit(frame, frame[TARGET])


def fits(settings: Settings, rows: Adult) -> Measurement:
    """Compare fits, each from the Arrow table."""
    ours, theirs = partial(fit_ours, rows.table), partial(fit_theirs, rows.table)
    return versus(Task(ours), Task(theirs), settings, rows.accuracies("auto"))


def predictions(settings: Settings, structure: str, rows: Adult) -> Measurement:
    """Compare the posteriors of all rows, each from the Arrow table."""
    features = rows.features

    def theirs() -> Any:
        return rows.theirs.predict_proba(features.to_pandas())

    ours = partial(rows.ours[structure].predict_proba, features)
    return versus(Task(ours), Task(theirs), settings, rows.accuracies(structure))
