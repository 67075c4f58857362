"""Files that ask for more than they hold: what is refused before memory is asked for, and how the error says so."""

import io
import os
import resource
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf
from attacks.hostile_files import assembled, taken_apart
from suffice.core.arrays import Categories
from suffice.core.frames import as_frame
from suffice.core.statistics import Counts, Moments, RowSample, Scatter, Totals
from suffice.model import storage

NAMES = ["a", "b"] * 10
MODEL = sf.BayesClassifier(keep=12).fit({"x": [float(i) for i in range(20)], "name": NAMES}, NAMES)
ROWS = "attributes._learned.seen.statistic.parts.2.rows"


def file_of(model) -> bytes:
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def with_rows(stream: bytes) -> bytes:
    """The model's file with other kept rows."""
    tree, tensors = taken_apart(file_of(MODEL))
    tensors[ROWS] = np.frombuffer(stream, np.uint8)
    return assembled(tree, tensors)


def stream_of(table: pa.Table, **options) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def kept() -> pa.Table:
    return pa.ipc.open_stream(taken_apart(file_of(MODEL))[1][ROWS].tobytes()).read_all()


# ---- rows that were kept


def test_kept_rows_are_read_as_they_were():
    assert sf.load(io.BytesIO(with_rows(stream_of(kept())))).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_compressed_rows_are_refused_before_they_are_read(codec):
    with pytest.raises(sf.DamagedFileError, match=r"parts\.2\.rows: the file's rows cannot be read: .*compressed"):
        sf.load(io.BytesIO(with_rows(stream_of(kept(), compression=codec))))


def test_a_compressed_dictionary_is_refused():
    table = kept().set_column(1, "name", kept().column("name").dictionary_encode())
    assert sf.load(io.BytesIO(with_rows(stream_of(table)))).classes_.tolist() == ["a", "b"]
    with pytest.raises(sf.DamagedFileError, match="compressed"):
        sf.load(io.BytesIO(with_rows(stream_of(table, compression="zstd"))))


def test_a_small_file_of_rows_takes_little_memory():
    large = pa.table({"x": kept().column("x"), "name": kept().column("name"), "more": [np.zeros(10_000_000)] * 12})
    data = with_rows(stream_of(large, compression="zstd"))
    assert len(data) < 1_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(sf.DamagedFileError, match="holds list<item: double>, which suffice does not write"):
        sf.load(io.BytesIO(data))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (lambda: kept().append_column("more", kept().column("x")), "Kept rows must have the columns"),
        (lambda: kept().select(["x"]), "Kept rows must have the columns"),
        (lambda: kept().select(["name", "x"]), "Kept rows must have the columns"),
        (lambda: kept().rename_columns(["x", "x"]), "two columns have the same name"),
        (lambda: kept()[:5], "should hold 12 rows and holds 5"),
        (lambda: kept().set_column(0, "x", kept().column("name")), "the file holds no Learned"),
        (lambda: kept().set_column(0, "x", pa.array([[1.0]] * 12)), "which suffice does not write"),
        (lambda: kept().set_column(0, "x", pa.array([{"a": 1.0}] * 12)), "which suffice does not write"),
    ],
)
def test_rows_of_other_columns_are_refused(table, said):
    with pytest.raises(sf.DamagedFileError, match=said):
        sf.load(io.BytesIO(with_rows(stream_of(table()))))


def test_bytes_that_are_no_stream_are_refused():
    good = stream_of(kept())
    for stream in (b"", b"\0" * 100, good[:-40], good[:100], bytes(reversed(good))):
        with pytest.raises(sf.DamagedFileError):
            sf.load(io.BytesIO(with_rows(stream)))
    rng = np.random.default_rng(0)
    for _ in range(200):
        stream = bytearray(good)
        for at in rng.integers(0, len(good), 3):
            stream[at] ^= 1 << rng.integers(8)
        with suppress(sf.DamagedFileError):
            sf.load(io.BytesIO(with_rows(bytes(stream))))


