"""What is wrong ends in a condition that names it and the way out; when it is put right, all goes on."""

import pytest

from e2e import api as kinds
from e2e import programs

UNREACHABLE = "198.18.0.1:1/valkey:none"  # nobody listens there


def test_a_service_of_the_same_name_is_not_touched_and_named_and_when_it_goes_all_goes_on(new_cluster, api):
    theirs = {
        "metadata": {"name": "web-0", "namespace": new_cluster.namespace, "labels": {"app": "theirs"}},
        "spec": {"ports": [{"port": 80}]},
    }
    made = api.create(kinds.SERVICE, theirs)
    cluster = new_cluster(shards=1, replicas=0, external={})

    told = cluster.wait_for("ExternalAccessReady", "False", reason="ServiceConflict")
    assert "Service web-0 exists and belongs to somebody else" in told["message"]
    assert "rename it or this ValkeyCluster" in told["message"]
    cluster.wait_until_ready(outside=False)
    assert (
        api.get(kinds.SERVICE, "web-0", new_cluster.namespace)["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    )
    assert cluster.wait_for_event("ServiceConflict")["type"] == "Warning"

    api.delete(kinds.SERVICE, "web-0", new_cluster.namespace)
    cluster.wait_until_ready(timeout=20)


def test_a_service_of_somebody_else_with_the_labels_of_ours_stays_when_ours_go(new_cluster, api):
    cluster = new_cluster(shards=1, replicas=0, external={"drainSeconds": 0})
    cluster.wait_until_ready()
    labels = api.get(kinds.SERVICE, "web-0", new_cluster.namespace)["metadata"]["labels"]
    theirs = {
        "metadata": {"name": "handmade", "namespace": new_cluster.namespace, "labels": labels},
        "spec": {"ports": [{"port": 80}]},
    }
    made = api.create(kinds.SERVICE, theirs)

    cluster.external(enabled=False)
    cluster.wait_until(lambda found: "externalAccess" not in found[0]["status"], what="nothing left of external access")
    assert api.find(kinds.SERVICE, "web-0", new_cluster.namespace) is None
    found = api.get(kinds.SERVICE, "handmade", new_cluster.namespace)
    assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_names_for_the_dns_inside_are_not_written_into_a_config_map_of_somebody_else(new_cluster, api):
    theirs = {"metadata": {"name": "web-dns", "namespace": new_cluster.namespace}, "data": {"theirs": "yes"}}
    made = api.create(kinds.CONFIG_MAP, theirs)
    external = {"advertisedHost": "{name}.example.com", "announceWhen": "Always"}
    cluster = new_cluster(shards=1, replicas=0, external=external)

    told = cluster.wait_for("ExternalAccessReady", "False", reason="ObjectConflict")
    assert "ConfigMap web-dns exists and belongs to somebody else" in told["message"]
    assert cluster.wait_for_event("ObjectConflict")["type"] == "Warning"
    cluster.wait_until_ready(outside=False)
    cluster.external(advertisedHost=None)
    cluster.wait_until_ready()
    found = api.get(kinds.CONFIG_MAP, "web-dns", new_cluster.namespace)
    assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]

    cluster.external(**external)
    cluster.wait_for("ExternalAccessReady", "False", reason="ObjectConflict")
    api.delete(kinds.CONFIG_MAP, "web-dns", new_cluster.namespace)
    cluster.wait_until_ready(timeout=20)
    assert "rewrite name exact web.example.com" in str(api.get(kinds.CONFIG_MAP, "web-dns", new_cluster.namespace)["data"])


def test_two_clusters_whose_services_would_have_one_name_do_not_fight_for_it(new_cluster, api):
    first = new_cluster("a", shards=1, replicas=0, external={})
    first.wait_until_ready()
    second = new_cluster("a-0", shards=1, replicas=0, external={})

    told = second.wait_for("ExternalAccessReady", "False", reason="ServiceConflict")
    assert "Service a-0 exists and belongs to ValkeyCluster a:" in told["message"]
    second.wait_until_ready(outside=False)
    first.wait_until_ready()

    api.delete(kinds.CLUSTER, "a", new_cluster.namespace)
    second.wait_until_ready(timeout=30)


def test_a_user_whose_secret_vanishes_stays_as_it_is_and_the_warning_names_the_secret(new_cluster, api):
    secret = {"metadata": {"name": "web-users", "namespace": new_cluster.namespace}, "stringData": {"app": "of-the-secret"}}
    api.create(kinds.SECRET, secret)
    user = {"name": "app", "commands": {"allow": ["@all"]}, "keys": {"readWrite": ["*"]}}
    cluster = new_cluster(shards=1, replicas=0, users=[user])
    cluster.wait_until_ready(outside=False)
    (pod,) = cluster.pods()

    api.delete(kinds.SECRET, "web-users", new_cluster.namespace)
    told = cluster.wait_for("ConfigurationWarning", reason="UsersACLError")
    assert "user app" in told["message"]
    assert "web-users" in told["message"]
    cluster.wait_until_ready(outside=False)
    assert cluster.ask(pod, "SET", "key", "value", login=("app", "of-the-secret")) in ("OK", True)

    api.create(kinds.SECRET, secret)
    cluster.wait_for("ConfigurationWarning", "False")
    assert cluster.pod_identities() == {pod["metadata"]["name"]: (pod["metadata"]["uid"], 0)}


def test_a_user_whose_secret_is_missing_from_the_start_is_off_until_it_is_there(new_cluster):
    user = {"name": "app", "commands": {"allow": ["@all"]}, "keys": {"readWrite": ["*"]}}
    cluster = new_cluster(shards=1, replicas=0, users=[user])
    told = cluster.wait_for("ConfigurationWarning", reason="UsersACLError")
    assert "user app" in told["message"]
    assert "web-users" in told["message"]
    cluster.wait_until_ready(outside=False)


@pytest.mark.parametrize(
    ("wrong", "reason", "words"),
    [
        ({"image": UNREACHABLE}, "ImagePullFailed", [UNREACHABLE, "Correct spec.image"]),
        (
            {"config": {"no-such-directive": "yes"}},
            "ServerCrashed",
            ["no-such-directive", "Bad directive", "correct it in spec.config"],
        ),
    ],
    ids=["an-image-that-cannot-be-pulled", "a-directive-that-stops-the-server"],
)
def test_what_keeps_servers_from_starting_is_quoted_and_heals_when_it_is_corrected(new_cluster, wrong, reason, words):
    cluster = new_cluster(replicas=0, **wrong)
    told = cluster.wait_for("Ready", "False", reason=reason)
    for word in words:
        assert word in told["message"]
    assert cluster.condition("Degraded")["status"] == "True"
    assert cluster.status()["state"] == "Degraded"

    cluster.patch(dict.fromkeys(wrong))
    cluster.wait_until_ready(outside=False)
    assert cluster.condition("Degraded")["status"] == "False"


def test_a_cluster_of_one_server_works_for_clients_outside(new_cluster):
    cluster = new_cluster(shards=1, replicas=0, external={})
    cluster.wait_until_ready()
    (endpoint,) = cluster.endpoints().values()
    (node_id,) = cluster.ids().values()
    assert programs.node_ids([endpoint["address"]], login=cluster.login()) == {endpoint["address"]: node_id}
    with programs.load("valkey-py", seeds=cluster.bootstrap(), login=cluster.login("default"), prefix="one") as load:
        report = load.stop()
    assert report["failures"] == 0, report["complaints"]
    assert report["lost"] == []
