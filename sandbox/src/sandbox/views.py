"""Kubernetes objects (as JSON) as the sandbox sees them. Pure."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from sandbox import balancing
from sandbox.addresses import Addresses
from sandbox.balancing import ServiceView, Wish

Body = Mapping[str, Any]


def is_ready(node: Body) -> bool:
    """Whether a node says that it is ready."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def ready_addresses(node: Body) -> tuple[str, Addresses] | None:
    """Name and InternalIPs of a node that is ready, else None."""
    told = node.get("status", {}).get("addresses", [])
    internal = [ip_address(entry["address"]) for entry in told if entry["type"] == "InternalIP"]
    ipv4 = next((address for address in internal if isinstance(address, IPv4Address)), None)
    ipv6 = next((address for address in internal if isinstance(address, IPv6Address)), None)
    return (node["metadata"]["name"], Addresses(ipv4, ipv6)) if is_ready(node) and ipv4 and ipv6 else None


def endpoint_nodes(slices: Iterable[Body]) -> dict[tuple[str, str], frozenset[str]]:
    """For each Service (namespace, name) the nodes with a ready endpoint."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for piece in slices:
        name = piece["metadata"].get("labels", {}).get("kubernetes.io/service-name")
        if name is not None:
            endpoints = [endpoint for endpoint in piece.get("endpoints") or [] if endpoint.get("conditions", {}).get("ready", True)]
            key = (piece["metadata"]["namespace"], name)
            found[key] = found.get(key, frozenset()) | {endpoint["nodeName"] for endpoint in endpoints if "nodeName" in endpoint}
    return found


def wish_of(service: Body) -> Wish | None:
    """What a Service wants of us; None if it wants no load balancer, or one of another class. Raises ValueError."""
    spec = service["spec"]
    if spec.get("type") != "LoadBalancer" or spec.get("loadBalancerClass", balancing.CLASS) != balancing.CLASS:
        return None
    return balancing.wish(service["metadata"].get("annotations", {}), requested=spec.get("loadBalancerIP"))


def service(body: Body, *, wish: Wish | None, waited: float) -> ServiceView:
    """A Service together with its wish. Addresses that another class of load balancer gave are none of ours."""
    entries = body.get("status", {}).get("loadBalancer", {}).get("ingress", [])
    is_foreign = body["spec"].get("loadBalancerClass", balancing.CLASS) != balancing.CLASS
    known = ("ip", "ipMode", "hostname")
    return ServiceView(
        namespace=body["metadata"]["namespace"],
        name=body["metadata"]["name"],
        wish=wish,
        ingress=() if is_foreign else tuple({name: entry[name] for name in known if name in entry} for entry in entries),
        families=tuple(body["spec"].get("ipFamilies", ())),
        is_local=body["spec"].get("externalTrafficPolicy") == "Local",
        waited=waited,
    )
