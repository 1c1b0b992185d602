"""What kinds of objects there are and where the API server serves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Key(NamedTuple):
    """Which object of a kind; `namespace` is empty for kinds without one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object: `Kind("valkey.io/v1alpha1", "ValkeyCluster", "valkeyclusters")`."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str | None = None, *segments: str) -> str:
        """The URL path of the collection (of all namespaces without `namespace`), or of what `segments` name in it."""
        root = "apis" if "/" in self.api_version else "api"
        within = ("namespaces", namespace) if self.namespaced and namespace else ()
        return "/".join((root, self.api_version, *within, self.plural, *segments))

    def __str__(self) -> str:
        return self.kind


SERVICE = Kind("v1", "Service", "services")
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
SECRET = Kind("v1", "Secret", "secrets")
POD = Kind("v1", "Pod", "pods")
NODE = Kind("v1", "Node", "nodes", namespaced=False)
NAMESPACE = Kind("v1", "Namespace", "namespaces", namespaced=False)
EVENT = Kind("events.k8s.io/v1", "Event", "events")
STATEFUL_SET = Kind("apps/v1", "StatefulSet", "statefulsets")
POD_DISRUPTION_BUDGET = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")
INGRESS = Kind("networking.k8s.io/v1", "Ingress", "ingresses")
CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
API_SERVICE = Kind("apiregistration.k8s.io/v1", "APIService", "apiservices", namespaced=False)
ENDPOINT_SLICE = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
