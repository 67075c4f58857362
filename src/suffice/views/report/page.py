"""The page, section by section."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from suffice import engines
from suffice.core import frames
from suffice.core.errors import InvalidDataError, InvalidOptionError, NoDistributionError
from suffice.core.frames import as_frame
from suffice.model.class_conditionals import Bars, Conditional, Curve, Ellipses, Words, conditionals
from suffice.model.evaluate import Evaluation
from suffice.model.joint import Model
from suffice.views.report import svg_drawings as drawings
from suffice.views.report.html import Markup, embedded, markup, named, tag
from suffice.views.report.panel import Input, Panel, nameless

MOST_PICTURES = 120  # columns that are drawn
MOST_TABLES = 24  # classes whose top features are listed
TOP = 10  # features listed for each


def write(
    estimator: Any,
    path: str | os.PathLike[str],
    data: Any = None,
    target: Any = None,
    weight: Any = None,
    title: str | None = None,
    *,
    names: Sequence[str] | None = None,
    evaluation: Evaluation | None = None,
) -> None:
    """Write a report of a fitted estimator to one HTML file, which needs no network.

    Parameters
    ----------
    estimator : fitted estimator of suffice
        What to report on.
    path : str or path
        The file to write; one of that name is replaced in one step.
    data : table, array, or files by name, default=None
        Rows to judge the predictions by.
    target : str or array-like, default=None
        The labels of those rows: the name of a column of the table, or the labels.
    weight : str or array-like, default=None
        Their weights, 1 each by default.
    title : str, default=None
        What to call the page; by default the kind of the estimator.
    names : sequence of str, default=None
        What to call the columns; by default as in training, or x0, x1, …
    evaluation : Evaluation, default=None
        How good predictions are, where that was found already, instead of `data`.
    """
    page = render(estimator, data, target, weight, title, names=names, evaluation=evaluation)
    place = Path(path)
    if not place.parent.is_dir():
        raise InvalidDataError(f"There is no folder {str(place.parent)!r} to write the report to")
    beside = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        beside.write_text(page, encoding="utf-8", newline="\n")
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def render(
    estimator: Any,
    data: Any = None,
    target: Any = None,
    weight: Any = None,
    title: str | None = None,
    *,
    names: Sequence[str] | None = None,
    evaluation: Evaluation | None = None,
) -> str:
    """Return what `write` writes."""
    if not hasattr(type(estimator), "model_"):
        raise InvalidOptionError(f"A report is of a fitted estimator of suffice, found {type(estimator).__name__}")
    model: Model = estimator.model_  # which raises where nothing was fitted
    if evaluation is None and data is not None:
        evaluation = judged(estimator, data, target, weight)
    known = _names(estimator, names)
    title = title or type(estimator).__name__
    panel = Panel.of(estimator, known)
    sections = [
        _summary(estimator, model, evaluation),
        _panel(panel),
        _columns(estimator, model, known),
        _top_features(estimator),
        _evaluation(evaluation),
    ]
    return _page(title, estimator, [section for section in sections if section is not None], panel)


def judged(estimator: Any, data: Any, target: Any, weight: Any = None) -> Evaluation:
    """Compare the predictions for rows with their labels."""
    if target is None:
        raise InvalidOptionError("To judge predictions the labels are needed: say which column, or give them as target")
    source = engines.find(data)
    if source is not None:
        if not hasattr(source, "batches"):
            raise InvalidOptionError(f"A report judges by rows of files or in memory, found {type(data).__name__}")
        if not isinstance(target, str):
            raise InvalidOptionError("Of rows from files, the target is the name of the column that holds the labels")
        source.check_column(target, "of labels")
        parts = [judged(estimator, batch, target, weight) for batch in source.batches() if batch.num_rows]
        if not parts:
            raise InvalidDataError("There are no rows to judge predictions by")
        return sum(parts[1:], start=parts[0])
    if isinstance(target, str) or isinstance(weight, str):
        frame = as_frame(data)
        besides = [name for name in (target, weight) if isinstance(name, str)]
        for name in besides:
            frame.column(name)  # raises where there is none
        target = frames.labels(frame.column(target), target) if isinstance(target, str) else target
        weight = frames.weights(frame.column(weight), weight) if isinstance(weight, str) else weight
        known = getattr(estimator, "feature_names_in_", None)
        chosen = [name for name in frame.names if name not in besides]
        if estimator._form != "table" and known is not None and set(map(str, known)) <= set(chosen):
            chosen = [str(name) for name in known]
        estimator = nameless(estimator) if estimator._form != "table" else estimator
        data = engines.in_form(frame.select(chosen), estimator._form)
    labels, classes = np.asarray(target), estimator.classes_
    if (labels.dtype.kind in "US") != (classes.dtype.kind in "US"):  # a file may hold the numbers of classes as text
        spelled = {str(each): each for each in classes.tolist()}
        labels = np.array([spelled.get(str(each), str(each)) for each in labels.tolist()])
    return Evaluation.of(labels, classes, estimator.predict_proba(data), weight)


def _names(estimator: Any, names: Sequence[str] | None) -> list[str]:
    known = getattr(estimator, "feature_names_in_", None) if names is None else names
    if known is None and estimator._form == "texts":
        return [""]  # there is but one text
    return [f"x{j}" for j in range(estimator.n_features_in_)] if known is None else [str(name) for name in known]


# ------------------------------------------------------------------------------------------------ the page


def _page(title: str, estimator: Any, sections: list[tuple[str, str, Markup]], panel: Panel) -> str:
    style, script = (
        files("suffice.views.report").joinpath(name).read_text("utf-8") for name in ("page.css", "panel.js")
    )
    # Nothing but this script runs, and nothing is fetched, whatever a name or a word may hold.
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=f"{policy}; form-action 'none'"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        Markup(f"<style>{style}</style>"),
    )
    links = [tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in sections]
    classes = len(estimator.classes_)
    rows = f"{_amount(estimator.class_count_.sum())} rows"
    told = f"{type(estimator).__name__} · {rows} · {classes} class{'' if classes == 1 else 'es'}"
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", tag("h1", named(title)), tag("p", told, class_="subtitle")),
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", [_section(*section) for section in sections], id="content"),
        tag("footer", tag("p", f"Written by suffice {version('suffice')}. The page is complete: it fetches nothing.")),
        None if panel.obstacle else embedded(panel.to_json(), id="model"),
        None if panel.obstacle else Markup(f"<script>{script}</script>"),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _section(key: str, title: str, content: Markup) -> Markup:
    return tag("section", tag("h2", title, id=f"{key}-title"), content, id=key, aria_labelledby=f"{key}-title")


def _amount(value: Any) -> str:
    """A number with its thousands apart."""
    return f"{float(value):,.6g}" if float(value) < 1e6 else f"{float(value):,.0f}"


def _table(caption: str | Markup, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    """A table: the first cell of each row is its head."""
    shown = [tag("tr", tag("th", row[0], scope="row"), [_cell(cell) for cell in row[1:]]) for row in rows]
    numeric = [isinstance(cell, float) for cell in rows[0]] if rows else [False] * len(heads)
    named_heads = zip(heads, numeric, strict=True)
    top = tag("thead", tag("tr", [tag("th", h, scope="col", class_="number" if n else None) for h, n in named_heads]))
    return tag("div", tag("table", tag("caption", caption), top, tag("tbody", shown)), class_="scroll")


def _cell(cell: Any) -> Markup:
    if isinstance(cell, Markup):
        return tag("td", cell)
    if isinstance(cell, float):
        return tag("td", f"{cell:.4g}".replace("-", "−"), class_="number")
    return tag("td", named(cell) if str(cell) else "")


# ------------------------------------------------------------------------------------------------ summary


def _summary(estimator: Any, model: Model, evaluation: Evaluation | None) -> tuple[str, str, Markup]:
    count, prior = estimator.class_count_, np.exp(model.log_prior - np.logaddexp.reduce(model.log_prior))
    tiles = [
        ("rows", _amount(count.sum())),
        ("classes", str(len(count))),
        ("columns", str(estimator.n_features_in_)),
        ("parameters", _amount(estimator.n_parameters_)),
    ]
    if evaluation is not None:
        tiles += [("accuracy", f"{evaluation.accuracy:.1%}"), ("log-loss", f"{evaluation.log_loss:.3f}")]
    shown = [tag("div", tag("dt", name), tag("dd", value)) for name, value in tiles]
    rows = []
    for label, n, p in zip(model.labels.tolist(), count.tolist(), prior.tolist(), strict=True):
        bar = tag("rect", width=f"{100 * p / prior.max():.2f}", height=10, class_="fill all")
        both = markup(tag("span", f"{p:.4f}", class_="number"), drawings.strip(bar))
        rows.append([named(label), tag("span", _amount(n), class_="number"), both])
    caption = "The classes, and their probabilities before anything is known of a row"
    priors = _table(caption, ["class", "rows", "prior"], rows)
    if len(rows) > drawings.MOST_CLASSES:
        priors = tag("div", priors, class_="long", tabindex="0", role="region", aria_label="Classes")
    return "summary", "Summary", markup(tag("dl", shown, class_="tiles"), priors, _calibration(estimator))


def _calibration(estimator: Any) -> Markup | None:
    found = getattr(estimator, "calibration_", None)
    if found is None:
        return None
    if (found.slope == 1).all() and not found.bias.any() and not found.mixed:
        return tag("p", "Probabilities are not calibrated.", class_="note")
    slopes = np.unique(np.round(found.slope, 4))
    power = f"{slopes[0]:g}" if len(slopes) == 1 else f"{slopes[0]:g} to {slopes[-1]:g}, by class"
    told = f"Calibrated: the evidence counts with the exponent {power}, and {found.mixed:.3g} of the prior is mixed in."
    return tag("p", told, class_="note")


# ------------------------------------------------------------------------------------------------ the panel


def _panel(panel: Panel) -> tuple[str, str, Markup]:
    refused = [
        tag("li", tag("strong", named(title)), f" counts as missing here. {why}.") for title, why in panel.refused
    ]
    if panel.obstacle:
        return "try", "Try it", tag("p", panel.obstacle, class_="note")
    fields = [_field(i, each) for i, each in enumerate(panel.inputs)]
    labels = [str(label) for label in panel.model.labels.tolist()]
    example = None
    if panel.examples:
        options = [tag("option", str(label), value=str(i)) for i, (label, _) in enumerate(panel.examples)]
        choose = tag("select", tag("option", "choose a class …", value=""), options, id="example")
        example = tag("p", tag("label", "Fill in a row of ", for_="example"), choose)
    intro = "Type values and watch the probabilities. What is left empty counts as missing."
    buttons = tag("div", example, tag("button", "Clear", type="button", id="clear"), class_="tools")
    form = tag("form", buttons, tag("div", fields, class_="fields"), id="panel-form", autocomplete="off", class_="card")
    posterior = tag(
        "table",
        tag("caption", "Probability of each class"),
        tag("tbody", id="posterior"),
        class_="bars posterior",
    )
    evidence = None
    if len(labels) > 1:
        options = [tag("option", name, value=str(c)) for c, name in enumerate(labels)]
        pick = tag(
            "p",
            tag("label", "For ", tag("select", tag("option", "automatic", value=""), options, id="for-class")),
            " ",
            tag("label", "against ", tag("select", tag("option", "automatic", value=""), options, id="against-class")),
            class_="tools",
        )
        table = tag("table", tag("caption", id="compared"), tag("tbody", id="evidence"), class_="bars evidence")
        evidence = markup(pick, table)
    verdict = tag("p", id="verdict", role="status", aria_live="polite", class_="verdict")
    # It scrolls where it is long, so the keyboard must reach it.
    reach = {"tabindex": "0", "role": "region", "aria_label": "Answer"}
    answer = tag("div", verdict, posterior, evidence, id="panel-answer", hidden=True, class_="card", **reach)
    asleep = tag("noscript", tag("p", "The panel needs scripts, which this browser does not run.", class_="note"))
    notes = tag("ul", refused, class_="note") if refused else None
    return "try", "Try it", markup(tag("p", intro), notes, asleep, tag("div", form, answer, class_="panel"))


def _field(i: int, of: Input) -> Markup:
    key = f"input-{i}"
    label = tag("label", named(of.name or "text"), for_=key)
    if of.kind == "text":
        return tag("div", label, tag("textarea", id=key, rows="6", spellcheck="false", dir="auto"), class_="field wide")
    if of.kind == "number":
        return tag("div", label, tag("input", id=key, type="number", step="any", placeholder="missing"), class_="field")
    shown = [tag("option", _spelled(option), value=str(k)) for k, option in enumerate(of.options)]
    other = None if of.closed else tag("option", "another value", value="other")
    return tag("div", label, tag("select", tag("option", "missing", value=""), shown, other, id=key), class_="field")


def _spelled(option: Any) -> str:
    return str(option).lower() if isinstance(option, bool) else str(option)


# ------------------------------------------------------------------------------------------------ columns


def _columns(estimator: Any, model: Model, names: list[str]) -> tuple[str, str, Markup]:
    parts: list[Any] = []
    schema = getattr(estimator, "schema_", None)
    if schema is not None:
        rows = [[named(name), *cells] for name, cells in zip(schema.rows, schema.values.tolist(), strict=True)]
        caption = "What each column is taken to be, and the bits it tells of the class by itself"
        parts.append(_table(caption, ["column", *schema.columns], rows))
    else:
        kind = type(model.distribution).__name__.removesuffix("Distribution")
        parts.append(tag("p", f"All columns are read by one family: {kind}."))
    shown = _drawable(estimator, None if names == [""] else names)
    if not shown:
        parts.append(tag("p", "There is no p(x | y) to draw: the columns only score the classes.", class_="note"))
        return "columns", "Columns", markup(parts)
    order = np.argsort(-model.log_prior, kind="stable")[: drawings.MOST_CLASSES]
    classes = np.sort(order).tolist()
    legend = [tag("li", drawings.swatch(i), named(model.labels[c])) for i, c in enumerate(classes)]
    parts.append(tag("ul", legend, class_="legend", aria_label="Lines and colours of the classes"))
    if len(classes) < len(model.labels):
        note = f"The {len(classes)} most frequent of {len(model.labels)} classes are drawn."
        parts.append(tag("p", note, class_="note"))
    figures = [_figure(each, classes) for each in shown[:MOST_PICTURES]]
    parts.append(tag("div", figures, class_="figures"))
    if len(shown) > MOST_PICTURES:
        note = f"The first {MOST_PICTURES} of {len(shown)} columns are drawn."
        parts.append(tag("p", note, class_="note"))
    return "columns", "Columns", markup(parts)


def _drawable(estimator: Any, names: Sequence[str] | None) -> list[Conditional]:
    try:
        return conditionals(estimator, names=names, words=drawings.WORDS_RANKED, by="information")
    except NoDistributionError:
        return []


def _figure(shown: Conditional, classes: list[int]) -> Markup:
    votes = None if shown.votes else tag("span", " does not vote: it tells no more than chance would", class_="note")
    caption = tag("figcaption", named(shown.title), votes)
    wide = "wide" if isinstance(shown, (Words, Ellipses)) else None
    if isinstance(shown, Curve):
        return tag("figure", caption, drawings.curve(shown, classes), class_=wide)
    if isinstance(shown, Bars):
        return tag("figure", caption, drawings.bars(shown, classes), class_=wide)
    if isinstance(shown, Words):
        return tag("figure", caption, drawings.words(shown, classes), class_=wide)
    assert isinstance(shown, Ellipses), "there are no other kinds"
    margins = [tag("figure", tag("figcaption", named(m.title)), drawings.curve(m, classes)) for m in shown.margins]
    both = [tag("figure", tag("figcaption", "The first two together"), drawings.ellipses(shown, classes))]
    return tag(
        "figure", caption, tag("div", both if len(shown.columns) > 1 else None, margins, class_="figures"), class_=wide
    )


# ------------------------------------------------------------------------------------------------ top features


def _top_features(estimator: Any) -> tuple[str, str, Markup] | None:
    tables = []
    for label in estimator.classes_.tolist()[:MOST_TABLES]:
        try:
            found = estimator.top_features(label, TOP)
        except NoDistributionError:  # columns of numbers have no values to rank
            return None
        rows = [[named(name), *values] for name, values in zip(found.rows, found.values.tolist(), strict=True)]
        heads = ["value", *(each.replace("_", "-") for each in found.columns)]
        if rows:
            tables.append(_table(markup("Tells of ", named(label)), heads, rows))
    if not tables:
        return None
    intro = (
        "The values that tell most of each class: log-odds against the other classes, how probable the value is in the "
        "class, and the bits that knowing it gives of whether a row is of the class."
    )
    return "features", "Top features", markup(tag("p", intro), tag("div", tables, class_="tables"))


# ------------------------------------------------------------------------------------------------ evaluation


def _evaluation(found: Evaluation | None) -> tuple[str, str, Markup] | None:
    if found is None:
        return None
    scores = [tag("div", tag("dt", name), tag("dd", f"{value:.4f}")) for name, value in found.scores().items()]
    names = [named(label) for label in found.classes.tolist()]
    own = zip(names, found.precision, found.recall, found.f1, found.support, strict=True)
    rows = [[name, float(p), float(r), float(f), float(n)] for name, p, r, f, n in own]
    by_class = _table("Class by class", ["class", "precision", "recall", "f1", "rows"], rows)
    reliable = tag(
        "figure",
        tag("figcaption", "Are probabilities to be believed? Rows by the probability of the class they were called."),
        drawings.reliability(found.reliability),
        class_="square",
    )
    crossed = tag(
        "div", drawings.confusion(found), class_="scroll", tabindex="0", role="region", aria_label="Confusion"
    )
    few = len(names) <= drawings.MOST_CLASSES  # else the table wants the whole width
    intro = f"Judged by {_amount(found.weight)} rows. On the dashed line, what was said came true exactly as often."
    body = markup(
        tag("p", intro),
        tag("dl", scores, class_="tiles"),
        tag("div", reliable, tag("div", crossed if few else None, by_class), class_="side"),
        None if few else crossed,
    )
    return "evaluation", "How good it is", body
