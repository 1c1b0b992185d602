from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from golden.orders import orders
from unit.core.edits import changed, knowing, line, promoted, restarted, silent, views
from unit.core.given import NODES, node_id, observed
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.topology import Topology
from valkey_operator.valkey.slots import ALL, NO_SLOTS, Slots

P0, R0, P1, R1, P2, R2 = NODES
WHOLE = observed()


def topology(seen=WHOLE):
    return Topology.of(seen)


def test_a_whole_cluster_owns_every_slot_and_has_nobody_gone():
    found = topology()
    assert found.complete
    assert {owner: str(slots) for owner, slots in found.owners.items()} == {
        "id-0-0": "0-5460",
        "id-1-0": "5461-10921",
        "id-2-0": "10922-16383",
    }
    assert found.unowned == NO_SLOTS
    assert found.homeless_shards() == ()
    assert found.gone() == frozenset()
    assert [found.primary(shard) for shard in range(3)] == [P0, P1, P2]


def test_a_slot_is_owned_when_anybody_says_so():
    only_r2_knows = views(WHOLE, lambda teller, each: each if teller == R2 else replace(each, slots=NO_SLOTS))
    assert topology(only_r2_knows).unowned == NO_SLOTS
    nobody_knows = views(WHOLE, lambda _, each: replace(each, slots=NO_SLOTS) if each.id == node_id(P1) else each)
    assert topology(nobody_knows).unowned == Slots.parse("5461-10921")
    assert topology(nobody_knows).homeless_shards() == (1,)


def test_of_two_that_claim_to_be_the_primary_the_newest_configuration_is_right():
    both = promoted(WHOLE, R1, over=P1, epoch=7)
    both = views(
        both, lambda teller, each: replace(each, slots=Slots.parse("5461-10921")) if teller == P1 and each.myself else each
    )
    assert topology(both).primary(1) == R1


def test_a_server_without_slots_is_no_primary():
    empty = views(WHOLE, lambda _, each: replace(each, slots=NO_SLOTS))
    assert topology(empty).primary(0) is None


def test_a_server_that_came_back_under_another_id_leaves_a_ghost_even_while_others_are_silent():
    found = topology(silent(restarted(WHOLE, P1), R2))
    assert found.gone() == {"id-1-0"}


def test_a_replaced_server_is_gone_even_if_somebody_still_holds_it_for_alive():
    fresh = restarted(WHOLE, P1)
    still = views(fresh, lambda _, each: replace(each, flags=frozenset({"master"}), link_up=True) if each.id == "id-1-0" else each)
    assert topology(still).gone() == {"id-1-0"}


def test_an_id_of_nobody_is_gone_once_everybody_answered():
    ghost = knowing(WHOLE, line("ghost", "master", "fail", linked=False))
    assert topology(ghost).gone() == {"ghost"}
    assert topology(silent(ghost, R0)).gone() == frozenset()


def test_somebody_whom_anybody_is_connected_to_is_a_stranger_and_no_ghost():
    mixed = knowing(knowing(WHOLE, line("x", "master", "fail", linked=False)), line("x", "master"), tellers=(P2,))
    assert topology(mixed).gone() == frozenset()


def test_a_handshake_is_no_id():
    assert topology(knowing(WHOLE, line("made-up", "handshake", linked=False))).gone() == frozenset()


def test_a_suspected_node_that_answers_the_operator_is_not_gone():
    suspected = views(
        WHOLE, lambda _, each: replace(each, flags=each.flags | {"fail"}, link_up=False) if each.id == node_id(P0) else each
    )
    assert topology(suspected).gone() == frozenset()


def test_the_shard_of_a_ghost_is_known_from_its_record():
    found = topology(restarted(WHOLE, P2))
    assert found.shard_of("id-2-0") == 2
    assert found.shard_of("nobody") is None


def test_a_server_among_others_is_a_stranger():
    alone = changed(WHOLE, R1, members=(replace(_me(WHOLE, R1)), line("x"), line("y", "slave", primary_id="x")))
    assert topology(alone).strangers(R1) == {"x", "y"}


def test_a_server_that_knows_nobody_or_only_the_dead_is_no_stranger():
    empty = changed(WHOLE, R1, members=(_me(WHOLE, R1),))
    assert topology(empty).strangers(R1) == frozenset()
    haunted = changed(WHOLE, R1, members=(_me(WHOLE, R1), line("x", "master", "fail", linked=False)))
    assert topology(haunted).strangers(R1) == frozenset()


def test_a_server_that_knows_one_of_us_is_one_of_us():
    mixed = knowing(WHOLE, line("x"), tellers=(R1,))
    assert topology(mixed).strangers(R1) == frozenset()


def _me(seen, index):
    return seen.servers[index].me


@st.composite
def pictures(draw):
    """Some servers answer, under their old id or a new one, and see each other and others in any state."""
    ids = [node_id(index) for index in NODES] + ["new-0", "new-1", "x", "y"]
    seen = observed()
    for number, index in enumerate(draw(st.lists(st.sampled_from(NODES), unique=True, max_size=2))):
        seen = restarted(seen, index, new_id=f"new-{number}")
    for index in NODES:
        others = [
            line(
                other,
                *draw(
                    st.sampled_from(
                        [("master",), ("slave",), ("master", "fail"), ("master", "fail?"), ("slave", "noaddr"), ("handshake",)]
                    )
                ),
                slots=draw(st.sampled_from(["", "0-5460", "5461-10921", "3"])),
                linked=draw(st.booleans()),
            )
            for other in draw(st.lists(st.sampled_from(ids), unique=True, max_size=4))
            if other != seen.servers[index].id
        ]
        seen = changed(seen, index, members=(_me(seen, index), *others))
    return silent(seen, *draw(st.lists(st.sampled_from(NODES), unique=True, max_size=3)))


@settings(max_examples=50)
@given(pictures())
def test_nobody_who_is_alive_is_ever_gone(seen):
    found = topology(seen)
    gone = found.gone()
    answering = {server.id for server in seen.reachable().values()}
    replaced = {
        seen.records[index].status.node_id
        for index, server in seen.reachable().items()
        if server.id != seen.records[index].status.node_id
    }
    seen_alive = {
        each.id
        for server in seen.reachable().values()
        for each in server.members
        if not each.myself and each.link_up and not each.flags & {"fail", "fail?", "noaddr"}
    }
    assert not gone & answering
    assert not gone & (seen_alive - replaced)
    if not found.complete:
        assert gone <= replaced


@settings(max_examples=50)
@given(pictures())
def test_unowned_slots_are_those_in_no_view(seen):
    claimed = Slots.union(each.slots for server in seen.reachable().values() for each in server.members)
    assert topology(seen).unowned | claimed == ALL
    assert not topology(seen).unowned & claimed


def test_the_nodes_that_are_wanted_follow_from_the_spec():
    assert topology(replace(WHOLE, cluster=orders(shards=1, replicas=2))).wanted == (
        NodeIndex(0, 0),
        NodeIndex(0, 1),
        NodeIndex(0, 2),
    )
