"""What the examples of the integration tests leave: rules of fields that are off, kept for later or built in code."""

import pytest

from valkey_operator.api.access_rules import is_network
from valkey_operator.api.external_access import ExternalAccess, ExternalAccessType
from valkey_operator.api.model import SpecInvalid


def mistakes(**fields):
    try:
        ExternalAccess.read(fields, path="spec.externalAccess")
    except SpecInvalid as invalid:
        return invalid.mistakes
    return ()


OF_BALANCERS = {
    "loadBalancerScope": "Cluster",
    "loadBalancerClass": "example.com/internal",
    "loadBalancerSourceRanges": [],
    "allocateLoadBalancerNodePorts": True,
}


@pytest.mark.parametrize("field", OF_BALANCERS)
@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("other", [{"type": "NodePort"}, {"type": "Ingress", "advertisedHost": "{shard}.example.com"}])
def test_fields_of_load_balancers_go_with_no_other_type_on_or_off(field, enabled, other):
    assert mistakes(enabled=enabled, **other, **{field: OF_BALANCERS[field]}) == (
        f"spec.externalAccess.{field}: goes with type LoadBalancer alone: remove it, or set type to LoadBalancer",
    )


def test_fields_of_load_balancers_go_with_that_type():
    assert mistakes(enabled=True, type="LoadBalancer", **OF_BALANCERS) == ()


@pytest.mark.parametrize("node_port", [{}, {"startPort": 31200}])
@pytest.mark.parametrize("type_", ["LoadBalancer", "Ingress"])
def test_node_ports_go_with_no_other_type(node_port, type_):
    assert mistakes(type=type_, nodePort=node_port) == (
        "spec.externalAccess.nodePort: goes with type NodePort alone: remove it, or set type to NodePort",
    )


def test_all_fields_may_stay_while_no_type_is_written():
    assert mistakes(nodePort={"startPort": 31200}, advertisedPort=6380, externalTrafficPolicy="Local", **OF_BALANCERS) == ()


@pytest.mark.parametrize(
    ("host", "an_address"),
    [
        ("192.0.2.7", True),
        ("192.0.2.{shard}", True),
        ("{shard}.{node}.2.7", True),
        ("192.0.2.7.example.com", False),
        ("{name}.2.0.x7", False),
        ("{shard}-{node}.example.com", False),
    ],
)
def test_sni_needs_names(host, an_address):
    found = mistakes(type="Ingress", advertisedHost=host)
    said = (
        "spec.externalAccess.advertisedHost: must be a host name with type Ingress, since a TLS handshake names no IP address (SNI)"
    )
    assert found == ((said,) if an_address else ())


@pytest.mark.parametrize(
    ("fields", "may"),
    [
        ({"type": "NodePort"}, True),
        ({"type": "LoadBalancer"}, False),
        ({"type": "LoadBalancer", "loadBalancerScope": "Shard"}, False),
        ({"type": "LoadBalancer", "loadBalancerScope": "Node"}, True),
        ({"type": "LoadBalancer", "loadBalancerScope": "Cluster"}, False),
        ({"type": "Ingress"}, False),
        ({}, True),
    ],
)
def test_local_traffic_needs_one_pod_behind_a_load_balancer(fields, may):
    found = [mistake.split(":")[0] for mistake in mistakes(externalTrafficPolicy="Local", **fields)]
    assert found == ([] if may else ["spec.externalAccess.externalTrafficPolicy"])


@pytest.mark.parametrize(
    ("fields", "may"),
    [
        ({"type": "NodePort"}, True),
        ({"type": "LoadBalancer"}, False),
        ({"type": "LoadBalancer", "loadBalancerScope": "Node"}, False),
        ({"type": "LoadBalancer", "loadBalancerScope": "Cluster"}, True),
        ({"type": "Ingress"}, False),
        ({}, True),
    ],
)
def test_one_name_leads_to_a_node_or_to_all_shards(fields, may):
    found = [mistake.split(":")[0] for mistake in mistakes(advertisedHost="a.example.com", bootstrapHost="a.example.com", **fields)]
    assert found == ([] if may else ["spec.externalAccess.bootstrapHost"])
    assert mistakes(advertisedHost="a.example.com", bootstrapHost="b.example.com", **fields) == ()


def test_ingress_needs_a_host_once_it_is_on():
    assert mistakes(enabled=True, type="Ingress") == (
        (
            "spec.externalAccess.advertisedHost: with type Ingress it is the host that leads to a node: set it, for example to "
            "{name}-{shard}-{node}.example.com"
        ),
    )
    assert mistakes(enabled=False, type="Ingress") == ()


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("203.0.113.0/24", True),
        ("203.0.113.7/32", True),
        ("0.0.0.0/0", True),
        ("2001:DB8::/32", True),
        ("203.0.113.7/24", False),
        ("203.0.113.0", False),
        ("203.0.113.0/024", False),
        ("203.0.113.0/255.255.255.0", False),
        ("::ffff:203.0.113.0/120", False),
        ("fe80::%1/64", False),
        ("203.0.113.0/24\n", False),
    ],
)
def test_a_network_is_what_every_kubernetes_takes(text, network):
    assert is_network(text) is network


def test_each_source_range_is_judged_by_itself():
    assert mistakes(type="LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8", "10.0.0.1/8"]) == (
        (
            "spec.externalAccess.loadBalancerSourceRanges[1]: must be a network, its address without bits beyond the length: write "
            "203.0.113.0/24 or 2001:db8::/32"
        ),
    )


def test_what_code_leaves_out_counts_as_absent():
    built = ExternalAccess(enabled=True, type=ExternalAccessType.NODE_PORT, load_balancer_class=None, advertised_port=None)
    assert built.load_balancer_class is None
