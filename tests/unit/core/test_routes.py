"""Routes as they should be, and what is told of those that are not accepted."""

from dataclasses import replace

import pytest

from unit.core.given import observed
from unit.core.routed import (
    BY_NAME,
    BY_PORT,
    KINDS,
    PARENT,
    PLACES,
    PORTS,
    PUBLIC,
    YES,
    by_name,
    by_port,
    gateway,
    named,
    other,
    ported,
    routing,
)
from valkey_operator.api.status import Bootstrap, ExternalAccessStatus
from valkey_operator.core import sni
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Announcement, ListenerRef, Verdict
from valkey_operator.core.plan import ExternalRoute, ServicePort
from valkey_operator.core.routes import refusal, routes_now, wanted_by

NAME = "orders-0-1"
HOST = "orders-0-1.example.com"
R0 = NodeIndex(0, 1)


def now(seen, *, drained=False):
    enabled = seen.cluster.spec.external_access.enabled
    return routes_now(seen, tuple(sni.services(seen)) if enabled else (), drained=drained)


def wanted(seen, *, drained=False):
    return {route.name: route for route in now(seen, drained=drained).ensured}


def said(seen, service=NAME):
    missing = refusal(seen, service)
    return missing if missing is None else (missing.reason, missing.message)


def of(kind, **fields):
    return {**BY_NAME, "routes": {"kind": kind, **fields}}


# --- which routes there are ---


def test_nobody_asked_for_routes():
    assert wanted_by(named(access={"routes": None}).cluster) is None
    assert wanted_by(named(access={"enabled": False}).cluster) is None
    assert wanted_by(observed({"type": "NodePort"}).cluster) is None
    assert now(named(access={"routes": None}, routing=routing())).ensured == ()


def test_each_node_and_all_shards_have_a_route_by_name():
    found = wanted(named(routing=routing()))
    assert {name: each.hosts for name, each in found.items()} == {
        "orders": ("orders.example.com",),
        "orders-0-0": ("orders-0-0.example.com",),
        "orders-0-1": ("orders-0-1.example.com",),
        "orders-1-0": ("orders-1-0.example.com",),
        "orders-1-1": ("orders-1-1.example.com",),
        "orders-2-0": ("orders-2-0.example.com",),
        "orders-2-1": ("orders-2-1.example.com",),
    }
    assert found[NAME] == ExternalRoute(
        kind="TLSRoute",
        api_version="gateway.networking.k8s.io/v1",
        name="orders-0-1",
        role="node",
        shard=0,
        hosts=("orders-0-1.example.com",),
        parents=(ListenerRef("gateways", "public"),),
        port=ServicePort("sni-1", 6380, 6379),
    )


def test_where_hosts_tell_shards_apart_each_shard_has_one():
    found = wanted(named(access={"advertisedHost": "{name}-{shard}.example.com"}, routing=routing()))
    assert {name: each.hosts for name, each in found.items()} == {
        "orders": ("orders.example.com",),
        "orders-0": ("orders-0.example.com",),
        "orders-1": ("orders-1.example.com",),
        "orders-2": ("orders-2.example.com",),
    }


def test_there_is_none_to_all_shards_where_there_is_no_such_service():
    found = wanted(named(access={"bootstrapService": False, "bootstrapHost": None}, routing=routing()))
    assert set(found) == set(PLACES) - {"orders"}


def test_a_route_by_port_has_a_listener_of_its_own_and_no_name():
    found = wanted(ported(routing=routing()))
    assert {name: (each.hosts, each.parents[0].port, each.port.port) for name, each in found.items()} == {
        name: ((), port, port) for name, port in PORTS.items()
    }
    assert found[NAME].parents == (ListenerRef("gateways", "public", port=6382),)
    assert found[NAME].api_version == "gateway.networking.k8s.io/v1alpha2"


def test_a_route_attaches_to_every_parent_as_the_user_says():
    parents = [PARENT, {"name": "own", "sectionName": "valkey"}, {"name": "private", "namespace": "b", "port": 443}]
    seen = named(access=of("TLSRoute", parentRefs=parents), routing=routing())
    assert wanted(seen)[NAME].parents == (
        ListenerRef("gateways", "public"),
        ListenerRef("shop", "own", section="valkey"),
        ListenerRef("b", "private", port=443),
    )


