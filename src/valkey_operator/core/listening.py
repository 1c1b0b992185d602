"""At which primaries the operator listens for a handover, and at which key: between two looks nothing else tells of one."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from valkey_operator.valkey.slots import slot_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.topology import Topology
    from valkey_operator.valkey.slots import Slots

KEYS = "_valkey-operator:"
"""The prefix of keys that nobody writes and the operator may read."""


def listening(topology: Topology) -> Mapping[NodeIndex, str]:
    """Of each server that serves slots: a key in one of them."""
    return {index: _key_in(server.me.slots) for index, server in topology.servers.items() if server.me.primary and server.me.slots}


def _key_in(slots: Slots) -> str:
    """Always the same for the same slots, of which there is at least one."""
    return next(key for key in (f"{KEYS}{number}" for number in count()) if slot_of(key) in slots)
