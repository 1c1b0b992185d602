import pytest

from valkey_operator.outside.seen import Told
from valkey_operator.outside.told import by_nodes, by_slots, elsewhere, key_in, key_slot, moved, myself, shards
from valkey_operator.valkey.errors import Malformed
from valkey_operator.valkey.slots import SlotRange
from valkey_operator.valkey.topology import members, served

A, B, C = "a" * 40, "b" * 40, "c" * 40
SLOTS = [
    [0, 5460, ["h-a", 1, A, []], ["h-b", 2, B, []]],
    [5461, 5461, ["h-c", 3, C, []]],
    [5462, 16383, [None, 3, C, []]],
]
NODES = f"""\
{A} 10.0.0.1:1@16379,h-a myself,master - 0 0 1 connected 0-5460
{B} 10.0.0.2:2@16379 slave {A} 0 0 1 connected
{C} 10.0.0.3:3@16379,h-c master,fail - 0 0 2 connected 5461-16383
"""


def test_slots_tell_each_pair_once():
    assert list(by_slots(served(SLOTS))) == [
        Told("CLUSTER SLOTS", A, "h-a", 1),
        Told("CLUSTER SLOTS", B, "h-b", 2),
        Told("CLUSTER SLOTS", C, "h-c", 3),
        Told("CLUSTER SLOTS", C, "", 3),
    ]


def test_nodes_tell_names_before_addresses_and_nothing_of_who_is_down():
    told = list(by_nodes(members(NODES)))
    assert told == [Told("CLUSTER NODES", A, "h-a", 1), Told("CLUSTER NODES", B, "10.0.0.2", 2)]
    assert myself(members(NODES)) == A


def test_shards_tell_the_preferred_endpoint_and_the_port_for_tls_where_there_is_one():
    nodes = [
        ["id", A, "port", 1, "tls-port", 7, "ip", "10.0.0.1", "endpoint", "h-a", "role", "master", "health", "online"],
        ["id", B, "port", 2, "ip", "10.0.0.2", "endpoint", "?", "role", "replica", "health", "loading"],
        ["id", C, "port", 3, "ip", "10.0.0.3", "endpoint", "h-c", "role", "replica", "health", "fail"],
    ]
    assert shards([["slots", [0, 16383], "nodes", nodes]]) == (
        Told("CLUSTER SHARDS", A, "h-a", 7),
        Told("CLUSTER SHARDS", B, "?", 2),
    )


@pytest.mark.parametrize("reply", ["text", [1], [["nodes", 5]], [["nodes", [["id", A]]]], [["nodes", [["port", 1]]]]])
def test_what_is_no_reply_to_shards_is_malformed(reply):
    with pytest.raises(Malformed):
        shards(reply)


def test_servers_together_lead_to_every_shard():
    entries = served(SLOTS)
    assert elsewhere(entries, A).primary.id == C
    assert elsewhere(entries, B).primary.id == C
    assert elsewhere(entries, C).primary.id == A
    assert elsewhere(entries[:1], A) is None
    assert elsewhere((), "") is None


def test_the_widest_range_of_a_shard_is_taken():
    assert elsewhere(served(SLOTS), A).slots == SlotRange(5462, 16383)


@pytest.mark.parametrize(("key", "slot"), [("123456789", 12739), ("foo", 12182), ("bar", 5061)])
def test_a_key_lies_where_servers_say(key, slot):
    """What `CLUSTER KEYSLOT` answers; the first is the check value of the specification."""
    assert key_slot(key) == slot


@pytest.mark.parametrize("slots", [SlotRange(0, 16383), SlotRange(7, 7), SlotRange(16383, 16383)])
def test_a_key_is_found_for_any_slots(slots):
    key, slot = key_in(slots)
    assert slots.first <= slot <= slots.last
    assert key_slot(key) == slot


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("449 n0.example.com:6380", (449, "n0.example.com", 6380)),
        ("449 :6379", (449, "", 6379)),
        ("449 ?:6379", (449, "?", 6379)),
        ("449 2001:db8::1:6379", (449, "2001:db8::1", 6379)),
        ("nonsense", None),
        ("449 host:port", None),
    ],
)
def test_a_redirect_is_read_whatever_its_host(text, meant):
    assert moved(text) == meant
