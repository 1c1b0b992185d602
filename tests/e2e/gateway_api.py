"""The Gateway API: its kinds in the versions of two releases, and Gateways' listeners."""

from dataclasses import dataclass

from . import custom_resources
from .api import Kind
from .custom_resources import Module

GROUP = "gateway.networking.k8s.io"
GATEWAY_CLASS = Kind(f"{GROUP}/v1", "gatewayclasses", namespaced=False)
GATEWAY = Kind(f"{GROUP}/v1", "gateways")
TLS_ROUTE = Kind(f"{GROUP}/v1", "tlsroutes")
TCP_ROUTE = Kind(f"{GROUP}/v1", "tcproutes")
PLURALS = (
    "gatewayclasses",
    "gateways",
    "httproutes",
    "grpcroutes",
    "tlsroutes",
    "tcproutes",
    "referencegrants",
    "backendtlspolicies",
)
"""The kinds that Gateways read, whether somebody uses them or not."""


@dataclass(frozen=True, slots=True)
class Release:
    """The experimental channel of one release."""

    module: Module
    more: tuple[str, ...] = ()

    def definitions(self):
        names = (f"{GROUP}_{plural}.yaml" for plural in (*PLURALS, *self.more))
        return self.module.definitions("config/crd/experimental", *names)


MODULE = "sigs.k8s.io/gateway-api"
CURRENT = Release(Module(MODULE, "v1.6.3", "h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc="), more=("listenersets",))
"""TLSRoute v1, v1alpha3 and v1alpha2 (stored as v1); TCPRoute v1 and v1alpha2 (stored as v1)."""
OLDER = Release(Module(MODULE, "v1.4.1", "h1:NPxFutNkKNa8UfLd2CMlEuhIPMQgDQ6DXNKG9sHbJU8="))
"""TLSRoute v1alpha3 (stored) and v1alpha2; TCPRoute v1alpha2."""


def install(api, release=CURRENT):
    """The API server serves the kinds of the release afterwards. From the older one to the current this is an upgrade; the other way, uninstall first."""
    custom_resources.install(api, release.definitions())


def uninstall(api):
    """The API server knows nothing of the Gateway API afterwards."""
    custom_resources.uninstall(api, CURRENT.definitions())


def tls(name, port, *, hostname=None, namespaces=None):
    """A Gateway's listener that passes TLS connections on by the name that they ask for (TLSRoute)."""
    named = {"hostname": hostname} if hostname else {}
    return _listener(name, port, "TLS", namespaces) | {"tls": {"mode": "Passthrough"}} | named


def tcp(name, port, *, namespaces=None):
    """A Gateway's listener that passes all connections on (TCPRoute)."""
    return _listener(name, port, "TCP", namespaces)


def _listener(name, port, protocol, namespaces):
    """Routes may come from all namespaces, or from those that `namespaces` says: {"from": "Same"}, {"from": "Selector", "selector": …}."""
    return {"name": name, "port": port, "protocol": protocol, "allowedRoutes": {"namespaces": namespaces or {"from": "All"}}}


def tls_route(name, namespace, *, hostnames, **of_route):
    """A TLSRoute (of v1) that leads these names from its `parents` to a `service` at a `port`."""
    return _route("TLSRoute", name, namespace, hostnames=hostnames, **of_route)


def tcp_route(name, namespace, **of_route):
    """A TCPRoute (of v1) that leads all connections from its `parents` to a `service` at a `port`."""
    return _route("TCPRoute", name, namespace, **of_route)


def _route(kind, name, namespace, *, parents, service, port, **more):
    rules = [{"backendRefs": [{"name": service, "port": port}]}]
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": {"parentRefs": parents, **more, "rules": rules},
    }
