"""Test-then-train beside river: every row is first asked about, then learned.

SUFFICE_DATA=… python -m benchmarks.streams [--rows N] [--only SUBSTRING]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import islice
from math import log
from typing import Any

import suffice as sf
from benchmarks import labelled_sets

Rows = list[tuple[Any, Any]]


def as_they_come(name: str) -> Rows:
    """The rows of a set in their order: texts, or dicts of values."""
    rows, labels = labelled_sets.whole(name)
    return [*zip(rows if isinstance(rows, list) else rows.to_pylist(), labels.tolist(), strict=True)]


def bag_of_words() -> Any:
    """Naive Bayes of words and pairs of words, by river."""
    from river.feature_extraction import BagOfWords
    from river.naive_bayes import MultinomialNB

    return BagOfWords(ngram_range=(1, 2)) | MultinomialNB()


def hoeffding_tree() -> Any:
    """The usual tree of river, which takes gaps as a value of their own."""
    from river.compose import FuncTransformer
    from river.tree import HoeffdingTreeClassifier

    return FuncTransformer(lambda x: {name: value for name, value in x.items() if value is not None}) | (
        HoeffdingTreeClassifier()
    )


CASES: dict[str, dict[str, Callable[[], Any]]] = {
    "SMS": {"TextClassifier()": sf.TextClassifier, "river, bag of words": bag_of_words},
    "Adult": {"BayesClassifier()": sf.BayesClassifier, "river, Hoeffding tree": hoeffding_tree},
}


def test_then_train(model: Any, rows: Rows) -> tuple[float, float, float]:
    """Return the milliseconds of processor time of a step, the share of right answers, and the log-loss."""
    right, loss, begun = 0, 0.0, time.process_time()
    for x, y in rows:
        found = model.predict_proba_one(x)
        right += bool(found) and max(found, key=found.get) == y
        loss -= log(max(found.get(y, 0.0), 1e-6))
        model.learn_one(x, y)
    return 1e3 * (time.process_time() - begun) / len(rows), right / len(rows), loss / len(rows)


def main() -> int:
    """Print a line for each stream and model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=None, metavar="N", help="only the first N rows")
    parser.add_argument("--only", metavar="SUBSTRING", default="", help="only streams whose name contains this")
    options = parser.parse_args()
    if not labelled_sets.is_there():
        return 2
    print("| stream | model | ms a step | accuracy | log-loss |\n|---|---|---|---|---|")
    for name, models in CASES.items():
        if options.only in name:
            rows = [*islice(as_they_come(name), options.rows)]
            for title, make in models.items():
                ms, right, loss = test_then_train(make(), rows)
                print(f"| {name}, {len(rows)} rows | {title} | {ms:.3f} | {right:.4f} | {loss:.4f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
