"""Commands that apply a model to rows: predict, explain, outliers, impute, sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Option

from suffice.cli import options
from suffice.cli.data_files import check_table_output, opened, table_writer
from suffice.cli.terminal import cut, entry, flow, prose, say, show_bars, show_columns, show_json

if TYPE_CHECKING:
    from suffice.cli.model_files import Loaded
    from suffice.engines.files import Files
    from suffice.families import FillMethod, Table

LONGEST = 400  # characters of a text that are shown
MOST_BARS = 20  # columns or words that get a bar of their own
ROUNDING = 1e-9  # smaller log-odds are rounding errors
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
        besides, answers = found.besides(source), found.answers_schema(source.schema, kept)
        with table_writer(output, form) as writer:
            for batch in source.batches(shown=output is not None):
                if batch.num_rows:
                    writer.write(found.answers(batch, kept, besides).cast(answers))
            writer.begin(answers)  # if there were no rows


def explain(
    model: options.ModelFile,
    data: options.Data,
    row: Annotated[int, Option("--row", metavar="NUMBER", help="Which row; the first is 0.")] = 0,
    label: Annotated[str | None, Option("--label", help="The class to explain.")] = None,
    against: Annotated[str | None, Option("--against", help="The class to compare it with.")] = None,
    top: Annotated[int, Option("--top", help="How many columns or words; the others are added up.", min=1)] = MOST_BARS,
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
    evidence = _evidence_of(found, one, besides, found.label(label), found.label(against, "--against"))
    if json:
        show_json({"row": row} | evidence)
        return
    if found.form == "texts":
        text = one.column(found.columns(source.names, besides)[0])[0].as_py()
        prose("(no text)" if text is None else f"“{cut(str(text), LONGEST)}”")
        say()
    _show_evidence(evidence, f"row {row}", top)


def _row(source: Files, number: int) -> Any:
    """Return one row of the data, as an Arrow batch."""
    before = 0
    for batch in source.batches():
        if 0 <= number < before + batch.num_rows:
            return batch.slice(number - before, 1)
        before += batch.num_rows
    there_are = f"rows are numbered from 0 to {before - 1}" if before else "the data have no rows"
    raise options.invalid(f"--row: there is no row {number}; {there_are}")


def _evidence_of(found: Loaded, one: Any, besides: tuple[str, ...], label: object, against: object) -> dict[str, Any]:
    """Return the prediction for one row (an Arrow batch), and the parts that add up to its log-odds."""
    rows = found.rows(one, besides)
    p = found.predict_proba(rows)[0]
    out: dict[str, Any] = {
        "prediction": found.classes[int(p.argmax())],
        "probabilities": dict(zip(map(str, found.classes), p.tolist(), strict=True)),
    }
    evidence = found.predictor.evidence(rows, label, against)
    if isinstance(evidence, list):  # a table for each text
        return out | _of_words(evidence[0], found.classes)
    parts = {name: column.tolist()[0] for name, column in evidence.items()}
    values = one.to_pydict()
    names = {} if found.is_table else {f"x{j}": c for j, c in enumerate(found.columns(list(values), besides))}
    return out | _of_columns({names.get(title, title): value for title, value in parts.items()}, values)


def _of_words(table: Table, classes: list[object]) -> dict[str, Any]:
    """Return the evidence of a text. The first row of the table is the prior, the last are calibration and sum."""
    log_odds = table.values[:, 0].tolist()
    kinds = ["prior", *["word"] * (len(log_odds) - 3), "calibration"]
    words = ["prior", *table.rows[1:-2], "calibration"]
    parts = [{"part": k, "what": w, "log_odds": v} for k, w, v in zip(kinds, words, log_odds[:-1], strict=True)]
    pairs = {f"{a} against {b}": (a, b) for a in classes for b in classes}
    label, against = pairs[table.title]
    return {"label": label, "against": against, "evidence": parts, "log_odds": log_odds[-1]}


def _of_columns(found: dict[str, Any], values: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the evidence of a row of a table; the value of columns that are modelled jointly is a list."""
    parts = []
    for title, log_odds in found.items():
        if title in ("label", "against", "log_odds"):
            continue
        if title in ("prior", "rest"):
            parts.append({"part": title, "what": title, "log_odds": log_odds})
            continue
        column = title.removesuffix(" (column)")  # which a column called "prior" has
        part = {"part": "column", "what": column, "log_odds": log_odds}
        together = [values[name][0] for name in column.split(", ") if name in values]
        if column in values:
            part["value"] = values[column][0]
        elif together:
            part["value"] = together
        parts.append(part)
    return {key: found[key] for key in ("label", "against", "log_odds")} | {"evidence": parts}


def _show_evidence(evidence: dict[str, Any], title: str, top: int) -> None:
    """Print evidence as bars: the prior, the columns or words with the strongest first, calibration, and the sum."""
    most_probable = sorted(evidence["probabilities"].items(), key=lambda pair: -pair[1])[:5]
    say(f"{title}: {evidence['prediction']}", "bold")
    flow([f"p({label}) = {p:.4f}" for label, p in most_probable])
    say()
    prose(f"For {evidence['label']} (right) against {evidence['against']} (left), in log-odds:")
    parts = [part for part in evidence["evidence"] if part["part"] == "column" or abs(part["log_odds"]) > ROUNDING]
    inner = [part for part in parts if part["part"] in ("column", "word")]
    inner.sort(key=lambda part: -abs(part["log_odds"]))
    bars = [("(prior)", part["log_odds"]) for part in parts if part["part"] == "prior"]
    bars += [(_titled(part), part["log_odds"]) for part in inner[:top]]
    if len(inner) > top:
        bars.append((f"({len(inner) - top} others)", sum(part["log_odds"] for part in inner[top:])))
    rest = [(f"({part['part']})", part["log_odds"]) for part in parts if part["part"] in ("calibration", "rest")]
    # The rest is no evidence: where probabilities are near 1 it is large, and would make all bars short.
    show_bars([*bars, *rest, ("= log-odds", evidence["log_odds"])], largest=max(abs(value) for _, value in bars))


def _titled(part: dict[str, Any]) -> str:
    if "value" not in part:
        return str(part["what"])
    value = part["value"]
    return f"{part['what']} = {', '.join(map(entry, value)) if isinstance(value, list) else entry(value)}"


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
    seen: list[dict[str, Any]] = []
    with opened(data, input_format) as source:
        before, names = 0, source.names
        for batch in source.batches():
            if batch.num_rows:
                density = found.predictor.log_density(found.rows(batch))
                for i in np.flatnonzero(density < found.learned.outlier_threshold(rate)).tolist():
                    values = batch.slice(i, 1).to_pylist()[0]
                    seen.append({"row": before + i, "log_density": float(density[i]), "values": values})
            before += batch.num_rows
    seen.sort(key=lambda each: each["log_density"])
    if json:
        show_json({"rows": before, "rate": rate, "outliers": seen})
        return
    say(f"{len(seen)} of {before} rows are more unusual than all but {100 * rate:g} % of the training rows", "bold")
    if not seen:
        return
    say()
    shown = seen[:MOST_OUTLIERS]
    cells = [[f"{each['log_density']:.2f}", *map(entry, each["values"].values())] for each in shown]
    words = [False, *(any(isinstance(each["values"][name], str) for each in seen) for name in names)]
    show_columns("row", [str(each["row"]) for each in shown], ["log p(x)", *names], cells, words)
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
                writer.write(found.filled(batch, besides, cast("FillMethod", how), rng))
        writer.begin(source.schema)  # if there were no rows


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
