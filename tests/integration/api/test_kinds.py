import json
import re

import pytest

from valkey_operator.api.cluster import ValkeyCluster
from valkey_operator.api.conditions import ConditionStatus, ConditionType, Reason, State
from valkey_operator.api.node import ValkeyNode
from valkey_operator.api.status import (
    Announced,
    Bootstrap,
    ClusterStatus,
    Condition,
    ExternalAccessStatus,
    NodeEndpoint,
    NodeStatus,
    ShardEndpoint,
)

STATUS = ClusterStatus(
    state=State.READY,
    reason=Reason.CLUSTER_HEALTHY,
    message="all shards are well",
    observed_generation=1,
    shards=1,
    ready_shards=1,
    external_access=ExternalAccessStatus(
        type="NodePort",
        ready=True,
        draining_since="2025-12-02T01:00:00Z",
        bootstrap=Bootstrap(service="kinds", addresses=("192.0.2.11:31199", "192.0.2.12:31199")),
        endpoints=(
            ShardEndpoint(
                shard=0,
                service="kinds-0",
                host="192.0.2.11",
                port=31200,
                address="192.0.2.11:31200",
                nodes=(
                    NodeEndpoint(node=0, role="primary", host="192.0.2.11", port=31200, address="192.0.2.11:31200", announced=True),
                ),
            ),
        ),
    ),
    conditions=(
        Condition(
            type=ConditionType.EXTERNAL_ACCESS_READY,
            status=ConditionStatus.TRUE,
            reason=Reason.READY,
            message="clients outside reach every node",
            last_transition_time="2025-12-02T01:00:00Z",
            observed_generation=1,
        ),
    ),
)
NODE_STATUS = NodeStatus(
    observed_generation=1,
    node_id="0123456789012345678901234567890123456789",
    role="primary",
    ready=True,
    pod_name="valkey-kinds-0-0-0",
    pod_ip="10.0.0.7",
    machine="node-1",
    version="9.1.2",
    announced=Announced(host="192.0.2.11", port=31200, address="192.0.2.11:31200"),
)


@pytest.fixture
def stored(kubectl, quiet):
    """Stores an object with its status and gives back how kubectl finds it."""
    found = []

    def store(kind, spec, status):
        identity = {"apiVersion": f"{quiet}/v1alpha1", "kind": kind, "metadata": {"name": "kinds"}}
        kubectl("create", "-f", "-", document={**identity, "spec": spec})
        found.append(f"{kind.lower()}s.{quiet}/kinds")
        kubectl("apply", "--server-side", "--subresource=status", "-f", "-", document={**identity, "status": status})
        return found[-1]

    yield store
    for name in found:
        kubectl("delete", name)


@pytest.fixture
def cluster(stored):
    return stored("ValkeyCluster", {"shards": 1, "externalAccess": {"enabled": True, "type": "NodePort"}}, STATUS.to_dict())


@pytest.fixture
def node(stored):
    spec = {
        "cluster": "kinds",
        "shard": 0,
        "node": 0,
        "announce": {"host": "192.0.2.11", "port": 31200, "clientIPv4": "192.0.2.11"},
    }
    return stored("ValkeyNode", spec, NODE_STATUS.to_dict())


def table(text):
    header, row = text.splitlines()
    columns = [(match.start(), match[0]) for match in re.finditer(r"\S+( \S+)*", header)]
    ends = [start for start, _ in columns[1:]] + [None]
    return {name: row[start:end].strip() for (start, name), end in zip(columns, ends, strict=True) if name != "AGE"}


def test_a_stored_cluster_is_read_as_it_was_written(kubectl, cluster):
    read = ValkeyCluster.parse(json.loads(kubectl("get", cluster, "-o", "json")))
    assert read.metadata.name == "kinds"
    assert read.metadata.namespace == "default"
    assert read.metadata.generation == 1
    assert len(read.metadata.uid) == 36
    assert read.spec.replicas == 0
    assert read.status == STATUS


def test_a_stored_node_is_read_as_it_was_written(kubectl, node):
    read = ValkeyNode.parse(json.loads(kubectl("get", node, "-o", "json")))
    assert read.spec.announce.client_ipv4 == "192.0.2.11"
    assert read.status == NODE_STATUS


def test_kubectl_shows_clusters_in_useful_columns(kubectl, cluster):
    assert table(kubectl("get", cluster)) == {
        "NAME": "kinds",
        "STATE": "Ready",
        "SHARDS": "1",
        "READY": "1",
        "EXTERNAL": "True",
    }


def test_kubectl_shows_where_to_begin_when_asked_for_more(kubectl, cluster):
    wide = table(kubectl("get", cluster, "-o", "wide"))
    assert wide["BOOTSTRAP"] == "192.0.2.11:31199"
    assert wide["REASON"] == "ClusterHealthy"


def test_kubectl_shows_nodes_in_useful_columns(kubectl, node):
    assert table(kubectl("get", node)) == {
        "NAME": "kinds",
        "CLUSTER": "kinds",
        "SHARD": "0",
        "NODE": "0",
        "ROLE": "primary",
        "READY": "true",
        "POD": "valkey-kinds-0-0-0",
        "ENDPOINT": "192.0.2.11:31200",
    }


def test_one_category_holds_both_kinds(kubectl):
    said = kubectl("api-resources", "--categories=valkey", "-o", "name")
    assert set(said.split()) == {"valkeyclusters.valkey.io", "valkeynodes.valkey.io"}


@pytest.mark.parametrize(("short", "crd"), [("vkc", "valkeyclusters.valkey.io"), ("vkn", "valkeynodes.valkey.io")])
def test_the_short_names_work(kubectl, short, crd):
    assert "\nGROUP: valkey.io\n" in "\n" + re.sub(r" +", " ", kubectl("explain", short))
    assert kubectl("auth", "can-i", "get", short).strip() == kubectl("auth", "can-i", "get", crd).strip() == "yes"


def test_kubectl_explains_a_field_in_the_words_of_the_model(kubectl):
    said = " ".join(kubectl("explain", "vkc.spec.externalAccess.nodePort.stride").split())
    assert "Distance between the port that is asked for a shard's first node, its second node and so on. 100 when unset." in said


@pytest.mark.parametrize("crd", ["valkeyclusters.valkey.io", "valkeynodes.valkey.io"])
def test_the_schemas_are_structural_and_their_names_are_free(kubectl, crd):
    conditions = json.loads(kubectl("get", "crd", crd, "-o", "json"))["status"]["conditions"]
    told = {condition["type"]: condition["status"] for condition in conditions}
    assert told == {"NamesAccepted": "True", "Established": "True"}
