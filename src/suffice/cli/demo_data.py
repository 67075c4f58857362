"""Four small data sets of the lectures on generative classification, as columns by name."""

from __future__ import annotations

from typing import Any, TypeAlias

Data: TypeAlias = dict[str, list[Any]]  # values by column

_TENNIS = """
Sunny Hot High Weak No; Sunny Hot High Strong No; Overcast Hot High Weak Yes; Rain Mild High Weak Yes;
Rain Cool Normal Weak Yes; Rain Cool Normal Strong No; Overcast Cool Normal Strong Yes; Sunny Mild High Weak No;
Sunny Cool Normal Weak Yes; Rain Mild Normal Weak Yes; Sunny Mild Normal Strong Yes; Overcast Mild High Strong Yes;
Overcast Hot Normal Weak Yes; Rain Mild High Strong No
"""
_PEOPLE = """
6.00 180 12 male; 5.92 190 11 male; 5.58 170 12 male; 5.92 165 10 male;
5.00 100 6 female; 5.50 150 8 female; 5.42 130 7 female; 5.75 150 9 female
"""
# Fisher's irises (1936), as scikit-learn has them.
_IRIS = {
    "setosa": """
5.1 3.5 1.4 0.2; 4.9 3.0 1.4 0.2; 4.7 3.2 1.3 0.2; 4.6 3.1 1.5 0.2; 5.0 3.6 1.4 0.2; 5.4 3.9 1.7 0.4;
4.6 3.4 1.4 0.3; 5.0 3.4 1.5 0.2; 4.4 2.9 1.4 0.2; 4.9 3.1 1.5 0.1; 5.4 3.7 1.5 0.2; 4.8 3.4 1.6 0.2;
4.8 3.0 1.4 0.1; 4.3 3.0 1.1 0.1; 5.8 4.0 1.2 0.2; 5.7 4.4 1.5 0.4; 5.4 3.9 1.3 0.4; 5.1 3.5 1.4 0.3;
5.7 3.8 1.7 0.3; 5.1 3.8 1.5 0.3; 5.4 3.4 1.7 0.2; 5.1 3.7 1.5 0.4; 4.6 3.6 1.0 0.2; 5.1 3.3 1.7 0.5;
4.8 3.4 1.9 0.2; 5.0 3.0 1.6 0.2; 5.0 3.4 1.6 0.4; 5.2 3.5 1.5 0.2; 5.2 3.4 1.4 0.2; 4.7 3.2 1.6 0.2;
4.8 3.1 1.6 0.2; 5.4 3.4 1.5 0.4; 5.2 4.1 1.5 0.1; 5.5 4.2 1.4 0.2; 4.9 3.1 1.5 0.2; 5.0 3.2 1.2 0.2;
5.5 3.5 1.3 0.2; 4.9 3.6 1.4 0.1; 4.4 3.0 1.3 0.2; 5.1 3.4 1.5 0.2; 5.0 3.5 1.3 0.3; 4.5 2.3 1.3 0.3;
4.4 3.2 1.3 0.2; 5.0 3.5 1.6 0.6; 5.1 3.8 1.9 0.4; 4.8 3.0 1.4 0.3; 5.1 3.8 1.6 0.2; 4.6 3.2 1.4 0.2;
5.3 3.7 1.5 0.2; 5.0 3.3 1.4 0.2
""",
    "versicolor": """
7.0 3.2 4.7 1.4; 6.4 3.2 4.5 1.5; 6.9 3.1 4.9 1.5; 5.5 2.3 4.0 1.3; 6.5 2.8 4.6 1.5; 5.7 2.8 4.5 1.3;
6.3 3.3 4.7 1.6; 4.9 2.4 3.3 1.0; 6.6 2.9 4.6 1.3; 5.2 2.7 3.9 1.4; 5.0 2.0 3.5 1.0; 5.9 3.0 4.2 1.5;
6.0 2.2 4.0 1.0; 6.1 2.9 4.7 1.4; 5.6 2.9 3.6 1.3; 6.7 3.1 4.4 1.4; 5.6 3.0 4.5 1.5; 5.8 2.7 4.1 1.0;
6.2 2.2 4.5 1.5; 5.6 2.5 3.9 1.1; 5.9 3.2 4.8 1.8; 6.1 2.8 4.0 1.3; 6.3 2.5 4.9 1.5; 6.1 2.8 4.7 1.2;
6.4 2.9 4.3 1.3; 6.6 3.0 4.4 1.4; 6.8 2.8 4.8 1.4; 6.7 3.0 5.0 1.7; 6.0 2.9 4.5 1.5; 5.7 2.6 3.5 1.0;
5.5 2.4 3.8 1.1; 5.5 2.4 3.7 1.0; 5.8 2.7 3.9 1.2; 6.0 2.7 5.1 1.6; 5.4 3.0 4.5 1.5; 6.0 3.4 4.5 1.6;
6.7 3.1 4.7 1.5; 6.3 2.3 4.4 1.3; 5.6 3.0 4.1 1.3; 5.5 2.5 4.0 1.3; 5.5 2.6 4.4 1.2; 6.1 3.0 4.6 1.4;
5.8 2.6 4.0 1.2; 5.0 2.3 3.3 1.0; 5.6 2.7 4.2 1.3; 5.7 3.0 4.2 1.2; 5.7 2.9 4.2 1.3; 6.2 2.9 4.3 1.3;
5.1 2.5 3.0 1.1; 5.7 2.8 4.1 1.3
""",
    "virginica": """
6.3 3.3 6.0 2.5; 5.8 2.7 5.1 1.9; 7.1 3.0 5.9 2.1; 6.3 2.9 5.6 1.8; 6.5 3.0 5.8 2.2; 7.6 3.0 6.6 2.1;
4.9 2.5 4.5 1.7; 7.3 2.9 6.3 1.8; 6.7 2.5 5.8 1.8; 7.2 3.6 6.1 2.5; 6.5 3.2 5.1 2.0; 6.4 2.7 5.3 1.9;
6.8 3.0 5.5 2.1; 5.7 2.5 5.0 2.0; 5.8 2.8 5.1 2.4; 6.4 3.2 5.3 2.3; 6.5 3.0 5.5 1.8; 7.7 3.8 6.7 2.2;
7.7 2.6 6.9 2.3; 6.0 2.2 5.0 1.5; 6.9 3.2 5.7 2.3; 5.6 2.8 4.9 2.0; 7.7 2.8 6.7 2.0; 6.3 2.7 4.9 1.8;
6.7 3.3 5.7 2.1; 7.2 3.2 6.0 1.8; 6.2 2.8 4.8 1.8; 6.1 3.0 4.9 1.8; 6.4 2.8 5.6 2.1; 7.2 3.0 5.8 1.6;
7.4 2.8 6.1 1.9; 7.9 3.8 6.4 2.0; 6.4 2.8 5.6 2.2; 6.3 2.8 5.1 1.5; 6.1 2.6 5.6 1.4; 7.7 3.0 6.1 2.3;
6.3 3.4 5.6 2.4; 6.4 3.1 5.5 1.8; 6.0 3.0 4.8 1.8; 6.9 3.1 5.4 2.1; 6.7 3.1 5.6 2.4; 6.9 3.1 5.1 2.3;
5.8 2.7 5.1 1.9; 6.8 3.2 5.9 2.3; 6.7 3.3 5.7 2.5; 6.7 3.0 5.2 2.3; 6.3 2.5 5.0 1.9; 6.5 3.0 5.2 2.0;
6.2 3.4 5.4 2.3; 5.9 3.0 5.1 1.8
""",
}


