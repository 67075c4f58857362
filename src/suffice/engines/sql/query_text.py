"""A model as the text of a query, for a database that is not connected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import ibis
from ibis.common.exceptions import OperationNotDefinedError

from suffice import formulas
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.engines.sql.formula_compiler import add_answers
from suffice.formulas.lookups import Key


def to_sql(scoring: formulas.Scoring, dialect: str, table: str, types: Mapping[str, str]) -> str:
    """Return the query for the columns of a table and the probabilities; `types` are the types of some columns."""
    nan = _supports_nan(dialect)
    columns = {name: kind for term in scoring.terms for name, kind in _types(term).items()} | dict(types)
    for label in scoring.labels.tolist():
        if f"probability {label}" in columns or "prediction" in columns:
            raise InvalidDataError("A column has the name of an answer, 'prediction' or 'probability …': rename it")
    asked = add_answers(ibis.table(columns, name=table), scoring, "predict_proba", dialect, nan)
    return str(ibis.to_sql(asked, dialect=dialect))


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


def _types(term: formulas.Term) -> dict[str, str]:
    """Return the types of the columns that a term reads; columns that are only tested for missing values are text."""
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


def _type_of(keys: Iterable[Key]) -> str:
    """Return the type of a column that holds some categories."""
    types = {type(key) for key in keys}
    return "boolean" if types == {bool} else "string" if types <= {str} else "int64" if types == {int} else "float64"
