"""Model files that were changed on purpose, with a right checksum: each is refused by name, or answers every question.

A specimen is a value that suffice saves: a fitted estimator of every kind, a `BayesClassifier` with every family, and
every other value that is registered for storage. One to three fields of its tree or tensors are changed, the checksum
is computed again, the file is loaded, and what was loaded is asked everything it can be asked. Every mutant is a
function of the specimen's name and a number: `outcome_of(specimens()[name], number)` repeats a failure.
The long run is a process of its own with a limit on memory and time, so that it survives a crash.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import pickle
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
from sklearn.exceptions import NotFittedError

import suffice as sf
from attacks.tally import Tally
from suffice.core import registry
from suffice.core.errors import SufficeError
from suffice.core.frames import as_frame
from suffice.core.priors import ClassPrior
from suffice.core.statistics import ByClass, Statistic
from suffice.core.words import Tokenization
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.engines.checkpoints import Progressed
from suffice.engines.source import Answer
from suffice.engines.summarizing import Task
from suffice.engines.workers import Refusal
from suffice.estimators.saving import _known, restored
from suffice.families import Family
from suffice.families.product import Block, Product
from suffice.model import storage
from suffice.model.calibration import Calibration
from suffice.model.class_conditionals import conditionals
from suffice.model.experts import ExpertRows, fit_experts
from suffice.model.predictor import Saved
from suffice.model.structure import Structure
from suffice.text import TextClassifier
from suffice.views.report.page import render

SECONDS = 30.0  # of the processor that loading, or one question, may take
ROOM = 1 << 30  # bytes that it may ask for
ROUNDS = 1000  # mutants of each specimen that a seed stands for

# ---------------------------------------------------------------------------------------------- specimens

RNG = np.random.default_rng(0)
ROWS = 36
Y = np.array(["a", "b", "c"])[np.arange(ROWS) % 3]
NUMBERS = RNG.poisson(2.0 + 2 * (np.arange(ROWS) % 3), (3, ROWS)).T.astype(float) + 1.0
GAPS = np.where(RNG.random(NUMBERS.shape) < 0.1, np.nan, NUMBERS + RNG.normal(size=NUMBERS.shape) ** 2 / 9)
NAMES = np.array(["red", "green", "blue"], dtype=object)[RNG.integers(0, 3, (ROWS, 2))]
WORDS = ["good", "bad", "fair", "play", "film", "plot"]
TEXTS = [" ".join(RNG.choice(WORDS, 4 + i % 3)) for i in range(ROWS)]
TABLE = {
    "number": GAPS[:, 0].tolist(),
    "count": NUMBERS[:, 1].tolist(),
    "name": NAMES[:, 0].tolist(),
    "truth": (NUMBERS[:, 2] > 4).tolist(),
    "text": TEXTS,
}

# Parameters with which an estimator takes another path than by default.
VARIANTS: dict[str, list[tuple[dict[str, Any], Any]]] = {
    "GaussianNB": [({}, GAPS), ({"priors": [0.2, 0.3, 0.5]}, NUMBERS)],
    "BernoulliNB": [({"binarize": 2.5}, NUMBERS), ({"alpha": np.ones(3)}, NUMBERS)],
    "CategoricalNB": [({"min_categories": 9}, NUMBERS - 1), ({}, NAMES)],
    "KernelNB": [({}, GAPS), ({"kernel": "cosine", "bandwidth": [0.5, 1.0, 2.0], "limit": 9}, NUMBERS)],
    "MixtureNB": [({"n_init": 2}, GAPS), ({"select": "bic", "limit": 10}, NUMBERS)],
    "LinearDiscriminantAnalysis": [
        ({"priors": [0.2, 0.3, 0.5]}, NUMBERS),
        ({"solver": "eigen", "shrinkage": "auto"}, GAPS),
        ({"solver": "lsqr"}, NUMBERS),
    ],
    "QuadraticDiscriminantAnalysis": [({"reg_param": 0.1}, GAPS), ({"solver": "eigen", "shrinkage": 0.2}, NUMBERS)],
    "BayesClassifier": [
        ({"missing": "informative", "keep": 20}, TABLE),
        ({"families": {"text": "text", ("number", "count"): sf.MultivariateGaussian()}, "smoothing": "auto"}, TABLE),
        ({"calibrate": "classes", "prior": sf.Dirichlet(1.0), "limit": 8}, TABLE),
    ],
    "TextClassifier": [
        ({}, TEXTS),
        ({"event": "bernoulli", "smoothing": 1.0, "calibrate": False}, TEXTS),
        ({"event": "multinomial", "learn": "predictive", "smoothing": 0.5, "n_features": 64}, TEXTS),
        ({"event": "complement", "analyzer": "char", "ngrams": (1, 3), "smoothing": 1.0}, TEXTS),
    ],
}
# Options with which a family takes another path than by default.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "Binned": [{}, {"edges": [1.0, 2.5]}, {"how": "mdl"}],
    "Gaussian": [{}, {"prior": None, "variance": "shared"}, {"learn": "predictive"}],
    "Mixture": [{}, {"joint": True}],
    "MultivariateGaussian": [{}, {"prior": None, "shrinkage": "ledoit-wolf"}, {"learn": "predictive"}],
    "Multinomial": [{}, {"learn": "predictive"}],
    "Poisson": [{}, {"learn": "predictive"}],
    "Text": [{}, {"event": "auto", "ngrams": (1, 2)}],
}


@dataclass(frozen=True)
class Specimen:
    """A value, its file, and the rows that it learned."""

    name: str
    data: bytes
    rows: Any = None


def fitted(estimator: Any, rows: Any) -> Any:
    with quiet():
        return estimator.fit(rows, Y)


def saved(estimator: Any) -> bytes:
    file = io.BytesIO()
    estimator.save(file)
    return file.getvalue()


@cache
def specimens() -> dict[str, Specimen]:
    """Every estimator, every family in a table, and every other class that files may hold."""
    found = [*_estimators(), *_families(), *_structures(), *_values()]
    return {each.name: each for each in found}


def _estimators() -> Iterator[Specimen]:
    for name, cls in _known().items():
        for i, (parameters, rows) in enumerate(VARIANTS.get(name, [({}, NUMBERS)])):
            yield Specimen(f"{name}-{i}", saved(fitted(cls(**parameters), rows)), rows)


def _families() -> Iterator[Specimen]:
    for name in registry.names(Family):
        cls = registry.find(name, Family)
        if not cls.public or not cls.__module__.startswith("suffice."):
            continue
        columns: Any = {"numbers": ("count",), "categories": ("name",), "text": ("text",)}[cls.reads]
        for i, options in enumerate(OPTIONS.get(name, [{}])):
            several = options.get("joint") or name in ("MultivariateGaussian", "JointCategorical")
            key = ("name", "truth") if name == "JointCategorical" else ("number", "count") if several else columns[0]
            used = key if isinstance(key, tuple) else (key,)
            table = {each: TABLE[each] for each in (*used, "truth")}
            model = sf.BayesClassifier({key: cls(**options)}, keep=12)
            yield Specimen(f"table of {name}-{i}", saved(fitted(model, table)), table)


def _structures() -> Iterator[Specimen]:
    """Tables with found columns, pairs and all experts: of rows that are all kept, and of more than are kept."""
    rng = np.random.default_rng(3)
    y, x = rng.integers(0, 2, 90), np.exp(rng.normal(size=90))
    table = {
        "x": x.tolist(),
        "z": (x * np.exp(0.3 * rng.normal(size=90) + y)).tolist(),
        "name": [("red", "blue", None)[i] for i in rng.integers(0, 3, 90)],
    }
    messy = table | {
        "paid": [f"${each:,.2f}" for each in 1000 * x],
        "on": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(90)],
        "note": [f"word{i % 7} is number {i} of all of the notes" for i in range(90)],
    }
    yield Specimen("columns that are read", saved(sf.BayesClassifier(keep=20, structure="naive").fit(messy, y)), messy)
    adapted = sf.BayesClassifier(keep=20, structure="naive").fit(table, y).adapt(table)
    yield Specimen("shares of other rows", saved(adapted), table)
    some = table | {"y": [("a", "b")[c] if i % 3 else None for i, c in enumerate(y)]}
    divided = sf.BayesClassifier(keep=20, structure="naive").fit(some, "y", unlabelled=0.5)
    yield Specimen("rows without labels", saved(divided), table)
    few = {"number": GAPS[:, 0].tolist(), "name": NAMES[:, 0].tolist(), "text": TEXTS}
    yield Specimen("clusters of a table", saved(sf.cluster(few, 2)), few)
    yield Specimen("clusters of texts", saved(sf.cluster(TEXTS, 2)), TEXTS)
    for keep in (100, 60):
        model = sf.BayesClassifier(keep=keep, structure="pool").fit(table, y)
        learned = model._learned
        pool = learned.calibration("pool")
        assert isinstance(pool, Structure)
        kept = learned.family.kept_rows(learned.statistics.statistic)
        rows = learned.family.read(kept.rows)
        of = learned.family.blocks, rows, kept.codes, kept.weight, kept.unit, 2, learned.model.log_prior
        found = fit_experts(ExpertRows.of(*of))
        experts = tuple(expert for expert, _ in found)
        learned._decide(calibrations={"pool": replace(pool, experts=experts, weights=np.full(len(experts), 0.1))})
        yield Specimen(f"structure of {keep} rows", saved(model), table)


def _values() -> Iterator[Specimen]:
    """Values that are stored without an estimator: what travels to workers, checkpoints, statistics and options."""
    table = fitted(sf.BayesClassifier(keep=9), TABLE)
    learned = table._learned
    bayes = Product(blocks=(Block(("count",), sf.Poisson()), Block(("name",), sf.Categorical())), keep=5)
    seen = bayes.summarize(as_frame(TABLE), Y)
    rows = sf.MultivariateGaussian(prior=None, shrinkage="ledoit-wolf").summarize(GAPS, Y)
    words = sf.Text(event="auto", ngrams=(1, 2), keep=9).summarize(np.array(TEXTS), Y)
    values = [
        table._predictor(),
        Answer(table._predictor(), "predict_proba"),
        Task(bayes, ("count", "name"), "target", None),
        Progressed("0" * 64, (("part.csv", 100, 200),), 0, 36, seen),
        Refusal("InvalidDataError", "no"),
        Calibration(np.array([0.5, 0.6, 0.7]), np.zeros(3), 0.01),
        learned,
        table._schema,
        seen,
        rows,
        words,
        sf.Mixture(joint=True).summarize(GAPS, Y),
        sf.Beta(0.5, np.ones(3)),
        sf.Dirichlet(2.0),
        sf.Gamma(1.0, None),
        sf.NormalInverseGamma(mean=[1.0, 2.0]),
        sf.NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.eye(2)),
        ClassPrior(np.array([0.25, 0.75])),
        Tokenization(stop_words=("the",), ngram_range=(1, 2)),
    ]
    for i, value in enumerate(values):
        yield Specimen(f"{type(value).__name__} {i}", storage.to_bytes(value))


def held(tree: Any) -> Iterator[str]:
    """The names of all classes in a tree."""
    if isinstance(tree, dict):
        if isinstance(tree.get("class"), str):
            yield tree["class"]
        for part in tree.values():
            yield from held(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from held(part)


# -------------------------------------------------------------------------------------- files, taken apart


def taken_apart(data: bytes) -> tuple[Any, dict[str, np.ndarray]]:
    """The tree and the tensors of a file."""
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    tree = json.loads(header.pop("__metadata__")["suffice"])
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        dtype = np.dtype(
            "?" if entry["dtype"] == "BOOL" else f"<{entry['dtype'][0].lower()}{int(entry['dtype'][1:]) // 8}"
        )
        tensors[name] = np.frombuffer(body[start:end], dtype).reshape(entry["shape"]).copy()
    return tree, tensors


def assembled(tree: Any, tensors: dict[str, np.ndarray]) -> bytes:
    """A file of a tree and tensors, with a checksum that fits."""
    header: dict[str, Any] = {"__metadata__": {"format": "1", "suffice": json.dumps(tree)}}
    at, body = 0, []
    for name, array in sorted(tensors.items(), key=lambda item: -item[1].itemsize):
        kind = "BOOL" if array.dtype == bool else f"{array.dtype.kind.upper()}{8 * array.itemsize}"
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
        body.append(np.ascontiguousarray(array).tobytes())
    whole = b"".join(body)
    plain = json.dumps(header, sort_keys=True, separators=(",", ":"))
    header["__metadata__"]["checksum"] = sha256(plain.encode() + whole).hexdigest()
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    return len(text).to_bytes(8, "little") + text + whole


# ---------------------------------------------------------------------------------------------- mutations

DEEP: Any = 0
for _ in range(200):
    DEEP = [DEEP]
PLAIN = [
    None, True, False, -1, 0, 1, 2, 3, 17, 1000, 10**6, 10**9, 10**14, 2**31, 2**63, 2**80, -(2**63), -0.5, 0.0, 0.5,
    1e-300, 1e300, 1e308, {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, "", "x", "auto", "mle", "1", "\0",
    "a\nb", [], [1], [[]], {"tuple": []}, {"tuple": [1, 2]}, {"tuple": ["number"]}, {"dict": []}, {"dict": [["x", 1]]},
    {"dtype": "<f4"}, {"dtype": "|b1"}, {"dtype": "<i8"}, {"objects": [None, "a"], "shape": [2]}, DEEP,
]  # fmt: skip
ENTRIES = [np.nan, -1.0, np.inf, -np.inf, 0.0, 1.0, 1e308, -1e308, 1e-308, 5e-324, 1e9, 1e16, 2.5]


def mutant(specimen: Specimen, number: int) -> tuple[bytes, list[str]]:
    """The file of a specimen with one to three changes, and what was changed; a function of its name and the number."""
    rng = np.random.default_rng([crc32(specimen.name.encode()), number])
    tree, tensors = taken_apart(specimen.data)
    changes = []
    for _ in range(int(rng.choice([1, 1, 1, 1, 2, 3]))):
        change = _change_tensor if tensors and rng.random() < 0.45 else _change_tree
        changes.append(change(tree, tensors, rng))
    return assembled(tree, tensors), changes


def _places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all nodes of a tree."""
    yield path
    if isinstance(tree, dict):
        for key, part in tree.items():
            yield from _places(part, (*path, key))
    elif isinstance(tree, list):
        for i, part in enumerate(tree):
            yield from _places(part, (*path, i))


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _change_tree(tree: Any, tensors: dict[str, np.ndarray], rng: np.random.Generator) -> str:
    places = [path for path in _places(tree["value"], ("value",)) if len(path) > 1]
    if not places:
        tree["value"] = _pick(PLAIN, rng)
        return "everything"
    path = _pick(places, rng)
    owner, key, old = _at(tree, path[:-1]), path[-1], _at(tree, path)
    kind = int(rng.integers(0, 10))
    if kind == 0 and isinstance(owner, dict):
        del owner[key]
        return f"{path} left out"
    if kind == 1 and isinstance(old, dict):
        old[_pick(["more", "class", "fields", "order", "weight", "_learned", "_schema"], rng)] = deepcopy(
            _pick(PLAIN, rng)
        )
        return f"{path} with another entry"
    if kind == 2 and isinstance(old, list):
        change = int(rng.integers(0, 4))
        old[:] = [old[:-1], old[::-1], [*old, *deepcopy(old[-1:])], [*old, deepcopy(_pick(PLAIN, rng))]][change]
        return f"{path} with other items"
    if kind == 3:
        owner[key] = deepcopy(_at(tree, _pick(places, rng)))
        return f"{path} as another part"
    if key == "class":
        owner[key] = _pick([*registry.names(), "Family", "os.system"], rng)
        return f"{path} = {owner[key]}"
    if kind == 4 and isinstance(old, dict) and "array" in old:
        old["array"] = _pick([*tensors], rng)
        return f"{path} = tensor {old['array']}"
    if kind == 5 and isinstance(old, (int, float)) and not isinstance(old, bool):
        owner[key] = _pick([old + 1, old - 1, old * 1000, -old, float(old), str(old)], rng)
    else:
        owner[key] = deepcopy(_pick(PLAIN, rng))
    return f"{path} = {str(owner[key])[:60]}"


