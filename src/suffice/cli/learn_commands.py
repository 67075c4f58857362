"""Commands that make and change models: fit, cluster, update, forget, drop-class, merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from suffice.cli import options
from suffice.cli.data_files import STDIN, check_model_output, check_output, opened
from suffice.cli.terminal import counted, say, show_json

if TYPE_CHECKING:
    from suffice.cli.model_files import Fitted


def fit(
    data: options.Data,
    target: options.Target,
    output: options.ModelOutput,
    families: options.Families = None,
    drop: options.Drop = None,
    weight: options.Weight = None,
    smoothing: options.Smoothing = None,
    calibrate: options.Calibrate = True,
    structure: options.Structure = "auto",
    missing_labels: options.MissingLabels = "error",
    unlabelled: options.Unlabelled = None,
    limit: Annotated[
        str,
        Option(
            "--limit",
            metavar="NUMBER|auto|none",
            help="How many cells the values of a column are counted in, for each class: 4096 (auto), or one for each "
            "distinct value (none).",
        ),
    ] = "auto",
    checkpoint: Annotated[
        str | None,
        Option("--checkpoint", metavar="FILE", help="Save progress here, to continue after an interruption."),
    ] = None,
    check: Annotated[bool, Option("--check/--no-check", help="Evaluate by leave-one-out.")] = True,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Learn a model from data in one pass, and show how good it is.

    The family of each column is chosen by its values. A table with a single column of texts becomes a text
    classifier. The summary shows rows, classes, the family of each column, and the exact leave-one-out accuracy and
    log-loss: each row is predicted by the model of all other rows. That takes a second pass; --no-check skips it.

    Example:
      suffice fit adult-*.parquet --target income -o adult.suffice --drop fnlwgt
    """
    from suffice.cli.fit_options import parse_unlabelled, unfitted
    from suffice.cli.model_files import Fitted
    from suffice.cli.model_summary import checked, show_summary, summary

    check_model_output(output, data)
    check_output(checkpoint)
    if checkpoint is not None and STDIN in data:
        raise options.invalid("--checkpoint is for files: standard input cannot be read a second time")
    with opened(data, input_format, drop) as source:
        estimator = unfitted(source, target, weight, families, smoothing, calibrate, limit, structure)
        fitted = {"missing_labels": missing_labels, "unlabelled": parse_unlabelled(unlabelled)}
        estimator.fit(source, target, weight, checkpoint=checkpoint, **fitted)  # type: ignore[arg-type]  # checked there
        model = Fitted(estimator)
        # A labelled row has helped to divide those without labels, so leaving it out would flatter the model.
        fair = check and unlabelled is None
        found = checked(model, source, target, weight, missing_labels == "drop") if fair else None
        model.save(output)
    if json:
        show_json(summary(model, output, found))
    else:
        show_summary(model, output, found)


