"""Formulas as operators of ONNX, in float64.

Formulas that differ in their columns and numbers alone are computed together: the value of `members` is a tensor
(rows, classes or 1, members). So the size of a graph depends on the kinds of columns, not on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import singledispatchmethod
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from suffice import formulas as f
from suffice.core.arrays import Array
from suffice.core.errors import NoFormulaError
from suffice.core.special import log_gamma_by
from suffice.engines.onnx.graph import Graph, Tensor
from suffice.engines.onnx.model_inputs import Inputs
from suffice.engines.onnx.table_lookups import choose_numbers, edges_below, position_among
from suffice.engines.onnx.word_operators import word_scores
from suffice.formulas.arithmetic import MOST_WIDTHS
from suffice.formulas.node import Node

Signature: TypeAlias = Any  # of formulas that can be computed together: nested tuples

MOST_TERMS = 1 << 12  # numbers of a row that are computed together, so that many rows need little memory


class FormulaCompiler:
    """Writes formulas to a graph, for all classes at once."""

    def __init__(self, graph: Graph, inputs: Inputs, classes: int):
        self.graph, self.inputs, self.classes = graph, inputs, classes
        self.at_once = max(1, MOST_TERMS // classes)
        self._written: dict[tuple[int, ...], tuple[Sequence[Node], Tensor]] = {}  # formulas are kept for their ids
        self._simpler: dict[int, tuple[Node, Node]] = {}
        self._signatures: dict[int, tuple[Node, Signature]] = {}

    def total(self, formulas: Sequence[f.Formula]) -> Tensor:
        """Return the sum of formulas, (rows or 1, classes or 1, 1)."""
        return self._sum([[each for formula in formulas for each in self._signed(formula)]])

    def members(self, nodes: Sequence[Node]) -> Tensor:
        """Return the values of formulas, or of conditions, that have one signature."""
        nodes = [self._simple(node) for node in nodes]
        distinct = list({id(node): node for node in nodes}.values())
        if len(distinct) < len(nodes):
            place = {id(node): i for i, node in enumerate(distinct)}
            return self.members(distinct).gather(np.array([place[id(node)] for node in nodes]), axis=2)
        key = tuple(map(id, nodes))
        if key not in self._written:
            self._written[key] = (nodes, self._write(nodes[0], nodes))
        return self._written[key][1]

    # ---- what can be computed together

    def _simple(self, node: Any) -> Any:
        """Return a node in simpler ones, where it is spelled out."""
        if not isinstance(node, (f.TimesLog, f.LogGammaRatio)):
            return node
        if id(node) not in self._simpler:
            self._simpler[id(node)] = (node, node.spelled_out())
        return self._simpler[id(node)][1]

    def _signature(self, node: Any) -> Signature:
        """Return what formulas that are computed together have in common."""
        if id(node) not in self._signatures:
            self._signatures[id(node)] = (node, self._sign(self._simple(node)))
        return self._signatures[id(node)][1]

    def _sign(self, node: Any) -> Signature:
        kind = type(node).__name__
        if isinstance(node, (f.Add, f.Subtract)):
            return ("Sum", *((sign, self._signature(each)) for sign, each in self._signed(node)))
        if isinstance(node, (f.Lookup, f.Among, f.Missing)):
            return kind, self.inputs.is_string(node.column)
        if isinstance(node, (f.Combinations, f.Cosines, f.WordScores)):
            return kind, id(node)
        if isinstance(node, f.CrossTable):
            return kind
        if isinstance(node, f.Below):
            return kind, node.touching, self._signature(node.of)
        return (kind, *(self._signature(part) for part in node.parts()))

    def _signed(self, node: f.Formula, sign: float = 1.0) -> list[tuple[float, f.Formula]]:
        """Return the addends of a sum with their signs."""
        node = self._simple(node)
        if isinstance(node, (f.Add, f.Subtract)):
            other = -sign if isinstance(node, f.Subtract) else sign
            return self._signed(node.left, sign) + self._signed(node.right, other)
        return [(sign, node)]

    def _sum(self, sums: Sequence[Sequence[tuple[float, f.Formula]]]) -> Tensor:
        """Return several sums, whose addends have the same signs and signatures one by one, as members."""
        places: dict[Signature, list[int]] = {}
        for i, (sign, node) in enumerate(sums[0]):
            places.setdefault((sign, self._signature(node)), []).append(i)
        parts = []
        for (sign, _), own in places.items():
            for lo in range(0, len(own), self.at_once):
                some = own[lo : lo + self.at_once]
                found = self.members([each[i][1] for each in sums for i in some])
                if len(some) > 1 and len(sums) > 1:
                    found = found.reshape(0, 0, len(sums), len(some)).sum(3, keep=False)
                elif len(some) > 1:
                    found = found.sum(2)
                parts.append(found if sign > 0 else self.graph.add("Neg", found))
        return self.graph.sum(parts)

    def _together(self, nodes: Sequence[f.Formula]) -> Tensor:
        """Return the values of formulas of any signatures that do not depend on the class, as members."""
        distinct = {id(node): node for node in nodes}
        by_signature: dict[Signature, list[f.Formula]] = {}
        for node in distinct.values():
            by_signature.setdefault(self._signature(node), []).append(node)
        parts = [self.members(some) for some in by_signature.values()]
        place = {id(node): i for i, node in enumerate(chain(*by_signature.values()))}
        whole = parts[0] if len(parts) == 1 else self.graph.add("Concat", *parts, axis=2)
        return whole.gather(np.array([place[id(node)] for node in nodes]), axis=2)

    # ---- formulas

    @singledispatchmethod
    def _write(self, node: Node, nodes: Sequence[Any]) -> Tensor:  # noqa: ARG002  # the contract
        """Write formulas of one signature; `node` is the first of them."""
        raise NoFormulaError(f"{type(node).__name__} has no expression in ONNX")

    @_write.register
    def _(self, _: f.Column, nodes: Sequence[f.Column]) -> Tensor:
        return self.inputs.numbers([node.column for node in nodes])

    @_write.register
    def _(self, _: f.Constant, nodes: Sequence[f.Constant]) -> Tensor:
        return self.graph.constant(_stacked([node.values for node in nodes]))

    @_write.register
    def _(self, _: f.Unknown, nodes: Sequence[f.Unknown]) -> Tensor:
        return self.graph.constant(np.full((1, 1, len(nodes)), np.nan))

    @_write.register
    def _(self, node: f.Add | f.Subtract, nodes: Sequence[f.Formula]) -> Tensor:  # noqa: ARG002  # the contract
        return self._sum([self._signed(each) for each in nodes])

    @_write.register
    def _(self, node: f.Multiply | f.Divide, nodes: Sequence[f.Binary]) -> Tensor:
        left, right = self.members([each.left for each in nodes]), self.members([each.right for each in nodes])
        return left * right if isinstance(node, f.Multiply) else left / right

    @_write.register
    def _(self, node: f.Unary, nodes: Sequence[f.Unary]) -> Tensor:
        return FUNCTIONS[type(node)](self.members([each.of for each in nodes]))

    @_write.register
    def _(self, node: f.LogSumExp, nodes: Sequence[f.LogSumExp]) -> Tensor:
        terms = [self.members([each.terms[k] for each in nodes]) for k in range(len(node.terms))]
        top = self.graph.add("Max", *terms)
        safe = top.is_impossible().where(0.0, top)
        return self.graph.sum([(term - safe).exp() for term in terms]).log() + safe

    @_write.register
    def _(self, _: f.Bumps, nodes: Sequence[f.Bumps]) -> Tensor:
        longest = max(each.height.shape[1] for each in nodes)
        at_once = max(1, self.at_once // longest)
        if len(nodes) > at_once:
            parts = [self.members(nodes[lo : lo + at_once]) for lo in range(0, len(nodes), at_once)]
            return self.graph.add("Concat", *parts, axis=2)
        centre, width, height = (
            _padded([getattr(each, name) for each in nodes], longest, value)
            for name, value in (("centre", 0.0), ("width", 1.0), ("height", -np.inf))
        )
        z = (self.members([each.of for each in nodes]).unsqueeze(3) - centre) / width
        z = self.graph.add("Clip", z, np.array(-MOST_WIDTHS), np.array(MOST_WIDTHS))
        return (height - z * z * 0.5).log_sum_exp(3)

    @_write.register
    def _(self, _: f.Linear, nodes: Sequence[f.Linear]) -> Tensor:
        """Multiply a matrix for each origin: Σ_j coef_j (x_j − origin_j), NaN where a column of the sum is missing."""
        parts, order = [], []
        for origin, own in _by_origin(nodes):
            names, some = list(origin), [nodes[i] for i in own]
            classes = max(len(each.coef) for each in some)
            coef, reads = np.zeros((classes, len(names), len(own))), np.zeros((len(names), len(own)))
            for k, each in enumerate(some):
                columns = [names.index(name) for name in each.columns]
                coef[:, columns, k] = each.coef
                reads[columns, k] = 1.0
            x = self.inputs.numbers(names)
            apart = x - np.stack(list(origin.values()), axis=-1)[None]
            if len(next(iter(origin.values()))) == 1 < classes:  # one product of matrices for all classes
                flat = coef.transpose(1, 0, 2).reshape(len(names), -1)
                product = x.is_nan().where(0.0, apart).matmul(flat).reshape(0, classes, len(own))
            else:
                # Where, between the two: onnxruntime 1.24 and earlier fuse Transpose and MatMul into an operator that
                # they have not for float64.
                turned = apart.transpose(1, 0, 2)
                product = turned.is_nan().where(0.0, turned).matmul(coef).transpose(1, 0, 2)
            missing = x.is_nan().cast(np.float64).matmul(reads) > 0.0
            parts.append(missing.where(np.nan, product))
            order += own
        found = parts[0] if len(parts) == 1 else self.graph.add("Concat", *map(self._for_each_class, parts), axis=2)
        return found if order == sorted(order) else found.gather(np.argsort(order), axis=2)

    def _for_each_class(self, x: Tensor) -> Tensor:
        """Repeat numbers that all classes share."""
        return self.graph.add("Expand", x, np.array([1, self.classes, 1], dtype=np.int64))

    @_write.register
    def _(self, _: f.Lookup, nodes: Sequence[f.Lookup]) -> Tensor:
        codes = self._codes([each.column for each in nodes], [each.keys for each in nodes])
        return choose_numbers(codes, [_table(each) for each in nodes])

    def _codes(self, names: Sequence[str], keys: Sequence[Sequence[Any]]) -> Tensor:
        """Return the positions of categories among keys, (rows, 1, columns), that after the last if there is none."""
        if self.inputs.is_string(names[0]):
            return self.inputs.codes(names, keys)
        return position_among(self.inputs.numbers(names), [np.array(own, dtype=np.float64) for own in keys])

    @_write.register
    def _(self, node: f.Combinations, nodes: Sequence[f.Combinations]) -> Tensor:  # noqa: ARG002  # only one
        return choose_numbers(self._combination(node), [_table(node)])

    def _combination(self, node: f.Combinations) -> Tensor:
        """Return the position of a combination among the keys: that of a number made of the codes of the columns."""
        code, keys = self.graph.constant(np.zeros((1, 1, 1))), np.zeros(len(node.keys))
        for j, name in enumerate(node.columns):
            own = list(dict.fromkeys(key[j] for key in node.keys))
            place = {key: i for i, key in enumerate(own)}
            code = code * float(len(own) + 1) + self._codes([name], [own]).cast(np.float64)
            keys = keys * (len(own) + 1) + [place[key[j]] for key in node.keys]
        return position_among(code, [keys])

    @_write.register
    def _(self, _: f.CrossTable, nodes: Sequence[f.CrossTable]) -> Tensor:
        codes = self._together([each.first for each in nodes] + [each.second for each in nodes])
        first, second = (codes.gather(np.arange(len(nodes)) + k * len(nodes), axis=2) for k in range(2))
        missing = first.is_nan() | second.is_nan()
        width = np.array([each.numbers.shape[2] for each in nodes], dtype=np.float64)[None, None]
        last = np.array([each.numbers[0].size for each in nodes], dtype=np.float64)[None, None]
        index = missing.where(last, first * width + second).cast(np.int64)
        flat = [each.numbers.reshape(len(each.numbers), -1) for each in nodes]
        return choose_numbers(index, [np.pad(numbers, ((0, 0), (0, 1))) for numbers in flat])

    @_write.register
    def _(self, node: f.Cosines, nodes: Sequence[f.Cosines]) -> Tensor:  # noqa: ARG002  # only one
        """Compute cosines as sines, as onnxruntime has no cosine of float64."""
        turns = self._together(node.of).reshape(0, len(node.of)).matmul(node.frequency) + (node.phase + 0.25)
        sines = self.graph.add("Sin", turns * (2.0 * np.pi))
        return sines.matmul(np.ascontiguousarray(node.coef.T)).unsqueeze(2)

    @_write.register
    def _(self, _: f.Steps, nodes: Sequence[f.Steps]) -> Tensor:
        x = self.members([each.of for each in nodes])
        found = choose_numbers(edges_below(x, [each.edges for each in nodes]), [each.numbers for each in nodes])
        return x.is_nan().where(np.nan, found)

    @_write.register
    def _(self, _: f.Above, nodes: Sequence[f.Above]) -> Tensor:
        x = self.members([each.of for each in nodes])
        above = (x > _stacked([np.array([each.limit]) for each in nodes])).cast(np.float64)
        return x.is_nan().where(np.nan, above)

    @_write.register
    def _(self, _: f.Where, nodes: Sequence[f.Where]) -> Tensor:
        condition = self.members([each.condition for each in nodes])
        then, otherwise = self.members([each.then for each in nodes]), self.members([each.otherwise for each in nodes])
        return condition.where(then, otherwise)

    @_write.register
    def _(self, node: f.WordScores, nodes: Sequence[f.WordScores]) -> Tensor:  # noqa: ARG002  # only one
        return word_scores(self.inputs, node).unsqueeze(2)

    # ---- conditions

    @_write.register
    def _(self, _: f.Missing, nodes: Sequence[f.Missing]) -> Tensor:
        return self.inputs.missing([each.column for each in nodes])

    @_write.register
    def _(self, node: f.Below, nodes: Sequence[f.Below]) -> Tensor:
        x = self.members([each.of for each in nodes])
        limits = _stacked([np.array([each.limit]) for each in nodes])
        return x <= limits if node.touching else x < limits

    @_write.register
    def _(self, _: f.Fraction, nodes: Sequence[f.Fraction]) -> Tensor:
        x = self.members([each.of for each in nodes])
        return self.graph.add("Floor", x) < x

    @_write.register
    def _(self, _: f.Among, nodes: Sequence[f.Among]) -> Tensor:
        codes = self._codes([each.column for each in nodes], [each.keys for each in nodes])
        return codes < np.array([len(each.keys) for each in nodes], dtype=np.int64)[None, None]


def _table(node: f.Lookup | f.Combinations) -> Array:
    """Return the numbers of all categories and of unknown ones, (classes or 1, keys + 1)."""
    classes = max(len(node.numbers), len(node.otherwise))
    numbers, otherwise = (np.broadcast_to(a, (classes, a.shape[1])) for a in (node.numbers, node.otherwise[:, None]))
    return np.concatenate([numbers, otherwise], axis=1)


def _stacked(values: Sequence[Array]) -> Array:
    """Return numbers of classes, (classes or 1,) each, as (1, classes or 1, members)."""
    return np.stack(np.broadcast_arrays(*values), axis=-1)[None]


def _padded(values: Sequence[Array], length: int, value: float) -> Array:
    """Return tables, (classes or 1, terms) each, as (1, classes or 1, members, terms) of one length."""
    wide = [np.pad(each, ((0, 0), (0, length - each.shape[1])), constant_values=value) for each in values]
    return np.stack(np.broadcast_arrays(*wide), axis=1)[None]


def _by_origin(nodes: Sequence[f.Linear]) -> Iterable[tuple[dict[str, Array], list[int]]]:
    """Return groups of sums that have the same origin in all columns that they share, and the origin of each column."""
    groups: list[tuple[dict[str, Array], list[int]]] = []
    for i, node in enumerate(nodes):
        own = dict(zip(node.columns, node.origin.T, strict=True))
        for origin, members in groups:
            known = [name for name in own if name in origin]
            if len(next(iter(origin.values()))) == len(node.origin) and all(
                np.array_equal(own[name], origin[name]) for name in known
            ):
                origin.update(own)
                members.append(i)
                break
        else:
            groups.append((own, [i]))
    return groups


def _log1p(x: Tensor) -> Tensor:
    """Compute log(1 + x) to all digits: the rounding error of 1 + x cancels (Kahan)."""
    u = x + 1.0
    return u.equals(1.0).where(x, u.log() * x / (u - 1.0))


FUNCTIONS: dict[type[f.Unary], Callable[[Tensor], Tensor]] = {
    f.Square: lambda x: x * x,
    f.Sqrt: lambda x: x.graph.add("Sqrt", x),
    f.Abs: lambda x: x.graph.add("Abs", x),
    f.Log: Tensor.log,
    f.Log1p: _log1p,
    f.Exp: Tensor.exp,
    f.LogGamma: lambda x: log_gamma_by(x, Tensor.log),
}
