"""Find planted errors among labels, beside cleanlab with logistic regression.

SUFFICE_DATA=… python -m benchmarks.wrong_labels [--only SET]

A share of the labels of Adult, SMS and 20 Newsgroups is replaced by another class at random. Ours is `suspects` of the
default classifier. The peer's probabilities are of logistic regression in five folds, as its guides have it: one-hot
and standardized columns, or words weighted by tf-idf. Both see the same rows and the same wrong labels.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import labelled_sets

RATES = (0.05, 0.2)


class Found(NamedTuple):
    """How many rows were listed, how well, and the processor time."""

    listed: int
    precision: float
    recall: float
    average_precision: float
    seconds: float


def main() -> int:
    """Print a line for each set, rate and method."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wrong_labels", description=__doc__)
    parser.add_argument("--only", default="", help="sets whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="every n-th row only, to see that it runs")
    options = parser.parse_args()
    if not labelled_sets.is_there():
        return 2
    print("| data | wrong | method | listed | precision | recall | F1 | average precision | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in labelled_sets.FILES:
        if options.only.lower() in name.lower():
            rows, labels = labelled_sets.whole(name, options.every)
            for rate in RATES:
                planted, wrong = with_errors(labels, rate)
                for method, find in (("`suspects`", ours), ("cleanlab, logistic regression", cleanlab)):
                    show(name, rate, method, judged(find, rows, planted, wrong))
    return 0


def show(name: str, rate: float, method: str, found: Found) -> None:
    both = found.precision + found.recall
    f1 = 2 * found.precision * found.recall / both if both else 0.0
    numbers = f"{found.precision:.3f} | {found.recall:.3f} | {f1:.3f} | {found.average_precision:.3f}"
    print(f"| {name} | {rate:.0%} | {method} | {found.listed} | {numbers} | {found.seconds:.1f} |", flush=True)


def with_errors(labels: NDArray[Any], rate: float, seed: int = 0) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Replace a share of labels by another class; return also which were replaced."""
    rng = np.random.default_rng(seed)
    classes, codes = np.unique(labels, return_inverse=True)
    wrong = rng.random(len(labels)) < rate
    other = (codes + rng.integers(1, len(classes), len(labels))) % len(classes)
    return np.where(wrong, classes[other], labels), wrong


def judged(find: Any, rows: Any, labels: NDArray[Any], wrong: NDArray[np.bool_]) -> Found:
    from sklearn.metrics import average_precision_score

    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        listed, score = find(rows, labels)
    seconds = time.process_time() - begun
    hits = wrong[listed].sum()
    average = average_precision_score(wrong, score)
    return Found(len(listed), float(hits / max(len(listed), 1)), float(hits / wrong.sum()), float(average), seconds)


def ours(rows: Any, labels: NDArray[Any]) -> tuple[Any, Any]:
    """Return the suspects, and how little each label is believed by the others."""
    import suffice as sf

    model = sf.TextClassifier() if isinstance(rows, list) else sf.BayesClassifier()
    model.fit(rows, labels)
    log_p = model.leave_one_out(rows, labels)
    return model.suspects(rows, labels).rows, -log_p[np.arange(len(labels)), np.searchsorted(model.classes_, labels)]


def cleanlab(rows: Any, labels: NDArray[Any]) -> tuple[Any, Any]:
    """Return the label issues of cleanlab, and one minus its quality of labels."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores
    from sklearn.model_selection import cross_val_predict

    _, codes = np.unique(labels, return_inverse=True)
    x = rows if isinstance(rows, list) else rows.to_pandas()
    p = cross_val_predict(logistic_regression(x), x, codes, cv=5, method="predict_proba")
    listed = find_label_issues(codes, p, return_indices_ranked_by="self_confidence", n_jobs=1)
    return listed, 1.0 - get_label_quality_scores(codes, p)


def logistic_regression(x: Any) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    last = LogisticRegression(max_iter=1000)
    if isinstance(x, list):
        return make_pipeline(TfidfVectorizer(), last)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    coded = OneHotEncoder(handle_unknown="ignore")
    chosen = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    return make_pipeline(make_column_transformer((numbers, chosen[0]), (coded, chosen[1])), last)


if __name__ == "__main__":
    sys.exit(main())
