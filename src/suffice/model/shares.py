"""Class shares of rows without labels, where they differ from those of the training rows.

If the classes look as they did in training, and only their shares π' have changed, the likelihood of a row is
proportional to  Σ_y π'_y p(y | x) / π_y  with the posterior and the shares π of training. EM (Saerens, Latinne and
Decaestecker, 2002) finds the π' of the highest likelihood, which is concave in π':

    r_y(x) = π'_y p(y | x) / π_y, normalized over y;    π'_y = mean of r_y(x) over rows

The part of the prior that calibration mixes in is taken out of the posterior before. It does not change where EM ends:
π' is the mean of the posteriors that are answered with π'.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, NotConvergedWarning
from suffice.core.validation import Held
from suffice.model.storage import storable

NEAR = 1e-10  # a step that changes no share by more ends the iteration
STEPS = 5000  # at most
LEAST = 1e-12  # of a share: a class that no row is of stays possible


@storable
@dataclass(frozen=True)
class Shares:
    """Estimated shares of the classes, their standard errors, (classes,) each, and the weight of the rows.

    The errors are those of drawing the rows, NaN where the rows say nothing about a share. That classes may look
    otherwise than in training is not part of them.
    """

    share: Annotated[Array, Held("classes", least=0, most=1)]
    error: Annotated[Array, Held("classes", least=0, missing=True)]
    rows: Annotated[float, Held(least=0)]

    @classmethod
    def of(cls, posterior: Array, log_prior: Array, mixed: float, weight: Array | None = None) -> Shares:
        """Estimate shares from p(y | x), (rows, classes), under the shares of training.

        >>> calm, windy = [0.9, 0.1], [0.2, 0.8]
        >>> Shares.of(np.array([calm, windy, windy, windy]), np.log([0.5, 0.5]), 0.0).share.round(3)
        array([0.24, 0.76])
        """
        w = np.ones(len(posterior)) if weight is None else weight
        total = float(w.sum())
        if not total > 0:
            raise InvalidDataError("There are no rows to estimate class shares from")
        if not (log_prior > -np.inf).any():
            raise InvalidDataError("Nothing was learned that class shares could be estimated by: learn rows first")
        prior = np.exp(log_prior - np.logaddexp.reduce(log_prior))
        known = np.flatnonzero(prior > 0)  # a class that is impossible stays so
        ratio = np.maximum(posterior[:, known] - mixed * prior[known], 0.0) / prior[known]
        ratio /= np.maximum(ratio.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        some = np.flatnonzero((ratio.max(axis=1) > 0) & (w > 0))
        if not len(some):
            raise InvalidDataError("No row tells anything about its class: class shares cannot be estimated")
        ratio, w = ratio[some], w[some]
        found, converged = _climb(ratio, w / w.sum(), prior[known] / prior[known].sum())
        if not converged:
            warnings.warn(
                f"Class shares did not settle in {STEPS} steps: the classes look nearly alike in these rows. "
                "`shares_` has the standard errors",
                NotConvergedWarning,
                stacklevel=4,
            )
        share, error = np.zeros(len(prior)), np.zeros(len(prior))
        share[known] = np.maximum(found, LEAST)
        share /= share.sum()
        error[known] = _errors(ratio, w, found)
        return cls(share, error, total)


def _step(ratio: Array, w: Array, share: Array) -> Array:
    """Return the shares after one step of EM; weights sum to 1."""
    joint = ratio * share
    return np.asarray((w / joint.sum(axis=1)) @ joint)


def _climb(ratio: Array, w: Array, share: Array) -> tuple[Array, bool]:
    """Return the shares of the highest likelihood, and whether the iteration ended there.

    Two steps of EM give a direction and a length to go on by (SQUAREM, Varadhan and Roland, 2008). If the likelihood
    falls, the two steps are taken instead, so it never does.
    """
    before = -np.inf
    for _ in range(STEPS):
        first = _step(ratio, w, share)
        second = _step(ratio, w, first)
        moved, bent = first - share, second - 2.0 * first + share
        if np.abs(moved).max() < NEAR:
            return second, True
        length = max(float(np.sqrt((moved @ moved) / max(float(bent @ bent), 1e-300))), 1.0)
        far = share + 2.0 * length * moved + length**2 * bent
        far = np.maximum(far, 0.1 * second)  # a share that reaches 0 could not grow again
        far /= far.sum()
        after = float(w @ np.log(ratio @ far))
        if after < before or after < float(w @ np.log(ratio @ second)):
            far, after = second, float(w @ np.log(ratio @ second))
        share, before = far, after
    return share, False


def _errors(ratio: Array, weight: Array, share: Array) -> Array:
    """Return the standard errors of shares that sum to 1, from the observed information."""
    if len(share) < 2:
        return np.zeros(len(share))
    each = ratio / (ratio @ share)[:, None]
    information = (weight[:, None] * each).T @ each
    free = np.linalg.qr(np.column_stack([np.ones(len(share)), np.eye(len(share))[:, 1:]]))[0][:, 1:]  # sums are 0
    values, vectors = np.linalg.eigh(free.T @ information @ free)
    directions = free @ vectors
    small = values <= 1e-12 * max(float(values[-1]), float(weight.sum()))
    unknown = (np.abs(directions[:, small]) > 1e-6).any(axis=1)
    variance = (directions[:, ~small] ** 2 / values[~small]).sum(axis=1)
    return np.where(unknown, np.nan, np.sqrt(variance))