def _change_tensor(tree: Any, tensors: dict[str, np.ndarray], rng: np.random.Generator) -> str:  # noqa: ARG001
    name = _pick([*tensors], rng)
    array = tensors[name]
    kind = _pick(["entry", "entry", "entry", "all", "row", "dtype", "shape", "swap", "order", "size", "bytes"], rng)
    with np.errstate(all="ignore"):
        if kind in ("entry", "all", "row") and array.size:
            entry = _pick(ENTRIES if array.dtype.kind == "f" else [-1, 0, 1, 2, 7, 1000, 2**31, 2**62, 255], rng)
            value = np.array(entry).astype(array.dtype)
            where = {
                "entry": int(rng.integers(array.size)),
                "all": slice(None),
                "row": slice(0, array.shape[-1] if array.ndim else 1),
            }[kind]
            array.reshape(-1)[where] = value
            return f"{name} {kind} = {value}"
        if kind == "dtype":
            wanted = _pick(["<f8", "<f4", "<f2", "<i8", "<i4", "<u8", "<u4", "u1", "?"], rng)
            tensors[name] = np.nan_to_num(array).astype(wanted) if wanted != "<f8" else array.astype(wanted)
            return f"{name} as {wanted}"
        if kind == "shape":
            a = np.atleast_1d(array)
            shapes = [a.ravel(), a[None], a[..., None], a[:0], a[:-1], np.concatenate([a, a[-1:]]), a.T]
            tensors[name] = np.ascontiguousarray(_pick(shapes, rng))
            return f"{name} of shape {tensors[name].shape}"
        if kind == "swap":
            other = _pick([*tensors], rng)
            tensors[name], tensors[other] = tensors[other], tensors[name]
            return f"{name} for {other}"
        if kind == "order":
            tensors[name] = np.ascontiguousarray(array[::-1]) if array.ndim else array
            return f"{name} reversed"
        if kind == "size" and array.dtype.kind in "fiu":
            factor = _pick([-1.0, 1e-300, 1e-9, 1e9, 1e150, 1e300], rng)
            tensors[name] = (array.astype(np.float64) * factor).astype(array.dtype)
            return f"{name} times {factor:g}"
        raw = array.reshape(-1).view(np.uint8)
        if len(raw):
            raw[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
        if array.dtype == bool:
            raw &= 1
    return f"{name} with another bit"


def _pick(options: list[Any], rng: np.random.Generator) -> Any:
    return options[int(rng.integers(len(options)))]


# ---------------------------------------------------------------------------------------------- questions


class WrongError(Exception):
    """An answer that is none: probabilities that are no distribution."""


def ask(value: Any, rows: Any) -> None:
    """Ask everything that can be asked. An error of suffice is an answer; any other error is not caught."""
    for question in questions(value, rows):
        with quiet(), limited(), suppress(SufficeError, NotFittedError):  # not fitted: all rows were forgotten
            question()


def questions(value: Any, rows: Any) -> Iterator[Callable[[], Any]]:
    if isinstance(value, Saved):
        yield lambda: value.predictor
        value = restored(value)
    if hasattr(value, "get_params"):
        yield from _of_estimator(value, rows)
    else:
        yield from _of_value(value)


def _of_estimator(model: Any, rows: Any) -> Iterator[Callable[[], Any]]:
    few = {name: column[:5] for name, column in rows.items()} if isinstance(rows, dict) else rows[:5]
    yield lambda: repr(model)
    yield lambda: model.predict(rows)
    yield lambda: distribution(model.predict_proba(rows))
    yield lambda: distribution(np.exp(model.predict_log_proba(rows)))
    yield lambda: distribution(np.exp(model.leave_one_out(few, Y[:5])))
    yield lambda: repr(model)
    yield lambda: repr(model.statistics_)
    yield lambda: model.score_samples(rows)
    yield lambda: [print(table, file=io.StringIO()) for table in model.tables()]
    yield lambda: model.evidence(few)
    yield lambda: model.top_features(model.classes_.tolist()[0], by="information")
    yield lambda: model.sample(9, random_state=0)
    yield lambda: model.formula()
    yield lambda: list(conditionals(model))
    yield lambda: render(model)
    yield lambda: model.linear_form()
    if not isinstance(model, TextClassifier):
        yield lambda: model.impute(rows)
    if hasattr(model, "outliers"):
        yield lambda: model.outliers(rows)
        yield lambda: model.schema_
        yield lambda: model.impute(few, "sample", random_state=0)
    if isinstance(model, (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)):
        yield lambda: model.decision_function(rows)
    yield from _of_newer(model, rows, few)
    yield lambda: model.calibration_ if hasattr(model, "calibration_") else None
    yield lambda: distribution((model + model).predict_proba(few))
    yield lambda: model.partial_fit(few, Y[:5])
    yield lambda: model.forget(few, Y[:5])
    yield lambda: distribution(model.predict_proba(few))
    yield lambda: model.rename_class(model.classes_.tolist()[0], "new")
    yield lambda: model.drop_class(model.classes_.tolist()[0])
    yield lambda: distribution(model.predict_proba(few))
    yield lambda: saved(model)


def _of_newer(model: Any, rows: Any, few: Any) -> Iterator[Callable[[], Any]]:
    """Ask about single rows, other shares, suspects, other languages and change."""

    def row() -> Any:
        if isinstance(rows, dict):
            return {name: column[0] for name, column in rows.items()}
        return rows[0] if isinstance(rows[0], str) else dict(zip(model._names(), rows[0].tolist(), strict=True))

    def learn() -> None:
        again = pickle.loads(pickle.dumps(model))
        for _ in range(3):
            again.learn_one(row(), again.classes_.tolist()[0])
        distribution([list(again.predict_proba_one(row()).values())])
        again.settle()

    labels = model.classes_[np.arange(len(Y)) % len(model.classes_)]
    yield lambda: distribution([list(model.predict_proba_one(row()).values())])
    yield lambda: model.predict_one(row())
    yield learn
    yield lambda: distribution(model.adapt(rows).predict_proba(few))
    yield lambda: model.suspects(few, labels[:5])
    yield lambda: model.cross_validate(few, labels[:5], folds=2)
    yield lambda: model.to_sql()
    yield lambda: model.to_onnx()
    yield lambda: model.n_parameters_
    yield lambda: sf.Monitor(model, reference=rows).update(few)
    for wrapped in (sf.Fading(model, half_life=5.0), sf.Window(model, rows=4)):
        yield lambda wrapped=wrapped: distribution(wrapped.fit(few, Y[:5]).predict_proba(few))
    if isinstance(model, sf.BayesClassifier):
        yield lambda: distribution(model.like().fit(few, labels[:5]).predict_proba(few))


def _of_value(value: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: repr(value)
    yield lambda: value == value
    if isinstance(value, Progressed):
        value = value.found
    if isinstance(value, Answer):
        yield lambda: value.predictor.answer(value.question, pa.table(TABLE))
        value = value.predictor
    if hasattr(value, "predict_proba"):
        frame = as_frame(TABLE)
        yield lambda: distribution(value.predict_proba(frame))
        yield lambda: value.described
        yield lambda: value.sample(5, random_state=0)
        yield lambda: value.evidence(frame)
        yield lambda: value.formula()
        value = value.learned
    if hasattr(value, "family") and hasattr(value, "seen"):
        yield lambda: distribution(value.posterior(as_frame(TABLE)))
        yield lambda: value + value
        yield lambda: value.calibration(True)
        value = value.seen
    if isinstance(value, Task):
        yield lambda: value.summarize(pa.table({**TABLE, "target": Y.tolist()}))
    if isinstance(value, (ByClass, Statistic)):
        yield lambda: value + value
        yield lambda: value - value
        yield lambda: value.scale(0.5)
        yield lambda: value.take(np.arange(1))
    if isinstance(value, ByClass):
        yield lambda: value.drop(value.labels.tolist()[0])
        yield lambda: value.over(np.array([*value.labels.tolist(), "z"]))
    if isinstance(value, Calibration):
        yield lambda: distribution(value.posterior(np.zeros((2, len(value.slope))), np.full(len(value.slope), -1.0)))
    if hasattr(value, "again"):
        yield lambda: value.again()
    if value is not None:
        yield lambda: storage.to_bytes(value)


def distribution(probabilities: Any) -> None:
    """Raise an error unless the rows are probabilities that sum to 1."""
    p = np.asarray(probabilities, dtype=np.float64)
    if not (np.isfinite(p).all() and (p >= 0).all() and (abs(p.sum(axis=1) - 1) < 1e-5).all()):
        raise WrongError(f"no distribution: {p[~(abs(p.sum(axis=1) - 1) < 1e-5)][:1].tolist()}")


# ------------------------------------------------------------------------------------------- one attack


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: "refused", "answered", or what went wrong, and where."""

    name: str
    number: int
    kind: str
    what: str = ""


def loaded(data: bytes) -> Any:
    """What a file holds: an estimator is made again, as `load` does."""
    value = storage.from_bytes(data)
    if isinstance(value, Saved):
        restored(value)
    return value


def outcome_of(specimen: Specimen, number: int) -> Outcome:
    """Load a mutant, and ask it everything."""
    data, changes = mutant(specimen, number)
    stage = "load"
    try:
        with quiet():
            try:
                with limited():
                    value = loaded(data)
            except SufficeError as error:
                named = isinstance(error, sf.StorageError)
                return Outcome(specimen.name, number, "refused" if named else "unnamed", f"{changes} {error!r}"[:400])
            stage = "ask"
            ask(value, specimen.rows)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)
        ours = [each for each in where if "/suffice/" in each.filename] or list(where)
        place = f"{ours[-1].filename.rpartition('/')[2]}:{ours[-1].lineno}"
        kinds = {MemoryError: "memory", HangError: "hang", WrongError: "wrong"}
        kind = next((name for each, name in kinds.items() if isinstance(error, each)), "raw")
        return Outcome(
            specimen.name, number, kind, f"{stage} {place} {type(error).__name__}: {error} | {changes}"[:600]
        )
    return Outcome(specimen.name, number, "answered")


class HangError(Exception):
    """A mutant that takes longer than it may."""


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def limited() -> Iterator[None]:
    """Limit time and memory, and put the limits back."""

    def stop(*_: Any) -> None:
        raise HangError(f"more than {SECONDS:g} seconds")

    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    handler = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, before[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


# ---------------------------------------------------------------------------------------------- the long run


def _work(pipe: Any, jobs: list[tuple[str, int]]) -> None:
    known = specimens()
    for name, number in jobs:
        pipe.send(None)
        pipe.send(outcome_of(known[name], number))


def run(jobs: list[tuple[str, int]], seconds: float = np.inf) -> Iterator[Outcome]:
    """Attack in another process, which is replaced if it dies or does not answer."""
    context = multiprocessing.get_context("fork")
    specimens()
    began, at = time.monotonic(), 0
    while at < len(jobs) and time.monotonic() - began < seconds:
        mine, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(theirs, jobs[at : at + 500]), daemon=True)
        worker.start()
        theirs.close()
        try:
            for _ in jobs[at : at + 500]:
                mine.recv()
                if not mine.poll(30 * SECONDS):
                    yield Outcome(*jobs[at], "hang", "native code does not return")
                    at += 1
                    break
                yield mine.recv()
                at += 1
                if time.monotonic() - began >= seconds:
                    break
        except EOFError:
            yield Outcome(*jobs[at], "crash", f"exit code {worker.exitcode}")
            at += 1
        finally:
            worker.kill()
            worker.join()


def attack(seconds: float, seed: int) -> Tally:
    """Attack all specimens in turn until the seconds have passed."""
    names = list(specimens())
    first, tally = seed * ROUNDS, Tally()
    for each in run([(name, first + i) for i in range(ROUNDS) for name in names], seconds):
        tally["tried"] += 1
        if each.kind in ("refused", "answered"):
            tally[each.kind] += 1
        else:
            tally.fail(f"{each.name!r}, {each.number}", f"{each.kind}: {each.what}")
    return tally
