"""Sums of formulas for one row at a time, much faster than arrays of one row.

What a formula looks up (bins, categories, cells of two columns) becomes a row of one large table, so that Python finds
row numbers and NumPy adds the rows. Formulas of other kinds are evaluated as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from suffice import _core
from suffice.formulas import arithmetic as a
from suffice.formulas.conditions import Below, Condition, Missing, Where
from suffice.formulas.cross_tables import CrossTable, unwrapped
from suffice.formulas.environments import NamedColumns
from suffice.formulas.lookups import Lookup, Steps
from suffice.formulas.node import Array

Row: TypeAlias = Mapping[str, Any]  # strings, floats, and None where a value is missing
Number: TypeAlias = Callable[[Row], float]
Index: TypeAlias = Callable[[Row], int]
Test: TypeAlias = Callable[[Row], bool]
Vector: TypeAlias = Callable[[Row], Any]  # numbers of classes, or one that all share

GAUSSIAN = 0  # the number of this kernel


class RowScores:
    """Computes Σ formulas of rows, (classes,): Σ_i table[i(row)] + Σ_j factor_j(row) · table[j(row)] + what is left."""

    def __init__(self, formulas: Sequence[a.Formula], classes: int):
        self.classes = classes
        self.level = np.zeros(classes)
        self._tables: list[Array] = [np.zeros((1, classes))]  # row 0 is of what is missing
        self._size = 1
        self._plain: list[Index] = []
        self._sloped: list[tuple[Index, Number]] = []
        self._vectors: list[tuple[Test, Array, Vector]] = []
        self._others: list[a.Formula] = []
        self._guarded: dict[tuple[str, ...], Array] = {}  # numbers of classes, unless one of some columns is missing
        crossed: list[tuple[Array, CrossTable]] = []
        for formula in formulas:
            self._add(formula, np.ones(classes), (), crossed)
        for names, numbers in self._guarded.items():
            self._plain.append(_unless([Missing(name) for name in names], _always(self._append(numbers[None])), 0))
        self._cross(crossed)
        self.table = np.concatenate(self._tables)

    @property
    def n_evaluated(self) -> int:
        """The number of nodes that are evaluated as they are, and of the columns that they add up."""
        nodes = (node for formula in self._others for node in formula.walk())
        return sum(1 + len(node.columns) if isinstance(node, a.Linear) else 1 for node in nodes)

    def __call__(self, row: Row) -> Array:
        """Return the sum for one row."""
        cells: Any = [index(row) for index in self._plain]
        if self._codes:
            codes = np.array([code(row) for code in self._codes])
            found = codes.take(self._first)
            found *= self._width
            found += codes.take(self._second)
            found += self._cell_start
            cells = np.concatenate((found, cells))
        out = np.add.reduce(self.table.take(cells, axis=0), axis=0)
        out += self.level
        if self._sloped:
            rows = [index(row) for index, _ in self._sloped]
            out += np.array([factor(row) if i else 0.0 for i, (_, factor) in zip(rows, self._sloped, strict=True)]) @ (
                self.table.take(rows, axis=0)
            )
        if self._vectors or self._others:
            with np.errstate(all="ignore"):  # as `evaluate` does
                self._add_others(row, out)
        return np.asarray(out)

    def _add_others(self, row: Row, out: Array) -> None:
        for is_absent, times, vector in self._vectors:
            if not is_absent(row):
                out += times * vector(row)
        if self._others:
            columns = NamedColumns({name: [value] for name, value in row.items()})
            for formula in self._others:
                out += formula.on(columns)[0]

    # ---- making the table

    def _add(self, node: a.Formula, times: Array, absent: tuple[Condition, ...], crossed: list[Any]) -> None:
        """Add a formula with a factor for each class; it is 0 where one of the conditions `absent` holds."""
        if isinstance(node, (a.Add, a.Subtract)):
            self._add(node.left, times, absent, crossed)
            self._add(node.right, -times if isinstance(node, a.Subtract) else times, absent, crossed)
        elif isinstance(node, a.Multiply) and isinstance(node.left, a.Constant):
            self._add(node.right, times * node.left.values, absent, crossed)
        elif isinstance(node, a.Constant) and not absent:
            self.level = self.level + times * node.values
        elif isinstance(node, a.Constant) and all(isinstance(each, Missing) for each in absent):
            names = tuple(sorted({each.column for each in absent if isinstance(each, Missing)}))
            self._guarded[names] = self._guarded.get(names, np.zeros(self.classes)) + times * node.values
        elif isinstance(node, Where) and _test(node.condition) is not None and _is_zero(node.then):
            self._add(node.otherwise, times, (*absent, node.condition), crossed)
        elif isinstance(node, CrossTable) and not absent:
            crossed.append((times, node))
        elif not self._add_lookup(node, times, absent) and not self._add_vector(node, times, absent):
            whole: a.Formula = a.Constant(times) * node
            for condition in absent[::-1]:
                whole = Where(condition, a.Constant(np.zeros(1)), whole)
            self._others.append(whole)

    def _add_lookup(self, node: a.Formula, times: Array, absent: tuple[Condition, ...]) -> bool:
        """Add numbers that are looked up, alone or times a number; return False if the formula is no such thing."""
        if isinstance(node, a.Multiply):
            position, factor = _position(node.left), _number(node.right)
            if position is None or factor is None:
                return False
            self._sloped.append((self._place(position, node.left, times, absent), factor))
            return True
        position = _position(node)
        if position is None:
            return False
        self._plain.append(self._place(position, node, times, absent))
        return True

    def _add_vector(self, node: a.Formula, times: Array, absent: tuple[Condition, ...]) -> bool:
        """Add arithmetic of columns and parameters; return False if the formula is no such thing."""
        vector = vector_of(node)
        if vector is None:
            return False
        position = _unless(absent, lambda _: 0, 1)
        self._vectors.append((lambda row: bool(position(row)), times, vector))
        return True

    def _place(self, position: Index, node: Any, times: Array, absent: tuple[Condition, ...]) -> Index:
        """Add the numbers of a lookup to the table; return the function that finds their rows."""
        start = self._append(_numbers(node, self.classes).T * times)
        return _unless(absent, lambda row: start + position(row), 0)

    def _append(self, numbers: Array) -> int:
        start = self._size
        self._tables.append(numbers)
        self._size += len(numbers)
        return start

    def _cross(self, crossed: Sequence[tuple[Array, CrossTable]]) -> None:
        """Add the cells of pairs of columns; the code of each column is found once.

        A missing value has the code after the last one, and cells of zeros.
        """
        nodes = {id(code): code for _, each in crossed for code in (each.first, each.second)}
        place = {key: i for i, key in enumerate(nodes)}
        sizes = np.zeros(len(nodes), dtype=np.int64)
        for _, each in crossed:
            for of, size in ((each.first, each.numbers.shape[1]), (each.second, each.numbers.shape[2])):
                sizes[place[id(of)]] = size
        self._codes = [_code(node, size) for node, size in zip(nodes.values(), sizes.tolist(), strict=True)]
        self._first = np.array([place[id(each.first)] for _, each in crossed], dtype=np.int64)
        self._second = np.array([place[id(each.second)] for _, each in crossed], dtype=np.int64)
        self._width = np.array([each.numbers.shape[2] + 1 for _, each in crossed], dtype=np.int64)
        starts = []
        for times, each in crossed:
            first, second = each.numbers.shape[1:]
            numbers = np.zeros((first + 1, second + 1, self.classes))
            np.multiply(each.numbers.transpose(1, 2, 0), times, out=numbers[:-1, :-1])
            starts.append(self._append(numbers.reshape(-1, self.classes)))
        self._cell_start = np.array(starts, dtype=np.int64)


def _is_zero(node: a.Formula) -> bool:
    return isinstance(node, a.Constant) and not node.values.any()


def _numbers(node: Steps | Lookup, classes: int) -> Array:
    """Return the numbers of all positions, (classes, positions)."""
    found = node.numbers if isinstance(node, Steps) else np.concatenate([node.numbers, _rest(node)], axis=1)
    return np.broadcast_to(found, (classes, found.shape[1]))


def _rest(node: Lookup) -> Array:
    return np.broadcast_to(node.otherwise[:, None], (len(node.numbers), 1))


def _position(node: a.Formula) -> Index | None:
    """Return what finds the position of a value among bins or keys; None for other formulas."""
    if isinstance(node, Lookup):
        name, places, last = node.column, {key: i for i, key in enumerate(node.keys)}, len(node.keys)
        return lambda row: places.get(row[name], last)
    if isinstance(node, Steps) and node.numbers.ndim == 2:
        edges = node.edges.tolist()
        if isinstance(node.of, a.Column):
            name = node.of.column
            return lambda row: bisect_left(edges, row[name])
        x = _number(node.of)
        return None if x is None else (lambda row: bisect_left(edges, x(row)))
    return None


ARITHMETIC: dict[type, Callable[[Number, Number], Number]] = {
    a.Add: lambda left, right: lambda row: left(row) + right(row),
    a.Subtract: lambda left, right: lambda row: left(row) - right(row),
    a.Multiply: lambda left, right: lambda row: left(row) * right(row),
    a.Divide: lambda left, right: lambda row: left(row) / right(row),
}


def _number(node: a.Formula) -> Number | None:
    """Return what computes a number that all classes share by arithmetic of columns; None for other formulas."""
    if isinstance(node, a.Column):
        name = node.column
        return lambda row: row[name]
    if isinstance(node, a.Constant) and len(node.values) == 1:
        value = float(node.values[0])
        return lambda _: value
    if isinstance(node, a.Unknown):
        return lambda _: np.nan
    if isinstance(node, Where):
        then, otherwise, test = _number(node.then), _number(node.otherwise), _test(node.condition)
        if then is None or otherwise is None or test is None:
            return None
        return lambda row: then(row) if test(row) else otherwise(row)
    if isinstance(node, a.Binary):
        left, right = _number(node.left), _number(node.right)
        return None if left is None or right is None else ARITHMETIC[type(node)](left, right)
    return None


def vector_of(node: a.Formula) -> Vector | None:
    """Return what computes arithmetic of columns and numbers of classes, (classes,); None for other formulas."""
    if isinstance(node, a.Constant):
        return lambda _: node.values
    found = _number(node) or _squares(node) or _bumps(node)
    if found is not None:
        return found
    if isinstance(node, a.Unary):
        inner, function = vector_of(node.of), type(node).function
        return None if inner is None else (lambda row: function(inner(row)))
    if isinstance(node, a.Binary):
        left, right, operation = vector_of(node.left), vector_of(node.right), type(node).function
        return None if left is None or right is None else (lambda row: operation(left(row), right(row)))
    return None


def _squares(node: a.Formula) -> Vector | None:
    """Return what computes Σ_i (Σ_j coef_ij x_j + level_i)² of numbers x by one product; None for other formulas."""
    forms = [_affine(each.of) if isinstance(each, a.Square) else None for each in _addends(node)]
    known = [form for form in forms if form is not None]
    if len(known) < max(len(forms), 2):
        return None
    nodes = {id(x): x for _, terms in known for _, x in terms}
    place = {key: j for j, key in enumerate(nodes)}
    numbers = [number for number in map(_number, nodes.values()) if number is not None]
    classes = max(len(each) for level, terms in known for each in (level, *(coef for coef, _ in terms)))
    coef, levels = np.zeros((len(known), classes, len(nodes))), np.zeros((len(known), classes))
    for i, (level, terms) in enumerate(known):
        levels[i] = level
        for times, x in terms:
            coef[i, :, place[id(x)]] += times

    flat, level = coef.reshape(-1, len(nodes)), levels.ravel()  # NumPy takes long for stacks of matrices

    def computed(row: Row) -> Array:
        z = flat @ np.array([x(row) for x in numbers])
        z += level
        z *= z
        return np.asarray(np.add.reduce(z.reshape(-1, classes), axis=0))

    return computed


def _bumps(node: a.Formula) -> Vector | None:
    """Return what computes the log of a sum of bumps at a number; None for other formulas."""
    x = _number(node.of) if isinstance(node, a.Bumps) else None
    if x is None:
        return None
    assert isinstance(node, a.Bumps)
    sums = _kernel_sums(node)
    return (lambda row: node.sum_at(x(row))) if sums is None else (lambda row: sums(x(row)))


def _kernel_sums(node: a.Bumps) -> Callable[[float], Array] | None:
    """Return what computes a sum of bumps of one width for each class by a kernel, which leaves out those far away."""
    sizes = np.isfinite(node.height).sum(axis=1)
    points = np.arange(node.height.shape[1]) < sizes[:, None]
    if not sizes.all() or not np.isfinite(node.height[points]).all():
        return None
    width = np.ascontiguousarray(node.width[:, 0])
    each = list(zip(node.centre, sizes.tolist(), strict=True))
    if (node.width != width[:, None]).any() or any((np.diff(at[:n]) <= 0).any() for at, n in each):
        return None
    start, total, classes = np.concatenate([[0], np.cumsum(sizes)]), np.ones(len(sizes)), len(sizes)
    weight = (np.exp(node.height) * (np.sqrt(2.0 * np.pi) * width[:, None]))[points]
    at, order = node.centre[points], np.zeros(1, np.int64)
    if not (weight > 0).all():
        return None

    def sums(x: float) -> Array:
        out = np.zeros((1, classes))
        if x != x:
            return np.full(classes, np.nan)
        _core.kernel_log_density(GAUSSIAN, np.array([x]), order, None, at, weight, start, total, width, out)
        return out[0]

    return sums


def _addends(node: a.Formula) -> list[a.Formula]:
    return _addends(node.left) + _addends(node.right) if isinstance(node, a.Add) else [node]


def _affine(node: a.Formula) -> tuple[Array, list[tuple[Array, a.Formula]]] | None:
    """Return the level and the coefficients of a sum of numbers; None for other formulas."""
    if isinstance(node, a.Constant):
        return node.values, []
    if isinstance(node, (a.Add, a.Subtract)):
        left, right = _affine(node.left), _affine(node.right)
        if left is None or right is None:
            return None
        sign = -1.0 if isinstance(node, a.Subtract) else 1.0
        return left[0] + sign * right[0], left[1] + [(sign * coef, x) for coef, x in right[1]]
    if isinstance(node, a.Multiply) and isinstance(node.left, a.Constant):
        inner = _affine(node.right)
        return inner and (node.left.values * inner[0], [(node.left.values * coef, x) for coef, x in inner[1]])
    return None if _number(node) is None else (np.zeros(1), [(np.ones(1), node)])


def _test(condition: Condition) -> Test | None:
    """Return what tests a condition about missing values or a limit; None for other conditions."""
    if isinstance(condition, Missing):
        name = condition.column
        return lambda row: row[name] is None
    x = _number(condition.of) if isinstance(condition, Below) else None
    if x is None:
        return None
    assert isinstance(condition, Below)
    limit = condition.limit
    return (lambda row: x(row) <= limit) if condition.touching else (lambda row: x(row) < limit)


def _unless(conditions: Sequence[Condition], index: Index, otherwise: int) -> Index:
    """Return what finds an index, `otherwise` where one of the conditions holds; they are tested in order."""
    if len(conditions) == 1 and isinstance(conditions[0], Missing):
        name = conditions[0].column
        return lambda row: otherwise if row[name] is None else index(row)
    if all(isinstance(each, Missing) for each in conditions):
        names = [each.column for each in conditions if isinstance(each, Missing)]
        if len(names) == 2:
            first, second = names
            return lambda row: otherwise if row[first] is None or row[second] is None else index(row)
    tests = [test for test in map(_test, conditions) if test is not None]
    return lambda row: otherwise if any(test(row) for test in tests) else index(row)


def _always(index: int) -> Index:
    return lambda _: index


def _code(node: a.Formula, missing: int) -> Index:
    """Return what finds the code of a column of a cross table, or the code of a missing value."""
    conditions, inner = unwrapped(node)
    position = _position(inner)
    if position is not None and None not in map(_test, conditions):
        return _unless(conditions, position, missing)

    def evaluated(row: Row) -> int:
        code = float(node.on(NamedColumns({name: [value] for name, value in row.items()}))[0, 0])
        return missing if code != code else int(code)

    return evaluated
