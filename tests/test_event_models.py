"""Event models against dense formulas, against scikit-learn, and against leaving documents out for real."""

import itertools
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import suffice as sf
from suffice.core.errors import ImpossibleRowWarning, InvalidOptionError, MismatchError, NoDistributionError
from suffice.core.words import Texts
from suffice.families import _event_tuning as event_tuning
from suffice.families import documents as bags
from suffice.families._event_tuning import _Weights
from suffice.families.documents import Bags
from suffice.families.event_models import MixedModel
from text_oracle import Corpus, centred, left_out, posterior, random_texts, scores

CLASSES = 3
TEXTS, CODES = random_texts(24)
TEXTS[5], TEXTS[9] = None, ""
LABELS = np.array(["a", "b", "c"])[CODES]
WEIGHT = np.random.default_rng(1).choice([0.25, 1.0, 2.0, 3.5], len(TEXTS))
NEW = ["wah wbo wbo", "nothing known here", "wcv unknown wcv wdc", "", None, "wah", "wnn zz wnn wnn zz"]

EVENTS = {
    "multinomial": ("multinomial", "mean", "multinomial"),
    "complement": ("complement", "mean", "complement"),
    "bernoulli": ("bernoulli", "mean", "bernoulli"),
    "urn": ("multinomial", "predictive", "urn"),
}
WEIGHTINGS = list(itertools.product(["count", "binary", "sqrt", "log"], [None, "l1", "l2"]))


def fitted(family, texts=TEXTS, labels=LABELS, weight=None):
    found = family.summarize(texts, labels, weight)
    return found.statistic, family.estimate(found.statistic)


def family_of(event, added, **options):
    name, learn, _ = EVENTS[event]
    prior = sf.Dirichlet(added) if added else None
    return sf.Text(event=name, prior=prior, learn=learn if added else "mle", **options)


def combinations():
    for event in EVENTS:
        weightings = [("binary", None)] if event == "bernoulli" else WEIGHTINGS
        for (term, norm), ngrams in itertools.product(weightings, [(1, 1), (1, 2), (2, 3)]):
            yield event, term, norm, ngrams


# ---- scores


