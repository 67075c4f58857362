import os
from pathlib import Path

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy loads: scikit-learn's checks of array API input need it
os.environ["MPLBACKEND"] = "agg"  # before matplotlib loads: a test that chose another would close figures of others

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.fixture
def data_dir() -> Path:
    """The folder of real data sets; tests that need one skip where it is not there."""
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        pytest.skip("SUFFICE_DATA does not name a folder of data sets")
    return Path(folder)
