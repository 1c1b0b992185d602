"""Node ports: preferred ones are asked for, what was given is kept for ever."""

import pytest

from e2e import api as kinds
from e2e import programs
from e2e.waiting import eventually


def blocker(api, namespace, port):
    """Another Service that has a node port."""
    service = {
        "metadata": {"name": "blocker", "namespace": namespace},
        "spec": {"type": "NodePort", "selector": {"app": "none"}, "ports": [{"port": 80, "nodePort": port}]},
    }
    api.create(kinds.SERVICE, service)


def test_a_taken_node_port_is_replaced_at_once_and_kept_when_the_wanted_one_becomes_free(new_cluster, api):
    """Story 6."""
    blocker(api, new_cluster.namespace, 32600)
    cluster = new_cluster(shards=1, external={"nodePort": {"startPort": 32600}})
    cluster.wait_until_ready()
    ports = cluster.node_ports()["web-0"]
    assert ports["np-1"] == 32700
    assert ports["np-0"] != 32600
    warning = cluster.wait_for("ConfigurationWarning", message="spec.externalAccess.nodePort.startPort")
    assert f"32600 of node 0-0 (it has {ports['np-0']})" in warning["message"]
    assert cluster.wait_for_event(warning["reason"], note="32600 of node 0-0")["type"] == "Warning"

    api.delete(kinds.SERVICE, "blocker", new_cluster.namespace)
    cluster.external(serviceAnnotations={"example.com/touched": "yes"})

    def are_touched(found):
        return all("example.com/touched" in item["metadata"].get("annotations", {}) for item in found)

    selector = {"valkey.io/external-access": "shard"}
    api.until(kinds.SERVICE, cluster.namespace, are_touched, labels=selector, what="another apply of the Service")
    cluster.wait_until_ready()
    assert cluster.node_ports()["web-0"] == ports


def test_a_taken_node_port_is_replaced_on_a_live_service_as_well(new_cluster, api):
    blocker(api, new_cluster.namespace, 32641)
    cluster = new_cluster(shards=1, replicas=0, external={"type": "LoadBalancer", "drainSeconds": 1})
    cluster.wait_until_ready()
    cluster.external(type="NodePort", nodePort={"startPort": 32641})
    cluster.wait_for("ConfigurationWarning", message=r"32641 of node 0-0 \(it has")
    cluster.wait_until_ready()
    assert cluster.node_ports()["web-0"]["np-0"] not in (None, 32641)


def test_node_ports_outside_of_the_api_servers_range_are_replaced_and_the_warning_names_the_field(new_cluster):
    cluster = new_cluster(shards=1, external={"nodePort": {"startPort": 20000, "bootstrapPort": 20500}})
    cluster.wait_until_ready()
    given = [port for ports in cluster.node_ports().values() for port in ports.values()]
    assert len(given) == 3
    assert all(30000 <= port <= 32767 for port in given)
    warning = cluster.wait_for("ConfigurationWarning", message="spec.externalAccess.nodePort.bootstrapPort")
    assert "spec.externalAccess.nodePort.startPort" in warning["message"]
    assert "20000 of node 0-0" in warning["message"]
    assert "20100 of node 0-1" in warning["message"]
    assert "20500" in warning["message"]


@pytest.mark.parametrize("name", ["standing-1", "standing"], ids=["of-a-shard", "of-all-shards"])
def test_a_service_that_was_deleted_by_hand_comes_back_with_its_numbers(steady, api, name):
    """Half of story 4."""
    before = steady.services()[name]
    ports = steady.node_ports()
    identities = steady.pod_identities()
    api.delete(kinds.SERVICE, name, steady.namespace)

    def is_back(found):
        return found and found[0]["metadata"]["uid"] != before["metadata"]["uid"]

    api.until(kinds.SERVICE, steady.namespace, is_back, name=name, what="the Service to be made again", timeout=10)
    steady.wait_until_ready()
    assert steady.node_ports() == ports
    assert steady.pod_identities() == identities
    expected = sorted(steady.ids().values())

    def are_reached():
        addresses = [node["address"] for node in steady.endpoints().values()]
        return sorted(programs.node_ids(addresses, login=steady.login()).values()) == expected

    eventually(
        are_reached, what="every endpoint to be told, and to reach its server: kube-proxies hear of the new Service after us"
    )
