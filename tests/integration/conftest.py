from pathlib import Path

import pytest

import cluster


@pytest.fixture(scope="session")
def api_server() -> Path:
    """The kubeconfig of a real API server with etcd; there may be no node."""
    return cluster.control_plane_only()
