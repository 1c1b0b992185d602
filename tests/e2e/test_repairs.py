"""What somebody changes behind the operator's back is put right; what dies comes back in its place."""

import os
import signal

from e2e import api as kinds
from e2e import programs
from e2e.operators import server_process
from e2e.waiting import eventually

REPAIRS = "valkey_operator_announcement_repairs_total"


def announced(cluster, pod):
    return cluster.ask(pod, "CONFIG GET", "cluster-announce-*")


def test_an_announcement_that_somebody_changed_is_repaired_and_counted(steady, operator):
    """Story 14."""
    labels = {"namespace": steady.namespace, "cluster": steady.name}
    counted = operator.metric(REPAIRS, **labels)
    pod = steady.pod(1, 1)
    before = announced(steady, pod)

    steady.ask(pod, "CONFIG SET", "cluster-announce-hostname", "198.18.0.99", "cluster-announce-client-port", "1")

    eventually(lambda: announced(steady, pod) == before, what="the announcement to be repaired", timeout=40)
    eventually(lambda: operator.metric(REPAIRS, **labels) == counted + 1, what="the repair to be counted")


def test_the_preferred_endpoint_type_and_a_cleared_host_are_repaired(new_cluster):
    """A small cluster, since one server is looked at a time: the type of one is nothing that others would know of."""
    cluster = new_cluster(shards=1, replicas=0, external={"ipFamilies": ["IPv4", "IPv6"]})
    cluster.wait_until_ready()
    (pod,) = cluster.pods()
    before = announced(cluster, pod)
    changed = {
        "cluster-preferred-endpoint-type": "ip",
        "cluster-announce-hostname": "",
        "cluster-announce-client-ipv6": "2001:2::99",
    }

    cluster.ask(pod, "CONFIG SET", *(word for pair in changed.items() for word in pair))

    def is_repaired():
        return (
            announced(cluster, pod) == before and cluster.ask(pod, "CONFIG GET", "cluster-preferred-endpoint-type")[1] == "hostname"
        )

    eventually(is_repaired, what="the type to be repaired", timeout=40)


def test_where_other_servers_find_a_server_is_repaired(new_cluster):
    """By these the bus and replication go; no client sees them."""
    cluster = new_cluster(shards=1, replicas=0, external={})
    cluster.wait_until_ready()
    (pod,) = cluster.pods()
    before = announced(cluster, pod)
    assert pod["status"]["podIP"] in before

    cluster.ask(pod, "CONFIG SET", "cluster-announce-ip", "198.18.0.99", "cluster-announce-bus-port", "17000")

    eventually(lambda: announced(cluster, pod) == before, what="the address to be repaired", timeout=40)


def test_a_service_that_lost_its_labels_is_found_again_and_keeps_its_ports(steady):
    """By its labels the operator sees what is its own."""
    name = f"{steady.name}-1"
    before = steady.services()[name]
    labels = before["metadata"]["labels"]

    steady.api.patch(kinds.SERVICE, name, steady.namespace, {"metadata": {"labels": dict.fromkeys(labels)}})

    def is_as_before(found):
        return found and found[0]["metadata"].get("labels") == labels

    steady.api.until(kinds.SERVICE, steady.namespace, is_as_before, name=name, what="the labels to come back")
    assert steady.services()[name]["spec"] == before["spec"]
    steady.wait_until_ready()


def test_failovers_are_heard_of_at_once_and_not_at_the_next_look(steady):
    """Looks at a cluster at rest are 15 s apart."""
    for taking_over in (1, 0, 1, 0):
        name = f"valkey-standing-0-{taking_over}-0"
        if steady.primary(0)["metadata"]["name"] != name:
            steady.ask(steady.pod(0, taking_over), "CLUSTER FAILOVER")
            steady.wait_until_primary(name, timeout=5)
        steady.wait_until_ready()


def test_a_killed_server_comes_back_as_a_replica_with_a_new_id_at_its_endpoint(steady):
    """Story 9: without persistence it must not come back as an empty primary."""
    primary = steady.primary(2)
    name = primary["metadata"]["name"]
    index = tuple(int(primary["metadata"]["labels"][f"valkey.io/{part}-index"]) for part in ("shard", "node"))
    old_id, endpoint = steady.ids()[name], steady.endpoints()[index]["address"]
    other = next(
        pod
        for pod in steady.pods()
        if pod["metadata"]["labels"]["valkey.io/shard-index"] == "2" and pod["metadata"]["name"] != name
    )

    os.kill(server_process(primary), signal.SIGKILL)

    def is_replaced(found):
        roles = {pod["metadata"]["name"]: pod["metadata"]["labels"].get("valkey.io/role") for pod in found}
        return roles.get(name) == "replica" and roles.get(other["metadata"]["name"]) == "primary"

    steady.api.until(kinds.POD, steady.namespace, is_replaced, labels=steady.labels, what="the other one to be the primary")
    steady.wait_until_ready()
    again = steady.pod(*index)
    assert again["metadata"]["uid"] == primary["metadata"]["uid"]
    assert again["status"]["containerStatuses"][0]["restartCount"] == primary["status"]["containerStatuses"][0]["restartCount"] + 1
    new_id = steady.ids()[name]
    assert new_id != old_id
    assert steady.endpoints()[index]["address"] == endpoint
    assert programs.node_ids([endpoint], login=steady.login()) == {endpoint: new_id}
    told = {node_id for pod in steady.pods() for _, _, *nodes in steady.slots(pod) for _, _, node_id in nodes}
    assert old_id not in told
