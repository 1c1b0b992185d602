from datetime import UTC, datetime

import pytest

from valkey_operator.controllers import views
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Announcement, Balancing, Ingress, Machine, NodeRecord, Service, Workload

LABELS = {"valkey.io/cluster": "orders", "valkey.io/shard-index": "1", "valkey.io/node-index": "0"}
MANAGED = {
    "manager": "valkey-operator",
    "operation": "Apply",
    "apiVersion": "v1",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {"f:valkey.conf": {}}},
}


def config_map(**metadata):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "valkey-orders",
            "namespace": "shop",
            "uid": "u1",
            "labels": LABELS,
            "ownerReferences": [{"kind": "ValkeyCluster", "name": "orders", "uid": "u0", "controller": True}],
            "managedFields": [MANAGED],
            **metadata,
        },
        "data": {"valkey.conf": "port 6379\n", "somebody-else": "1"},
    }


def cluster(**changed):
    return {
        "apiVersion": "valkey.io/v1alpha1",
        "kind": "ValkeyCluster",
        "metadata": {
            "name": "orders",
            "namespace": "shop",
            "uid": "u0",
            "generation": 2,
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "labels": {"team": "checkout"},
        },
        "spec": {"shards": 3, "replicas": 1, "terminationGracePeriodSeconds": 45},
        "status": {"state": "Ready", "readyShards": 3},
        **changed,
    }


def test_a_child_tells_whose_it_is_and_what_of_it_is_ours():
    child = views.child(config_map())
    assert (child.kind, child.namespace, child.name, child.uid) == ("ConfigMap", "shop", "valkey-orders", "u1")
    assert (child.owner_uid, child.cluster, child.index) == ("u0", "orders", NodeIndex(1, 0))
    assert not child.deleting
    assert child.owned["data"] == {"valkey.conf": "port 6379\n"}


def test_what_is_ours_of_an_object_is_in_no_log():
    assert "6379" not in repr(views.child(config_map()))


@pytest.mark.parametrize("owners", [[], [{"kind": "Backup", "name": "b", "uid": "u9"}]])
def test_an_object_that_nobody_controls_has_no_owner(owners):
    assert views.child(config_map(ownerReferences=owners)).owner_uid is None


def test_an_object_without_labels_belongs_to_no_node():
    child = views.child(config_map(labels={}))
    assert (child.cluster, child.index) == (None, None)


def test_an_object_that_is_being_deleted_says_so():
    assert views.child(config_map(deletionTimestamp="2026-03-01T10:00:00Z")).deleting


def test_a_cluster_is_what_its_user_wrote():
    view = views.cluster(cluster())
    assert (view.name, view.namespace, view.uid, view.generation) == ("orders", "shop", "u0", 2)
    assert (view.spec.shards, view.spec.replicas, view.spec.termination_grace_period_seconds) == (3, 1, 45)
    assert view.status.ready_shards == 3
    assert view.labels == {"team": "checkout"}


def test_nothing_is_made_for_a_cluster_that_is_being_deleted():
    metadata = cluster()["metadata"] | {"deletionTimestamp": "2026-03-01T10:00:00Z"}
    assert views.cluster(cluster(metadata=metadata)) is None


def test_a_cluster_that_cannot_be_served_says_why():
    view = views.cluster(cluster(spec={"shards": 0}))
    assert (view.name, view.namespace, view.uid, view.generation) == ("orders", "shop", "u0", 2)
    assert view.mistakes[0].startswith("spec.shards: ")


def test_a_node_says_what_it_should_announce():
    obj = {
        "kind": "ValkeyNode",
        "metadata": {"name": "orders-1-0", "namespace": "shop", "uid": "u2", "labels": LABELS},
        "spec": {
            "cluster": "orders",
            "shard": 1,
            "node": 0,
            "announce": {"host": "192.0.2.11", "port": 31201, "clientIPv4": "192.0.2.11"},
        },
        "status": {"podIP": "10.0.0.7"},
    }
    view = views.record(obj).view
    assert (view.name, view.uid) == ("orders-1-0", "u2")
    assert view.announce == Announcement(host="192.0.2.11", port=31201, client_ipv4="192.0.2.11")
    assert view.status.pod_ip == "10.0.0.7"


def test_a_node_that_should_announce_nothing_has_its_place_inside():
    obj = {
        "kind": "ValkeyNode",
        "metadata": {"name": "orders-1-0", "namespace": "shop", "uid": "u2"},
        "spec": {"cluster": "orders", "shard": 1, "node": 0},
    }
    view = views.record(obj).view
    assert isinstance(view, NodeRecord)
    assert view.announce is None


