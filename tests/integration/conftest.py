from pathlib import Path

import pytest

import cluster
from valkey_operator.kube.client import Kube


@pytest.fixture(scope="session")
def api_server() -> Path:
    """The kubeconfig of a real API server with etcd; there may be no node."""
    return cluster.control_plane_only()


@pytest.fixture
async def kube(api_server):
    async with Kube(kubeconfig=api_server) as client:
        yield client
