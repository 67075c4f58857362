"""Commands about labels: suspects, adapt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from suffice.cli import options
from suffice.cli.data_files import check_model_output, check_table_output, opened, table_writer
from suffice.cli.terminal import counted, say, show_columns, show_json

if TYPE_CHECKING:
    from suffice.families import Table
    from suffice.model.suspects import Suspects

MOST_SUSPECTS = 20  # that are printed


def suspects(
    model: options.ModelFile,
    data: options.Data,
    target: options.TargetIfAny = None,
    rate: Annotated[
        float | None, Option("--rate", help="The share of labels that are wrong; by default it is estimated.")
    ] = None,
    learned: Annotated[
        bool, Option("--learned/--not-learned", help="Whether the model has learned these rows.")
    ] = True,
    weight: options.Weight = None,
    output: options.Output = None,
    form: options.Format = None,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Find labels that are probably wrong.

    Each row is judged by the model of all other rows. Shows the label, the class that the row looks like, the
    probability that the label is wrong, and what speaks against it most. Rows without a label are passed over. With
    -o, all suspects are written with the columns of the data. The data are read into memory.

    Example:
      suffice suspects adult.suffice adult-train.parquet -o suspects.csv
    """
    import numpy as np
    import pyarrow as pa

    from suffice.cli.model_files import Loaded, weights

    check_table_output(output, form, data, model)
    found = Loaded.load(model)
    with opened(data, input_format) as source:
        named = found.target(source, target)
        if weight is not None:
            source.check_column(weight, "of weights")
        table = pa.Table.from_batches(list(source.batches(shown=output is not None)), source.schema)
    labelled = np.flatnonzero(table.column(named).is_valid().to_numpy())
    known = table.take(labelled)
    rows = found.predictor.read(found.rows(known, (named, weight)))
    seen = found.predictor.suspects(rows, found.labels(known, named), weights(known, weight), rate, learned)
    seen = seen.among(labelled)
    if output is not None:
        with table_writer(output, form) as writer:
            writer.write(_written(seen, table))
    if json:
        show_json(_as_dict(seen))
        return
    _show(seen, found.form == "texts")
    if output is not None:
        say(f"All are in {output}")


def _written(seen: Suspects, table: Any) -> Any:
    """Return the suspects before the columns of their rows; a column of the data that is in the way is renamed."""
    out = seen.to_arrow()
    for name, column in zip(table.column_names, table.take(seen.rows).columns, strict=True):
        out = out.append_column(f"{name} (data)" if name in out.column_names else name, column)
    return out


def _as_dict(seen: Suspects) -> dict[str, Any]:
    """Return the suspects for JSON."""
    rows = seen.to_arrow().drop_columns(["why"]).to_pylist()
    listed = [row | {"evidence": _parts(table)} for row, table in zip(rows, seen.evidence, strict=True)]
    return {"rows": seen.checked, "rate": seen.rate, "left_out": seen.left_out, "suspects": listed}


def _parts(table: Table) -> list[dict[str, Any]]:
    values = table.values[:, 0].tolist()
    return [{"what": name, "log_odds": value} for name, value in zip(table.rows, values, strict=True)]


def _show(seen: Suspects, words: bool) -> None:
    """Print the first suspects."""
    how = "each row judged by the model of all others" if seen.left_out else "each row judged by the whole model"
    say(f"{len(seen)} of {seen.checked} labels are suspect, {how}", "bold")
    say(f"About {100 * seen.rate:.2g} % of the labels are wrong.")
    if not len(seen):
        return
    say()
    shown = seen.table(MOST_SUSPECTS)
    cells = [[row[0], row[1], f"{row[2]:.3f}", f"{row[3]:+.2f}", row[4]] for row in shown.values.tolist()]
    heads = ["label", "suggested", "p(wrong)", "log-odds", "words that say so" if words else "columns that say so"]
    show_columns("row", shown.rows, heads, cells, [True, True, False, False, True])
    if len(seen) > MOST_SUSPECTS:
        say(f"… and {len(seen) - MOST_SUSPECTS} more; -o FILE or --json lists them all", "dim")


def adapt(
    model: options.ModelFile,
    data: options.Data,
    output: options.ModelOutput,
    weight: options.Weight = None,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Adapt a model to rows whose classes have other shares than in training.

    The class shares of the rows are estimated without labels, and the model answers with them. Nothing is learned
    anew. Standard errors are shown beside the shares.

    Example:
      suffice adapt adult.suffice november.csv -o november.suffice
    """
    from suffice.cli.model_files import Fitted

    check_model_output(output, data)
    found = Fitted.load(model)
    with opened(data, input_format) as source:
        adapted = Fitted(found.named.adapt(source, weight))
    adapted.names = found.names
    adapted.save(output)
    shares, found_in = adapted.estimator.shares_, adapted.learned.shares
    assert found_in is not None, "it was adapted"
    if json:
        rows = [dict(zip(shares.columns, map(_finite, row), strict=True)) for row in shares.values.tolist()]
        labelled = [{"label": label} | row for label, row in zip(adapted.classes, rows, strict=True)]
        show_json({"model": output, "rows": found_in.rows, "classes": labelled})
        return
    say(f"Class shares of {counted(found_in.rows, 'row', 'rows')}", "bold")
    cells = [
        [f"{100 * share:.2f} %", "unknown" if error != error else f"± {100 * error:.2f}", f"{100 * before:.2f} %"]
        for share, error, before in shares.values.tolist()
    ]
    show_columns("class", shares.rows, ["share", "standard error", "in training"], cells, [False] * 3)
    say(f"The model that answers with these shares is in {output}")


def _finite(value: float) -> float | None:
    return value if value == value else None
