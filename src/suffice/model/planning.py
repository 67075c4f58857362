"""The plan that pairs of columns are counted by, around what was learned: when it is settled, and for which rows.

As long as the kept rows are all rows, nothing but those rows is needed: a plan is settled, and its statistics are
counted, when a structure is fitted. Beyond that a plan is settled once, and the counts are part of the statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.arrays import Rows
from suffice.core.errors import MismatchError
from suffice.core.frames import Frame
from suffice.core.frozen_options import same_options
from suffice.core.statistics import Batch, Blocks, ByClass
from suffice.families import Family, KeptRows
from suffice.families.choose import Automatic
from suffice.families.found_columns import FoundColumn, find_columns
from suffice.families.pair_plan import PairPlan, plan_pairs
from suffice.families.product import Block, Product
from suffice.model.unexplained import Unexplained

if TYPE_CHECKING:
    from suffice.model.learned import Learned
    from suffice.model.structure import Structure

FEWEST_ROWS = 50  # fewer rows settle no plan, and cannot tell exponents apart
MOST_COLUMNS = 300  # that have an exponent each


def settle(family: Product, kept: KeptRows, total: float, classes: int) -> Product:
    """Return the family with a plan that the kept rows settle: found columns, and the codes of pairs.

    A table of more columns than have an exponent each uses neither. Where there are more rows than are kept, which must
    be read once more for the plan, neither is counted if no pair explains anything, nor found columns that do not.
    """
    if len(family.blocks) > MOST_COLUMNS:
        return replace(family, found=(), plan=PairPlan((), np.zeros((2, 0), np.int32)))
    rows, of = family.read(kept.rows), (kept.codes, kept.without_copies, classes)
    columns = list(zip(family.blocks, rows.parts, strict=False))
    rest = None
    if total > kept.weight.sum() * (1 + 1e-9) and Unexplained.can_be_judged(rows.n, classes):
        families, parts = _in_pairs(columns, rows.n)
        rest = Unexplained.of(families, parts, *of)
        without_pairs = rest.plan_without_pairs(families, parts)
        if without_pairs is not None:
            return replace(family, found=(), plan=without_pairs)
    numbers = [
        (block.names[0], np.asarray(part, np.float64)[:, 0])
        for block, part in columns
        if block.family.reads == "numbers" and len(block.names) == 1 and not block.missing
    ]
    found = find_columns(numbers, *of, family.find) if family.find else []
    blocks = [Block(each.names, _found_family(family, each), found=each) for each in found]
    some = [(block, block.read(kept.rows)) for block in blocks]
    if rest is not None:
        some = [each for each in some if rest.is_explained_by(*each)]
    families, parts = _in_pairs(columns + some, rows.n)
    plan = plan_pairs(families, parts, *of, total)
    return replace(family, found=tuple(block for block, _ in some), plan=plan)


def _in_pairs(columns: Sequence[tuple[Block, Rows]], rows: int) -> tuple[tuple[Family[Any] | None, ...], Batch]:
    """Return the families and rows of columns that take part in pairs; None takes no part."""
    families = tuple(None if block.missing else block.family for block, _ in columns)
    return families, Batch(tuple(part for _, part in columns), rows)


def _found_family(family: Product, found: FoundColumn) -> Automatic:
    """Return the family of a found column: that of its first column, if it chooses itself."""
    for block in family.blocks:
        if block.names == (found.first,) and isinstance(block.family, Automatic):
            return block.family
    return Automatic()


def planned(learned: Learned, structure: Structure | None = None) -> Learned:
    """Return what was learned with a plan, and with the statistics that the plan needs.

    As long as the kept rows are all rows, nothing but those rows is needed for it: the plan is settled, and its
    statistics are counted, when a structure is fitted. Where rows were left out, pairs were counted by a plan that was
    settled before, or there are none.
    """
    known = learned.__dict__.get("_planned")
    if known is not None:
        return known
    out = _with_plan(learned, structure)
    if out is not learned:
        out.__dict__["model"] = learned.model  # p(x | y) is the same
    learned.__dict__["_planned"] = out
    return out


def _with_plan(learned: Learned, structure: Structure | None) -> Learned:
    family, seen = _family_of(learned), learned.statistics
    if family.plan is not None:
        return learned
    kept = all_rows(family, seen)
    if kept is None:
        return learned
    if structure is not None:
        family = replace(family, found=structure.found, plan=structure.plan)
    else:
        family = settle(family, kept, float(seen.weight.sum()), len(seen.labels))
    return replace(learned, family=family, seen=counted_with(family, seen, kept), declared=None)


def all_rows(family: Product, seen: ByClass[Any]) -> KeptRows | None:
    """Return the kept rows if they are all rows that were learned."""
    sample = family.sample_of(seen.statistic)
    held = np.bincount(sample.codes, sample.weight, minlength=len(seen.labels))
    if not len(sample) or not np.allclose(held, seen.weight, rtol=1e-9, atol=0.0):
        return None
    return KeptRows.of(sample.rows, sample)


def counted_with(family: Product, seen: ByClass[Any], kept: KeptRows) -> ByClass[Any]:
    """Add the statistics that the plan of a family needs to those of the same rows without a plan."""
    statistic = seen.statistic
    rows, options = _planned_rows(family, kept.rows)
    extra = Blocks.of(rows, kept.codes, len(seen.labels), kept.weight, **options)
    return replace(seen, statistic=Blocks((*statistic.parts, *extra.parts), statistic.classes))


def planned_statistics(family: Product, rows: Batch, labels: Any, weight: Any) -> ByClass[Any]:
    """Summarize what the plan of a family needs, and nothing else, of rows that were read without it."""
    rows, options = _planned_rows(family, rows)
    return ByClass.of(Blocks, rows, labels, weight, **options)


def _planned_rows(family: Product, rows: Frame | Batch) -> tuple[Batch, dict[str, Any]]:
    """Read what the plan of a family counts, and the options to count it with."""
    own, options = len(family.blocks), family.summary.statistic_options
    entries = family.summary.entries(family.read_plan(family.read(rows)))
    return Batch(entries.parts[own + 1 :], entries.n), {name: each[own + 1 :] for name, each in options.items()}


def without_plan(family: Product, seen: ByClass[Any]) -> tuple[ByClass[Any], Product]:
    """Drop the plan, and what it counted, where the kept rows are all rows: these settle a better one.

    A plan that was given stays, because models that shall be added have it too.
    """
    return (seen, family) if family.given else _freed(family, seen)


def _freed(family: Product, seen: ByClass[Any]) -> tuple[ByClass[Any], Product]:
    """Drop any plan where the kept rows are all rows."""
    if family.plan is None or all_rows(family, seen) is None:
        return seen, family
    statistic = seen.statistic
    parts = statistic.parts[: len(family.blocks) + 1]
    free = replace(family, found=(), plan=None, given=False)
    return replace(seen, statistic=Blocks(parts, statistic.classes)), free


def with_one_plan(a: Learned, b: Learned) -> tuple[Learned, Learned]:
    """Return what was learned twice under one plan, so that it can be added."""
    if _differ(_family_of(a), _family_of(b)):
        a, b = _without_plan(a), _without_plan(b)
    first, second = _family_of(a), _family_of(b)
    if _differ(first, second):
        raise MismatchError(
            "Cannot merge: the pairs of columns were counted by different plans, and more rows were learned than are "
            "kept. Train one of them with `like()` of the other, or both with a larger `keep`"
        )
    if first.plan is not None and second.plan is not None:
        return a, b
    if first.plan is not None or second.plan is not None:
        settled = first if first.plan is not None else second
        return _under(settled, a), _under(settled, b)
    kept = [all_rows(first, a.seen), all_rows(second, b.seen)]
    if first.find == second.find == 0 or kept[0] is None or kept[1] is None:
        return a, b
    both = a.seen + b.seen
    if all_rows(first, both) is not None:
        return a, b
    large = max(first.most_kept, second.most_kept) + len(kept[0].codes) + len(kept[1].codes)
    samples = [_roomy(each, large) for each in (a, b)]
    rows = first.kept_rows((samples[0] + samples[1]).statistic)
    settled = settle(first, rows, float(both.weight.sum()), len(both.labels))
    return _under(settled, a), _under(settled, b)


def _family_of(learned: Learned) -> Product:
    assert isinstance(learned.family, Product), "tables have plans"
    return learned.family


def _differ(first: Product, second: Product) -> bool:
    """Return whether two families have plans, and not the same one."""
    if first.plan is None or second.plan is None:
        return False
    return not (same_options(first.plan, second.plan) and first.found == second.found)


def _without_plan(learned: Learned) -> Learned:
    """Return what was learned without its plan, if the kept rows are all rows."""
    seen, family = _freed(_family_of(learned), learned.seen)
    return replace(learned, seen=seen, family=family)


def _roomy(learned: Learned, size: int) -> ByClass[Any]:
    """Return the statistics with room for more kept rows."""
    family, statistic = _family_of(learned), learned.seen.statistic
    at = len(family.blocks)
    parts = (*statistic.parts[:at], replace(family.sample_of(statistic), size=size), *statistic.parts[at + 1 :])
    return replace(learned.seen, statistic=Blocks(parts, statistic.classes))


def _under(settled: Product, learned: Learned) -> Learned:
    """Return what was learned under the plan of a family."""
    family = _family_of(learned)
    if family.plan is not None:
        return learned
    kept = all_rows(family, learned.seen)
    if kept is None:
        raise MismatchError("Cannot merge: one of the two has counted pairs of columns, and the other has not")
    family = replace(family, found=settled.found, plan=settled.plan, given=settled.given)
    return replace(learned, family=family, seen=counted_with(family, learned.seen, kept))
