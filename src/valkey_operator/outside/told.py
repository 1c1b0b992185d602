"""Which pairs servers tell clients, by each command that client libraries ask, and which key leads elsewhere."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING

from valkey_operator.outside.seen import Told
from valkey_operator.valkey.commands import Command
from valkey_operator.valkey.errors import Malformed
from valkey_operator.valkey.slots import SLOT_COUNT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from valkey_operator.valkey.reply import Reply
    from valkey_operator.valkey.slots import SlotRange
    from valkey_operator.valkey.topology import Member, Served

_UNKNOWN = {"handshake", "noaddr", "fail"}


def by_slots(served: Iterable[Served]) -> Iterator[Told]:
    """What `CLUSTER SLOTS` tells, each pair once."""
    nodes = dict.fromkeys(node for entry in served for node in (entry.primary, *entry.replicas))
    return (Told("CLUSTER SLOTS", node.id, node.host or "", node.port) for node in nodes)


def by_nodes(members: Iterable[Member]) -> Iterator[Told]:
    """What `CLUSTER NODES` tells of nodes that are well known: a name where there is one, as libraries take it."""
    return (
        Told("CLUSTER NODES", member.id, member.hostname or member.ip, member.port)
        for member in members
        if not member.flags & _UNKNOWN
    )


def shards(reply: Reply) -> tuple[Told, ...]:
    """What a `CLUSTER SHARDS` reply tells of nodes that are not down; Malformed for anything else."""
    if not isinstance(reply, list):
        raise Malformed(f"CLUSTER SHARDS answered {type(reply).__name__}")
    nodes = [_named(node) for shard in reply for node in _list(_named(shard).get("nodes"))]
    return tuple(_told(node) for node in nodes if node.get("health") != "fail")


CLUSTER_SHARDS: Command[tuple[Told, ...]] = Command("CLUSTER SHARDS", (), shards)


def myself(members: Iterable[Member]) -> str:
    """The id of the server that was asked, for users who may not call `CLUSTER MYID`."""
    return next((member.id for member in members if member.myself), "")


def elsewhere(served: Iterable[Served], own: str) -> Served | None:
    """Slots of the next primary after the server `own`, so that servers all together lead to every shard; None where there is no other."""
    widest: dict[str, Served] = {}
    for entry in served:
        known = widest.get(entry.primary.id)
        if known is None or len(entry.slots) > len(known.slots):
            widest[entry.primary.id] = entry
    others = sorted(node_id for node_id in widest if node_id != own)
    later = [node_id for node_id in others if node_id > own]
    return widest[(later or others)[0]] if others else None


def key_in(slots: SlotRange) -> tuple[str, int]:
    """A key that nobody uses and whose slot is one of these, and that slot."""
    number = 0
    while not slots.first <= (slot := key_slot(key := f"kubectl-valkey-check-{number}")) <= slots.last:
        number += 1
    return key, slot


def key_slot(key: str) -> int:
    """The slot of a key without braces: CRC-16/XMODEM of it."""
    return binascii.crc_hqx(key.encode(), 0) % SLOT_COUNT


def moved(text: str) -> tuple[int, str, int] | None:
    """Slot, host and port of the text behind `MOVED`; None for what is no such text. The host may be empty, and have colons."""
    slot, _, place = text.partition(" ")
    host, _, port = place.rpartition(":")
    return (int(slot), host, int(port)) if slot.isdecimal() and port.isdecimal() else None


def _told(node: dict[str, Reply]) -> Told:
    port = node.get("tls-port") or node.get("port")
    if not isinstance(port, int) or "id" not in node:
        raise Malformed(f"not a node of CLUSTER SHARDS: {node!r}")
    return Told("CLUSTER SHARDS", str(node["id"]), str(node.get("endpoint") or ""), port)


def _list(reply: Reply) -> list[Reply]:
    if not isinstance(reply, list):
        raise Malformed("not a shard of CLUSTER SHARDS")
    return reply


def _named(reply: Reply) -> dict[str, Reply]:
    words = _list(reply)
    return {str(name): value for name, value in zip(words[::2], words[1::2], strict=False)}
