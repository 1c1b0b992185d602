"""Ready code for client libraries, one module each."""

from valkey_operator.outside.clients.client import Client, code
from valkey_operator.outside.clients.glide import GLIDE
from valkey_operator.outside.clients.go_redis import GO_REDIS
from valkey_operator.outside.clients.ioredis import IOREDIS
from valkey_operator.outside.clients.iovalkey import IOVALKEY
from valkey_operator.outside.clients.jedis import JEDIS
from valkey_operator.outside.clients.lettuce import LETTUCE
from valkey_operator.outside.clients.node_redis import NODE_REDIS
from valkey_operator.outside.clients.valkey_go import VALKEY_GO
from valkey_operator.outside.clients.valkey_py import VALKEY_PY

CLIENTS = {client.name: client for client in (VALKEY_PY, GLIDE, IOVALKEY, IOREDIS, NODE_REDIS, VALKEY_GO, GO_REDIS, LETTUCE, JEDIS)}

__all__ = ["CLIENTS", "Client", "code"]
