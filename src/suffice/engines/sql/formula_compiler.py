"""Formulas as expressions of Ibis: a model becomes part of a query.

−∞ is told by a number below `IMPOSSIBLE`: not every database has infinity, and some fail where a number underflows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatchmethod
from operator import add
from typing import Any

import ibis
import numpy as np

from suffice import formulas as f
from suffice.core.errors import InvalidDataError, NoFormulaError
from suffice.engines.source import Question
from suffice.engines.sql.expressions import as_float, boolean, category, is_broken, missing, number

EXCLUDED = -1e300  # what −∞ is written as; sums of many such are numbers still
IMPOSSIBLE = -1e280  # also after a slope was applied
NEVER = float("-inf")  # as answers have it
TINY = -700.0  # whose exponential is next to nothing
MOST_BUMPS = 500  # terms of a sum of bumps
ALL = 2**63 - 1  # rows
# Databases that put the text of a subquery wherever its columns are used, and reckon again each time, which multiplies
# from step to step; not if the subquery has a limit.
REPEATING = ("materialize", "mysql", "postgres", "risingwave", "singlestoredb", "sqlite")


def scored(table: Any, scoring: f.Scoring, question: Question, dialect: str, nan: bool = True) -> Any:
    """The table with the answers as further columns; `nan` says whether its database knows NaN.

    Every step is a query about the one before: scores, the best of them, and the sum of their exponentials.
    """
    k, names = range(len(scoring.labels)), list(table.columns)
    own = "_" * (1 + max((len(n) - len(n.lstrip("_")) for n in names), default=0))  # a prefix that no column has
    prior = np.where(np.isfinite(scoring.log_prior), scoring.log_prior, EXCLUDED)
    prior = prior - prior.max()  # zeros, where no class is possible at all

    def apart(t: Any, c: int) -> Any:
        """How far the score of a class is from the best; the prior's, where every class is impossible."""
        return ibis.ifelse(t[f"{own}best"] < IMPOSSIBLE, float(prior[c]), t[f"{own}s{c}"] - t[f"{own}best"])

    t = _scores(Writer(table, nan, own, dialect), scoring)
    t = _step(t, dialect, **{f"{own}best": _greatest([t[f"{own}s{c}"] for c in k])})
    t = _step(t, dialect, **{f"{own}sum": _total([_exp(apart(t, c)) for c in k])})
    share = scoring.mixed * np.exp(prior) / np.exp(prior).sum()
    p = [(1.0 - scoring.mixed) * (_exp(apart(t, c)) / t[f"{own}sum"]) + float(share[c]) for c in k]
    t = _step(t, dialect, **{f"{own}p{c}": p[c] for c in k})
    p = [t[f"{own}p{c}"] for c in k]
    if scoring.mixed:
        told = [_log_of(p[c]) for c in k]
        best = [p[c] >= _greatest(p) for c in k]
    else:  # to all digits also where p is tiny
        logs = [apart(t, c) for c in k]
        told = [ibis.ifelse(logs[c] < IMPOSSIBLE, NEVER, logs[c] - t[f"{own}sum"].ln()) for c in k]
        best = [logs[c] >= 0.0 for c in k]
    labels = scoring.labels.tolist()
    nothing = ibis.null(ibis.literal(labels[0]).type())
    answers = {"prediction": ibis.cases(*((best[c], labels[c]) for c in k), else_=nothing)}
    if question == "predict_proba":
        answers |= {f"probability {labels[c]}": p[c] for c in k}
    elif question == "predict_log_proba":
        answers |= {f"log_probability {labels[c]}": told[c] for c in k}
    known = t[f"{own}s0"].notnull()  # a gap in a large block has no formula
    return t.select(*names, **{name: ibis.ifelse(known, x, ibis.null(x.type())) for name, x in answers.items()})


def _scores(writer: Writer, scoring: f.Scoring) -> Any:
    """The table with log p(y) + a (E − max E) + b of every class, next to −1e300 where it is impossible."""
    k, own = range(len(scoring.labels)), writer.own
    # Each term is cast: databases add literals as decimals, which overflow.
    evidence = [_total([as_float(writer.write(term.formula, c)) for term in scoring.terms]) for c in k]
    t = writer.table
    if (scoring.slope != scoring.slope[0]).any():  # else the greatest is the same for all classes, and changes nothing
        t = _step(t, writer.dialect, **{f"{own}e{c}": evidence[c] for c in k})
        t = _step(t, writer.dialect, **{f"{own}top": _greatest([t[f"{own}e{c}"] for c in k])})
        e = [t[f"{own}e{c}"] for c in k]
        evidence = [ibis.ifelse(e[c] < IMPOSSIBLE, EXCLUDED, e[c] - t[f"{own}top"]) for c in k]
    scores = {}
    for c in k:
        slope, start = float(scoring.slope[c]), float(scoring.log_prior[c] + scoring.bias[c])
        x = evidence[c] if slope == 1.0 else evidence[c] * max(slope, 1e-12)
        scores[f"{own}s{c}"] = x + max(start, EXCLUDED)
    return _step(t, writer.dialect, **scores)


