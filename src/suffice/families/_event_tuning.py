"""Choose the smoothing and the weights of event models by leaving documents out.

Each document that is kept with the totals is scored exactly by the model of all others. The scores of block b and
event model k (multinomial, complement) are combined as

    z_y = log π_y + Σ_b e^(v ℓ_b) Σ_k e^(u_bk) score_bky,      p_y = (1 − ε) softmax(z)_y + ε π_y

u, v and ε minimize the log-loss of the documents. Weak priors decide if there are few documents: u is normal around
its centre with standard deviation 1, v around 0 with ¼, and ε is Beta(2, 2), so that ε = 1 / (n + 2) if no document is
misclassified. The smoothing of each event model is searched on a grid of half decades around α = 10^r times the mean
value of a feature, with a normal prior of one decade. Points of the grid are compared by the documents of the least
hashes that have up to WALKED features together, and u, v and ε are then fitted to those that have up to FITTED.

With enough documents, words are then put into groups by how often they occur, and what a class says that has the word,
coef, gets an exponent for each group:  score_bky = Σ_j x_j (base_bky + e^(s_bkg(j)) coef_bkjy). A document that is left
out has its words once more in the totals than a new one has, so its words are put into groups as if they occurred in
one document less. s is normal around 0 with standard deviation 1/√3, and is fitted together with u, v and ε. At last
every class gets a bias b_y, which is added to z_y and is normal around 0 with standard deviation 1/√10. Both deviations
and the groups were settled by training documents alone: docs/benchmarks.md says how.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.errors import MismatchError
from suffice.core.statistics import WordCounts
from suffice.core.validation import Held
from suffice.core.words import Tokenization, Weighting
from suffice.families._contract import Decisions
from suffice.families.covariance import one_blas_thread
from suffice.families.documents import Bags
from suffice.families.event_models import (
    BernoulliModel,
    ComplementModel,
    EventModel,
    LinearEventModel,
    MixedModel,
    MultinomialModel,
    Part,
    Slots,
    Words,
    leave_out_by,
)

TOGETHER: dict[str, type[MultinomialModel] | type[ComplementModel]] = {  # whose sum is the event model "auto"
    "multinomial": MultinomialModel,
    "complement": ComplementModel,
}
MODELS: dict[str, Callable[[WordCounts, float, Words], LinearEventModel]] = {
    **TOGETHER,
    "bernoulli": lambda counts, added, _: BernoulliModel(counts, added),
}
START = {"multinomial": -1.0, "complement": -0.5, "bernoulli": 0.0}  # log10 of α over the mean value of a feature
NEAR = 1e-9  # of the objective: a step of Newton's method that gains less is the last
STEP, LOWEST, HIGHEST = 0.5, -4.0, 1.0
CENTRE = {"multinomial": float(np.log(0.5)), "complement": 0.0, "bernoulli": 0.0}  # of the logarithms of weights
FURTHER = -1.0  # added to the centre for every further block: longer n-grams repeat much of what shorter ones say
LENGTH_SPREAD = 0.25
CELLS = 1 << 21  # documents × classes that are scored
OFTEN = (0.0, *(2.5 * 3.0**k for k in range(7)))  # documents of mean value from which on a word is in the next group
GROUPED = 500  # documents that are enough for an exponent for each group
PULL = 3.0  # of these exponents towards 1: the inverse of the variance of their logarithms
BIAS_PULL = 10.0  # of the biases of classes towards 0
BIAS_STEPS, BIAS_ENOUGH = 100, 1e-4  # at most, and the longest step that is the last
WALKED, FITTED = 200_000, 1_000_000  # features of the documents that points are compared, and weights fitted by
WALKED_NEAR = 25_000  # features of the documents that points are compared by where a search begins near the last one
MOST, MOST_EXPONENT, MOST_GROUPS = 1e100, 100.0, 100  # of what a file may say was found


@dataclass(frozen=True, eq=False)
class TextDecisions(Decisions):
    """The smoothing and the weight of each event model in each block of words, the exponent of lengths, and ε.

    `often` is the total from which on a word is in each group, and `exponents` are those of the groups. Where there is
    one event model, there is one block and one group, its weight and exponent are 1, and the rest is 0. `bias` is that
    of each class; there is none if there are too few documents.
    """

    smoothing: Annotated[Array, Held("blocks", "models", above=0, most=MOST)]
    weight: Annotated[Array, Held("blocks", "models", least=0, most=MOST)]
    exponent: Annotated[float, Held(least=-MOST_EXPONENT, most=MOST_EXPONENT)]
    length: Annotated[Array, Held("blocks")]
    mixed: Annotated[float, Held(least=0, most=1)]
    often: Annotated[Array, Held("blocks", "groups", least=0)]
    exponents: Annotated[Array, Held("blocks", "models", "groups", least=0, most=MOST)]
    bias: Annotated[Array, Held("classes", least=-MOST_EXPONENT, most=MOST_EXPONENT)] = field(
        default_factory=lambda: np.zeros(0)
    )

    def check_for(self, event: str, tokenization: Tokenization, classes: int) -> None:
        """Refuse decisions about other event models, blocks or classes."""
        expected = (tokenization.n_sizes, len(TOGETHER)) if event == "auto" else (1, 1)
        if self.smoothing.shape != expected:
            raise MismatchError(f"Decisions of shape {expected} were expected, found {self.smoothing.shape}")
        if not 1 <= self.often.shape[1] <= MOST_GROUPS or (np.diff(self.often, axis=1) < 0).any():
            raise MismatchError(f"Totals of 1 to {MOST_GROUPS} groups that ascend were expected, found {self.often}")
        if len(self.bias) not in (0, classes):
            raise MismatchError(f"Biases of {classes} classes, or none, were expected, found {len(self.bias)}")

    def model(self, words: BlocksOfWords, event: str) -> EventModel:
        """Return the event model that was decided on."""
        counts = words.counts
        if event != "auto":
            return MODELS[event](counts, float(self.smoothing[0, 0]), Words.all(counts))
        parts = [
            Part(b, float(self.weight[b, k]), make(counts, float(self.smoothing[b, k]), own), exponents)
            for b, own in enumerate(words.each)
            for k, (make, exponents) in enumerate(zip(TOGETHER.values(), self.exponents[b], strict=True))
        ]
        group = words.groups(self.often)
        return MixedModel(counts, words.block, group, parts, self.exponent, self.length, self.mixed, self.bias)


class BlocksOfWords:
    """The words of a statistic in blocks of one size: `block` is the block of every word."""

    def __init__(self, counts: WordCounts, tokenization: Tokenization):
        self.counts, blocks = counts, tokenization.n_sizes
        self.block = tokenization.size_of(counts.vocabulary)
        self.each = Words.blocks(counts, self.block, blocks)

    def groups(self, often: Array) -> NDArray[np.uint8]:
        """Return the group of every word: the last whose least total, `often[block]`, the word has in all classes."""
        out = np.zeros(len(self.counts.vocabulary), dtype=np.uint8)
        for own, bounds in zip(self.each, often, strict=True):
            for least in bounds[1:]:
                more = (own.by_word >= least) & (own.by_word > 0)
                out += more if own.own is None else more & own.own
        return out


def tuned(
    words: BlocksOfWords,
    event: str,
    weighting: Weighting,
    tokenization: Tokenization,
    alpha: float | None,
    near: TextDecisions | None = None,
) -> TextDecisions:
    """Choose the weights of an event model, and its smoothing unless it is given, by leaving documents out.

    The search begins at the smoothing of `near`, where that is given.
    """
    search = _Search(words, event, weighting, tokenization, alpha)
    if near is not None:
        search.begin_at(near)
    if event != "auto":
        smoothing, one = search.added(search.walked()), np.ones((1, 1))
        return TextDecisions(smoothing, one, 0.0, np.zeros(1), 0.0, np.zeros((1, 1)), one[None])
    with one_blas_thread(0):  # its matrices are small
        often, exponents, found, bias = search.grouped()
    weight = np.exp(found.phi[:-2]).reshape(len(words.each), len(TOGETHER))
    return TextDecisions(
        search.added(found), weight, float(found.phi[-2]), search.length, found.mixed, often, exponents, bias
    )


@dataclass(frozen=True)
class _Found:
    """A point of the search: the smoothing of each event model (log10 over the mean value), φ, and the objective."""

    smoothing: dict[str, float]
    phi: Array
    cost: float

    @property
    def mixed(self) -> float:
        return float(np.exp(-np.logaddexp(0.0, -self.phi[-1])))


class _Search:
    """The kept documents, and the search for the parameters that predict each of them best from the others."""

    def __init__(
        self, known: BlocksOfWords, event: str, weighting: Weighting, tokenization: Tokenization, alpha: float | None
    ):
        counts, block = known.counts, known.block
        self.known, self.counts, self.alpha, self.together = known, counts, alpha, event == "auto"
        self.models = tuple(TOGETHER) if self.together else (event,)
        self.words = known.each if self.together else [Words.all(counts)]
        self.parts = [(b, name) for b in range(len(self.words)) for name in self.models]
        self.centre = np.array([CENTRE[name] + FURTHER * b for b, name in self.parts])
        n = min(_documents(counts.kept.start, FITTED), max(CELLS // max(counts.n_classes, 1), 1))
        self.bags = Bags.kept(counts, weighting, block, tokenization.n_sizes, n)
        self.codes, self.weight = counts.kept.codes[:n], counts.kept.independent[:n]
        self.unit = counts.kept.unit[:n]
        self.compared = min(_documents(counts.kept.start, WALKED), n)
        self.slots = Slots(block if self.together else np.zeros(len(block), np.uint8), len(self.words))
        features, self.lengths = self.bags.features, self.bags.lengths_by(block)
        if not self.together:
            features, self.lengths = features.sum(axis=1, keepdims=True), self.bags.lengths[:, None]
        logs = np.log1p(features)
        self.length = self.weight @ logs / self.weight.sum() if n else np.zeros(logs.shape[1])
        self.logs = np.repeat(logs - self.length, len(self.models), axis=1)
        sizes = np.bincount(self.slots.of[self.bags.feature], minlength=2 * len(self.words))[::2]
        self.mean = np.divide(self.lengths.sum(axis=0), sizes, out=np.ones(len(sizes)), where=sizes > 0)
        self.log_prior = _log_prior(counts.documents, self.codes, self.unit)
        self._known: dict[tuple[str, float], Array] = {}
        self.start = {name: START[name] for name in self.models}
        self.phi: Array | None = None  # where the search for weights begins,
        self.bent: Array | None = None  # and that for weights of groups, (parts, groups + 1)
        self.near = NEAR  # how well weights are found

    def begin_at(self, near: TextDecisions) -> None:
        """Begin at the point of the grid that is next to what was decided before, and at its weights.

        Points of the grid differ by much more than 1e-5 of the objective, and so do weights that answer otherwise. As
        the points were compared before, fewer documents are enough.
        """
        self.near = 1e-5
        self.compared = min(_documents(self.counts.kept.start, WALKED_NEAR), self.compared)
        for k, name in enumerate(self.models):
            steps = np.log10(near.smoothing[0, k] / self.mean[0]) - START[name]
            self.start[name] = float(np.clip(START[name] + STEP * np.rint(steps / STEP), LOWEST, HIGHEST))
        if self.together and near.weight.size == len(self.parts) and 0 < near.mixed < 1 and (near.weight > 0).all():
            logit = np.log(near.mixed) - np.log1p(-near.mixed)
            self.phi = np.concatenate([np.log(near.weight).ravel(), [near.exponent, logit]])
            if (near.exponents > 0).all():
                exponents = np.log(near.exponents).reshape(len(self.parts), -1)
                self.bent = np.pad(exponents, ((0, 0), (0, 1))) + self.phi[:-2, None]

    def _added(self, b: int, smoothing: float) -> float:
        """Return what is added to the totals of a block."""
        return float(self.mean[b]) * 10.0**smoothing if self.alpha is None else self.alpha

    def added(self, found: _Found) -> Array:
        """Return what is added to the totals of each block by each event model, (blocks, models)."""
        each = [self._added(b, found.smoothing[name]) for b, name in self.parts]
        return np.array(each).reshape(len(self.words), len(self.models))

    def _left_out(self, name: str, smoothing: float, slots: Slots, n: int) -> Array:
        """Return the scores of the first n documents, each left out, (documents, blocks, groups + 1, classes)."""
        models = [MODELS[name](self.counts, self._added(b, smoothing), own) for b, own in enumerate(self.words)]
        bags, rows = self.bags.rows(slice(0, n)), (self.codes[:n], self.unit[:n])
        if self.together:
            found = leave_out_by(models, bags, slots, self.lengths[:n], *rows)
        else:
            found = models[0].leave_one_out(bags, *rows)[:, None, None]
        found -= found.mean(axis=3, keepdims=True)
        return found

    def _compared(self, name: str, smoothing: float) -> Array:
        """Return the scores that points of the grid are compared by, (documents, blocks, classes)."""
        key = name, smoothing
        if key not in self._known:
            self._known[key] = self._left_out(name, smoothing, self.slots, self.compared).sum(axis=2)
        return self._known[key]

    def _weights(self, scores: Array, logs: Array, centre: Array) -> _Weights:
        """Return the problem of the weights for scores of parts, (documents, parts, classes), of some documents."""
        n = len(scores)
        rows = self.codes[:n], self.weight[:n]
        return _Weights(self.log_prior[:n], scores, logs[:n], *rows, centre, self.together)

    def _at(self, smoothing: dict[str, float], start: Array | None) -> _Found:
        """Find the best weights for a smoothing."""
        scores = np.stack([self._compared(name, smoothing[name]) for name in self.models], axis=2)
        scores = scores.reshape(len(scores), len(self.parts), -1)
        phi, cost = self._weights(scores, self.logs, self.centre).minimum(start, self.near)
        penalty = 0.5 * sum((smoothing[name] - START[name]) ** 2 for name in self.models)
        return _Found(smoothing, phi, cost + penalty)

    def grouped(self) -> tuple[Array, Array, _Found, Array]:
        """Return the least totals of groups of words, their exponents, what else was found, and biases of classes."""
        n, blocks, models, found = len(self.codes), len(self.words), len(self.models), self.walked()
        often = self.mean[:, None] * np.array(OFTEN if n >= GROUPED else OFTEN[:1])
        groups, ones = often.shape[1], np.ones((blocks, models, often.shape[1]))
        if not n:
            return often, ones, found, np.zeros(0)
        without = often + self.mean[:, None]  # the totals hold the document that is left out
        slots = Slots(self.known.block, blocks, self.known.groups(without), groups)
        each = np.stack([self._left_out(name, found.smoothing[name], slots, n) for name in self.models], axis=2)
        bent = self.bent
        if groups == 1 or bent is None or bent.shape[1] != groups + 1:
            whole = each.sum(axis=3).reshape(n, len(self.parts), -1)
            phi, cost = self._weights(whole, self.logs, self.centre).minimum(found.phi, self.near)
            if groups == 1:
                return often, ones, _Found(found.smoothing, phi, cost), np.zeros(0)
            bent = np.repeat(phi[:-2, None], groups + 1, axis=1)
        else:
            phi = found.phi
        # The last slot of a block has no words: its weight is u, and those of the groups are u + s.
        slot = groups + 1
        fit = self._weights(
            each.reshape(n, len(self.parts) * slot, -1),
            np.repeat(self.logs, slot, axis=1),
            np.repeat(self.centre, slot),
        )
        drawn = PULL * np.eye(slot)
        drawn[-1, :-1] = drawn[:-1, -1] = -PULL
        drawn[-1, -1] = 1.0 + PULL * groups  # ½ (u − centre)² + ½ PULL Σ s²
        fit.stiffness[:-2, :-2] = np.kron(np.eye(len(self.parts)), drawn)
        bent, cost = fit.minimum(np.append(bent.ravel(), phi[-2:]), self.near)
        by_slot = bent[:-2].reshape(blocks, models, slot)
        exponents = np.exp(by_slot[:, :, :-1] - by_slot[:, :, -1:])
        phi = np.append(by_slot[:, :, -1].ravel(), bent[-2:])
        return often, exponents, _Found(found.smoothing, phi, cost), fit.bias(bent)

    def walked(self) -> _Found:
        """Walk from the start, changing the smoothing of one event model at a time, until nothing improves."""
        start = self.start
        if not self.compared:
            return _Found(start, np.concatenate([self.centre, [0.0, -np.inf]]), 0.0)
        found, moved = self._at(start, self.phi), self.alpha is None
        while moved:
            moved = False
            for name in self.models:
                for step in (STEP, -STEP):
                    further = self._walk(found, name, step)
                    if further is not found:
                        found, moved = further, True
                        break
        return found

    def _walk(self, found: _Found, name: str, step: float) -> _Found:
        while LOWEST <= found.smoothing[name] + step <= HIGHEST:
            trial = self._at(found.smoothing | {name: found.smoothing[name] + step}, found.phi)
            if trial.cost >= found.cost:
                break
            found = trial
        return found


def _documents(start: NDArray[np.int64], features: int) -> int:
    """Return how many documents have up to so many features together; one at least, if there is one."""
    return max(int(np.searchsorted(start, features, side="right")) - 1, min(len(start) - 1, 1))


def _log_prior(documents: Array, codes: Codes, removed: Array) -> Array:
    """Compute log((n_y + 1) / (n + K)) without each document; no class is ever impossible."""
    left = np.repeat(documents[None], len(codes), axis=0)
    left[np.arange(len(codes)), codes] -= removed
    return np.asarray(np.log((left + 1.0) / (left.sum(axis=1, keepdims=True) + left.shape[1])))


class _Weights:
    """The objective over φ = (u, v, logit ε), and its minimum by Newton's method."""

    def __init__(
        self, log_prior: Array, scores: Array, logs: Array, codes: Codes, weight: Array, centre: Array, lengths: bool
    ):
        each = (scores, logs, log_prior)  # (n, p, K), (n, p), (n, K)
        self.scores, self.logs, self.log_prior = (np.ascontiguousarray(array) for array in each)
        self.codes = codes
        self.weight, self.p = weight, scores.shape[1]
        self.target = np.concatenate([centre, [0.0, 0.0]])
        self.stiffness = np.diag(np.concatenate([np.ones(self.p), [LENGTH_SPREAD**-2.0, 0.0]]))
        self.free = np.concatenate([np.ones(self.p), [lengths, 1.0]]).astype(bool)

    def minimum(self, start: Array | None, near: float = NEAR) -> tuple[Array, float]:
        """Return φ and the objective there."""
        phi = np.append(self.target[:-1], -np.log(self.weight.sum() + 1.0)) if start is None else start
        value, gradient, hessian = self._derivatives(phi)
        for _ in range(100):
            values, vectors = np.linalg.eigh(hessian)
            move = np.zeros(len(phi))
            move[self.free] = -vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), 1e-6))
            move *= min(1.0, 2.0 / max(float(np.abs(move).max()), 1e-300))  # at most 2 in any parameter
            slope, size = float(gradient @ move[self.free]), 1.0
            if -slope < near * max(1.0, abs(value)):  # the objective cannot show the improvement, but the slope does
                return phi + move, self._value(phi + move)
            trial, *derivatives = self._derivatives(phi + move)
            while trial > value + 1e-4 * size * slope and size >= 1e-8:
                size /= 2
                trial = self._value(phi + size * move)
            if trial < value:
                phi, value = phi + size * move, trial
                gradient, hessian = derivatives if size == 1.0 else self._derivatives(phi)[1:]
            if size < 1e-8:
                break
        return phi, value

    def _besides(self, phi: Array) -> tuple[float, float]:
        """Return ε, and what the priors add to the objective."""
        mixed = float(1.0 / (1.0 + np.exp(-phi[-1])))
        penalty = 0.5 * float((phi - self.target) @ self.stiffness @ (phi - self.target))
        return mixed, penalty - float(np.log(mixed) + np.log1p(-mixed))

    def _value(self, phi: Array) -> float:
        return self._loss(phi, None, None) + self._besides(phi)[1]

    def _loss(self, phi: Array, gradient: Array | None, hessian: Array | None) -> float:
        parts = self.scores, self.logs, self.log_prior
        return _core.weighted_loss(*parts, self.codes, self.weight, phi, gradient, hessian)

    def _derivatives(self, phi: Array) -> tuple[float, Array, Array]:
        """Compute the objective, and its gradient and Hessian over the free parameters."""
        gradient, hessian = np.empty(len(phi)), np.empty((len(phi), len(phi)))
        mixed, besides = self._besides(phi)
        value = self._loss(phi, gradient, hessian) + besides
        gradient += self.stiffness @ (phi - self.target)
        gradient[-1] -= 1.0 - 2.0 * mixed
        hessian += self.stiffness
        hessian[-1, -1] += (self.weight.sum() + 2.0) * mixed * (1.0 - mixed)
        return value, gradient[self.free], hessian[np.ix_(self.free, self.free)]

    def bias(self, phi: Array) -> Array:
        """Return the biases b of classes that have the least log-loss + ½ BIAS_PULL |b|², with φ as it is.

        The second derivatives are at most twice their diagonal, so that a step by it never goes too far.
        """
        mixed, rows = self._besides(phi)[0], np.arange(len(self.codes))
        factor = np.exp(phi[:-2] + phi[-2] * self.logs)
        z = self.log_prior + np.einsum("np,npk->nk", factor, self.scores, optimize=True)
        rest = mixed * np.exp(self.log_prior[rows, self.codes])
        out = np.zeros(z.shape[1])
        for _ in range(BIAS_STEPS):
            q = np.exp(z + out - (z + out).max(axis=1, keepdims=True))
            q /= q.sum(axis=1, keepdims=True)
            good = (1.0 - mixed) * q[rows, self.codes]
            share = self.weight * good / (good + rest)
            slope = share @ q - np.bincount(self.codes, share, len(out)) + BIAS_PULL * out
            step = slope / (2.0 * (share @ (q * (1.0 - q))) + BIAS_PULL)
            out -= step
            if np.abs(step).max() < BIAS_ENOUGH:
                break
        return np.asarray(out - out.mean())
