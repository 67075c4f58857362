"""Commands that make models: fit, update, forget, drop-class, merge."""

from __future__ import annotations

from typing import Annotated

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
    register,
)

NewModel = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; by default MODEL is replaced.")
]
ModelOut = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the model.")]


def add_to(app: typer.Typer) -> None:
    """Give the program these commands."""
    for command in (fit, update, forget, drop_class, merge):
        register(app, command)


def fit(
    data: Data,
    target: Target,
    output: ModelOut,
    families: Families = None,
    drop: Drop = None,
    weight: Weight = None,
    smoothing: Smoothing = None,
    calibrate: Calibrate = True,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="NUMBER|auto|none",
            help="How many values of a column each class keeps: all (none) up to 1 GB of files, 5000 (auto) beyond. "
            "Where more came, rows can be neither left out nor forgotten.",
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", metavar="FILE", help="Keep what was learned so far here, to go on after a stop."),
    ] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Leave each row out once, exactly.")] = True,
    input_format: InputFormat = None,
    json: Json = False,
) -> None:
    """Learn a model from data in one pass, and say how good it is.

    Columns get a family by their values; a table that has one column of texts becomes a classifier of texts. The
    summary tells the rows, the classes, the family of each column, and the exact leave-one-out accuracy and log-loss:
    how the model does on each row when it has not seen it. (That takes a second pass; --no-check goes without it.)

    Example:
      suffice fit adult-*.parquet --target income -o adult.suffice --drop fnlwgt
    """
    from suffice.cli.data_files import STDIN, check_apart, check_model_output, check_output, opened
    from suffice.cli.fit_options import unfitted
    from suffice.cli.model_files import Fitted
    from suffice.cli.model_summary import checked, show_summary, summary
    from suffice.cli.terminal import show_json
    from suffice.core.errors import InvalidOptionError

    check_model_output(output)
    check_output(checkpoint)
    if checkpoint is not None and STDIN in data:
        raise InvalidOptionError("--checkpoint is for files: standard input cannot be taken up again")
    check_apart(output, data)
    with opened(data, input_format, drop) as source:
        estimator = unfitted(source, target, weight, families, smoothing, calibrate, limit)
        estimator.fit(source, target, weight, checkpoint=checkpoint)
        model = Fitted(estimator)
        found = checked(model, source, target, weight) if check else None
        model.save(output)
    if json:
        show_json(summary(model, output, found))
    else:
        show_summary(model, output, found)


def update(
    model: ModelFile,
    data: Data,
    target: TargetIfAny = None,
    weight: Weight = None,
    output: NewModel = None,
    input_format: InputFormat = None,
) -> None:
    """Learn from more rows.

    The model becomes what fitting all rows together would have given.

    Example:
      suffice update adult.suffice november.csv
    """
    from suffice.cli.data_files import check_model_output, opened
    from suffice.cli.model_files import Fitted
    from suffice.cli.model_summary import size_of
    from suffice.cli.terminal import counted, say

    check_model_output(output)
    found = Fitted.load(model)
    with opened(data, input_format) as source:
        labels_in, rows = found.target(source, target), 0
        for x, y, w in found.batches(source, labels_in, weight):
            found.estimator.partial_fit(x, y, sample_weight=w)
            rows += len(y)
    found.save(output or model)
    say(f"Learned {counted(rows, 'row', 'rows')} more; {size_of(found)}. Written to {output or model}")


def forget(
    model: ModelFile,
    data: Data,
    target: TargetIfAny = None,
    weight: Weight = None,
    output: NewModel = None,
    input_format: InputFormat = None,
) -> None:
    """Undo the learning of rows, exactly.

    The model becomes what fitting without them would have given.

    Example:
      suffice forget adult.suffice please-delete-me.csv
    """
    from suffice.cli.data_files import check_model_output, opened
    from suffice.cli.model_files import Fitted
    from suffice.cli.model_summary import size_of
    from suffice.cli.terminal import counted, say
    from suffice.core.errors import InvalidDataError

    check_model_output(output)
    found = Fitted.load(model)
    with opened(data, input_format) as source:
        labels_in, rows = found.target(source, target), 0
        for x, y, w in found.batches(source, labels_in, weight):
            found.estimator.forget(x, y, w)
            rows += len(y)
            if not found.estimator.__sklearn_is_fitted__():
                raise InvalidDataError("These are all rows that the model has learned: without them nothing is left")
    found.save(output or model)
    say(f"Forgot {counted(rows, 'row', 'rows')}; {size_of(found)}. Written to {output or model}")


def drop_class(
    model: ModelFile,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The class to forget.", show_default=False)],
    output: NewModel = None,
) -> None:
    """Forget a class.

    The model becomes what fitting without the rows of the class would have given.

    Example:
      suffice drop-class adult.suffice '?'
    """
    from suffice.cli.data_files import check_model_output
    from suffice.cli.model_files import Fitted
    from suffice.cli.model_summary import size_of
    from suffice.cli.terminal import say

    check_model_output(output)
    found = Fitted.load(model)
    found.estimator.drop_class(found.label(label, "LABEL"))
    found.save(output or model)
    say(f"Dropped class {label}; {size_of(found)}. Written to {output or model}")


def merge(
    models: Annotated[list[str], typer.Argument(metavar="MODEL", help="Models to add up.", show_default=False)],
    output: ModelOut,
) -> None:
    """Add up models that were trained apart.

    The sum is the same as one model trained on all of their rows.

    Example:
      suffice merge north.suffice south.suffice -o all.suffice
    """
    from suffice.cli.data_files import check_model_output
    from suffice.cli.model_files import Fitted
    from suffice.cli.model_summary import size_of
    from suffice.cli.terminal import counted, say
    from suffice.core.errors import MismatchError

    check_model_output(output)
    found = [Fitted.load(path) for path in models]
    for path, each in zip(models, found, strict=True):
        if type(each.estimator) is not type(found[0].estimator):
            kinds = type(found[0].estimator).__name__, type(each.estimator).__name__
            raise MismatchError(f"{models[0]} is a {kinds[0]} and {path} a {kinds[1]}: only models of a kind add up")
        if each.names != found[0].names:
            raise MismatchError(f"{path} was trained on other columns than {models[0]}: only models of the same add up")
    merged = Fitted(sum(each.estimator for each in found))
    merged.names = found[0].names
    merged.save(output)
    say(f"Added up {counted(len(found), 'model', 'models')}; {size_of(merged)}. Written to {output}")
