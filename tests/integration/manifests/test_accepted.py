"""What is rendered, given to a real API server whose namespace enforces `restricted`: it takes it, and then there is nothing left to write."""

import asyncio
import uuid
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from cluster import Kubernetes
from golden.orders import NODE, WANTED
from valkey_operator.controllers import views
from valkey_operator.controllers.pod_views import pod
from valkey_operator.core import plan
from valkey_operator.core.observed import AllocatedPort
from valkey_operator.kube.client import Kube
from valkey_operator.kube.errors import KubeError, NotFound
from valkey_operator.kube.fields import is_current, stamped
from valkey_operator.kube.kinds import (
    CONFIG_MAP,
    INGRESS,
    NAMESPACE,
    POD,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    Kind,
)
from valkey_operator.manifests.render import manifest

CRDS = Path(__file__).parents[3] / "deploy" / "crds"
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
VALKEY_CLUSTER = Kind("valkey.io/v1alpha1", "ValkeyCluster", "valkeyclusters")
VALKEY_NODE = Kind("valkey.io/v1alpha1", "ValkeyNode", "valkeynodes")
KINDS = {kind.kind: kind for kind in (CONFIG_MAP, INGRESS, POD_DISRUPTION_BUDGET, SECRET, SERVICE, STATEFUL_SET, VALKEY_NODE)}

# Kubernetes hands out node ports of this band last, so nothing else on this API server has them.
SHARD_PORTS = (
    plan.ServicePort(name="np-0", port=30071, target="valkey-1-0", node_port=30071, fallback=6379),
    plan.ServicePort(name="np-1", port=6380, target="valkey-1-1"),
)
BOOTSTRAP_PORTS = (plan.ServicePort(name="np", port=30072, target=6379, node_port=30072),)
ELSEWHERE = {"workload", "announce-file", "pod-labels", "valkey-node", "tls-route", "tcp-route", "openshift-route"}
"""What a node owns, and kinds that this API server does not have."""
OF_CLUSTER = {
    **{name: wanted for name, wanted in WANTED.items() if name not in ELSEWHERE},
    "shard-service": replace(WANTED["shard-service"], ports=SHARD_PORTS),
    "bootstrap-service": replace(WANTED["bootstrap-service"], ports=BOOTSTRAP_PORTS),
}


OPERATOR = ("--namespace", "valkey-operator-system", "deployment/valkey-operator")


@pytest.fixture(scope="session")
def with_our_kinds(api_server):
    """The API server, once it knows ValkeyCluster and ValkeyNode. An operator that runs there (of a demo, say) rests meanwhile: it would answer too."""
    kubernetes = Kubernetes(api_server)
    kubectl = kubernetes.kubectl
    kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CRDS))
    replicas = kubectl("get", *OPERATOR, "--ignore-not-found", "--output=jsonpath={.spec.replicas}")
    if replicas:
        kubectl("scale", *OPERATOR, "--replicas=0")
        pods = ("--namespace", OPERATOR[1], "pod", "--selector=app.kubernetes.io/name=valkey-operator")
        kubernetes.try_kubectl("wait", *pods, "--for=delete", "--timeout=60s")  # complains where there is none
    yield api_server
    if replicas:
        kubectl("scale", *OPERATOR, f"--replicas={replicas}")


@pytest.fixture
async def kube(with_our_kinds):
    async with Kube(kubeconfig=with_our_kinds) as client:
        yield client


@pytest.fixture
async def kubernetes(with_our_kinds):
    """A controller of Kubernetes itself, which makes pods."""
    async with Kube(kubeconfig=with_our_kinds, field_manager="kube-controller-manager") as client:
        yield client


@pytest.fixture
async def orders(kube):
    async with ordered(kube, {}) as cluster:
        yield cluster


@asynccontextmanager
async def ordered(kube, spec):
    """The cluster `orders` in a restricted namespace of its own."""
    namespace = f"shop-{uuid.uuid4().hex[:8]}"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}})
    await until_there(kube, SERVICE_ACCOUNT, "default", namespace)
    cluster = {
        "apiVersion": "valkey.io/v1alpha1",
        "kind": "ValkeyCluster",
        "metadata": {"name": "orders", "namespace": namespace},
        "spec": {"shards": 3, "replicas": 1, **spec},
    }
    try:
        yield views.cluster(await kube.create(VALKEY_CLUSTER, cluster))
    finally:
        # A namespace takes its time, in which its node ports would be taken.
        for service in ("orders", "orders-1"):
            with suppress(NotFound):
                await kube.delete(SERVICE, service, namespace)
        await kube.delete(NAMESPACE, namespace)


async def until_there(kube, kind, name, namespace):
    """The object, once a controller of Kubernetes has made it."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await kube.get(kind, name, namespace)
            except NotFound:
                await asyncio.sleep(0.05)


async def made(kube, cluster, wanted):
    kind, body = manifest(cluster, wanted)
    return await kube.create(KINDS[kind], stamped(body))


async def made_pod(kubernetes, cluster):
    """A pod as the StatefulSet's controller would make it: this API server may be without one."""
    template = manifest(cluster, WANTED["workload"])[1]["spec"]["template"]
    metadata = {**template["metadata"], "name": "valkey-orders-1-0-0", "namespace": cluster.namespace}
    return await kubernetes.create(POD, {"apiVersion": "v1", "kind": "Pod", **template, "metadata": metadata})


