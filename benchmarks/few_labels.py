"""Few labels and many rows without: what learning from all of them is worth, against ignoring those without labels.

SUFFICE_DATA=… python -m benchmarks.few_labels [--only SET]

20 Newsgroups with 20, 50, 100 and 500 labelled posts of each class, SMS and Adult with a few of each, the other
training rows without labels. Accuracy and log-loss are of the test rows: those of the data set, or half of SMS.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.changed_shares import SETS as FILES
from benchmarks.changed_shares import take
from benchmarks.wrong_labels import TARGETS, read

LABELLED = {"20 Newsgroups": (20, 50, 100, 500), "SMS": (5, 20, 100), "Adult": (10, 50, 500)}


def main() -> int:
    """Print a line for each set and number of labels."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels", description=__doc__)
    parser.add_argument("--only", default="", help="sets whose name contains this")
    options = parser.parse_args()
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        print("SUFFICE_DATA must say where Adult, SMS and 20 Newsgroups are, as .parquet", file=sys.stderr)
        return 2
    print("| data | labelled, a class | ignoring the others | learning from them | weight | passes | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, numbers in LABELLED.items():
        if options.only.lower() not in name.lower():
            continue
        train, test, _ = FILES[name]
        rows, labels = read(Path(folder, f"{train}.parquet"), TARGETS.get(name, "label"), 1)
        if test is None:
            order = np.random.default_rng(0).permutation(len(labels))
            held = take(rows, order[1::2]), labels[order[1::2]]
            rows, labels = take(rows, order[::2]), labels[order[::2]]
        else:
            held = read(Path(folder, f"{test}.parquet"), TARGETS.get(name, "label"), 1)
        for number in numbers:
            show(name, number, rows, labels, *held)
    return 0


def show(name: str, number: int, rows: Any, labels: NDArray[Any], test: Any, truth: NDArray[Any]) -> None:
    """Learn with and without the rows whose labels are hidden."""
    rng = np.random.default_rng(0)
    some = np.concatenate([rng.permutation(np.flatnonzero(labels == each))[:number] for each in np.unique(labels)])
    some.sort()
    hidden = np.full(len(labels), None, dtype=object)
    hidden[some] = labels[some]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ignoring = make(rows).fit(take(rows, some), labels[some])
        begun = time.process_time()
        learning = make(rows).fit(rows, hidden, unlabelled="learn")
        seconds = time.process_time() - begun
    each = " | ".join(judged(model, test, truth) for model in (ignoring, learning))
    found = learning.unlabelled_
    print(f"| {name} | {number} | {each} | {found['weight']:.2g} | {found['passes']} | {seconds:.0f} |", flush=True)


def make(rows: Any) -> Any:
    import suffice as sf

    return sf.TextClassifier() if isinstance(rows, list) else sf.BayesClassifier()


def judged(model: Any, rows: Any, truth: NDArray[Any]) -> str:
    p = model.predict_proba(rows)
    codes = np.searchsorted(model.classes_, truth)
    loss = -np.log(np.maximum(p[np.arange(len(codes)), codes], 1e-15)).mean()
    return f"{(p.argmax(axis=1) == codes).mean():.4f} / {loss:.3f}"


if __name__ == "__main__":
    sys.exit(main())
