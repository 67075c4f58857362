"""Commands that show or export a model: inspect, sql, export, report, nomogram, demo."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from suffice.cli import options
from suffice.cli.data_files import STDIN, check_output, opened, written
from suffice.cli.pictures import check_picture, write_picture
from suffice.cli.terminal import counted, heading, say, show_json, show_table

if TYPE_CHECKING:
    from suffice.cli.model_files import Loaded
    from suffice.families import Table


def inspect(
    model: options.ModelFile,
    top: Annotated[int, Option("--top", help="How many words or values of each class.", min=0)] = 8,
    rows: Annotated[int, Option("--rows", help="How many rows of each table.", min=1)] = 12,
    json: options.Json = False,
) -> None:
    """Show what a model has learned.

    The class prior, the families of the columns, tables of all parameters, and the most typical words and values.

    Example:
      suffice inspect adult.suffice --top 20
    """
    from suffice.cli.model_files import Loaded
    from suffice.cli.model_summary import columns_of, show_schema, size_of

    found = Loaded.load(model)
    names = {"texts": ["words"], "table": None}.get(found.form, found.names)  # blocks of a table know their names
    prior, *tables = found.learned.model.tables(names)
    ranked = [(label, _top(found, label, top)) for label in found.classes] if top else []
    if json:
        show_json(
            {
                "estimator": found.kind,
                "options": {name: str(value) for name, value in sorted(found.saved.parameters.items())},
                "parameters": found.learned.model.n_parameters,
                "classes": [
                    {"label": label, "rows": n, "prior": p}
                    for label, n, p in zip(
                        found.classes, found.learned.statistics.weight.tolist(), prior.values[0], strict=True
                    )
                ],
                "columns": columns_of(found),
                "tables": [asdict(table) for table in tables],
                "top": {str(label): asdict(table) for label, table in ranked if table is not None},
            }
        )
        return
    say(f"{found.kind} of {size_of(found)}, in {model}", "bold")
    say(counted(found.learned.model.n_parameters, "free parameter", "free parameters"))
    heading("Class prior")
    show_table(replace(prior, title="class", rows=prior.columns, columns=prior.rows, values=prior.values.T), rows=50)
    show_schema(found)
    for table in tables:
        say()
        show_table(table, rows)
    for _, top_values in ranked:
        if top_values is not None and len(top_values.rows):
            say()
            show_table(top_values)


def _top(found: Loaded, label: object, n: int) -> Table | None:
    """Return the words or values that speak for a class, if there are any to rank."""
    from suffice.core.errors import SufficeError
    from suffice.model.explain import rank_features

    if len(found.classes) < 2:
        return None
    try:
        titles = [""] if found.form == "texts" else found.predictor.columns
        table = rank_features(found.learned.model, titles, [label], n, "log_odds")[0]
    except SufficeError:  # numbers cannot be ranked
        return None
    some = [i for i in range(len(table.rows)) if table.values[i, 0] > 1e-9]
    return replace(table, rows=[table.rows[i] for i in some], values=table.values[some])


def sql(
    model: options.ModelFile,
    dialect: Annotated[str, Option("--dialect", "-d", help="The database, such as postgres or duckdb.")],
    table: Annotated[str, Option("--table", help="The table of the rows to predict.")] = "data",
) -> None:
    """Write a model as an SQL query, to predict inside a database.

    Example:
      suffice sql adult.suffice --dialect postgres --table people > score.sql
    """
    from suffice.cli.model_files import Fitted

    found = Fitted.load(model)
    query = found.named.to_sql(dialect, table=table)
    with written(None) as file:  # as bytes: a terminal that lacks a character would show another one
        file.write(f"{query}\n".encode())


def export(
    model: options.ModelFile,
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="The ONNX file to write.")],
    inputs: Annotated[
        str, Option("--inputs", help="An input for each column (columns), or one (matrix); auto: by names of columns.")
    ] = "auto",
    dtype: Annotated[str, Option("--dtype", help="The type of numbers: float64 or float32.")] = "float64",
) -> None:
    """Write a model as ONNX, to predict without Python.

    Its inputs are the columns of the model; its outputs are the label and the probabilities.

    Example:
      suffice export adult.suffice -o adult.onnx
    """
    from suffice import engines
    from suffice.cli.model_files import Loaded

    check_output(output, (), model)
    made = engines.to_onnx(Loaded.load(model).predictor, inputs, dtype)
    with written(output) as file:
        file.write(made.SerializeToString())
    if output != STDIN:
        names = [each.name for each in made.graph.input]
        shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        say(f"The model is in {output}; {counted(len(names), 'input', 'inputs')}: {shown}")


def report(
    model: options.ModelFile,
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="The HTML file to write.")],
    data: Annotated[
        list[str] | None, Argument(metavar="DATA", help="Rows to evaluate the model on.", show_default=False)
    ] = None,
    target: options.TargetIfAny = None,
    weight: options.Weight = None,
    input_format: options.InputFormat = None,
) -> None:
    """Write a report: one HTML file that opens anywhere.

    It has pictures of what was learned, and a panel to try the model.

    Example:
      suffice report adult.suffice adult-test.parquet -o report.html
    """
    from suffice.cli.model_files import Fitted
    from suffice.views.report import answers_of, judge, page_model, render

    check_output(output, data or [], model)
    found, evaluation, agreement = Fitted.load(model), None, None
    title, where = Path(model).name, Path(model).name
    if data:
        shorter, on_page = page_model(found.learned.model), None
        if shorter is not found.learned.model:
            on_page = answers_of(found.estimator, model=shorter)
        with opened(data, input_format) as source:
            labels = found.target(source, target)
            batches = found.batches(source, labels, weight)
            evaluation, agreement = judge(batches, found.learned.labels, found.predict_proba, on_page)
        title = f"Predicting {labels}"
        where += f", judged on {', '.join('standard input' if each == STDIN else Path(each).name for each in data)}"
    page = render(found.named, title=title, names=found.names, evaluation=evaluation, agreement=agreement, source=where)
    with written(output) as file:
        file.write(page.encode())
    if output != STDIN:
        say(f"The report is in {output}")


def nomogram(
    model: options.ModelFile,
    label: Annotated[str | None, Option("--label", help="The class that the log-odds speak for.")] = None,
    against: Annotated[str | None, Option("--against", help="The class to compare it with.")] = None,
    top: Annotated[int, Option("--top", help="How many columns, the most telling.", min=1)] = 14,
    output: Annotated[
        str | None, Option("--output", "-o", metavar="FILE", help="A picture to write: .png, .svg or .pdf.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Show each column as a scale of log-odds, to classify a row by eye.

    Each value adds its log-odds; their sum and the prior give the probability.

    Example:
      suffice nomogram adult.suffice --top 8
    """
    from suffice.cli.model_files import Fitted
    from suffice.cli.nomogram_text import show_nomogram
    from suffice.views.nomogram_scales import Nomogram

    if output is not None:
        check_picture(output, "--output", model)
    found = Fitted.load(model)
    if label is not None and found.label(label) == found.label(against, "--against"):
        raise options.invalid(f"--against: {against} is the class that is compared: name another")
    shown = Nomogram.of(found.named, found.label(label), found.label(against, "--against"), found.names)
    if output is not None:
        from suffice.views.plot import NomogramDisplay

        display = NomogramDisplay(shown, top)
        write_picture(output, display.plot, display.size)
        say(f"The nomogram is in {output}")
    elif json:
        show_json(asdict(shown) | {"remainder": str(shown.remainder)})
    else:
        show_nomogram(shown, top)


def demo(
    folder: Annotated[
        str | None, Option("--write", metavar="FOLDER", help="Only write the data there, as CSV files.")
    ] = None,
) -> None:
    """Walk through four small examples, with data that are included.

    Is it a day for tennis? Is a text positive? Male or female? Which iris is it?

    Example:
      suffice demo
    """
    from suffice.cli import demo_lessons as lessons

    if folder is not None:
        lessons.write(folder)
    else:
        lessons.walk_through()