def cluster(
    data: options.Data,
    output: options.ModelOutput,
    clusters: Annotated[
        int | None, Option("--clusters", "-k", metavar="NUMBER", help="How many; by default it is chosen.", min=1)
    ] = None,
    most: Annotated[int, Option("--most", metavar="NUMBER", help="How many are tried, if it is chosen.", min=1)] = 20,
    covariance: Annotated[
        str, Option("--covariance", help="Of Gaussian columns: auto, diagonal, full, or tied (one for all clusters).")
    ] = "auto",
    families: options.Families = None,
    drop: options.Drop = None,
    weight: options.Weight = None,
    seed: options.Seed = None,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Find clusters of rows without labels, and make a model of them.

    Columns may be numbers, categories, booleans and texts, with gaps. The number of clusters is the one by which rows
    that are left out are most probable. The model's classes are 0, 1, … from the largest cluster to the smallest; all
    commands that take a model take it. Every step reads the data once.

    Example:
      suffice cluster customers.csv --clusters 5 -o clusters.suffice
    """
    from suffice.cli.fit_options import parse_families
    from suffice.cli.model_files import Fitted
    from suffice.cli.model_summary import show_summary, summary
    from suffice.cli.terminal import heading, show_columns
    from suffice.estimators.clustering import cluster as find_clusters

    check_model_output(output, data)
    with opened(data, input_format, drop) as source:
        chosen = parse_families(options.listed(families, source.names), source)
        kinds: dict[str, Any] = {"families": chosen or "auto", "covariance": covariance, "most": most}
        found = find_clusters(source, clusters, sample_weight=weight, random_state=seed or 0, **kinds)
    model, tried = Fitted(found), found.clustering_
    model.save(output)
    if json:
        heads = ("covariance", "log_p_left_out", "standard_error")
        rows = [
            {"clusters": int(k), **dict(zip(heads, (form, float(mean), float(error)), strict=True))}
            for k, (form, mean, error) in zip(tried.rows, tried.values.tolist(), strict=True)
        ]
        show_json(summary(model, output, None) | {"tried": rows})
        return
    show_summary(model, output, None)
    if len(tried.rows):
        heading("Tried: the mean log-density of rows left out")
        show_columns("clusters", tried.rows, tried.columns, tried.values.tolist(), [True, False, False])


def update(
    model: options.ModelFile,
    data: options.Data,
    target: options.TargetIfAny = None,
    weight: options.Weight = None,
    output: options.ChangedModelOutput = None,
    input_format: options.InputFormat = None,
) -> None:
    """Learn from more rows.

    The result is the same as fitting all rows together.

    Example:
      suffice update adult.suffice november.csv
    """
    _change_by_rows(model, data, target, weight, output, input_format, forgets=False)


def forget(
    model: options.ModelFile,
    data: options.Data,
    target: options.TargetIfAny = None,
    weight: options.Weight = None,
    output: options.ChangedModelOutput = None,
    input_format: options.InputFormat = None,
) -> None:
    """Forget rows, exactly.

    The result is the same as fitting without them.

    Example:
      suffice forget adult.suffice please-delete-me.csv
    """
    _change_by_rows(model, data, target, weight, output, input_format, forgets=True)


def _change_by_rows(
    path: str,
    data: list[str],
    target: str | None,
    weight: str | None,
    output: str | None,
    form: str | None,
    forgets: bool,
) -> None:
    """Let a model learn or forget rows, and save it."""
    from suffice.cli.model_files import Fitted
    from suffice.core.errors import InvalidDataError

    check_model_output(output)
    model, rows = Fitted.load(path), 0
    with opened(data, form) as source:
        for x, y, w in model.batches(source, model.target(source, target), weight):
            if forgets:
                model.estimator.forget(x, y, w)
            else:
                model.estimator.partial_fit(x, y, sample_weight=w)
            rows += len(y)
            if not model.estimator.__sklearn_is_fitted__():
                raise InvalidDataError("These are all rows that the model has learned: nothing would be left")
    done = counted(rows, "row", "rows")
    _save(model, output or path, f"Forgot {done}" if forgets else f"Learned {done} more")


def _save(model: Fitted, path: str, done: str) -> None:
    """Save a changed model, and print what was done."""
    from suffice.cli.model_summary import size_of

    model.save(path)
    say(f"{done}; {size_of(model, 'of')} in all. Written to {path}")


def drop_class(
    model: options.ModelFile,
    label: Annotated[str, Argument(metavar="LABEL", help="The class to forget.", show_default=False)],
    output: options.ChangedModelOutput = None,
) -> None:
    """Forget a class.

    The result is the same as fitting without the rows of the class.

    Example:
      suffice drop-class adult.suffice '?'
    """
    from suffice.cli.model_files import Fitted

    check_model_output(output)
    found = Fitted.load(model)
    found.estimator.drop_class(found.label(label, "LABEL"))
    _save(found, output or model, f"Dropped class {label}")


def merge(
    models: Annotated[list[str], Argument(metavar="MODEL", help="Models to add.", show_default=False)],
    output: options.ModelOutput,
) -> None:
    """Add models that were trained separately.

    The sum is the same as one model trained on all of their rows.

    Example:
      suffice merge north.suffice south.suffice -o all.suffice
    """
    from suffice.cli.model_files import Fitted
    from suffice.core.errors import MismatchError

    check_model_output(output)
    found = [Fitted.load(path) for path in models]
    for path, each in zip(models, found, strict=True):
        if each.kind != found[0].kind:
            kinds = f"{models[0]} is a {found[0].kind} and {path} a {each.kind}"
            raise MismatchError(f"{kinds}: only models of one kind can be added")
        if each.names != found[0].names:
            raise MismatchError(f"{path} was trained on other columns than {models[0]}: such models cannot be added")
    merged = Fitted(sum(each.estimator for each in found))
    merged.names = found[0].names
    _save(merged, output, f"Added {counted(len(found), 'model', 'models')}")
