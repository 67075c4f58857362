"""What others offer for raw text, each called the way that suits it best."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

WORDS = r"(?u)\b\w\w+\b"  # scikit-learn's, and ours


def default_pipeline(ngrams: tuple[int, int] = (1, 1)) -> Pipeline:
    """scikit-learn's own defaults: counts of words, multinomial naive Bayes with smoothing 1."""
    return make_pipeline(CountVectorizer(ngram_range=ngrams), MultinomialNB())


def logistic_regression() -> Pipeline:
    """Logistic regression on 1 + log tf, idf and unit length, with the better of two penalties here."""
    return make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=100, max_iter=1000))


def tokenise(text: str) -> str:
    """The words of a text between single spaces, for those who cut at spaces only."""
    return " ".join(re.findall(WORDS, text.lower()))


def spell_numbers(labels: Any) -> list[int]:
    """Number labels from 1 in their order, for those who want numbers."""
    numbers = {label: i for i, label in enumerate(sorted(set(labels)), 1)}
    return [numbers[label] for label in labels]


class VowpalWabbit:
    """One against all on hashed words, one pass, from and to files of lines cut into words before any time counts.

    Its parser then runs in a thread of its own, which is quicker than handing it line by line from Python.
    """

    def __init__(self, folder: Path, texts: list[str], labels: Any, questions: list[str]):
        self.folder, self.classes = folder, len(set(labels))
        self._write("train", [f"{y} | {tokenise(x)}" for x, y in zip(texts, spell_numbers(labels), strict=True)])
        self._write("test", [f"| {tokenise(x)}" for x in questions])

    def _write(self, name: str, lines: list[str]) -> None:
        (self.folder / f"{name}.vw").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _run(self, options: str) -> None:
        from vowpalwabbit import Workspace

        Workspace(f"--quiet {options}").finish()

    def fit(self) -> None:
        """Learn the file of training lines and write the model."""
        self._run(f"--oaa {self.classes} -b 20 -d {self.folder}/train.vw -f {self.folder}/model.vw")

    def predict(self) -> list[int]:
        """Number the class of each test line, from 1."""
        self._run(f"-t -i {self.folder}/model.vw -d {self.folder}/test.vw -p {self.folder}/answers")
        return [int(float(line)) for line in (self.folder / "answers").read_text().split()]


class FastText:
    """fastText's linear model of averaged word vectors, on words between spaces.

    Its defaults learn next to nothing of so few documents in five passes (accuracy 0.11), hence the larger steps.
    """

    def __init__(self, folder: Path, texts: list[str], labels: Any, questions: list[str], threads: int):
        self.file, self.threads = folder / "train.txt", threads
        lines = [f"__label__{y} {tokenise(x)}\n" for x, y in zip(texts, spell_numbers(labels), strict=True)]
        self.file.write_text("".join(lines), encoding="utf-8")
        self.questions = [tokenise(x) for x in questions]

    def fit(self) -> None:
        """Learn the file of training lines in the five passes that are its default."""
        import fasttext

        self.model = fasttext.train_supervised(str(self.file), lr=1.0, thread=self.threads, verbose=0)

    def predict(self) -> list[int]:
        """Number the class of each question, from 1."""
        labels, _ = self.model.predict(self.questions)
        return [int(found[0].removeprefix("__label__")) for found in labels]


class Polars:
    """The counts of every word in every class, which is all that a multinomial model needs."""

    def __init__(self, texts: Any, labels: Any):
        import polars as pl

        self.frame = pl.DataFrame({"text": texts, "label": labels})

    def count(self) -> Any:
        """Cut into words and count them by class."""
        import polars as pl

        words = pl.col("text").str.to_lowercase().str.extract_all(r"\b\w\w+\b").alias("word")
        return self.frame.select(words, "label").explode("word").group_by("label", "word").len()


class River:
    """Multinomial naive Bayes that learns one document at a time."""

    def __init__(self) -> None:
        from river.feature_extraction import BagOfWords
        from river.naive_bayes import MultinomialNB as OneByOne

        self.words, self.model = BagOfWords(strip_accents=False, tokenizer_pattern=WORDS), OneByOne(alpha=1.0)

    def learn(self, text: str, label: str) -> None:
        """Learn one document."""
        self.model.learn_one(self.words.transform_one(text), label)

    def predict_proba(self, text: str) -> dict[str, float]:
        """Give the posterior of each class."""
        return self.model.predict_proba_one(self.words.transform_one(text))


PEERS = {"scikit-learn, counts and MultinomialNB": default_pipeline,
         "scikit-learn, words and bigrams and MultinomialNB": partial(default_pipeline, (1, 2)),
         "scikit-learn, tf-idf and logistic regression": logistic_regression}  # fmt: skip
