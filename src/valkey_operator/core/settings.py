"""Running values of servers: what each should have now, and which of its values differ.

Temporary values (short timeouts while a cluster forms, fast gossip while it announces) are no separate undertaking with a beginning and an
end: the wanted values follow from what is observed, so that a crash cannot leave one behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.core.config import DEFAULTS
from valkey_operator.core.observed import Announcement

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "cluster-announce-hostname"
CLIENT_KEYS = "cluster-announce-client-"
"""How the keys begin that not all servers know."""
CLIENT_IPV4 = f"{CLIENT_KEYS}ipv4"
CLIENT_IPV6 = f"{CLIENT_KEYS}ipv6"
CLIENT_PORT = f"{CLIENT_KEYS}port"
CLIENT_TLS_PORT = f"{CLIENT_KEYS}tls-port"
BUS_IP = "cluster-announce-ip"
BUS_PORTS = ("cluster-announce-port", "cluster-announce-tls-port", "cluster-announce-bus-port")
ENDPOINT_TYPE = "cluster-preferred-endpoint-type"
NODE_TIMEOUT = "cluster-node-timeout"
PING_INTERVAL = "cluster-ping-interval"
DISKLESS_DELAY = "repl-diskless-sync-delay"
REPLICA_PING = "repl-ping-replica-period"
ON_SIGTERM = "shutdown-on-sigterm"

CERTIFICATE_FILES = ("tls-cert-file", "tls-key-file", "tls-ca-cert-file")

ASKED = (
    HOST,
    CLIENT_IPV4,
    CLIENT_IPV6,
    CLIENT_PORT,
    CLIENT_TLS_PORT,
    BUS_IP,
    *BUS_PORTS,
    ENDPOINT_TYPE,
    NODE_TIMEOUT,
    PING_INTERVAL,
    DISKLESS_DELAY,
    REPLICA_PING,
    ON_SIGTERM,
    *CERTIFICATE_FILES,
)
"""What every look asks of a server; older servers do not know all of them and leave those out."""

CLIENT_IP_SINCE = (8, 0)
"""The first version that can announce the addresses behind a host."""

CLIENT_PORT_SINCE = (9, 0)
"""The first version that can announce a port to clients without moving replication."""


@dataclass(frozen=True, slots=True)
class Phase:
    """What a cluster is going through, as far as running values depend on it."""

    forming: bool
    """It never was whole: timeouts may be short, since there is nothing to fail over yet."""
    gossiping: bool
    """Some announcement has not reached everybody."""
    syncing: bool
    """Some replica is not linked to its primary."""


def running(config: Mapping[str, str], phase: Phase, *, version: tuple[int, ...]) -> dict[str, str]:
    """The values that a server of that version should have now, announcements aside."""
    user = {key.lower(): value for key, value in config.items()}
    return {
        ENDPOINT_TYPE: "hostname",
        NODE_TIMEOUT: "500" if phase.forming else user.get(NODE_TIMEOUT, DEFAULTS[NODE_TIMEOUT]),
        PING_INTERVAL: "100" if phase.forming or phase.gossiping else user.get(PING_INTERVAL, "0"),
        DISKLESS_DELAY: "0" if phase.forming or phase.syncing else user.get(DISKLESS_DELAY, "5"),
        # Before 9.1 a replica is told to clients only once its primary has pinged it.
        REPLICA_PING: "1" if phase.forming or phase.syncing else user.get(REPLICA_PING, "10"),
        **({ON_SIGTERM: user.get(ON_SIGTERM, "failover")} if version >= CLIENT_PORT_SINCE else {}),
    }


def carries(announcement: Announcement, *, version: tuple[int, ...]) -> bool:
    """Whether a server of that version can announce the whole pair, and not just its host beside the server's own port."""
    return version >= CLIENT_PORT_SINCE or announcement.port in (0, names.CLIENT_PORT)


def announcing(announcement: Announcement, *, version: tuple[int, ...], tls: bool) -> dict[str, str]:
    """The one CONFIG SET by which a server of that version tells clients this host and port, to be dialled with TLS or without."""
    key = CLIENT_TLS_PORT if tls else CLIENT_PORT
    ips = {CLIENT_IPV4: announcement.client_ipv4, CLIENT_IPV6: announcement.client_ipv6} if version >= CLIENT_IP_SINCE else {}
    port = {key: str(announcement.port)} if version >= CLIENT_PORT_SINCE else {}
    return {HOST: announcement.host, **ips, **port}


def announced(config: Mapping[str, str], *, tls: bool) -> Announcement:
    """What a server tells clients of itself; port 0 stands for its own."""
    port = config.get(CLIENT_TLS_PORT if tls else CLIENT_PORT) or "0"
    return Announcement(config.get(HOST, ""), int(port), config.get(CLIENT_IPV4, ""), config.get(CLIENT_IPV6, ""))


def among_servers(ip: str) -> dict[str, str]:
    """Where other servers find a server, for the bus and replication: at its pod's address, and at its own ports."""
    return {BUS_IP: ip, **dict.fromkeys(BUS_PORTS, "0")}


def announce_file(announcement: Announcement | None, *, version: tuple[int, ...], tls: bool) -> str:
    """The configuration file by which a server of that version announces the same after a restart; empty: as its start script chooses."""
    if announcement is None:
        return ""
    return "".join(f'{key} "{value}"\n' for key, value in announcing(announcement, version=version, tls=tls).items())


def drift(wanted: Mapping[str, str], config: Mapping[str, str]) -> dict[str, str]:
    """The wanted values that a server does not have. Of numbers the value counts: a server writes `05` as `5`."""
    return {key: value for key, value in wanted.items() if not _same(value, config.get(key))}


def _same(wanted: str, has: str | None) -> bool:
    return wanted == has or (has is not None and wanted.isdecimal() and has.isdecimal() and int(wanted) == int(has))
