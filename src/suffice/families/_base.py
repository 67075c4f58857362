"""The contract of a family and of the distributions it gives.

A family states what it sums, `summary`, and makes a distribution of that, `estimate`. A distribution states its
log-density as a formula. Everything else is derived from these two, unless a closed form is better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, dataclass_transform, get_args

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import (
    Array,
    Codes,
    Values,
    as_categories,
    as_dense,
    as_matrix,
    chunks,
    is_sparse,
    refuse_infinite,
)
from suffice.core.errors import (
    InvalidOptionError,
    MismatchError,
    NoDistributionError,
    NoFormulaError,
    NoLinearFormError,
)
from suffice.core.frozen_options import Options
from suffice.core.priors import Learn
from suffice.core.statistics import ByClass, Moments, Statistic, Totals
from suffice.families import _derive as derive
from suffice.families._kernels import KERNELS
from suffice.families._results import KeptRows, Outcomes, Table
from suffice.families._summary import Summary
from suffice.families._support import REAL, Support
from suffice.families.logarithms import log_ratio
from suffice.formulas import Among, Column, Combinations, Formula, Lookup, Term, X, unless_missing

S = TypeVar("S", bound=Statistic)
Reads = Literal["numbers", "categories", "text"]
How = Literal["mean", "mode", "sample"]


class Default:
    """Marks a prior that was not given."""

    def __repr__(self) -> str:
        return "default"

    def __reduce__(self) -> str:
        return "DEFAULT"  # there is one, also after pickling


DEFAULT: Final = Default()


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Distribution(ABC):
    """A fitted p(x | y) over a block of columns, for every class at once: a frozen dataclass of its parameters."""

    reads: ClassVar[Reads] = "numbers"
    support: Support = REAL
    sparse: ClassVar[bool] = False  # whether rows may be a sparse matrix
    bends: ClassVar[str] = ""  # why there is no linear form, and what has one
    votes: ClassVar[bool] = True  # whether it tells classes apart

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, eq=False)(cls)

    def read(self, x: Any) -> Any:
        """Bring columns into the form `log_density` reads, refusing values outside the support."""
        return read_columns(x, self.reads, self.support, self.sparse)

    @abstractmethod
    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes); missing entries are left out."""

    def relative_log_density(self, x: Any) -> Array:
        """Log p(x | y) up to a term that is the same for all classes, where that is less work; to compare classes."""
        return self.log_density(x)

    @property
    def as_density(self) -> Distribution:
        """The distribution whose `log_density` is that of rows; another one where classes are scored otherwise."""
        return self

    @property
    def mixed(self) -> float | None:
        """The share of the class prior in the posterior, where it was fitted together with the distribution."""
        return None

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns the block has."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """How many free parameters were estimated."""

    @abstractmethod
    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """The parameters as tables for people."""

    def formula(self, names: Sequence[str]) -> list[Term]:  # noqa: ARG002  # the contract
        """`relative_log_density` as formulas over columns of these names, one for each that is independent.

        They add up to log p(x | y), up to a term that all classes share.
        """
        raise NoFormulaError(f"{type(self).__name__} has no closed form to write down")

    def linear(self) -> tuple[Array, Array]:
        """Coef (classes, columns) and intercept (classes,): coef·x + intercept is log p(x | y) up to a shared term."""
        raise NoLinearFormError(self.bends or f"{type(self).__name__} has no linear form")

    def column_support(self, column: int) -> Support:  # noqa: ARG002  # all columns are alike, unless overridden
        """What a column may hold, for whoever draws p(x | y) over it."""
        return self.support

    def known_values(self, names: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """The categories of each column that the formula looks up; none for numbers."""
        found: dict[str, dict[Any, None]] = {name: {} for name in names}
        for term in self.formula(names):
            for node in term.formula.walk():
                if isinstance(node, (Lookup, Among)):
                    found[node.column].update(dict.fromkeys(node.keys))
                elif isinstance(node, Combinations):
                    for i, name in enumerate(node.columns):
                        found[name].update(dict.fromkeys(key[i] for key in node.keys))
        return {name: tuple(known) for name, known in found.items()}

    @property
    def gaussian(self) -> tuple[Array, Array] | None:
        """Means (classes, columns) and covariances (classes, columns, columns) of a block that is Gaussian together."""
        return None

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:  # noqa: ARG002  # the contract
        """What columns may hold, and how probable that is in every class, some of it at a time."""
        return iter(())

    @property
    def expected(self) -> Array:
        """The mean of each class and column, (classes, columns)."""
        raise NoDistributionError(f"{type(self).__name__} has no means to fill missing values with")

    def expect(self, x: Any) -> Array:
        """Each row as every class expects it, (rows, classes, columns): E[x | observed entries, y]."""
        expected = self.expected
        x = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)[:, None, :]
        return np.where(np.isnan(x), expected, x)

    def contrast(self, x: Any, first: NDArray[Any], second: NDArray[Any]) -> Array:
        """What each column adds to log p(x | first) − log p(x | second), classes of each row, (rows, columns).

        Columns are taken to be independent: a column says what the row says when all its other entries are missing.
        """
        x = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)
        at, out = np.arange(x.shape[0]), np.empty(x.shape)
        for j in range(x.shape[1]):
            alone = np.full(x.shape, np.nan)
            alone[:, j] = x[:, j]
            density = self.log_density(alone)
            out[:, j] = log_ratio(density[at, first], density[at, second])
        return out

    def sample(self, codes: Codes, rng: np.random.Generator) -> Any:  # noqa: ARG002  # the contract
        """Draw one row for each class number in `codes`."""
        raise NoDistributionError(
            f"{type(self).__name__} only scores classes: there is no p(x | y) to draw rows from. "
            "A multinomial model of the same counts has one."
        )

    def draw(self, x: Any, codes: Codes, rng: np.random.Generator) -> Array:
        """Fill the missing entries of rows of numbers by a draw from p(missing | observed, class codes[i])."""
        return np.where(np.isnan(x), self.sample(codes, rng), x)

    def fill(self, x: Any, posterior: Array, codes: Codes, how: How, rng: np.random.Generator) -> NDArray[Any]:
        """Fill missing entries: by the mean over classes, by the mean of class codes[i], or by a draw from it."""
        observed = np.asarray(x, dtype=np.float64)
        missing = np.isnan(observed)
        if not missing.any():
            return observed
        if how == "sample":
            return np.where(missing, self.draw(observed, codes, rng), observed)
        expected = self.expect(observed)
        own = expected[np.arange(len(codes)), codes] if how == "mode" else (posterior[:, None] @ expected)[:, 0]
        return np.where(missing, own, observed)


class Independent(Distribution):
    """A distribution whose columns are independent given the class: log p(x | y) = Σ_j log p(x_j | y)."""

    @abstractmethod
    def column_density(self, x: Column, column: int) -> Formula | None:
        """Log p(x_j | y) of one column as a formula; None where nothing is known of the column."""

    def formula(self, names: Sequence[str]) -> list[Term]:
        """One formula for each column: 0 where it is missing, −∞ outside the support."""
        out = []
        for j, name in enumerate(names):
            x = Column(name)
            density = self.column_density(x, j)
            if density is not None:
                out.append(Term(name, (name,), unless_missing(name, self.support.guard(x, density))))
        return out


D = TypeVar("D", bound="Entrywise")


class Entrywise(Independent):
    """A distribution that states one log-density for the entries of all columns, `density`.

    Its parameters are arrays (classes, columns); `density` is written so that they broadcast against x, and works for
    parameters of any shape: of one column, (classes,), of the class of each row, (rows, columns), or of many statistics
    at once, (rows, classes, columns).
    """

    parameters_each: ClassVar[int] = 1  # free parameters of a class and column

    @abstractmethod
    def density(self, x: Formula) -> Formula:
        """Log p(x | y) of an entry."""

    @property
    def shown(self) -> dict[str, Array]:
        """The parameters that people are shown, by name."""
        return {f.name: v for f in fields(self) if np.ndim(v := getattr(self, f.name)) > 1}

    def with_parameters(self: D, change: Callable[[Array], Array]) -> D:
        """The same distribution with every array of parameters changed."""
        changed: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Entrywise):
                changed[each.name] = value.with_parameters(change)
            elif isinstance(value, np.ndarray) and value.ndim > 1:
                changed[each.name] = change(value)
        return replace(self, **changed)

    @cached_property
    def dimensions(self) -> tuple[int, int]:
        """How many classes and columns there are."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Entrywise):
                return value.dimensions
            if isinstance(value, np.ndarray) and value.ndim > 1:
                return value.shape[-2], value.shape[-1]
        raise TypeError(f"{type(self).__name__} has no array of parameters (classes, columns)")

    @cached_property
    def _density(self) -> Formula:
        return self.density(X)

    @cached_property
    def _affine(self) -> derive.Affine | None:
        return derive.affine(self._density, self.dimensions)

    def column_density(self, x: Column, column: int) -> Formula:
        """The log-density with the parameters of one column."""
        own = self.with_parameters(lambda values: values[..., column])
        return derive.tabulated(own.density(x), x)

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes): by a kernel, or by the formula."""
        kernel = KERNELS.get(type(self))
        if kernel is not None:
            return kernel(self, x)
        if self._affine is not None and not self._affine.expanded:
            return self._affine.log_density(x)
        if is_sparse(x):
            of_columns = lambda columns: self.with_parameters(lambda v: v[..., columns]).density(X)  # noqa: E731
            return derive.sparse_log_density(of_columns, x, self.dimensions)
        return derive.log_density(self._density, x, self.dimensions)

    def relative_log_density(self, x: Any) -> Array:
        """The same, without a term that all classes share where the rest is linear."""
        if type(self) in KERNELS or self._affine is None or self._affine.expanded:
            return self.log_density(x)
        return self._affine.relative_log_density(x)

    def contrast(self, x: Any, first: NDArray[Any], second: NDArray[Any]) -> Array:
        """What each column adds to log p(x | first) − log p(x | second), (rows, columns)."""
        x = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)
        of_classes = (self.with_parameters(lambda v, c=codes: v[c]).density(X).at(x) for codes in (first, second))  # type: ignore[misc]
        return np.where(np.isnan(x), 0.0, log_ratio(*(np.broadcast_to(each, x.shape) for each in of_classes)))

    def linear(self) -> tuple[Array, Array]:
        """Coef and intercept, where the log-density is linear in x up to a term that all classes share."""
        if self._affine is None:
            return super().linear()
        return self._affine.linear()

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return self.dimensions[1]

    @property
    def n_parameters(self) -> int:
        """As many for each class and column."""
        return self.parameters_each * self.dimensions[0] * self.dimensions[1]

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """One table of a single parameter, with a row for each column; of several, one for each column."""
        heads, shown = [str(label) for label in labels], self.shown
        if len(shown) == 1:
            ((title, values),) = shown.items()
            return [Table(title, list(names), heads, values.T)]
        return [
            Table(str(name), list(shown), heads, np.stack([values[:, j] for values in shown.values()]))
            for j, name in enumerate(names)
        ]


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Stated(Options):
    """Options that are a frozen dataclass by being defined."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, eq=False, repr=False)(cls)


