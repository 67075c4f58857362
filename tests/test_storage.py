"""One file that holds all that was learned: nothing is lost, and nothing is believed that was changed."""

import inspect
import io
import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.exceptions import NotFittedError

import suffice as sf
from suffice import errors, families, priors, statistics
from suffice import text as texts
from suffice.core import registry
from suffice.core.frames import ColumnReading, as_frame
from suffice.core.frozen_options import Options
from suffice.core.statistics import Statistic
from suffice.core.words import Tokenization, Vocabulary
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.estimators import discriminant_analysis, naive_bayes
from suffice.estimators import table_classifier as classifier
from suffice.estimators.table_classifier import BayesClassifier
from suffice.families.automatic_text import AutomaticText
from suffice.families.choose import Automatic, AutomaticBernoulli, AutomaticCategorical
from suffice.families.found_columns import FoundColumn
from suffice.families.linear_discriminant import LinearDiscriminant
from suffice.families.pair_plan import CodedColumn, PairPlan
from suffice.families.product import Block, Product
from suffice.model import storage
from suffice.model.packing import is_shape
from suffice.model.storage import from_bytes, to_bytes
from suffice.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    KernelNB,
    MixtureNB,
    MultinomialNB,
    PoissonNB,
)
from suffice.text import BagOfWords, TextClassifier

RNG = np.random.default_rng(0)
LABELS = np.array(["ähnlich", "b", "漢字"])
Y = LABELS[RNG.integers(0, 3, 60)]
REAL = RNG.normal(size=(60, 3)) + 1e3
GAPS = np.where(RNG.random(REAL.shape) < 0.15, np.nan, REAL)
NUMBERS = RNG.poisson(2.0, (60, 3)).astype(float)
NAMES = np.array(["red", "grün", "\N{GRINNING FACE}", None], dtype=object)[RNG.integers(0, 4, (60, 3))]
WEIGHT = RNG.random(60) + 0.5
TEXTS = np.array([None if row[0] is None else " ".join(str(name) for name in row) for row in NAMES], dtype=object)

ESTIMATORS = [
    (GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=1e-6), GAPS),
    (GaussianNB(), REAL.astype(np.float32)),
    (BernoulliNB(binarize=1.5), NUMBERS),
    (MultinomialNB(alpha=np.array([0.5, 1.0, 2.0])), NUMBERS),
    (ComplementNB(norm=True), NUMBERS),
    (PoissonNB(fit_prior=False), NUMBERS),
    (CategoricalNB(min_categories=[9, 9, 12]), NUMBERS),
    (CategoricalNB(class_prior=(0.25, 0.25, 0.5)), NAMES),
    (KernelNB(bandwidth=[0.1, 0.2, 0.3]), GAPS),
    (KernelNB(limit=5), REAL),
    (MixtureNB(components=2, max_iter=500), REAL),
    (LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]), REAL),
    (LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"), REAL),
    (QuadraticDiscriminantAnalysis(reg_param=0.1), GAPS),
    (BayesClassifier(missing="informative", keep=30), GAPS),
    (BayesClassifier({"x0": sf.Categorical(), "x2": None}, calibrate=False), NAMES),
    (TextClassifier(stop_words=["none"], keep=20), TEXTS),
    (TextClassifier(event="bernoulli", ngrams=(1, 3), smoothing=0.5, prior="uniform"), TEXTS),
    (TextClassifier(event="multinomial", analyzer="char", learn="predictive", smoothing=2, calibrate=False), TEXTS),
]
IDS = [f"{type(e).__name__}-{i}" for i, (e, _) in enumerate(ESTIMATORS)]

