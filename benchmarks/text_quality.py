"""How good the probabilities are: TextClassifier and scikit-learn's models on 20 Newsgroups and SMS spam.

SUFFICE_DATA=… python -m benchmarks.text_quality [--quick]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.model_selection import StratifiedKFold

from benchmarks.text_peers import PEERS
from suffice.model.evaluate import Reliability

FOLDS = 10


# ------------------------------------------------------------------------------------------ the data


@dataclass(frozen=True)
class Corpus:
    """Documents and their labels."""

    texts: list[str]
    labels: Any

    @classmethod
    def read(cls, folder: str, name: str, column: str = "text", every: int = 1) -> Corpus:
        """Read every so many documents of a file, in the order of the file."""
        table = pq.read_table(Path(folder) / f"{name}.parquet", columns=["label", column])
        return cls(table[column].to_pylist()[::every], np.array(table["label"].to_pylist())[::every])

    def __getitem__(self, rows: Any) -> Corpus:
        return Corpus([self.texts[i] for i in rows], self.labels[rows])

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def megabytes(self) -> float:
        """The size of the documents in UTF-8."""
        return sum(len(text.encode()) for text in self.texts) / 1e6


# ------------------------------------------------------------------------------------------ how good they are


@dataclass(frozen=True)
class Quality:
    """How good the probabilities of documents not learned are."""

    accuracy: float
    log_loss: float
    calibration_error: float

    @classmethod
    def of(cls, log_p: Any, classes: Any, labels: Any) -> Quality:
        """Judge log-posteriors by the labels; logarithms, as some models say of what happened that it cannot."""
        right = np.asarray(classes)[log_p.argmax(axis=1)] == labels
        loss = -log_p[np.arange(len(labels)), np.searchsorted(classes, labels)].mean()
        return cls(float(right.mean()), float(loss), Reliability.of(np.exp(log_p.max(axis=1)), right).error)


def held_out(make: Callable[[], Any], train: Corpus, test: Corpus) -> Quality:
    """Learn one half and judge by the other."""
    model = make().fit(train.texts, train.labels)
    return Quality.of(model.predict_log_proba(test.texts), model.classes_, test.labels)


def cross_validated(make: Callable[[], Any], corpus: Corpus, positive: str) -> tuple[Quality, float]:
    """Judge each of ten folds by a model of the other nine; also the share of the other class called positive."""
    log_p = np.empty((len(corpus), 2))
    for learn, ask in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(corpus.labels, corpus.labels):
        model = make().fit(corpus[learn].texts, corpus.labels[learn])
        log_p[ask] = model.predict_log_proba(corpus[ask].texts)
    classes = np.unique(corpus.labels)
    called = classes[log_p.argmax(axis=1)] == positive
    return Quality.of(log_p, classes, corpus.labels), float(called[corpus.labels != positive].mean())


# ------------------------------------------------------------------------------------------ the table


def main() -> int:
    """Print how good each model is, on each task."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text_quality", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the documents")
    every = 20 if parser.parse_args().quick else 1
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        print("SUFFICE_DATA must say where 20newsgroups-train.parquet and the others are", file=sys.stderr)
        return 2
    models = OURS | PEERS
    print("| documents | model | accuracy | log-loss | calibration error | false positives | seconds |")
    print("|:--|:--|--:|--:|--:|--:|--:|")
    for column in ("text", "body"):
        train, test = (Corpus.read(folder, f"20newsgroups-{half}", column, every) for half in ("train", "test"))
        for name, make in models.items():
            for what, halves in ((column, (train, test)), (f"{column}, halves swapped", (test, train))):
                begun = time.perf_counter()
                write_line(what, name, held_out(make, *halves), None, time.perf_counter() - begun)
    messages = Corpus.read(folder, "sms-spam", every=every)
    for name, make in models.items():
        begun = time.perf_counter()
        write_line("SMS, ten folds", name, *cross_validated(make, messages, "spam"), time.perf_counter() - begun)
    return 0


def write_line(what: str, name: str, found: Quality, false_positives: float | None, seconds: float) -> None:
    """Print a row of the table as soon as it is known."""
    wrong = "–" if false_positives is None else f"{100 * false_positives:.2f} %"
    numbers = f"{found.accuracy:.4f} | {found.log_loss:.3f} | {found.calibration_error:.3f} | {wrong} | {seconds:.1f}"
    print(f"| {what} | {name} | {numbers} |", flush=True)


def text_classifier() -> Any:
    """Ours as it is; suffice is imported where it is needed, so that peers can be judged alone."""
    from suffice import TextClassifier

    return TextClassifier()


OURS = {"`TextClassifier()`": text_classifier}


if __name__ == "__main__":
    sys.exit(main())
