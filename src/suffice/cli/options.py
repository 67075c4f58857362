"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Annotated, Any

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files, folders or patterns: CSV, TSV, JSON lines, Parquet or Arrow; - is standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that `suffice fit` made.", show_default=False)]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column of the labels.")]
TargetIfAny = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="The column of the labels; needed where it is not plain which it is."
    ),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", "-w", metavar="COLUMN", help="A column of weights: how often each row counts."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="A,B", help="Columns to leave out."),
]
Families = Annotated[
    list[str] | None,
    typer.Option(
        "--families",
        metavar="COLUMN=FAMILY,...",
        help="What columns are, such as age=gaussian,note=text; a+b=multivariate-gaussian takes columns together. "
        "The others are chosen by their values.",
    ),
]
Smoothing = Annotated[
    str | None,
    typer.Option("--smoothing", metavar="NUMBER|auto", help="What is added to every count, or auto for the best."),
]
Calibrate = Annotated[
    bool, typer.Option("--calibrate/--no-calibrate", help="Temper probabilities so that they can be believed.")
]
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
    typer.Option("--input-format", metavar="FORMAT", help="The format of standard input, where it is not plain."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def listed(said: Sequence[str] | None, known: Sequence[str] = ()) -> list[str]:
    """The names in options like `a,b`, given once or several times; known names may have commas themselves."""
    out: list[str] = []
    for each in said or ():
        parts = each.split(",")
        while parts:
            joined = (",".join(parts[:n]).strip() for n in range(1, len(parts) + 1))
            name = next((name for name in joined if name.rpartition("=")[0] in known or name in known), parts[0])
            parts = parts[name.count(",") + 1 :]
            out += [name.strip()] if name.strip() else []
    return out


def register(app: typer.Typer, command: Callable[..., Any]) -> None:
    """Give the program a command; the example at the end of its help is shown as it is."""
    told = cleandoc(command.__doc__ or "").replace("Example:\n", "\b\nExample:\n")
    app.command(command.__name__.replace("_", "-"), help=told)(command)
