"""The cases: naive Bayes beside scikit-learn's, and beside itself."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import log
from statistics import median
from typing import Any

import numpy as np
from scipy.special import logsumexp

from benchmarks import data
from benchmarks.estimators import fit, ours, parameters, theirs
from benchmarks.harness import (
    AnswersDifferError,
    Case,
    Group,
    Measurement,
    Quantity,
    Settings,
    Target,
    Task,
    agree,
    milliseconds,
    relative,
    short,
    versus,
)
from benchmarks.process import measure_fit


def groups(settings: Settings) -> list[Group]:
    """List all cases, those on the same data together."""
    return [
        gaussian_group(settings),
        documents_group(settings),
        many_classes_group(settings),
        categories_group(settings),
        one_row_group(settings),
        growth_group(settings),
        *leave_one_out_groups(settings),
    ]


def times(least: float) -> Target:
    """Ask to be at least so many times as fast."""
    return Target(low=least, unit="×")


# ------------------------------------------------------------------------------------------ the two sides


class Data:
    """Rows, labels, and the estimators fitted to them on both sides."""

    def __init__(self, rows: tuple[Any, Any]):
        self.X, self.y = rows
        self._fitted: dict[str, tuple[Any, Any]] = {}

    def fitted(self, estimator: str) -> tuple[Any, Any]:
        """Return ours and theirs, fitted."""
        if estimator not in self._fitted:
            self._fitted[estimator] = (ours(estimator).fit(self.X, self.y), theirs(estimator).fit(self.X, self.y))
        return self._fitted[estimator]


def fit_against(estimator: str, settings: Settings, rows: Data) -> Measurement:
    """Compare fits, the parameters being equal."""
    agreement = agree(*(parameters(model) for model in rows.fitted(estimator)))
    sides = (partial(fit, make(estimator), rows.X, rows.y) for make in (ours, theirs))
    return versus(*map(Task, sides), settings, agreement)


def log_proba_against(estimator: str, settings: Settings, rows: Data) -> Measurement:
    """Compare posteriors of all rows."""
    sides = [partial(model.predict_log_proba, rows.X) for model in rows.fitted(estimator)]
    return versus(*map(Task, sides), settings, agree(*(side() for side in sides)))


def predict_against(estimator: str, settings: Settings, rows: Data) -> Measurement:
    """Compare predictions of all rows, which may differ between classes equally probable."""
    sides = [partial(model.predict, rows.X) for model in rows.fitted(estimator)]
    found, expected = (side() for side in sides)
    differ = np.flatnonzero(found != expected)
    agreement = {"rows": len(found), "ties": len(differ)}
    if len(differ):
        model = rows.fitted(estimator)[1]
        joint, at = model.predict_joint_log_proba(rows.X[differ]), np.arange(len(differ))
        codes = [np.searchsorted(model.classes_, labels[differ]) for labels in (found, expected)]
        agreement |= agree(*(joint[at, c] for c in codes))
    return versus(*map(Task, sides), settings, agreement)


# ------------------------------------------------------------------------------------------ Gaussian


@dataclass(frozen=True)
class Variant:
    """Another form of the same matrix, what may be lost by it, and what it may cost."""

    name: str
    convert: Callable[[Any], Any]
    most: float
    tolerance: float = 1e-9


VARIANTS = (
    Variant("Fortran order", np.asfortranarray, 1.0),
    Variant("float32", lambda X: X.astype(np.float32), 1.0, tolerance=1e-5),
    Variant("10 % NaN", lambda X: data.with_missing(X, 0.1), 2.0),
)


def gaussian_group(settings: Settings) -> Group:
    """GaussianNB on a dense matrix in all its forms."""
    rows = settings.rows(1_000_000)
    size = f"{short(rows)} × 50, 10 classes"
    cases = [
        Case(f"GaussianNB fit, {size}", times(30), partial(fit_against, "GaussianNB", settings)),
        Case(f"GaussianNB fit ÷ X.sum(), {size}", Target(high=1.5), partial(fit_over_sum, settings)),
        Case(f"GaussianNB predict_log_proba, {size}", times(20), partial(log_proba_against, "GaussianNB", settings)),
    ]
    for variant in VARIANTS:
        for what, measure in (("fit", fit_variant), ("predict_log_proba", log_proba_variant)):
            name = f"GaussianNB {what}, {variant.name} ÷ plain"
            cases.append(Case(name, Target(high=variant.most), partial(measure, variant, settings)))
    return Group(lambda: Data(data.gaussian(rows, 50, 10)), cases)


def fit_over_sum(settings: Settings, rows: Data) -> Measurement:
    """Compare our fit with reading the matrix once."""
    return relative(Task(partial(fit, ours("GaussianNB"), rows.X, rows.y)), Task(rows.X.sum), settings)


def fit_variant(variant: Variant, settings: Settings, rows: Data) -> Measurement:
    """Compare our fit on another form of the matrix with that on plain doubles in C order."""
    X, y = variant.convert(rows.X), rows.y
    agreement = agree(fit(ours("GaussianNB"), X, y), gaussian_parameters(X, y), rtol=variant.tolerance)
    sides = (partial(fit, ours("GaussianNB"), matrix, y) for matrix in (X, rows.X))
    return relative(*map(Task, sides), settings, agreement)


def log_proba_variant(variant: Variant, settings: Settings, rows: Data) -> Measurement:
    """Compare our posteriors on another form of the matrix with those on plain doubles in C order."""
    X = variant.convert(rows.X)
    model, plain = ours("GaussianNB").fit(X, rows.y), ours("GaussianNB").fit(rows.X, rows.y)
    expected = gaussian_log_proba(parameters(model), X[:1000])
    agreement = agree(model.predict_log_proba(X)[:1000], expected, variant.tolerance, max(1e-8, 10 * variant.tolerance))
    sides = (partial(model.predict_log_proba, X), partial(plain.predict_log_proba, rows.X))
    return relative(*map(Task, sides), settings, agreement)


def gaussian_parameters(X: Any, y: Any) -> list[Any]:
    """Compute prior, means and variances by NumPy, leaving out NaN."""
    smoothing = 1e-9 * np.nanvar(X, axis=0, dtype=np.float64).max()
    parts = [X[y == label].astype(np.float64) for label in np.unique(y)]
    mean, variance = (np.stack([f(part, axis=0) for part in parts]) for f in (np.nanmean, np.nanvar))
    return [np.array([len(part) for part in parts]) / len(y), mean, variance + smoothing]


def gaussian_log_proba(known: list[Any], X: Any) -> Any:
    """Compute the posteriors by NumPy, leaving out NaN."""
    prior, mean, variance = (np.asarray(a, dtype=np.float64) for a in known)
    squares = (X[:, None].astype(np.float64) - mean) ** 2 / variance
    terms = np.where(np.isnan(squares), 0.0, -0.5 * (squares + np.log(2 * np.pi * variance)))
    joint = np.log(prior) + terms.sum(axis=2)
    return joint - logsumexp(joint, axis=1, keepdims=True)


# ------------------------------------------------------------------------------------------ counts


def documents_group(settings: Settings) -> Group:
    """MultinomialNB and BernoulliNB on words."""
    rows = settings.rows(200_000)
    size = f"CSR {short(rows)} × 50k, 20 classes"
    cases = []
    for estimator, least in (("MultinomialNB", 3), ("BernoulliNB", 8)):
        cases += [
            Case(f"{estimator} fit, {size}", times(least), partial(fit_against, estimator, settings)),
            Case(f"{estimator} predict_log_proba, {size}", times(1.5), partial(log_proba_against, estimator, settings)),
        ]
    return Group(lambda: Data(data.documents(rows, 50_000, 100, 20)), cases)


def many_classes_group(settings: Settings) -> Group:
    """MultinomialNB with a thousand classes: time, and memory in processes of their own."""
    shape = [settings.rows(200_000), 1000, 20, 1000]
    size = f"CSR {short(shape[0])} × 1k, 1000 classes"
    return Group(
        lambda: Data(data.scattered_counts(*shape)),
        [
            Case(f"MultinomialNB fit, {size}", times(20), partial(fit_against, "MultinomialNB", settings)),
            Case(
                f"MultinomialNB fit extra memory, {size}",
                Target(high=100, unit=" MB"),
                lambda _: memory_against("MultinomialNB", "scattered_counts", shape),
            ),
        ],
    )


def memory_against(estimator: str, make: str, shape: list[int]) -> Measurement:
    """Compare the peak extra memory of a fit; ours alone is judged."""
    a, b = (measure_fit(side, estimator, make, shape) for side in ("ours", "theirs"))
    mine, other = a["extra_mb"], b["extra_mb"]
    details = {"data_mb": a["data_mb"]}
    ratio = Quantity(other / max(mine, 1.0), "×")
    return Measurement(mine, Quantity(mine, " MB"), Quantity(other, " MB"), ratio, details)


def categories_group(settings: Settings) -> Group:
    """CategoricalNB on codes."""
    rows = settings.rows(1_000_000)
    size = f"{short(rows)} × 20, 5 classes"
    cases = [
        Case(f"CategoricalNB fit, {size}", times(20), partial(fit_against, "CategoricalNB", settings)),
        Case(f"CategoricalNB predict, {size}", times(6), partial(predict_against, "CategoricalNB", settings)),
    ]
    return Group(lambda: Data(data.categories(rows, 20, 10, 5)), cases)


# ------------------------------------------------------------------------------------------ single rows


OUR_CALLS, THEIR_CALLS = 2000, 200
Step = Callable[[Any, Any, Any], object]


def one_row_group(settings: Settings) -> Group:
    """Calls with a single row, where the overhead is all there is."""
    steps: list[tuple[str, Step]] = [("predict", predict_row), ("partial_fit", learn_row)]
    cases = []
    for estimator in ("GaussianNB", "MultinomialNB", "BernoulliNB"):
        target = times(10) if estimator == "GaussianNB" else None
        for what, step in steps:
            measure = partial(one_row, estimator, step, settings)
            cases.append(Case(f"{estimator} one-row {what}, 50 columns", target, measure))
    both = partial(one_row, "GaussianNB", predict_and_learn_row, settings)
    cases.insert(2, Case("GaussianNB one-row predict, then partial_fit, 50 columns", None, both))
    return Group(lambda: data.gaussian(10_000, 50, 10), cases)


def predict_row(model: Any, x: Any, y: Any) -> object:  # noqa: ARG001  # all steps are called alike
    return model.predict(x)


def learn_row(model: Any, x: Any, y: Any) -> object:
    return model.partial_fit(x, y)


def predict_and_learn_row(model: Any, x: Any, y: Any) -> object:
    return model.predict(x), model.partial_fit(x, y)


def one_row(estimator: str, step: Step, settings: Settings, known: tuple[Any, Any]) -> Measurement:
    """Compare many calls with one row each."""
    X, y = known if estimator == "GaussianNB" else (np.floor(np.abs(known[0])), known[1])
    rows = [(X[i : i + 1], y[i : i + 1]) for i in range(OUR_CALLS)]
    models = [make(estimator).fit(X, y) for make in (ours, theirs)]
    agreement = agree_by_row(step, models, rows[:THEIR_CALLS])
    sides = [partial(each, step, model, rows[:n]) for model, n in zip(models, (OUR_CALLS, THEIR_CALLS), strict=True)]
    return versus(Task(sides[0], OUR_CALLS), Task(sides[1], THEIR_CALLS), settings, agreement)


def each(step: Step, model: Any, rows: list[tuple[Any, Any]]) -> None:
    for x, y in rows:
        step(model, x, y)


def agree_by_row(step: Step, models: list[Any], rows: list[tuple[Any, Any]]) -> dict[str, float]:
    """Take the same steps with copies of both models, then compare their predictions and parameters."""
    copies = deepcopy(models)
    for model in copies:
        each(step, model, rows)
    found, expected = ([model.predict(x)[0] for x, _ in rows] for model in copies)
    if found != expected:
        raise AnswersDifferError("in a predicted label")
    # Looser, for scikit-learn keeps the smoothing of the first piece and ours is that of all rows.
    return agree(*(parameters(model) for model in copies), rtol=1e-7)


# ------------------------------------------------------------------------------------------ growth


def growth_group(settings: Settings) -> Group:
    """GaussianNB's fit from 10⁴ to 10⁷ rows, each in a process of its own."""
    sizes = [settings.rows(10**power) for power in (4, 5, 6, 7)]
    cases = [Case(f"GaussianNB fit, {short(n)} × 10", None, partial(time_a_row, n)) for n in sizes]
    slope_name = f"GaussianNB fit, log-log slope of time from {short(sizes[1])} to {short(sizes[3])} rows"
    cases.append(Case(slope_name, Target(0.9, 1.1), partial(slope, sizes[1:])))
    cases.append(Case(f"GaussianNB fit extra memory, {short(sizes[2])} × 10", None, partial(memory_at, sizes[2])))
    constant = f"GaussianNB fit extra memory, {short(sizes[3])} × 10 ÷ {short(sizes[2])} × 10"
    cases.append(Case(constant, Target(high=1.5), partial(memory_growth, sizes[2], sizes[3])))
    return Group(partial(grow, sizes, settings), cases)


