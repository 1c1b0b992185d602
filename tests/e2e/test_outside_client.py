"""The main job: a client outside works with a cluster through node ports."""

import pytest

from e2e import programs


def test_each_endpoint_of_the_status_reaches_its_node_and_is_what_servers_tell(steady):
    ids = steady.ids()
    endpoints = steady.endpoints()
    assert sorted(endpoints) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    reached = programs.node_ids([node["address"] for node in endpoints.values()], login=steady.login())
    for (shard, node), endpoint in endpoints.items():
        assert reached[endpoint["address"]] == ids[f"valkey-standing-{shard}-{node}-0"]
        assert endpoint["announced"]
    for pod in steady.pods():
        told = {(host, port) for _, _, *nodes in steady.slots(pod) for host, port, _ in nodes}
        assert told == {(endpoint["host"], endpoint["port"]) for endpoint in endpoints.values()}


def test_the_endpoint_of_a_shard_is_its_primarys(steady):
    shards = {shard["shard"]: shard for shard in steady.status()["externalAccess"]["endpoints"]}
    shard_of = {node_id: int(pod.split("-")[-3]) for pod, node_id in steady.ids().items()}
    told = {shard_of[node_id]: (host, port) for _, _, (host, port, node_id), _ in steady.slots(steady.pods()[0])}
    assert told == {shard: (endpoint["host"], endpoint["port"]) for shard, endpoint in shards.items()}


def test_a_client_outside_begins_at_up_to_three_kubernetes_nodes(steady):
    addresses = steady.bootstrap()
    port = steady.node_ports()["standing"]["np-bootstrap"]
    # All three, unless its pods had to move together when a Kubernetes node went.
    machines = {pod["spec"]["nodeName"] for pod in steady.pods()}
    assert sorted(addresses) == sorted(f"198.18.0.1{machine.removeprefix('node-')}:{port}" for machine in machines)
    reached = programs.node_ids(addresses, login=steady.login())
    assert set(reached.values()) <= set(steady.ids().values())
    assert steady.secret("standing-connection")["external"].split(",") == addresses


@pytest.mark.parametrize("library", programs.LIBRARIES)
def test_a_client_outside_works_through_a_failover(new_cluster, library):
    """Stories 1 and 9: a primary's pod is deleted under load: nothing that was acknowledged is lost, and its endpoint stays its own."""
    cluster = new_cluster(external={})
    cluster.wait_until_ready()
    before = cluster.node_ports()
    with programs.load(library, seeds=cluster.bootstrap(), login=cluster.login("default"), prefix=library, last_round=True) as load:
        primary = cluster.primary(0)
        cluster.replace(primary)
        cluster.wait_until_ready()
        report = load.stop()
    assert report["lost"] == []
    assert report["recovered"], report["complaints"]
    assert report["requests"] > 500
    assert report["failures"] < 10, report["complaints"]
    assert cluster.primary(0)["metadata"]["name"] != primary["metadata"]["name"]
    assert cluster.node_ports() == before
    addresses = [node["address"] for node in cluster.endpoints().values()]
    assert sorted(programs.node_ids(addresses, login=cluster.login()).values()) == sorted(cluster.ids().values())
