"""Files and streams: learning from them is learning from their rows."""

import io
import os
import pickle
import re
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from suffice import BayesClassifier, TextClassifier, load
from suffice.cli.program import run
from suffice.core.errors import InvalidDataError, InvalidOptionError, InvalidTextError, MismatchError, NotPartError
from suffice.core.frames import profile
from suffice.discriminant_analysis import QuadraticDiscriminantAnalysis
from suffice.engines import files, find
from suffice.engines.progress import Progress, Steps
from suffice.engines.summarizing import together
from suffice.naive_bayes import CategoricalNB, GaussianNB

N = 300


def numbers(seed=0, n=N):
    """Rows whose last class comes late, so that the first files lack it."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n * 3 // 4, rng.integers(0, 2, n), 2)
    table = {"a": rng.normal(y, 1.0), "b": rng.integers(0, 50, n), "c": rng.normal(1e6, 2.0, n)}
    return pa.table({**table, "w": rng.integers(0, 3, n).astype(float), "y": np.array(["no", "yes", "late"])[y]})


def categories(n=N):
    rng = np.random.default_rng(1)
    colour = np.array(["red", "green", "blue"])[rng.integers(0, 3, n)].astype(object)
    colour[rng.random(n) < 0.1] = None
    late = np.array([f"kind {i * 7 // n}" for i in range(n)])
    return pa.table({"colour": colour, "kind": late, "y": rng.integers(0, 2, n)})


def write_json(table, path):
    import json

    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    with pa.output_stream(str(path), compression="detect") as file:
        file.write(lines.encode())


def write_csv(table, path):
    with pa.output_stream(str(path), compression="detect") as file:
        csv.write_csv(table, file, csv.WriteOptions(delimiter="\t" if path.name.startswith("t.") else ","))


WRITERS = {
    "a.parquet": pq.write_table,
    "a.pq": pq.write_table,
    "a.csv": write_csv,
    "a.csv.gz": write_csv,
    "a.csv.bz2": write_csv,
    "a.csv.zst": write_csv,
    "a.jsonl": write_json,
    "a.ndjson": write_json,
    "a.json": write_json,
    "a.jsonl.gz": write_json,
    "a.jsonl.zst": write_json,
    "a.feather": lambda table, path: feather.write_feather(table, str(path)),
    "a.arrow": lambda table, path: feather.write_feather(table, str(path), compression="uncompressed"),
}


def in_parts(table, folder, ending="parquet", parts=4):
    """Several files of a table, of uneven lengths, one of them without rows."""
    folder.mkdir(exist_ok=True)
    cuts = np.linspace(0, table.num_rows, parts + 1).astype(int)
    cuts[1:-1] += 5
    pieces = [table.slice(lo, hi - lo) for lo, hi in pairwise(cuts)]
    for i, piece in enumerate([pieces[0], table.slice(0, 0), *pieces[1:]]):
        WRITERS[f"a.{ending}"](piece, folder / f"part-{i}.{ending}")
    return str(folder / f"part-*.{ending}")


def same_gaussian(found, expected):
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_array_equal(found.class_count_, expected.class_count_)
    np.testing.assert_allclose(found.theta_, expected.theta_, rtol=1e-9)
    np.testing.assert_allclose(found.var_, expected.var_, rtol=1e-9)


def gaussian_in_memory(table, **options):
    X = np.column_stack([table[name].to_numpy() for name in ("a", "b", "c")])
    return GaussianNB().fit(X, table["y"].to_numpy(zero_copy_only=False).astype(str), **options)


# ---- every format


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_every_format_gives_what_its_rows_give(name, tmp_path):
    table = numbers().drop_columns("w")
    WRITERS[name](table, tmp_path / name)
    found = GaussianNB().fit(tmp_path / name, "y")
    same_gaussian(found, gaussian_in_memory(table))
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]


def test_tab_separated_values_are_read(tmp_path):
    table = numbers().drop_columns("w")
    path = tmp_path / "t.x.tsv"
    write_csv(table, path)
    same_gaussian(GaussianNB().fit(str(path), "y"), gaussian_in_memory(table))


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.zst", "feather", "jsonl"])
def test_patterns_folders_and_lists_of_files_are_one_table(ending, tmp_path):
    table = numbers().drop_columns("w")
    pattern = in_parts(table, tmp_path / "data", ending)
    (tmp_path / "data" / "_SUCCESS").write_text("")
    (tmp_path / "data" / "readme.md").write_text("about")
    files = sorted(str(path) for path in (tmp_path / "data").glob("part-*"))
    expected = gaussian_in_memory(table)
    for asked in (pattern, tmp_path / "data", str(tmp_path / "data"), files, [tmp_path / "data" / f for f in files]):
        same_gaussian(GaussianNB().fit(asked, "y"), expected)


def test_files_without_any_byte_have_no_rows(tmp_path):
    table = numbers().drop_columns("w")
    pattern = in_parts(table, tmp_path / "data", "csv")
    (tmp_path / "data" / "part-00.csv").write_text("")
    same_gaussian(GaussianNB().fit(pattern, "y"), gaussian_in_memory(table))
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InvalidDataError, match="All files are empty"):
        GaussianNB().fit(tmp_path / "empty.csv", "y")
    (tmp_path / "header.csv").write_text("a,y\n")
    with pytest.raises(InvalidDataError, match="no rows"):
        GaussianNB().fit(tmp_path / "header.csv", "y")


def test_columns_of_weights_weigh(tmp_path):
    table = numbers()
    pattern = in_parts(table, tmp_path / "data")
    expected = gaussian_in_memory(table, sample_weight=table["w"].to_numpy())
    same_gaussian(GaussianNB().fit(pattern, "y", "w"), expected)


def test_partial_fit_goes_on_with_files(tmp_path):
    table = numbers().drop_columns("w")
    pattern = in_parts(table, tmp_path / "data")
    model = GaussianNB()
    for name in sorted((tmp_path / "data").glob("*.parquet")):
        if pq.read_metadata(name).num_rows:
            model.partial_fit(name, "y")
    same_gaussian(model, GaussianNB().fit(pattern, "y"))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_categories_may_be_new_in_any_file(ending, tmp_path):
    table = categories()
    pattern = in_parts(table, tmp_path / "data", ending)
    found = CategoricalNB().fit(pattern, "y")
    rows = table.drop_columns("y").to_pandas()
    expected = CategoricalNB().fit(rows, table["y"].to_numpy())
    np.testing.assert_array_equal(found.class_count_, expected.class_count_)
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=1e-12)


def test_dictionaries_of_files_need_not_agree(tmp_path):
    table = categories()
    one = table.slice(0, 100).set_column(1, "kind", table["kind"].slice(0, 100).dictionary_encode())
    pq.write_table(one, tmp_path / "1.parquet")
    pq.write_table(table.slice(100), tmp_path / "2.parquet")
    rows = table.drop_columns("y").to_pandas()
    expected = CategoricalNB().fit(rows, table["y"].to_numpy())
    found = CategoricalNB().fit(tmp_path, "y")
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=1e-12)


def test_tables_of_all_kinds_are_learned_from_files(tmp_path):
    table = numbers().drop_columns("w").append_column("kind", categories()["kind"])
    pattern = in_parts(table, tmp_path / "data")
    found, expected = BayesClassifier().fit(pattern, "y"), BayesClassifier().fit(table, "y")
    np.testing.assert_array_equal(found.class_count_, expected.class_count_)
    rows = table.drop_columns("y")
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=1e-9)


def texts():
    rng = np.random.default_rng(2)
    words = np.array(["cheap", "pills", "now", "meeting", "agenda", "tomorrow", "offer", "minutes"])
    label = rng.integers(0, 2, 120)
    chosen = [rng.choice(words, 6, p=np.r_[3, 3, 3, 1, 1, 1, 3, 1] / 16 if y else None) for y in label]
    return pa.table({"text": [" ".join(each) for each in chosen], "y": np.array(["mail", "spam"])[label]})


def test_what_is_kept_of_rows_is_bounded_and_the_same_for_files_and_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.engines.files.BATCH", 500)
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 3000)
    table = pa.table({"x": rng.normal(y, 1.0), "y": y})
    pq.write_table(table, tmp_path / "a.parquet")
    near, every = (BayesClassifier(limit=limit).fit(tmp_path / "a.parquet", "y") for limit in (300, None))
    whole = BayesClassifier().fit(table, "y")
    points = [clf._learned.seen.statistic.parts[0].parts[0] for clf in (near, every, whole)]
    assert np.diff(points[0].start).max() <= 300
    assert near.statistics_ == BayesClassifier(limit=300).fit(table, "y").statistics_
    np.testing.assert_array_equal(points[0].class_weight, points[2].class_weight)
    np.testing.assert_array_equal(points[1].values, points[2].values)
    told = [clf.predict_proba(table.select(["x"])) for clf in (near, whole)]
    np.testing.assert_allclose(*told, atol=0.06)


def test_small_batches_are_summarized_together_and_unlike_ones_apart(monkeypatch):
    monkeypatch.setattr("suffice.engines.summarizing.BATCH", 5)
    whole, halves = pa.table({"x": [1, 2], "y": [0, 1]}), pa.table({"x": [0.5, 1.5], "y": [0, 1]})
    made = list(together([*whole.to_batches(), whole, whole, whole, halves, halves]))
    assert [len(table) for table in made] == [6, 2, 4]
    assert pa.concat_tables(made[:2])["x"].to_pylist() == [1, 2] * 4
    assert made[2]["x"].to_pylist() == [0.5, 1.5] * 2


def test_a_column_of_texts_is_a_column(tmp_path):
    table = texts()
    pattern = in_parts(table, tmp_path / "data")
    found = TextClassifier().fit(pattern, "y")
    plain = table["text"].to_pylist()
    expected = TextClassifier().fit(plain, table["y"].to_pylist())
    np.testing.assert_allclose(found.predict_proba(plain), expected.predict_proba(plain), rtol=1e-12)
    answers = found.predict(pattern).read_all()
    assert answers["prediction"].to_pylist() == expected.predict(plain).tolist()


def test_numbers_of_a_text_file_may_turn_out_not_to_be_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.engines.file_formats.BLOCK", 200)
    rows = [(i, "no" if i % 2 else "yes") for i in range(100)] + [(1.5, "no")]
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    found = GaussianNB().fit(tmp_path / "a.csv", "y")
    expected = GaussianNB().fit(np.array([[x] for x, _ in rows]), [y for _, y in rows])
    same_gaussian(found, expected)


def test_quotes_may_hold_commas_and_ends_of_lines_and_gaps_are_missing(tmp_path):
    (tmp_path / "a.csv").write_text('k,y\n"a,\nb",0\n,1\nNA,1\n"NA",0\n')
    rows = find(tmp_path / "a.csv").head(10_000)
    assert rows["k"].to_pylist() == ["a,\nb", None, None, "NA"]


# ---- datasets and streams


def test_datasets_of_arrow_keep_their_partitions_and_filters(tmp_path):
    table = numbers().drop_columns("w")
    ds.write_dataset(table, tmp_path / "d", format="parquet", partitioning=["y"], partitioning_flavor="hive")
    whole = ds.dataset(tmp_path / "d", partitioning="hive")
    order = pa.concat_tables([table.filter(pa.compute.equal(table["y"], y)) for y in ("late", "no", "yes")])
    same_gaussian(GaussianNB().fit(whole, "y"), gaussian_in_memory(order))
    some = whole.filter(ds.field("b") > 20)
    kept = order.filter(pa.compute.greater(order["b"], 20))
    same_gaussian(GaussianNB().fit(some, "y"), gaussian_in_memory(kept))
    same_gaussian(GaussianNB().fit(ds.dataset(table), "y"), gaussian_in_memory(table))


def kinds_of_streams(table):
    return {
        "reader": lambda: table.to_reader(max_chunksize=37),
        "generator of batches": lambda: (batch for batch in table.to_batches(max_chunksize=37)),
        "iterator of tables": lambda: iter([table.slice(i, 50) for i in range(0, N, 50)]),
        "data frames": lambda: (table.slice(i, 50).to_pandas() for i in range(0, N, 50)),
        "with empty ones": lambda: iter([table.slice(0, 0), table.slice(0, 100), table.slice(0, 0), table.slice(100)]),
    }


@pytest.mark.parametrize("kind", kinds_of_streams(None))
def test_streams_are_learned_once(kind):
    table = numbers().drop_columns("w")
    stream = kinds_of_streams(table)[kind]()
    with pytest.raises(InvalidDataError, match="Did you mean 'y'"):  # looking at a stream loses nothing
        GaussianNB().fit(stream, "yy")
    same_gaussian(GaussianNB().fit(stream, "y"), gaussian_in_memory(table))
    with pytest.raises(InvalidDataError, match="read before"):
        GaussianNB().fit(stream, "y")


def test_a_classifier_of_tables_reads_a_stream_as_it_reads_the_table():
    table = numbers().drop_columns("w")
    found = BayesClassifier().fit((batch for batch in table.to_batches(max_chunksize=37)), "y")
    expected = BayesClassifier().fit(table, "y")
    np.testing.assert_array_equal(found.predict(table), expected.predict(table))


class HandsOn:
    """Only Arrow's C interface, as drivers of databases give it."""

    def __init__(self, table, most=64):
        self.table, self.most, self.asked = table, most, 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.asked += 1
        return pa.RecordBatchReader.from_batches(
            self.table.schema, self.table.to_batches(max_chunksize=self.most)
        ).__arrow_c_stream__(requested_schema)


