"""Test-then-train beside river: every row is first asked about, then learned.

SUFFICE_DATA=… python -m benchmarks.streams [--rows N] [--only SUBSTRING]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from itertools import islice
from math import log
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import suffice as sf

Rows = list[tuple[Any, Any]]


def messages(folder: Path) -> Rows:
    """The messages of SMS spam, as they come."""
    table = pq.read_table(folder / "sms-spam.parquet")
    return [*zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True)]


def people(folder: Path) -> Rows:
    """The training rows of Adult, as they come."""
    table = pq.read_table(folder / "adult-train.parquet")
    return [*zip(table.drop(["income"]).to_pylist(), table["income"].to_pylist(), strict=True)]


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


CASES: dict[str, tuple[Callable[[Path], Rows], dict[str, Callable[[], Any]]]] = {
    "SMS": (messages, {"TextClassifier()": sf.TextClassifier, "river, bag of words": bag_of_words}),
    "Adult": (people, {"BayesClassifier()": sf.BayesClassifier, "river, Hoeffding tree": hoeffding_tree}),
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
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        print("SUFFICE_DATA must say where sms-spam.parquet and adult-train.parquet are", file=sys.stderr)
        return 2
    print("| stream | model | ms a step | accuracy | log-loss |\n|---|---|---|---|---|")
    for name, (read, models) in CASES.items():
        if options.only in name:
            rows = [*islice(read(Path(folder)), options.rows)]
            for title, make in models.items():
                ms, right, loss = test_then_train(make(), rows)
                print(f"| {name}, {len(rows)} rows | {title} | {ms:.3f} | {right:.4f} | {loss:.4f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