@pytest.mark.parametrize("kind", ["Ingress", "Route"])
def test_routes_without_a_gateway_listen_at_443(kind):
    found = wanted(observed(of(kind), routing=routing()))[NAME]
    assert (found.kind, found.parents, found.port) == (kind, (), ServicePort("sni-1", 443, 6379))


def test_an_ingress_has_the_users_class():
    found = wanted(observed(of("Ingress", ingressClassName="haproxy"), routing=routing()))
    assert found[NAME].ingress_class == "haproxy"


def test_an_annotation_that_names_a_shard_or_a_node_is_on_the_routes_that_have_one():
    annotations = {"a.test/all": "{namespace}/{name}", "a.test/shard": "s{shard}", "a.test/node": "n{shard}-{node}"}
    parents = {"parentRefs": [PARENT], "annotations": annotations}
    found = wanted(named(access=of("TLSRoute", **parents), routing=routing()))
    assert found["orders"].annotations == {"a.test/all": "shop/orders"}
    assert found["orders-2-1"].annotations == {"a.test/all": "shop/orders", "a.test/shard": "s2", "a.test/node": "n2-1"}
    by_shard = {**of("TLSRoute", **parents), "advertisedHost": "{name}-{shard}.example.com"}
    assert wanted(named(access=by_shard, routing=routing()))["orders-2"].annotations == {
        "a.test/all": "shop/orders",
        "a.test/shard": "s2",
    }


def test_a_kind_that_is_not_served_is_not_made():
    seen = named(routing=routing(served={"Ingress": KINDS["Ingress"]}))
    assert now(seen).ensured == ()


def test_a_route_that_is_being_deleted_is_left_alone():
    assert set(wanted(named(*by_name(deleting=True)))) == set()


# --- changes: what old endpoints need stays for a while ---


def test_a_route_leads_old_hosts_until_they_are_drained():
    old = tuple(replace(each, hosts=(f"{each.name}.old.example.com",)) for each in by_name())
    found = now(named(*old))
    assert [each.hosts for each in found.ensured if each.name == NAME] == [(HOST, "orders-0-1.old.example.com")]
    assert "TLSRoute/orders-0-1:orders-0-1.old.example.com" in found.leftovers
    assert len(found.leftovers) == 7
    assert wanted(named(*old), drained=True)[NAME].hosts == (HOST,)


def test_a_route_of_openshift_has_one_host():
    old = tuple(replace(each, hosts=(f"{each.name}.old.example.com",)) for each in by_name("Route"))
    found = now(observed(of("Route"), routing=routing(*old)))
    assert [each.hosts for each in found.ensured if each.name == NAME] == [(HOST,)]
    assert found.leftovers == ()


def test_a_route_keeps_old_parents_until_they_are_drained():
    other_gateway = ListenerRef("gateways", "private")
    old = by_name(parents=(other_gateway,), verdicts=())
    found = now(named(*old))
    assert [each.parents for each in found.ensured if each.name == NAME] == [(ListenerRef("gateways", "public"), other_gateway)]
    assert "TLSRoute/orders-0-1 of Gateway gateways/private" in found.leftovers
    assert wanted(named(*old), drained=True)[NAME].parents == (ListenerRef("gateways", "public"),)


def test_what_an_old_parent_says_counts_no_more():
    both = (ListenerRef("gateways", "public"), ListenerRef("gateways", "private"))
    refused = Verdict("Gateway gateways/private", accepted=False, message="NotAllowedByListeners")
    assert said(named(*by_name(parents=both, verdicts=(YES, refused)))) is None


def test_on_a_gateway_that_stays_a_route_by_port_moves_at_once():
    seen = ported(*(replace(each, parents=(replace(each.parents[0], section="old"),)) for each in by_port()))
    assert now(seen).leftovers == ()
    assert wanted(seen)[NAME].parents == (ListenerRef("gateways", "public", port=6382),)


CHANGES = {
    "another kind": of("Ingress"),
    "no routes": {**BY_NAME, "routes": None},
    "off": {**BY_NAME, "enabled": False},
}


@pytest.mark.parametrize("access", CHANGES.values(), ids=CHANGES)
def test_old_routes_stay_until_they_are_drained(access):
    seen = observed(access, routing=routing(*by_name()))
    assert now(seen).removed == ()
    assert set(now(seen).leftovers) == {f"TLSRoute/{name}" for name in PLACES}
    assert {(each.kind, each.name, each.uid) for each in now(seen, drained=True).removed} == {
        ("TLSRoute", name, f"TLSRoute-{name}") for name in PLACES
    }


