from dataclasses import replace

import pytest

from unit.core.given import NODES, machine_of, observed, pod, service
from valkey_operator.api.conditions import Reason
from valkey_operator.core.hosts import Host, Missing, advertised, balancer_addresses, bootstrap, family, host, machine_addresses
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Ingress, Machine, Service

INDEX = NodeIndex(1, 1)
TYPES = {"external": "ExternalIP", "internal": "InternalIP", "host": "Hostname", "dns": "ExternalDNS"}


def seen(access=None, **changed):
    return observed({"type": "NodePort", **(access or {})}, **changed)


def machines(**addresses):
    """m1='internal=10.0.0.1 external=203.0.113.1'"""
    return {
        name: Machine(name, tuple((TYPES[kind], address) for kind, address in (word.split("=") for word in words.split())))
        for name, words in addresses.items()
    }


def test_outside_addresses_come_first_where_all_machines_have_one():
    all_have = machines(
        m1="internal=10.0.0.1 external=203.0.113.1",
        m2="internal=10.0.0.2 external=203.0.113.2",
        m3="internal=10.0.0.3 external=203.0.113.3",
    )
    assert machine_addresses(seen(machines=all_have)) == {"m1": ("203.0.113.1",), "m2": ("203.0.113.2",), "m3": ("203.0.113.3",)}


def test_types_are_never_mixed():
    one_lacks = machines(
        m1="internal=10.0.0.1 external=203.0.113.1", m2="internal=10.0.0.2", m3="internal=10.0.0.3 external=203.0.113.3"
    )
    assert machine_addresses(seen(machines=one_lacks)) == {"m1": ("10.0.0.1",), "m2": ("10.0.0.2",), "m3": ("10.0.0.3",)}


@pytest.mark.parametrize(
    ("access", "families", "told"),
    [
        ({}, ("IPv4",), "10.0.0."),
        ({}, ("IPv4", "IPv6"), "2001:db8::"),
        ({"ipFamilies": ["IPv4"]}, ("IPv4", "IPv6"), "10.0.0."),
        ({"ipFamilies": ["IPv6"]}, ("IPv6", "IPv4"), "2001:db8::"),
    ],
)
def test_addresses_of_families_that_nobody_serves_or_wants_do_not_count(access, families, told):
    public_by_ipv6_alone = machines(
        **{f"m{n}": f"internal=10.0.0.{n} internal=fd00::{n} external=2001:db8::{n}" for n in (1, 2, 3)}
    )
    seen = observed({"type": "NodePort", **access}, service("orders-0", families=families), machines=public_by_ipv6_alone)
    assert machine_addresses(seen) == {f"m{n}": (f"{told}{n}",) for n in (1, 2, 3)}


def test_of_several_addresses_of_a_type_all_are_told_in_kubernetes_order():
    several = machines(**{f"m{n}": f"internal=2001:db8::{n} internal=10.0.0.{n} internal=10.0.1.{n}" for n in (1, 2, 3)})
    assert machine_addresses(seen(machines=several))["m2"] == ("2001:db8::2", "10.0.0.2", "10.0.1.2")


def test_only_machines_that_run_pods_count():
    more = machines(m1="internal=10.0.0.1", m2="internal=10.0.0.2", m3="internal=10.0.0.3", m4="host=m4")
    assert machine_addresses(seen(machines=more)).keys() == {"m1", "m2", "m3"}


def test_a_wanted_type_is_asked_for_in_the_users_order():
    both = machines(
        m1="internal=10.0.0.1 dns=m1.example.com",
        m2="internal=10.0.0.2 dns=m2.example.com",
        m3="internal=10.0.0.3 dns=m3.example.com",
    )
    access = {"nodePort": {"addressType": ["ExternalDNS", "InternalIP"]}}
    assert machine_addresses(seen(access, machines=both)) == {
        "m1": ("m1.example.com",),
        "m2": ("m2.example.com",),
        "m3": ("m3.example.com",),
    }


def test_no_type_in_common_says_what_to_do():
    apart = machines(m1="external=203.0.113.1", m2="internal=10.0.0.2", m3="internal=10.0.0.3")
    assert machine_addresses(seen(machines=apart)) == Missing(
        Reason.NODE_ADDRESS_UNKNOWN,
        "Kubernetes nodes m1, m2, m3 have no address type of ExternalIP, InternalIP in common: "
        "set spec.externalAccess.nodePort.addressType to a type that all of them have, or spec.externalAccess.advertisedHost",
    )


def test_no_address_of_the_wanted_families_says_so():
    found = machine_addresses(seen({"ipFamilies": ["IPv6"]}))
    assert isinstance(found, Missing)
    assert "no address type of ExternalIP, InternalIP in common for clients of IPv6: set" in found.message


def test_a_machine_that_was_not_seen_yet_is_waited_for():
    found = machine_addresses(seen(machines=machines(m1="internal=10.0.0.1")))
    assert found == Missing(Reason.NODE_ADDRESS_UNKNOWN, "Kubernetes node m2, m3 is not known yet")


def test_without_the_right_to_read_nodes_pods_tell_where_they_run():
    found = machine_addresses(seen(machines=None))
    assert found == {"m1": ("192.0.2.11",), "m2": ("192.0.2.12",), "m3": ("192.0.2.13",)}


