"""coredis."""

# docs/clients.md shows this:
from coredis import RedisCluster


def configured(seeds, username, password, ca):
    tls = {"ssl": True, "ssl_ca_certs": ca, "ssl_check_hostname": True} if ca else {}
    return RedisCluster(
        startup_nodes=[{"host": host, "port": port} for host, port in seeds],
        username=username,
        password=password,
        connect_timeout=5,
        stream_timeout=5,
        decode_responses=True,
        **tls,
    )


# That is all.


PACKAGE = "coredis"


class Client:
    """Used as `async with configured(…) as client`, here by halves."""

    @classmethod
    async def connect(cls, *where):
        return cls(await configured(*where).__aenter__())

    def __init__(self, client):
        self._client = client

    async def set(self, key, value):
        await self._client.set(key, value)

    async def get(self, key):
        return await self._client.get(key)

    async def close(self):
        await self._client.__aexit__(None, None, None)