def test_the_routes_of_another_kind_are_made_beside_the_old_ones():
    found = now(observed(of("Ingress"), routing=routing(*by_name())))
    assert {(each.kind, each.name) for each in found.ensured} == {("Ingress", name) for name in PLACES}


def test_a_route_is_removed_once():
    seen = observed({**BY_NAME, "enabled": False}, routing=routing(*by_name(deleting=True)))
    assert now(seen, drained=True).removed == ()


def test_with_nothing_old_there_is_nothing_to_drain():
    assert now(named()).leftovers == ()
    assert now(ported()).leftovers == ()


# --- refusals ---


def test_an_accepted_route_is_fine():
    assert said(named()) is None
    assert said(ported()) is None


def test_routes_that_the_user_makes_are_none_of_the_operators_business():
    assert said(named(access={"routes": None}, routing=routing())) is None


@pytest.mark.parametrize("kind", ["TLSRoute", "TCPRoute", "Route"])
def test_a_kind_that_is_not_served(kind):
    parents = {"parentRefs": [PARENT]} if kind != "Route" else {}
    seen = observed(of(kind, **parents), routing=routing(served={"Ingress": KINDS["Ingress"]}))
    assert said(seen) == (
        "RouteNotAccepted",
        (
            f"Kubernetes does not serve {kind}, or the operator may not see that it does: install the CRDs that it comes from, "
            "or choose another spec.externalAccess.routes.kind"
        ),
    )


@pytest.mark.parametrize("seen", [named(routing=routing(gateways={})), ported(routing=routing(gateways={}))])
def test_a_gateway_that_is_not_there(seen):
    assert said(seen) == (
        "RouteNotAccepted",
        "Gateway gateways/public does not exist: make it, or correct spec.externalAccess.routes.parentRefs",
    )


def test_listeners_that_are_missing():
    listening = gateway(6380, 6381, 6383, 6384, 6386)
    assert said(ported(routing=routing(*by_port(), gateways={PUBLIC: listening}))) == (
        "RouteNotAccepted",
        "Gateway gateways/public has no listeners of protocol TCP at ports 6382, 6385: add them",
    )
    assert said(named(routing=routing(*by_name(), gateways={PUBLIC: listening}))) is None


def test_a_route_that_is_not_there_yet():
    expected = ("RouteNotAccepted", "TLSRoute orders-0-1 is not there yet")
    assert said(named(routing=routing())) == expected
    assert said(named(*by_name(deleting=True))) == expected
    assert said(named(*by_name("Ingress"))) == expected


def test_a_route_that_still_leads_another_host():
    old = tuple(replace(each, hosts=(f"{each.name}.old.example.com",)) for each in by_name())
    assert said(named(*old)) == ("RouteNotAccepted", "TLSRoute orders-0-1 does not lead orders-0-1.example.com yet")


def test_a_route_that_still_attaches_elsewhere():
    elsewhere = by_name(parents=(ListenerRef("gateways", "private"),))
    assert said(named(*elsewhere)) == ("RouteNotAccepted", "TLSRoute orders-0-1 does not attach to Gateway gateways/public yet")
    moving = ported(routing=routing(*by_port(), others=(other(6382),)))
    assert said(moving) == ("RouteNotAccepted", "TCPRoute orders-0-1 does not attach to Gateway gateways/public port 6387 yet")


def refused(message):
    return by_name(verdicts=(Verdict("Gateway gateways/public", accepted=False, message=message),))


@pytest.mark.parametrize(
    ("message", "cure"),
    [
        (
            "NotAllowedByListeners: No listener allows this namespace",
            ": let a listener's allowedRoutes admit the cluster's namespace and kind TLSRoute",
        ),
        (
            "NoMatchingListenerHostname",
            ": let a listener's hostname cover orders-0-1.example.com, or leave it out",
        ),
        (
            "NoMatchingParent: No matching parent",
            ": name a listener that is there in spec.externalAccess.routes.parentRefs",
        ),
        ("Pending: {as} it is", ""),
    ],
)
def test_a_refusal_is_quoted_with_what_to_do(message, cure):
    assert said(named(*refused(message))) == (
        "RouteNotAccepted",
        f"Gateway gateways/public does not accept TLSRoute orders-0-1 ({message}){cure}",
    )


def test_a_host_that_somebody_has_already():
    taken = by_name("Route", verdicts=(Verdict("router default", accepted=False, message="HostAlreadyClaimed: by bank/web"),))
    assert said(observed(of("Route"), routing=routing(*taken)))[1] == (
        "router default does not accept Route orders-0-1 (HostAlreadyClaimed: by bank/web): choose another host"
    )