class Family(Stated, ABC, Generic[S]):
    """Frozen options of a kind of distribution. Two pure steps: rows → statistic → distribution.

    `prior` is the conjugate prior, `None` for none; `learn` is what is made of it: `"mle"`, the mode
    (`"map"`), the posterior `"mean"`, or `"predictive"`, the posterior integrated out. A prior given
    without `learn` means the posterior mean, `prior=None` maximum likelihood.

    A subclass is known by its name as soon as it is defined: to files, to `BayesClassifier(families=…)` and to the
    command line.
    """

    prior: Any = DEFAULT
    learn: Learn | None = None

    summary: ClassVar[Summary[Any]]  # what is summed
    gives: ClassVar[type[Distribution]] = Distribution  # type: ignore[type-abstract]  # what `estimate` returns; it says which values are allowed
    reads: ClassVar[Reads] = "numbers"  # what it needs of the columns of a table
    by_column: ClassVar[bool] = True  # whether arrays among its options hold a value for each column
    public: ClassVar[bool] = True  # whether it can be chosen by its name
    weak_prior: ClassVar[Any] = None  # what a bare family uses; None where nothing is conjugate, and `prior` no option

    @classmethod
    def _is_complete(cls) -> bool:
        """Tell whether it can be estimated: not where pickling has made the class and not filled it yet."""
        return not getattr(cls.estimate, "__isabstractmethod__", False)

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.learn is not None and self.learn not in get_args(Learn):
            raise InvalidOptionError(f"{name}: learn must be one of {get_args(Learn)}, found {self.learn!r}")
        prior = self.prior
        if prior is DEFAULT:
            prior = None if self.learn == "mle" else self.weak_prior
        elif prior is not None and self.learn == "mle":
            raise InvalidOptionError(f"{name}: maximum likelihood takes no prior; leave out prior= or learn='mle'")
        elif prior is None and self.learn not in (None, "mle"):
            raise InvalidOptionError(f"{name}: learn={self.learn!r} needs a prior")
        if prior is not None and self.weak_prior is None:
            raise InvalidOptionError(f"{name} has no conjugate prior: leave out prior=")
        if prior is not None and not isinstance(prior, type(self.weak_prior)):
            wanted = type(self.weak_prior).__name__
            raise InvalidOptionError(f"{name}: the prior must be a {wanted}, found {type(prior).__name__}")
        object.__setattr__(self, "prior", prior)
        object.__setattr__(self, "learn", self.learn or ("mle" if prior is None else "mean"))

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.init)
        return f"{type(self).__name__}({shown})"

    @property
    def support(self) -> Support:
        """Which values columns may hold."""
        return self.gives.support

    def read(self, x: Any) -> Any:
        """Bring columns into the form that statistics and kernels read, refusing values outside the support."""
        return read_columns(x, self.reads, self.support, sparse=self.gives.sparse)

    def summarize(self, x: Any, y: Any, weight: Any = None, onto: ByClass[S] | None = None) -> ByClass[S]:
        """Summarize rows by their labels in one pass, and add that to `onto`, a summary of other rows."""
        x = self.read(x)
        self.check_width(x.shape[1])
        return self.summary.by_class(x, y, weight, onto)

    def check_width(self, columns: int) -> None:
        """Refuse a prior, or other options, that are for another number of columns."""
        for options in (self, self.prior) if self.by_column else ():
            width = options.width() if isinstance(options, Options) else None
            if width not in (None, columns):
                raise MismatchError(f"{type(self).__name__}: options for {width} columns, data of {columns}")

    @abstractmethod
    def estimate(self, statistic: S) -> Distribution:
        """Estimate p(x | y) of every class the statistic has.

        A family of entrywise distributions is also asked to estimate many statistics at once: arrays are then
        (rows, classes, columns), so that classes are axis −2.
        """

    def kept_rows(self, statistic: S) -> KeptRows | None:  # noqa: ARG002  # most statistics keep no rows
        """Return the rows that the statistic keeps, for calibration and outliers; None where it keeps none."""
        return None

    def leave_one_out(self, statistic: S, fitted: Distribution, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Log p(x_i | y) of each row under the statistic without that row, (rows, classes).

        Exact for every family: the row is subtracted and the rest estimated. `fitted` is what the statistic gives.
        """
        if isinstance(fitted, Entrywise) and isinstance(statistic, (Moments, Totals)) and x.shape[0]:
            together = self._together(statistic, x, codes, weight)
            if together is not None:
                return together
        return self._one_by_one(statistic, x, codes, weight, lambda rest, row: self.estimate(rest).log_density(row))

    def _together(self, statistic: Moments | Totals, x: Any, codes: Codes, weight: Array | None) -> Array | None:
        """Leave out many rows at a time; None if `estimate` does not take many statistics, as the first row shows."""
        refuse_infinite(x)
        out = np.empty((x.shape[0], statistic.n_classes))
        entries = self.summary.entries(x)
        if self.summary.threshold is not None:
            entries = np.where(np.isnan(x), np.nan, x > self.summary.threshold)
        cells = statistic.n_classes * statistic.n_columns
        for (part, piece), (_, own) in zip(derive.pieces(x, cells), derive.pieces(entries, cells), strict=True):
            w = np.ones(len(piece)) if weight is None else weight[part]
            try:
                rest = self.estimate(statistic.without_each(own, codes[part], w))  # type: ignore[arg-type]  # it is S
                assert isinstance(rest, Entrywise), "the family gives one kind of distribution"
                out[part] = derive.sum_observed(rest.density(X), piece[:, None, :])
            except (ValueError, IndexError):
                return None
        first = self._one_by_one(
            statistic,  # type: ignore[arg-type]
            x[:1],
            codes[:1],
            None if weight is None else weight[:1],
            lambda rest, row: self.estimate(rest).log_density(row),
        )
        return out if np.allclose(first, out[:1], rtol=1e-9, atol=1e-9) else None

    def _one_by_one(
        self, statistic: S, x: Any, codes: Codes, weight: Array | None, ask: Callable[[S, Any], Array]
    ) -> Array:
        """Return what `ask` makes of each row and of the statistic without it, (rows, classes)."""
        out = np.empty((x.shape[0], statistic.n_classes))
        for i in range(x.shape[0]):
            row = x[i : i + 1]
            w = None if weight is None else weight[i : i + 1]
            own = self.summary.take(row, np.zeros(1, np.int32), 1, w)
            rest = statistic - own.spread(codes[i : i + 1], len(out[0]))
            out[i] = ask(rest, row)[0]
        return out

    def _with_own_class(self, statistic: S, fitted: Distribution, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Leave out rows where only the row's own class changes: `own_log_density` says to what."""
        out = fitted.log_density(x)
        start = 0
        for piece, c, w in chunks(x, codes, weight, cells=1 << 22):
            rows = np.arange(start, start + len(c))
            out[rows, c] = self.own_log_density(statistic, piece, c, np.ones(len(c)) if w is None else w)
            start += len(c)
        return out

    def own_log_density(self, statistic: S, x: Any, codes: Codes, weight: Array) -> Array:
        """Log p(x_i | y_i) of each row under its own class without that row, (rows,)."""
        raise NotImplementedError


def read_columns(x: Any, reads: Reads, support: Support, sparse: bool) -> Any:
    """Read columns of numbers, dense or sparse, or of categories; refuse values outside the support."""
    if reads == "categories":
        return as_categories(x)
    x = as_matrix(x) if sparse else as_dense(x)
    support.refuse(x)
    return x


def resolution(values: Array) -> Array:
    """The square of the smallest difference that numbers of each column's size can show, (…, columns).

    It is the variance of values that do not vary: a point mass.
    """
    size = np.nan_to_num(np.abs(values)).max(axis=-2, initial=0.0) * np.finfo(np.float64).eps
    return np.maximum(size * size, 1e-300)
