"""One picture of a cluster from what all its servers say: who is who, who owns which slots, who is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.core.names import node_indexes
from valkey_operator.valkey.slots import ALL, Slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed, Server
    from valkey_operator.valkey.topology import Member

NO_SLOTS = Slots()
_DOUBTED = frozenset({"fail", "fail?", "noaddr"})


def united(parts: Iterable[Slots]) -> Slots:
    """All slots of all parts."""
    return Slots(tuple(piece for part in parts for piece in part.ranges))


@dataclass(frozen=True, slots=True)
class Topology:
    """The servers that answered, and what follows from their answers.

    A server is identified by its node id alone, never by an address. `owners` is the union of all views, so that a slot counts as owned
    when anybody says so: a slot is given away only when nobody objects.
    """

    wanted: tuple[NodeIndex, ...]
    servers: Mapping[NodeIndex, Server]
    recorded: Mapping[NodeIndex, str]
    """The node id last written down for each node."""

    @classmethod
    def of(cls, observed: Observed) -> Topology:
        """The picture of what was observed."""
        spec = observed.cluster.spec
        return cls(
            wanted=tuple(node_indexes(shards=spec.shards, replicas=spec.replicas)),
            servers=observed.reachable(),
            recorded={index: record.status.node_id for index, record in observed.records.items() if record.status.node_id},
        )

    @property
    def ids(self) -> dict[str, NodeIndex]:
        """Which node answers under an id."""
        return {server.id: index for index, server in self.servers.items()}

    @property
    def complete(self) -> bool:
        """Whether every node's server answered, so that an id which is none of theirs belongs to nobody alive."""
        return all(index in self.servers for index in self.wanted)

    def members(self) -> Iterator[tuple[NodeIndex, Member]]:
        """Every line of every view, with whose view it is."""
        return ((index, member) for index, server in self.servers.items() for member in server.members)

    @property
    def owners(self) -> dict[str, Slots]:
        """Slots by node id, as anybody sees them."""
        owners: dict[str, Slots] = {}
        for _, member in self.members():
            if member.slots.ranges and owners.get(member.id) != member.slots:  # nearly always all views agree
                owners[member.id] = owners.get(member.id, NO_SLOTS) | member.slots
        return owners

    @property
    def unowned(self) -> Slots:
        """The slots that no view gives to anybody."""
        return ALL - united(self.owners.values())

    def shard_of(self, node_id: str) -> int | None:
        """Which shard an id belongs to, by who answers under it or by who is recorded under it."""
        index = self.ids.get(node_id)
        if index is None:
            index = next((index for index, recorded in self.recorded.items() if recorded == node_id), None)
        return None if index is None else index.shard

    def in_shard(self, shard: int) -> dict[NodeIndex, Server]:
        """The servers of one shard that answered, in order."""
        return {index: self.servers[index] for index in self.wanted if index.shard == shard and index in self.servers}

    def primary(self, shard: int) -> NodeIndex | None:
        """The shard's primary by its own word: of those that say they own slots the one with the newest configuration."""
        claims = [
            (server.me.config_epoch, index)
            for index, server in self.in_shard(shard).items()
            if server.me.primary and server.me.slots
        ]
        return max(claims)[1] if claims else None

    def homeless_shards(self) -> tuple[int, ...]:
        """The shards of which no node owns slots in anybody's view."""
        housed = {self.shard_of(owner) for owner in self.owners}
        return tuple(sorted({index.shard for index in self.wanted} - housed))

    def gone(self) -> frozenset[str]:
        """Ids whose server certainly does not exist any more: replaced by another server of the same node, or nobody's while all answered.

        Somebody who is alive in anyone's view is never gone: that is a stranger, not a ghost.
        """
        alive = {member.id for _, member in self.members() if not member.myself and member.link_up and not member.flags & _DOUBTED}
        replaced = {
            node_id for index, node_id in self.recorded.items() if index in self.servers and self.servers[index].id != node_id
        }
        nobodys = {member.id for _, member in self.members() if "handshake" not in member.flags} if self.complete else set()
        return frozenset(((replaced | nobodys) - self.ids.keys()) - (alive - replaced))

    def strangers(self, index: NodeIndex) -> frozenset[str]:
        """Ids that a server is connected to while it knows nobody of this cluster: it belongs to another one."""
        server = self.servers[index]
        others = {member.id: member for member in server.members if not member.myself and "handshake" not in member.flags}
        ours = self.ids.keys() | set(self.recorded.values())
        if others.keys() & ours:
            return frozenset()
        return frozenset(node_id for node_id, member in others.items() if member.link_up and not member.flags & _DOUBTED)

    def knows(self, index: NodeIndex, node_id: str) -> bool:
        """Whether a server has finished the handshake with that id."""
        return any(member.id == node_id and "handshake" not in member.flags for member in self.servers[index].members)
