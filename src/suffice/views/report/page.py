"""The report as an HTML page, section by section."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from suffice import engines
from suffice.core.errors import InvalidDataError, InvalidOptionError, NoDistributionError
from suffice.core.frames import as_frame
from suffice.core.labels import read_labels
from suffice.core.output_files import check_place, replacing
from suffice.model.calibration import Calibration
from suffice.model.class_conditionals import Bars, Conditional, Curve, Ellipses, Words, conditionals
from suffice.model.evaluate import Evaluation
from suffice.model.joint import Model
from suffice.model.structure import Structure
from suffice.views.fitted import column_names, form_of, spelled_as
from suffice.views.report import svg_drawings as drawings
from suffice.views.report.html import Child, Markup, embedded, markup, named, tag
from suffice.views.report.panel import Input, Panel, is_calibrated, nameless

if TYPE_CHECKING:
    from suffice.estimators.generative_classifier import GenerativeClassifier

MOST_PICTURES = 120  # columns that are drawn
MOST_TABLES = 24  # classes whose top features are listed
TOP_FEATURES = 10  # features listed for each class


class Section(NamedTuple):
    """A section of the page; `key` is its anchor."""

    key: str
    title: str
    content: Markup


def write(
    estimator: GenerativeClassifier,
    path: str | os.PathLike[str],
    data: object = None,
    target: object = None,
    weight: ArrayLike | None = None,
    title: str | None = None,
    *,
    names: Sequence[str] | None = None,
    evaluation: Evaluation | None = None,
) -> None:
    """Write a report of a fitted estimator to one HTML file that needs no network.

    Parameters
    ----------
    estimator : fitted estimator of suffice
        The classifier.
    path : str or path
        The file to write; an existing file is replaced in one step.
    data : table, array, or files by name, default=None
        Rows to evaluate predictions on.
    target : str or array-like, default=None
        The labels of those rows, or the name of the column that holds them.
    weight : str or array-like, default=None
        Their weights, or the name of the column that holds them; 1 each by default.
    title : str, default=None
        The title of the page; by default the class of the estimator.
    names : sequence of str, default=None
        Names of the columns; by default those of training, or x0, x1, …
    evaluation : Evaluation, default=None
        An evaluation that was computed before, instead of `data`.
    """
    check_place(path)
    page = render(estimator, data, target, weight, title, names=names, evaluation=evaluation)
    with replacing(path) as file:
        file.write(page.encode())


def render(
    estimator: GenerativeClassifier,
    data: object = None,
    target: object = None,
    weight: ArrayLike | None = None,
    title: str | None = None,
    *,
    names: Sequence[str] | None = None,
    evaluation: Evaluation | None = None,
) -> str:
    """Return the HTML that `write` writes."""
    if not hasattr(type(estimator), "model_"):
        raise InvalidOptionError(f"A report needs a fitted estimator of suffice, found {type(estimator).__name__}")
    model = estimator.model_  # raises if it was not fitted
    if evaluation is None and data is not None:
        evaluation = _evaluate(estimator, data, target, weight)
    is_one_text = form_of(estimator) == "texts" and names is None and not hasattr(estimator, "feature_names_in_")
    known = [""] if is_one_text else column_names(estimator, names)
    title = title or type(estimator).__name__
    panel = Panel.of(estimator, known)
    sections = [
        _summary(estimator, model, evaluation),
        _panel(panel),
        _columns(estimator, model, known),
        _top_features(estimator),
        None if evaluation is None else _evaluation(evaluation),
    ]
    return _page(title, estimator, [section for section in sections if section is not None], panel)


def _evaluate(estimator: GenerativeClassifier, data: object, target: object, weight: ArrayLike | None) -> Evaluation:
    """Compare the predictions for rows with their labels."""
    if target is None:
        raise InvalidOptionError("To evaluate predictions, pass the labels, or the name of their column, as target")
    source = engines.find(data)
    if source is not None:
        if not hasattr(source, "batches"):
            raise InvalidOptionError(f"A report can evaluate rows of files or in memory, found {type(data).__name__}")
        if not isinstance(target, str):
            raise InvalidOptionError("For rows from files, target must be the name of the column that holds the labels")
        source.check_column(target, "of labels")
        parts = [_evaluate(estimator, batch, target, weight) for batch in source.batches() if batch.num_rows]
        if not parts:
            raise InvalidDataError("There are no rows to evaluate predictions on")
        return sum(parts[1:], start=parts[0])
    if isinstance(target, str) or isinstance(weight, str):
        found = engines.Memory(as_frame(data)).labelled(target, weight)
        frame, target, weight, form = found.rows, found.labels, found.weight, form_of(estimator)
        if form != "table":
            known = [str(name) for name in getattr(estimator, "feature_names_in_", frame.names)]
            frame = frame.select(known) if set(known) <= set(frame.names) else frame
            estimator = nameless(estimator)
        data = engines.in_form(frame, form)
    labels = spelled_as(estimator.classes_, read_labels(target))
    return Evaluation.of(labels, estimator.classes_, estimator.predict_proba(data), weight)


# ------------------------------------------------------------------------------------------------ the page


def _page(title: str, estimator: GenerativeClassifier, sections: list[Section], panel: Panel) -> str:
    style, script = Markup(_text_of("page.css")), Markup(_text_of("panel.js"))
    classes = len(estimator.classes_)
    rows = f"{_amount(estimator.class_count_.sum())} rows"
    return _filled(
        "page.html",
        title=title,
        subtitle=f"{type(estimator).__name__} · {rows} · {classes} class{'' if classes == 1 else 'es'}",
        style=style,
        style_hash=_hash(style),
        script_hash=_hash(script),
        links=[tag("li", tag("a", section.title, href=f"#{section.key}")) for section in sections],
        sections=[_section(section) for section in sections],
        version=version("suffice"),
        script=[] if panel.obstacle else [embedded(panel.to_json(), id="model"), tag("script", script)],
    )


def _filled(name: str, **values: Child) -> Markup:
    """Fill in a template beside this file; strings are escaped."""
    return Markup(Template(_text_of(name)).substitute({key: markup(value) for key, value in values.items()}))


def _text_of(name: str) -> str:
    return files("suffice.views.report").joinpath(name).read_text("utf-8")


def _hash(text: str) -> Markup:
    return Markup(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'")


def _section(section: Section) -> Markup:
    key, title, content = section
    return tag("section", tag("h2", title, id=f"{key}-title"), content, id=key, aria_labelledby=f"{key}-title")


def _amount(value: float) -> str:
    """Return a number with separators between thousands."""
    return f"{float(value):,.6g}" if float(value) < 1e6 else f"{float(value):,.0f}"


def _table(caption: Child, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Markup:
    """Return a table; the first cell of each row is its heading."""
    shown = [tag("tr", tag("th", _text(row[0]), scope="row"), [_cell(cell) for cell in row[1:]]) for row in rows]
    numeric = [isinstance(cell, float) for cell in rows[0]] if rows else [False] * len(heads)
    named_heads = zip(heads, numeric, strict=True)
    top = tag("thead", tag("tr", [tag("th", h, scope="col", class_="number" if n else None) for h, n in named_heads]))
    return tag("div", tag("table", tag("caption", caption), top, tag("tbody", shown)), class_="scroll")


def _cell(cell: object) -> Markup:
    if isinstance(cell, float):
        shown = _amount(cell) if cell.is_integer() else f"{cell:.4g}"
        return tag("td", shown.replace("-", "−"), class_="number")
    return tag("td", _text(cell))


def _text(cell: object) -> Markup:
    return cell if isinstance(cell, Markup) else named(cell) if str(cell) else Markup()


def _tiles(values: dict[str, str]) -> Markup:
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in values.items()], class_="tiles")


def _note(text: str) -> Markup:
    return tag("p", text, class_="note")


# ------------------------------------------------------------------------------------------------ summary


def _summary(estimator: GenerativeClassifier, model: Model, evaluation: Evaluation | None) -> Section:
    count, prior = estimator.class_count_, np.exp(model.log_prior - np.logaddexp.reduce(model.log_prior))
    tiles = {"rows": _amount(count.sum()), "classes": str(len(count)), "columns": str(estimator.n_features_in_)}
    tiles["parameters"] = _amount(estimator.n_parameters_)
    if evaluation is not None:
        tiles |= {"accuracy": f"{evaluation.accuracy:.1%}", "log-loss": f"{evaluation.log_loss:.3f}"}
    rows = []
    for label, n, p in zip(model.labels.tolist(), count.tolist(), prior.tolist(), strict=True):
        bar = tag("rect", width=f"{100 * p / prior.max():.2f}", height=10, class_="fill all")
        both = markup(tag("span", f"{p:.4f}", class_="number"), drawings.strip(bar))
        rows.append([named(label), tag("span", _amount(n), class_="number"), both])
    caption = "The classes, and their probabilities before a row is seen"
    priors = _table(caption, ["class", "rows", "prior"], rows)
    if len(rows) > drawings.MOST_CLASSES:
        priors = tag("div", priors, class_="long", tabindex="0", role="region", aria_label="Classes")
    return Section("summary", "Summary", markup(_tiles(tiles), priors, _calibration(estimator)))


def _calibration(estimator: GenerativeClassifier) -> Markup | None:
    found: Calibration | None = getattr(estimator, "calibration_", None)
    if isinstance(found, Structure):
        experts = "".join(f", and the {each.title} expert" for each in found.experts)
        said = (
            f"{np.count_nonzero(found.columns)} columns and {np.count_nonzero(found.pairs)} pairs of columns{experts}"
        )
        return _note(f"The evidence of {said} is added up, each with an exponent of its own.")
    if found is None:
        return None
    if not is_calibrated(found):
        return _note("Probabilities are not calibrated.")
    slopes = np.unique(np.round(found.slope, 4))
    power = f"{slopes[0]:g}" if len(slopes) == 1 else f"{slopes[0]:g} to {slopes[-1]:g}, by class"
    return _note(f"Calibrated: the evidence has the exponent {power}, and {found.mixed:.3g} of the prior is mixed in.")


# ------------------------------------------------------------------------------------------------ the panel


def _panel(panel: Panel) -> Section:
    if panel.obstacle:
        return Section("try", "Try it", _note(panel.obstacle))
    refused = [
        tag("li", tag("strong", named(title)), f" counts as missing here. {why}.") for title, why in panel.refused
    ]
    refused += [
        tag("li", f"The model also uses {each}, which this page cannot compute: its probabilities differ from these.")
        for each in panel.without
    ]
    example, evidence, labels = None, None, panel.model.labels.tolist()
    if panel.examples:
        choose = [tag("option", "choose a class …", value=""), _options(label for label, _ in panel.examples)]
        example = tag("p", tag("label", "Fill in a row of ", for_="example"), tag("select", choose, id="example"))
    if len(labels) > 1:
        evidence = _filled("evidence.html", classes=_options(labels))
    notes = tag("ul", refused, class_="note") if refused else None
    fields = [_field(i, each) for i, each in enumerate(panel.inputs)]
    content = _filled("panel.html", notes=notes, example=example, fields=fields, evidence=evidence)
    return Section("try", "Try it", content)


def _options(values: Iterable[object]) -> list[Markup]:
    """Return options of a `select`, by number."""
    names = (str(value).lower() if isinstance(value, bool) else str(value) for value in values)
    return [tag("option", name, value=str(i)) for i, name in enumerate(names)]


def _field(i: int, of: Input) -> Markup:
    key = f"input-{i}"
    label = tag("label", named(of.name or "text"), for_=key)
    if of.kind == "text":
        return tag("div", label, tag("textarea", id=key, rows="6", spellcheck="false", dir="auto"), class_="field wide")
    if of.kind == "number":
        return tag("div", label, tag("input", id=key, type="number", step="any", placeholder="missing"), class_="field")
    other = None if of.closed else tag("option", "another value", value="other")
    options = [tag("option", "missing", value=""), *_options(of.options), other]
    return tag("div", label, tag("select", options, id=key), class_="field")


# ------------------------------------------------------------------------------------------------ columns


def _columns(estimator: GenerativeClassifier, model: Model, names: list[str]) -> Section:
    parts: list[Markup] = []
    schema = getattr(estimator, "schema_", None)
    if schema is not None:
        rows = [[named(name), *cells] for name, cells in zip(schema.rows, schema.values.tolist(), strict=True)]
        caption = "The family of each column, and the information it alone gives on the class, in bits"
        parts.append(_table(caption, ["column", *schema.columns], rows))
    else:
        family = type(model.distribution).__name__.removesuffix("Distribution")
        parts.append(tag("p", f"All columns have one family: {family}."))
    try:
        titles = None if names == [""] else names
        shown = conditionals(estimator, names=titles, words=drawings.WORDS_RANKED, by="information")
    except NoDistributionError:
        shown = []
    if not shown:
        parts.append(_note("There is no p(x | y) to draw: the columns only score the classes."))
        return Section("columns", "Columns", markup(parts))
    order = np.argsort(-model.log_prior, kind="stable")[: drawings.MOST_CLASSES]
    classes = np.sort(order).tolist()
    legend = [tag("li", drawings.swatch(i), named(model.labels[c])) for i, c in enumerate(classes)]
    parts.append(tag("ul", legend, class_="legend", aria_label="Lines and colours of the classes"))
    if len(classes) < len(model.labels):
        parts.append(_note(f"The {len(classes)} most frequent of {len(model.labels)} classes are drawn."))
    parts.append(tag("div", [_figure(each, classes) for each in shown[:MOST_PICTURES]], class_="figures"))
    if len(shown) > MOST_PICTURES:
        parts.append(_note(f"The first {MOST_PICTURES} of {len(shown)} columns are drawn."))
    return Section("columns", "Columns", markup(parts))


def _figure(shown: Conditional, classes: list[int]) -> Markup:
    votes = None if shown.votes else tag("span", " does not vote: it is no more informative than chance", class_="note")
    caption = tag("figcaption", named(shown.title), votes)
    if isinstance(shown, (Curve, Bars)):
        drawn = drawings.curve(shown, classes) if isinstance(shown, Curve) else drawings.bars(shown, classes)
        return tag("figure", caption, drawn)
    if isinstance(shown, Words):
        return tag("figure", caption, drawings.words(shown, classes), class_="wide")
    assert isinstance(shown, Ellipses), "there are no other kinds"
    figures = [tag("figure", tag("figcaption", named(m.title)), drawings.curve(m, classes)) for m in shown.margins]
    if len(shown.columns) > 1:
        both = tag("figcaption", "The first two together")
        figures.insert(0, tag("figure", both, drawings.ellipses(shown, classes)))
    return tag("figure", caption, tag("div", figures, class_="figures"), class_="wide")


# ------------------------------------------------------------------------------------------------ top features


def _top_features(estimator: GenerativeClassifier) -> Section | None:
    tables = []
    for label in estimator.classes_.tolist()[:MOST_TABLES]:
        try:
            found = estimator.top_features(label, TOP_FEATURES)
        except NoDistributionError:  # numbers cannot be ranked
            return None
        rows = [[named(name), *values] for name, values in zip(found.rows, found.values.tolist(), strict=True)]
        heads = ["value", *(each.replace("_", "-") for each in found.columns)]
        if rows:
            tables.append(_table(markup("Typical of ", named(label)), heads, rows))
    if not tables:
        return None
    intro = (
        "The most typical values of each class: their log-odds against the other classes, their probability in the "
        "class, and the information they give on whether a row is of the class, in bits."
    )
    return Section("features", "Top features", markup(tag("p", intro), tag("div", tables, class_="tables")))


# ------------------------------------------------------------------------------------------------ evaluation


def _evaluation(found: Evaluation) -> Section:
    own = found.tables()[1]
    rows = [[named(name), *values] for name, values in zip(own.rows, own.values.tolist(), strict=True)]
    by_class = _table("By class", [own.title, *own.columns], rows)
    title = "Reliability of the probabilities: how often the predicted class is right, by its probability"
    reliable = tag("figure", tag("figcaption", title), drawings.reliability(found.reliability), class_="square")
    focus = {"tabindex": "0", "role": "region", "aria_label": "Confusion"}
    confusion = tag("div", drawings.confusion(found), class_="scroll", **focus)
    few = len(rows) <= drawings.MOST_CLASSES  # a larger table needs the whole width
    intro = f"Evaluated on {_amount(found.weight)} rows. Points on the dashed line are perfectly calibrated."
    body = markup(
        tag("p", intro),
        _tiles({name: f"{value:.4f}" for name, value in found.scores().items()}),
        tag("div", reliable, tag("div", confusion if few else None, by_class), class_="side"),
        None if few else confusion,
    )
    return Section("evaluation", "How good it is", body)
