"""The cases: densities of any shape beside scikit-learn's, one of its estimators for each class and column."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from benchmarks import data
from benchmarks.harness import (
    AnswersDifferError,
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
    versus,
)
from benchmarks.naive_bayes import Data, times
from suffice.naive_bayes import KernelNB, MixtureNB


def groups(settings: Settings) -> list[Group]:
    """List all cases, those on the same data together."""
    return [*(kernel_group(settings, classes) for classes in (2, 5)), mixture_group(settings)]


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
    # Of more than 4096 values of a class, ours holds cells, by which a density may change by 1e-3 of itself.
    agreement = agree(model.predict_proba(some), peer_posterior(peer, some), rtol=1e-3, atol=1e-3)

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


# ------------------------------------------------------------------------------------------ mixtures


COMPONENTS, TOLERANCE = 3, 1e-3


def mixture_group(settings: Settings) -> Group:
    """MixtureNB on columns of several bumps."""
    rows = settings.rows(100_000)
    size = f"{COMPONENTS} components, {short(rows)} × 10, 5 classes"
    return Group(
        lambda: data.bumps(rows, 10, COMPONENTS, 5),
        [
            Case(f"MixtureNB fit, {size}", times(5), partial(fit_mixtures, settings)),
            Case(f"MixtureNB log p(x, y), {size}", times(5), partial(ask_mixtures, settings)),
        ],
    )


def our_mixtures(X: Any, y: Any) -> MixtureNB:
    """Fit ours, until the parameters are there."""
    model = MixtureNB(components=COMPONENTS, tol=TOLERANCE).fit(X, y)
    assert model.means_.size, "parameters are computed when first needed"
    return model


def their_mixtures(X: Any, y: Any) -> list[list[GaussianMixture]]:
    """Fit one of scikit-learn's for every class and column."""
    parts = [np.ascontiguousarray(X[y == label].T) for label in np.unique(y)]
    new = partial(GaussianMixture, COMPONENTS, tol=TOLERANCE, random_state=0)
    return [[new().fit(column[:, None]) for column in part] for part in parts]


def fit_mixtures(settings: Settings, known: tuple[Any, Any]) -> Measurement:
    """Compare fits; on the whole ours must be as likely as theirs, up to the tolerance."""
    X, y = known
    mixtures = our_mixtures(X, y).model_.distribution
    parts = [X[y == label] for label in np.unique(y)]
    likelihoods = [
        [one.score(part[:, j : j + 1]) for j, one in enumerate(row)]
        for row, part in zip(their_mixtures(X, y), parts, strict=True)
    ]
    gain = mixtures.score - np.array(likelihoods)  # type: ignore[attr-defined]  # a mixture has a score
    if gain.mean() < -TOLERANCE:  # of single columns either side may find the better optimum
        raise AnswersDifferError(f"by a mean log-likelihood that is lower by {-gain.mean():.3g}")
    agreement = {"mean_gain": float(gain.mean()), "least_gain": float(gain.min()), "most_gain": float(gain.max())}
    return versus(Task(partial(our_mixtures, X, y)), Task(partial(their_mixtures, X, y)), settings, agreement)


def ask_mixtures(settings: Settings, known: tuple[Any, Any]) -> Measurement:
    """Compare log p(x, y) of all rows under the same parameters, ours."""
    X, y = known
    model = our_mixtures(X, y)
    theirs = [[_theirs_with(model, c, j) for j in range(X.shape[1])] for c in range(len(model.classes_))]
    log_prior, columns = np.log(model.class_prior_), np.asfortranarray(X)

    def log_joint() -> Any:
        scores = [sum(one.score_samples(columns[:, j : j + 1]) for j, one in enumerate(row)) for row in theirs]
        return np.stack(scores, axis=1) + log_prior

    ours = partial(model.predict_joint_log_proba, X)
    return versus(Task(ours), Task(log_joint), settings, agree(ours(), log_joint()))


def _theirs_with(model: MixtureNB, c: int, j: int) -> GaussianMixture:
    """Make one of scikit-learn's mixtures with the parameters of ours."""
    used = model.n_components_[c, j]
    one = GaussianMixture(used)
    one.weights_, one.means_ = model.weights_[c, j, :used], model.means_[c, j, :used, None]
    one.covariances_ = model.variances_[c, j, :used, None, None]
    one.precisions_cholesky_ = 1.0 / np.sqrt(one.covariances_)
    return one
