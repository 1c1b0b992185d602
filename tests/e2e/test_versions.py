"""Servers of other versions: what they cannot announce is said and harms nobody, what they can works as with the newest."""

import pytest

import cluster as sandbox
from e2e import programs
from e2e.waiting import eventually


@pytest.fixture
def versioned(new_cluster):
    """Makes a cluster of two servers of that version."""

    def make(version, external):
        sandbox.sandbox("load-image", f"valkey:{version}")
        return new_cluster(shards=1, image=f"docker.io/valkey/valkey:{version}", external=external)

    return make


def test_a_version_that_cannot_announce_ports_is_said_so_and_works_inside(versioned):
    """Story 11."""
    cluster = versioned("8.1.8", {})
    told = cluster.wait_for("ExternalAccessReady", "False", reason="UnsupportedValkeyVersion")
    assert "runs Valkey 8.1.8, which cannot announce a port to clients: set spec.image to Valkey 9.0 or newer" in told["message"]
    cluster.wait_until_ready(outside=False)
    inside = {(pod["status"]["podIP"], 6379) for pod in cluster.pods()}

    def told():
        return [{(host, port) for _, _, *nodes in cluster.slots(pod) for host, port, _ in nodes} for pod in cluster.pods()]

    # This version tells clients of a replica once its primary has pinged it, which is up to 10 s after the first copy.
    eventually(lambda: told() == [inside, inside], what="both servers to tell both")
    assert {restarts for _, restarts in cluster.pod_identities().values()} == {0}


@pytest.mark.parametrize(
    ("version", "external"),
    [
        pytest.param(
            "8.1.8", {"type": "LoadBalancer", "loadBalancerScope": "Node", "advertisedPort": 6379}, id="8.1 at its own port"
        ),
        pytest.param("9.0.0", {"type": "LoadBalancer"}, id="9.0 behind balancers"),
        pytest.param("9.0.0", {"type": "NodePort"}, id="9.0 at node ports"),
    ],
)
def test_clients_outside_work_with_all_that_a_version_can_announce(versioned, version, external):
    cluster = versioned(version, external)
    cluster.wait_until_ready()
    ids = cluster.ids()
    expected = {node["address"]: ids[f"valkey-web-{shard}-{number}-0"] for (shard, number), node in cluster.endpoints().items()}
    assert len(expected) == 2
    assert programs.node_ids(list(expected), login=cluster.login()) == expected
    with programs.loads(prefix="load", seeds=cluster.bootstrap(), login=cluster.login("default")) as loads:
        reports = [load.stop() for load in loads]
    for report in reports:
        assert report["failures"] == 0, report["complaints"]
        assert report["lost"] == []
