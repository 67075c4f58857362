"""Files that cannot be read: each is refused by name, with the row and the column, and with what to do."""

import bz2
import gzip
import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice import BayesClassifier, InvalidDataError, MismatchError
from suffice.cli.program import run
from suffice.engines import file_formats
from suffice.engines.files import Files
from suffice.engines.json_lines import DEEPEST, StructureCheck
from suffice.engines.reading_errors import located
from suffice.naive_bayes import GaussianNB

ROWS = pa.table({"a": np.arange(50.0) % 7, "b": ["x", "y"] * 25, "y": ["p", "q"] * 25})
GOOD = b'{"a": 1, "y": "p"}\n{"a": 2, "y": "q"}\n'


def as_bytes(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def as_arrow(table):
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


CSV = as_bytes(lambda out: pa.csv.write_csv(ROWS, out))
PARQUET, ARROW = as_bytes(lambda out: pq.write_table(ROWS, out)), as_arrow(ROWS)

BAD = {
    "header.csv": ("aé,y\n1,p\n".encode("latin-1"), r"The name b'a\\xe9' of a column is not written in UTF-8: convert"),
    "value.csv": ("a,y\né,p\nx,q\n".encode("latin-1"), "Column 'a' is not written in UTF-8: convert"),
    "both.csv": ("a,y\né,p\n".encode() + "é,q\n".encode("latin-1"), "Column 'a' is not written in UTF-8: convert"),
    "wide.csv": ("a,y\n1,p\n2,q\n".encode("utf-16"), "It is written in UTF-16: convert it .* iconv -f utf-16"),
    "wider.csv": ("a,y\n1,p\n2,q\n".encode("utf-32"), "It is written in UTF-32: convert it"),
    "unmarked.csv": ("a,y\n1,p\n2,q\n".encode("utf-16-le"), "Row #4, .* Is it UTF-16"),
    "names.csv": ("a\0,y\n1,p\n2,q\n", r"The column 'a\\x00' has a zero byte in its name"),
    "wide.jsonl": (GOOD.decode().encode("utf-16"), "It is written in UTF-16"),
    "value.jsonl": (GOOD + '{"a": "é", "y": "p"}\n'.encode("latin-1"), "Row 2 has the type string in column 'a'"),
    "text.jsonl": (
        '{"a": "x", "y": "p"}\n{"a": "é", "y": "p"}\n'.encode("latin-1"),
        r"not written in UTF-8. Found b'\\xe9' in row 1, column 'a'. .* The file is text.jsonl",
    ),
    "fields.csv": ("a,y\n1,p\n2,q,3\n", "Row #3, the header being row 1, has 3 columns where 2 are expected: '2,q,3'"),
    "few.csv": ("a,y\n1,p\n2\n", "Row #3, the header being row 1, has 1 columns where 2 are expected"),
    "quote.csv": ('a,y\n1,p\n"x,q\n1,p\n', "Row #3, .* Is a quote left open"),
    "types.jsonl": (b'{"a": 1, "y": "p"}\n{"a": "x", "y": "q"}\n', "Row 1 has the type string in column 'a', where"),
    "twice.csv": ("a,a,y\n1,2,p\n", "twice.csv has two columns named 'a'"),
    "twice.jsonl": ('{"a": 1, "a": 2, "y": "p"}\n', "Row 0 has the column 'a' twice"),
    "cut.jsonl": (GOOD + b'{"a": 1, "y', "Row 2 is no JSON: Missing a closing quotation mark"),
    "cut.csv.gz": (gzip.compress(CSV)[:-10], "it is cut off .*: take another copy"),
    "cut.csv.bz2": (bz2.compress(CSV)[:-10], "it is cut off .*: take another copy"),
    "cut.csv.zst": (pa.compress(CSV, "zstd", asbytes=True)[:-10], "it is cut off .*: take another copy"),
    "plain.csv.gz": (CSV, "incorrect header check. .*take another copy"),
    "cut.parquet": (PARQUET[:-10], "Parquet magic bytes not found in footer.* take another copy"),
    "cut.arrow": (ARROW[:-10], "Not an Arrow file.* take another copy"),
    "name.arrow": (
        as_arrow(ROWS.rename_columns(["####", "b", "y"])).replace(b"####", b"\xe9#\xe9#"),
        "The name b'.*' of a",
    ),
    "empty.parquet": (b"", "0 bytes"),
    "empty.arrow": (b"", "too small"),
    "empty.csv": (b"", "All files are empty: "),
    "blank.jsonl": (b"\n\n", "All files are empty: "),
    "array.json": (b'[{"a": 1, "y": "p"}]', "It holds an array of JSON in line 1: write one object to a line"),
    "null.jsonl": (GOOD + b"null\n", "Line 3 holds 'null' where an object should begin"),
    "first.jsonl": (b"null\n" + GOOD, "Line 1 holds 'null' where an object should begin"),
    "number.jsonl": (GOOD + b"\n 12 \n", "Line 4 holds '12' where an object should begin"),
    "comma.jsonl": (b'{"a": 1, "y": "p"},\n', "Line 1 holds ',' where an object should begin"),
    "deep.jsonl": (GOOD + b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}\n", "Line 3 is nested more than 64 levels deep"),
    "abyss.jsonl": (b'{"a": ' + b'{"a":' * 1_000_000, "Line 1 is nested more than 64 levels deep"),
    "stairs.jsonl": (GOOD + b'{"a":\n' * 70, "Line 67 is nested more than 64 levels deep"),
    "label.csv": ("a,y\n1,p\n2,\n", "the label of row 1 is missing"),
}


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file into the folder of the test, which is the current one."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_read_is_refused_with_its_name_and_the_place(name, put, capsys):
    content, expected = BAD[name]
    put(name, content)
    for kind in (BayesClassifier, GaussianNB):
        with pytest.raises((InvalidDataError, MismatchError), match=expected) as caught:
            kind().fit(name, "y")
        assert name in str(caught.value)
    assert run(["fit", name, "--target", "y", "-o", "m.suffice"]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert said.err.startswith("suffice: ")
    assert name in said.err
    assert "unexpected" not in said.err
    assert not said.out
    assert os.listdir() == [name]


LATE = {
    "late.csv": (
        "oops,z,q\n",
        "Row #2002, the header being row 1, has 'oops' in column 'a', where the rows before it have",
    ),
    "fields.csv": ("1,z,q,4\n", "Row #2002, the header being row 1, has 4 columns where 3 are expected"),
    "latin.csv": (
        "3,é,q\n".encode("latin-1"),
        "Row #2002, the header being row 1, has a text in column 'b' that is not",
    ),
    "long.csv": ("1," + 3000 * "z" + ",q\n", r"A row (after row \d+ )?is longer than"),
    "late.jsonl": ('{"a": "oops", "y": "q"}\n', "Row 2000 has the type string in column 'a', where the rows before it"),
    "null.jsonl": ("null\n", "Line 2001 holds 'null' where an object should begin"),
    "long.jsonl": (f'{{"a": 1, "b": "{"z" * 3000}", "y": "q"}}\n', r"A row (after row \d+ )?is longer than"),
    "latin.jsonl": ('{"a": 1, "b": "é", "y": "q"}\n'.encode("latin-1"), r"Found b'\\xe9' in row 2000, column 'b'"),
}


@pytest.mark.parametrize("name", LATE)
def test_what_is_wrong_far_down_in_a_text_is_found_in_its_row(name, put, monkeypatch):
    monkeypatch.setattr(file_formats, "BLOCK", 1000)
    bad, expected = LATE[name]
    good = "a,b,y\n" + "1,z,p\n2,w,q\n" * 1000
    if name.endswith("jsonl"):
        good = '{"a": 1, "b": "z", "y": "p"}\n{"a": 2, "b": "w", "y": "q"}\n' * 1000
    put(name, good.encode() + (bad if isinstance(bad, bytes) else bad.encode()))
    with pytest.raises(InvalidDataError, match=expected) as caught:
        BayesClassifier().fit(name, "y")
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["marked.csv", "marked.jsonl"])
def test_a_mark_of_the_encoding_is_no_part_of_the_text(name, put):
    put(name, b"\xef\xbb\xbf" + (GOOD if name.endswith("jsonl") else b"a,y\n1,p\n2,q\n"))
    assert BayesClassifier().fit(name, "y").feature_names_in_.tolist() == ["a"]


# ---- JSON


def verdicts(text, sizes):
    """Whether a text is refused, when it comes in blocks of these sizes."""
    out = []
    for size in sizes:
        check = StructureCheck()
        try:
            for at in range(0, len(text), size):
                assert check(pa.py_buffer(text[at : at + size])).to_pybytes() == text[at : at + size]
            out.append("")
        except InvalidDataError as error:
            out.append(str(error).split(" ")[1])
    return out


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'{"a": "[[[[{{{{\\"[[[", "b": "\\\\"}\n' * 100, ""),
        (b'{"a": "\\\\\\"[", "b": [' + b"[" * 62 + b"]" * 62 + b"]}\n", ""),
        (b'{"a": "\\\\\\"[", "b": [' + b"[" * 63 + b"]" * 63 + b"]}\n", "1"),
        (b'{"a": "\\\\", "b": ' + b"[" * 64 + b"\n", "1"),
        (b'{"a": "open\n' + b'{"a": ' * 64, "2"),
        (b'{"a": 1}\n\n{"b":\n' + b"[\n" * 63 + b"]" * 63 + b"}", ""),
        (b'{"a": 1}\n\n{"b":\n' + b"[\n" * 64, "67"),
        (b'{"a": 1}\n]]]]\n', "2"),
        (b'{"a": 1} {"b": 2}\r\n\t{"c": 3}\n', ""),
    ],
)
def test_nesting_is_counted_outside_of_strings_and_across_blocks(text, line):
    assert set(verdicts(text, [1, 2, 3, 7, 1000])) == {line}


