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
NODES = ("web-0-0", "web-0-1")
HOSTNAMES = "*.routes.example.com"
SAME = {"from": "Same"}
BY_NAME = {
    "type": "Ingress",
    "advertisedHost": "{name}-{shard}-{node}.routes.example.com",
    "bootstrapHost": "{name}.routes.example.com",
    "announceWhen": "Always",
    "drainSeconds": 5,
}


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

    def make(routes, *, replicas=0):
        return new_cluster(shards=1, replicas=replicas, external=BY_NAME | {"routes": routes}, trust=outside()["trust"], tls=TLS)

    return make


@pytest.fixture
def gateway(api, edge, new_cluster):
    """Makes or changes the test's own Gateway, which is in another namespace than the clusters. What parentRefs need to name it."""
    yield lambda *listeners: edge.gateway(new_cluster.namespace, edge.name, list(listeners))
    api.delete(gateway_api.GATEWAY, new_cluster.namespace, edge.name)


def by_name(parent):
    return {"kind": "TLSRoute", "parentRefs": [parent]}


def names(**more):
    return gateway_api.tls("names", 6380, **more)


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


def kinds_of(cluster):
    """Which kinds of routes it has, and that each of its two places has one of each."""
    found = {
        kind: routes_of(cluster, of_kind) for kind, of_kind in (("TLSRoute", gateway_api.TLS_ROUTE), ("Ingress", kinds.INGRESS))
    }
    assert {name for routes in found.values() for name in routes} <= {"web", "web-0-0"}
    return {kind for kind, routes in found.items() if len(routes) == 2}


def parents_of(cluster):
    """What each of its routes attaches to, as its user would write it."""
    routes = routes_of(cluster, gateway_api.TLS_ROUTE).values()
    return [[{key: parent[key] for key in ("name", "namespace")} for parent in route["spec"]["parentRefs"]] for route in routes]


def is_draining(found):
    return "drainingSince" in found[0]["status"]["externalAccess"]


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


def test_a_refusal_is_told_with_its_cure_and_leaves_what_was_announced(web, gateway, outside, api, new_cluster):
    parent = gateway(names(hostname="*.other.example.com"))
    hostnames = ["theirs.other.example.com"]
    theirs = gateway_api.tls_route("web", new_cluster.namespace, parents=[parent], hostnames=hostnames, service="x", port=80)
    made = api.create(gateway_api.TLS_ROUTE, theirs)
    cluster = web(by_name(parent))
    told = cluster.wait_for("ExternalAccessReady", "False", reason="ObjectConflict")
    assert "TLSRoute web exists and belongs to somebody else: rename it or this ValkeyCluster; it is not touched" in told["message"]
    assert api.get(gateway_api.TLS_ROUTE, "web", new_cluster.namespace)["spec"] == made["spec"]
    cluster.wait_until_ready(outside=False)

    api.delete(gateway_api.TLS_ROUTE, "web", new_cluster.namespace)
    place = f"Gateway {parent['namespace']}/{parent['name']}"
    refused(
        cluster,
        f"{place} does not accept TLSRoute web-0-0 (NoMatchingListenerHostname): "
        "let a listener's hostname cover web-0-0.routes.example.com, or leave it out",
    )
    gateway(names(namespaces=SAME))
    not_allowed = (
        f"{place} does not accept TLSRoute web-0-0 (NotAllowedByListeners): "
        "let a listener's allowedRoutes admit the cluster's namespace and kind TLSRoute"
    )
    refused(cluster, not_allowed)
    (pod,) = cluster.pods()
    ((_, _, (host, port, _)),) = cluster.slots(pod)
    assert (host, port) == (f"{pod['metadata']['name']}.valkey-web.{cluster.namespace}.svc", 6379)

    gateway(names())
    cluster.wait_until_ready()
    ((_, _, (host, port, _)),) = cluster.slots(pod)
    assert (host, port) == ("web-0-0.routes.example.com", 6380)
    gateway(names(namespaces=SAME))
    refused(cluster, not_allowed)
    cluster.wait_until_ready(outside=False)
    ((_, _, (host, port, _)),) = cluster.slots(pod)
    assert (host, port) == ("web-0-0.routes.example.com", 6380)
    assert addresses(cluster) == {"web-0-0": "web-0-0.routes.example.com:6380"}

    gateway(names())
    cluster.wait_until_ready()
    eventually(lambda: leads_right(cluster, **outside()), what="each name to lead to its node")


def test_another_kind_of_route_is_changed_to_on_a_live_cluster_and_old_ones_stay_until_nobody_needs_them(
    web, gateway, edge, outside
):
    """Story 8 from a Gateway to an Ingress on port 443, and on to routes of the user's own."""
    cluster = web(by_name(gateway(names())))
    cluster.wait_until_ready()
    assert cluster.bootstrap() == ["web.routes.example.com:6380"]
    eventually(lambda: leads_right(cluster, **outside()), what="each name to lead to its node")
    assert kinds_of(cluster) == {"TLSRoute"}
    begin = {"seeds": cluster.bootstrap(), "fresh_every": None}  # nobody begins there when the old routes have gone
    with programs.load("valkey-py", login=cluster.login("default"), prefix="kind", **begin, **outside()) as load:
        cluster.external(routes={"kind": "Ingress", "parentRefs": None, "ingressClassName": edge.ingress_class})
        cluster.wait_until(is_draining, what="old routes that drain")
        assert kinds_of(cluster) == {"TLSRoute", "Ingress"}
        cluster.wait_until_drained()
        report = load.stop()
    assert (report["failures"], report["lost"]) == (0, []), report["complaints"]
    cluster.wait_until_ready()
    assert cluster.bootstrap() == ["web.routes.example.com:443"]
    assert addresses(cluster) == {"web-0-0": "web-0-0.routes.example.com:443"}
    assert leads_right(cluster, **outside())
    assert works(cluster, "ingress", **outside())
    assert kinds_of(cluster) == {"Ingress"}

    cluster.external(routes=None, advertisedPort=443)
    cluster.wait_until(is_draining, what="routes that drain")
    assert kinds_of(cluster) == {"Ingress"}
    cluster.wait_until_drained()
    cluster.wait_until_ready()
    assert kinds_of(cluster) == set()


