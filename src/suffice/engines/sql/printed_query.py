"""A query as text, for a database that is not connected."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from sqlglot.generator import Generator

from suffice import formulas as f
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.labels import label_list
from suffice.engines.sql.formula_compiler import add_answers
from suffice.engines.sql.printed_rows import DIALECTS, SAME, PrintedRows
from suffice.formulas.lookups import Key

# What columns may hold, as Ibis calls it; arguments may follow, as in decimal(10, 2).
TYPES = (
    *("boolean", "string", "float64", "float32", "float16", "decimal"),
    *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
    *("date", "time", "timestamp", "interval", "binary", "uuid", "json", "array", "map", "struct"),
)
# Bytes of a name. Databases that refuse a longer name are not listed, only those that cut it off.
LONGEST_NAMES = {"postgres": 63}


def to_sql(scoring: f.Scoring, dialect: str, table: str, types: Mapping[str, str]) -> str:
    """Return the query for the columns of a table and the probabilities; `types` are the types of some columns."""
    dialect = SAME.get(dialect, dialect)
    if dialect not in DIALECTS:
        raise InvalidOptionError(f"{dialect!r} is no dialect that sqlglot writes: use one of {', '.join(DIALECTS)}")
    columns = _types(scoring.all_terms) | _checked(types)
    for label in label_list(scoring.labels):
        if f"probability {label}" in columns or "prediction" in columns:
            raise InvalidDataError("A column has the name of an answer, 'prediction' or 'probability …': rename it")
    asked = add_answers(PrintedRows.of_table(table, columns, dialect), scoring, "predict_proba")
    _check_names([table, *asked.columns], dialect)
    held = [table, *asked.columns, *scoring.labels.tolist(), *_keys(scoring.all_terms)]
    return _text_of(asked, [each for each in held if isinstance(each, str)])


def _text_of(asked: PrintedRows, held: Iterable[str]) -> str:
    """Return the text of a query, which returns every name and label as it is; `held` are names, labels and categories.

    A query has a line to a column, unless one of these holds a line break, or the text that stands for one in sqlglot:
    sqlglot indents every line, those within quotes too.
    """
    lines = False
    for each in held:
        bad = re.search("[\0\ud800-\udfff]", each)
        if bad is not None:
            around = each[max(0, bad.start() - 20) : bad.end() + 20]
            raise InvalidDataError(
                f"A name, label or category holds the character {bad[0]!r}, which no query can hold: rename it. It is "
                f"in {around!r}"
            )
        lines = lines or "\n" in each or Generator.SENTINEL_LINE_BREAK in each
    return str(asked.node.sql(asked.dialect, pretty=not lines, copy=False))  # which takes most of the time


def _check_names(names: Iterable[str], dialect: str) -> None:
    """Refuse names that a database would cut off, so that the query had other columns than it says."""
    most = LONGEST_NAMES.get(dialect, sys.maxsize)
    for name in names:
        if len(name.encode(errors="replace")) > most:
            raise InvalidDataError(
                f"{name!r} has more than the {most} bytes that a name may have in {dialect}, which would cut it off: "
                "shorten the name of the column or the label"
            )


def _checked(types: Mapping[str, str]) -> dict[str, str]:
    """Return types by column; refuse those that no database has."""
    found = {name: str(each).lstrip("!") for name, each in types.items()}
    for name, each in found.items():
        if re.split("[(<]", each)[0] not in TYPES:
            raise InvalidOptionError(f"types: column {name!r} has the type {each!r}: use one of {', '.join(TYPES)}")
    return found


# A boolean and an integer can be read as numbers too; what is only tested for missing values can be of any type.
WIDEST_FIRST = ("string", "float64", "int64", "boolean")


def _types(terms: Iterable[f.Term]) -> dict[str, str]:
    """Return the types of the columns that terms read; columns that are only tested for missing values are text."""
    found: dict[str, str] = {}
    for term in terms:
        read = _types_of(term)
        for name in (*term.columns, *read):
            found[name] = max(found.get(name, "string"), read.get(name, "string"), key=WIDEST_FIRST.index)
    return found


def _keys(terms: Iterable[f.Term]) -> Iterator[Key]:
    """Yield the categories that terms compare columns with."""
    for node in (node for term in terms for node in term.formula.walk()):
        if isinstance(node, f.Lookup | f.Among):
            yield from node.keys
        elif isinstance(node, f.Combinations):
            yield from (part for key in node.keys for part in key)


def _types_of(term: f.Term) -> dict[str, str]:
    """Return the types of the columns that a term reads."""
    found: dict[str, str] = {}
    for node in term.formula.walk():
        if isinstance(node, f.Lookup):
            found[node.column] = _type_of(node.keys)
        elif isinstance(node, f.Among):
            found.setdefault(node.column, _type_of(node.keys))
        elif isinstance(node, f.Combinations):
            for j, name in enumerate(node.columns):
                found[name] = _type_of([key[j] for key in node.keys])
    return found | {name: "float64" for name, reads in term.formula.reads().items() if reads == "number"}


def _type_of(keys: Iterable[Key]) -> str:
    """Return the type of a column that holds some categories."""
    types = {type(key) for key in keys}
    return "boolean" if types == {bool} else "string" if types <= {str} else "int64" if types == {int} else "float64"
