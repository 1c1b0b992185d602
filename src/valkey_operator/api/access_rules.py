"""Which fields of `externalAccess` go with which type, and what each type needs: rules of that object, and of single fields of it.

What contradicts the written type is refused even while external access is off; what a type needs is asked for once it is on.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Network, ip_network
from typing import Any

from pydantic.alias_generators import to_snake

from valkey_operator.api import template
from valkey_operator.api.rule import Rule, found, quoted

_DNS_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_CLASS = rf"^({_DNS_NAME}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$"
_NETWORK = re.compile(r"[0-9A-Fa-f:.]+/(0|[1-9][0-9]{0,2})")

NO_BOOTSTRAP = "there is no Service of all shards while bootstrapService is false: remove one of the two"


def is_network(text: str) -> bool:
    """Whether the text is a network as Kubernetes writes them: no netmask, no zone, no mapped IPv4, no bits beyond the length."""
    if not _NETWORK.fullmatch(text):
        return False
    try:
        network = ip_network(text)
    except ValueError:
        return False
    return not isinstance(network, IPv6Network) or network.network_address.ipv4_mapped is None


def distinct(what: str) -> Rule:
    """A list must not name the same thing twice."""
    return Rule(
        cel="self.all(t, self.exists_one(u, u == t))",
        message=f"names a {what} twice: list each at most once",
        holds=lambda entries: len(set(entries)) == len(entries),
    )


SOURCE_RANGE = Rule(
    # Kubernetes takes 10.0.0.1/8 as well but calls it ambiguous, in a warning that only whoever writes the Service gets to see
    cel="isCIDR(self) && cidr(self) == cidr(self).masked()",
    message="must be a network, its address without bits beyond the length: write 203.0.113.0/24 or 2001:db8::/32",
    holds=is_network,
)
"""A rule of one of loadBalancerSourceRanges."""

BALANCER_CLASS = Rule(
    cel=f"self.matches({quoted(_CLASS)}) && self.indexOf('/') <= {template.MAX_HOST}",
    message="must be name or domain/name, the name of at most 63 letters, digits, '-', '_' and '.', as in example.com/internal",
    holds=lambda text: found(_CLASS, text) and text.find("/") <= template.MAX_HOST,
)
"""A rule of loadBalancerClass: what Kubernetes asks of it in a Service."""


def _has(access: Any, field: str) -> bool:  # noqa: ANN401  # the class is made of this module's
    """The twin of `has(self.field)`."""
    attribute = to_snake(field)
    return bool(access.is_set(attribute)) and getattr(access, attribute) is not None


def _is(access: Any, *types: str) -> bool:  # noqa: ANN401  # as above
    """Whether the written type is one of these."""
    return _has(access, "type") and access.type in types


_BY_NAME = "self.type == 'Ingress' && !(has(self.routes) && self.routes.kind == 'TCPRoute')"
"""CEL: whether names in the TLS handshake tell nodes apart."""


def _by_name(access: Any) -> bool:  # noqa: ANN401  # as above
    """The twin of `_BY_NAME`."""
    return _is(access, "Ingress") and not access.by_port


def _goes_with(type_: str, field: str) -> Rule:
    """The field goes with one type alone; while no type is written it may stay."""
    return Rule(
        cel=f"!has(self.{field}) || !has(self.type) || self.type == '{type_}'",
        message=f"goes with type {type_} alone: remove it, or set type to {type_}",
        holds=lambda access: not _has(access, field) or not _has(access, "type") or _is(access, type_),
        field_path=f".{field}",
        reason="FieldValueForbidden",
    )


def _no_address(field: str) -> Rule:
    """SNI carries names alone, and a template of numbers, such as 10.0.0.{shard}, renders to addresses."""
    sample = f"self.{field}.replace('{{shard}}', '0').replace('{{node}}', '0')"
    return Rule(
        cel=f"!has(self.{field}) || !has(self.type) || !({_BY_NAME}) || !isIP({sample})",
        message="must be a host name with type Ingress, since a TLS handshake names no IP address (SNI)",
        holds=lambda access: (
            not (
                _has(access, field)
                and _by_name(access)
                and template.is_ipv4(template.render(getattr(access, to_snake(field)), name="a", namespace="a", shard=0, node=0))
            )
        ),
        field_path=f".{field}",
    )


_TYPE_RULES = (
    Rule(
        cel="!self.enabled || has(self.type)",
        message="say how clients outside reach the cluster: set type to Ingress, LoadBalancer or NodePort",
        holds=lambda access: not access.enabled or _has(access, "type"),
        field_path=".type",
        reason="FieldValueRequired",
    ),
    Rule(
        cel="!has(self.advertisedPort) || !has(self.type) || self.type != 'NodePort'",
        message="with type NodePort the ports that Kubernetes allocates are advertised: remove it; to ask for certain ports set nodePort.startPort",
        holds=lambda access: not _has(access, "advertisedPort") or not _is(access, "NodePort"),
        field_path=".advertisedPort",
        reason="FieldValueForbidden",
    ),
    _goes_with("NodePort", "nodePort"),
    _goes_with("LoadBalancer", "loadBalancerScope"),
    _goes_with("LoadBalancer", "loadBalancerClass"),
    _goes_with("LoadBalancer", "loadBalancerSourceRanges"),
    _goes_with("LoadBalancer", "allocateLoadBalancerNodePorts"),
    _goes_with("Ingress", "routes"),
)

_HOST_RULES = (
    Rule(
        cel=f"!self.enabled || !has(self.type) || !({_BY_NAME}) || has(self.advertisedHost)",
        message="with type Ingress it is the host that leads to a node: set it, for example to {name}-{shard}-{node}.example.com",
        holds=lambda access: not access.enabled or not _by_name(access) or _has(access, "advertisedHost"),
        field_path=".advertisedHost",
        reason="FieldValueRequired",
    ),
    _no_address("advertisedHost"),
    _no_address("bootstrapHost"),
    Rule(
        cel=(
            "!has(self.bootstrapHost) || !has(self.advertisedHost) || self.bootstrapHost != self.advertisedHost || !has(self.type)"
            f" || (self.type != 'LoadBalancer' && !({_BY_NAME})) || (has(self.loadBalancerScope) && self.loadBalancerScope == 'Cluster')"
        ),
        message=(
            "cannot be advertisedHost as well, since another Service, which serves the same port, is behind it: choose another name, "
            "or remove it"
        ),
        holds=lambda access: (
            not _has(access, "bootstrapHost")
            or access.bootstrap_host != access.advertised_host
            or not (_is(access, "LoadBalancer") or _by_name(access))
            or access.load_balancer_scope == "Cluster"
        ),
        field_path=".bootstrapHost",
    ),
    Rule(
        cel=(
            f"!self.enabled || !has(self.type) || !has(self.routes) || !({_BY_NAME}) || has(self.bootstrapHost)"
            " || (has(self.bootstrapService) && !self.bootstrapService)"
        ),
        message="routes go by name, and clients begin at one of their own: set it, for example to {name}.example.com, or bootstrapService to false",
        holds=lambda access: (
            not (access.enabled and _has(access, "routes") and _by_name(access))
            or _has(access, "bootstrapHost")
            or not access.bootstrap_service
        ),
        field_path=".bootstrapHost",
        reason="FieldValueRequired",
    ),
    Rule(
        cel="!has(self.bootstrapHost) || !has(self.bootstrapService) || self.bootstrapService",
        message=NO_BOOTSTRAP,
        holds=lambda access: not _has(access, "bootstrapHost") or access.bootstrap_service,
        field_path=".bootstrapHost",
        reason="FieldValueForbidden",
    ),
    Rule(
        cel="!has(self.nodePort) || !has(self.nodePort.bootstrapPort) || !has(self.bootstrapService) || self.bootstrapService",
        message=NO_BOOTSTRAP,
        holds=lambda access: access.node_port.bootstrap_port is None or access.bootstrap_service,
        field_path=".nodePort.bootstrapPort",
        reason="FieldValueForbidden",
    ),
)

_BALANCER_RULES = (
    Rule(
        cel="!has(self.externalTrafficPolicy) || !has(self.type) || self.type != 'Ingress'",
        message="with type Ingress connections come from the router, to Services that have no such policy: remove it",
        holds=lambda access: not _has(access, "externalTrafficPolicy") or not _is(access, "Ingress"),
        field_path=".externalTrafficPolicy",
        reason="FieldValueForbidden",
    ),
    Rule(
        cel=(
            "!has(self.externalTrafficPolicy) || self.externalTrafficPolicy != 'Local' || !has(self.type) || self.type != 'LoadBalancer'"
            " || (has(self.loadBalancerScope) && self.loadBalancerScope == 'Node')"
        ),
        message=(
            "with Local a load balancer for several nodes loses connections, since it learns which Kubernetes nodes run any of their pods, "
            "not which runs a port's: set loadBalancerScope to Node, or externalTrafficPolicy to Cluster"
        ),
        holds=lambda access: (
            access.external_traffic_policy != "Local" or not _is(access, "LoadBalancer") or access.load_balancer_scope == "Node"
        ),
        field_path=".externalTrafficPolicy",
    ),
    Rule(
        cel=(
            "!(oldSelf.enabled && has(oldSelf.type) && oldSelf.type == 'LoadBalancer')"
            " || !(self.enabled && has(self.type) && self.type == 'LoadBalancer')"
            " || (has(self.loadBalancerClass) ? self.loadBalancerClass : '')"
            " == (has(oldSelf.loadBalancerClass) ? oldSelf.loadBalancerClass : '')"
        ),
        message=(
            "Kubernetes keeps the class of a load balancer for its life: set type to NodePort and remove the class first, and set both "
            "anew once status.externalAccess.drainingSince has come and gone"
        ),
        field_path=".loadBalancerClass",
    ),
)

ACCESS_RULES = (*_TYPE_RULES, *_HOST_RULES, *_BALANCER_RULES)
"""Rules of `externalAccess`."""