def grow(sizes: list[int], settings: Settings) -> dict[int, Any]:
    """Measure time and memory of fits of every size."""
    return {n: measure_fit("ours", "GaussianNB", "gaussian", [n, 10, 10], settings.repeats) for n in sizes}


def time_a_row(rows: int, found: dict[int, Any]) -> Measurement:
    """Return the time of a fit, and of a row."""
    seconds = found[rows]["seconds"]
    each_row = 1e9 * median(seconds) / rows
    return Measurement(each_row, milliseconds(seconds), None, Quantity(each_row, " ns/row"), found[rows])


def slope(sizes: list[int], found: dict[int, Any]) -> Measurement:
    """Return the power of the rows by which the time grows."""
    seconds = [median(found[n]["seconds"]) for n in sizes]
    whole = log(seconds[-1] / seconds[0]) / log(sizes[-1] / sizes[0])
    steps = [log(b / a) / log(n / m) for (a, b), (m, n) in zip(pairwise(seconds), pairwise(sizes), strict=True)]
    return Measurement(whole, None, None, Quantity(whole, ""), {"steps": steps})


def memory_at(rows: int, found: dict[int, Any]) -> Measurement:
    """Return the peak extra memory of a fit."""
    return Measurement(found[rows]["extra_mb"], Quantity(found[rows]["extra_mb"], " MB"), details=found[rows])


