"""The summary of a model: rows, classes, columns, and leave-one-out scores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suffice.cli.terminal import counted, heading, number, say, show_columns
from suffice.core.errors import NotPartError
from suffice.model.evaluate import Evaluation

if TYPE_CHECKING:
    from suffice.cli.model_files import Fitted, Loaded
    from suffice.engines.files import Files

MOST_CLASSES = 20  # that are listed


class Check(NamedTuple):
    """Scores on the training rows; `left_out` if each was predicted by the model of all others."""

    evaluation: Evaluation
    left_out: bool


def checked(model: Fitted, source: Files, target: str, weight: str | None, drop: bool = False) -> Check:
    """Predict each row by the model of all others, in a second pass; by the whole model if no row can be left out.

    With `drop`, rows without a label are left out.
    """
    classes = model.estimator.classes_
    evaluation = Evaluation.of([], classes, np.empty((0, len(classes))))
    try:
        for x, y, w in model.batches(source, target, weight, drop):
            evaluation += Evaluation.of(y, classes, np.exp(model.estimator.leave_one_out(x, y, w)), w)
        return Check(evaluation, left_out=True)
    except NotPartError:  # rows of joint columns were compressed to a limit
        return Check(model.evaluate(source, target, weight), left_out=False)


def size_of(model: Loaded, between: str = "and") -> str:
    """Return the numbers of rows and classes that a model has learned."""
    rows = counted(model.learned.statistics.weight.sum(), "row", "rows")
    return f"{rows} {between} {counted(len(model.classes), 'class', 'classes')}"


def columns_of(model: Loaded) -> list[dict[str, Any]]:
    """Return the family of each column, its information on the class, and a note."""
    if not model.is_table:
        names = model.predictor.columns
        what = "text" if model.form == "texts" else model.kind.removesuffix("NB").lower()
        return [{"column": name, "family": what, "votes": "yes", "bits": None, "note": ""} for name in names]
    table = model.predictor.described
    rows = []
    for name, (family, votes, bits, note) in zip(table.rows, table.values, strict=True):
        family = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", family).lower() or None  # as on the command line
        own = {"column": name, "family": family, "votes": votes, "bits": float(bits) if bits else None, "note": note}
        rows.append(own)
    return rows


def summary(model: Fitted, path: str, found: Check | None) -> dict[str, Any]:
    """Return what was learned, for JSON."""
    counts = model.estimator.class_count_
    classes = [{"label": label, "rows": n} for label, n in zip(model.classes, counts.tolist(), strict=True)]
    out = {"model": path, "estimator": model.kind, "rows": float(counts.sum()), "classes": classes}
    out["columns"] = columns_of(model)
    if model.learned.unlabelled is not None:
        out["unlabelled"] = {k: None if v != v else v for k, v in model.estimator.unlabelled_.items()}
    if found is not None:
        scores = {"accuracy": found.evaluation.accuracy, "log_loss": found.evaluation.log_loss}
        out["leave_one_out" if found.left_out else "training_rows"] = scores
    return out


def show_summary(model: Fitted, path: str, found: Check | None) -> None:
    """Print what was learned."""
    counts = model.estimator.class_count_
    say(f"{model.kind} of {size_of(model)}, in {path}", "bold")
    heading("Classes")
    share = counts / counts.sum()
    cells = [[number(n), f"{100 * p:.1f} %"] for n, p in zip(counts, share, strict=True)]
    names = [str(label) for label in model.classes[:MOST_CLASSES]]
    show_columns("class", names, ["rows", "share"], cells[:MOST_CLASSES], [False, False])
    if len(cells) > MOST_CLASSES:
        say(f"… and {len(cells) - MOST_CLASSES} more", "dim")
    if model.form == "texts":
        heading("Words")
        say(f"{len(model.estimator.vocabulary_)} words and groups of words")
    show_schema(model)
    if model.learned.unlabelled is not None:
        _show_unlabelled(model.estimator.unlabelled_)
    if found is not None:
        if found.left_out:
            heading("Leave-one-out: each row predicted by the model of all others")
        else:
            heading("On the training rows: rows of joint columns were compressed to a limit, so none can be left out")
        scores = found.evaluation
        say(f"accuracy  {scores.accuracy:.4f}  (always the most frequent class: {share.max():.4f})")
        say(f"log-loss  {scores.log_loss:.4f}  (class shares alone: {abs(np.sum(share * np.log(share))):.4f})")


def _show_unlabelled(found: dict[str, float]) -> None:
    """Print what became of rows without labels."""
    heading("Rows without labels")
    rows = counted(found["rows"], "row", "rows")
    if not found["weight"]:
        say(f"{rows}, not used: the log-loss on labelled rows left out, {found['ignored']:.4f}, is best without them")
        return
    say(f"{rows} of weight {found['weight']:.3g}, divided among the classes {found['passes']} times")
    if found["reached"] == found["reached"]:
        say(
            f"log-loss on labelled rows left out: {found['ignored']:.4f} without them, {found['reached']:.4f} with them"
        )


def show_schema(model: Loaded) -> None:
    """Print each column of a table with its family, its information on the class, and a note."""
    if not model.is_table:
        return
    heading("Columns (bits: the information that a column alone gives on the class)")
    columns, cells = sorted(columns_of(model), key=lambda each: -(-1.0 if each["bits"] is None else each["bits"])), []
    for each in columns:
        votes = each["votes"] == "yes"
        bits = "" if each["bits"] is None else f"{each['bits']:.4f}"
        note = each["note"] or ("" if votes else "does not vote")
        cells.append([each["family"] or "—", bits, f"left out: {note}" if each["votes"] == "left out" else note])
    show_columns("column", [e["column"] for e in columns], ["family", "bits", ""], cells, [True, False, True])
