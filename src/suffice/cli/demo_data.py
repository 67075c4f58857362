"""Small data sets, four of them of the lectures, as columns by name; they lie beside this file as CSV.

The penguins of the Palmer Archipelago were measured by Kristen Gorman and the Palmer Station Long Term Ecological
Research program (Gorman, Williams and Fraser, 2014, https://doi.org/10.1371/journal.pone.0090081). The data are in the
public domain (CC0), in the form of the package `palmerpenguins` by Allison Horst, Alison Hill and Kristen Gorman.
"""

from __future__ import annotations

import csv
from functools import partial
from importlib.resources import files
from typing import Any, TypeAlias

Data: TypeAlias = dict[str, list[Any]]


def _read(name: str) -> Data:
    """Read a data set; a column whose values are all numbers holds floats, and an empty value is None."""
    names, *rows = csv.reader(files("suffice.cli").joinpath("demo", f"{name}.csv").read_text("utf-8").splitlines())
    return {name: _typed(list(values)) for name, values in zip(names, zip(*rows, strict=True), strict=True)}


def _typed(values: list[str]) -> list[Any]:
    known = [value or None for value in values]
    try:
        return [value if value is None else float(value) for value in known]
    except ValueError:
        return known


tennis = partial(_read, "tennis")  # fourteen days, four categories each, and whether tennis was played
sentiment = partial(_read, "sentiment")  # six short texts, and whether they are positive
people = partial(_read, "people")  # height in feet, weight in pounds, foot size in inches, and sex, of eight people
iris = partial(_read, "iris")  # Fisher's irises (1936): sepals and petals of 150 flowers in cm, and their species

penguins = partial(_read, "penguins")  # measures of 344 penguins with gaps, their island, sex, year and species


def penguins_part(part: str) -> Data:
    """Return the penguins to learn from ("train"), every third of all, held back ("test"), or two that were learned."""
    data = penguins()
    n = len(data["species"])
    rows = {"train": [i for i in range(n) if i % 3 != 2], "test": list(range(2, n, 3)), "forget": FORGOTTEN}[part]
    return {name: [values[i] for i in rows] for name, values in data.items()}


FORGOTTEN = [121, 133]  # Adelie penguins on which the prediction of a penguin that was held back depends
DATA = {"tennis": tennis, "sentiment": sentiment, "people": people, "iris": iris}
DATA |= {f"penguins-{part}": partial(penguins_part, part) for part in ("train", "test", "forget")}
