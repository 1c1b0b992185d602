from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from golden.orders import orders
from unit.core.edits import changed, knowing, line, promoted, restarted, silent, views
from unit.core.given import NODES, member, node_id, observed, pod_ip
from unit.core.test_topology import pictures
from valkey_operator.core.formation import be_believed, formation
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.plan import AddSlots, BumpEpoch, Forget, Meet, Replicate, TakeOver, Tell
from valkey_operator.core.topology import Topology
from valkey_operator.valkey.slots import ALL, NO_SLOTS, Slots

P0, R0, P1, R1, P2, R2 = NODES
WHOLE = observed()


def needs(seen, *, formed=True):
    return formation(Topology.of(seen), seen.pods, formed=formed)


def told(seen, kind, *, formed=True):
    """(node, the command's argument) of every command of that kind."""
    commands = [command for command in needs(seen, formed=formed).commands if isinstance(command.command, kind)]
    return [
        (str(command.index), *(str(getattr(command.command, name)) for name in command.command.__slots__)) for command in commands
    ]


def empty(*nodes, of=WHOLE):
    """Servers that have just started: each knows itself alone, owns nothing and is recorded nowhere."""
    for index in nodes:
        me = replace(
            member(index, seen_by=index), flags=frozenset({"myself", "master"}), primary_id=None, slots=NO_SLOTS, config_epoch=0
        )
        of = changed(of, index, primary=True, members=(me,), state_ok=False)
    return of


def unrecorded(seen, *nodes):
    records = {
        index: replace(record, status=record.status.model_copy(update={"node_id": ""})) if index in nodes else record
        for index, record in seen.records.items()
    }
    return replace(seen, records=records)


NEW = unrecorded(empty(*NODES), *NODES)
"""Six servers that have just started."""


def test_a_whole_cluster_needs_nothing():
    assert needs(WHOLE).commands == ()


# --- slots ---


