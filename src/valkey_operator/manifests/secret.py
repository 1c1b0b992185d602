"""The Secrets of a cluster: generated passwords, what servers read, and what applications read.

`data` and not `stringData`: that one is write-only, so server-side apply could neither own nor compare it.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import quote

from valkey_operator.core import names
from valkey_operator.core.certificates import AUTHORITIES_KEY
from valkey_operator.manifests.metadata import of_cluster

if TYPE_CHECKING:
    from valkey_operator.core.observed import Cluster
    from valkey_operator.core.plan import AclSecret, ConnectionSecret, SystemSecret, TlsSecret
    from valkey_operator.manifests.metadata import Manifest


def system_secret(cluster: Cluster, wanted: SystemSecret) -> Manifest:
    """The generated passwords by user name; immutable, since servers that run know them."""
    passwords = wanted.passwords
    return _secret(
        cluster,
        names.system_secret(cluster.name),
        {"_operator": passwords.operator, "_replication": passwords.replication, "default": passwords.default},
    ) | {"immutable": True}


def acl_secret(cluster: Cluster, wanted: AclSecret) -> Manifest:
    """The files that servers read beside valkey.conf: all that is secret in their configuration."""
    return _secret(
        cluster,
        names.acl_secret(cluster.name),
        {names.ACL_FILE: wanted.acl, names.REPLICATION_FILE: wanted.replication},
    )


def tls_secret(cluster: Cluster, wanted: TlsSecret) -> Manifest:
    """The certificate that servers load, in files whose names tell their content; and what it was before, without the key."""
    files = wanted.files
    certificate, authorities = wanted.previous or ("", "")
    return _secret(
        cluster,
        names.tls_secret(cluster.name),
        {
            files.certificate_file: files.certificate,
            files.key_file: files.key,
            files.authorities_file: files.authorities,
            names.TLS_SINCE: wanted.since,
            names.TLS_PREVIOUS_CERTIFICATE: certificate,
            names.TLS_PREVIOUS_AUTHORITIES: authorities,
        },
    )


def connection_secret(cluster: Cluster, wanted: ConnectionSecret) -> Manifest:
    """What an application needs to connect, each by itself and as one address."""
    scheme, secured = ("valkey", {}) if wanted.authorities is None else ("valkeys", {AUTHORITIES_KEY: wanted.authorities})
    return _secret(
        cluster,
        names.connection_secret(cluster.name),
        {
            "username": wanted.username,
            "password": wanted.password,
            "host": wanted.host,
            "port": str(wanted.port),
            "uri": f"{scheme}://{quote(wanted.username, safe='')}:{quote(wanted.password, safe='')}@{wanted.host}:{wanted.port}",
            "external": ",".join(wanted.external),
            **secured,
        },
    )


def _secret(cluster: Cluster, name: str, data: dict[str, str]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": of_cluster(cluster, name),
        "data": {key: b64encode(value.encode()).decode() for key, value in data.items()},
    }
