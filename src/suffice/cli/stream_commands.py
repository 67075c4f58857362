"""Commands for streams: rows that are answered, and learned, as they come."""

from __future__ import annotations

import json as _json
import sys
import time as clock
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from typer import Exit, Option

from suffice.cli import options
from suffice.cli.data_files import check_output, opened
from suffice.cli.line_rows import FORMS, Kind, kinds_of, rows_of
from suffice.cli.options import invalid
from suffice.cli.pictures import check_picture, write_picture

if TYPE_CHECKING:
    from suffice.views.prequential import Stretches

PAUSE = 0.5  # seconds, until a file is looked at again
STRETCH = 1000  # rows that are judged together, unless asked for otherwise


def stream(
    model: Annotated[
        str | None, Option("--model", "-m", metavar="FILE", help="A model to go on from; by default nothing is known.")
    ] = None,
    target: Annotated[str | None, Option("--target", "-t", metavar="COLUMN", help="The column of the labels.")] = None,
    output: Annotated[
        str | None, Option("--output", "-o", metavar="FILE", help="Where to write the model at the end.")
    ] = None,
    text: Annotated[bool, Option("--text", help="Learn from the only column of texts.")] = False,
    half_life: Annotated[
        float | None, Option("--half-life", metavar="N", help="The age at which a row counts half, in rows or time.")
    ] = None,
    window: Annotated[
        float | None, Option("--window", metavar="N", help="Learn only the newest rows: so many, or so old.")
    ] = None,
    time: Annotated[str | None, Option("--time", metavar="COLUMN", help="The column of times, for ages.")] = None,
    structure: options.Structure = "auto",
    every: Annotated[
        int | None, Option("--every", metavar="N", help="Show how well it went, of every N rows with a label.", min=1)
    ] = None,
    plot: Annotated[
        str | None, Option("--plot", metavar="FILE", help="Draw how well it went: .png, .svg or .pdf.")
    ] = None,
    input_format: Annotated[
        str | None, Option("--input-format", metavar="FORMAT", help="csv, tsv or json, if it is not recognized.")
    ] = None,
) -> None:
    """Answer rows from standard input line by line, and learn those that have a label.

    Reads JSON lines, or CSV with a header. For each row one line of JSON is written at once: the prediction, the
    probabilities, and the label if there is one. Every row is answered before it is learned; --every and --plot show
    how right these answers were.

    Example:
      suffice stream --target returned -o orders.suffice < orders.jsonl
    """
    from suffice.cli.model_files import Loaded
    from suffice.views.plot import PrequentialDisplay
    from suffice.views.prequential import Stretches

    _check_learner(model, text, half_life, window, time, structure)
    check_output(output)
    if plot is not None:
        check_picture(plot, "--plot", model)
    kinds = {} if model is None else kinds_of(Loaded.load(model), target)  # names a file that is none
    learner = _learner(model, text, half_life, window, time, structure)
    if time is not None and time == target:
        raise invalid(f"--time: {time!r} is the column of the labels")
    if target is None and model is None:
        raise invalid("--target: name the column of the labels, as nothing was learned yet")
    if input_format is not None and input_format not in FORMS:
        raise invalid(f"--input-format: a stream is one of {', '.join(FORMS)}, found {input_format!r}")
    rows, answered = 0, Stretches(every or STRETCH)
    names: dict[str, None] = {}  # of the columns, in their order
    for number, row in enumerate(rows_of(sys.stdin, input_format, kinds), 1):
        names |= dict.fromkeys(row)
        label = None if target is None else row.pop(target, None)
        try:
            found = learner.predict_proba_one(row)
            if label is not None:
                learner.learn_one(row, label)
        except (ValueError, TypeError) as error:
            raise invalid(f"Row {number} of standard input: {error}") from error
        prediction = max(found, key=lambda each: found[each]) if found else None
        answer: dict[str, Any] = {"prediction": prediction}
        answer["probabilities"] = {str(name): round(p, 6) for name, p in found.items()}
        if label is not None:
            answer["label"] = label
            answered.add(found, label)
        print(_json.dumps(answer, ensure_ascii=False, default=str), flush=True)
        rows = number
    known = answered.rows
    print(_summary(rows, answered, target, [*names]), file=sys.stderr)
    if known and (every is not None or plot is not None):
        result = answered.result("answers before learning")
        if every is not None:
            print(result.table(), file=sys.stderr)
        if plot is not None:
            write_picture(plot, PrequentialDisplay([result]).plot)
    if output is not None:
        if not known and model is None:
            raise invalid("--output: nothing was learned, so there is no model to write")
        made = learner.estimator_ if hasattr(learner, "estimator_") else learner
        made.settle()
        made.save(output)


def _summary(rows: int, answered: Stretches, target: str | None, names: list[str]) -> str:
    """Return how many rows came, and how many of their labels were predicted."""
    said, known, right = f"{rows} rows", answered.rows, answered.right
    if known:
        share = f"{right} ({right / known:.1%})"
        return f"{said}, {known} with a label, of which {share} were predicted before they were learned"
    if not rows or target is None:
        return said
    missing = "" if target in names else f": no row has the column {target!r}, they have {names[:20]}"
    return f"{said}, none with a label{missing}"


