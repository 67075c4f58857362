"""The servers of the tutorial, as real processes on the loopback address: they answer, and refuse what is wrong."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from family_cases import table_of_all_kinds

EXAMPLES = Path(__file__).parents[2] / "examples"
START, LIFE = 60, 180  # seconds: in which a server must start, and after which it is stopped in any case
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}  # nothing leaves the machine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model, its file, and a thousand rows for it."""
    table, y = table_of_all_kinds(1000)
    clf = sf.BayesClassifier(structure="pairs").fit(table, y)
    path = tmp_path_factory.mktemp("models") / "model.suffice"
    clf.save(path)
    return clf, path, [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


class Server:
    """A process that serves, and a connection to it."""

    def __init__(self, command, port, where, **environment):
        limit = shutil.which("timeout")
        command = [limit, str(LIFE), *command] if limit else command
        self.log = Path(where) / "server.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=where,
                env=os.environ | QUIET | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for _ in range(10 * START):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            self.stop()
        assert self.process.poll() is None, self.log.read_text()

    def post(self, path, body):
        """Send JSON, or bytes as they are; return the status and what came back."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            return self._asked(path, body)
        except ConnectionError:  # servers close connections that are idle
            self.connection.close()
            return self._asked(path, body)

    def _asked(self, path, body):
        self.connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def stop(self):
        """End the process and those that it started."""
        self.connection.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(10)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def fastapi(model, tmp_path_factory):
    pytest.importorskip("fastapi", reason="FastAPI is not installed: make test-serving")
    pytest.importorskip("uvicorn", reason="uvicorn is not installed: make test-serving")
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), "serving_app:app"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    server = Server(command, port, tmp_path_factory.mktemp("fastapi"), MODEL=str(model[1]))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def mlflow(model, tmp_path_factory):
    pytest.importorskip("mlflow", reason="MLflow is not installed: make test-serving")
    where, port = tmp_path_factory.mktemp("mlflow"), free_port()
    save = [sys.executable, str(EXAMPLES / "serving_mlflow.py"), str(model[1]), "served"]
    subprocess.run(save, cwd=where, env=os.environ | QUIET, check=True, capture_output=True, timeout=120)
    command = [sys.executable, "-m", "mlflow", "models", "serve", "--model-uri", "served", "--env-manager", "local"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # MLflow starts uvicorn by its name
    server = Server([*command, "--host", "127.0.0.1", "--port", str(port)], port, where, PATH=path)
    yield server
    server.stop()


def test_fastapi_answers_a_thousand_rows_as_the_model_does(fastapi, model):
    clf, _, rows = model
    status, found = fastapi.post("/predict", rows)
    assert status == 200
    p = [[each["probability"][label] for label in clf.classes_] for each in found]
    assert_allclose(p, clf.predict_proba(rows), rtol=0, atol=1e-12)
    assert [each["class"] for each in found] == clf.predict(rows).tolist()


def test_fastapi_refuses_what_is_wrong_and_goes_on(fastapi, model):
    clf, _, rows = model
    refused = [
        (b"{not json", "JSON"),
        ([], "Expected 1 to"),
        ([{"hieght": 1.0}], "'hieght'"),
        ([{"height": "tall"}], "height"),
        ([{"height": [1.0, 2.0]}], "height"),
        ({"rows": 3}, "list"),
    ]
    for body, why in refused:
        status, found = fastapi.post("/predict", body)
        assert status == 422
        assert why in str(found["detail"]), found
    status, found = fastapi.post("/predict", [{"kind": "never seen"}])
    assert status == 200
    columns = {name: [None] for name in clf.feature_names_in_} | {"kind": ["never seen"]}
    assert found[0]["probability"] == pytest.approx(dict(zip(clf.classes_, clf.predict_proba(columns)[0], strict=True)))
    assert fastapi.post("/predict", rows[:1])[0] == 200


def test_mlflow_answers_a_thousand_rows_as_the_model_does(mlflow, model):
    clf, _, rows = model
    for _ in range(10 * START):  # the port is open before the model is loaded
        status, found = mlflow.post("/invocations", {"dataframe_records": rows})
        if status != 503:
            break
        time.sleep(0.1)
    assert status == 200, found
    p = [[each[label] for label in clf.classes_] for each in found["predictions"]]
    assert_allclose(p, clf.predict_proba(rows), rtol=0, atol=1e-12)


def test_mlflow_refuses_what_is_wrong_and_goes_on(mlflow, model):
    rows = model[2]
    refused = [
        (b"{not json", "JSON"),
        ({"dataframe_records": [{"hieght": 1.0}]}, "'hieght'"),
        ({"dataframe_records": [{"height": "tall"}]}, "height"),
        ({"rows": rows[:1]}, "dataframe_records"),
    ]
    for body, why in refused:
        status, found = mlflow.post("/invocations", body)
        assert status == 400
        assert why in str(found), found
    assert mlflow.post("/invocations", {"dataframe_records": rows[:1]})[0] == 200


def test_most_of_the_time_of_a_row_is_that_of_http(fastapi, model):
    clf, _, rows = model

    def middle(ask):
        times = []
        for row in rows[:200]:
            start = time.perf_counter()
            ask(row)
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    ours, served = middle(lambda row: clf.predict_proba([row])), middle(lambda row: fastapi.post("/predict", [row]))
    print(f"a row: {1e3 * ours:.3f} ms here, {1e3 * served:.2f} ms through HTTP")
    assert ours < served / 2
