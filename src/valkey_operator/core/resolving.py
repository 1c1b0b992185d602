"""Names that have to resolve inside before clients are told them, and the DNS records that are missing for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.api.conditions import Reason
from valkey_operator.api.external_access import AnnounceWhen
from valkey_operator.core import hosts
from valkey_operator.core.hosts import Missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from valkey_operator.core.observed import Cluster, Observed

_RECORDS = {4: "A", 6: "AAAA"}


def names_to_resolve(observed: Observed) -> frozenset[str]:
    """The hosts of the spec that clients are not told before they resolve; one that they are told already need not resolve again."""
    cluster, spec = observed.cluster, observed.cluster.spec.external_access
    if spec.announce_when is not AnnounceWhen.RESOLVABLE:
        return frozenset()
    known = told(observed)
    return frozenset(
        host for host in hosts.chosen(cluster) if host not in known and not hosts.is_ipv4(host) and not template.host_mistakes(host)
    )


def unresolved(observed: Observed) -> frozenset[str]:
    """Those of them that do not resolve."""
    return frozenset(name for name in names_to_resolve(observed) if not observed.resolved.get(name, False))


def told(observed: Observed) -> frozenset[str]:
    """The hosts that clients are told: those of nodes, and those at which they begin."""
    return frozenset(record.announce.host for record in observed.records.values() if record.announce is not None) | begun_at(
        observed.cluster
    )


def begun_at(cluster: Cluster) -> frozenset[str]:
    """The hosts at which clients begin by what the status tells them."""
    return frozenset(address.rpartition(":")[0] for address in cluster.status.begins_at)


def record_to_make(host: str, behind: Sequence[str]) -> Missing:
    """That a name does not resolve, and the records by which it does: to the addresses `behind` it, else to a name there, where they are known."""
    ips = [f"{_RECORDS[version]} {address}" for address in behind if (version := hosts.family(address)) is not None]
    records = ips or [f"CNAME {name}" for name in behind[:1]]
    make = "a DNS record" if not records else f"the DNS record{'s' if len(records) > 1 else ''} {', '.join(records)}"
    return Missing(
        Reason.WAITING_FOR_DNS,
        f"{host} does not resolve inside the Kubernetes cluster: make {make}, or set spec.externalAccess.announceWhen to Always",
    )
