"""Objects that were stored before a rule existed stay alive: their status is written, their finalizers go, all else may change."""

import pytest
import yaml

from integration.api.conftest import in_group
from valkey_operator.api.schema import CLUSTER

GROUP = "older.valkey.test"
CRD = f"valkeyclusters.{GROUP}"
BAD = {
    "shards": 20000,
    "replicas": 7,
    "config": {"port": "7000", "maxmemory": "1gb\nport 1", "a b": "c"},
    "users": [{"name": "_operator", "nopass": True, "passwordSecret": {"name": "x"}, "permissions": ">secret"}],
    "externalAccess": {
        "enabled": True,
        "advertisedHost": "{nam}-{shard}.Example.com",
        "bootstrapHost": "{shard}",
        "advertisedPort": 6380,
        "nodePort": {"startPort": 70000, "stride": 100},
        "serviceAnnotations": {"a b": "{nam}"},
    },
    "scheduling": {"node": {"spread": {"primaries": {"mode": "Required"}, "pods": {"mode": "Required"}}}},
}
NAME = "an-older.cluster-with-a-name-that-is-much-too-long"
DOOMED = "a-deleted.cluster-with-a-name-that-is-much-too-long"


def definition(*, rules: bool):
    """The CRD in a group of its own; without rules it takes anything."""
    document = in_group(CLUSTER, GROUP)
    if not rules:
        document["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
            "type": "object",
            "properties": {part: {"type": "object", "x-kubernetes-preserve-unknown-fields": True} for part in ("spec", "status")},
        }
    return document


@pytest.fixture(scope="module")
def old(kubectl):
    """A stored object that breaks the rules which came after it."""
    kubectl("delete", "crd", CRD, "--ignore-not-found")
    kubectl("apply", "--server-side", "-f", "-", document=definition(rules=False))
    kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/{CRD}")
    stored = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ValkeyCluster", "spec": BAD}
    metadata = {"finalizers": ["valkey.test/hold"]}
    kubectl("create", "-f", "-", document=[{**stored, "metadata": {**metadata, "name": name}} for name in (NAME, DOOMED)])
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", document=definition(rules=True))
    for _ in range(100):  # until the API server serves the new rules
        again = kubectl.run("create", "--dry-run=server", "-f", "-", document={**stored, "metadata": {"name": "another"}})
        if "is invalid" in again.stderr:
            break
    assert "spec.shards: Invalid value: 20000" in again.stderr
    yield NAME
    for name in (NAME, DOOMED):
        kubectl.run("patch", CRD, name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    kubectl("delete", "crd", CRD)


def test_its_status_can_be_written(kubectl, old):
    status = {"state": "Failed", "reason": "InvalidSpec", "observedGeneration": 1, "shards": 0, "readyShards": 0}
    document = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ValkeyCluster", "metadata": {"name": old}, "status": status}
    kubectl("apply", "--server-side", "--subresource=status", "--field-manager=test", "-f", "-", document=document)
    assert yaml.safe_load(kubectl("get", CRD, old, "-o", "yaml"))["status"] == status


def test_it_can_be_annotated(kubectl, old):
    assert "annotated" in kubectl("annotate", CRD, old, "valkey.test/seen=yes", "--overwrite")


def test_another_field_can_be_changed_while_each_old_mistake_is_a_warning(kubectl, old):
    done = kubectl.run("patch", CRD, old, "--type=merge", "-p", '{"spec":{"image":"docker.io/valkey/valkey:9.0.0"}}')
    assert done.stdout == f"valkeycluster.{GROUP}/{old} patched\n"
    assert (
        'Warning: spec.config: Invalid value: ["port"]: set by the operator, which sets up network, cluster and files'
        in done.stderr
    )
    assert (
        'Warning: spec.users[0].name: Invalid value: "_operator": names that begin with _ belong to the operator\'s' in done.stderr
    )


def test_a_new_mistake_is_still_refused(kubectl, old):
    said = kubectl.refusal("patch", CRD, old, "--type=merge", "-p", '{"spec":{"externalAccess":{"advertisedHost":"{nam}"}}}')
    assert 'spec.externalAccess.advertisedHost: Invalid value: "{nam}": has an unknown placeholder' in said


def test_a_finalizer_can_be_added_and_removed(kubectl, old):
    kubectl("patch", CRD, old, "--type=merge", "-p", '{"metadata":{"finalizers":["valkey.test/hold","valkey.test/more"]}}')
    kubectl("patch", CRD, old, "--type=merge", "-p", '{"metadata":{"finalizers":["valkey.test/hold"]}}')
    assert yaml.safe_load(kubectl("get", CRD, old, "-o", "yaml"))["metadata"]["finalizers"] == ["valkey.test/hold"]


def test_another_one_goes_when_its_last_finalizer_goes(kubectl, old):
    assert old != DOOMED
    kubectl("delete", CRD, DOOMED, "--wait=false")
    kubectl("patch", CRD, DOOMED, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert "NotFound" in kubectl.refusal("get", CRD, DOOMED)
