"""Formulas as values of a query: a model becomes part of it. Ibis writes them, or sqlglot: see `algebra`.

−∞ is represented by numbers below `IMPOSSIBLE`: not every database has infinity, and some fail if a number underflows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import singledispatchmethod
from operator import add, and_, or_
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from suffice import formulas as f
from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, NoFormulaError
from suffice.core.labels import label_list
from suffice.core.special import log_gamma_by
from suffice.engines.sql.algebra import Rows, Value
from suffice.engines.sql.expressions import boolean, by_groups, category, has_fraction, is_missing, number
from suffice.engines.sql.shared_formulas import SharedFormulas, depends_on_class
from suffice.formulas.lookups import Key
from suffice.model.predictor import Question

EXCLUDED = -1e300  # represents −∞; sums of many such numbers do not overflow
IMPOSSIBLE = -1e280  # sums below this contain −∞, also after a slope was applied
MINUS_INFINITY = float("-inf")  # in the answers
TINY = -700.0  # exponentials of smaller numbers count as 0
LEFT = 0.68  # the share of the terms of a sum that are on its left: x with x + x³ = 1
WIDTH = 19  # characters of a number in a table
MOST_BUMPS = 500  # terms of a sum of Gaussian curves

SomeRows = TypeVar("SomeRows", bound=Rows)
Function: TypeAlias = Callable[[Rows, Value], Value]


def add_answers(rows: SomeRows, scoring: f.Scoring, question: Question) -> SomeRows:
    """Return the rows with the answers as further columns.

    Every step is a query of the previous one: scores, the best of them, and the sum of their exponentials.
    """
    k, names = range(len(scoring.labels)), list(rows.columns)
    prefix = "_" * (1 + max((len(n) - len(n.lstrip("_")) for n in names), default=0))  # one that no column has
    prior = np.where(np.isfinite(scoring.log_prior), scoring.log_prior, EXCLUDED)
    prior = prior - prior.max()  # zeros if no class is possible

    def below_best(t: SomeRows, c: int) -> Value:
        """Return the score of a class less the best; the log prior less its maximum if every class is impossible."""
        return (t[f"{prefix}best"] < IMPOSSIBLE).ifelse(float(prior[c]), t[f"{prefix}s{c}"] - t[f"{prefix}best"])

    t = _scores(FormulaWriter(rows, prefix), scoring)
    t = t.step({f"{prefix}best": _greatest(t, [t[f"{prefix}s{c}"] for c in k])})
    t = t.step({f"{prefix}sum": _total([_exp(t, below_best(t, c)) for c in k])})
    p = [_exp(t, below_best(t, c)) / t[f"{prefix}sum"] for c in k]
    if scoring.mixed:
        share = scoring.mixed * np.exp(prior) / np.exp(prior).sum()
        p = [(1.0 - scoring.mixed) * p[c] + float(share[c]) for c in k]
    t = t.step({f"{prefix}p{c}": p[c] for c in k})
    p = [t[f"{prefix}p{c}"] for c in k]
    logs = [below_best(t, c) for c in k]
    best = [p[c] >= _greatest(t, p) if scoring.mixed else logs[c] >= 0.0 for c in k]
    labels = label_list(scoring.labels)
    answers = {"prediction": t.cases([(best[c], labels[c]) for c in k], None)}
    if question == "predict_proba":
        answers |= {f"probability {labels[c]}": p[c] for c in k}
    elif question == "predict_log_proba":
        if scoring.mixed:
            log_p = [_log_of(p[c], MINUS_INFINITY) for c in k]
        else:  # the difference of logarithms keeps all digits if p is tiny
            log_sum = t[f"{prefix}sum"].ln()
            log_p = [(logs[c] < IMPOSSIBLE).ifelse(MINUS_INFINITY, logs[c] - log_sum) for c in k]
        answers |= {f"log_probability {labels[c]}": log_p[c] for c in k}
    known = t[f"{prefix}s0"].notnull()  # there is no formula for missing values in a large block
    return t.select(names, {name: known.ifelse(x, None) for name, x in answers.items()})


def _scores(writer: FormulaWriter[SomeRows], scoring: f.Scoring) -> SomeRows:
    """Return the rows with log p(y) + a (E − max E) + b of every class; near −1e300 if the class is impossible."""
    k, prefix = range(len(scoring.labels)), writer.prefix
    equal = bool((scoring.slope == scoring.slope[0]).all())  # then what all classes share cancels, as max E does
    known: dict[int, f.Formula] = {}
    terms = [f.Term(t.title, t.columns, _beyond_first(t.formula, known)) if equal else t for t in scoring.all_terms]
    writer.add_columns(terms, len(scoring.labels))
    # Each term is cast, as databases add literals as decimals, which overflow.
    written = [[writer.table.as_float(writer.write(term.formula, c)) for term in terms] for c in k]
    evidence = [writer.total(each[: len(scoring.terms)]) for each in written]
    if scoring.for_gaps is not None:
        gap = _total([writer.condition(f.Missing(name)) for name in scoring.for_gaps.columns], or_)
        for_gaps = [writer.total(each[len(scoring.terms) :]) for each in written]
        evidence = [gap.ifelse(*each) for each in zip(for_gaps, evidence, strict=True)]
    t = writer.table
    if not equal:
        t = t.step({f"{prefix}e{c}": evidence[c] for c in k})
        t = t.step({f"{prefix}top": _greatest(t, [t[f"{prefix}e{c}"] for c in k])})
        e = [t[f"{prefix}e{c}"] for c in k]
        evidence = [(e[c] < IMPOSSIBLE).ifelse(EXCLUDED, e[c] - t[f"{prefix}top"]) for c in k]
    scores = {}
    for c in k:
        slope, start = float(scoring.slope[c]), float(scoring.log_prior[c] + scoring.bias[c])
        x = evidence[c] if slope == 1.0 else evidence[c] * max(slope, 1e-12)
        scores[f"{prefix}s{c}"] = x + max(start, EXCLUDED)
    return t.step(scores)


def _log_of(x: Value, of_zero: float) -> Value:
    return (x > 0.0).ifelse((x > 0.0).ifelse(x, 1.0).ln(), of_zero)


def _exp(rows: Rows, x: Value) -> Value:
    return (x < TINY).ifelse(0.0, rows.greatest([x, TINY]).exp())


def _greatest(rows: Rows, terms: Sequence[Value]) -> Value:
    return by_groups(terms, rows.greatest)


def _total(terms: Sequence[Value], plus: Callable[[Value, Value], Value] = add) -> Value:
    """Return the sum as a tree, because parsers of SQL limit the depth of expressions.

    Of (a) + (b), a parser has one sign in mind while it reads a, and three while it reads b. So a has more terms.
    """
    left = min(max(round(LEFT * len(terms)), 1), len(terms) - 1)
    return terms[0] if len(terms) == 1 else plus(_total(terms[:left], plus), _total(terms[left:], plus))


class FormulaWriter(Generic[SomeRows]):
    """Writes formulas for one class at a time. A value that is used often becomes a new column of `table`."""

    def __init__(self, rows: SomeRows, prefix: str = "", entry: Value | None = None):
        self.source, self.table, self.prefix = rows, rows, prefix
        self.new_columns = 0
        self.shared: dict[tuple[int, int], str] = {}  # the columns of formulas by their identity, for each class
        self.cosines: dict[int, list[str]] = {}  # the columns of cosines
        self.tops: dict[tuple[int, int], tuple[list[Value], str]] = {}  # the terms of a sum, and their greatest
        self.curves: dict[tuple[int, int], f.Formula] = {}
        self.entry = entry  # the value of `X`

    def _number(self, name: str) -> Value:
        """Return a column as float64. The formula tests for missing values itself."""
        column = self.source[name]
        dtype = column.type()
        if not (dtype.is_numeric() or dtype.is_boolean()):
            raise InvalidDataError(f"Column {name!r} holds {dtype}, where the model has numbers")
        # Integers less a literal would be decimals.
        assumed = self.source.assumed and dtype.is_float64()
        return self.source.as_float(column) if assumed else number(column)

    def _equals(self, name: str, key: Key) -> Value:
        """Return whether a column holds a category."""
        column = self.source[name]
        dtype = column.type()
        fits = dtype.is_string() if isinstance(key, str) else dtype.is_numeric() or dtype.is_boolean()
        if not fits:
            raise InvalidDataError(f"Column {name!r} holds {dtype}, where the model has categories such as {key!r}")
        if dtype.is_boolean():
            return column == bool(key) if key in (0, 1) else self.source.literal(False)
        return category(column) == (float(key) if isinstance(key, bool) else key)

    def write(self, node: f.Formula, c: int) -> Value:
        """Return the value of a formula for class c: a column, where it is computed once."""
        name = self.shared.get((id(node), c))
        return self._write(node, c) if name is None else self.table[name]

    @singledispatchmethod
    def _write(self, node: f.Formula, c: int) -> Value:  # noqa: ARG002  # the contract
        raise NoFormulaError(f"{type(node).__name__} has no expression in SQL")

    @_write.register
    def _(self, node: f.WordScores, c: int) -> Value:  # noqa: ARG002  # the contract
        raise NoFormulaError(
            f"Column {node.column!r} holds texts, and SQL cannot cut them into words as Python does. Count the words "
            "first, with BagOfWords, and classify the counts; or predict on table.to_pyarrow_batches()"
        )

    @_write.register
    def _(self, node: f.Column, c: int) -> Value:  # noqa: ARG002  # the contract
        return self._number(node.column)

    @_write.register
    def _(self, node: f.Above, c: int) -> Value:
        return boolean(self.write(node.of, c) > node.limit)

    @_write.register
    def _(self, node: f.TimesLog | f.LogGammaRatio, c: int) -> Value:
        return self.write(node.spelled_out(), c)

    @_write.register
    def _(self, node: f.CrossTable, c: int) -> Value:
        """Find the number in a text of all numbers of the table, by the place of the cell.

        A query with a case for each cell of all pairs of columns would be too long for most databases.
        """
        table = node.numbers[min(c, len(node.numbers) - 1)]
        if not table.any():
            return self.table.as_float(self.table.literal(0.0))
        place = self.write(node.first, c) * table.shape[1] + self.write(node.second, c)
        text = "".join(f"{number:+.12e}" for number in table.ravel().tolist())
        return self.table.substring(text, place * WIDTH + 1, WIDTH).cast("float64").fill_null(0.0)

    @_write.register
    def _(self, node: f.Cosines, c: int) -> Value:
        coef = node.coef[min(c, len(node.coef) - 1)].tolist()
        return self.total([self.table[name] * a for name, a in zip(self.cosines[id(node)], coef, strict=True)])

    def _each_cosine(self, node: f.Cosines) -> list[Value]:
        """Return the cosines that a sum is of, each of the turns of its wave."""
        numbers, out = [self.write(each, 0) for each in node.of], []
        for frequency, phase in zip(node.frequency.T.tolist(), node.phase.tolist(), strict=True):
            turns = _total([x * w for x, w in zip(numbers, frequency, strict=True)]) + phase
            out.append((turns * (2.0 * np.pi)).cos())
        return out

    @_write.register
    def _(self, node: f.Constant, c: int) -> Value:
        return self.table.literal(_of_class(node.values, c))

    @_write.register
    def _(self, node: f.Entry, c: int) -> Value:  # noqa: ARG002
        assert self.entry is not None, "X is read where there is one column"
        return self.entry

    @_write.register
    def _(self, node: f.Unknown, c: int) -> Value:  # noqa: ARG002
        return self.table.missing_number()

    @_write.register
    def _(self, node: f.Binary, c: int) -> Value:
        left, right = self.write(node.left, c), self.write(node.right, c)
        if _is_literal(node):
            left = self.table.as_float(left)  # products of decimals have more digits than databases allow
        if isinstance(node, f.Add):
            return left + right
        if isinstance(node, f.Subtract):
            return left - right
        return left * right if isinstance(node, f.Multiply) else left / right

    @_write.register
    def _(self, node: f.Unary, c: int) -> Value:
        return FUNCTIONS[type(node)](self.table, self.write(node.of, c))

    @_write.register
    def _(self, node: f.LogSumExp, c: int) -> Value:
        terms, name = self.tops[id(node), c]
        top = self.table[name]
        rest = _total([_exp(self.table, term - top) for term in terms])
        return top + self.table.greatest([rest, 1.0]).ln()

    @_write.register
    def _(self, node: f.Bumps, c: int) -> Value:
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

    @_write.register
    def _(self, node: f.Linear, c: int) -> Value:
        shape = (max(len(node.coef), len(node.origin)), len(node.columns))
        coef, origin = (np.broadcast_to(a, shape)[min(c, shape[0] - 1)].tolist() for a in (node.coef, node.origin))
        each = zip(node.columns, coef, origin, strict=True)
        terms = [(self._number(name) - o) * a if o else self._number(name) * a for name, a, o in each if a]
        return self.total(terms)

    def total(self, terms: Sequence[Value]) -> Value:
        """Return the sum of terms; that of none is 0."""
        return _total(terms) if terms else self.table.literal(0.0)

    @_write.register
    def _(self, node: f.Lookup, c: int) -> Value:
        tests = [self._equals(node.column, key) for key in node.keys]
        return self._chosen(tests, node.numbers, node.otherwise, c)

    @_write.register
    def _(self, node: f.Combinations, c: int) -> Value:
        tests = []
        for key in node.keys:
            each = [self._equals(name, part) for name, part in zip(node.columns, key, strict=True)]
            tests.append(_total(each, and_))
        return self._chosen(tests, node.numbers, node.otherwise, c)

    def _chosen(self, tests: Sequence[Value], numbers: Array, otherwise: Array, c: int) -> Value:
        rest = _of_class(otherwise, c)
        values = [_of_class(column, c) for column in numbers.T]
        cases = list(zip(tests, values, strict=True))
        return self.table.cases(cases, rest) if cases else self.table.literal(rest)

    @_write.register
    def _(self, node: f.Steps, c: int) -> Value:
        x, values = self.write(node.of, c), [_of_class(column, c) for column in node.numbers.T]
        steps = [(x <= edge, value) for edge, value in zip(node.edges.tolist(), values, strict=False)]
        return self.table.cases(steps, values[-1]) if steps else self.table.literal(values[-1])

    @_write.register
    def _(self, node: f.Where, c: int) -> Value:
        cases, last = [], node  # one after the other, which is less deep than within each other
        while True:
            cases.append((self.condition(last.condition), self.write(last.then, c)))
            if not isinstance(last.otherwise, f.Where):
                return self.table.cases(cases, self.write(last.otherwise, c))
            last = last.otherwise

    def condition(self, node: f.Condition) -> Value:
        """Return a condition as a boolean expression."""
        if isinstance(node, f.Missing):
            return is_missing(self.source[node.column], self.source.nan)
        if isinstance(node, f.Below):
            x = self.write(node.of, 0)
            return x <= node.limit if node.touching else x < node.limit
        if isinstance(node, f.Fraction):
            return has_fraction(self.write(node.of, 0))
        assert isinstance(node, f.Among), "there is no other condition"
        tests = [self._equals(node.column, key) for key in node.keys]
        return _total(tests, or_) if tests else self.source.literal(False)

    def _add_columns(self, values: Sequence[Value]) -> list[str]:
        """Add values to the table as new columns, all in one step, and return their names."""
        names = [f"{self.prefix}v{self.new_columns + j}" for j in range(len(values))]
        self.new_columns += len(values)
        self.table = self.table.step(dict(zip(names, values, strict=True)))
        return names

    def add_columns(self, terms: Sequence[f.Term], classes: int) -> None:
        """Add what is used more than once: steps for shared formulas, and for the tops of sums.

        Steps are queries within queries, and SQLite's parser refuses many of these.
        """
        self._add_shared([term.formula for term in terms], classes)
        sums: dict[tuple[int, int], tuple[f.LogSumExp, int]] = {}
        for term in terms:
            for c in range(classes):
                sums |= {(id(node), own): (node, own) for node, own in self._sums(term.formula, c)}
        deep = {key: self._depth(*each) for key, each in sums.items()}
        for depth in sorted(set(deep.values())):
            some = [key for key in sums if deep[key] == depth]
            written = {key: [self.write(part, key[1]) for part in sums[key][0].terms] for key in some}
            names = self._add_columns([_greatest(self.table, parts) for parts in written.values()])
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

    def _add_shared(self, formulas: Sequence[f.Formula], classes: int) -> None:
        """Add formulas that are columns to the table, as `SharedFormulas` has chosen them."""
        shared = SharedFormulas(formulas, classes)
        for nodes in shared.steps:
            values: list[Value] = []
            places: dict[tuple[int, int], int] = {}
            waves: dict[int, slice] = {}
            for node in nodes:
                start = len(values)
                if isinstance(node, f.Cosines):
                    values += self._each_cosine(node)
                    waves[id(node)] = slice(start, len(values))
                    continue
                own = range(classes) if depends_on_class(node) else (0,)
                written = [self._write(node, c) for c in own]
                values += [each.cast("int32") for each in written] if id(node) in shared.codes else written
                places |= {(id(node), c): start + (c if len(own) > 1 else 0) for c in range(classes)}
            names = self._add_columns(values)
            self.shared |= {key: names[place] for key, place in places.items()}
            self.cosines |= {key: names[own] for key, own in waves.items()}


def _is_literal(node: f.Formula) -> bool:
    """Return whether all values of a formula are written in the query, where databases take them for decimals."""
    if isinstance(node, (f.Where, f.Binary)):
        both = (node.then, node.otherwise) if isinstance(node, f.Where) else (node.left, node.right)
        return all(_is_literal(each) for each in both)
    return isinstance(node, (f.Constant, f.Steps, f.Lookup, f.Combinations))


def _beyond_first(formula: f.Formula, known: dict[int, f.Formula]) -> f.Formula:
    """Return what the cross tables of a sum say beyond the first class, which makes a query shorter.

    `known` holds those that were made, as a table may be in several sums.
    """
    if isinstance(formula, f.CrossTable):
        if id(formula) not in known:
            known[id(formula)] = f.CrossTable(formula.first, formula.second, formula.numbers - formula.numbers[:1])
        return known[id(formula)]
    if isinstance(formula, f.Add):
        return _beyond_first(formula.left, known) + _beyond_first(formula.right, known)
    if isinstance(formula, f.Multiply) and isinstance(formula.left, f.Constant) and len(formula.left.values) == 1:
        return formula.left * _beyond_first(formula.right, known)
    return formula


def write_entry(formula: f.Formula, x: Value, rows: Rows) -> Any:
    """Write a formula over `X` for one column of some rows, given by the expression `x`."""
    return FormulaWriter(rows, entry=x).write(formula, 0)


def write_column(formula: f.Formula, rows: Rows) -> Any:
    """Write a formula of the columns of some rows that is the same for all classes."""
    return FormulaWriter(rows).write(formula, 0)


def _of_class(values: Array, c: int) -> float:
    """Return the number of a class, or the one that all classes share; infinite numbers become large ones."""
    return float(np.clip(values[c if len(values) > 1 else 0], EXCLUDED, -EXCLUDED))


def _log1p(_: Rows, x: Value) -> Value:
    """Compute log(1 + x) to all digits: the rounding error of 1 + x cancels (Kahan)."""
    u = 1.0 + x
    return (u == 1.0).ifelse(x, u.ln() * x / (u == 1.0).ifelse(1.0, u - 1.0))


FUNCTIONS: Mapping[type[f.Unary], Function] = {
    f.Square: lambda _, x: x * x,
    f.Sqrt: lambda _, x: x.sqrt(),
    f.Abs: lambda _, x: x.abs(),
    f.Log: lambda _, x: _log_of(x, EXCLUDED),
    f.Log1p: _log1p,
    f.Exp: _exp,
    f.LogGamma: lambda _, x: log_gamma_by(x, lambda z: z.ln()),
}
