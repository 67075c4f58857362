"""A query as text, for a database that is not connected."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping

import ibis
import ibis.expr.types as ir
from ibis.common.exceptions import OperationNotDefinedError
from sqlglot.generator import Generator

from suffice import formulas as f
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.labels import label_list
from suffice.engines.sql.formula_compiler import add_answers
from suffice.formulas.lookups import Key

# Bytes of a name. Databases that refuse a longer name are not listed, only those that cut it off.
LONGEST_NAMES = {"postgres": 63}


def to_sql(scoring: f.Scoring, dialect: str, table: str, types: Mapping[str, str]) -> str:
    """Return the query for the columns of a table and the probabilities; `types` are the types of some columns."""
    nan = _supports_nan(dialect)
    columns = _types(scoring.all_terms) | dict(types)
    for label in label_list(scoring.labels):
        if f"probability {label}" in columns or "prediction" in columns:
            raise InvalidDataError("A column has the name of an answer, 'prediction' or 'probability …': rename it")
    asked = add_answers(ibis.table(columns, name=table), scoring, "predict_proba", dialect, nan)
    _check_names([table, *asked.columns], dialect)
    held = [table, *asked.columns, *scoring.labels.tolist(), *_keys(scoring.all_terms)]
    return _text_of(asked, dialect, [each for each in held if isinstance(each, str)])


def _text_of(asked: ir.Table, dialect: str, held: Iterable[str]) -> str:
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
    return str(ibis.to_sql(asked, dialect=dialect, pretty=not lines))  # which takes most of the time


def _check_names(names: Iterable[str], dialect: str) -> None:
    """Refuse names that a database would cut off, so that the query had other columns than it says."""
    most = LONGEST_NAMES.get(dialect, sys.maxsize)
    for name in names:
        if len(name.encode(errors="replace")) > most:
            raise InvalidDataError(
                f"{name!r} has more than the {most} bytes that a name may have in {dialect}, which would cut it off: "
                "shorten the name of the column or the label"
            )


def _supports_nan(dialect: str) -> bool:
    """Return whether a dialect can test for NaN."""
    x = ibis.table({"x": "float64"}, name="t").x
    try:
        ibis.to_sql(x.isnan(), dialect=dialect)
    except OperationNotDefinedError:
        return False
    except ValueError as error:
        known = ", ".join(sorted(entry.name for entry in ibis.util.backend_entry_points()))
        raise InvalidOptionError(f"{dialect!r} is no dialect of Ibis: use one of {known}") from error
    return True


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
