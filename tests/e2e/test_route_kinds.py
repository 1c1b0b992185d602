"""The kinds of routes may be absent, come while the operator runs, change their version, and go."""

import re

import pytest

from authorities import authority
from e2e import gateway_api
from e2e.secured import put
from e2e.traefik import ADDRESS, OlderTraefik

A = authority("A")


@pytest.fixture
def _no_kinds(api):
    """The kinds of the Gateway API are absent before and after."""
    gateway_api.uninstall(api)
    yield
    gateway_api.uninstall(api)


@pytest.fixture
def web(new_cluster, api, tmp_path):
    """A cluster with TLSRoutes at the Gateway edge of its namespace, which is not there."""
    put(api, new_cluster.namespace, A.issue(f"*.valkey-web.{new_cluster.namespace}.svc", "*.routes.example.com").secret(A))
    trust = tmp_path / "ca.crt"
    trust.write_text(A.certificate)
    external = {
        "type": "Ingress",
        "advertisedHost": "{name}-{shard}-{node}.routes.example.com",
        "bootstrapHost": "{name}.routes.example.com",
        "announceWhen": "Always",
        "routes": {"kind": "TLSRoute", "parentRefs": [{"name": "edge"}]},
    }
    tls = {"certificate": {"secretName": "web-cert"}}
    return new_cluster(shards=1, replicas=0, external=external, trust=trust, tls=tls)


def told(cluster):
    """What the one server tells clients of itself."""
    ((_, _, (host, port, _)),) = cluster.slots(*cluster.pods())
    return host, port


def refused(cluster, message):
    cluster.wait_for("ExternalAccessReady", "False", reason="RouteNotAccepted", message=re.escape(message))
    cluster.wait_until_ready(outside=False)


def version(api, cluster):
    """The version of the kind by which the operator writes its routes."""
    (route,) = api.list(
        gateway_api.Kind("gateway.networking.k8s.io/v1alpha3", "tlsroutes"), cluster.namespace, labels=cluster.labels
    )[:1]
    return [each["apiVersion"] for each in route["metadata"]["managedFields"] if each["manager"] == "valkey-operator"]


@pytest.mark.usefixtures("_no_kinds")
def test_kinds_that_come_in_any_version_are_picked_up_while_the_operator_runs(web, kubernetes, api, tmp_path):
    refused(
        web,
        "Kubernetes does not serve TLSRoute, or the operator may not see that it does: install the CRDs that it comes from, "
        "or choose another spec.externalAccess.routes.kind",
    )
    gateway_api.install(api, gateway_api.OLDER)
    refused(web, f"Gateway {web.namespace}/edge does not exist: make it, or correct spec.externalAccess.routes.parentRefs")
    with OlderTraefik(kubernetes, api, tmp_path, tells={"ip": ADDRESS}) as older:
        older.gateway("edge", web.namespace, [gateway_api.tls("names", 6380)])
        web.wait_until_ready()
        assert told(web) == ("web-0-0.routes.example.com", 6380)
        assert version(api, web) == ["gateway.networking.k8s.io/v1alpha3"]

        gateway_api.install(api)
        web.external(routes={"annotations": {"example.com/by": "v1"}})
        api.until(
            gateway_api.TLS_ROUTE,
            web.namespace,
            lambda found: all(route["metadata"].get("annotations", {}).get("example.com/by") == "v1" for route in found),
            what="the routes changed",
        )
        assert version(api, web) == ["gateway.networking.k8s.io/v1"]
        web.wait_until_ready()

        gateway_api.uninstall(api)
        refused(web, "Kubernetes does not serve TLSRoute")
        assert told(web) == ("web-0-0.routes.example.com", 6380)


@pytest.mark.usefixtures("without_definitions", "gateway_kinds")
def test_without_the_right_to_see_which_kinds_there_are_the_cluster_works_inside_and_says_so(web):
    refused(web, "Kubernetes does not serve TLSRoute, or the operator may not see that it does")
