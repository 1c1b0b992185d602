"""Replies of real servers, captured from six-node clusters of Valkey 8.1.8, 9.0.0 and 9.1.2."""

import json
from pathlib import Path

import pytest

CAPTURED = Path(__file__).parent / "captured"
VERSIONS = ("8.1", "9.0", "9.1")


@pytest.fixture
def captured():
    def read(version, name):
        path = next((CAPTURED / version).glob(f"{name}.*"))
        return json.loads(path.read_text()) if path.suffix == ".json" else path.read_text()

    return read


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param
