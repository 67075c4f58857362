"""Commands that ask a model about rows: predict, explain, outliers, impute, sample."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from suffice.cli.options import (
    Data,
    Format,
    InputFormat,
    Json,
    ModelFile,
    Output,
    listed,
    register,
)

SHOWN = 20  # outliers that are shown
Seed = Annotated[int | None, typer.Option("--seed", metavar="NUMBER", help="Makes random draws repeatable.", min=0)]


def add_to(app: typer.Typer) -> None:
    """Give the program these commands."""
    for command in (predict, explain, outliers, impute, sample):
        register(app, command)


def predict(
    model: ModelFile,
    data: Data,
    output: Output = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="A,B|all", help="Columns of the data to write as well, before the answers."),
    ] = None,
    form: Format = None,
    input_format: InputFormat = None,
) -> None:
    """Predict the labels of rows, with probabilities.

    Written are the label, the probability of each class, and log p(x): how usual the row is. Rows are read and
    written a batch at a time, so a file may be larger than memory. The output takes its name when it is complete.

    Example:
      suffice predict adult.suffice new.csv -o answers.parquet --keep id
    """
    from suffice.cli.data_files import check_apart, check_output, format_named, opened, table_writer
    from suffice.cli.model_files import Asked

    check_output(output)
    format_named(output, form)
    check_apart(output, data, model)
    found = Asked.load(model)
    with opened(data, input_format) as source:
        kept = source.names if keep == ["all"] else listed(keep, source.names)
        for name in kept:
            source.check_column(name, "to keep")
        besides, answers = found.besides(source), _answers_schema(found, source.schema, kept)
        with table_writer(output, form) as writer:
            for batch in source.batches(shown=output is not None):
                if batch.num_rows:
                    writer.write(_answers(found, batch, kept, besides).cast(answers))
            writer.begin(answers)  # where there were no rows


def _answers_schema(found: Any, schema: Any, kept: list[str]) -> Any:
    """The schema of answers."""
    import pyarrow as pa

    from suffice.core.errors import InvalidDataError
    from suffice.core.frames import as_arrow

    answers = {"prediction": as_arrow(found.learned.labels).type}
    answers |= {f"probability {label}": pa.float64() for label in found.classes} | {"log_density": pa.float64()}
    for name in kept:
        if name in answers:
            raise InvalidDataError(f"There is a column {name!r} already, where the answers should go: rename it")
    return pa.schema([*(schema.field(name) for name in kept), *answers.items()])


def _answers(found: Any, batch: Any, kept: list[str], besides: tuple[str, ...]) -> Any:
    import pyarrow as pa

    from suffice.core.frames import as_arrow

    rows = found.rows(batch, besides)
    answers = found.predictor.answer("predict_proba", rows) | {"log_density": found.predictor.log_density(rows)}
    columns = {name: batch.column(name) for name in kept}
    return pa.table(columns | {name: as_arrow(values) for name, values in answers.items()})


def explain(
    model: ModelFile,
    data: Data,
    row: Annotated[int, typer.Option("--row", metavar="NUMBER", help="Which row; the first is 0.")] = 0,
    label: Annotated[str | None, typer.Option("--label", help="The class to speak for.")] = None,
    against: Annotated[str | None, typer.Option("--against", help="The class to speak against.")] = None,
    input_format: InputFormat = None,
    json: Json = False,
) -> None:
    """Show why a row is classified as it is.

    What each column or word says for a class against another, as bars that add up to the log-odds.

    Example:
      suffice explain adult.suffice new.csv --row 3
    """
    from suffice.cli.data_files import opened
    from suffice.cli.evidence_bars import show_text, show_told, told_of
    from suffice.cli.model_files import Asked
    from suffice.cli.terminal import show_json
    from suffice.core.errors import InvalidOptionError

    found = Asked.load(model)
    if label is not None and found.label(label) == found.label(against, "--against"):
        raise InvalidOptionError(f"--against: {against} is the class to speak for: name another")
    with opened(data, input_format) as source:
        one = _row(source, row)
        besides = found.besides(source)
    told = told_of(found, one, besides, found.label(label), found.label(against, "--against"))
    if json:
        show_json({"row": row} | told)
        return
    if found.form == "texts":
        show_text(one.column(found.columns(source.names, besides)[0])[0].as_py())
    show_told(told, f"row {row}")


def _row(source: Any, number: int) -> Any:
    """One row of the data, as an Arrow batch."""
    from suffice.core.errors import InvalidOptionError

    before = 0
    for batch in source.batches():
        if 0 <= number < before + batch.num_rows:
            return batch.slice(number - before, 1)
        before += batch.num_rows
    there_are = f"rows are numbered from 0 to {before - 1}" if before else "the data have no rows"
    raise InvalidOptionError(f"--row: there is no row {number}; {there_are}")


def outliers(
    model: ModelFile,
    data: Data,
    rate: Annotated[float, typer.Option("--rate", help="The share of training rows that would be called so.")] = 0.01,
    input_format: InputFormat = None,
    json: Json = False,
) -> None:
    """Find rows that are unusual.

    Those are less probable, by log p(x), than all but a share of the rows that were learned.

    Example:
      suffice outliers adult.suffice new.csv --rate 0.001
    """
    import numpy as np

    from suffice.cli.data_files import opened
    from suffice.cli.model_files import Asked
    from suffice.cli.terminal import entry, say, show_columns, show_json
    from suffice.core.errors import InvalidOptionError

    found = Asked.load(model)
    if not found.is_table:
        raise InvalidOptionError(
            f"A {found.kind} keeps no rows to compare with: of tables, `suffice fit` makes models that do"
        )
    seen: list[tuple[int, float, list[Any]]] = []
    with opened(data, input_format) as source:
        before, names = 0, source.names
        for batch in source.batches():
            if batch.num_rows:
                rows = found.rows(batch)
                density = found.predictor.log_density(rows)
                for i in np.flatnonzero(density < found.learned.outlier_threshold(rate)):
                    one = batch.slice(int(i), 1).to_pydict()
                    seen.append((before + int(i), float(density[i]), [values[0] for values in one.values()]))
            before += batch.num_rows
    seen.sort(key=lambda each: each[1])
    if json:
        found_rows = [
            {"row": row, "log_density": density, "values": dict(zip(names, values, strict=True))}
            for row, density, values in seen
        ]
        show_json({"rows": before, "rate": rate, "outliers": found_rows})
        return
    say(f"{len(seen)} of {before} rows are more unusual than all but {100 * rate:g} % of those learned", "bold")
    if not seen:
        return
    say()
    cells = [[f"{density:.2f}", *map(entry, values)] for _, density, values in seen[:SHOWN]]
    words = [False, *(any(isinstance(values[j], str) for _, _, values in seen) for j in range(len(names)))]
    show_columns("row", [str(row) for row, _, _ in seen[:SHOWN]], ["log p(x)", *names], cells, words)
    if len(seen) > SHOWN:
        say(f"… and {len(seen) - SHOWN} more; --json lists them all", "dim")


def impute(
    model: ModelFile,
    data: Data,
    output: Output = None,
    how: Annotated[
        str, typer.Option("--how", metavar="mean|mode|sample", help="What missing entries become.")
    ] = "mean",
    seed: Seed = None,
    form: Format = None,
    input_format: InputFormat = None,
) -> None:
    """Fill missing entries with what the model expects there.

    Given the rest of the row: numbers by their mean, categories by the likeliest; or by a random draw.

    Example:
      suffice impute adult.suffice new.csv -o filled.csv
    """
    import numpy as np

    from suffice.cli.data_files import check_apart, check_output, format_named, opened, table_writer
    from suffice.cli.model_files import Asked
    from suffice.core.errors import InvalidOptionError

    check_output(output)
    format_named(output, form)
    check_apart(output, data, model)
    if how not in ("mean", "mode", "sample"):
        raise InvalidOptionError(f"--how: expected mean, mode or sample, found {how!r}")
    found = Asked.load(model)
    if not found.is_table and how != "mean":
        raise InvalidOptionError(f"--how: a {found.kind} fills missing entries with means only")
    draws = np.random.default_rng(seed)
    with opened(data, input_format) as source, table_writer(output, form) as writer:
        besides = found.besides(source)
        for batch in source.batches(shown=output is not None):
            if batch.num_rows:
                writer.write(_filled(found, batch, besides, how, draws))
        writer.begin(source.schema)  # where there were no rows


def _filled(found: Any, batch: Any, besides: tuple[str, ...], how: str, draws: Any) -> Any:
    import pyarrow as pa

    from suffice.core import frames
    from suffice.core.frames import as_arrow

    table = pa.Table.from_batches([batch])
    filled = found.predictor.impute(found.rows(batch, besides), how, draws)
    if found.is_table:
        return frames.table_like(filled, table)
    for name, values in zip(found.columns(table.column_names, besides), filled.values(), strict=True):
        table = table.set_column(table.column_names.index(name), name, as_arrow(values))
    return table


def sample(
    model: ModelFile,
    n: Annotated[int, typer.Option("-n", metavar="NUMBER", help="How many rows.", min=1)] = 10,
    label: Annotated[str | None, typer.Option("--label", help="Draw rows of this class only.")] = None,
    seed: Seed = None,
    target: Annotated[str, typer.Option("--target", "-t", help="What to call the column of labels.")] = "label",
    output: Output = None,
    form: Format = None,
) -> None:
    """Draw made-up rows that look like what the model learned.

    Example:
      suffice sample adult.suffice -n 1000 --label '>50K' -o made-up.csv
    """
    import pyarrow as pa

    from suffice.cli.data_files import check_output, format_named, table_writer
    from suffice.cli.model_files import Asked
    from suffice.core import frames
    from suffice.core.frames import as_arrow

    check_output(output)
    format_named(output, form)
    found = Asked.load(model)
    columns, labels = found.predictor.sample(n, found.label(label), seed)
    table = frames.table_like(columns, pa.table({}))
    free = target if target not in table.column_names else f"{target} (class)"
    with table_writer(output, form) as writer:
        writer.write(table.append_column(free, as_arrow(labels)))
