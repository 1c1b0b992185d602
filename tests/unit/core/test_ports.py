from hypothesis import given
from hypothesis import strategies as st

from unit.core.given import service
from valkey_operator.core import ports
from valkey_operator.core.observed import AllocatedPort


def test_a_new_port_has_the_preferred_number():
    assert ports.settled(None, "lb-0", preferred=6380, taken=set()) == ("lb-0", 6380)


def test_a_new_port_takes_the_lowest_free_number_above_a_taken_one():
    assert ports.settled(None, "lb-0", preferred=6380, taken={6380, 6381}) == ("lb-0-p6380", 6382)


def test_a_port_that_exists_stays():
    live = service("orders-0", AllocatedPort("lb-0", 6380, None))
    assert ports.settled(live, "lb-0", preferred=6380, taken=set()) == ("lb-0", 6380)


def test_another_number_stands_beside_the_old_one_under_a_name_of_its_own():
    live = service("orders-0", AllocatedPort("lb-0", 6380, None))
    assert ports.settled(live, "lb-0", preferred=7000, taken=set()) == ("lb-0-p7000", 7000)


def test_a_port_that_stood_aside_for_another_does_not_move_to_the_preferred_number():
    live = service("orders-0", AllocatedPort("lb-0-p6380", 6381, None))
    assert ports.settled(live, "lb-0", preferred=6380, taken={6380}) == ("lb-0-p6380", 6381)
    assert ports.settled(live, "lb-0", preferred=6380, taken=set()) == ("lb-0-p6380", 6381)


def test_a_port_whose_service_was_deleted_has_the_number_that_it_had():
    assert ports.settled(None, "lb-0", preferred=6380, taken=set(), told=6381) == ("lb-0-p6380", 6381)
    assert ports.settled(None, "lb-0", preferred=6380, taken=set(), told=6380) == ("lb-0", 6380)
    assert ports.settled(None, "lb-0", preferred=6380, taken={6381}, told=6381) == ("lb-0-p6380", 6382)


def test_a_port_with_a_name_of_its_own_is_found_again():
    live = service("orders-0", AllocatedPort("lb-0-p7000", 7000, None))
    assert ports.settled(live, "lb-0", preferred=7000, taken=set()) == ("lb-0-p7000", 7000)


def test_a_name_tells_of_which_kind_a_port_is():
    names = ["np-0", "np-bootstrap", "lb-0", "lb-2-1", "lb-0-p7000", "sni-shard", "client", "np-"]
    assert [ports.kind_of(name) for name in names] == ["np", "np", "lb", "lb", "lb", "sni", "", ""]


@given(preferred=st.integers(1, 60000), taken=st.sets(st.integers(1, 60010), max_size=20))
def test_a_settled_port_is_settled(preferred, taken):
    name, number = ports.settled(None, "lb-0", preferred=preferred, taken=taken)
    live = service("orders-0", AllocatedPort(name, number, None))
    assert ports.settled(live, "lb-0", preferred=preferred, taken=taken) == (name, number)


def test_ports_of_somebody_else_are_told_from_ours():
    np = AllocatedPort("np-0", 31200, 31200)
    live = service("orders-0", np, AllocatedPort("mine", 7777, None))
    assert ports.without_others(live).ports == (np,)
    assert ports.taken_by_others(live) == {7777}
    assert ports.taken_by_others(None) == set()


def test_past_the_last_number_the_highest_free_one_below_is_taken():
    assert ports.free(65534, {65534}) == 65535
    assert ports.free(65534, {65534, 65535}) == 65533
    assert ports.free(65536, {65535}) == 65534
