"""Arrays on a GPU, without one: the kernels are built for the host, and arrays only say that they lie on a device."""

from __future__ import annotations

import pickle
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import suffice as sf
from gpu.cases import CLASSES, cases, check_alike, labels, weights
from gpu.stand_ins import DeviceArray, DeviceCsr, HostDevice
from suffice.core.frozen_options import same_options
from suffice.core.statistics import Cells
from suffice.discriminant_analysis import QuadraticDiscriminantAnalysis
from suffice.engines import gpu
from suffice.engines.gpu import device as devices
from suffice.engines.gpu import device_cells, matrices, summaries
from suffice.engines.gpu.device_cells import count_columns
from suffice.engines.gpu.matrices import DenseRows
from suffice.engines.gpu.summaries import Labelled
from suffice.errors import (
    ImpossibleRowWarning,
    InfiniteValueError,
    InvalidDataError,
    MismatchError,
    MissingLabelError,
    MissingPackageError,
    NegativeValueError,
    NotPartError,
    RefusedValueError,
)
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, KernelNB, MultinomialNB, PoissonNB

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="the kernels are built by g++"),
    pytest.mark.usefixtures("device"),
]
RNG = np.random.default_rng(5)
DEVICE_OF = devices.device_of  # the real one


def put(x: Any) -> Any:
    return DeviceCsr(x) if sp.issparse(x) else DeviceArray(x)


def get(x: Any) -> Any:
    return x.values if isinstance(x, DeviceArray) else x


@pytest.fixture(autouse=True)
def numbers_of_its_own() -> None:
    """Each test draws the same numbers in any order of the tests."""
    RNG.bit_generator.state = np.random.default_rng(5).bit_generator.state


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def device(folder: Path, monkeypatch: pytest.MonkeyPatch) -> HostDevice:
    made = HostDevice(folder)
    monkeypatch.setattr(devices, "device_of", lambda _: made)
    return made


ALL = {name: (estimator, x) for name, estimator, x in cases()}


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weighted rows"])
@pytest.mark.parametrize("name", ALL)
def test_answers_are_those_of_the_host(name: str, weighted: bool, device: HostDevice) -> None:
    estimator, x = ALL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleRowWarning)
        check_alike(estimator, x, weights() if weighted else None, put, get)
    assert device.launched


