import pytest
from pydantic import ValidationError

from valkey_operator.api.cluster import DEFAULT_IMAGE, ValkeyCluster, ValkeyClusterSpec
from valkey_operator.api.model import SpecInvalid
from valkey_operator.api.status import ClusterStatus


def stored(spec, **more):
    return {
        "apiVersion": "valkey.io/v1alpha1",
        "kind": "ValkeyCluster",
        "metadata": {
            "name": "orders",
            "namespace": "shop",
            "uid": "0b1e",
            "generation": 4,
            "labels": {"team": "a"},
            "managedFields": [{"manager": "kubectl"}],
        },
        "spec": spec,
        **more,
    }


def test_the_least_spec_gets_every_default():
    spec = ValkeyCluster.parse(stored({"shards": 3})).spec
    assert spec.image == DEFAULT_IMAGE == "docker.io/valkey/valkey:9.1.2"
    assert (spec.shards, spec.replicas) == (3, 0)
    assert spec.users == ()
    assert spec.config == {}
    assert spec.resources == {}
    assert spec.termination_grace_period_seconds == 30
    assert not spec.external_access.enabled


def test_the_metadata_that_matters_is_read():
    metadata = ValkeyCluster.parse(stored({"shards": 3})).metadata
    assert (metadata.name, metadata.namespace, metadata.uid, metadata.generation) == ("orders", "shop", "0b1e", 4)
    assert metadata.labels == {"team": "a"}
    assert not metadata.deleting


def test_a_deleted_object_is_known_as_such():
    obj = stored({"shards": 3})
    obj["metadata"]["deletionTimestamp"] = "2025-12-02T01:00:00Z"
    assert ValkeyCluster.parse(obj).metadata.deleting


def test_fields_of_a_newer_version_are_ignored():
    spec = ValkeyCluster.parse(
        stored({"shards": 3, "sharding": {"mode": "auto"}, "externalAccess": {"tunnel": {"kind": "new"}}})
    ).spec
    assert spec == ValkeyClusterSpec(shards=3, external_access={})


def test_a_status_that_cannot_be_read_counts_as_none():
    cluster = ValkeyCluster.parse(stored({"shards": 3}, status={"state": "Splendid", "shards": 3}))
    assert cluster.status == ClusterStatus()


def test_all_mistakes_are_told_at_once_by_field_and_without_values():
    spec = {
        "shards": 0,
        "config": {"PORT": "secret-1", "requirepass": "secret-2", "maxmemory": "secret\n3"},
        "users": [{"name": "_operator"}, {"name": "app", "permissions": ">secret"}, {}],
        "externalAccess": {"enabled": True, "type": "Tunnel", "advertisedHost": "{who}", "nodePort": {"startPort": 70000}},
        "containers": [{"image": "a"}],
    }
    with pytest.raises(SpecInvalid) as caught:
        ValkeyCluster.parse(stored(spec))
    assert set(caught.value.mistakes) == {
        "spec.shards: Input should be greater than or equal to 1",
        'spec.config: ["maxmemory"]: the value has a line break or another control character: write one line',
        'spec.config: ["requirepass"]: set by the operator from spec.users and its own users: remove it',
        'spec.config: ["PORT"]: set by the operator, which sets up network, cluster and files of every server: remove it',
        "spec.users[0].name: names that begin with _ belong to the operator's own users: choose another name",
        (
            "spec.users[1].permissions: has a password in plain text, which everybody who may read this object sees: put it into the Secret "
            "of passwordSecret"
        ),
        "spec.users[2].name: Field required",
        "spec.externalAccess.type: Input should be 'Ingress', 'LoadBalancer' or 'NodePort'",
        ("spec.externalAccess.advertisedHost: has an unknown placeholder: known here are {name}, {namespace}, {shard}, {node}"),
        "spec.externalAccess.nodePort.startPort: Input should be less than or equal to 65535",
        "spec.containers[0].name: Field required",
    }
    assert "secret" not in str(caught.value).replace("passwordSecret", "").replace("Secret", "")


@pytest.mark.parametrize(
    ("obj", "mistake"),
    [
        ({"metadata": {"name": "a"}}, "spec.shards: Field required"),
        ({"metadata": {"name": "a"}, "spec": {"shards": 3, "users": "all"}}, "spec.users: Input should be a valid tuple"),
        (
            {"metadata": {"name": "a"}, "spec": {"shards": "many"}},
            "spec.shards: Input should be a valid integer, unable to parse string as an integer",
        ),
        ({"metadata": {"name": "a"}, "spec": {"shards": 3, "resources": []}}, "spec.resources: Input should be a valid dictionary"),
        ({"metadata": {}, "spec": {"shards": 3}}, "metadata.name: Field required"),
    ],
)
def test_nonsense_is_told_and_never_crashes(obj, mistake):
    with pytest.raises(SpecInvalid) as caught:
        ValkeyCluster.parse(obj)
    assert caught.value.mistakes == (mistake,)


def test_a_spec_cannot_be_changed():
    spec = ValkeyClusterSpec(shards=3)
    with pytest.raises(ValidationError):
        spec.shards = 4


def test_parts_of_kubernetes_own_api_are_kept_whole():
    affinity = {"nodeAffinity": {"novelty": [1]}, "elsewhere": True}
    container = {"name": "server", "lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}
    spec = ValkeyCluster.parse(stored({"shards": 3, "scheduling": {"affinity": affinity}, "containers": [container]})).spec
    assert spec.scheduling.affinity == affinity
    assert spec.containers == (container,)