def with_uid(body, uid):
    return {**body, "metadata": {**body["metadata"], "uid": uid}}


def is_at_rest(obj, cluster, wanted):
    _, body = manifest(cluster, wanted)
    return is_current(views.child(obj).owned, stamped(body))


@pytest.mark.parametrize("name", OF_CLUSTER)
async def test_once_made_there_is_nothing_to_write(kube, orders, name):
    obj = await made(kube, orders, OF_CLUSTER[name])
    assert is_at_rest(obj, orders, OF_CLUSTER[name])
    assert views.child(obj).owner_uid == orders.uid
    assert views.child(obj).cluster == "orders"


@pytest.mark.parametrize("name", OF_CLUSTER)
async def test_once_applied_there_is_nothing_to_write(kube, orders, name):
    wanted = OF_CLUSTER[name]
    uid = (await made(kube, orders, wanted))["metadata"]["uid"]
    kind, body = manifest(orders, wanted)
    applied = await kube.apply(KINDS[kind], with_uid(stamped(body), uid))
    assert is_at_rest(applied, orders, wanted)
    again = await kube.apply(KINDS[kind], with_uid(stamped(body), uid))
    assert again["metadata"]["resourceVersion"] == applied["metadata"]["resourceVersion"]


async def test_what_a_node_owns_is_taken(kube, orders):
    node = await made(kube, orders, WANTED["valkey-node"])
    assert is_at_rest(node, orders, WANTED["valkey-node"])
    for name in ("workload", "announce-file"):
        wanted = replace(WANTED[name], owner_uid=node["metadata"]["uid"])
        obj = await made(kube, orders, wanted)
        assert is_at_rest(obj, orders, wanted)
        assert views.child(obj).owner_uid == node["metadata"]["uid"]
        assert views.child(obj).index == NODE


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"podSecurityContext": {"runAsUser": 1000}},
        {
            "resources": {"requests": {"cpu": "0.1", "memory": "64Mi"}},
            "scheduling": {
                "node": {"spread": {"shard": {"mode": "Required"}, "primaries": {"mode": "Preferred"}}},
                "zone": {"pinning": {"zones": ["a", "b"]}},
            },
            "containers": [{"name": "server", "args": ["--maxclients", "100"], "readinessProbe": {"exec": {"command": ["true"]}}}],
        },
    ],
)
async def test_a_restricted_namespace_takes_the_pod(kube, kubernetes, spec):
    async with ordered(kube, spec) as cluster:
        seen = pod(await made_pod(kubernetes, cluster))
        assert seen.child.index == NODE
        assert (seen.view.running, seen.view.ready, seen.view.serving, seen.view.role) == (False, False, False, None)


async def test_the_restricted_namespace_is_no_empty_promise(kubernetes, orders):
    patched = replace(orders, spec=orders.spec.model_copy(update={"pod_security_context": {"runAsNonRoot": False}}))
    with pytest.raises(KubeError, match="violates PodSecurity"):
        await made_pod(kubernetes, patched)


async def test_labels_on_a_pod_come_go_and_leave_the_rest_alone(kube, kubernetes, orders):
    uid = (await made_pod(kubernetes, orders))["metadata"]["uid"]
    wanted = replace(WANTED["pod-labels"], uid=uid)
    labelled = await kube.apply(POD, stamped(manifest(orders, wanted)[1]))
    assert (pod(labelled).view.role, pod(labelled).view.serving) == ("primary", True)
    assert is_at_rest(labelled, orders, wanted)
    unlabelled = await kube.apply(POD, stamped(manifest(orders, replace(wanted, role="replica", serving=False))[1]))
    assert (pod(unlabelled).view.role, pod(unlabelled).view.serving) == ("replica", False)
    assert pod(unlabelled).child.index == NODE


async def test_allocated_ports_are_read_back(kube, orders):
    service = views.service(await made(kube, orders, OF_CLUSTER["shard-service"])).view
    first, second = service.ports
    assert first == AllocatedPort("np-0", 30071, 30071, "valkey-1-0")
    assert second.port == 6380
    assert 30000 <= second.node_port <= 32767
    assert (service.kind, service.type, service.deleting) == ("shard", "NodePort", False)


async def test_a_service_port_becomes_its_node_port_which_stays(kube, orders):
    wanted = OF_CLUSTER["shard-service"]
    service = views.service(await made(kube, orders, wanted)).view
    allocated = service.port("np-1").node_port
    pinned = plan.ServicePort(name="np-1", port=allocated, target="valkey-1-1", node_port=allocated)
    _, body = manifest(orders, replace(wanted, ports=(wanted.ports[0], pinned)))
    applied = await kube.apply(SERVICE, with_uid(stamped(body), service.uid))
    assert views.service(applied).view.ports == (
        AllocatedPort("np-0", 30071, 30071, "valkey-1-0"),
        AllocatedPort("np-1", allocated, allocated, "valkey-1-1"),
    )