def test_what_hands_on_a_stream_of_arrow_is_read_batch_by_batch_and_once():
    table, handed = numbers().drop_columns(["w"]), HandsOn(numbers().drop_columns(["w"]))
    same_gaussian(GaussianNB().fit(handed, "y"), gaussian_in_memory(table))
    assert handed.asked == 1
    found, usual = BayesClassifier().fit(handed, "y"), BayesClassifier().fit(table, "y")
    assert handed.asked == 2
    np.testing.assert_allclose(found.predict_proba(table), usual.predict_proba(table), rtol=1e-9)


def test_a_query_of_duckdb_is_streamed():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    table = numbers().drop_columns(["w"])
    held = duckdb.from_arrow(table)
    clf = GaussianNB().fit(held.filter("b < 40"), "y").partial_fit(held.filter("b >= 40"), "y")
    same_gaussian(clf, gaussian_in_memory(table))
    with pytest.raises(InvalidDataError, match="Did you mean 'y'"):
        GaussianNB().fit(held, "yy")


def test_a_stream_that_somebody_else_has_read_is_an_error():
    for stream in (numbers().to_reader(), iter([numbers()])):
        for _ in stream:
            pass
        with pytest.raises(InvalidDataError, match="somebody has read it before"):
            GaussianNB().fit(stream, "y")


