"""A statistic for each label, merged by the union of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import numpy as np

from suffice.core.arrays import Array, Positions, Rows, Values, as_weight, is_sparse
from suffice.core.errors import InvalidDataError, MismatchError, MissingLabelError, NotPartError, RefusedValueError
from suffice.core.frozen_options import same_options
from suffice.core.labels import encode_labels, first_unknown, label_positions, places_among, position_of, union_labels
from suffice.core.registry import Registered
from suffice.core.statistics.compensated import Sums, check_rest, class_weight, minus, plus, rounded, times
from suffice.core.statistics.statistic import Statistic, spread_rows
from suffice.core.validation import Agrees, Held, Labels

S = TypeVar("S", bound=Statistic)

CHUNK = 1 << 20  # rows


@dataclass(frozen=True, eq=False, repr=False)
class ByClass(Registered, Generic[S]):
    """The weight and the statistic of the rows of each label. Labels need not be known beforehand.

    `labels` are sorted, `weight` is (classes,), and the first axis of the statistic runs over the labels. A label all
    of whose rows have weight 0 is treated as absent. `rest` (classes, 2) is what rounding took from the weights, as
    `compensated` says.

    >>> from suffice.core.statistics import Moments
    >>> a = ByClass.of(Moments, np.array([[1.0], [2.0]]), ["x", "y"])
    >>> b = ByClass.of(Moments, np.array([[5.0]]), ["z"])
    >>> (a + b).labels
    array(['x', 'y', 'z'], dtype='<U1')
    """

    labels: Annotated[Values, Labels("classes")]
    weight: Annotated[Array, Held("classes", least=0)]
    statistic: Annotated[S, Agrees("classes")]
    rest: Annotated[Array | None, Held("classes", 2)] = None

    def check_agreement(self) -> None:
        """Raise an error if remainders are not those of the weights."""
        check_rest("rest", self.weight, self.rest)

    @property
    def sums(self) -> Sums:
        """The weights with what rounding took from them."""
        return Sums(self.weight, self.rest)

    @classmethod
    def empty(cls, statistic: type[S], columns: int) -> ByClass[S]:
        """Summarize no rows: no label is known yet."""
        return ByClass(np.empty(0, dtype=object), np.zeros(0), statistic.empty(0, columns))

    @classmethod
    def of(
        cls, statistic: type[S], x: Rows, y: Any, weight: Any = None, onto: ByClass[S] | None = None, **options: Any
    ) -> ByClass[S]:
        """Summarize the rows of `x`, with labels `y` and weights, and add that to `onto`; `options` are for `S.of`."""
        n = x.shape[0]
        if len(y) != n:
            raise InvalidDataError(f"Found input variables with inconsistent numbers of samples: [{n}, {len(y)}]")
        weight = as_weight(weight, n)
        if onto is not None and onto.statistic.n_columns != x.shape[1]:
            raise MismatchError(f"Expected rows of {onto.statistic.n_columns} columns, found {x.shape[1]}")
        if n > CHUNK and not is_sparse(x):
            # Chunk by chunk, so that the codes of the labels take little memory.
            for lo in range(0, n, CHUNK):
                part = slice(lo, lo + CHUNK)
                w = None if weight is None else weight[part]
                try:
                    onto = ByClass.of(statistic, x[part], y[part], w, onto, **options)
                except (RefusedValueError, MissingLabelError) as error:
                    raise error.shifted(lo) from None
            assert onto is not None, "there is a first chunk"
            return onto
        labels = encode_labels(y)
        places = None
        if onto is not None and labels.values.dtype.kind == onto.labels.dtype.kind:  # else the type of all may change
            places = label_positions(labels.values, onto.labels)
        if onto is None or places is None:
            classes = len(labels.values)
            rows = class_weight(labels.codes, classes, weight)
            summary = statistic.of(x, labels.codes, classes, weight, **options)
            found = ByClass(labels.values, rows.value, summary, rows.rest)
            found = found if (rows.value > 0).all() else found.take(np.flatnonzero(rows.value > 0))
            return found if onto is None else onto + found
        classes = len(onto.labels)
        codes = labels.codes if len(places) == classes else places if n == 1 else places[labels.codes]
        rows = class_weight(codes, classes, weight, onto.sums)
        summary = statistic.of(x, codes, classes, weight, onto.statistic, **options)
        return ByClass(onto.labels, rows.value, summary, rows.rest)

    def __add__(self, other: ByClass[S]) -> ByClass[S]:
        if isinstance(other, int) and other == 0:  # sum() starts from 0
            return self
        a, b = self._aligned(other)
        weight = plus(a.sums, b.sums)
        return ByClass(a.labels, weight.value, a.statistic + b.statistic, weight.rest)

    __radd__ = __add__

    def __sub__(self, other: ByClass[S]) -> ByClass[S]:
        a, b = self._aligned(other)
        if len(a.labels) > len(self.labels):
            unknown = first_unknown(other.labels, self.labels)
            raise NotPartError(f"Cannot take away rows of {unknown!r}: no row with that label was learned")
        weight = minus(a.sums, b.sums)
        rest = ByClass(a.labels, weight.value, a.statistic - b.statistic, weight.rest)
        return rest.take(np.flatnonzero(rest.weight > 0))

    def rounded(self) -> ByClass[S]:
        """Return weights that were rounded to float64 elsewhere."""
        return ByClass(self.labels, self.weight, self.statistic, rounded(self.weight))

    def scale(self, factor: float) -> ByClass[S]:
        """Multiply the weight of every row by `factor`."""
        if not 0 <= factor < np.inf:
            raise InvalidDataError(f"The factor of weights must be a finite number ≥ 0, found {factor:g}")
        weight = times(self.sums, factor)
        return ByClass(self.labels, weight.value, self.statistic.scale(factor), weight.rest)

    def take(self, classes: Positions) -> ByClass[S]:
        """Keep the classes at the given positions."""
        rest = None if self.rest is None else self.rest[classes]
        return ByClass(self.labels[classes], self.weight[classes], self.statistic.take(classes).trimmed(), rest)

    def drop(self, label: object) -> ByClass[S]:
        """Leave out all rows of one label."""
        try:
            place = position_of(label, self.labels)
        except MismatchError as error:
            raise NotPartError(str(error)) from None
        return self.take(np.delete(np.arange(len(self.labels)), place))

    def over(self, labels: Values) -> ByClass[S]:
        """Return the same summary over more labels, sorted and containing these; new ones are empty."""
        if len(labels) == len(self.labels):
            same = labels.dtype == self.labels.dtype
            return self if same else ByClass(labels, self.weight, self.statistic, self.rest)
        places = places_among(self.labels, labels)
        weight = spread_rows(self.weight, places, len(labels))
        rest = None if self.rest is None else spread_rows(self.rest, places, len(labels))
        return ByClass(labels, weight, self.statistic.spread(places, len(labels)), rest)

    def _aligned(self, other: ByClass[S]) -> tuple[ByClass[S], ByClass[S]]:
        self.statistic.check_fits(other.statistic)
        labels = union_labels(self.labels, other.labels)
        return self.over(labels), other.over(labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ByClass):
            return NotImplemented
        try:
            a, b = self._aligned(other)
        except MismatchError:  # nothing in common
            return False
        same = np.array_equal(a.weight, b.weight) and same_options(a.rest, b.rest)
        return same and a.statistic == b.statistic

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays

    def __repr__(self) -> str:
        return f"ByClass({len(self.labels)} classes, weight {self.weight.sum():g}, {self.statistic!r})"
