"""Whether arriving rows are still like those before: by their log-densities, column by column."""

from __future__ import annotations

from collections.abc import Hashable
from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import as_frame
from suffice.core.labels import as_label, each_label, label_positions
from suffice.estimators._left_out import column_name
from suffice.estimators._one_by_one import OneByOne
from suffice.families import Table
from suffice.families.product import Product, ProductDistribution
from suffice.model.betting import Bets
from suffice.model.held_back import hold_back
from suffice.model.learned import Learned

__all__ = ["Alarm", "Monitor"]

ROWS, LABELS = "log p(x)", "log p(y | x)"
SALT = 0x7E57  # of draws
UNKNOWN = -1e6  # log p(y | x) of a class that was never seen
WIDEST = 1e300  # impossible rows are that improbable
POINTS = 4096  # at which the wealth is noted


@dataclass(frozen=True)
class Alarm:
    """What has changed: a column, whole rows, or the labels given the rows."""

    what: str
    row: int  # at which the alarm was raised; the first row that came is 0
    since: int  # the row from which on things are different, by the best bet
    change: float  # of the mean log-probability, in nats

    def __str__(self) -> str:
        sense = "less" if self.change < 0 else "more"
        return f"row {self.row}: {self.what} is {sense} probable by {abs(self.change):.3g} nats since row {self.since}"