def test_rows_of_polars_which_are_views_are_kept_and_read():
    model = sf.BayesClassifier(keep=5).fit(
        pl.DataFrame({"text": ["some longer text than twelve", "other"] * 9}), NAMES[:18]
    )
    assert sf.load(io.BytesIO(file_of(model))).predict({"text": ["other"]}).tolist() == ["b"]


def test_views_that_share_their_characters_are_refused():
    # 5000 views of the same 5000 characters would be 25 MB once they are copied.
    long = pa.array(["x" * 5000], pa.string_view())
    views = np.tile(np.frombuffer(long.buffers()[1], np.uint8)[:16], 5000)
    many = pa.Array.from_buffers(pa.string_view(), 5000, [None, pa.py_buffer(views), long.buffers()[2]])
    frame = as_frame({"name": many})
    sample = RowSample.of(frame, np.zeros(5000, np.int32), 1, size=5000)
    tree, tensors = storage.pack(sample)
    tensors["rows"] = np.frombuffer(stream_of(pa.table({"name": many})), np.uint8)
    with pytest.raises(sf.DamagedFileError, match=r"overlap|should hold"):
        storage.unpack(tree, tensors)


# ---- tensors


def offsets_of(data: bytes, **changes) -> bytes:
    """A file in which tensors are at other places, with a right checksum."""
    import json
    from hashlib import sha256

    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    for name, offsets in changes.items():
        header[name]["data_offsets"] = offsets
    del header["__metadata__"]["checksum"]
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    header["__metadata__"]["checksum"] = sha256(text.encode() + body).hexdigest()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def test_tensors_that_overlap_are_refused():
    data = storage.to_bytes({"a": np.arange(4.0), "b": np.arange(4.0), "c": np.arange(8.0)})
    assert storage.from_bytes(offsets_of(data))["b"].tolist() == [0.0, 1.0, 2.0, 3.0]
    for changes in (
        {"b": [0, 32]},  # the same bytes twice
        {"b": [24, 56]},  # one number of the other
        {"a": [32, 64]},
        {"c": [56, 120]},
        {"a": [8, 40]},  # a gap before it
    ):
        with pytest.raises(sf.DamagedFileError, match=r"does not match its offsets|should hold"):
            storage.from_bytes(offsets_of(data, **changes))
    two = storage.to_bytes({"a": np.arange(4.0), "b": np.arange(4.0)})
    for shorter, offsets in ((32, [0, 32]), (24, [8, 40])):  # every byte is part of a tensor
        with pytest.raises(sf.DamagedFileError, match="'b' has a size that does not match its offsets"):
            storage.from_bytes(offsets_of(two[:-shorter], b=offsets))


def test_a_tensor_is_part_of_one_value_only():
    tree, tensors = storage.pack([np.arange(3.0), np.arange(4.0)])
    with pytest.raises(sf.DamagedFileError, match="describes it twice"):
        storage.unpack([tree[0], tree[0]], tensors)
    with pytest.raises(sf.DamagedFileError, match="does not use this tensor"):
        storage.unpack(tree[:1], tensors)
    assert len(tensors) == 2, "the caller's own"


def test_a_field_that_has_a_default_may_be_absent_from_an_older_file():
    tree, tensors = storage.pack(sf.Scatter.of(np.ones((3, 2)), np.zeros(3, np.int32), 1))
    del tree["fields"]["higher"]
    assert storage.unpack(tree, dict(tensors)).higher is None
    del tree["fields"]["weight"]
    with pytest.raises(sf.DamagedFileError, match=r"has other fields in suffice .*: weight"):
        storage.unpack(tree, tensors)


def test_options_that_a_constructor_would_replace_are_refused():
    tree, tensors = storage.pack(sf.Poisson())
    with pytest.raises(sf.DamagedFileError, match="learn must be 'mean', found None"):
        storage.unpack({**tree, "fields": {**tree["fields"], "learn": None}}, tensors)


# ---- what is at a path


