"""Specs with routes that the API server refuses, with what it prints, and specs that it accepts."""

from typing import Any

from integration.api.exposure_examples import SAME_HOST, balancer, ingress, refused, without
from integration.api.node_port_examples import node_port
from integration.api.refusal import UNCHECKED, Refused

PUBLIC = {"name": "public", "namespace": "gateways"}
TLS_ROUTE: dict[str, Any] = {"kind": "TLSRoute", "parentRefs": [PUBLIC]}
TCP_ROUTE: dict[str, Any] = {"kind": "TCPRoute", "parentRefs": [PUBLIC]}
BEGIN = "{name}.example.com"


def named(routes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Routes that go by name."""
    return ingress(**{"bootstrapHost": BEGIN, "routes": routes, **fields})


def ported(*, shards: int = 3, replicas: int = 1, routes: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Routes that go by port, without TLS and without a name."""
    access = {"enabled": True, "type": "Ingress", "routes": {**TCP_ROUTE, **(routes or {})}, **fields}
    return {"shards": shards, "replicas": replicas, "externalAccess": access}


def unchecked(title: str, spec: dict[str, Any], line: str) -> Refused:
    return Refused(title, spec, (f"spec.externalAccess.{line}", UNCHECKED))


NO_GATEWAY = (
    "routes.parentRefs: Required value: name the Gateway that the routes attach to, as in [{name: public, namespace: gateways}]"
)
NO_GATEWAYS = "routes.parentRefs: Forbidden: goes with kinds TLSRoute and TCPRoute alone: remove it, or choose one of them"
OWN_PORTS = (
    "routes.parentRefs: Forbidden: with kind TCPRoute each node has a listener's port of its own, from advertisedPort up: remove port and "
    "sectionName"
)
NO_CLASS = "routes.ingressClassName: Forbidden: goes with kind Ingress alone: remove it, or choose that kind"
FOR_INGRESS = "routes: Forbidden: goes with type Ingress alone: remove it, or set type to Ingress"
NO_BEGIN = (
    "bootstrapHost: Required value: routes go by name, and clients begin at one of their own: set it, for example to {name}.example.com, "
    "or bootstrapService to false"
)
NAMES_ALONE = "must be a host name with type Ingress, since a TLS handshake names no IP address (SNI)"

ROUTE_REFUSED = (
    # what belongs together
    refused("TLSRoutes to nowhere", named({"kind": "TLSRoute"}), NO_GATEWAY),
    refused("TLSRoutes to no Gateway", named({"kind": "TLSRoute", "parentRefs": []}), NO_GATEWAY),
    refused("TCPRoutes to nowhere", without("advertisedHost", named({"kind": "TCPRoute"})), NO_GATEWAY),
    refused("an Ingress to a Gateway", named({"kind": "Ingress", "parentRefs": [PUBLIC]}), NO_GATEWAYS),
    refused("a Route of OpenShift to a Gateway", named({"kind": "Route", "parentRefs": [PUBLIC]}), NO_GATEWAYS),
    refused("TCPRoutes to one port", ported(routes={"parentRefs": [PUBLIC, {"name": "own", "port": 6380}]}), OWN_PORTS),
    refused("TCPRoutes to one listener", ported(routes={"parentRefs": [{**PUBLIC, "sectionName": "valkey"}]}), OWN_PORTS),
    refused("TCPRoutes to one port that are off", ported(enabled=False, routes={"parentRefs": [{**PUBLIC, "port": 1}]}), OWN_PORTS),
    refused("an Ingress class for TLSRoutes", named({**TLS_ROUTE, "ingressClassName": "haproxy"}), NO_CLASS),
    refused("an Ingress class for OpenShift", named({"kind": "Route", "ingressClassName": "haproxy"}), NO_CLASS),
    refused("routes to node ports", node_port(routes=TCP_ROUTE), FOR_INGRESS),
    refused("routes to load balancers", balancer(routes=TLS_ROUTE), FOR_INGRESS),
    refused("routes to node ports that are off", node_port(enabled=False, routes={"kind": "Ingress"}), FOR_INGRESS),
    # names
    refused("routes by name without one to begin at", without("bootstrapHost", named(TLS_ROUTE)), NO_BEGIN),
    refused("an Ingress without a name to begin at", without("bootstrapHost", named({"kind": "Ingress"})), NO_BEGIN),
    refused(
        "routes by name without one to begin at, for a Service",
        without("bootstrapHost", named(TLS_ROUTE, bootstrapService=True)),
        NO_BEGIN,
    ),
    Refused(
        "routes by name without TLS",
        {"shards": 3, "externalAccess": named(TLS_ROUTE)["externalAccess"]},
        (
            (
                "spec.tls: Required value: with type Ingress routes go by the name in the TLS handshake (SNI): set it, or choose type "
                "LoadBalancer or NodePort"
            ),
        ),
    ),
    refused(
        "routes by name without a host",
        without("advertisedHost", named({"kind": "Route"})),
        (
            "advertisedHost: Required value: with type Ingress it is the host that leads to a node: set it, for example to "
            "{name}-{shard}-{node}.example.com"
        ),
    ),
    refused(
        "routes by name to an address",
        named(TLS_ROUTE, advertisedHost="192.0.2.{shard}"),
        f"advertisedHost: Invalid value: {NAMES_ALONE}",
    ),
    refused(
        "routes by name that begin at an address",
        named(TLS_ROUTE, bootstrapHost="192.0.2.7"),
        f"bootstrapHost: Invalid value: {NAMES_ALONE}",
    ),
    refused("routes by one name", named(TLS_ROUTE, shards=1, advertisedHost=BEGIN), SAME_HOST),
    refused(
        "routes by one name for all shards",
        named(TLS_ROUTE, advertisedHost="{node}.example.com"),
        (
            "advertisedHost: Invalid value: with type Ingress all shards have the same port, so each needs a host of its own: put {shard} "
            "into it"
        ),
    ),
    # fields of their own
    unchecked("routes of no kind", named({"parentRefs": [PUBLIC]}), "routes.kind: Required value"),
    unchecked(
        "routes of an unknown kind",
        named({"kind": "HTTPRoute"}),
        'routes.kind: Unsupported value: "HTTPRoute": supported values: "TLSRoute", "TCPRoute", "Ingress", "Route"',
    ),
    unchecked(
        "a Gateway without a name", named({**TLS_ROUTE, "parentRefs": [{"port": 1}]}), "routes.parentRefs[0].name: Required value"
    ),
    unchecked(
        "nine Gateways",
        named({**TLS_ROUTE, "parentRefs": [{"name": f"gateway-{number}"} for number in range(9)]}),
        "routes.parentRefs: Too many: 9: must have at most 8 items",
    ),
    refused(
        "a Gateway's port out of range",
        named({**TLS_ROUTE, "parentRefs": [{**PUBLIC, "port": 65536}]}),
        (
            "routes.parentRefs[0].port: Invalid value: 65536: spec.externalAccess.routes.parentRefs[0].port in body should be less than or "
            "equal to 65535"
        ),
    ),
    refused(
        "a placeholder in a route's annotation that nobody knows",
        named({**TLS_ROUTE, "annotations": {"example.com/note": "{host}"}}),
        (
            "routes.annotations: Invalid value: a value has an unknown placeholder: known here are {name}, {namespace}, {shard}, {node}"
        ),
    ),
    refused(
        "a route's annotation with a space in its name",
        named({**TLS_ROUTE, "annotations": {"a note": ""}}),
        (
            "routes.annotations: Invalid value: a key is no annotation's name: write name or domain/name, the name of at most 63 letters, "
            "digits, '-', '_' and '.'"
        ),
    ),
)

ROUTE_ACCEPTED: dict[str, dict[str, Any]] = {
    "TLSRoutes": named(TLS_ROUTE),
    "TLSRoutes with all that goes with them": named(
        {
            **TLS_ROUTE,
            "parentRefs": [{**PUBLIC, "sectionName": "valkey", "port": 6380}, {"name": "own"}],
            "annotations": {"example.com/note": "{name}-{shard}-{node}.{namespace}"},
        },
        replicas=2,
        advertisedPort=7000,
        serviceAnnotations={"example.com/note": "{name}"},
    ),
    "eight Gateways": named({**TLS_ROUTE, "parentRefs": [{"name": f"gateway-{number}"} for number in range(8)]}),
    "TLSRoutes without a Service to begin at": without("bootstrapHost", named(TLS_ROUTE, bootstrapService=False)),
    "TLSRoutes that are off without a name to begin at": without("bootstrapHost", named(TLS_ROUTE, enabled=False)),
    "TLSRoutes to shards": named(TLS_ROUTE, replicas=1, advertisedHost="{name}-{shard}.example.com"),
    "TCPRoutes without TLS and without a host": ported(),
    "TCPRoutes with TLS": {**ported(), "tls": {"certificate": {"secretName": "my-cluster-tls"}}},
    "TCPRoutes to one name": ported(advertisedHost=BEGIN, bootstrapHost=BEGIN, advertisedPort=7000),
    "TCPRoutes to one address": ported(advertisedHost="192.0.2.7", bootstrapHost="192.0.2.7"),
    "TCPRoutes to names": ported(advertisedHost="{name}-{shard}-{node}.example.com", bootstrapHost=BEGIN),
    "TCPRoutes without a Service to begin at": ported(bootstrapService=False),
    "Ingresses": named({"kind": "Ingress"}),
    "Ingresses of a class": named({"kind": "Ingress", "ingressClassName": "haproxy", "annotations": {}}, advertisedPort=8443),
    "Routes of OpenShift": named({"kind": "Route"}),
    "routes while there is no type": {"shards": 3, "externalAccess": {"routes": TLS_ROUTE}},
}
