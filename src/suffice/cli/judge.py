"""Commands that judge models: evaluate, cv, compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from suffice.cli.options import (
    Calibrate,
    Data,
    Drop,
    Families,
    InputFormat,
    Json,
    ModelFile,
    Smoothing,
    Target,
    TargetIfAny,
    Weight,
    listed,
    register,
)

if TYPE_CHECKING:
    from suffice.evaluation import Evaluation


def add_to(app: typer.Typer) -> None:
    """Give the program these commands."""
    for command in (evaluate, cv, compare):
        register(app, command)


def evaluate(
    model: ModelFile,
    data: Data,
    target: TargetIfAny = None,
    weight: Weight = None,
    input_format: InputFormat = None,
    json: Json = False,
) -> None:
    """Judge a model by rows whose labels are known.

    Accuracy, log-loss, Brier score and calibration error; precision and recall of each class; which classes are
    taken for which; and whether probabilities come true as often as they say.

    Example:
      suffice evaluate adult.suffice adult-test.parquet
    """
    from suffice.cli.files import opened
    from suffice.cli.models import Fitted

    found = Fitted.load(model)
    with opened(data, input_format) as source:
        labels_in = found.target(source, target)
        evaluation = judged(found, source, labels_in, weight)
    _show(evaluation, json, f"{labels_in} of {{rows}} rows")


def judged(found: Any, source: Any, target: str, weight: str | None) -> Evaluation:
    """A model's predictions against the labels of rows, batch by batch."""
    from suffice.errors import InvalidDataError
    from suffice.evaluation import Evaluation

    parts = (
        Evaluation.of(y, found.estimator.classes_, found.estimator.predict_proba(x), w)
        for x, y, w in found.batches(source, target, weight)
    )
    total: Evaluation | int = sum(parts)
    if isinstance(total, int):
        raise InvalidDataError("There are no rows to judge by")
    return total


def cv(
    data: Data,
    target: Target,
    folds: Annotated[int, typer.Option("--folds", "-k", help="How many parts.", min=2)] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Decides which rows go together.")] = 0,
    families: Families = None,
    drop: Drop = None,
    weight: Weight = None,
    smoothing: Smoothing = None,
    calibrate: Calibrate = True,
    input_format: InputFormat = None,
    json: Json = False,
) -> None:
    """Cross-validate, subtracting each fold.

    Each part of the rows is judged by the model of all others. No model is fitted twice: a fold is subtracted from
    the statistics of all. The data are read into memory.

    Example:
      suffice cv adult-train.parquet --target income --folds 10
    """
    import numpy as np
    import pyarrow as pa

    from suffice.cli.files import opened
    from suffice.cli.learn import unfitted
    from suffice.cli.models import Fitted, weights
    from suffice.evaluation import Evaluation

    with opened(data, input_format, listed(drop)) as source:
        estimator = unfitted(source, target, weight, families, smoothing, calibrate)
        estimator.fit(source, target, weight)
        found = Fitted(estimator)
        table = pa.Table.from_batches(list(source.batches()), source.schema)
    labels, w = found.labels(table, target), weights(table, weight)
    rows = found.rows(table, (target, weight))
    log_p = estimator.cross_validate(rows, labels, folds=folds, sample_weight=w, random_state=seed)
    _show(Evaluation.of(labels, estimator.classes_, np.exp(log_p), w), json, f"{folds} folds of {{rows}} rows")


def _show(found: Evaluation, json: bool, title: str) -> None:
    import numpy as np

    from suffice.cli.screen import heading, number, say, show_columns, show_json, show_table

    if json:
        show_json(found.as_dict())
        return
    say(title.format(rows=number(found.weight)), "bold")
    share = found.support / found.weight
    alone = float(-(share[share > 0] * np.log(share[share > 0])).sum())
    notes = {
        "accuracy": f"always the commonest class: {share.max():.4f}",
        "log-loss": f"class shares alone: {alone:.4f}",
    }
    notes |= {"Brier score": "0 is best", "calibration error": "0 where probabilities hold"}
    cells = [[number(value), notes[name]] for name, value in found.scores().items()]
    show_columns("", list(found.scores()), ["", ""], cells, [False, True])
    _, by_class, confusion, reliability = found.tables()
    heading("Class by class")
    show_table(by_class, 50)
    heading("Confusion: rows of a class (down) by what they were called (across)")
    show_table(confusion, 50)
    heading("Calibration: how often the class that was called came true")
    show_table(reliability)


def compare(
    data: Data,
    target: Target,
    plot: Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Draw the curves as well.")] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Random cuts of each size.", min=1)] = 5,
    drop: Drop = None,
    input_format: InputFormat = None,
    json: Json = False,
) -> None:
    """Compare with logistic regression over growing training sizes.

    Generative against discriminative: which of them is better with how many rows, where they cross, and what each
    takes to train.

    Example:
      suffice compare adult-train.parquet --target income --plot curves.svg
    """
    import pyarrow as pa

    from suffice.cli.files import check_output, opened
    from suffice.cli.screen import say, show_json, show_table

    check_output(plot)
    with opened(data, input_format, listed(drop)) as source:
        source.check_column(target, "to learn")
        table = pa.Table.from_batches(list(source.batches()), source.schema)
    from suffice.comparison import compare as curves

    found = curves(table, target, repeats=repeats)
    if plot is not None:
        found.plot(plot)
    if json:
        show_json(found.as_dict())
        return
    for each in found.tables():
        show_table(each)
        say()
    say(str(found))
