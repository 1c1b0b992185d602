"""The stand-in for OpenShift's router admits Routes and leads their names."""

import pytest

from e2e import openshift
from e2e.openshift import ROUTE, Router, route
from e2e.routers.servers import host
from e2e.waiting import eventually


@pytest.fixture(scope="module")
def router(kubernetes, api, tmp_path_factory):
    openshift.install(api)
    with Router(kubernetes, tmp_path_factory.mktemp("openshift")) as running:
        yield running
    openshift.uninstall(api)


@pytest.fixture
def made(api, servers):
    """Makes a Route and says what the router tells of it."""

    def make(name, **of_route):
        api.apply(ROUTE, route(name, servers.namespace, **of_route))
        told = api.until(
            ROUTE, servers.namespace, lambda found: found[0].get("status", {}).get("ingress"), name=name, what="a word"
        )
        (entry,) = told
        (condition,) = entry.pop("conditions")
        condition.pop("lastTransitionTime")
        return entry, condition

    return make


def test_a_route_leads_its_host_to_its_server_and_the_client_verifies_it(router, made, servers):  # noqa: ARG001 -- it has to run
    for name, port in (("one", "valkey"), ("two", 6379)):
        entry, condition = made(name, host=host(name), service=name, port=port)
        assert entry == {
            "host": f"{name}.routed.example.com",
            "routerName": "default",
            "routerCanonicalHostname": "router-default.apps.example.com",
            "wildcardPolicy": "None",
        }
        assert condition == {"type": "Admitted", "status": "True"}
    for name in ("one", "two"):
        eventually(lambda name=name: servers.reached(name, "198.18.0.13", 443) == name, what=f"server {name} reached")


def test_a_second_route_for_a_host_is_refused_until_the_older_one_has_gone(router, api, made, servers):  # noqa: ARG001 -- it has to run
    made("first", host="shared.routed.example.com", service="one", port="valkey")
    _, condition = made("second", host="shared.routed.example.com", service="two", port="valkey")
    assert condition == {
        "type": "Admitted",
        "status": "False",
        "reason": "HostAlreadyClaimed",
        "message": f"shared.routed.example.com belongs to the older route {servers.namespace}/first",
    }
    api.delete(ROUTE, "first", servers.namespace)

    def is_admitted(found):
        return found[0]["status"]["ingress"][0]["conditions"][0]["status"] == "True"

    api.until(ROUTE, servers.namespace, is_admitted, name="second", what="the second route admitted")


def test_a_host_can_be_refused_for_any_reason(router, made):
    router.refused["bad.routed.example.com"] = ("RouteNotAdmitted", "not in this domain")
    _, condition = made("bad", host="bad.routed.example.com", service="one", port="valkey")
    assert condition == {"type": "Admitted", "status": "False", "reason": "RouteNotAdmitted", "message": "not in this domain"}
