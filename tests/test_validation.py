"""What the fields of stored classes may hold: declared beside their types, and checked for files and for options."""

from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import suffice as sf
from suffice import engines  # noqa: F401  # registers what travels to workers
from suffice.core import registry
from suffice.core.errors import InvalidOptionError, MismatchError
from suffice.core.validation import Agrees, CheckedIn, Held, Labels, check_options, check_value, undeclared
from suffice.engines import checkpoints, workers  # noqa: F401  # register theirs

OURS = [name for name in registry.names() if registry.find(name).__module__.startswith("suffice.")]


@pytest.mark.parametrize("name", OURS)
def test_every_field_of_every_stored_class_says_what_it_may_hold(name):
    cls = registry.find(name)
    assert not is_dataclass(cls) or undeclared(cls) == [], "annotate the field with Held, Labels, Agrees or CheckedIn"


@dataclass(frozen=True)
class Points:
    values: Annotated[NDArray[np.float64], Held("points", "columns", missing=True)]
    weight: Annotated[NDArray[np.float64], Held("points", least=0)]
    start: Annotated[NDArray[np.int64], Held("classes+1", fills="points")]


@dataclass(frozen=True)
class Whole:
    parts: Annotated[tuple[Points, ...], Agrees("classes")]
    labels: Annotated[NDArray[Any], Labels("classes")]
    codes: Annotated[NDArray[np.int32], Held("rows", below="classes")]
    shared: Annotated[NDArray[np.float64], Held("rows", (1, "classes"))]
    how: Literal["a", "b"] | Annotated[float, Held(above=0, most=1)] | None = None
    names: Annotated[tuple[str, ...], Held(least=1)] = ("x",)
    noted: dict[str, bool] | None = None
    count: Annotated[int, Held(least=0, size="classes")] = 2


def points(**changes):
    fields = {"values": [[1.0], [np.nan], [3.0]], "weight": [1.0, 2.0, 0.0], "start": [0, 1, 3]} | changes
    return Points(*(np.array(fields[name]) for name in ("values", "weight", "start")))


def whole(**changes):
    fields = {
        "parts": (points(), points()),
        "labels": np.array(["a", "b"]),
        "codes": np.array([0, 1, 1], np.int32),
        "shared": np.ones((3, 1)),
    }
    return Whole(**fields | changes)


