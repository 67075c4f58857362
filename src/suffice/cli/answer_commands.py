"""Commands that apply a model to rows: predict, explain, outliers, impute, sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Option

from suffice.cli import options
from suffice.cli.data_files import check_table_output, opened, table_writer
from suffice.cli.evidence_bars import evidence_of, show_evidence, show_text
from suffice.cli.terminal import entry, say, show_columns, show_json

if TYPE_CHECKING:
    import numpy as np

    from suffice.cli.model_files import Loaded
    from suffice.engines.files import Files
    from suffice.families import FillMethod

MOST_OUTLIERS = 20  # that are printed


def predict(
    model: options.ModelFile,
    data: options.Data,
    output: options.Output = None,
    keep: Annotated[
        list[str] | None,
        Option("--keep", metavar="A,B|all", help="Columns of the data to write too, before the predictions."),
    ] = None,
    form: options.Format = None,
    input_format: options.InputFormat = None,
) -> None:
    """Predict the labels of rows, with probabilities.

    Writes the label, the probability of each class, and log p(x), which is low for unusual rows. Rows are read and
    written in batches, so files may be larger than memory. The output file appears when it is complete.

    Example:
      suffice predict adult.suffice new.csv -o answers.parquet --keep id
    """
    from suffice.cli.model_files import Loaded

    check_table_output(output, form, data, model)
    found = Loaded.load(model)
    with opened(data, input_format) as source:
        kept = source.names if keep == ["all"] else options.listed(keep, source.names)
        for name in kept:
            source.check_column(name, "to keep")
        besides, answers = found.besides(source), _answers_schema(found, source.schema, kept)
        with table_writer(output, form) as writer:
            for batch in source.batches(shown=output is not None):
                if batch.num_rows:
                    writer.write(_answers(found, batch, kept, besides).cast(answers))
            writer.begin(answers)  # if there were no rows


def _answers_schema(found: Loaded, schema: Any, kept: list[str]) -> Any:
    """Return the Arrow schema of the predictions."""
    import pyarrow as pa

    from suffice.core.errors import InvalidDataError
    from suffice.core.frames import as_arrow

    answers = {"prediction": as_arrow(found.learned.labels).type}
    answers |= {f"probability {label}": pa.float64() for label in found.classes} | {"log_density": pa.float64()}
    for name in kept:
        if name in answers:
            raise InvalidDataError(f"There is a column {name!r} already, where the predictions should go: rename it")
    return pa.schema([*(schema.field(name) for name in kept), *answers.items()])


def _answers(found: Loaded, batch: Any, kept: list[str], besides: tuple[str, ...]) -> Any:
    """Return the predictions for an Arrow batch."""
    import pyarrow as pa

    from suffice.core.frames import as_arrow

    rows = found.rows(batch, besides)
    answers = found.predictor.answer("predict_proba", rows) | {"log_density": found.predictor.log_density(rows)}
    columns = {name: batch.column(name) for name in kept}
    return pa.table(columns | {name: as_arrow(values) for name, values in answers.items()})


def explain(
    model: options.ModelFile,
    data: options.Data,
    row: Annotated[int, Option("--row", metavar="NUMBER", help="Which row; the first is 0.")] = 0,
    label: Annotated[str | None, Option("--label", help="The class to explain.")] = None,
    against: Annotated[str | None, Option("--against", help="The class to compare it with.")] = None,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Show why a row is classified as it is.

    Bars show what each column or word adds to the log-odds of one class against another.

    Example:
      suffice explain adult.suffice new.csv --row 3
    """
    from suffice.cli.model_files import Loaded

    found = Loaded.load(model)
    if label is not None and found.label(label) == found.label(against, "--against"):
        raise options.invalid(f"--against: {against} is the class to explain: name another")
    with opened(data, input_format) as source:
        one = _row(source, row)
        besides = found.besides(source)
    evidence = evidence_of(found, one, besides, found.label(label), found.label(against, "--against"))
    if json:
        show_json({"row": row} | evidence)
        return
    if found.form == "texts":
        show_text(one.column(found.columns(source.names, besides)[0])[0].as_py())
    show_evidence(evidence, f"row {row}")


def _row(source: Files, number: int) -> Any:
    """Return one row of the data, as an Arrow batch."""
    before = 0
    for batch in source.batches():
        if 0 <= number < before + batch.num_rows:
            return batch.slice(number - before, 1)
        before += batch.num_rows
    there_are = f"rows are numbered from 0 to {before - 1}" if before else "the data have no rows"
    raise options.invalid(f"--row: there is no row {number}; {there_are}")


