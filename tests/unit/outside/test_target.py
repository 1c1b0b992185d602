import pytest

from unit.outside.given import cluster, node_id, nodes, orders
from valkey_operator.core.names import NodeIndex
from valkey_operator.outside.errors import NotCheckedError
from valkey_operator.outside.target import Pair, require_ids, target


def complaint(*objects):
    with pytest.raises(NotCheckedError) as raised:
        target(*objects)
    return str(raised.value)


def test_every_endpoint_is_dialled_once_and_then_where_clients_begin():
    assert [str(pair) for pair in orders().pairs] == [
        "192.0.2.10:31200",
        "192.0.2.11:31300",
        "192.0.2.11:31201",
        "192.0.2.12:31301",
        "192.0.2.12:31202",
        "192.0.2.10:31302",
        "192.0.2.10:31199",
    ]


def test_at_an_endpoint_its_own_node_is_expected_and_where_clients_begin_any():
    found = orders()
    assert found.expected(Pair("192.0.2.11", 31300)) == {node_id(0, 1)}
    assert len(found.expected(Pair("192.0.2.10", 31199))) == 6


def test_an_address_that_stands_for_a_shard_leads_to_its_primary():
    shared = [
        {
            "shard": 0,
            "nodes": [
                {"node": 0, "role": "replica", "host": "o.example.com", "port": 6380, "announced": True},
                {"node": 1, "role": "primary", "host": "o.example.com", "port": 6380, "announced": True},
            ],
        }
    ]
    found = orders(endpoints=shared, bootstrap=None)
    assert found.pairs == (("o.example.com", 6380),)
    assert found.expected(Pair("o.example.com", 6380)) == {node_id(0, 1)}


def test_whether_there_is_tls_is_read_from_the_spec():
    secured = cluster()
    secured["spec"]["tls"] = {"certificate": {"secretName": "c"}}
    assert [target(cluster()).tls, target(secured).tls] == [False, True]


def test_an_ipv6_address_is_told_in_brackets():
    found = orders(bootstrap={"addresses": ["[2001:db8::1]:6380"]})
    assert found.bootstrap == (("2001:db8::1", 6380),)
    assert str(found.bootstrap[0]) == "[2001:db8::1]:6380"


def test_a_cluster_without_external_access_is_said_to_have_none_and_how_to_get_it():
    inside = cluster()
    inside["spec"]["externalAccess"]["enabled"] = False
    assert complaint(inside) == (
        "ValkeyCluster shop/orders has no external access, so clients outside cannot reach it: set spec.externalAccess.enabled to true"
    )


def test_without_any_endpoint_the_operators_own_words_are_told():
    waiting = cluster(endpoints=[])
    waiting["status"]["conditions"] = [
        {"type": "ExternalAccessReady", "status": "False", "reason": "WaitingForLoadBalancer", "message": "Service orders-0 waits"}
    ]
    assert complaint(waiting) == "ValkeyCluster shop/orders has no endpoint yet: WaitingForLoadBalancer: Service orders-0 waits"


def test_a_cluster_that_no_operator_has_seen_is_told_so():
    new = cluster()
    del new["status"]
    assert complaint(new) == "ValkeyCluster shop/orders has no endpoint yet: the operator has not told anything yet: does it run?"


@pytest.mark.parametrize(
    ("endpoints", "field"),
    [
        ([{"shard": 0, "host": "a", "port": 1}], "status.externalAccess.endpoints[0].nodes"),
        ([{"shard": 0, "nodes": [{"node": 0, "host": "a", "port": 1}]}], "status.externalAccess.endpoints[0].nodes[].announced"),
        ([{"shard": 2, "nodes": [{"node": 0, "address": "a:1"}]}], "status.externalAccess.endpoints[2].nodes[].host"),
    ],
)
def test_a_status_of_another_version_is_told_by_the_field_that_it_lacks(endpoints, field):
    assert complaint(cluster(endpoints=endpoints)) == (
        f"ValkeyCluster shop/orders does not tell {field}: another version of the operator wrote its status; "
        "deploy an operator of this plugin's version"
    )


def test_a_bootstrap_address_without_a_port_is_a_status_of_another_version():
    assert "status.externalAccess.bootstrap.addresses (host:port)" in complaint(cluster(bootstrap={"addresses": ["192.0.2.10"]}))


def test_records_that_tell_no_node_id_are_of_another_version():
    without = nodes()
    for node in without:
        del node["status"]["nodeId"]
    with pytest.raises(NotCheckedError, match=r"no ValkeyNode of ValkeyCluster shop/orders tells status.nodeId"):
        require_ids(target(cluster(), without))
    without[0]["status"]["nodeId"] = node_id(0, 0)
    require_ids(target(cluster(), without))


def test_a_record_without_its_place_is_of_another_version():
    strange = nodes()
    del strange[0]["spec"]["shard"]
    assert "spec.shard of ValkeyNode orders-0-0" in complaint(cluster(), strange)


def test_a_node_whose_server_has_not_told_its_id_has_none():
    starting = nodes()
    starting[3]["status"] = {}
    found = target(cluster(), starting)
    assert found.node(NodeIndex(1, 1)).id == ""
    assert found.expected(Pair("192.0.2.12", 31301)) == frozenset()
