"""What the operator may and may not do."""

import pytest

from e2e import programs


@pytest.mark.usefixtures("without_nodes")
def test_without_the_right_to_read_nodes_the_hosts_are_those_that_pods_tell(new_cluster, steady):
    """Story 16: and a cluster that was there before keeps what it advertises."""
    cluster = new_cluster(shards=1, external={})
    cluster.wait_until_ready()
    hosts = {index: node["host"] for index, node in cluster.endpoints().items()}
    assert hosts == {(0, node): cluster.pod(0, node)["status"]["hostIP"] for node in (0, 1)}
    addresses = [node["address"] for node in cluster.endpoints().values()]
    assert sorted(programs.node_ids(addresses, login=cluster.login()).values()) == sorted(cluster.ids().values())
    assert steady.condition("ExternalAccessReady")["status"] == "True"

    cluster.external(nodePort={"addressType": ["ExternalIP"]})
    told = cluster.wait_for("ExternalAccessReady", "False", reason="NodeAddressUnknown")
    assert "add InternalIP to spec.externalAccess.nodePort.addressType" in told["message"]
