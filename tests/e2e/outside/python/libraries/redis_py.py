"""redis-py's synchronous cluster client."""

from libraries import valkey_py

# docs/clients.md shows this:
from redis.cluster import ClusterNode, RedisCluster


def connected(seeds, username, password, ca):
    tls = {"ssl": True, "ssl_ca_certs": ca} if ca else {}
    return RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in seeds],
        username=username,
        password=password,
        socket_connect_timeout=5,
        socket_timeout=5,
        decode_responses=True,
        **tls,
    )


# That is all.


PACKAGE = "redis"


class Client(valkey_py.Client):
    """It blocks as well."""

    CONNECTED = staticmethod(connected)