def test_values_as_deep_as_is_allowed_are_read(put):
    deep = json.loads("[" * (DEEPEST - 1) + "]" * (DEEPEST - 1))
    put("a.jsonl", "".join(json.dumps({"x": i, "deep": deep, "y": "pq"[i % 2]}) + "\n" for i in range(20)))
    with pytest.warns(sf.LeftOutWarning, match="'deep'"):
        assert len(BayesClassifier().fit("a.jsonl", "y").classes_) == 2


# ---- Arrow and Parquet, whose content Arrow does not check


def strings(texts):
    """An Arrow column of bytes that claim to be texts."""
    held = pa.array(texts, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(held), held.buffers())


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_texts_of_columns_that_are_not_utf8_are_found_in_their_row(ending, put):
    table = pa.table({"b": strings([b"x", b"y", b"x", b"caf\xe9"]), "y": ["p", "q", "p", "q"]})
    put(f"a.{ending}", as_arrow(table) if ending == "arrow" else as_bytes(lambda out: pq.write_table(table, out)))
    with pytest.raises(InvalidDataError, match=r"Found b'caf\\xe9' in row 3, column 'b'. .* The file is a\."):
        BayesClassifier().fit(f"a.{ending}", "y")
    dataset = pa.dataset.dataset(f"a.{ending}", format="ipc" if ending == "arrow" else ending)
    with pytest.raises(InvalidDataError, match="in row 3, column 'b'"):
        BayesClassifier().fit(dataset, "y")


