from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.core.given import NODES, observed, pod, service
from valkey_operator.api.conditions import Reason
from valkey_operator.api.status import Bootstrap, ExternalAccessStatus
from valkey_operator.core.hosts import Missing
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.node_ports import allocated, bootstrap, endpoints, preferred, services
from valkey_operator.core.observed import AllocatedPort, Announcement, Machine

TYPE = {"type": "NodePort"}
FROM_31200 = {**TYPE, "nodePort": {"startPort": 31200, "bootstrapPort": 31199}}


def port(number, name="np-0", *, own=None):
    return AllocatedPort(name, own or number, number)


def wanted(seen):
    """Of every Service: name, port name, port, node port, fallback."""
    return [(each.name, p.name, p.port, p.node_port, p.fallback) for each in services(seen) for p in each.ports]


def shard(number, *ports, **changed):
    return service(f"orders-{number}", *ports, **changed)


def test_one_service_per_shard_with_a_port_per_node_and_one_over_all_shards():
    made = list(services(observed(TYPE)))
    assert [(each.name, each.type, each.selector, each.publish_not_ready) for each in made] == [
        ("orders-0", "NodePort", {"valkey.io/shard-index": "0"}, True),
        ("orders-1", "NodePort", {"valkey.io/shard-index": "1"}, True),
        ("orders-2", "NodePort", {"valkey.io/shard-index": "2"}, True),
        ("orders", "NodePort", {"valkey.io/serving": "true"}, False),
    ]
    assert [(p.name, p.target) for p in made[1].ports] == [("np-0", "valkey-1-0"), ("np-1", "valkey-1-1")]
    assert [(p.name, p.target) for p in made[3].ports] == [("np-bootstrap", 6379)]


def test_kubernetes_chooses_where_nothing_is_preferred():
    assert wanted(observed(TYPE)) == [
        ("orders-0", "np-0", 6379, None, None),
        ("orders-0", "np-1", 6380, None, None),
        ("orders-1", "np-0", 6379, None, None),
        ("orders-1", "np-1", 6380, None, None),
        ("orders-2", "np-0", 6379, None, None),
        ("orders-2", "np-1", 6380, None, None),
        ("orders", "np-bootstrap", 6379, None, None),
    ]


def test_preferred_ports_are_asked_for_with_a_way_out():
    assert wanted(observed(FROM_31200)) == [
        ("orders-0", "np-0", 31200, 31200, 6379),
        ("orders-0", "np-1", 31300, 31300, 6380),
        ("orders-1", "np-0", 31201, 31201, 6379),
        ("orders-1", "np-1", 31301, 31301, 6380),
        ("orders-2", "np-0", 31202, 31202, 6379),
        ("orders-2", "np-1", 31302, 31302, 6380),
        ("orders", "np-bootstrap", 31199, 31199, 6379),
    ]


def test_the_numbers_that_are_preferred():
    access = observed({**TYPE, "nodePort": {"startPort": 30000, "stride": 10}}).cluster.spec.external_access
    assert [preferred(access, NodeIndex(*at)) for at in ((0, 0), (2, 0), (0, 1), (2, 1))] == [30000, 30002, 30010, 30012]
    assert preferred(observed(TYPE).cluster.spec.external_access, NodeIndex(0, 0)) is None


def test_an_allocated_port_is_pinned_and_the_services_own_port_follows_it():
    live = shard(0, AllocatedPort("np-0", 6379, 30077), AllocatedPort("np-1", 6380, 30088))
    assert wanted(observed(FROM_31200, live))[:2] == [
        ("orders-0", "np-0", 30077, 30077, None),
        ("orders-0", "np-1", 30088, 30088, None),
    ]


def test_a_port_that_is_new_on_a_service_takes_no_number_of_another():
    live = shard(0, AllocatedPort("lb-0", 6379, 30001))
    assert wanted(observed(TYPE, live))[:2] == [("orders-0", "np-0", 6380, None, None), ("orders-0", "np-1", 6381, None, None)]


def test_the_number_of_somebody_elses_port_is_not_asked_for():
    live = shard(0, AllocatedPort("mine", 31200, 30001))
    assert wanted(observed(FROM_31200, live))[:2] == [
        ("orders-0", "np-0", 6379, None, None),
        ("orders-0", "np-1", 31300, 31300, 6380),
    ]


def test_the_number_of_another_port_of_ours_is_not_asked_for_while_that_is_there():
    live = shard(0, AllocatedPort("lb-0", 31200, 30001, "valkey-0-0"))
    assert wanted(observed(FROM_31200, live))[:2] == [
        ("orders-0", "np-0", 6379, None, None),
        ("orders-0", "np-1", 31300, 31300, 6380),
    ]


@pytest.mark.parametrize(
    "there",
    [
        service("orders-0-0", AllocatedPort("lb-0", 6380, 30001, 6379), kind="node", type_="LoadBalancer"),
        service("orders", AllocatedPort("lb-0-0", 6380, 30001, "valkey-0-0"), kind="bootstrap", type_="LoadBalancer"),
    ],
)
def test_the_number_of_a_balancer_is_not_asked_for_as_a_node_port(there):
    told = {NodeIndex(0, 0): Announcement("198.51.100.1", 6380)}
    assert wanted(observed(FROM_31200, there, told=told))[0] == ("orders-0", "np-0", 31200, 31200, 6379)


