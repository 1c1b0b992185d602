"""All facts of one server, in one round trip."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from valkey_operator.valkey.address import Address
from valkey_operator.valkey.commands import CLUSTER_INFO, CLUSTER_NODES, MY_SHARD_ID, MYID, SERVER_INFO, config_get
from valkey_operator.valkey.connection import Servers
from valkey_operator.valkey.info import AttachedReplica
from valkey_operator.valkey.slots import Slots
from valkey_operator.valkey.topology import Member


@dataclass(frozen=True, slots=True)
class Look:
    """What one server tells about itself and about its cluster, all of the same moment."""

    id: str
    shard_id: str
    run_id: str  # new with every start of the process
    version: tuple[int, ...]
    uptime_seconds: int
    primary: bool
    link_up: bool  # of a replica: it follows its primary; always so for a primary
    offset: int  # how far the replication stream was written (primary) or applied (replica)
    attached: tuple[AttachedReplica, ...]
    loading: bool
    state: str  # ok, or fail: it refuses keys
    slots_assigned: int
    known_nodes: int
    current_epoch: int
    members: tuple[Member, ...]
    config: Mapping[str, str]  # of the asked names those that the server knows

    @property
    def myself(self) -> Member:
        """The server's own entry among the members."""
        return next(member for member in self.members if member.myself)

    @property
    def slots(self) -> Slots:
        """The slots that the server itself serves."""
        return self.myself.slots


async def look(servers: Servers, address: Address, config_names: Iterable[str] = ()) -> Look:
    """Ask one server for everything; raises a ValkeyError when any of it could not be had."""
    node_id, shard_id, cluster, members, server, config = await servers.ask(
        address, MYID, MY_SHARD_ID, CLUSTER_INFO, CLUSTER_NODES, SERVER_INFO, config_get(*config_names)
    )
    return Look(
        id=node_id,
        shard_id=shard_id,
        run_id=server.run_id,
        version=server.version,
        uptime_seconds=server.uptime_seconds,
        primary=server.primary,
        link_up=server.link_up,
        offset=server.offset,
        attached=server.attached,
        loading=server.loading,
        state=cluster.state,
        slots_assigned=cluster.slots_assigned,
        known_nodes=cluster.known_nodes,
        current_epoch=cluster.current_epoch,
        members=members,
        config=config,
    )
