"""One Valkey process: what it knows of its cluster, what it tells, and the commands it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scenario.world_bus import Bus
from valkey_operator.core.observed import Server
from valkey_operator.core.plan import AddSlots, BumpEpoch, Forget, Meet, Replicate, SetConfig, TakeOver
from valkey_operator.valkey.slots import NO_SLOTS, Slots
from valkey_operator.valkey.topology import Member

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scenario.world_fleet import Fleet
    from valkey_operator.core.plan import Command

BUILT_IN: Mapping[str, str] = {
    "cluster-announce-hostname": "",
    "cluster-announce-client-ipv4": "",
    "cluster-announce-client-ipv6": "",
    "cluster-announce-client-port": "0",
    "cluster-announce-ip": "",
    "cluster-announce-port": "0",
    "cluster-announce-tls-port": "0",
    "cluster-announce-bus-port": "0",
    "cluster-preferred-endpoint-type": "ip",
    "cluster-node-timeout": "15000",
    "cluster-ping-interval": "0",
    "repl-diskless-sync-delay": "5",
    "repl-ping-replica-period": "10",
    "shutdown-on-sigterm": "default",
}
"""What a server has when nobody sets it."""

SINCE_9 = frozenset({"cluster-announce-client-port"})

DIRECTIVES = frozenset(BUILT_IN) | {
    "port", "cluster-port", "protected-mode", "dir", "save", "maxmemory", "maxmemory-policy", "aclfile", "include",
    "cluster-enabled", "cluster-config-file", "cluster-allow-replica-migration", "cluster-replica-validity-factor",
}  # fmt: skip
"""The directives that these servers know; another one stops them at their start."""


class CommandRefusedError(Exception):
    """A server answered with an error."""


class FatalConfigError(Exception):
    """A server does not start; the words are its last ones."""


@dataclass(slots=True)
class Peer:
    """One line of a server's view."""

    id: str
    ip: str
    hostname: str = ""
    port: int = 6379
    client_ipv4: str = ""
    primary_id: str | None = None
    epoch: int = 0
    slots: Slots = NO_SLOTS
    handshake: bool = False
    noaddr: bool = False
    suspected: bool = False
    failed: bool = False
    linked: bool = True
    heard: float = 0.0
    met: float = field(default=0.0)


