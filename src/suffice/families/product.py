"""Blocks of columns with different families in one model:  p(x | y) = Π_block p(x_block | y)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
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
from suffice.core.frames import ColumnReading, Frame, with_readings
from suffice.core.frozen_options import Options
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch, Blocks, Cells, Pairs, RowSample
from suffice.core.validation import Held
from suffice.families._base import Distribution, Family, derived
from suffice.families._contract import Decisions, KeptRows, Outcomes, Summary, Table
from suffice.families.choose import Automatic, ChosenByCells, decide
from suffice.families.found_columns import FoundColumn
from suffice.families.logarithms import log_ratio
from suffice.families.pair_plan import PairPlan
from suffice.families.together import Together, each_left_out, groups
from suffice.formulas import Constant, Missing, Term, Where, X

KEPT = 20_000  # rows that are kept where it is not said how many
AT_ONCE = 1 << 16  # rows that are scored at a time, so that the arrays of the blocks stay small
ENTRIES = 1 << 21  # the same in entries, where many columns are taken together


@dataclass(frozen=True, eq=False, repr=False)
class Block(Options):
    """Some columns of a table and their family. With `missing` the value is whether the column's entry is missing."""

    names: Annotated[tuple[str, ...], Held(least=1)]
    family: Family[Any]
    missing: bool = False
    found: FoundColumn | None = None  # a column that is computed from those named

    def __post_init__(self) -> None:
        super().__post_init__()
        found, number = self.found, self.family.reads == "numbers" and not self.missing
        if found is not None and (self.names != found.names or not number):
            raise InvalidOptionError("Block: a found column is a number of its two columns")
        if self.missing and (len(self.names) > 1 or self.family.reads != "numbers"):
            raise InvalidOptionError("Block: whether an entry is missing is a number of one column")
        if self.family.reads == "text" and len(self.names) > 1:
            raise InvalidOptionError(f"Block: {type(self.family).__name__} reads one column, found {self.names}")

    @classmethod
    def of_column(cls, name: str, family: Family[Any]) -> Block:
        """Make the block of one column, whose name and family need no checks."""
        return cls._made((name,), family, False, None)

    def __repr__(self) -> str:
        return f"Block({self.title}: {self.family!r})"

    @property
    def title(self) -> str:
        """The name of the block for people."""
        if self.found is not None:
            return self.found.title
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
        if self.found is not None:
            return self.family.read(self.found.of(*numbers)[:, None])
        return self.family.read(np.stack(numbers, axis=1) if len(numbers) > 1 else numbers[0][:, None])


@dataclass(frozen=True)
class ProductSummary(Summary[Blocks]):
    """What every block sums, and a sample of up to `keep` rows; then what found columns sum, and pairs of columns."""

    blocks: tuple[Block, ...] = ()
    keep: int = 0
    found: tuple[Block, ...] = ()
    plan: PairPlan | None = None

    @property
    def statistic_options(self) -> dict[str, Any]:
        """The statistic of each block with its options; errors name the columns."""
        own = len(self.blocks)
        readers = [(summary.statistic, summary.statistic_options) for summary in self._summaries]
        readers.insert(own, (RowSample, {"size": self.keep}))
        names = [*(block.names for block in self.blocks), (), *(block.names for block in self.found)]
        if self.plan is not None:
            readers.append((Pairs, {"sizes": self.plan.sizes, "pairs": self.plan.pairs}))
            names.append(())
        return {"readers": tuple(readers), "names": tuple(names)}

    def entries(self, x: Batch) -> Batch:
        """Compute the entries that the statistic of each block summarizes."""
        entries, own = list(x.parts), len(self.blocks)
        for j, (block, summary) in enumerate(zip((*self.blocks, *self.found), self._summaries, strict=True)):
            if summary.of is not X or type(summary) is not Summary:
                at = j if j < own else j + 1
                with naming_columns(block.names):
                    entries[at] = summary.entries(x.parts[at])
        return Batch(tuple(entries), x.n)

    @cached_property
    def _summaries(self) -> list[Summary[Any]]:
        """What each block, and each found column, sums; blocks of one family share it."""
        known: dict[int, Summary[Any]] = {}
        every = (*self.blocks, *self.found)
        for block in every:
            if id(block.family) not in known:
                known[id(block.family)] = block.family.summary
        return [known[id(block.family)] for block in every]


@dataclass(frozen=True, eq=False)
class BlockDecisions(Decisions):
    """What the estimate of each block decided; None for a block that had nothing to decide."""

    blocks: tuple[Decisions | None, ...]


