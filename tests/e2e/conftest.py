import pytest

import cluster


@pytest.fixture(scope="session")
def kubernetes() -> cluster.Kubernetes:
    """A real Kubernetes of three nodes, shared by all tests and left running: each test uses a namespace of its own."""
    return cluster.full()
