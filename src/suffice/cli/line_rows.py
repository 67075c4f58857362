"""Rows that come as lines of text, one after the other."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from suffice.cli.options import invalid

if TYPE_CHECKING:
    from suffice.cli.model_files import Loaded

FORMS = ("csv", "tsv", "json")
MISSING = {"", "NA", "N/A", "n/a", "#N/A", "#NA", "NULL", "null", "NaN", "nan", "-NaN", "-nan"}  # as in CSV files
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

Kind = Literal["string", "truth"]


def kinds_of(model: Loaded, target: str | None) -> dict[str, Kind]:
    """Return what fields of a CSV file are for a model, by their columns, where they need not be numbers."""
    out: dict[str, Kind] = dict.fromkeys(model.predictor.string_columns, "string")
    out |= dict.fromkeys(model.predictor.truth_columns, "truth")
    if target is not None and all(isinstance(each, str) for each in model.classes):
        out[target] = "string"
    return out


def rows_of(lines: Iterator[str], form: str | None, kinds: dict[str, Kind]) -> Iterator[dict[str, Any]]:
    """Yield rows of JSON lines or of a CSV file with a header, whose fields are `kinds`, or what they look like."""
    first = next((line for line in lines if line.strip()), "")
    if not first:
        return
    if form is None:
        form = "json" if first.lstrip().startswith("{") else "tsv" if "\t" in first and "," not in first else "csv"
    if form != "json":
        split = csv.reader(_chained("", lines), delimiter="\t" if form == "tsv" else ",")
        header = next(csv.reader([first], delimiter="\t" if form == "tsv" else ","))
        for number, fields in enumerate(split, 2):
            if fields:
                if len(fields) != len(header):
                    raise invalid(f"Line {number} has {len(fields)} fields, the header {len(header)}")
                yield {name: _value(field, kinds.get(name)) for name, field in zip(header, fields, strict=True)}
        return
    for number, line in enumerate(_chained(first, lines), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise invalid(f"Line {number} is no JSON: {error}") from error
        if not isinstance(row, dict):
            raise invalid(f"Line {number} is no object of JSON with a value for each column, found {line[:80]!r}")
        yield row


def _chained(first: str, rest: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def _value(field: str, kind: Kind | None) -> Any:
    """Return a field of a CSV file: None, a number or a boolean where it is one, or as it is."""
    if field in MISSING:
        return None
    if kind == "string":
        return field
    if kind == "truth" and field in ("0", "1"):
        return field == "1"
    if field in TRUTH:
        return TRUTH[field]
    if "_" in field:  # Python would read 1_000
        return field
    try:
        return float(field) if any(each in field for each in ".eEfF") else int(field)
    except ValueError:
        return field