@pytest.mark.parametrize(("classes", "columns"), [(2, 64), (5, 3), (40, 130), (200, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shared", [summaries.MOST_SHARED, 0], ids=["in shared memory", "sorted first"])
def test_class_moments_of_any_shape_equal_the_host(
    classes: int, columns: int, dtype: Any, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "MOST_SHARED", shared)
    x, y = RNG.normal(5, 2, (1500, columns)).astype(dtype), RNG.integers(0, classes, 1500)
    here, there = GaussianNB().fit(x, y), GaussianNB().fit(put(x), put(y))
    close = 1e-6 if dtype == np.float32 else 1e-12
    for name in ("weight", "mean", "squares"):
        wanted = getattr(here.statistics_.statistic, name)
        np.testing.assert_allclose(getattr(there.statistics_.statistic, name), wanted, rtol=close, atol=close)


def test_more_classes_than_a_block_counts_are_summed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "MOST_CLASSES", 7)
    monkeypatch.setattr(summaries, "MOST_SHARED", 0)
    x, y = RNG.normal(size=(900, 2)), RNG.integers(0, 20, 900)
    here, there = GaussianNB().fit(x, y), GaussianNB().fit(put(x), put(y))
    np.testing.assert_allclose(there.var_, here.var_, rtol=1e-12)
    np.testing.assert_array_equal(there.class_count_, here.class_count_)


def test_squares_that_float32_cannot_hold_are_summed_in_float64() -> None:
    for scale in (1e-25, 1e25):
        x = (RNG.normal(size=(200, 2)) * scale).astype(np.float32)
        y = labels()[:200]
        here, there = GaussianNB(var_smoothing=0).fit(x, y), GaussianNB(var_smoothing=0).fit(put(x), put(y))
        wanted = here.statistics_.statistic.squares
        np.testing.assert_allclose(there.statistics_.statistic.squares, wanted, rtol=1e-9)


def test_only_statistics_are_copied_to_the_host(device: HostDevice) -> None:
    x, y = RNG.normal(size=(6000, 8)), RNG.integers(0, 4, 6000)
    there = GaussianNB().fit(put(x), put(y))
    there.predict_log_proba(put(x))
    assert device.to_host_bytes < 12_000  # of 384 kB


def test_the_same_rows_give_the_same_bits() -> None:
    x, y = RNG.normal(size=(2000, 3)), RNG.integers(0, 5, 2000)
    first, second = (GaussianNB().fit(put(x), put(y)).statistics_ for _ in range(2))
    assert first == second
    dense = MultinomialNB().fit(put(np.abs(x)), put(y)).statistics_.statistic.total
    sparse = MultinomialNB().fit(put(sp.csr_array(np.abs(x))), put(y)).statistics_.statistic.total
    np.testing.assert_allclose(sparse, dense, rtol=1e-13)


@pytest.mark.parametrize("shared", [summaries.MOST_SHARED, 0], ids=["in shared memory", "sorted first"])
def test_batches_do_not_change_a_bit(shared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.asfortranarray(RNG.normal(size=(9000, 2))), RNG.integers(0, 2, 9000)
    monkeypatch.setattr(summaries, "MOST_SHARED", shared)
    monkeypatch.setattr(summaries, "LEAST_TILE", 512)
    monkeypatch.setattr(summaries, "CHUNK", 64)
    whole = GaussianNB().fit(put(x), put(y)).statistics_
    monkeypatch.setattr(matrices, "BATCH_BYTES", 1 << 16)
    assert GaussianNB().fit(put(x), put(y)).statistics_ == whole


def test_a_full_device_halves_the_batch_and_goes_on(device: HostDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = RNG.normal(size=(20_000, 2)), RNG.integers(0, 2, 20_000)
    whole = GaussianNB().fit(put(x), put(y))
    answers = get(whole.predict_proba(put(x)))
    launch, sizes = device.launch, []

    def launch_if_small(name: str, grid: tuple[int, ...], *rest: Any) -> None:
        if name.startswith(("sum_", "near_")):
            sizes.append(grid[0])
            if grid[0] > (4 if name.startswith("sum_") else 8):
                raise MemoryError("no memory left on the device")
        launch(name, grid, *rest)

    monkeypatch.setattr(device, "launch", launch_if_small)
    again = GaussianNB().fit(put(x), put(y))
    np.testing.assert_allclose(again.var_, whole.var_, rtol=1e-13)
    np.testing.assert_array_equal(get(again.predict_proba(put(x))).shape, answers.shape)
    np.testing.assert_allclose(get(again.predict_proba(put(x))), answers, rtol=1e-11)
    assert max(sizes) > 8


def test_a_batch_of_cross_products_that_finds_no_memory_begins_again(
    device: HostDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = RNG.normal(size=(3000, 3)), RNG.integers(0, 3, 3000)
    whole = QuadraticDiscriminantAnalysis().fit(x, y).statistics_.statistic
    launch, left = device.launch, [2]  # of the third class there is no memory, once

    def launch_but_once(name: str, *rest: Any) -> None:
        if name.startswith("centre"):
            left[0] -= 1
            if left[0] == -1:
                raise MemoryError("no memory left on the device")
        launch(name, *rest)

    monkeypatch.setattr(device, "launch", launch_but_once)
    found = QuadraticDiscriminantAnalysis().fit(put(x), put(y)).statistics_.statistic
    np.testing.assert_array_equal(found.weight, whole.weight)
    np.testing.assert_allclose(found.cross, whole.cross, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("columns", [131, 256])
def test_cross_products_of_many_columns_of_float32_equal_the_host(
    columns: int, device: HostDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "PIECE", 50)
    x = (RNG.normal(300, 1, (250, columns)) * RNG.uniform(0.1, 9, columns)).astype(np.float32)
    x[:, 1] = x[:, 0] + 1e-3 * x[:, 2]
    x[:, 3] = 7
    y = RNG.integers(0, 2, 250)
    here = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(x, y).statistics_.statistic
    found = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(put(x), put(y)).statistics_.statistic
    assert device.launched.count("cross_rows") == 1
    deviation = np.sqrt(np.diagonal(here.cross, axis1=1, axis2=2))
    most = 1e-6 * deviation[:, :, None] * deviation[:, None, :]
    assert (np.abs(found.cross - here.cross) <= most).all()
    np.testing.assert_array_equal(found.cross, found.cross.transpose(0, 2, 1))


def test_products_that_float32_cannot_hold_are_summed_in_float64(
    device: HostDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "PIECE", 50)
    x, y = (RNG.normal(size=(400, 130)) * 1e17).astype(np.float32), np.arange(400) % 2
    here = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(x, y).statistics_.statistic
    found = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(put(x), put(y)).statistics_.statistic
    assert "cross_rows" not in device.launched
    np.testing.assert_allclose(found.cross, here.cross, rtol=1e-11, atol=1e-11 * np.abs(here.cross).max())


def test_a_device_without_any_memory_raises_and_nothing_is_learned(
    device: HostDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = GaussianNB().fit([[0.0], [1.0]], ["a", "b"])
    before = known.statistics_

    def launch(*_: Any) -> None:
        raise MemoryError("no memory left on the device")

    monkeypatch.setattr(device, "launch", launch)
    with pytest.raises(MemoryError):
        known.partial_fit(put(np.zeros((3, 1))), ["a", "b", "a"])
    assert known.statistics_ == before


# ---- rows on the host


ON_HOST = [n for n, (_, x) in ALL.items() if not sp.issparse(x) and "categ" not in n and "table" not in n]


@pytest.mark.parametrize("name", ON_HOST)
def test_rows_on_the_host_are_learned_and_answered_batch_by_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "FEED_BYTES", 1 << 11)
    monkeypatch.setattr(matrices, "LEAST_ROWS", 1 << 5)
    estimator, x = ALL[name]

    def hand(rows: Any) -> Any:
        return sf.on_gpu(rows) if rows.ndim == 2 else put(rows)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleRowWarning)
        check_alike(estimator, x, weights(), hand, get)


def test_rows_on_the_host_give_the_bits_of_rows_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = RNG.normal(size=(30_000, 3)), RNG.integers(0, 3, 30_000)
    whole = GaussianNB().fit(put(x), put(y)).statistics_
    monkeypatch.setattr(matrices, "FEED_BYTES", 1 << 17)
    assert GaussianNB().fit(sf.on_gpu(x), put(y)).statistics_ == whole
    assert GaussianNB().fit(sf.on_gpu(x), y).statistics_ == whole
    x[20_123, 1] = np.inf
    with pytest.raises(InfiniteValueError, match="row 20123, column 1"):
        GaussianNB().fit(sf.on_gpu(x), y)


def test_rows_on_the_host_that_are_no_numbers_are_refused() -> None:
    for odd in (np.zeros(3), [["a"]]):
        with pytest.raises(InvalidDataError, match="Expected rows of numbers"):
            sf.on_gpu(odd)
    with pytest.raises(InvalidDataError, match="pass the array itself"):
        CategoricalNB().fit(sf.on_gpu(np.zeros((4, 1), int)), [0, 1, 0, 1])


# ---- labels


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -5, 3, 7] * 5),
        np.array([0, 1, 1, 0] * 5, dtype=np.int8),
        np.array([True, False, True, True] * 5),
        np.array([1.0, 2.0, 4.0, 2.0] * 5, dtype=np.float32),
        np.array([0, 1 << 60, 5, 5] * 5),
        np.array([2**64 - 1, 0, 1, 1] * 5, dtype=np.uint64),
    ],
    ids=lambda y: str(y.dtype),
)
def test_labels_on_the_device_are_those_of_the_host(y: Any) -> None:
    x = RNG.normal(size=(20, 2))
    here, there = GaussianNB().fit(x, y), GaussianNB().fit(put(x), put(y))
    assert here.classes_.dtype == there.classes_.dtype
    np.testing.assert_array_equal(here.classes_, there.classes_)
    np.testing.assert_array_equal(get(there.predict(put(x))), here.predict(x))


def test_strings_are_labels_on_the_host() -> None:
    x, y = RNG.normal(size=(20, 2)), np.array(["no", "yes"] * 10)
    found = GaussianNB().fit(put(x), y).predict(put(x))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, GaussianNB().fit(x, y).predict(x))


