"""A slow and obvious oracle: every formula written out once, in loops, from rows to log p(y | x).

Nothing here knows of statistics that add, of kernels or of the package: rows go in, numbers come out. A missing
entry is NaN (of categories, NaN or None) and is skipped wherever it stands. A row of weight w counts w times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import gammaln, logsumexp


class Fitted(NamedTuple):
    """Parameters by name, (classes, columns) each, and log p(x | y) of rows, (rows, classes)."""

    parameters: dict[str, Any]
    log_density: Callable[[Any], np.ndarray]


# ------------------------------------------------------------------------------------------- sums over rows


def is_missing(value: Any) -> bool:
    return value is None or value != value


def entries(x, y, weight, label, column):
    """The (value, weight) of every observed entry of one class and column."""
    for i in range(len(y)):
        if y[i] == label and not is_missing(x[i][column]):
            yield x[i][column], 1.0 if weight is None else float(weight[i])


def class_weights(y, weight, labels) -> np.ndarray:
    out = np.zeros(len(labels))
    for i in range(len(y)):
        out[list(labels).index(y[i])] += 1.0 if weight is None else weight[i]
    return out


def over_classes_and_columns(x, y, weight, labels, measure) -> np.ndarray:
    columns = len(x[0])
    out = np.zeros((len(labels), columns))
    for c, label in enumerate(labels):
        for j in range(columns):
            out[c, j] = measure(list(entries(x, y, weight, label, j)))
    return out


def observed_weight(x, y, weight, labels) -> np.ndarray:
    return over_classes_and_columns(x, y, weight, labels, lambda seen: sum(w for _, w in seen))


def totals(x, y, weight, labels) -> np.ndarray:
    return over_classes_and_columns(x, y, weight, labels, lambda seen: sum(w * v for v, w in seen))


def means(x, y, weight, labels) -> np.ndarray:
    def mean(seen):
        n = sum(w for _, w in seen)
        return sum(w * v for v, w in seen) / n if n else 0.0

    return over_classes_and_columns(x, y, weight, labels, mean)


def centred_squares(x, y, weight, labels) -> np.ndarray:
    def squares(seen):
        n = sum(w for _, w in seen)
        mean = sum(w * v for v, w in seen) / n if n else 0.0
        return sum(w * (v - mean) ** 2 for v, w in seen)

    return over_classes_and_columns(x, y, weight, labels, squares)


# ------------------------------------------------------------------------------------------------- helpers


def ratio(top, bottom, otherwise=0.0) -> np.ndarray:
    top, bottom = np.broadcast_arrays(np.asarray(top, float), np.asarray(bottom, float))
    out = np.full(top.shape, float(otherwise))
    for at in np.ndindex(top.shape):
        if bottom[at] != 0:
            out[at] = top[at] / bottom[at]
    return out


def log(p) -> float:
    return float(np.log(p)) if p > 0 else -np.inf


def times_log(count, p) -> float:
    """count · log p, where 0 · log 0 is 0."""
    return 0.0 if count == 0 else count * log(p)


def dirichlet_mean(counts, alpha) -> np.ndarray:
    """(n_j + α_j) / Σ (n + α) of one table of counts that exclude each other."""
    updated = np.asarray(counts, float) + alpha
    return ratio(updated, updated.sum())


def dirichlet_mode(counts, alpha) -> np.ndarray:
    """(n_j + α_j − 1) / Σ, of which no part is below 0; the mean where nothing is left."""
    peak = np.maximum(np.asarray(counts, float) + alpha - 1.0, 0.0)
    return peak / peak.sum() if peak.sum() > 0 else dirichlet_mean(counts, alpha)


def naive(labels, columns, term) -> Callable[[Any], np.ndarray]:
    """log p(x | y) = Σ_j term(value, class, column) over the observed entries."""

    def log_density(rows):
        out = np.zeros((len(rows), len(labels)))
        for i, row in enumerate(rows):
            for c in range(len(labels)):
                out[i, c] = sum(float(term(row[j], c, j)) for j in range(columns) if not is_missing(row[j]))
        return out

    return log_density


# ------------------------------------------------------------------------------------------------ families


def bernoulli(x, y, weight, labels, learn="mean", a=1.0, b=1.0, threshold=0.0) -> Fitted:
    """p(x | y) = θ^x (1 − θ)^(1−x), the predictive being the Beta-binomial of one trial."""

    def read(value):
        return value if threshold is None else float(value > threshold)

    yes = over_classes_and_columns(x, y, weight, labels, lambda seen: sum(w * read(v) for v, w in seen))
    no = over_classes_and_columns(x, y, weight, labels, lambda seen: sum(w * (1.0 - read(v)) for v, w in seen))
    a, b = (np.zeros(yes.shape) + (0.0 if learn == "mle" else prior) for prior in (a, b))
    theta, false = np.zeros(yes.shape), np.zeros(yes.shape)
    estimate = dirichlet_mode if learn == "map" else dirichlet_mean
    for at in np.ndindex(yes.shape):
        if yes[at] + no[at] + a[at] + b[at] > 0:
            theta[at], false[at] = estimate([yes[at], no[at]], np.array([a[at], b[at]]))
        else:
            theta[at] = false[at] = 0.5

    def term(value, c, j):
        truth = read(value)
        if learn == "predictive" and truth in (0.0, 1.0):
            return stats.betabinom.logpmf(truth, 1, a[c, j] + yes[c, j], b[c, j] + no[c, j])
        return times_log(truth, theta[c, j]) + times_log(1.0 - truth, false[c, j])

    return Fitted({"probability": theta}, naive(labels, yes.shape[1], term))


def categorical(x, y, weight, labels, categories, learn="mean", alpha=1.0) -> Fitted:
    """p(x = k | y) = θ_k. `categories` lists those of each column; `alpha` is a number or one array for each."""
    columns = len(categories)
    tables, unseen = [], np.zeros((len(labels), columns))
    for j in range(columns):
        counts = np.zeros((len(labels), len(categories[j])))
        for c, label in enumerate(labels):
            for value, w in entries(x, y, weight, label, j):
                if w > 0:
                    counts[c, list(categories[j]).index(value)] += w
        prior = 0.0 if learn == "mle" else alpha if np.isscalar(alpha) else alpha[j]
        estimate = dirichlet_mode if learn == "map" else dirichlet_mean
        tables.append(np.array([estimate(row, prior) for row in counts]))
        for c in range(len(labels)):  # a category as if it had been listed, and never seen
            listed = estimate(np.append(counts[c], 0.0), np.append(np.zeros(len(counts[c])) + prior, np.mean(prior)))
            unseen[c, j] = listed[-1]

    def term(value, c, j):
        known = list(categories[j])
        return log(tables[j][c, known.index(value)] if value in known else unseen[c, j])

    return Fitted({"probability": np.concatenate(tables, axis=1)}, naive(labels, columns, term))


def multinomial(x, y, weight, labels, learn="mean", alpha=1.0) -> Fitted:
    """p(x | y) = Π θ_j^(x_j): the draws in their order; the predictive integrates θ out (the Pólya urn)."""
    count = totals(x, y, weight, labels)
    alpha = np.zeros(count.shape[1]) + (0.0 if learn == "mle" else alpha)
    estimate = dirichlet_mode if learn == "map" else dirichlet_mean
    theta = np.array([estimate(row, alpha) for row in count])

    def log_density(rows):
        out = np.zeros((len(rows), len(labels)))
        for i, row in enumerate(rows):
            drawn = np.array([0.0 if is_missing(v) else v for v in row])
            orders = gammaln(drawn.sum() + 1.0) - gammaln(drawn + 1.0).sum()
            for c in range(len(labels)):
                if learn == "predictive":
                    urn = stats.dirichlet_multinomial(count[c] + alpha, int(drawn.sum()))
                    out[i, c] = urn.logpmf(drawn.astype(int)) - orders
                else:
                    out[i, c] = sum(times_log(v, p) for v, p in zip(drawn, theta[c], strict=True))
        return out

    return Fitted({"probability": theta}, log_density)


def complement(x, y, weight, labels, alpha=1.0, norm=False) -> Fitted:
    """Score Σ x_j w_j, w_j = −log of the share of word j in all other classes; with norm, w_j / Σ w."""
    count = totals(x, y, weight, labels)
    weights = np.zeros(count.shape)
    for c in range(len(labels)):
        rest = sum(count[other] for other in range(len(labels)) if other != c) + np.zeros(count.shape[1])
        weights[c] = -np.log(dirichlet_mean(rest, alpha))
        if norm:
            weights[c] /= weights[c].sum()
    return Fitted({"weight": weights}, naive(labels, count.shape[1], lambda v, c, j: v * weights[c, j]))


def poisson(x, y, weight, labels, learn="mean", shape=1.0, rate=1.0) -> Fitted:
    """p(x | y) = λ^x e^(−λ) / x!, the predictive being the negative binomial."""
    n, events = observed_weight(x, y, weight, labels), totals(x, y, weight, labels)
    shape, rate = (0.0, 0.0) if learn == "mle" else (shape, rate)
    r, b = events + shape, n + rate
    lam = ratio(np.maximum(r - 1.0, 0.0) if learn == "map" else r, b)

    def term(value, c, j):
        if learn == "predictive":
            return stats.nbinom.logpmf(value, r[c, j], b[c, j] / (b[c, j] + 1.0))
        return stats.poisson.logpmf(value, lam[c, j])

    parameters = {"shape": r, "rate": b} if learn == "predictive" else {"rate": lam}
    return Fitted(parameters, naive(labels, n.shape[1], term))


class NormalInverseGamma(NamedTuple):
    """σ² ~ InverseGamma(shape, scale), μ | σ² ~ N(mean, σ²/strength)."""

    mean: Any = None
    strength: Any = 0.01
    shape: Any = 1.5
    scale: Any = None


def gaussian(x, y, weight, labels, learn="mean", prior=None, variance="class", var_smoothing=0.0) -> Fitted:
    """p(x | y) = N(x; μ, σ²), the predictive being Student's t, or a wider normal where σ² is given."""
    n = observed_weight(x, y, weight, labels)
    mean, squares = means(x, y, weight, labels), centred_squares(x, y, weight, labels)
    classes, columns = n.shape
    everyone = ["all"] * len(y)
    pooled_mean = means(x, everyone, weight, ["all"])[0]
    pooled_variance = ratio(centred_squares(x, everyone, weight, ["all"]), n.sum(axis=0))[0]
    extra = var_smoothing * pooled_variance.max()
    given = not isinstance(variance, str)
    strength, freedom, spread = np.zeros(n.shape), None, None
    if learn == "mle":
        if given:
            spread = np.zeros(n.shape) + variance
        elif variance == "shared":
            spread = np.zeros(n.shape) + ratio(squares.sum(axis=0), n.sum(axis=0)) + extra
        else:
            spread = ratio(squares, n) + extra
    else:
        prior = prior or NormalInverseGamma()
        m = np.zeros(columns) + (pooled_mean if prior.mean is None else prior.mean)
        scale = prior.scale
        if scale is None:  # half the variance within classes, or of all rows where no class varies
            within = ratio(squares.sum(axis=0), n.sum(axis=0))
            scale = np.where(within > 0, within, pooled_variance) / 2
        strength = n + prior.strength
        grown = squares / 2 + prior.strength * n / strength * (mean - m) ** 2 / 2
        mean = (prior.strength * m + n * mean) / strength
        if not given and variance == "shared":
            a = prior.shape + n.sum(axis=0) / 2 + np.zeros(n.shape)
            b = scale + grown.sum(axis=0) + np.zeros(n.shape)
        else:
            a, b = prior.shape + n / 2, scale + grown
        # The joint mode: each mean that hangs on a variance contributes another σ to the density.
        hanging = classes if not given and variance == "shared" else 1
        if given:
            spread = (np.zeros(n.shape) + variance) * (1 + 1 / strength if learn == "predictive" else 1)
        elif learn == "predictive":
            spread, freedom = b / a * (1 + 1 / strength) + extra, 2 * a
        else:
            spread = (b / (a + 1 + hanging / 2) if learn == "map" else b / (a - 1)) + extra

    def term(value, c, j):
        if freedom is not None:
            return stats.t.logpdf(value, freedom[c, j], mean[c, j], np.sqrt(spread[c, j]))
        return stats.norm.logpdf(value, mean[c, j], np.sqrt(spread[c, j]))

    name = "variance" if freedom is None else "spread"
    return Fitted({"mean": mean, name: spread}, naive(labels, columns, term))


