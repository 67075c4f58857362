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
from suffice.engines.database.rows import category, missing, number
from suffice.engines.source import Question
from suffice.errors import InvalidDataError, NoFormulaError

EXCLUDED = -1e300  # what −∞ is written as; sums of many such are numbers still
IMPOSSIBLE = -1e299
TINY = -700.0  # whose exponential is next to nothing
MOST_BUMPS = 500  # terms of a sum of bumps
TITLES = {"predict_proba": "probability", "predict_log_proba": "log_probability"}


def scored(table: Any, scoring: f.Scoring, question: Question, nan: bool = True) -> Any:
    """The table with the answers as further columns; `nan` says whether its database knows NaN."""
    k = range(len(scoring.labels))
    names = list(table.columns)
    own = "_" * (1 + max((len(n) - len(n.lstrip("_")) for n in names), default=0))  # a prefix that no column has
    writer = Writer(table, nan, own)
    evidence = [[writer.write(term.formula, c) for term in scoring.terms] for c in k]
    t = writer.table.mutate(**{f"{own}e{c}": _total(evidence[c]) for c in k})

    e = [t[f"{own}e{c}"] for c in k]
    t = t.mutate(**{f"{own}top": _greatest(e)})
    t = t.mutate(**{f"{own}s{c}": _score(scoring, c, t[f"{own}e{c}"], t[f"{own}top"]) for c in k})
    t = t.mutate(**{f"{own}best": _greatest([t[f"{own}s{c}"] for c in k])})
    prior = np.where(np.isfinite(scoring.log_prior), scoring.log_prior, EXCLUDED)
    if not np.isfinite(scoring.log_prior).any():
        prior = np.zeros(len(prior))
    lost = t[f"{own}best"] < IMPOSSIBLE  # every class is impossible: the prior is the answer
    apart = [ibis.ifelse(lost, float(prior[c] - prior.max()), t[f"{own}s{c}"] - t[f"{own}best"]) for c in k]
    t = t.mutate(**{f"{own}d{c}": apart[c] for c in k})
    t = t.mutate(**{f"{own}sum": _total([_exp(t[f"{own}d{c}"]) for c in k])})

    share = np.exp(prior - prior.max())
    share = scoring.mixed * share / share.sum()
    known = t[f"{own}e0"].notnull()
    odds = [(1.0 - scoring.mixed) * _exp(t[f"{own}d{c}"]) / t[f"{own}sum"] + float(share[c]) for c in k]
    t = t.mutate(**{f"{own}p{c}": ibis.ifelse(known, odds[c], ibis.null("float64")) for c in k})
    p = [t[f"{own}p{c}"] for c in k]
    most = _greatest(p)
    labels = scoring.labels.tolist()
    first = [(p[c] >= most, ibis.literal(labels[c])) for c in k]
    answers = {"prediction": ibis.cases(*first, else_=ibis.null(ibis.literal(labels[0]).type()))}
    if question == "predict_proba":
        answers |= {f"probability {labels[c]}": p[c] for c in k}
    elif question == "predict_log_proba":
        answers |= {f"log_probability {labels[c]}": _log(t, own, c, scoring.mixed) for c in k}
    return t.select(*names, **answers)


def _score(scoring: f.Scoring, c: int, e: Any, top: Any) -> Any:
    """Log p(y) + a (E − max E) + b of one class."""
    if not np.isfinite(scoring.log_prior[c]):
        return ibis.literal(EXCLUDED)
    slope, start = float(scoring.slope[c]), float(scoring.log_prior[c] + scoring.bias[c])
    apart = ibis.greatest(e - top, -f.BEYOND)
    return ibis.ifelse(e < IMPOSSIBLE, EXCLUDED, (apart if slope == 1.0 else apart * slope) + start)