@pytest.mark.parametrize(("event", "term", "norm", "ngrams"), list(combinations()))
def test_scores_are_those_of_the_dense_formula(event, term, norm, ngrams):
    family = family_of(event, 0.7, term_weight=term, length_norm=norm, ngrams=ngrams)
    for weight in (None, WEIGHT):
        _, distribution = fitted(family, weight=weight)
        corpus = Corpus(TEXTS, ngrams, term, norm)
        assert list(distribution.vocabulary.names) == corpus.vocabulary
        total, documents = corpus.totals(CODES, CLASSES, weight)
        own = scores(EVENTS[event][2], 0.7, corpus, total, documents)
        assert_allclose(distribution.log_density(Texts.of(TEXTS)), own, rtol=1e-10, atol=1e-10)
        new = Corpus(NEW, ngrams, term, norm, corpus.vocabulary)
        expected = scores(EVENTS[event][2], 0.7, new, total, documents)
        assert_allclose(centred(distribution.relative_log_density(Texts.of(NEW))), centred(expected), atol=1e-10)
        if norm is None:
            assert_allclose(distribution.log_density(Texts.of(NEW)), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
def test_without_smoothing_a_word_that_a_class_never_had_excludes_it(event):
    _, distribution = fitted(family_of(event, 0.0))
    corpus = Corpus(TEXTS, term="binary" if event == "bernoulli" else "count")
    total, documents = corpus.totals(CODES, CLASSES)
    expected = scores(event, 0.0, corpus, total, documents)
    found = distribution.log_density(Texts.of(TEXTS))
    assert np.isneginf(expected).any()
    assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert_array_equal(found[5], 0.0, "a missing text says nothing")


def test_without_smoothing_an_unknown_word_says_nothing_or_where_it_is_part_of_the_length_everything():
    _, plain = fitted(family_of("multinomial", 0.0))
    said = plain.log_density(Texts.of(["wah", "wah zzz"]))
    assert_array_equal(said[0], said[1])
    _, normed = fitted(family_of("multinomial", 0.0, length_norm="l2"))
    assert_array_equal(normed.log_density(Texts.of(["zzz wah"])), -np.inf)


def test_map_with_a_flat_prior_is_maximum_likelihood_and_otherwise_the_mode():
    flat = fitted(sf.Text(prior=sf.Dirichlet(1.0), learn="map"))[1]
    mle = fitted(sf.Text(prior=None))[1]
    assert_array_equal(flat.log_density(Texts.of(TEXTS)), mle.log_density(Texts.of(TEXTS)))
    mode = fitted(sf.Text(prior=sf.Dirichlet(1.5), learn="map"))[1]
    half = fitted(sf.Text(prior=sf.Dirichlet(0.5)))[1]
    assert_array_equal(mode.log_density(Texts.of(TEXTS)), half.log_density(Texts.of(TEXTS)))


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
@pytest.mark.parametrize("alpha", [1.0, 0.1])
@pytest.mark.parametrize(
    ("event", "peer"), [("multinomial", MultinomialNB), ("complement", ComplementNB), ("bernoulli", BernoulliNB)]
)
def test_models_are_those_of_scikit_learn(event, peer, alpha, ngrams):
    texts = [text or "" for text in TEXTS]
    counts = CountVectorizer(ngram_range=ngrams, binary=event == "bernoulli")
    theirs = peer(alpha=alpha).fit(counts.fit_transform(texts), LABELS, WEIGHT)
    ours = sf.TextClassifier(event=event, ngrams=ngrams, smoothing=alpha, calibrate=False).fit(texts, LABELS, WEIGHT)
    new = [text or "" for text in NEW] + texts
    joint = theirs.predict_joint_log_proba(counts.transform(new))
    if event == "complement":  # scikit-learn leaves the class prior out
        joint = joint + theirs.class_log_prior_
    assert_allclose(ours.predict_proba(new), posterior(joint), rtol=1e-10, atol=1e-14)


# ---- leaving one out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("event", "term", "norm", "ngrams"), list(combinations()))
def test_leaving_one_out_is_subtracting_it_and_estimating_again(event, term, norm, ngrams, weighted):
    weight = WEIGHT if weighted else None
    family = family_of(event, 0.4, term_weight=term, length_norm=norm, ngrams=ngrams)
    counts, distribution = fitted(family, weight=weight)
    corpus = Corpus(TEXTS, ngrams, term, norm)
    expected = left_out(EVENTS[event][2], 0.4, corpus, CODES, CLASSES, weight)
    found = family.leave_one_out(counts, distribution, family.read(TEXTS), CODES, weight)
    assert_allclose(centred(found), centred(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
def test_leaving_one_out_without_smoothing_knows_what_becomes_impossible(event, weighted):
    texts, codes = random_texts(30, seed=4, vocabulary=6, length=14)
    codes[4], texts[4] = 2, "only here"
    weight = np.tile([1.0, 0.5, 2.0], 10) if weighted else None
    family = family_of(event, 0.0)
    counts, distribution = fitted(family, texts, codes, weight)
    corpus = Corpus(texts, term="binary" if event == "bernoulli" else "count")
    expected = left_out(event, 0.0, corpus, codes, CLASSES, weight)
    found = family.leave_one_out(counts, distribution, family.read(texts), codes, weight)
    assert np.isneginf(expected).any()
    assert np.isfinite(expected).any()
    assert_array_equal(np.isneginf(found), np.isneginf(expected))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("event", list(EVENTS))
def test_the_only_document_of_a_class_can_be_left_out(event):
    texts, codes = ["red green", "green blue", "blue", "red red"], np.array([0, 1, 1, 1], dtype=np.int32)
    family = family_of(event, 1.0)
    counts, distribution = fitted(family, texts, codes)
    expected = left_out(EVENTS[event][2], 1.0, Corpus(texts, term=family.term_weight), codes, 2)
    found = family.leave_one_out(counts, distribution, family.read(texts), codes, None)
    assert_allclose(centred(found), centred(expected), rtol=1e-9, atol=1e-12)


def test_leave_one_out_of_the_classifier_leaves_the_document_out_of_the_prior_too():
    texts = [text or "" for text in TEXTS]
    clf = sf.TextClassifier(event="complement", ngrams=(1, 1), smoothing=0.4, calibrate=False).fit(texts, LABELS)
    corpus = Corpus(texts)
    rest = np.bincount(CODES)[None] - np.eye(CLASSES)[CODES]
    joint = left_out("complement", 0.4, corpus, CODES, CLASSES) + np.log(rest / rest.sum(axis=1, keepdims=True))
    assert_allclose(np.exp(clf.leave_one_out(texts, LABELS)), posterior(joint), rtol=1e-9)


def test_rows_that_nothing_explains_get_the_prior_with_a_warning():
    clf = sf.TextClassifier(event="multinomial", smoothing=0, calibrate=False, ngrams=(1, 1))
    clf.fit(["red red", "blue", "blue blue"], ["r", "b", "b"])
    with pytest.warns(ImpossibleRowWarning):
        assert_allclose(clf.predict_proba(["red blue"]), [[2 / 3, 1 / 3]])
    with pytest.warns(ImpossibleRowWarning):
        found = clf.leave_one_out(["red red", "blue", "blue blue"], ["r", "b", "b"])
    assert not np.isnan(found).any()


# ---- options


@pytest.mark.parametrize(
    "options",
    [
        {"event": "complement", "prior": None},
        {"event": "auto", "prior": None},
        {"event": "complement", "prior": sf.Dirichlet(0.0)},
        {"event": "complement", "learn": "predictive"},
        {"event": "complement", "learn": "map"},
        {"event": "bernoulli", "term_weight": "sqrt"},
        {"event": "bernoulli", "length_norm": "l1"},
        {"prior": "auto", "learn": "predictive"},
        {"prior": sf.Dirichlet(0.5), "learn": "map"},
        {"prior": sf.Dirichlet(0.0), "learn": "predictive"},
        {"prior": sf.Dirichlet(np.array([1.0, 2.0]))},
        {"prior": sf.Gamma()},
        {"event": "poisson"},
        {"term_weight": "tfidf"},
        {"length_norm": "l3"},
        {"ngrams": (2, 1)},
        {"ngrams": (0, 1)},
        {"learn": "guess"},
    ],
    ids=str,
)
def test_options_without_a_meaning_are_refused(options):
    with pytest.raises(InvalidOptionError):
        sf.Text(**options)


def test_a_bernoulli_prediction_of_one_document_is_the_posterior_mean():
    assert sf.Text(event="bernoulli", learn="predictive").learn == "mean"


# ---- probabilities, contrasts


@pytest.mark.parametrize("event", ["multinomial", "complement", "urn"])
def test_probabilities_of_words_sum_to_one(event):
    _, distribution = fitted(family_of(event, 0.3))
    p = distribution.event.probability(0, len(distribution.vocabulary))
    total, _ = Corpus(TEXTS).totals(CODES, CLASSES)
    assert_allclose(p, (total + 0.3) / (total + 0.3).sum(axis=1, keepdims=True), rtol=1e-12)


def test_probabilities_of_words_being_there():
    _, distribution = fitted(family_of("bernoulli", 0.3))
    total, documents = Corpus(TEXTS, term="binary").totals(CODES, CLASSES)
    expected = (total + 0.3) / (documents + 0.6)[:, None]
    assert_allclose(distribution.event.probability(0, total.shape[1]), expected, rtol=1e-12)


@pytest.mark.parametrize("norm", [None, "l2"])
@pytest.mark.parametrize("event", [*EVENTS, "auto"])
def test_what_words_add_is_the_difference_of_scores(event, norm):
    ngrams = (1, 2) if event == "auto" else (1, 1)
    options = {"ngrams": ngrams} | ({} if event == "bernoulli" else {"length_norm": norm})
    family = sf.Text(event="auto", **options) if event == "auto" else family_of(event, 0.5, **options)
    _, distribution = fitted(family)
    for known in distribution.bags(Texts.of(NEW)):
        for first, second in [(0, 1), (2, 0), (1, 1)]:
            a, b = np.full(len(NEW), first), np.full(len(NEW), second)
            told = known.sums(distribution.event.contrast(known, a, b))
            told = told + sum(distribution.event.contrast_besides(known, a, b).values())
            score = distribution.relative_log_density(Texts.of(NEW))
            assert_allclose(told, score[:, first] - score[:, second], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
def test_a_word_that_excludes_a_class_says_so(event):
    texts = ["red green", "red", "blue green", "blue"]
    clf = sf.TextClassifier(event=event, ngrams=(1, 1), smoothing=0, calibrate=False).fit(texts, ["r", "r", "b", "b"])
    said = clf.evidence("red green", "r", "b")
    values = dict(zip(said.rows, said.values[:, 0], strict=True))
    assert values["red"] == values["(sum)"] == np.inf
    assert values["green"] == values["(calibration)"] == 0
    if event == "bernoulli":
        with pytest.warns(ImpossibleRowWarning):
            said = clf.evidence("green", "r", "b")
        assert not np.isnan(said.values).any()
    other = clf.evidence("red", "b", "r")
    values = dict(zip(other.rows, other.values[:, 0], strict=True))
    assert values["red"] == values["(sum)"] == -np.inf
    assert values["(calibration)"] == 0


def test_complement_scores_are_no_density():
    _, distribution = fitted(family_of("complement", 1.0))
    with pytest.raises(NoDistributionError, match="complement"):
        distribution.event.density  # noqa: B018
    with pytest.raises(NoDistributionError):
        distribution.sample(np.zeros(1, np.int32), np.random.default_rng(0))


@pytest.mark.parametrize("event", [*EVENTS, "auto"])
def test_no_vocabulary_means_no_evidence(event):
    family = sf.Text(event="auto") if event == "auto" else family_of(event, 1.0)
    _, distribution = fitted(family, ["a", "b", None], ["x", "y", "x"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(centred(distribution.relative_log_density(Texts.of(["a", "hello", None]))), 0.0)


# ---- what is chosen


def softmax_log_loss(phi, log_prior, parts, logs, codes, weight, centre):
    """The tuner's objective as its description says it, one document at a time."""
    u, v, e = phi[:-2], phi[-2], 1 / (1 + np.exp(-phi[-1]))
    loss = 0.0
    for i, y in enumerate(codes):
        z = log_prior[i] + sum(np.exp(u[k] + v * logs[k, i]) * parts[k, i] for k in range(len(u)))
        q = np.exp(z - z.max())
        p = (1 - e) * q / q.sum() + e * np.exp(log_prior[i])
        loss -= weight[i] * np.log(p[y])
    loss += 0.5 * ((u - centre) ** 2).sum() + 0.5 * (v / 0.25) ** 2
    return loss - np.log(e) - np.log(1 - e)


def random_problem(seed, n=40, classes=4, parts=3):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, n).astype(np.int32)
    found = rng.normal(0, 2.0, (parts, n, classes))
    found[:, np.arange(n), codes] += rng.normal(1.5, 1.0, n)
    found -= found.mean(axis=2, keepdims=True)
    prior = np.log(np.repeat(rng.dirichlet(np.full(classes, 5.0))[None], n, axis=0))
    logs = rng.normal(0, 0.7, (parts, n))
    return prior, found, logs, codes, rng.choice([0.5, 1.0, 3.0], n), np.log([0.5, 1.0, 0.2])[:parts]


def weights_of(log_prior, parts, logs, *rest):
    """The tuner reads parts document by document."""
    return _Weights(log_prior, parts.transpose(1, 0, 2), logs.T, *rest, True)


@pytest.mark.parametrize("seed", range(4))
def test_the_weights_are_where_scipy_finds_the_minimum(seed):
    problem = random_problem(seed)
    fit = weights_of(*problem)
    phi, value = fit.minimum(None)
    assert_allclose(value, softmax_log_loss(phi, *problem), rtol=1e-10)
    start = np.append(problem[-1], [0.0, -np.log(problem[4].sum() + 1.0)])
    theirs = minimize(softmax_log_loss, start, problem, method="BFGS", options={"gtol": 1e-7})
    assert_allclose(value, theirs.fun, rtol=1e-7)
    assert_allclose(phi, theirs.x, atol=1e-3)


def test_the_gradient_and_the_hessian_are_those_of_the_objective():
    problem = random_problem(9)
    fit = weights_of(*problem)
    rng = np.random.default_rng(0)
    for _ in range(3):
        phi = np.append(rng.normal(-0.5, 0.5, 4), rng.normal(-2, 1))
        value, gradient, hessian = fit._derivatives(phi)
        assert value == pytest.approx(fit._value(phi), rel=1e-12)
        step = np.eye(5) * 1e-5
        slopes = [(fit._value(phi + s) - fit._value(phi - s)) / 2e-5 for s in step]
        curves = [(fit._derivatives(phi + s)[1] - fit._derivatives(phi - s)[1]) / 2e-5 for s in step]
        assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-5)
        assert_allclose(hessian, np.array(curves), rtol=1e-6, atol=1e-5)


def recipe(texts, codes, classes, ngrams, alpha=None):
    """Event 'auto' from its description: exact scores of documents left out, SciPy's minimum on every grid point."""
    corpus = Corpus(texts, ngrams, "sqrt", "l2")
    blocks = ngrams[1] - ngrams[0] + 1
    kinds, start = ("multinomial", "complement"), {"multinomial": -1.0, "complement": -0.5}
    centre = np.array([c - b for b in range(blocks) for c in (np.log(0.5), 0.0)])
    rest = np.bincount(codes, minlength=classes) - np.eye(classes)[codes]
    log_prior = np.log((rest + 1) / (rest.sum(axis=1, keepdims=True) + classes))
    length = np.log1p(corpus.features).mean(axis=0)
    logs = np.repeat((np.log1p(corpus.features) - length).T, 2, axis=0)
    parts_of = []
    for b in range(blocks):
        part = Corpus(texts, (ngrams[0] + b, ngrams[0] + b), "sqrt", "l2")
        parts_of.append((part, part.value[part.value > 0].mean()))

    def added(b, kind, place):
        return alpha if alpha is not None else parts_of[b][1] * 10.0 ** place[kind]

    def cost(place, phi):
        parts = []
        for b, (part, _) in enumerate(parts_of):
            for kind in kinds:
                found = left_out(kind, added(b, kind, place), part, codes, classes)
                parts.append(found - found.mean(axis=1, keepdims=True))
        problem = (log_prior, np.array(parts), logs, codes, np.ones(len(codes)), centre)
        found = minimize(softmax_log_loss, phi, problem, method="BFGS", options={"gtol": 1e-6})
        return found.fun + 0.5 * sum((place[kind] - start[kind]) ** 2 for kind in kinds), found.x

    place = dict(start)
    best, phi = cost(place, np.append(centre, [0.0, -np.log(len(codes) + 1.0)]))
    moved = alpha is None
    while moved:
        moved = False
        for kind in kinds:
            for step in (0.5, -0.5):
                went = False
                while -4 <= place[kind] + step <= 1:
                    trial = place | {kind: place[kind] + step}
                    value, at = cost(trial, phi)
                    if value >= best:
                        break
                    place, best, phi, moved, went = trial, value, at, True, True
                if went:
                    break

    def predict(new):
        z = np.repeat(np.log(np.bincount(codes) / len(codes))[None], len(new), axis=0)
        for b, (part, _) in enumerate(parts_of):
            size = (ngrams[0] + b, ngrams[0] + b)
            seen = Corpus(new, size, "sqrt", "l2", part.vocabulary)
            total, documents = part.totals(codes, classes)
            factor = np.exp(phi[-2] * (np.log1p(seen.features[:, 0]) - length[b]))
            for k, kind in enumerate(kinds):
                said = scores(kind, added(b, kind, place), seen, total, documents)
                z += (np.exp(phi[2 * b + k]) * factor)[:, None] * (said - said.mean(axis=1, keepdims=True))
        mixed = 1 / (1 + np.exp(-phi[-1]))
        return (1 - mixed) * posterior(z) + mixed * np.bincount(codes) / len(codes)

    return place, phi, predict


@pytest.mark.parametrize(("ngrams", "alpha"), [((1, 1), None), ((1, 2), None), ((1, 2), 0.2)])
def test_auto_is_its_recipe(ngrams, alpha):
    texts, codes = random_texts(18, seed=11, vocabulary=9, length=8)
    texts = [text + f" wzz{chr(97 + i)}" for i, text in enumerate(texts)]  # no two alike
    place, phi, predict = recipe(texts, codes, CLASSES, ngrams, alpha)
    clf = sf.TextClassifier(ngrams=ngrams, smoothing="auto" if alpha is None else alpha).fit(texts, codes)
    event = clf.event_
    assert isinstance(event, MixedModel)
    assert_allclose([part.weight for part in event.parts], np.exp(phi[:-2]), rtol=2e-3)
    assert_allclose(event.exponent, phi[-2], atol=2e-3)
    assert_allclose(event.mixed, 1 / (1 + np.exp(-phi[-1])), rtol=5e-3)
    if alpha is None:
        mean = Corpus(texts, (1, 1), "sqrt", "l2").value
        mean = mean[mean > 0].mean()
        assert_allclose([part.model.added for part in event.parts[:2]], mean * 10.0 ** np.array(list(place.values())))
    new = ["wah wbo wbo", "nothing known here", "", texts[3], texts[4] + " unknown"]
    assert_allclose(clf.predict_proba(new), predict(new), atol=1e-3)


def test_auto_leaves_documents_out_exactly():
    texts, codes = random_texts(20, seed=3)
    texts = [text + f" wzz{chr(97 + i)}" for i, text in enumerate(texts)]
    clf = sf.TextClassifier(ngrams=(1, 2)).fit(texts, codes)
    event, corpora = clf.event_, [Corpus(texts, (n, n), "sqrt", "l2") for n in (1, 2)]
    expected = np.zeros((len(texts), CLASSES))
    for part in event.parts:
        kind = "multinomial" if "Multinomial" in type(part.model).__name__ else "complement"
        corpus = corpora[part.block]
        found = left_out(kind, part.model.added, corpus, codes, CLASSES)
        logs = np.log1p(corpus.features[:, 0]) - event.length[part.block]
        expected += part.weight * np.exp(event.exponent * logs)[:, None] * found
    rest = np.bincount(codes) - np.eye(CLASSES)[codes]
    prior = rest / rest.sum(axis=1, keepdims=True)
    p = (1 - event.mixed) * posterior(expected + np.log(prior)) + event.mixed * prior
    assert_allclose(np.exp(clf.leave_one_out(texts, codes)), p, rtol=1e-9)


def grouped_scores(event, corpora, codes, exponents, left_out=True):
    """Scores whose coefficients have an exponent for each group of words, from dense totals, each document left out."""
    out = np.zeros((len(codes), CLASSES))
    for part, exponent in zip(event.parts, exponents, strict=True):
        corpus, a = corpora[part.block], part.model.added
        total, _ = corpus.totals(codes, CLASSES)
        names = {name: j for j, name in enumerate(event.counts.vocabulary.names)}
        f = np.asarray(exponent)[event.group[[names[name] for name in corpus.vocabulary]]]
        for i, c in enumerate(codes):
            x, n = corpus.value[i], total.copy()
            if left_out:
                n[c] = np.maximum(n[c] - x, 0.0)
            every = n.sum(axis=0)
            if "Multinomial" in type(part.model).__name__:
                base = np.log(a) - np.log(n.sum(axis=1) + a * len(x))
                coef = np.log(n + a) - np.log(a)
            else:
                base = np.log(every.sum() - n.sum(axis=1) + a * len(x))
                coef = np.log(every + a) - np.log(every - n + a)
            scored = base * x.sum() + coef @ (f * x)
            length = np.log1p(corpus.features[i, 0]) - event.length[part.block]
            out[i] += part.weight * np.exp(event.exponent * length) * scored
    return out


@pytest.fixture
def grouped(monkeypatch):
    """A classifier of few documents whose words are nevertheless in three groups."""
    monkeypatch.setattr(event_tuning, "GROUPED", 10)
    monkeypatch.setattr(event_tuning, "OFTEN", (0.0, 2.5, 9.5))
    texts, codes = random_texts(30, seed=3)
    texts = [text + f" wzz{chr(97 + i % 26)}{chr(97 + i // 26)}" for i, text in enumerate(texts)]
    clf = sf.TextClassifier(ngrams=(1, 2)).fit(texts, codes)
    return clf, texts, codes, [Corpus(texts, (n, n), "sqrt", "l2") for n in (1, 2)]


def test_with_groups_of_words_documents_are_left_out_exactly(grouped):
    clf, texts, codes, corpora = grouped
    event = clf.event_
    exponents = [part.exponents for part in event.parts]
    assert np.ptp(exponents) > 0.01
    assert set(event.group) == {0, 1, 2}
    rest = np.bincount(codes) - np.eye(CLASSES)[codes]
    for found, prior, out in (
        (np.exp(clf.leave_one_out(texts, codes)), rest / rest.sum(axis=1, keepdims=True), True),
        (clf.predict_proba(texts), np.repeat(np.bincount(codes)[None] / len(codes), len(codes), axis=0), False),
    ):
        z = grouped_scores(event, corpora, codes, exponents, out) + np.log(prior) + event.bias
        assert_allclose(found, (1 - event.mixed) * posterior(z) + event.mixed * prior, rtol=1e-9)


def test_weights_exponents_of_groups_and_biases_have_the_least_penalized_log_loss(grouped):
    clf, _, codes, corpora = grouped
    event = clf.event_
    exponents = np.array([part.exponents for part in event.parts])
    centre = np.array([np.log(0.5), 0.0, np.log(0.5) - 1.0, -1.0])  # the second block says less
    rest = np.bincount(codes) - np.eye(CLASSES)[codes]
    prior = (rest + 1) / (rest.sum(axis=1, keepdims=True) + CLASSES)
    # Words of a document that is left out occur in one document more than those of a new one.
    by_word, group = event.parts[0].model.words.by_word, np.zeros(len(event.block), np.uint8)
    for b, corpus in enumerate(corpora):
        mean = by_word[event.block == b].sum() / np.count_nonzero(corpus.value)
        for least in (3.5, 10.5):
            group += (event.block == b) & (by_word >= least * mean)
    assert (group < event.group).any()

    def cost(factors, exponents, bias=0.0):
        same = {name: getattr(event, name) for name in ("counts", "length", "exponent")} | {"group": group}
        parts = [replace(part, weight=w * f) for part, w, f in zip(event.parts, weights, factors, strict=True)]
        z = grouped_scores(SimpleNamespace(parts=parts, **same), corpora, codes, exponents) + np.log(prior) + bias
        p = (1 - event.mixed) * posterior(z) + event.mixed * prior
        penalty = 0.5 * ((np.log(weights * factors) - centre) ** 2).sum() + 1.5 * (np.log(exponents) ** 2).sum()
        return -np.log(p[np.arange(len(codes)), codes]).sum() + penalty + 5.0 * np.square(bias).sum()

    weights, ones = np.array([part.weight for part in event.parts]), np.ones(len(event.parts))
    least = cost(ones, exponents)
    for step in (-0.01, 0.01):
        for place in np.ndindex(exponents.shape):
            moved = np.exp(step * (np.arange(exponents.size) == np.ravel_multi_index(place, exponents.shape)))
            assert cost(ones, exponents * moved.reshape(exponents.shape)) > least
        for k in range(len(ones)):
            assert cost(np.exp(step * (np.arange(len(ones)) == k)), exponents) > least
    biased = cost(ones, exponents, event.bias)
    assert biased < least - 1e-3
    for step in (-0.01, 0.01):
        for k in range(CLASSES):
            assert cost(ones, exponents, event.bias + step * (np.arange(CLASSES) == k)) > biased


def test_biases_of_other_classes_are_refused(grouped):
    learned = grouped[0]._learned
    decided = learned.model.distribution.decisions
    with pytest.raises(MismatchError, match="Biases of 3 classes, or none, were expected, found 2"):
        learned.family.check_decisions(learned.statistics.statistic, replace(decided, bias=np.zeros(2)))


def test_exponents_of_groups_are_stored_and_the_evidence_adds_up(grouped, tmp_path):
    clf, texts, *_ = grouped
    clf.save(tmp_path / "model.suffice")
    loaded = sf.load(tmp_path / "model.suffice")
    assert_array_equal(loaded.predict_proba(texts), clf.predict_proba(texts))
    for text, p in zip(texts[:5], clf.predict_proba(texts[:5]), strict=True):
        evidence = clf.evidence(text, label=2, against=0)
        assert_allclose(evidence.values[-1, 0], np.log(p[2] / p[0]), rtol=1e-9)


@pytest.mark.parametrize("event", ["multinomial", "complement", "bernoulli"])
def test_the_smoothing_chosen_costs_least_of_its_neighbours(event):
    texts, codes = random_texts(24, seed=6)
    texts = [text + f" wzz{chr(97 + i)}" for i, text in enumerate(texts)]
    term = "binary" if event == "bernoulli" else "count"
    family = sf.Text(event=event, prior="auto")
    _, distribution = fitted(family, texts, codes)
    corpus = Corpus(texts, term=term)
    start = {"multinomial": -1.0, "complement": -0.5, "bernoulli": 0.0}[event]
    centre = np.array([{"multinomial": np.log(0.5)}.get(event, 0.0)])
    mean = corpus.value[corpus.value > 0].mean()
    place = np.log10(distribution.event.added / mean)
    rest = np.bincount(codes) - np.eye(CLASSES)[codes]
    log_prior = np.log((rest + 1) / (rest.sum(axis=1, keepdims=True) + CLASSES))

    def cost(place):
        parts = left_out(event, mean * 10.0**place, corpus, codes, CLASSES)
        parts = (parts - parts.mean(axis=1, keepdims=True))[None]
        zeros = np.zeros((1, len(codes)))
        problem = (log_prior, parts, zeros, codes, np.ones(len(codes)), centre)
        start_at = np.array([centre[0], 0.0, -3.0])
        return minimize(softmax_log_loss, start_at, problem).fun + 0.5 * (place - start) ** 2

    steps = (place - start) / 0.5
    assert_allclose(steps, np.round(steps), atol=1e-9)
    assert cost(place) <= min(cost(place - 0.5), cost(place + 0.5)) + 1e-6


def dense(read, distribution):
    out = np.zeros((len(read), len(distribution.vocabulary)))
    np.add.at(out, (read.owner, read.feature), read.value)
    return out


def test_documents_kept_are_the_documents_read_again():
    for ngrams, term, norm in [((1, 1), "count", None), ((1, 3), "sqrt", "l2"), ((1, 2), "log", "l1")]:
        family = sf.Text(event="multinomial", prior="auto", ngrams=ngrams, term_weight=term, length_norm=norm)
        counts, distribution = fitted(family)
        tokenization = family.tokenization
        block = tokenization.size_of(counts.vocabulary)
        kept = Bags.kept(counts, family.weighting, block, tokenization.n_sizes)
        present = [i for i, text in enumerate(TEXTS) if text is not None]
        hashes = Texts.of(TEXTS).hashes
        keyed = {(int(hashes[i]), int(CODES[i])): i for i in present}
        order = [keyed[int(h), int(c)] for h, c in zip(counts.kept.hashes, counts.kept.codes, strict=True)]
        read = next(distribution.bags(Texts.of([TEXTS[i] for i in order])))
        assert_array_equal(kept.features, read.features)
        assert_allclose(dense(kept, distribution), dense(read, distribution), rtol=1e-14)


@pytest.mark.parametrize(
    "options",
    [
        {"analyzer": "char", "ngrams": (1, 3)},
        {"analyzer": "char_wb", "ngrams": (2, 4)},
        {"n_features": 8, "ngrams": (1, 2)},
        {"stop_words": ["wah", "wbh"], "ngrams": (1, 2)},
        {"stem": "english", "ngrams": (1, 2)},
    ],
    ids=str,
)
def test_documents_kept_are_the_documents_read_again_however_they_are_read(options):
    family = sf.Text(event="auto", **options)
    counts, distribution = fitted(family, ["running wah runs wah", "wbh ran, 12 cats"], ["a", "b"])
    block = family.tokenization.size_of(counts.vocabulary)
    kept = Bags.kept(counts, family.weighting, block, family.tokenization.n_sizes)
    texts = ["running wah runs wah", "wbh ran, 12 cats"]
    order = np.argsort(Texts.of(texts).hashes)
    read = next(distribution.bags(Texts.of([texts[i] for i in order])))
    assert_array_equal(kept.features, read.features)
    assert_array_equal(read.unknown, 0.0)
    assert_allclose(dense(kept, distribution), dense(read, distribution), rtol=1e-14)


def test_of_many_classes_the_first_documents_decide(monkeypatch):
    texts = [f"{text} number{i}" for i, text in enumerate(TEXTS)]
    few = sf.TextClassifier(keep=10).fit(texts, LABELS).event_
    monkeypatch.setattr(event_tuning, "CELLS", 10 * CLASSES)
    many = sf.TextClassifier().fit(texts, LABELS).event_
    assert few.mixed == many.mixed
    assert [part.weight for part in few.parts] == [part.weight for part in many.parts]


def test_with_no_documents_kept_nothing_is_doubted():
    clf = sf.TextClassifier(keep=0).fit(TEXTS, LABELS)
    assert clf.event_.mixed == 0.0
    assert clf.event_.exponent == 0.0
    assert_allclose([part.weight for part in clf.event_.parts], [0.5, 1.0, 0.5 / np.e, 1 / np.e])


@pytest.mark.parametrize("norm", [None, "l2"])
@pytest.mark.parametrize("event", list(EVENTS))
def test_a_document_without_weight_is_scored_as_any_other(event, norm):
    family = family_of(event, 0.4, **({} if event == "bernoulli" else {"length_norm": norm}))
    texts, codes = [*TEXTS, "wah only here", "strange"], np.append(CODES, [1, 2]).astype(np.int32)
    weight = np.append(WEIGHT, [0.0, 0.0])
    counts, distribution = fitted(family, texts, np.array(["a", "b", "c"])[codes], weight)
    assert "strange" not in distribution.vocabulary.names
    found = family.leave_one_out(counts, distribution, family.read(texts), codes, weight)
    plain = distribution.relative_log_density(family.read(texts))
    assert_allclose(centred(found[-2:]), centred(plain[-2:]), atol=1e-10)


@pytest.mark.parametrize("event", [*EVENTS, "auto"])
def test_how_many_documents_are_read_at_a_time_does_not_matter(event, monkeypatch):
    family = sf.Text(event="auto") if event == "auto" else family_of(event, 0.4)
    counts, distribution = fitted(family, weight=WEIGHT)
    numbers = Texts.of([[1, 2], None, [], [2, 2, 3]] * 5)
    asked = [
        lambda: distribution.log_density(Texts.of(TEXTS)),
        lambda: distribution.log_density(numbers),
        lambda: family.leave_one_out(counts, distribution, family.read(TEXTS), CODES, WEIGHT),
    ]
    whole = [ask() for ask in asked]
    monkeypatch.setattr(bags, "AT_ONCE", 7)
    for expected, ask in zip(whole, asked, strict=True):
        assert_array_equal(ask(), expected)


@pytest.mark.parametrize(
    ("event", "learn", "family"),
    [
        ("multinomial", None, sf.Multinomial(prior=sf.Dirichlet(0.7))),
        ("multinomial", "predictive", sf.Multinomial(prior=sf.Dirichlet(0.7), learn="predictive")),
        ("complement", None, sf.Complement(prior=sf.Dirichlet(0.7))),
        ("bernoulli", None, sf.Bernoulli(prior=sf.Beta(0.7, 0.7))),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_an_event_model_is_the_formula_of_its_family(event, learn, family):
    texts = ["a good good film", "the film", "bad bad plot and film", "good plot", "the end and the plot"]
    labels = ["+", "+", "-", "+", "-"]
    counts = sf.BagOfWords().fit_transform(texts).toarray().astype(float)
    fitted = family.estimate(family.summarize(counts, labels).statistic)
    by_formula = sum(
        np.broadcast_to(term.formula.evaluate(dict(zip("abcdefg", counts.T, strict=True))), (5, 2))
        for term in fitted.formula(list("abcdefg"))
    )
    words = sf.Text(prior=sf.Dirichlet(0.7), event=event, learn=learn)
    by_words = words.estimate(words.summarize(texts, labels).statistic).log_density(texts)
    assert_allclose(by_words[:, 1] - by_words[:, 0], by_formula[:, 1] - by_formula[:, 0], rtol=1e-11)


def test_a_class_without_words_draws_empty_texts():
    found = fitted(family_of("multinomial", 0.0), ["one two", ""], np.array(["a", "b"]))[1]
    assert found.sample(np.array([1, 1], np.int32), np.random.default_rng(0)).tolist() == [[""], [""]]


def test_a_vocabulary_without_words_has_no_parameters():
    assert fitted(family_of("multinomial", 1.0), ["", ""], np.array(["a", "b"]))[1].n_parameters == 0


@pytest.mark.parametrize("event", EVENTS)
def test_a_page_scores_texts_as_an_urn_if_their_probabilities_were_integrated_out(event):
    assert fitted(family_of(event, 1.0))[1].event.to_page(1)["urn"] is (event == "urn")
