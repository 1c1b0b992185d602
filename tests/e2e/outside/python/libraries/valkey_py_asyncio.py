"""valkey-py's asyncio cluster client."""

# docs/clients.md shows this:
from valkey.asyncio.cluster import ClusterNode, ValkeyCluster


async def connected(seeds, username, password, ca):
    tls = {"ssl": True, "ssl_ca_certs": ca, "ssl_check_hostname": True} if ca else {}
    client = ValkeyCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in seeds],
        username=username,
        password=password,
        socket_connect_timeout=5,
        socket_timeout=5,
        decode_responses=True,
        **tls,
    )
    return await client.initialize()


# That is all.


PACKAGE = "valkey"


class Client:
    """As it is."""

    @classmethod
    async def connect(cls, *where):
        return cls(await connected(*where))

    def __init__(self, client):
        self._client = client

    async def set(self, key, value):
        await self._client.set(key, value)

    async def get(self, key):
        return await self._client.get(key)

    async def close(self):
        await self._client.aclose()
