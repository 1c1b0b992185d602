"""Which host an outside client dials: the advertised name, else the address of the Kubernetes node that runs the pod."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.api.conditions import Reason
from valkey_operator.core import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from valkey_operator.api.external_access import ExternalAccess
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed, Pod


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a node has no endpoint yet, in words for a condition."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Host:
    """A host to advertise, and the IPv4 address behind it where the operator knows it."""

    name: str
    ipv4: str = ""


def is_ipv4(text: str) -> bool:
    """Whether a host is an IPv4 literal."""
    try:
        return ip_address(text).version == 4  # noqa: PLR2004  # the version's number is its name
    except ValueError:
        return False


def advertised(cluster: Cluster, access: ExternalAccess, index: NodeIndex) -> str | None:
    """The rendered `advertisedHost` of a node; None where the user left the host to the operator."""
    if access.advertised_host is None:
        return None
    return template.render(
        access.advertised_host, name=cluster.name, namespace=cluster.namespace, shard=index.shard, node=index.node
    )


def chosen(cluster: Cluster) -> tuple[str, ...]:
    """Every host outside that the user chose: each node's, and that of all shards."""
    access, spec = cluster.spec.external_access, cluster.spec
    if not access.enabled:
        return ()
    indexes = names.node_indexes(shards=spec.shards, replicas=spec.replicas)
    rendered = {host: None for index in indexes if (host := advertised(cluster, access, index)) is not None}
    if access.bootstrap_host is not None:
        rendered[template.render(access.bootstrap_host, name=cluster.name, namespace=cluster.namespace)] = None
    return tuple(rendered)


def machine_addresses(observed: Observed, access: ExternalAccess) -> Mapping[str, str] | Missing:
    """The address of every Kubernetes node that runs pods of the cluster: of the first of the wanted types that all of them have.

    Types are never mixed: one node's public and another's private address would not be reachable from one place. Without the right to
    read nodes the pods' own `hostIPs` serve, which are internal addresses.
    """
    pods = [pod for _, pod in sorted(observed.pods.items()) if pod.machine]
    wanted = [kind.value for kind in access.node_port.address_type]
    if observed.machines is None:
        return _host_ips(pods, wanted)
    in_use = sorted({pod.machine for pod in pods if pod.machine})
    unknown = [name for name in in_use if name not in observed.machines]
    if unknown:
        return Missing(Reason.NODE_ADDRESS_UNKNOWN, f"Kubernetes node {', '.join(unknown)} is not known yet")
    for kind in wanted:
        found = {name: _best([address for type_, address in observed.machines[name].addresses if type_ == kind]) for name in in_use}
        if all(found.values()):
            return {name: address for name, address in found.items() if address}
    return Missing(
        Reason.NODE_ADDRESS_UNKNOWN,
        f"Kubernetes nodes {', '.join(in_use)} have no address type of {', '.join(wanted)} in common: "
        "set spec.externalAccess.nodePort.addressType to a type that all of them have, or spec.externalAccess.advertisedHost",
    )


def _host_ips(pods: Sequence[Pod], wanted: Sequence[str]) -> Mapping[str, str] | Missing:
    if "InternalIP" not in wanted:
        return Missing(
            Reason.NODE_ADDRESS_UNKNOWN,
            "the operator may not read Kubernetes nodes, so that it knows only their internal addresses: "
            "allow it to get, list and watch nodes, or add InternalIP to spec.externalAccess.nodePort.addressType",
        )
    return {pod.machine: address for pod in pods if pod.machine and (address := _best(pod.host_ips))}


def _best(addresses: Sequence[str]) -> str | None:
    """The first IPv4 address or name; an IPv6 literal can be no announced host name, so it comes into question last."""
    return next((address for address in addresses if ":" not in address), None)


def host_of(observed: Observed, access: ExternalAccess, index: NodeIndex, addresses: Mapping[str, str] | Missing) -> Host | Missing:
    """The host of one node; `addresses` is what `machine_addresses` found."""
    pod = observed.pods.get(index)
    behind = addresses.get(pod.machine, "") if pod is not None and pod.machine and not isinstance(addresses, Missing) else ""
    name = advertised(observed.cluster, access, index)
    if name is not None:
        wrong = template.host_mistakes(name)
        if wrong:
            return Missing(
                Reason.INVALID_ADVERTISED_HOST,
                f"spec.externalAccess.advertisedHost renders as {name!r} for node {index}: it {wrong[0]}",
            )
        return Host(name, name if is_ipv4(name) else behind if is_ipv4(behind) else "")
    if pod is None or pod.machine is None:
        return Missing(Reason.NODE_ADDRESS_UNKNOWN, f"the pod of node {index} runs on no Kubernetes node yet")
    if isinstance(addresses, Missing):
        return addresses
    if not behind:
        return Missing(
            Reason.NODE_ADDRESS_UNKNOWN, f"Kubernetes node {pod.machine}, which runs node {index}, has no IPv4 address or name yet"
        )
    return Host(behind, behind if is_ipv4(behind) else "")
