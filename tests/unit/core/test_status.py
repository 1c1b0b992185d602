from dataclasses import replace
from datetime import timedelta

from unit.core.edits import changed, silent, views
from unit.core.given import NODES, NOW, observed, pod, service
from unit.core.routed import by_name, named
from unit.core.test_access import OUTSIDE, TYPE, probed, waiting
from unit.core.test_access_status import DONE, NOT_ALLOWED
from valkey_operator.api.conditions import ConditionStatus, ConditionType, Reason, State
from valkey_operator.api.status import Announced, ClusterStatus, NodeStatus
from valkey_operator.core.decide import decide
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Announcement, Probe
from valkey_operator.core.status import Failure, is_formed, is_settled, node_status, refused_status, transitions, with_failures
from valkey_operator.valkey.slots import NO_SLOTS

P0, R0, P1, R1, P2, R2 = NODES
WHOLE = observed()


def status(seen, *, now=NOW):
    return decide(seen, now=now).status


def after(seen, written):
    return replace(seen, cluster=replace(seen.cluster, status=written))


def conditions(written):
    return {each.type: (each.status.value, each.reason, each.message) for each in written.conditions}


DEGRADED = after(silent(WHOLE, R1), status(WHOLE))
"""A cluster that was whole misses a replica."""
UNPROVEN = waiting(probed(DONE, R0, Probe(None, "timed out")), R0, since="2026-03-01T11:00:00Z")
"""External access is ready, and the operator never got an answer at one endpoint."""


def test_a_whole_cluster():
    written = status(WHOLE)
    assert (written.state, written.reason, written.message) == (State.READY, "ClusterHealthy", "all shards serve")
    assert (written.shards, written.ready_shards, written.observed_generation, written.external_access) == (3, 3, 1, None)
    assert conditions(written) == {
        "Ready": ("True", "ClusterHealthy", "all shards serve"),
        "Progressing": ("False", "ReconcileComplete", "nothing is left to do"),
        "Degraded": ("False", "ClusterHealthy", "nothing is missing that was there"),
        "ClusterFormed": ("True", "TopologyComplete", "all servers have met"),
        "SlotsAssigned": ("True", "AllSlotsAssigned", "all 16384 slots are served"),
    }


def test_a_cluster_that_was_never_whole_is_initializing():
    written = status(silent(WHOLE, R1))
    assert (written.state, written.reason) == (State.INITIALIZING, "ServerUnreachable")
    assert conditions(written)["ClusterFormed"][0] == "False"
    assert conditions(written)["Degraded"][0] == "False"
    assert not is_formed(written)


def test_a_cluster_that_was_whole_is_degraded():
    written = status(DEGRADED)
    assert (written.state, written.reason) == (State.DEGRADED, "ServerUnreachable")
    assert conditions(written)["Ready"][0] == "False"
    assert conditions(written)["ClusterFormed"][0] == "True"
    assert is_formed(written)


def test_internal_readiness_never_waits_for_external_readiness():
    written = status(replace(DONE, services={}))
    assert written.state is State.READY
    assert conditions(written)["Ready"][0] == "True"
    assert conditions(written)["ExternalAccessReady"][:2] == ("False", "AllocatingPorts")


def test_external_access_that_is_ready_and_its_risk():
    written = conditions(status(DONE))
    assert written["ExternalAccessReady"] == ("True", "Ready", "clients outside reach every node")
    assert written["ConfigurationWarning"][:2] == ("True", "ExternalAccessWithoutTLS")


def test_where_hosts_tell_shards_apart_clients_reach_their_primaries():
    shards = [service(f"orders-{shard}", AllocatedPort("sni-shard", 6380, None, 6379), type_="ClusterIP") for shard in range(3)]
    every = service("orders", AllocatedPort("sni-bootstrap", 6380, None, 6379), kind="bootstrap", type_="ClusterIP")
    told = {index: Announcement(f"orders-{index.shard}.example.com", 6380) for index in NODES}
    seen = observed({"type": "Ingress", "advertisedHost": "{name}-{shard}.example.com"}, *shards, every, told=told)
    assert conditions(status(seen))["ExternalAccessReady"] == ("True", "Ready", "clients outside reach the primary of every shard")


def test_who_does_not_ask_whether_endpoints_work_is_not_told_that_they_do():
    seen = observed({**TYPE, "announceWhen": "Always"}, *DONE.services.values(), told=OUTSIDE)
    assert conditions(status(seen))["ExternalAccessReady"] == (
        "True",
        "Ready",
        "every node announces its endpoint; whether it can be reached is not judged, as spec.externalAccess.announceWhen is Always",
    )


