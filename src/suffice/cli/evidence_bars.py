"""Why a row is classified as it is: what each column or word says, as data and as bars."""

from __future__ import annotations

from typing import Any

from suffice.cli.terminal import cut, entry, flow, prose, say, show_bars

SHOWN = 20  # pieces of evidence that get a bar of their own
LEAST = 1e-9  # log-odds that say something
LONGEST = 400  # letters of a text that are shown


def told_of(found: Any, one: Any, besides: tuple[str, ...] = (), label: Any = None, against: Any = None) -> Any:
    """What speaks for a class against another in one row: pieces of evidence that add up to the log-odds."""
    rows = found.rows(one, besides)
    p = found.predict_proba(rows)[0]
    out: dict[str, Any] = {
        "prediction": found.classes[int(p.argmax())],
        "probabilities": dict(zip(map(str, found.classes), p.tolist(), strict=True)),
    }
    evidence = found.predictor.evidence(rows, label, against)
    if isinstance(evidence, list):  # of texts: a table for each
        return out | _of_words(evidence[0], found.classes)
    said = {name: column.tolist()[0] for name, column in evidence.items()}
    values = one.to_pydict()
    names = {} if found.is_table else {f"x{j}": c for j, c in enumerate(found.columns(list(values), besides))}
    return out | _of_columns({names.get(title, title): value for title, value in said.items()}, values)


def _of_words(table: Any, classes: list[Any]) -> dict[str, Any]:
    """The evidence of a text: its first row is the prior, and its last are calibration and sum."""
    said = table.values[:, 0].tolist()
    kinds = ["prior", *["word"] * (len(said) - 3), "calibration"]
    words = ["prior", *table.rows[1:-2], "calibration"]
    parts = [{"part": k, "what": w, "log_odds": v} for k, w, v in zip(kinds, words, said[:-1], strict=True)]
    pairs = {f"{a} against {b}": (a, b) for a in classes for b in classes}
    label, against = pairs[table.title]
    return {"label": label, "against": against, "evidence": parts, "log_odds": said[-1]}


def _of_columns(said: dict[str, Any], values: dict[str, list[Any]]) -> dict[str, Any]:
    """The evidence of a row of a table; columns that are taken together have a list as their value."""
    parts = []
    for title, log_odds in said.items():
        if title in ("label", "against", "log_odds"):
            continue
        if title in ("prior", "calibration"):
            parts.append({"part": title, "what": title, "log_odds": log_odds})
            continue
        column = title.removesuffix(" (column)")  # one that is called like something else here
        part = {"part": "column", "what": column, "log_odds": log_odds}
        together = [values[name][0] for name in column.split(", ") if name in values]
        if column in values:
            part["value"] = values[column][0]
        elif together:
            part["value"] = together
        parts.append(part)
    return {"label": said["label"], "against": said["against"], "evidence": parts, "log_odds": said["log_odds"]}


def show_text(text: Any) -> None:
    """Print the beginning of a text."""
    prose("(no text)" if text is None else f"“{cut(str(text), LONGEST)}”")
    say()


def show_told(told: dict[str, Any], title: str) -> None:
    """Draw evidence as bars: the prior, the columns or words with the strongest first, calibration, and the sum."""
    likeliest = sorted(told["probabilities"].items(), key=lambda pair: -pair[1])[:5]
    say(f"{title}: {told['prediction']}", "bold")
    flow([f"p({label}) = {p:.4f}" for label, p in likeliest])
    say()
    prose(f"For {told['label']} (right) against {told['against']} (left), in log-odds:")
    said = [part for part in told["evidence"] if part["part"] == "column" or abs(part["log_odds"]) > LEAST]
    inner = [part for part in said if part["part"] in ("column", "word")]
    inner.sort(key=lambda part: -abs(part["log_odds"]))
    bars = [("(prior)", part["log_odds"]) for part in said if part["part"] == "prior"]
    bars += [(_titled(part), part["log_odds"]) for part in inner[:SHOWN]]
    if len(inner) > SHOWN:
        bars.append((f"({len(inner) - SHOWN} others)", sum(part["log_odds"] for part in inner[SHOWN:])))
    bars += [("(calibration)", part["log_odds"]) for part in said if part["part"] == "calibration"]
    show_bars([*bars, ("= log-odds", told["log_odds"])])


def _titled(part: dict[str, Any]) -> str:
    if "value" not in part:
        return str(part["what"])
    value = part["value"]
    return f"{part['what']} = {', '.join(map(entry, value)) if isinstance(value, list) else entry(value)}"
