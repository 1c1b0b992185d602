"""The commands that the operator sends, as values: what goes out and what the reply means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from valkey_operator.valkey.info import INFO_SECTIONS, ClusterInfo, ServerInfo, cluster_info, server_info
from valkey_operator.valkey.reply import Reply, done, number, pairs, text
from valkey_operator.valkey.slots import Slots
from valkey_operator.valkey.topology import Member, Served, members, served

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Command(Generic[T]):
    """One command for one server. Its repr shows only its name: arguments can hold secrets."""

    name: str
    arguments: tuple[str | int, ...] = field(repr=False)
    parse: Callable[[Reply], T] = field(repr=False)

    @property
    def words(self) -> tuple[str | int, ...]:
        """Everything that is sent."""
        return (*self.name.split(), *self.arguments)


PING: Command[str] = Command("PING", (), text)
MYID: Command[str] = Command("CLUSTER MYID", (), text)
MY_SHARD_ID: Command[str] = Command("CLUSTER MYSHARDID", (), text)
CLUSTER_INFO: Command[ClusterInfo] = Command("CLUSTER INFO", (), cluster_info)
CLUSTER_NODES: Command[tuple[Member, ...]] = Command("CLUSTER NODES", (), members)
BUMP_EPOCH: Command[str] = Command("CLUSTER BUMPEPOCH", (), text)
CLUSTER_SLOTS: Command[tuple[Served, ...]] = Command("CLUSTER SLOTS", (), served)
SERVER_INFO: Command[ServerInfo] = Command("INFO", INFO_SECTIONS, server_info)
ACL_LOAD: Command[None] = Command("ACL LOAD", (), done)


def config_get(*names: str) -> Command[dict[str, str]]:
    """The values of options by their exact names; names that the server does not know are left out."""
    return Command("CONFIG GET", names or ("",), pairs)  # no name at all would be an error, an empty one matches none


def config_set(values: Mapping[str, str]) -> Command[None]:
    """Set all these options at once: all or none take effect."""
    return Command("CONFIG SET", tuple(word for pair in values.items() for word in pair), done)


def meet(ip: str, *, port: int, bus_port: int) -> Command[None]:
    """Make two servers know each other; the addresses are those that servers use among themselves."""
    return Command("CLUSTER MEET", (ip, port, bus_port), done)


def add_slots(slots: Slots) -> Command[None]:
    """Take slots that nobody owns; before any MEET, never after."""
    return Command("CLUSTER ADDSLOTSRANGE", tuple(bound for part in slots.ranges for bound in (part.first, part.last)), done)


def set_config_epoch(epoch: int) -> Command[None]:
    """Give a fresh server, which knows nobody yet, an epoch of its own."""
    return Command("CLUSTER SET-CONFIG-EPOCH", (epoch,), done)


def replicate(primary_id: str) -> Command[None]:
    """Follow a primary that the server knows already; its own data set is dropped."""
    return Command("CLUSTER REPLICATE", (primary_id,), done)


def forget(node_id: str) -> Command[None]:
    """Drop a node from the cluster's view and keep it out for a minute."""
    return Command("CLUSTER FORGET", (node_id,), done)


def failover(mode: Literal["", "FORCE", "TAKEOVER"] = "") -> Command[None]:
    """Make this replica the primary: agreed with a living primary (""), without it (FORCE), without anybody's vote (TAKEOVER)."""
    return Command("CLUSTER FAILOVER", (mode,) if mode else (), done)


def reset(*, hard: bool) -> Command[None]:
    """Forget the cluster; `hard` takes a new node id too. Refused by a primary that holds keys."""
    return Command("CLUSTER RESET", ("HARD" if hard else "SOFT",), done)


def kill_clients(kind: Literal["normal", "pubsub"]) -> Command[int]:
    """Close every other client's connection of that kind; tells how many."""
    return Command("CLIENT KILL", ("TYPE", kind, "SKIPME", "yes"), number)


def wait_at(key: str) -> Command[Reply]:
    """Wait for entries of a stream that does not exist, for ever: the answer is an error once the server has not its slot any more."""
    return Command("XREAD", ("BLOCK", 0, "STREAMS", key, "$"), lambda reply: reply)
