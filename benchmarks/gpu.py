"""Arrays on a GPU: what is learned and answered a second, against the memory of the card and against PyTorch.

Run it where there is a card: `make bench-gpu`. Every time is the median of several, by events of the device, after a
first run. "whole" is the time of the call as users make it, by the clock. Arguments name the parts to run.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import cupy as cp
import numpy as np

from suffice import BayesClassifier
from suffice.core.statistics.cells import LIMIT
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.engines.gpu import on_gpu, summaries
from suffice.engines.gpu.class_codes import encode_device
from suffice.engines.gpu.device import Device
from suffice.engines.gpu.device_cells import CellCounts, count_columns
from suffice.engines.gpu.device_tables import hashes_of
from suffice.engines.gpu.matrices import DenseRows
from suffice.engines.gpu.summaries import Labelled, summarize
from suffice.families import Gaussian, MultivariateGaussian
from suffice.naive_bayes import GaussianNB, MultinomialNB

ROWS, COLUMNS = 16_000_000, 64


def on_device(run: Callable[[], Any], repeats: int = 7) -> float:
    """Return the median time of a function in milliseconds, by events of the device."""
    run()
    times = []
    for _ in range(repeats):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end))
    return float(np.median(times))


def by_clock(run: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median time of a call in milliseconds."""
    run()
    times = []
    for _ in range(repeats):
        cp.cuda.Device().synchronize()
        begin = time.perf_counter()
        run()
        cp.cuda.Device().synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    return float(np.median(times))


def line(*cells: Any) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def rate(gigabytes: float, milliseconds: float) -> str:
    return f"{gigabytes / milliseconds:.2f} TB/s"


def sums(given: Labelled, rows: DenseRows) -> None:
    """Sum rows about pivots near the means of their classes, sorted anew where they are sorted."""
    given.kept.clear()
    summaries._sums(given, rows, summaries._pivots(given, rows), single=True)


def dense() -> None:
    """Class moments, and answers, of dense float32."""
    x = cp.random.default_rng(0).standard_normal((ROWS, COLUMNS), dtype=cp.float32)
    size = x.nbytes / 1e9
    rows = DenseRows(Device(0), x)
    line("plain sum", "", rate(size, on_device(x.sum)), "")
    for classes in (2, 10, 40, 1000):
        y = cp.random.default_rng(1).integers(0, classes, ROWS, dtype=cp.int32)
        codes = encode_device(Device(0), y).codes
        given = Labelled(Device(0), rows, codes, classes)
        kernels = on_device(lambda g=given, r=rows: sums(g, r))
        line(f"sums by class, {classes} classes", f"{kernels:.2f} ms", rate(size, kernels), "kernels alone")
        inside = on_device(lambda c=codes, k=classes, r=rows: summarize(Labelled(Device(0), r, c, k), Gaussian.summary))
        whole = by_clock(lambda y=y: GaussianNB().fit(x, y))
        line(f"class moments, {classes} classes", f"{inside:.2f} ms", rate(size, inside), f"fit whole {whole:.2f} ms")
        if classes <= 40:
            known = GaussianNB().fit(x, y)
            for answer in ("predict_log_proba", "predict"):
                took = by_clock(lambda a=answer, k=known: getattr(k, a)(x))
                line(f"GaussianNB.{answer}, {classes} classes", f"{took:.2f} ms", rate(size, took), "whole")


