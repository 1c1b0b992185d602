"""Which host an outside client dials: the advertised name, else what Kubernetes gave: a machine's or a load balancer's address."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.api.conditions import Reason
from valkey_operator.core import names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed, Pod, Service


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a node has no endpoint yet, in words for a condition."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Host:
    """A host to advertise, and the addresses behind it where the operator knows them."""

    name: str
    ipv4: str = ""
    ipv6: str = ""


def family(text: str) -> int | None:
    """4 or 6 for an address of that family, None for a name."""
    try:
        return ip_address(text).version
    except ValueError:
        return None


def is_ipv4(text: str) -> bool:
    """Whether a host is an IPv4 literal."""
    return family(text) == 4  # noqa: PLR2004  # the version's number is its name


def first_of(addresses: Iterable[str], version: int) -> str:
    """The first address of a family, empty where there is none."""
    return next((address for address in addresses if family(address) == version), "")


def of_families(addresses: Iterable[str], families: Collection[str]) -> tuple[str, ...]:
    """The names, and the addresses of those families (`IPv4`, `IPv6`); all where no family is told."""
    return tuple(text for text in addresses if not families or family(text) is None or f"IPv{family(text)}" in families)


def wanted_families(cluster: Cluster) -> tuple[str, ...]:
    """The families that clients outside use, as the user says; none where that is left to the Services."""
    return tuple(family.value for family in cluster.spec.external_access.ip_families)


def advertised(cluster: Cluster, index: NodeIndex) -> str | None:
    """The rendered `advertisedHost` of a node; None where the user left the host to the operator."""
    host = cluster.spec.external_access.advertised_host
    if host is None:
        return None
    return template.render(host, name=cluster.name, namespace=cluster.namespace, shard=index.shard, node=index.node)


def of_nodes(cluster: Cluster) -> dict[NodeIndex, str]:
    """The rendered `advertisedHost` of each node; none where the user left the hosts to the operator."""
    indexes = names.node_indexes(shards=cluster.spec.shards, replicas=cluster.spec.replicas)
    return {index: host for index in indexes if (host := advertised(cluster, index)) is not None}


def bootstrap(cluster: Cluster) -> str | None:
    """The rendered `bootstrapHost`; None where there is none."""
    host = cluster.spec.external_access.bootstrap_host
    return template.render(host, name=cluster.name, namespace=cluster.namespace) if host is not None else None


def no_name(field: str, host: str, whose: str = "") -> Missing | None:
    """That a rendered host is none that DNS can hold; None where it is one."""
    wrong = template.host_mistakes(host)
    if not wrong:
        return None
    return Missing(Reason.INVALID_ADVERTISED_HOST, f"spec.externalAccess.{field} renders as {host!r}{whose}: it {wrong[0]}")


def chosen(cluster: Cluster) -> tuple[str, ...]:
    """Every host outside that the user chose: each node's, and that of all shards; none while external access is off."""
    if not cluster.spec.external_access.enabled:
        return ()
    common = bootstrap(cluster)
    return tuple(dict.fromkeys((*of_nodes(cluster).values(), *([common] if common is not None else []))))


def host(observed: Observed, index: NodeIndex, behind: Sequence[str]) -> Host | Missing:
    """The advertised host of a node, else the best of the addresses `behind` it: IPv4 before names, in their order.

    An IPv6 literal cannot be announced as a host name (a server refuses the colons), only beside one.
    """
    families = wanted_families(observed.cluster)
    usable = of_families(behind, families)
    ipv4, ipv6 = first_of(usable, 4), first_of(usable, 6)
    name = advertised(observed.cluster, index)
    if name is not None:
        wrong = no_name("advertisedHost", name, f" for node {index}")
        if wrong is not None:
            return wrong
        return Host(name, name if is_ipv4(name) else ipv4, ipv6)
    chosen = ipv4 or next((address for address in usable if family(address) is None), "")
    if not chosen:
        return Missing(
            Reason.NODE_ADDRESS_UNKNOWN,
            f"of what leads to node {index} ({', '.join(behind)}) nothing can be announced as a host"
            f"{_for_clients_of(families)}, which is a name or an IPv4 address: set spec.externalAccess.advertisedHost to a name that leads there",
        )
    return Host(chosen, ipv4, ipv6)


def machine_addresses(observed: Observed) -> Mapping[str, tuple[str, ...]] | Missing:
    """The addresses of every Kubernetes node that runs pods of the cluster: of the first of the wanted types that all of them have.

    Types are never mixed: one node's public and another's private address would not be reachable from one place. An address of a family
    that the Services do not have leads nowhere, so it does not count. Without the right to read nodes the pods' own `hostIPs` serve, which
    are internal addresses.
    """
    told = wanted_families(observed.cluster)
    families = told or {family for service in observed.services.values() if service.kind for family in service.families}
    pods = [pod for _, pod in sorted(observed.pods.items()) if pod.machine]
    wanted = [kind.value for kind in observed.cluster.spec.external_access.node_port.address_type]
    if observed.machines is None:
        return _host_ips(pods, wanted, families)
    in_use = sorted({pod.machine for pod in pods if pod.machine})
    unknown = [name for name in in_use if name not in observed.machines]
    if unknown:
        return Missing(Reason.NODE_ADDRESS_UNKNOWN, f"Kubernetes node {', '.join(unknown)} is not known yet")
    for kind in wanted:
        found = {
            name: of_families((address for type_, address in observed.machines[name].addresses if type_ == kind), families)
            for name in in_use
        }
        if all(found.values()):
            return found
    return Missing(
        Reason.NODE_ADDRESS_UNKNOWN,
        f"Kubernetes nodes {', '.join(in_use)} have no address type of {', '.join(wanted)} in common{_for_clients_of(told)}: "
        "set spec.externalAccess.nodePort.addressType to a type that all of them have, or spec.externalAccess.advertisedHost",
    )


def _for_clients_of(families: Sequence[str]) -> str:
    return f" for clients of {' and '.join(families)}" if families else ""


def _host_ips(pods: Sequence[Pod], wanted: Sequence[str], families: Collection[str]) -> Mapping[str, tuple[str, ...]] | Missing:
    if "InternalIP" not in wanted:
        return Missing(
            Reason.NODE_ADDRESS_UNKNOWN,
            "the operator may not read Kubernetes nodes, so that it knows only their internal addresses: "
            "allow it to get, list and watch nodes, or add InternalIP to spec.externalAccess.nodePort.addressType",
        )
    found = {pod.machine: of_families(pod.host_ips, families) for pod in pods if pod.machine}
    return {machine: addresses for machine, addresses in found.items() if addresses}


def balancer_addresses(service: Service) -> tuple[str, ...]:
    """What a load balancer was given: addresses first, in their order, names last."""
    ips = [ingress.ip for ingress in service.ingress if ingress.ip]
    return (*ips, *(ingress.hostname for ingress in service.ingress if ingress.hostname))