def test_an_error_of_a_stream_says_where_and_cannot_be_taken_for_the_end():
    def broken():
        yield numbers().slice(0, 100)
        raise RuntimeError("connection lost")

    stream = broken()
    model = GaussianNB()
    with pytest.raises(RuntimeError, match="connection lost"):
        model.fit(stream, "y")
    assert "_learned" not in model.__dict__
    with pytest.raises(InvalidDataError, match="after row 0: Expected a table"):
        GaussianNB().fit(iter([{1, 2}]), "y")
    with pytest.raises(InvalidOptionError, match="checkpoint"):
        GaussianNB().fit(iter([numbers()]), "y", checkpoint="x")


def test_a_query_that_fails_is_told_as_one():
    class Query:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError("no such table")

    model = GaussianNB()
    with pytest.raises(InvalidDataError, match=r"Query cannot hand its rows on: KeyError: 'no such table'"):
        model.fit(Query(), "y")
    assert "_learned" not in model.__dict__


def test_a_value_that_has_no_answer_is_found_in_its_row():
    rows = numbers()
    odd = rows.set_column(0, rows.column_names[0], pa.array([np.inf] + [0.0] * (len(rows) - 1)))
    told = GaussianNB().fit(iter([rows]), "y").predict(iter([rows, odd]))
    with pytest.raises(InvalidDataError, match=f"row {len(rows)}, column '{rows.column_names[0]}'"):
        told.read_all()


