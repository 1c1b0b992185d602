"""Servers die, and what becomes of their data, their slots and their endpoints."""

import pytest

from scenario.story import NODES, Story, formed, reached
from valkey_operator.api.conditions import ConditionType, State
from valkey_operator.core.plan import AddSlots, TakeOver

P0, R0, P1, R1, P2, R2 = NODES
SEEDS = range(2)


def gifts(story, *, since):
    return [
        (str(index), str(command.slots))
        for at, index, command in story.witness.commands
        if isinstance(command, AddSlots) and at >= since
    ]


def takeovers(story, *, since):
    return [
        (str(index), command.vote) for at, index, command in story.witness.commands if isinstance(command, TakeOver) and at >= since
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_primary_is_followed_by_its_replica_and_returns_as_one(seed):
    story = reached(seed)
    story.write()
    before, since = story.told(), story.now
    old = story.process(P0).id
    story.pods.kill(P0)
    story.run(0.1)
    assert story.status.state is State.DEGRADED
    story.settle()
    assert [story.process(index).me.primary_id is None for index in (P0, R0)] == [False, True]
    assert all(old not in process.view for process in story.fleet.alive())
    assert story.told() == before
    assert gifts(story, since=since) == []
    assert [node.role for node in story.external.endpoints[0].nodes] == ["replica", "primary"]
    assert story.external.endpoints[0].address == "192.0.2.12:31300"
    assert "Recovered" in story.events(since=since)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_primary_whose_container_restarts_is_followed_at_once(seed):
    """It is back, empty, under a new id, long before anybody would have suspected it."""
    story = formed(seed)
    story.write()
    since = story.now
    story.pods.restart_container(P1)
    assert story.passes.run_until(lambda: story.fleet.owner(6000) is story.process(R1), within=1.9)
    assert takeovers(story, since=since)[0] == ("1-1", True)
    story.settle()
    assert gifts(story, since=since) == []
    assert story.process(P1).data == story.process(R1).data


@pytest.mark.parametrize("shards", [1, 2])
def test_without_a_majority_of_primaries_a_replica_takes_over_without_votes(shards):
    story = Story(shards=shards)
    story.settle()
    story.write()
    since = story.now
    story.pods.kill(P0)
    story.run(0.1)
    story.settle()
    assert takeovers(story, since=since)[0] == ("0-1", False)
    assert story.process(R0).me.primary_id is None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pod_that_is_deleted_hands_over_and_no_slot_is_without_owner_for_a_moment(seed):
    story = reached(seed)
    story.write()
    since = story.now
    story.pods.delete(P2)
    owned = []
    story.passes.run_until(lambda: bool(owned.append(story.fleet.owner(16000))) or story.now > since + 5, within=6)
    assert None not in owned
    story.settle()
    assert takeovers(story, since=since) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replica_that_is_replaced_copies_again(seed):
    story = reached(seed)
    story.write()
    before = story.told()
    story.pods.kill(R1)
    story.run(0.1)
    story.settle()
    assert story.told() == before
    assert story.process(R1).me.primary_id == story.process(P1).id


def test_one_pod_after_the_other_is_replaced_and_nothing_is_lost():
    story = reached()
    before = story.told()
    for index in (*NODES, NODES[0], NODES[1]):
        story.write()
        story.pods.delete(index)
        story.run(0.1)
        story.settle()
    assert story.told() == before
    assert story.starts() == 6 + 8


def test_without_replicas_the_slots_of_a_lost_shard_are_given_to_the_empty_server_and_the_loss_is_told():
    story = Story(replicas=0)
    story.settle()
    since = story.now
    story.pods.kill(P1)
    story.run(0.1)
    story.settle()
    assert gifts(story, since=since) == [("1-0", "5461-10921")]
    assert "PrimaryLost!" in story.events(since=since)
    assert story.condition(ConditionType.DEGRADED)[0] == "False"


@pytest.mark.parametrize("seed", SEEDS)
def test_when_a_shard_loses_both_servers_the_others_keep_theirs(seed):
    story = formed(seed)
    story.write()
    since = story.now
    story.pods.kill(P1)
    story.pods.kill(R1)
    story.run(0.1)
    story.settle()
    assert gifts(story, since=since) == [("1-0", "5461-10921")]
    assert {slot // 5462 for slot, _ in story.fleet.written} == {0, 2}
    assert "PrimaryLost!" in story.events(since=since)


def test_two_lost_shards_get_their_own_slots_back():
    story = Story(replicas=0)
    story.settle()
    since = story.now
    story.pods.kill(P0)
    story.pods.restart_container(P2)
    story.run(0.1)
    story.settle()
    assert sorted(gifts(story, since=since)) == [("0-0", "0-5460"), ("2-0", "10922-16383")]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_that_lost_all_servers_at_once_begins_anew_and_the_loss_is_told(seed):
    story = reached(seed)
    since = story.now
    for index in NODES:
        story.pods.kill(index)
    story.run(0.1)
    story.settle()
    assert sorted(gifts(story, since=since)) == [("0-0", "0-5460"), ("1-0", "5461-10921"), ("2-0", "10922-16383")]
    assert "PrimaryLost!" in story.events(since=since)
    story.witness.assert_announced()


def test_a_server_that_only_the_operator_cannot_reach_is_neither_replaced_nor_forgotten():
    story = formed()
    ids = {process.id for process in story.fleet.alive()}
    since = story.now
    story.world.silent.add(P1)
    story.run(30)
    assert story.status.state is State.DEGRADED
    assert story.condition(ConditionType.READY)[1] == "ServerUnreachable"
    assert (gifts(story, since=since), takeovers(story, since=since)) == ([], [])
    story.world.silent.clear()
    story.settle()
    assert {process.id for process in story.fleet.alive()} == ids


def test_no_slots_are_given_away_while_somebody_who_may_own_them_is_silent():
    story = formed()
    story.write()
    since = story.now
    story.world.silent.add(R1)
    story.pods.kill(P1)
    story.run(8)
    assert gifts(story, since=since) == []
    assert story.fleet.owner(6000) is story.process(R1)
    story.world.silent.clear()
    story.settle()


def test_settings_of_haste_end_when_copying_is_over():
    story = formed()
    story.pods.kill(R0)
    story.run(0.1)
    story.settle()
    assert {process.config["repl-diskless-sync-delay"] for process in story.fleet.alive()} == {"5"}
    assert {process.config["cluster-node-timeout"] for process in story.fleet.alive()} == {"2000"}
    story.assert_at_rest()


def test_labels_lead_clients_to_who_serves():
    story = reached()
    story.pods.kill(P0)
    story.run(0.1)
    story.settle()
    assert {index: (pod.role, pod.serving) for index, pod in sorted(story.pods.live.items())} == {
        P0: ("replica", True),
        R0: ("primary", True),
        P1: ("primary", True),
        R1: ("replica", True),
        P2: ("primary", True),
        R2: ("replica", True),
    }
