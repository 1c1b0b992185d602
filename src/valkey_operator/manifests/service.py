"""The Services of a cluster: the headless one, and those for external access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.manifests.metadata import of_cluster

if TYPE_CHECKING:
    from valkey_operator.core.observed import Balancing, Cluster
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
    """A Service for external access: what the cloud adds to it (class, annotations, health-check port, finalizers) is not ours and stays."""
    labels = {names.EXTERNAL_ACCESS: wanted.role.value}
    if wanted.shard is not None:
        labels[names.SHARD_INDEX] = str(wanted.shard)
    metadata = of_cluster(cluster, wanted.name, labels)
    if wanted.annotations:
        metadata["annotations"] = dict(wanted.annotations)
    spec: Manifest = {
        "type": wanted.type,
        "selector": {names.CLUSTER: cluster.name, **wanted.selector},
        "ports": [_port(port) for port in wanted.ports],
        # A server serves for a second before kubelet and EndpointSlice agree that it is Ready, and while it shuts down: clients were told
        # of it, so its port leads to it all that time.
        "publishNotReadyAddresses": wanted.publish_not_ready,
    }
    if wanted.traffic_policy is not None:
        spec["externalTrafficPolicy"] = wanted.traffic_policy
    if wanted.ip_families:
        spec["ipFamilies"] = list(wanted.ip_families)
        spec["ipFamilyPolicy"] = "RequireDualStack" if len(wanted.ip_families) > 1 else "SingleStack"
    if wanted.type == "LoadBalancer":
        spec |= _balancing(wanted.balancing)
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _balancing(balancing: Balancing) -> Manifest:
    body: Manifest = {}
    if balancing.load_balancer_class is not None:
        body["loadBalancerClass"] = balancing.load_balancer_class
    if balancing.source_ranges:
        body["loadBalancerSourceRanges"] = list(balancing.source_ranges)
    if balancing.allocate_node_ports is not None:
        body["allocateLoadBalancerNodePorts"] = balancing.allocate_node_ports
    return body


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