def test_a_batch_unlike_the_first_has_no_answers():
    fitted = GaussianNB().fit(iter([numbers()]), "y")
    told = fitted.predict(iter([numbers(), numbers().drop_columns(["y"])]))
    with pytest.raises(MismatchError, match="not like the first one"):
        told.read_all()


# ---- answers


@pytest.mark.parametrize("question", ["predict", "predict_proba", "predict_log_proba"])
def test_answers_stand_beside_the_rows(question, tmp_path):
    table = numbers().drop_columns("w")
    pattern = in_parts(table, tmp_path / "data")
    model = GaussianNB().fit(pattern, "y")
    X = np.column_stack([table[name].to_numpy() for name in ("a", "b", "c")])
    plain = gaussian_in_memory(table)
    for x in (pattern, table.to_reader(max_chunksize=50), iter(table.to_batches(max_chunksize=50))):
        reader = getattr(model, question)(x)
        assert isinstance(reader, pa.RecordBatchReader)
        rows = reader.read_all()
        assert rows.select(table.column_names).equals(table)
        np.testing.assert_array_equal(rows["prediction"].to_numpy(zero_copy_only=False), plain.predict(X))
        if question != "predict":
            title = question.removeprefix("predict_").replace("proba", "probability")
            told = np.column_stack([rows[f"{title} {label}"] for label in model.classes_])
            np.testing.assert_allclose(told, getattr(plain, question)(X), rtol=1e-9, atol=1e-12)


def test_answers_are_read_only_as_they_are_asked_for():
    pulled = []

    def batches():
        for i in range(5):
            pulled.append(i)
            yield numbers(n=20_000)

    model = GaussianNB().fit(iter([numbers().drop_columns("w")]), "y")
    reader = model.predict(batches())
    reader.read_next_batch()
    assert pulled == [0]


def test_answers_do_not_take_the_place_of_columns(tmp_path):
    table = numbers().drop_columns("w")
    model = GaussianNB().fit(iter([table]), "y")
    pq.write_table(table.rename_columns(["a", "b", "c", "prediction"]), tmp_path / "a.parquet")
    with pytest.raises(InvalidDataError, match="'prediction' already"):
        model.predict(tmp_path / "a.parquet")
    pq.write_table(table.drop_columns("b"), tmp_path / "b.parquet")
    with pytest.raises(InvalidDataError, match="no column 'b' that the model was trained on"):
        model.predict(tmp_path / "b.parquet")


# ---- what is no source


def test_what_is_in_memory_is_no_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = numbers()
    plain = [np.zeros((2, 2)), table, table.to_batches()[0], table.to_pandas(), {"a": [1]}, [[1.0]], [], None]
    words = [
        "a text",
        ["report.csv", "is this a text?"],
        ["gone.csv"],
        "is it spam?",
        "",
        "a\0b",
        "x" * 10_000,
        b"a.csv",
    ]
    for x in [*plain, *words]:
        assert find(x) is None


def test_a_single_text_is_still_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = texts()
    model = TextClassifier().fit(table["text"].to_pylist(), table["y"].to_pylist())
    for text in ("cheap pills", "cheap pills?"):
        with pytest.raises(InvalidTextError, match="put it into a list"):
            model.predict(text)


