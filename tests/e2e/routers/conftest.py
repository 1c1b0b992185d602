import time

import pytest

from e2e.routers.servers import Servers


@pytest.fixture(scope="module")
def servers(api, tmp_path_factory):
    with Servers(api, f"routed-{time.monotonic_ns()}", tmp_path_factory.mktemp("servers")) as running:
        yield running
