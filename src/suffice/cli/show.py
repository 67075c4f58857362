"""Commands that show what a model knows, or hand it on: inspect, sql, report, demo."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from suffice.cli.options import InputFormat, Json, ModelFile, TargetIfAny, register


def add_to(app: typer.Typer) -> None:
    """Give the program these commands."""
    for command in (inspect, sql, report, demo):
        register(app, command)


def inspect(
    model: ModelFile,
    top: Annotated[int, typer.Option("--top", help="How many words or values of each class.", min=0)] = 8,
    rows: Annotated[int, typer.Option("--rows", help="How many rows of each table.", min=1)] = 12,
    json: Json = False,
) -> None:
    """Show what a model has learned.

    The class prior, what columns are taken to be, tables of every parameter, and the most telling words and values.

    Example:
      suffice inspect adult.suffice --top 20
    """
    from suffice.cli.learn import columns_of, show_schema
    from suffice.cli.models import Fitted
    from suffice.cli.screen import heading, number, say, show_json, show_table

    found = Fitted.load(model)
    estimator = found.estimator
    tables = estimator.tables()
    ranked = [(label, _top(found, label, top)) for label in found.classes] if top else []
    if json:
        shares = tables[0].values[0]
        show_json(
            {
                "estimator": type(estimator).__name__,
                "options": {name: str(value) for name, value in estimator.get_params(deep=False).items()},
                "parameters": estimator.n_parameters_,
                "classes": [
                    {"label": label, "rows": n, "prior": p}
                    for label, n, p in zip(found.classes, estimator.class_count_.tolist(), shares, strict=True)
                ],
                "columns": columns_of(found),
                "tables": [_as_dict(table) for table in tables[1:]],
                "top": {str(label): _as_dict(table) for label, table in ranked if table is not None},
            }
        )
        return
    n = estimator.class_count_.sum()
    say(f"{estimator!r}".split("  # ")[0], "bold")
    say(f"{number(n)} rows, {len(found.classes)} classes, {number(estimator.n_parameters_)} free parameters")
    heading("Class prior")
    show_table(_turned(tables[0]), rows=50)
    if found.is_table:
        heading("Columns (bits: what a column tells of the class by itself)")
        show_schema(columns_of(found))
    for table in tables[1:]:
        say()
        show_table(table, rows)
    for label, table in ranked:
        if table is not None and len(table.rows):
            heading(f"What tells most of {label}")
            show_table(table)


def _top(found: Any, label: Any, n: int) -> Any:
    from suffice.errors import SufficeError

    if len(found.classes) < 2:
        return None
    try:
        return found.estimator.top_features(label, n, "log_odds")
    except SufficeError:  # numbers of any size are no values to rank
        return None


def _turned(table: Any) -> Any:
    """A table with its rows as columns."""
    from suffice.families import Table

    return Table("class", [str(each) for each in table.columns], list(table.rows), table.values.T)


def _as_dict(table: Any) -> dict[str, Any]:
    return {"title": table.title, "rows": list(table.rows), "columns": list(table.columns), "values": table.values}


def sql(
    model: ModelFile,
    dialect: Annotated[str, typer.Option("--dialect", "-d", help="The database, such as postgres or duckdb.")],
    table: Annotated[str, typer.Option("--table", help="The table whose rows are to be scored.")] = "data",
) -> None:
    """Write a model as SQL, to predict inside a database.

    Example:
      suffice sql adult.suffice --dialect postgres --table people > score.sql
    """
    from suffice.cli.models import Fitted
    from suffice.errors import InvalidOptionError

    found = Fitted.load(model)
    if not hasattr(found.estimator, "to_sql"):
        raise InvalidOptionError(f"A {type(found.estimator).__name__} cannot be written as SQL")
    print(found.estimator.to_sql(dialect, table=table))


def report(
    model: ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")],
    data: Annotated[
        list[str] | None, typer.Argument(metavar="DATA", help="Rows to judge the model by.", show_default=False)
    ] = None,
    target: TargetIfAny = None,
    input_format: InputFormat = None,
) -> None:
    """Write a report: one HTML file that opens anywhere.

    With pictures of all that was learned, and a panel to try the model in.

    Example:
      suffice report adult.suffice adult-test.parquet -o report.html
    """
    from suffice.cli.files import check_output, opened
    from suffice.cli.models import Fitted
    from suffice.cli.screen import say

    check_output(output)
    found = Fitted.load(model)
    from suffice.report import write

    if data:
        import pyarrow as pa

        with opened(data, input_format) as source:
            labels_in = found.target(source, target)
            rows = pa.Table.from_batches(list(source.batches()), source.schema)
        write(found.estimator, output, rows, labels_in)
    else:
        write(found.estimator, output)
    say(f"The report is in {output}")


def demo(
    folder: Annotated[
        str | None, typer.Option("--write", metavar="FOLDER", help="Write the data there as CSV files, and stop.")
    ] = None,
) -> None:
    """Walk through four small examples, with data that come along.

    Should one play tennis? Is a text praise? Man or woman? Which iris is it?

    Example:
      suffice demo
    """
    from suffice.cli import lessons

    if folder is not None:
        lessons.write(folder)
    else:
        lessons.tell()