# ------------------------------------------------------------------------------------------------ mixtures


def mixture_terms(row, share, mean, covariance) -> np.ndarray:
    """log π_k + log N of the entries of one row that are there, for every component."""
    seen = ~np.isnan(row)
    out = np.log(np.asarray(share, float))
    for k in range(len(share)):
        if seen.any():
            known = np.ix_(seen, seen)
            out[k] += stats.multivariate_normal.logpdf(row[seen], mean[k][seen], covariance[k][known])
    return out


def mixture_log_likelihood(x, weight, share, mean, covariance) -> float:
    """The weighted mean of log p(row)."""
    each = [logsumexp(mixture_terms(row, share, mean, covariance)) for row in x]
    return float(np.average(each, weights=weight))


def mixture_step(x, weight, share, mean, covariance, floor, unit):
    """One step of EM, row by row; no eigenvalue of a covariance in units of `unit` falls below `floor`."""
    k, d = mean.shape
    n, first, second = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    responsibility, filled, rest = [], [], []
    for row in x:
        terms = mixture_terms(row, share, mean, covariance)
        responsibility.append(np.exp(terms - logsumexp(terms)))
        seen = ~np.isnan(row)
        expected, uncertain = np.tile(row, (k, 1)), np.zeros((k, d, d))
        for g in range(k):
            inverse = np.linalg.inv(covariance[g][np.ix_(seen, seen)])
            gain = covariance[g][np.ix_(~seen, seen)] @ inverse
            expected[g][~seen] = mean[g][~seen] + gain @ (row[seen] - mean[g][seen])
            left = covariance[g][np.ix_(~seen, ~seen)] - gain @ covariance[g][np.ix_(seen, ~seen)]
            uncertain[g][np.ix_(~seen, ~seen)] = left
        filled.append(expected)
        rest.append(uncertain)
    for i in range(len(x)):
        for g in range(k):
            n[g] += weight[i] * responsibility[i][g]
            first[g] += weight[i] * responsibility[i][g] * filled[i][g]
    for g in range(k):
        first[g] /= n[g]
        for i in range(len(x)):
            gone = filled[i][g] - first[g]
            second[g] += weight[i] * responsibility[i][g] * (np.outer(gone, gone) + rest[i][g]) / n[g]
        values, vectors = np.linalg.eigh(second[g] / np.outer(unit, unit))
        second[g] = (vectors * np.maximum(values, floor)) @ vectors.T * np.outer(unit, unit)
    return n / n.sum(), first, second


