"""What a client outside should find, read from a ValkeyCluster and its ValkeyNodes as Kubernetes has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from valkey_operator.api import template
from valkey_operator.core import names
from valkey_operator.core.names import NodeIndex
from valkey_operator.outside.errors import NotCheckedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Pair(NamedTuple):
    """What a client dials."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where clients outside should reach one node."""

    index: NodeIndex
    role: str
    pair: Pair
    announced: bool
    service: str
    """The Service that leads there."""


@dataclass(frozen=True, slots=True)
class Node:
    """One server as its record knows it; what is not known is empty."""

    index: NodeIndex
    id: str
    pod_ip: str
    machine: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One cluster's external access, as its status tells it."""

    namespace: str
    cluster: str
    type: str
    tls: bool
    bootstrap: tuple[Pair, ...]
    endpoints: tuple[Endpoint, ...]
    nodes: tuple[Node, ...] = ()
    lack: str = ""
    """What the operator says it still lacks; empty when it is ready."""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Everything that is dialled, each once: the nodes' endpoints, then where clients begin."""
        return tuple(dict.fromkeys((*(endpoint.pair for endpoint in self.endpoints), *self.bootstrap)))

    def service(self, indexes: Sequence[NodeIndex]) -> str:
        """The Service that an address of these nodes belongs to; that of all shards where it stands for none."""
        bootstrap = names.bootstrap_service(self.cluster)
        return next((endpoint.service for endpoint in self.endpoints if endpoint.index in indexes), bootstrap)

    def at(self, pair: Pair) -> tuple[Endpoint, ...]:
        """The endpoints of that address: several where a shard has one for all its nodes."""
        return tuple(endpoint for endpoint in self.endpoints if endpoint.pair == pair)

    def node(self, index: NodeIndex) -> Node | None:
        """The record of a node, if there is one."""
        return next((node for node in self.nodes if node.index == index), None)

    def expected(self, pair: Pair) -> frozenset[str]:
        """The ids of which one should answer there; empty when none of them is known.

        A shard's own address leads to its primary, one where clients begin to any node.
        """
        here = self.at(pair)
        if not here:
            return frozenset(node.id for node in self.nodes if node.id)
        meant = here if len(here) == 1 else [endpoint for endpoint in here if endpoint.role == "primary"]
        nodes = (self.node(endpoint.index) for endpoint in meant)
        return frozenset(node.id for node in nodes if node is not None and node.id)


def target(cluster: Mapping[str, Any], nodes: Iterable[Mapping[str, Any]] = ()) -> Target:
    """What is to be checked; raises when external access is off, has no endpoint yet, or is told by an operator that told less."""
    namespace, name = cluster["metadata"]["namespace"], cluster["metadata"]["name"]
    spec, status = cluster.get("spec", {}), cluster.get("status") or {}
    where = f"ValkeyCluster {namespace}/{name}"
    if not spec.get("externalAccess", {}).get("enabled"):
        raise NotCheckedError(
            f"{where} has no external access, so clients outside cannot reach it: set spec.externalAccess.enabled to true"
        )
    lack = _lack(status)
    told = status.get("externalAccess") or {}
    type_ = told.get("type", spec["externalAccess"].get("type", ""))
    own = type_ == "Ingress" and _by_node(spec["externalAccess"])
    shards = told.get("endpoints") or ()
    if not shards:
        why = lack or "the operator has not told anything yet: does it run?"
        raise NotCheckedError(f"{where} has no endpoint yet: {why}")
    return Target(
        namespace=namespace,
        cluster=name,
        type=type_,
        tls=bool(spec.get("tls")),
        bootstrap=tuple(_pair(address, where) for address in (told.get("bootstrap") or {}).get("addresses") or ()),
        endpoints=tuple(endpoint for shard in shards for endpoint in _endpoints(shard, where, cluster=name, own=own)),
        nodes=tuple(sorted((_node(node, where) for node in nodes), key=lambda node: node.index)),
        lack=lack,
    )


def require_ids(found: Target) -> None:
    """Raise when no record tells the id of its server, so that nothing could be compared."""
    if not any(node.id for node in found.nodes):
        raise NotCheckedError(
            f"no ValkeyNode of ValkeyCluster {found.namespace}/{found.cluster} tells status.nodeId, so it cannot be seen which server answers "
            "where: no operator has worked on it yet, or one that is too old; deploy an operator of this plugin's version"
        )


def _lack(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "ExternalAccessReady" and condition.get("status") != "True":
            return f"{condition.get('reason')}: {condition.get('message')}"
    return ""


def _by_node(access: Mapping[str, Any]) -> bool:
    """Whether, with type Ingress, each node has a host or a port of its own, and so a Service."""
    by_port = (access.get("routes") or {}).get("kind") == "TCPRoute"
    return by_port or "node" in template.placeholders(access.get("advertisedHost") or "")


def _endpoints(shard: Mapping[str, Any], where: str, *, cluster: str, own: bool) -> list[Endpoint]:
    """The shard's nodes, each behind a Service of its `own`, as it is too where the shard tells none, or behind the shard's."""
    number, path = shard.get("shard"), f"status.externalAccess.endpoints[{shard.get('shard')}]"
    if not isinstance(number, int) or not shard.get("nodes"):
        raise _old(where, f"{path}.nodes")
    found = []
    for node in shard["nodes"]:
        for field in ("node", "host", "port", "announced"):
            if field not in node:
                raise _old(where, f"{path}.nodes[].{field}")
        index, pair = NodeIndex(number, int(node["node"])), Pair(node["host"], int(node["port"]))
        service = names.node_service(cluster, index) if own else shard.get("service") or names.node_service(cluster, index)
        found.append(Endpoint(index, node.get("role", ""), pair, bool(node["announced"]), service))
    return found


def _node(node: Mapping[str, Any], where: str) -> Node:
    spec, status = node.get("spec", {}), node.get("status") or {}
    for field in ("shard", "node"):
        if field not in spec:
            raise _old(where, f"spec.{field} of ValkeyNode {node['metadata']['name']}")
    index = NodeIndex(int(spec["shard"]), int(spec["node"]))
    return Node(index, id=status.get("nodeId", ""), pod_ip=status.get("podIP", ""), machine=status.get("machine", ""))


def _pair(address: str, where: str) -> Pair:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise _old(where, "status.externalAccess.bootstrap.addresses (host:port)")
    return Pair(host.strip("[]"), int(port))


def _old(where: str, field: str) -> NotCheckedError:
    return NotCheckedError(
        f"{where} does not tell {field}: another version of the operator wrote its status; deploy an operator of this plugin's version"
    )
