"""The cases: learning and scoring in DuckDB, by Ibis, beside queries that somebody wrote by hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Case, Group, Measurement, Settings, Target, Task, agree, relative, short
from suffice import BayesClassifier
from suffice.naive_bayes import GaussianNB

COLUMNS, CLASSES = 20, 3
OFFSET, SPREAD = 1e9, 8.0  # mean and variance of every column


def groups(settings: Settings) -> list[Group]:
    """List all cases; they need the extra `suffice[ibis]`."""
    rows = settings.rows(2_000_000)
    size = f"DuckDB {short(rows)} × {COLUMNS}, {CLASSES} classes, mean 1e9, variance 8"
    cases = [
        Case(
            f"GaussianNB fit by Ibis against count, avg and var_pop by hand, {size}",
            Target(high=2),
            partial(fits, settings),
        ),
        Case(
            f"BayesClassifier fit by Ibis, families chosen, against count, avg and var_pop by hand, {size}",
            Target(high=6),
            partial(choices, settings),
        ),
        Case(
            f"GaussianNB predict_proba in the database against that query by hand, {size}",
            None,
            partial(scores, settings),
        ),
    ]
    return [Group(lambda: Data.of(rows), cases)]


@dataclass(frozen=True)
class Data:
    """A table in DuckDB, and its columns."""

    database: Any
    table: Any

    @classmethod
    def of(cls, rows: int) -> Data:
        """Draw rows in the database: four uniform numbers add up to something bell-shaped."""
        import ibis

        database = ibis.duckdb.connect()
        width = np.sqrt(SPREAD / (4 / 12))
        drawn = f"{OFFSET} + {width} * (random() + random() + random() + random() - 2)"
        columns = ", ".join(f"{drawn} + y AS x{j}" for j in range(COLUMNS))
        labels = f"SELECT CAST(floor(random() * {CLASSES}) AS INTEGER) AS y FROM range({rows})"
        database.raw_sql("SELECT setseed(0.5)")
        database.raw_sql(f"CREATE TABLE data AS SELECT y, {columns} FROM ({labels})")
        return cls(database, database.table("data"))

    def by_hand(self) -> list[Any]:
        """What somebody would write for the moments."""
        asked = ", ".join(f"count(x{j}), avg(x{j}), var_pop(x{j})" for j in range(COLUMNS))
        return self.database.raw_sql(f"SELECT y, {asked} FROM data GROUP BY y").fetchall()


def fits(settings: Settings, data: Data) -> Measurement:
    def ours() -> GaussianNB:
        return GaussianNB(var_smoothing=0).fit(data.table, "y")

    found = np.array(sorted(data.by_hand()))
    fitted = ours()
    agreement = agree([fitted.class_count_, fitted.var_], [found[:, 1], found[:, 3::3]], rtol=1e-6, atol=0.0)
    return relative(Task(ours), Task(data.by_hand), settings, agreement)


def choices(settings: Settings, data: Data) -> Measurement:
    """Both have the moments; ours has the cells of every column, too, and what follows from them."""

    def ours() -> BayesClassifier:
        fitted = BayesClassifier(calibrate=False).fit(data.table, "y")
        assert len(fitted.schema_.rows) == COLUMNS  # which asks for the choice
        return fitted

    found = np.array(sorted(data.by_hand()))
    blocks = ours().statistics_.statistic.parts[:-1]
    variance = np.concatenate([each.moments.squares / each.moments.weight for each in blocks], axis=1)
    agreement = agree([variance], [found[:, 3::3]], rtol=1e-6, atol=0.0)
    return relative(Task(ours), Task(data.by_hand), settings, agreement)


def scores(settings: Settings, data: Data) -> Measurement:
    """Both write their answers to a table."""
    import ibis

    fitted = GaussianNB(var_smoothing=0).fit(data.table, "y")
    ours = ibis.to_sql(fitted.predict_proba(data.table))
    theirs = by_hand(fitted)
    some = [data.database.raw_sql(f"SELECT * FROM ({q}) ORDER BY x0 LIMIT 1000").fetchall() for q in (ours, theirs)]
    agreement = agree(*(np.array(rows)[:, -CLASSES:] for rows in some))

    def write(query: str) -> None:
        data.database.raw_sql(f"CREATE OR REPLACE TABLE answers AS {query}").fetchall()

    return relative(Task(lambda: write(ours)), Task(lambda: write(theirs)), settings, agreement)


def by_hand(fitted: GaussianNB) -> str:
    """What somebody would write who knows that nothing is missing, and the formula of a Gaussian."""
    logs, norm = [], np.log(fitted.class_prior_) - 0.5 * np.log(2 * np.pi * fitted.var_).sum(axis=1)
    for c in range(CLASSES):
        each = (f"(x{j} - {float(fitted.theta_[c, j])!r})^2 / {float(2 * fitted.var_[c, j])!r}" for j in range(COLUMNS))
        logs.append(f"{float(norm[c])!r} - ({' + '.join(each)}) AS l{c}")
    lines = [
        f"exp(l{c} - top) / ({' + '.join(f'exp(l{k} - top)' for k in range(CLASSES))}) AS p{c}" for c in range(CLASSES)
    ]
    top = f"greatest({', '.join(f'l{c}' for c in range(CLASSES))})"
    columns = ", ".join(["y", *(f"x{j}" for j in range(COLUMNS))])
    scored = f"SELECT *, {top} AS top FROM (SELECT {columns}, {', '.join(logs)} FROM data)"
    return f"SELECT {columns}, {', '.join(lines)} FROM ({scored})"
