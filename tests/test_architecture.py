"""Rules about modules that import-linter cannot state; the strata are read from its contract in pyproject.toml.

Only the source is read, nothing is imported: `make lint` runs this without the packages that the other tests need.
"""

import ast
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
STRATA = next(contract["layers"] for contract in CONTRACTS if contract["type"] == "layers")
SCIKIT_LEARN = "suffice.estimators.scikit_learn"

# Names of functions that import, as `import_module(…)` or `importlib.import_module(…)`.
IMPORTS = {"import_module", "__import__", "find_spec", "spec_from_file_location", "run_module", "run_path"}
LOOKS_AT_ITS_FOLDER = {"suffice.families"}  # it imports its own modules, so that a family is one file


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def imports(module: str):
    """Every module that a module imports, at the top or inside a function, and every name as if it were one."""
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} imports {node.module} relatively: write its full name"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_of(module: str) -> str:
    return module.rpartition(".")[0]


def test_every_module_is_in_a_stratum_or_a_public_path():
    packages = {f"suffice.{module.split('.')[1]}" for module in MODULES if module.count(".") > 1}
    assert packages == set(STRATA)


def test_no_module_is_imported_by_a_string():
    found = {
        module
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if {getattr(node, "id", None), getattr(node, "attr", None)} & IMPORTS
    }
    assert found == LOOKS_AT_ITS_FOLDER, "use `import`, which import-linter sees"


def test_module_names_are_unique():
    names = Counter(
        module.rpartition(".")[2] for module in MODULES if module.startswith(tuple(f"{s}." for s in STRATA))
    )
    assert [name for name, times in names.items() if times > 1] == []


def test_scikit_learn_is_imported_in_one_place():
    found = {module for module in MODULES if any(name.split(".")[0] == "sklearn" for name in imports(module))}
    assert found == {SCIKIT_LEARN}, "import it through this module"


def test_scikit_learn_is_used_by_its_public_api():
    """No part of a name begins with an underscore, and its files are not read."""
    names = [name for name in imports(SCIKIT_LEARN) if name.split(".")[0] == "sklearn"]
    assert [name for name in names if any(part.startswith("_") for part in name.split("."))] == []
    strings = {
        module
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.split(".")[0] == "sklearn"
    }
    assert strings == set(), "a module that is named by a string is not seen here"


def test_private_modules_are_imported_inside_their_package_only():
    private = {
        module for module in MODULES if module.rpartition(".")[2].startswith("_") and module != "suffice.__main__"
    }
    found = {
        name
        for module in MODULES
        for name in set(imports(module)) & private
        if not f"{module}.".startswith(f"{package_of(name)}.")
    }
    assert found == set(), "a module that begins with an underscore is private to its package"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_module_says_what_it_is(module):
    assert ast.get_docstring(MODULES[module]), f"{module} has no docstring"
