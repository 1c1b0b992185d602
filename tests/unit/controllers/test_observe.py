"""What is observed as a cluster's own is what it owns. Labels are anybody's to write, and what is ours may be removed."""

from dataclasses import replace

import pytest

from golden.orders import orders
from valkey_operator.api.status import ExternalAccessStatus, NodeEndpoint, ShardEndpoint
from valkey_operator.controllers import route_views, views
from valkey_operator.controllers.mirror import Mirror
from valkey_operator.controllers.observe import Eyes
from valkey_operator.controllers.routing_mirror import RoutingMirror
from valkey_operator.kube.kinds import Key
from valkey_operator.kube.observer import SILENT

OWNER = {"kind": "ValkeyCluster", "name": "orders", "controller": True}
ROUTES = {"kind": "TCPRoute", "parentRefs": [{"name": "public", "namespace": "gateways"}]}
CLUSTER = orders(externalAccess={"enabled": True, "type": "Ingress", "routes": ROUTES})


def made(kind, name, spec, *owners):
    labels = {"valkey.io/cluster": "orders", "valkey.io/external-access": "shard"}
    metadata = {
        "name": name,
        "namespace": "shop",
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-03-01T11:00:00Z",
        "labels": labels,
        "ownerReferences": list(owners),
    }
    return {"apiVersion": "x/v1", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture
def mirror():
    routing = RoutingMirror(None, namespace=None, reads_definitions=True, ours="", observer=SILENT)
    return Mirror(None, routing, namespace=None, reads_nodes=False, observer=SILENT)


def put(store, seen):
    store.put(Key(seen.child.namespace, seen.child.name), seen)


async def seen(mirror, cluster=CLUSTER):
    return await Eyes(None, mirror, None, domain="cluster.local").observe(cluster)


OURS = {**OWNER, "uid": CLUSTER.uid}
NOT_OURS = [
    pytest.param((), id="nobody's"),
    pytest.param(({**OWNER, "uid": "before"},), id="that of a cluster of the same name that was there before"),
    pytest.param(({**OURS, "controller": False},), id="one that we do not control"),
]


@pytest.mark.parametrize("owners", NOT_OURS)
async def test_a_service_with_our_labels_that_we_do_not_own_is_not_seen(mirror, owners):
    put(mirror.services.store, views.service(made("Service", "orders-0", {"type": "ClusterIP"}, OURS)))
    put(mirror.services.store, views.service(made("Service", "handmade", {"type": "ClusterIP"}, *owners)))
    assert list((await seen(mirror)).services) == ["orders-0"]


@pytest.mark.parametrize("owners", NOT_OURS)
async def test_a_route_with_our_labels_that_we_do_not_own_is_somebody_elses(mirror, owners):
    parents = {"parentRefs": [{"name": "public", "namespace": "gateways", "port": 6380}]}
    tcp = mirror.routing._optional["TCPRoute"].store
    put(tcp, route_views.gateway_route(made("TCPRoute", "orders-0-0", parents, OURS)))
    put(tcp, route_views.gateway_route(made("TCPRoute", "handmade", parents, *owners)))
    put(mirror.routing._ingresses.store, route_views.ingress(made("Ingress", "handmade", {}, *owners)))
    routing = (await seen(mirror)).routing
    assert [route.name for route in routing.routes] == ["orders-0-0"]
    assert [route.name for route in routing.others] == ["handmade"]


async def test_what_other_clusters_announce_by_their_records_is_theirs(mirror):
    address = "db.example.com:6380"
    balanced = {"enabled": True, "type": "LoadBalancer", "advertisedHost": "db.example.com", "loadBalancerScope": "Cluster"}
    told = ExternalAccessStatus(
        type="LoadBalancer", endpoints=(ShardEndpoint(shard=0, nodes=(NodeEndpoint(node=0, address=address),)),)
    )
    older = replace(orders(externalAccess=balanced), created="2026-03-01T10:00:00Z")
    status = older.status.model_copy(update={"external_access": told})
    younger = replace(older, name="younger", uid="younger", created="2026-03-01T11:00:00Z", status=status)
    for cluster in (older, younger):
        mirror.clusters.store.put(Key(cluster.namespace, cluster.name), cluster)
    assert (await seen(mirror, older)).claims == {}

    announce = {"host": "db.example.com", "port": 6380}
    record = made("ValkeyNode", "younger-0-0", {"cluster": "younger", "shard": 0, "node": 0, "announce": announce})
    record["metadata"]["labels"] = {"valkey.io/cluster": "younger", "valkey.io/shard-index": "0", "valkey.io/node-index": "0"}
    put(mirror.records.store, views.record(record))
    assert (await seen(mirror, older)).claims == {address: "shop/younger"}
    assert (await seen(mirror, younger)).claims == {}
