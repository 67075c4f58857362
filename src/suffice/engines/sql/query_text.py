"""A model as a query in words, for a database that is not at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis
from ibis.common.exceptions import OperationNotDefinedError

from suffice import formulas
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.engines.sql.formula_compiler import scored


def to_sql(scoring: formulas.Scoring, dialect: str, table: str, types: Mapping[str, str]) -> str:
    """The query that gives the columns of a table, of which some have given types, with their probabilities."""
    nan = _knows_nan(dialect)
    columns = {name: kind for term in scoring.terms for name, kind in _types(term).items()} | dict(types)
    for label in scoring.labels.tolist():
        if f"probability {label}" in columns or "prediction" in columns:
            raise InvalidDataError("There is a column where the answers should go: rename it")
    asked = scored(ibis.table(columns, name=table), scoring, "predict_proba", dialect, nan)
    return str(ibis.to_sql(asked, dialect=dialect))


def _knows_nan(dialect: str) -> bool:
    """Whether NaN can be asked for in a dialect."""
    x = ibis.table({"x": "float64"}, name="t").x
    try:
        ibis.to_sql(x.isnan(), dialect=dialect)
    except OperationNotDefinedError:
        return False
    except ValueError as error:
        known = ", ".join(sorted(entry.name for entry in ibis.util.backend_entry_points()))
        raise InvalidOptionError(f"{dialect!r} is no dialect that Ibis writes: it knows {known}") from error
    return True


def _types(term: formulas.Term) -> dict[str, str]:
    """The types of the columns that a term reads; of those only asked to be there, text will do."""
    found: dict[str, str] = dict.fromkeys(term.columns, "string")
    for node in term.formula.walk():
        if isinstance(node, formulas.Lookup):
            found[node.column] = _type_of(node.keys)
        elif isinstance(node, formulas.Among):
            found.setdefault(node.column, _type_of(node.keys))
        elif isinstance(node, formulas.Combinations):
            for j, name in enumerate(node.columns):
                found[name] = _type_of([key[j] for key in node.keys])
    return found | {name: "float64" for name, reads in term.formula.reads().items() if reads == "number"}


def _type_of(keys: Any) -> str:
    """The type of a column that holds some categories."""
    kinds = {type(key) for key in keys}
    return "boolean" if kinds == {bool} else "string" if kinds <= {str} else "int64" if kinds == {int} else "float64"