def test_a_generator_of_texts_is_still_one():
    table = texts()
    plain = table["text"].to_pylist()
    model = TextClassifier().fit((text for text in plain), table["y"].to_pylist())
    np.testing.assert_array_equal(model.predict(text for text in plain), model.predict(plain))
    np.testing.assert_array_equal(model.predict(iter(plain)), model.predict(plain))


# ---- what goes wrong


def test_a_name_without_files_says_what_is_there(tmp_path):
    in_parts(numbers(), tmp_path / "data")
    with pytest.raises(InvalidDataError, match=r"No file matches.*part-0\.parquet"):
        GaussianNB().fit(str(tmp_path / "data" / "parts-*.parquet"), "y")
    with pytest.raises(InvalidDataError, match=r"Did you mean .*part-0\.parquet"):
        GaussianNB().fit(tmp_path / "data" / "prt-0.parquet", "y")
    with pytest.raises(InvalidDataError, match="holds data"):
        GaussianNB().fit(tmp_path / "nowhere" / "x.parquet", "y")
    with pytest.raises(InvalidDataError, match=r"pyarrow\.dataset\.Dataset"):
        GaussianNB().fit("s3://bucket/part-*.parquet", "y")


def test_unknown_endings_are_refused_and_the_known_ones_told(tmp_path):
    (tmp_path / "a.xlsx").write_text("")
    for asked in (tmp_path / "a.xlsx", tmp_path, str(tmp_path / "*.xlsx")):
        with pytest.raises(InvalidDataError, match=r"\.parquet.*\.csv"):
            GaussianNB().fit(asked, "y")


def test_columns_that_are_not_there_are_named(tmp_path):
    pattern = in_parts(numbers(), tmp_path / "data")
    with pytest.raises(InvalidDataError, match="no column 'Y'"):
        GaussianNB().fit(pattern, "Y")
    with pytest.raises(InvalidDataError, match="name of a column"):
        GaussianNB().fit(pattern, [0, 1])


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_whose_columns_differ_are_named(ending, tmp_path):
    table = numbers().drop_columns("w")
    pattern = in_parts(table, tmp_path / "data", ending)
    odd = tmp_path / "data" / f"part-9.{ending}"
    cases = {
        "part-9.* has no column 'b'": table.drop_columns("b"),
        "part-9.* has a column 'd'": table.append_column("d", table["a"]),
        "Column 'b' is string in .*part-9": table.set_column(1, "b", pa.array(["x"] * N)),
    }
    for message, content in cases.items():
        WRITERS[f"a.{ending}"](content, odd)
        with pytest.raises(MismatchError, match=message):
            GaussianNB().fit(pattern, "y")


def test_whole_numbers_in_one_file_and_others_in_the_next_are_numbers(tmp_path):
    table = numbers().drop_columns("w")
    pattern = in_parts(table, tmp_path / "data")
    real = table.set_column(1, "b", table["b"].cast(pa.float32()))
    pq.write_table(real, tmp_path / "data" / "part-9.parquet")
    same_gaussian(GaussianNB().fit(pattern, "y"), gaussian_in_memory(pa.concat_tables([table, table])))


def test_whole_numbers_without_room_among_others_are_named(tmp_path):
    y = ["a", "b"] * 5
    pq.write_table(pa.table({"x": [2**60 + i for i in range(10)], "y": y}), tmp_path / "0.parquet")
    assert GaussianNB().fit(tmp_path, "y").theta_[0, 0] == pytest.approx(2**60)
    pq.write_table(pa.table({"x": [0.5] * 10, "y": y}), tmp_path / "1.parquet")
    with pytest.raises(MismatchError, match=r"0\.parquet: Column 'x' is int64 here, and with the other files double"):
        GaussianNB().fit(tmp_path, "y")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst"])
def test_text_in_another_encoding_is_refused_and_not_left_out(ending, tmp_path):
    path = tmp_path / f"old.{ending}"
    with pa.output_stream(path, compression="detect") as file:
        file.write(("kind,x,y\n" + "Käse,1.5,a\nBröt,2.5,b\n" * 20).encode("latin1"))
    with pytest.raises(InvalidDataError, match=r"old\.csv.*: Column 'kind' is not written in UTF-8"):
        BayesClassifier().fit(path, "y")


def test_an_array_of_json_is_told_from_lines(tmp_path):
    (tmp_path / "all.json").write_text('[{"x": 1.5, "y": "a"},\n {"x": 2.5, "y": "b"}]')
    with pytest.raises(
        InvalidDataError, match=r"all\.json: It holds an array of JSON in line 1: write one object to a line"
    ):
        BayesClassifier().fit(tmp_path / "all.json", "y")