def _rows(text: str) -> list[list[str]]:
    return [row.split() for row in text.split(";")]


def _columns(names: list[str], rows: list[list[Any]]) -> Data:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def tennis() -> Data:
    """Return fourteen days, four categories each, and whether tennis was played."""
    return _columns(["Outlook", "Temperature", "Humidity", "Wind", "Play"], _rows(_TENNIS))


def sentiment() -> Data:
    """Return six short texts, and whether they are positive."""
    rows = [
        ["this book is awesome", "positive"],
        ["harry potter books suck", "negative"],
        ["these pretzles are making me thirsty", "negative"],
        ["they choppin my fingers off Ira", "negative"],
        ["supreme beings of leisure rock", "positive"],
        ["cheeto jesus is a tyrant", "negative"],
    ]
    return _columns(["text", "sentiment"], rows)


def people() -> Data:
    """Return height in feet, weight in pounds and foot size in inches of eight people, and their sex."""
    rows = [[*map(float, row[:3]), row[3]] for row in _rows(_PEOPLE)]
    return _columns(["height", "weight", "foot", "sex"], rows)


def iris() -> Data:
    """Return length and width of the sepals and petals of 150 flowers, in centimetres, and their species."""
    rows = [[*map(float, row), species] for species, text in _IRIS.items() for row in _rows(text)]
    return _columns(["sepal length", "sepal width", "petal length", "petal width", "species"], rows)


DATA = {"tennis": tennis, "sentiment": sentiment, "people": people, "iris": iris}