def _step(t: Any, dialect: str, **columns: Any) -> Any:
    """The table with further columns."""
    t = t.mutate(**columns)
    return t.limit(ALL) if dialect in REPEATING else t


def _log_of(p: Any) -> Any:
    return ibis.ifelse(p > 0.0, ibis.ifelse(p > 0.0, p, 1.0).ln(), NEVER)


def _exp(x: Any) -> Any:
    return ibis.ifelse(x < TINY, 0.0, ibis.greatest(x, TINY).exp())


def _greatest(terms: Sequence[Any]) -> Any:
    return ibis.greatest(*terms) if len(terms) > 1 else terms[0]


def _total(terms: Sequence[Any], plus: Callable[[Any, Any], Any] = add) -> Any:
    """The sum, by halves: compilers of SQL do not like depth."""
    if not terms:
        return ibis.literal(0.0)
    half = len(terms) // 2
    return terms[0] if len(terms) == 1 else plus(_total(terms[:half], plus), _total(terms[half:], plus))


class Writer:
    """Writes formulas for one class at a time. What is used often becomes a column of its own in `table`."""

    def __init__(self, table: Any, nan: bool, own: str, dialect: str, entry: Any = None):
        self.source, self.table, self.nan, self.own, self.dialect, self.made = table, table, nan, own, dialect, 0
        self.entry = entry  # what `X` stands for

    def _number(self, name: str) -> Any:
        """A column as float64; whether it is missing was asked before."""
        column = self.source[name]
        kind = column.type()
        if not (kind.is_numeric() or kind.is_boolean()):
            raise InvalidDataError(f"Column {name!r} holds {kind}, where the model has numbers")
        return number(column, nan=False)

    def _missing(self, name: str) -> Any:
        return missing(self.source[name], self.nan)

    def _keyed(self, name: str, key: Any) -> Any:
        """Whether a column holds a category."""
        column = self.source[name]
        kind = column.type()
        fits = kind.is_string() if isinstance(key, str) else kind.is_numeric() or kind.is_boolean()
        if not fits:
            raise InvalidDataError(f"Column {name!r} holds {kind}, where the model has categories such as {key!r}")
        if kind.is_boolean():
            return column == ibis.literal(bool(key)) if key in (0, 1) else ibis.literal(False)
        return category(column, nan=False) == ibis.literal(float(key) if isinstance(key, bool) else key)

    @singledispatchmethod
    def write(self, node: Any, c: int) -> Any:
        """The value of a formula for class c."""
        raise NoFormulaError(f"{type(node).__name__} of {c} has no expression in SQL")

    @write.register
    def _(self, node: f.Column, c: int) -> Any:  # noqa: ARG002  # the contract
        return self._number(node.column)

    @write.register
    def _(self, node: f.Above, c: int) -> Any:
        return boolean(self.write(node.of, c) > node.limit)

    @write.register
    def _(self, node: f.TimesLog, c: int) -> Any:
        return self.write(node.spelled_out(), c)

    @write.register
    def _(self, node: f.Constant, c: int) -> Any:
        return ibis.literal(_of_class(node.values, c))

    @write.register
    def _(self, node: f.Entry, c: int) -> Any:  # noqa: ARG002
        return self.entry

    @write.register
    def _(self, node: f.Unknown, c: int) -> Any:  # noqa: ARG002
        return ibis.null("float64")

    @write.register
    def _(self, node: f.Binary, c: int) -> Any:
        left, right = self.write(node.left, c), self.write(node.right, c)
        if isinstance(node, f.Add):
            return left + right
        if isinstance(node, f.Subtract):
            return left - right
        return left * right if isinstance(node, f.Multiply) else left / right

    @write.register
    def _(self, node: f.Unary, c: int) -> Any:
        return FUNCTIONS[type(node)](self.write(node.of, c))

    @write.register
    def _(self, node: f.LogSumExp, c: int) -> Any:
        terms = [self.write(term, c) for term in node.terms]
        top = self._named(_greatest(terms))
        rest = _total([_exp(term - top) for term in terms])
        return top + ibis.greatest(rest, 1.0).ln()

    @write.register
    def _(self, node: f.Bumps, c: int) -> Any:
        own = min(c, len(node.height) - 1)
        some = np.flatnonzero(np.isfinite(node.height[own]))
        if len(some) > MOST_BUMPS:
            raise NoFormulaError(
                f"{_columns(node)} is a sum of {len(some)} bumps, and a query has room for {MOST_BUMPS}: give "
                "the family a limit, name another one, or predict on table.to_pyarrow_batches()"
            )
        if not len(some):
            return ibis.literal(EXCLUDED)
        arrays = (np.broadcast_to(a, node.height.shape) for a in (node.centre, node.width, node.height))
        return self.write(f.Bumps(node.of, *(a[own : own + 1, some] for a in arrays)).spelled_out(), 0)

    @write.register
    def _(self, node: f.Linear, c: int) -> Any:
        shape = (max(len(node.coef), len(node.origin)), len(node.columns))
        coef, origin = (np.broadcast_to(a, shape)[min(c, shape[0] - 1)].tolist() for a in (node.coef, node.origin))
        each = zip(node.columns, coef, origin, strict=True)
        terms = [(self._number(name) - o) * a if o else self._number(name) * a for name, a, o in each if a]
        return _total(terms)

    @write.register
    def _(self, node: f.Lookup, c: int) -> Any:
        tests = [self._keyed(node.column, key) for key in node.keys]
        return self._chosen(tests, node.numbers, node.otherwise, c)

    @write.register
    def _(self, node: f.Combinations, c: int) -> Any:
        tests = []
        for key in node.keys:
            each = [self._keyed(name, part) for name, part in zip(node.columns, key, strict=True)]
            tests.append(_total(each, lambda a, b: a & b))
        return self._chosen(tests, node.numbers, node.otherwise, c)

    def _chosen(self, tests: Sequence[Any], numbers: Any, otherwise: Any, c: int) -> Any:
        rest = _of_class(otherwise, c)
        values = [_of_class(column, c) for column in numbers.T]
        return ibis.cases(*zip(tests, values, strict=True), else_=rest) if tests else ibis.literal(rest)

    @write.register
    def _(self, node: f.Steps, c: int) -> Any:
        x, values = self.write(node.of, c), [_of_class(column, c) for column in node.numbers.T]
        steps = [(x <= edge, value) for edge, value in zip(node.edges.tolist(), values, strict=False)]
        return ibis.cases(*steps, else_=values[-1]) if steps else ibis.literal(values[-1])

    @write.register
    def _(self, node: f.Where, c: int) -> Any:
        return ibis.ifelse(self.condition(node.condition), self.write(node.then, c), self.write(node.otherwise, c))

    def condition(self, node: f.Condition) -> Any:
        """A condition."""
        if isinstance(node, f.Missing):
            return self._missing(node.column)
        if isinstance(node, f.Below):
            x = self.write(node.of, 0)
            return x <= node.limit if node.touching else x < node.limit
        if isinstance(node, f.Fraction):
            return is_broken(self.write(node.of, 0))
        assert isinstance(node, f.Among), "the conditions there are"
        tests = [self._keyed(node.column, key) for key in node.keys]
        return _total(tests, lambda a, b: a | b) if tests else ibis.literal(False)

    def _named(self, value: Any) -> Any:
        """A value as a column of its own."""
        name = f"{self.own}v{self.made}"
        self.made += 1
        self.table = _step(self.table, self.dialect, **{name: value})
        return self.table[name]


