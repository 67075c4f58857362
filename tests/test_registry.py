"""Classes are found by name."""

import pytest

from suffice.core import registry
from suffice.core.frozen_options import Options
from suffice.core.priors import Gamma
from suffice.core.registry import Registered
from suffice.core.statistics import Moments, Statistic


def test_a_class_is_registered_by_being_defined():
    class Defined(Registered):
        pass

    assert registry.find("Defined") is Defined
    assert registry.name_of(Defined) == "Defined"


def test_a_class_may_keep_the_name_it_has_in_files():
    class Renamed(Registered, stored_as="NameOfBefore"):
        pass

    assert registry.find("NameOfBefore") is Renamed
    assert registry.name_of(Renamed) == "NameOfBefore"
    assert registry.find("Renamed") is None


def test_a_base_selects_classes():
    assert registry.find("Moments", Statistic) is Moments
    assert registry.find("Moments", Options) is None
    assert "Moments" in registry.names(Statistic)
    assert "Gamma" in registry.names(Options)
    assert "Gamma" not in registry.names(Statistic)
    assert registry.names(Gamma) == []


def test_an_unknown_name_is_not_found():
    assert registry.find("Nonsense") is None
    assert registry.name_of(int) is None


def test_a_second_class_of_the_same_name_is_refused():
    with pytest.raises(TypeError, match=r"suffice\.core\.statistics\.moments\.Moments is registered as 'Moments'"):
        type("Moments", (Registered,), {"__module__": "elsewhere"})
    assert registry.find("Moments") is Moments


def test_a_class_that_is_defined_again_replaces_the_one_before():
    first, second = (type("Again", (Registered,), {"__module__": "__main__"}) for _ in range(2))
    assert registry.find("Again") is second
    assert registry.name_of(first) is None, "what files say would be read as the second"
