"""Rows of an array on a GPU, as a source: learned and answered there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Values, distinct_pairs
from suffice.core.errors import InvalidDataError, NegativeValueError, RefusedValueError, naming_columns
from suffice.core.frames import ColumnProfile, as_frame
from suffice.core.statistics import Blocks, ByClass, Moments, Statistic
from suffice.core.statistics.compensated import Sums, minus
from suffice.engines.gpu import HostArray, is_on_device
from suffice.engines.gpu import device as devices
from suffice.engines.gpu.class_codes import DeviceLabels, encode_device, encode_host, positions, read_weight
from suffice.engines.gpu.device import Device
from suffice.engines.gpu.device_tables import (
    ON_THE_HOST,
    TableColumns,
    check_blocks,
    hashes_of,
    planned_parts,
    profiles,
    summarize_table,
)
from suffice.engines.gpu.matrices import DenseRows, HostRows, SparseRows, halving, spans
from suffice.engines.gpu.scores import (
    LOG_DENSITY,
    LOG_JOINT,
    LOG_POSTERIOR,
    MOST_PROBABLE,
    POSTERIOR,
    Asked,
    fresh_status,
    scorer,
)
from suffice.engines.gpu.summaries import Labelled, f8, i4, i8, summarize
from suffice.engines.gpu.table_answers import TableAnswers
from suffice.engines.source import HEAD, Answer, Source
from suffice.engines.summarizing import Task
from suffice.engines.workers import no_checkpoint
from suffice.families import Family
from suffice.families.gaussian import Gaussian
from suffice.families.product import Block, Product
from suffice.model.calibration import Calibration
from suffice.model.joint import Model, warn_of_impossible
from suffice.model.learned import Learned
from suffice.model.out_of_range import not_a_number

QUESTIONS = {"predict": MOST_PROBABLE, "predict_proba": POSTERIOR, "predict_log_proba": LOG_POSTERIOR}
HOST_CELLS = 1 << 24  # entries of rows that are copied to the host at once


@dataclass(frozen=True)
class DeviceRows(Source):
    """An array, or a CSR matrix of CuPy, on a GPU; with the labels and weights of its rows, once they are known."""

    device: Device
    rows: DenseRows | SparseRows
    like: Any  # the caller's array: answers are of its kind
    labels: DeviceLabels | None = None
    weight: Any = None

    @classmethod
    def of(cls, x: Any) -> DeviceRows:
        """Read an array where it is."""
        device = devices.device_of(x)
        with device.working_on(x):
            if hasattr(x, "tocsr"):
                return cls(device, _sparse(device, x), x)
            own = x.values if isinstance(x, HostArray) else device.own(x, "X")
            if own.ndim != 2:
                raise InvalidDataError(
                    f"Expected 2D array, got {own.ndim}D array instead: a row for each sample and a column for each "
                    f"feature, found an array of shape {own.shape}"
                )
            rows = HostRows(device, own, device.feed(own)) if isinstance(x, HostArray) else DenseRows(device, own)
        for name, size in zip(("sample(s)", "feature(s)"), rows.shape, strict=True):
            if not size:
                raise InvalidDataError(
                    f"Found array with 0 {name} (shape={rows.shape}) while a minimum of 1 is required."
                )
        return cls(device, rows, x)

    @property
    def has_names(self) -> bool:
        """Columns of arrays have no names."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that answers have where the training rows had it, too."""
        held = self.rows.data if isinstance(self.rows, SparseRows) else self.rows.x
        return np.dtype(np.float32 if np.dtype(held.dtype) == np.float32 else np.float64)

    @property
    def names(self) -> list[str]:
        """Columns of arrays have no names."""
        return []

    def check_column(self, name: str, what: str) -> None:
        """Accept every column: they are found by their place."""

    def head(self, rows: int = HEAD) -> Any:  # noqa: ARG002  # the contract
        """Refuse: tables have columns of several kinds, and arrays have not."""
        raise InvalidDataError(f"Arrays on a GPU are no tables: {ON_THE_HOST}")

    def labelled(self, target: Any, weight: Any) -> DeviceRows:
        """Return the rows with their labels and weights, each on the device or on the host."""
        for given, what in ((target, "y"), (weight, "sample_weight")):
            if isinstance(given, str):
                raise InvalidDataError(f"{what} is the name of a column, {given!r}, and arrays on a GPU have no names")
        device, n = self.device, self.shape[0]
        with device.working_on(self.like):
            if is_on_device(target):
                labels = encode_device(device, device.own(target, "y"))
            else:
                labels = encode_host(device, target)
            if len(labels) != n:
                raise InvalidDataError(
                    f"Found input variables with inconsistent numbers of samples: [{n}, {len(labels)}]"
                )
            there = is_on_device(weight)
            heavy = device.own(weight, "sample_weight") if there else weight
            return replace(self, labels=labels, weight=read_weight(device, heavy, n, there))

    # ---- learning

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Summarize all rows on the device."""
        no_checkpoint(checkpoint, "a GPU")
        family, labels = task.family, self.labels
        assert labels is not None, "rows are learned with their labels"
        if task.divided_by is not None:
            raise InvalidDataError(f"Rows without labels are not learned on a GPU: {ON_THE_HOST}")
        if not task.drop_unlabelled:
            labels.refuse_missing()
        if isinstance(family, Product):
            return self._reduced(lambda given: self._of_table(given, family))
        return self._reduced(lambda given: self._of_array(given, family))

    def _reduced(self, summary: Callable[[Labelled], Statistic]) -> ByClass[Any]:
        """Summarize rows by their labels; a label whose rows all have weight 0 is absent."""
        labels = self.labels
        assert labels is not None, "rows are learned with their labels"
        with self.device.working_on(self.like):
            given = Labelled(self.device, self.rows, labels.codes, len(labels.values), self.weight)
            weight = given.class_weight()
            found = ByClass(labels.values, weight, summary(given)).rounded()
        return found if (weight > 0).all() else found.take(np.flatnonzero(weight > 0))

    def _of_array(self, given: Labelled, family: Family[Any]) -> Statistic:
        self._check(family)
        return summarize(replace(given, refuse=partial(self._refuse_outside, family)), family.summary)

    def _of_table(self, given: Labelled, family: Product) -> Statistic:
        rows = self._dense_rows()
        check_blocks(family, self.shape[1])
        for block in family.blocks:
            if block.family.support.expected and not block.missing:
                self._refuse_in_column(rows, block, block.family.support)
        return summarize_table(given, family)

    def _dense_rows(self) -> DenseRows:
        """Return the rows of a table, which are dense and on the device."""
        if not isinstance(self.rows, DenseRows) or isinstance(self.rows, HostRows):
            raise InvalidDataError(
                f"A BayesClassifier reads dense arrays that lie on the GPU: pass X.toarray(), or the array itself "
                f"without on_gpu, or {ON_THE_HOST}"
            )
        return self.rows

    def _refuse_in_column(self, rows: DenseRows, block: Block, support: Any) -> None:
        """Refuse values of a block that are outside its support."""
        columns = TableColumns.of(self.device, rows.shape[1])
        own = replace(self, rows=columns.whole(rows, [block]))
        with naming_columns(block.names):
            own._refuse_outside_support(support)

    # ---- a table, in parts

    def part(self, rows: slice) -> DeviceRows:
        """Return some rows with their labels and weights."""
        labels = self.labels
        assert labels is not None, "rows are learned with their labels"
        own = replace(labels, codes=labels.codes[rows])
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, rows=DenseRows(self.device, self._dense_rows().x[rows]), labels=own, weight=weight)

    def first_hashes(self, family: Product, rows: int) -> NDArray[np.uint64]:
        """Return the hashes of the first rows."""
        check_blocks(family, self.shape[1])
        with self.device.working_on(self.like):
            columns = TableColumns.of(self.device, self.shape[1])
            some = self._dense_rows().x[:rows]
            if family.columns != list(columns.place):
                some = some[:, [columns.place[name] for name in family.columns]]
            found: NDArray[np.uint64] = self.device.to_host(hashes_of(self.device, DenseRows(self.device, some)))
            return found

    def planned(self, family: Product) -> ByClass[Any]:
        """Summarize what the plan of a family needs, and nothing else."""
        self._dense_rows()
        return self._reduced(lambda given: Blocks(tuple(planned_parts(given, family)), given.classes))

    def profiles(self, head: Any) -> dict[str, ColumnProfile]:  # noqa: ARG002  # all rows are at hand
        """Return a profile of each column."""
        with self.device.working_on(self.like):
            return profiles(self._dense_rows())

    def _check(self, family: Family[Any]) -> None:
        """Refuse rows that the family cannot be learned from."""
        family.check_width(self.shape[1])
        if isinstance(self.rows, SparseRows):
            if not family.gives.sparse:
                raise InvalidDataError(f"{type(family).__name__} is of dense rows, found a sparse matrix")
            family.read(self.rows.take_to_host(slice(0, 0)))  # some options are for dense rows only
        if not self._kernels_refuse(family):
            self._refuse_outside(family)

    def _kernels_refuse(self, family: Any) -> bool:
        """Return whether kernels find the values outside the support of a family or distribution as they read them."""
        support = family.support
        plain = support.least == 0 and not support.open and np.isposinf(support.most) and not support.integers
        return plain and isinstance(self.rows, SparseRows)

    def _refuse_outside(self, family: Any) -> None:
        """Refuse values outside the support of a family or distribution."""
        if family.reads != "categories":
            self._refuse_outside_support(family.support)

    def _refuse_outside_support(self, support: Any) -> None:
        if not support.expected:
            return
        rows = self.rows
        entries = DenseRows(self.device, rows.data[:, None]) if isinstance(rows, SparseRows) else rows
        if np.dtype(entries.x.dtype).kind == "f":
            at = _first(entries, self.device.xp.isinf)
            if at is not None:
                rows.refuse(rows.place(at))
        at = _first(entries, support.outside)
        if at is not None:
            row, column = divmod(rows.place(at), self.shape[1])
            found = self.device.to_host(entries.x[divmod(at, entries.shape[1])])[()]
            raise (NegativeValueError if found < 0 else RefusedValueError)(
                support.expected, found, row, column, support.advice
            )

    # ---- answering

    def answer(self, answer: Answer) -> Any:
        """Return the answers as an array of the caller's kind; labels that are no numbers are on the host."""
        learned, calibration = answer.predictor.learned, answer.predictor.calibration
        found = self._ask(learned, QUESTIONS[answer.question], relative=True, calibration=calibration)
        return self._as_labels(found, learned.labels) if answer.question == "predict" else self._given(found)

    def log_joint(self, learned: Learned) -> Any:
        """Return log p(x, y), (rows, classes)."""
        return self._given(self._ask(learned, LOG_JOINT, relative=False))

    def log_density(self, learned: Learned) -> Any:
        """Return log p(x), (rows,)."""
        return self._given(self._ask(learned, LOG_DENSITY, relative=False))

    def accuracy(self, learned: Learned, calibration: Calibration | None = None) -> float:
        """Return the share of the weight of rows whose label is predicted."""
        assert self.labels is not None
        self.labels.refuse_missing()
        xp = self.device.xp
        with self.device.working_on(self.like):
            found = self._ask(learned, MOST_PROBABLE, relative=True, calibration=calibration)
            places = xp.asarray(positions(learned.labels, self.labels.values, drop=True))
            right = (places[self.labels.codes] == found).astype(np.float64)
            return float(right.mean() if self.weight is None else (right * self.weight).sum() / self.weight.sum())

    def _ask(self, learned: Learned, question: int, relative: bool, calibration: Calibration | None = None) -> Any:
        if isinstance(learned.family, Product):
            return self._ask_of_table(learned, question, relative, calibration)
        if calibration is not None:
            raise InvalidDataError(f"Calibrated probabilities are not computed on a GPU: {ON_THE_HOST}")
        device, xp, n = self.device, self.device.xp, self.shape[0]
        model = learned.model
        distribution = model.distribution.as_density if question == LOG_DENSITY else model.distribution
        if self.shape[1] != distribution.n_columns:
            raise InvalidDataError(f"Expected rows of {distribution.n_columns} columns, found {self.shape[1]}")
        single = learned.dtype == np.float32 and self.dtype == np.float32
        shape = (n,) if question in (MOST_PROBABLE, LOG_DENSITY) else (n, len(model.labels))
        dtype = np.int64 if question == MOST_PROBABLE else np.float32 if single else np.float64
        with device.working_on(self.like):
            if not self._kernels_refuse(distribution):
                self._refuse_outside(distribution)
            asked = self._asked(model, question, xp.empty(shape, dtype))
            if isinstance(self.rows, SparseRows) and not distribution.sparse:
                raise InvalidDataError(f"{type(distribution).__name__} is of dense rows, found a sparse matrix")
            scorer(device, distribution, relative).answer(self.rows, asked)
            self._report(asked.status, distribution)
        return asked.out

    def _asked(self, model: Model, question: int, out: Any) -> Asked:
        """Return what is asked of rows under a model, and where the answers go."""
        xp, prior = self.device.xp, np.ascontiguousarray(model.log_prior, dtype=np.float64)
        status = fresh_status(self.device, self.shape[0] * self.shape[1])
        return Asked(self.device, question, prior, xp.asarray(prior), xp.asarray(model.fallback), out, status)

    def _ask_of_table(self, learned: Learned, question: int, relative: bool, calibration: Calibration | None) -> Any:
        """Answer by the densities of columns, or by a structure and calibration."""
        rows, device, xp, family = self._dense_rows(), self.device, self.device.xp, learned.family
        assert isinstance(family, Product), "tables have blocks"
        with device.working_on(self.like):
            answers = TableAnswers.of(device, learned, calibration, self.shape[1])
            for block in family.blocks:
                if block.family.support.expected and not block.missing:
                    self._refuse_in_column(rows, block, block.family.support)
            shape = (self.shape[0],) if question in (MOST_PROBABLE, LOG_DENSITY) else (self.shape[0], answers.classes)
            asked = self._asked(
                learned.model, question, xp.empty(shape, np.int64 if question == MOST_PROBABLE else np.float64)
            )

            def some(low: int, high: int, columns: Any) -> None:
                if calibration is None:
                    scores = answers.evidence(columns) if relative else answers.absolute(columns)
                    asked.finish(xp.ascontiguousarray(scores), low, high)
                    return
                found = answers.log_posterior(answers.evidence(columns), low)
                if question == MOST_PROBABLE:
                    found = found.argmax(axis=1)
                asked.out[low:high] = xp.exp(found) if question == POSTERIOR else found

            answers.each(rows, some)
            self._report(asked.status)
        return asked.out

    def _report(self, status: Any, distribution: Any = None) -> None:
        """Raise the errors, and give the warning, of what kernels found in rows."""
        (n, d), (infinite, lost, odd) = self.shape, self.device.to_host(status).tolist()
        if infinite < n * d:
            if distribution is not None:
                self._refuse_outside(distribution)
            self.rows.refuse(infinite)
        if odd < n:
            raise not_a_number(odd)
        if lost:
            warn_of_impossible(lost, n)

    def _given(self, found: Any) -> Any:
        with self.device.working_on(self.like):
            return self.device.given_back(found, self.like)

    def _as_labels(self, codes: Any, labels: Values) -> Any:
        if labels.dtype.kind not in "iufb":
            return labels[self.device.to_host(codes)]
        with self.device.working_on(self.like):
            return self._given(self.device.xp.asarray(labels)[codes])

    # ---- leaving rows out

    def leave_one_out(self, learned: Learned, calibration: Calibration | None = None) -> Any:
        """Return log p(y | x_i) of each learned row under the model of all the others, (rows, classes).

        Gaussian columns are computed on the device. Of other families, rows are copied to the host batch by batch.
        """
        assert self.labels is not None
        self.labels.refuse_missing()
        if isinstance(learned.family, Product):
            check_blocks(learned.family, self.shape[1])
        device, xp, n = self.device, self.device.xp, self.shape[0]
        with device.working_on(self.like):
            places = positions(learned.labels, self.labels.values)
            codes = xp.asarray(places)[self.labels.codes]
            out = xp.empty((n, len(learned.labels)))
            if self._is_gaussian(learned):
                self._leave_out(learned, codes, out)
            else:
                self._leave_out_on_host(learned, calibration, device.to_host(codes), out)
        return self._given(out)

    def _is_gaussian(self, learned: Learned) -> bool:
        """Return whether the kernel computes what the family does: maximum likelihood, with class variances."""
        family, moments = learned.family, learned.statistics.statistic
        if not isinstance(family, Gaussian) or not isinstance(moments, Moments) or isinstance(self.rows, SparseRows):
            return False
        plain = family.prior is None and not family.unbiased and isinstance(family.variance, str)
        return plain and family.variance == "class" and bool((moments.weight > 0).all())

    def _leave_out(self, learned: Learned, codes: Any, out: Any) -> None:
        device, xp, rows = self.device, self.device.xp, self.rows
        assert isinstance(rows, DenseRows)
        family, moments, model = learned.family, learned.statistics.statistic, learned.model
        (n, d), classes = rows.shape, len(model.labels)
        floor, whole = Gaussian.least_variance(moments), moments.pooled()
        extra = family.epsilon(moments)  # type: ignore[attr-defined]  # it is Gaussian
        variance = np.maximum(moments.variance + extra, floor)
        tables = [
            xp.asarray(np.ascontiguousarray(each))
            for each in (
                floor,
                moments.weight,
                moments.mean,
                moments.squares,
                np.concatenate([whole.weight, whole.mean, whole.squares]),
                1.0 / variance,
                np.log(2.0 * np.pi * variance),
            )
        ]
        lossy = xp.zeros(n, np.uint8)
        status = fresh_status(device, n * d)
        prior, which = self._left_out_prior(learned, codes)

        def some(low: int, high: int) -> None:
            x = rows.batch(low, high)
            w = None if self.weight is None else self.weight[low:high]
            scores = xp.empty((high - low, classes))
            sizes = (i8(x.strides[0] // x.itemsize), i8(high - low), i4(d))
            smoothing = f8(family.var_smoothing)  # type: ignore[attr-defined]
            own = (codes[low:high], w)
            near, found = (f8(extra), f8((1.0 / variance).max())), (scores, lossy[low:high], i8(low), status)
            device.launch(
                f"leave_out_f{x.itemsize * 8}",
                (-(-(high - low) // 8),),
                256,
                (x, *sizes, *own, smoothing, tables[0], i4(classes), *tables[1:5], *near, *tables[5:], *found),
            )
            scores += prior[which[low:high]]
            nothing = np.zeros(classes)
            asked = Asked(device, LOG_POSTERIOR, nothing, xp.asarray(nothing), xp.asarray(model.fallback), out, status)
            asked.finish(scores, low, high)

        halving(device, n, rows.rows_at_once(1, max(1, (1 << 26) // max(classes, 1))), some)
        self._report(status)
        heavy = xp.flatnonzero(lossy)
        if len(heavy):  # float64 keeps few digits of what is left: the host subtracts with more
            labels = model.labels[device.to_host(codes[heavy])]
            w = None if self.weight is None else device.to_host(self.weight[heavy])
            out[heavy] = xp.asarray(learned.leave_one_out(rows.take_to_host(heavy), labels, w, None))

    def _left_out_prior(self, learned: Learned, codes: Any) -> tuple[Any, Any]:
        """Return log p(y) without a row of each class, or of each class and weight, and which of them rows have."""
        device, xp, statistics = self.device, self.device.xp, learned.statistics
        classes = len(statistics.labels)
        own, removed, which = np.arange(classes), np.ones(classes), codes
        if self.weight is not None:
            own, removed, found = distinct_pairs(device.to_host(codes), device.to_host(self.weight))
            which = xp.asarray(found)
        rest = np.repeat(statistics.weight[None], len(own), axis=0)
        rest[np.arange(len(own)), own] = minus(statistics.sums.at(own), Sums(removed, None)).value
        return xp.asarray(learned.prior.log(rest)), which

    def _leave_out_on_host(self, learned: Learned, calibration: Calibration | None, codes: Any, out: Any) -> None:
        labels, table = learned.labels[codes], isinstance(learned.family, Product)
        for low, high in spans(self.shape[0], max(1, HOST_CELLS // self.shape[1])):
            rows: Any = self.rows.take_to_host(slice(low, high))
            rows = as_frame(np.ascontiguousarray(rows)) if table else rows
            w = None if self.weight is None else self.device.to_host(self.weight[low:high])
            out[low:high] = self.device.xp.asarray(learned.leave_one_out(rows, labels[low:high], w, calibration))


def _first(rows: DenseRows, wrong: Any) -> int | None:
    """Return the place of the first entry that is wrong, in order of rows; None if there is none."""
    d = rows.shape[1]
    for low, high in spans(rows.shape[0], rows.rows_at_once(1, max(1, (1 << 26) // d))):
        found = wrong(rows.part(low, high))
        if bool(found.any()):
            return low * d + int(found.ravel().argmax())
    return None


def _sparse(device: Device, x: Any) -> SparseRows:
    """Read a sparse matrix of CuPy; entries that are stored in parts are added."""
    xp, x = device.xp, x.tocsr()
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    data = x.data if np.dtype(x.data.dtype) in (np.float32, np.float64) else x.data.astype(np.float64)
    starts = x.indptr.astype(x.indices.dtype, copy=False)
    if (
        len(starts) != x.shape[0] + 1
        or int(starts[0])
        or int(starts[-1]) > len(data)
        or bool((xp.diff(starts) < 0).any())
    ):
        raise InvalidDataError("The sparse matrix is malformed: where its rows start does not fit what it stores")
    return SparseRows(device, data, x.indices, starts, x.shape)