# ------------------------------------------------------------------------------- several columns at once


class NormalInverseWishart(NamedTuple):
    """Σ ~ InverseWishart(scale, freedom), μ | Σ ~ N(mean, Σ/strength)."""

    mean: Any = None
    strength: float = 0.01
    freedom: Any = None
    scale: Any = None


class Cross(NamedTuple):
    """Of each class: weight, mean, and Σ w (x − mean)(x − mean)ᵀ; and the rows, each as often as it weighs."""

    n: list[float]
    mean: list[np.ndarray]
    cross: list[np.ndarray]
    rows: list[np.ndarray]


def cross_products(x, y, weight, labels) -> Cross:
    """Sums over complete rows, one row after another."""
    out = Cross([], [], [], [])
    for label in labels:
        own = [(np.asarray(r, float), 1.0 if weight is None else weight[i]) for i, r in enumerate(x) if y[i] == label]
        own = [(r, w) for r, w in own if w > 0 and not np.isnan(r).any()]
        n = sum(w for _, w in own)
        mean = sum(w * r for r, w in own) / n
        out.n.append(n)
        out.mean.append(mean)
        out.cross.append(sum(w * np.outer(r - mean, r - mean) for r, w in own))
        out.rows.append(np.array([r for r, w in own for _ in range(int(w))]))
    return out


