"""How far the floating point of every family is from exact arithmetic, and the bounds that a test holds it to.

Errors are in units of ε = 2⁻⁵².

- `estimate` is the largest relative error of a parameter; of a covariance relative to the deviations, and of rows at an
  offset relative to the condition ε |mean| / deviation.
- `density` is the largest error of log p(x | y) at the parameters that were found, relative to max(1, |log p|) or to
  the largest term of its sum.
- `posterior` is the largest absolute error of p(y | x) at these parameters, relative to the same.

`estimators` measures estimators and scikit-learn's from rows to probabilities, relative to nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import discriminant_analysis as their_discriminants
from sklearn import naive_bayes as theirs

import exact
import shipped
from exact import EPS, TWINS, Exact, Rows, Twin, mp
from suffice import ClassPrior, Model, discriminant_analysis, families, naive_bayes
from suffice.families import Family

# Of each family, in units of ε: estimate, density, posterior.
BOUNDS: dict[str, tuple[float, float, float]] = {
    "bernoulli": (4, 64, 8),
    "binned": (4, 8, 8),
    "categorical": (4, 8, 8),
    "complement": (8, 8, 8),
    "exponential": (4, 8, 8),
    "gaussian": (16, 32, 8),
    "geometric": (8, 256, 64),
    "joint-categorical": (64, 8, 8),
    "kernel": (4, 64, 8),
    "log-normal": (64, 16, 8),
    "mixture": (16, 16, 8),
    "multinomial": (8, 32, 8),
    "multivariate-gaussian": (32, 256, 8),
    "poisson": (4, 32, 8),
    "text": (4, 256, 32),
}


@dataclass(frozen=True)
class Errors:
    """The largest errors on some rows, in units of ε."""

    estimate: float = 0.0
    density: float = 0.0
    posterior: float = 0.0
    scipy: float | None = None


def cases() -> list[tuple[str, str]]:
    """List every family of the registry with every way to learn that its twin has."""
    return [(name, learn) for name in shipped.family_names() for learn in TWINS[name].learns]


def family_of(name: str, learn: str) -> Family[Any]:
    """Make the family that a twin describes."""
    return families.named(name)(**TWINS[name].options | ({"learn": learn} if learn else {}))


def measure(name: str, learn: str) -> dict[str, Errors]:
    """Measure one family on all its rows, by their names."""
    twin = TWINS[name]
    return {rows.name: measured(twin, family_of(name, learn), rows, learn) for rows in twin.rows()}


def measured(twin: Twin, family: Family[Any], rows: Rows, learn: str) -> Errors:
    """Measure one family on some rows."""
    model = Model.of(family.summarize(rows.x, rows.codes, rows.weight), family, ClassPrior())
    parameters = twin.parameters(rows, learn)
    found = {name: exact.value_of(model.distribution, name) for name in parameters if not name.startswith("_")}
    estimate = max(estimate_error(name, found[name], parameters[name]) for name in found) / rows.condition
    density = model.distribution.log_density(model.distribution.read(rows.queries))
    at_found = parameters | {name: exact.exact(value) for name, value in found.items()}
    queries = [exact_row(row) for row in rows.queries]
    expected = np.array([twin.density(at_found, row) for row in queries])
    sizes = np.array([max(1.0, twin.size(at_found, row)) for row in queries])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        other = twin.scipy(found, rows.queries)
        posterior = model.posterior(rows.queries)
    joint = expected + rows.log_prior
    return Errors(
        estimate,
        density_error(density, expected, sizes),
        posterior_error(posterior, joint, sizes),
        None if other is None else density_error(other, expected, sizes),
    )


def exact_row(row: Any) -> Any:
    """Return a row of numbers as exact ones, and others as they are."""
    return exact.exact(row) if isinstance(row, np.ndarray) and row.dtype.kind == "f" else row


def error(found: Any, expected: Any, scale: Any) -> float:
    """Return |found − expected| / scale in units of ε; infinite numbers must be equal, or too large for float64."""
    if not np.isfinite(found) or not mp.isfinite(expected):
        return 0.0 if float(found) == float(expected) else np.inf
    return 0.0 if found == expected else float(abs(mp.mpf(float(found)) - expected) / scale / EPS) if scale else np.inf


def estimate_error(name: str, found: np.ndarray, expected: Exact) -> float:
    """Return the largest relative error of a parameter."""
    if name == "covariance":
        deviation = [[mp.sqrt(matrix[j, j]) for j in range(len(matrix))] for matrix in expected]
        scale = np.array([np.outer(d, d) for d in np.array(deviation)])
    else:
        scale = np.maximum(abs(expected), mp.mpf(1)) if name == "weight" else abs(expected)  # weights are logarithms
    each = zip(found.ravel(), expected.ravel(), np.asarray(scale).ravel(), strict=True)
    return max(error(*three) for three in each)


def density_error(found: np.ndarray, expected: Exact, sizes: np.ndarray) -> float:
    """Return the largest error of a log-density."""
    return max(
        error(v, e, max(size, abs(e)) if mp.isfinite(e) else 1.0)
        for row, wanted, size in zip(found, expected, sizes, strict=True)
        for v, e in zip(row, wanted, strict=True)
    )


def posterior_of(joint: Exact) -> Exact | None:
    """Return the softmax; None for a row that is impossible in every class."""
    top = max(joint)
    if not mp.isfinite(top):
        return None
    powers = np.array([mp.exp(score - top) for score in joint])
    return powers / powers.sum()


def posterior_error(found: np.ndarray, joint: Exact, sizes: np.ndarray) -> float:
    """Return the largest error of a probability."""
    worst = 0.0
    for p, scores, size in zip(found, joint, sizes, strict=True):
        expected = posterior_of(scores)
        if expected is not None:
            largest = max([size, *(float(abs(s)) for s in scores if mp.isfinite(s))])
            worst = max(worst, *(error(v, e, largest) for v, e in zip(p, expected, strict=True)))
    return worst


# -------------------------------------------------------------------------------- estimators beside scikit-learn's


def integers(rows: Rows) -> Rows:
    """Return categories as the numbers that scikit-learn wants."""
    return replace(
        rows,
        x=np.vectorize("abc".index)(rows.x).astype(float),
        queries=np.vectorize("abc".index)(rows.queries).astype(float),
    )


def tied_parameters(rows: Rows, learn: str) -> dict[str, Exact]:  # noqa: ARG001  # the shape of all twins
    """Linear discriminant analysis: one covariance for all classes."""
    n, mean, cross = exact.scatter(rows)
    return {"mean": mean, "covariance": cross.sum(axis=0)[None] / n.sum()}


ESTIMATORS: dict[str, tuple[Any, Any, Twin, str]] = {
    "GaussianNB": (
        naive_bayes.GaussianNB(var_smoothing=0.0), theirs.GaussianNB(var_smoothing=0.0), TWINS["gaussian"], "mle"
    ),
    "BernoulliNB": (naive_bayes.BernoulliNB(), theirs.BernoulliNB(), TWINS["bernoulli"], "mean"),
    "MultinomialNB": (naive_bayes.MultinomialNB(), theirs.MultinomialNB(), TWINS["multinomial"], "mean"),
    "ComplementNB": (naive_bayes.ComplementNB(), theirs.ComplementNB(), TWINS["complement"], "mean"),
    "CategoricalNB": (naive_bayes.CategoricalNB(), theirs.CategoricalNB(), TWINS["categorical"], "mean"),
    "LinearDiscriminantAnalysis": (
        discriminant_analysis.LinearDiscriminantAnalysis(tol=1e-9),
        their_discriminants.LinearDiscriminantAnalysis(tol=1e-9),
        replace(TWINS["multivariate-gaussian"], parameters=tied_parameters),
        "",
    ),
    "QuadraticDiscriminantAnalysis": (
        discriminant_analysis.QuadraticDiscriminantAnalysis(tol=0.0),
        their_discriminants.QuadraticDiscriminantAnalysis(tol=0.0),
        TWINS["multivariate-gaussian"],
        "mle",
    ),
}  # fmt: skip


def beside_scikit_learn(name: str) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield rows and the largest error of a probability, ours and scikit-learn's; None where it is refused."""
    ours, other, twin, learn = ESTIMATORS[name]
    for rows in twin.rows():
        parameters = twin.parameters(rows, learn)
        prior = rows.log_prior * (0 if name == "ComplementNB" else 1)
        joint = np.array([twin.density(parameters, exact_row(row)) for row in rows.queries]) + prior
        given = integers(rows) if name == "CategoricalNB" else rows
        yield rows.name, answered(ours, given, joint), answered(other, given, joint)


def answered(estimator: Any, rows: Rows, joint: Exact) -> float | None:
    """Fit, predict, and return the largest error of a probability; None if it is refused."""
    if rows.weight is not None and "Discriminant" in type(estimator).__name__:
        return None  # scikit-learn's take no weights
    weights = {} if rows.weight is None else {"sample_weight": rows.weight}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = estimator.fit(rows.x, rows.codes, **weights).predict_proba(rows.queries)
        except (ValueError, np.linalg.LinAlgError):
            return None
    worst = 0.0
    for p, scores in zip(found, joint, strict=True):
        expected = posterior_of(scores)
        if expected is not None:
            wrong = [
                float(abs(mp.mpf(float(v)) - e)) if np.isfinite(v) else np.inf for v, e in zip(p, expected, strict=True)
            ]
            worst = max(worst, *wrong)
    return worst
