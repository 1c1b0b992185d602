"""Type Ingress with routes made by the operator: what their parents say of them decides what clients outside are told."""

import re

import pytest

from authorities import authority
from e2e import api as kinds
from e2e import gateway_api, openshift, programs, traefik
from e2e.secured import put
from e2e.waiting import eventually

A = authority("A")
TLS = {"certificate": {"secretName": "web-cert"}}
LISTENER = 6380
NODES = ("web-0-0", "web-0-1", "web-1-0")
BY_NAME = {
    "type": "Ingress",
    "advertisedHost": "{name}-{shard}-{node}.routes.example.com",
    "bootstrapHost": "{name}.routes.example.com",
    "announceWhen": "Always",
    "drainSeconds": 2,
}
HOSTNAMES = "*.routes.example.com"


@pytest.fixture
def outside(tmp_path):
    """Makes what clients outside need: the names, all of which lead to an address, and whom to trust."""
    hosts, trust = tmp_path / "hosts", tmp_path / "ca.crt"
    trust.write_text(A.certificate)

    def made(address=traefik.ADDRESS):
        hosts.write_text("".join(f"{address} {name}.routes.example.com\n" for name in ("web", *NODES)) + "127.0.0.1 localhost\n")
        return {"hosts": hosts, "trust": trust}

    return made


@pytest.fixture
def web(new_cluster, api, outside):
    """Makes the cluster, with a certificate that covers all names."""
    inside = f"valkey-web.{new_cluster.namespace}.svc"
    put(api, new_cluster.namespace, A.issue(inside, f"*.{inside}", HOSTNAMES).secret(A))

    def make(routes, *, shards=1, replicas=0):
        external = BY_NAME | {"routes": routes}
        return new_cluster(shards=shards, replicas=replicas, external=external, trust=outside()["trust"], tls=TLS)

    return make


@pytest.fixture
def gateway(api, edge, new_cluster):
    """Makes or changes the test's own Gateway, which is in another namespace than the clusters. What parentRefs need to name it."""
    yield lambda *listeners: edge.gateway(new_cluster.namespace, edge.name, list(listeners))
    api.delete(gateway_api.GATEWAY, new_cluster.namespace, edge.name)


def by_name(parent):
    return {"kind": "TLSRoute", "parentRefs": [parent]}


def names(**more):
    return gateway_api.tls("names", LISTENER, **more)


def addresses(cluster):
    """Each node's endpoint by its Service."""
    return {f"{cluster.name}-{shard}-{node}": told["address"] for (shard, node), told in cluster.endpoints().items()}


def leads_right(cluster, **outside):
    """Whether a client outside reaches at each endpoint the node that it belongs to."""
    endpoints, ids = addresses(cluster), cluster.ids()
    expected = {address: ids[f"valkey-{name}-0"] for name, address in endpoints.items()}
    return programs.node_ids(list(expected), login=cluster.login(), **outside) == expected


def works(cluster, prefix, **outside):
    """A client outside writes and reads what it wrote."""
    with programs.load("valkey-py", seeds=cluster.bootstrap(), login=cluster.login("default"), prefix=prefix, **outside) as load:
        report = load.stop()
    assert report["lost"] == []
    return report["failures"] == 0


def refused(cluster, message, **more):
    return cluster.wait_for("ExternalAccessReady", "False", reason="RouteNotAccepted", message=re.escape(message), **more)


def routes_of(cluster, kind):
    """Its routes by name."""
    return {item["metadata"]["name"]: item for item in cluster.api.list(kind, cluster.namespace, labels=cluster.labels)}


def test_tls_routes_lead_each_name_to_its_node_and_clients_work_through_a_failover(web, gateway, outside):
    cluster = web(by_name(gateway(names(hostname=HOSTNAMES))), replicas=1)
    cluster.wait_until_ready()
    assert cluster.bootstrap() == ["web.routes.example.com:6380"]
    assert addresses(cluster) == {
        "web-0-0": "web-0-0.routes.example.com:6380",
        "web-0-1": "web-0-1.routes.example.com:6380",
    }
    assert routes_of(cluster, gateway_api.TLS_ROUTE).keys() == {"web", "web-0-0", "web-0-1"}
    eventually(lambda: leads_right(cluster, **outside()), what="each name to lead to its node")

    cluster.make_first_nodes_primaries()
    with programs.load(
        "valkey-py", seeds=cluster.bootstrap(), login=cluster.login("default"), prefix="failover", **outside()
    ) as load:
        cluster.ask(cluster.pod(0, 1), "CLUSTER FAILOVER")
        cluster.wait_until_primary("valkey-web-0-1-0")
        cluster.wait_until_ready()
        report = load.stop()
    assert report["lost"] == []
    assert report["failures"] < 10, report["complaints"]
    assert leads_right(cluster, **outside())
