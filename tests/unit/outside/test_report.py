from dataclasses import replace

import pytest

from unit.outside.given import cluster, nodes, orders, seen
from valkey_operator.core.names import NodeIndex
from valkey_operator.outside.advice import advice
from valkey_operator.outside.report import as_json, endpoint_rows, endpoints_json, lines
from valkey_operator.outside.seen import Failure
from valkey_operator.outside.target import target
from valkey_operator.outside.verdict import Finding, Problem, Row, verdict

CLOSED = {"at_1_0": {"failure": Failure.REFUSED, "id": "", "told": (), "redirect": None}}


def told(there, of=None):
    of = of or orders()
    return list(lines(of, verdict(of, there), seen_from="here", user="app"))


def test_all_well_is_a_table_and_one_sentence():
    assert told(seen()) == [
        "shop/orders: NodePort, no TLS, seen from here as user app",
        "",
        "ADDRESS            NODE   ROLE      STATE",
        "192.0.2.10:31200   0-0    primary   ok, 3 ms",
        "192.0.2.11:31300   0-1    replica   ok, 3 ms",
        "192.0.2.11:31201   1-0    primary   ok, 3 ms",
        "192.0.2.12:31301   1-1    replica   ok, 3 ms",
        "192.0.2.12:31202   2-0    primary   ok, 3 ms",
        "192.0.2.10:31302   2-1    replica   ok, 3 ms",
        "192.0.2.10:31199          start     ok, 3 ms",
        "",
        "all well: 7 addresses lead where they should, and servers tell clients the same",
    ]


def test_what_is_wrong_is_told_by_address_with_the_way_out():
    printed = told(seen(**CLOSED))
    assert printed[5] == "192.0.2.11:31201   1-0    primary   PortClosed"
    assert printed[10:] == [
        "",
        "1 of 7 addresses is not well:",
        "",
        "192.0.2.11:31201 (node 1-0)",
        "  192.0.2.11 refuses connections to port 31201",
        "    → see whether `kubectl get service orders-1 -n shop` has port 31201, and whether kube-proxy runs on that Kubernetes node",
    ]


def test_what_the_operator_itself_lacks_is_told_beside():
    of = replace(orders(), lack="Announcing: node 0-0 is being told")
    assert told(seen(**CLOSED), of)[-1] == "the operator says of external access: Announcing: node 0-0 is being told"
    assert "the operator says" not in "".join(told(seen(), of))


def test_programs_are_told_the_same():
    of = orders()
    content = as_json(of, verdict(of, seen(**CLOSED)), seen_from="here", user="app")
    assert (content["ok"], content["user"], content["from"]) == (False, "app", "here")
    bad = [address for address in content["addresses"] if address["problems"]]
    assert [(address["address"], address["nodes"], address["ips"], address["milliseconds"]) for address in bad] == [
        ("192.0.2.11:31201", [{"shard": 1, "node": 0}], ["192.0.2.11"], None)
    ]
    assert [problem["problem"] for problem in bad[0]["problems"]] == ["PortClosed"]
    assert bad[0]["problems"][0]["advice"].startswith("see whether `kubectl get service orders-1 -n shop`")


def test_endpoints_are_printed_with_what_is_announced():
    first, *rest = orders().endpoints
    of = replace(orders(), endpoints=(replace(first, announced=False), *rest))
    printed = list(endpoint_rows(of))
    assert printed[1] == "192.0.2.10:31200   0-0    primary   no"
    assert printed[2] == "192.0.2.11:31300   0-1    replica   yes"
    assert printed[-1] == "192.0.2.10:31199          start"
    assert endpoints_json(of)["endpoints"][0] == {
        "address": "192.0.2.10:31200",
        "host": "192.0.2.10",
        "port": 31200,
        "shard": 0,
        "node": 0,
        "role": "primary",
        "announced": False,
    }
    assert endpoints_json(of)["bootstrap"] == [{"address": "192.0.2.10:31199", "host": "192.0.2.10", "port": 31199}]


@pytest.mark.parametrize("problem", list(Problem))
@pytest.mark.parametrize("type_", ["NodePort", "LoadBalancer", "Ingress", "of a later version"])
def test_every_problem_has_a_way_out_in_every_type(problem, type_):
    of = replace(orders(), type=type_)
    row = verdict(of, seen()).rows[2]
    way = advice(of, row, Finding(problem, ""))
    assert len(way) > 20
    assert "{" not in way


BY_NODE = {"advertisedHost": "{name}-{shard}-{node}.example.com"}
BY_SHARD = {"advertisedHost": "{name}-{shard}.example.com"}
BY_PORT = {"routes": {"kind": "TCPRoute", "parentRefs": [{"name": "public"}]}}


@pytest.mark.parametrize(
    ("type_", "asked", "of_shard", "service"),
    [
        ("NodePort", BY_NODE, "orders-1", "orders-1"),
        ("LoadBalancer", {"loadBalancerScope": "Shard"}, "orders-1", "orders-1"),
        ("LoadBalancer", {"loadBalancerScope": "Node"}, "", "orders-1-0"),
        ("LoadBalancer", {"loadBalancerScope": "Cluster"}, "orders", "orders"),
        ("Ingress", BY_NODE, "orders-1", "orders-1-0"),
        ("Ingress", BY_SHARD, "orders-1", "orders-1"),
        ("Ingress", BY_PORT, "orders-1", "orders-1-0"),
    ],
)
def test_the_service_that_leads_to_a_node_is_the_one_that_there_is(type_, asked, of_shard, service):
    there = cluster(type=type_)
    there["spec"]["externalAccess"].update({"type": type_, **asked})
    there["status"]["externalAccess"]["endpoints"][1]["service"] = of_shard
    of = target(there, nodes())
    assert advice(of, verdict(of, seen()).rows[2], Finding(Problem.WRONG_NODE, "")).endswith(f"belongs to Service {service}")


def test_an_address_that_stands_for_a_shard_belongs_to_the_shards_service():
    there = cluster(type="Ingress")
    there["spec"]["externalAccess"].update({"type": "Ingress", **BY_SHARD})
    of = target(there, nodes())
    row = Row(pair=None, indexes=(NodeIndex(2, 0), NodeIndex(2, 1)), role="shard")
    assert advice(of, row, Finding(Problem.WRONG_NODE, "")).endswith("belongs to Service orders-2")


def test_where_clients_start_is_the_service_of_all_shards():
    of = orders()
    assert advice(of, verdict(of, seen()).rows[-1], Finding(Problem.WRONG_NODE, "")).endswith("belongs to Service orders")
