"""The classifier that the options of `fit`, `cv` and `compare` describe."""

from __future__ import annotations

from typing import Any, Literal

from suffice.cli.options import check_structure, listed
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import as_frame
from suffice.engines.files import Files
from suffice.estimators.table_classifier import BayesClassifier
from suffice.estimators.text_classifier import TextClassifier
from suffice.families import named
from suffice.families.text import Text


def unfitted(
    source: Files,
    target: str,
    weight: str | None,
    families: list[str] | None,
    smoothing: str | None,
    calibrate: bool,
    limit: str = "auto",
    structure: str = "auto",
) -> TextClassifier | BayesClassifier:
    """Return a text classifier for a single column of texts, otherwise a table classifier."""
    source.check_column(target, "to learn")
    if weight is not None:
        source.check_column(weight, "of weights")
        if weight == target:
            raise InvalidOptionError(f"--weight: {weight!r} is the target: name another column")
    _check_labels(source, target)
    chosen = parse_families(listed(families, source.names), source, target)
    options: dict[str, Any] = {"calibrate": calibrate}
    if smoothing is not None:
        options["smoothing"] = _parse_smoothing(smoothing)
    columns = [name for name in source.names if name not in (target, weight)]
    if len(columns) == 1:
        family = chosen.get(columns[0], "auto")
        if isinstance(family, Text) or (family == "auto" and _is_text(source, columns[0])):
            return TextClassifier(**options)
    check_structure(structure)
    return BayesClassifier(chosen or "auto", limit=_parse_limit(limit), structure=structure, **options)  # type: ignore[arg-type]  # one of them


def _check_labels(source: Files, target: str) -> None:
    """Refuse a target of numbers with fractions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = as_frame(source.head()).column(target).drop_null()
    if pa.types.is_floating(column.type):
        broken = column.filter(pc.and_(pc.is_finite(column), pc.not_equal(column, pc.floor(column))))
        if len(broken):
            raise InvalidDataError(f"The column {target!r} holds numbers such as {broken[0]}, which cannot be classes")


def _is_text(source: Files, name: str) -> bool:
    """Return whether a column holds texts of several words, most of them distinct."""
    import pyarrow.compute as pc

    frame = as_frame(source.head())
    if frame.kind_of(name) != "text":
        return False
    column = frame.column(name).drop_null()
    if not len(column) or pc.count_distinct(column).as_py() < 0.5 * len(column):
        return False
    return pc.mean(pc.cast(pc.match_substring(column, " "), "int8")).as_py() > 0.5


def parse_families(pairs: list[str], source: Files, target: str | None = None) -> dict[Any, Any]:
    """Parse pairs such as `age=gaussian` and `a+b=multivariate-gaussian`."""
    out: dict[Any, Any] = {}
    for each in pairs:
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


def _parse_limit(limit: str) -> int | Literal["auto"] | None:
    """Return how many cells the values of a column are counted in."""
    if limit in ("auto", "none"):
        return "auto" if limit == "auto" else None
    if not limit.isdecimal() or int(limit) < 1:
        raise InvalidOptionError(f"--limit: expected a number above 0, auto or none; found {limit!r}")
    return int(limit)


def parse_unlabelled(unlabelled: str | None) -> float | Literal["learn"] | None:
    """Return the weight of rows without labels, if they are learned from."""
    if unlabelled is None or unlabelled == "learn":
        return unlabelled  # type: ignore[return-value]  # one of the two
    try:
        return float(unlabelled)
    except ValueError:
        raise InvalidOptionError(f"--unlabelled: expected learn or a number, found {unlabelled!r}") from None


def _parse_smoothing(smoothing: str) -> float | Literal["auto"]:
    if smoothing == "auto":
        return "auto"
    try:
        return float(smoothing)
    except ValueError:
        raise InvalidOptionError(f"--smoothing: expected a number or auto, found {smoothing!r}") from None
