"""What texts come to, slowly: dense matrices, one document at a time, nothing from the code under test."""

from __future__ import annotations

import re
import warnings

import numpy as np
from scipy.special import gammaln
from sklearn.feature_extraction.text import CountVectorizer


def words_of(text):
    return [] if text is None else re.findall(r"\w\w+", text.lower())


def features_of(text, ngrams=(1, 1)):
    """Every feature as often as it occurs, by the number of its words."""
    words = words_of(text)
    return {n: [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)] for n in range(ngrams[0], ngrams[1] + 1)}


def analyze(text, tokenization):
    """The features of a text, by scikit-learn."""
    names = ("lowercase", "strip_accents", "analyzer", "ngram_range")
    options = {name: getattr(tokenization, name) for name in names}
    with warnings.catch_warnings(action="ignore"):  # stop words may be in a form that no text has
        return CountVectorizer(**options, stop_words=list(tokenization.stop_list) or None).build_analyzer()(text)


def word_ngrams(words, sizes):
    """The n-grams of words, by scikit-learn."""
    return CountVectorizer(preprocessor=list, tokenizer=list, ngram_range=sizes).build_analyzer()(words)


class Corpus:
    """Documents as dense values over a sorted vocabulary: their own, or a given one."""

    def __init__(self, texts, ngrams=(1, 1), term="count", norm=None, vocabulary=None):
        found = [features_of(text, ngrams) for text in texts]
        if vocabulary is None:
            vocabulary = sorted({name for each in found for names in each.values() for name in names})
        self.vocabulary = list(vocabulary)
        self.present = np.array([text is not None for text in texts], dtype=bool)
        self.block = np.array([name.count(" ") + 1 - ngrams[0] for name in self.vocabulary], dtype=int)
        blocks = ngrams[1] - ngrams[0] + 1
        place = {name: j for j, name in enumerate(self.vocabulary)}
        n = len(texts)
        self.count = np.zeros((n, len(place)))
        self.features = np.zeros((n, blocks))
        strange = np.zeros((n, blocks))
        for i, each in enumerate(found):
            for size, names in each.items():
                self.features[i, size - ngrams[0]] = len(names)
                for name in names:
                    if name in place:
                        self.count[i, place[name]] += 1
                    else:
                        strange[i, size - ngrams[0]] += 1
        self.value, self.unknown = np.zeros_like(self.count), np.zeros((n, blocks))
        for i in range(n):
            for b in range(blocks):
                mine = self.block == b
                value = np.array([as_term(c, term) for c in self.count[i, mine]])
                size = 1.0
                if norm == "l1":
                    size = value.sum() + strange[i, b]
                elif norm == "l2":
                    size = np.sqrt((value**2).sum() + strange[i, b])
                self.value[i, mine] = value / (size or 1.0)
                self.unknown[i, b] = strange[i, b] / size if norm and size else 0.0

    def totals(self, codes, classes, weight=None):
        """Σ w x of every class and word, and Σ w of the documents that are there."""
        weight = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
        total, documents = np.zeros((classes, len(self.vocabulary))), np.zeros(classes)
        for i, c in enumerate(codes):
            total[c] += weight[i] * self.value[i]
            documents[c] += weight[i] * self.present[i]
        return total, documents


def as_term(count, term):
    if not count:
        return 0.0
    return {"count": float(count), "binary": 1.0, "sqrt": np.sqrt(count), "log": 1.0 + np.log(count)}[term]


def times_log(x, p):
    """Σ x log p, what is 0 times saying nothing."""
    some = x > 0
    with np.errstate(divide="ignore"):
        return float((x[some] * np.log(p[some])).sum())


def score(event, added, x, unknown, present, total, documents):
    """Log p(x | y) of one document for every class; "complement" up to a constant where there are unknown words."""
    classes, size = total.shape
    out = np.zeros(classes)
    for y in range(classes):
        if event == "multinomial":
            bag = total[y].sum() + added * size
            share = (total[y] + added) / bag if bag > 0 else np.zeros(size)
            out[y] = times_log(x, share)
            if unknown:
                out[y] += unknown * np.log(added / bag) if added > 0 else -np.inf
        elif event == "complement":
            others = total.sum(axis=0) - total[y]
            others[others < 1e-12] = 0.0
            bag = others.sum() + added * size
            out[y] = -times_log(x, (others + added) / bag) + (unknown * np.log(bag) if unknown else 0.0)
        elif event == "bernoulli":
            if not present:
                continue
            number = documents[y] + 2 * added
            psi = (total[y] + added) / number if number > 0 else np.zeros(size)
            there = x > 0
            with np.errstate(divide="ignore"):
                out[y] = np.log(psi[there]).sum() + np.log(np.maximum(1 - psi[~there], 0)).sum()
        elif event == "urn":
            alpha = total[y] + added
            length = x.sum() + unknown
            some = x > 0
            out[y] = gammaln(alpha.sum()) - gammaln(alpha.sum() + length)
            out[y] += (gammaln(alpha[some] + x[some]) - gammaln(alpha[some])).sum()
    return out


def scores(event, added, corpus, total, documents):
    return np.array(
        [
            score(event, added, x, u, p, total, documents)
            for x, u, p in zip(corpus.value, corpus.unknown.sum(axis=1), corpus.present, strict=True)
        ]
    ).reshape(len(corpus.value), len(documents))


def left_out(event, added, corpus, codes, classes, weight=None, removed=None):
    """The same of each document where it is subtracted first, over the same vocabulary."""
    total, documents = corpus.totals(codes, classes, weight)
    removed = weight if removed is None else removed
    out = []
    for i, c in enumerate(codes):
        w = 1.0 if removed is None else removed[i]
        rest, left = total.copy(), documents.copy()
        rest[c] -= w * corpus.value[i]
        rest[np.abs(rest) < 1e-10] = 0.0
        left[c] -= w * corpus.present[i]
        left[np.abs(left) < 1e-10] = 0.0
        unknown = corpus.unknown[i].sum()
        out.append(score(event, added, corpus.value[i], unknown, corpus.present[i], rest, left))
    return np.array(out)


def posterior(joint):
    p = np.exp(joint - joint.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def centred(scores):
    """Scores up to what all classes share."""
    with np.errstate(invalid="ignore"):
        return scores - scores.max(axis=1, keepdims=True)


def random_texts(n, seed=0, vocabulary=14, classes=3, length=9):
    """Documents of a few words each, classes preferring some of them; every class is there, in numbers."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{chr(97 + i)}{chr(97 + i * 7 % 26)}" for i in range(vocabulary)])
    share = rng.dirichlet(np.full(vocabulary, 0.5), classes)
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)]).astype(np.int32)
    texts = [" ".join(rng.choice(words, rng.integers(0, length), p=share[c])) for c in codes]
    return texts, codes