def test_rows_without_a_label_are_refused_or_left_out() -> None:
    x, y = RNG.normal(size=(30, 2)), np.array([0.0, 1.0, np.nan] * 10)
    with pytest.raises(MissingLabelError, match="row 2 is missing, the first of 10"):
        GaussianNB().fit(put(x), put(y))
    found = GaussianNB().fit(put(x), put(y), missing_labels="drop")
    kept = ~np.isnan(y)
    np.testing.assert_allclose(found.theta_, GaussianNB().fit(x[kept], y[kept]).theta_, rtol=1e-12)


def test_measured_numbers_are_no_labels() -> None:
    with pytest.raises(ValueError, match="Unknown label type"):
        GaussianNB().fit(put(np.zeros((3, 1))), put(np.array([0.5, 1.5, 2.25])))


# ---- refusals: the errors of the host, and nothing is learned


def test_an_infinite_entry_is_named_by_its_row_and_column() -> None:
    x = RNG.normal(size=(40, 3))
    known = GaussianNB().fit(x, np.arange(40) % 2)
    before = known.statistics_
    x[17, 2] = -np.inf
    with pytest.raises(InfiniteValueError, match="row 17, column 2") as there:
        known.partial_fit(put(x), put(np.arange(40) % 2))
    with pytest.raises(InfiniteValueError) as here:
        known.partial_fit(x, np.arange(40) % 2)
    assert str(here.value) == str(there.value)
    for answer in ("predict", "predict_proba", "score_samples"):
        with pytest.raises(InfiniteValueError, match="row 17, column 2"):
            getattr(known, answer)(put(x))
    with pytest.raises(InfiniteValueError, match="row 17, column 2"):
        known.leave_one_out(put(x), put(np.arange(40) % 2))
    assert known.statistics_ == before


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", [MultinomialNB, PoissonNB])
def test_negative_counts_are_refused(kind: Any, make: Any) -> None:
    x = np.array([[1.0, 0.0], [2.0, 3.0], [0.0, -1.0]])
    with pytest.raises(NegativeValueError, match=f"passed to {kind.__name__}") as there:
        kind().fit(put(make(x)), [0, 1, 1])
    with pytest.raises(NegativeValueError) as here:
        kind().fit(make(x), [0, 1, 1])
    assert str(here.value) == str(there.value)


