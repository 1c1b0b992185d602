from dataclasses import replace

import pytest

from unit.core.edits import changed, line, promoted, restarted, silent, views
from unit.core.given import NODES, node_id, observed, pod
from valkey_operator.api.conditions import Reason
from valkey_operator.core.formation import formation
from valkey_operator.core.health import health
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Trouble
from valkey_operator.core.topology import Topology
from valkey_operator.valkey.slots import NO_SLOTS

P0, R0, P1, R1, P2, R2 = NODES
WHOLE = observed()


def found(seen):
    topology = Topology.of(seen)
    return health(seen, topology, formation(topology, seen.pods, formed=True))


def lacks(seen):
    return [(lack.reason, lack.message) for lack in found(seen).lacks]


def with_pod(index, **fields):
    return replace(WHOLE, pods={**WHOLE.pods, index: pod(index, **fields)})


def test_a_whole_cluster_lacks_nothing():
    result = found(WHOLE)
    assert result.whole
    assert (result.ready_shards, result.slots_assigned, result.linked, result.degraded) == (3, True, True, None)


def test_a_pod_that_starts_is_waited_for():
    starting = silent(with_pod(R1, running=False, ip=None, ready=False), R1)
    assert lacks(starting) == [(Reason.WAITING_FOR_PODS, "pods of nodes 1-1 are starting")]
    assert found(starting).ready_shards == 2


def test_many_nodes_are_told_as_the_first_few():
    assert lacks(silent(replace(WHOLE, pods={}), *NODES))[0] == (
        Reason.WAITING_FOR_PODS,
        "pods of nodes 0-0, 0-1, 1-0, 1-1 and 2 more are starting",
    )


def test_a_silent_server_is_told_with_its_reason():
    assert lacks(silent(WHOLE, P1))[0] == (Reason.SERVER_UNREACHABLE, "the servers of nodes 1-0 do not answer (1-0: timed out)")
    assert lacks(silent(WHOLE, P1))[1][0] is Reason.SLOTS_UNASSIGNED


TROUBLES = [
    (
        Trouble("ImagePullBackOff", 'Back-off pulling image "valkey:none"'),
        Reason.IMAGE_PULL_FAILED,
        (
            'pod valkey-orders-1-0-0: ImagePullBackOff: Back-off pulling image "valkey:none". '
            "Correct spec.image, or name the registry's credentials in spec.imagePullSecrets"
        ),
    ),
    (
        Trouble("Unschedulable", "0/3 nodes are available:\n3 Insufficient memory."),
        Reason.POD_UNSCHEDULABLE,
        (
            "pod valkey-orders-1-0-0 fits on no Kubernetes node: 0/3 nodes are available: 3 Insufficient memory. "
            "Make room, or change spec.resources or spec.scheduling"
        ),
    ),
    (
        Trouble("CrashLoopBackOff", "FATAL CONFIG FILE ERROR\n>>> 'maxmemori 1'\nBad directive"),
        Reason.SERVER_CRASHED,
        (
            "pod valkey-orders-1-0-0: CrashLoopBackOff: FATAL CONFIG FILE ERROR >>> 'maxmemori 1' Bad directive. "
            "If the server names a directive, correct it in spec.config; otherwise see `kubectl logs valkey-orders-1-0-0 --previous`"
        ),
    ),
]


@pytest.mark.parametrize(("trouble", "reason", "message"), TROUBLES)
def test_a_pod_in_trouble_says_what_to_do(trouble, reason, message):
    result = found(silent(with_pod(P1, running=False, trouble=trouble), P1))
    assert (result.lacks[0].reason, result.lacks[0].serious) == (reason, True)
    assert result.lacks[0].message == message
    assert result.degraded == result.lacks[0]


def test_trouble_of_a_pod_that_runs_is_over():
    assert found(with_pod(P1, trouble=Trouble("Unschedulable", "x"))).whole


def test_a_server_that_does_not_know_all_is_told():
    ignorant = views(WHOLE, lambda at, each: None if at == R2 and each.id == node_id(P0) else each)
    assert lacks(ignorant) == [(Reason.ADDING_NODES, "nodes 2-1 do not know all others yet")]


def test_slots_without_an_answering_primary_are_counted():
    holes = views(WHOLE, lambda at, each: replace(each, slots=NO_SLOTS) if at == P1 and each.myself else each)
    assert (Reason.SLOTS_UNASSIGNED, "5461 of 16384 slots are served by no primary that answers") in lacks(holes)
    assert not found(holes).slots_assigned


def test_replicas_that_follow_nobody_or_copy_are_told_apart():
    loose = views(WHOLE, lambda at, each: replace(each, primary_id=None) if at == R1 and each.myself else each)
    assert lacks(loose) == [(Reason.MISSING_REPLICAS, "nodes 1-1 do not follow the primary of their shard yet")]
    copying = changed(WHOLE, R1, link_up=False)
    assert lacks(copying) == [(Reason.MISSING_REPLICAS, "replicas 1-1 are copying their primary")]
    assert (found(copying).linked, found(copying).ready_shards) == (False, 2)


def test_a_state_that_is_not_ok_is_told():
    failing = changed(WHOLE, P2, state_ok=False)
    assert lacks(failing) == [(Reason.RECONCILING, "cluster_state is not ok yet on nodes 2-0")]
    assert found(failing).ready_shards == 2


def test_a_pod_that_is_not_ready_is_told():
    assert lacks(with_pod(P0, ready=False)) == [(Reason.WAITING_FOR_PODS, "pods of nodes 0-0 are not Ready yet")]


def test_a_failover_leaves_the_cluster_whole_once_the_old_primary_follows():
    swapped = promoted(WHOLE, R1, over=P1)
    swapped = views(
        swapped,
        lambda _, each: (
            replace(each, primary_id=node_id(R1), flags=(each.flags - {"master"}) | {"slave"}) if each.id == node_id(P1) else each
        ),
    )
    assert found(changed(swapped, P1, primary=False)).whole


def test_a_server_of_another_cluster_is_told_first():
    me = WHOLE.servers[R1].me
    stranger = changed(WHOLE, R1, members=(me, line("x"), line("y")))
    assert lacks(stranger)[0] == (
        Reason.SERVER_FOREIGN,
        "the server of pod valkey-orders-1-1-0 belongs to another Valkey cluster and is left alone: delete the pod to start it empty",
    )


def test_data_that_is_lost_is_told_with_what_would_have_kept_it():
    alone = observed(spec={"replicas": 0})
    alone = replace(alone, servers={index: alone.servers[index] for index in (P0, P1, P2)})
    alone = views(alone, lambda _, each: each if each.id in map(node_id, (P0, P1, P2)) else None)
    assert lacks(restarted(alone, P1))[0] == (
        Reason.PRIMARY_LOST,
        (
            "shard 1: every copy of its data is gone with its servers; its slots are given to an empty server. "
            "With spec.replicas of 1 or more a shard survives the loss of one server"
        ),
    )


def test_the_shard_of_a_node_that_is_not_wanted_is_not_counted():
    assert found(replace(WHOLE, servers={**WHOLE.servers, NodeIndex(9, 9): WHOLE.servers[P0]})).ready_shards == 3
