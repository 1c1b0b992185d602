import pytest
import pytest_asyncio

from integration.valkey.servers import Lab
from valkey_operator.valkey.connection import Servers


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path)
    yield lab
    lab.end()


@pytest_asyncio.fixture
async def servers():
    servers = Servers()
    yield servers
    await servers.aclose()