def test_another_gateway_takes_over_while_the_old_one_still_leads(web, gateway, edge, outside):
    """Story 8 from Gateway to Gateway."""
    old = gateway(names())
    cluster = web(by_name(old))
    cluster.wait_until_ready()
    eventually(lambda: leads_right(cluster, **outside()), what="each name to lead to its node")
    name = f"{cluster.namespace}-new"
    new = edge.gateway(name, edge.name, [names()])
    try:
        with programs.load(
            "valkey-py", seeds=cluster.bootstrap(), login=cluster.login("default"), prefix="move", **outside()
        ) as load:
            cluster.external(routes={"parentRefs": [new]})
            cluster.wait_until(is_draining, what="old Gateway that drains")
            assert parents_of(cluster) == [[new, old]] * 2
            cluster.wait_until_drained()
            report = load.stop()
        assert (report["failures"], report["lost"]) == (0, []), report["complaints"]
        cluster.wait_until_ready()
        assert parents_of(cluster) == [[new]] * 2
        assert leads_right(cluster, **outside())
    finally:
        cluster.api.delete(gateway_api.GATEWAY, name, edge.name)


def test_tcp_routes_have_a_port_for_each_node_without_tls_and_names_and_keep_it(new_cluster, gateway, operator):
    listeners = [gateway_api.tcp("port-6390", 6390), gateway_api.tls("port-6392", 6392)]
    parent = gateway(*listeners)
    by_port = {
        "type": "Ingress",
        "advertisedPort": 6390,
        "announceWhen": "Always",
        "routes": {"kind": "TCPRoute", "parentRefs": [parent]},
    }
    place = f"Gateway {parent['namespace']}/{parent['name']}"
    cluster = new_cluster(shards=1, replicas=1, external=by_port)
    refused(cluster, f"{place} has no listeners of protocol TCP at ports 6391, 6393: add them")
    cluster.wait_until_ready(outside=False)
    listeners.append(gateway_api.tcp("port-6391", 6391))
    gateway(*listeners)
    refused(cluster, f"{place} has no listeners of protocol TCP at ports 6393: add them")
    listeners.append(gateway_api.tcp("port-6393", 6393))
    gateway(*listeners)
    cluster.wait_until_ready()
    assert cluster.bootstrap() == ["198.18.0.12:6390"]
    assert addresses(cluster) == {"web-0-0": "198.18.0.12:6391", "web-0-1": "198.18.0.12:6393"}
    assert leads_right(cluster)
    assert works(cluster, "tcp")

    second = new_cluster("second", shards=1, replicas=0, external=by_port)
    refused(second, f"{place} has no listeners of protocol TCP at ports 6394, 6395: add them")
    gateway(*listeners, gateway_api.tcp("port-6394", 6394), gateway_api.tcp("port-6395", 6395))
    second.wait_until_ready()
    assert second.bootstrap() == ["198.18.0.12:6394"]
    assert addresses(second) == {"second-0-0": "198.18.0.12:6395"}
    assert leads_right(second)

    ports = {name: route["spec"]["parentRefs"] for name, route in routes_of(cluster, gateway_api.TCP_ROUTE).items()}
    cluster.external(advertisedPort=6380)
    operator.restart()
    cluster.wait_until_ready()
    assert addresses(cluster) == {"web-0-0": "198.18.0.12:6391", "web-0-1": "198.18.0.12:6393"}
    assert {name: route["spec"]["parentRefs"] for name, route in routes_of(cluster, gateway_api.TCP_ROUTE).items()} == ports


def test_openshifts_routes_are_announced_once_their_router_admits_them(web, kubernetes, api, outside, tmp_path):
    cluster = web({"kind": "Route"})
    refused(
        cluster, "Kubernetes does not serve Route, or the operator may not see that it does: install the CRDs that it comes from"
    )
    openshift.install(api)
    try:
        router = openshift.Router(kubernetes, tmp_path)
        router.refused["web-0-0.routes.example.com"] = ("HostAlreadyClaimed", "it belongs to an older route")
        with router:
            refused(
                cluster,
                "router default does not accept Route web-0-0 (HostAlreadyClaimed: it belongs to an older route): choose another host",
            )
            router.refused.clear()
            cluster.wait_until_ready()
            assert cluster.bootstrap() == ["web.routes.example.com:443"]
            assert addresses(cluster) == {"web-0-0": "web-0-0.routes.example.com:443"}
            there = outside(openshift.ADDRESS)
            eventually(lambda: leads_right(cluster, **there), what="each name to lead to its node")
            assert works(cluster, "openshift", **there)
    finally:
        openshift.uninstall(api)
    refused(cluster, "Kubernetes does not serve Route")
