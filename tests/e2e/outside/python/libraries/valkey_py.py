"""valkey-py's synchronous cluster client."""

import asyncio

# docs/clients.md shows this:
from valkey.cluster import ClusterNode, ValkeyCluster


def connected(seeds, username, password, ca):
    tls = {"ssl": True, "ssl_ca_certs": ca} if ca else {}
    return ValkeyCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in seeds],
        username=username,
        password=password,
        socket_connect_timeout=5,
        socket_timeout=5,
        decode_responses=True,
        **tls,
    )


# That is all.


PACKAGE = "valkey"


class Client:
    """It blocks, so it works in threads."""

    CONNECTED = staticmethod(connected)

    @classmethod
    async def connect(cls, *where):
        return cls(await asyncio.to_thread(cls.CONNECTED, *where))

    def __init__(self, client):
        self._client = client

    async def set(self, key, value):
        await asyncio.to_thread(self._client.set, key, value)

    async def get(self, key):
        return await asyncio.to_thread(self._client.get, key)

    async def close(self):
        await asyncio.to_thread(self._client.close)
