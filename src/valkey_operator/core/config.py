"""The text of valkey.conf: defaults that a user may change, then the user's directives, then those that the operator owns."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from valkey_operator.core.names import BUS_PORT, CLIENT_PORT

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS: Mapping[str, str] = {
    "cluster-node-timeout": "2000",
    "save": '""',
}
"""Without persistence a snapshot is of no use: a server that restarts starts empty under a new id, and copies its shard's primary."""

OWNED: dict[str, str] = {
    "port": str(CLIENT_PORT),
    "cluster-port": str(BUS_PORT),
    "protected-mode": "no",
    "dir": "/data",
    "cluster-enabled": "yes",
    "cluster-config-file": "/data/nodes.conf",
    "cluster-allow-replica-migration": "no",
    "cluster-replica-validity-factor": "0",
    "cluster-preferred-endpoint-type": "hostname",
    "aclfile": "/etc/valkey/acl/users.acl",
    "include": "/etc/valkey/acl/replication.conf",
}
"""Every server announces by host name from its first start: that is what makes external access one CONFIG SET."""


TLS: dict[str, str] = {
    "port": "0",
    "tls-port": str(CLIENT_PORT),
    "tls-cluster": "yes",
    "tls-replication": "yes",
    "tls-auth-clients": "no",
}
"""There is no plain port, and clients are asked for no certificate: one that shows it unasked, issued by whomever, is as welcome as others.
On the bus each server verifies the other all the same, and a replica its primary. Where the certificate lies is told by the start script."""


def server_config(config: Mapping[str, str], *, tls: bool = False) -> str:
    """valkey.conf for a cluster's `spec.config`; the last of two lines with one key counts, so the operator's come last."""
    user = {key.lower(): value for key, value in config.items()}
    lines = [
        *(f"{key} {value}" for key, value in DEFAULTS.items() if key not in user),
        *(f"{key} {value or EMPTY}" for key, value in sorted(user.items())),
        *(f"{key} {value}" for key, value in (OWNED | (TLS if tls else {})).items()),
    ]
    return "\n".join(lines) + "\n"


EMPTY = '""'
"""How an empty value is written in valkey.conf."""


def digest(*texts: str) -> str:
    """A short name for what a server reads at its start: another digest, another revision of its pod's template."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
