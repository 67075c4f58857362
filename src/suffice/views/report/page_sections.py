"""The sections of a report: summary, panel, columns, nomogram, top features, evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.errors import NoDistributionError
from suffice.core.labels import label_list
from suffice.families.text import TextDistribution
from suffice.model.calibration import Calibration
from suffice.model.class_conditionals import Bars, Conditional, Curve, Ellipses, Words, conditionals
from suffice.model.evaluate import Evaluation
from suffice.model.explain import rank_features
from suffice.model.joint import Model
from suffice.model.structure import Structure
from suffice.views.column_inputs import Input
from suffice.views.nomogram_scales import Nomogram
from suffice.views.report import svg_drawings as drawings
from suffice.views.report.html import Markup, markup, named, tag
from suffice.views.report.judging import Agreement
from suffice.views.report.nomogram_drawing import nomogram as drawn_nomogram
from suffice.views.report.nomogram_drawing import remarks
from suffice.views.report.page_elements import Section, filled, note, table, tiles
from suffice.views.report.panel import Panel, is_calibrated
from suffice.views.report.written_numbers import amount, percent, score, signed

if TYPE_CHECKING:
    from suffice.estimators.generative_classifier import GenerativeClassifier

MOST_PICTURES = 120  # columns that are drawn
MOST_LISTED = 24  # classes that are listed with their priors
MOST_TABLES = 24  # classes whose top features are listed
TOP_FEATURES = 10  # features listed for each class

# ------------------------------------------------------------------------------------------------ summary


def summary(estimator: GenerativeClassifier, model: Model, evaluation: Evaluation | None) -> Section:
    """Return numbers at a glance, and the classes."""
    count, prior = estimator.class_count_, np.exp(model.log_prior - np.logaddexp.reduce(model.log_prior))
    shown = {"rows": amount(count.sum()), "classes": amount(len(count)), "columns": amount(estimator.n_features_in_)}
    shown["parameters"] = amount(estimator.n_parameters_)
    if evaluation is not None:
        shown |= {"accuracy": percent(evaluation.accuracy), "log-loss": score(evaluation.log_loss)}
    rows = []
    labels = label_list(model.labels)
    frequent = np.sort(np.argsort(-prior, kind="stable")[:MOST_LISTED])
    for label, n, p in ((labels[c], float(count[c]), float(prior[c])) for c in frequent):
        bar = tag("rect", width=f"{100 * p / prior.max():.2f}", height=10, class_="fill all")
        both = markup(tag("span", percent(p), class_="number"), drawings.strip(bar))
        rows.append([named(label), n, both])
    some = f"The {len(rows)} most frequent of {len(labels)} classes" if len(rows) < len(labels) else "The classes"
    caption = f"{some}, and their probabilities before a row is seen"
    priors = table(caption, ["class", "rows", "prior"], rows, [None, amount, None])
    return Section("summary", "Summary", markup(tiles(shown), priors, _calibration(estimator)))


def _calibration(estimator: GenerativeClassifier) -> Markup | None:
    found: Calibration | None = getattr(estimator, "calibration_", None)
    if isinstance(found, Structure):
        experts = "".join(f", and the {each.title} expert" for each in found.experts)
        said = (
            f"{np.count_nonzero(found.columns)} columns and {np.count_nonzero(found.pairs)} pairs of columns{experts}"
        )
        return note(f"The evidence of {said} is added up, each with an exponent of its own.")
    if found is None:
        return None
    if not is_calibrated(found):
        return note("Probabilities are not calibrated.")
    slopes = np.unique(np.round(found.slope, 3))
    power = score(slopes[0]) if len(slopes) == 1 else f"{score(slopes[0])} to {score(slopes[-1])}, by class"
    return note(
        f"Calibrated: the evidence has the exponent {power}, and {percent(found.mixed)} of the prior is mixed in."
    )


# ------------------------------------------------------------------------------------------------ the panel


def panel_section(panel: Panel, model: Model, agreement: Agreement | None) -> Section:
    """Return the form, and where its answers are shown."""
    if panel.obstacle:
        return Section("try", "Try it", note(panel.obstacle))
    said = [tag("li", tag("strong", named(title)), f" counts as missing here. {why}.") for title, why in panel.refused]
    said += [
        tag("li", f"The model also uses {each}, which this page cannot compute: its probabilities differ from these.")
        for each in panel.without
    ]
    said += [tag("li", each) for each in _kept_words(panel.model, model, agreement)]
    example, evidence, labels = None, None, label_list(panel.model.labels)
    if panel.examples:
        choose = [tag("option", "choose a class …", value=""), _options(label for label, _ in panel.examples)]
        some = f" ({len(panel.examples)} of {len(labels)} classes)" if len(panel.examples) < len(labels) else ""
        example = tag(
            "p", tag("label", f"Fill in a row of{some} ", for_="example"), tag("select", choose, id="example")
        )
    if len(labels) > 1:
        evidence = filled("evidence.html", classes=_options(labels))
    notes = tag("ul", said, class_="note") if said else None
    fields = [_field(i, each) for i, each in enumerate(panel.inputs)]
    text = all(each.kind == "text" for each in panel.inputs)
    start = "type a text" if text else "fill in a field"
    start += ", or choose a class to fill in a row of it" if panel.examples else ""
    invitation = f"To begin, {start}. What each {'word' if text else 'column'} says for a class then appears here."
    content = filled(
        "panel.html", notes=notes, example=example, fields=fields, evidence=evidence, invitation=invitation
    )
    return Section("try", "Try it", content)


def _kept_words(shown: Model, model: Model, agreement: Agreement | None) -> Iterator[str]:
    """Say of how many words a page holds how many, and how often it agrees with the model."""
    few, all_words = (
        [
            len(part.vocabulary)
            for part in getattr(each.distribution, "parts", (each.distribution,))
            if isinstance(part, TextDistribution)
        ]
        for each in (shown, model)
    )
    if few == all_words:
        return
    agrees = ""
    if agreement is not None:
        rows = "texts it has learned" if agreement.learned else "rows it was judged on"
        agrees = (
            f" For {percent(agreement.same / max(agreement.rows, 1))} of {amount(agreement.rows)} {rows}, "
            "the panel predicts the class that the model predicts."
        )
    yield (
        f"The panel holds the {amount(sum(few))} most telling of {amount(sum(all_words))} words and phrases; "
        f"it takes the others for unknown words.{agrees}"
    )


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


def columns(estimator: GenerativeClassifier, model: Model, names: list[str]) -> Iterator[Section]:
    """Yield the columns and p(x | y) of each, the most telling first."""
    parts: list[Markup] = []
    schema, telling = getattr(estimator, "schema_", None), {}
    if schema is not None:
        found = zip(schema.rows, schema.values.tolist(), strict=True)
        rows = sorted(([name, *cells] for name, cells in found), key=lambda row: -_number(row[3]))
        telling = {str(row[0]): _number(row[3]) for row in rows}
        caption = "The family of each column, and the information it alone gives on the class, in bits"
        parts.append(table(caption, ["column", *schema.columns], rows, [None, None, None, _bits, None]))
    else:
        family = type(model.distribution).__name__.removesuffix("Distribution")
        parts.append(tag("p", f"All columns have one family: {family}."))
    try:
        titles = None if names == [""] else names
        shown = conditionals(estimator, names=titles, words=drawings.WORDS_RANKED, by="information")
    except NoDistributionError:
        shown = []
    if not shown:
        parts.append(note("There is no p(x | y) to draw: the columns only score the classes."))
        yield Section("columns", "Columns", markup(parts))
        return
    shown = sorted(shown, key=lambda each: -telling.get(each.title, np.inf))
    order = np.argsort(-model.log_prior, kind="stable")[: drawings.MOST_CLASSES]
    classes = np.sort(order).tolist()
    legend = [tag("li", drawings.swatch(i), named(model.labels[c])) for i, c in enumerate(classes)]
    parts.append(tag("ul", legend, class_="legend", aria_label="Lines and colours of the classes"))
    if len(classes) < len(model.labels):
        parts.append(note(f"The {len(classes)} most frequent of {len(model.labels)} classes are drawn."))
    parts.append(tag("div", [_figure(each, classes) for each in shown[:MOST_PICTURES]], class_="figures"))
    if len(shown) > MOST_PICTURES:
        parts.append(note(f"The first {MOST_PICTURES} of {len(shown)} columns are drawn."))
    yield Section("columns", "Columns", markup(parts))


def _number(cell: object) -> float:
    """Return the number of a cell of the schema; of an empty one, less than all."""
    try:
        return float(str(cell))
    except ValueError:
        return -1.0


def _bits(cell: object) -> str:
    return score(_number(cell))


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


# ------------------------------------------------------------------------------------------------ nomogram


def nomogram(estimator: GenerativeClassifier, model: Model, names: list[str]) -> Section | None:
    """Return the scales of columns; None where there are none."""
    if len(model.labels) < 2:
        return None
    try:
        found = Nomogram.of(estimator, names=names)
    except NoDistributionError:
        return None
    drawn = tag("figure", drawn_nomogram(found), class_="nomogram", tabindex="0", role="region", aria_label="Nomogram")
    return Section("nomogram", "Nomogram", markup(remarks(found), drawn))


# ------------------------------------------------------------------------------------------------ top features


def top_features(estimator: GenerativeClassifier) -> Section | None:
    """Return the most typical values of each class; None if there are only numbers, which cannot be ranked."""
    labels = label_list(estimator.classes_)
    some = labels[:MOST_TABLES]
    try:
        found = rank_features(estimator.model_, estimator._titles(), some, TOP_FEATURES, "log_odds")
    except NoDistributionError:
        return None
    tables = []
    for label, own in zip(some, found, strict=True):
        rows = [[named(name), *values] for name, values in zip(own.rows, own.values.tolist(), strict=True)]
        heads = ["value", *(each.replace("_", "-") for each in own.columns)]
        if rows:
            tables.append(table(markup("Typical of ", named(label)), heads, rows, [None, signed, percent, score]))
    if not tables:
        return None
    intro = (
        "The most typical values of each class: their log-odds against the other classes, their probability in the "
        "class, and the information they give on whether a row is of the class, in bits."
    )
    first = note(f"The first {len(some)} of {len(labels)} classes are listed.") if len(some) < len(labels) else None
    return Section("features", "Top features", markup(tag("p", intro), first, tag("div", tables, class_="tables")))


# ------------------------------------------------------------------------------------------------ evaluation


def evaluation(found: Evaluation) -> Section:
    """Return how good predictions are."""
    own = found.tables()[1]
    rows = [[named(name), *values] for name, values in zip(own.rows, own.values.tolist(), strict=True)]
    by_class = table("By class", [own.title, *own.columns], rows, [None, percent, percent, percent, amount])
    title = "Reliability of the probabilities: how often the predicted class is right, by its probability"
    reliable = tag("figure", tag("figcaption", title), drawings.reliability(found.reliability), class_="square")
    focus = {"tabindex": "0", "role": "region", "aria_label": "Confusion"}
    confusion = tag("div", drawings.confusion(found), class_="scroll", **focus)
    few = len(rows) <= drawings.MOST_CLASSES  # a larger table needs the whole width
    intro = f"Evaluated on {amount(found.weight)} rows. Points on the dashed line are perfectly calibrated."
    scores = {name: percent(value) if name == "accuracy" else score(value) for name, value in found.scores().items()}
    body = markup(
        tag("p", intro),
        tiles(scores),
        tag("div", reliable, tag("div", confusion if few else None, by_class), class_="side"),
        None if few else confusion,
    )
    return Section("evaluation", "How good it is", body)
