from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.valkey.errors import Malformed
from valkey_operator.valkey.slots import SlotRange, Slots
from valkey_operator.valkey.topology import Endpoint, Member, Served, members, served

N0 = "a2b3ff78d56eb01e674df1fb24982d3e00040412"
N1 = "c23cafe7bfc1240dc5ae6c56693a8d415b6962f6"
N2 = "56da51ba0f76527eea3f70fe9150adee43c51f4a"
N3 = "819eb875cf7795fbfd38c8fb0692d9f846d745b0"
N5 = "8812d71a52bd69bffe7f16fae4053394e2687e94"


def test_reads_a_formed_cluster_of_every_version(captured, version):
    nodes = members(captured(version, "nodes-formed"))
    assert len({node.id for node in nodes}) == 6
    assert [node.primary for node in nodes].count(True) == 3
    assert sorted(str(node.slots) for node in nodes) == ["", "", "", "0-5460", "10922-16383", "5461-10921"]
    assert sorted(node.hostname for node in nodes) == ["", *(f"n{index}.example.com" for index in range(5))]
    assert all(node.link_up and not node.failed and not node.suspected and not node.handshake for node in nodes)
    assert [node.slots for node in nodes if node.myself] == [Slots.parse("0-5460")]
    assert {node.primary_id for node in nodes if not node.primary} == {node.id for node in nodes if node.primary}
    assert all(node.bus_port == node.port + 10000 and node.ip == "127.0.0.1" for node in nodes)


def test_reads_every_field():
    line = f"{N0} 10.1.2.3:31000@16379,n0.example.com myself,master - 0 1796174212275 7 connected 1-4 8-5460\n"
    assert members(line) == (
        Member(
            id="a2b3ff78d56eb01e674df1fb24982d3e00040412",
            ip="10.1.2.3",
            port=31000,
            bus_port=16379,
            hostname="n0.example.com",
            flags=frozenset({"myself", "master"}),
            primary_id=None,
            config_epoch=7,
            link_up=True,
            slots=Slots((SlotRange(1, 4), SlotRange(8, 5460))),
        ),
    )


def test_a_fresh_server_knows_no_address_of_its_own(captured, version):
    (me,) = members(captured(version, "nodes-fresh"))
    assert (me.ip, me.hostname, me.myself, me.slots) == ("", "n0.example.com", True, Slots())


def test_a_node_in_handshake_is_neither_primary_nor_replica(captured, version):
    nodes = members(captured(version, "nodes-handshake"))
    met = [node for node in nodes if node.handshake]
    assert len(met) == 5
    assert not any(node.primary or node.primary_id or node.link_up for node in met)


def test_a_replica_knows_itself_as_one(captured, version):
    (me,) = (node for node in members(captured(version, "nodes-by-replica")) if node.myself)
    assert me.flags == {"myself", "slave"}
    assert me.primary_id in {node.id for node in members(captured(version, "nodes-by-replica")) if node.primary}


def test_moving_slots_are_told_with_the_other_node(captured):
    (source,) = (node for node in members(captured("9.1", "nodes-migrating")) if node.myself)
    (target,) = (node for node in members(captured("9.1", "nodes-importing")) if node.myself)
    assert (source.slots, source.migrating, source.importing) == (Slots.parse("0-5460"), ((100, N1),), ())
    assert (target.slots, target.migrating, target.importing) == (Slots.parse("5461-10921"), (), ((100, N0),))


@pytest.mark.parametrize("version", ["9.0", "9.1"])
def test_shows_the_announced_address_but_the_true_bus_port(captured, version):
    nodes = members(captured(version, "nodes-announced"))
    assert {(node.ip, node.port) for node in nodes} == {("10.1.2.3", 31000)}
    assert len({node.bus_port for node in nodes}) == 6


def test_tells_suspected_from_failed(captured):
    (suspected,) = (node for node in members(captured("9.1", "nodes-suspected")) if node.suspected)
    (failed,) = (node for node in members(captured("9.1", "nodes-failed")) if node.failed)
    assert suspected.id == failed.id == N2
    assert (suspected.failed, failed.suspected) == (False, False)
    assert (suspected.link_up, failed.link_up) == (False, False)
    assert (str(suspected.slots), str(failed.slots)) == ("0 5-7 10922-16383", "")


@pytest.mark.parametrize("version", ["8.1", "9.1"])
def test_a_replaced_server_stays_without_address(captured, version):
    (old,) = (node for node in members(captured(version, "nodes-replaced")) if "noaddr" in node.flags)
    assert (old.ip, old.port, old.bus_port, old.hostname) == ("", 0, 0, "")
    assert old.failed
    assert old.primary
    assert old.slots == Slots()


@pytest.mark.parametrize("version", ["8.1", "9.1"])
def test_ipv6_addresses_keep_their_colons(captured, version):
    assert {node.ip for node in members(captured(version, "nodes-ipv6"))} == {"::1"}


def test_reads_the_longer_lines_of_a_nodes_file(captured, version):
    nodes = members(captured(version, "nodes-conf"))
    assert len(nodes) == 6
    assert sorted(node.hostname for node in nodes) == ["", *(f"n{index}.example.com" for index in range(5))]
    assert all(node.port > 21000 for node in nodes)


@pytest.mark.parametrize(
    "reply",
    [
        "nonsense",
        f"{N0} 10.0.0.1:x@16379 master - 0 0 0 connected",
        f"{N0} 10.0.0.1:6379@16379 master - 0 0 0 connected 99999",
        f"{N0} 10.0.0.1:6379 master - 0 0 0 connected",
        f"{N0} 10.0.0.1:6379@16379 master - 0 0 x connected",
        None,
        7,
    ],
)
def test_says_so_when_it_is_no_list_of_nodes(reply):
    with pytest.raises(Malformed):
        members(reply)


@given(st.text())
def test_any_text_is_either_read_or_malformed(text):
    with suppress(Malformed):
        members(text)


def test_reads_what_clients_are_told_by_every_version(captured, version):
    entries = served(captured(version, "slots-formed"))
    assert [str(entry.slots) for entry in entries] == ["0-5460", "5461-10921", "10922-16383"]


def test_tells_host_port_and_id_of_primary_and_replica(captured):
    assert served(captured("9.1", "slots-announced"))[0] == Served(
        SlotRange(0, 0), Endpoint("10.1.2.3", 31000, N2), (Endpoint("10.1.2.3", 31000, N5),)
    )


def test_reads_a_host_that_is_a_name_an_ipv6_address_unknown_or_absent():
    reply = [
        [0, 1, ["n0.example.com", 6380, N0, ["ip", "10.0.0.1"]], ["fd00::1", 6379, N1, []], ["?", 6379, N2], [None, 6379, N3, []]]
    ]
    (entry,) = served(reply)
    assert entry.primary == Endpoint("n0.example.com", 6380, N0)
    assert [replica.host for replica in entry.replicas] == ["fd00::1", "?", None]


def test_a_server_without_slots_tells_clients_nothing():
    assert served([]) == ()


@pytest.mark.parametrize(
    "reply", [None, "x", [1], [[0, 1]], [[0, 1, ["h", "p", "i"]]], [["a", 1, ["h", 1, "i"]]], [[5, 1, ["h", 1, "i"]]]]
)
def test_says_so_when_it_is_no_list_of_slots(reply):
    with pytest.raises(Malformed):
        served(reply)
