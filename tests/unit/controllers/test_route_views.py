"""Routes and Gateways as controllers leave them, with the statuses that they write."""

import pytest

from valkey_operator.controllers import route_views
from valkey_operator.core.observed import Gateway, Listener, ListenerRef, Route, Verdict

LABELS = {"valkey.io/cluster": "orders", "valkey.io/external-access": "node"}
PUBLIC = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public", "namespace": "gateways"}
GATEWAY = "Gateway gateways/public"


def obj(kind, spec, status=None, **metadata):
    given = {
        "name": "orders-0-1",
        "namespace": "shop",
        "uid": "u1",
        "generation": 2,
        "creationTimestamp": "2026-03-01T11:00:00Z",
        "labels": LABELS,
        **metadata,
    }
    return {"apiVersion": "x/v1", "kind": kind, "metadata": given, "spec": spec, **({"status": status} if status else {})}


def condition(type_, status="True", reason="", message="", *, generation=2):
    return {
        "lastTransitionTime": "2026-03-01T11:00:01Z",
        "message": message,
        "observedGeneration": generation,
        "reason": reason or type_,
        "status": status,
        "type": type_,
    }


def said(*conditions, parent=PUBLIC):
    return {"parents": [{"controllerName": "traefik.io/gateway-controller", "parentRef": parent, "conditions": list(conditions)}]}


def tls_route(status=None, **metadata):
    spec = {
        "hostnames": ["orders-0-1.example.com"],
        "parentRefs": [PUBLIC],
        "rules": [{"backendRefs": [{"group": "", "kind": "Service", "name": "orders-0-1", "port": 6380, "weight": 1}]}],
    }
    return route_views.gateway_route(obj("TLSRoute", spec, status, **metadata)).view


def verdict(*conditions, **where):
    return tls_route(said(*conditions, **where)).verdicts


# --- the Gateway API ---


def test_a_route_that_its_gateway_has_accepted():
    assert tls_route(said(condition("Accepted"), condition("ResolvedRefs"))) == Route(
        kind="TLSRoute",
        namespace="shop",
        name="orders-0-1",
        uid="u1",
        created="2026-03-01T11:00:00Z",
        deleting=False,
        ours=True,
        hosts=("orders-0-1.example.com",),
        parents=(ListenerRef("gateways", "public"),),
        verdicts=(Verdict(GATEWAY, accepted=True),),
    )


@pytest.mark.parametrize("status", [None, {}, {"parents": []}, {"parents": None}])
def test_a_route_that_nobody_has_looked_at(status):
    assert tls_route(status).verdicts == (Verdict(GATEWAY, accepted=None),)


def test_a_refusal_has_its_reason_and_its_words_on_one_line():
    refused = condition("Accepted", "False", "NotAllowedByListeners", "No listener\nallows  this route")
    assert verdict(refused, condition("ResolvedRefs")) == (
        Verdict(GATEWAY, accepted=False, message="NotAllowedByListeners: No listener allows this route"),
    )
    silent = condition("Accepted", "False", "NoMatchingParent")
    assert verdict(silent, condition("ResolvedRefs")) == (Verdict(GATEWAY, accepted=False, message="NoMatchingParent"),)


def test_a_route_whose_service_is_not_found_leads_nowhere():
    unresolved = condition("ResolvedRefs", "False", "BackendNotFound", "Cannot load TLSRoute BackendRef shop/orders-0-1")
    assert verdict(condition("Accepted"), unresolved) == (
        Verdict(GATEWAY, accepted=False, message="BackendNotFound: Cannot load TLSRoute BackendRef shop/orders-0-1"),
    )


def test_both_refusals_are_told():
    assert verdict(condition("Accepted", "False", "Pending"), condition("ResolvedRefs", "Unknown", "Invalid")) == (
        Verdict(GATEWAY, accepted=False, message="Pending; Invalid"),
    )


def test_what_was_said_of_an_earlier_generation_is_told_apart():
    before = (Verdict(GATEWAY, accepted=None, accepted_before=True),)
    assert verdict(condition("Accepted", generation=1), condition("ResolvedRefs", generation=1)) == before
    assert verdict(condition("Accepted"), condition("ResolvedRefs", generation=1)) == before
    assert verdict(condition("Accepted", generation=1)) == (Verdict(GATEWAY, accepted=None),)
    refused = condition("Accepted", "False", "NoMatchingParent", generation=1)
    assert verdict(refused, condition("ResolvedRefs", generation=1)) == (Verdict(GATEWAY, accepted=None),)


def test_half_an_acceptance_is_none_and_half_a_refusal_is_one():
    assert verdict(condition("Accepted")) == (Verdict(GATEWAY, accepted=None),)
    assert verdict(condition("Accepted", "False", "NoMatchingParent")) == (
        Verdict(GATEWAY, accepted=False, message="NoMatchingParent"),
    )


def test_a_condition_without_a_generation_counts():
    conditions = [condition("Accepted"), condition("ResolvedRefs")]
    for each in conditions:
        del each["observedGeneration"]
    assert verdict(*conditions) == (Verdict(GATEWAY, accepted=True),)


def test_what_a_gateway_says_of_another_parent_does_not_count():
    accepted = (condition("Accepted"), condition("ResolvedRefs"))
    for parent in (
        {**PUBLIC, "namespace": "shop"},
        {**PUBLIC, "sectionName": "valkey"},
        {**PUBLIC, "port": 6380},
        {**PUBLIC, "name": "private"},
    ):
        assert verdict(*accepted, parent=parent) == (Verdict(GATEWAY, accepted=None),)


