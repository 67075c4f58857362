"""What is to be fitted: from options to a classifier."""

from __future__ import annotations

from typing import Any

from suffice.cli.options import listed
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import as_frame
from suffice.estimators.table_classifier import BayesClassifier
from suffice.estimators.text_classifier import TextClassifier
from suffice.families import named
from suffice.families.text import Text

EXACT = 1 << 30  # bytes of files up to which every value is kept, so that rows can be left out and forgotten


def unfitted(
    source: Any,
    target: str,
    weight: str | None,
    families: list[str] | None,
    smoothing: str | None,
    calibrate: bool,
    limit: str | None = "none",
) -> Any:
    """The classifier that the options describe: of texts for one column of texts, else of tables."""
    source.check_column(target, "to learn")
    if weight is not None:
        source.check_column(weight, "of weights")
        if weight == target:
            raise InvalidOptionError(f"--weight: {weight!r} is the target, whose labels are no weights")
    check_labels(source, target)
    said = read_families(listed(families, source.names), source, target)
    options: dict[str, Any] = {"calibrate": calibrate}
    if smoothing is not None:
        options["smoothing"] = read_smoothing(smoothing)
    columns = [name for name in source.names if name not in (target, weight)]
    if len(columns) == 1:
        asked = said.get(columns[0], "auto")
        if isinstance(asked, Text) or (asked == "auto" and is_text(source, columns[0])):
            return TextClassifier(**options)
    return BayesClassifier(said or "auto", limit=read_limit(limit, source), **options)


def check_labels(source: Any, target: str) -> None:
    """Refuse a target that is measured: numbers with a fraction are no classes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = as_frame(source.head()).column(target).drop_null()
    if pa.types.is_floating(column.type):
        broken = column.filter(pc.and_(pc.is_finite(column), pc.not_equal(column, pc.floor(column))))
        if len(broken):
            raise InvalidDataError(f"The column {target!r} holds numbers such as {broken[0]}, which are no classes")


def is_text(source: Any, name: str) -> bool:
    """Tell whether a column holds texts of several words, most of them different."""
    import pyarrow.compute as pc

    frame = as_frame(source.head())
    if frame.kind_of(name) != "text":
        return False
    column = frame.column(name).drop_null()
    if not len(column) or pc.count_distinct(column).as_py() < 0.5 * len(column):
        return False
    return pc.mean(pc.cast(pc.match_substring(column, " "), "int8")).as_py() > 0.5


def read_families(said: list[str], source: Any, target: str) -> dict[Any, Any]:
    """What `age=gaussian`, `a+b=multivariate-gaussian` and so on mean."""
    out: dict[Any, Any] = {}
    for each in said:
        key, equals, name = each.rpartition("=")
        if not equals or not key:
            raise InvalidOptionError(f"--families: expected COLUMN=FAMILY, such as age=gaussian; found {each!r}")
        columns = (key,) if key in source.names else tuple(key.split("+"))
        for column in columns:
            source.check_column(column, f"to be {name}")
            if column == target:
                raise InvalidOptionError(f"--families: {column!r} is the target, which needs no family")
        special = {"auto": "auto", "none": None}
        family = special[name.lower()] if name.lower() in special else named(name)()
        out[columns if len(columns) > 1 else columns[0]] = family
    return out


def read_limit(said: str | None, source: Any) -> Any:
    """How many values of a column are kept: all by default, but of files that may not fit into memory."""
    if said is None:
        return None if sum(part.size or 0 for part in source.parts) <= EXACT else "auto"
    if said in ("auto", "none"):
        return None if said == "none" else said
    if not said.isdecimal() or int(said) < 1:
        raise InvalidOptionError(f"--limit: expected a number above 0, auto or none; found {said!r}")
    return int(said)


def read_smoothing(said: str) -> Any:
    """A number, or 'auto'."""
    if said == "auto":
        return said
    try:
        return float(said)
    except ValueError:
        raise InvalidOptionError(f"--smoothing: expected a number or auto, found {said!r}") from None