def shrink(sigma, rows, amount, toward) -> np.ndarray:
    """(1 − s) Σ + s T; the s of Ledoit and Wolf and of OAS are scikit-learn's, of the rows in units of T."""
    from sklearn.covariance import ledoit_wolf_shrinkage, oas

    d = len(sigma)
    variance = np.diag(sigma)
    target = {"sphere": np.eye(d) * variance.mean(), "diagonal": np.diag(variance), "identity": np.eye(d)}[toward]
    units = rows / rows.std(axis=0) if toward == "diagonal" else rows
    if amount == "ledoit-wolf":
        amount = ledoit_wolf_shrinkage(units)
    elif amount == "oas":
        amount = oas(units)[1]
    return (1 - amount) * sigma + amount * target


def simplify(sigma, covariance) -> np.ndarray:
    if covariance == "spherical":
        return np.eye(len(sigma)) * np.trace(sigma) / len(sigma)
    return np.diag(np.diag(sigma)) if covariance == "diagonal" else sigma


def wishart_posterior(sums: Cross, prior: NormalInverseWishart, tied: bool):
    """Means, strengths, freedoms and scales of the posterior of each class."""
    classes, d = len(sums.n), len(sums.mean[0])
    total = sum(sums.n)
    centre = sum(n * m for n, m in zip(sums.n, sums.mean, strict=True)) / total
    centre = centre if prior.mean is None else np.asarray(prior.mean)
    freedom = d + 2 if prior.freedom is None else prior.freedom
    scale = np.diag(np.diag(sum(sums.cross))) / total if prior.scale is None else np.asarray(prior.scale)
    mean, grown = [], []
    for n, m, s in zip(sums.n, sums.mean, sums.cross, strict=True):
        off = m - centre
        mean.append((prior.strength * centre + n * m) / (prior.strength + n))
        grown.append(s + prior.strength * n / (prior.strength + n) * np.outer(off, off))
    strength = [prior.strength + n for n in sums.n]
    if tied:
        return mean, strength, [freedom + total] * classes, [scale + sum(grown)] * classes
    return mean, strength, [freedom + n for n in sums.n], [scale + g for g in grown]


