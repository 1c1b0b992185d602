"""ioredis: what iovalkey came from, and the same to use."""

from dataclasses import replace

from valkey_operator.outside.clients.iovalkey import IOVALKEY, PROGRAM

IOREDIS = replace(IOVALKEY, name="ioredis", install="npm install ioredis", program=PROGRAM.replace("<library>", "ioredis"))
