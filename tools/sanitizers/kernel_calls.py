"""A plugin of pytest that notes which kernels tests call: each process writes a file into the folder SUFFICE_CALLS."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suffice import _core

CALLED: set[str] = set()


def names() -> list[str]:
    """List the functions of the kernels."""
    return sorted(name for name in dir(_core) if type(getattr(_core, name)).__name__ == "nb_func")


def noted(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that notes its name when it is called."""

    def call(*args: Any, **options: Any) -> Any:
        CALLED.add(name)
        return kernel(*args, **options)

    return call


KNOWN = names()


def pytest_configure() -> None:
    """Watch every kernel."""
    for name in KNOWN:
        setattr(_core, name, noted(name, getattr(_core, name)))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Write what was called, and what there is."""
    folder = Path(os.environ["SUFFICE_CALLS"])
    lines = [f"{'called' if name in CALLED else 'known'} {name}" for name in KNOWN]
    (folder / f"{os.getpid()}.txt").write_text("\n".join(lines), encoding="utf-8")