class Path:
    """The wealth of all series after each row, or of many rows after one in 2, 4, 8, …: at most `POINTS`."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.values: list[list[float]] = []
        self._every = 1

    def add(self, row: int, values: list[float]) -> None:
        """Note the wealth after a row; the last one is always there."""
        if len(self.rows) > 1 and (self.rows[-1] % self._every or self.rows[-1] == row):
            self.rows[-1], self.values[-1] = row, values
        else:
            self.rows.append(row)
            self.values.append(values)
        if len(self.rows) > POINTS:
            self._every *= 2
            kept = [i for i, each in enumerate(self.rows) if not each % self._every or i == len(self.rows) - 1]
            self.rows, self.values = [self.rows[i] for i in kept], [self.values[i] for i in kept]


class Monitor:
    """Watch whether rows that arrive are still like those that were learned, and those that arrived before.

    For each row, log p(x) of the model, the log-density of each column, and log p(y | x) where the label is known, are
    ranked among those of the rows before it: rows that were learned and kept, then those that arrived. Rows that are
    compared with are taken out of the model first, by subtraction, so that they are as new to it as those that arrive.
    Bets on these ranks win if they change. An alarm is raised where a wealth exceeds (number of series) / rate, so that
    the probability of any false alarm, ever, is at most `rate`, whatever the model and however long one watches. What
    is kept of the rows is bounded. The estimator stays as it is.

    Parameters
    ----------
    estimator : fitted classifier of suffice
        Whose probabilities are watched. Columns are watched one by one for `BayesClassifier`.
    rate : float, default=0.01
        The probability of a false alarm.
    reference : 'kept', table or None, default='kept'
        What arriving rows are compared with from the beginning: up to 2000 rows that were learned and kept, and at most
        a quarter of all, where there are 50 of them and none has a weight; or rows that came before and were not
        learned. With None, arriving rows are only compared with each other, so that a stream which is different from
        its first row on is not noticed.
    reference_y : array-like or str, default=None
        Their labels, or the name of the column that holds them.
    random_state : int, default=0
        Orders equal numbers.

    Attributes
    ----------
    alarms_ : list of Alarm
        At most one for each series.
    n_reference_ : int
        How many kept or given rows are compared with.

    Examples
    --------
    >>> import numpy as np, suffice as sf
    >>> rng = np.random.default_rng(0)
    >>> table = {"height": rng.normal(size=500), "kind": rng.choice(["a", "b"], 500)}
    >>> clf = sf.BayesClassifier(structure="naive").fit(table, rng.choice(["x", "y"], 500))
    >>> monitor = sf.Monitor(clf)
    >>> monitor.update({"height": rng.normal(size=300), "kind": ["a", "b"] * 150})
    []
    >>> [alarm.what for alarm in monitor.update({"height": rng.normal(3, 1, 100), "kind": ["a", "b"] * 50})]
    ['height', 'log p(x)']
    """

    series: list[str]
    alarms_: list[Alarm]
    n_rows_: int
    rate: float
    _rng: np.random.Generator
    _estimator: Any
    _learned: Learned
    _bets: dict[str, Bets]
    _paths: Path
    n_reference_: int

    def __init__(
        self,
        estimator: Any,
        rate: float = 0.01,
        reference: Any = "kept",
        reference_y: Any = None,
        random_state: Any = 0,
    ):
        if not isinstance(estimator, OneByOne):
            raise InvalidOptionError(f"estimator must be a fitted classifier of suffice, found {estimator!r}")
        if not isinstance(rate, Real) or not 0 < rate < 1:
            raise InvalidOptionError(f"rate is a probability between 0 and 1, found {rate!r}")
        self.rate = float(rate)
        self._estimator = estimator._now()
        self._learned = self._estimator._settled()
        own = isinstance(random_state, Integral)  # other draws than those of data that were made with the same number
        self._rng = np.random.default_rng([int(random_state), SALT] if own else random_state)
        self.series = [*self._columns(), ROWS, LABELS]
        self.reset()
        if reference is not None:
            self._refer(reference, reference_y)

    def _refer(self, reference: Any, labels: Any) -> None:
        """Compare with rows that came before."""
        if not isinstance(reference, str):
            scores = self._scores(reference, labels)
        elif reference != "kept":
            raise InvalidOptionError(f"reference must be 'kept', a table or None, found {reference!r}")
        else:
            held = hold_back(self._learned)
            if held is None:
                return
            self._learned = self._estimator._learned = held.learned
            scores = self._scored(held.rows, each_label(held.labels))
        self.n_reference_ = len(scores[ROWS])
        for name, values in scores.items():
            self._bets[name].refer(values[np.isfinite(values)])

    def _columns(self) -> list[str]:
        family = self._learned.family
        if not isinstance(family, Product):
            return []
        return [block.title for block in family.blocks]

    @property
    def threshold(self) -> float:
        """The wealth at which an alarm is raised."""
        return len(self.series) / self.rate

    def update(self, X: Any, y: Any = None) -> list[Alarm]:
        """Watch rows that arrive, in their order, and return new alarms.

        Parameters
        ----------
        X : table, array or texts
            Rows.
        y : array-like or str, default=None
            Their labels, or the name of the column that holds them; missing ones are not watched.

        Returns
        -------
        alarms : list of Alarm
            At most one for each series, ever; `reset` begins anew.
        """
        scores = self._scores(X, y)
        n = len(scores[ROWS])
        new = []
        for i in range(n):
            for name, values in scores.items():
                bets, value = self._bets[name], float(values[i])
                if np.isnan(value):  # missing: nothing is known
                    continue
                wealth = bets.bet(value, float(self._rng.random()))
                if wealth >= self.threshold and all(alarm.what != name for alarm in self.alarms_):
                    since, change = bets.since()
                    alarm = Alarm(name, self.n_rows_ + i, since, change)
                    self.alarms_.append(alarm)
                    new.append(alarm)
            self._paths.add(self.n_rows_ + i + 1, [self._bets[name].total for name in self.series])
        self.n_rows_ += n
        return new

    def reset(self) -> Self:
        """Begin anew, as after a change that is known: the rows that arrive next are compared with each other."""
        self._bets = {name: Bets() for name in self.series}
        self._paths = Path()
        self.alarms_, self.n_rows_, self.n_reference_ = [], 0, 0
        return self

    def __copy__(self) -> Self:
        return deepcopy(self)  # a copy bets with wealth of its own

    @property
    def rows_(self) -> Array:
        """How many rows had come at each point of `wealth`: all of them, or of many rows one in 2, 4, 8, …"""
        return np.array(self._paths.rows, dtype=np.float64)

    def wealth(self, name: str) -> Array:
        """Return the wealth of the bets on a series after the rows of `rows_`."""
        if name not in self.series:
            raise InvalidOptionError(f"There is no series {name!r}; there are {', '.join(self.series)}")
        at = self.series.index(name)
        return np.array([values[at] for values in self._paths.values])

    def table(self) -> Table:
        """Return for each series the wealth, the row of the alarm, since when, and the change in nats."""
        values, known = [], {alarm.what: alarm for alarm in self.alarms_}
        for name in self.series:
            alarm, total = known.get(name), self._bets[name].total
            said = ["", "", ""] if alarm is None else [str(alarm.row), str(alarm.since), f"{alarm.change:+.3g}"]
            values.append([f"{total:.3g}", *said])
        title = f"after {self.n_rows_} rows, alarm at {self.threshold:.0f}"
        return Table(
            title, self.series, ["wealth", "alarm at row", "since row", "change"], np.array(values, dtype=object)
        )

    def _scores(self, X: Any, y: Any) -> dict[str, Array]:
        """Return the numbers of each series for rows, NaN where they are not known."""
        y, labels = column_name(y), None
        if isinstance(y, str):
            frame = as_frame(X)
            labels, X = frame.column(y).to_pylist(), frame.drop(y)
        elif y is not None:
            labels = each_label(y)
        return self._scored(self._estimator._check_X(X), labels)

    def _scored(self, rows: Any, labels: list[Any] | None) -> dict[str, Array]:
        """Return the numbers of each series for rows that were read."""
        learned = self._learned
        out: dict[str, Array] = {}
        rows = learned.family.read(rows)
        dense = np.maximum(np.asarray(learned.log_density(rows), np.float64), -WIDEST)
        if isinstance(learned.family, Product):
            found = learned.model.distribution
            assert isinstance(found, ProductDistribution), "tables have blocks"
            for name, part, own in zip(self.series, found.parts, rows.parts, strict=False):
                dense_part = part.as_density
                said = dense_part.log_density(dense_part.read(own))
                joint = said + learned.model.log_prior
                out[name] = np.maximum(np.logaddexp.reduce(joint, axis=1), -WIDEST)
        out[ROWS] = dense
        if labels is None:
            out[LABELS] = np.full(len(dense), np.nan)
        else:
            if len(labels) != len(dense):
                raise InvalidDataError(f"Found {len(dense)} rows and {len(labels)} labels")
            log_p = learned.log_posterior(rows, self._estimator._calibration())
            out[LABELS] = self._log_posterior(log_p, labels)
        return out

    def _log_posterior(self, log_p: Array, labels: list[Any]) -> Array:
        out = np.full(len(labels), np.nan)
        known = [i for i, label in enumerate(labels) if label is not None and label == label]
        place: dict[tuple[type, Any], NDArray[np.int32] | None] = {}
        for i in known:
            key = type(labels[i]), labels[i]
            if not isinstance(labels[i], Hashable) or key not in place:
                place[key] = label_positions(as_label(labels[i]), self._learned.labels)
            at = place[key]
            out[i] = UNKNOWN if at is None else max(float(log_p[i, at[0]]), UNKNOWN)
        return out
