"""The contract of a family and of the distributions it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Values, as_matrix, chunks, is_sparse
from suffice.core.errors import (
    InvalidOptionError,
    MismatchError,
    NoDistributionError,
    NoFormulaError,
    NoLinearFormError,
)
from suffice.core.frozen_options import Options
from suffice.core.priors import Learn
from suffice.core.statistics import ByClass, Statistic
from suffice.families._logarithms import log_ratio
from suffice.formulas import Term

S = TypeVar("S", bound=Statistic)


class Default:
    """Marks a prior that was not given."""

    def __repr__(self) -> str:
        return "default"


DEFAULT: Final = Default()


class Outcomes(NamedTuple):
    """What may be: a title by number, made when it is asked for, and the probabilities (classes, outcomes)."""

    title: Callable[[int], str]
    probability: Array


# What a column may hold; an array is of the bounds of bins.
Support = Literal["real", "positive", "whole", "truth", "values", "words"] | Array


class LinearForm(NamedTuple):
    """Scores coef·x + intercept whose differences between classes are log-odds.

    For two classes, `coef` is (1, columns) and the score is the log-odds of the second against the
    first; for more it is (classes, columns) and the posterior is the softmax of the scores.
    """

    coef: Array
    intercept: Array


@dataclass(frozen=True)
class Table:
    """Numbers or words for people: rows by columns, with a title."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: NDArray[Any]

    def to_arrow(self) -> Any:
        """The same as a `pyarrow.Table`, the names of the rows in its first column."""
        import pyarrow as pa

        return pa.table({self.title: list(self.rows)} | {c: self.values[:, j] for j, c in enumerate(self.columns)})

    def to_pandas(self) -> Any:
        """The same as a pandas data frame, the names of the rows as its index."""
        import pandas as pd

        return pd.DataFrame(self.values, index=pd.Index(self.rows, name=self.title), columns=list(self.columns))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        cells = [[v if isinstance(v, str) else f"{v:.6g}" for v in row] for row in self.values]
        lines = [[self.title, *map(str, self.columns)]]
        lines += [[str(name), *row] for name, row in zip(self.rows, cells, strict=True)]
        columns = list(zip(*lines, strict=True))
        widths = [max(map(len, column)) for column in columns]
        words = [True, *(any(isinstance(v, str) and v[:1].isalpha() for v in column) for column in self.values.T)]
        aligned = (
            "  ".join(c.ljust(n) if w else c.rjust(n) for c, n, w in zip(line, widths, words, strict=True))
            for line in lines
        )
        return "\n".join(line.rstrip() for line in aligned)