def test_a_deleted_service_is_asked_for_again_with_the_numbers_last_announced():
    told = {index: Announcement("192.0.2.11", 30500 + 10 * index.shard + index.node) for index in NODES}
    last = ExternalAccessStatus(
        type="NodePort", bootstrap=Bootstrap(service="orders", addresses=("192.0.2.11:30999", "192.0.2.12:30999"))
    )
    seen = observed(FROM_31200, told=told)
    seen = replace(seen, cluster=replace(seen.cluster, status=seen.cluster.status.model_copy(update={"external_access": last})))
    assert wanted(seen) == [
        ("orders-0", "np-0", 30500, 30500, 6379),
        ("orders-0", "np-1", 30501, 30501, 6380),
        ("orders-1", "np-0", 30510, 30510, 6379),
        ("orders-1", "np-1", 30511, 30511, 6380),
        ("orders-2", "np-0", 30520, 30520, 6379),
        ("orders-2", "np-1", 30521, 30521, 6380),
        ("orders", "np-bootstrap", 30999, 30999, 6379),
    ]


def test_without_a_service_over_all_shards():
    assert "orders" not in {each.name for each in services(observed({**TYPE, "bootstrapService": False}))}


def test_what_the_user_says_of_services_is_on_all_of_them():
    access = {
        **TYPE,
        "externalTrafficPolicy": "Local",
        "serviceAnnotations": {"dns": "{name}-{shard}.{namespace}", "team": "checkout"},
    }
    made = {each.name: each for each in services(observed(access))}
    assert made["orders-1"].annotations == {"dns": "orders-1.shop", "team": "checkout"}
    assert made["orders"].annotations == {"team": "checkout"}
    assert {each.traffic_policy for each in made.values()} == {"Local"}


@given(
    st.lists(st.tuples(st.integers(30000, 32767), st.integers(30000, 32767)), min_size=3, max_size=3),
    st.one_of(st.none(), st.integers(30000, 32000)),
    st.integers(0, 3),
)
def test_an_allocated_port_never_moves(numbers, start, announced):
    """Whatever is preferred now, and whatever was announced."""
    live = [shard(place, port(pair[0]), port(pair[1], "np-1")) for place, pair in enumerate(numbers)]
    access = {**TYPE, **({"nodePort": {"startPort": start}} if start is not None else {})}
    told = {index: Announcement("192.0.2.11", 29000 + index.shard) for index in NODES[:announced]}
    found = {
        (name, at): (own, node_port) for name, at, own, node_port, _ in wanted(observed(access, *live, told=told, answering=False))
    }
    for place, pair in enumerate(numbers):
        assert found[f"orders-{place}", "np-0"] == (pair[0], pair[0])
        assert found[f"orders-{place}", "np-1"] == (pair[1], pair[1])


@given(st.integers(1, 40), st.integers(0, 5), st.integers(1, 40000), st.integers(40, 500))
def test_no_two_nodes_prefer_one_port(shards, replicas, start, stride):
    seen = observed(
        {**TYPE, "nodePort": {"startPort": start, "stride": stride}}, spec={"shards": shards, "replicas": replicas}, answering=False
    )
    asked = [p.node_port for each in services(seen) if each.name != "orders" for p in each.ports]
    assert len(set(asked)) == len(asked) == shards * (replicas + 1)
    for each in services(seen):
        fallbacks = [p.fallback or p.port for p in each.ports]
        assert len(set(fallbacks)) == len(fallbacks)


# --- endpoints ---


def test_an_endpoint_is_the_port_really_allocated_at_the_machine_that_runs_the_pod():
    found = endpoints(observed(TYPE, shard(0, port(30077), port(30088, "np-1"))))
    assert found[NodeIndex(0, 0)] == Announcement("192.0.2.11", 30077, "192.0.2.11")
    assert found[NodeIndex(0, 1)] == Announcement("192.0.2.12", 30088, "192.0.2.12")
    assert found[NodeIndex(1, 0)] == Missing(Reason.ALLOCATING_PORTS, "Service orders-1 has no node port for node 1-0 yet")


def test_an_endpoint_needs_the_services_own_port_to_have_followed():
    assert allocated(shard(0, port(30077, own=6379)), "np-0") is None
    assert allocated(shard(0, port(30077)), "np-0") == 30077
    assert allocated(shard(0, port(30077)), "np-1") is None
    assert allocated(None, "np-0") is None


def test_with_an_advertised_host_a_pod_may_run_anywhere():
    access = {**TYPE, "advertisedHost": "{name}-{shard}-{node}.example.com"}
    pods = {index: pod(index, machine=None) for index in NODES}
    found = endpoints(observed(access, shard(0, port(30077)), pods=pods, answering=False))
    assert found[NodeIndex(0, 0)] == Announcement("orders-0-0.example.com", 30077)