def test_first_nodes_get_equal_parts_of_the_slots_at_once():
    assert told(NEW, AddSlots, formed=False) == [("0-0", "0-5460"), ("1-0", "5461-10921"), ("2-0", "10922-16383")]


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 100, 1000])
def test_parts_are_the_same_whoever_comes_first(shards):
    one = replace(NEW.servers[P0], members=NEW.servers[P0].members)
    late = NodeIndex(shards - 1, 0)
    seen = replace(NEW, cluster=orders(shards=shards, replicas=0), servers={late: one}, records={})
    (command,) = [command for command in needs(seen, formed=False).commands if isinstance(command.command, AddSlots)]
    assert command.index == late
    assert (command.command.slots.ranges[0].first, command.command.slots.ranges[-1].last) == ((shards - 1) * 16384 // shards, 16383)


def test_servers_that_were_never_seen_need_not_be_waited_for():
    assert told(silent(NEW, P1, R2), AddSlots, formed=False) == [("0-0", "0-5460"), ("2-0", "10922-16383")]


def test_a_silent_server_that_was_seen_before_may_own_slots():
    assert told(silent(unrecorded(empty(*NODES), P0), P1), AddSlots, formed=False) == []


def test_a_cluster_that_was_whole_gives_no_slots_while_anybody_is_silent():
    assert told(silent(NEW, P1), AddSlots, formed=True) == []


def test_slots_wait_for_the_first_node_of_a_shard():
    assert told(silent(NEW, P0), AddSlots, formed=False) == [("1-0", "5461-10921"), ("2-0", "10922-16383")]


def test_slots_go_to_another_node_only_where_the_first_has_become_a_replica():
    follower = changed(
        NEW, P0, primary=False, members=(replace(NEW.servers[P0].me, flags=frozenset({"myself", "slave"}), primary_id=node_id(R0)),)
    )
    assert told(follower, AddSlots, formed=False)[0] == ("0-1", "0-5460")


def test_a_loading_server_gets_no_slots():
    assert told(changed(NEW, P0, loading=True), AddSlots, formed=False)[0] == ("0-1", "0-5460")


def test_slots_of_a_ghost_are_not_given_away_before_everybody_has_forgotten_it():
    alone = observed(spec={"replicas": 0})
    alone = replace(alone, servers={index: alone.servers[index] for index in (P0, P1, P2)})
    alone = views(alone, lambda _, each: each if each.id in map(node_id, (P0, P1, P2)) else None)
    haunted = restarted(alone, P1)
    assert told(haunted, AddSlots) == []
    assert needs(haunted).lost == {1}
    forgotten = views(haunted, lambda _, each: None if each.id == "id-1-0" else each)
    assert told(forgotten, AddSlots) == [("1-0", "5461-10921")]


def test_of_two_lost_shards_each_gets_its_own_slots_even_when_one_is_forgotten_later():
    """Else the first to come would share what is free with the other, and some slots would be left over for ever."""
    alone = observed(spec={"replicas": 0})
    alone = replace(alone, servers={index: alone.servers[index] for index in (P0, P1, P2)})
    alone = views(alone, lambda _, each: each if each.id in map(node_id, (P0, P1, P2)) else None)
    lost = restarted(restarted(alone, P1, new_id="new-1"), P2, new_id="new-2")
    lost = unrecorded(lost, P1, P2)
    half = views(lost, lambda _, each: None if each.id == "id-1-0" else each)
    assert told(half, AddSlots) == [("1-0", "5461-10921")]


def test_slots_that_a_primary_has_lost_return_to_its_shard():
    less = views(WHOLE, lambda _, each: replace(each, slots=Slots.parse("0-100")) if each.id == node_id(P0) else each)
    assert told(less, AddSlots) == [("0-0", "101-5460")]


def test_slots_of_a_shard_whose_owner_is_silent_are_left_alone():
    seen = silent(views(NEW, lambda _, each: each), P1)
    seen = knowing(seen, replace(line(node_id(P1), slots="5461-6000"), link_up=True))
    assert all(index != "1-1" for index, _ in told(unrecorded(seen, *NODES), AddSlots, formed=False))


# --- meeting ---


def test_everybody_meets_everybody_in_a_small_cluster():
    met = told(NEW, Meet, formed=False)
    assert len(met) == len(set(met)) == 30
    assert ("0-0", "10.0.2.1") in met
    assert not [index for index, ip in met if ip == pod_ip(NodeIndex(*map(int, index.split("-"))))]


def test_who_is_being_met_is_not_met_again():
    shaking = changed(
        NEW, P0, members=(*NEW.servers[P0].members, replace(line("made-up", "handshake", linked=False), ip=pod_ip(P1)))
    )
    assert ("0-0", pod_ip(P1)) not in told(shaking, Meet, formed=False)
    assert ("0-0", pod_ip(P2)) in told(shaking, Meet, formed=False)


def test_a_new_server_meets_the_others_and_they_meet_it():
    met = told(restarted(WHOLE, P1), Meet)
    assert {ip for index, ip in met if index == "1-0"} == {pod_ip(index) for index in NODES if index != P1}
    assert {index for index, ip in met if ip == pod_ip(P1)} == {"0-0", "0-1", "1-1", "2-0", "2-1"}


def test_nobody_meets_a_pod_without_an_address():
    pods = {**NEW.pods, P1: replace(NEW.pods[P1], ip=None)}
    assert pod_ip(P1) not in {ip for _, ip in told(replace(NEW, pods=pods), Meet, formed=False)}


def test_in_a_large_cluster_each_meets_its_next_neighbours_alone():
    nodes = [NodeIndex(shard, 0) for shard in range(50)]
    seen = replace(
        NEW,
        cluster=orders(shards=50, replicas=0),
        records={},
        servers={
            index: replace(NEW.servers[P0], id=f"id-{index}", members=(replace(line(f"id-{index}", "myself", "master")),))
            for index in nodes
        },
        pods={index: replace(NEW.pods[P0], ip=f"10.0.0.{index.shard + 1}") for index in nodes},
    )
    met = told(seen, Meet, formed=False)
    assert len(met) == 50 * 8
    assert [ip for index, ip in met if index == "49-0"] == [f"10.0.0.{number}" for number in range(1, 9)]


# --- replicas ---


def test_a_replica_follows_its_primary_as_soon_as_it_knows_it():
    loose = views(WHOLE, lambda teller, each: replace(each, primary_id=None) if teller == R1 and each.myself else each)
    assert told(loose, Replicate) == [("1-1", "id-1-0")]
    strange = views(loose, lambda teller, each: None if teller == R1 and each.id == node_id(P1) else each)
    assert told(strange, Replicate) == []
    shaking = views(
        loose,
        lambda teller, each: replace(each, flags=frozenset({"handshake"})) if teller == R1 and each.id == node_id(P1) else each,
    )
    assert told(shaking, Replicate) == []


def test_a_server_with_slots_never_becomes_a_replica():
    both = views(
        promoted(WHOLE, R1, over=P1),
        lambda teller, each: replace(each, slots=Slots.parse("5461")) if teller == P1 and each.myself else each,
    )
    assert told(both, Replicate) == []


def test_the_old_primary_follows_the_new_one():
    back = restarted(promoted(WHOLE, R1, over=P1), P1)
    back = knowing(back, replace(member(R1, seen_by=P1), flags=frozenset({"master"}), primary_id=None), tellers=(P1,))
    assert ("1-0", "id-1-1") in told(back, Replicate)


# --- epochs ---


def remembered(seen, index, *, by, epoch, slots=NO_SLOTS):
    """Somebody takes a replica for a primary, as it was before it became a replica."""

    def line(teller, old):
        if (teller, old.id) != (by, node_id(index)):
            return old
        return replace(old, flags=frozenset({"master"}), primary_id=None, config_epoch=epoch, slots=slots)

    return views(seen, line)


def outranking(seen):
    commands = list(be_believed(Topology.of(seen)))
    assert {command.command for command in commands} <= {BumpEpoch()}
    return [command.index for command in commands]


def test_a_primary_outranks_what_somebody_remembers_of_its_replica():
    """Seen with Valkey 9.1.2: "Ignore stale message from … gossip config epoch: 2, current config epoch: 5", without end."""
    of_primary = _me(WHOLE, P2).config_epoch
    assert outranking(remembered(WHOLE, R2, by=P1, epoch=of_primary + 1)) == [P2]
    assert outranking(remembered(WHOLE, R2, by=P1, epoch=of_primary)) == []


def test_a_primary_does_not_outrank_its_replica_that_was_just_promoted():
    assert outranking(remembered(WHOLE, R2, by=P1, epoch=99, slots=_me(WHOLE, P2).slots)) == []


# --- failover ---


def test_a_primary_that_came_back_empty_is_followed_by_its_replica_at_once():
    assert told(restarted(WHOLE, P1), TakeOver) == [("1-1", "True")]


def test_the_replica_with_the_most_data_takes_over():
    seen = replace(WHOLE, cluster=orders(shards=2, replicas=2))
    a, b, primary = NodeIndex(0, 1), NodeIndex(0, 2), NodeIndex(0, 0)
    seen = replace(seen, servers={index: WHOLE.servers[index] for index in (P0, R0, P1, R1)} | {b: WHOLE.servers[R2]})
    seen = changed(changed(seen, a, offset=500), b, offset=400)
    seen = changed(seen, b, members=(replace(_me(WHOLE, R2), primary_id=node_id(primary)),))
    assert told(restarted(seen, P0), TakeOver) == [("0-1", "False")]
    assert told(restarted(changed(seen, b, offset=501), P0), TakeOver) == [("0-2", "False")]


def test_without_a_majority_of_primaries_a_replica_takes_over_without_votes():
    two = observed(spec={"shards": 2})
    two = replace(two, servers={index: two.servers[index] for index in (P0, R0, P1, R1)})
    two = views(two, lambda _, each: each if each.id in map(node_id, (P0, R0, P1, R1)) else None)
    assert told(restarted(two, P0), TakeOver) == [("0-1", "False")]


def test_a_primary_that_is_only_silent_is_not_taken_over():
    failing = views(
        WHOLE, lambda _, each: replace(each, flags=each.flags | {"fail"}, link_up=False) if each.id == node_id(P1) else each
    )
    assert told(silent(failing, P1), TakeOver) == []


def test_nobody_takes_over_from_a_ghost_whose_slots_have_an_heir():
    assert told(restarted(promoted(WHOLE, R1, over=P1), P1), TakeOver) == []


# --- ghosts ---


def test_a_ghost_is_forgotten_by_all_who_know_it_once_nobody_follows_it():
    back = restarted(promoted(WHOLE, R1, over=P1), P1)
    assert told(back, Forget) == [(index, "id-1-0") for index in ("0-0", "0-1", "1-1", "2-0", "2-1")]
    assert told(restarted(WHOLE, P1), Forget) == []


def test_nobody_is_forgotten_while_somebody_is_silent():
    assert told(silent(restarted(promoted(WHOLE, R1, over=P1), P1), R2), Forget) == []


def test_a_lost_shard_is_told_as_long_as_its_ghost_is_known():
    alone = replace(restarted(WHOLE, P1), servers={**restarted(WHOLE, P1).servers})
    orphan = views(alone, lambda teller, each: replace(each, primary_id=None) if teller == R1 and each.myself else each)
    assert needs(orphan).lost == {1}
    assert needs(restarted(WHOLE, P1)).lost == frozenset()


def test_a_cluster_of_new_servers_that_was_formed_before_has_lost_its_data():
    assert needs(NEW, formed=True).lost == {0, 1, 2}
    assert needs(NEW, formed=False).lost == frozenset()
    assert needs(silent(NEW, P0), formed=True).lost == frozenset()


# --- strangers ---


def test_a_server_of_another_cluster_is_left_alone():
    stranger = changed(WHOLE, R1, members=(_me(WHOLE, R1), line("x"), line("y", slots="0-16383")))
    stranger = views(stranger, lambda teller, each: None if teller != R1 and each.id == node_id(R1) else each)
    found = needs(stranger)
    assert found.strangers == {R1: {"x", "y"}}
    assert [command for command in found.commands if command.index == R1 or command.command == Meet(pod_ip(R1))] == []


@settings(max_examples=60)
@given(pictures(), st.booleans())
def test_no_command_does_harm_whatever_is_seen(seen, formed):
    topology = Topology.of(seen)
    found = formation(topology, seen.pods, formed=formed)
    gifts = [command for command in found.commands if isinstance(command.command, AddSlots)]
    given_away = [command.command.slots for command in gifts]
    assert sum(map(len, given_away)) == len(Slots.union(given_away))
    for slots in given_away:
        assert not slots & Slots.union(topology.owners.values())
    if gifts and formed:
        assert topology.complete
    for command in found.commands:
        assert isinstance(command, Tell)
        assert command.index in topology.servers
        assert command.index not in found.strangers
        match command.command:
            case Forget(ghost):
                assert ghost in topology.gone()
                assert topology.complete
                assert all(server.me.primary_id != ghost for server in topology.servers.values())
            case Replicate(primary_id):
                assert not topology.servers[command.index].me.slots
                assert topology.ids[primary_id].shard == command.index.shard
            case TakeOver():
                assert topology.servers[command.index].me.primary_id in topology.gone()


def _me(seen, index):
    return seen.servers[index].me


def test_all_slots_are_given_when_everybody_is_there():
    parts = [command.command.slots for command in needs(NEW, formed=False).commands if isinstance(command.command, AddSlots)]
    assert Slots.union(parts) == ALL
