"""A cluster `orders` in namespace `shop`, as it can be observed: whole, of three shards with one replica each, unless a test says otherwise."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from golden.orders import orders
from valkey_operator.api.status import NodeStatus
from valkey_operator.core import names, settings
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import (
    AllocatedPort,
    Announcement,
    Ingress,
    Machine,
    NodeRecord,
    Observed,
    Passwords,
    Pod,
    Probe,
    Server,
    Service,
)
from valkey_operator.valkey.slots import ALL
from valkey_operator.valkey.topology import Member

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
EARLIER = datetime(2026, 3, 1, 11, 0, tzinfo=UTC)
NODES = tuple(names.node_indexes(shards=3, replicas=1))


def node_id(index: NodeIndex) -> str:
    return f"id-{index}"


def pod_ip(index: NodeIndex) -> str:
    return f"10.0.{index.shard}.{index.node}"


def machine_of(index: NodeIndex) -> str:
    return f"m{(index.shard + index.node) % 3 + 1}"


def pod(index: NodeIndex, **changed: Any) -> Pod:
    made = Pod(
        name=f"valkey-orders-{index}-0",
        uid=f"pod-{index}",
        ip=pod_ip(index),
        machine=machine_of(index),
        host_ips=(f"192.0.2.1{machine_of(index)[1]}",),
        ready=True,
        running=True,
        started=EARLIER,
        deleting=False,
        role="primary" if index.node == 0 else "replica",
        serving=True,
        revision="r1",
    )
    return replace(made, **changed)


def member(index: NodeIndex, *, seen_by: NodeIndex, told: Announcement | None = None) -> Member:
    host, port = (told.host, told.port) if told is not None else (pod_ip(index), 6379)
    primary = index.node == 0
    return Member(
        id=node_id(index),
        ip=host,
        port=port,
        bus_port=16379,
        hostname=host,
        flags=frozenset({"master" if primary else "slave"} | ({"myself"} if index == seen_by else set())),
        primary_id=None if primary else node_id(NodeIndex(index.shard, 0)),
        config_epoch=index.shard + 1,
        link_up=True,
        slots=ALL.split(3)[index.shard] if primary else ALL - ALL,
    )


def server(index: NodeIndex, told: dict[NodeIndex, Announcement], **changed: Any) -> Server:
    mine = told.get(index)
    made = Server(
        id=node_id(index),
        version=(9, 1, 2),
        primary=index.node == 0,
        link_up=True,
        offset=100,
        loading=False,
        state_ok=True,
        members=tuple(member(other, seen_by=index, told=told.get(other)) for other in NODES),
        config={
            "cluster-announce-hostname": mine.host if mine else pod_ip(index),
            "cluster-announce-client-ipv4": mine.client_ipv4 if mine else "",
            "cluster-announce-client-ipv6": "",
            "cluster-announce-client-port": str(mine.port if mine else 0),
            **settings.among_servers(pod_ip(index)),
            **settings.running({}, settings.Phase(forming=False, gossiping=False, syncing=False), version=(9, 1, 2)),
        },
    )
    return replace(made, **changed)


def service(name: str, *ports: AllocatedPort, kind: str = "shard", type_: str = "NodePort", **changed: Any) -> Service:
    made = Service(name=name, uid=f"service-{name}", kind=kind, type=type_, created=EARLIER, deleting=False, ports=ports)
    return replace(made, **changed)


def balancer(name: str, *ports: AllocatedPort, ip: str = "", hostname: str = "", kind: str = "shard") -> Service:
    ingress = (Ingress(ip, hostname),) if ip or hostname else ()
    return service(name, *ports, kind=kind, type_="LoadBalancer", ingress=ingress)


def observed(
    access: dict[str, Any] | None = None,
    *services: Service,
    told: dict[NodeIndex, Announcement] | None = None,
    answering: bool = True,
    spec: dict[str, Any] | None = None,
    **changed: Any,
) -> Observed:
    """The cluster with that `externalAccess` and those Services; `told` is what nodes announce, `answering` whether endpoints answer."""
    told = told or {}
    tls = {"tls": {"certificate": {"secretName": "orders-tls"}}} if access is not None and access.get("type") == "Ingress" else {}
    cluster = orders(**tls, **({"externalAccess": {"enabled": True, **access}} if access is not None else {}), **(spec or {}))
    made = Observed(
        cluster=cluster,
        records={
            index: NodeRecord(
                f"orders-{index}", f"record-{index}", told.get(index), NodeStatus(node_id=node_id(index), role=_role(index))
            )
            for index in NODES
        },
        workloads={},
        pods={index: pod(index) for index in NODES},
        files=frozenset(told),
        services={each.name: each for each in services},
        served={each.name: frozenset(port.name for port in each.ports) for each in services},
        machines={f"m{n}": Machine(f"m{n}", (("InternalIP", f"192.0.2.1{n}"),)) for n in (1, 2, 3)},
        passwords=Passwords("operator-password", "replication-password", "default-password"),
        fresh_passwords=Passwords("a", "b", "c"),
        acl=None,
        user_passwords={},
        servers={index: server(index, told) for index in NODES},
    )
    made = replace(made, **changed)
    return replace(made, probes=_answers(made)) if answering and "probes" not in changed else made


def _role(index: NodeIndex) -> str:
    return "primary" if index.node == 0 else "replica"


def _answers(seen: Observed) -> dict[Announcement, Probe]:
    from valkey_operator.core.exposure import exposure  # noqa: PLC0415  # only where somebody asks

    if not seen.cluster.spec.external_access.enabled:
        return {}
    endpoints = exposure(seen.cluster).endpoints(seen)
    return {endpoint: Probe(node_id(index)) for index, endpoint in endpoints.items() if isinstance(endpoint, Announcement)}
