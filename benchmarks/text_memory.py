"""Measure the peak memory of learning text in a process of its own: `python -m benchmarks.text_memory REQUEST`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.process import MEGABYTE, peak_extra_memory
from benchmarks.text_peers import default_pipeline
from benchmarks.text_quality import Corpus


def measure(side: str, ngrams: tuple[int, int], folder: str, every: int, repeat: int = 0) -> dict[str, Any]:
    """Fit in a fresh process; see `answer_request` for what comes back."""
    request = {"side": side, "ngrams": ngrams, "folder": folder, "every": every, "repeat": repeat}
    command = [sys.executable, "-m", "benchmarks.text_memory", json.dumps(request)]
    root = Path(__file__).resolve().parents[1]
    answer = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(answer.stdout)


def answer_request(side: str, ngrams: list[int], folder: str, every: int, repeat: int) -> dict[str, Any]:
    """Fit, and return the peak above the memory held before, and the size of the model, all in MB.

    `table_mb` is the size of the vocabulary's statistics: 8 bytes for every word and class, and the words themselves.
    `saved_mb` is that of the file ours is saved to. With `repeat`, all documents are one, that many times over.
    """
    corpus = Corpus.read(folder, "20newsgroups-train", every=every)
    if repeat:
        corpus = Corpus(["\n".join(corpus.texts * repeat), "and another"], corpus.labels[[0, -1]])
    make = ours if side == "ours" else default_pipeline
    made = make(tuple(ngrams))
    warm = Corpus(["some words to begin with", "and more"], corpus.labels[[0, -1]])
    learn(make(tuple(ngrams)), warm)  # imports and thread stacks come first
    extra = peak_extra_memory(lambda: learn(made, corpus))
    words = list(made.vocabulary_ if side == "ours" else made[0].vocabulary_)
    letters = sum(len(word.encode()) for word in words)
    found = {"extra_mb": extra, "text_mb": corpus.megabytes, "words": len(words), "classes": len(made.classes_)}
    found["table_mb"] = (8 * len(words) * len(made.classes_) + letters) / MEGABYTE
    if side == "ours":
        with tempfile.TemporaryDirectory() as place:
            made.save(Path(place) / "model")
            found["saved_mb"] = (Path(place) / "model").stat().st_size / MEGABYTE
    return found


def ours(ngrams: tuple[int, int]) -> Any:
    """The model equal to scikit-learn's."""
    from suffice import TextClassifier

    return TextClassifier(event="multinomial", ngrams=ngrams, smoothing=1.0, calibrate=False)


def learn(model: Any, corpus: Corpus) -> None:
    """Fit, and ask one question, as ours computes the parameters when they are first needed."""
    model.fit(corpus.texts, corpus.labels).predict(corpus.texts[-1:])


if __name__ == "__main__":
    print(json.dumps(answer_request(**json.loads(sys.argv[1]))))
