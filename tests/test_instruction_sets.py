"""Inner loops for several instruction sets: one answer but for rounding, and no code that is shared by accident."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from suffice import _core

LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]
ROOT = Path(__file__).parents[1]

ANSWERS = """
import sys
import numpy as np
import suffice as sf
from suffice import _core
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.naive_bayes import GaussianNB, KernelNB, MultinomialNB

rng = np.random.default_rng(7)
X, y = rng.normal(1e3, 3, (700, 13)), rng.integers(0, 3, 700)
counts = rng.poisson(2, (300, 40)).astype(float)
out = {"used": _core.instruction_set()}
gaussian = GaussianNB().fit(X, y, sample_weight=rng.uniform(0, 2, 700))
out["sums mean"], out["sums variance"] = gaussian.theta_, gaussian.var_
out["sums counts"] = MultinomialNB().fit(counts, y[:300]).feature_count_
linear, quadratic = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y), QuadraticDiscriminantAnalysis().fit(X, y)
for model in (gaussian, linear, quadratic, KernelNB().fit(X[:, :3], y)):
    out[type(model).__name__] = model.predict_log_proba(X[:, : model.n_features_in_])
out["MultinomialNB"] = MultinomialNB().fit(counts, y[:300]).predict_log_proba(counts)
words = [" ".join(f"w{k}" for k in rng.integers(0, 60, 25)) for _ in range(200)]
out["TextClassifier"] = sf.TextClassifier().fit(words, y[:200]).predict_log_proba(words)
table = rng.normal(size=(3000, 6)) + 0.7 * np.sin(np.arange(6)) * rng.integers(0, 3, (3000, 1))
nearest = np.argmin(np.abs(table[:, :3] * table[:, 3:]), axis=1)  # pairs of columns tell it
out["fitted pool"] = sf.BayesClassifier(structure="pool").fit(table, nearest).predict_proba(table)
np.savez(sys.argv[1], **out)
"""


def answers(level: str, path: Path) -> dict[str, np.ndarray]:
    environment = os.environ | {"SUFFICE_INSTRUCTION_SET": level}
    subprocess.run([sys.executable, "-c", ANSWERS, str(path)], env=environment, check=True)
    with np.load(path) as found:
        return dict(found)


def test_every_instruction_set_gives_the_same_answers_but_for_rounding(tmp_path):
    best = answers("", tmp_path / "best.npz")
    if str(best["used"]) not in LEVELS:
        pytest.skip(f"the kernels are compiled for one instruction set: {best['used']}")
    for level in LEVELS[: LEVELS.index(str(best["used"]))]:
        found = answers(level, tmp_path / f"{level}.npz")
        assert found.pop("used") == level
        for name, value in found.items():
            if name.startswith("sums"):  # every operation is rounded by itself, in the same order
                np.testing.assert_array_equal(value, best[name], err_msg=f"{name} with {level}")
            elif name.startswith("fitted"):  # exponents are found to some digits, by sums in float32
                np.testing.assert_allclose(value, best[name], atol=1e-4, err_msg=f"{name} with {level}")
            else:
                np.testing.assert_allclose(value, best[name], rtol=1e-9, atol=1e-9, err_msg=f"{name} with {level}")


def test_an_instruction_set_that_the_processor_lacks_is_not_used(tmp_path):
    found = answers("x86-64-v4", tmp_path / "asked.npz")
    assert str(found["used"]) == _core.instruction_set() or os.environ.get("SUFFICE_INSTRUCTION_SET")


def test_no_function_of_an_inner_loop_is_left_for_other_code_to_call():
    """The linker keeps one body of a function that several files have, and an old processor must understand it."""
    objects = sorted((ROOT / "build").glob("*/CMakeFiles/loops_*/cpp/*.o"))
    if not objects or not shutil.which("nm"):
        pytest.skip("needs the objects of a build in place, and nm")
    listed = subprocess.run(["nm", "-C", "--defined-only", *objects], capture_output=True, text=True, check=True).stdout
    shared = [line for line in listed.splitlines() if line[17:19] in ("W ", "V ", "u ")]
    assert not shared
