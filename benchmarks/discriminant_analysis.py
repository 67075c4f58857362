"""The cases: discriminant analysis beside scikit-learn's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchmarks import data
from benchmarks.estimators import parameters
from benchmarks.harness import Case, Group, Measurement, Settings, Target, Task, agree, short, versus
from benchmarks.naive_bayes import Data, fit_against, leave_one_out_case, memory_against, times

LINEAR, QUADRATIC = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"


def groups(settings: Settings) -> list[Group]:
    """List all cases, those on the same data together."""
    shape = [settings.rows(200_000), 100, 10]
    size = f"{short(shape[0])} × 100, 10 classes"
    cases = [
        Case(f"{LINEAR} fit, {size}", times(10), partial(fit_against, LINEAR, settings)),
        Case(
            f"{LINEAR} fit extra memory, {size}",
            Target(high=20, unit=" MB"),
            lambda _: memory_against(LINEAR, "gaussian", shape),
        ),
        Case(f"{QUADRATIC} fit, {size}", times(15), partial(fit_to_predict, settings)),
        Case(f"{QUADRATIC} fit and rotations_, {size}", None, partial(fit_against, QUADRATIC, settings)),
        Case(f"{LINEAR} predict_proba, {size}", times(3), partial(proba_against, LINEAR, settings)),
        Case(f"{QUADRATIC} predict_proba, {size}", times(3), partial(proba_against, QUADRATIC, settings)),
    ]
    few = settings.rows(20_000)
    left_out = f"{short(few)} × 50, 10 classes"
    return [
        Group(lambda: Data(data.gaussian(*shape)), cases),
        Group(
            lambda: Data(data.gaussian(few, 50, 10)),
            [
                # A linear prediction is so cheap that leaving out, which is quadratic, is no small multiple of it.
                replace(leave_one_out_case(LINEAR, left_out, settings), target=None),
                leave_one_out_case(QUADRATIC, left_out, settings),
            ],
        ),
    ]


def fit_to_predict(settings: Settings, rows: Data) -> Measurement:
    """Compare fits until predictions can be made: ours need no rotations, which are computed when they are needed."""
    agreement = agree(*(parameters(model) for model in rows.fitted(QUADRATIC)), rtol=1e-6)
    mine, other = rows.fitted(QUADRATIC)
    few = rows.X[:1]
    sides = [partial(lambda model: model.fit(rows.X, rows.y).predict(few), model) for model in (mine, other)]
    return versus(*map(Task, sides), settings, agreement)


def proba_against(estimator: str, settings: Settings, rows: Data) -> Measurement:
    """Compare posteriors of all rows."""
    sides = [partial(model.predict_proba, rows.X) for model in rows.fitted(estimator)]
    return versus(*map(Task, sides), settings, agree(*(side() for side in sides)))
