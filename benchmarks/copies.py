"""Rows that are learned several times: `SUFFICE_DATA=… python -m benchmarks.copies`.

A model is fitted on the rows to learn of a table, each repeated, and judged on the others. The table of
docs/classifier.md is what this prints. Weights of rows do the same as copies, for ours.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.quality_models import Native, lightgbm
from benchmarks.tables import LEAST, Table
from suffice import BayesClassifier
from suffice.model.evaluate import Evaluation

NAMES = ("adult", "vehicle", "german", "phoneme", "wdbc")
TIMES = (1, 2, 5, 30)
MODELS = {"default": BayesClassifier, "LightGBM": partial(Native, lightgbm)}


def loss(table: Table, make: Any, times: int) -> float:
    """Return the mean log-loss over the folds where each row is learned so many times."""
    found = []
    for learn, judge in table.splits:
        rows, labels = table.rows(learn)
        model = make().fit(pa.concat_tables([rows] * times).combine_chunks(), np.tile(labels, times))
        rows, labels = table.rows(judge)
        found.append(Evaluation.of(labels, model.classes_, np.maximum(model.predict_proba(rows), LEAST)).log_loss)
    return float(np.mean(found))


def main() -> None:
    """Print a line for each table."""
    print(f"| {' / '.join(MODELS)} | " + " | ".join("once" if n == 1 else f"{n} times" for n in TIMES) + " |")
    print("|---|" + "--:|" * len(TIMES))
    for name in NAMES:
        table = Table.read(name)
        cells = (" / ".join(f"{loss(table, make, n):.3f}" for make in MODELS.values()) for n in TIMES)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
