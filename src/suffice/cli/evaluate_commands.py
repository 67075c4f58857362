"""Commands that evaluate models: evaluate, cv, compare."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from typer import Option

from suffice.cli import options
from suffice.cli.data_files import opened
from suffice.cli.pictures import check_picture, write_picture
from suffice.cli.terminal import counted, heading, number, progress, say, show_columns, show_json, show_table

if TYPE_CHECKING:
    from suffice.model.evaluate import Evaluation
    from suffice.views.comparison import Comparison

WITH_NAMES = 6  # classes, up to which their names fit over the columns of a confusion matrix


def evaluate(
    model: options.ModelFile,
    data: options.Data,
    target: options.TargetIfAny = None,
    weight: options.Weight = None,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Evaluate a model on rows whose labels are known.

    Shows accuracy, log-loss, Brier score and calibration error; precision and recall of each class; the confusion
    matrix; and how often the predicted class is right, by its probability.

    Example:
      suffice evaluate adult.suffice adult-test.parquet
    """
    from suffice.cli.model_files import Loaded

    found = Loaded.load(model)
    with opened(data, input_format) as source:
        labels_in = found.target(source, target)
        evaluation = found.evaluate(source, labels_in, weight)
    _show(evaluation, json, f"{labels_in} of {{rows}}")


def cv(
    data: options.Data,
    target: options.Target,
    folds: Annotated[int, Option("--folds", "-k", help="How many folds.", min=2)] = 10,
    seed: Annotated[int, Option("--seed", help="Seed of the folds.", min=0)] = 0,
    families: options.Families = None,
    drop: options.Drop = None,
    weight: options.Weight = None,
    smoothing: options.Smoothing = None,
    calibrate: options.Calibrate = True,
    structure: options.Structure = "auto",
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Cross-validate.

    Each fold is predicted by the model of all other rows. The model is fitted once: the statistics of each fold are
    subtracted from those of all rows. The data are read into memory.

    Example:
      suffice cv adult-train.parquet --target income --folds 10
    """
    import numpy as np
    import pyarrow as pa

    from suffice.cli.fit_options import unfitted
    from suffice.cli.model_files import Fitted, weights
    from suffice.model.evaluate import Evaluation

    with opened(data, input_format, drop) as source:
        estimator = unfitted(source, target, weight, families, smoothing, calibrate, structure=structure)
        estimator.fit(source, target, weight)
        found = Fitted(estimator)
        table = pa.Table.from_batches(list(source.batches()), source.schema)
    labels, w = found.labels(table, target), weights(table, weight)
    rows = found.rows(table, (target, weight))
    log_p = estimator.cross_validate(rows, labels, folds=folds, sample_weight=w, random_state=seed)
    _show(Evaluation.of(labels, estimator.classes_, np.exp(log_p), w), json, f"{folds} folds of {{rows}}")


def _show(found: Evaluation, json: bool, title: str) -> None:
    import numpy as np

    if json:
        show_json(found.as_dict())
        return
    say(title.format(rows=counted(found.weight, "row", "rows")), "bold")
    say()
    share = found.support / found.weight
    alone = abs(float((share[share > 0] * np.log(share[share > 0])).sum()))
    notes = {
        "accuracy": f"always the most frequent class: {share.max():.4f}",
        "log-loss": f"class shares alone: {alone:.4f}",
    }
    notes |= {"Brier score": "0 is best", "calibration error": "0 is best"}
    for name, value in found.scores().items():
        say(f"{name:17}  {value:.4f}  ({notes[name]})")
    _, by_class, confusion, reliability = found.tables()
    heading("By class")
    show_table(by_class, 50)
    heading("Confusion: true classes (down) by predicted classes (across)")
    if len(confusion.rows) > WITH_NAMES:  # numbers over the columns are shorter than names
        numbers = [str(i + 1) for i in range(len(confusion.rows))]
        names = [f"{i} {name}" for i, name in zip(numbers, confusion.rows, strict=True)]
        confusion = replace(confusion, rows=names, columns=numbers)
    show_table(confusion, 50)
    heading("Calibration: how often the predicted class is right, by its probability")
    show_table(reliability)


def compare(
    data: options.Data,
    target: options.Target,
    plot: Annotated[str | None, Option("--plot", metavar="FILE", help="Draw the curves: .png, .svg or .pdf.")] = None,
    metric: Annotated[str, Option("--metric", metavar="accuracy|log_loss|seconds", help="What to draw.")] = "accuracy",
    sizes: Annotated[
        str | None, Option("--sizes", metavar="20,50,100", help="Training rows; by default eight sizes.")
    ] = None,
    repeats: Annotated[int, Option("--repeats", help="How often the rows are shuffled.", min=1)] = 10,
    seed: Annotated[int, Option("--seed", help="Seed of the test rows and of the orders.", min=0)] = 0,
    families: options.Families = None,
    drop: options.Drop = None,
    smoothing: options.Smoothing = None,
    calibrate: options.Calibrate = True,
    structure: options.Structure = "auto",
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Compare with logistic regression over growing training sizes.

    Generative against discriminative: which model is better with how many rows, where the learning curves cross, and
    how long training takes. Logistic regression is scikit-learn's. The data are read into memory.

    Example:
      suffice compare adult-train.parquet --target income --plot curves.svg
    """
    import pyarrow as pa

    from suffice.cli.fit_options import unfitted
    from suffice.views.plot.evaluation_plots import METRICS

    if metric not in METRICS:
        raise options.invalid(f"--metric: expected one of {', '.join(METRICS)}; found {metric!r}")
    if plot is not None:
        check_picture(plot, "--plot")
    wanted = _sizes(sizes)
    with opened(data, input_format, drop) as source:
        estimator = unfitted(source, target, None, families, smoothing, calibrate, structure=structure)
        table = pa.Table.from_batches(list(source.batches()), source.schema)
    from suffice.views.comparison import compare as curves

    with progress("training") as shown:
        found = curves(estimator, table, target, sizes=wanted, repeats=repeats, random_state=seed, progress=shown)
    if plot is not None:
        write_picture(plot, lambda ax: found.plot(ax, metric=metric))
    if json:
        crossing = {name: found.crossing(name) for name in ("accuracy", "log_loss")}
        show_json({"models": found.names, "crossing": crossing, "repeats": found.to_arrow().to_pylist()})
        return
    _show_curves(found)
    if plot is not None:
        say(f"The curves are in {plot}")


def _sizes(given: str | None) -> list[int] | None:
    if given is None:
        return None
    try:
        return [int(each) for each in given.split(",")]
    except ValueError:
        raise options.invalid(f"--sizes: expected integers, such as 20,50,100; found {given!r}") from None


def _show_curves(found: Comparison) -> None:
    say(f"{found.names[0]} against {found.names[1]}, tested on {found.held_out} rows", "bold")
    say(f"({found.band_title})")
    say()
    for metric, title in (("accuracy", "accuracy"), ("log_loss", "log-loss"), ("seconds", "seconds to train")):
        cells: list[list[str]] = [[] for _ in found.sizes]
        for low, middle, high in (found.band(metric, model) for model in range(2)):
            for i, row in enumerate(cells):
                row += [number(middle[i]), f"{number(low[i])} to {number(high[i])}"]
        heads = [head for name in found.names for head in (name, "")]
        say(title, "bold")
        show_columns("rows", [str(size) for size in found.sizes], heads, cells, [False] * 4)
        say()
    say(found.verdict("accuracy"))
    say(found.verdict("log_loss"))