def test_a_controller_that_is_silent():
    silent = by_name(verdicts=(Verdict("Gateway gateways/public", accepted=None),))
    assert said(named(*silent)) == (
        "RouteNotAccepted",
        "Gateway gateways/public has not taken TLSRoute orders-0-1 yet: does its controller run?",
    )


def test_a_gateway_that_looks_at_a_route_anew_leads_on_to_hosts_that_are_told():
    """Old hosts were taken off the route: nothing that clients are told has changed."""
    anew = by_name(verdicts=(Verdict("Gateway gateways/public", accepted=None, accepted_before=True),))
    silent = "Gateway gateways/public has not taken TLSRoute orders-0-1 yet: does its controller run?"
    assert said(named(*anew, told={R0: Announcement(HOST, 6380)})) is None
    assert said(named(*anew, told={R0: Announcement("other.example.com", 6380)}))[1] == silent
    assert said(named(*anew))[1] == silent
    seen = named(*anew)
    begun = ExternalAccessStatus(type="Ingress", bootstrap=Bootstrap(service="orders", addresses=("orders.example.com:6380",)))
    status = seen.cluster.status.model_copy(update={"external_access": begun})
    assert said(replace(seen, cluster=replace(seen.cluster, status=status)), "orders") is None


def test_where_the_gateways_address_is_told_it_leads_on_once_anything_is_told():
    anew = by_port(verdicts=(Verdict("Gateway gateways/public port 6382", accepted=None, accepted_before=True),))
    assert said(ported(*anew, told={R0: Announcement("198.51.100.7", 6382, "198.51.100.7")})) is None
    assert said(ported(*anew))[1].startswith("Gateway gateways/public port 6382 has not taken TCPRoute orders-0-1 yet")


def test_every_parent_must_accept():
    parents = [PARENT, {"name": "private", "namespace": "gateways"}]
    both = tuple(ListenerRef("gateways", name) for name in ("public", "private"))
    gateways = {PUBLIC: gateway(), "gateways/private": gateway(name="private")}

    def parted(*verdicts):
        routes = by_name(parents=both, verdicts=verdicts)
        return named(access=of("TLSRoute", parentRefs=parents), routing=routing(*routes, gateways=gateways))

    private = Verdict("Gateway gateways/private", accepted=False, message="NotAllowedByListeners")
    assert said(parted(YES, replace(private, accepted=True))) is None
    assert said(parted(YES, private))[1].startswith("Gateway gateways/private does not accept TLSRoute orders-0-1 (NotAllowed")
    assert said(parted(Verdict("Gateway gateways/public", accepted=None), private))[1] == (
        "Gateway gateways/public has not taken TLSRoute orders-0-1 yet: does its controller run?; Gateway gateways/private does not accept "
        "TLSRoute orders-0-1 (NotAllowedByListeners): let a listener's allowedRoutes admit the cluster's namespace and kind TLSRoute"
    )


def test_each_service_is_told_of_its_own_route():
    one = tuple(
        replace(each, verdicts=(Verdict("Gateway gateways/public", accepted=None),)) if each.name == "orders" else each
        for each in by_name()
    )
    assert said(named(*one)) is None
    assert said(named(*one), "orders")[1].startswith("Gateway gateways/public has not taken TLSRoute orders yet")


def test_an_ingress_counts_once_it_has_an_address():
    waiting = Verdict("Ingress class haproxy", accepted=None)
    assert said(observed(of("Ingress"), routing=routing(*by_name("Ingress")))) is None
    assert said(observed(of("Ingress"), routing=routing(*by_name("Ingress", verdicts=(waiting,))))) == (
        "RouteNotAccepted",
        "Ingress class haproxy has not taken Ingress orders-0-1 yet: does its controller run?",
    )


def test_by_port_a_name_is_no_matter():
    refused = by_port(verdicts=(Verdict("Gateway gateways/public port 6382", accepted=False, message="NotAllowedByListeners"),))
    assert said(ported(*refused, access={**BY_PORT, "advertisedHost": "valkey.example.com"}))[1] == (
        "Gateway gateways/public port 6382 does not accept TCPRoute orders-0-1 (NotAllowedByListeners): let a listener's allowedRoutes admit "
        "the cluster's namespace and kind TCPRoute"
    )
