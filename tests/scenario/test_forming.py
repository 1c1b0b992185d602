"""How a cluster comes to be."""

import pytest

from scenario.story import NODES, Story, formed
from valkey_operator.api.conditions import ConditionType, State
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.plan import AddSlots, Replicate


def test_a_cluster_forms_and_is_ready_in_seconds():
    story = Story()
    story.settle(within=6)
    assert (story.status.state, story.status.ready_shards) == (State.READY, 3)
    assert story.starts() == 6
    assert story.reasons(ConditionType.READY) == [
        "WaitingForPods",
        "AddingNodes",
        "MissingReplicas",
        "Reconciling",
        "ClusterHealthy",
    ]
    assert story.events() == ["ClusterReady"]
    assert story.told() == {index: (story.process(index).ip, 6379) for index in NODES}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("shards", "replicas"), [(1, 0), (1, 2), (2, 0), (2, 1), (5, 0), (6, 1)])
def test_clusters_of_any_size_form_in_any_order_of_events(shards, replicas, seed):
    story = Story(seed=seed, shards=shards, replicas=replicas)
    story.settle(within=10)
    assert [process.me.slots for process in map(story.process, (NodeIndex(shard, 0) for shard in range(shards)))]


def test_a_larger_cluster_forms_though_nobody_meets_everybody():
    story = Story(shards=12)
    story.settle(within=12)
    assert story.status.ready_shards == 12


def test_every_slot_is_given_once():
    story = Story(seed=3)
    story.settle()
    given = [(index, command.slots) for _, index, command in story.witness.commands if isinstance(command, AddSlots)]
    assert sorted((str(index), str(slots)) for index, slots in given) == [
        ("0-0", "0-5460"),
        ("1-0", "5461-10921"),
        ("2-0", "10922-16383"),
    ]
    followers = [index for _, index, command in story.witness.commands if isinstance(command, Replicate)]
    assert sorted(set(followers)) == [NodeIndex(0, 1), NodeIndex(1, 1), NodeIndex(2, 1)]


def test_a_settled_cluster_is_left_alone():
    formed().assert_at_rest(seconds=300)


def test_the_settings_of_haste_are_gone_when_it_is_ready():
    story = formed()
    for index in NODES:
        config = story.process(index).config
        assert (config["cluster-node-timeout"], config["cluster-ping-interval"], config["repl-diskless-sync-delay"]) == (
            "2000",
            "0",
            "5",
        )


def test_applications_are_told_how_to_connect():
    story = formed()
    (secret,) = [wanted for kind, wanted in story.kubernetes.objects.items() if kind.__name__ == "ConnectionSecret"]
    assert (secret.username, secret.host, secret.port, secret.external) == ("default", "valkey-orders.shop.svc", 6379, ())
    assert secret.password == story.kubernetes.passwords.default


def test_a_server_that_the_operator_cannot_reach_is_waited_for():
    story = Story()
    story.world.silent.add(NodeIndex(1, 0))
    story.run(9)
    assert story.status.state is State.INITIALIZING
    assert story.condition(ConditionType.READY)[1:] == (
        "ServerUnreachable",
        "the servers of nodes 1-0 do not answer (1-0: timed out)",
    )
    assert not story.process(NodeIndex(1, 0)).me.slots
    story.world.silent.clear()
    story.settle()


def test_a_server_of_another_cluster_is_left_alone_until_its_pod_is_deleted():
    """Somebody introduced a pod of ours to another cluster before the operator came to it."""
    story, theirs = Story(), NodeIndex(2, 1)
    story.world.silent.add(theirs)
    story.passes.run_until(lambda: (pod := story.pods.live.get(theirs)) is not None and pod.process is not None, within=10)
    stranger = story.stranger()
    story.process(theirs).meet(stranger.ip)
    story.run(1)
    story.world.silent.clear()
    story.run(7)
    assert story.condition(ConditionType.READY)[1:] == (
        "ServerForeign",
        "the server of pod valkey-orders-2-1-0 belongs to another Valkey cluster and is left alone: delete the pod to start it empty",
    )
    assert story.condition(ConditionType.DEGRADED)[0] == "True"
    assert stranger.view.keys() == {stranger.id, story.process(theirs).id}
    story.pods.delete(theirs)
    story.run(3)
    story.fleet.kill(stranger)
    story.settle()
