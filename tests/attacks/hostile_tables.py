"""Hostile data files: CSV, TSV, JSON lines, Parquet and Arrow, through `fit`, the answers and the command line.

Files are made here and read by a process of its own with bounded memory, so that a crash, a hang or a request for
gigabytes is seen. A file is answered, or refused by a named error in one sentence that names the file.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from select import select
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from attacks.tally import Tally, until

Random: TypeAlias = np.random.Generator

SECONDS = 60.0  # that one file may take, on a machine that is busy
MEMORY = 6 << 30  # bytes of addresses of the process that reads; Arrow reserves more than it uses
RESIDENT = 2 << 30  # bytes of memory that a file of at most some megabytes may take
WAYS = ("fit", "fit numbers", "answer", "command line")


def attack(seconds: float, seed: int) -> Tally:
    """Write hostile files and let them be read, each in one of the ways, until the seconds have passed."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="suffice-tables-") as folder, _Reader(Path(folder)) as reader:
        for name, rng in until(seconds, seed):
            number = int(name.rpartition("-")[2])
            make = MAKERS[number % len(MAKERS)]
            ending, content = make(rng)
            path = Path(folder) / f"{make.__name__.strip('_')}{ending}"
            path.write_bytes(content)
            way = WAYS[number // len(MAKERS) % len(WAYS)]
            outcome, why = reader.read(way, path)
            tally["tried"] += 1
            if outcome in ("answered", "refused"):
                tally[outcome] += 1
            else:
                kept = Path(tempfile.gettempdir()) / f"suffice-failed-{name}-{path.name}"
                kept.write_bytes(content)
                tally.fail(f"hostile_tables {name}: {make.__name__} by {way}; the file is kept as {kept}", why)
            path.unlink()
    return tally


# ------------------------------------------------------------------------------------------ the process that reads


class _Reader:
    """A process that reads files; it is started anew after a crash or a hang."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def read(self, way: str, path: Path) -> tuple[str, str]:
        """Return what became of a file, and why."""
        if self.process is None:
            tests = str(Path(__file__).parents[1])
            paths = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
            self.process = subprocess.Popen(
                [sys.executable, "-m", "attacks.hostile_tables", str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "2"},
            )
            self._line(120.0)
        process = self.process
        assert process.stdin is not None
        process.stdin.write(json.dumps([way, str(path)]).encode() + b"\n")
        process.stdin.flush()
        line = self._line(SECONDS)
        if line is None:
            self._stop()
            return "failed", f"there was no answer in {SECONDS:g} seconds"
        if not line:
            code = process.wait()
            self._stop()
            return "failed", f"the process ended with exit code {code}"
        outcome, why = json.loads(line)
        if outcome == "failed":
            self._stop()  # it may be short of memory
        return outcome, why

    def _line(self, seconds: float) -> bytes | None:
        """Return the next line of the process; none in time is None, and no more lines are an empty one."""
        assert self.process is not None
        assert self.process.stdout is not None
        if not select([self.process.stdout], [], [], seconds)[0]:
            return None
        return self.process.stdout.readline()


def _serve(folder: Path) -> None:
    """Read the files that standard input names, and print what became of each."""
    import resource

    import suffice as sf

    rows = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "x", "y"], "y": list("pqpq")})
    model = sf.BayesClassifier().fit(rows, "y")
    model.save(folder / "m.suffice")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers, sys.stdout = sys.stdout, sys.stderr
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        way, path = json.loads(line)
        outcome = _outcome(way, Path(path), model)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        if most > RESIDENT:
            outcome = "failed", f"the process took {most >> 20} MB of memory"
        print(json.dumps(outcome), file=answers, flush=True)


def _outcome(way: str, path: Path, model: Any) -> tuple[str, str]:
    """Read one file; what is not answered is refused by a named error that names the file."""
    import suffice as sf
    from suffice.naive_bayes import GaussianNB

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if way == "command line":
                return _by_command(path)
            if way == "fit":
                sf.BayesClassifier().fit(path, "y")
            elif way == "fit numbers":
                GaussianNB().fit(str(path), "y")
            else:
                for _ in model.predict_proba(str(path)):
                    pass
    except sf.SufficeError as error:
        said = str(error)
        named = path.name in said or any(each in said for each in UNNAMED)
        return ("refused", said) if named else ("failed", f"the file is not named: {type(error).__name__}: {said}")
    except BaseException:
        return "failed", traceback.format_exc()
    return "answered", ""


# Errors that concern the table as a whole: they name the column.
UNNAMED = ("column", "Column", "rows", "class", "label", "target", "Input y")


def _by_command(path: Path) -> tuple[str, str]:
    from suffice.cli.program import run

    out, said = StringIO(), StringIO()
    model = path.with_name("out.suffice")
    with redirect_stdout(out), redirect_stderr(said):
        code = run(["fit", str(path), "--target", "y", "-o", str(model)])
    lines = [line for line in said.getvalue().splitlines() if not line.startswith("suffice: note:")]
    if code == 0 and not lines:
        return "answered", ""
    if code == 2 and len(lines) == 1 and "unexpected error" not in lines[0]:
        return "refused", lines[0]
    return "failed", f"exit code {code}: {said.getvalue()}"


# ------------------------------------------------------------------------------------------------- the files


def _table(rng: Random, rows: int = 60) -> pa.Table:
    """Make a table of the usual kinds of columns; some tables hold numbers only."""
    table = pa.table(
        {
            "a": pa.array(rng.normal(size=rows).round(3), mask=rng.random(rows) < 0.1),
            "b": pa.array(rng.choice(["x", "y", 'quoted "z"', "two\nlines", "ü"], rows)),
            "n": rng.integers(-5, 5, rows),
            "y": rng.choice(["p", "q"], rows),
        }
    )
    return table if rng.random() < 0.7 else table.drop_columns("b")


def _csv(table: pa.Table, separator: str = ",") -> bytes:
    out = BytesIO()
    pa.csv.write_csv(table, out, pa.csv.WriteOptions(delimiter=separator))
    return out.getvalue()


def _json(table: pa.Table) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()


def _parquet(table: pa.Table, **options: Any) -> bytes:
    out = BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def _arrow(table: pa.Table, compression: str | None = None) -> bytes:
    out = BytesIO()
    with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return out.getvalue()


def _any_format(rng: Random, table: pa.Table) -> tuple[str, bytes]:
    packed = rng.choice(["", ".gz", ".bz2"])
    match rng.integers(8):
        case 0:
            return ".parquet", _parquet(table, compression=str(rng.choice(["none", "snappy", "zstd", "gzip"])))
        case 1:
            return ".parquet", _parquet(table, use_dictionary=False, data_page_version="2.0", row_group_size=17)
        case 2:
            return ".arrow", _arrow(table, [None, "lz4", "zstd"][rng.integers(3)])
        case 3:
            return ".feather", _arrow(table.set_column(1, table.column_names[1], table[1].dictionary_encode()))
        case 4:
            return f".tsv{packed}", _packed(_csv(table, "\t"), packed)
        case 5 | 6:
            return f".jsonl{packed}", _packed(_json(table), packed)
    return f".csv{packed}", _packed(_csv(table), packed)


def _packed(content: bytes, ending: str) -> bytes:
    return {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[ending](content)


def mutated(rng: Random) -> tuple[str, bytes]:
    """Make a real file in which some bytes are changed, removed, repeated or swapped."""
    ending, content = _any_format(rng, _table(rng))
    data = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(data)))
        match rng.integers(5):
            case 0:
                data[at] = rng.integers(256)
            case 1:
                data[at] ^= 1 << rng.integers(8)
            case 2:
                del data[at : at + int(rng.integers(1, 20))]
            case 3:
                data[at:at] = data[at : at + int(rng.integers(1, 20))]
            case _:
                data[at : at + 4] = rng.bytes(4)
    return ending, bytes(data)


def mutated_end(rng: Random) -> tuple[str, bytes]:
    """Make a Parquet or Arrow file in which the description at the end is changed."""
    table = _table(rng)
    ending, content = (".parquet", _parquet(table)) if rng.random() < 0.6 else (".arrow", _arrow(table))
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        data[-int(rng.integers(1, 400))] = rng.integers(256)
    return ending, bytes(data)


def truncated(rng: Random) -> tuple[str, bytes]:
    """Make the beginning of a real file."""
    ending, content = _any_format(rng, _table(rng))
    return ending, content[: rng.integers(len(content))]


def in_disguise(rng: Random) -> tuple[str, bytes]:
    """Make a file with the ending of another format."""
    endings = [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow", ".feather", ".csv.gz", ".jsonl.bz2", ".csv.zst"]
    content = _any_format(rng, _table(rng))[1] if rng.random() < 0.8 else rng.bytes(200)
    return str(rng.choice(endings)), content


def nested(rng: Random) -> tuple[str, bytes]:
    """Make JSON lines with a value that is nested deeply, in one line or in many."""
    depth = int(rng.choice([10, 60, 70, 500, 5000, 100_000]))
    start, end = [("[", "]"), ('{"k":', "}"), ('[{"k":[', "]}]")][rng.integers(3)]
    gap = str(rng.choice(["", " ", "\n"]))
    value = (start + gap) * depth + "1" + end * (depth if rng.random() < 0.8 else depth // 2)
    lines = ['{"a": 1, "y": "p"}', '{"a": "[[[{", "y": "q\\""}'] * int(rng.integers(3))
    return ".jsonl", "\n".join([*lines, f'{{"a": {value}, "y": "p"}}', ""]).encode()


def odd_json(rng: Random) -> tuple[str, bytes]:
    """Make JSON lines of which some are no objects, or whose values change their type."""
    values = [
        "1",
        "1.5",
        "null",
        '"x"',
        "true",
        "[1]",
        "[]",
        "{}",
        '{"k": 1}',
        "1e999",
        "-0",
        "99999999999999999999",
        '"\\ud800"',
        '"\\u0000"',
        "NaN",
        "Infinity",
        '"' + "x" * 1000 + '"',
        '"2020-01-01"',
        '"2020-01-01 00:00:00"',
        "tru",
        '"open',
    ]
    lines = []
    for _ in range(rng.integers(1, 12)):
        line = f'{{"a": {rng.choice(values)}, "b": {rng.choice(values)}, "y": {rng.choice(values)}}}'
        whole = [line, line, line, "", "[1]", "1", "null", '{"a": 1, "a": 2, "y": "p"}', "{}", "\ufeff" + line]
        lines.append(str(rng.choice(whole)))
    return ".jsonl", "\n".join(lines).encode()


def odd_csv(rng: Random) -> tuple[str, bytes]:
    """Make CSV of odd headers, odd entries, odd ends of lines, and rows that are too long or too short."""
    entries = [
        "1",
        "1.5",
        "",
        "NA",
        "x",
        '"x"',
        '"a""b"',
        '"two\nlines"',
        '"open',
        "nan",
        "inf",
        "-inf",
        "1e400",
        "TRUE",
        "\0",
        "é",
        "2020-01-01",
        "99999999999999999999",
        " 1",
        "1 ",
        "x" * 1000,
        "=1+1",
        "\u2028",
        "'",
        "1,2",
        "\\",
        "0x10",
        "1_000",
    ]
    headers = ["a,b,y", "a,b,y", "a,a,y", "a,,y", ",,", "y", "", '"a\nb",c,y', "a,b,y,", "\ufeffa,b,y", "é,ü,y"]
    end = str(rng.choice(["\n", "\r\n", "\r", "\n\n"]))
    width = 3 if rng.random() < 0.7 else int(rng.integers(1, 6))
    lines = [str(rng.choice(headers))]
    same = rng.random() < 0.5  # all rows are alike
    row = rng.choice(entries, width)
    for _ in range(rng.integers(0, 40)):
        row = row if same else rng.choice(entries, width)
        lines.append(",".join(map(str, row)))
    encoding = str(rng.choice(["utf-8", "utf-8", "utf-8", "latin-1", "utf-16", "utf-16-le", "utf-32", "utf-8-sig"]))
    return ".csv", end.join(lines).encode(encoding, errors="replace")


def many_columns(rng: Random) -> tuple[str, bytes]:
    """Make a file of an absurd number of columns, some of one name."""
    n = int(rng.choice([300, 2000]))
    names = [f"c{j}" for j in range(n)]
    if rng.random() < 0.3:
        names = ["c"] * n
    rows = [",".join(["1"] * n) + ",p", ",".join(["2"] * n) + ",q"]
    if rng.random() < 0.5:
        return ".csv", "\n".join([",".join([*names, "y"]), *rows, ""]).encode()
    if rng.random() < 0.5:
        lines = [json.dumps({f"c{i}-{j}": 1 for j in range(n // 100)} | {"y": "p"}) for i in range(100)]
        return ".jsonl", "\n".join(lines).encode()
    columns = [pa.array([1.0, 2.0])] * n
    return ".parquet", _parquet(pa.table([*columns, pa.array(["p", "q"])], names=[*names, "y"]))


def bombs(rng: Random) -> tuple[str, bytes]:
    """Make a small file that is large when it is unpacked."""
    rows = int(rng.choice([10_000, 1_000_000]))
    match rng.integers(5):
        case 0:
            return ".csv.gz", gzip.compress(b"a,b,y\n" + b"1,x,p\n2,y,q\n" * (rows // 2), 1)
        case 1:
            return ".jsonl.gz", gzip.compress(b'{"a": 1, "y": "p"}\n' * (rows // 4), 1)
        case 2:  # one field
            return ".csv.gz", gzip.compress(b"a,y\n" + b"1" * (20 * rows) + b",p\n", 1)
        case 3:
            long = pa.DictionaryArray.from_arrays(np.zeros(rows // 10, np.int32), ["x" * 10_000])
            return ".arrow", _arrow(pa.table({"a": long, "y": np.arange(rows // 10) % 2}), "zstd")
    long = pa.array(["x" * 100]).take(np.zeros(rows, int))
    return ".parquet", _parquet(
        pa.table({"a": np.zeros(rows), "b": long, "y": np.arange(rows) % 2}), compression="zstd"
    )


def odd_types(rng: Random) -> tuple[str, bytes]:
    """Make a table with columns, and perhaps labels, of every type of Arrow."""
    rows = int(rng.integers(0, 30))
    columns = {}
    for name in ("a", "b", "y"):
        kind = TYPES[rng.integers(len(TYPES))] if name != "y" or rng.random() < 0.4 else pa.string()
        columns[name] = _of_type(rng, kind, rows)
    table = pa.table(columns)
    if rng.random() < 0.4:
        try:
            return ".parquet", _parquet(table)
        except (pa.ArrowException, TypeError):
            pass  # Parquet does not have all types
    return ".arrow", _arrow(table)


TYPES: list[Any] = [
    pa.null(),
    pa.bool_(),
    pa.int8(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(38, 10),
    pa.decimal256(76, 0),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(3),
    pa.date32(),
    pa.date64(),
    pa.timestamp("ns"),
    pa.timestamp("us", "UTC"),
    pa.time32("s"),
    pa.time64("ns"),
    pa.duration("ms"),
    pa.month_day_nano_interval(),
    pa.list_(pa.int8()),
    pa.large_list(pa.string()),
    pa.list_(pa.float64(), 2),
    pa.struct([("k", pa.int8())]),
    pa.struct([]),
    pa.map_(pa.string(), pa.int8()),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.float16()),
    pa.dictionary(pa.int32(), pa.decimal128(5, 2)),
    pa.dictionary(pa.int8(), pa.date32()),
    pa.dictionary(pa.int8(), pa.binary()),
    pa.dictionary(pa.uint64(), pa.int64()),
    pa.run_end_encoded(pa.int32(), pa.string()),
    pa.run_end_encoded(pa.int32(), pa.float16()),
    pa.uuid(),
    pa.bool8(),
    pa.json_(),
    pa.list_view(pa.int8()),
]


def _of_type(rng: Random, kind: Any, rows: int) -> Any:
    """Make a column of some type, some of whose entries are missing."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _of_type(rng, kind.storage_type, rows))
    if pa.types.is_dictionary(kind):
        some = _of_type(rng, kind.value_type, 3)
        return pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 3, rows), kind.index_type), some)
    if pa.types.is_run_end_encoded(kind):
        ends = np.unique(np.append(rng.integers(1, rows + 1, 3), rows)) if rows else np.zeros(0, int)
        runs = pa.array(ends, kind.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(runs, _of_type(rng, kind.value_type, len(ends)))
    return pa.array([None if rng.random() < 0.1 else _value(kind, int(rng.integers(3))) for _ in range(rows)], kind)


def _value(kind: Any, k: int) -> Any:
    """Return the k-th value of a type."""
    is_a = pa.types
    if is_a.is_null(kind):
        return None
    if is_a.is_boolean(kind):
        return k > 0
    if is_a.is_floating(kind):
        return np.float16(k + 0.5) if kind == pa.float16() else k + 0.5
    if is_a.is_decimal(kind) or is_a.is_integer(kind):
        return k
    if is_a.is_fixed_size_binary(kind):
        return bytes([k]) * kind.byte_width
    if str(kind) in ("binary", "large_binary", "binary_view"):
        return b"\xff" * k
    if str(kind) in ("string", "large_string", "string_view"):
        return "pqr"[k]
    if is_a.is_map(kind):
        return [("k", k)]
    if is_a.is_struct(kind):
        return {"k": k} if kind.num_fields else {}
    if is_a.is_fixed_size_list(kind):
        return [float(k)] * kind.list_size
    if hasattr(kind, "value_type"):
        return [_value(kind.value_type, k)] * k
    if is_a.is_interval(kind):
        return (k, k, k)
    wide = kind.bit_width == 64
    return pa.scalar(k * 86_400_000 if wide else k, pa.int64() if wide else pa.int32()).cast(kind, safe=False)


def long_field(rng: Random) -> tuple[str, bytes]:
    """Make a text file with a field that is longer than a block that is parsed, or a quote that is left open."""
    field = "x" * int(rng.choice([8_000_000, 9_000_000, 20_000_000]))
    before = "1,p\n" * int(rng.choice([0, 3, 100]))
    if rng.random() < 0.5:
        return ".csv", f"a,y\n{before}{field},q\n2,p\n".encode()
    if rng.random() < 0.5:
        return ".csv", ("a,y\n" + before + '"open,q\n' + "2,p\n" * 3_000_000).encode()
    return ".jsonl", ('{"a": "b", "y": "q"}\n' * 3 + f'{{"a": "{field}", "y": "p"}}\n').encode()


MAKERS: list[Callable[[Random], tuple[str, bytes]]] = [
    mutated,
    odd_types,
    truncated,
    odd_csv,
    mutated_end,
    nested,
    odd_json,
    in_disguise,
    mutated,
    odd_types,
    truncated,
    odd_csv,
    mutated_end,
    many_columns,
    odd_json,
    bombs,
    mutated,
    odd_types,
    truncated,
    odd_csv,
    mutated_end,
    nested,
    odd_json,
    long_field,
]


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
