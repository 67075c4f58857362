"""Commands that make models: fit, update, forget, drop-class, merge."""

from __future__ import annotations

import re
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

NewModel = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; by default MODEL is replaced.")
]
ModelOut = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the model.")]
FAMILIES = {
    "auto": "auto",
    "bernoulli": "Bernoulli",
    "binned": "Binned",
    "categorical": "Categorical",
    "exponential": "Exponential",
    "gaussian": "Gaussian",
    "geometric": "Geometric",
    "joint-categorical": "JointCategorical",
    "kernel": "Kernel",
    "log-normal": "LogNormal",
    "mixture": "Mixture",
    "multivariate-gaussian": "MultivariateGaussian",
    "none": None,
    "poisson": "Poisson",
    "text": "Text",
}


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
    from pathlib import Path

    from suffice.cli.files import STDIN, check_output, opened
    from suffice.cli.models import Fitted
    from suffice.errors import InvalidOptionError

    check_output(output)
    check_output(checkpoint)
    if checkpoint is not None and STDIN in data:
        raise InvalidOptionError("--checkpoint is for files: standard input cannot be taken up again")
    if any(Path(each).exists() and Path(output).exists() and Path(each).samefile(output) for each in data):
        raise InvalidOptionError(f"{output} is the data: write the model somewhere else")
    with opened(data, input_format, listed(drop)) as source:
        estimator = unfitted(source, target, weight, families, smoothing, calibrate)
        estimator.fit(source, target, weight, checkpoint=checkpoint)
        model = Fitted(estimator)
        model.save(output)
        found = leave_one_out(model, source, target, weight) if check else None
    if json:
        from suffice.cli.screen import show_json

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
    from suffice.cli.files import check_output, opened
    from suffice.cli.models import Fitted
    from suffice.cli.screen import say

    check_output(output)
    found = Fitted.load(model)
    with opened(data, input_format) as source:
        labels_in, rows = found.target(source, target), 0
        for x, y, w in found.batches(source, labels_in, weight):
            found.estimator.partial_fit(x, y, sample_weight=w)
            rows += len(y)
    found.save(output or model)
    say(f"Learned {rows} rows more; {_size(found)}. Written to {output or model}")


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
    from suffice.cli.files import check_output, opened
    from suffice.cli.models import Fitted
    from suffice.cli.screen import say
    from suffice.errors import InvalidDataError

    check_output(output)
    found = Fitted.load(model)
    with opened(data, input_format) as source:
        labels_in, rows = found.target(source, target), 0
        for x, y, w in found.batches(source, labels_in, weight):
            found.estimator.forget(x, y, w)
            rows += len(y)
            if not found.estimator.__sklearn_is_fitted__():
                raise InvalidDataError("These are all rows that the model has learned: without them nothing is left")
    found.save(output or model)
    say(f"Forgot {rows} rows; {_size(found)}. Written to {output or model}")


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
    from suffice.cli.files import check_output
    from suffice.cli.models import Fitted
    from suffice.cli.screen import say

    check_output(output)
    found = Fitted.load(model)
    found.estimator.drop_class(found.label(label, "LABEL"))
    found.save(output or model)
    say(f"Dropped class {label}; {_size(found)}. Written to {output or model}")


def merge(
    models: Annotated[list[str], typer.Argument(metavar="MODEL", help="Models to add up.", show_default=False)],
    output: ModelOut,
) -> None:
    """Add up models that were trained apart.

    The sum is the same as one model trained on all of their rows.

    Example:
      suffice merge north.suffice south.suffice -o all.suffice
    """
    from suffice.cli.files import check_output
    from suffice.cli.models import Fitted
    from suffice.cli.screen import say
    from suffice.errors import MismatchError

    check_output(output)
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
    say(f"Added up {len(found)} models; {_size(merged)}. Written to {output}")


# ------------------------------------------------------------------------------------------------ what is to be fitted


def unfitted(
    source: Any,
    target: str,
    weight: str | None,
    families: list[str] | None,
    smoothing: str | None,
    calibrate: bool,
) -> Any:
    """The classifier that the options describe: of texts for one column of texts, else of tables."""
    source.check_column(target, "to learn")
    if weight is not None:
        source.check_column(weight, "of weights")
    said = read_families(listed(families), source, target)
    options: dict[str, Any] = {"calibrate": calibrate}
    if smoothing is not None:
        options["smoothing"] = read_smoothing(smoothing)
    columns = [name for name in source.names if name not in (target, weight)]
    if len(columns) == 1 and said.get(columns[0]) is not None:
        from suffice.families import Text

        if isinstance(said[columns[0]], Text):
            from suffice.text.classifier import TextClassifier

            return TextClassifier(**options)
    if len(columns) == 1 and not said and is_text(source, columns[0]):
        from suffice.text.classifier import TextClassifier

        return TextClassifier(**options)
    from suffice.classifier import BayesClassifier

    return BayesClassifier(said or "auto", **options)


def is_text(source: Any, name: str) -> bool:
    """Tell whether a column holds texts of several words, most of them different."""
    import pyarrow.compute as pc

    from suffice.frames import as_frame

    frame = as_frame(source.head())
    if frame.kind_of(name) != "text":
        return False
    column = frame.column(name).drop_null()
    if not len(column) or pc.count_distinct(column).as_py() < 0.5 * len(column):
        return False
    return pc.mean(pc.cast(pc.match_substring(column, " "), "int8")).as_py() > 0.5


