"""What a server tells about itself: `INFO` and `CLUSTER INFO`."""

from dataclasses import dataclass

from valkey_operator.valkey.errors import Malformed
from valkey_operator.valkey.reply import Reply, fields

INFO_SECTIONS = ("server", "replication", "persistence")


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """`CLUSTER INFO`: what the asked server thinks of the cluster."""

    state: str  # ok, or fail: it refuses keys
    slots_assigned: int
    slots_ok: int
    known_nodes: int
    size: int  # primaries with slots
    current_epoch: int
    my_epoch: int


@dataclass(frozen=True, slots=True)
class AttachedReplica:
    """A replica as its primary sees it."""

    ip: str
    port: int
    state: str  # online once it follows
    offset: int


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The sections server, replication and persistence of `INFO`."""

    version: tuple[int, ...]
    run_id: str  # new with every start of the process
    uptime_seconds: int
    primary: bool
    primary_host: str  # of a replica: whom it follows; empty for a primary
    primary_port: int
    link_up: bool  # of a replica: it follows its primary; always so for a primary
    offset: int  # how far the replication stream was written (primary) or applied (replica)
    attached: tuple[AttachedReplica, ...]
    loading: bool


def cluster_info(reply: Reply) -> ClusterInfo:
    """The facts of a `CLUSTER INFO` reply."""
    told = fields(reply)
    try:
        return ClusterInfo(
            state=told["cluster_state"],
            slots_assigned=int(told["cluster_slots_assigned"]),
            slots_ok=int(told["cluster_slots_ok"]),
            known_nodes=int(told["cluster_known_nodes"]),
            size=int(told["cluster_size"]),
            current_epoch=int(told["cluster_current_epoch"]),
            my_epoch=int(told["cluster_my_epoch"]),
        )
    except (KeyError, ValueError) as error:
        raise Malformed(f"CLUSTER INFO lacks {error}") from error


def server_info(reply: Reply) -> ServerInfo:
    """The facts of an `INFO server replication persistence` reply."""
    told = fields(reply)
    try:
        primary = told["role"] == "master"
        return ServerInfo(
            version=_version(told.get("valkey_version") or told["redis_version"]),
            run_id=told["run_id"],
            uptime_seconds=int(told["uptime_in_seconds"]),
            primary=primary,
            primary_host=told.get("master_host", ""),
            primary_port=int(told.get("master_port", 0)),
            link_up=primary or told["master_link_status"] == "up",
            offset=int(told["master_repl_offset" if primary else "slave_repl_offset"]),
            attached=tuple(
                _attached(told[f"slave{index}"]) for index in range(int(told["connected_slaves"])) if f"slave{index}" in told
            ),
            loading=told["loading"] != "0",
        )
    except (KeyError, ValueError) as error:
        raise Malformed(f"INFO lacks {error}") from error


def _version(told: str) -> tuple[int, ...]:
    return tuple(int(number) for number in told.partition("-")[0].split("."))


def _attached(told: str) -> AttachedReplica:
    """From `ip=10.0.0.1,port=6379,state=online,offset=14,lag=0,type=replica`."""
    values = dict(item.split("=", 1) for item in told.split(","))
    return AttachedReplica(values["ip"], int(values["port"]), values["state"], int(values["offset"]))
