"""The kernels as two compilers build them: `make bench-kernels`.

Each build is measured in a process of its own, on one thread. The processes take turns, and the table gives the ratio
of the least processor times: what one compiler loses against the other. `--level x86-64` measures a lesser
instruction set. `--levels` compares all instruction sets of the first build: what a processor without AVX-512 takes.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]
ONE_THREAD = {"SUFFICE_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def cases() -> dict[str, Callable[[], object]]:
    """Return calls of estimators whose time is nearly that of one kernel."""
    from suffice import BayesClassifier
    from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, KernelNB, MultinomialNB
    from suffice.text import BagOfWords

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 20)), rng.integers(0, 5, 60_000)
    wide, few = rng.normal(size=(20_000, 64)), y[:20_000]
    counts, codes = rng.poisson(1.0, (20_000, 50)).astype(float), rng.integers(0, 8, (60_000, 12))
    words = [" ".join(f"word{k}" for k in rng.zipf(1.3, 60) % 5000) for _ in range(3000)]
    gaussian, multinomial = GaussianNB().fit(X, y), MultinomialNB().fit(counts, few)
    linear = LinearDiscriminantAnalysis(solver="lsqr").fit(wide, few)
    quadratic, categorical = QuadraticDiscriminantAnalysis().fit(wide, few), CategoricalNB().fit(codes, y)
    kernel = KernelNB().fit(X[:, :2], y)
    rows = rng.integers(0, 3, 100_000)
    table = rng.normal(size=(100_000, 10)) + 0.3 * rows[:, None]
    classifier = BayesClassifier().fit(table, rows)
    return {
        "moments": lambda: GaussianNB().fit(X, y),
        "moments, column-major": lambda: GaussianNB().fit(np.asfortranarray(X), y),
        "gaussian densities": lambda: gaussian.predict_log_proba(X),
        "totals": lambda: MultinomialNB().fit(counts, few),
        "dense scores": lambda: multinomial.predict_log_proba(counts),
        "bernoulli": lambda: BernoulliNB().fit(counts, few),
        "category scores": lambda: categorical.predict_log_proba(codes),
        "scatter": lambda: QuadraticDiscriminantAnalysis().fit(wide, few),
        "linear scores, posterior": lambda: linear.predict_proba(wide),
        "quadratic densities": lambda: quadratic.predict_log_proba(wide),
        "kernel densities": lambda: kernel.predict_log_proba(X[:5000, :2]),
        "words": lambda: BagOfWords().fit_transform(words),
        "a table, fit and first answer": lambda: BayesClassifier().fit(table, rows).predict_proba(table[:1]),
        "a table, answers": lambda: classifier.predict_proba(table),
    }


def measure(repeats: int) -> dict[str, float]:
    """Return the least processor time of each case, in milliseconds."""
    found = {}
    for name, call in cases().items():
        call()
        times = []
        for _ in range(repeats):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        found[name] = 1e3 * min(times)
    return found


def load(build: Path) -> None:
    """Let `suffice._core` be the module in a build folder."""
    import importlib.machinery
    import importlib.util

    (path,) = build.glob("_core*.so")
    loader = importlib.machinery.ExtensionFileLoader("suffice._core", str(path))
    spec = importlib.util.spec_from_file_location("suffice._core", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["suffice._core"] = module
    loader.exec_module(module)


def main() -> None:
    """Print a table of the builds that are named, the first of them being the one to compare with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs="+", type=Path, help="folders in which CMake built the kernels")
    parser.add_argument("--rounds", type=int, default=3, help="how often the builds take turns")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each case in one turn")
    parser.add_argument("--level", default="", help="x86-64, x86-64-v3 or x86-64-v4; the best by default")
    parser.add_argument("--levels", action="store_true", help="compare all instruction sets of the first build")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        load(asked.builds[0])
        print(json.dumps(measure(asked.repeats)))
        return
    sides = {build.name: (build, asked.level) for build in asked.builds}
    if asked.levels:
        sides = {level: (asked.builds[0], level) for level in reversed(LEVELS)}
    best: dict[str, dict[str, float]] = {side: {} for side in sides}
    for _ in range(asked.rounds):
        for side, times in best.items():
            build, level = sides[side]
            call = [sys.executable, "-m", "benchmarks.kernels", "--one", "--repeats", str(asked.repeats), str(build)]
            environment = os.environ | {"SUFFICE_INSTRUCTION_SET": level} | ONE_THREAD
            out = subprocess.run(call, env=environment, capture_output=True, text=True, check=True).stdout
            for name, value in json.loads(out.splitlines()[-1]).items():
                times[name] = min(value, times.get(name, value))
    first, *others = best
    print("| kernel | " + " | ".join([f"{first}, ms", *(f"{each} ÷ {first}" for each in others)]) + " |")
    print("|---" * (1 + len(best)) + "|")
    for name, value in best[first].items():
        ratios = [f"{best[each][name] / value:.2f}" for each in others]
        print(f"| {name} | " + " | ".join([f"{value:.2f}", *ratios]) + " |")


if __name__ == "__main__":
    main()
