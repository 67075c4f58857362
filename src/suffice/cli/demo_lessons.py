"""`suffice demo`: four examples of the lectures, what is shown in each, and why it comes out so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from suffice.cli import demo_data as examples
from suffice.cli.terminal import heading, number, prose, say, show_bars, show_columns, show_table
from suffice.core.errors import InvalidOptionError


def write(folder: str) -> None:
    """Write the data as CSV files."""
    import pyarrow as pa

    from suffice.cli.data_files import table_writer

    place = Path(folder)
    if not place.is_dir():
        raise InvalidOptionError(f"There is no folder {folder!r} to write into: make it first")
    for name, data in examples.DATA.items():
        path = place / f"{name}.csv"
        with table_writer(str(path), None) as writer:
            writer.write(pa.table(data()))
        say(f"Wrote {path}")


def tell() -> None:
    """Walk through all four."""
    for number_, lesson in enumerate((tennis, sentiment, people, iris), start=1):
        if number_ > 1:
            say()
        lesson(number_)
    heading("Now with your own data")
    say("suffice fit DATA --target COLUMN -o MODEL      learn")
    say("suffice evaluate MODEL DATA                    how good is it?")
    say("suffice explain MODEL DATA --row 3             why?")


def _title(n: int, text: str) -> None:
    say(f"{n}. {text}", "bold")
    say("─" * (len(text) + 3))


def _posterior(what: str, model: Any, rows: Any) -> None:
    p = model.predict_proba(rows)[0]
    shares = ", ".join(f"p({label} | x) = {share:.4f}" for label, share in zip(model.classes_.tolist(), p, strict=True))
    say(f"{what}: {shares}")


def _matrix(data: dict[str, list[Any]], target: str) -> tuple[Any, Any]:
    columns = [values for name, values in data.items() if name != target]
    return np.array(columns, dtype=object if isinstance(columns[0][0], str) else float).T, np.array(data[target])


def tennis(n: int) -> None:
    """Categories: counting, and why one adds 1 to every count."""
    from suffice.estimators.naive_bayes import CategoricalNB

    _title(n, "Should you play tennis? Categories are counted")
    x, y = _matrix(examples.tennis(), "Play")
    prose(
        "Fourteen days, and whether tennis was played. Naive Bayes counts how often each value comes with each class, "
        "and multiplies: p(y | x) ∝ p(y) · p(outlook | y) · … · p(wind | y)."
    )
    say()
    model = CategoricalNB().fit(x, y)
    show_table(replace(model.tables()[1], title="Outlook"))
    say()
    day = np.array([["Overcast", "Hot", "High", "Strong"]], dtype=object)
    say("An overcast, hot, humid, windy day:")
    _posterior("  1 added to every count", model, day)
    _posterior("  counts as they are    ", CategoricalNB(alpha=0.0).fit(x, y), day)
    day[0, 3] = None
    _posterior("  wind unknown          ", model, day)
    say()
    prose(
        "On every overcast day they played, so with counts as they are the answer is certain, from fourteen days: that "
        "is why 1 is added. A gap is no obstacle: that column does not vote."
    )


def sentiment(n: int) -> None:
    """Texts: words are counted, unknown ones skipped."""
    from suffice.estimators.text_classifier import TextClassifier

    _title(n, "Is it praise? Words are counted")
    data = examples.sentiment()
    options: dict[str, Any] = {"event": "multinomial", "ngrams": (1, 1), "smoothing": 1.0, "calibrate": False}
    model = TextClassifier(**options).fit(data["text"], data["sentiment"])
    text = "just had my first cheeto ever it was awesome"
    say("Six texts are learned. The seventh:")
    say(f"“{text}”")
    _posterior("Multinomial naive Bayes", model, [text])
    say()
    say("Which words spoke for positive (right) and for negative (left), in log-odds:")
    told = model.evidence(text)
    rows = dict(zip(told.rows, told.values[:, 0].tolist(), strict=True))
    total = rows.pop("(sum)")
    show_bars([(name, value) for name, value in rows.items() if abs(value) > 1e-9] + [("= log-odds", total)])
    say()
    prose(
        "Words nobody has seen say nothing. “awesome” praises, but two thirds of all texts do not, and “my” and "
        "“cheeto” have only been seen in those."
    )


def people(n: int) -> None:
    """Numbers: a bell for each class and column."""
    from suffice.estimators.naive_bayes import GaussianNB

    _title(n, "Man or woman? Numbers get a bell curve for each class")
    x, y = _matrix(examples.people(), "sex")
    model = GaussianNB().fit(x, y)
    say("Eight people. Of each column and class it learns the mean and the deviation:")
    say()
    names = ["height (ft)", "weight (lb)", "foot (in)"]
    cells = [[number(m) for m in model.theta_[:, j]] + [number(s) for s in np.sqrt(model.var_[:, j])] for j in range(3)]
    columns = [f"{what} {label}" for what in ("mean", "deviation") for label in model.classes_.tolist()]
    show_columns("", names, columns, cells, [False] * 4)
    say()
    log_p = model.predict_log_proba([[6.0, 130.0, 8.0]])[0]
    say(f"6 ft, 130 lb, 8 in: p(female | x) = {np.exp(log_p[0]):.9f}, log-odds {log_p[0] - log_p[1]:.4f}")
    say()
    prose("Tall like a man, but of a weight and a foot that no man here comes near.")


def iris(n: int) -> None:
    """The algebra: leave one out, merge, forget."""
    from suffice.estimators.discriminant_analysis import QuadraticDiscriminantAnalysis
    from suffice.estimators.naive_bayes import GaussianNB

    _title(n, "Which iris is it? What was learned adds and subtracts")
    x, y = _matrix(examples.iris(), "species")
    model = GaussianNB().fit(x, y)
    out = model.leave_one_out(x, y)
    right = np.mean(model.classes_[out.argmax(axis=1)] == y)
    prose(
        "150 flowers of three species. Each is judged by the model of the 149 others, which is found by subtracting "
        f"one flower from the statistics, with no fitting anew: {right:.4f} are right."
    )
    halves = GaussianNB().fit(x[::2], y[::2]) + GaussianNB().fit(x[1::2], y[1::2])
    gap = np.abs(halves.predict_proba(x) - model.predict_proba(x)).max()
    prose(f"Two models of half the flowers each, added, are the model of all, to within {max(gap, 1e-16):.0e}.")
    sepals = x[:, :2]
    naive, full = (kind().fit(sepals, y).score(sepals, y) for kind in (GaussianNB, QuadraticDiscriminantAnalysis))
    prose(
        f"By the sepals alone, naive Bayes gets {round(150 * naive)} of 150 right; with a covariance for each species, "
        f"which knows that long sepals are wide ones too, it is {round(150 * full)}."
    )
