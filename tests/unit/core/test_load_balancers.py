from dataclasses import replace

import pytest

from unit.core.given import NODES, balancer, observed, service
from valkey_operator.api.status import Bootstrap, ExternalAccessStatus
from valkey_operator.core import load_balancers
from valkey_operator.core.hosts import Missing
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Announcement, Balancing, Ingress

SHARD_PORTS = (AllocatedPort("lb-0", 6380, 30001), AllocatedPort("lb-1", 6381, 30002))
SHARDS = tuple(balancer(f"orders-{shard}", *SHARD_PORTS, ip=f"198.51.100.{shard}") for shard in range(3))
BOOTSTRAP = balancer("orders", AllocatedPort("lb-bootstrap", 6380, 30009), ip="198.51.100.9", kind="bootstrap")


def wanted(**access):
    return {service.name: service for service in load_balancers.services(observed({"type": "LoadBalancer", **access}))}


def shown(service):
    return service.type, [(port.name, port.port, port.target) for port in service.ports]


def test_each_shard_has_a_balancer_with_a_port_per_node_and_one_serves_all_shards():
    services = wanted()
    assert list(services) == ["orders-0", "orders-1", "orders-2", "orders"]
    assert shown(services["orders-1"]) == ("LoadBalancer", [("lb-0", 6380, "valkey-1-0"), ("lb-1", 6381, "valkey-1-1")])
    assert services["orders-1"].selector == {"valkey.io/shard-index": "1"}
    assert shown(services["orders"]) == ("LoadBalancer", [("lb-bootstrap", 6380, 6379)])
    assert services["orders"].selector == {"valkey.io/serving": "true"}


def test_each_node_has_a_balancer_all_at_one_port_with_scope_node():
    services = wanted(loadBalancerScope="Node", advertisedPort=7000)
    assert list(services) == ["orders-0-0", "orders-0-1", "orders-1-0", "orders-1-1", "orders-2-0", "orders-2-1", "orders"]
    assert shown(services["orders-2-1"]) == ("LoadBalancer", [("lb-1", 7000, "valkey-2-1")])
    assert services["orders-2-1"].selector == {"valkey.io/shard-index": "2", "valkey.io/node-index": "1"}


def test_one_balancer_has_a_port_for_all_shards_and_one_per_node_with_scope_cluster():
    (service,) = wanted(loadBalancerScope="Cluster").values()
    assert shown(service) == (
        "LoadBalancer",
        [
            ("lb-bootstrap", 6380, 6379),
            ("lb-0-0", 6381, "valkey-0-0"),
            ("lb-0-1", 6382, "valkey-0-1"),
            ("lb-1-0", 6383, "valkey-1-0"),
            ("lb-1-1", 6384, "valkey-1-1"),
            ("lb-2-0", 6385, "valkey-2-0"),
            ("lb-2-1", 6386, "valkey-2-1"),
        ],
    )


def test_the_ports_of_one_balancer_stay_where_they_are_when_nodes_come_between():
    live = balancer(
        "orders",
        AllocatedPort("lb-bootstrap", 6380, None),
        AllocatedPort("lb-0-0", 6381, None),
        AllocatedPort("lb-1-0", 6382, None),
        AllocatedPort("lb-2-0", 6383, None),
        ip="198.51.100.9",
        kind="bootstrap",
    )
    (service,) = load_balancers.services(observed({"type": "LoadBalancer", "loadBalancerScope": "Cluster"}, live))
    numbers = {port.name: port.port for port in service.ports}
    assert [numbers[name] for name in ("lb-bootstrap", "lb-0-0")] == [6380, 6381]
    assert len(set(numbers.values())) == 7


