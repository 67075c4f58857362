"""Some of the rows that were learned, taken out of the model again: fair witnesses of what rows are like."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from suffice.core.arrays import Values
from suffice.core.errors import SufficeError
from suffice.model.learned import Learned

MOST = 2000  # rows
SHARE = 4  # at most one in so many of the rows that were learned
LEAST = 50  # fewer tell little


class HeldBack(NamedTuple):
    """What was learned without some rows, and these rows."""

    learned: Learned
    rows: Any  # as the family reads them
    labels: Values


def hold_back(learned: Learned) -> HeldBack | None:
    """Take some of the kept rows out of the statistics, by subtraction; None if they are too few, or have weights.

    Kept rows are chosen by a hash, so the first of them are a sample. By the model without them they are like rows that
    come later, if nothing has changed; by the whole model they would be too probable.
    """
    kept = learned.family.kept_rows(learned.statistics.statistic)
    if kept is None or (kept.weight != 1.0).any():
        return None
    n = min(len(kept.codes), MOST, int(learned.seen.weight.sum()) // SHARE)
    if n < LEAST:
        return None
    rows, labels = learned.family.read(kept.rows)[:n], learned.labels[kept.codes[:n]]
    try:
        rest = replace(learned, seen=learned.seen - learned.family.summarize(rows, labels)).checked()
    except SufficeError:  # rows of joint columns that were compressed, say
        return None
    return HeldBack(rest, rows, labels) if len(rest.labels) == len(learned.labels) else None
