"""Hearing from a primary itself, the moment it hands over: servers tell nobody of a failover, but they send away those who wait at a key."""

from valkey_operator.valkey.address import Address
from valkey_operator.valkey.commands import PING, wait_at
from valkey_operator.valkey.errors import ServerError, ValkeyError
from valkey_operator.valkey.link import Link

_SENT_AWAY = frozenset({"MOVED", "UNBLOCKED", "CLUSTERDOWN"})
"""What a server answers those who wait: from 9.0 on, and before; and where it lost the majority of its cluster."""


async def handed_over(address: Address, key: str, *, connect_timeout: float = 1.0) -> bool:
    """Return once a primary no longer serves the slot of a key: True when it said so or went away, False when it cannot be listened to.

    `key`: one that nobody writes. Costs one connection and, while nothing happens, no traffic.
    """
    link = Link(connect_timeout=connect_timeout, reply_timeout=None)
    opened = False
    try:
        await link.exchange(address, (PING.words,))
        opened = True
        (reply,) = await link.exchange(address, (wait_at(key).words,))
    except ValkeyError:
        return opened
    finally:
        await link.close()
    return isinstance(reply, ServerError) and reply.code in _SENT_AWAY