def outliers(
    model: options.ModelFile,
    data: options.Data,
    rate: Annotated[float, Option("--rate", help="The share of training rows that would be outliers.")] = 0.01,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Find unusual rows.

    An outlier has a lower density, log p(x), than all but a share of the training rows.

    Example:
      suffice outliers adult.suffice new.csv --rate 0.001
    """
    import numpy as np

    from suffice.cli.model_files import Loaded

    found = Loaded.load(model)
    if not found.is_table:
        raise options.invalid(f"A {found.kind} keeps no rows to compare with: only models of tables find outliers")
    seen: list[tuple[int, float, list[object]]] = []
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
    say(f"{len(seen)} of {before} rows are more unusual than all but {100 * rate:g} % of the training rows", "bold")
    if not seen:
        return
    say()
    shown = seen[:MOST_OUTLIERS]
    cells = [[f"{density:.2f}", *map(entry, values)] for _, density, values in shown]
    words = [False, *(any(isinstance(values[j], str) for _, _, values in seen) for j in range(len(names)))]
    show_columns("row", [str(row) for row, _, _ in shown], ["log p(x)", *names], cells, words)
    if len(seen) > len(shown):
        say(f"… and {len(seen) - len(shown)} more; --json lists them all", "dim")


def impute(
    model: options.ModelFile,
    data: options.Data,
    output: options.Output = None,
    how: Annotated[
        str, Option("--how", metavar="mean|mode|sample", help="What missing values are replaced by.")
    ] = "mean",
    seed: options.Seed = None,
    form: options.Format = None,
    input_format: options.InputFormat = None,
) -> None:
    """Fill in missing values.

    Given the other values of the row, numbers are filled in by their mean and categories by the most probable one;
    or all by a random draw.

    Example:
      suffice impute adult.suffice new.csv -o filled.csv
    """
    import numpy as np

    from suffice.cli.model_files import Loaded

    check_table_output(output, form, data, model)
    if how not in ("mean", "mode", "sample"):
        raise options.invalid(f"--how: expected mean, mode or sample, found {how!r}")
    found = Loaded.load(model)
    if not found.is_table and how != "mean":
        raise options.invalid(f"--how: a {found.kind} can only fill in means")
    rng = np.random.default_rng(seed)
    with opened(data, input_format) as source, table_writer(output, form) as writer:
        besides = found.besides(source)
        for batch in source.batches(shown=output is not None):
            if batch.num_rows:
                writer.write(_filled(found, batch, besides, how, rng))
        writer.begin(source.schema)  # if there were no rows


def _filled(found: Loaded, batch: Any, besides: tuple[str, ...], how: str, rng: np.random.Generator) -> Any:
    """Return an Arrow batch with its missing values filled in."""
    import pyarrow as pa

    from suffice.core import frames
    from suffice.core.frames import as_arrow

    table = pa.Table.from_batches([batch])
    filled = found.predictor.impute(found.rows(batch, besides), cast("FillMethod", how), rng)
    if found.is_table:
        return frames.table_like(filled, table)
    for name, values in zip(found.columns(table.column_names, besides), filled.values(), strict=True):
        table = table.set_column(table.column_names.index(name), name, as_arrow(values))
    return table


def sample(
    model: options.ModelFile,
    n: Annotated[int, Option("-n", metavar="NUMBER", help="How many rows.", min=1)] = 10,
    label: Annotated[str | None, Option("--label", help="Draw rows of this class only.")] = None,
    seed: options.Seed = None,
    target: Annotated[str, Option("--target", "-t", help="The name of the column of labels.")] = "label",
    output: options.Output = None,
    form: options.Format = None,
) -> None:
    """Draw random rows from the model.

    Example:
      suffice sample adult.suffice -n 1000 --label '>50K' -o made-up.csv
    """
    import pyarrow as pa

    from suffice.cli.model_files import Loaded
    from suffice.core import frames
    from suffice.core.frames import as_arrow

    check_table_output(output, form)
    found = Loaded.load(model)
    columns, labels = found.predictor.sample(n, found.label(label), seed)
    table = frames.table_like(columns, pa.table({}))
    free = target if target not in table.column_names else f"{target} (class)"
    with table_writer(output, form) as writer:
        writer.write(table.append_column(free, as_arrow(labels)))
