from golden.orders import orders
from valkey_operator.api.status import ClusterStatus, NodeStatus
from valkey_operator.core.names import NodeIndex
from valkey_operator.manifests.status import cluster_status, node_status


def test_a_status_is_that_of_the_very_cluster():
    body = cluster_status("orders", namespace="shop", uid="u", status=ClusterStatus(ready_shards=3))
    assert body["metadata"] == {"name": "orders", "namespace": "shop", "uid": "u"}
    assert body["status"]["readyShards"] == 3


def test_a_status_is_that_of_the_very_node():
    body = node_status(orders(), NodeIndex(1, 0), uid="u", status=NodeStatus(pod_ip="10.0.0.1"))
    assert body["metadata"] == {"name": "orders-1-0", "namespace": "shop", "uid": "u"}
    assert body["status"]["podIP"] == "10.0.0.1"
