"""The Services of a cluster: the headless one, and those for external access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.manifests.metadata import of_cluster

if TYPE_CHECKING:
    from valkey_operator.core.observed import Cluster
    from valkey_operator.core.plan import ExternalService, HeadlessService, ServicePort
    from valkey_operator.manifests.metadata import Manifest


def headless_service(cluster: Cluster, _wanted: HeadlessService) -> Manifest:
    """Gives each pod a DNS name, and clients inside a host; the bus needs no port here, since servers meet by pod IP."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": of_cluster(cluster, names.headless_service(cluster.name)),
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            # A name must lead to its pod before the pod is Ready, or a forming cluster could not be told by name.
            "publishNotReadyAddresses": True,
            "selector": {names.CLUSTER: cluster.name},
            "ports": [
                {
                    "name": "client",
                    "port": names.CLIENT_PORT,
                    "targetPort": names.CLIENT_PORT,
                    "protocol": "TCP",
                    "appProtocol": "tcp",
                }
            ],
        },
    }


def external_service(cluster: Cluster, wanted: ExternalService) -> Manifest:
    """A shard's Service with a port per node, each of which reaches one pod; or, without a shard, the Service over all that serve."""
    return bootstrap_service(cluster, wanted) if wanted.shard is None else shard_service(cluster, wanted)


def shard_service(cluster: Cluster, wanted: ExternalService) -> Manifest:
    """One port per node; a port reaches the one pod whose container port has its target's name."""
    shard = {names.SHARD_INDEX: str(wanted.shard)}
    body = _external(cluster, wanted, labels={names.EXTERNAL_ACCESS: "shard"} | shard)
    body["spec"] |= {
        "selector": {names.CLUSTER: cluster.name} | shard,
        # There is no other pod to send a client to. A server serves for a second before kubelet and EndpointSlice agree that it is Ready,
        # and while it shuts down: clients were told of it, so its port must lead to it all that time.
        "publishNotReadyAddresses": True,
    }
    return body


def bootstrap_service(cluster: Cluster, wanted: ExternalService) -> Manifest:
    """All pods whose server can tell the topology: `valkey.io/serving` is put on them by the operator, and they must be Ready."""
    body = _external(cluster, wanted, labels={names.EXTERNAL_ACCESS: "bootstrap"})
    body["spec"] |= {"selector": {names.CLUSTER: cluster.name, names.SERVING: "true"}, "publishNotReadyAddresses": False}
    return body


def _external(cluster: Cluster, wanted: ExternalService, *, labels: dict[str, str]) -> Manifest:
    metadata = of_cluster(cluster, wanted.name, labels)
    if wanted.annotations:
        metadata["annotations"] = dict(wanted.annotations)
    spec: Manifest = {"type": wanted.type, "ports": [_port(port) for port in wanted.ports]}
    if wanted.traffic_policy is not None:
        spec["externalTrafficPolicy"] = wanted.traffic_policy
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _port(port: ServicePort) -> Manifest:
    body: Manifest = {
        "name": port.name,
        "port": port.port,
        "targetPort": port.target,
        "protocol": "TCP",
        # Else a mesh or a cloud's balancer guesses the protocol from the first bytes, and waits for them.
        "appProtocol": "tcp",
    }
    if port.node_port is not None:
        body["nodePort"] = port.node_port
    return body
