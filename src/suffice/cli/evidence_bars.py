"""Evidence: what each column or word of a row adds to the log-odds, as data and as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.cli.terminal import cut, entry, flow, prose, say, show_bars

if TYPE_CHECKING:
    from suffice.cli.model_files import Loaded
    from suffice.families import Table

MOST_BARS = 20  # columns or words that get a bar of their own
ROUNDING = 1e-9  # smaller log-odds are rounding errors
LONGEST = 400  # characters of a text that are shown


def evidence_of(
    found: Loaded, one: Any, besides: tuple[str, ...] = (), label: object = None, against: object = None
) -> dict[str, Any]:
    """Return the prediction for one row (an Arrow batch), and the parts that add up to its log-odds."""
    rows = found.rows(one, besides)
    p = found.predict_proba(rows)[0]
    out: dict[str, Any] = {
        "prediction": found.classes[int(p.argmax())],
        "probabilities": dict(zip(map(str, found.classes), p.tolist(), strict=True)),
    }
    evidence = found.predictor.evidence(rows, label, against)
    if isinstance(evidence, list):  # a table for each text
        return out | _of_words(evidence[0], found.classes)
    parts = {name: column.tolist()[0] for name, column in evidence.items()}
    values = one.to_pydict()
    names = {} if found.is_table else {f"x{j}": c for j, c in enumerate(found.columns(list(values), besides))}
    return out | _of_columns({names.get(title, title): value for title, value in parts.items()}, values)


def _of_words(table: Table, classes: list[object]) -> dict[str, Any]:
    """Return the evidence of a text. The first row of the table is the prior, the last are calibration and sum."""
    log_odds = table.values[:, 0].tolist()
    kinds = ["prior", *["word"] * (len(log_odds) - 3), "calibration"]
    words = ["prior", *table.rows[1:-2], "calibration"]
    parts = [{"part": k, "what": w, "log_odds": v} for k, w, v in zip(kinds, words, log_odds[:-1], strict=True)]
    pairs = {f"{a} against {b}": (a, b) for a in classes for b in classes}
    label, against = pairs[table.title]
    return {"label": label, "against": against, "evidence": parts, "log_odds": log_odds[-1]}


def _of_columns(found: dict[str, Any], values: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the evidence of a row of a table; the value of columns that are modelled jointly is a list."""
    parts = []
    for title, log_odds in found.items():
        if title in ("label", "against", "log_odds"):
            continue
        if title in ("prior", "calibration"):
            parts.append({"part": title, "what": title, "log_odds": log_odds})
            continue
        column = title.removesuffix(" (column)")  # which a column called "prior" has
        part = {"part": "column", "what": column, "log_odds": log_odds}
        together = [values[name][0] for name in column.split(", ") if name in values]
        if column in values:
            part["value"] = values[column][0]
        elif together:
            part["value"] = together
        parts.append(part)
    return {key: found[key] for key in ("label", "against", "log_odds")} | {"evidence": parts}


def show_text(text: object) -> None:
    """Print the beginning of a text."""
    prose("(no text)" if text is None else f"“{cut(str(text), LONGEST)}”")
    say()


def show_evidence(evidence: dict[str, Any], title: str) -> None:
    """Print evidence as bars: the prior, the columns or words with the strongest first, calibration, and the sum."""
    most_probable = sorted(evidence["probabilities"].items(), key=lambda pair: -pair[1])[:5]
    say(f"{title}: {evidence['prediction']}", "bold")
    flow([f"p({label}) = {p:.4f}" for label, p in most_probable])
    say()
    prose(f"For {evidence['label']} (right) against {evidence['against']} (left), in log-odds:")
    parts = [part for part in evidence["evidence"] if part["part"] == "column" or abs(part["log_odds"]) > ROUNDING]
    inner = [part for part in parts if part["part"] in ("column", "word")]
    inner.sort(key=lambda part: -abs(part["log_odds"]))
    bars = [("(prior)", part["log_odds"]) for part in parts if part["part"] == "prior"]
    bars += [(_titled(part), part["log_odds"]) for part in inner[:MOST_BARS]]
    if len(inner) > MOST_BARS:
        bars.append((f"({len(inner) - MOST_BARS} others)", sum(part["log_odds"] for part in inner[MOST_BARS:])))
    bars += [("(calibration)", part["log_odds"]) for part in parts if part["part"] == "calibration"]
    show_bars([*bars, ("= log-odds", evidence["log_odds"])])


def _titled(part: dict[str, Any]) -> str:
    if "value" not in part:
        return str(part["what"])
    value = part["value"]
    return f"{part['what']} = {', '.join(map(entry, value)) if isinstance(value, list) else entry(value)}"
