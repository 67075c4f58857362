"""Rows with gaps that training had not: `SUFFICE_DATA=… python -m benchmarks.gaps`.

A model is fitted on the rows to learn of a table as they are. Entries are removed at random from the rows that are
predicted, and from these alone. The table of docs/classifier.md is what this prints.
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

NAMES = ("adult", "vehicle", "satimage", "phoneme", "wdbc")
SHARES = (0.0, 0.1, 0.3, 0.6)  # of the entries
MODELS = {
    "default": BayesClassifier,
    "pairs": partial(BayesClassifier, structure="pairs"),
    "LightGBM": partial(Native, lightgbm),
}


def with_gaps(rows: pa.Table, share: float, seed: int = 0) -> pa.Table:
    """Remove entries at random."""
    gaps = np.random.default_rng(seed).random((rows.num_columns, rows.num_rows)) < share
    columns = [
        pa.chunked_array([pa.array(column.to_pylist(), column.type, mask=gap)])
        for column, gap in zip(rows.columns, gaps, strict=True)
    ]
    return pa.table(columns, names=rows.column_names)


def losses(table: Table, make: Any) -> list[float]:
    """Return the mean log-loss over the folds, for each share of entries that are removed."""
    found = []
    for learn, judge in table.splits:
        model = make().fit(*table.rows(learn))
        rows, labels = table.rows(judge)
        each = [np.maximum(model.predict_proba(with_gaps(rows, share)), LEAST) for share in SHARES]
        found.append([Evaluation.of(labels, model.classes_, p).log_loss for p in each])
    return np.mean(found, axis=0).tolist()


def main() -> None:
    """Print a line for each table and model."""
    print("| | " + " | ".join("none removed" if s == 0 else f"{100 * s:g} %" for s in SHARES) + " |")
    print("|---|" + "--:|" * len(SHARES))
    for name in NAMES:
        table = Table.read(name)
        each = [losses(table, make) for make in MODELS.values()]
        cells = (" / ".join(f"{loss:.3f}" for loss in one) for one in zip(*each, strict=True))
        print(f"| {name}, {' / '.join(MODELS)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
