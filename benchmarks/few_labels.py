"""Few labels and many rows without: what learning from all of them is worth, against ignoring those without labels.

SUFFICE_DATA=… python -m benchmarks.few_labels [--only SET]

20 Newsgroups with 20, 50, 100 and 500 labelled posts of each class, SMS and Adult with a few of each, the other
training rows without labels; and SMS as a table of the text and its length. Accuracy and log-loss are of the test rows:
those of the data set, or half of SMS.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks import labelled_sets
from benchmarks.labelled_sets import Labelled

TABLE = ", a table"
LABELLED = {
    "20 Newsgroups": (20, 50, 100, 500),
    "SMS": (5, 20, 100),
    f"SMS{TABLE}": (5, 20, 100),
    "Adult": (10, 50, 500),
}


def main() -> int:
    """Print a line for each set and number of labels."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels", description=__doc__)
    parser.add_argument("--only", default="", help="sets whose name contains this")
    parser.add_argument("--labelled", type=int, help="only with so many labels of each class")
    options = parser.parse_args()
    if not labelled_sets.is_there():
        return 2
    print("| data | labelled, a class | ignoring the others | learning from them | weight | passes | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, numbers in LABELLED.items():
        if options.only.lower() in name.lower():
            learned, held = labelled_sets.halves(name.removesuffix(TABLE))
            if name.endswith(TABLE):
                learned, held = as_table(learned), as_table(held)
            for number in numbers if options.labelled is None else [options.labelled]:
                show(name, number, learned, held)
    return 0


def as_table(some: Labelled) -> Labelled:
    """Return texts as a table that has their lengths too."""
    texts = pa.array(some.rows)
    return Labelled(pa.table({"text": texts, "length": pc.utf8_length(texts)}), some.labels)


def show(name: str, number: int, learned: Labelled, held: Labelled) -> None:
    """Learn with and without the rows whose labels are hidden."""
    rng, (rows, labels) = np.random.default_rng(0), learned
    some = np.concatenate([rng.permutation(np.flatnonzero(labels == each))[:number] for each in np.unique(labels)])
    some.sort()
    hidden = np.full(len(labels), None, dtype=object)
    hidden[some] = labels[some]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ignoring = make(rows).fit(*learned.take(some))
        begun = time.process_time()
        learning = make(rows).fit(rows, hidden, unlabelled="learn")
        seconds = time.process_time() - begun
    each = " | ".join(judged(model, *held) for model in (ignoring, learning))
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
