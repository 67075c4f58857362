"""Fitted log-densities as small symbolic expressions, which a database or a web page can compute without this library.

A `Formula` is a tree of frozen nodes over named columns. Parameters are arrays over the classes, (classes,), or (1,)
where all classes share them, so one tree serves every class: its value is (rows, classes). The nodes are

- `Column` (a number), `Constant`, the arithmetic `Add`, `Subtract`, `Multiply`, `Divide` (or + − × ÷ in Python),
- `Square`, `Log`, `Log1p`, `Exp`, `LogGamma`, `LogSumExp`,
- `Linear`: Σ_j coef_j (x_j − origin_j) of several columns, `Bumps`: the log of a sum of Gaussian bumps over one,
- `Lookup` (categories), `Combinations` (categories of several columns), `Steps` (bins),
- `Where`, which chooses by a condition: `Missing`, `Below`, `Fraction` or `Among`; and `Unknown`, which has no value.

Numbers may be infinite: a constant of −inf excludes a class. Every node's fields are its JSON, see `to_json`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidDataError

Array: TypeAlias = NDArray[np.float64]
Reads: TypeAlias = Literal["number", "category"]
Packing: TypeAlias = Callable[[Array], "dict[str, Any] | None"]  # a shorter way to write some arrays

PATTERNS = 4  # columns of a block of which any may be missing: every pattern of gaps has a formula of its own
GUARDED = 64  # columns that are asked one by one whether they are there: more would make too high a tree
FARTHEST = 1e150  # widths of a bump
BEYOND = 1e9  # evidence against a class that counts as excluding it, as in calibration


class Node(ABC):
    """Part of a formula: frozen, comparable by identity only, and written as JSON field by field."""

    op: ClassVar[str]  # what it is called in JSON

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.op = "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("_")

    def to_json(self, packed: Packing | None = None) -> dict[str, Any]:
        """As dicts, lists, strings and numbers; infinite ones are strings, "-Infinity", which JSON lacks.

        Where `packed` makes something of an array, that is written instead.
        """
        named = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]  # all are dataclasses
        return {"op": self.op} | {name: to_json(value, packed) for name, value in named}

    def parts(self) -> Iterator[Node]:
        """The nodes directly below this one."""
        for field in fields(self):  # type: ignore[arg-type]  # all are dataclasses
            value = getattr(self, field.name)
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, Node):
                    yield each

    def walk(self) -> Iterator[Node]:
        """The node itself and all below it."""
        yield self
        for part in self.parts():
            yield from part.walk()

    def reads(self) -> dict[str, Reads]:
        """The columns read, and whether as numbers or as categories; what is only asked to be there is not read."""
        found: dict[str, Reads] = {}
        for node in self.walk():
            found.update(node._own())
        return found

    def _own(self) -> dict[str, Reads]:
        return {}


class Formula(Node):
    """An expression whose value is (rows, classes)."""

    __array_ufunc__ = None  # arrays leave arithmetic with formulas to these

    @abstractmethod
    def on(self, rows: Rows) -> Array:
        """The value for every row, (rows, classes) or what broadcasts to it."""

    def evaluate(self, columns: Mapping[str, Any]) -> Array:
        """The value for columns of values, None or NaN where one is missing: slow and plain, to compare with.

        >>> formula = Constant([0.5, 2.0]) * Column("x") + 1.0
        >>> formula.evaluate({"x": [1.0, 4.0]})
        array([[1.5, 3. ],
               [3. , 9. ]])
        """
        rows = Rows(columns)
        with np.errstate(all="ignore"):  # a branch that is not taken may divide by zero
            out = self.on(rows)
        return np.array(np.broadcast_to(out, (rows.n, out.shape[1])))

    def __add__(self, other: Any) -> Formula:
        return Add(self, as_formula(other))

    def __radd__(self, other: Any) -> Formula:
        return Add(as_formula(other), self)

    def __sub__(self, other: Any) -> Formula:
        return Subtract(self, as_formula(other))

    def __rsub__(self, other: Any) -> Formula:
        return Subtract(as_formula(other), self)

    def __mul__(self, other: Any) -> Formula:
        return Multiply(self, as_formula(other))

    def __rmul__(self, other: Any) -> Formula:
        return Multiply(as_formula(other), self)

    def __truediv__(self, other: Any) -> Formula:
        return Divide(self, as_formula(other))

    def __rtruediv__(self, other: Any) -> Formula:
        return Divide(as_formula(other), self)


class Condition(Node):
    """A truth for every row."""

    @abstractmethod
    def on(self, rows: Rows) -> NDArray[np.bool_]:
        """The truth for every row, (rows, 1)."""


class Rows:
    """Columns of values, read as numbers or as they are."""

    def __init__(self, columns: Mapping[str, Any]):
        self.columns = {name: _as_objects(values) for name, values in columns.items()}
        lengths = {len(values) for values in self.columns.values()}
        if len(lengths) > 1:
            raise InvalidDataError(f"All columns must have equally many rows, found {sorted(lengths)}")
        self.n = lengths.pop() if lengths else 1

    def values(self, name: str) -> NDArray[Any]:
        """The values as they are, None where one is missing, (rows,)."""
        if name not in self.columns:
            raise InvalidDataError(f"There is no column {name!r}: the columns are {list(self.columns)}")
        return self.columns[name]

    def numbers(self, name: str) -> Array:
        """The values as numbers, NaN where one is missing, (rows, 1)."""
        return np.array([np.nan if v is None else float(v) for v in self.values(name)])[:, None]


def _as_objects(values: Any) -> NDArray[Any]:
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    out = np.empty(len(plain), dtype=object)
    out[:] = [None if v is None or v != v else v for v in plain]
    return out


# ------------------------------------------------------------------------------------------------ arithmetic


@dataclass(frozen=True, eq=False)
class Column(Formula):
    """The number in a column: a truth counts as 0 or 1."""

    column: str

    def on(self, rows: Rows) -> Array:
        """NaN where it is missing: a `Where` guards against that."""
        return rows.numbers(self.column)

    def _own(self) -> dict[str, Reads]:
        return {self.column: "number"}


@dataclass(frozen=True, eq=False)
class Constant(Formula):
    """A number for each class, (classes,), or for all of them, (1,)."""

    values: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _classwise(self.values, 1))

    def on(self, rows: Rows) -> Array:  # noqa: ARG002  # the contract
        """The same for every row."""
        return self.values[None]


@dataclass(frozen=True, eq=False)
class Unknown(Formula):
    """No value: a row for which nothing can be said here, such as a gap in a large block."""

    def on(self, rows: Rows) -> Array:
        """NaN."""
        return np.full((rows.n, 1), np.nan)


@dataclass(frozen=True, eq=False)
class Binary(Formula):
    """An operation on two formulas."""

    left: Formula
    right: Formula

    does: ClassVar[Any]  # a NumPy function of two arrays

    def on(self, rows: Rows) -> Array:
        """Of both sides."""
        return np.asarray(self.does(self.left.on(rows), self.right.on(rows)))


class Add(Binary):
    """Left + right."""

    does = np.add


class Subtract(Binary):
    """Left − right."""

    does = np.subtract


class Multiply(Binary):
    """Left × right."""

    does = np.multiply


class Divide(Binary):
    """Left ÷ right."""

    does = np.divide


@dataclass(frozen=True, eq=False)
class Unary(Formula):
    """A function of one formula."""

    of: Formula

    does: ClassVar[Any]  # a NumPy function of one array

    def on(self, rows: Rows) -> Array:
        """Of its argument."""
        return np.asarray(self.does(self.of.on(rows)))


class Square(Unary):
    """The square."""

    does = np.square


class Log(Unary):
    """The natural logarithm."""

    does = np.log


class Log1p(Unary):
    """Log(1 + x), to all digits also where x is small."""

    does = np.log1p


class Exp(Unary):
    """e to the power of x."""

    does = np.exp


class LogGamma(Unary):
    """Log Γ(x), of x > 0."""

    def on(self, rows: Rows) -> Array:
        """Of its argument."""
        from scipy.special import gammaln

        return np.asarray(gammaln(self.of.on(rows)))


@dataclass(frozen=True, eq=False)
class LogSumExp(Formula):
    """Log Σ_k exp(term_k), without overflow."""

    terms: tuple[Formula, ...]

    def on(self, rows: Rows) -> Array:
        """The largest term is taken out of the sum."""
        return _log_sum(np.stack(np.broadcast_arrays(*(term.on(rows) for term in self.terms)), axis=-1))


@dataclass(frozen=True, eq=False)
class Linear(Formula):
    """Σ_j coef_j (x_j − origin_j) over columns j; `origin` and `coef` are (classes or 1, columns)."""

    columns: tuple[str, ...]
    origin: Array
    coef: Array

    def __post_init__(self) -> None:
        for name in ("origin", "coef"):
            object.__setattr__(self, name, _classwise(getattr(self, name), 2))

    def on(self, rows: Rows) -> Array:
        """The sum, column by column."""
        x = np.concatenate([rows.numbers(name) for name in self.columns], axis=1)
        return np.asarray(((x[:, None] - self.origin) * self.coef).sum(axis=2))

    def _own(self) -> dict[str, Reads]:
        return dict.fromkeys(self.columns, "number")


@dataclass(frozen=True, eq=False)
class Bumps(Formula):
    """Log Σ_k exp(height_k − ½ ((x − centre_k) / width_k)²) of one column: mixtures of Gaussians, and kernels.

    What is farther than 1e150 widths counts as so far, that squares stay finite and classes can be compared.

    `centre`, `width` and `height` are (classes, bumps); where a class has fewer bumps, those left over have the
    height −inf.
    """

    column: str
    centre: Array
    width: Array
    height: Array

    def __post_init__(self) -> None:
        for name in ("centre", "width", "height"):
            object.__setattr__(self, name, _classwise(getattr(self, name), 2))

    def on(self, rows: Rows) -> Array:
        """The sum over all bumps."""
        z = (rows.numbers(self.column)[:, :, None] - self.centre) / self.width
        z = np.clip(z, -FARTHEST, FARTHEST)
        return _log_sum(self.height - 0.5 * z * z)

    def spelled_out(self) -> LogSumExp:
        """The same in simpler nodes, one term for each bump."""
        x = Column(self.column)
        each = zip(self.centre.T, self.width.T, self.height.T, strict=True)
        return LogSumExp(tuple(height - 0.5 * Square((x - centre) / width) for centre, width, height in each))

    def _own(self) -> dict[str, Reads]:
        return {self.column: "number"}


def _log_sum(terms: Array) -> Array:
    """Log Σ exp over the last axis; −inf where every term is."""
    top = terms.max(axis=-1)
    safe = np.where(np.isinf(top), 0.0, top)
    return np.asarray(safe + np.log(np.exp(terms - safe[..., None]).sum(axis=-1)))


# ------------------------------------------------------------------------------------------------ tables


@dataclass(frozen=True, eq=False)
class Lookup(Formula):
    """The number of the category in a column: `numbers` (classes, keys), or `otherwise` (classes,) of no known one."""

    column: str
    keys: tuple[Any, ...]
    numbers: Array
    otherwise: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", plain_keys(self.keys))
        object.__setattr__(self, "numbers", _classwise(self.numbers, 2))
        object.__setattr__(self, "otherwise", _classwise(self.otherwise, 1))

    def on(self, rows: Rows) -> Array:
        """By equality with the keys."""
        return _looked_up([(v,) for v in rows.values(self.column)], [(k,) for k in self.keys], self)

    def _own(self) -> dict[str, Reads]:
        return {self.column: "category"}


@dataclass(frozen=True, eq=False)
class Combinations(Formula):
    """The number of the combination of several columns' categories; `keys` holds a tuple of values for each."""

    columns: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    numbers: Array
    otherwise: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", tuple(plain_keys(key) for key in self.keys))
        object.__setattr__(self, "numbers", _classwise(self.numbers, 2))
        object.__setattr__(self, "otherwise", _classwise(self.otherwise, 1))

    def on(self, rows: Rows) -> Array:
        """By equality with the keys."""
        entries = list(zip(*(rows.values(name) for name in self.columns), strict=True))
        return _looked_up(entries, list(self.keys), self)

    def _own(self) -> dict[str, Reads]:
        return dict.fromkeys(self.columns, "category")