CODES = RNG.integers(0, 3, 60).astype(np.int32)
TABLE = as_frame({"number": GAPS[:, 0], "name": NAMES[:, 0], "truth": NUMBERS[:, 0] > 3})
MIXED = Product(
    blocks=(
        Block(("number",), Automatic(limit=9)),
        Block(("name",), AutomaticCategorical("auto")),
        Block(("truth",), AutomaticBernoulli(gate=False)),
        Block(("number",), AutomaticBernoulli(), missing=True),
    ),
    keep=10,
)
ZEROS, PAIR = np.zeros((len(CODES), 2), np.uint8), np.array([[0], [1]], np.int32)
STATISTICS = [
    statistics.Moments.of(GAPS, CODES, 3, WEIGHT),
    statistics.Totals.of(NUMBERS, CODES, 3),
    statistics.Totals.of(np.abs(GAPS), CODES, 3, WEIGHT),
    statistics.Counts.of(NUMBERS, CODES, 3, WEIGHT),
    statistics.Counts.of(NAMES, CODES, 3),
    sf.JointCategorical().summarize(NAMES, Y).statistic,
    statistics.Cells.of(GAPS, CODES, 3, WEIGHT),
    statistics.Cells.of(REAL, CODES, 3, WEIGHT, limit=4, exact_moments=True),
    statistics.Sample.of(GAPS, CODES, 3, joint=True),
    statistics.Sample.of(REAL, CODES, 3, joint=True, limit=4),
    statistics.Scatter.of(REAL, CODES, 3, WEIGHT, fourth=True),
    statistics.Scatter.of(GAPS, CODES, 3),
    statistics.RowSample.of(TABLE, CODES, 3, WEIGHT, size=20),
    MIXED.summarize(TABLE, Y, WEIGHT).statistic,
    statistics.Pairs.of(ZEROS, CODES, 3, WEIGHT, sizes=np.array([1, 2]), pairs=PAIR),
    sf.Text().summarize(NAMES[:, 0], Y, WEIGHT).statistic,
    sf.Text(event="auto", ngrams=(1, 2), keep=9).summarize(TEXTS, Y, WEIGHT).statistic,
]
# Parts of statistics, and of families, that are stored as well.
PARTS = [
    STATISTICS[-1].kept,
    statistics.DocumentSample.empty(3),
    Vocabulary.of([]),
    Vocabulary.of(["grün", "b", "\N{GRINNING FACE}", "two words"]),
    Tokenization(),
    Tokenization(False, "ascii", "word", (1, 3), ("the", "an"), "english"),
    Tokenization(analyzer="char_wb", n_features=100),
]
OPTIONS = [
    PairPlan((CodedColumn(0, edges=np.array([0.5])), CodedColumn(1, keys=np.array(["a"]))), PAIR),
    CodedColumn(0, keys=np.array(["a", "b"])),
    FoundColumn("z", "x", "sum", (2.0, 1.5)),
    ColumnReading("paid on", "paid on month", "month", "%d.%m.%Y"),
    AutomaticText(0.5),
    AutomaticText(event="auto"),
    sf.Beta(0.5, np.array([1.0, 2.0, 3.0])),
    sf.Dirichlet(2),
    sf.Dirichlet(np.float32(0.1)),
    sf.Gamma(1.0, None),
    sf.NormalInverseGamma(mean=[1.0, 2.0]),
    sf.NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.asfortranarray([[2.0, 0.5], [0.5, 1.0]])),
    sf.ClassPrior(),
    sf.ClassPrior(np.array([0.3, 0.7]), ignored=True),
    sf.ClassPrior(sf.Dirichlet(1.0)),
    sf.Bernoulli(threshold=None),
    sf.Binned(edges=[1, 2, 3]),
    sf.Binned(edges=[[1.5], [2, 3]]),
    sf.Binned(how="mdl"),
    sf.Categorical(learn="predictive", min_categories=np.array([2, 3])),
    sf.Complement(),
    sf.Exponential(),
    sf.Gaussian(variance=np.array([1.0, 2.0]), learn="map"),
    sf.Gaussian(unbiased=True),
    sf.Geometric(),
    sf.JointCategorical(prior=None),
    sf.Kernel("cosine", np.array([0.1, 0.2])),
    sf.LogNormal(),
    sf.Mixture(3, select="bic", joint=True, limit=7),
    sf.Multinomial(),
    sf.MultivariateGaussian(tied=True, share=np.array([0.1, 0.3, 0.7])),
    sf.Poisson(prior=None),
    LinearDiscriminant(prior=None, tied=True, priors=np.array([0.5, 0.5])),
    sf.Text(prior=sf.Dirichlet(0.5)),
    sf.Text(event="auto", ngrams=(1, 2), stop_words=["the", "an"], stem="german", keep=7),
    MIXED,
    *MIXED.blocks,
    *(block.family for block in MIXED.blocks),
]


def saved(estimator) -> bytes:
    file = io.BytesIO()
    estimator.save(file)
    return file.getvalue()


def loaded(data: bytes):
    return sf.load(io.BytesIO(data))


def objects(values: list) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out


def subclasses(cls: type) -> set[type]:
    return {cls}.union(*map(subclasses, cls.__subclasses__()))


