"""The cluster of `given` with routes that the operator made: those and their Services, the Gateway that they attach to, and what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unit.core.given import NODES, observed, service
from valkey_operator.core.observed import AllocatedPort, Gateway, Listener, ListenerRef, Observed, Route, Routing, Service, Verdict

KINDS = {
    "TLSRoute": "gateway.networking.k8s.io/v1",
    "TCPRoute": "gateway.networking.k8s.io/v1alpha2",
    "Ingress": "networking.k8s.io/v1",
    "Route": "route.openshift.io/v1",
}
PARENT = {"name": "public", "namespace": "gateways"}
PUBLIC = "gateways/public"
YES = Verdict("Gateway gateways/public", accepted=True)
BY_NAME: dict[str, Any] = {
    "type": "Ingress",
    "advertisedHost": "{name}-{shard}-{node}.example.com",
    "bootstrapHost": "{name}.example.com",
    "announceWhen": "Always",
    "routes": {"kind": "TLSRoute", "parentRefs": [PARENT]},
}
BY_PORT: dict[str, Any] = {"type": "Ingress", "routes": {"kind": "TCPRoute", "parentRefs": [PARENT]}}
PLACES = ("orders", *(f"orders-{index}" for index in NODES))
"""The Services that have routes, in the order in which ports are given to them."""
PORTS = {
    "orders": 6380,
    "orders-0-0": 6381,
    "orders-0-1": 6382,
    "orders-1-0": 6383,
    "orders-1-1": 6384,
    "orders-2-0": 6385,
    "orders-2-1": 6386,
}


def gateway(*ports: int, protocol: str = "TCP", addresses: tuple[str, ...] = ("198.51.100.7",), name: str = "public") -> Gateway:
    listeners = tuple(Listener(f"{protocol.lower()}-{port}", port, protocol) for port in ports)
    return Gateway("gateways", name, addresses, listeners)


def route(kind: str, name: str, *hosts: str, port: int = 0, **changed: Any) -> Route:
    """One of the cluster's, which its parent has accepted."""
    made = Route(
        kind=kind,
        namespace="shop",
        name=name,
        uid=f"{kind}-{name}",
        created="2026-03-01T11:00:00Z",
        deleting=False,
        ours=True,
        hosts=hosts,
        parents=(ListenerRef("gateways", "public", port=port),) if kind in ("TLSRoute", "TCPRoute") else (),
        verdicts=(YES,),
    )
    return replace(made, **changed)


def other(port: int = 0, *, created: str = "2026-03-01T10:00:00Z", section: str = "", of: str = "public") -> Route:
    """Somebody else's TCPRoute."""
    made = route("TCPRoute", "other", created=created, ours=False, verdicts=())
    return replace(made, namespace="bank", parents=(ListenerRef("gateways", of, section, port),))


def by_name(kind: str = "TLSRoute", **changed: Any) -> tuple[Route, ...]:
    """The routes of `BY_NAME`."""
    return tuple(route(kind, name, f"{name}.example.com", **changed) for name in PLACES)


def by_port(ports: dict[str, int] | None = None, **changed: Any) -> tuple[Route, ...]:
    """The routes of `BY_PORT`."""
    return tuple(route("TCPRoute", name, port=port, **changed) for name, port in (PORTS if ports is None else ports).items())


def services(prefix: str = "sni", ports: dict[str, int] | None = None) -> tuple[Service, ...]:
    """The Services that such routes lead to."""
    numbers = ports or {}
    nodes = [
        service(
            f"orders-{index}",
            AllocatedPort(f"{prefix}-{index.node}", numbers.get(f"orders-{index}", 6380), None, 6379),
            kind="node",
            type_="ClusterIP",
            selector={"valkey.io/shard-index": str(index.shard), "valkey.io/node-index": str(index.node)},
        )
        for index in NODES
    ]
    shards = [
        service(
            f"orders-{shard}",
            AllocatedPort(f"{prefix}-shard", 6380, None, 6379),
            type_="ClusterIP",
            selector={"valkey.io/shard-index": str(shard), "valkey.io/node-index": "0"},
        )
        for shard in range(3)
    ]
    begin = AllocatedPort(f"{prefix}-bootstrap", numbers.get("orders", 6380), None, 6379)
    return (*shards, *nodes, service("orders", begin, kind="bootstrap", type_="ClusterIP", selector={"valkey.io/serving": "true"}))


def routing(*routes: Route, served: dict[str, str] | None = None, **changed: Any) -> Routing:
    """What there is of routes: all kinds are served, and the Gateway is there."""
    made = Routing(
        served=KINDS if served is None else served,
        routes=routes,
        gateways={PUBLIC: gateway(*range(6380, 6400))},
    )
    return replace(made, **changed)


def named(*routes: Route, access: dict[str, Any] | None = None, **changed: Any) -> Observed:
    """The cluster with routes that go by name; those of `BY_NAME`, accepted, unless others are given."""
    changed = {"routing": routing(*(routes or by_name())), **changed}
    return observed({**BY_NAME, **(access or {})}, *services(), **changed)


def ported(*routes: Route, access: dict[str, Any] | None = None, **changed: Any) -> Observed:
    """The cluster with routes that go by port; those of `BY_PORT`, accepted, unless others are given."""
    changed = {"routing": routing(*(routes or by_port())), **changed}
    return observed({**BY_PORT, **(access or {})}, *services("tcp", PORTS), **changed)
