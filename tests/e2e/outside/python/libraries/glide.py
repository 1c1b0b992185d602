"""valkey-glide's client."""

# docs/clients.md shows this:
from pathlib import Path

import glide


def configuration(seeds, username, password, ca):
    tls = {}
    if ca:
        own = glide.TlsAdvancedConfiguration(root_pem_cacerts=Path(ca).read_bytes())
        tls = {"use_tls": True, "advanced_config": glide.AdvancedGlideClusterClientConfiguration(tls_config=own)}
    return glide.GlideClusterClientConfiguration(
        [glide.NodeAddress(host, port) for host, port in seeds],
        credentials=glide.ServerCredentials(password, username),
        request_timeout=5000,
        **tls,
    )


async def connected(seeds, username, password, ca):
    return await glide.GlideClusterClient.create(configuration(seeds, username, password, ca))


# That is all.

PACKAGE = "valkey-glide"


class Client:
    """It speaks in bytes."""

    @classmethod
    async def connect(cls, *where):
        return cls(await connected(*where))

    def __init__(self, client):
        self._client = client

    async def set(self, key, value):
        await self._client.set(key, value)

    async def get(self, key):
        value = await self._client.get(key)
        return value.decode() if value is not None else None

    async def close(self):
        await self._client.close()


glide.Logger.set_logger_config(glide.LogLevel.OFF)
