from ipaddress import IPv4Address, IPv6Address

from sandbox import views
from sandbox.balancing import Wish


def node(ready="True"):
    told = {"Hostname": ["node-1"], "InternalIP": ["2001:2::11", "198.18.0.11"], "ExternalIP": ["203.0.113.1"]}
    addresses = [{"type": kind, "address": address} for kind, listed in told.items() for address in listed]
    return {"metadata": {"name": "node-1"}, "status": {"conditions": [{"type": "Ready", "status": ready}], "addresses": addresses}}


def service(**spec):
    return {
        "metadata": {"namespace": "default", "name": "web", "annotations": {"sandbox.valkey.io/count": "2"}},
        "spec": {"type": "LoadBalancer", **spec},
        "status": {"loadBalancer": {"ingress": [{"ip": "198.18.100.1", "ipMode": "VIP", "ports": []}]}},
    }


def test_only_a_ready_node_counts():
    assert views.ready_addresses(node()) == ("node-1", (IPv4Address("198.18.0.11"), IPv6Address("2001:2::11")))
    assert views.ready_addresses(node("Unknown")) is None
    assert views.ready_addresses({"metadata": {"name": "new"}}) is None


def test_endpoints_of_a_service_are_gathered_from_all_its_slices():
    def piece(*endpoints):
        return {"metadata": {"namespace": "default", "labels": {"kubernetes.io/service-name": "web"}}, "endpoints": list(endpoints)}

    slices = [
        piece({"nodeName": "node-1", "conditions": {"ready": True}}, {"nodeName": "node-2", "conditions": {"ready": False}}),
        piece({"nodeName": "node-3", "conditions": {}}),
        {"metadata": {"namespace": "default"}, "endpoints": None},
    ]

    assert views.endpoint_nodes(slices) == {("default", "web"): frozenset({"node-1", "node-3"})}


def test_a_service_has_the_families_that_kubernetes_gave_it():
    made = views.service(service(ipFamilies=["IPv6", "IPv4"]), wish=None, waited=0)

    assert made.families == ("IPv6", "IPv4")


def test_a_service_of_another_kind_or_class_wants_nothing_of_us():
    assert views.wish_of(service()) == Wish(count=2)
    assert views.wish_of(service(type="ClusterIP")) is None
    assert views.wish_of(service(loadBalancerClass="other.example/class")) is None


def test_addresses_of_another_class_are_not_ours_to_withdraw():
    foreign = service(loadBalancerClass="other.example/class")

    assert views.service(foreign, wish=None, waited=0).ingress == ()
    assert views.service(service(), wish=None, waited=0).ingress == ({"ip": "198.18.100.1", "ipMode": "VIP"},)
