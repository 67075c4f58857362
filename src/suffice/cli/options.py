"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Annotated

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files, folders or patterns: CSV, TSV, JSON lines, Parquet or Arrow; - is standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file from `suffice fit`.", show_default=False)]
ModelOutput = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the model.")]
ChangedModelOutput = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; by default MODEL is replaced.")
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column of the labels.")]
TargetIfAny = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="The column of the labels; required if several columns could be."
    ),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", "-w", metavar="COLUMN", help="A column of weights: how often each row counts."),
]
Drop = Annotated[list[str] | None, typer.Option("--drop", metavar="A,B", help="Columns to ignore.")]
Families = Annotated[
    list[str] | None,
    typer.Option(
        "--families",
        metavar="COLUMN=FAMILY,...",
        help="Families of columns, such as age=gaussian,note=text; a+b=multivariate-gaussian models columns jointly. "
        "Families of other columns are chosen by their values.",
    ),
]
Smoothing = Annotated[
    str | None,
    typer.Option("--smoothing", metavar="NUMBER|auto", help="Added to every count; auto chooses the best."),
]
Calibrate = Annotated[bool, typer.Option("--calibrate/--no-calibrate", help="Calibrate the probabilities.")]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to write: .csv, .tsv, .jsonl, .parquet or .arrow; else stdout."
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="csv, tsv, json, parquet or arrow, whatever the file's ending."),
]
InputFormat = Annotated[
    str | None,
    typer.Option("--input-format", metavar="FORMAT", help="The format of standard input, if it is not recognized."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="NUMBER", help="Makes random draws repeatable.", min=0)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def listed(given: Sequence[str] | None, known: Sequence[str] = ()) -> list[str]:
    """Return the names in options like `a,b`, given once or several times; known names may contain commas."""
    out: list[str] = []
    for each in given or ():
        parts = each.split(",")
        while parts:
            joined = (",".join(parts[:n]).strip() for n in range(1, len(parts) + 1))
            name = next((name for name in joined if name.rpartition("=")[0] in known or name in known), parts[0])
            parts = parts[name.count(",") + 1 :]
            out += [name.strip()] if name.strip() else []
    return out


def register(app: typer.Typer, *commands: Callable[..., None]) -> None:
    """Add commands to the program; the example at the end of a docstring keeps its lines in the help."""
    for command in commands:
        text = cleandoc(command.__doc__ or "").replace("Example:\n", "\b\nExample:\n")
        app.command(command.__name__.replace("_", "-"), help=text)(command)