def _log(t: Any, own: str, c: int, mixed: float) -> Any:
    """Log p(y | x), to all digits also where p is tiny."""
    p, d = t[f"{own}p{c}"], t[f"{own}d{c}"]
    never = ibis.literal(float("-inf"))
    if mixed:
        return ibis.ifelse(p <= 0.0, never, ibis.ifelse(p > 0.0, p, 1.0).ln())
    unknown = (p.isnull(), ibis.null("float64"))
    return ibis.cases(unknown, (d < IMPOSSIBLE, never), else_=d - t[f"{own}sum"].ln())


def _exp(x: Any) -> Any:
    return ibis.ifelse(x < TINY, 0.0, ibis.greatest(x, TINY).exp())


def _greatest(terms: Sequence[Any]) -> Any:
    return ibis.greatest(*terms) if len(terms) > 1 else terms[0]


def _total(terms: Sequence[Any], plus: Callable[[Any, Any], Any] = add) -> Any:
    """The sum, by halves: compilers of SQL do not like depth."""
    if not terms:
        return ibis.literal(0.0)
    half = len(terms) // 2
    return terms[0] if len(terms) == 1 else plus(_total(terms[:half]), _total(terms[half:]))


class Writer:
    """Writes formulas for one class at a time. What is used often becomes a column of its own in `table`."""

    def __init__(self, table: Any, nan: bool, own: str):
        self.source, self.table, self.nan, self.own, self.made = table, table, nan, own, 0

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
    def _(self, node: f.Constant, c: int) -> Any:
        return ibis.literal(_of_class(node.values, c))

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
        return ibis.ifelse(top < IMPOSSIBLE, EXCLUDED, top + rest.ln())

    @write.register
    def _(self, node: f.Bumps, c: int) -> Any:
        heights = np.broadcast_to(node.height, (max(len(node.height), c + 1), node.height.shape[1]))
        some = np.flatnonzero(np.isfinite(heights[c if len(node.height) > 1 else 0]))
        if len(some) > MOST_BUMPS:
            raise NoFormulaError(
                f"Column {node.column!r} is a sum of {len(some)} bumps, and a query is written for at most {MOST_BUMPS}: "
                "pass limit= to the family, name another one, or predict on table.to_pyarrow_batches()"
            )
        if not len(some):
            return ibis.literal(EXCLUDED)
        own = min(c, len(node.height) - 1)
        kept = (np.broadcast_to(a, node.height.shape)[own : own + 1, some] for a in (node.centre, node.width, node.height))
        return self.write(f.Bumps(node.column, *kept).spelled_out(), 0)

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
        x, values = self._number(node.column), [_of_class(column, c) for column in node.numbers.T]
        steps = [(x <= edge, value) for edge, value in zip(node.edges.tolist(), values, strict=False)]
        return ibis.cases(*steps, else_=values[-1]) if steps else ibis.literal(values[-1])

    @write.register
    def _(self, node: f.Where, c: int) -> Any:
        return ibis.ifelse(self.truth(node.condition), self.write(node.then, c), self.write(node.otherwise, c))

    def truth(self, node: f.Condition) -> Any:
        """A condition."""
        if isinstance(node, f.Missing):
            return self._missing(node.column)
        if isinstance(node, f.Below):
            x = self._number(node.column)
            return x <= node.limit if node.touching else x < node.limit
        if isinstance(node, f.Fraction):
            x = self._number(node.column)
            return x.floor() < x
        assert isinstance(node, f.Among), "the conditions there are"
        tests = [self._keyed(node.column, key) for key in node.keys]
        return _total(tests, lambda a, b: a | b) if tests else ibis.literal(False)

    def _named(self, value: Any) -> Any:
        """A value as a column of its own."""
        name = f"{self.own}v{self.made}"
        self.made += 1
        self.table = self.table.mutate(**{name: value})
        return self.table[name]


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
    f.Log: lambda x: ibis.ifelse(x > 0, ibis.ifelse(x > 0, x, 1.0).ln(), EXCLUDED),
    f.Log1p: _log1p,
    f.Exp: _exp,
    f.LogGamma: _log_gamma,
}