def _looked_up(entries: list[Any], keys: list[Any], table: Lookup | Combinations) -> Array:
    place = {key: i for i, key in enumerate(keys)}
    numbers = np.concatenate([table.numbers.T, table.otherwise[None]])
    return np.asarray(numbers[[place.get(entry, len(keys)) for entry in entries]])


@dataclass(frozen=True, eq=False)
class Steps(Formula):
    """The number of the bin of a column's value: `numbers` (classes, edges + 1); bins are closed on the right."""

    column: str
    edges: Array
    numbers: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", np.asarray(self.edges, dtype=np.float64))
        object.__setattr__(self, "numbers", _classwise(self.numbers, 2))

    def on(self, rows: Rows) -> Array:
        """By how many edges lie below the value."""
        return np.asarray(self.numbers.T[np.searchsorted(self.edges, rows.numbers(self.column)[:, 0])])

    def _own(self) -> dict[str, Reads]:
        return {self.column: "number"}


# ------------------------------------------------------------------------------------------------ choices


@dataclass(frozen=True, eq=False)
class Where(Formula):
    """One formula where a condition holds, another where it does not."""

    condition: Condition
    then: Formula
    otherwise: Formula

    def on(self, rows: Rows) -> Array:
        """Row by row."""
        return np.where(self.condition.on(rows), self.then.on(rows), self.otherwise.on(rows))


