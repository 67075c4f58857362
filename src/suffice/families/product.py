"""Blocks of columns with different families in one model:  p(x | y) = Π_block p(x_block | y)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from suffice.core import frames
from suffice.core.arrays import Array, Codes, Positions, Rows, Values
from suffice.core.errors import (
    InvalidDataError,
    InvalidOptionError,
    MismatchError,
    NoFormulaError,
    RefusedValueError,
    naming_columns,
)
from suffice.core.frames import Frame
from suffice.core.frozen_options import Options
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch, Blocks, Cells, RowSample
from suffice.core.validation import Held
from suffice.families._base import Distribution, Family, derived
from suffice.families._contract import KeptRows, Outcomes, Summary, Table
from suffice.families.choose import Automatic
from suffice.families.logarithms import log_ratio
from suffice.families.many_columns import ManyColumns
from suffice.formulas import Constant, Missing, Term, Where, X

AT_ONCE = 1 << 16  # rows that are scored at a time, so that the arrays of the blocks stay small


@dataclass(frozen=True, eq=False, repr=False)
class Block(Options):
    """Some columns of a table and their family. With `missing` the value is whether the column's entry is missing."""

    names: Annotated[tuple[str, ...], Held(least=1)]
    family: Family[Any]
    missing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.missing and (len(self.names) > 1 or self.family.reads != "numbers"):
            raise InvalidOptionError("Block: whether an entry is missing is a number of one column")
        if self.family.reads == "text" and len(self.names) > 1:
            raise InvalidOptionError(f"Block: {type(self.family).__name__} reads one column, found {self.names}")

    @classmethod
    def of_column(cls, name: str, family: Family[Any]) -> Block:
        """Make the block of one column, whose name and family need no checks."""
        return cls._made((name,), family, False)

    def __repr__(self) -> str:
        return f"Block({self.title}: {self.family!r})"

    @property
    def title(self) -> str:
        """The name of the block for people."""
        return f"{self.names[0]} missing" if self.missing else ", ".join(self.names)

    def read(self, frame: Frame) -> Rows:
        """Return the columns in the form that the family reads; errors name the columns."""
        with naming_columns(self.names):
            return self._read(frame)

    def _read(self, frame: Frame) -> Rows:
        columns = [frame.column(name) for name in self.names]
        if self.missing:
            missing = [np.asarray(column.is_null(nan_is_null=True)) for column in columns]
            return self.family.read(np.stack(missing, axis=1).astype(np.float64))
        if self.family.reads == "text":
            return self.family.read(columns[0])
        if self.family.reads == "categories":
            return self.family.read(frames.categories(*columns, names=self.names, frame=frame))
        numbers = [frame.once("numbers", name, partial(frames.numbers, name=name)) for name in self.names]
        return self.family.read(np.stack(numbers, axis=1) if len(numbers) > 1 else numbers[0][:, None])


@dataclass(frozen=True)
class ProductSummary(Summary[Blocks]):
    """What every block sums, and a sample of up to `keep` rows."""

    blocks: tuple[Block, ...] = ()
    keep: int = 0

    @property
    def statistic_options(self) -> dict[str, Any]:
        """The statistic of each block with its options; errors name the columns."""
        readers = [(summary.statistic, summary.statistic_options) for summary in self._summaries]
        names = (*(block.names for block in self.blocks), ())
        return {"readers": (*readers, (RowSample, {"size": self.keep})), "names": names}

    def entries(self, x: Batch) -> Batch:
        """Compute the entries that the statistic of each block summarizes."""
        entries = []
        for block, summary, part in zip(self.blocks, self._summaries, x.parts, strict=False):
            if type(summary) is Summary and summary.of is X:  # there may be many of them
                entries.append(part)
                continue
            with naming_columns(block.names):
                entries.append(summary.entries(part))
        return Batch((*entries, x.parts[-1]), x.n)

    @cached_property
    def _summaries(self) -> list[Summary[Any]]:
        """What each block sums; blocks of one family share it."""
        known: dict[int, Summary[Any]] = {}
        for block in self.blocks:
            if id(block.family) not in known:
                known[id(block.family)] = block.family.summary
        return [known[id(block.family)] for block in self.blocks]