class Process(Bus):
    """A server, from its start to its end: it starts empty, under an id that nobody has ever had."""

    def __init__(self, fleet: Fleet, *, ip: str, version: tuple[int, ...], lines: str) -> None:
        self.version = version
        self.config = dict(BUILT_IN)
        for line in lines.splitlines():
            key, _, value = line.partition(" ")
            if key not in DIRECTIVES or (key in SINCE_9 and version < (9,)):
                raise FatalConfigError(
                    f"*** FATAL CONFIG FILE ERROR (Valkey {version[0]}.{version[1]}) *** >>> '{line}' Bad directive"
                )
            self.config[key] = value.strip('"')
        super().__init__(fleet, ip=ip, me=Peer(fleet.new_id(), ip))
        self._announce()
        fleet.add(self)

    def _announce(self) -> None:
        self.me.hostname = self.config["cluster-announce-hostname"]
        self.me.client_ipv4 = self.config["cluster-announce-client-ipv4"]
        self.me.port = int(self.config["cluster-announce-client-port"]) or 6379

    # --- what it says ---------------------------------------------------------------------------------------------------------

    def look(self, asked: tuple[str, ...]) -> Server:
        """Its answer to the operator."""
        known = [key for key in asked if key in BUILT_IN and not (key in SINCE_9 and self.version < (9,))]
        return Server(
            id=self.id,
            version=self.version,
            primary=self.me.primary_id is None,
            link_up=self.me.primary_id is None or self.link_up,
            offset=self.offset,
            loading=False,
            state_ok=self.state_ok,
            members=tuple(self._member(peer) for peer in self.view.values()),
            config={key: self.config[key] for key in known},
        )

    def _member(self, peer: Peer) -> Member:
        flags = {
            "myself": peer is self.me,
            "handshake": peer.handshake,
            "master": not peer.handshake and peer.primary_id is None,
            "slave": peer.primary_id is not None,
            "noaddr": peer.noaddr,
            "fail?": peer.suspected and not peer.failed,
            "fail": peer.failed,
        }
        return Member(
            id=peer.id,
            ip="" if peer.noaddr else peer.client_ipv4 or peer.ip,
            port=0 if peer.noaddr else peer.port,
            bus_port=0 if peer.noaddr else 16379,
            hostname=peer.hostname,
            flags=frozenset(flag for flag, held in flags.items() if held),
            primary_id=peer.primary_id,
            config_epoch=peer.epoch,
            link_up=peer is self.me or (peer.linked and not peer.handshake),
            slots=peer.slots,
        )

    def told(self) -> list[tuple[str, str, int]]:
        """CLUSTER SLOTS: id, host and port of every primary with slots and of their replicas."""
        owners = {peer.id for peer in self.view.values() if peer.slots.ranges}
        return [
            (peer.id, peer.hostname or "?", peer.port)
            for peer in self.view.values()
            if not peer.failed and not peer.noaddr and (peer.id in owners or peer.primary_id in owners)
        ]

    # --- what it is told ------------------------------------------------------------------------------------------------------

    def obey(self, command: Command) -> None:
        """Carry out a command, or refuse it as Valkey does."""
        match command:
            case SetConfig(values):
                self._set_config(values)
            case AddSlots(slots):
                self._add_slots(slots)
            case Meet(ip):
                self.meet(ip)
            case Replicate(primary_id):
                self._replicate(primary_id)
            case Forget(node_id):
                self._forget(node_id)
            case BumpEpoch():
                self._bump_epoch()
            case TakeOver(vote):
                if self.me.primary_id is None:
                    raise CommandRefusedError("ERR You should send CLUSTER FAILOVER to a replica")
                self.elect(forced=True) if vote else self.promote()

    def _set_config(self, values: Mapping[str, str]) -> None:
        for key, value in values.items():
            if key not in BUILT_IN or (key in SINCE_9 and self.version < (9,)):
                raise CommandRefusedError(f"ERR Unknown option or number of arguments for CONFIG SET - '{key}'")
            is_ipv6_for_another = ":" in value and key != "cluster-announce-client-ipv6"
            if is_ipv6_for_another or (key == "shutdown-on-sigterm" and value == "failover" and self.version < (9,)):
                raise CommandRefusedError(f"ERR CONFIG SET failed - '{key}'")
        self.config |= values
        self._announce()

    def _add_slots(self, slots: Slots) -> None:
        for peer in self.view.values():
            if peer.slots & slots:
                raise CommandRefusedError("ERR Slot is already busy")
        self.me.slots |= slots
        self.fleet.given.append((self.id, str(slots)))

    def _bump_epoch(self) -> None:
        newest = max(self.current_epoch, *(peer.epoch for peer in self.view.values()))
        if self.me.epoch == 0 or self.me.epoch != newest:
            self.current_epoch = newest + 1
            self.me.epoch = self.current_epoch

    def _replicate(self, primary_id: str) -> None:
        peer = self.view.get(primary_id)
        if peer is None or peer.handshake:
            raise CommandRefusedError(f"ERR Unknown node {primary_id}")
        if peer.primary_id is not None:
            raise CommandRefusedError("ERR I can only replicate a master, not a replica.")
        if self.me.primary_id is None and (self.me.slots or self.data):
            raise CommandRefusedError("ERR To set a master the node must be empty and without assigned slots.")
        self.follow(primary_id)

    def _forget(self, node_id: str) -> None:
        if node_id == self.id:
            raise CommandRefusedError("ERR I tried hard but I can't forget myself...")
        if node_id == self.me.primary_id:
            raise CommandRefusedError("ERR Can't forget my master!")
        if node_id not in self.view and node_id not in self.banned:
            raise CommandRefusedError(f"ERR Unknown node {node_id}")
        self.view.pop(node_id, None)
        self.banned[node_id] = self.fleet.timeline.now + 60
