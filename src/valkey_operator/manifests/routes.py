"""Routes for external access: of the Gateway API, Ingresses with TLS passthrough, and OpenShift's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.manifests.metadata import of_cluster

if TYPE_CHECKING:
    from valkey_operator.core.observed import Cluster, ListenerRef
    from valkey_operator.core.plan import ExternalRoute
    from valkey_operator.manifests.metadata import Manifest

_PASSTHROUGH = (
    "nginx.ingress.kubernetes.io/ssl-passthrough",
    "haproxy.org/ssl-passthrough",
    "haproxy-ingress.github.io/ssl-passthrough",
)
"""How controllers are told to pass TLS on, of which Ingresses themselves know nothing."""


def external_route(cluster: Cluster, wanted: ExternalRoute) -> Manifest:
    """A route from outside to the Service of its name."""
    labels = {names.EXTERNAL_ACCESS: wanted.role.value}
    if wanted.shard is not None:
        labels[names.SHARD_INDEX] = str(wanted.shard)
    metadata = of_cluster(cluster, wanted.name, labels)
    annotations = dict.fromkeys(_PASSTHROUGH, "true") if wanted.kind == "Ingress" else {}
    annotations |= wanted.annotations
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": wanted.api_version, "kind": wanted.kind, "metadata": metadata, "spec": _SPECS[wanted.kind](wanted)}


def _gateway_route(wanted: ExternalRoute) -> Manifest:
    spec: Manifest = {
        "parentRefs": [_parent(parent) for parent in wanted.parents],
        "rules": [{"backendRefs": [{"name": wanted.name, "port": wanted.port.port}]}],
    }
    return {"hostnames": list(wanted.hosts), **spec} if wanted.hosts else spec


def _parent(parent: ListenerRef) -> Manifest:
    body: Manifest = {"name": parent.name, "namespace": parent.namespace}
    if parent.section:
        body["sectionName"] = parent.section
    if parent.port:
        body["port"] = parent.port
    return body


def _ingress(wanted: ExternalRoute) -> Manifest:
    spec: Manifest = {"rules": [{"host": host, "http": {"paths": [_path(wanted)]}} for host in wanted.hosts]}
    return {"ingressClassName": wanted.ingress_class, **spec} if wanted.ingress_class is not None else spec


def _path(wanted: ExternalRoute) -> Manifest:
    return {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": wanted.name, "port": {"number": wanted.port.port}}},
    }


def _openshift_route(wanted: ExternalRoute) -> Manifest:
    return {
        "host": wanted.hosts[0],
        "to": {"kind": "Service", "name": wanted.name},
        "port": {"targetPort": wanted.port.name},
        "tls": {"termination": "passthrough"},
    }


_SPECS = {"TLSRoute": _gateway_route, "TCPRoute": _gateway_route, "Ingress": _ingress, "Route": _openshift_route}
