"""The cases: densities of any shape beside scikit-learn's, one of its estimators for each class and column."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture

from benchmarks import data
from benchmarks.harness import (
    AnswersDifferError,
    Case,
    Group,
    Measurement,
    Settings,
    Target,
    Task,
    agree,
    short,
    versus,
)
from suffice.naive_bayes import MixtureNB


def groups(settings: Settings) -> list[Group]:
    """List all cases, those on the same data together."""
    return [mixture_group(settings)]


# ------------------------------------------------------------------------------------------ mixtures


COMPONENTS, TOLERANCE = 3, 1e-3


def mixture_group(settings: Settings) -> Group:
    """MixtureNB on columns of several bumps."""
    rows = settings.rows(100_000)
    size = f"{COMPONENTS} components, {short(rows)} × 10, 5 classes"
    return Group(
        lambda: data.bumps(rows, 10, COMPONENTS, 5),
        [
            Case(f"MixtureNB fit, {size}", Target(low=5, unit="×"), partial(fit_mixtures, settings)),
            Case(f"MixtureNB log p(x, y), {size}", Target(low=5, unit="×"), partial(ask_mixtures, settings)),
        ],
    )


def our_mixtures(X: Any, y: Any) -> MixtureNB:
    """Fit ours, until the parameters are there."""
    model = MixtureNB(components=COMPONENTS, tol=TOLERANCE).fit(X, y)
    assert model.means_.size, "parameters are reckoned when first asked for"
    return model


def their_mixtures(X: Any, y: Any) -> list[list[GaussianMixture]]:
    """Fit one of scikit-learn's for every class and column."""
    parts = [np.ascontiguousarray(X[y == label].T) for label in np.unique(y)]
    new = partial(GaussianMixture, COMPONENTS, tol=TOLERANCE, random_state=0)
    return [[new().fit(column[:, None]) for column in part] for part in parts]


def fit_mixtures(settings: Settings, known: tuple[Any, Any]) -> Measurement:
    """Compare fits; on the whole ours must be as likely as theirs, up to the tolerance."""
    X, y = known
    mixtures = our_mixtures(X, y)._get_learned().model.distributions[0]
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