def memory_growth(fewer: int, more: int, found: dict[int, Any]) -> Measurement:
    """Return how much more memory more rows take; less than a megabyte counts as one."""
    small, large = (found[n]["extra_mb"] for n in (fewer, more))
    ratio = max(large, 1.0) / max(small, 1.0)
    return Measurement(ratio, Quantity(large, " MB"), None, Quantity(ratio, ""), found[more])


# ------------------------------------------------------------------------------------------ leaving one out


def leave_one_out_groups(settings: Settings) -> list[Group]:
    """Exact leave-one-out posteriors beside ordinary ones."""
    dense, sparse = settings.rows(100_000), settings.rows(20_000)
    of_gaussian, of_words = f"{short(dense)} × 50, 10 classes", f"CSR {short(sparse)} × 50k, 20 classes"
    return [
        Group(lambda: Data(data.gaussian(dense, 50, 10)), [leave_one_out_case("GaussianNB", of_gaussian, settings)]),
        Group(
            lambda: Data(data.documents(sparse, 50_000, 100, 20)),
            [leave_one_out_case("MultinomialNB", of_words, settings)],
        ),
    ]


def leave_one_out_case(estimator: str, size: str, settings: Settings) -> Case:
    name = f"{estimator} leave_one_out ÷ predict_log_proba, {size}"
    return Case(name, Target(high=10), partial(leave_one_out, estimator, settings))


def leave_one_out(estimator: str, settings: Settings, rows: Data) -> Measurement:
    """Compare leaving each row out with not doing so; three rows are checked by fitting again."""
    model = ours(estimator).fit(rows.X, rows.y)
    sides = (partial(model.leave_one_out, rows.X, rows.y), partial(model.predict_log_proba, rows.X))
    places = [0, len(rows.y) // 2, len(rows.y) - 1]
    expected = [refit_without(i, estimator, rows) for i in places]
    agreement = agree(sides[0]()[places], np.concatenate(expected))
    return relative(*map(Task, sides), settings, agreement)


def refit_without(row: int, estimator: str, rows: Data) -> Any:
    """Fit all rows but one by scikit-learn, and return the posterior of that one."""
    others = np.flatnonzero(np.arange(len(rows.y)) != row)
    return theirs(estimator).fit(rows.X[others], rows.y[others]).predict_log_proba(rows.X[row : row + 1])