def test_offsets_that_lead_out_of_an_arrow_file_are_refused(put):
    offsets = np.array([0, 1, 2_000_000_000, 3], np.int32)
    column = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"xyz")])
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 7000], pa.int32()), ["x", "y"], safe=False)
    for held in (column, codes):
        put("a.arrow", as_arrow(pa.table({"b": held, "y": ["p", "q", "p"]})))
        with pytest.raises(InvalidDataError, match=r"a\.arrow: Column 'b' is damaged .*: take another copy"):
            BayesClassifier().fit("a.arrow", "y")


def test_an_arrow_file_gives_the_columns_that_are_asked_for_as_the_types_of_all_files(put):
    put("a.arrow", as_arrow(pa.table({"x": [1, 2], "y": ["p", "q"], "z": [0.5, 1.5]})))
    put("b.arrow", as_arrow(pa.table({"z": [2.5], "y": ["p"], "x": [0.25]})))
    files = Files(["a.arrow", "b.arrow"])
    read = pa.Table.from_batches(files.batches(shown=False))
    assert read.to_pydict() == {"x": [1.0, 2.0, 0.25], "y": ["p", "q", "p"], "z": [0.5, 1.5, 2.5]}
    found = [batch for part in files.parts for _, batch in files._read(part, ["z", "x"], files.schema, size=1)]
    assert [batch.num_rows for batch in found] == [1, 1, 1]
    assert pa.Table.from_batches(found).to_pydict() == {"z": [0.5, 1.5, 2.5], "x": [1.0, 2.0, 0.25]}


