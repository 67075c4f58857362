"""What a model has learned: rows, classes, columns, and how it does on each row without that row."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.cli.terminal import counted, heading, number, say, show_columns
from suffice.core.errors import NotPartError
from suffice.model.evaluate import Evaluation

CLASSES = 20  # that are listed


@dataclass(frozen=True)
class Check:
    """How a model does on the rows it has learned, each `left_out` of it or not."""

    evaluation: Evaluation
    left_out: bool


def checked(model: Any, source: Any, target: str, weight: str | None) -> Check:
    """Judge each row by the model without it, in a second pass; by the whole model where no row can be left out."""
    estimator, classes = model.estimator, model.estimator.classes_

    def judged(answers: Callable[..., Any]) -> Evaluation:
        parts = (Evaluation.of(y, classes, answers(x, y, w), w) for x, y, w in model.batches(source, target, weight))
        return sum(parts, start=Evaluation.of([], classes, np.empty((0, len(classes)))))

    try:
        return Check(judged(lambda x, y, w: np.exp(estimator.leave_one_out(x, y, w))), left_out=True)
    except NotPartError:  # values were compressed to a limit
        return Check(judged(lambda x, *_: estimator.predict_proba(x)), left_out=False)


def size_of(model: Any) -> str:
    """How much a model has learned in all."""
    rows = counted(model.learned.statistics.weight.sum(), "row", "rows")
    return f"{rows} of {counted(len(model.classes), 'class', 'classes')} in all"


def title_of(model: Any, path: str) -> str:
    """A line that says what a model is."""
    rows, classes = model.learned.statistics.weight.sum(), len(model.classes)
    learned = f"{counted(rows, 'row', 'rows')} and {counted(classes, 'class', 'classes')}"
    return f"{model.kind} of {learned}, in {path}"


def columns_of(model: Any) -> list[dict[str, Any]]:
    """What each column is taken to be."""
    if not model.is_table:
        names = model.predictor.columns
        what = "text" if model.form == "texts" else model.kind.removesuffix("NB").lower()
        return [{"column": name, "family": what, "votes": "yes", "bits": None, "note": ""} for name in names]
    table = model.predictor.described
    rows = []
    for name, (family, votes, bits, note) in zip(table.rows, table.values, strict=True):
        told = float(bits) if bits else None
        rows.append({"column": name, "family": _plain_name(family) or None, "votes": votes, "bits": told, "note": note})
    return rows


def _plain_name(family: str) -> str:
    """MultivariateGaussian as multivariate-gaussian, as the command line calls it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", family).lower()


def summary(model: Any, path: str, found: Check | None) -> dict[str, Any]:
    """What was learned, for programs."""
    estimator = model.estimator
    counts = zip(model.classes, estimator.class_count_.tolist(), strict=True)
    out = {
        "model": path,
        "estimator": type(estimator).__name__,
        "rows": float(estimator.class_count_.sum()),
        "classes": [{"label": label, "rows": rows} for label, rows in counts],
        "columns": columns_of(model),
    }
    if found is not None:
        scores = {"accuracy": found.evaluation.accuracy, "log_loss": found.evaluation.log_loss}
        out["leave_one_out" if found.left_out else "training_rows"] = scores
    return out


def show_summary(model: Any, path: str, found: Check | None) -> None:
    """What was learned, for people."""
    estimator = model.estimator
    counts = estimator.class_count_
    say(title_of(model, path), "bold")
    heading("Classes")
    share = counts / counts.sum()
    cells = [[number(n), f"{100 * p:.1f} %"] for n, p in zip(counts, share, strict=True)]
    names = [str(label) for label in model.classes[:CLASSES]]
    show_columns("class", names, ["rows", "share"], cells[:CLASSES], [False, False])
    if len(cells) > CLASSES:
        say(f"… and {len(cells) - CLASSES} more", "dim")
    if model.form == "texts":
        heading("Words")
        say(f"{len(estimator.vocabulary_)} words and groups of words are known")
    if model.is_table:
        heading("Columns (bits: what a column tells of the class by itself)")
        show_schema(columns_of(model))
    if found is not None:
        if found.left_out:
            exact = ", exact" if getattr(estimator, "limit", None) is None else ""
            heading(f"Leave-one-out{exact}: each row judged by the model of all others")
        else:
            heading("On the rows it has learned: values were compressed, so none can be left out (--limit)")
        judged = found.evaluation
        say(f"accuracy  {judged.accuracy:.4f}  (always the commonest class: {share.max():.4f})")
        say(f"log-loss  {judged.log_loss:.4f}  (the class shares alone: {abs(np.sum(share * np.log(share))):.4f})")


def show_schema(columns: list[dict[str, Any]]) -> None:
    """Each column with its family, how much it tells, and what there is to say of it."""
    cells = []
    for each in columns:
        votes = each["votes"] == "yes"
        bits = "" if each["bits"] is None else f"{each['bits']:.4f}"
        note = each["note"] or ("" if votes else "does not vote")
        cells.append([each["family"] or "—", bits, f"left out: {note}" if each["votes"] == "left out" else note])
    show_columns("column", [e["column"] for e in columns], ["family", "bits", ""], cells, [True, False, True])
