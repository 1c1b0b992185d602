import pytest
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.valkey.slots import ALL, NO_SLOTS, SlotRange, Slots, slot_of

slot = st.integers(0, 16383)
ranges = st.tuples(slot, slot).map(lambda pair: SlotRange(min(pair), max(pair)))
some_slots = st.lists(ranges, max_size=6).map(lambda parts: Slots(tuple(parts)))


def numbers(slots):
    return {number for part in slots.ranges for number in range(part.first, part.last + 1)}


def test_reads_and_writes_what_servers_write():
    assert str(Slots.parse("0-5460 5462 16383")) == "0-5460 5462 16383"


def test_sorts_and_joins_overlapping_and_touching_ranges():
    assert Slots.parse("8-9 0-3 4-5 2-4") == Slots((SlotRange(0, 5), SlotRange(8, 9)))


@pytest.mark.parametrize("text", ["x", "5-", "-5", "7-3", "0-16384", "1-2-3", "[1->-a]"])
def test_refuses_what_is_no_slot(text):
    with pytest.raises(ValueError, match=r"slot range|invalid literal"):
        Slots.parse(text)


def test_all_has_16384_slots_and_nothing_has_none():
    assert len(ALL) == 16384
    assert len(NO_SLOTS) == 0
    assert not NO_SLOTS
    assert str(NO_SLOTS) == ""


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (1, ["0-16383"]),
        (2, ["0-8191", "8192-16383"]),
        (3, ["0-5460", "5461-10921", "10922-16383"]),
        (5, ["0-3275", "3276-6552", "6553-9829", "9830-13106", "13107-16383"]),
    ],
)
def test_splits_all_slots_as_every_tool_does(parts, expected):
    assert [str(piece) for piece in ALL.split(parts)] == expected


def test_splits_into_more_parts_than_slots():
    assert [str(piece) for piece in Slots.parse("3 7").split(3)] == ["", "3", "7"]


def test_refuses_to_split_into_no_parts():
    with pytest.raises(ValueError, match="0 parts"):
        ALL.split(0)


def test_takes_the_lowest():
    assert str(Slots.parse("5-6 10-20").take(4)) == "5-6 10-11"
    assert Slots.parse("5-6").take(9) == Slots.parse("5-6")
    assert Slots.parse("5-6").take(0) == NO_SLOTS


def test_union_of_nothing_is_nothing():
    assert Slots.union([]) == NO_SLOTS


@given(some_slots, some_slots)
def test_behaves_like_a_set_of_numbers(one, other):
    assert numbers(one | other) == numbers(one) | numbers(other)
    assert numbers(one - other) == numbers(one) - numbers(other)
    assert numbers(one & other) == numbers(one) & numbers(other)
    assert numbers(Slots.union([one, other])) == numbers(one) | numbers(other)
    assert len(one) == len(numbers(one))


@given(some_slots, slot)
def test_knows_its_members(slots, number):
    assert (number in slots) == (number in numbers(slots))


@given(some_slots)
def test_survives_writing_and_reading(slots):
    assert Slots.parse(str(slots)) == slots


@given(some_slots)
def test_ranges_never_overlap_or_touch(slots):
    assert all(left.last + 1 < right.first for left, right in zip(slots.ranges, slots.ranges[1:], strict=False))


@given(some_slots, st.integers(1, 40))
def test_pieces_are_even_and_make_the_whole(slots, parts):
    pieces = slots.split(parts)
    assert len(pieces) == parts
    assert Slots.union(pieces) == slots
    assert sum(len(piece) for piece in pieces) == len(slots)
    assert max(len(piece) for piece in pieces) - min(len(piece) for piece in pieces) <= 1


@given(st.integers(1, 200))
def test_piece_i_of_all_starts_at_i_times_16384_by_n(parts):
    for index, piece in enumerate(ALL.split(parts)):
        assert piece == Slots((SlotRange(index * 16384 // parts, (index + 1) * 16384 // parts - 1),))


@pytest.mark.parametrize(("key", "slot"), [("foo", 12182), ("bar", 5061), ("somekey", 11058), ("", 0)])
def test_the_slot_of_a_key_is_what_servers_say_it_is(key, slot):
    """From CLUSTER KEYSLOT."""
    assert slot_of(key) == slot