@dataclass(frozen=True, eq=False)
class Missing(Condition):
    """The column's entry is null, or NaN."""

    column: str

    def on(self, rows: Rows) -> NDArray[np.bool_]:
        """True where it is."""
        return np.array([v is None for v in rows.values(self.column)])[:, None]


@dataclass(frozen=True, eq=False)
class Below(Condition):
    """The column's number is below a limit, or, with `touching`, at it."""

    column: str
    limit: float
    touching: bool = False

    def on(self, rows: Rows) -> NDArray[np.bool_]:
        """True where it is."""
        x = rows.numbers(self.column)
        return x <= self.limit if self.touching else x < self.limit

    def _own(self) -> dict[str, Reads]:
        return {self.column: "number"}


@dataclass(frozen=True, eq=False)
class Fraction(Condition):
    """The column's number is no whole one."""

    column: str

    def on(self, rows: Rows) -> NDArray[np.bool_]:
        """True where it is."""
        x = rows.numbers(self.column)
        return np.floor(x) < x

    def _own(self) -> dict[str, Reads]:
        return {self.column: "number"}


@dataclass(frozen=True, eq=False)
class Among(Condition):
    """The column's category is one of some."""

    column: str
    keys: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", plain_keys(self.keys))

    def on(self, rows: Rows) -> NDArray[np.bool_]:
        """True where it is."""
        known = set(self.keys)
        return np.array([v in known for v in rows.values(self.column)])[:, None]

    def _own(self) -> dict[str, Reads]:
        return {self.column: "category"}