def test_other_values_outside_the_support_are_refused() -> None:
    with pytest.raises(RefusedValueError, match="between 0 and 1"):
        BernoulliNB(binarize=None).fit(put(np.array([[0.0], [2.0]])), [0, 1])
    with pytest.raises(NegativeValueError):
        CategoricalNB().fit(put(np.array([[0], [-2]])), [0, 1])
    with pytest.raises(InvalidDataError, match="category number 1000000000000"):
        CategoricalNB().fit(put(np.array([[0], [10**12]])), [0, 1])
    with pytest.raises(InvalidDataError, match="overflows"):
        GaussianNB().fit(put(np.array([[0.0], [1e200], [-1e200]])), [0, 1, 1])
    with pytest.raises(InvalidDataError, match="dense rows"):
        GaussianNB().fit(put(sp.csr_array(np.eye(2))), [0, 1])


def test_a_sparse_matrix_that_is_malformed_is_refused() -> None:
    x = sp.csr_array(np.eye(3))
    x.indices[1] = 7
    x.has_canonical_format = True
    with pytest.raises(InvalidDataError, match="outside its shape"):
        MultinomialNB().fit(put(x), [0, 1, 1])
    x = sp.csr_array(np.eye(3))
    x.indptr[1] = 5
    x.has_canonical_format = True
    with pytest.raises(InvalidDataError, match="malformed"):
        MultinomialNB().fit(put(x), [0, 1, 1])


def test_entries_stored_in_parts_are_added() -> None:
    x = sp.csr_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    found = BernoulliNB(binarize=1.0).fit(put(x), [0, 1])
    np.testing.assert_array_equal(found.feature_count_, [[1.0, 0.0], [0.0, 0.0]])


def test_arrays_of_two_devices_are_refused() -> None:
    x, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    with pytest.raises(InvalidDataError, match="y lies on device 1, and X on device 0"):
        GaussianNB().fit(put(x), DeviceArray(y, number=1))
    with pytest.raises(InvalidDataError, match="y lies on a GPU"):
        GaussianNB().fit(x, put(y))
    with pytest.raises(InvalidDataError, match="sample_weight lies on device 1"):
        GaussianNB().fit(put(x), put(y), sample_weight=DeviceArray(np.ones(4), number=1))


def test_weights_are_refused_as_on_the_host() -> None:
    x, y = np.zeros((2, 1)), [0, 1]
    for weight, what in (
        ([1.0, -1.0], "Negative"),
        ([1.0, np.nan], "NaN"),
        ([1.0], "expected"),
        ([1.0, 1e200], "range"),
    ):
        with pytest.raises(InvalidDataError, match=what):
            GaussianNB().fit(put(x), y, sample_weight=put(np.array(weight)))


