"""Bringing servers together: slots before meeting, everybody meets, replicas find their primary, ghosts are forgotten.

One function per question, all of them idempotent: a pass that was cut off anywhere is simply asked again. Nothing here waits: what is not
possible yet (a replica that does not know its primary) comes up in a later pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.core.plan import AddSlots, BumpEpoch, Forget, Meet, Replicate, TakeOver, Tell
from valkey_operator.core.topology import united
from valkey_operator.valkey.slots import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Pod
    from valkey_operator.core.topology import Topology

_NEIGHBOURS = 8
"""How many others a server meets itself; gossip brings the rest. Up to nine servers that is everybody, the fastest there is."""


@dataclass(frozen=True, slots=True)
class Formation:
    """What membership and ownership need now."""

    commands: tuple[Tell, ...]
    strangers: Mapping[NodeIndex, frozenset[str]]
    """Servers that belong to another cluster, with ids of that cluster; they are left alone."""
    lost: frozenset[int]
    """Shards whose every copy of the data is gone."""


def formation(topology: Topology, pods: Mapping[NodeIndex, Pod], *, formed: bool) -> Formation:
    """The commands that bring a cluster closer to being whole; `formed`: whether it ever was."""
    strangers = {index: found for index in topology.servers if (found := topology.strangers(index))}
    ours = [index for index in topology.servers if index not in strangers]
    commands = (
        *_forget(topology),
        *_take_over(topology),
        *_add_slots(topology, formed=formed),
        *_meet(topology, pods, ours),
        *_replicate(topology, ours),
    )
    return Formation(
        commands=tuple(command for command in commands if command.index not in strangers),
        strangers=strangers,
        lost=frozenset(_lost_shards(topology, formed=formed)),
    )


def _add_slots(topology: Topology, *, formed: bool) -> Iterator[Tell]:
    """Slots that nobody owns go to the shard whose equal part of all slots they are in.

    A server that does not answer may own slots that nobody here has heard of. So either everybody answered, or the cluster was never formed
    and those who are silent were never seen: then the part is the one that the shard gets in any case.
    """
    never_seen = all(index in topology.servers or index not in topology.recorded for index in topology.wanted)
    unowned = topology.unowned
    if not unowned or (not topology.complete and (formed or not never_seen)):
        return
    homeless = topology.homeless_shards()
    shards = len({index.shard for index in topology.wanted})
    for shard, part in enumerate(ALL.split(shards)):
        home = _home(topology, shard) if shard in homeless else topology.primary(shard)
        if home is not None and part & unowned:
            yield Tell(home, AddSlots(part & unowned))


def _home(topology: Topology, shard: int) -> NodeIndex | None:
    """Which server of a shard without slots shall own them: its first node; another one only where the first has become a replica."""
    candidates = {index: server for index, server in topology.in_shard(shard).items() if server.me.primary and not server.loading}
    first = min(index for index in topology.wanted if index.shard == shard)
    if first in topology.servers:
        return min(candidates, default=None)
    return None


def _meet(topology: Topology, pods: Mapping[NodeIndex, Pod], ours: list[NodeIndex]) -> Iterator[Tell]:
    """Each server meets its next neighbours that it does not know yet."""
    for place, index in enumerate(ours):
        shaking = {member.ip for member in topology.servers[index].members if "handshake" in member.flags}
        for step in range(1, min(_NEIGHBOURS, len(ours) - 1) + 1):
            other = ours[(place + step) % len(ours)]
            ip = pods[other].ip if other in pods else None
            if ip and ip not in shaking and not topology.knows(index, topology.servers[other].id):
                yield Tell(index, Meet(ip))


def _replicate(topology: Topology, ours: list[NodeIndex]) -> Iterator[Tell]:
    """A server without slots becomes a replica of its shard's primary as soon as it knows it."""
    for index in ours:
        server = topology.servers[index]
        primary = topology.primary(index.shard)
        if primary is None or primary == index or server.me.slots:
            continue
        primary_id = topology.servers[primary].id
        if server.me.primary_id != primary_id and topology.knows(index, primary_id):
            yield Tell(index, Replicate(primary_id))


def be_believed(topology: Topology) -> Iterator[Tell]:
    """A primary outranks what anybody remembers of its replicas from when they were primaries without slots.

    New servers that meet take new epochs until all differ. Whoever heard a replica as a primary with a newer epoch than its primary has now
    calls all that the replica says stale, its announcement too, and does so for ever. To be asked once replicas are linked: before that, servers
    may simply not have heard yet.
    """
    epochs = {server.id: server.me.config_epoch for server in topology.servers.values() if server.me.slots}
    followed = {server.id: server.me.primary_id for server in topology.servers.values()}
    outranked = {
        primary_id
        for _, member in topology.members()
        if (primary_id := followed.get(member.id)) in epochs
        and member.primary
        and not member.slots
        and member.config_epoch > epochs[primary_id]
    }
    yield from (Tell(index, BumpEpoch()) for index, server in topology.servers.items() if server.id in outranked)


def _copies(topology: Topology, node_id: str) -> list[tuple[int, NodeIndex]]:
    """The replicas of an id that answered, with their offsets."""
    return [(server.offset, index) for index, server in topology.servers.items() if server.me.primary_id == node_id]


def _take_over(topology: Topology) -> Iterator[Tell]:
    """A primary that is certainly gone is followed at once by its replica with the most data, not after the node timeout.

    With the votes of the other primaries where those are a majority; without them where there can be none (fewer than three shards).
    """
    owners = topology.owners
    living = sum(1 for owner in owners if owner in topology.ids)
    for ghost in sorted(topology.gone() & owners.keys()):
        copies = _copies(topology, ghost)
        if copies:
            yield Tell(max(copies)[1], TakeOver(vote=2 * living > len(owners)))


def _lost_shards(topology: Topology, *, formed: bool) -> Iterator[int]:
    """Shards whose owner is gone, without a replica among all servers and without a living heir of its slots.

    After the cluster was formed also those that have no owner at all: it is gone together with everybody who knew it.
    """
    if not topology.complete:
        return
    if formed and topology.unowned:
        yield from topology.homeless_shards()
    inherited = united(slots for owner, slots in topology.owners.items() if owner in topology.ids)
    for ghost in topology.gone() & topology.owners.keys():
        if topology.owners[ghost] - inherited and not _copies(topology, ghost):
            shard = topology.shard_of(ghost)
            yield -1 if shard is None else shard


def _forget(topology: Topology) -> Iterator[Tell]:
    """Ghosts are forgotten once all servers answered and none of them follows that id any more."""
    if not topology.complete:
        return
    for ghost in sorted(topology.gone()):
        if not _copies(topology, ghost):
            yield from (Tell(index, Forget(ghost)) for index, member in topology.members() if member.id == ghost)