def read_families(said: list[str], source: Any, target: str) -> dict[Any, Any]:
    """What `age=gaussian`, `a+b=multivariate-gaussian` and so on mean."""
    from suffice import families
    from suffice.cli.files import nearest
    from suffice.errors import InvalidOptionError

    out: dict[Any, Any] = {}
    for each in said:
        key, equals, name = each.rpartition("=")
        if not equals or not key:
            raise InvalidOptionError(f"--families: expected COLUMN=FAMILY, such as age=gaussian; found {each!r}")
        columns = (key,) if key in source.names else tuple(key.split("+"))
        for column in columns:
            source.check_column(column, f"to be {name}")
            if column == target:
                raise InvalidOptionError(f"--families: {column!r} is the target, which needs no family")
        plain = {known.replace("-", ""): known for known in FAMILIES}
        known = plain.get(name.lower().replace("-", "").replace("_", ""))
        if known is None:
            hint = nearest(name.lower(), list(FAMILIES))
            raise InvalidOptionError(f"--families: no family {name!r}. {hint}Known are {', '.join(FAMILIES)}")
        home = FAMILIES[known]
        family = home if home in (None, "auto") else getattr(families, str(home))()
        out[columns if len(columns) > 1 else columns[0]] = family
    return out


def read_smoothing(said: str) -> Any:
    """A number, or 'auto'."""
    from suffice.errors import InvalidOptionError

    if said == "auto":
        return said
    try:
        return float(said)
    except ValueError:
        raise InvalidOptionError(f"--smoothing: expected a number or auto, found {said!r}") from None


# ------------------------------------------------------------------------------------------------ what was fitted


def leave_one_out(model: Any, source: Any, target: str, weight: str | None) -> Evaluation:
    """Judge each row by the model without it, in a second pass."""
    import numpy as np

    from suffice.evaluation import Evaluation

    parts = (
        Evaluation.of(y, model.estimator.classes_, np.exp(model.estimator.leave_one_out(x, y, w)), w)
        for x, y, w in model.batches(source, target, weight)
    )
    return sum(parts, start=Evaluation.of([], model.estimator.classes_, np.empty((0, len(model.classes)))))


def _size(model: Any) -> str:
    from suffice.cli.screen import number

    return f"{number(model.estimator.class_count_.sum())} rows of {len(model.classes)} classes in all"


def columns_of(model: Any) -> list[dict[str, Any]]:
    """What each column is taken to be."""
    estimator = model.estimator
    if not model.is_table:
        names = model.names or [f"x{j}" for j in range(estimator.n_features_in_)]
        what = "text" if estimator._form == "texts" else type(estimator).__name__.removesuffix("NB").lower()
        return [{"column": name, "family": what, "votes": "yes", "bits": None, "note": ""} for name in names]
    table = estimator.schema_
    rows = []
    for name, (family, votes, bits, note) in zip(table.rows, table.values, strict=True):
        told = float(bits) if bits else None
        rows.append({"column": name, "family": _plain_name(family) or None, "votes": votes, "bits": told, "note": note})
    return rows


def _plain_name(family: str) -> str:
    """MultivariateGaussian as multivariate-gaussian, as the command line calls it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", family).lower()


def summary(model: Any, path: str, found: Evaluation | None) -> dict[str, Any]:
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
        out["leave_one_out"] = {"accuracy": found.accuracy, "log_loss": found.log_loss}
    return out


def show_summary(model: Any, path: str, found: Evaluation | None) -> None:
    """What was learned, for people."""
    import numpy as np

    from suffice.cli.screen import heading, number, say, show_columns

    estimator = model.estimator
    counts = estimator.class_count_
    say(f"{type(estimator).__name__} of {number(counts.sum())} rows and {len(counts)} classes, in {path}", "bold")
    heading("Classes")
    share = counts / counts.sum()
    cells = [[number(n), f"{100 * p:.1f} %"] for n, p in zip(counts, share, strict=True)]
    most = 20
    show_columns("class", [str(c) for c in model.classes[:most]], ["rows", "share"], cells[:most], [False, False])
    if len(cells) > most:
        say(f"… and {len(cells) - most} more", "dim")
    if estimator._form == "texts":
        heading("Words")
        say(f"{len(estimator.vocabulary_)} words and groups of words are known")
    if model.is_table:
        heading("Columns (bits: what a column tells of the class by itself)")
        show_schema(columns_of(model))
    if found is not None:
        baseline = float(share.max())
        heading("Leave-one-out, exact: each row judged by the model of all others")
        say(f"accuracy  {found.accuracy:.4f}  (always the commonest class: {baseline:.4f})")
        say(f"log-loss  {found.log_loss:.4f}  (the class shares alone: {-np.sum(share * np.log(share)):.4f})")


def show_schema(columns: list[dict[str, Any]]) -> None:
    """Each column with its family, how much it tells, and what there is to say of it."""
    from suffice.cli.screen import show_columns

    cells = []
    for each in columns:
        votes = each["votes"] == "yes"
        bits = "" if each["bits"] is None else f"{each['bits']:.4f}"
        note = each["note"] or ("" if votes else "does not vote")
        cells.append([each["family"] or "—", bits, f"left out: {note}" if each["votes"] == "left out" else note])
    show_columns("column", [e["column"] for e in columns], ["family", "bits", ""], cells, [True, False, True])