def test_a_folder_a_pipe_and_a_device_are_named(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path, "a folder"), (tmp_path / "pipe", "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(sf.ForeignFileError, match=f"{path} is {what}, and not a file of suffice"):
            sf.load(path)


class Endless(io.RawIOBase):
    """A stream that never ends, and counts what is read."""

    def __init__(self, first: bytes):
        self.first, self.taken = first, 0

    def readable(self):
        return True

    def read(self, size=-1):
        assert size >= 0, "a stream may never end"
        part = self.first[self.taken : self.taken + size].ljust(size, b"\0")
        self.taken += size
        return part


def test_an_open_stream_is_read_as_far_as_its_header_says():
    stream = Endless(b"")
    with pytest.raises(sf.ForeignFileError, match="not a suffice file"):
        sf.load(stream)
    assert stream.taken < 100
    data = file_of(MODEL)
    stream = Endless(data)
    with pytest.raises(sf.DamagedFileError, match="holds more"):
        sf.load(stream)
    assert stream.taken == len(data) + 1
    stream = Endless((10_000).to_bytes(8, "little") + b"{")
    with pytest.raises(sf.DamagedFileError, match="header of the file cannot be read"):
        sf.load(stream)
    assert stream.taken == 10_008


def test_a_header_that_claims_more_than_there_is_asks_for_no_memory():
    header = b'{"a":{"dtype":"F64","shape":[12500000000],"data_offsets":[0,100000000000]}}'
    data = len(header).to_bytes(8, "little") + header + bytes(100)
    with pytest.raises(sf.StorageError):
        sf.load(io.BytesIO(data))
    with pytest.raises(sf.DamagedFileError, match="truncated"):
        sf.load(io.BytesIO((99_000_000).to_bytes(8, "little") + b"{" + bytes(100)))


@pytest.mark.parametrize("command", ["inspect", "predict", "merge"])
def test_the_command_line_does_not_read_a_device(command, tmp_path):
    others = {"inspect": [], "predict": [str(tmp_path / "x.csv")], "merge": ["/dev/zero", "-o", str(tmp_path / "y")]}
    (tmp_path / "x.csv").write_text("x,name\n1,a\n")
    run = subprocess.run(
        [sys.executable, "-m", "suffice", command, "/dev/zero", *others[command]],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)),
    )
    assert run.returncode != 0
    assert "/dev/zero is a device" in run.stderr + run.stdout
    assert "Traceback" not in run.stderr


# ---- options that ask for much


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sf.Mixture(components=10**9),
        lambda: sf.Mixture(max_iter=10**9),
        lambda: sf.Mixture(n_init=10**9),
        lambda: sf.Binned(bins=10**9),
        lambda: sf.Categorical(min_categories=10**9),
        lambda: sf.Text(n_features=10**10),
        lambda: sf.Text(ngrams=(1, 10**9)),
        lambda: MODEL.sample(10**14),
        lambda: MODEL.sample(-1),
        lambda: MODEL.sample(2.5),
    ],
)
def test_options_that_would_need_terabytes_are_refused(ask):
    with pytest.raises(sf.InvalidOptionError):
        ask()


def test_texts_that_are_too_long_are_not_drawn():
    model = sf.TextClassifier(event="multinomial", calibrate=False, smoothing=1.0).fit(["red dog"] * 2, ["a", "b"])
    tree, tensors = taken_apart(file_of(model))
    tensors["attributes._learned.seen.statistic.words"] *= 1e15
    with pytest.raises(sf.InvalidDataError, match="too long to be drawn"):
        sf.load(io.BytesIO(assembled(tree, tensors))).sample(3)


# ---- numbers that overflow


def test_statistics_out_of_range_are_named_when_they_are_asked():
    model = sf.naive_bayes.GaussianNB().fit([[0.0], [1.0], [4.0], [6.0]], ["a", "a", "b", "b"])
    tree, tensors = taken_apart(file_of(model))
    tensors["attributes._learned.seen.weight"][:] = 1e308
    with pytest.raises(sf.InvalidDataError, match="sum overflows"):
        sf.load(io.BytesIO(assembled(tree, tensors))).predict([[1.0]])


