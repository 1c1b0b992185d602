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


def test_with_local_traffic_the_route_leads_to_a_node_that_has_an_endpoint(place, until):
    place.load_balancer("local")
    place.kubectl("patch", "service", "local", "--patch", '{"spec": {"externalTrafficPolicy": "Local"}}')

    until(lambda: place.ingress("local"))
    (entry,) = place.ingress("local")
    until(lambda: place.answers_outside(entry["ip"]))
