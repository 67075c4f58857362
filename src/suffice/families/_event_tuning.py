"""Choose the smoothing and the weights of event models by leaving documents out.

Each document that is kept with the totals is scored exactly by the model of all others. The scores of block b and
event model k (multinomial, complement) are combined as

    z_y = log π_y + Σ_b e^(v ℓ_b) Σ_k e^(u_bk) score_bky,      p_y = (1 − ε) softmax(z)_y + ε π_y

u, v and ε minimize the log-loss of the documents. Weak priors decide if there are few documents: u is normal around
its centre with standard deviation 1, v around 0 with ¼, and ε is Beta(2, 2), so that ε = 1 / (n + 2) if no document is
misclassified. The smoothing of each event model is searched on a grid of half decades around α = 10^r times the mean
value of a feature, with a normal prior of one decade. Points of the grid are compared by the documents of the least
hashes that have up to 600 000 features together, and u, v and ε are then fitted to all documents.

With enough documents, words are then put into groups by how often they occur, and what a class says that has the word,
coef, gets an exponent for each group:  score_bky = Σ_j x_j (base_bky + e^(s_bkg(j)) coef_bkjy). s is normal around 0
with standard deviation 1/√10, and is fitted together with v and ε; u stays. The standard deviation was settled by
cross-validation of leave-one-out scores of training documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes
from suffice.core.errors import MismatchError
from suffice.core.parallel import in_threads
from suffice.core.statistics import WordCounts
from suffice.core.validation import Held
from suffice.core.words import Tokenization, Weighting
from suffice.families._contract import Decisions
from suffice.families.documents import Bags
from suffice.families.event_models import (
    BernoulliModel,
    ComplementModel,
    EventModel,
    LinearEventModel,
    MixedModel,
    MultinomialModel,
    Part,
    Words,
)

MODELS: dict[str, Callable[[WordCounts, float, Words], LinearEventModel]] = {
    "multinomial": MultinomialModel,
    "complement": ComplementModel,
    "bernoulli": lambda counts, added, _: BernoulliModel(counts, added),
}
START = {"multinomial": -1.0, "complement": -0.5, "bernoulli": 0.0}  # log10 of α over the mean value of a feature
STEP, LOWEST, HIGHEST = 0.5, -4.0, 1.0
CENTRE = {"multinomial": float(np.log(0.5)), "complement": 0.0, "bernoulli": 0.0}  # of the logarithms of weights
FURTHER = -1.0  # added to the centre for every further block: longer n-grams repeat much of what shorter ones say
LENGTH_SPREAD = 0.25
CELLS = 1 << 21  # documents × classes that are scored
OFTEN = (0.0, 2.5, 9.5, 49.5, 299.5)  # documents of mean value from which on a word is in the next group
GROUPED = 500  # documents that are enough for an exponent for each group
PULL = 10.0  # of these exponents towards 1: the inverse of the variance of their logarithms
WALKED = 600_000  # features of the documents that points of the grid are compared by
MOST, MOST_EXPONENT, MOST_GROUPS = 1e100, 100.0, 100  # of what a file may say was found


TOGETHER = ("multinomial", "complement")  # whose sum is the event model "auto"


@dataclass(frozen=True, eq=False)
class TextDecisions(Decisions):
    """The smoothing and the weight of each event model in each block of words, the exponent of lengths, and ε.

    `often` is the total from which on a word is in each group, and `exponents` are those of the groups. Where there is
    one event model, there is one block and one group, its weight and exponent are 1, and the rest is 0.
    """

    smoothing: Annotated[Array, Held("blocks", "models", above=0, most=MOST)]
    weight: Annotated[Array, Held("blocks", "models", least=0, most=MOST)]
    exponent: Annotated[float, Held(least=-MOST_EXPONENT, most=MOST_EXPONENT)]
    length: Annotated[Array, Held("blocks")]
    mixed: Annotated[float, Held(least=0, most=1)]
    often: Annotated[Array, Held("blocks", "groups", least=0)]
    exponents: Annotated[Array, Held("blocks", "models", "groups", least=0, most=MOST)]

    def check_for(self, event: str, tokenization: Tokenization) -> None:
        """Refuse decisions about other event models or blocks."""
        expected = (tokenization.n_sizes, len(TOGETHER)) if event == "auto" else (1, 1)
        if self.smoothing.shape != expected:
            raise MismatchError(f"Decisions of shape {expected} were expected, found {self.smoothing.shape}")
        if not 1 <= self.often.shape[1] <= MOST_GROUPS or (np.diff(self.often, axis=1) < 0).any():
            raise MismatchError(f"Totals of 1 to {MOST_GROUPS} groups that ascend were expected, found {self.often}")

    def model(self, words: BlocksOfWords, event: str) -> EventModel:
        """Return the event model that was decided on."""
        counts = words.counts
        if event != "auto":
            return MODELS[event](counts, float(self.smoothing[0, 0]), Words.all(counts))
        parts = [
            Part(b, float(self.weight[b, k]), MODELS[name](counts, float(self.smoothing[b, k]), own), exponents)
            for b, own in enumerate(words.each)
            for k, (name, exponents) in enumerate(zip(TOGETHER, self.exponents[b], strict=True))
        ]
        group = words.groups(self.often)
        return MixedModel(counts, words.block, group, parts, self.exponent, self.length, self.mixed)


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
                out += (own.by_word >= least) & (own.by_word > 0)
        return out


def tuned(
    words: BlocksOfWords, event: str, weighting: Weighting, tokenization: Tokenization, alpha: float | None
) -> TextDecisions:
    """Choose the weights of an event model, and its smoothing unless it is given, by leaving documents out."""
    if event == "auto":
        search = _Search(words, words.each, TOGETHER, weighting, tokenization, alpha, lengths=True)
        often, exponents, found = search.grouped(words)
        weight = np.exp(found.phi[:-2]).reshape(len(words.each), len(TOGETHER))
        return TextDecisions(
            search.added(found), weight, float(found.phi[-2]), search.length, found.mixed, often, exponents
        )
    search = _Search(words, [Words.all(words.counts)], (event,), weighting, tokenization, alpha, lengths=False)
    smoothing, one = search.added(search.best()), np.ones((1, 1))
    return TextDecisions(smoothing, one, 0.0, np.zeros(1), 0.0, np.zeros((1, 1)), one[None])


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
        self,
        known: BlocksOfWords,
        words: list[Words],
        models: tuple[str, ...],
        weighting: Weighting,
        tokenization: Tokenization,
        alpha: float | None,
        lengths: bool,
    ):
        counts, block = known.counts, known.block
        self.counts, self.words, self.models, self.alpha, self.lengths = counts, words, models, alpha, lengths
        self.parts = [(b, name) for b in range(len(words)) for name in models]
        self.centre = np.array([CENTRE[name] + FURTHER * b for b, name in self.parts])
        bags = Bags.kept(counts, weighting, block, tokenization.n_sizes, max(CELLS // max(counts.n_classes, 1), 1))
        n = len(bags)
        self.codes, self.weight = counts.kept.codes[:n], counts.kept.weight[:n]
        self.work = 64 * len(bags.feature)
        self.walked = max(int(np.searchsorted(bags.start, WALKED, side="right")) - 1, min(n, 1))
        several = range(len(words)) if len(words) > 1 else ()
        self.bags = in_threads(lambda b: bags.only(block, b), several, self.work) or [bags]
        logs = np.log1p(bags.features if len(words) > 1 else bags.features.sum(axis=1, keepdims=True))
        self.length = self.weight @ logs / self.weight.sum() if n else np.zeros(logs.shape[1])
        self.logs = logs - self.length
        self.mean = [float(each.value.mean()) if len(each.value) else 1.0 for each in self.bags]
        self.log_prior = _log_prior(counts.documents, self.codes, np.minimum(self.weight, 1.0))
        self._scores: dict[tuple[int, str, float], Array] = {}
        self._parts: dict[tuple[int, int, int], Bags] = {}
        self._models: dict[tuple[int, str], LinearEventModel] = {}

    def _added(self, b: int, smoothing: float) -> float:
        """Return what is added to the totals of a block."""
        return self.mean[b] * 10.0**smoothing if self.alpha is None else self.alpha

    def added(self, found: _Found) -> Array:
        """Return what is added to the totals of each block by each event model, (blocks, models)."""
        each = [self._added(b, found.smoothing[name]) for b, name in self.parts]
        return np.array(each).reshape(len(self.words), len(self.models))

    def _score(self, b: int, name: str, smoothing: float, n: int) -> Array:
        """Return the scores of the first n documents, each left out; those of some of them may be known."""
        known = self._scores.get((b, name, smoothing))
        first = 0 if known is None else len(known)
        if first < n:
            some = slice(first, n)
            model = self._model(b, name, smoothing)
            found = model.leave_one_out(self._rows(b, first, n), self.codes[some], np.minimum(self.weight[some], 1.0))
            found -= found.mean(axis=1, keepdims=True)
            known = found if known is None else np.concatenate([known, found])
            self._scores[b, name, smoothing] = known
        assert known is not None
        return known[:n]

    def _model(self, b: int, name: str, smoothing: float) -> LinearEventModel:
        """Return an event model; the last one of each part is kept with its coefficients."""
        known = self._models.get((b, name))
        if known is None or known.added != self._added(b, smoothing):
            known = self._models[b, name] = MODELS[name](self.counts, self._added(b, smoothing), self.words[b])
        return known

    def _rows(self, b: int, first: int, last: int) -> Bags:
        """Return some of the documents; many points of the grid ask for the same."""
        key = (b, first, last)
        if key not in self._parts:
            self._parts[key] = self.bags[b].rows(slice(first, last))
        return self._parts[key]

    def _at(self, smoothing: dict[str, float], start: Array | None, n: int) -> _Found:
        """Find the best weights for a smoothing by n documents."""
        each = in_threads(lambda part: self._score(*part, smoothing[part[1]], n), self.parts, self.work)
        scores = np.array(each)
        logs = np.array([self.logs[:n, b] for b, _ in self.parts])
        rows = self.codes[:n], self.weight[:n]
        fit = _Weights(self.log_prior[:n], scores, logs, *rows, self.centre, self.lengths)
        phi, cost = fit.minimum(start)
        penalty = 0.5 * sum((smoothing[name] - START[name]) ** 2 for name in self.models)
        return _Found(smoothing, phi, cost + penalty)

    def best(self) -> _Found:
        """Walk from the start, changing the smoothing of one event model at a time, until nothing improves.

        Some of the documents are enough to compare points of the grid; the weights are then those of all documents.
        """
        n = len(self.codes)
        if not n:
            start = {name: START[name] for name in self.models}
            return _Found(start, np.concatenate([self.centre, [0.0, -np.inf]]), 0.0)
        found = self._start()
        return found if n == self.walked else self._at(found.smoothing, found.phi, n)

    def _start(self) -> _Found:
        """Find the smoothing by some of the documents."""
        start = {name: START[name] for name in self.models}
        return self._walked(self._at(start, None, self.walked), self.walked)

    def grouped(self, words: BlocksOfWords) -> tuple[Array, Array, _Found]:
        """Return the least totals of groups of words, their exponents, and what else was found."""
        n, blocks, models = len(self.codes), len(self.words), len(self.models)
        if n < GROUPED:
            return np.zeros((blocks, 1)), np.ones((blocks, models, 1)), self.best()
        often = np.array(self.mean)[:, None] * np.array(OFTEN)
        group, groups = words.groups(often), often.shape[1]
        found, own = self._start(), [bags.groups(group, groups) for bags in self.bags]
        each = in_threads(lambda part: self._by_group(own, *part, found.smoothing[part[1]]), self.parts, self.work)
        found = self._at(found.smoothing, found.phi, n)
        logs = np.repeat([self.logs[:, b] for b, _ in self.parts], groups + 1, axis=0)
        common, free = np.repeat(found.phi[:-2], groups + 1), np.tile(np.arange(groups + 1) < groups, len(self.parts))
        rows = self.codes, self.weight
        fit = _Weights(self.log_prior, np.concatenate(each), logs, *rows, common, self.lengths)
        fit.stiffness[:-2] = PULL
        fit.free[:-2] = free
        phi, cost = fit.minimum(np.append(common, found.phi[-2:]))
        exponents = np.exp(phi[:-2] - common)[free].reshape(blocks, models, groups)
        return often, exponents, _Found(found.smoothing, np.append(found.phi[:-2], phi[-2:]), cost)

    def _by_group(self, own: list[list[Bags]], b: int, name: str, smoothing: float) -> Array:
        """Return the scores of all documents, each left out, in groups; their sums are then known as well."""
        model = self._model(b, name, smoothing)
        out = model.leave_one_out_by(self.bags[b], own[b], self.codes, np.minimum(self.weight, 1.0))
        out -= out.mean(axis=2, keepdims=True)
        self._scores[b, name, smoothing] = out.sum(axis=0)
        return out

    def _walked(self, found: _Found, n: int) -> _Found:
        moved = self.alpha is None
        while moved:
            moved = False
            for name in self.models:
                for step in (STEP, -STEP):
                    further = self._walk(found, name, step, n)
                    if further is not found:
                        found, moved = further, True
                        break
        return found

    def _walk(self, found: _Found, name: str, step: float, n: int) -> _Found:
        while LOWEST <= found.smoothing[name] + step <= HIGHEST:
            trial = self._at(found.smoothing | {name: found.smoothing[name] + step}, found.phi, n)
            if trial.cost >= found.cost:
                break
            found = trial
        return found


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
        self.log_prior, self.scores, self.logs = log_prior, scores, logs  # (n, K), (p, n, K), (p, n)
        self.codes, self.weight, self.at = codes, weight, np.arange(len(codes))
        self.own_prior = np.exp(log_prior[self.at, codes])
        self.p = len(scores)
        self.target = np.concatenate([centre, [0.0, 0.0]])
        self.stiffness = np.concatenate([np.ones(self.p), [LENGTH_SPREAD**-2.0, 0.0]])
        self.free = np.concatenate([np.ones(self.p), [lengths, 1.0]]).astype(bool)

    def minimum(self, start: Array | None) -> tuple[Array, float]:
        """Return φ and the objective there."""
        phi = np.append(self.target[:-1], -np.log(self.weight.sum() + 1.0)) if start is None else start
        value = self._value(phi)
        for _ in range(100):
            gradient, hessian = self._derivatives(phi)
            values, vectors = np.linalg.eigh(hessian)
            move = np.zeros(len(phi))
            move[self.free] = -vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), 1e-6))
            move *= min(1.0, 2.0 / max(float(np.abs(move).max()), 1e-300))  # at most 2 in any parameter
            slope, size = float(gradient @ move[self.free]), 1.0
            trial = self._value(phi + move)
            if -slope < 1e-9 * max(1.0, abs(value)):  # the objective cannot show the improvement, but the slope does
                return phi + move, trial
            while trial > value + 1e-4 * size * slope and size >= 1e-8:
                size /= 2
                trial = self._value(phi + size * move)
            if trial < value:
                phi, value = phi + size * move, trial
            if size < 1e-8:
                break
        return phi, value

    def _factors(self, phi: Array) -> Array:
        """Compute e^(u + v ℓ), (p, n)."""
        return np.asarray(np.exp(phi[: self.p, None] + phi[-2] * self.logs))

    def _parts(self, phi: Array) -> tuple[Array, float]:
        """Compute the softmax and ε."""
        z = self.log_prior + np.einsum("pn,pnk->nk", self._factors(phi), self.scores)
        z -= z.max(axis=1, keepdims=True)
        q = np.exp(z)
        q /= q.sum(axis=1, keepdims=True)
        return q, float(1.0 / (1.0 + np.exp(-phi[-1])))

    def _value(self, phi: Array) -> float:
        q, mixed = self._parts(phi)
        p = (1.0 - mixed) * q[self.at, self.codes] + mixed * self.own_prior
        penalty = 0.5 * float(self.stiffness @ (phi - self.target) ** 2)
        return float(-self.weight @ np.log(p)) + penalty - float(np.log(mixed) + np.log1p(-mixed))

    def _derivatives(self, phi: Array) -> tuple[Array, Array]:
        """Compute the gradient and the Hessian over the free parameters."""
        p, w = self.p, self.weight
        (q, mixed), factors = self._parts(phi), self._factors(phi)
        moved = np.empty((p + 1, *q.shape))  # ∂z/∂u, ∂z/∂v
        np.multiply(factors[:, :, None], self.scores, out=moved[:p])
        moved[p] = np.einsum("pn,pnk->nk", self.logs * factors, self.scores)
        good = (1.0 - mixed) * q[self.at, self.codes]
        r = good / (good + mixed * self.own_prior)  # the share of the softmax in p_y
        mean = (moved * q).sum(axis=2)
        d = moved[:, self.at, self.codes] - mean  # ∂ log q_y
        gradient, hessian = np.zeros(p + 2), np.zeros((p + 2, p + 2))
        gradient[: p + 1] = -d @ (w * r)
        flat = moved.reshape(p + 1, -1)
        hessian[: p + 1, : p + 1] = (flat * (q * (w * r)[:, None]).ravel()) @ flat.T - (mean * (w * r)) @ mean.T
        second = d[:p] * (w * r)  # of the curvature of e^u
        cross = (second * self.logs).sum(axis=1)
        hessian[np.arange(p), np.arange(p)] -= second.sum(axis=1)
        hessian[:p, p] -= cross
        hessian[p, :p] -= cross
        hessian[p, p] -= (second * self.logs**2).sum()
        step = np.concatenate([d, -np.ones((1, len(w)))])  # ∂ of the log-odds of softmax against prior
        hessian -= (step * (w * r * (1.0 - r))) @ step.T
        gradient[p + 1] = -float(w @ ((1.0 - r) - mixed)) - (1.0 - 2.0 * mixed)
        hessian[p + 1, p + 1] += (w.sum() + 2.0) * mixed * (1.0 - mixed)
        gradient += self.stiffness * (phi - self.target)
        hessian += np.diag(self.stiffness)
        return gradient[self.free], hessian[np.ix_(self.free, self.free)]
