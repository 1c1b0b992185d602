"""The Gateway API's kinds come in the versions of two releases, and go."""

import pytest

from e2e import gateway_api
from e2e.api import Kind
from e2e.routers.servers import PORT, host
from e2e.traefik import ADDRESS, OlderTraefik
from e2e.waiting import eventually

SERVED = {
    "gateways": ["v1", "v1beta1"],
    "tlsroutes": ["v1", "v1alpha2", "v1alpha3"],
    "tcproutes": ["v1", "v1alpha2"],
}
SERVED_BY_THE_OLDER = {
    "gateways": ["v1", "v1beta1"],
    "tlsroutes": ["v1alpha2", "v1alpha3"],
    "tcproutes": ["v1alpha2"],
}


@pytest.fixture(autouse=True)
def _gone(api):
    """Each test begins and ends without these kinds."""
    yield
    gateway_api.uninstall(api)


def served(api):
    versions = ("v1", "v1alpha2", "v1alpha3", "v1beta1")
    return {
        plural: [version for version in versions if api.serves(Kind(f"gateway.networking.k8s.io/{version}", plural))]
        for plural in SERVED
    }


def test_the_current_release_serves_routes_as_v1_and_the_older_one_as_alphas(api):
    gateway_api.install(api, gateway_api.OLDER)
    older = served(api)
    gateway_api.install(api)
    current = served(api)
    gateway_api.uninstall(api)
    assert older == SERVED_BY_THE_OLDER
    assert current == SERVED
    assert served(api) == {"gateways": [], "tlsroutes": [], "tcproutes": []}


def test_an_older_gateway_serves_the_older_releases_routes(kubernetes, api, servers, tmp_path):
    gateway_api.install(api, gateway_api.OLDER)
    alpha = Kind("gateway.networking.k8s.io/v1alpha3", "tlsroutes")
    with OlderTraefik(kubernetes, api, tmp_path, tells={"ip": ADDRESS}) as older:
        parents = [older.gateway("edge", older.name, [gateway_api.tls("names", 6380)])]
        route = gateway_api.tls_route("one", servers.namespace, parents=parents, hostnames=[host("one")], service="one", port=PORT)
        api.apply(alpha, route | {"apiVersion": alpha.group_version})
        (parent,) = api.until(alpha, servers.namespace, lambda found: found[0].get("status", {}).get("parents"), what="a word")
        assert [(each["type"], each["status"]) for each in parent["conditions"]] == [("Accepted", "True"), ("ResolvedRefs", "True")]
        eventually(lambda: servers.reached("one", ADDRESS, 6380) == "one", what="server one reached")
