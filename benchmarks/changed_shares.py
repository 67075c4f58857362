"""Class shares that have changed since training: how well they are estimated, and what knowing them is worth.

SUFFICE_DATA=… python -m benchmarks.changed_shares

Test rows are drawn with other class shares than those of training. `adapt` sees them without labels. "Told" has the
true shares.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import labelled_sets
from benchmarks.labelled_sets import Labelled

ROWS = 3000
CASES = {
    "Adult": [(">50K", 0.05), (">50K", 0.5), (">50K", 0.8)],
    "SMS": [("spam", 0.02), ("spam", 0.5)],
    "20 Newsgroups": [("sci.space", 0.5), ("rec.autos", 0.001)],
}


def main() -> int:
    """Print a line for each set and share."""
    if not labelled_sets.is_there():
        return 2
    print("| data | class | in training | true share | estimated | accuracy | log-loss | milliseconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, cases in CASES.items():
        learned, held = labelled_sets.halves(name)
        model = fitted(*learned)
        for label, share in cases:
            show(name, model, held, label, share)
    return 0


def fitted(rows: Any, labels: NDArray[Any]) -> Any:
    import suffice as sf

    model = sf.TextClassifier() if isinstance(rows, list) else sf.BayesClassifier()
    model.fit(rows, labels)
    model.predict_proba(rows[:1] if isinstance(rows, list) else rows.slice(0, 1))  # decides what there is to decide
    return model


def show(name: str, model: Any, held: Labelled, label: str, share: float) -> None:
    """Draw test rows with a given share of a class, and adapt to them."""
    rng = np.random.default_rng(1)
    own, others = np.flatnonzero(held.labels == label), np.flatnonzero(held.labels != label)
    count = round(ROWS * share)
    drawn = np.concatenate([rng.choice(own, count), rng.choice(others, ROWS - count)])
    x, labels = held.take(drawn)
    y = np.searchsorted(model.classes_, labels)
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
