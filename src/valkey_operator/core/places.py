"""What a server announces without external access: its place inside, by which clients in Kubernetes dial it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core import names, settings, tls
from valkey_operator.core.observed import Announcement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed


def place(observed: Observed, index: NodeIndex) -> Announcement | None:
    """The pod's name in DNS where the server's certificate covers it, else the pod's address; None while it has none.

    Port 0 stands for the server's own. An IPv6 address is no legal host name, so there the name is announced in any case. A pod's start
    script chooses in the same way, but for certificates: for those there is the announce file.
    """
    pod, name = observed.pods.get(index), named_place(observed, index)
    if name is None and pod is not None and pod.ip is not None:
        name = names.pod_host(observed.cluster.name, observed.cluster.namespace, index) if ":" in pod.ip else pod.ip
    return Announcement(host=name, port=0) if name is not None else None


def named_place(observed: Observed, index: NodeIndex) -> str | None:
    """The pod's name in DNS that the server's certificate covers, the short one first; None without TLS, or where it covers none."""
    if observed.tls is None:
        return None
    cluster = observed.cluster
    return next(
        (
            host
            for host in _full(observed, names.pod_host(cluster.name, cluster.namespace, index))
            if tls.presents(observed, index, host)
        ),
        None,
    )


def among_servers(observed: Observed, index: NodeIndex) -> dict[str, str]:
    """By what values other servers find a server; none while its pod has no address."""
    pod = observed.pods.get(index)
    return settings.among_servers(pod.ip) if pod is not None and pod.ip is not None else {}


def told(observed: Observed, index: NodeIndex, announce: Announcement | None) -> tuple[str, int] | None:
    """The host and port that clients are to be told of a node; `announce` None: its place inside. None while that is unknown."""
    pair = announce or place(observed, index)
    return (pair.host, pair.port or names.CLIENT_PORT) if pair is not None else None


def hosts(observed: Observed) -> tuple[str, ...]:
    """By which a client inside may know the cluster: the headless Service, by its short and by its full name."""
    return tuple(_full(observed, names.headless_host(observed.cluster.name, observed.cluster.namespace)))


def _full(observed: Observed, host: str) -> Iterator[str]:
    yield host
    yield f"{host}.{observed.domain}"
