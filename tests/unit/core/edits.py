"""Changes of what was observed: somebody is silent, restarted, forgotten, a stranger."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unit.core.given import member, node_id
from valkey_operator.core.observed import Server, Unreachable
from valkey_operator.valkey.slots import NO_SLOTS, Slots
from valkey_operator.valkey.topology import Member

if TYPE_CHECKING:
    from collections.abc import Callable

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed


def recorded(seen: Observed, index: NodeIndex, **fields: Any) -> Observed:
    """The record of a node has that in its status."""
    record = seen.records[index]
    return replace(seen, records={**seen.records, index: replace(record, status=record.status.model_copy(update=fields))})


def silent(seen: Observed, *indexes: NodeIndex) -> Observed:
    """Those servers do not answer."""
    return replace(seen, servers={**seen.servers, **dict.fromkeys(indexes, Unreachable("timed out"))})


def changed(seen: Observed, index: NodeIndex, **fields: Any) -> Observed:
    """The server of a node says something else."""
    server = seen.servers[index]
    assert isinstance(server, Server)
    return replace(seen, servers={**seen.servers, index: replace(server, **fields)})


def views(seen: Observed, edit: Callable[[NodeIndex, Member], Member | None]) -> Observed:
    """Every line of every view edited; None leaves the line out."""
    servers = {
        teller: replace(server, members=tuple(line for old in server.members if (line := edit(teller, old)) is not None))
        if isinstance(server, Server)
        else server
        for teller, server in seen.servers.items()
    }
    return replace(seen, servers=servers)


def configured(seen: Observed, *indexes: NodeIndex, **values: str) -> Observed:
    """Those servers have other running values (`_` for `-`)."""
    for index in indexes:
        server = seen.servers[index]
        assert isinstance(server, Server)
        config = {**server.config, **{key.replace("_", "-"): value for key, value in values.items()}}
        seen = changed(seen, index, config=config)
    return seen


def line(node_id: str, *flags: str, slots: str = "", primary_id: str | None = None, epoch: int = 0, linked: bool = True) -> Member:
    """A line of a view about somebody who is none of the cluster's nodes."""
    return Member(
        id=node_id,
        ip="10.9.9.9",
        port=6379,
        bus_port=16379,
        hostname="10.9.9.9",
        flags=frozenset(flags or {"master"}),
        primary_id=primary_id,
        config_epoch=epoch,
        link_up=linked,
        slots=Slots.parse(slots),
    )


def knowing(seen: Observed, *lines: Member, tellers: tuple[NodeIndex, ...] | None = None) -> Observed:
    """Those servers (None: all that answer) know somebody more."""
    for teller in tellers or tuple(seen.servers):
        server = seen.servers[teller]
        if isinstance(server, Server):
            seen = changed(seen, teller, members=(*server.members, *lines))
    return seen


def restarted(seen: Observed, index: NodeIndex, *, new_id: str = "new", ghost: str = "fail") -> Observed:
    """The server of a node came back empty under a new id; the others know its old id as a ghost with those flags (separated by commas)."""
    old = node_id(index)

    def to_ghost(_: NodeIndex, each: Member) -> Member:
        flags = frozenset({flag for flag in each.flags if flag != "myself"} | set(ghost.split(",")))
        return replace(each, flags=flags, link_up=False) if each.id == old else each

    seen = views(seen, to_ghost)
    fresh = replace(
        member(index, seen_by=index),
        id=new_id,
        flags=frozenset({"myself", "master"}),
        primary_id=None,
        slots=NO_SLOTS,
        config_epoch=0,
    )
    return changed(seen, index, id=new_id, primary=True, members=(fresh,), state_ok=False, offset=0)


def promoted(seen: Observed, index: NodeIndex, *, over: NodeIndex, epoch: int = 9) -> Observed:
    """In everybody's view a replica has taken over the slots of its primary."""
    old, new = node_id(over), node_id(index)
    slots = next(each.slots for each in _server(seen, index).members if each.id == old)

    def edit(_: NodeIndex, each: Member) -> Member:
        if each.id == old:
            return replace(each, slots=NO_SLOTS)
        if each.id == new:
            flags = (each.flags - {"slave"}) | {"master"}
            return replace(each, slots=slots, primary_id=None, config_epoch=epoch, flags=flags)
        return each

    return changed(views(seen, edit), index, primary=True)


def _server(seen: Observed, index: NodeIndex) -> Server:
    server = seen.servers[index]
    assert isinstance(server, Server)
    return server
