"""The Gateway API's kinds come in the versions of two releases, and go."""

import pytest

from e2e import gateway_api
from e2e.api import Kind

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


@pytest.fixture
def api(api):
    yield api
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
