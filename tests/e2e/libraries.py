"""The client libraries whose clients work outside, as the programs in `outside` use them."""

from dataclasses import dataclass

SNI = "Ingress (SNI)"
ACCESS = ("NodePort", "LoadBalancer", "LoadBalancer, TLS", SNI)
"""The kinds of access that all are tried through. Names are told with TLS, addresses without."""


@dataclass(frozen=True, slots=True)
class Library:
    """One of them."""

    name: str
    """What its program is called."""
    title: str
    language: str
    source: str
    """The file with its configuration."""
    remark: str = ""
    not_through: tuple[str, ...] = ()
    """The kinds of access that it does not work with."""
    verifies_names: bool = True
    """Whether it refuses a certificate of the right authority for another name."""


ALL = (
    Library("valkey-py", "valkey-py", "Python", "python/libraries/valkey_py.py", verifies_names=False),
    Library("valkey-py-asyncio", "valkey-py, asyncio", "Python", "python/libraries/valkey_py_asyncio.py"),
    Library("redis-py", "redis-py", "Python", "python/libraries/redis_py.py"),
    Library("coredis", "coredis", "Python", "python/libraries/coredis.py"),
    Library("glide", "valkey-glide", "Python", "python/libraries/glide.py", "2.6 or newer for SNI"),
    Library(
        "glide-node",
        "valkey-glide",
        "Node.js",
        "node/libraries/glide-node.js",
        "takes all names of one address for one node",
        (SNI,),
    ),
    Library("iovalkey", "iovalkey", "Node.js", "node/libraries/iovalkey.js", "needs `natMap` for TLS"),
    Library("ioredis", "ioredis", "Node.js", "node/libraries/ioredis.js", "needs `natMap` for TLS"),
    Library("node-redis", "node-redis", "Node.js", "node/libraries/node-redis.js", "needs `nodeAddressMap` for TLS"),
    Library("valkey-go", "valkey-go", "Go", "go/valkeygo.go"),
    Library("go-redis", "go-redis", "Go", "go/goredis.go", "a URL pins the first host's name: use options"),
    Library("lettuce", "Lettuce", "Java", "java/OfLettuce.java"),
    Library("jedis", "Jedis", "Java", "java/OfJedis.java"),
    Library("valkey-java", "valkey-java", "Java", "java/OfValkeyJava.java"),
    Library(
        "valkey-cli",
        "valkey-cli -c",
        "command line",
        "python/libraries/valkey_cli.py",
        "sends one SNI name to all nodes",
        (SNI,),
        verifies_names=False,
    ),
)


def named(name: str) -> Library:
    """The library whose program is called so."""
    return next(library for library in ALL if library.name == name)