class Product(Family[Blocks]):
    """Independent blocks of columns, each with its own family.

    Rows are tables. The statistic holds those of the blocks and a sample of up to `keep` rows (see `RowSample`), for
    questions that need rows. With `keep="auto"` these are 20 000, but none of a database, which rows do not leave
    unless that is asked for. `readings` make columns of numbers from columns of strings and times, before blocks read
    them. With a `plan`, the statistic also holds those of `found` columns, which are computed from
    others, and the counts of pairs of columns (see `Pairs`): they are evidence about the class, and no part of
    p(x | y).
    """

    prior: None = field(default=None, init=False)  # the blocks have theirs
    learn: Literal["mle"] = field(default="mle", init=False)
    blocks: tuple[Block, ...] = ()
    keep: Annotated[int | Literal["auto"], Held(least=0)] = 0
    find: Annotated[int, Held(least=0)] = 0  # how many columns may be found
    found: tuple[Block, ...] = ()
    plan: PairPlan | None = None
    given: bool = False  # the plan is that of another model: it stays, however few rows there are
    readings: tuple[ColumnReading, ...] = ()  # columns of blocks that are read from strings or times

    by_column: ClassVar = False
    public: ClassVar = False

    def __post_init__(self) -> None:
        super().__post_init__()
        named = [name for block in self.blocks if not block.missing for name in block.names]
        twice = {name for name, times in Counter(named).items() if times > 1}
        if twice:
            raise InvalidDataError(f"Column {min(twice)!r} is in two blocks: put it into one of them")
        made = Counter(each.name for each in self.readings)
        if any(times > 1 or name not in self.columns for name, times in made.items()):
            raise InvalidOptionError("Product: readings must be of distinct columns of the blocks")

    @property
    def most_kept(self) -> int:
        """How many rows are kept, of rows that are at hand."""
        return KEPT if isinstance(self.keep, str) else self.keep

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the blocks, in their order."""
        return list(dict.fromkeys(name for block in self.blocks for name in block.names))

    @cached_property
    def names(self) -> list[str]:
        """The columns of a table that are read: those of the blocks, or where these are read from."""
        sources = {each.name: each.source for each in self.readings}
        return list(dict.fromkeys(sources.get(name, name) for name in self.columns))

    def columns_in(self, frame: Frame) -> Frame:
        """Return the columns of the blocks, read from a table."""
        return with_readings(frame, self.readings).select(self.columns)

    # The statistics of all blocks, and a sample of rows.
    summary = derived(
        lambda self: ProductSummary(Blocks, blocks=self.blocks, keep=self.most_kept, found=self.found, plan=self.plan)
    )

    def check_same(self, other: Product) -> None:
        """Refuse a product that reads a column in another way; the error names the first such column."""
        for name in dict.fromkeys([*self.columns, *other.columns]):
            mine, theirs = self._use_of(name), other._use_of(name)
            if mine != theirs:
                raise MismatchError(
                    f"Cannot merge: column {name!r} is {mine} here and {theirs} there. Name the same families for "
                    "both, and the same `limit`"
                )

    def _use_of(self, name: str) -> str:
        """Describe how a column is used."""
        found = [block for block in self.blocks if name in block.names]
        used = " and ".join(f"{block.title!r} by {block.family!r}" for block in found) or "left out"
        return "; ".join([used, *(each.note for each in self.readings if each.name == name)])

    def read(self, x: Any) -> Batch:
        """Read a table block by block; then come the table itself, found columns, and the codes of pairs."""
        return x if isinstance(x, Batch) else self.read_plan(self.read_blocks(x))

    def read_blocks(self, x: Any) -> Batch:
        """Read a table block by block; then comes the table itself. What the plan reads is left out."""
        if isinstance(x, Batch):
            return x
        x = self.columns_in(x)
        matrix = x.matrix
        if matrix is not None and all(type(block.family) is Automatic for block in self.blocks):
            parts = [matrix.matrix[matrix.place[block.names[0]], :, None] for block in self.blocks]
        else:
            parts = in_threads(lambda block: block.read(x), self.blocks, len(x) * len(self.blocks))
        return Batch((*parts, x), len(x))

    def read_plan(self, x: Batch) -> Batch:
        """Add what the plan reads to rows that were read without one."""
        own = len(self.blocks)
        if self.plan is None or len(x.parts) > own + 1:
            return x
        table = x.parts[own]
        found = tuple(in_threads(lambda block: block.read(table), self.found, x.n * len(self.found)))
        return Batch((*x.parts, *found, self.plan.codes((*x.parts[:own], *found), x.n)), x.n)

    def check_statistic(self, statistic: Blocks) -> None:
        """Refuse statistics of other blocks, and kept rows of other columns."""
        super().check_statistic(statistic)
        own, planned = len(self.blocks), len(self.found) + (self.plan is not None)
        if len(statistic.parts) != own + 1 + planned or not isinstance(statistic.parts[own], RowSample):
            raise MismatchError(f"Statistics of {own} blocks and of rows were expected, found {statistic}")
        kept = statistic.parts[own]
        assert isinstance(kept, RowSample)
        if self.plan is not None:
            pairs = statistic.parts[-1]
            if not isinstance(pairs, Pairs):
                raise MismatchError(f"Counts of pairs were expected, found {pairs}")
            pairs.check_made_with(sizes=self.plan.sizes, pairs=self.plan.pairs)
            if any(column.block >= own + len(self.found) for column in self.plan.columns):
                raise MismatchError("The plan of pairs is for other blocks")
        others = (*statistic.parts[:own], *statistic.parts[own + 1 : own + 1 + len(self.found)])
        for block, part in zip((*self.blocks, *self.found), others, strict=True):
            with naming_columns(block.names):
                block.family.check_statistic(part)
                if block.family.columns_of(part) not in (None, 1 if block.found else len(block.names)):
                    raise MismatchError(f"the block has {len(block.names)} columns, its statistic another number")
        if (kept.rows.n or kept.rows.names) and kept.rows.names != self.columns:
            raise MismatchError(f"Kept rows must have the columns {self.columns}, found {kept.rows.names}")

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
        return self.estimate_decided(statistic, None)

    decides = derived(lambda self: any(block.family.decides for block in self.blocks))

    def estimate_decided(self, statistic: Blocks, decisions: Decisions | None) -> ProductDistribution:
        """Estimate every block by its decisions."""
        assert decisions is None or isinstance(decisions, BlockDecisions)
        known = (None,) * len(self.blocks) if decisions is None else decisions.blocks
        columns = [*zip(self.blocks, statistic.parts, known, strict=False)]
        choosing = {
            j: (b.family, s)
            for j, (b, s, own) in enumerate(columns)
            if own is None and isinstance(b.family, ChosenByCells)
        }
        decided = decide([*choosing.values()])  # all columns at once
        found = {j: pair[0].decided(pair[1], own) for (j, pair), own in zip(choosing.items(), decided, strict=True)}
        rest = [j for j in range(len(columns)) if j not in found]
        points = (part for j in rest if isinstance(cells := columns[j][1], Cells) for part in cells.parts)
        work = sum(len(part.weight) for part in points)
        estimates = in_threads(lambda j: columns[j][0].family.estimate_decided(*columns[j][1:]), rest, work)
        parts = {**found, **dict(zip(rest, estimates, strict=True))}
        return ProductDistribution(self, tuple(parts[j] for j in range(len(columns))))

    def check_estimable(self, statistic: Blocks) -> None:
        """Refuse rows that a block refuses."""
        for block, part in zip(self.blocks, statistic.parts, strict=False):
            try:
                block.family.check_estimable(part)
            except InvalidDataError as error:
                raise InvalidDataError(f"Column {block.title!r}: {error}") from None

    def check_decisions(self, statistic: Blocks, decisions: Decisions | None) -> None:
        """Refuse decisions about other blocks, and those that a block refuses."""
        if decisions is None:
            return
        if not isinstance(decisions, BlockDecisions) or len(decisions.blocks) != len(self.blocks):
            raise MismatchError(f"Decisions about {len(self.blocks)} blocks were expected, found {decisions!r}")
        for block, part, own in zip(self.blocks, statistic.parts, decisions.blocks, strict=False):
            with naming_columns(block.names):
                block.family.check_decisions(part, own)

    def kept_rows(self, statistic: Blocks) -> KeptRows:
        """Return the sample of rows."""
        kept = self.sample_of(statistic)
        return KeptRows.of(kept.rows, kept)

    def sample_of(self, statistic: Blocks) -> RowSample:
        """Return the sample of rows as it is in the statistic."""
        kept = statistic.parts[len(self.blocks)]
        assert isinstance(kept, RowSample)
        return kept

    def leave_one_out(
        self, statistic: Blocks, fitted: Distribution, x: Batch, codes: Codes, weight: Array | None
    ) -> Array:
        """Add the blocks' log-densities, each without the row."""
        return self._left_out(statistic, fitted, x, codes, weight, relative=False)

    def relative_leave_one_out(
        self, statistic: Blocks, fitted: Distribution, x: Batch, codes: Codes, weight: Array | None
    ) -> Array:
        """Compute the same up to a term that all classes share."""
        return self._left_out(statistic, fitted, x, codes, weight, relative=True)

    def _left_out(
        self, statistic: Blocks, fitted: Distribution, x: Batch, codes: Codes, weight: Array | None, relative: bool
    ) -> Array:
        assert isinstance(fitted, ProductDistribution)
        out, (together, apart) = np.zeros((len(codes), statistic.classes)), fitted.groups
        for each in together:
            if each.votes or not relative:
                out += each.leave_one_out(x, codes, weight)
        return sum(self.block_leave_one_out(statistic, fitted, x, codes, weight, relative, apart), start=out)

    def block_leave_one_out(
        self,
        statistic: Blocks,
        fitted: Distribution,
        x: Batch,
        codes: Codes,
        weight: Array | None,
        relative: bool = True,
        places: Sequence[int] | None = None,
    ) -> list[Array]:
        """Compute the log-density of each block of each row under the statistic without it, (rows, classes) each.

        With `relative` it is up to a term that all classes share: that of a block that does not vote is 0. `places` are
        those of some blocks.
        """
        assert isinstance(fitted, ProductDistribution)
        blocks = [*zip(self.blocks, statistic.parts, fitted.parts, x.parts, strict=False)]
        blocks = blocks if places is None else [blocks[j] for j in places]
        out: list[Array] = [np.zeros((0, 0))] * len(blocks)

        def left_out(j: int) -> None:
            b, s, d, part = blocks[j]
            method = b.family.relative_leave_one_out if relative else b.family.leave_one_out
            out[j] = method(s, d, part, codes, weight)

        silent = [j for j, block in enumerate(blocks) if relative and not block[2].votes]
        for j in silent:  # so little work that threads would be more
            left_out(j)
        known = each_left_out(
            {j: b[2] for j, b in enumerate(blocks)}, Batch(tuple(b[3] for b in blocks), x.n), codes, weight
        )
        for j, part in known.items():
            out[j] = part
        voting = sorted(set(range(len(blocks))).difference(silent, known))
        in_threads(left_out, voting, len(codes) * len(voting))
        return out


