"""What the operator knows of routes and Gateways, as far as Kubernetes serves them and lets it look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from valkey_operator.api.external_access import ExternalAccessType
from valkey_operator.controllers import route_views
from valkey_operator.core import names, observed
from valkey_operator.kube.controller import Source
from valkey_operator.kube.errors import Forbidden
from valkey_operator.kube.kinds import API_SERVICE, CUSTOM_RESOURCE_DEFINITION, INGRESS, Key, Kind
from valkey_operator.kube.optional import OptionalReflector
from valkey_operator.kube.reflector import Reflector

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from valkey_operator.api.routes import Routes
    from valkey_operator.controllers.views import Child, InvalidCluster, Seen
    from valkey_operator.kube.client import Kube
    from valkey_operator.kube.observer import Observer

_GATEWAY_API = "gateway.networking.k8s.io"


def _kinds(group: str, kind: str, plural: str, *versions: str) -> tuple[Kind, ...]:
    return tuple(Kind(f"{group}/{version}", kind, plural) for version in versions)


TLS_ROUTES = _kinds(_GATEWAY_API, "TLSRoute", "tlsroutes", "v1", "v1alpha3", "v1alpha2")
TCP_ROUTES = _kinds(_GATEWAY_API, "TCPRoute", "tcproutes", "v1", "v1alpha2")
GATEWAYS = _kinds(_GATEWAY_API, "Gateway", "gateways", "v1", "v1beta1")
OPENSHIFT_ROUTES = _kinds("route.openshift.io", "Route", "routes", "v1")


class RoutingMirror:
    """Reflectors of routes and of what they attach to. Of TCPRoutes and Gateways everything is seen, since ports are shared."""

    def __init__(self, kube: Kube, *, namespace: str | None, reads_definitions: bool, ours: str, observer: Observer) -> None:
        """`reads_definitions`: whether the operator may see which kinds there are; `ours`: the label selector of what it made."""

        def optional(
            kinds: Sequence[Kind],
            project: Callable[[dict[str, Any]], Any],
            index: Callable[[Any], tuple[Hashable, ...]],
            *,
            selector: str | None = ours,
            aggregated: bool = False,
        ) -> OptionalReflector[Any]:
            return OptionalReflector(
                kube,
                kinds,
                project,
                aggregated=aggregated,
                namespace=namespace,
                label_selector=selector,
                index=index,
                observer=observer,
            )

        self._ingresses: Reflector[Seen[observed.Route]] = Reflector(
            kube, INGRESS, route_views.ingress, namespace=namespace, label_selector=ours, index=_under, observer=observer
        )
        self._tcp: OptionalReflector[Seen[observed.Route]] = optional(TCP_ROUTES, route_views.gateway_route, _under, selector=None)
        self._gateways: OptionalReflector[observed.Gateway] = optional(GATEWAYS, route_views.gateway, lambda _: (), selector=None)
        routes = (
            optional(TLS_ROUTES, route_views.gateway_route, _under),
            self._tcp,
            optional(OPENSHIFT_ROUTES, route_views.openshift_route, _under, aggregated=True),
        )
        self._optional = {each.kind.kind: each for each in routes} if reads_definitions else {}
        self._reads_definitions = reads_definitions

    @classmethod
    async def of(cls, kube: Kube, *, namespace: str | None, ours: str, observer: Observer) -> RoutingMirror:
        """A mirror of Ingresses alone where the operator may not see which other kinds there are."""
        asked = (
            (CUSTOM_RESOURCE_DEFINITION, f"{TLS_ROUTES[0].plural}.{_GATEWAY_API}"),
            (API_SERVICE, f"v1.{OPENSHIFT_ROUTES[0].api_version.partition('/')[0]}"),
        )
        try:
            for kind, name in asked:
                await kube.list_all(kind, field_selector=f"metadata.name={name}")
        except Forbidden:
            return cls(kube, namespace=namespace, reads_definitions=False, ours=ours, observer=observer)
        return cls(kube, namespace=namespace, reads_definitions=True, ours=ours, observer=observer)

    def sources(self, clusters: Callable[[], Sequence[observed.Cluster | InvalidCluster]]) -> Iterator[Source[Key, Any]]:
        """The reflectors, each with the clusters that a change in it concerns; `clusters`: all there are."""

        def routed() -> Iterator[tuple[Key, Routes]]:
            for each in clusters():
                if isinstance(each, observed.Cluster) and (routes := _routes_of(each)) is not None:
                    yield Key(each.namespace, each.name), routes

        def of_kind(kind: str) -> Callable[[object], Iterator[Key]]:
            return lambda _: (key for key, routes in routed() if routes.kind == kind)

        def of_gateway(gateway: observed.Gateway) -> Iterator[Key]:
            for key, routes in routed():
                if any(
                    (parent.namespace or key.namespace, parent.name) == (gateway.namespace, gateway.name)
                    for parent in routes.parent_refs
                ):
                    yield key

        yield Source(self._ingresses, _cluster_of)
        for kind, reflector in self._optional.items():
            yield Source(reflector, _cluster_of)
            yield Source(reflector.definition, of_kind(kind))
        if self._reads_definitions:
            yield Source(self._gateways, of_gateway)
            yield Source(self._gateways.definition, lambda _: ())

    def routing(self, cluster: observed.Cluster) -> observed.Routing:
        """What there is for one cluster; of Gateways and of others' routes nothing where it wants no routes."""
        key = Key(cluster.namespace, cluster.name)
        mine = tuple(seen.view for store in self._stores() for seen in store.by(key) if seen.child.is_owned_by(cluster.uid))
        if _routes_of(cluster) is None:
            return observed.Routing(routes=mine)
        return observed.Routing(
            served={kind.kind: kind.api_version for kind in self.kinds().values()},
            routes=mine,
            gateways={f"{each.namespace}/{each.name}": each for each in self._gateways.store.all()},
            others=tuple(
                seen.view for seen in self._tcp.store.all() if not (seen.child.is_owned_by(cluster.uid) and seen.view.ours)
            ),
        )

    def kinds(self) -> dict[str, Kind]:
        """The kinds of routes that are served, by name, in the version that is used."""
        found = {each.served.kind: each.served for each in self._optional.values() if each.served is not None}
        return {INGRESS.kind: INGRESS, **found}

    def child(self, kind: str, namespace: str, name: str) -> Child | None:
        """The route of that kind and name, if it is ours."""
        store = self._ingresses.store if kind == INGRESS.kind else self._optional[kind].store
        seen = store.get(namespace, name)
        return seen.child if seen is not None and seen.view.ours else None

    def _stores(self) -> Iterator[Any]:
        yield self._ingresses.store
        for each in self._optional.values():
            yield each.store


def _routes_of(cluster: observed.Cluster) -> Routes | None:
    access = cluster.spec.external_access
    return access.routes if access.enabled and access.type is ExternalAccessType.INGRESS else None


def _under(seen: Seen[observed.Route]) -> tuple[Hashable, ...]:
    return _cluster_of(seen) if seen.view.ours else ()


def _cluster_of(seen: Seen[observed.Route]) -> tuple[Key, ...]:
    cluster = seen.child.labels.get(names.CLUSTER) if seen.view.ours else None
    return (Key(seen.child.namespace, cluster),) if cluster else ()
