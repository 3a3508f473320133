"""The service holds what its OpenAPI description says, whatever is sent to it: schemathesis finds no 500."""

import subprocess
import sys

import pytest

pytest.importorskip("fastapi", reason="the extra elman[serve] is not installed")
pytest.importorskip("schemathesis", reason="schemathesis is not installed")

from serving import served

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,unsupported_method,allow_header_conformance"
)


@pytest.mark.parametrize("name", [None, "pump"])
def test_nothing_that_the_description_allows_or_forbids_is_a_fault(tmp_path, name):
    config = tmp_path / "schemathesis.toml"
    config.write_text("" if name is None else f'[parameters]\n"path.name" = "{name}"\n')
    with served(tmp_path / "store.db") as connect:
        client = connect()
        client.put("/streams/pump", {"model": "SRNN-WOGD", "options": {"lags": 0}})
        options = ["--exclude-path-regex", "events$", "--max-examples", "10", "--seed", "1"]
        if name is not None:
            options += ["--exclude-method", "DELETE"]
        address = f"http://127.0.0.1:{connect.port}/openapi.json"
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", address]
        phases = ["--phases", "examples,coverage,fuzzing", "--checks", CHECKS]
        finished = subprocess.run(
            [*command, *options, *phases], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert client.get("/health").status == 200

    assert finished.returncode == 0, finished.stdout[-5000:] + finished.stderr[-2000:]