class Product(Family[Blocks]):
    """Independent blocks of columns, each with its own family.

    Rows are tables. The statistic holds those of the blocks and a sample of up to `keep` rows (see `RowSample`), for
    questions that need rows.
    """

    prior: None = field(default=None, init=False)  # the blocks have theirs
    learn: Literal["mle"] = field(default="mle", init=False)
    blocks: tuple[Block, ...] = ()
    keep: Annotated[int, Held(least=0)] = 0

    by_column: ClassVar = False
    public: ClassVar = False

    def __post_init__(self) -> None:
        super().__post_init__()
        named = [name for block in self.blocks if not block.missing for name in block.names]
        twice = {name for name, times in Counter(named).items() if times > 1}
        if twice:
            raise InvalidDataError(f"Column {min(twice)!r} is in two blocks: put it into one of them")

    @property
    def names(self) -> list[str]:
        """The columns that are read, in the order of the blocks."""
        return list(dict.fromkeys(name for block in self.blocks for name in block.names))

    # The statistics of all blocks, and a sample of rows.
    summary = derived(lambda self: ProductSummary(Blocks, blocks=self.blocks, keep=self.keep))

    def check_same(self, other: Product) -> None:
        """Refuse a product that reads a column in another way; the error names the first such column."""
        for name in dict.fromkeys([*self.names, *other.names]):
            mine, theirs = self._use_of(name), other._use_of(name)
            if mine != theirs:
                raise MismatchError(
                    f"Cannot merge: column {name!r} is {mine} here and {theirs} there. Name the same families for "
                    "both, and the same `limit`"
                )

    def _use_of(self, name: str) -> str:
        """Describe how a column is used."""
        found = [block for block in self.blocks if name in block.names]
        return " and ".join(f"{block.title!r} by {block.family!r}" for block in found) or "left out"

    def read(self, x: Any) -> Batch:
        """Read a table block by block; the last part is the table itself."""
        if isinstance(x, Batch):
            return x
        if x.matrix is not None and all(type(block.family) is Automatic for block in self.blocks):
            parts = [x.matrix.row(block.names[0])[:, None] for block in self.blocks]
            return Batch((*parts, x.select(self.names)), len(x))
        parts = in_threads(lambda block: block.read(x), self.blocks, len(x) * len(self.blocks))
        return Batch((*parts, x.select(self.names)), len(x))

    def check_statistic(self, statistic: Blocks) -> None:
        """Refuse statistics of other blocks, and kept rows of other columns."""
        super().check_statistic(statistic)
        *parts, kept = statistic.parts or (None,)
        if len(parts) != len(self.blocks) or not isinstance(kept, RowSample):
            raise MismatchError(f"Statistics of {len(self.blocks)} blocks and of rows were expected, found {statistic}")
        numbers = next((block.family for block in self.blocks if type(block.family) is Automatic), None)
        for block, part in zip(self.blocks, parts, strict=True):
            if block.family is numbers and type(part) is Cells and part.exact_moments and len(part.level) == 1:
                continue  # there may be many of them
            with naming_columns(block.names):
                block.family.check_statistic(part)
                if block.family.columns_of(part) not in (None, len(block.names)):
                    raise MismatchError(f"the block has {len(block.names)} columns, its statistic another number")
        if (kept.rows.n or kept.rows.names) and kept.rows.names != self.names:
            raise MismatchError(f"Kept rows must have the columns {self.names}, found {kept.rows.names}")

    def check_loaded(self, statistic: Blocks) -> None:
        """Refuse kept rows that the blocks cannot read, too."""
        super().check_loaded(statistic)
        kept = self.kept_rows(statistic)
        if len(kept.codes):
            self.read(kept.rows)

    def columns_of(self, statistic: Blocks) -> int | None:  # noqa: ARG002  # blocks have theirs
        """Return None: blocks have columns of their own."""
        return None

    def estimate(self, statistic: Blocks) -> ProductDistribution:
        """Estimate every block."""
        many = ManyColumns.of([b.family for b in self.blocks], [b.names for b in self.blocks], statistic.parts)
        if many is not None:
            every = enumerate(zip(self.blocks, statistic.parts, strict=False))
            found = (many.parts[j] if j in many.parts else block.family.estimate(part) for j, (block, part) in every)
            return ProductDistribution(self, tuple(found), many)
        parts = zip(self.blocks, statistic.parts, strict=False)
        rows = sum(len(part.weight) for cells in statistic.parts if isinstance(cells, Cells) for part in cells.parts)
        estimates = in_threads(lambda part: part[0].family.estimate(part[1]), parts, 16 * rows)
        return ProductDistribution(self, tuple(estimates))

    def kept_rows(self, statistic: Blocks) -> KeptRows:
        """Return the sample of rows."""
        kept = statistic.parts[-1]
        assert isinstance(kept, RowSample)
        return KeptRows(kept.rows, kept.codes, kept.weight)

    def leave_one_out(
        self, statistic: Blocks, fitted: Distribution, x: Batch, codes: Codes, weight: Array | None
    ) -> Array:
        """Add the blocks' log-densities, each without the row."""
        start = np.zeros((len(codes), statistic.classes))
        assert isinstance(fitted, ProductDistribution)
        if fitted.many is not None and self._is_kept(statistic, x, codes, weight):
            rest = [j for j in range(len(self.blocks)) if j not in fitted.many.parts]
            others = self._left_out(statistic, fitted, x, codes, weight, rest)
            return sum(others, start=fitted.many.evidence.copy())
        return sum(self.block_leave_one_out(statistic, fitted, x, codes, weight), start=start)

    def _is_kept(self, statistic: Blocks, x: Batch, codes: Codes, weight: Array | None) -> bool:
        """Return whether rows are those that the statistic keeps, each of weight 1."""
        kept, rows = self.kept_rows(statistic), x.parts[-1]
        same = isinstance(rows, Frame) and rows.is_selection_of(kept.rows) and np.array_equal(codes, kept.codes)
        return same and (weight is None or bool((weight == 1.0).all()))

    def block_leave_one_out(
        self, statistic: Blocks, fitted: Distribution, x: Batch, codes: Codes, weight: Array | None
    ) -> list[Array]:
        """Compute the log-density of each block of each row under the statistic without it, (rows, classes) each."""
        assert isinstance(fitted, ProductDistribution)
        return self._left_out(statistic, fitted, x, codes, weight, range(len(self.blocks)))

    def _left_out(
        self,
        statistic: Blocks,
        fitted: ProductDistribution,
        x: Batch,
        codes: Codes,
        weight: Array | None,
        some: Sequence[int],
    ) -> list[Array]:
        blocks = [(self.blocks[j], statistic.parts[j], fitted.parts[j], x.parts[j]) for j in some]

        def left_out(block: tuple[Block, Any, Distribution, Rows]) -> Array:
            b, s, d, part = block
            return b.family.leave_one_out(s, d, part, codes, weight)

        return in_threads(left_out, blocks, len(codes) * len(blocks))


