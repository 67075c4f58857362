"""Labels that are probably wrong: rows whose label their own leave-one-out posterior denies.

Where a share ε of the labels is drawn anew among the K − 1 other classes, a row whose other rows say p(y | x) has the
label y with probability  q = (1 − ε) p + n (1 − p),  n = ε / (K − 1).  The posterior of learned labels is q, so

    p(label is wrong | x, y) = n (1 − p) / q,    p = (q − n) / (1 − ε − n)

ε is the share of the labels that are denied where the posterior is surest: there, hardly anything else denies them. As
many rows are suspects as labels are expected to be wrong, and only such whose label is not the most probable class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.core.arrays import Array, Codes, Positions, Values, as_weight
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.labels import label_list
from suffice.families import Table
from suffice.families.logarithms import log_ratio
from suffice.model.explain import Evidence

SUREST = 0.75  # rows above this quantile of the probability of the predicted class, for each class, tell ε
NEARLY = 0.99  # times that quantile: leaving a row out makes a denied label look a little surer
TELLING = 3  # parts of the evidence that a line names
SHOWN = 20  # suspects that are printed


@dataclass(frozen=True, repr=False)
class Suspects:
    """Rows whose label is probably wrong, those that are most likely wrong first.

    `rows` are positions in the table that was checked, `label` what it says there, `suggested` the class that the row
    looks like, `log_odds` those of the suggested class against the label under the model of all other rows, and `wrong`
    the probability that the label is wrong, (suspects,) each. `evidence` has a table for each: the parts of these
    log-odds. `rate` is the share of wrong labels, `checked` the number of rows that were looked at.
    """

    rows: Positions
    label: Values
    suggested: Values
    log_odds: Array
    wrong: Array
    rate: float
    checked: int
    left_out: bool  # whether each row was judged by the model of all others
    evidence: Sequence[Table] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def among(self, positions: Positions) -> Suspects:
        """Return the same of a larger table, in which the rows that were looked at have these positions."""
        return replace(self, rows=positions[self.rows])

    def __repr__(self) -> str:
        how = "by all other rows" if self.left_out else "by a model that may have learned them"
        said = f"{len(self)} of {self.checked} labels are suspect, {how}; about {100 * self.rate:.2g} % are wrong"
        if not len(self):
            return said
        more = f"\n… and {len(self) - SHOWN} more" if len(self) > SHOWN else ""
        return f"{said}\n{self.table(SHOWN)}{more}"

    @property
    def why(self) -> list[str]:
        """The parts of the evidence that speak most for the suggested class, in words."""
        return [_telling(each) for each in self.evidence]

    def table(self, most: int | None = None) -> Table:
        """Return the first `most` suspects, or all, as a table for people."""
        first = slice(0, most)
        labels = (list(map(str, label_list(each[first]))) for each in (self.label, self.suggested))
        columns: list[list[Any]] = [*labels, self.wrong[first].tolist(), self.log_odds[first].tolist(), self.why[first]]
        values = np.empty((len(self.rows[first]), len(columns)), dtype=object)
        for j, column in enumerate(columns):
            values[:, j] = column
        heads = ["label", "suggested", "wrong", "log_odds", "why"]
        return Table("row", list(map(str, self.rows[first].tolist())), heads, values)

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with the columns row, label, suggested, wrong, log_odds and why."""
        import pyarrow as pa

        return pa.table(
            {
                "row": self.rows,
                "label": pa.array(label_list(self.label)),
                "suggested": pa.array(label_list(self.suggested)),
                "wrong": self.wrong,
                "log_odds": self.log_odds,
                "why": pa.array(self.why, pa.string()),
            }
        )

    def to_pandas(self) -> Any:
        """Return the same as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def explained(self, evidence: Evidence | list[Table]) -> Suspects:
        """Return the same with the evidence that the whole model finds in the suspects.

        A part "(itself)" is added: what the rows themselves had taught the model, which leaving them out takes away.
        """
        tables = evidence.tables() if isinstance(evidence, Evidence) else evidence
        return replace(self, evidence=[_without(each, odds) for each, odds in zip(tables, self.log_odds, strict=True)])


def find_suspects(
    log_posterior: Array, codes: Codes, classes: Values, weight: Any, rate: float | None, left_out: bool
) -> Suspects:
    """Return the suspects among rows with log p(y | x), (rows, classes), and the codes of their labels; no evidence."""
    n, k = log_posterior.shape
    if k < 2:
        raise InvalidDataError("Labels can be doubted where there are two classes or more; there is one")
    most = (k - 1) / k
    if rate is not None and not 0 < rate < most:
        raise InvalidOptionError(
            f"rate is the share of labels that are wrong, above 0 and below {most:.3g} for {k} classes; found {rate}"
        )
    w = as_weight(weight, n)
    w = np.ones(n) if w is None else w
    p, at = np.exp(log_posterior), np.arange(n)
    found = min(_denied_where_sure(p, codes, w), 0.99 * most) if rate is None else float(rate)
    noise = found / (k - 1)
    own = p[at, codes]
    true = np.clip((own - noise) / (1.0 - found - noise), 0.0, 1.0)
    wrong = np.divide(noise * (1.0 - true), own, out=np.ones(n), where=own > noise)
    others = log_posterior.copy()
    others[at, codes] = -np.inf
    best = others.argmax(axis=1)
    odds = log_ratio(others[at, best], log_posterior[at, codes])
    denied = np.flatnonzero((odds > 0) & (w > 0))
    denied = denied[np.lexsort((-odds[denied], own[denied]))]
    reached = np.cumsum(w[denied]) - 0.5 * w[denied]  # a row is listed if its middle is within the expected weight
    some = denied[reached < float(w @ wrong)]
    return Suspects(some, classes[codes[some]], classes[best[some]], odds[some], wrong[some], found, n, left_out)


def _denied_where_sure(p: Array, codes: Codes, weight: Array) -> float:
    """Return the share of labels that are denied where the posterior is surest of a class, over all classes."""
    top, best = p.max(axis=1), p.argmax(axis=1)
    denied = 0.0
    for k in range(p.shape[1]):
        own = np.flatnonzero((best == k) & (weight > 0))
        if len(own):
            own = own[np.argsort(top[own], kind="stable")]
            reached = np.cumsum(weight[own])
            limit = top[own[np.searchsorted(reached, SUREST * reached[-1])]]
            sure = own[top[own] >= NEARLY * limit]
            denied += reached[-1] * float(weight[sure] @ (codes[sure] != k)) / float(weight[sure].sum())
    total = float(weight.sum())
    return (denied + 0.5) / (total + 1.0)  # what never happened may still happen


def _without(table: Table, log_odds: float) -> Table:
    """Add to the parts of a row's evidence what leaving the row out takes away, so that they sum to `log_odds`."""
    *names, last = table.rows
    values = np.asarray(table.values, dtype=np.float64)[:, 0]
    with np.errstate(invalid="ignore"):
        itself = log_odds - values[-1]
    itself = 0.0 if np.isnan(itself) else itself
    parts = np.array([*values[:-1], itself, log_odds])[:, None]
    return replace(table, rows=[*names, "(itself)", last], values=parts)


def _telling(table: Table) -> str:
    """Name the parts that speak most for the first class."""
    parts = [*zip(table.rows, np.asarray(table.values, dtype=np.float64)[:, 0].tolist(), strict=True)]
    inner = [part for part in parts if not part[0].startswith("(")]
    inner.sort(key=lambda part: -part[1])
    return ", ".join(f"{name} {odds:+.1f}" for name, odds in inner[:TELLING] if odds > 0)