def test_rows_of_weight_0_are_absent() -> None:
    x, y, w = RNG.normal(size=(9, 2)), np.arange(9) % 3, np.array([1.0, 2.0, 0.0] * 3)
    assert GaussianNB().fit(put(x), put(y), sample_weight=put(w)).classes_.tolist() == [0, 1]


def test_shapes_are_checked() -> None:
    known = GaussianNB().fit(put(np.zeros((4, 2)) + np.arange(4)[:, None]), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="expecting 2 features"):
        known.predict(put(np.zeros((4, 3))))
    with pytest.raises(InvalidDataError, match="inconsistent numbers of samples"):
        known.partial_fit(put(np.zeros((4, 2))), [0, 1])
    for shape in ((4,), (0, 2), (4, 0)):
        with pytest.raises(ValueError, match=r"2D array|minimum of 1|features"):
            known.predict(put(np.zeros(shape)))
    with pytest.raises(InvalidDataError, match="have no names"):
        known.partial_fit(put(np.zeros((4, 2))), "target")


def test_forgetting_what_was_not_learned_is_refused() -> None:
    known = GaussianNB().fit(put(RNG.normal(size=(10, 2))), put(np.arange(10) % 2))
    with pytest.raises(NotPartError):
        known.forget(put(np.zeros((1, 2))), [7])
    with pytest.raises(MismatchError, match="was not in the training data"):
        known.leave_one_out(put(np.zeros((1, 2))), [7])


def test_what_is_not_computed_on_a_device_says_so() -> None:
    x, y = put(np.abs(RNG.normal(size=(20, 2)))), put(np.arange(20) % 2)
    known = GaussianNB().fit(x, y)
    with pytest.raises(InvalidDataError, match=r"cupy.asnumpy"):
        known.cross_validate(x, y)
    with pytest.raises(InvalidDataError, match="not summed on a GPU"):
        KernelNB().fit(x, y)
    table = sf.BayesClassifier().fit(x, y)
    for asked in (table.evidence, table.impute):
        with pytest.raises(InvalidDataError, match=r"cupy.asnumpy"):
            asked(x)
    with pytest.raises(InvalidDataError, match=r"cupy.asnumpy"):
        table.cross_validate(x, y)


def test_a_row_that_no_class_can_have_given_gets_the_prior_with_a_warning() -> None:
    x = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    known = MultinomialNB(alpha=0).fit(put(x), [0, 1, 1])
    with pytest.warns(ImpossibleRowWarning, match="1 of 2 rows"):
        found = get(known.predict_proba(put(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))))
    np.testing.assert_allclose(found, [[1 / 3, 2 / 3], [1.0, 0.0]])


# ---- tables


def _hard_columns(n: int) -> Any:
    """Columns of which each is counted in another way: bells, grids, lists, tails, gaps, and one value."""
    tiny = np.round(RNG.normal(size=n), 2) * 1e-320  # of which float64 has no more digits
    columns = [
        RNG.normal(size=n),
        RNG.normal(1e6, 1, n),
        RNG.integers(0, 30, n),
        RNG.integers(0, 30, n) * 0.1,
        RNG.standard_cauchy(n),
        np.where(RNG.random(n) < 0.1, np.nan, RNG.exponential(size=n)),
        np.full(n, np.nan),
        -np.zeros(n),
        RNG.exponential(size=n) * 1e-200,
        -RNG.random(n) * 1e100,
        np.where(RNG.random(n) < 0.9, 0.0, RNG.normal(size=n)),
        tiny,
    ]
    return np.stack(columns, axis=1).astype(np.float64)


