"""How good the probabilities are: BayesClassifier and scikit-learn's models on the test part of Adult.

SUFFICE_DATA=… python -m benchmarks.adult [--plot FILE]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.metrics import brier_score_loss, log_loss

from benchmarks import peers
from benchmarks.classifier import TARGET, fit_ours, kinds, read
from suffice.model.evaluate import BINS, Reliability

REPEATS = 5
REMOVED = 0.1  # share of the entries that are imputed


@dataclass(frozen=True)
class Result:
    """The probabilities of the second class on the test rows, and the time it took to learn and to answer."""

    name: str
    p: Any
    fit_seconds: float
    predict_seconds: float


def main() -> int:
    """Print the table; draw the diagram where one is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adult", description=__doc__.partition("\n")[0])
    parser.add_argument("--plot", metavar="FILE", help="also draw a reliability diagram, as SVG, PNG or PDF")
    options = parser.parse_args()
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        print("SUFFICE_DATA must say where adult-train.parquet and adult-test.parquet are", file=sys.stderr)
        return 2
    train, test = read("train", folder), read("test", folder)
    positive = test[TARGET].to_numpy() == max(test[TARGET].unique().to_pylist())
    results = [ours(name, options, train, test) for name, options in OURS.items()]
    results += [theirs(name, make, train, test) for name, make in THEIRS.items()]
    print("| model | accuracy | log-loss | Brier score | error of p(>50K) | fit (ms) | predict (ms) |")
    print("|:--|--:|--:|--:|--:|--:|--:|")
    for result in results:
        print(line(result, positive))
    print(remainder(train, test))
    print(imputations(train, test))
    if options.plot:
        draw([result for result in results if result.name in DRAWN], positive, options.plot)
    return 0


# ------------------------------------------------------------------------------------------ the models

OURS: dict[str, dict[str, Any]] = {
    "`BayesClassifier()`": {},
    "`BayesClassifier(calibrate=False)`": {"calibrate": False},
    '`BayesClassifier(calibrate="classes")`': {"calibrate": "classes"},
    '`BayesClassifier(smoothing="auto")`': {"smoothing": "auto"},
    '`BayesClassifier(missing="informative")`': {"missing": "informative"},
}
THEIRS: dict[str, Callable[..., Any]] = {
    "scikit-learn: GaussianNB, numbers only": peers.gaussian_numbers,
    "scikit-learn: GaussianNB, categories as indicators": peers.gaussian_everything,
    "scikit-learn: CategoricalNB, numbers in ten quantile bins": peers.quantile_bins,
    "scikit-learn: the same in CalibratedClassifierCV": peers.calibrated_bins,
    "scikit-learn: GaussianNB and CategoricalNB together": peers.MixedNB,
    "scikit-learn: logistic regression, categories as indicators": peers.logistic_regression,
}


def ours(name: str, options: dict[str, Any], train: pa.Table, test: pa.Table) -> Result:
    """Fit and ask ours, straight from Arrow."""
    rows = test.drop_columns([TARGET])
    model, fitting = timed(lambda: fit_ours(train, **options))
    p, asking = timed(lambda: model.predict_proba(rows))
    return Result(name, p[:, 1], fitting, asking)