def test_of_endpoints_that_the_operator_could_not_reach_no_more_is_said_than_is_known():
    written = status(UNPROVEN)
    assert written.external_access.ready
    assert conditions(written)["ExternalAccessReady"][:2] == ("True", "Ready")
    assert conditions(written)["ExternalAccessReady"][2] == (
        "every node announces its endpoint; the operator gets no answer at those of 1 of 6 nodes: "
        "see EndpointsUnproven in the condition ConfigurationWarning"
    )
    assert "the endpoints of nodes 0-1" in conditions(written)["ConfigurationWarning"][2]
    assert status(after(UNPROVEN, written)) == written


def test_an_endpoint_that_answers_in_the_end_changes_the_words_and_is_no_event():
    unproven = status(UNPROVEN)
    proven = status(after(DONE, unproven))
    assert conditions(proven)["ExternalAccessReady"] == ("True", "Ready", "clients outside reach every node")
    assert [event.reason for event in transitions(unproven, proven)] == ["ExternalAccessWithoutTLS"]


def test_a_warning_that_is_over_is_taken_back():
    assert conditions(status(after(WHOLE, status(DONE))))["ConfigurationWarning"] == ("False", "NoWarnings", "no risks were found")
    assert "ConfigurationWarning" not in conditions(status(WHOLE))


def test_several_warnings_are_one_condition():
    seen = replace(
        DONE, cluster=replace(DONE.cluster, spec=DONE.cluster.spec.model_copy(update={"termination_grace_period_seconds": 3}))
    )
    assert conditions(status(seen))["ConfigurationWarning"][1] == "MultipleWarnings"


def test_time_moves_only_when_a_condition_changes_its_status():
    first = status(WHOLE)
    later = status(after(WHOLE, first), now=NOW + timedelta(hours=1))
    assert later == first
    broken = status(DEGRADED, now=NOW + timedelta(hours=1))
    since = {each.type: each.last_transition_time for each in broken.conditions}
    assert since["Ready"] == "2026-03-01T13:00:00Z"
    assert since["ClusterFormed"] == "2026-03-01T12:00:00Z"


def test_the_same_is_written_as_long_as_the_same_is_seen():
    first = status(DEGRADED, now=NOW)
    assert status(after(DEGRADED, first), now=NOW + timedelta(days=1)) == first


# --- failures ---


def test_a_failure_inside_makes_the_cluster_degraded():
    failed = with_failures(status(WHOLE), WHOLE.cluster, [Failure(Reason.STATEFUL_SET_ERROR, "quota exceeded")], now=NOW)
    assert (failed.state, failed.reason, failed.message) == (State.DEGRADED, "StatefulSetError", "quota exceeded")
    assert conditions(failed)["Ready"] == ("False", "StatefulSetError", "quota exceeded")


def test_a_failure_outside_leaves_the_cluster_ready():
    conflict = Failure(Reason.SERVICE_CONFLICT, "Service orders-0 exists and belongs to somebody else", external=True)
    failed = with_failures(status(DONE), DONE.cluster, [conflict], now=NOW)
    assert failed.state is State.READY
    assert conditions(failed)["ExternalAccessReady"][:2] == ("False", "ServiceConflict")
    assert not failed.external_access.ready


def test_a_passing_failure_explains_what_is_not_well_and_makes_nothing_so():
    passing = Failure(Reason.COMMAND_FAILED, "node 1-1 could not be told", passing=True)
    assert with_failures(status(WHOLE), WHOLE.cluster, [passing], now=NOW) == status(WHOLE)
    said = with_failures(status(DEGRADED), DEGRADED.cluster, [passing], now=NOW)
    assert conditions(said)["Ready"][2].endswith("(node 1-1 could not be told)")


# --- a spec that cannot be carried out ---


def test_a_refused_spec_is_told_and_keeps_what_was_known():
    refused = refused_status(status(DONE), ["spec.shards: is 0", "spec.image: is empty"], generation=7, now=NOW)
    assert (refused.state, refused.reason, refused.message) == (
        State.FAILED,
        "InvalidSpec",
        "spec.shards: is 0; spec.image: is empty",
    )
    assert conditions(refused)["Ready"][:2] == ("False", "InvalidSpec")
    assert conditions(refused)["ExternalAccessReady"][0] == "True"
    assert (refused.observed_generation, refused.external_access) == (7, status(DONE).external_access)


