"""What servers tell about their cluster: `CLUSTER NODES` (the members) and `CLUSTER SLOTS` (what clients dial)."""

from dataclasses import dataclass

from valkey_operator.valkey.errors import Malformed
from valkey_operator.valkey.reply import Reply
from valkey_operator.valkey.slots import NO_SLOTS, SLOT_COUNT, SlotRange, Slots


@dataclass(frozen=True, slots=True)
class Member:
    """One line of `CLUSTER NODES`: a node as the asked server sees it.

    `ip` and `port` are what clients are told (`cluster-announce-client-*`), not where the server listens: identify servers by `id`.
    `ip` is empty for a server that was never told its own address, `hostname` for one that announces none.
    """

    id: str
    ip: str
    port: int
    bus_port: int
    hostname: str
    flags: frozenset[str]
    primary_id: str | None
    config_epoch: int
    link_up: bool
    slots: Slots = NO_SLOTS
    migrating: tuple[tuple[int, str], ...] = ()  # (slot, id of the node that it goes to)
    importing: tuple[tuple[int, str], ...] = ()  # (slot, id of the node that it comes from)

    @property
    def myself(self) -> bool:
        """Whether this is the server that was asked."""
        return "myself" in self.flags

    @property
    def primary(self) -> bool:
        """Whether it is a primary; a node in handshake is neither primary nor replica."""
        return "master" in self.flags

    @property
    def failed(self) -> bool:
        """Whether the cluster agreed that it is down."""
        return "fail" in self.flags

    @property
    def suspected(self) -> bool:
        """Whether the asked server alone thinks that it is down."""
        return "fail?" in self.flags

    @property
    def handshake(self) -> bool:
        """Whether it was met but is not known yet; its id is a made-up one then."""
        return "handshake" in self.flags


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The host and port that a client is told for the node `id`; no host when the server tells none."""

    host: str | None
    port: int
    id: str


@dataclass(frozen=True, slots=True)
class Served:
    """One entry of `CLUSTER SLOTS`: who serves a range."""

    slots: SlotRange
    primary: Endpoint
    replicas: tuple[Endpoint, ...]


def members(reply: Reply) -> tuple[Member, ...]:
    """The members in a `CLUSTER NODES` reply, in its order."""
    if not isinstance(reply, str):
        raise Malformed(f"CLUSTER NODES answered {type(reply).__name__}")
    return tuple(_member(line) for line in reply.splitlines() if line)


def served(reply: Reply) -> tuple[Served, ...]:
    """The entries of a `CLUSTER SLOTS` reply, in its order."""
    if not isinstance(reply, list):
        raise Malformed(f"CLUSTER SLOTS answered {type(reply).__name__}")
    return tuple(_served(entry) for entry in reply)


def _member(line: str) -> Member:
    try:
        node_id, address, flags, primary, _ping, _pong, epoch, link, *words = line.split(" ")
        place, *extra = address.split(",")  # hostname, then name=value fields in nodes.conf
        client, _, bus_port = place.rpartition("@")
        ip, _, port = client.rpartition(":")  # an IPv6 address has colons of its own
        moves = [word.strip("[]") for word in words if word.startswith("[")]
        return Member(
            id=node_id,
            ip=ip,
            port=int(port),
            bus_port=int(bus_port),
            hostname=extra[0] if extra else "",
            flags=frozenset(flags.split(",")) - {"noflags"},
            primary_id=None if primary == "-" else primary,
            config_epoch=int(epoch),
            link_up=link == "connected",
            slots=Slots(tuple(SlotRange.parse(word) for word in words if word and not word.startswith("["))),
            migrating=tuple((int(slot), to) for slot, arrow, to in (move.partition("->-") for move in moves) if arrow),
            importing=tuple((int(slot), source) for slot, arrow, source in (move.partition("-<-") for move in moves) if arrow),
        )
    except ValueError as error:
        raise Malformed(f"not a line of CLUSTER NODES: {line!r}") from error


def _served(entry: Reply) -> Served:
    match entry:
        case [int(first), int(last), primary, *replicas] if 0 <= first <= last < SLOT_COUNT:
            return Served(SlotRange(first, last), _endpoint(primary), tuple(_endpoint(replica) for replica in replicas))
        case _:
            raise Malformed(f"not an entry of CLUSTER SLOTS: {entry!r}")


def _endpoint(node: Reply) -> Endpoint:
    match node:
        case [(str() | None) as host, int(port), str(node_id), *_]:
            return Endpoint(host or None, port, node_id)
        case _:
            raise Malformed(f"not a node of CLUSTER SLOTS: {node!r}")