# ------------------------------------------------------------------------------------------------ making formulas


def as_formula(value: Any) -> Formula:
    """A formula as it is; numbers as a constant."""
    return value if isinstance(value, Formula) else Constant(value)


def plain_keys(keys: Any) -> tuple[Any, ...]:
    """Categories as Python's own strings, numbers and truths."""
    return tuple(key.item() if isinstance(key, np.generic) else key for key in keys)


def unless_missing(column: str, formula: Formula) -> Formula:
    """What a column says; nothing, 0, where it is missing."""
    return Where(Missing(column), as_formula(0.0), formula)


def supported(column: str, formula: Formula, least: float, open_end: bool = False, whole: bool = False) -> Formula:
    """A formula where the column's number is at least (or above) something, and perhaps whole; else impossible."""
    nothing = as_formula(-np.inf)
    if whole:
        formula = Where(Fraction(column), nothing, formula)
    return Where(Below(column, least, touching=open_end), nothing, formula)


def excluding(column: str, beyond: float, numbers: Array) -> Formula:
    """Which classes a number above `beyond` excludes: `numbers` (classes,) are 0 or −inf."""
    return Steps(column, np.array([beyond]), np.stack([np.zeros_like(numbers), numbers], axis=1))


def by_gaps(names: Sequence[str], leaf: Callable[[tuple[int, ...]], Formula], carried: bool = False) -> Formula:
    """What a block of columns says, by which of them are there: `leaf` makes a formula of the positions observed.

    Of more than PATTERNS columns only complete rows have a value. Where a gap is `carried` to the value by arithmetic
    alone, more than GUARDED columns are not asked for it.
    """
    if len(names) > PATTERNS:
        whole = leaf(tuple(range(len(names))))
        for name in () if carried and len(names) > GUARDED else names:
            whole = Where(Missing(name), Unknown(), whole)
        return whole

    def choose(seen: tuple[int, ...], at: int) -> Formula:
        if at == len(names):
            return leaf(seen) if seen else as_formula(0.0)
        return Where(Missing(names[at]), choose(seen, at + 1), choose((*seen, at), at + 1))

    return choose((), 0)