def same_bits(a, b) -> bool:
    return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def alike(a, b) -> bool:
    """Equal, type by type and bit by bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, pa.ChunkedArray):
        return a.type == b.type and repr(a.to_pylist()) == repr(b.to_pylist())
    if is_dataclass(a):
        return all(alike(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray) and a.dtype.kind == "O":
        return a.shape == b.shape and alike(a.ravel().tolist(), b.ravel().tolist())
    if isinstance(a, (np.ndarray, np.generic)):
        return same_bits(a, b) and (a.size < 2 or a.strides == b.strides)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and alike(list(a.values()), list(b.values()))
    return repr(a) == repr(b)  # also where it is NaN


# ---- nothing is lost


@pytest.mark.parametrize("value", STATISTICS + OPTIONS + PARTS, ids=lambda v: type(v).__name__)
def test_every_statistic_prior_and_family_comes_back_as_it_was(value):
    back = from_bytes(to_bytes(value))
    assert back == value
    assert alike(back, value)


@pytest.mark.parametrize("value", STATISTICS, ids=lambda v: type(v).__name__)
def test_negative_weights_are_refused(value):
    tree, tensors = storage.pack(value)
    for name in [name for name, tensor in tensors.items() if name.rpartition(".")[2] == "weight" and tensor.size]:
        other = tensors[name].copy()
        other.flat[np.argmax(other)] = -0.25
        with pytest.raises(sf.DamagedFileError, match="weight"):
            storage.unpack(tree, tensors | {name: other})


def test_no_statistic_prior_or_family_was_forgotten():
    made = {type(v) for v in STATISTICS + OPTIONS} | {sf.ByClass, statistics.Fourth, statistics.Points}
    ours = {c for c in subclasses(Statistic) | subclasses(Options) if c.__module__.startswith("suffice.")}
    ours = {c for c in ours if is_dataclass(c) and not inspect.isabstract(c)}
    public = {getattr(m, n) for m in (statistics, families) for n in m.__all__}
    public |= {c for c in vars(priors).values() if isinstance(c, type)}
    ours |= {c for c in public if isinstance(c, type) and issubclass(c, Options) and c.__name__ in sf.__all__} - {
        sf.Family
    }
    assert all(registry.name_of(c) for c in ours)
    assert ours <= made


def test_no_estimator_was_forgotten():
    names = {name for m in (naive_bayes, discriminant_analysis, classifier) for name in m.__all__}
    assert set(texts.__all__) == {BagOfWords.__name__, TextClassifier.__name__}, "only the second is a classifier"
    assert {type(e).__name__ for e, _ in ESTIMATORS} == names | {"TextClassifier"}


@pytest.mark.parametrize(("model", "x"), ESTIMATORS, ids=IDS)
def test_a_loaded_estimator_gives_the_same_answers_bit_for_bit(model, x, tmp_path):
    model = model.fit(x, Y, WEIGHT)
    model.save(tmp_path / "model.suffice")
    back = sf.load(str(tmp_path / "model.suffice"))
    assert type(back) is type(model)
    assert alike(back.get_params(), model.get_params())
    assert alike(back.classes_, model.classes_)
    assert back.n_features_in_ == (1 if x.ndim == 1 else 3)
    for question in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        assert same_bits(getattr(back, question)(x), getattr(model, question)(x))
    assert saved(back) == saved(model)


@pytest.mark.parametrize(("model", "x"), ESTIMATORS, ids=IDS)
def test_a_loaded_estimator_goes_on_learning_merging_and_forgetting(model, x):
    def history(model, other):
        yield (model + other).predict_log_proba(x)
        model.partial_fit(x[40:], Y[40:], sample_weight=WEIGHT[40:])
        yield model.predict_log_proba(x)
        if getattr(model, "limit", None) is None:
            model.forget(x[:20], Y[:20], WEIGHT[:20])
            yield model.predict_log_proba(x)
        if not isinstance(model, ComplementNB) and getattr(model, "analyzer", None) != "char":
            yield model.sample(4, random_state=0)[0]
        if getattr(model, "priors", None) is None and getattr(model, "class_prior", None) is None:
            model.drop_class("b")
            yield model.predict_log_proba(x)

    first, second = model.fit(x[:40], Y[:40], WEIGHT[:40]), type(model)(**model.get_params())
    second.fit(x[20:], Y[20:], WEIGHT[20:])
    back = [loaded(saved(m)) for m in (first, second)]
    for expected, found in zip(history(first, second), history(*back), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert saved(back[0]) == saved(first)


def test_classes_named_in_advance_are_kept():
    model = GaussianNB().partial_fit(REAL[:5], Y[:5], classes=["none of them", *LABELS])
    back = loaded(saved(model))
    assert back.classes_.tolist() == model.classes_.tolist()
    with pytest.raises(ValueError, match="not the same as on last call"):
        back.partial_fit(REAL, Y, classes=LABELS)


def test_column_names_are_kept_and_checked():
    frame = pd.DataFrame(REAL, columns=["größe", "重さ", "a.b"])
    back = loaded(saved(GaussianNB().fit(frame, Y)))
    assert back.feature_names_in_.tolist() == list(frame.columns)
    assert same_bits(back.predict(frame), GaussianNB().fit(frame, Y).predict(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        back.predict(frame.rename(columns={"a.b": "other"}))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -1, 7]),
        np.array([True, False, True]),
        np.array([1.0, 2.0, 3.0], np.float32),
        np.array(["x", "longer", "y"], dtype=object),
        np.array([2**62, 5, 6]),
        np.array(["", "half \ud800", "b"]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_type(labels):
    y = labels[CODES]
    model = GaussianNB().fit(REAL, y)
    back = loaded(saved(model))
    assert alike(back.classes_, model.classes_)
    assert alike(back.predict(REAL), model.predict(REAL))


def test_models_learned_in_other_orders_give_the_same_bytes():
    # Counts and the weights of names add without rounding, so that equal means equal to the last bit.
    for model, x in (
        (CategoricalNB(), NAMES),
        (MultinomialNB(), NUMBERS),
        (KernelNB(), GAPS),
        (CategoricalNB(), NUMBERS),
        (TextClassifier(event="multinomial"), TEXTS),
        (TextClassifier(event="bernoulli"), TEXTS),
    ):
        whole = saved(clone(model).fit(x, Y))
        order = np.random.default_rng(1).permutation(60)
        pieces = clone(model)
        for part in np.array_split(order, 7):
            pieces.partial_fit(x[part], Y[part])
        assert saved(pieces) == whole
        assert saved(clone(model).fit(x[:30], Y[:30]) + clone(model).fit(x[30:], Y[30:])) == whole
        more = clone(model).fit(np.concatenate([x, x[:9]]), np.concatenate([Y, ["a much longer label"] * 9]))
        assert saved(more.forget(x[:9], ["a much longer label"] * 9)) == whole


def test_forgetting_all_rows_with_gaps_leaves_the_bytes_of_never_having_seen_them():
    with_gaps = np.vstack([NUMBERS, [[1.0, np.nan, 2.0]]])
    model = PoissonNB().fit(with_gaps, [*Y, "b"])
    assert saved(model.forget(with_gaps[60:], ["b"])) == saved(PoissonNB().fit(NUMBERS, Y))


@pytest.mark.slow
def test_every_process_writes_the_same_bytes():
    code = (
        "import sys, io, numpy as np, suffice as sf\n"
        "from suffice.naive_bayes import CategoricalNB\n"
        "f = io.BytesIO(); CategoricalNB().fit([['a', 'b'], ['c', 'd']], ['x', 'y']).save(f)\n"
        "sys.stdout.write(f.getvalue().hex())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


@pytest.mark.parametrize(
    "value",
    [
        [None, True, False, 0, -1, 2**80, 1.0, -0.0, 5e-324, 0.1, float("inf"), -float("inf"), float("nan"), "", "ü\0"],
        (1, (2.0, ("three",)), [], ()),
        {"a": 1, "": {"b": (2,)}, ("h", "w"): [3], 4: None},
        [np.float64(0.1), np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("ß"), np.datetime64("2020-02-29")],
        np.array([np.nan, np.inf, -0.0]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 3)),
        np.array(2.5),
        np.array([], dtype="<U1"),
        np.array([["a", "bcd"], ["", "ẞ"]]),
        np.array([b"a", b"bc"]),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        np.array([1, 2], dtype="timedelta64[25s]"),
        np.array([[("a", 1), None], ["b", 2.5]], dtype=object),
        objects([("a", 1, (True, 0.5)), ("bc", -2, (False, float("nan")))]),
        objects([("a", 1), ("b",)]),
        objects([(), ()]),
        objects([1, 2**63]),
        objects([1, True, 1.0]),
        objects([2**63 - 1, -(2**63)]),
        objects(["a", "b\0"]),
        objects(["a"] * 2000 + ["very long" * 1000]),
        objects(["größe", "重さ"]),
        np.array([], dtype=object),
        np.array([["a"], ["b"]], dtype=object),
        np.array([1 << 63, 0], dtype=np.uint64),
        *(np.array([1, 100], dtype=f"{sign}int{8 * size}") for sign in ("", "u") for size in (1, 2, 4, 8)),
        *(np.array([0.5, -2.0], dtype=f"float{8 * size}") for size in (2, 4, 8)),
        np.dtype(np.float32),
        {"a.b": np.zeros(1), "a": {"b": np.ones(1)}, "__metadata__": np.arange(2.0)},
    ],
    ids=lambda value: repr(value)[:60],
)
def test_values_come_back_with_their_types(value):
    assert alike(from_bytes(to_bytes(value)), value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
        lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)
def test_any_tree_of_plain_values_comes_back(value):
    assert alike(from_bytes(to_bytes(value)), value)


@pytest.mark.parametrize(
    "layout", [lambda a: a[::2], lambda a: a[:, ::-1], lambda a: a.astype(">f8"), np.asfortranarray]
)
def test_arrays_of_any_layout_come_back_with_their_values(layout):
    array = layout(np.arange(12.0).reshape(4, 3))
    assert np.array_equal(from_bytes(to_bytes(array)), array)
    assert np.array_equal(from_bytes(memoryview(b"x" + to_bytes(array))[1:]), array), "at an odd address too"


def test_what_was_loaded_cannot_be_written_to():
    for size in (3, 100_000):
        with pytest.raises(ValueError, match="read-only"):
            from_bytes(to_bytes(np.zeros(size)))[0] = 1.0


# ---- what cannot be stored


def test_another_librarys_estimator_is_refused_and_named(tmp_path):
    model = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=LedoitWolf()).fit(REAL, Y)
    with pytest.raises(sf.UnstorableError, match="covariance_estimator: a LedoitWolf cannot be stored"):
        model.save(tmp_path / "x.suffice")
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True)
class Stranger:
    a: int = 1


class MyNB(GaussianNB):
    pass


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        Stranger(),
        1j,
        np.array([1j]),
        np.ma.array([1.0]),
        lambda: 0,
        np.random.RandomState(0),
        GaussianNB,
    ],
    ids=lambda v: type(v).__name__,
)
def test_values_that_are_not_data_are_refused(value):
    with pytest.raises(sf.UnstorableError, match=r"there\.0: .*cannot be stored"):
        to_bytes({"there": [value]})


def test_estimators_of_others_and_unfitted_ones_are_not_saved():
    with pytest.raises(sf.UnstorableError, match="MyNB is none of suffice's estimators"):
        saved(MyNB().fit(REAL, Y))
    with pytest.raises(NotFittedError):
        saved(GaussianNB())


def test_a_class_of_ones_own_can_be_allowed():
    @storage.storable
    @dataclass(frozen=True)
    class Allowed:
        number: int

    assert from_bytes(to_bytes(Allowed(3))) == Allowed(3)


@pytest.mark.parametrize(
    ("value", "name"), [(statistics.DocumentSample.empty(), "BagSample"), (Tokenization(), "Reading")]
)
def test_classes_keep_the_names_they_have_in_files(value, name):
    tree, _ = storage.pack(value)
    assert tree["class"] == name


# ---- the file on the disk


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "model.suffice"
    GaussianNB().fit(REAL, Y).save(path)
    before = path.read_bytes()
    other = GaussianNB().fit(REAL + 1, Y)
    for name, error in (("fsync", OSError("disk full")), ("replace", OSError("no")), ("fsync", KeyboardInterrupt())):

        def fail(*_, error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(type(error)):
                other.save(path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["model.suffice"]
    other.save(path)
    assert path.read_bytes() != before
    assert os.listdir(tmp_path) == ["model.suffice"]


def test_a_value_that_cannot_be_stored_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    storage.save(1, path)
    with pytest.raises(sf.UnstorableError):
        storage.save([np.zeros(3), object()], path)
    assert storage.load(path) == 1


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    storage.save(1, real)
    assert stat.S_IMODE(real.stat().st_mode) & 0o400
    real.chmod(0o640)
    link.symlink_to(real)
    storage.save(2, link)
    assert link.is_symlink()
    assert storage.load(real) == 2
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_missing_folders_and_files_are_reported_as_always(tmp_path):
    with pytest.raises(FileNotFoundError):
        storage.save(1, tmp_path / "no" / "x.suffice")
    with pytest.raises(FileNotFoundError):
        sf.load(tmp_path / "x.suffice")
    with pytest.raises(IsADirectoryError):
        storage.save(1, tmp_path)


def test_the_safetensors_library_reads_the_file(tmp_path):
    path = tmp_path / "x.suffice"
    model = GaussianNB().fit(GAPS, Y)
    model.save(path)
    tensors = safetensors.numpy.load_file(path)
    expected = model.statistics_.statistic.mean
    assert np.array_equal(tensors["attributes._learned.seen.statistic.mean"], expected)
    with safetensors.safe_open(path, "np") as file:
        metadata = file.metadata()
    assert metadata["format"] == "1"
    assert json.loads(metadata["suffice"])["value"]["fields"]["estimator"] == "GaussianNB"


def test_a_file_of_the_first_format_is_read_forever():
    # A file as it was first written; what is in it was computed by hand: rows 1 and 3 of class a, 5 of class b.
    head = (
        '{"__metadata__":{"checksum":"%s","format":"1","suffice":"{\\"value\\":{\\"class\\":\\"ByClass\\",\\"fields\\":'
        '{\\"labels\\":{\\"array\\":\\"labels\\",\\"of\\":\\"str\\"},\\"statistic\\":{\\"class\\":\\"Moments\\",\\"fields\\":'
        '{\\"mean\\":{\\"array\\":\\"statistic.mean\\"},\\"squares\\":{\\"array\\":\\"statistic.squares\\"},'
        '\\"weight\\":{\\"array\\":\\"statistic.weight\\"}}},\\"weight\\":{\\"array\\":\\"weight\\"}}},'
        '\\"version\\":\\"0.1.0\\"}"},"labels":{"data_offsets":[64,72],"dtype":"U32","shape":[2,1]},'
        '"statistic.mean":{"data_offsets":[0,16],"dtype":"F64","shape":[2,1]},'
        '"statistic.squares":{"data_offsets":[16,32],"dtype":"F64","shape":[2,1]},'
        '"statistic.weight":{"data_offsets":[32,48],"dtype":"F64","shape":[2,1]},'
        '"weight":{"data_offsets":[48,64],"dtype":"F64","shape":[2]}}'
    )
    body = np.array([2.0, 5.0, 2.0, 0.0, 2.0, 1.0, 2.0, 1.0], "<f8").tobytes() + "ab".encode("utf-32-le")
    checksum = sha256(head.replace('"checksum":"%s",', "").encode() + body).hexdigest()
    text = (head % checksum).encode()
    text += b" " * (-len(text) % 8)
    data = len(text).to_bytes(8, "little") + text + body
    expected = sf.ByClass.of(sf.Moments, np.array([[1.0], [3.0], [5.0]]), ["a", "a", "b"])
    found = from_bytes(data)
    assert found.labels.tolist() == expected.labels.tolist()
    for name in ("weight", "mean", "squares"):
        assert getattr(found.statistic, name).tolist() == getattr(expected.statistic, name).tolist()
    assert found.weight.tolist() == expected.weight.tolist()
    assert from_bytes(to_bytes(found)) == found


# ---- what is refused


MODEL = saved(CategoricalNB(alpha=np.float64(0.5)).fit(NAMES, Y))


def forged(header=None, value=None, body=None, *, checksum=True, **metadata) -> bytes:
    """A file with some of its contents exchanged, and a checksum that fits."""
    size = int.from_bytes(MODEL[:8], "little")
    found = json.loads(MODEL[8 : 8 + size])
    description = json.loads(found["__metadata__"]["suffice"])
    body = MODEL[8 + size :] if body is None else body
    if header is not None:
        found = {"__metadata__": found["__metadata__"], **header}
    if value is not None:
        description["value"] = value
    found["__metadata__"] |= {"suffice": json.dumps(description)} | metadata
    del found["__metadata__"]["checksum"]
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    if checksum:
        found["__metadata__"]["checksum"] = sha256(text.encode() + body).hexdigest()
    text = json.dumps(found).encode()
    return len(text).to_bytes(8, "little") + text + body


def test_the_forgers_tools_work():
    assert saved(loaded(forged())) == MODEL


def test_a_file_cut_off_anywhere_is_refused():
    for end in np.linspace(0, len(MODEL) - 1, 200).astype(int):
        with pytest.raises(sf.StorageError):
            loaded(MODEL[:end])
    with pytest.raises(sf.DamagedFileError, match=r"truncated|should hold"):
        loaded(MODEL[:-1])
    with pytest.raises(sf.DamagedFileError, match="should hold"):
        loaded(MODEL + b"\0")


def test_a_file_that_ends_before_or_in_its_header_is_truncated():
    for end in (8, 9, 100):
        with pytest.raises(sf.DamagedFileError, match="truncated"):
            from_bytes(MODEL[:end])
    with pytest.raises(sf.ForeignFileError, match="not a suffice file"):
        from_bytes(MODEL[:7])


def test_a_header_with_what_is_no_json_is_refused_even_if_its_checksum_fits():
    size = int.from_bytes(MODEL[:8], "little")
    header = {name: each for name, each in json.loads(MODEL[8 : 8 + size]).items() if name != "__metadata__"}
    name = next(iter(header))
    assert saved(loaded(forged(header | {name: header[name] | {"more": 1.0}})))
    with pytest.raises(sf.DamagedFileError, match="checksum"):
        loaded(forged(header | {name: header[name] | {"more": float("nan")}}))


def test_strings_of_bytes_that_are_no_characters_are_refused():
    tree, tensors = storage.pack(np.array(["ab", "c"]))
    assert storage.unpack(tree, dict(tensors)).tolist() == ["ab", "c"]
    with pytest.raises(sf.DamagedFileError):
        storage.unpack(tree, {name: array.astype(np.uint8) for name, array in tensors.items()})


def test_a_header_that_is_cut_off_is_said_to_be(tmp_path):
    path = tmp_path / "model.suffice"
    for end in (9, 20, int.from_bytes(MODEL[:8], "little") + 7):
        path.write_bytes(MODEL[:end])
        for read in (lambda: from_bytes(path.read_bytes()), lambda: sf.load(path), lambda: storage.load(path)):
            with pytest.raises(sf.DamagedFileError, match=rf"truncated: .* and {end - 8} are present"):
                read()


@pytest.mark.parametrize("most", [1, 8, 100, 4000])
def test_a_stream_that_gives_few_bytes_at_a_time_is_read(most):
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, most) if size >= 0 else most)

    assert saved(sf.load(Slow(MODEL))) == MODEL
    with pytest.raises(sf.DamagedFileError, match="should hold"):
        sf.load(Slow(MODEL[:-1]))


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80, 0xFF])
def test_a_file_changed_in_any_byte_is_refused(flip):
    for at in np.linspace(0, len(MODEL) - 1, 500).astype(int):
        data = bytearray(MODEL)
        data[at] ^= flip
        with pytest.raises(sf.StorageError):
            loaded(bytes(data))


def test_a_changed_number_is_found_by_the_checksum():
    data = bytearray(MODEL)
    data[-1] ^= 1
    with pytest.raises(sf.DamagedFileError, match="checksum is wrong"):
        loaded(bytes(data))
    with pytest.raises(sf.DamagedFileError, match="metadata"):
        loaded(forged(checksum=False))


def test_a_newer_format_is_refused_with_advice():
    for newer in ("2", "17", "9" * 400):
        with pytest.raises(sf.NewerFileError, match="upgrade suffice"):
            loaded(forged(format=newer))
    for strange in ("0", "one", "", "-1", 1, None, [2]):
        with pytest.raises(sf.DamagedFileError, match="metadata"):
            loaded(forged(format=strange))


def test_foreign_files_are_refused():
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("a.txt", "hello")
    others = [
        b"",
        b"\0",
        b"hello, this is only a text\n" * 10,
        zipped.getvalue(),
        pickle.dumps(GaussianNB().fit(REAL, Y)),
        safetensors.numpy.save({"a": np.zeros(3)}),
        safetensors.numpy.save({"a": np.zeros(3)}, {"format": "pt"}),
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        bytes(1000),
        (1).to_bytes(8, "little") + b"{}",
    ]
    for data in others:
        with pytest.raises(sf.ForeignFileError, match=r"not a suffice file|none that suffice wrote"):
            loaded(data)
    with pytest.raises(sf.ForeignFileError, match="it is empty"):
        loaded(b"")
    with pytest.raises(sf.ForeignFileError, match="it begins with b'hello, th'"):
        loaded(others[2])


def test_statistics_alone_are_no_estimator():
    with pytest.raises(sf.DamagedFileError, match=r"holds a Moments and no estimator: suffice\.storage\.load"):
        loaded(to_bytes(STATISTICS[0]))


def test_a_header_that_speaks_of_terabytes_allocates_nothing():
    for shape, offsets in (
        ([1 << 40], [0, 8 << 40]),
        ([1 << 62, 4], [0, 0]),
        ([1 << 70, 0], [0, 0]),
        ([-1], [0, -8]),
        ([2.0], [0, 16]),
        ([True], [0, 8]),
        ([1] * 70, [0, 8]),
        ([1], [8, 16]),
        ([1], [0, "8"]),
        ([1], [0]),
    ):
        entry = {"dtype": "F64", "shape": shape, "data_offsets": offsets}
        with pytest.raises(sf.DamagedFileError):
            loaded(forged({"a": entry}, [1], b"\0" * 8))
    for entry in (None, [], {}, {"dtype": "F64"}, {"dtype": "X", "shape": [], "data_offsets": [0, 0]}):
        with pytest.raises(sf.DamagedFileError):
            loaded(forged({"a": entry}, [1], b""))
    objects = {"objects": [], "shape": [1 << 60, 0, 1 << 60]}
    with pytest.raises(sf.DamagedFileError):
        from_bytes(forged(value=objects))
    with pytest.raises(sf.DamagedFileError, match="neither 0 nor 1"):
        from_bytes(forged({"a": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}, {"array": "a"}, b"\2"))


def test_descriptions_that_make_no_sense_are_refused():
    nested = "[" * 100_000
    for value in (
        {},
        {"float": "1"},
        {"float": "inf", "and": 1},
        {"tuple": 1},
        {"dict": [[1]]},
        {"dict": [[[], 1]]},
        {"dict": [[1, 2, 3]]},
        {"dict": 5},
        {"scalar": 3},
        {"scalar": {"array": "attributes._learned.seen.weight"}},
        {"array": "nowhere"},
        {"array": ["x"]},
        {"array": "attributes._learned.seen.weight", "of": "str"},
        {"array": "attributes._learned.seen.weight", "of": "datetime64[ns]"},
        {"array": "attributes._learned.seen.weight", "of": "int64"},
        {"array": "attributes._learned.seen.weight", "order": "C"},
        {"objects": [1, 2], "shape": [3]},
        {"objects": [1], "shape": ["1"]},
        {"objects": 1, "shape": [1]},
        {"objects": {"tuple": []}, "shape": [0]},
        {"objects": {"tuple": [[1], [1, 2]]}, "shape": [1]},
        {"objects": {"array": "attributes._learned.seen.statistic.weight"}, "shape": [3]},
        {"dtype": "O"},
        {"dtype": "<f8,<f8"},
        {"dtype": "<f8", "and": 1},
        {"class": "os.system", "fields": {}},
        {"class": "Popen", "fields": {"args": "ls"}},
        {"class": "Family", "fields": {}},
        {"class": "Statistic", "fields": {}},
        {"class": "Beta", "fields": {"a": 1.0, "b": 1.0, "c": 1.0}},
        {"class": "Beta", "fields": {"a": "x", "b": 1.0}},
        {"class": "Beta", "fields": {"a": -1.0, "b": 1.0}},
        {"class": "Beta", "fields": []},
        {"class": "Poisson", "fields": {"prior": 7, "learn": "mean"}},
        {"class": "Moments", "fields": {"weight": 1, "mean": 2, "squares": 3}},
    ):
        with pytest.raises(sf.DamagedFileError):
            from_bytes(forged(value=value))
        if "attributes._learned" not in json.dumps(value):  # so that no tensor is left over, which is refused too
            with pytest.raises(sf.DamagedFileError):
                from_bytes(forged(header={}, value=value, body=b""))
    for text in (nested, "{", "[]", "3", "{}", '{"value": 3}', 3, None):
        with pytest.raises(sf.DamagedFileError):
            from_bytes(forged(suffice=text))
    with pytest.raises(sf.StorageError):
        from_bytes(len(nested).to_bytes(8, "little") + nested.encode())


def test_headers_that_are_hardly_json_are_refused():
    deep = "[" * 900 + "]" * 900
    for odd in ("NaN", "1e999", deep, "9" * 5000, '"\\ud800"'):
        text = '{"__metadata__":{"suffice":"","format":"1","checksum":""},"a":' + odd + "}"
        with pytest.raises(sf.DamagedFileError):
            from_bytes(len(text).to_bytes(8, "little") + text.encode())
    with pytest.raises(sf.DamagedFileError):
        from_bytes((2).to_bytes(8, "little") + b"{")
    with pytest.raises(sf.DamagedFileError):
        from_bytes((3).to_bytes(8, "little") + b"{\xff}")


def test_a_description_too_large_to_be_read_is_not_written(monkeypatch):
    monkeypatch.setattr(storage, "MOST_HEADER", 1000)
    with pytest.raises(sf.UnstorableError, match="keep large data in arrays"):
        to_bytes([1] * 1000)


def test_what_was_loaded_does_not_change_with_the_buffer_it_came_from():
    buffer = bytearray(to_bytes(np.ones(100_000)))
    back = from_bytes(buffer)
    buffer[-800_000:] = bytes(800_000)
    assert back.all()


def test_small_arrays_do_not_keep_the_whole_file_in_memory():
    data = to_bytes({"small": np.ones(100), "large": np.ones(100_000)})
    back, file = from_bytes(data), np.frombuffer(data, np.uint8)
    assert np.shares_memory(back["large"], file)  # it takes no memory of its own
    assert not np.shares_memory(back["small"], file)


@pytest.mark.parametrize("length", range(8))
def test_arrays_begin_at_multiples_of_eight_bytes(length):
    data = to_bytes(("x" * length, np.ones(100_000)))
    assert int.from_bytes(data[:8], "little") % 8 == 0
    assert from_bytes(data)[1].flags.aligned


@pytest.mark.parametrize(
    "values",
    [[True, False], [0.5, float("nan")], [-(1 << 63), (1 << 63) - 1], ["a", "bc\nd"], [("a", 1), ("b", 2)]],
    ids=["booleans", "floats", "integers", "strings", "tuples"],
)
def test_many_objects_of_one_type_are_stored_as_an_array(values):
    many = np.empty(5000, dtype=object)
    many[:] = values * 2500
    data = to_bytes(many)
    assert int.from_bytes(data[:8], "little") < 1000  # the header does not list them
    assert alike(from_bytes(data), many)


def test_one_long_string_does_not_make_all_as_long():
    for strings in (["a"] * 5000 + ["b" * 50_000], ["a", "b\0"]):
        values = np.array(strings, dtype=object)
        data = to_bytes(values)
        assert len(data) < 200_000
        assert alike(from_bytes(data), values)


def test_arrays_of_as_many_axes_as_files_may_have_come_back():
    assert from_bytes(to_bytes(np.ones((1,) * 32))).shape == (1,) * 32


def test_arrays_of_more_axes_than_files_may_have_are_no_shape():
    assert is_shape([1] * 32)
    assert not is_shape([1] * 33)
    assert is_shape([0, 1 << 55])
    assert not is_shape([2, 1 << 55])


def test_a_value_can_be_taken_apart_and_put_together_without_a_file():
    tree, tensors = storage.pack({"a": (np.arange(3), "b")})
    assert json.loads(json.dumps(tree)) == {"dict": [["a", {"tuple": [{"array": "a.0"}, "b"]}]]}
    assert alike(storage.unpack(tree, tensors), {"a": (np.arange(3), "b")})


def test_characters_that_do_not_exist_are_refused():
    entry = {"a": {"dtype": "U32", "shape": [1, 1], "data_offsets": [0, 4]}}
    with pytest.raises(sf.DamagedFileError):
        from_bytes(forged(entry, {"array": "a", "of": "str"}, (0x110000).to_bytes(4, "little")))


def swapped(value, **changes):
    """A dataclass with other fields, whether they make sense or not."""
    out = object.__new__(type(value))
    for f in fields(value):
        object.__setattr__(out, f.name, changes.get(f.name, getattr(value, f.name)))
    return out


def test_arrays_that_do_not_belong_together_are_refused():
    moments, totals, _, numbers, names, *_ = STATISTICS
    sample, _, joint, _, higher, scatter, rows, blocks, *_ = STATISTICS[6:]
    points = sample.parts[0]
    counted = next(each for each in STATISTICS if isinstance(each, statistics.Pairs))
    by_class = sf.ByClass(LABELS, np.ones(3), moments)
    for bad in (
        swapped(moments, weight=np.ones((3, 2))),
        swapped(moments, mean=np.ones(3)),
        swapped(moments, squares=moments.squares.astype(np.float32)),
        swapped(totals, weight=np.ones((2, 1))),
        swapped(totals, weight=np.ones((3, 2))),
        swapped(rows, hashes=rows.hashes[1:]),
        swapped(rows, codes=rows.codes + 9),
        swapped(rows, weight=rows.weight.astype(np.float32)),
        swapped(blocks, classes=2),
        swapped(counted, pairs=counted.pairs - 1),
        swapped(numbers, sizes=numbers.sizes + 1),
        swapped(numbers, sizes=np.array([-1, 1, 0])),
        swapped(names, keys=names.keys[:2]),
        swapped(names, keys=(3, 4, 5)),
        swapped(points, start=points.start + 1),
        swapped(points, start=points.start[::-1].copy()),
        swapped(points, start=points.start[:0]),
        swapped(points, weight=points.weight[:-1]),
        swapped(sample, level=sample.level[:2]),
        swapped(sample, level=sample.level - 1),
        swapped(sample, exact_moments=1),
        swapped(sample, parts=sample.parts[:2]),
        swapped(sample, parts=(1, 2, 3)),
        swapped(joint, joint=False),
        swapped(joint, joint=1),
        swapped(sample, limit=0),
        swapped(sample, limit="many"),
        swapped(scatter, gaps=sample),
        swapped(scatter, gaps=None),
        swapped(scatter, cross=scatter.mean),
        swapped(higher, higher=swapped(higher.higher, third=np.zeros(3))),
        swapped(by_class, weight=np.ones(2)),
        swapped(by_class, labels="abc"),
        swapped(by_class, labels=LABELS[None]),
        swapped(by_class, statistic=None),
        swapped(by_class, statistic=moments.take(np.arange(2))),
    ):
        with pytest.raises(sf.DamagedFileError, match="the file holds no"):
            from_bytes(to_bytes(bad))


def test_an_estimator_that_could_not_have_been_saved_is_refused():
    good = from_bytes(MODEL)
    learned = good.attributes["_learned"]
    for bad in (
        swapped(good, estimator="NoNB"),
        swapped(good, estimator=None),
        swapped(good, estimator=["GaussianNB"]),
        swapped(good, estimator="GaussianNB"),
        swapped(good, parameters=3),
        swapped(good, parameters={**good.parameters, "alpha": "much"}),
        swapped(good, parameters={3: 4}),
        swapped(good, attributes={}),
        swapped(good, attributes=None),
        swapped(good, attributes={**good.attributes, "n_features_in_": True}),
        swapped(good, attributes={**good.attributes, "predict": 1}),
        swapped(good, attributes={**good.attributes, "feature_names_in_": 1}),
        swapped(good, attributes={**good.attributes, "_learned": None}),
        *(
            swapped(good, attributes={**good.attributes, "_learned": swapped(learned, **{name: 1})})
            for name in ("seen", "family", "prior", "declared", "dtype")
        ),
    ):
        with pytest.raises(sf.DamagedFileError):
            loaded(to_bytes(bad))


def test_storage_errors_are_errors_of_suffice_and_of_values():
    for name in ("UnstorableError", "ForeignFileError", "DamagedFileError", "NewerFileError"):
        assert issubclass(getattr(errors, name), sf.StorageError)
    assert issubclass(sf.StorageError, (sf.SufficeError, ValueError))


def test_statistics_are_stored_without_scikit_learn():
    code = (
        "import sys, suffice as sf\n"
        "from suffice.model.storage import from_bytes, to_bytes\n"
        "a = sf.Gaussian().summarize([[0.0], [1.0]], ['a', 'b'])\n"
        "assert from_bytes(to_bytes(a)) == a\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sklearn", "pandas", "safetensors", "pickle5"} & set(loaded)


def test_every_error_is_named_in_the_docs():
    text = (Path(__file__).parent.parent / "docs" / "storage.md").read_text()
    for name in ("StorageError", "UnstorableError", "ForeignFileError", "DamagedFileError", "NewerFileError"):
        assert name in text