@pytest.mark.parametrize("how", ["width", "quantile"])
def test_values_of_a_weight_near_the_largest_number_have_bins(how):
    x = np.arange(20.0)[:, None]
    model = sf.BayesClassifier({"x": sf.Binned(how=how, bins=5)}, calibrate=False).fit({"x": x[:, 0]}, ["a", "b"] * 10)
    tree, tensors = taken_apart(file_of(model))
    tensors["attributes._learned.seen.statistic.parts.0.parts.0.weight"][3] = 1e308
    loaded = sf.load(io.BytesIO(assembled(tree, tensors)))
    np.testing.assert_allclose(loaded.predict_proba({"x": x[:, 0]}).sum(axis=1), 1.0)
    tensors["attributes._learned.seen.statistic.parts.0.parts.0.weight"][3:5] = 1e308
    with pytest.raises(sf.DamagedFileError, match="weight must have a sum that float64 holds"):
        sf.load(io.BytesIO(assembled(tree, tensors)))


def test_parts_of_a_prior_that_do_not_fit_each_other_are_refused():
    with pytest.raises(sf.MismatchError, match="Beta: options for 2 and for 3 do not fit"):
        sf.Bernoulli(prior=sf.Beta(np.ones(3), np.ones(2))).summarize(np.ones((2, 3)), ["a", "b"])
    with pytest.raises(sf.InvalidOptionError, match="a must be"):
        sf.Beta(np.ones((2, 2, 2)))


X, WEIGHT = np.array([[0.1, 2.3], [0.7, 1.9], [0.2, 0.3]]), np.array([0.1, 0.7, 1e-9])


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize(
    ("kind", "field"),
    [(Moments, "rest"), (Scatter, "rest"), (Totals, "weight_rest"), (Totals, "total_rest"), (Counts, "rest")],
)
def test_remainders_that_rounding_cannot_have_left_are_refused(kind, field, place):
    x = Categories(np.zeros((3, 1), np.int32), None) if kind is Counts else X
    statistic = kind.of(x, np.zeros(3, np.int32), 1, WEIGHT)
    assert storage.from_bytes(storage.to_bytes(statistic)) == statistic
    rest = getattr(statistic, field).copy()
    rest.flat[place] = -1e300
    with pytest.raises(sf.DamagedFileError, match=f"{field} must be what rounding took"):
        storage.from_bytes(storage.to_bytes(replace(statistic, **{field: rest})))


def test_remainders_of_the_weights_of_classes_and_of_doubts_beyond_them_are_refused():
    summary = sf.ByClass.of(Moments, X, ["a"] * 3, WEIGHT)
    assert summary.rest is not None
    for rest in ([[1.0, 0.0]], [[0.0, -1.0]], [[0.0, 1.0]]):
        with pytest.raises(sf.DamagedFileError, match="rest must"):
            storage.from_bytes(storage.to_bytes(replace(summary, rest=np.array(rest))))


def test_remainders_of_a_scatter_that_cannot_be_are_refused_wherever_they_stand():
    """Remainder and doubt of the weight, remainders and doubts of means, doubts of squares, remainders of products."""
    d = 3
    x = np.random.default_rng(0).normal(size=(7, d)) + 0.1
    good = Scatter.of(x, np.zeros(7, np.int32), 1, fourth=True)
    good.check_agreement()
    doubts = [1, *range(2 + d, 2 + 3 * d)]
    for place in range(good.rest.shape[1]):
        rest = good.rest.copy()
        rest[0, place] = -1.0 if place in doubts else 1e6
        with pytest.raises(sf.MismatchError, match="rest"):
            replace(good, rest=rest).check_agreement()
    for place in np.ndindex(good.higher.rest.shape):
        rest = good.higher.rest.copy()
        rest[place] = -1.0 if place[1] == 2 else 1e9
        with pytest.raises(sf.MismatchError, match="rest"):
            replace(good.higher, rest=rest).check_agreement()