def test_each_parent_has_its_own_say():
    spec = {"parentRefs": [{"name": "own"}, {**PUBLIC, "port": 6382}, {**PUBLIC, "sectionName": "valkey"}], "rules": []}
    status = {
        "parents": [
            *said(condition("Accepted", "False", "NotAllowedByListeners"), parent={**PUBLIC, "port": 6382})["parents"],
            *said(condition("Accepted"), condition("ResolvedRefs"), parent={"name": "own", "namespace": "shop"})["parents"],
        ]
    }
    view = route_views.gateway_route(obj("TCPRoute", spec, status)).view
    assert view.hosts == ()
    assert view.parents == (
        ListenerRef("shop", "own"),
        ListenerRef("gateways", "public", port=6382),
        ListenerRef("gateways", "public", section="valkey"),
    )
    assert view.verdicts == (
        Verdict("Gateway shop/own", accepted=True),
        Verdict("Gateway gateways/public port 6382", accepted=False, message="NotAllowedByListeners"),
        Verdict("Gateway gateways/public listener valkey", accepted=None),
    )


def test_a_route_of_somebody_else_is_not_ours():
    assert not tls_route(labels={"valkey.io/cluster": "orders"}).ours
    assert not tls_route(labels={}).ours


def test_a_route_without_parents_or_rules_is_readable():
    view = route_views.gateway_route(obj("TCPRoute", {"rules": []}, deletionTimestamp="2026-03-01T11:30:00Z")).view
    assert (view.parents, view.verdicts, view.deleting) == ((), (), True)


def test_a_gateway_has_addresses_and_listeners():
    spec = {
        "gatewayClassName": "traefik",
        "listeners": [{"name": "valkey", "port": 6380, "protocol": "TCP"}, {"name": "names", "port": 443, "protocol": "TLS"}],
    }
    status = {"addresses": [{"type": "IPAddress", "value": "198.51.100.7"}, {"type": "Hostname", "value": "gateway.example.com"}]}
    listeners = (Listener("valkey", 6380, "TCP"), Listener("names", 443, "TLS"))
    there = obj("Gateway", spec, status, name="public", namespace="gateways")
    assert route_views.gateway(there) == Gateway("gateways", "public", ("198.51.100.7", "gateway.example.com"), listeners)
    assert route_views.gateway({**there, "status": {}}).addresses == ()


# --- Ingresses ---


def ingress(status=None, **spec):
    rule = {
        "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 443}}}}]}
    }
    rules = [{"host": "orders-0-1.example.com", **rule}, rule]
    return route_views.ingress(obj("Ingress", {"rules": rules, **spec}, status)).view


def test_an_ingress_is_accepted_once_it_has_an_address():
    view = ingress({"loadBalancer": {"ingress": [{"ip": "198.51.100.9"}]}}, ingressClassName="haproxy")
    assert (view.hosts, view.parents) == (("orders-0-1.example.com",), ())
    assert view.verdicts == (Verdict("Ingress class haproxy", accepted=True),)


@pytest.mark.parametrize(
    "status", [None, {"loadBalancer": {}}, {"loadBalancer": {"ingress": []}}, {"loadBalancer": {"ingress": None}}]
)
def test_an_ingress_without_an_address_was_not_taken(status):
    assert ingress(status).verdicts == (Verdict("the default Ingress class", accepted=None),)


# --- OpenShift ---

ROUTE = {"host": "orders-0-1.example.com", "to": {"kind": "Service", "name": "orders-0-1"}, "tls": {"termination": "passthrough"}}


def openshift(*ingress):
    return route_views.openshift_route(obj("Route", ROUTE, {"ingress": list(ingress)})).view


def admitted(status="True", *, host="orders-0-1.example.com", router="default", **words):
    return {
        "conditions": [{"lastTransitionTime": "2026-03-01T11:00:01Z", "status": status, "type": "Admitted", **words}],
        "host": host,
        "routerCanonicalHostname": "router-default.apps.example.com",
        "routerName": router,
        "wildcardPolicy": "None",
    }


def test_a_route_of_openshift_that_its_router_admits():
    view = openshift(admitted())
    assert view.hosts == ("orders-0-1.example.com",)
    assert view.verdicts == (Verdict("router default", accepted=True),)


def test_a_route_of_openshift_that_is_refused():
    refused = admitted("False", reason="HostAlreadyClaimed", message="route web already exposes orders-0-1.example.com")
    assert openshift(refused).verdicts == (
        Verdict("router default", accepted=False, message="HostAlreadyClaimed: route web already exposes orders-0-1.example.com"),
    )


def test_every_router_that_looked_at_it_must_admit_it():
    verdicts = openshift(admitted(), admitted("False", router="internal", reason="HostAlreadyClaimed")).verdicts
    assert verdicts == (
        Verdict("router default", accepted=True),
        Verdict("router internal", accepted=False, message="HostAlreadyClaimed"),
    )


def test_a_route_of_openshift_that_no_router_has_looked_at_as_it_is_now():
    assert openshift().verdicts == (Verdict("the router", accepted=None),)
    assert openshift(admitted(host="old.example.com")).verdicts == (Verdict("the router", accepted=None),)
    assert openshift({**admitted(), "conditions": []}).verdicts == (Verdict("router default", accepted=None),)