# ---- what is no file


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes and sockets in folders")
@pytest.mark.usefixtures("put")
def test_pipes_sockets_and_links_to_nothing_are_told_from_files():
    os.mkfifo("pipe.csv")
    os.symlink("nowhere.csv", "link.csv")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.csv")
        for name, said in (
            ("pipe.csv", "pipe.csv is a named pipe and no file.* standard input"),
            ("socket.csv", "socket.csv is a socket and no file"),
            ("link.csv", "link.csv is a link to 'nowhere.csv', which is not there"),
            ("p*.csv", "pipe.csv is a named pipe"),
        ):
            with pytest.raises(InvalidDataError, match=said):
                BayesClassifier().fit(name, "y")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow"])
def test_a_file_that_vanishes_between_two_passes_is_named(name, put):
    whole = {"csv": CSV, "jsonl": GOOD, "parquet": PARQUET, "arrow": ARROW}
    put(name, whole[name[2:]])
    files = Files([name])
    assert files.names
    files.parts[0].fragment.__dict__.pop("kept", None)
    if hasattr(files.parts[0].fragment, "kind"):
        files.parts[0].fragment.kept = None
    os.unlink(name)
    with pytest.raises(InvalidDataError, match=f"{name} cannot be read: it is not there any more"):
        list(files.batches(shown=False))


AS_NOBODY = """
import os, sys
from suffice import BayesClassifier, InvalidDataError
import pyarrow.dataset
os.chdir(sys.argv[1])
if not os.getuid():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for name in sys.argv[2:]:
    try:
        BayesClassifier().fit(name, "y")
    except InvalidDataError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_files_and_folders_without_permission_are_named(put, tmp_path):
    for name, content in (("a.csv", CSV), ("a.jsonl", GOOD), ("a.parquet", PARQUET), ("a.arrow", ARROW)):
        os.chmod(put(name, content), 0)
    os.mkdir("closed", 0)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == tmp_path.owner() and folder.stat().st_mode & 0o055 != 0o055:
            folder.chmod(folder.stat().st_mode | 0o055)
    names = ["a.csv", "a.jsonl", "a.parquet", "a.arrow", "closed/a.csv"]
    command = [sys.executable, "-c", AS_NOBODY, str(tmp_path), *names]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    os.chmod("closed", 0o700)
    assert said[:4] == [f"{name} cannot be read: you have no permission to read it" for name in names[:4]]
    assert said[4] == "closed/a.csv cannot be read: Permission denied"


@pytest.mark.parametrize(
    ("before", "said"), [(0, "cannot be read: strange"), (5, "cannot be read after row 4: strange")]
)
def test_an_error_that_is_not_known_says_after_which_row_it_came(before, said):
    with pytest.raises(InvalidDataError, match=said), located("f.csv", before):
        raise pa.ArrowInvalid("strange")
