"""The tables on which classifiers are judged, and how: accuracy, log-loss and calibration on rows not learned.

One line judges a classifier while it is developed (`SUFFICE_DATA` says where the tables are):

    python -c "import suffice, benchmarks.tables as b; print(b.evaluate(suffice.BayesClassifier, 'heart'))"
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold

from suffice.model.evaluate import Evaluation

FOLDS, SEED = 5, 7
LEAST = np.finfo(np.float64).eps  # what scikit-learn's log_loss takes for a probability of 0 as well
ADULT = "adult"
TEN = (
    "vehicle", "tic-tac-toe", "chess", "housevotes", "german", "satimage", "phoneme", "heart", "wdbc", "contraceptive"
)  # fmt: skip
BUNDLED = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer}
NAMES = (ADULT, *TEN, *BUNDLED)


@dataclass(frozen=True)
class Table:
    """Features as columns of Arrow, missing values as nulls, labels, and the rows to learn and to judge by."""

    name: str
    features: pa.Table
    labels: Any
    splits: list[tuple[Any, Any]]

    @classmethod
    def read(cls, name: str) -> Table:
        """Read one of `NAMES`: Adult in its halves, any other in five folds."""
        if name == ADULT:
            halves = [_parquet(f"adult-{half}.parquet") for half in ("train", "test")]
            rows = np.arange(sum(half.num_rows for half in halves))
            splits = [(rows[: halves[0].num_rows], rows[halves[0].num_rows :])]
            return cls(name, *_part(pa.concat_tables(halves), "income"), splits)
        if name in BUNDLED:
            bunch = BUNDLED[name]()
            columns = [str(column) for column in bunch.feature_names]
            features, labels = pa.table(list(bunch.data.T), names=columns), bunch.target
        elif name in TEN:
            features, labels = _part(_parquet(f"tables/{name}.parquet"), "class")
        else:
            raise ValueError(f"There is no table {name!r}; there are {', '.join(NAMES)}")
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(labels, labels)
        return cls(name, features, labels, list(folds))

    def rows(self, which: Any) -> tuple[pa.Table, Any]:
        """Return some rows, each column in one piece, and their labels."""
        return self.features.take(which).combine_chunks(), self.labels[which]


def kinds(features: pa.Table) -> tuple[list[str], list[str]]:
    """Name the columns of numbers and those of categories."""
    numbers = [f.name for f in features.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    return numbers, [name for name in features.column_names if name not in numbers]


def _parquet(file: str) -> pa.Table:
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        raise FileNotFoundError(f"SUFFICE_DATA must name the folder of {file}")
    return pq.read_table(Path(folder) / file)


def _part(table: pa.Table, target: str) -> tuple[pa.Table, Any]:
    return table.drop_columns([target]), np.array(table[target].to_pylist())


# ------------------------------------------------------------------------------------------ how good the answers are


class Quality(NamedTuple):
    """Means over the folds, but for `calibration_error`, which is of the left out rows of all folds together.

    The calibration error is Σ_b n_b / n |share right − mean probability| over 15 bins of equal width of the predicted
    class's probability. That of a fold with fifty rows is mostly chance: it is in `calibration_error_of_folds`.
    """

    accuracy: float
    log_loss: float
    calibration_error: float
    calibration_error_of_folds: float
    fit_seconds: float
    predict_seconds: float


def evaluate(make_classifier: Callable[[], Any], table: Table | str) -> tuple[float, float, float]:
    """Return accuracy, log-loss and calibration error of a classifier on the rows of a table that it did not learn.

    `make_classifier` returns a new classifier, which gets tables of Arrow: `evaluate(BayesClassifier, "heart")`.
    """
    return measure(make_classifier, table)[:3]


def measure(make_classifier: Callable[[], Any], table: Table | str) -> Quality:
    """Do the same, with the seconds of a fold as well."""
    folds = list(_judged(make_classifier, Table.read(table) if isinstance(table, str) else table))
    judged: list[Evaluation] = [found for found, *_ in folds]
    together = sum(judged[1:], start=judged[0])
    means = [(each.accuracy, each.log_loss, each.calibration_error, *seconds) for each, *seconds in folds]
    accuracy, loss, calibration, fitting, asking = map(float, np.mean(means, axis=0))
    return Quality(accuracy, loss, together.calibration_error, calibration, fitting, asking)


def _judged(make_classifier: Callable[[], Any], table: Table) -> Iterator[tuple[Evaluation, float, float]]:
    for learn, ask in table.splits:
        (X, y), (rows, labels) = table.rows(learn), table.rows(ask)
        begun = time.perf_counter()
        model = fitted(make_classifier(), X, y)
        between = time.perf_counter()
        p = model.predict_proba(rows)
        seconds = between - begun, time.perf_counter() - between
        yield Evaluation.of(labels, model.classes_, np.maximum(np.asarray(p, dtype=np.float64), LEAST)), *seconds


def fitted(model: Any, X: Any, y: Any) -> Any:
    """Fit, and ask about one row, so that what a model puts off until it is first asked belongs to the fit."""
    model.fit(X, y)
    model.predict_proba(X[:1])
    return model
