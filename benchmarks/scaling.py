"""How time falls with the number of threads: `python -m benchmarks.scaling [--threads 1,2,4,8,16] [--only SUBSTRING]`.

Each case runs in a process of its own for each number of threads (`SUFFICE_NUM_THREADS`), several times. The table
gives the median, and how many times as fast as one thread it is. `SUFFICE_DATA` says where 20 Newsgroups is. Without
it the cases of text read generated documents.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import data

Call = Callable[[], Any]


def gaussian_fit() -> Call:
    from suffice.naive_bayes import GaussianNB

    X, y = data.gaussian(4_000_000, 20, 10)
    return lambda: GaussianNB().fit(X, y).theta_


def gaussian_predict() -> Call:
    from suffice.naive_bayes import GaussianNB

    X, y = data.gaussian(2_000_000, 20, 10)
    model = GaussianNB().fit(X, y)
    return lambda: model.predict_log_proba(X)


def lda_fit() -> Call:
    from suffice.discriminant_analysis import LinearDiscriminantAnalysis

    X, y = data.gaussian(1_000_000, 100, 10)
    return lambda: LinearDiscriminantAnalysis().fit(X, y).means_


def categorical_fit() -> Call:
    from suffice.naive_bayes import CategoricalNB

    X, y = data.categories(4_000_000, 20, 10, 5)
    return lambda: CategoricalNB().fit(X, y).feature_log_prob_


def bayes_fit() -> Call:
    from suffice import BayesClassifier

    X, y = data.gaussian(4_000_000, 10, 10)
    return lambda: BayesClassifier().fit(X, y).predict_proba(X[:1])


def wide_fit() -> Call:
    from suffice import BayesClassifier

    X, y = data.gaussian(1000, 4000, 2)
    return lambda: BayesClassifier().fit(X, y).predict_proba(X[:1])


def documents() -> tuple[list[str], list[str]]:
    """20 Newsgroups, where it is; else words by Zipf's law."""
    folder = os.environ.get("SUFFICE_DATA")
    path = None if folder is None else Path(folder) / "20newsgroups-train.parquet"
    if path is not None and path.exists():
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        return table["text"].to_pylist(), table["label"].to_pylist()
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, 60_001)
    words = rng.choice(60_000, size=(12_000, 300), p=share / share.sum())
    return [" ".join(f"w{w}" for w in row) for row in words.tolist()], [f"c{c}" for c in rng.integers(0, 20, 12_000)]


def multinomial_text() -> Call:
    from suffice import TextClassifier

    texts, labels = documents()
    return lambda: TextClassifier(event="multinomial", smoothing=1.0, calibrate=False).fit(texts, labels)


def default_text() -> Call:
    from suffice import TextClassifier

    texts, labels = documents()
    return lambda: TextClassifier().fit(texts, labels).predict(texts[:1])


CASES: dict[str, Callable[[], Call]] = {
    "GaussianNB fit, 4M × 20": gaussian_fit,
    "GaussianNB predict_log_proba, 2M × 20": gaussian_predict,
    "LinearDiscriminantAnalysis fit, 1M × 100": lda_fit,
    "CategoricalNB fit, 4M × 20": categorical_fit,
    "multinomial text fit": multinomial_text,
    "default text fit and first answer": default_text,
    "BayesClassifier fit and first answer, 4M × 10": bayes_fit,
    "BayesClassifier fit and first answer, 1000 rows × 4000 columns": wide_fit,
}


def measure(case: str, seconds: float = 2.0) -> float:
    """Return the median time of a case in this process, over at least three calls."""
    call = CASES[case]()
    call()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < seconds and len(times) < 20):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times)


def in_process(case: str, threads: int) -> float:
    """Measure a case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--case", case]
    environment = os.environ | {"SUFFICE_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    root = Path(__file__).resolve().parents[1]
    answer = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return float(json.loads(answer.stdout))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", default="1,2,4,8,16", help="numbers of threads, by commas")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="run only cases whose name contains this")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(options.case)))
        return
    threads = [int(n) for n in options.threads.split(",")]
    print("| case | " + " | ".join(f"{n} (ms)" for n in threads) + f" | {threads[0]} ÷ {threads[-1]} |")
    print("|:--|" + "--:|" * (len(threads) + 1))
    for case in CASES:
        if options.only.lower() in case.lower():
            times = [in_process(case, n) for n in threads]
            shown = " | ".join(f"{1e3 * t:.1f}" for t in times)
            print(f"| {case} | {shown} | {times[0] / times[-1]:.1f}× |", flush=True)


if __name__ == "__main__":
    main()