# --- nodes ---


def test_the_status_of_a_node_is_the_servers_own_word():
    assert node_status(DONE, R0, now=NOW) == NodeStatus(
        node_id="id-0-1",
        role="replica",
        ready=True,
        pod_name="valkey-orders-0-1-0",
        pod_ip="10.0.0.1",
        machine="m2",
        version="9.1.2",
        announced=Announced(host="192.0.2.12", port=31300, address="192.0.2.12:31300"),
    )


def test_a_silent_node_keeps_its_id_and_is_not_ready():
    found = node_status(silent(DONE, R0), R0, now=NOW)
    assert (found.node_id, found.role, found.ready, found.pod_name) == ("id-0-1", "replica", False, "valkey-orders-0-1-0")


def test_a_node_without_a_pod_is_nowhere():
    found = node_status(silent(replace(DONE, pods={}), R0), R0, now=NOW)
    assert (found.pod_name, found.pod_ip, found.machine, found.ready) == ("", "", "", False)


def test_a_node_without_a_record_has_no_status():
    assert node_status(replace(DONE, records={}), R0, now=NOW) is None


def test_an_empty_server_has_no_role_and_is_not_ready():
    empty = views(DONE, lambda at, each: replace(each, slots=NO_SLOTS) if at == P1 else each)
    found = node_status(empty, P1, now=NOW)
    assert (found.role, found.ready) == ("", False)
    assert not node_status(changed(DONE, P1, state_ok=False), P1, now=NOW).ready
    assert not node_status(replace(DONE, pods={**DONE.pods, P1: pod(P1, ready=False)}), P1, now=NOW).ready


# --- settled ---


def test_a_cluster_is_settled_when_nothing_is_left_for_the_spec_as_it_is():
    assert is_settled(status(DONE), generation=1)
    assert is_settled(status(WHOLE), generation=1)
    assert not is_settled(status(DONE), generation=2)
    assert not is_settled(status(DEGRADED), generation=1)
    assert not is_settled(status(replace(DONE, services={})), generation=1)
    assert not is_settled(ClusterStatus(), generation=1)


# --- events ---


def events(before, now):
    return [(event.reason, event.warning) for event in transitions(before, now)]


def test_a_cluster_that_comes_to_be_is_one_event():
    assert events(ClusterStatus(), status(silent(WHOLE, R1))) == []
    assert events(status(silent(WHOLE, R1)), status(WHOLE)) == [("ClusterReady", False)]


def test_what_says_the_same_again_is_no_event():
    for seen in (WHOLE, DONE, DEGRADED):
        assert events(status(seen), status(after(seen, status(seen)))) == []


def test_trouble_and_recovery_are_events():
    assert events(status(WHOLE), status(DEGRADED)) == [("ServerUnreachable", True)]
    assert events(status(DEGRADED), status(after(WHOLE, status(DEGRADED)))) == [("ClusterReady", False), ("Recovered", False)]


def test_steps_of_external_access_are_events_and_warnings_where_somebody_must_act():
    off, on = status(WHOLE), status(DONE)
    waiting = status(replace(DONE, services={}))
    assert ("AllocatingPorts", False) in events(off, waiting)
    assert ("ExternalAccessReady", False) in events(waiting, on)
    assert ("ExternalAccessWithoutTLS", True) in events(off, on)
    nowhere = status(replace(DONE, machines={}))
    assert ("NodeAddressUnknown", True) in events(on, nowhere)
    access = DONE.cluster.spec.external_access.model_copy(update={"advertised_host": "192.0.2.11"})
    chosen = replace(DONE.cluster, spec=DONE.cluster.spec.model_copy(update={"external_access": access}))
    claimed = status(replace(DONE, cluster=chosen, claims={"192.0.2.11:31200": "shop/older"}))
    assert ("HostClaimed", True) in events(on, claimed)
    refused = status(named(*by_name(verdicts=(NOT_ALLOWED,))))
    assert ("RouteNotAccepted", True) in events(on, refused)
    replaced = status(replace(DONE, pods={index: each for index, each in DONE.pods.items() if index != NodeIndex(0, 0)}))
    assert not [event for event in events(on, replaced) if event == ("WaitingForCluster", True)]


def test_a_condition_is_true_false_or_unknown():
    assert {each.status for each in status(DONE).conditions} <= {ConditionStatus.TRUE, ConditionStatus.FALSE}
    assert status(DONE).condition(ConditionType.READY).observed_generation == 1