class Distribution(ABC):
    """A fitted p(x | y) over a block of columns, for every class at once."""

    def read(self, x: Any) -> Any:
        """Bring columns into the form `log_density` reads."""
        return as_matrix(x)

    @abstractmethod
    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes); missing entries are left out."""

    def relative_log_density(self, x: Any) -> Array:
        """Log p(x | y) up to a term that is the same for all classes, where that is less work; for comparing them."""
        return self.log_density(x)

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

    @property
    def expected(self) -> Array:
        """The mean of each class and column, (classes, columns)."""
        raise NoDistributionError(f"{type(self).__name__} has no means to fill gaps with")

    def expect(self, x: Any) -> Array:
        """Each row as every class expects it, (rows, classes, columns): gaps filled by E[x | observed entries, y]."""
        expected = self.expected
        x = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)[:, None, :]
        return np.where(np.isnan(x), expected, x)

    def contrast(self, x: Any, first: NDArray[Any], second: NDArray[Any]) -> Array:
        """What each column adds to log p(x | first) − log p(x | second), classes of each row, (rows, columns).

        Columns are independent here, so a column says what the row says when all its other entries are missing.
        """
        x = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)
        at, out = np.arange(x.shape[0]), np.empty(x.shape)
        for j in range(x.shape[1]):
            alone = np.full(x.shape, np.nan)
            alone[:, j] = x[:, j]
            density = self.log_density(alone)
            out[:, j] = log_ratio(density[at, first], density[at, second])
        return out

    def support(self, column: int) -> Support:  # noqa: ARG002  # the contract
        """What a column may hold, for whoever wants to draw p(x | y) over it.

        Any "real" or "positive" number, of which there is a density; "whole" ones from 0 on, or a "truth"; one of the
        "values" that `tables` lists, or such a combination of the block's columns; a count of "words", which all
        `outcomes` of the block share. Of bins it is their bounds, and `log_density` that of the bin.
        """
        return "real"

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:  # noqa: ARG002  # the contract
        """What columns may hold, and how probable that is in every class, some of it at a time."""
        return iter(())

    def draw(self, x: Any, codes: Codes, rng: np.random.Generator) -> Array:
        """Each row of numbers with its gaps filled by a draw from p(missing | observed, class codes[i])."""
        return np.where(np.isnan(x), self.sample(codes, rng), x)

    def linear(self) -> tuple[Array, Array]:
        """Coef (classes, columns) and intercept (classes,) such that coef·x + intercept is log p(x | y)
        up to a term that is the same for all classes."""  # noqa: D209
        raise NoLinearFormError(f"{type(self).__name__} has no linear form")

    def formula(self, names: Sequence[str]) -> list[Term]:  # noqa: ARG002  # the contract
        """`relative_log_density` as formulas over columns of these names, one for each that speaks for itself.

        They add up to log p(x | y), up to a term that all classes share.
        """
        raise NoFormulaError(f"{type(self).__name__} has no closed form to write down")

    def sample(self, codes: Codes, rng: np.random.Generator) -> Any:  # noqa: ARG002  # the contract
        """Draw one row for each class number in `codes`."""
        raise NoDistributionError(
            f"{type(self).__name__} only scores classes: there is no p(x | y) to draw rows from. "
            "A multinomial model of the same counts has one."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Family(Options, ABC, Generic[S]):
    """Frozen options of a kind of distribution. Two pure steps: rows → statistic → distribution.

    `prior` is the conjugate prior, `None` for none; `learn` is what is made of it: `"mle"`, the mode
    (`"map"`), the posterior `"mean"`, or `"predictive"`, the posterior integrated out. A prior given
    without `learn` means the posterior mean, `prior=None` maximum likelihood.
    """

    prior: Any = DEFAULT
    learn: Learn | None = None

    kind: ClassVar[type[Statistic]]
    reads: ClassVar[Literal["numbers", "categories", "text"]] = "numbers"  # what it wants of the columns of a table
    sees: ClassVar[Literal["values", "logarithms"]] = "values"  # what its statistic sees of numbers: see `prepared`
    together: ClassVar[bool] = False  # whether its statistic sees combinations of the columns, not each apart
    weak_prior: ClassVar[Any]  # what a bare family uses; None where nothing is conjugate, and `prior` no option

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
        if prior is not None and not isinstance(prior, type(self.weak_prior)):
            wanted = type(self.weak_prior).__name__
            raise InvalidOptionError(f"{name}: the prior must be a {wanted}, found {type(prior).__name__}")
        object.__setattr__(self, "prior", prior)
        object.__setattr__(self, "learn", self.learn or ("mle" if prior is None else "mean"))

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.init)
        return f"{type(self).__name__}({shown})"

    def read(self, x: Any) -> Any:
        """Bring columns into the form the family's kernels read."""
        return as_matrix(x)

    def summarize(self, x: Any, y: Any, weight: Any = None, onto: ByClass[S] | None = None) -> ByClass[S]:
        """Summarize rows by their labels in one pass, and add that to what is already there, `onto`."""
        x = self.read(x)
        self.check_width(x.shape[1])
        return ByClass.of(self.kind, self.prepared(x), y, weight, onto, **self.reading)  # type: ignore[arg-type]  # kind makes S

    def prepared(self, x: Any) -> Any:
        """What the statistic sees of columns that were read."""
        return x

    @property
    def reading(self) -> dict[str, Any]:
        """How the statistic is to read entries."""
        return {}

    def cells(self, columns: int) -> tuple[Array, ...] | None:  # noqa: ARG002  # the contract
        """Edges of each column between which the statistic tells no values apart; None where it tells all apart."""
        return None

    def check_width(self, columns: int) -> None:
        """Refuse a prior, or other options, that are for another number of columns."""
        for options in (self, self.prior):
            width = options.width() if isinstance(options, Options) else None
            if width not in (None, columns):
                raise MismatchError(f"{type(self).__name__}: options for {width} columns, data of {columns}")

    @abstractmethod
    def estimate(self, statistic: S) -> Distribution:
        """Estimate p(x | y) of every class the statistic has."""

    def leave_one_out(
        self,
        statistic: S,
        fitted: Distribution,  # noqa: ARG002  # what the statistic as a whole gives, for families it is of use to
        x: Any,
        codes: Codes,
        weight: Array | None,
    ) -> Array:
        """Log p(x_i | y) of each row under the statistic without that row, (rows, classes).

        Exact for every family: the row is subtracted and the rest estimated. Families override it where
        a closed form is faster.
        """
        return self._one_by_one(statistic, x, codes, weight, lambda rest, row: self.estimate(rest).log_density(row))

    def _one_by_one(
        self, statistic: S, x: Any, codes: Codes, weight: Array | None, ask: Callable[[S, Any], Array]
    ) -> Array:
        """What `ask` makes of each row and of the statistic without it, (rows, classes)."""
        out = np.empty((x.shape[0], statistic.n_classes))
        for i in range(x.shape[0]):
            row = x[i : i + 1]
            w = None if weight is None else weight[i : i + 1]
            own = self.kind.of(self.prepared(row), np.zeros(1, np.int32), 1, w, **self.reading)
            rest = statistic - own.spread(codes[i : i + 1], len(out[0]))  # type: ignore[operator]  # both are S
            out[i] = ask(rest, row)[0]
        return out

    def _with_own_class(self, statistic: S, fitted: Distribution, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Leave-one-out where only the row's own class changes: `own_log_density` says to what."""
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


def pack(table: Array) -> Array:
    """Lay a (classes, columns) table out as kernels like it: by column, classes padded to 64 bytes."""
    classes, columns = table.shape
    packed = np.zeros((columns, -(-classes // 8) * 8))
    packed[:, :classes] = table.T
    return packed


def resolution(values: Array) -> Array:
    """The square of the smallest difference that numbers of each column's size can show, (…, columns).

    It is the variance of what does not vary: a point mass.
    """
    size = np.nan_to_num(np.abs(values)).max(axis=-2, initial=0.0) * np.finfo(np.float64).eps
    return np.maximum(size * size, 1e-300)