def numbers(*services, told=None, begin=(), **access):
    """The ports of every Service wanted; `told` is which port each node announces, `begin` where clients begin."""
    pairs = {index: Announcement("db.example.com", port) for index, port in (told or {}).items()}
    seen = observed({"type": "LoadBalancer", **access}, *services, told=pairs)
    status = ExternalAccessStatus(type="LoadBalancer", bootstrap=Bootstrap(service="orders", addresses=begin)) if begin else None
    status = seen.cluster.status.model_copy(update={"external_access": status})
    seen = replace(seen, cluster=replace(seen.cluster, status=status))
    return {service.name: {port.name: port.port for port in service.ports} for service in load_balancers.services(seen)}


def test_a_service_that_was_deleted_comes_back_with_the_ports_that_clients_know():
    """The first one made room for a port of type Ingress, the second for the first."""
    told = {NodeIndex(1, 0): 6381, NodeIndex(1, 1): 6382, NodeIndex(0, 0): 6380, NodeIndex(0, 1): 6381}
    found = numbers(told=told, begin=("198.51.100.9:6385",))
    assert found["orders-0"] == {"lb-0": 6380, "lb-1": 6381}
    assert found["orders-1"] == {"lb-0-p6380": 6381, "lb-1-p6381": 6382}
    assert found["orders-2"] == {"lb-0": 6380, "lb-1": 6381}
    assert found["orders"] == {"lb-bootstrap-p6380": 6385}


def test_a_new_port_leaves_the_numbers_that_come_back_alone():
    assert numbers(told={NodeIndex(1, 1): 6380})["orders-1"] == {"lb-0": 6380, "lb-1": 6381}
    assert numbers(told={NodeIndex(1, 1): 6382}, advertisedPort=6382)["orders-1"] == {"lb-0": 6382, "lb-1": 6383}
    cluster = numbers(told={NodeIndex(1, 0): 6386}, begin=("198.51.100.9:6380",), loadBalancerScope="Cluster")["orders"]
    assert cluster["lb-1-0-p6383"] == 6386
    assert cluster["lb-2-1-p6386"] == 6387


def test_a_port_that_another_service_has_does_not_come_back():
    """With another scope or type the Services are others, and each keeps its ports until clients are told of the new ones."""
    told = {NodeIndex(1, 1): 6381}
    of_shard = balancer("orders-1", *(replace(port, target=f"valkey-1-{n}") for n, port in enumerate(SHARD_PORTS)))
    assert numbers(of_shard, told=told, loadBalancerScope="Node")["orders-1-1"] == {"lb-1": 6380}
    of_node = service("orders-1-0", AllocatedPort("tcp-1-0", 6385, None, 6379), kind="node", type_="ClusterIP")
    foreign = balancer("orders-1-0", AllocatedPort("mine", 6381, None), kind="node")
    assert numbers(foreign, told={NodeIndex(1, 0): 6381})["orders-1"] == {"lb-0-p6380": 6381, "lb-1-p6381": 6382}
    assert numbers(of_node, told={NodeIndex(1, 0): 6385})["orders-1"] == {"lb-0": 6380, "lb-1": 6381}


def test_what_is_asked_of_balancers_is_on_every_service():
    services = wanted(
        loadBalancerClass="example.com/lb", loadBalancerSourceRanges=["203.0.113.0/24"], allocateLoadBalancerNodePorts=False
    )
    assert {service.balancing.load_balancer_class for service in services.values()} == {"example.com/lb"}
    assert {service.balancing.source_ranges for service in services.values()} == {("203.0.113.0/24",)}
    assert {service.balancing.allocate_node_ports for service in services.values()} == {False}


def test_an_annotation_that_names_a_shard_is_on_services_of_a_shard_alone():
    services = wanted(serviceAnnotations={"example.com/name": "{name}-{shard}", "example.com/team": "{namespace}"})
    assert services["orders-2"].annotations == {"example.com/name": "orders-2", "example.com/team": "shop"}
    assert services["orders"].annotations == {"example.com/team": "shop"}


def test_an_endpoint_is_the_balancers_address_at_the_nodes_port():
    endpoints = load_balancers.endpoints(observed({"type": "LoadBalancer"}, *SHARDS, BOOTSTRAP))
    assert endpoints[NodeIndex(1, 1)] == Announcement("198.51.100.1", 6381, "198.51.100.1")
    assert len({(endpoint.host, endpoint.port) for endpoint in endpoints.values()}) == len(NODES)


