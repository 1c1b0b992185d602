import pytest

from valkey_operator.core import names
from valkey_operator.core.names import NodeIndex


def test_every_name_of_a_cluster():
    index = NodeIndex(2, 1)
    assert {
        "headless": names.headless_service("orders"),
        "bootstrap": names.bootstrap_service("orders"),
        "shard": names.shard_service("orders", 2),
        "config": names.server_config("orders"),
        "budget": names.disruption_budget("orders"),
        "system": names.system_secret("orders"),
        "acl": names.acl_secret("orders"),
        "connection": names.connection_secret("orders"),
        "record": names.valkey_node("orders", index),
        "workload": names.workload("orders", index),
        "pod": names.pod("orders", index),
        "file": names.announce_file("orders", index),
        "port": names.container_port(index),
    } == {
        "headless": "valkey-orders",
        "bootstrap": "orders",
        "shard": "orders-2",
        "config": "valkey-orders",
        "budget": "valkey-orders",
        "system": "valkey-orders-system",
        "acl": "valkey-orders-acl",
        "connection": "orders-connection",
        "record": "orders-2-1",
        "workload": "valkey-orders-2-1",
        "pod": "valkey-orders-2-1-0",
        "file": "valkey-orders-2-1-announce",
        "port": "valkey-2-1",
    }


def test_container_ports_have_names_that_kubernetes_takes_in_the_largest_clusters():
    assert max(len(names.container_port(index)) for index in names.node_indexes(shards=1000, replicas=5)) <= 15


def test_nodes_come_shard_by_shard():
    assert [str(index) for index in names.node_indexes(shards=2, replicas=1)] == ["0-0", "0-1", "1-0", "1-1"]


def test_an_object_tells_its_node_by_its_labels():
    assert names.index_of(names.node_labels("orders", NodeIndex(2, 1))) == NodeIndex(2, 1)


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"valkey.io/shard-index": "1"},
        {"valkey.io/node-index": "1"},
        {"valkey.io/shard-index": "x", "valkey.io/node-index": "0"},
    ],
)
def test_labels_that_name_no_node(labels):
    assert names.index_of(labels) is None