def watch(
    model: options.ModelFile,
    data: options.Data,
    target: Annotated[str | None, Option("--target", "-t", metavar="COLUMN", help="The column of the labels.")] = None,
    rate: Annotated[float, Option("--rate", help="The probability of a false alarm, however long it watches.")] = 0.01,
    against_kept: Annotated[
        bool, Option("--kept/--no-kept", help="Compare with rows that the model has learned and kept.")
    ] = True,
    reference: Annotated[
        str | None,
        Option(
            "--reference", metavar="DATA", help="Compare with these rows, which the model has not learned, instead."
        ),
    ] = None,
    page: Annotated[
        str | None,
        Option("--page", metavar="FILE", help="Write what was seen as an HTML page, at each alarm and the end."),
    ] = None,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on as the file grows, until Ctrl-C.")] = False,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Watch whether rows are still like those that were learned, column by column.

    Prints an alarm for each column, for whole rows, and for labels given rows (with --target), when it changes: since
    which row, and by how many nats. Rows are compared with those that the model has kept, or with those of --reference,
    and with each other. The exit code is 1 after an alarm.

    Example:
      suffice watch adult.suffice 2024-*.csv --target income
    """
    from suffice.cli.model_files import Loaded

    kinds = kinds_of(Loaded.load(model), target)  # names a file that is none
    import suffice as sf

    check_output(page)
    before: Any = "kept" if against_kept else None
    if reference is not None:
        if not against_kept:
            raise invalid("--reference: rows are compared with these, or with none (--no-kept): give one of the two")
        import pyarrow as pa

        with opened([reference], input_format) as source:
            before = pa.Table.from_batches(list(source.batches()), source.schema)
    labelled = target if reference is not None and target in before.column_names else None
    monitor = sf.Monitor(sf.load(model), rate=rate, reference=before, reference_y=labelled)

    def write_page() -> None:
        if page is not None and monitor.n_rows_:
            sf.report.write_monitor(monitor, page, f"Is it still as in {Path(model).name}?")

    def update(rows: Any) -> None:
        alarms = monitor.update(rows, target)
        for alarm in alarms:
            print(alarm if not json else _json.dumps(vars(alarm)), flush=True)
        if alarms:
            write_page()

    if follow:
        if len(data) != 1 or data[0] == "-":
            raise invalid("--follow: name one file that grows, of JSON lines or CSV")
        _follow(Path(data[0]), input_format, kinds, target, update)
    else:
        with opened(data, input_format) as source:
            for batch in source.batches():
                if batch.num_rows:
                    update(batch)
    write_page()
    if not json:
        print(monitor.table())
    if monitor.alarms_:
        raise Exit(1)


def _follow(
    path: Path, form: str | None, kinds: dict[str, Kind], target: str | None, update: Callable[[Any], None]
) -> None:
    """Read the rows of a file, and what is written to it later, until somebody stops it."""
    names: list[str] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for row in rows_of(_growing(lines), form, kinds):
                names += [name for name in row if name not in names]
                update({name: [row.get(name)] for name in names if name != target or row.get(name) is not None})
    except KeyboardInterrupt:
        print(file=sys.stderr)


def _growing(lines: TextIO) -> Iterator[str]:
    """Yield the lines of a file as they are completed."""
    part = ""
    while True:
        part += lines.readline()
        if part.endswith("\n"):
            yield part
            part = ""
        else:
            clock.sleep(PAUSE)


def _check_learner(
    model: str | None, text: bool, half_life: float | None, window: float | None, time: str | None, structure: str
) -> None:
    """Refuse options that do not go together."""
    options.check_structure(structure)
    if model is not None and (text or window is not None or structure != "auto"):
        raise invalid("--model: options of a new model (--text, --window, --structure) do not go with it")
    if text and structure != "auto":
        raise invalid("--structure is for tables, not for --text")
    for option, found in (("--half-life", half_life), ("--window", window)):
        if found is not None and not 0 < found < inf:
            raise invalid(f"{option} must be a number above 0, found {found:g}")
    if half_life is not None and window is not None:
        raise invalid("--window: rows fade (--half-life), or leave a window: give one of the two")
    if time is not None and half_life is None and window is None:
        raise invalid("--time is for --half-life and --window")
    if window is not None and time is None and window != int(window):
        raise invalid(f"--window: a number of rows is an integer, found {window:g}")


def _learner(
    model: str | None, text: bool, half_life: float | None, window: float | None, time: str | None, structure: str
) -> Any:
    """Return what learns: a model from a file, or a new one, whose rows may fade or leave a window."""
    import suffice as sf

    if model is not None:
        fitted = sf.load(model)
        return fitted if half_life is None else sf.Fading(half_life=half_life, time=time).resume(fitted)
    new: Any = sf.TextClassifier() if text else sf.BayesClassifier(structure=structure)  # type: ignore[arg-type]  # checked
    if half_life is not None:
        return sf.Fading(new, half_life=half_life, time=time)
    if window is None:
        return new
    if time is not None:
        return sf.Window(new, span=window, time=time)
    return sf.Window(new, rows=int(window))