@pytest.mark.parametrize(
    ("families", "expected"),
    [(("IPv4",), ("192.0.2.11",)), (("IPv6",), ("2001:db8::11",)), (("IPv4", "IPv6"), ("192.0.2.11", "2001:db8::11"))],
)
def test_without_the_right_to_read_nodes_pods_tell_both_addresses_where_they_run(families, expected):
    pods = {index: pod(index, machine="m1", host_ips=("192.0.2.11", "2001:db8::11")) for index in NODES}
    found = machine_addresses(observed({"type": "NodePort"}, service("orders-0", families=families), machines=None, pods=pods))
    assert found == {"m1": expected}


def test_without_the_right_to_read_nodes_only_internal_addresses_are_known():
    found = machine_addresses(seen({"nodePort": {"addressType": ["ExternalIP"]}}, machines=None))
    assert isinstance(found, Missing)
    assert found.reason is Reason.NODE_ADDRESS_UNKNOWN
    assert "allow it to get, list and watch nodes" in found.message


def test_pods_that_run_nowhere_yet_are_no_reason_to_know_nothing():
    pods = {index: pod(index, machine=None if index.shard else machine_of(index), host_ips=("192.0.2.11",)) for index in NODES}
    assert machine_addresses(seen(machines=None, pods=pods)).keys() == {"m1", "m2"}


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (("192.0.2.1",), Host("192.0.2.1", "192.0.2.1")),
        (("2001:db8::1", "192.0.2.1"), Host("192.0.2.1", "192.0.2.1", "2001:db8::1")),
        (("m1.example.com",), Host("m1.example.com")),
        (("m1.example.com", "192.0.2.1"), Host("192.0.2.1", "192.0.2.1")),
        (("2001:db8::1", "m1.example.com"), Host("m1.example.com", "", "2001:db8::1")),
    ],
)
def test_the_host_is_the_best_of_what_is_behind_it(behind, expected):
    assert host(seen(), INDEX, behind) == expected


def test_an_ipv6_address_alone_can_be_no_host():
    assert host(seen(), INDEX, ("2001:db8::1",)) == Missing(
        Reason.NODE_ADDRESS_UNKNOWN,
        "of what leads to node 1-1 (2001:db8::1) nothing can be announced as a host, which is a name or an IPv4 address: "
        "set spec.externalAccess.advertisedHost to a name that leads there",
    )


def test_for_clients_of_ipv6_an_ipv4_address_is_no_host():
    assert host(seen({"ipFamilies": ["IPv6"]}), INDEX, ("192.0.2.1", "2001:db8::1")) == Missing(
        Reason.NODE_ADDRESS_UNKNOWN,
        "of what leads to node 1-1 (192.0.2.1, 2001:db8::1) nothing can be announced as a host for clients of IPv6, "
        "which is a name or an IPv4 address: set spec.externalAccess.advertisedHost to a name that leads there",
    )


def test_for_clients_of_ipv4_no_ipv6_address_is_told():
    assert host(seen({"ipFamilies": ["IPv4"]}), INDEX, ("192.0.2.1", "2001:db8::1")) == Host("192.0.2.1", "192.0.2.1")


def test_for_clients_of_ipv6_no_ipv4_address_is_told():
    found = host(
        seen({"advertisedHost": "{name}-{shard}-{node}.example.com", "ipFamilies": ["IPv6"]}), INDEX, ("192.0.2.1", "2001:db8::1")
    )
    assert found == Host("orders-1-1.example.com", "", "2001:db8::1")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{name}-{shard}-{node}.{namespace}.example.com", Host("orders-1-1.shop.example.com", "192.0.2.1")),
        ("clients.example.com", Host("clients.example.com", "192.0.2.1")),
        ("203.0.113.9", Host("203.0.113.9", "203.0.113.9")),
    ],
)
def test_an_advertised_host_is_rendered_and_told_with_the_address_behind_it(template, expected):
    assert host(seen({"advertisedHost": template}), INDEX, ("192.0.2.1",)) == expected


def test_an_advertised_host_needs_nothing_behind_it():
    assert host(seen({"advertisedHost": "a.example.com"}), INDEX, ()) == Host("a.example.com")


def test_a_host_that_is_no_name_once_rendered_is_told():
    long = seen({"advertisedHost": "{name}" * 11 + ".example.com"})
    assert host(long, INDEX, ()) == Missing(
        Reason.INVALID_ADVERTISED_HOST,
        f"spec.externalAccess.advertisedHost renders as '{'orders' * 11}.example.com' for node 1-1: "
        "it has a part between two dots of more than 63 characters: shorten it",
    )


def test_the_bootstrap_host_is_the_clusters():
    assert bootstrap(seen({"bootstrapHost": "{name}.{namespace}.example.com"}).cluster) == "orders.shop.example.com"
    assert bootstrap(seen().cluster) is None
    assert advertised(seen().cluster, INDEX) is None


def test_a_balancers_names_come_after_its_addresses():
    made: Service = replace(
        service("orders-0"), ingress=(Ingress("", "lb.example.com"), Ingress("2001:db8::1"), Ingress("192.0.2.1", "x"))
    )
    assert balancer_addresses(made) == ("2001:db8::1", "192.0.2.1", "lb.example.com", "x")


@pytest.mark.parametrize(("text", "version"), [("192.0.2.1", 4), ("::1", 6), ("a.example.com", None), ("1.2.3", None), ("", None)])
def test_which_family_an_address_is_of(text, version):
    assert family(text) == version