def test_what_comes_of_files_and_of_memory_is_merged_with_the_same_limit(tmp_path):
    rng = np.random.default_rng(3)
    rows = pa.table({"x": rng.gamma(2.0, size=4000), "y": np.repeat(["a", "b"], 2000)})
    pq.write_table(rows, tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet"
    with pytest.raises(MismatchError, match="the same `limit`"):
        BayesClassifier(limit=100).fit(path, "y") + BayesClassifier().fit(rows, "y")
    both = BayesClassifier(limit=100).fit(path, "y") + BayesClassifier(limit=100).fit(rows, "y")
    assert both.class_count_.tolist() == [4000, 4000]
    fitted = BayesClassifier(limit=100).fit(path, "y")
    fitted.forget(rows.slice(0, 5), "y")
    assert fitted.class_count_.tolist() == [1995, 2000]
    with pytest.raises(NotPartError):
        fitted.forget(pa.table({"x": [-5.0], "y": ["a"]}), "y")
    assert fitted.class_count_.tolist() == [1995, 2000]


def test_further_rows_without_a_column_that_was_learned_are_refused(tmp_path):
    pq.write_table(numbers().drop_columns(["w"]), tmp_path / "all.parquet")
    pq.write_table(numbers().drop_columns(["w", "b"]), tmp_path / "less.parquet")
    model = GaussianNB().partial_fit(tmp_path / "all.parquet", "y")
    before = model.class_count_.tolist()
    with pytest.raises(InvalidDataError, match="no column 'b' that the model was trained on"):
        model.partial_fit(tmp_path / "less.parquet", "y")
    assert model.class_count_.tolist() == before


def test_a_list_may_hold_patterns(tmp_path):
    pattern = in_parts(numbers(), tmp_path / "data")
    listed, alone = GaussianNB().fit([str(pattern)], "y"), GaussianNB().fit(pattern, "y")
    assert listed.theta_.tolist() == alone.theta_.tolist()


def test_a_broken_row_of_text_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.engines.file_formats.BLOCK", 1000)
    good = "".join(f"{i},no\n" for i in range(2000))
    (tmp_path / "a.csv").write_text("x,y\n" + good + "1,no,what\n" + good)
    with pytest.raises(InvalidDataError, match=r"a\.csv cannot be read.*Row #2002.*1,no,what"):
        GaussianNB().fit(tmp_path / "a.csv", "y")
    (tmp_path / "b.csv").write_text("x,y\n" + good + "many,no\n")
    with pytest.raises(InvalidDataError, match=r"b\.csv cannot be read.*Row #2002.*'many'"):
        GaussianNB().fit(tmp_path / "b.csv", "y")
    line = '{"x": 1, "y": "no"}\n'
    (tmp_path / "c.jsonl").write_text(line * 2000 + '{"x": \n' + line)
    with pytest.raises(InvalidDataError, match=r"c\.jsonl cannot be read: Row 2000 has the type object"):
        GaussianNB().fit(tmp_path / "c.jsonl", "y")


def test_a_file_that_breaks_half_way_is_named_and_nothing_changes(tmp_path):
    table = numbers(n=40_000).drop_columns("w")
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=10_000, compression="none", use_dictionary=False)
    model = GaussianNB().fit(path, "y")
    before = pickle.dumps(model.theta_)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 100_000)
    with pytest.raises(InvalidDataError, match=r"a\.parquet cannot be read"):
        model.fit(path, "y")
    assert pickle.dumps(model.theta_) == before
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InvalidDataError, match=r"a\.parquet cannot be read"):
        model.fit(path, "y")


def test_values_that_cannot_be_learned_are_found_in_their_file(tmp_path):
    table = numbers().drop_columns("w")
    pattern = in_parts(table, tmp_path / "data")
    odd = table.slice(0, 50)
    values = odd["a"].to_numpy().copy()
    values[7] = np.inf
    pq.write_table(odd.set_column(0, "a", pa.array(values)), tmp_path / "data" / "part-9.parquet")
    with pytest.raises(InvalidDataError, match=r"row 7, column.*part-9\.parquet"):
        GaussianNB().fit(pattern, "y")
    labels = pa.array([None if i == 9 else "no" for i in range(50)])
    pq.write_table(odd.set_column(3, "y", labels), tmp_path / "data" / "part-9.parquet")
    with pytest.raises(InvalidDataError, match=r"part-9\.parquet: .*label of row 9 is missing"):
        GaussianNB().fit(pattern, "y")


def test_columns_of_types_without_use_are_refused(tmp_path):
    table = numbers().append_column("l", pa.array([[1]] * N))
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InvalidDataError, match="'l' has the Arrow type list"):
        GaussianNB().fit(tmp_path / "a.parquet", "y")


# ---- manners


def test_only_the_columns_that_are_needed_are_read(tmp_path, monkeypatch):
    table = numbers()
    model = GaussianNB().fit(in_parts(table.select(["a", "y"]), tmp_path / "one"), "y")
    wide = in_parts(table, tmp_path / "wide")
    read = []
    from suffice.engines.summarizing import Task

    plain = Task.summarize
    monkeypatch.setattr(Task, "summarize", lambda task, batch, onto: read.append(batch) or plain(task, batch, onto))
    model.partial_fit(wide, "y")
    assert {tuple(batch.schema.names) for batch in read} == {("a", "y")}


