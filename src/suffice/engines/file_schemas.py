"""One schema for the rows of several files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suffice.core.errors import MismatchError
from suffice.core.frames.frame import is_text, value_type
from suffice.engines.file_formats import format_of
from suffice.engines.summarizing import Task


def common(schemas: Sequence[Any], titles: Sequence[str]) -> Any:
    """The schema that holds the rows of all files: the same columns, of types that go together.

    Integers go with floats, and an empty column goes with any type. Only JSON lines may leave out columns.
    """
    import pyarrow as pa

    types: dict[str, Any] = {}
    for schema, title in zip(schemas, titles, strict=True):
        _check_names(schema.names, list(types), title, titles[0])
        for field in schema:
            before = types.get(field.name, field.type)
            both = _joined(before, field.type)
            if both is None:
                raise MismatchError(
                    f"Column {field.name!r} is {field.type} in {title}, but {before} in the files before it "
                    f"({titles[0]}): make the files alike"
                )
            types[field.name] = both
    return pa.schema(types.items())


def _check_names(names: Sequence[str], known: Sequence[str], title: str, first: str) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise MismatchError(f"{title} has two columns named {twice[0]!r}: give each a name of its own")
    if not known or format_of(title) == "json":
        return
    for name in known:
        if name not in names:
            raise MismatchError(f"{title} has no column {name!r}, which {first} has: make the files alike")
    for name in names:
        if name not in known:
            raise MismatchError(f"{title} has a column {name!r}, which {first} has not: make the files alike")


def _joined(one: Any, other: Any) -> Any:
    """The type that holds the values of both; None if there is none."""
    import pyarrow as pa

    if one == other:
        return one
    one, other = value_type(one), value_type(other)
    if is_text(one) and is_text(other):
        return pa.large_string()
    try:
        schemas = [pa.schema([("", one)]), pa.schema([("", other)])]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def floats(schema: Any, task: Task) -> Any:
    """Read integer columns that are measured as floats: in text, 1.5 may come after many integers."""
    import pyarrow as pa

    measured = {task.weight, *(task.names if task.form == "numbers" else ())}
    for at, field in enumerate(schema):
        if field.name in measured and (pa.types.is_integer(field.type) or pa.types.is_null(field.type)):
            schema = schema.set(at, pa.field(field.name, pa.float64()))
    return schema
