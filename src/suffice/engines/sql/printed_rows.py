"""Formulas written by sqlglot: the text of a query, for a database that is not connected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sqlglot import expressions as tree

from suffice.engines.sql.algebra import ALL_ROWS, REPEATING, Rows
from suffice.formulas.lookups import Key

# The dialects of sqlglot that have all functions of formulas, and how each tests for NaN: by a function, by equality
# with a NaN that is a name or is cast from text, or not at all, as it has no NaN or no such test.
FUNCTION, CAST, NONE = "function", "cast", "none"
DIALECTS = {
    "athena": FUNCTION,
    "bigquery": FUNCTION,
    "clickhouse": FUNCTION,
    "databricks": FUNCTION,
    "doris": NONE,
    "dremio": NONE,
    "drill": NONE,
    "druid": NONE,
    "duckdb": FUNCTION,
    "dune": FUNCTION,
    "exasol": NONE,
    "fabric": NONE,
    "hive": NONE,
    "materialize": CAST,
    "mysql": NONE,
    "oracle": "BINARY_DOUBLE_NAN",
    "postgres": CAST,
    "presto": FUNCTION,
    "redshift": CAST,
    "risingwave": CAST,
    "singlestore": NONE,
    "snowflake": CAST,
    "spark": FUNCTION,
    "spark2": FUNCTION,
    "sqlite": NONE,
    "starrocks": NONE,
    "teradata": NONE,
    "trino": FUNCTION,
    "tsql": NONE,
}
SAME = {"mssql": "tsql", "pyspark": "spark", "singlestoredb": "singlestore"}  # as Ibis calls them
IGNORING_CASE = ("mysql", "singlestore")  # whose texts are equal if they differ in case alone, unless they are bytes

OR, AND, COMPARED, ADDED, MULTIPLIED, WHOLE = range(6)  # what binds more is greater

# The name of the source of every step. One for all: a formula may read a column of an earlier step, which each step
# hands on. With a name, SQLite takes no column that is missing for a text.
ALIAS = "t"

Written: TypeAlias = tree.Expression


class TypeName(str):
    """The name of a type, as Ibis writes it: float64, decimal(10, 2), string."""

    __slots__ = ()

    def is_boolean(self) -> bool:
        """Whether it is that of true and false."""
        return self == "boolean"

    def is_string(self) -> bool:
        """Whether it is that of texts."""
        return self == "string"

    def is_float64(self) -> bool:
        """Whether it is that of double precision."""
        return self == "float64"

    def is_floating(self) -> bool:
        """Whether it has NaN."""
        return self.startswith("float")

    def is_decimal(self) -> bool:
        """Whether its digits are decimal."""
        return self.startswith("decimal")

    def is_numeric(self) -> bool:
        """Whether it is that of numbers."""
        return self.partition("(")[0].rstrip("0123456789") in ("int", "uint", "float", "decimal")


class Printed:
    """An expression of sqlglot, with what it needs of the operators and methods of `Value`.

    The operators of sqlglot copy both sides. Expressions here share their parts, and have parentheses where the order
    of operations asks for them.
    """

    __slots__ = ("binds", "node", "rows")
    __hash__ = None  # type: ignore[assignment]  # equality is an expression

    def __init__(self, rows: PrintedRows, node: Written, binds: int = WHOLE):
        self.rows, self.node, self.binds = rows, node, binds

    def _binary(self, kind: type[tree.Binary], left: Any, right: Any, binds: int) -> Printed:
        operands = [self.rows.value(left), self.rows.value(right)]
        low = binds + (binds == COMPARED)  # the left one may bind as much, but for a comparison
        first, second = operands[0].within(low), operands[1].within(binds + 1)
        return Printed(self.rows, kind(this=first, expression=second), binds)

    def within(self, binds: int) -> Written:
        """Return the expression as part of one that binds so much."""
        return self.node if self.binds >= binds else tree.Paren(this=self.node)

    def _call(self, kind: type[tree.Expression], **more: Any) -> Printed:
        return Printed(self.rows, kind(this=self.node, **more))

    def __add__(self, other: Any) -> Printed:
        return self._binary(tree.Add, self, other, ADDED)

    def __radd__(self, other: float) -> Printed:
        return self._binary(tree.Add, other, self, ADDED)

    def __sub__(self, other: Any) -> Printed:
        return self._binary(tree.Sub, self, other, ADDED)

    def __rsub__(self, other: float) -> Printed:
        return self._binary(tree.Sub, other, self, ADDED)

    def __mul__(self, other: Any) -> Printed:
        return self._binary(tree.Mul, self, other, MULTIPLIED)

    def __rmul__(self, other: float) -> Printed:
        return self._binary(tree.Mul, other, self, MULTIPLIED)

    def __truediv__(self, other: Any) -> Printed:
        return self._divided(self, other)

    def __rtruediv__(self, other: float) -> Printed:
        return self._divided(other, self)

    def _divided(self, left: Any, right: Any) -> Printed:
        out = self._binary(tree.Div, left, right, MULTIPLIED)
        out.node.set("typed", True)  # both are floats, so that nothing must be cast
        return out

    def __lt__(self, other: Any) -> Printed:
        return self._binary(tree.LT, self, other, COMPARED)

    def __le__(self, other: Any) -> Printed:
        return self._binary(tree.LTE, self, other, COMPARED)

    def __gt__(self, other: Any) -> Printed:
        return self._binary(tree.GT, self, other, COMPARED)

    def __ge__(self, other: Any) -> Printed:
        return self._binary(tree.GTE, self, other, COMPARED)

    def __eq__(self, other: object) -> Printed:  # type: ignore[override]
        if isinstance(other, str) and self.rows.dialect in IGNORING_CASE:
            return self._binary(tree.EQ, self._cast(tree.DataType.Type.BINARY), other, COMPARED)
        return self._binary(tree.EQ, self, other, COMPARED)

    def __and__(self, other: Any) -> Printed:
        return self._binary(tree.And, self, other, AND)

    def __or__(self, other: Any) -> Printed:
        return self._binary(tree.Or, self, other, OR)

    def abs(self) -> Printed:
        """Return |x|."""
        return self._call(tree.Abs)

    def floor(self) -> Printed:
        """Return ⌊x⌋."""
        return self._call(tree.Floor)

    def sqrt(self) -> Printed:
        """Return √x."""
        return self._call(tree.Sqrt)

    def exp(self) -> Printed:
        """Return e^x."""
        return self._call(tree.Exp)

    def ln(self) -> Printed:
        """Return log x."""
        return self._call(tree.Ln)

    def cos(self) -> Printed:
        """Return the cosine of an angle in radians."""
        return Printed(self.rows, tree.Anonymous(this="COS", expressions=[self.node]))

    def isnull(self) -> Printed:
        """Return whether it is NULL."""
        return Printed(self.rows, tree.Is(this=self.within(ADDED), expression=tree.Null()), COMPARED)

    def notnull(self) -> Printed:
        """Return whether it is not NULL."""
        no_null = tree.Not(this=tree.Null())
        return Printed(self.rows, tree.Is(this=self.within(ADDED), expression=no_null), COMPARED)

    def isnan(self) -> Printed:
        """Return whether it is NaN."""
        test = DIALECTS[self.rows.dialect]
        if test == FUNCTION:
            return self._call(tree.IsNan)
        name = tree.Var(this=test)
        nan = self.rows.literal("NaN")._cast(tree.DataType.Type.DOUBLE) if test == CAST else Printed(self.rows, name)
        return self._binary(tree.EQ, self, nan, COMPARED)

    def fill_null(self, other: float) -> Printed:
        """Return another value where it is NULL."""
        return self._call(tree.Coalesce, expressions=[self.rows.value(other).node])

    def ifelse(self, then: Any, otherwise: Any) -> Printed:
        """Return one value where it is true, another elsewhere."""
        return self.rows.cases([(self, then)], otherwise)

    def cast(self, name: str) -> Printed:
        """Convert it to another type."""
        return self._cast({"float64": tree.DataType.Type.DOUBLE, "int32": tree.DataType.Type.INT}[name])

    def _cast(self, to: tree.DataType.Type) -> Printed:
        return Printed(self.rows, tree.Cast(this=self.within(WHOLE), to=tree.DataType(this=to)))

    def type(self) -> TypeName:
        """Return the type of a column."""
        return self.rows.types[self.get_name()]

    def get_name(self) -> str:
        """Return the name of a column."""
        return str(self.node.name)


class PrintedRows(Rows):
    """A query as text: of some columns of a table, or of the query before."""

    assumed = True

    def __init__(self, source: Written, types: Mapping[str, str], dialect: str, steps: int = 0):
        self.types, self.dialect, self.steps = {name: TypeName(each) for name, each in types.items()}, dialect, steps
        self.nan = DIALECTS[dialect] != NONE
        self.node = source

    @classmethod
    def of_table(cls, table: str, types: Mapping[str, str], dialect: str) -> PrintedRows:
        """Return the columns of a table."""
        return cls(tree.Table(this=_name(table)), types, dialect)

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return list(self.types)

    def __getitem__(self, name: str) -> Printed:
        return Printed(self, tree.Column(this=_name(name), table=_name(ALIAS)))

    def value(self, x: Any) -> Printed:
        """Return a value, or a constant as one."""
        return x if isinstance(x, Printed) else self.literal(x)

    def step(self, columns: Mapping[str, Any]) -> PrintedRows:
        """Return the rows with further columns."""
        own = [tree.Column(this=tree.Star(), table=_name(ALIAS))] if self.steps else self._columns(self.columns)
        out = self._query(own, columns, self.types | dict.fromkeys(columns, "float64"))
        if self.dialect in REPEATING:
            out.node.limit(ALL_ROWS, copy=False)
        return out

    def select(self, names: Sequence[str], columns: Mapping[str, Any]) -> PrintedRows:
        """Return some columns, and further ones."""
        types = {name: self.types[name] for name in names}
        return self._query(self._columns(names), columns, types | dict.fromkeys(columns, "float64"))

    def _columns(self, names: Sequence[str]) -> list[Written]:
        return [self[name].node for name in names]

    def _query(self, own: list[Written], columns: Mapping[str, Printed], types: Mapping[str, str]) -> PrintedRows:
        more = [tree.Alias(this=x.node, alias=_name(name)) for name, x in columns.items()]
        alias = tree.TableAlias(this=_name(ALIAS))
        if isinstance(self.node, tree.Table):
            source = tree.Table(this=self.node.this, alias=alias)
        else:
            source = tree.Subquery(this=self.node, alias=alias)
        query = tree.Select(expressions=[*own, *more]).from_(source, copy=False)
        return PrintedRows(query, types, self.dialect, self.steps + 1)

    def literal(self, value: Key | None) -> Printed:
        """Return a constant; None is NULL."""
        if value is None:
            return Printed(self, tree.Null())
        if isinstance(value, bool):
            return Printed(self, tree.Boolean(this=value))
        if isinstance(value, str):
            return Printed(self, tree.Literal(this=value, is_string=True))
        number = tree.Literal(this=repr(abs(value)), is_string=False)
        return Printed(self, tree.Neg(this=number) if value < 0 else number)

    def missing_number(self) -> Printed:
        """Return NULL as a float64."""
        return self.literal(None).cast("float64")

    def as_float(self, x: Any) -> Printed:
        """Cast a number to float64."""
        return self.value(x).cast("float64")

    def cases(self, branches: Sequence[tuple[Any, Any]], otherwise: Any) -> Printed:
        """Return the value of the first condition that is true."""
        ifs = [tree.If(this=test.node, true=self.value(x).node) for test, x in branches]
        return Printed(self, tree.Case(ifs=ifs, default=None if otherwise is None else self.value(otherwise).node))

    def greatest(self, values: Sequence[Any]) -> Printed:
        """Return the greatest of some values."""
        first, *rest = (self.value(x).node for x in values)
        if self.dialect == "sqlite":  # which sqlglot knows from version 30 on
            return Printed(self, tree.Max(this=first, expressions=rest))
        # With NULL, each database may do what it does: steps keep answers apart that are missing.
        return Printed(self, tree.Greatest(this=first, expressions=rest, ignore_nulls=True))

    def substring(self, text: str, start: Any, length: int) -> Printed:
        """Return some characters of a text."""
        found = tree.Substring(this=self.literal(text).node, start=start.node, length=self.literal(length).node)
        return Printed(self, found)


def _name(name: str) -> tree.Identifier:
    return tree.Identifier(this=name, quoted=True)
