"""The small data sets of the naive Bayes lecture with exercises."""

from __future__ import annotations

import numpy as np

# ------------------------------------------------------------------------------ should you play tennis or not?

TENNIS_COLUMNS = ["Outlook", "Temperature", "Humidity", "Wind"]

_TENNIS = """
Sunny     Hot   High    Weak    No
Sunny     Hot   High    Strong  No
Overcast  Hot   High    Weak    Yes
Rain      Mild  High    Weak    Yes
Rain      Cool  Normal  Weak    Yes
Rain      Cool  Normal  Strong  No
Overcast  Cool  Normal  Strong  Yes
Sunny     Mild  High    Weak    No
Sunny     Cool  Normal  Weak    Yes
Rain      Mild  Normal  Weak    Yes
Sunny     Mild  Normal  Strong  Yes
Overcast  Mild  High    Strong  Yes
Overcast  Hot   Normal  Weak    Yes
Rain      Mild  High    Strong  No
"""


def tennis() -> tuple[np.ndarray, np.ndarray]:
    """Fourteen days of four categories, and whether tennis was played."""
    rows = np.array([line.split() for line in _TENNIS.strip().splitlines()], dtype=object)
    return rows[:, :4], rows[:, 4].astype(str)


TENNIS_QUESTION = np.array([["Overcast", "Hot", "High", "Strong"]], dtype=object)


# ---------------------------------------------------------------------------------------- sentiment analysis

SENTIMENT = [
    ("this book is awesome", "positive"),
    ("harry potter books suck", "negative"),
    ("these pretzles are making me thirsty", "negative"),
    ("they choppin my fingers off Ira", "negative"),
    ("supreme beings of leisure rock", "positive"),
    ("cheeto jesus is a tyrant", "negative"),
]
SENTIMENT_QUESTION = "just had my first cheeto ever it was awesome"

# The words of these texts that everyone's list of English stop words holds.
STOP_WORDS = {"this", "is", "these", "are", "me", "they", "my", "off", "of", "just", "had", "it", "was", "ever"}


def words(text: str, stop_words: set[str] = frozenset()) -> list[str]:
    """The words of two or more letters, in lower case."""
    return [word for word in text.lower().split() if len(word) >= 2 and word not in stop_words]


def sentiment(stop_words: set[str] = frozenset()) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The vocabulary, the counts of its words in each text, and the sentiments."""
    vocabulary = sorted({word for text, _ in SENTIMENT for word in words(text, stop_words)})
    counts = np.array([count(text, vocabulary) for text, _ in SENTIMENT])
    return vocabulary, counts, np.array([label for _, label in SENTIMENT])


def count(text: str, vocabulary: list[str]) -> list[float]:
    """How often each word of the vocabulary occurs; unknown words are skipped."""
    found = words(text)
    return [float(found.count(word)) for word in vocabulary]


# -------------------------------------------------------------------------------------------- male or female?


def gender() -> tuple[np.ndarray, np.ndarray]:
    """Height, weight and foot size of eight people."""
    rows = [
        (6.00, 180, 12),
        (5.92, 190, 11),
        (5.58, 170, 12),
        (5.92, 165, 10),
        (5.00, 100, 6),
        (5.50, 150, 8),
        (5.42, 130, 7),
        (5.75, 150, 9),
    ]
    return np.array(rows, dtype=float), np.array(["male"] * 4 + ["female"] * 4)


GENDER_QUESTION = np.array([[6.0, 130.0, 8.0]])