def test_a_balancer_without_an_address_has_no_endpoint_yet():
    endpoint = load_balancers.endpoints(observed({"type": "LoadBalancer"}, balancer("orders-1", *SHARD_PORTS)))[NodeIndex(1, 0)]
    assert endpoint == Missing("WaitingForLoadBalancer", "Service orders-1 waits for its load balancer")


@pytest.mark.parametrize(
    ("ingress", "announced"),
    [
        ((Ingress("198.51.100.7"),), Announcement("198.51.100.7", 6380, "198.51.100.7")),
        ((Ingress(hostname="lb.example.com"),), Announcement("lb.example.com", 6380)),
        ((Ingress("198.51.100.7", "lb.example.com"),), Announcement("198.51.100.7", 6380, "198.51.100.7")),
        ((Ingress(hostname="lb.example.com"), Ingress("198.51.100.7")), Announcement("198.51.100.7", 6380, "198.51.100.7")),
        ((Ingress("2001:db8::7"), Ingress("198.51.100.7")), Announcement("198.51.100.7", 6380, "198.51.100.7", "2001:db8::7")),
        ((Ingress("2001:db8::7"), Ingress(hostname="lb.example.com")), Announcement("lb.example.com", 6380, "", "2001:db8::7")),
    ],
)
def test_of_several_addresses_an_ipv4_address_is_announced_before_a_name(ingress, announced):
    live = balancer("orders-0", *SHARD_PORTS, ip="0.0.0.0")
    seen = observed({"type": "LoadBalancer"}, type(live)(**{**_fields(live), "ingress": ingress}))
    assert load_balancers.endpoints(seen)[NodeIndex(0, 0)] == announced


def _fields(service):
    return {name: getattr(service, name) for name in service.__slots__}


def test_only_an_ipv6_address_cannot_be_announced_without_a_name():
    seen = observed({"type": "LoadBalancer"}, balancer("orders-0", *SHARD_PORTS, ip="2001:db8::7"))
    endpoint = load_balancers.endpoints(seen)[NodeIndex(0, 0)]
    assert isinstance(endpoint, Missing)
    assert endpoint.reason == "NodeAddressUnknown"
    assert "spec.externalAccess.advertisedHost" in endpoint.message


def test_of_what_a_balancer_was_given_only_families_count_that_clients_use():
    given = (Ingress("198.51.100.9"), Ingress("2001:db8::9"), Ingress(hostname="lb.example.com"))
    live = replace(BOOTSTRAP, ingress=given)

    def begin(*families):
        return load_balancers.bootstrap(observed({"type": "LoadBalancer", "ipFamilies": list(families)}, *SHARDS, live))

    assert begin() == ("198.51.100.9:6380", "[2001:db8::9]:6380", "lb.example.com:6380")
    assert begin("IPv4") == ("198.51.100.9:6380", "lb.example.com:6380")
    assert begin("IPv6") == ("[2001:db8::9]:6380", "lb.example.com:6380")


def test_an_advertised_host_is_announced_with_the_address_behind_it():
    seen = observed({"type": "LoadBalancer", "advertisedHost": "{name}-{shard}.example.com"}, *SHARDS)
    assert load_balancers.endpoints(seen)[NodeIndex(2, 0)] == Announcement("orders-2.example.com", 6380, "198.51.100.2")


def test_an_advertised_host_waits_for_its_balancer_too():
    pending = balancer("orders-0", *SHARD_PORTS)
    endpoint = load_balancers.endpoints(observed({"type": "LoadBalancer", "advertisedHost": "{shard}.example.com"}, pending))[
        NodeIndex(0, 0)
    ]
    assert endpoint.reason == "WaitingForLoadBalancer"