def theirs(name: str, make: Callable[..., Any], train: pa.Table, test: pa.Table) -> Result:
    """Fit and ask a model of scikit-learn, from Arrow by way of pandas."""
    rows = test.drop_columns([TARGET])

    def fit() -> Any:
        frame = train.to_pandas()
        return make(*kinds(train)).fit(frame, frame[TARGET])

    with warnings.catch_warnings():  # nine of ten quantiles of capital_gain are 0
        warnings.filterwarnings("ignore", message="Bins whose width are too small")
        model, fitting = timed(fit)
    p, asking = timed(lambda: model.predict_proba(rows.to_pandas()))
    return Result(name, p[:, 1], fitting, asking)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the answer, and the median time of a few calls."""
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        answer = call()
        seconds.append(time.perf_counter() - begun)
    return answer, median(seconds)


# ------------------------------------------------------------------------------------------ how good they are


def line(result: Result, positive: Any) -> str:
    """Write a row of the table."""
    accuracy = np.mean((result.p > 0.5) == positive)
    numbers = [
        log_loss(positive, result.p),
        brier_score_loss(positive, result.p),
        Reliability.of(result.p, positive).error,
    ]
    cells = [f"{accuracy:.4f}", *(f"{number:.3f}" for number in numbers)]
    cells += [f"{1e3 * seconds:.0f}" for seconds in (result.fit_seconds, result.predict_seconds)]
    return f"| {result.name} | " + " | ".join(cells) + " |"


def remainder(train: pa.Table, test: pa.Table) -> str:
    """Say how much of the evidence no column and no pair tells."""
    found = fit_ours(train).evidence(test.drop_columns([TARGET]))
    rest, odds = (float(np.median(np.abs(found[name].to_numpy()))) for name in ("rest", "log_odds"))
    return f"\nevidence: median |rest| {rest:.4f}, median |log-odds| {odds:.2f}: {rest / odds:.2%}"


def imputations(train: pa.Table, test: pa.Table) -> str:
    """Say how well a tenth of all entries, which are removed, are filled in: by the default, and by naive Bayes."""
    rows, rng, columns, removed = test.drop_columns([TARGET]), np.random.default_rng(0), {}, {}
    for name in rows.column_names:
        gone = rng.random(rows.num_rows) < REMOVED
        removed[name] = gone & rows[name].is_valid().to_numpy()
        columns[name] = pa.array(rows[name].to_pylist(), type=rows[name].type, mask=gone)
    lines = []
    for structure in ("auto", "naive"):
        filled = fit_ours(train, structure=structure).impute(pa.table(columns))
        errors, right = [], []
        for name, gone in removed.items():
            true, found = rows[name].to_numpy()[gone], filled[name].to_numpy()[gone]
            if pa.types.is_integer(rows[name].type) or pa.types.is_floating(rows[name].type):
                errors.append(np.sqrt(np.mean((true - found) ** 2.0)) / train[name].to_numpy().std())
            else:
                right.append(np.mean(true == found))
        means = f"error of numbers {np.mean(errors):.3f} standard deviations, {np.mean(right):.1%} of categories right"
        lines.append(f"impute, structure={structure!r}: {means}")
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------ the diagram

DRAWN = {  # what to call it, line, marker, shade
    "`BayesClassifier()`": ("BayesClassifier()", "-", "o", "black"),
    "`BayesClassifier(calibrate=False)`": ("BayesClassifier(calibrate=False)", "--", "s", "0.35"),
    "scikit-learn: GaussianNB and CategoricalNB together": ("scikit-learn: two naive Bayes", ":", "^", "0.55"),
}


def draw(results: list[Result], positive: Any, file: str) -> None:
    """Draw the share of positives over the predicted probability, and a histogram of the probabilities below."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "suffice"})
    figure, (above, below) = plt.subplots(2, 1, figsize=(5, 6), sharex=True, height_ratios=(3, 1), layout="constrained")
    edges = np.linspace(0, 1, BINS + 1)
    for result in results:
        name, style, marker, shade = DRAWN[result.name]
        found = Reliability.of(result.p, positive)
        above.plot(found.said, found.true, style, marker=marker, color=shade, markersize=4.5, linewidth=1.4, label=name)
        below.stairs(found.share, edges, color=shade, linestyle=style, linewidth=1.4, baseline=None)
    above.plot([0, 1], [0, 1], color="0.75", linewidth=0.9, zorder=0, label="perfectly calibrated")
    above.set(ylabel="share that earns more than 50K", ylim=(-0.02, 1.02))
    above.legend(frameon=False, loc="upper left")
    below.set(xlabel="probability given to earning more than 50K", xlim=(-0.02, 1.02))
    below.set(
        ylabel="share of the rows",
        yscale="log",
        ylim=(0.004, 1),
        yticks=[0.01, 0.1, 1],
        yticklabels=["1 %", "10 %", "all"],
    )
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.93", linewidth=0.6)
        axes.set_axisbelow(True)
    plain = {"Date": None, "Creator": None} if file.endswith(".svg") else None  # the same bytes every time
    figure.savefig(file, metadata=plain, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
