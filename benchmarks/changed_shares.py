"""Class shares that have changed since training: how well they are estimated, and what knowing them is worth.

SUFFICE_DATA=… python -m benchmarks.changed_shares

Test rows are drawn with other class shares than those of training. `adapt` sees them without labels. "Told" has the
true shares.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.wrong_labels import TARGETS, read

ROWS = 3000
SETS = {
    "Adult": ("adult-train", "adult-test", [{">50K": 0.05}, {">50K": 0.5}, {">50K": 0.8}]),
    "SMS": ("sms-spam", None, [{"spam": 0.02}, {"spam": 0.5}]),
    "20 Newsgroups": ("20newsgroups-train", "20newsgroups-test", [{"sci.space": 0.5}, {"rec.autos": 0.001}]),
}


def main() -> int:
    """Print a line for each set and share."""
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        print("SUFFICE_DATA must say where Adult, SMS and 20 Newsgroups are, as .parquet", file=sys.stderr)
        return 2
    print("| data | class | in training | true share | estimated | accuracy | log-loss | milliseconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (train, test, cases) in SETS.items():
        rows, labels = read(Path(folder, f"{train}.parquet"), TARGETS.get(name, "label"), 1)
        if test is None:  # half of the rows are held back
            order = np.random.default_rng(0).permutation(len(labels))
            first, second = order[::2], order[1::2]
            held = take(rows, second), labels[second]
            rows, labels = take(rows, first), labels[first]
        else:
            held = read(Path(folder, f"{test}.parquet"), TARGETS.get(name, "label"), 1)
        model = fitted(rows, labels)
        for case in cases:
            show(name, model, *held, *next(iter(case.items())))
    return 0


def fitted(rows: Any, labels: NDArray[Any]) -> Any:
    import suffice as sf

    model = sf.TextClassifier() if isinstance(rows, list) else sf.BayesClassifier()
    model.fit(rows, labels)
    model.predict_proba(rows[:1] if isinstance(rows, list) else rows.slice(0, 1))  # decides what there is to decide
    return model


def take(rows: Any, at: NDArray[Any]) -> Any:
    return [rows[i] for i in at] if isinstance(rows, list) else rows.take(at)


def show(name: str, model: Any, rows: Any, labels: NDArray[Any], label: str, share: float) -> None:
    """Draw test rows with a given share of a class, and adapt to them."""
    rng = np.random.default_rng(1)
    own, others = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
    count = round(ROWS * share)
    drawn = np.concatenate([rng.choice(own, count), rng.choice(others, ROWS - count)])
    x, y = take(rows, drawn), np.searchsorted(model.classes_, labels[drawn])
    k = int(np.searchsorted(model.classes_, label))
    before = model.predict_proba(x)
    begun = time.perf_counter()
    adapted = model.adapt(x)
    spent = 1e3 * (time.perf_counter() - begun)
    found, error, trained = adapted.shares_.values[k]
    true = np.bincount(y, minlength=len(model.classes_)) / ROWS
    told = before * (true / adapted.shares_.values[:, 2])
    told /= told.sum(axis=1, keepdims=True)
    each = [before, adapted.predict_proba(x), told]
    right = " → ".join(f"{(p.argmax(axis=1) == y).mean():.4f}" for p in each[:2])
    lost = " → ".join(f"{-np.log(np.maximum(p[np.arange(ROWS), y], 1e-15)).mean():.3f}" for p in each[:2])
    right += f" (told: {(told.argmax(axis=1) == y).mean():.4f})"
    numbers = f"{trained:.3f} | {true[k]:.3f} | {found:.3f} ± {error:.3f} | {right} | {lost} | {spent:.0f}"
    print(f"| {name} | {label} | {numbers} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