def test_nothing_is_printed_but_on_a_terminal(tmp_path, capsys, monkeypatch):
    pattern = in_parts(numbers(), tmp_path / "data")
    GaussianNB().fit(pattern, "y")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    GaussianNB().fit(pattern, "y")
    assert capsys.readouterr() == ("", "")  # what is over at once needs no bar
    monkeypatch.setattr("suffice.engines.progress.PATIENCE", -1.0)
    GaussianNB().fit(pattern, "y")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "300 rows, file 5 of 5" in shown.err


def test_breaking_off_leaves_everything_as_it_was(tmp_path, monkeypatch):
    pattern = in_parts(numbers(), tmp_path / "data")
    model = GaussianNB().fit(pattern, "y")
    before = model.theta_.copy()

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("suffice.engines.progress.Progress.part", stop)
    listed = sorted(os.listdir(tmp_path / "data"))
    with pytest.raises(KeyboardInterrupt):
        model.fit(pattern, "y")
    np.testing.assert_array_equal(model.theta_, before)
    assert sorted(os.listdir(tmp_path / "data")) == listed


def test_the_guide_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    page = Path(__file__).parent.parent / "docs" / "scale.md"
    text, _, _ = page.read_text(encoding="utf-8").partition("## Inside the database")  # which needs an engine
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    scope = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
    shown = capsys.readouterr().out
    assert "4000.0" in shown
    assert "'prediction', 'probability 0', 'probability 1'" in shown
    assert pq.read_table(tmp_path / "answers").num_rows == 4000


# ------------------------------------------------------------------------------------------ tables in memory