def test_clients_begin_at_the_balancer_over_all_shards():
    assert load_balancers.bootstrap(observed({"type": "LoadBalancer"}, *SHARDS, BOOTSTRAP)) == ("198.51.100.9:6380",)
    hosted = observed({"type": "LoadBalancer", "bootstrapHost": "{name}.example.com"}, *SHARDS, BOOTSTRAP)
    assert load_balancers.bootstrap(hosted) == ("orders.example.com:6380",)
    assert load_balancers.bootstrap(observed({"type": "LoadBalancer"}, *SHARDS)) == ()


OF_CLASS = tuple(replace(shard, balancing=Balancing(load_balancer_class="example.com/one")) for shard in SHARDS)
OTHER_CLASS = {"type": "LoadBalancer", "loadBalancerClass": "example.com/other"}


def first_of_class(access, *live, **more):
    return load_balancers.endpoints(observed(access, *live, answering=False, **more))[NodeIndex(0, 0)]


def test_a_balancer_of_another_class_has_no_endpoint_and_is_drained_first():
    words = (
        "Service orders-0 stays a load balancer of class example.com/one for clients with old endpoints, and becomes one of {} "
        "spec.externalAccess.drainSeconds after status.externalAccess.drainingSince"
    )
    assert first_of_class(OTHER_CLASS, *OF_CLASS) == Missing("Draining", words.format("class example.com/other"))
    assert first_of_class({"type": "LoadBalancer"}, *OF_CLASS) == Missing("Draining", words.format("no class"))
    told = {NodeIndex(0, 0): Announcement("192.0.2.11", 31200, "192.0.2.11")}
    assert first_of_class(OTHER_CLASS, *OF_CLASS, told=told) == Missing("Draining", words.format("class example.com/other"))


def test_a_balancer_of_another_class_through_which_its_node_is_announced_is_the_users_to_give_up():
    live = replace(OF_CLASS[0], ports=tuple(replace(port, target=f"valkey-0-{n}") for n, port in enumerate(SHARD_PORTS)))
    told = {NodeIndex(0, 0): Announcement("198.51.100.0", 6380, "198.51.100.0")}
    assert first_of_class(OTHER_CLASS, live, told=told) == Missing(
        "ServiceConflict",
        "Service orders-0 is a load balancer of class example.com/one, not of class example.com/other, which Kubernetes does not change "
        "while its type is LoadBalancer, and clients are told node 0-0 at its address: set spec.externalAccess.type to NodePort and remove "
        "loadBalancerClass, wait until status.externalAccess.drainingSince has come and gone, and set type to LoadBalancer again",
    )


def test_a_class_that_a_cloud_chose_is_as_good_as_none_and_as_that_one():
    foreign = replace(SHARDS[0], foreign_class="example.com/other")
    assert isinstance(first_of_class({"type": "LoadBalancer"}, foreign), Announcement)
    assert isinstance(first_of_class(OTHER_CLASS, foreign), Announcement)
    assert isinstance(first_of_class({**OTHER_CLASS, "loadBalancerClass": "example.com/one"}, foreign), Missing)


def test_clients_do_not_begin_at_a_balancer_of_another_class():
    live = replace(BOOTSTRAP, balancing=Balancing(load_balancer_class="example.com/one"))
    seen = observed(OTHER_CLASS, live, answering=False)
    assert load_balancers.bootstrap(seen) == ()
    assert load_balancers.bootstrap_of_other_class(seen).reason == "Draining"
    same = observed({**OTHER_CLASS, "loadBalancerClass": "example.com/one"}, live, answering=False)
    assert load_balancers.bootstrap(same) == ("198.51.100.9:6380",)
    assert load_balancers.bootstrap_of_other_class(same) is None


def test_a_balancer_that_is_being_deleted_is_named():
    gone = replace(SHARDS[0], deleting=True)
    missing = load_balancers.endpoints(observed({"type": "LoadBalancer"}, gone, *SHARDS[1:]))[NodeIndex(0, 0)]
    assert missing.message == (
        "Service orders-0 is being deleted and is made anew once it is gone: while it stays, its metadata.finalizers name who holds it"
    )
