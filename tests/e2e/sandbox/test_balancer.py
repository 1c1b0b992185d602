"""The load balancer does what annotations ask, and its addresses work outside."""

import time


def test_an_address_is_given_and_answers_outside(place, until):
    place.load_balancer("plain")

    until(lambda: place.ingress("plain"))
    (entry,) = place.ingress("plain")
    assert entry["ipMode"] == "VIP"
    assert entry["ip"].startswith("198.18.100.")
    until(lambda: place.answers_outside(entry["ip"]))


def test_an_address_can_be_late(place, until):
    began = time.monotonic()
    place.load_balancer("late", delay="3")
    early = place.ingress("late")

    until(lambda: place.ingress("late"))

    assert early == []
    assert time.monotonic() - began >= 3


def test_an_address_can_be_asked_for_changed_and_withdrawn(place, until):
    place.load_balancer("moving", address="198.18.100.201")
    until(lambda: place.ingress("moving") == [{"ip": "198.18.100.201", "ipMode": "VIP"}])
    until(lambda: place.answers_outside("198.18.100.201"))

    place.load_balancer("moving", address="198.18.100.202")
    until(lambda: place.ingress("moving") == [{"ip": "198.18.100.202", "ipMode": "VIP"}])
    until(lambda: place.answers_outside("198.18.100.202"))
    until(lambda: not place.answers_outside("198.18.100.201"))

    place.load_balancer("moving", give="none")
    until(lambda: place.ingress("moving") == [])
    until(lambda: not place.answers_outside("198.18.100.202"))


def test_host_names_come_instead_of_addresses_or_beside_them(place, until):
    place.load_balancer("named", give="hostname")
    until(lambda: place.ingress("named") == [{"hostname": f"named.{place.namespace}.lb.sandbox"}])

    place.load_balancer("named", give="both", address="198.18.100.203,lb.example")
    until(lambda: place.ingress("named") == [{"ip": "198.18.100.203", "ipMode": "VIP", "hostname": "lb.example"}])


def test_several_addresses_all_answer(place, until):
    place.load_balancer("several", count="3")

    until(lambda: len(place.ingress("several")) == 3)
    for entry in place.ingress("several"):
        until(lambda address=entry["ip"]: place.answers_outside(address))


def test_addresses_are_of_the_families_that_the_service_has(place, until):
    place.load_balancer("six", families=["IPv6"])
    place.load_balancer("both", families=["IPv4", "IPv6"], count="2")

    until(lambda: place.ingress("six") and place.ingress("both"))
    six, both = ([entry["ip"] for entry in place.ingress(name)] for name in ("six", "both"))
    assert [_pool(address) for address in six] == ["2001:2:0:100::"]
    assert [_pool(address) for address in both] == ["198.18.100.", "198.18.100.", "2001:2:0:100::", "2001:2:0:100::"]
    for address in six + both:
        until(lambda address=address: place.answers_outside(address))


def test_a_service_that_is_given_a_second_family_keeps_its_address(place, until):
    place.load_balancer("growing")
    until(lambda: place.ingress("growing"))
    (before,) = place.ingress("growing")

    place.load_balancer("growing", families=["IPv4", "IPv6"])

    until(lambda: len(place.ingress("growing")) == 2)
    first, second = place.ingress("growing")
    assert first == before
    until(lambda: place.answers_outside(second["ip"]))
    until(lambda: place.answers_outside(first["ip"]))


def test_with_local_traffic_the_route_leads_to_a_node_that_has_an_endpoint(place, until):
    place.load_balancer("local")
    place.kubectl("patch", "service", "local", "--patch", '{"spec": {"externalTrafficPolicy": "Local"}}')

    until(lambda: place.ingress("local"))
    (entry,) = place.ingress("local")
    until(lambda: place.answers_outside(entry["ip"]))


def _pool(address):
    return next((pool for pool in ("198.18.100.", "2001:2:0:100::") if address.startswith(pool)), address)
