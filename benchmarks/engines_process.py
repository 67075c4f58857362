"""Learn from files in a process of its own, for its peak memory: `python -m benchmarks.engines_process SIDE FILES`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.process import MEGABYTE, peak_memory


def measure(side: str, pattern: str) -> dict[str, Any]:
    """Seconds of the fit, without imports, the peak memory of the whole process in MB, and what was learned."""
    command = [sys.executable, "-m", "benchmarks.engines_process", side, pattern]
    root = Path(__file__).resolve().parents[1]
    answer = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(answer.stdout)


def gaussian(pattern: str) -> Any:
    """Ours, where the files lie."""
    from suffice.naive_bayes import GaussianNB

    return lambda: GaussianNB().fit(pattern, "y")


def bayes(pattern: str, structure: Any = "auto") -> Any:
    """Ours, families chosen by the data, and the first question answered, which is when they are chosen."""
    from suffice import BayesClassifier

    def learn() -> BayesClassifier:
        clf = BayesClassifier(structure=structure).fit(pattern, "y")
        clf.predict_proba({str(name): [0.0] for name in clf.feature_names_in_})
        return clf

    return learn


def polars(pattern: str) -> Any:
    """Read with Polars, learned with scikit-learn."""
    import polars as pl
    from sklearn.naive_bayes import GaussianNB

    def learn() -> GaussianNB:
        rows = pl.read_parquet(pattern)
        return GaussianNB().fit(rows.drop("y").to_numpy(), rows["y"].to_numpy())

    return learn


SIDES = {"gaussian": gaussian, "bayes": bayes, "naive": partial(bayes, structure="naive"), "polars": polars}


def main() -> None:
    """Answer one request."""
    learn = SIDES[sys.argv[1]](sys.argv[2])
    start = time.perf_counter()
    found = learn()
    seconds = time.perf_counter() - start
    learned = {"theta": found.theta_.tolist(), "var": found.var_.tolist()} if hasattr(found, "theta_") else {}
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory() / MEGABYTE, **learned}))


if __name__ == "__main__":
    main()
