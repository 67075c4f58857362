"""Formulas as expressions of Ibis: a model becomes part of a query.

−∞ is represented by numbers below `IMPOSSIBLE`: not every database has infinity, and some fail if a number underflows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import singledispatchmethod
from operator import add, and_, or_
from typing import TypeAlias

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np

from suffice import formulas as f
from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, NoFormulaError
from suffice.core.labels import label_list
from suffice.core.special import log_gamma_by
from suffice.engines.sql.expressions import (
    as_float,
    boolean,
    by_groups,
    category,
    has_fraction,
    is_missing,
    number,
    supports_nan,
)
from suffice.formulas.lookups import Key
from suffice.model.predictor import Question

EXCLUDED = -1e300  # represents −∞; sums of many such numbers do not overflow
IMPOSSIBLE = -1e280  # sums below this contain −∞, also after a slope was applied
MINUS_INFINITY = float("-inf")  # in the answers
TINY = -700.0  # exponentials of smaller numbers count as 0
LEFT = 0.68  # the share of the terms of a sum that are on its left: x with x + x³ = 1
WIDTH = 19  # characters of a number in a table
MOST_BUMPS = 500  # terms of a sum of Gaussian curves
ALL = 2**63 - 1  # rows
# Databases that copy the text of a subquery to every use of its columns and compute it each time, which multiplies
# from step to step. They do not if the subquery has a limit.
REPEATING = ("materialize", "mysql", "postgres", "risingwave", "singlestoredb", "sqlite")

Function: TypeAlias = Callable[[ir.Value], ir.Value]


def add_answers(table: ir.Table, scoring: f.Scoring, question: Question, dialect: str, nan: bool = True) -> ir.Table:
    """Return the table with the answers as further columns; `nan` says whether its database supports NaN.

    Every step is a query of the previous one: scores, the best of them, and the sum of their exponentials.
    """
    k, names = range(len(scoring.labels)), list(table.columns)
    prefix = "_" * (1 + max((len(n) - len(n.lstrip("_")) for n in names), default=0))  # one that no column has
    prior = np.where(np.isfinite(scoring.log_prior), scoring.log_prior, EXCLUDED)
    prior = prior - prior.max()  # zeros if no class is possible

    def below_best(t: ir.Table, c: int) -> ir.Value:
        """Return the score of a class less the best; the log prior less its maximum if every class is impossible."""
        return ibis.ifelse(t[f"{prefix}best"] < IMPOSSIBLE, float(prior[c]), t[f"{prefix}s{c}"] - t[f"{prefix}best"])

    t = _scores(FormulaWriter(table, nan, prefix, dialect), scoring)
    t = _step(t, dialect, **{f"{prefix}best": _greatest([t[f"{prefix}s{c}"] for c in k])})
    t = _step(t, dialect, **{f"{prefix}sum": _total([_exp(below_best(t, c)) for c in k])})
    share = scoring.mixed * np.exp(prior) / np.exp(prior).sum()
    p = [(1.0 - scoring.mixed) * (_exp(below_best(t, c)) / t[f"{prefix}sum"]) + float(share[c]) for c in k]
    t = _step(t, dialect, **{f"{prefix}p{c}": p[c] for c in k})
    p = [t[f"{prefix}p{c}"] for c in k]
    if scoring.mixed:
        log_p = [_log_of(p[c]) for c in k]
        best = [p[c] >= _greatest(p) for c in k]
    else:  # the difference of logarithms keeps all digits if p is tiny
        logs = [below_best(t, c) for c in k]
        log_p = [ibis.ifelse(logs[c] < IMPOSSIBLE, MINUS_INFINITY, logs[c] - t[f"{prefix}sum"].ln()) for c in k]
        best = [logs[c] >= 0.0 for c in k]
    labels = label_list(scoring.labels)
    no_label = ibis.null(ibis.literal(labels[0]).type())
    answers = {"prediction": ibis.cases(*((best[c], labels[c]) for c in k), else_=no_label)}
    if question == "predict_proba":
        answers |= {f"probability {labels[c]}": p[c] for c in k}
    elif question == "predict_log_proba":
        answers |= {f"log_probability {labels[c]}": log_p[c] for c in k}
    known = t[f"{prefix}s0"].notnull()  # there is no formula for missing values in a large block
    return t.select(*names, **{name: ibis.ifelse(known, x, ibis.null(x.type())) for name, x in answers.items()})


def _scores(writer: FormulaWriter, scoring: f.Scoring) -> ir.Table:
    """Return the table with log p(y) + a (E − max E) + b of every class; near −1e300 if the class is impossible."""
    k, prefix = range(len(scoring.labels)), writer.prefix
    equal = bool((scoring.slope == scoring.slope[0]).all())  # then what all classes share cancels, as max E does
    terms = [f.Term(t.title, t.columns, _beyond_first(t.formula)) if equal else t for t in scoring.all_terms]
    writer.add_columns(terms, len(scoring.labels))
    # Each term is cast, as databases add literals as decimals, which overflow.
    written = [[as_float(writer.write(term.formula, c)) for term in terms] for c in k]
    evidence = [_total(each[: len(scoring.terms)]) for each in written]
    if scoring.for_gaps is not None:
        gap = _total([writer.condition(f.Missing(name)) for name in scoring.for_gaps.columns], or_)
        for_gaps = [_total(each[len(scoring.terms) :]) for each in written]
        evidence = [ibis.ifelse(gap, *each) for each in zip(for_gaps, evidence, strict=True)]
    t = writer.table
    if not equal:
        t = _step(t, writer.dialect, **{f"{prefix}e{c}": evidence[c] for c in k})
        t = _step(t, writer.dialect, **{f"{prefix}top": _greatest([t[f"{prefix}e{c}"] for c in k])})
        e = [t[f"{prefix}e{c}"] for c in k]
        evidence = [ibis.ifelse(e[c] < IMPOSSIBLE, EXCLUDED, e[c] - t[f"{prefix}top"]) for c in k]
    scores = {}
    for c in k:
        slope, start = float(scoring.slope[c]), float(scoring.log_prior[c] + scoring.bias[c])
        x = evidence[c] if slope == 1.0 else evidence[c] * max(slope, 1e-12)
        scores[f"{prefix}s{c}"] = x + max(start, EXCLUDED)
    return _step(t, writer.dialect, **scores)


def _step(t: ir.Table, dialect: str, **columns: ir.Value) -> ir.Table:
    """Return the table with further columns."""
    t = t.mutate(**columns)
    return t.limit(ALL) if dialect in REPEATING else t


def _log_of(p: ir.Value) -> ir.Value:
    return ibis.ifelse(p > 0.0, ibis.ifelse(p > 0.0, p, 1.0).ln(), MINUS_INFINITY)


def _exp(x: ir.Value) -> ir.Value:
    return ibis.ifelse(x < TINY, 0.0, ibis.greatest(x, TINY).exp())


def _greatest(terms: Sequence[ir.Value]) -> ir.Value:
    return by_groups(terms, lambda some: ibis.greatest(*some))


def _total(terms: Sequence[ir.Value], plus: Callable[[ir.Value, ir.Value], ir.Value] = add) -> ir.Value:
    """Return the sum as a tree, because parsers of SQL limit the depth of expressions.

    Of (a) + (b), a parser has one sign in mind while it reads a, and three while it reads b. So a has more terms.
    """
    if not terms:
        return ibis.literal(0.0)
    left = min(max(round(LEFT * len(terms)), 1), len(terms) - 1)
    return terms[0] if len(terms) == 1 else plus(_total(terms[:left], plus), _total(terms[left:], plus))


class FormulaWriter:
    """Writes formulas for one class at a time. A value that is used often becomes a new column of `table`."""

    def __init__(self, table: ir.Table, nan: bool, prefix: str, dialect: str, entry: ir.Value | None = None):
        self.source, self.table, self.nan, self.prefix, self.dialect = table, table, nan, prefix, dialect
        self.new_columns = 0
        self.codes: dict[int, str] = {}  # the columns of the codes of cross tables, by the identity of their formulas
        self.tops: dict[tuple[int, int], tuple[list[ir.Value], str]] = {}  # the terms of a sum, and their greatest
        self.curves: dict[tuple[int, int], f.Formula] = {}
        self.entry = entry  # the value of `X`

    def _number(self, name: str) -> ir.Value:
        """Return a column as float64. The formula tests for missing values itself."""
        column = self.source[name]
        dtype = column.type()
        if not (dtype.is_numeric() or dtype.is_boolean()):
            raise InvalidDataError(f"Column {name!r} holds {dtype}, where the model has numbers")
        # The types of a table that is not connected are assumed. Integers less a literal would be decimals.
        assumed = isinstance(self.source.op(), ops.UnboundTable) and dtype.is_float64()
        return as_float(column) if assumed else number(column, nan=False)

    def _equals(self, name: str, key: Key) -> ir.Value:
        """Return whether a column holds a category."""
        column = self.source[name]
        dtype = column.type()
        fits = dtype.is_string() if isinstance(key, str) else dtype.is_numeric() or dtype.is_boolean()
        if not fits:
            raise InvalidDataError(f"Column {name!r} holds {dtype}, where the model has categories such as {key!r}")
        if dtype.is_boolean():
            return column == ibis.literal(bool(key)) if key in (0, 1) else ibis.literal(False)
        return category(column, nan=False) == ibis.literal(float(key) if isinstance(key, bool) else key)

    @singledispatchmethod
    def write(self, node: f.Formula, c: int) -> ir.Value:  # noqa: ARG002  # the contract
        """Return the value of a formula for class c."""
        raise NoFormulaError(f"{type(node).__name__} has no expression in SQL")

    @write.register
    def _(self, node: f.WordScores, c: int) -> ir.Value:  # noqa: ARG002  # the contract
        raise NoFormulaError(
            f"Column {node.column!r} holds texts, and SQL cannot cut them into words as Python does. Count the words "
            "first, with BagOfWords, and classify the counts; or predict on table.to_pyarrow_batches()"
        )

    @write.register
    def _(self, node: f.Column, c: int) -> ir.Value:  # noqa: ARG002  # the contract
        return self._number(node.column)

    @write.register
    def _(self, node: f.Above, c: int) -> ir.Value:
        return boolean(self.write(node.of, c) > node.limit)

    @write.register
    def _(self, node: f.TimesLog | f.LogGammaRatio, c: int) -> ir.Value:
        return self.write(node.spelled_out(), c)

    @write.register
    def _(self, node: f.CrossTable, c: int) -> ir.Value:
        """Find the number in a text of all numbers of the table, by the place of the cell.

        A query with a case for each cell of all pairs of columns would be too long for most databases.
        """
        table = node.numbers[min(c, len(node.numbers) - 1)]
        if not table.any():
            return as_float(ibis.literal(0.0))
        place = self._code(node.first) * table.shape[1] + self._code(node.second)
        text = "".join(f"{number:+.12e}" for number in table.ravel().tolist())
        found = _substr(ibis.literal(text), place * WIDTH + 1, ibis.literal(WIDTH))
        return ibis.coalesce(found.cast("float64"), 0.0)

    @write.register
    def _(self, node: f.Constant, c: int) -> ir.Value:
        return ibis.literal(_of_class(node.values, c))

    @write.register
    def _(self, node: f.Entry, c: int) -> ir.Value:  # noqa: ARG002
        return self.entry

    @write.register
    def _(self, node: f.Unknown, c: int) -> ir.Value:  # noqa: ARG002
        return ibis.null("float64")

    @write.register
    def _(self, node: f.Binary, c: int) -> ir.Value:
        left, right = self.write(node.left, c), self.write(node.right, c)
        if _is_literal(node):
            left = as_float(left)  # products of decimals have more digits than databases allow
        if isinstance(node, f.Add):
            return left + right
        if isinstance(node, f.Subtract):
            return left - right
        return left * right if isinstance(node, f.Multiply) else left / right

    @write.register
    def _(self, node: f.Unary, c: int) -> ir.Value:
        return FUNCTIONS[type(node)](self.write(node.of, c))

    @write.register
    def _(self, node: f.LogSumExp, c: int) -> ir.Value:
        terms, name = self.tops[id(node), c]
        top = self.table[name]
        rest = _total([_exp(term - top) for term in terms])
        return top + ibis.greatest(rest, 1.0).ln()

    @write.register
    def _(self, node: f.Bumps, c: int) -> ir.Value:
        return self.write(self._curves(node, c), 0)

    def _curves(self, node: f.Bumps, c: int) -> f.Formula:
        """Return the sum of curves of one class in simpler nodes."""
        row = min(c, len(node.height) - 1)
        if (id(node), row) not in self.curves:
            self.curves[id(node), row] = self._spelled_out(node, row)
        return self.curves[id(node), row]

    @staticmethod
    def _spelled_out(node: f.Bumps, row: int) -> f.Formula:
        some = np.flatnonzero(np.isfinite(node.height[row]))
        if len(some) > MOST_BUMPS:
            raise NoFormulaError(
                f"Column {', '.join(map(repr, node.reads()))} has a sum of {len(some)} terms, and a query may have "
                f"{MOST_BUMPS}: give the family a limit, name another one, or predict on table.to_pyarrow_batches()"
            )
        if not len(some):
            return f.Constant(np.array([EXCLUDED]))
        arrays = (np.broadcast_to(a, node.height.shape) for a in (node.centre, node.width, node.height))
        return f.Bumps(node.of, *(a[row : row + 1, some] for a in arrays)).spelled_out()

    @write.register
    def _(self, node: f.Linear, c: int) -> ir.Value:
        shape = (max(len(node.coef), len(node.origin)), len(node.columns))
        coef, origin = (np.broadcast_to(a, shape)[min(c, shape[0] - 1)].tolist() for a in (node.coef, node.origin))
        each = zip(node.columns, coef, origin, strict=True)
        terms = [(self._number(name) - o) * a if o else self._number(name) * a for name, a, o in each if a]
        return _total(terms)

    @write.register
    def _(self, node: f.Lookup, c: int) -> ir.Value:
        tests = [self._equals(node.column, key) for key in node.keys]
        return self._chosen(tests, node.numbers, node.otherwise, c)

    @write.register
    def _(self, node: f.Combinations, c: int) -> ir.Value:
        tests = []
        for key in node.keys:
            each = [self._equals(name, part) for name, part in zip(node.columns, key, strict=True)]
            tests.append(_total(each, and_))
        return self._chosen(tests, node.numbers, node.otherwise, c)

    def _chosen(self, tests: Sequence[ir.Value], numbers: Array, otherwise: Array, c: int) -> ir.Value:
        rest = _of_class(otherwise, c)
        values = [_of_class(column, c) for column in numbers.T]
        return ibis.cases(*zip(tests, values, strict=True), else_=rest) if tests else ibis.literal(rest)

    @write.register
    def _(self, node: f.Steps, c: int) -> ir.Value:
        x, values = self.write(node.of, c), [_of_class(column, c) for column in node.numbers.T]
        steps = [(x <= edge, value) for edge, value in zip(node.edges.tolist(), values, strict=False)]
        return ibis.cases(*steps, else_=values[-1]) if steps else ibis.literal(values[-1])

    @write.register
    def _(self, node: f.Where, c: int) -> ir.Value:
        cases, last = [], node  # one after the other, which is less deep than within each other
        while True:
            cases.append((self.condition(last.condition), self.write(last.then, c)))
            if not isinstance(last.otherwise, f.Where):
                return ibis.cases(*cases, else_=self.write(last.otherwise, c))
            last = last.otherwise

    def condition(self, node: f.Condition) -> ir.Value:
        """Return a condition as a boolean expression."""
        if isinstance(node, f.Missing):
            return is_missing(self.source[node.column], self.nan)
        if isinstance(node, f.Below):
            x = self.write(node.of, 0)
            return x <= node.limit if node.touching else x < node.limit
        if isinstance(node, f.Fraction):
            return has_fraction(self.write(node.of, 0))
        assert isinstance(node, f.Among), "there is no other condition"
        tests = [self._equals(node.column, key) for key in node.keys]
        return _total(tests, or_) if tests else ibis.literal(False)

    def _add_columns(self, values: Sequence[ir.Value]) -> list[str]:
        """Add values to the table as new columns, all in one step, and return their names."""
        names = [f"{self.prefix}v{self.new_columns + j}" for j in range(len(values))]
        self.new_columns += len(values)
        self.table = _step(self.table, self.dialect, **dict(zip(names, values, strict=True)))
        return names

    def add_columns(self, terms: Sequence[f.Term], classes: int) -> None:
        """Add what is used more than once: a step for all codes of columns, and one for the tops of sums.

        Steps are queries within queries, and SQLite's parser refuses many of these.
        """
        self._add_codes(terms)
        sums: dict[tuple[int, int], tuple[f.LogSumExp, int]] = {}
        for term in terms:
            for c in range(classes):
                sums |= {(id(node), own): (node, own) for node, own in self._sums(term.formula, c)}
        deep = {key: self._depth(*each) for key, each in sums.items()}
        for depth in sorted(set(deep.values())):
            some = [key for key in sums if deep[key] == depth]
            written = {key: [self.write(part, key[1]) for part in sums[key][0].terms] for key in some}
            names = self._add_columns([_greatest(parts) for parts in written.values()])
            self.tops |= {key: (written[key], name) for key, name in zip(some, names, strict=True)}

    def _sums(self, formula: f.Formula, c: int) -> Iterator[tuple[f.LogSumExp, int]]:
        """Yield the sums of exponentials in a formula, with the class that they are written for."""
        for node in formula.walk():
            if isinstance(node, f.LogSumExp):
                yield node, c
            elif isinstance(node, f.Bumps):
                yield from self._sums(self._curves(node, c), 0)

    def _depth(self, node: f.LogSumExp, c: int) -> int:
        """Return how many sums are within each other."""
        inner = (self._depth(*each) for part in node.terms for each in self._sums(part, c))
        return 1 + max(inner, default=0)

    def _add_codes(self, terms: Iterable[f.Term]) -> None:
        """Add the codes of all cross tables to the table, as many tables read the code of one column."""
        tables = [node for term in terms for node in term.formula.walk() if isinstance(node, f.CrossTable)]
        codes = {id(code): code for node in tables for code in (node.first, node.second)}
        if codes:
            written = [self.write(code, 0).cast("int32") for code in codes.values()]
            self.codes |= dict(zip(codes, self._add_columns(written), strict=True))

    def _code(self, code: f.Formula) -> ir.Value:
        return self.table[self.codes[id(code)]]


def _is_literal(node: f.Formula) -> bool:
    """Return whether all values of a formula are written in the query, where databases take them for decimals."""
    if isinstance(node, (f.Where, f.Binary)):
        both = (node.then, node.otherwise) if isinstance(node, f.Where) else (node.left, node.right)
        return all(_is_literal(each) for each in both)
    return isinstance(node, (f.Constant, f.Steps, f.Lookup, f.Combinations))


def _beyond_first(formula: f.Formula) -> f.Formula:
    """Return a cross table as what it says beyond the first class, which makes a query shorter."""
    if not isinstance(formula, f.CrossTable):
        return formula
    return f.CrossTable(formula.first, formula.second, formula.numbers - formula.numbers[:1])


@ibis.udf.scalar.builtin(name="substr")  # type: ignore[untyped-decorator]  # Ibis has no types for it
def _substr(text: str, start: int, length: int) -> str:  # type: ignore[empty-body]  # that of Ibis repeats the text
    ...


def write_entry(formula: f.Formula, x: ir.Value) -> ir.Value:
    """Write a formula over `X` for one column, given by the expression `x`."""
    return FormulaWriter(None, nan=False, prefix="", dialect="", entry=x).write(formula, 0)


def write_column(formula: f.Formula, table: ir.Table) -> ir.Value:
    """Write a formula of the columns of a table that is the same for all classes."""
    return FormulaWriter(table, supports_nan(table), prefix="", dialect="").write(formula, 0)


def _of_class(values: Array, c: int) -> float:
    """Return the number of a class, or the one that all classes share; infinite numbers become large ones."""
    return float(np.clip(values[c if len(values) > 1 else 0], EXCLUDED, -EXCLUDED))


def _log1p(x: ir.Value) -> ir.Value:
    """Compute log(1 + x) to all digits: the rounding error of 1 + x cancels (Kahan)."""
    u = 1.0 + x
    return ibis.ifelse(u == 1.0, x, u.ln() * x / ibis.ifelse(u == 1.0, 1.0, u - 1.0))


FUNCTIONS: Mapping[type[f.Unary], Function] = {
    f.Square: lambda x: x * x,
    f.Sqrt: lambda x: x.sqrt(),
    f.Abs: lambda x: x.abs(),
    f.Log: lambda x: ibis.ifelse(x > 0, ibis.ifelse(x > 0, x, 1.0).ln(), EXCLUDED),
    f.Log1p: _log1p,
    f.Exp: _exp,
    f.LogGamma: lambda x: log_gamma_by(x, lambda z: z.ln()),
}
