"""The operator itself comes and goes: whatever was half done is completed, and nothing is done twice."""

import random
import time

from e2e import api as kinds
from e2e import clusters, operators, programs


def test_an_operator_that_is_killed_at_any_moment_comes_to_the_same_end(new_cluster, process):
    """Story 17: while external access is turned on and off, and no client is ever told what it cannot dial."""
    process.start()
    cluster = new_cluster(externalAccess={"drainSeconds": 1, "nodePort": {"startPort": 31500, "bootstrapPort": 31499}})
    cluster.wait_until_ready(outside=False)
    identities = cluster.pod_identities()
    ports = {
        "web": {"np-bootstrap": 31499},
        "web-0": {"np-0": 31500, "np-1": 31600},
        "web-1": {"np-0": 31501, "np-1": 31601},
        "web-2": {"np-0": 31502, "np-1": 31602},
    }
    with programs.sampler([pod["status"]["podIP"] for pod in cluster.pods()], login=cluster.login()) as sampler:
        for enabled in (True, False, True):
            cluster.external(enabled=enabled, type="NodePort")
            for _ in range(3):
                time.sleep(random.uniform(0.0, 1.2))  # any moment is as good
                process.kill()
                process.start()
            if enabled:
                cluster.wait_until_ready()
                assert cluster.node_ports() == ports
                assert {node["port"] for node in cluster.endpoints().values()} == {31500, 31501, 31502, 31600, 31601, 31602}
            else:
                cluster.wait_until(lambda found: "externalAccess" not in found[0]["status"], what="nothing left of external access")
                assert cluster.services() == {}
        sampled = sampler.stop()
    assert sampled["wrong"] == []
    assert cluster.pod_identities() == identities
    addresses = [node["address"] for node in cluster.endpoints().values()]
    assert sorted(programs.node_ids(addresses, login=cluster.login()).values()) == sorted(cluster.ids().values())


def test_of_two_replicas_one_works_and_the_other_takes_over_within_seconds(new_cluster, operator, api):
    operator.scale(2)
    try:
        leader = operator.wait_for_leader()
        assert operator.metric("valkey_operator_leader") == 1
        cluster = new_cluster(external={})
        cluster.wait_until(lambda found: found and clusters.condition(found[0], "Ready"), what="being formed")

        api.delete(kinds.POD, leader, operators.NAMESPACE)
        taken_over = operator.wait_for_leader(other_than=leader, timeout=10)

        cluster.wait_until_ready()
        assert operator.metric("valkey_operator_leader") == 1
        standby = next(pod for pod in operator.pods() if pod["metadata"]["name"] != taken_over)
        assert operators.written_by(standby) == 0
        assert len(cluster.events("ClusterReady")) == 1
        assert {restarts for _, restarts in cluster.pod_identities().values()} == {0}
    finally:
        operator.scale(1)