def total(formulas: Sequence[Formula]) -> Formula:
    """The sum of formulas, 0 of none; in halves, so that the tree stays low."""
    if not formulas:
        return as_formula(0.0)
    if len(formulas) == 1:
        return formulas[0]
    half = len(formulas) // 2
    return total(formulas[:half]) + total(formulas[half:])


def _classwise(values: Any, dimensions: int) -> Array:
    """As numbers, (classes,) or (classes, …); what all classes share gets an axis of one class."""
    out = np.array(values, dtype=np.float64)
    while out.ndim < dimensions:
        out = out[None]
    return out


def to_json(value: Any, packed: Packing | None = None) -> Any:
    """Numbers, arrays, tuples and nodes as JSON has them; infinite and undefined numbers as strings."""
    if isinstance(value, Node):
        return value.to_json(packed)
    if isinstance(value, np.ndarray):
        short = None if packed is None else packed(value)
        return to_json(value.tolist()) if short is None else short
    if isinstance(value, (list, tuple)):
        return [to_json(each, packed) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value


# ------------------------------------------------------------------------------------------------ scoring rows


@dataclass(frozen=True)
class Term:
    """What one column, or one block of columns that speak together, says: log p(x_block | y)."""

    title: str
    columns: tuple[str, ...]
    formula: Formula

    def to_json(self, packed: Packing | None = None) -> dict[str, Any]:
        """As dicts, lists, strings and numbers."""
        return {"title": self.title, "columns": list(self.columns), "formula": self.formula.to_json(packed)}


@dataclass(frozen=True)
class Scoring:
    """Everything that turns a row into class probabilities, as `predict_proba` gives them.

        E_y = Σ_terms log p(x_block | y)
        p(y | x) = (1 − ε) softmax_y( log π_y + a_y (E_y − max E) + b_y ) + ε π_y

    with the class prior π (`log_prior`), slopes a, biases b, (classes,) each, and the part ε of the prior `mixed` in:
    1, 0 and 0 where probabilities are not calibrated. A class whose E_y is −inf is impossible; where all of them are,
    the prior is the answer. Terms leave out what all classes share.
    """

    labels: NDArray[Any]
    log_prior: Array
    terms: tuple[Term, ...]
    slope: Array
    bias: Array
    mixed: float = 0.0

    @classmethod
    def plain(cls, labels: NDArray[Any], log_prior: Array, terms: Sequence[Term]) -> Scoring:
        """Without calibration."""
        return cls(labels, log_prior, tuple(terms), np.ones(len(labels)), np.zeros(len(labels)))

    def evidence(self, columns: Mapping[str, Any]) -> Array:
        """E_y of every row, (rows, classes)."""
        shape = (Rows(columns).n, len(self.labels))
        return np.sum([np.broadcast_to(t.formula.evaluate(columns), shape) for t in self.terms], axis=0)

    def posterior(self, columns: Mapping[str, Any]) -> Array:
        """p(y | x) of every row, (rows, classes); NaN where a term is unknown."""
        evidence = self.evidence(columns)
        known = np.isfinite(self.log_prior).any()
        log_prior = self.log_prior if known else np.zeros(len(self.labels))
        top = evidence.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            apart = np.maximum(evidence - np.where(np.isinf(top), 0.0, top), -BEYOND)
        scores = self.log_prior + self.slope * apart + self.bias
        scores[np.isneginf(evidence)] = -np.inf
        scores[np.isneginf(scores).all(axis=1)] = log_prior
        prior = _softmax(log_prior[None])
        return np.asarray((1.0 - self.mixed) * _softmax(scores) + self.mixed * prior)

    def to_json(self) -> dict[str, Any]:
        """As dicts, lists, strings and numbers; the labels as strings."""
        return {
            "labels": [str(label) for label in self.labels.tolist()],
            "log_prior": to_json(self.log_prior),
            "terms": [term.to_json() for term in self.terms],
            "slope": to_json(self.slope),
            "bias": to_json(self.bias),
            "mixed": self.mixed,
        }


def _softmax(scores: Array) -> Array:
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))
