"""The CUDA kernels built for the host: what they compute can be checked without a card."""

from __future__ import annotations

import ctypes
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import suffice.engines.gpu

HERE = Path(__file__).parent
SOURCE = Path(suffice.engines.gpu.__file__).parent / "kernels.cu"


def kernel_names(code: str) -> list[str]:
    """Return the names of all kernels, those that macros define too."""
    plain = re.findall(r'extern "C" __global__ void (?:__launch_bounds__\([^()]*\)\s+)?(\w+)\(', code)
    made = re.findall(r"^[A-Z_]+\((\w+), ", code, re.MULTILINE)
    return [name for name in plain if name not in ("name", "__launch_bounds__")] + made


@cache
def library(folder: Path) -> ctypes.CDLL:
    """Compile the kernels with fibers in place of the card's threads."""
    code = SOURCE.read_text()
    launches = "\n".join(f"HOST_LAUNCH({name})" for name in kernel_names(code))
    whole = folder / "kernels.cpp"
    whole.write_text(f'#include "{HERE / "host_cuda.hpp"}"\nnamespace {{\n#include "{SOURCE}"\n}}\n{launches}\n')
    built = folder / "kernels.so"
    command = [
        "g++",
        "-std=c++20",
        "-O1",
        "-fno-strict-aliasing",
        "-shared",
        "-fPIC",
        "-Wno-unknown-pragmas",
        "-Wno-attributes",
    ]
    subprocess.run([*command, str(whole), "-o", str(built)], check=True)
    return ctypes.CDLL(str(built))


class HostKernels:
    """The kernels, by name, with arrays of NumPy as arguments."""

    def __init__(self, folder: Path):
        self._library = library(folder)

    def launch(self, name: str, grid: tuple[int, ...], threads: int, args: tuple[Any, ...], shared: int = 0) -> None:
        """Run a kernel."""
        assert shared <= 227 * 1024, "more than a block of an H200 may have"
        held = []
        for arg in args:
            if arg is None:
                held.append(ctypes.c_void_p(0))
            elif isinstance(arg, np.ndarray):
                assert arg.flags.aligned
                assert arg.ndim < 2 or arg.shape[-1] == 1 or arg.strides[-1] == arg.itemsize, f"{name} reads rows"
                held.append(ctypes.c_void_p(arg.ctypes.data))
            else:
                kind = {"i4": ctypes.c_int32, "i8": ctypes.c_int64, "u8": ctypes.c_uint64, "f8": ctypes.c_double}[
                    arg.dtype.str[1:]
                ]
                held.append(kind(arg.item()))
        places = (ctypes.c_void_p * len(held))(*(ctypes.addressof(each) for each in held))
        x, y = (*grid, 1)[:2]
        getattr(self._library, f"launch_{name}")(x, y, threads, places)
