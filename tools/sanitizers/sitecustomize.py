"""Let every Python process that has this folder on its path load the kernels that SUFFICE_CORE names.

Python imports this module when it starts, after the finder of the editable install, which knows the ordinary kernels.
"""

import os
import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location


class Instrumented:
    """Finds `suffice._core` in the file that SUFFICE_CORE names."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG004 - Python's signature
        """Return where the module lies, None for every other module."""
        return spec_from_file_location(name, os.environ["SUFFICE_CORE"]) if name == "suffice._core" else None


if "SUFFICE_CORE" in os.environ:
    sys.meta_path.insert(0, Instrumented)
