"""Traefik is a Gateway for TLSRoutes and TCPRoutes."""

import pytest

from e2e import gateway_api
from e2e.routers.servers import PORT, host
from e2e.traefik import ADDRESS
from e2e.waiting import eventually

SAME = {"from": "Same"}


@pytest.fixture(scope="module")
def parent(edge):
    """A Gateway in a namespace of its own."""
    listeners = [
        gateway_api.tls("names", 6380, hostname="*.routed.example.com"),
        gateway_api.tcp("port-6381", 6381),
        gateway_api.tls("own-names", 6382, namespaces=SAME),
        gateway_api.tcp("own-port", 6383, namespaces=SAME),
    ]
    return edge.gateway("edge", edge.name, listeners)


def made(api, kind, route):
    """The route's parents in its status, once all of them are told there."""
    name, namespace = route["metadata"]["name"], route["metadata"]["namespace"]
    api.apply(kind, route)

    def all_told(found):
        parents = [parent for item in found for parent in item.get("status", {}).get("parents", [])]
        return len(parents) == len(route["spec"]["parentRefs"]) and parents

    return api.until(kind, namespace, all_told, name=name, what="the route's parents")


def conditions(parent):
    return {each["type"]: (each["status"], each["reason"]) for each in parent["conditions"]}


def test_a_gateway_tells_its_address_and_a_listener_that_it_cannot_have(api, edge):
    edge.gateway("far", edge.name, [gateway_api.tcp("near", 6384), gateway_api.tcp("far", 9999)])
    status = api.get(gateway_api.GATEWAY, "far", edge.name)["status"]
    assert status["addresses"] == [{"type": "IPAddress", "value": "198.18.0.12"}]
    told = {listener["name"]: conditions(listener)["Accepted"] for listener in status["listeners"]}
    assert told == {"near": ("True", "Accepted"), "far": ("False", "PortUnavailable")}


def test_a_tls_route_leads_a_name_to_its_server_and_the_client_verifies_it(api, parent, servers):
    for name in ("one", "two"):
        route = gateway_api.tls_route(
            name, servers.namespace, parents=[parent | {"sectionName": "names"}], hostnames=[host(name)], service=name, port=PORT
        )
        (told,) = made(api, gateway_api.TLS_ROUTE, route)
        assert conditions(told) == {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")}
    for name in ("one", "two"):
        eventually(lambda name=name: servers.reached(name, ADDRESS, 6380) == name, what=f"server {name} reached")


def test_a_tcp_route_leads_a_port_to_its_server_also_beside_a_tls_route(api, parent, servers):
    names = {"parents": [parent | {"sectionName": "names"}], "hostnames": ["beside.routed.example.com"]}
    made(api, gateway_api.TLS_ROUTE, gateway_api.tls_route("beside", servers.namespace, **names, service="one", port=PORT))
    route = gateway_api.tcp_route("two", servers.namespace, parents=[parent | {"port": 6381}], service="two", port=PORT)
    (told,) = made(api, gateway_api.TCP_ROUTE, route)
    assert conditions(told) == {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")}
    eventually(lambda: servers.reached("two", ADDRESS, 6381) == "two", what="server two reached")


@pytest.fixture
def told_of(api, parent, servers):
    """Makes a route to server one for a moment and says what it was told."""

    def tell(of_parent, hostname=None, *, service="one"):
        of_route = {"parents": [parent | of_parent], "service": service, "port": PORT}
        if hostname is None:
            kind, route = gateway_api.TCP_ROUTE, gateway_api.tcp_route("brief", servers.namespace, **of_route)
        else:
            kind, route = gateway_api.TLS_ROUTE, gateway_api.tls_route("brief", servers.namespace, hostnames=[hostname], **of_route)
        (told,) = made(api, kind, route)
        api.delete(kind, "brief", servers.namespace)
        return conditions(told)

    return tell


@pytest.mark.parametrize(
    ("of_parent", "hostname", "reason"),
    [
        ({"sectionName": "absent"}, "a.routed.example.com", "NoMatchingParent"),
        ({"port": 7000}, "a.routed.example.com", "NoMatchingParent"),
        ({"sectionName": "own-names"}, "a.routed.example.com", "NotAllowedByListeners"),
        ({"sectionName": "port-6381"}, "a.routed.example.com", "NotAllowedByListeners"),
        ({"sectionName": "names"}, "a.other.example.com", "NoMatchingListenerHostname"),
    ],
)
def test_a_refused_tls_route_is_told_why(told_of, of_parent, hostname, reason):
    assert told_of(of_parent, hostname) == {"Accepted": ("False", reason), "ResolvedRefs": ("True", "ResolvedRefs")}


@pytest.mark.parametrize(("port", "reason"), [(7000, "NoMatchingParent"), (6383, "NotAllowedByListeners")])
def test_a_refused_tcp_route_is_told_why(told_of, port, reason):
    assert told_of({"port": port}) == {"Accepted": ("False", reason), "ResolvedRefs": ("True", "ResolvedRefs")}


def test_a_route_to_a_service_that_is_not_there_is_accepted_but_unresolved(told_of):
    unresolved = {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("False", "BackendNotFound")}
    assert told_of({"port": 6381}, service="absent") == unresolved
    assert told_of({"sectionName": "names"}, "a.routed.example.com", service="absent") == unresolved


def test_new_connections_follow_a_services_selector_and_open_ones_stay(api, edge, servers):
    parents = [edge.gateway("moving", edge.name, [gateway_api.tcp("port-6385", 6385)])]
    servers.service("moving", "one")
    made(
        api, gateway_api.TCP_ROUTE, gateway_api.tcp_route("moving", servers.namespace, parents=parents, service="moving", port=PORT)
    )
    eventually(lambda: servers.reached("one", ADDRESS, 6385) == "one", what="server one reached")
    with servers.connection("one", ADDRESS, 6385) as ask:
        assert ask() == "one"
        servers.service("moving", "two")
        eventually(lambda: servers.reached("two", ADDRESS, 6385) == "two", what="server two reached")
        assert ask() == "one"