def test_what_was_declared_is_accepted():
    check_value(whole())
    check_value(whole(how="b", names=("x", "y"), noted={"n": True}, shared=np.ones((3, 2))))
    check_value(whole(how=0.5))
    check_value(whole(how=np.float32(1)))
    check_value(whole(parts=()))
    check_value(Points(np.zeros((0, 4)), np.zeros(0), np.zeros(1, np.int64)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"values": [[1.0], [np.inf], [3.0]]}, "values must be numbers that are finite, found 1 to inf"),
        ({"values": [1.0, 2.0, 3.0]}, "values must be float64 of shape"),
        ({"values": [[1], [2], [3]]}, "values must be float64"),
        ({"weight": [1.0, 2.0]}, "weight must be float64 ≥ 0 of shape"),
        ({"weight": [1.0, -2.0, 1.0]}, "weight must be numbers ≥ 0, found -2 to 1"),
        ({"weight": [1.0, np.nan, 1.0]}, "weight must be numbers ≥ 0, found nan"),
        ({"start": [0, 2, 1, 3]}, "start must be ascending from 0"),
        ({"start": [1, 3]}, "start must be ascending from 0"),
        ({"start": [0, 4]}, "start must be of 3 points, found 4 points"),
    ],
    ids=str,
)
def test_arrays_that_were_not_declared_are_refused(changes, said):
    with pytest.raises(MismatchError, match=said):
        check_value(points(**changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parts": (points(), points(start=[0, 3]))}, r"parts\.1 must be of 2 classes, found 1 classes"),
        ({"parts": [points()]}, "parts must be a tuple of a Points"),
        ({"parts": (points(), 3)}, r"parts\.1 must be a Points, found 3"),
        ({"labels": np.array(["a", "b", "c"])}, "labels must be of 2 classes, found 3 classes"),
        ({"labels": np.array(["b", "a"])}, "labels must be an array of distinct labels in ascending order"),
        ({"labels": np.array(["a", "a"])}, "labels must be an array of distinct labels"),
        ({"labels": np.array([1.0, np.nan])}, "labels must be an array of distinct labels"),
        ({"labels": np.array([np.inf, 1.0])}, "labels must be an array of distinct labels"),
        ({"labels": np.array(["a", 1], dtype=object)}, "labels must be an array of distinct labels"),
        ({"labels": np.array([None, None])}, "labels must be an array of distinct labels"),
        ({"labels": ["a", "b"]}, "labels must be an array of distinct labels"),
        ({"codes": np.array([0, 2, 0], np.int32)}, "codes must be codes below the number of classes, 2, found code 2"),
        ({"codes": np.array([0, -1, 0], np.int32)}, "codes must be codes below the number of classes, found code -1"),
        ({"codes": np.array([0, 1, 0])}, "codes must be int32 of shape"),
        ({"shared": np.ones((3, 3))}, "shared must be float64 of shape"),
        ({"how": "c"}, "how must be one of 'a', 'b' or a finite number above 0 and at most 1 or None, found 'c'"),
        ({"how": 0.0}, "how must be"),
        ({"how": True}, "how must be"),
        ({"how": np.nan}, "how must be"),
        ({"names": ()}, "names must be a tuple of a string with at least 1 item"),
        ({"names": ("x", 1)}, r"names\.1 must be a string, found 1"),
        ({"noted": {"n": 1}}, r"noted\.n must be True or False, found 1"),
        ({"noted": {1: True}}, "noted must be a dictionary"),
        ({"count": 3}, "count must be of 2 classes, found 3 classes"),
        ({"count": True}, "count must be an integer ≥ 0, found True"),
        ({"count": -1}, "count must be an integer ≥ 0, found -1"),
        ({"count": 2**63}, "count must be an integer ≥ 0, found an integer of more than 64 bits"),
    ],
    ids=str,
)
def test_values_that_were_not_declared_are_refused(changes, said):
    with pytest.raises(MismatchError, match=said):
        check_value(whole(**changes))


def test_options_are_checked_by_the_same_declarations():
    @dataclass(frozen=True)
    class Given:
        rate: Annotated[float | NDArray[np.float64], Held(given=True, least=0)] = 1.0
        other: Annotated[Any, CheckedIn("elsewhere")] = None

    for good in (2, 0.5, np.float32(1), [1, 2.0], (0.5,), np.array([1, 2])):
        check_options(Given(good, object()))
    for bad in (-1, np.nan, "1", None, [1, -1], ["a"], [[1], [1, 2]], np.array([np.inf]), True):
        with pytest.raises(InvalidOptionError, match="Given: rate must be"):
            check_options(Given(bad))


def test_a_family_of_a_user_needs_no_declarations():
    class Undescribed(sf.Gaussian):
        mine: "NotImported | None" = None  # noqa: F821  # as under TYPE_CHECKING
        also: Any = 3
        public: ClassVar = False

    assert undeclared(Undescribed) == ["mine", "also"]
    assert sf.storage.from_bytes(sf.storage.to_bytes(Undescribed(also="x"))) == Undescribed(also="x")


@pytest.mark.parametrize("name", ["BayesClassifier", "TextClassifier", "KernelNB", "MixtureNB"])
@pytest.mark.parametrize("option", ["keep", "limit"])
def test_an_option_that_no_kernel_takes_is_refused(name, option):
    made = getattr(sf if hasattr(sf, name) else sf.naive_bayes, name)()
    if option in made.get_params():
        with pytest.raises(InvalidOptionError, match=f"The '{option}' parameter .* of more than 64 bits"):
            made.set_params(**{option: 2**63}).fit([["a"], ["b"]] if name == "TextClassifier" else [[1.0], [2.0]], "ab")


def test_an_option_of_a_family_that_no_kernel_takes_is_refused():
    with pytest.raises(InvalidOptionError, match=r"limit must be .*, found an integer of more than 64 bits"):
        sf.Binned(limit=2**63)