def gaussian_point(
    sums: Cross,
    covariance="full",
    tied=False,
    unbiased=False,
    shrinkage=None,
    toward="sphere",
    learn="mle",
    prior=None,
    share=None,
    estimator=None,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The mean and covariance of each class."""
    classes, d = len(sums.n), len(sums.mean[0])
    if learn in ("map", "mean"):
        mean, _, freedom, scale = wishart_posterior(sums, prior or NormalInverseWishart(), tied)
        means = classes if tied else 1  # each mean that hangs on a covariance is another √|Σ| in the density
        norm = [f + d + 1 + means if learn == "map" else f - d - 1 for f in freedom]
        return mean, [s / v for s, v in zip(scale, norm, strict=True)]
    each = []
    for n, cross, rows in zip(sums.n, sums.cross, sums.rows, strict=True):
        sigma = cross / (n - 1 if unbiased and not tied else n)
        if tied and unbiased:
            sigma = sigma * sum(sums.n) / (sum(sums.n) - classes)
        if shrinkage is not None:
            sigma = shrink(sigma, rows, shrinkage, toward)
        if estimator is not None:
            sigma = estimator.fit(rows).covariance_
        each.append(simplify(sigma, covariance))
    if tied:
        share = np.array(sums.n) if share is None else np.asarray(share)
        share = share / share.sum()
        each = [sum(p * sigma for p, sigma in zip(share, each, strict=True))] * classes
    return list(sums.mean), each


def blockwise(labels, term) -> Callable[[Any], np.ndarray]:
    """log p(x | y) = term(observed entries, which they are, class)."""

    def log_density(rows):
        out = np.zeros((len(rows), len(labels)))
        for i, row in enumerate(np.asarray(rows, float)):
            seen = np.flatnonzero(~np.isnan(row))
            for c in range(len(labels)):
                out[i, c] = term(row[seen], seen, c) if len(seen) else 0.0
        return out

    return log_density


def multivariate_gaussian(x, y, weight, labels, learn="mle", prior=None, tied=False, **options) -> Fitted:
    """p(x | y) = N(x; μ, Σ), the predictive being the multivariate Student's t; gaps are integrated out."""
    sums = cross_products(x, y, weight, labels)
    if learn == "predictive":
        mean, strength, freedom, scale = wishart_posterior(sums, prior or NormalInverseWishart(), tied)
        nu = [f - len(mean[0]) + 1 for f in freedom]
        shape = [s * (k + 1) / (k * v) for s, k, v in zip(scale, strength, nu, strict=True)]

        def student(seen_values, seen, c):
            block = shape[c][np.ix_(seen, seen)]
            return stats.multivariate_t.logpdf(seen_values, mean[c][seen], block, nu[c])

        return Fitted({"mean": np.array(mean), "covariance": np.array(shape)}, blockwise(labels, student))
    mean, sigma = gaussian_point(sums, learn=learn, prior=prior, tied=tied, **options)

    def normal(seen_values, seen, c):
        return stats.multivariate_normal.logpdf(seen_values, mean[c][seen], sigma[c][np.ix_(seen, seen)])

    return Fitted({"mean": np.array(mean), "covariance": np.array(sigma)}, blockwise(labels, normal))


def conditional(row, mean, sigma) -> tuple[np.ndarray, np.ndarray]:
    """The row with its gaps filled, μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o), and Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om, 0 elsewhere."""
    gap = np.isnan(row)
    filled, spread = np.array(row, float), np.zeros(sigma.shape)
    if gap.any():
        slope = sigma[np.ix_(gap, ~gap)] @ np.linalg.inv(sigma[np.ix_(~gap, ~gap)])
        filled[gap] = mean[gap] + slope @ (row[~gap] - mean[~gap])
        spread[np.ix_(gap, gap)] = sigma[np.ix_(gap, gap)] - slope @ sigma[np.ix_(~gap, gap)]
    return filled, spread


def expected_sums(x, y, weight, labels, mean, sigma) -> Cross:
    """The E step: the sums as they are expected to be without gaps. A row of gaps alone is left out."""
    filled, extra = [], [np.zeros(sigma[0].shape) for _ in labels]
    weight = np.ones(len(y)) if weight is None else np.array(weight, float)
    for i, row in enumerate(np.asarray(x, float)):
        c = list(labels).index(y[i])
        if np.isnan(row).all():
            weight[i] = 0.0
        whole, spread = conditional(row, mean[c], sigma[c])
        filled.append(whole)
        extra[c] += weight[i] * spread
    sums = cross_products(filled, y, weight, labels)
    return sums._replace(cross=[s + e for s, e in zip(sums.cross, extra, strict=True)])


# --------------------------------------------------------------------------------------------------- model


def log_class_prior(y, weight, labels, alpha=0.0) -> np.ndarray:
    """log of (n_c + α) / (n + Kα)."""
    return np.array([log(p) for p in dirichlet_mean(class_weights(y, weight, labels), alpha)])


def log_joint(log_prior, log_densities) -> np.ndarray:
    """log p(x, y) = log p(y) + Σ_block log p(x_block | y)."""
    return np.asarray(log_prior) + sum(log_densities)


def log_posterior(joint, log_prior) -> np.ndarray:
    """log p(y | x); the prior where every class is impossible."""
    out = np.zeros(joint.shape)
    for i, row in enumerate(joint):
        row = row if np.isfinite(row).any() else np.asarray(log_prior)
        out[i] = row - logsumexp(row)
    return out
