"""Traefik is an Ingress controller that passes TLS on."""

from e2e import api as kinds
from e2e.routers.servers import PORT, host
from e2e.traefik import ADDRESS, INGRESS_PORT, ingress
from e2e.waiting import eventually


def test_an_ingress_leads_its_host_to_its_server_and_the_client_verifies_it(api, edge, servers):
    for name in ("one", "two"):
        body = ingress(name, servers.namespace, ingress_class=edge.ingress_class, host=host(name), service=name, port=PORT)
        api.apply(kinds.INGRESS, body)
    for name in ("one", "two"):
        told = api.until(kinds.INGRESS, servers.namespace, lambda found: addresses(*found), name=name, what="an address")
        assert told == [{"ip": "198.18.0.12"}]
    for name in ("one", "two"):
        eventually(lambda name=name: servers.reached(name, ADDRESS, INGRESS_PORT) == name, what=f"server {name} reached")


def test_an_ingress_of_a_class_that_nobody_serves_gets_no_address(api, edge, servers):
    for name, ingress_class in (("lost", "absent"), ("found", edge.ingress_class)):
        asked = f"{name}.routed.example.com"
        body = ingress(name, servers.namespace, ingress_class=ingress_class, host=asked, service="one", port=PORT)
        api.apply(kinds.INGRESS, body)
    api.until(kinds.INGRESS, servers.namespace, lambda found: addresses(*found), name="found", what="the other one's address")
    assert addresses(api.get(kinds.INGRESS, "lost", servers.namespace)) == []


def addresses(found):
    return found["status"]["loadBalancer"].get("ingress", [])