@pytest.mark.parametrize("classes", [1, 2, 5, 60])
@pytest.mark.parametrize("limit", [4096, 100, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_cells_are_those_of_the_host_whatever_the_columns_hold(
    classes: int, limit: int, weighted: bool, device: HostDevice
) -> None:
    x, y = _hard_columns(9000), RNG.integers(0, classes, 9000).astype(np.int32)
    w = RNG.integers(0, 3, 9000).astype(np.float64) if weighted else None
    found = count_columns(Labelled(device, DenseRows(device, x), y, classes, w), limit, exact_moments=False)
    for column, cells in zip(x.T, found, strict=True):
        assert cells == Cells.of(column[:, None], y, classes, w, None, limit)


@pytest.mark.parametrize("classes", [2, 40])
def test_cells_of_float32_are_those_of_the_host(classes: int, device: HostDevice) -> None:
    x, y = RNG.normal(size=(20_000, 4)).astype(np.float32), RNG.integers(0, classes, 20_000).astype(np.int32)
    x[7, 2] = 1e30
    found = count_columns(Labelled(device, DenseRows(device, x), y, classes), 64, exact_moments=True)
    assert device.launched.count("plain_cells_f32_4") + device.launched.count("plain_cells_f32_1") == 1
    for column, cells in zip(x.T.astype(np.float64), found, strict=True):
        assert cells == Cells.of(column[:, None], y, classes, None, None, 64, exact_moments=True)


def test_columns_whose_values_have_no_place_in_a_table_are_sorted(
    device: HostDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_cells, "ASIDE", 10)
    x, y = RNG.standard_cauchy((3000, 3)), RNG.integers(0, 2, 3000).astype(np.int32)
    found = count_columns(Labelled(device, DenseRows(device, x), y, 2), 50, exact_moments=False)
    for column, cells in zip(x.T, found, strict=True):
        assert cells == Cells.of(column[:, None], y, 2, None, None, 50)


def test_cells_that_shared_memory_cannot_hold_are_counted_in_that_of_the_card(
    device: HostDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "most_shared", 1000)
    monkeypatch.setattr(device_cells, "TURNED", 1 << 14)  # several batches
    x, y = RNG.normal(size=(9000, 3)), RNG.integers(0, 4, 9000).astype(np.int32)
    for limit in (4096, 50):
        found = count_columns(Labelled(device, DenseRows(device, x), y, 4), limit, exact_moments=False)
        for column, cells in zip(x.T, found, strict=True):
            assert cells == Cells.of(column[:, None], y, 4, None, None, limit)


def test_a_common_value_overflows_no_count(device: HostDevice) -> None:
    x, y = np.zeros((150_000, 4)), np.zeros(150_000, np.int32)
    x[::3, 1] = 1.0
    found = count_columns(Labelled(device, DenseRows(device, x), y, 1), 4096, exact_moments=False)
    assert [cells.parts[0].weight.tolist() for cells in found[:2]] == [[150_000.0], [100_000.0, 50_000.0]]


@pytest.mark.parametrize("keep", ["auto", 90, 0])
def test_statistics_of_tables_are_those_of_the_host_to_the_last_count(keep: Any) -> None:
    x, y = ALL["table"][1], labels()
    here, there = (
        (
            sf.BayesClassifier(keep=keep).fit(x, y),
            sf.BayesClassifier(keep=keep).fit(put(x), put(y)),
        )
        if keep
        else (
            sf.BayesClassifier(keep=0, calibrate=False).fit(x, y),
            sf.BayesClassifier(keep=0, calibrate=False).fit(put(x), put(y)),
        )
    )
    assert there.statistics_ == here.statistics_
    assert same_options(there.__getstate__()["_schema"], here.__getstate__()["_schema"])
    north = sf.BayesClassifier(keep=keep, calibrate=bool(keep))
    for rows in (slice(0, 60), slice(60, 130), slice(130, None)):
        north.partial_fit(put(x[rows]), put(y[rows]))
    south = sf.BayesClassifier(keep=keep, calibrate=bool(keep))
    for rows in (slice(0, 60), slice(60, 130), slice(130, None)):
        south.partial_fit(x[rows], y[rows])
    assert north.statistics_ == south.statistics_


def test_a_table_learned_on_a_device_merges_with_one_of_the_host_and_forgets_its_rows() -> None:
    x, y = ALL["table"][1], labels()
    first, rest = slice(0, 100), slice(100, None)
    merged = sf.BayesClassifier().fit(put(x[first]), put(y[first])) + sf.BayesClassifier().fit(x[rest], y[rest])
    whole = sf.BayesClassifier().fit(x, y)
    assert merged.statistics_ == whole.statistics_
    planned = sf.BayesClassifier(keep=90).fit(x, y)
    other = planned.like().fit(put(x[rest]), put(y[rest]))
    assert (planned + other).statistics_.weight.sum() == 380
    planned.forget(put(x[rest]), put(y[rest]))
    np.testing.assert_array_equal(planned.class_count_, np.bincount(y[first]))
    assert sf.BayesClassifier().fit(put(x), put(y)).forget(put(x[rest]), put(y[rest])).statistics_ == (
        sf.BayesClassifier().fit(x, y).forget(x[rest], y[rest]).statistics_
    )


def test_equal_rows_are_kept_once_with_their_weight() -> None:
    x, y = RNG.integers(0, 3, (5000, 3)) * 0.5, RNG.integers(0, 2, 5000)
    for w in (None, RNG.integers(0, 4, 5000).astype(np.float64)):
        here = sf.BayesClassifier(keep=10).fit(x, y, sample_weight=w)
        there = sf.BayesClassifier(keep=10).fit(put(x), put(y), sample_weight=w)
        assert there.statistics_ == here.statistics_


def test_only_kept_rows_and_statistics_of_a_table_are_copied_to_the_host(device: HostDevice) -> None:
    x, y = RNG.normal(size=(60_000, 4)), RNG.integers(0, 2, 60_000)
    there = sf.BayesClassifier(keep=200, limit=64, structure="columns").fit(put(x), put(y))
    there.predict(put(x))
    assert device.to_host_bytes < 40_000  # of 1.9 MB


def test_rows_with_gaps_that_experts_do_not_know_have_the_answers_of_the_host() -> None:
    y = RNG.integers(0, 2, 300)
    x = RNG.normal(size=(300, 1)) + 0.3 * RNG.normal(size=(300, 3)) + 0.3 * np.eye(3)[y]
    clf = sf.BayesClassifier(structure="pool", found_columns=False).fit(x, y)
    assert clf.calibration_.needed
    x[RNG.random(x.shape) < 0.2] = np.nan
    np.testing.assert_allclose(clf.predict_proba(put(x)).values, clf.predict_proba(x), atol=1e-9)


def test_what_tables_on_a_device_cannot_be_is_refused_by_name() -> None:
    x, y = np.round(RNG.normal(size=(60, 3)), 1), np.arange(60) % 2
    there = put(x)
    for families, match in (
        ({("x0", "x1"): sf.MultivariateGaussian()}, r"Columns \['x0', 'x1'\] share a family.*cupy.asnumpy"),
        ({"x1": sf.Categorical()}, "Column 'x1' is read as categories.*cupy.asnumpy"),
        ({"x7": sf.Gaussian()}, "There is no column 'x7'"),
        ({"x0": sf.Poisson()}, "Negative values.*column 'x0'"),
    ):
        with pytest.raises((InvalidDataError, RefusedValueError), match=match):
            sf.BayesClassifier(families).fit(there, y)
    with pytest.raises(InvalidDataError, match="limit=None keeps all values"):
        sf.BayesClassifier(limit=None).fit(there, y)
    with pytest.raises(InvalidDataError, match="without on_gpu"):
        sf.BayesClassifier().fit(gpu.on_gpu(x), y)
    with pytest.raises(InvalidDataError, match="toarray"):
        sf.BayesClassifier().fit(put(sp.csr_array(x)), y)
    with pytest.raises(InvalidDataError, match=r"cupy\.asnumpy"):
        sf.BayesClassifier().fit(there, put(y), unlabelled="learn")
    known = sf.BayesClassifier().fit(there, y)
    with pytest.raises(ValueError, match="2 features"):
        known.predict(put(x[:, :2]))
    before = known.statistics_
    x[17, 1] = np.inf
    for ask in (lambda: known.partial_fit(put(x), y), lambda: known.predict(put(x))):
        with pytest.raises(InfiniteValueError, match=r"'x1'.*row 17|row 17.*'x1'"):
            ask()
    assert known.statistics_ == before


def test_a_column_that_numbers_the_rows_and_an_empty_one_are_left_out_as_on_the_host() -> None:
    rows = np.column_stack([np.arange(80), RNG.integers(0, 5, 80), np.arange(80) % 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, there = sf.BayesClassifier().fit(rows, rows[:, 2]), sf.BayesClassifier().fit(put(rows), rows[:, 2])
    assert str(there.schema_) == str(here.schema_)
    gaps = np.where(np.arange(3) == 1, np.nan, rows.astype(np.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, there = sf.BayesClassifier().fit(gaps, rows[:, 2]), sf.BayesClassifier().fit(put(gaps), rows[:, 2])
    assert str(there.schema_) == str(here.schema_)


@pytest.mark.parametrize(
    "family",
    [
        sf.Bernoulli(),
        sf.Bernoulli(threshold=0.7),
        sf.Bernoulli(threshold=None),
        sf.Exponential(),
        sf.Geometric(),
        sf.Gaussian(learn="predictive"),
        sf.Gaussian(variance="shared"),
        sf.Binned(edges=[0.2, 0.9]),
    ],
    ids=repr,
)
def test_columns_of_a_named_family_are_answered_as_on_the_host(family: Any) -> None:
    y = labels()
    x = np.where(RNG.random((len(y), 1)) < 0.5 + 0.2 * y[:, None], 1.0, 0.0)
    if isinstance(family, (sf.Bernoulli, sf.Exponential, sf.Gaussian)):
        x = x * RNG.random(x.shape)  # fractions, and zeros
    x[::7] = np.nan
    known = sf.BayesClassifier({"x0": family}, structure="naive").fit(x, y)
    there = sf.BayesClassifier({"x0": family}, structure="naive").fit(put(x), put(y))
    for ask in ("predict_log_proba", "predict_joint_log_proba", "score_samples"):
        found, wanted = get(getattr(there, ask)(put(x))), getattr(known, ask)(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


def test_a_model_of_named_columns_does_not_read_an_array_on_a_device() -> None:
    x, y = RNG.normal(size=(80, 2)), np.arange(80) % 2
    known = sf.BayesClassifier().fit({"height": x[:, 0], "weight": x[:, 1]}, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn: the array has no names
        for ask in (
            lambda: known.predict(put(x)),
            lambda: known.score_samples(put(x)),
            lambda: known.partial_fit(put(x), y),
            lambda: known.forget(put(x), y),
            lambda: known.leave_one_out(put(x), y),
        ):
            with pytest.raises(InvalidDataError, match="column 'height', and columns of arrays on a GPU have no names"):
                ask()


def test_a_family_whose_answers_are_not_computed_on_a_device_is_named() -> None:
    x = np.round(RNG.exponential(3, (60, 1)))
    y = (x[:, 0] > 2).astype(int)  # so that the column has a weight
    for family in (sf.Poisson(learn="predictive"), sf.Kernel(kernel="epanechnikov")):
        known = sf.BayesClassifier({"x0": family}).fit(x, y)
        with pytest.raises(InvalidDataError, match=r"Column 'x0': .* is not computed on a GPU.*cupy\.asnumpy"):
            known.predict(put(x))


def test_kernel_densities_far_from_all_points_are_those_of_the_host() -> None:
    x, y = RNG.normal(size=(400, 1)), np.arange(400) % 2
    known = sf.BayesClassifier({"x0": sf.Kernel()}, calibrate=False).fit(x, y)
    rows = np.array([[0.0], [np.nan], [40.0], [-1e4], [1e200]])
    wanted = known.predict_joint_log_proba(rows)
    np.testing.assert_allclose(get(known.predict_joint_log_proba(put(rows))), wanted, rtol=1e-10)


# ---- what follows from statistics


def test_what_was_learned_is_saved_and_pickled_as_any_other(tmp_path: Path) -> None:
    x, y = RNG.normal(size=(60, 3)), np.arange(60) % CLASSES
    known = GaussianNB().fit(put(x), put(y))
    known.save(tmp_path / "model.suffice")
    for again in (sf.load(tmp_path / "model.suffice"), pickle.loads(pickle.dumps(known))):
        assert again.statistics_ == known.statistics_
        np.testing.assert_allclose(again.predict_proba(x), get(known.predict_proba(put(x))), rtol=1e-12)


# ---- which arrays are on a device


class _Managed(DeviceArray):
    def __dlpack_device__(self) -> tuple[int, int]:
        return 13, 0


class _OnHost(DeviceArray):
    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class _Tracer(DeviceArray):
    def __dlpack_device__(self) -> tuple[int, int]:
        raise RuntimeError("no array yet")


class _Interface:
    @property
    def __cuda_array_interface__(self) -> dict[str, int]:
        return {"version": 3}


def test_arrays_are_recognized_by_where_they_lie() -> None:
    assert gpu.is_on_device(DeviceArray(np.zeros(1)))
    assert gpu.is_on_device(_Managed(np.zeros(1)))
    assert gpu.is_on_device(_Interface())
    for other in (np.zeros(1), [1], "x", None, 3, _OnHost(np.zeros(1)), _Tracer(np.zeros(1)), sp.csr_array(np.eye(2))):
        assert not gpu.is_on_device(other)


def test_without_cupy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "device_of", DEVICE_OF)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'suffice\[gpu\]'"):
        GaussianNB().fit(DeviceArray(np.zeros((2, 1))), [0, 1])
