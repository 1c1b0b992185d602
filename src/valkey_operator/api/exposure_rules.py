"""What the types of external access need of the rest of the spec: rules of the spec, since they need shards, replicas and TLS.

Two endpoints must differ in host or port. Where the type gives them the same ports, the template has to tell their hosts apart.
"""

from __future__ import annotations

from typing import Any, Literal

from valkey_operator.api import template
from valkey_operator.api.port_rules import LAST_PORT, MAX_NODES
from valkey_operator.api.rule import Rule

_ACCESS = "self.externalAccess"
_HOST = f"{_ACCESS}.advertisedHost"
_PORT = f"{_ACCESS}.advertisedPort"
_SCOPE = f"(has({_ACCESS}.loadBalancerScope) ? {_ACCESS}.loadBalancerScope : 'Shard')"
_SEVERAL = {"shard": "self.shards > 1", "node": "self.replicas > 0"}


def _of_type(type_: str) -> str:
    """CEL: whether external access is of that type, on or off."""
    return f"has({_ACCESS}) && has({_ACCESS}.type) && {_ACCESS}.type == '{type_}'"


_BY_PORT = f"has({_ACCESS}.routes) && {_ACCESS}.routes.kind == 'TCPRoute'"
"""CEL: whether, with type Ingress, ports tell nodes apart."""


def _is(spec: Any, type_: str) -> bool:  # noqa: ANN401  # the spec's class is made of this module's
    """The twin of `_of_type`."""
    access = spec.external_access
    return bool(access.is_set("type")) and access.type == type_


def _needs(
    placeholder: Literal["shard", "node"], *, type_: str, scopes: tuple[str, ...] = ("Shard", "Node", "Cluster"), message: str
) -> Rule:
    """The template must have the placeholder where there are several to tell apart, once such external access is on."""
    listed = ", ".join(f"'{scope}'" for scope in scopes)
    by_port = f" && !({_BY_PORT})" if type_ == "Ingress" else ""
    asked = f"{_of_type(type_)}{by_port} && {_ACCESS}.enabled && has({_HOST}) && {_SEVERAL[placeholder]} && {_SCOPE} in [{listed}]"

    def holds(spec: Any) -> bool:  # noqa: ANN401  # as above
        access = spec.external_access
        several = spec.shards > 1 if placeholder == "shard" else spec.replicas > 0
        if not (
            _is(spec, type_)
            and not access.by_port
            and access.enabled
            and access.advertised_host
            and several
            and access.load_balancer_scope in scopes
        ):
            return True
        return placeholder in template.placeholders(access.advertised_host)

    return Rule(
        cel=f"!({asked}) || {_HOST}.contains('{{{placeholder}}}')",
        message=message,
        holds=holds,
        field_path=".externalAccess.advertisedHost",
    )


def _last_port(spec: Any) -> int:  # noqa: ANN401  # as above
    """The highest port of a balancer at the first allocation."""
    beyond = {"Shard": spec.replicas, "Node": 0, "Cluster": spec.shards * (1 + spec.replicas)}
    return int(spec.external_access.port + beyond[spec.external_access.load_balancer_scope])


INGRESS_NEEDS_TLS = Rule(
    cel=f"!({_of_type('Ingress')} && !({_BY_PORT}) && {_ACCESS}.enabled) || has(self.tls)",
    message="with type Ingress routes go by the name in the TLS handshake (SNI): set it, or choose type LoadBalancer or NodePort",
    holds=lambda spec: (
        not (_is(spec, "Ingress") and not spec.external_access.by_port and spec.external_access.enabled) or spec.is_set("tls")
    ),
    field_path=".tls",
    reason="FieldValueRequired",
)

EXPOSURE_RULES = (
    INGRESS_NEEDS_TLS,
    _needs(
        "shard",
        type_="Ingress",
        message="with type Ingress all shards have the same port, so each needs a host of its own: put {shard} into it",
    ),
    _needs(
        "shard",
        type_="LoadBalancer",
        scopes=("Shard", "Node"),
        message=(
            "each shard has load balancers of its own with the same ports as the others', and one host cannot lead to all of them: "
            "put {shard} into it, or set loadBalancerScope to Cluster"
        ),
    ),
    _needs(
        "node",
        type_="LoadBalancer",
        scopes=("Node",),
        message=(
            "each node has a load balancer of its own with the same port as the others', and one host cannot lead to all of them: "
            "put {node} into it, or set loadBalancerScope to Shard"
        ),
    ),
    Rule(
        # the rules run on numbers out of range as well, which their own fields have told of
        cel=(
            f"!({_of_type('LoadBalancer')} && has({_PORT})) || {_PORT} > {LAST_PORT} || self.shards > {MAX_NODES} || {_PORT} + "
            f"({_SCOPE} == 'Node' ? 0 : {_SCOPE} == 'Cluster' ? self.shards * (1 + self.replicas) : self.replicas) <= {LAST_PORT}"
        ),
        message=(
            "the last port is advertisedPort + replicas, with loadBalancerScope Cluster advertisedPort + shards × (1 + replicas), "
            f"and must be at most {LAST_PORT}: lower it"
        ),
        holds=lambda spec: not _is(spec, "LoadBalancer") or _last_port(spec) <= LAST_PORT,
        field_path=".externalAccess.advertisedPort",
    ),
)
"""Rules of the spec about external access."""