def entry(formula: f.Formula, x: Any) -> Any:
    """Write a formula over `X` for one column, which is the expression `x`."""
    return Writer(None, nan=False, own="", dialect="", entry=x).write(formula, 0)


def _columns(node: f.Formula) -> str:
    """Name the columns of a formula, for errors."""
    return "Column " + ", ".join(map(repr, node.reads()))


def _of_class(values: Any, c: int) -> float:
    """The number of a class, or the one that all share; infinite ones as numbers that are large."""
    return float(np.clip(values[c if len(values) > 1 else 0], EXCLUDED, -EXCLUDED))


def _log_gamma(x: Any) -> Any:
    """Stirling's series at x + 8, and back: 14 digits for x > 0 by arithmetic alone."""
    z = x + 8.0
    series = 1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / (1188 * z * z)) / (z * z)) / (z * z)) / (z * z)
    far = (z - 0.5) * z.ln() - z + 0.5 * float(np.log(2 * np.pi)) + series / z
    near = [(x + 2.0 * i) * (x + (2.0 * i + 1.0)) for i in range(4)]
    return far - _total([pair.ln() for pair in near])


def _log1p(x: Any) -> Any:
    """Log(1 + x), to all digits: what 1 + x is rounded by cancels (Kahan)."""
    u = 1.0 + x
    return ibis.ifelse(u == 1.0, x, u.ln() * x / ibis.ifelse(u == 1.0, 1.0, u - 1.0))


FUNCTIONS: Mapping[type[f.Unary], Callable[[Any], Any]] = {
    f.Square: lambda x: x * x,
    f.Sqrt: lambda x: x.sqrt(),
    f.Abs: lambda x: x.abs(),
    f.Log: lambda x: ibis.ifelse(x > 0, ibis.ifelse(x > 0, x, 1.0).ln(), EXCLUDED),
    f.Log1p: _log1p,
    f.Exp: _exp,
    f.LogGamma: _log_gamma,
}
