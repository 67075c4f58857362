"""The formats that files of rows have, by their endings, and how Arrow is to read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
PACKED = (".gz", ".bz2", ".zst")
TEXT_FORMATS = ("csv", "tsv", "json")
BLOCK = 1 << 23  # bytes of text that are read together; the first of them tell the types of columns


def format_of(name: str) -> str | None:
    """The format of a file of that name; None if its ending is not known."""
    name = name.lower()
    for packed in PACKED:
        if name.endswith(packed):
            inner = format_of(name.removesuffix(packed))
            return inner if inner in TEXT_FORMATS else None
    return next((kind for ending, kind in ENDINGS.items() if name.endswith(ending)), None)


def dataset_of(path: Path) -> Any:
    """One file as a dataset of Arrow; None if there is nothing in it."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    try:
        return ds.dataset(str(path), format=_format(str(format_of(path.name))))
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "Empty JSON" in str(error):
            return None
        raise


def _format(kind: str) -> Any:
    """What Arrow is to know of a format.

    As in pandas, entries such as NA and null are missing, and so is nothing between two commas; what is in quotes is
    text, and may run over several lines.
    """
    import pyarrow.csv as csv
    import pyarrow.dataset as ds
    import pyarrow.json as json

    if kind == "json":
        return ds.JsonFileFormat(read_options=json.ReadOptions(block_size=BLOCK))
    if kind not in ("csv", "tsv"):
        return kind
    return ds.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter="\t" if kind == "tsv" else ",", newlines_in_values=True),
        convert_options=csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False),
        read_options=csv.ReadOptions(block_size=BLOCK),
    )
