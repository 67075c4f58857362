"""Which files a name, a pattern or a folder means."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from suffice.core.errors import InvalidDataError
from suffice.core.suggestions import did_you_mean
from suffice.engines.file_formats import ENDINGS, format_of


def is_path(x: Any, strictly: bool = False) -> bool:
    """Tell whether `x` names files: strings do that end as files do, that exist, or that are patterns of one word.

    `strictly`, a string has to end as a file does.
    """
    if not isinstance(x, str):
        return isinstance(x, os.PathLike)
    if not x or len(x) > 4096 or "\n" in x or "\0" in x:
        return False
    if format_of(x) is not None:
        return True
    return not strictly and (os.path.exists(x) or (has_magic(x) and not any(map(str.isspace, x))))


def matching(asked: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """All files that are meant, each once, those of a folder or a pattern in the order of their names."""
    found = [path for each in asked for path in _files(os.fspath(each))]
    return list(dict.fromkeys(found))


def _files(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        return _in_folder(path)
    if path.exists():
        _check_ending(path)
        return [path]
    if not has_magic(name):
        raise _nothing(name)
    found = [Path(match) for match in sorted(glob(name, recursive=True))]
    files = [file for match in found for file in (_in_folder(match) if match.is_dir() else [match])]
    if not files:
        raise _nothing(name)
    for file in files:
        _check_ending(file)
    return files


def _in_folder(folder: Path) -> list[Path]:
    """The files in a folder and those below it; what begins with a point or an underscore is not data."""
    all_files = sorted(path for path in folder.rglob("*") if path.is_file())
    seen = [path for path in all_files if not any(part[0] in "._" for part in path.relative_to(folder).parts)]
    files = [path for path in seen if format_of(path.name) is not None]
    if not files:
        held = ", ".join(str(path.relative_to(folder)) for path in all_files[:10]) or "nothing"
        raise InvalidDataError(f"The folder {folder} holds no file to learn from: it holds {held}. {_known()}")
    return files


def _check_ending(path: Path) -> None:
    if format_of(path.name) is None:
        raise InvalidDataError(f"{path} has an ending that is not known. {_known()}")


def _known() -> str:
    return f"Known are {', '.join(ENDINGS)}; .csv, .tsv and JSON lines also with .gz, .bz2 or .zst after it."


def _nothing(name: str) -> InvalidDataError:
    """The error of a name that means no file: what is near it."""
    if "://" in name:
        return InvalidDataError(f"{name} is not on this machine: pass a pyarrow.dataset.Dataset of it")
    folder = Path(name).parent
    while not folder.is_dir():
        folder = folder.parent
    held = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    hint = did_you_mean(Path(name).name, held)
    listed = ", ".join(held[:10]) + (", …" if len(held) > 10 else "") or "nothing"
    return InvalidDataError(f"No file matches {name!r}. {hint}The folder {str(folder)!r} holds {listed}")
