"""Kubernetes nodes come and go: endpoints follow their pods, and clients outside go on."""

import cluster as sandbox
from e2e import api as kinds
from e2e import programs

ADDRESSES = {"node-1": "198.18.0.11", "node-2": "198.18.0.12", "node-3": "198.18.0.13"}


def test_the_host_of_an_endpoint_follows_its_pod_to_another_kubernetes_node(steady, cordon):
    """Story 9."""
    pod = steady.pod(1, 0)
    left, before = pod["spec"]["nodeName"], steady.endpoints()
    assert before[1, 0]["host"] == ADDRESSES[left]

    cordon(left)
    steady.replace(pod)
    steady.wait_until_ready()

    now = steady.pod(1, 0)["spec"]["nodeName"]
    after = steady.endpoints()
    assert now != left
    assert after[1, 0]["host"] == ADDRESSES[now]
    assert {index: node["port"] for index, node in after.items()} == {index: node["port"] for index, node in before.items()}
    told = {(host, port) for one in steady.pods() for _, _, *nodes in steady.slots(one) for host, port, _ in nodes}
    assert told == {(node["host"], node["port"]) for node in after.values()}
    address = after[1, 0]["address"]
    assert programs.node_ids([address], login=steady.login()) == {address: steady.ids()["valkey-standing-1-0-0"]}


def test_a_kubernetes_node_is_drained_under_load_and_nothing_is_lost(new_cluster, kubernetes, cordon):
    """Story 9."""
    cluster = new_cluster(external={})
    cluster.wait_until_ready()
    drained = cluster.primary(0)["spec"]["nodeName"]
    ports = cluster.node_ports()
    with programs.load(
        "valkey-py", seeds=cluster.bootstrap(), login=cluster.login("default"), prefix="drain", last_round=True
    ) as load:
        cordon(drained)
        selector = "--pod-selector=valkey.io/cluster=web"
        kubernetes.kubectl("drain", drained, selector, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=120s")
        cluster.wait_until_ready()
        report = load.stop()
    assert drained not in {pod["spec"]["nodeName"] for pod in cluster.pods()}
    assert ADDRESSES[drained] not in {node["host"] for node in cluster.endpoints().values()}
    assert cluster.node_ports() == ports
    assert report["lost"] == []
    assert report["recovered"], report["complaints"]


def test_clients_outside_go_on_without_a_kubernetes_node_and_all_is_well_when_it_is_back(new_cluster, api, operator):
    pinned = {"zone": {"pinning": {"zones": ["zone-1", "zone-2", "zone-3"]}}}
    cluster = new_cluster(external={}, scheduling=pinned)
    cluster.wait_until_ready()
    cluster.make_first_nodes_primaries()
    cluster.wait_until_ready()
    of_operator = {pod["spec"]["nodeName"] for pod in operator.pods()}
    down = min(set(ADDRESSES) - of_operator)
    shard = int(down[-1]) - 1  # whose first node is pinned there
    ports, identities = cluster.node_ports(), {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in cluster.pods()}
    seeds = [address for address in cluster.bootstrap() if not address.startswith(ADDRESSES[down])]

    with programs.load("glide", seeds=seeds, login=cluster.login("default"), prefix="down", last_round=True) as load:
        sandbox.sandbox("fault", "node-down", down[-1])
        try:

            def has_moved(found):
                return [pod for pod in found if pod["metadata"]["labels"].get("valkey.io/node-index") == "1"]

            selector = cluster.labels | {"valkey.io/shard-index": str(shard), "valkey.io/role": "primary"}
            api.until(kinds.POD, cluster.namespace, has_moved, labels=selector, what="the replica to take over", timeout=30)
            cluster.wait_for("Degraded", "True", reason="ServerUnreachable", message="do not answer")
        finally:
            sandbox.sandbox("fault", "node-up", down[-1])
        cluster.wait_until_ready(timeout=90)
        report = load.stop()
    assert report["recovered"], report["complaints"]
    assert cluster.node_ports() == ports
    assert {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in cluster.pods()} == identities
    addresses = [node["address"] for node in cluster.endpoints().values()]
    assert sorted(programs.node_ids(addresses, login=cluster.login()).values()) == sorted(cluster.ids().values())
