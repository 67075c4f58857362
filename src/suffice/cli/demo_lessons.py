"""`suffice demo`: four examples of the lectures, with explanations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.cli import demo_data as examples
from suffice.cli.terminal import heading, number, prose, say, show_bars, show_columns, show_table
from suffice.core.errors import InvalidOptionError
from suffice.views.fitted import ProbabilisticClassifier


def write(folder: str) -> None:
    """Write the data as CSV files."""
    import pyarrow as pa

    from suffice.cli.data_files import table_writer

    place = Path(folder)
    if not place.is_dir():
        raise InvalidOptionError(f"There is no folder {folder!r}: create it first")
    for name, data in examples.DATA.items():
        with table_writer(str(place / f"{name}.csv"), None) as writer:
            writer.write(pa.table(data()))
    prose(f"Wrote {', '.join(f'{name}.csv' for name in examples.DATA)} to {place}")


def walk_through() -> None:
    """Print all four lessons."""
    for n, lesson in enumerate((tennis, sentiment, people, iris), start=1):
        if n > 1:
            say()
        lesson(n)
    heading("Now with your own data")
    say("suffice fit DATA --target COLUMN -o MODEL      learn")
    say("suffice evaluate MODEL DATA                    how good is it?")
    say("suffice explain MODEL DATA --row 3             why?")


def _title(n: int, text: str) -> None:
    say(f"{n}. {text}", "bold")
    say("─" * (len(text) + 3))


def _posterior(what: str, model: ProbabilisticClassifier, rows: object) -> None:
    p = model.predict_proba(rows)[0]
    shares = ", ".join(f"p({label} | x) = {share:.4f}" for label, share in zip(model.classes_.tolist(), p, strict=True))
    say(f"{what:25} {shares}")


def _matrix(data: examples.Data, target: str) -> tuple[NDArray[Any], NDArray[Any]]:
    columns = [values for name, values in data.items() if name != target]
    return np.array(columns, dtype=object if isinstance(columns[0][0], str) else float).T, np.array(data[target])


def tennis(n: int) -> None:
    """Categories: counts, and why 1 is added to each."""
    from suffice.estimators.naive_bayes import CategoricalNB

    _title(n, "Is it a day for tennis? Categories are counted")
    x, y = _matrix(examples.tennis(), "Play")
    prose(
        "Fourteen days, and whether tennis was played. Naive Bayes counts how often each value occurs in each class, "
        "and multiplies: p(y | x) ∝ p(y) · p(outlook | y) · … · p(wind | y)."
    )
    say()
    model = CategoricalNB().fit(x, y)
    show_table(replace(model.tables()[1], title="Outlook"))
    say()
    day = np.array([["Overcast", "Hot", "High", "Strong"]], dtype=object)
    say("An overcast, hot, humid, windy day:")
    _posterior("  1 added to every count:", model, day)
    _posterior("  counts unchanged:", CategoricalNB(alpha=0.0).fit(x, y), day)
    day[0, 3] = None
    _posterior("  wind missing:", model, day)
    say()
    prose(
        "Tennis was played on every overcast day. Without the added 1, fourteen days are enough for a certain answer; "
        "that is why 1 is added. A missing value is no problem: its column is ignored."
    )


def sentiment(n: int) -> None:
    """Texts: words are counted, unknown words are skipped."""
    from suffice.estimators.text_classifier import TextClassifier

    _title(n, "Is the text positive? Words are counted")
    data = examples.sentiment()
    options: dict[str, Any] = {"event": "multinomial", "ngrams": (1, 1), "smoothing": 1.0, "calibrate": False}
    model = TextClassifier(**options).fit(data["text"], data["sentiment"])
    text = "just had my first cheeto ever it was awesome"
    say("The model learns six texts. A new one:")
    say(f"“{text}”")
    _posterior("Multinomial naive Bayes:", model, [text])
    say()
    say("What each word adds for positive (right) or negative (left), in log-odds:")
    evidence = model.evidence(text)
    rows = dict(zip(evidence.rows, evidence.values[:, 0].tolist(), strict=True))
    total = rows.pop("(sum)")
    show_bars([(name, value) for name, value in rows.items() if abs(value) > 1e-9] + [("= log-odds", total)])
    say()
    prose(
        "Unknown words add nothing. “awesome” speaks for positive, but two thirds of the texts are negative, and “my” "
        "and “cheeto” occurred in negative texts only."
    )


def people(n: int) -> None:
    """Numbers: a Gaussian for each class and column."""
    from suffice.estimators.naive_bayes import GaussianNB

    _title(n, "Male or female? Numbers get a Gaussian for each class")
    x, y = _matrix(examples.people(), "sex")
    model = GaussianNB().fit(x, y)
    prose("Eight people. The model learns mean and standard deviation of each column and class:")
    say()
    names = ["height (ft)", "weight (lb)", "foot (in)"]
    cells = [[number(m) for m in model.theta_[:, j]] + [number(s) for s in np.sqrt(model.var_[:, j])] for j in range(3)]
    columns = [f"{what} {label}" for what in ("mean", "deviation") for label in model.classes_.tolist()]
    show_columns("", names, columns, cells, [False] * 4)
    say()
    log_p = model.predict_log_proba([[6.0, 130.0, 8.0]])[0]
    say(f"6 ft, 130 lb, 8 in: p(female | x) = {np.exp(log_p[0]):.9f}, log-odds {log_p[0] - log_p[1]:.4f}")
    say()
    prose("The height is that of a man, but no man here has such a low weight and such small feet.")


def iris(n: int) -> None:
    """The algebra: leave one out, merge, and compare with a full covariance."""
    from suffice.estimators.discriminant_analysis import QuadraticDiscriminantAnalysis
    from suffice.estimators.naive_bayes import GaussianNB

    _title(n, "Which iris is it? Statistics add and subtract")
    x, y = _matrix(examples.iris(), "species")
    model = GaussianNB().fit(x, y)
    out = model.leave_one_out(x, y)
    right = np.mean(model.classes_[out.argmax(axis=1)] == y)
    prose(
        "150 flowers of three species. Each is predicted by the model of the 149 others, which is found by subtracting "
        f"one flower from the statistics, without fitting again: {right:.4f} are right."
    )
    halves = GaussianNB().fit(x[::2], y[::2]) + GaussianNB().fit(x[1::2], y[1::2])
    error = np.abs(halves.predict_proba(x) - model.predict_proba(x)).max()
    prose(f"The sum of two models of half the flowers each equals the model of all, to within {max(error, 1e-16):.0e}.")
    sepals = x[:, :2]
    naive, full = (kind().fit(sepals, y).score(sepals, y) for kind in (GaussianNB, QuadraticDiscriminantAnalysis))
    prose(
        f"From the sepals alone, naive Bayes gets {round(150 * naive)} of 150 right. With a covariance for each "
        f"species, which accounts for long sepals being wide too, it is {round(150 * full)}."
    )
