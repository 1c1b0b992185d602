from valkey_operator.api.conditions import ConditionStatus, ConditionType, Reason, State
from valkey_operator.api.status import Announced, ClusterStatus, Condition, ExternalAccessStatus, NodeStatus

WAITING = Condition(
    type=ConditionType.EXTERNAL_ACCESS_READY,
    status=ConditionStatus.FALSE,
    reason=Reason.ALLOCATING_PORTS,
    message="shard 1 has no port yet",
    last_transition_time="2025-12-02T01:00:00Z",
    observed_generation=2,
)


def test_a_new_status_tells_only_what_is_known():
    assert ClusterStatus().to_dict() == {
        "state": "Initializing",
        "reason": "",
        "message": "",
        "shards": 0,
        "readyShards": 0,
        "conditions": [],
    }


def test_a_status_is_written_in_the_words_of_the_api():
    status = ClusterStatus(
        state=State.READY, reason=Reason.CLUSTER_HEALTHY, observed_generation=2, ready_shards=3, conditions=(WAITING,)
    )
    assert status.to_dict() == {
        "state": "Ready",
        "reason": "ClusterHealthy",
        "message": "",
        "observedGeneration": 2,
        "shards": 0,
        "readyShards": 3,
        "conditions": [
            {
                "type": "ExternalAccessReady",
                "status": "False",
                "reason": "AllocatingPorts",
                "message": "shard 1 has no port yet",
                "lastTransitionTime": "2025-12-02T01:00:00Z",
                "observedGeneration": 2,
            }
        ],
    }


def test_what_is_written_is_read_back_as_the_same():
    status = ClusterStatus(
        external_access=ExternalAccessStatus(type="NodePort", draining_since="2025-12-02T01:00:00Z"), conditions=(WAITING,)
    )
    assert ClusterStatus.parse(status.to_dict()) == status


def test_a_condition_is_found_by_its_type():
    status = ClusterStatus(conditions=(WAITING,))
    assert status.condition(ConditionType.EXTERNAL_ACCESS_READY) == WAITING
    assert status.condition(ConditionType.READY) is None


def test_reasons_of_another_version_are_read_as_they_are():
    raw = {"conditions": [{**WAITING.to_dict(), "type": "Novel", "reason": "Unheard"}]}
    assert ClusterStatus.parse(raw).conditions[0].reason == "Unheard"


def test_a_node_status_uses_the_names_of_the_api():
    status = NodeStatus(
        node_id="a1", pod_ip="10.0.0.7", announced=Announced(host="192.0.2.1", port=31200, address="192.0.2.1:31200")
    )
    assert status.to_dict() == {
        "nodeId": "a1",
        "role": "",
        "ready": False,
        "podName": "",
        "podIP": "10.0.0.7",
        "machine": "",
        "version": "",
        "announced": {"host": "192.0.2.1", "port": 31200, "address": "192.0.2.1:31200"},
    }
    assert NodeStatus.parse(status.to_dict()) == status


def test_an_unreadable_node_status_counts_as_none():
    assert NodeStatus.parse({"ready": "perhaps"}) == NodeStatus()