def test_a_pod_that_runs_nowhere_yet_is_waited_for_and_nobody_has_to_act():
    pods = {index: pod(index) for index in NODES if index != NodeIndex(0, 0)}
    found = endpoints(observed(TYPE, shard(0, port(30077)), pods=pods, answering=False))
    assert found[NodeIndex(0, 0)] == Missing(Reason.WAITING_FOR_CLUSTER, "the pod of node 0-0 runs on no Kubernetes node yet")


def test_a_machine_without_addresses_of_its_pods_is_told():
    pods = {index: pod(index, host_ips=() if index == NodeIndex(0, 0) else ("192.0.2.9",)) for index in NODES}
    pods = {index: replace(each, machine=f"m-{index}") for index, each in pods.items()}
    found = endpoints(observed(TYPE, shard(0, port(30077)), pods=pods, machines=None, answering=False))
    assert found[NodeIndex(0, 0)] == Missing(
        Reason.NODE_ADDRESS_UNKNOWN, "Kubernetes node m-0-0, which runs node 0-0, has no address yet"
    )


# --- where clients begin ---


ALL_SHARDS = service("orders", port(30999, "np-bootstrap"), kind="bootstrap")


def test_clients_begin_at_up_to_three_machines_that_run_pods_which_serve():
    assert bootstrap(observed(TYPE, ALL_SHARDS)) == ("192.0.2.11:30999", "192.0.2.12:30999", "192.0.2.13:30999")
    pods = {index: pod(index, serving=index == NodeIndex(1, 0)) for index in NODES}
    assert bootstrap(observed(TYPE, ALL_SHARDS, pods=pods)) == ("192.0.2.12:30999",)


def test_clients_begin_at_the_bootstrap_host():
    assert bootstrap(observed({**TYPE, "bootstrapHost": "{name}.example.com"}, ALL_SHARDS)) == ("orders.example.com:30999",)


@pytest.mark.parametrize("live", [[], [service("orders", port(30999, "np-bootstrap", own=6379), kind="bootstrap")]])
def test_clients_begin_nowhere_without_a_port(live):
    assert bootstrap(observed(TYPE, *live)) == ()


DUAL = {
    "machines": {f"m{n}": Machine(f"m{n}", (("InternalIP", f"192.0.2.1{n}"), ("InternalIP", f"2001:db8::{n}"))) for n in (1, 2, 3)}
}


def test_an_ipv6_address_is_told_beside_once_the_service_has_that_family():
    ports = (port(31200), port(31300, "np-1"))
    access = {**TYPE, "ipFamilies": ["IPv4", "IPv6"]}
    before = observed(access, shard(0, *ports, families=("IPv4",)), **DUAL)
    after = observed(access, shard(0, *ports, families=("IPv4", "IPv6")), **DUAL)
    assert endpoints(before)[NodeIndex(0, 0)] == Announcement("192.0.2.11", 31200, "192.0.2.11")
    assert endpoints(after)[NodeIndex(0, 0)] == Announcement("192.0.2.11", 31200, "192.0.2.11", "2001:db8::1")


def test_clients_begin_at_addresses_of_the_families_that_the_service_has():
    def begin(*families):
        return bootstrap(
            observed(TYPE, service("orders", port(31199, "np-bootstrap"), kind="bootstrap", families=families), **DUAL)
        )

    assert begin("IPv4", "IPv6") == begin("IPv4") == ("192.0.2.11:31199", "192.0.2.12:31199", "192.0.2.13:31199")
    assert begin("IPv6") == ("[2001:db8::1]:31199", "[2001:db8::2]:31199", "[2001:db8::3]:31199")


def test_a_first_family_that_cannot_be_changed_is_told_with_the_ways_out():
    live = shard(0, port(31200), port(31300, "np-1"), families=("IPv4",))
    assert endpoints(observed({**TYPE, "ipFamilies": ["IPv6"]}, live))[NodeIndex(0, 0)] == Missing(
        Reason.SERVICE_CONFLICT,
        "Service orders-0 has IPv4 as its first family for as long as it lives: add IPv4 to spec.externalAccess.ipFamilies, "
        "or set spec.externalAccess.enabled to false until the Service is gone",
    )


def test_an_ipv6_address_is_printed_in_brackets():
    seen = observed({**TYPE, "advertisedHost": "a.example.com"}, ALL_SHARDS)
    machines = {
        name: replace(machine, addresses=(("InternalIP", f"2001:db8::{name[1]}"),)) for name, machine in seen.machines.items()
    }
    assert bootstrap(replace(seen, machines=machines))[0] == "[2001:db8::1]:30999"


def test_a_node_port_of_another_port_of_the_same_service_is_not_asked_for():
    """A balancer's ports have node ports, which the API server gives no second time."""
    live = service("orders-0", AllocatedPort("lb-0", 6380, 30001), AllocatedPort("lb-1", 6381, 30002), type_="LoadBalancer")
    wanted = {made.name: made for made in services(observed({"type": "NodePort", "nodePort": {"startPort": 30001}}, live))}
    assert [port.node_port for port in wanted["orders-0"].ports] == [None, 30101]