class ProductDistribution(Distribution):
    """A distribution for each block."""

    family: Product
    parts: tuple[Distribution, ...]

    def read(self, x: Any) -> Batch:
        """Read a table block by block, without what a plan adds."""
        rows, parts = self.family.read(x), len(self.parts) + 1
        return rows if len(rows.parts) == parts else Batch(rows.parts[:parts], rows.n)

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

    def _sum_from(self, lo: int, step: int, x: Batch, relative: bool) -> Array:
        try:
            return self._sum(x[lo : lo + step], relative)
        except RefusedValueError as error:
            raise error.shifted(lo) from None

    def _sum_groups(self, x: Batch, relative: bool) -> Array:
        together, apart = self.groups
        out = np.zeros((x.n, together[0].classes))
        for group in together:
            if group.votes or not relative:
                out += self.sum_of(group, x)
        for j in apart:
            with naming_columns(self.family.blocks[j].names):
                if relative:
                    self.parts[j].add_relative(x.parts[j], out)
                else:
                    out += self.parts[j].log_density(self.parts[j].read(x.parts[j]))
        return out

    @cached_property
    def groups(self) -> tuple[tuple[Together, ...], tuple[int, ...]]:
        """The columns that are taken together, and the places of the other blocks."""
        return groups(self.parts)

    @property
    def rows_at_once(self) -> int:
        """How many rows are scored at a time."""
        return AT_ONCE if not self.groups[0] else max(1, min(AT_ONCE, ENTRIES // len(self.parts)))

    def sum_of(self, group: Together, x: Batch) -> Array:
        """Compute the log-density of columns that are taken together, (rows, classes)."""
        try:
            return group.log_density(x)
        except (RefusedValueError, MismatchError):
            for j in group.places:  # the column that is refused is named
                with naming_columns(self.family.blocks[j].names):
                    self.parts[j].log_density(self.parts[j].read(x.parts[j]))
            raise

    def _sum(self, x: Batch, relative: bool) -> Array:
        step = self.rows_at_once
        if x.n > step:
            starts = range(0, x.n, step)
            return np.concatenate(in_threads(lambda lo: self._sum_from(lo, step, x, relative), starts, x.n))
        if self.groups[0]:
            return self._sum_groups(x, relative)
        if relative and x.n > 1:  # kernels add to an array, whose classes one row shows
            out = np.zeros((x.n, self._sum(x[:1], relative).shape[1]))
            for block, distribution, rows in zip(self.family.blocks, self.parts, x.parts, strict=False):
                with naming_columns(block.names):
                    distribution.add_relative(rows, out)
            return out
        each = self.each(x, relative)
        out = np.ascontiguousarray(next(each))
        for part in each:
            out += part
        return out

    @cached_property
    def as_density(self) -> ProductDistribution:
        """The same with the densities of all blocks, of which some may only score classes."""
        parts = tuple(part.as_density for part in self.parts)
        return self if all(a is b for a, b in zip(parts, self.parts, strict=True)) else replace(self, parts=parts)

    @property
    def decisions(self) -> BlockDecisions | None:
        """The decisions of the blocks; None if no block had something to decide."""
        each = tuple(part.decisions for part in self.parts)
        return None if all(own is None for own in each) else BlockDecisions(each)

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
