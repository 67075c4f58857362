"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Option

Data = Annotated[
    list[str],
    Argument(
        metavar="DATA",
        help="Files, folders or patterns: CSV, TSV, JSON lines, Parquet or Arrow; - is standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[str, Argument(metavar="MODEL", help="A model file from `suffice fit`.", show_default=False)]
ModelOutput = Annotated[str, Option("--output", "-o", metavar="FILE", help="Where to write the model.")]
ChangedModelOutput = Annotated[
    str | None, Option("--output", "-o", metavar="FILE", help="Where to write; by default MODEL is replaced.")
]
Target = Annotated[str, Option("--target", "-t", metavar="COLUMN", help="The column of the labels.")]
TargetIfAny = Annotated[
    str | None,
    Option("--target", "-t", metavar="COLUMN", help="The column of the labels; required if several columns could be."),
]
Weight = Annotated[
    str | None, Option("--weight", "-w", metavar="COLUMN", help="A column of weights: how often each row counts.")
]
Drop = Annotated[list[str] | None, Option("--drop", metavar="A,B", help="Columns to ignore.")]
Families = Annotated[
    list[str] | None,
    Option(
        "--families",
        metavar="COLUMN=FAMILY,...",
        help="Families of columns, such as age=gaussian,note=text; a+b=multivariate-gaussian models columns jointly. "
        "Families of other columns are chosen by their values.",
    ),
]
Smoothing = Annotated[
    str | None, Option("--smoothing", metavar="NUMBER|auto", help="Added to every count; auto chooses the best.")
]
Calibrate = Annotated[bool, Option("--calibrate/--no-calibrate", help="Calibrate the probabilities.")]
MissingLabels = Annotated[
    str, Option("--missing-labels", metavar="error|drop", help="What to do with rows without a label.")
]
Unlabelled = Annotated[
    str | None,
    Option(
        "--unlabelled",
        metavar="learn|NUMBER",
        help="Learn from rows without a label too, with a weight that is chosen, or with this one.",
    ),
]
STRUCTURES = ("auto", "naive", "columns", "pairs", "pool")
Structure = Annotated[
    str, Option("--structure", help="How the evidence of a table is combined: auto, naive, columns, pairs or pool.")
]
Output = Annotated[
    str | None,
    Option(
        "--output", "-o", metavar="FILE", help="Where to write: .csv, .tsv, .jsonl, .parquet or .arrow; else stdout."
    ),
]
Format = Annotated[
    str | None,
    Option("--format", metavar="FORMAT", help="csv, tsv, json, parquet or arrow, whatever the file's ending."),
]
InputFormat = Annotated[
    str | None,
    Option("--input-format", metavar="FORMAT", help="The format of standard input, if it is not recognized."),
]
Seed = Annotated[int | None, Option("--seed", metavar="NUMBER", help="Makes random draws repeatable.", min=0)]
Json = Annotated[bool, Option("--json", help="Print JSON, for programs.")]


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


def check_structure(structure: str) -> None:
    """Refuse a structure that there is not."""
    if structure not in STRUCTURES:
        raise invalid(f"--structure: expected one of {', '.join(STRUCTURES)}; found {structure!r}")


def invalid(what: str) -> Exception:
    """Return the error of an option. Errors need numpy, so they are imported when there is one: help starts fast."""
    from suffice.core.errors import InvalidOptionError

    return InvalidOptionError(what)
