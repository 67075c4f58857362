"""Arrays on a real GPU, of CuPy, PyTorch and JAX; without one these tests skip, and say why."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpu.cases import cases, check_alike, labels, weights
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.errors import ImpossibleRowWarning, InfiniteValueError, InvalidDataError
from suffice.naive_bayes import GaussianNB, MultinomialNB

cupy = pytest.importorskip("cupy", reason="CuPy is not installed: pip install 'suffice[gpu]'")
try:
    CARDS = cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    CARDS = 0
pytestmark = pytest.mark.skipif(not CARDS, reason="there is no GPU here")


def put(x: Any) -> Any:
    if sp.issparse(x):
        import cupyx.scipy.sparse as device_sparse

        return device_sparse.csr_matrix(sp.csr_matrix(x))
    return cupy.asarray(x)


def get(x: Any) -> Any:
    return cupy.asnumpy(x) if isinstance(x, cupy.ndarray) else x


ALL = {name: (estimator, x) for name, estimator, x in cases()}


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weighted rows"])
@pytest.mark.parametrize("name", ALL)
def test_answers_are_those_of_the_host(name: str, weighted: bool) -> None:
    estimator, x = ALL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleRowWarning)
        check_alike(estimator, x, weights() if weighted else None, put, get)


@pytest.mark.parametrize("classes", [2, 3, 10, 40, 1000, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_many_rows_give_the_same_bits_and_the_moments_of_the_host(classes: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(3, 2, (400_000, 20)).astype(dtype), rng.integers(0, classes, 400_000)
    x[rng.random(x.shape) < 0.02] = np.nan
    there = [GaussianNB().fit(put(x), put(y)) for _ in range(3)]
    assert there[0].statistics_ == there[1].statistics_ == there[2].statistics_
    here = GaussianNB().fit(x, y)
    close = 1e-12 if dtype == np.float64 else 1e-6
    for name in ("weight", "mean", "squares"):
        wanted = getattr(here.statistics_.statistic, name)
        found = getattr(there[0].statistics_.statistic, name)
        np.testing.assert_allclose(found, wanted, rtol=close, atol=close * np.abs(wanted).max(), err_msg=name)
    answers = [get(each.predict_log_proba(put(x[:5000]))) for each in there]
    np.testing.assert_array_equal(answers[0], answers[1])
    wanted = here.predict_log_proba(x[:5000])
    np.testing.assert_allclose(answers[0], wanted, rtol=10 * close, atol=10 * close)


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_products_of_columns_are_the_same_bits_each_time(kind: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(3, 2, (100_000, 37)), rng.integers(0, 4, 100_000)
    there = [kind().fit(put(x), put(y)) for _ in range(2)]
    assert there[0].statistics_ == there[1].statistics_
    here = kind().fit(x, y).statistics_.statistic
    found = there[0].statistics_.statistic
    np.testing.assert_allclose(found.mean, here.mean, rtol=1e-12)
    np.testing.assert_allclose(found.cross, here.cross, rtol=1e-12, atol=1e-12 * np.abs(here.cross).max())


def test_sparse_totals_are_the_same_bits_each_time() -> None:
    rng = np.random.default_rng(0)
    x = sp.random_array((50_000, 300), density=0.05, rng=rng, format="csr")
    y = rng.integers(0, 7, 50_000)
    there = [MultinomialNB().fit(put(x), put(y)) for _ in range(3)]
    assert there[0].statistics_ == there[1].statistics_ == there[2].statistics_
    np.testing.assert_allclose(there[0].feature_count_, MultinomialNB().fit(x, y).feature_count_, rtol=1e-12)


def test_tensors_of_pytorch_come_back_as_tensors_on_their_device_and_stream() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, y = ALL["gaussian of float32"][1], labels()
    here = GaussianNB().fit(x, y)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        rows = torch.as_tensor(x).cuda()
        there = GaussianNB().fit(rows.requires_grad_(), torch.as_tensor(y).cuda())
        found = there.predict_log_proba(rows)
    stream.synchronize()
    assert isinstance(found, torch.Tensor)
    assert found.device == rows.device
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.cpu().numpy(), here.predict_log_proba(x), rtol=1e-5, atol=1e-6)
    assert (there.predict(rows).cpu().numpy() == here.predict(x)).all()
    with pytest.raises(InvalidDataError, match="Convert it to float32"):
        there.predict(rows.detach().bfloat16())
    on_host = torch.as_tensor(np.nan_to_num(x))
    np.testing.assert_array_equal(GaussianNB().fit(on_host, y).classes_, here.classes_)


def test_arrays_of_jax_come_back_as_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    x, y = ALL["gaussian of float32"][1], labels()
    here = GaussianNB().fit(x, y)
    there = GaussianNB().fit(jax.numpy.asarray(x), jax.numpy.asarray(y))
    found = there.predict_proba(jax.numpy.asarray(x))
    assert isinstance(found, jax.Array)
    assert found.devices() == jax.numpy.asarray(x).devices()
    np.testing.assert_allclose(np.asarray(found), here.predict_proba(x), rtol=1e-5, atol=1e-6)
    assert (np.asarray(there.predict(jax.numpy.asarray(x))) == here.predict(x)).all()


def test_array_api_dispatch_of_scikit_learn_changes_nothing() -> None:
    from sklearn import config_context

    x, y = ALL["gaussian with gaps"][1], labels()
    plain = GaussianNB().fit(put(x), put(y))
    with config_context(array_api_dispatch=True):
        there = GaussianNB().fit(put(x), put(y))
        found = there.predict_proba(put(x))
    assert isinstance(found, cupy.ndarray)
    assert there.statistics_ == plain.statistics_
    np.testing.assert_array_equal(get(found), get(plain.predict_proba(put(x))))


def test_an_infinite_entry_is_named_and_nothing_is_learned() -> None:
    x, y = np.random.default_rng(0).normal(size=(100_000, 5)), np.arange(100_000) % 2
    known = GaussianNB().fit(put(x), put(y))
    before = known.statistics_
    x[71_234, 3] = np.inf
    for step in (lambda: known.partial_fit(put(x), put(y)), lambda: known.predict_proba(put(x))):
        with pytest.raises(InfiniteValueError, match="row 71234, column 3"):
            step()
    assert known.statistics_ == before


def test_little_memory_halves_the_batch() -> None:
    x, y = cupy.random.random((4_000_000, 8)), cupy.random.randint(0, 3, 4_000_000)
    x = cupy.asfortranarray(x)
    whole = GaussianNB().fit(x, y)
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(pool.used_bytes() + (96 << 20))
    try:
        again = GaussianNB().fit(x, y)
    finally:
        pool.set_limit(0)
    np.testing.assert_allclose(again.var_, whole.var_, rtol=1e-12)


def test_rows_on_the_host_are_copied_while_others_are_summed() -> None:
    import cupyx

    import suffice as sf

    rng = np.random.default_rng(0)
    x, y = rng.normal(3, 2, (3_000_000, 24)).astype(np.float32), rng.integers(0, 10, 3_000_000)
    pinned = cupyx.empty_pinned(x.shape, x.dtype)
    pinned[:] = x
    whole = GaussianNB().fit(put(x), put(y))
    for rows in (pinned, x, np.asfortranarray(x)):
        there = GaussianNB().fit(sf.on_gpu(rows), put(y))
        assert there.statistics_ == whole.statistics_
    found = whole.predict_log_proba(sf.on_gpu(pinned))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, get(whole.predict_log_proba(put(x))))
    pinned[2_345_678, 7] = -np.inf
    with pytest.raises(InfiniteValueError, match="row 2345678, column 7"):
        GaussianNB().fit(sf.on_gpu(pinned), put(y))
