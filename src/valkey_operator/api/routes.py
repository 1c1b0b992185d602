"""Routes that the operator makes: `spec.externalAccess.routes`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from valkey_operator.api.model import Model
from valkey_operator.api.port_rules import LAST_PORT
from valkey_operator.api.rule import ATOMIC, INT32, Rule
from valkey_operator.api.template_rules import AnnotationTemplates


class RouteKind(StrEnum):
    """Which objects lead connections from a router to the cluster's Services."""

    TLS_ROUTE = "TLSRoute"
    TCP_ROUTE = "TCPRoute"
    INGRESS = "Ingress"
    ROUTE = "Route"


GATEWAY_KINDS = frozenset({RouteKind.TLS_ROUTE, RouteKind.TCP_ROUTE})
"""The kinds of the Gateway API, which name their Gateways."""


class ParentRef(Model):
    """A Gateway that the routes attach to."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """The Gateway's name."""

    namespace: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """Its namespace; the cluster's own when unset."""

    section_name: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """One listener of it by name; every listener that lets the routes attach when unset. Not with kind TCPRoute."""

    port: Annotated[int, Field(ge=1, le=LAST_PORT), INT32] | None = None
    """The listeners of one port; those of every port when unset. Not with kind TCPRoute, where each node has a listener's port of its
    own."""


class Routes(Model):
    """Has the operator make the routes too, with type Ingress: one per node and one for bootstrapHost, owned by the ValkeyCluster.

    Nothing is announced before each route is accepted by its parent.
    """

    kind: RouteKind
    """TLSRoute: the Gateway API's, by the name in the TLS handshake. TCPRoute: the Gateway API's, by port: each node has a listener's port
    of its own, from advertisedPort up, so that neither TLS nor names are needed. Ingress: networking.k8s.io, with TLS passthrough. Route:
    OpenShift's, with TLS passthrough. The last two listen on port 443, which is then the default of advertisedPort."""

    parent_refs: Annotated[tuple[ParentRef, ...], Field(max_length=8), ATOMIC] = ()
    """With kinds TLSRoute and TCPRoute, which need one: the Gateways. Example: [{"name": "public", "namespace": "gateways"}]."""

    ingress_class_name: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """With kind Ingress alone: the class, whose controller must pass TLS through. The cluster's default class when unset. Example:
    haproxy."""

    annotations: AnnotationTemplates = Field(default_factory=dict)
    """Annotations of every route. Values may hold {name}, {namespace}, {shard} and {node}."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!(self.kind in ['TLSRoute', 'TCPRoute']) || (has(self.parentRefs) && self.parentRefs.size() > 0)",
            message="name the Gateway that the routes attach to, as in [{name: public, namespace: gateways}]",
            holds=lambda routes: routes.kind not in GATEWAY_KINDS or bool(routes.parent_refs),
            field_path=".parentRefs",
            reason="FieldValueRequired",
        ),
        Rule(
            cel="self.kind in ['TLSRoute', 'TCPRoute'] || !has(self.parentRefs)",
            message="goes with kinds TLSRoute and TCPRoute alone: remove it, or choose one of them",
            holds=lambda routes: routes.kind in GATEWAY_KINDS or not routes.is_set("parent_refs"),
            field_path=".parentRefs",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel="self.kind != 'TCPRoute' || !has(self.parentRefs) || !self.parentRefs.exists(p, has(p.port) || has(p.sectionName))",
            message="with kind TCPRoute each node has a listener's port of its own, from advertisedPort up: remove port and sectionName",
            holds=lambda routes: (
                routes.kind is not RouteKind.TCP_ROUTE
                or not any(parent.is_set("port") or parent.is_set("section_name") for parent in routes.parent_refs)
            ),
            field_path=".parentRefs",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel="self.kind == 'Ingress' || !has(self.ingressClassName)",
            message="goes with kind Ingress alone: remove it, or choose that kind",
            holds=lambda routes: routes.kind is RouteKind.INGRESS or not routes.is_set("ingress_class_name"),
            field_path=".ingressClassName",
            reason="FieldValueForbidden",
        ),
    )
