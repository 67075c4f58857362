"""The cases: densities of any shape beside scikit-learn's, one of theirs for each class and column."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KernelDensity

from benchmarks import data
from benchmarks.harness import (
    Case,
    Group,
    Measurement,
    Quantity,
    Settings,
    Task,
    agree,
    interleave,
    milliseconds,
    short,
)
from benchmarks.naive_bayes import Data, times
from suffice.naive_bayes import KernelNB


def groups(settings: Settings) -> list[Group]:
    """List all cases, those on the same data together."""
    return [kernel_group(settings, classes) for classes in (2, 5)]


# ------------------------------------------------------------------------------------------ kernel densities


PEER_QUERIES = 250  # scikit-learn would take many minutes for all of them


def kernel_group(settings: Settings, classes: int) -> Group:
    """KernelNB's fit and predict_proba beside a KernelDensity for each class and column, of the same bandwidth."""
    rows, columns = settings.rows(100_000), 10
    size = f"{short(rows)} × {columns}, {classes} classes, {short(rows)} queries"
    cases = [
        Case(
            f"KernelNB fit + predict_proba, {size} (theirs: {PEER_QUERIES}, scaled up)",
            times(50),
            partial(kernel_against, settings),
        )
    ]
    return Group(lambda: Data(data.gaussian(rows, columns, classes)), cases)


def kernel_against(settings: Settings, rows: Data) -> Measurement:
    """Compare a fit and the posteriors of as many queries, with the time of theirs in proportion to the queries."""
    queries = rows.X[np.random.default_rng(1).permutation(len(rows.X))] + 0.01
    some = queries[:PEER_QUERIES]
    model = KernelNB().fit(rows.X, rows.y)
    peer = fit_peer(rows, model.bandwidth_)
    # Their tree is exact to its rtol for each density, of which a posterior has 20 or more.
    agreement = agree(model.predict_proba(some), peer_posterior(peer, some), rtol=1e-6, atol=1e-6)

    def ours() -> object:
        return KernelNB().fit(rows.X, rows.y).predict_proba(queries)

    def theirs() -> object:
        return peer_posterior(peer, some)

    def theirs_fit() -> object:
        return fit_peer(rows, model.bandwidth_)

    a, b = interleave(Task(ours), Task(theirs), settings.repeats, second_every=2)
    _, c = interleave(Task(ours), Task(theirs_fit), 1)
    whole = [float(np.median(c)) + t * len(queries) / len(some) for t in b]
    speedup = float(np.median(whole) / np.median(a))
    details = {"ours_seconds": a, "theirs_seconds": whole, "queries_timed": len(some), "agreement": agreement}
    return Measurement(speedup, milliseconds(a), milliseconds(whole), Quantity(speedup, "×"), details)


def fit_peer(rows: Data, bandwidth: Any) -> tuple[Any, list[list[KernelDensity]]]:
    """Fit a KernelDensity for each class and column; return the log of the class prior and them."""
    counts = np.bincount(rows.y)
    own = [rows.X[rows.y == c] for c in range(len(counts))]
    densities = [
        [KernelDensity(bandwidth=h, rtol=1e-6).fit(x[:, j : j + 1]) for j, h in enumerate(widths)]
        for x, widths in zip(own, bandwidth, strict=True)
    ]
    return np.log(counts / counts.sum()), densities


def peer_posterior(peer: tuple[Any, list[list[KernelDensity]]], queries: Any) -> Any:
    """Apply Bayes' rule to the sums of the log-densities."""
    prior, densities = peer
    columns = range(queries.shape[1])
    each = [sum(kd[j].score_samples(queries[:, j : j + 1]) for j in columns) for kd in densities]
    joint = prior + np.stack(each, axis=1)
    weights = np.exp(joint - joint.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
