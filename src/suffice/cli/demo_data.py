"""Four small data sets of the lectures, as columns by name; they lie beside this file as CSV."""

from __future__ import annotations

import csv
from functools import partial
from importlib.resources import files
from typing import Any, TypeAlias

Data: TypeAlias = dict[str, list[Any]]


def _read(name: str) -> Data:
    """Read a data set; a column whose values are all numbers holds floats."""
    names, *rows = csv.reader(files("suffice.cli").joinpath("demo", f"{name}.csv").read_text("utf-8").splitlines())
    return {name: _typed(list(values)) for name, values in zip(names, zip(*rows, strict=True), strict=True)}


def _typed(values: list[str]) -> list[Any]:
    try:
        return [float(value) for value in values]
    except ValueError:
        return values


tennis = partial(_read, "tennis")  # fourteen days, four categories each, and whether tennis was played
sentiment = partial(_read, "sentiment")  # six short texts, and whether they are positive
people = partial(_read, "people")  # height in feet, weight in pounds, foot size in inches, and sex, of eight people
iris = partial(_read, "iris")  # Fisher's irises (1936): sepals and petals of 150 flowers in cm, and their species

DATA = {"tennis": tennis, "sentiment": sentiment, "people": people, "iris": iris}