@pytest.mark.parametrize(
    ("make", "columns"),
    [
        (GaussianNB, ["a", "b"]),
        (CategoricalNB, ["kind"]),
        (BayesClassifier, ["a", "b", "kind"]),
        (TextClassifier, ["kind"]),
        (QuadraticDiscriminantAnalysis, ["a", "b"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_labels_and_weights_of_a_table_in_memory_may_be_its_columns(make, columns):
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {"a": rng.normal(size=60), "b": rng.normal(size=60), "kind": rng.choice(["red hat", "sea"], 60)}
    )
    table = table[columns].assign(y=rng.choice(["u", "v"], 60), w=rng.integers(0, 3, 60).astype(float))
    x = table["kind"] if make is TextClassifier else table[columns]
    given, named = make().fit(x, table["y"], table["w"]), make().fit(table, "y", "w")
    np.testing.assert_array_equal(named.predict_proba(x), given.predict_proba(x))
    np.testing.assert_array_equal(named.leave_one_out(table, "y", "w"), given.leave_one_out(x, table["y"], table["w"]))
    np.testing.assert_array_equal(
        named.cross_validate(table, "y", 3, "w"), given.cross_validate(x, table["y"], 3, table["w"])
    )
    assert named.score(table, "y", "w") == given.score(x, table["y"], table["w"])
    twice = make().fit(table.drop(columns="w"), "y").partial_fit(table, "y", sample_weight="w").forget(table, "y", "w")
    np.testing.assert_allclose(twice.predict_proba(x), make().fit(x, table["y"]).predict_proba(x), rtol=1e-7)
    with pytest.raises(InvalidDataError, match=r"no column 'z' to learn.*'y'"):
        make().fit(table, "z")


def test_a_small_file_of_text_is_parsed_once(tmp_path, monkeypatch):
    path, parsed = tmp_path / "rows.csv", []
    pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": list("uvuv")}).to_csv(path, index=False)
    read = csv.read_csv
    monkeypatch.setattr(csv, "read_csv", lambda *args, **options: parsed.append(args) or read(*args, **options))
    assert GaussianNB().fit(str(path), "y").class_count_.tolist() == [2, 2]
    assert len(parsed) == 1


def test_the_kind_of_a_column_is_asked_once_to_choose_its_family(monkeypatch):
    asked, kind = [], profile.column_kind
    monkeypatch.setattr(profile, "column_kind", lambda column: asked.append(column) or kind(column))
    BayesClassifier().fit({"a": [1.0, 2.0, 3.0], "b": list("xyx"), "y": list("uvu")}, "y")
    assert len(asked) == 2


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_labels_of_any_type_are_read_or_refused_by_name_at_the_command_line(ending, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    half = pa.array(np.arange(20) % 2, pa.float16())
    days = pa.array(np.arange(20, dtype=np.int32) % 2, pa.date32())
    for labels, said in (
        (half, ""),
        (days, "Column 'y' has the Arrow type date32[day], which cannot be read as labels"),
    ):
        table = pa.table({"a": np.arange(20.0), "h": half, "y": labels})
        if ending == "parquet":
            pq.write_table(table, "a.parquet")
        else:
            with pa.ipc.new_file("a.arrow", table.schema) as writer:
                writer.write_table(table)
        code = run(["fit", f"a.{ending}", "--target", "y", "-o", "m.suffice"])
        err = capsys.readouterr().err
        assert (code, said in err, "unexpected" in err) == (2 if said else 0, True, False)
    assert load("m.suffice").classes_.tolist() == [0.0, 1.0]


def test_progress_is_shown_on_a_terminal_alone(monkeypatch):
    monkeypatch.setattr("suffice.engines.progress.PATIENCE", -1.0)
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress([10], [5]) as progress:
            progress.rows(3)
        assert progress.bar is None
        with Steps(3) as steps:
            steps.step()
        assert steps.bar is None


def test_progress_of_steps_is_shown_where_it_takes_long(monkeypatch):
    monkeypatch.setattr("suffice.engines.progress.PATIENCE", 1e9)
    with Steps(3) as steps:
        steps.wanted = True  # as on a terminal
        steps.step()
        assert steps.bar is None
        monkeypatch.setattr("suffice.engines.progress.PATIENCE", -1.0)
        bars = [SimpleNamespace(add_task=lambda *_, **__: 0, update=lambda *_, **__: None, stop=list)]
        monkeypatch.setattr("suffice.engines.progress._bar", bars.pop)
        steps.step()
        shown = steps.bar
        steps.step()
        assert shown is not None
        assert steps.bar is shown


def test_a_part_knows_when_its_file_was_changed(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": ["a", "b"]}), path)
    os.utime(path, ns=(5_000_000_000, 7_000_000_000))
    part = files._part_of(next(ds.dataset(path).get_fragments()))
    assert part.changed == 7_000_000_000


def test_the_share_of_a_file_that_was_read_is_shown(monkeypatch):
    monkeypatch.setattr("suffice.engines.progress.PATIENCE", -1.0)
    with Progress([10, 30], [5, None]) as progress:
        shown = []
        progress.bar = SimpleNamespace(update=lambda *_, **what: shown.append(what["completed"]), stop=list)
        progress.shown = 0
        progress.rows(3)
        progress.rows(9)  # more than was expected
        progress.part(0)
        progress.rows(3)  # nobody knows of how many
    assert shown[:2] == [6.0, 10.0]
    assert shown[-1] == 10.0


def test_a_stream_of_empty_tables_has_no_rows():
    empty = pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.string())})
    with pytest.raises(InvalidDataError, match=r"no rows|no row|empty"):
        BayesClassifier().fit(iter([empty]), "y")


@pytest.mark.parametrize(("files", "listed"), [(10, "f09.txt$"), (11, "f09.txt, …$")])
def test_a_name_without_a_file_is_answered_by_ten_names_of_the_folder(files, listed, tmp_path):
    for i in range(files):
        (tmp_path / f"f{i:02}.txt").write_text("")
    with pytest.raises(InvalidDataError, match=f"holds f00.txt, .*{listed}"):
        BayesClassifier().fit(str(tmp_path / "absent.csv"), "y")


@pytest.mark.parametrize("line", [1, 3])
def test_an_array_of_json_is_refused_with_its_line(line, tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1, "y": 0}\n' * (line - 1) + '[{"a": 1, "y": 0}]\n')
    with pytest.raises(InvalidDataError, match=f"an array of JSON in line {line}:"):
        BayesClassifier().fit(str(tmp_path / "a.json"), "y")


@pytest.mark.parametrize(
    ("ending", "rows"), [("csv", "a,y\n1,p\n2,q\n5,p\n7,q\n"), ("jsonl", '{"a": 1, "y": "p"}\n{"a": 2, "y": "q"}\n')]
)
def test_a_file_without_a_byte_adds_nothing_to_others(ending, rows, tmp_path):
    full, empty = (tmp_path / f"{name}.{ending}" for name in ("full", "none"))
    full.write_text(rows)
    empty.write_text("")
    one, both = (BayesClassifier().fit(files, "y") for files in ([full], [full, empty]))
    assert one.class_count_.tolist() == both.class_count_.tolist()
    assert one.predict_proba({"a": [1.5]}).tolist() == both.predict_proba({"a": [1.5]}).tolist()


def test_a_number_that_is_refused_in_a_file_is_named_by_its_column(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,p\n3,inf,q\n")
    for model in (GaussianNB(), BayesClassifier()):
        with pytest.raises(InvalidDataError, match="'b'"):
            model.fit(str(tmp_path / "a.csv"), "y")


def test_the_first_rows_of_a_file_settle_the_pairs_that_are_counted(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    table = pa.table({"a": rng.normal(size=300) + y, "b": rng.normal(size=300) - y, "y": y})
    pq.write_table(table, tmp_path / "a.parquet")
    fitted = BayesClassifier(structure="pairs", keep=100).fit(str(tmp_path / "a.parquet"), "y")
    assert fitted._learned.family.plan.pairs.tolist() == [[0], [1]]