def test_a_service_tells_the_ports_that_were_allocated():
    obj = {
        "kind": "Service",
        "metadata": {
            "name": "orders-1",
            "namespace": "shop",
            "uid": "u3",
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "labels": {"valkey.io/cluster": "orders", "valkey.io/external-access": "shard", "valkey.io/shard-index": "1"},
        },
        "spec": {
            "type": "NodePort",
            "selector": {"valkey.io/cluster": "orders", "valkey.io/shard-index": "1"},
            "externalTrafficPolicy": "Cluster",
            "ports": [
                {"name": "np-0", "port": 31201, "nodePort": 31201, "targetPort": "valkey-1-0", "protocol": "TCP"},
                {"name": "np-1", "port": 6380, "nodePort": 30777, "targetPort": "valkey-1-1", "protocol": "TCP"},
                {"name": "mine", "port": 6380, "nodePort": 30777, "targetPort": 9999, "protocol": "UDP"},
            ],
        },
    }
    assert views.service(obj).view == Service(
        name="orders-1",
        uid="u3",
        kind="shard",
        type="NodePort",
        created=datetime(2026, 3, 1, 10, 0, tzinfo=UTC),
        deleting=False,
        ports=(AllocatedPort("np-0", 31201, 31201, "valkey-1-0"), AllocatedPort("np-1", 6380, 30777, "valkey-1-1")),
        selector={"valkey.io/shard-index": "1"},
        traffic_policy="Cluster",
    )


def test_a_load_balancer_tells_what_it_was_given_and_what_was_asked_of_it():
    obj = {
        "kind": "Service",
        "metadata": {"name": "orders-1", "namespace": "shop", "uid": "u3", "creationTimestamp": "2026-03-01T10:00:00Z"},
        "spec": {
            "type": "LoadBalancer",
            "loadBalancerClass": "example.com/balancer",
            "loadBalancerSourceRanges": ["203.0.113.0/24"],
            "allocateLoadBalancerNodePorts": False,
        },
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.20"}, {"hostname": "balancer.example.com"}]}},
    }
    of_a_cloud = views.service(obj).view
    assert (of_a_cloud.balancing.load_balancer_class, of_a_cloud.foreign_class) == (None, "example.com/balancer")
    fields = {"manager": "valkey-operator", "operation": "Apply", "fieldsV1": {"f:spec": {"f:loadBalancerClass": {}}}}
    view = views.service({**obj, "metadata": {**obj["metadata"], "managedFields": [fields]}}).view
    assert view.foreign_class is None
    assert view.ingress == (Ingress(ip="192.0.2.20"), Ingress(hostname="balancer.example.com"))
    assert view.balancing == Balancing("example.com/balancer", ("203.0.113.0/24",), allocate_node_ports=False)


def test_the_headless_service_is_of_no_kind_of_external_access():
    obj = {
        "kind": "Service",
        "metadata": {"name": "valkey-orders", "namespace": "shop", "uid": "u4", "creationTimestamp": "2026-03-01T10:00:00Z"},
        "spec": {"type": "ClusterIP", "clusterIP": "None", "ports": [{"name": "client", "port": 6379}]},
    }
    view = views.service(obj).view
    assert (view.kind, view.ports) == ("", (AllocatedPort("client", 6379, None),))


@pytest.mark.parametrize(("status", "revision"), [({"updateRevision": "valkey-orders-1-0-7c"}, "valkey-orders-1-0-7c"), ({}, "")])
def test_a_workload_tells_the_newest_revision_of_its_template(status, revision):
    obj = {"kind": "StatefulSet", "metadata": {"name": "valkey-orders-1-0", "namespace": "shop", "uid": "u5"}, "status": status}
    assert views.workload(obj).view == Workload(name="valkey-orders-1-0", uid="u5", update_revision=revision)


def test_a_machine_tells_its_addresses_in_their_order():
    addresses = [{"type": "InternalIP", "address": "192.0.2.11"}, {"type": "Hostname", "address": "node-1"}]
    assert views.machine({"kind": "Node", "metadata": {"name": "node-1"}, "status": {"addresses": addresses}}) == Machine(
        name="node-1", addresses=(("InternalIP", "192.0.2.11"), ("Hostname", "node-1"))
    )


def test_a_machine_that_has_just_come_has_no_addresses():
    assert views.machine({"kind": "Node", "metadata": {"name": "node-1"}}) == Machine(name="node-1", addresses=())


def test_a_slice_tells_the_ports_of_its_service_that_are_passed_on():
    seen = {
        "metadata": {
            "name": "orders-0-x7k2p",
            "namespace": "shop",
            "labels": {
                "kubernetes.io/service-name": "orders-0",
                "valkey.io/cluster": "orders",
                "valkey.io/external-access": "shard",
            },
        },
        "ports": [{"name": "np-0", "port": 6379}, {"name": "lb-0", "port": 6379}],
    }
    assert views.endpoint_slice(seen) == views.Slice("shop", "orders", "orders-0", frozenset({"np-0", "lb-0"}))
    assert views.endpoint_slice(seen | {"ports": None}).ports == frozenset()