class ProductDistribution(Distribution):
    """A distribution for each block."""

    family: Product
    parts: tuple[Distribution, ...]
    many: ManyColumns | None = None

    def read(self, x: Any) -> Batch:
        """Read a table block by block."""
        return self.family.read(x)

    def each(self, x: Batch, relative: bool = True) -> Iterator[Array]:
        """Yield the log-densities of each block, (rows, classes), or those up to a term that all classes share."""
        for block, distribution, part in zip(self.family.blocks, self.parts, x.parts, strict=False):
            with naming_columns(block.names):
                rows = distribution.read(part)
                scores = distribution.relative_log_density(rows) if relative else distribution.log_density(rows)
            yield scores

    def log_density(self, x: Batch) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes)."""
        return self._sum(x, relative=False)

    def relative_log_density(self, x: Batch) -> Array:
        """Compute the same up to a term that all classes share."""
        return self._sum(x, relative=True)

    def _sum_from(self, lo: int, x: Batch, relative: bool) -> Array:
        try:
            return self._sum(x[lo : lo + AT_ONCE], relative)
        except RefusedValueError as error:
            raise error.shifted(lo) from None

    def _sum(self, x: Batch, relative: bool) -> Array:
        if x.n > AT_ONCE:
            starts = range(0, x.n, AT_ONCE)
            return np.concatenate(in_threads(lambda lo: self._sum_from(lo, x, relative), starts, x.n))
        if relative and self.many is not None:
            return self._sum_many(x, self.many)
        each = self.each(x, relative)
        out = np.ascontiguousarray(next(each))
        if relative:
            for j in range(1, len(self.parts)):
                with naming_columns(self.family.blocks[j].names):
                    self.parts[j].add_relative(x.parts[j], out)
            return out
        for part in each:
            out += part
        return out

    def _sum_many(self, x: Batch, many: ManyColumns) -> Array:
        """Add the blocks of a kernel at once, and the others one by one."""
        out = np.zeros((x.n, many.evidence.shape[1]))
        many.add(x, out, [block.names for block in self.family.blocks])
        for j, (block, distribution) in enumerate(zip(self.family.blocks, self.parts, strict=True)):
            if j not in many.parts:
                with naming_columns(block.names):
                    distribution.add_relative(x.parts[j], out)
        return out

    # How many parts a row is read into: one for each block, and the row itself.
    n_columns = derived(lambda self: len(self.parts) + 1)
    n_parameters = derived(lambda self: sum(part.n_parameters for part in self.parts))  # the sum over the blocks

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:  # noqa: ARG002  # blocks know their names
        """Return the tables of all blocks."""
        out = []
        for block, part in zip(self.family.blocks, self.parts, strict=True):
            out += part.tables(labels, [block.title] if block.missing else block.names)
        return out

    def formula(self, names: Sequence[str]) -> list[Term]:  # noqa: ARG002  # blocks know their names
        """Return the formulas of all blocks; an error names the blocks that have none."""
        out, refused = [], []
        for block, part in zip(self.family.blocks, self.parts, strict=True):
            try:
                out += self.formula_of_block(part, block.names, block.missing, block.title)
            except NoFormulaError as error:
                refused.append(f"{block.title!r}: {error}")
        if refused:
            raise NoFormulaError("; ".join(refused))
        return out

    @staticmethod
    def formula_of_block(part: Distribution, names: Sequence[str], missing: bool, title: str) -> list[Term]:
        """Return the formulas of one block; that of a `missing` block tests whether the column is missing."""
        if not missing:
            return part.formula(names)
        if_present, if_missing = part.relative_log_density(part.read(np.array([[0.0], [1.0]])))
        return [Term(title, tuple(names), Where(Missing(names[0]), Constant(if_missing), Constant(if_present)))]

    def linear(self) -> tuple[Array, Array]:
        """Return the linear forms of all blocks side by side, if each has one."""
        coef, intercept = zip(*(part.linear() for part in self.parts), strict=True)
        return np.concatenate(coef, axis=1), sum(intercept, start=np.zeros(len(intercept[0])))

    def contrast(self, x: Batch, first: Positions, second: Positions) -> Array:
        """Compute what each block adds to log p(x | first) − log p(x | second), (rows, blocks)."""
        rows = np.arange(x.n)
        return np.stack([log_ratio(part[rows, first], part[rows, second]) for part in self.each(x)], axis=1)

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:  # noqa: ARG002  # blocks know their names
        """Yield the outcomes of all blocks."""
        for block, part in zip(self.family.blocks, self.parts, strict=True):
            yield from part.outcomes([block.title] if block.missing else block.names)

    def sample(self, codes: Codes, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a value for every column."""
        out: dict[str, Any] = {}
        for block, part in zip(self.family.blocks, self.parts, strict=True):
            if not block.missing:
                drawn = part.sample(codes, rng)
                out.update((name, drawn[:, j]) for j, name in enumerate(block.names))
        return out
