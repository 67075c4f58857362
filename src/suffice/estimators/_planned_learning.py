"""Learning a table whose pairs of columns are counted by a plan, which must be settled before.

As long as the kept rows are all rows, no plan is needed: a structure is fitted on those rows. Beyond that, the plan is
settled by the rows that are kept of a whole table in memory, by the first rows of files, streams and engines, and by
the rows learned so far where `partial_fit` exceeds what is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import engines
from suffice.core.arrays import as_weight
from suffice.core.errors import SufficeError
from suffice.core.frames import Frame
from suffice.core.frames.row_hashes import row_hashes
from suffice.core.labels import Labels, encode_labels
from suffice.core.statistics import Batch, Blocks, ByClass
from suffice.engines.source import EXPECTED
from suffice.families.product import Product
from suffice.model.learned import Learned
from suffice.model.planning import FEWEST_ROWS, all_rows, counted_with, planned_statistics, settle, without_plan


def learn_with_plan(
    source: engines.Source,
    task: engines.Task,
    before: Learned | None,
    checkpoint: Path | None,
    partial: bool,
) -> tuple[ByClass[Any], Product]:
    """Add the statistics of rows to those from before; return them, and the family that they are of."""
    family = task.family if before is None else before.family
    assert isinstance(family, Product), "tables have plans"
    onto = None if before is None else before.seen
    if family.plan is not None:
        seen = source.learn(replace(task, family=family), onto, checkpoint)
        return without_plan(family, seen)
    if isinstance(source, engines.Memory):
        if onto is None and not partial:
            return _learn_table(source, task, family)
        return _learn_rows(source, task, family, onto)
    if not source.has_names:
        return _learn_array(source, task, family, onto, partial)
    if onto is None:
        family = _settled_by_head(source, task, family)
    else:
        kept = all_rows(family, onto)
        if kept is not None and len(kept.codes) >= FEWEST_ROWS:
            family = settle(family, kept, EXPECTED * float(onto.weight.sum()), len(onto.labels))
            onto = counted_with(family, onto, kept)
    seen = source.learn(replace(task, family=family), onto, checkpoint)
    return without_plan(family, seen)


def _learn_table(source: engines.Memory, task: engines.Task, family: Product) -> tuple[ByClass[Any], Product]:
    """Learn all rows of a table in memory; if they are more than are kept, count pairs in a second pass."""
    frame, labels = source.rows, source.labels
    assert isinstance(frame, Frame), "a table"
    rows: Frame | Batch = frame
    if frame.n > family.most_kept:  # read once for both passes
        rows, labels = family.read(frame.select(task.names)), encode_labels(labels)
        source = replace(source, rows=rows, labels=labels)

    def planned(family: Product) -> ByClass[Any]:
        assert isinstance(rows, Batch), "there are more rows than are kept"
        return planned_statistics(family, rows, labels, source.weight)

    return _in_two_passes(source.learn(task), family, planned)


def _in_two_passes(
    seen: ByClass[Any], family: Product, planned: Callable[[Product], ByClass[Any]]
) -> tuple[ByClass[Any], Product]:
    """Settle a plan by what a first pass has kept of more rows, and add what it counts in a second pass."""
    if all_rows(family, seen) is not None or not family.most_kept:
        return seen, family
    kept = family.kept_rows(seen.statistic)
    if len(kept.codes) < FEWEST_ROWS:
        return seen, family
    family = settle(family, kept, float(seen.weight.sum()), len(seen.labels))
    extra = planned(family).over(seen.labels)
    statistic = seen.statistic
    return replace(seen, statistic=Blocks((*statistic.parts, *extra.statistic.parts), statistic.classes)), family


def _learn_rows(
    source: engines.Memory, task: engines.Task, family: Product, onto: ByClass[Any] | None
) -> tuple[ByClass[Any], Product]:
    """Learn rows in their order: the plan is settled by the rows up to the one that fills what is kept."""
    frame = source.rows
    assert isinstance(frame, Frame), "a table"
    columns = family.columns_in(frame)
    first = _filling(lambda rows: row_hashes(columns[:rows]), frame.n, family, onto)
    if first >= frame.n or (onto is not None and all_rows(family, onto) is None):
        return source.learn(task, onto), family
    labels = source.labels if isinstance(source.labels, Labels) else encode_labels(source.labels)
    weight = as_weight(source.weight, frame.n)

    def part(rows: slice) -> engines.Memory:
        own = None if weight is None else weight[rows]
        return replace(source, rows=frame[rows], labels=labels[rows], weight=own)

    return _in_two_parts(part, first, frame.n, task, family, onto)


def _in_two_parts(
    part: Callable[[slice], engines.Source],
    first: int,
    rows: int,
    task: engines.Task,
    family: Product,
    onto: ByClass[Any] | None,
) -> tuple[ByClass[Any], Product]:
    """Learn the first rows, settle a plan by all rows until then, and learn the others by it."""
    if first:
        onto = part(slice(0, first)).learn(task, onto)
    kept = None if onto is None else all_rows(family, onto)
    if onto is None or kept is None or len(kept.codes) < FEWEST_ROWS:
        return part(slice(first, rows)).learn(task, onto), family
    family = settle(family, kept, EXPECTED * float(onto.weight.sum()), len(onto.labels))
    onto = counted_with(family, onto, kept)
    return part(slice(first, rows)).learn(replace(task, family=family), onto), family


def _learn_array(
    source: Any, task: engines.Task, family: Product, onto: ByClass[Any] | None, partial: bool
) -> tuple[ByClass[Any], Product]:
    """Learn the rows of an array on a device, as those of a table in memory are learned."""
    if onto is None and not partial:
        return _in_two_passes(source.learn(task), family, source.planned)
    n = source.shape[0]
    first = _filling(lambda rows: source.first_hashes(family, rows), n, family, onto)
    if first >= n or (onto is not None and all_rows(family, onto) is None):
        return source.learn(task, onto), family
    return _in_two_parts(source.part, first, n, task, family, onto)


def _filling(
    first_hashes: Callable[[int], NDArray[np.uint64]], rows: int, family: Product, onto: ByClass[Any] | None
) -> int:
    """Return how many of the first rows fit into what is kept."""
    known = np.zeros(0, np.uint64) if onto is None else np.unique(family.sample_of(onto.statistic).hashes)
    room = max(family.most_kept - len(known), 0)
    look = room
    while look < rows:
        look = min(2 * look + FEWEST_ROWS, rows)
        values, first = np.unique(first_hashes(look), return_index=True)
        new = np.sort(first[~np.isin(values, known)])
        if len(new) > room:
            return int(new[room])
    return rows


def _settled_by_head(source: engines.Source, task: engines.Task, family: Product) -> Product:
    """Return the family with a plan that the first rows settle, if there are enough of them."""
    try:
        first = source.first_rows(task) if family.most_kept else None
    except SufficeError:  # the pass over all rows says it better
        return family
    if first is None or len(first.kept.codes) < FEWEST_ROWS:
        return family
    return settle(family, *first)