def from_host() -> None:
    """GaussianNB of rows in pinned memory of the host, against a copy of them to the card alone."""
    import cupyx

    x = cupyx.empty_pinned((ROWS, COLUMNS), np.float32)
    filled = cp.random.default_rng(0).standard_normal((ROWS // 16, COLUMNS), dtype=cp.float32).get()
    for low in range(0, ROWS, len(filled)):
        x[low : low + len(filled)] = filled
    y, there = cp.random.default_rng(1).integers(0, 10, ROWS, dtype=cp.int32), cp.empty((ROWS, COLUMNS), cp.float32)
    alone = by_clock(lambda: there.set(x), 3)
    fit = by_clock(lambda: GaussianNB().fit(on_gpu(x), y), 3)
    line("copy from pinned memory alone", f"{alone:.1f} ms", rate(x.nbytes / 1e9, alone), "")
    line("GaussianNB.fit(on_gpu(X), y), 10 classes", f"{fit:.1f} ms", f"{alone / fit:.0%} of the copy's speed", "whole")
    known = GaussianNB().fit(on_gpu(x), y)
    took = by_clock(lambda: known.predict(on_gpu(x)), 3)
    line(
        "GaussianNB.predict(on_gpu(X)), 10 classes",
        f"{took:.1f} ms",
        f"{alone / took:.0%} of the copy's speed",
        "whole",
    )


def sparse() -> None:
    """MultinomialNB on CSR, against products of PyTorch."""
    import cupyx.scipy.sparse as device_sparse
    import torch

    rows, columns, classes, each = 2_000_000, 50_000, 20, 100
    draw = cp.random.default_rng(0)
    places = cp.minimum(cp.exp(draw.random(rows * each, dtype=cp.float32) * np.log(columns)) - 1, columns - 1)
    places = cp.sort(places.astype(cp.int32).reshape(rows, each), axis=1).ravel()
    starts = cp.arange(0, rows * each + 1, each, dtype=cp.int32)
    counts = draw.integers(1, 5, rows * each).astype(cp.float32)
    x = device_sparse.csr_matrix((counts, places, starts), shape=(rows, columns))
    x.sum_duplicates()
    y = draw.integers(0, classes, rows, dtype=cp.int32)
    known = MultinomialNB().fit(x, y)
    fit, predict = by_clock(lambda: MultinomialNB().fit(x, y)), by_clock(lambda: known.predict(x))
    parts = [torch.from_dlpack(each) for each in (x.indptr, x.indices, x.data)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the format is in beta
        theirs = torch.sparse_csr_tensor(*parts, size=(rows, columns))
    one_hot = torch.nn.functional.one_hot(torch.from_dlpack(y).long(), classes).float()
    coef = torch.as_tensor(known.feature_log_prob_.T.astype(np.float32)).cuda().contiguous()
    other = by_clock(lambda: theirs.t() @ one_hot, 3), by_clock(lambda: theirs @ coef, 3)
    line("MultinomialNB.fit, CSR", f"{fit:.1f} ms", f"{other[0] / fit:.1f}× of PyTorch", f"{other[0]:.1f} ms")
    line(
        "MultinomialNB.predict, CSR", f"{predict:.1f} ms", f"{other[1] / predict:.1f}× of PyTorch", f"{other[1]:.1f} ms"
    )


def products() -> None:
    """Both discriminants, against the product of cuBLAS alone."""
    rows, columns, classes = 4_000_000, 256, 10
    x = cp.random.default_rng(0).standard_normal((rows, columns), dtype=cp.float32)
    y = cp.random.default_rng(1).integers(0, classes, rows, dtype=cp.int32)
    alone = on_device(lambda: x.T @ x, 3)
    line("xᵀx by cuBLAS, float32", f"{alone:.1f} ms", "", "")
    given = Labelled(Device(0), DenseRows(Device(0), x), y, classes)
    took = by_clock(lambda: summarize(given, MultivariateGaussian(prior=None).summary), 3)
    line("cross-products of all classes", f"{took:.1f} ms", f"{alone / took:.0%} of the product's speed", "")
    for kind in (QuadraticDiscriminantAnalysis, LinearDiscriminantAnalysis):
        took = by_clock(lambda k=kind: k().fit(x, y), 3)
        line(f"{kind.__name__}.fit", f"{took:.1f} ms", f"{alone / took:.0%} of the product's speed", "whole")


def tables() -> None:
    """Cells of columns, and BayesClassifier."""
    x = cp.random.default_rng(0).standard_normal((ROWS, COLUMNS), dtype=cp.float32)
    size, rows = x.nbytes / 1e9, DenseRows(Device(0), x)
    took = on_device(lambda: hashes_of(Device(0), rows))
    line("hashes of rows", f"{took:.2f} ms", rate(size, took), "kernel alone")
    for classes in (2, 10, 40):
        y = cp.random.default_rng(1).integers(0, classes, ROWS, dtype=cp.int32)
        given = Labelled(Device(0), rows, encode_device(Device(0), y).codes, classes)
        ready = CellCounts.of(given, LIMIT)
        took = on_device(lambda r=ready: r.count())
        line(f"cells, {classes} classes", f"{took:.2f} ms", rate(size, took), "kernel alone")
        took = by_clock(lambda g=given: count_columns(g, LIMIT, exact_moments=False), 3)
        line(f"cells, {classes} classes, as statistics", f"{took:.1f} ms", rate(size, took), "whole")
    y = ((x[:, 0] * x[:, 1] + x[:, 2] > 0) ^ (cp.random.default_rng(2).random(ROWS) < 0.1)).astype(cp.int32)
    for structure in ("naive", "columns", "pairs", "pool"):
        took = by_clock(lambda s=structure: BayesClassifier(structure=s).fit(x, y), 1)
        known = BayesClassifier(structure=structure).fit(x, y)
        begin = time.perf_counter()
        known.predict_proba(x[:1000])  # estimates the model, and fits the structure on kept rows on the host
        ready = time.perf_counter() - begin
        some = x[: ROWS // 16]
        asked = by_clock(lambda k=known, r=some: k.predict_proba(r), 1)
        right = known.score(some, y[: ROWS // 16])
        line(
            f"BayesClassifier({structure!r}), 2 classes",
            f"fit {took:.0f} ms",
            f"model {ready:.1f} s",
            f"predict_proba of {len(some):,} rows {asked:.0f} ms, right {right:.3f}",
        )


def main() -> None:
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{name}, CuPy {cp.__version__}\n")
    line("case", "time", "rate", "")
    line(*["---"] * 4)
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
        cp.get_default_memory_pool().free_all_blocks()


PARTS = {"dense": dense, "from_host": from_host, "sparse": sparse, "products": products, "tables": tables}

if __name__ == "__main__":
    main()
