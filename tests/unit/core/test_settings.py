import pytest
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.core.certificates import Files
from valkey_operator.core.observed import Announcement
from valkey_operator.core.settings import ASKED, Phase, among_servers, announce_file, announcing, carries, drift, running

CALM = Phase(forming=False, gossiping=False, syncing=False)
OUTSIDE = Announcement("192.0.2.11", 31200, client_ipv4="192.0.2.11")


def test_at_rest_a_server_has_what_the_user_asked_for():
    assert running({}, CALM, version=(9, 1, 2)) == {
        "cluster-preferred-endpoint-type": "hostname",
        "cluster-node-timeout": "2000",
        "cluster-ping-interval": "0",
        "repl-diskless-sync-delay": "5",
        "repl-ping-replica-period": "10",
        "shutdown-on-sigterm": "failover",
    }
    asked = {"Cluster-Node-Timeout": "9000", "repl-diskless-sync-delay": "1", "cluster-ping-interval": "300"}
    found = running(asked, CALM, version=(9, 1, 2))
    assert (found["cluster-node-timeout"], found["repl-diskless-sync-delay"], found["cluster-ping-interval"]) == (
        "9000",
        "1",
        "300",
    )


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        (Phase(forming=True, gossiping=False, syncing=False), ("500", "100", "0", "1")),
        (Phase(forming=False, gossiping=True, syncing=False), ("2000", "100", "5", "10")),
        (Phase(forming=False, gossiping=False, syncing=True), ("2000", "0", "0", "1")),
    ],
)
def test_haste_is_for_a_phase_alone(phase, expected):
    found = running({}, phase, version=(9, 1, 2))
    keys = ("cluster-node-timeout", "cluster-ping-interval", "repl-diskless-sync-delay", "repl-ping-replica-period")
    assert tuple(found[key] for key in keys) == expected


def test_an_old_server_is_not_asked_for_what_it_cannot_do():
    assert "shutdown-on-sigterm" not in running({}, CALM, version=(8, 1, 8))
    assert "cluster-announce-client-port" not in announcing(OUTSIDE, version=(8, 1, 8), tls=False)


def test_host_address_and_port_travel_in_one_call():
    assert announcing(OUTSIDE, version=(9, 0, 0), tls=False) == {
        "cluster-announce-hostname": "192.0.2.11",
        "cluster-announce-client-ipv4": "192.0.2.11",
        "cluster-announce-client-ipv6": "",
        "cluster-announce-client-port": "31200",
    }
    assert announcing(Announcement("10.1.0.7", 0), version=(9, 0, 0), tls=False) == {
        "cluster-announce-hostname": "10.1.0.7",
        "cluster-announce-client-ipv4": "",
        "cluster-announce-client-ipv6": "",
        "cluster-announce-client-port": "0",
    }


def test_with_tls_the_port_is_another_setting():
    assert announcing(OUTSIDE, version=(9, 0, 0), tls=True) == {
        "cluster-announce-hostname": "192.0.2.11",
        "cluster-announce-client-ipv4": "192.0.2.11",
        "cluster-announce-client-ipv6": "",
        "cluster-announce-client-tls-port": "31200",
    }
    assert 'cluster-announce-client-tls-port "31200"\n' in announce_file(OUTSIDE, version=(9, 1, 2), tls=True)
    assert "port" not in announce_file(OUTSIDE, version=(8, 1, 8), tls=True)


def test_below_8_0_only_the_host_can_be_announced():
    assert announcing(OUTSIDE, version=(7, 2, 11), tls=False) == {"cluster-announce-hostname": "192.0.2.11"}
    assert announce_file(OUTSIDE, version=(7, 2, 11), tls=True) == 'cluster-announce-hostname "192.0.2.11"\n'
    assert "cluster-announce-client-ipv4" in announcing(OUTSIDE, version=(8, 0, 0), tls=False)


def test_below_9_0_only_the_servers_own_port_can_be_announced():
    assert carries(OUTSIDE, version=(9, 0, 0))
    assert not carries(OUTSIDE, version=(8, 1, 8))
    assert carries(Announcement("db.example.com", 6379), version=(8, 1, 8))
    assert carries(Announcement("10.1.0.7", 0), version=(8, 1, 8))


def test_bus_and_replication_are_never_moved():
    keys = {key for tls in (False, True) for key in announcing(OUTSIDE, version=(9, 1, 2), tls=tls)} | {
        *running({}, CALM, version=(9, 1, 2))
    }
    assert not keys & {"cluster-announce-ip", "cluster-announce-port", "cluster-announce-tls-port", "cluster-announce-bus-port"}


def test_the_file_says_the_same_as_the_call():
    assert announce_file(OUTSIDE, version=(9, 1, 2), tls=False) == (
        'cluster-announce-hostname "192.0.2.11"\n'
        'cluster-announce-client-ipv4 "192.0.2.11"\n'
        'cluster-announce-client-ipv6 ""\n'
        'cluster-announce-client-port "31200"\n'
    )
    assert "client-port" not in announce_file(OUTSIDE, version=(8, 1, 8), tls=False)
    assert announce_file(None, version=(9, 1, 2), tls=False) == ""


@given(
    st.builds(Announcement, st.from_regex(r"[a-z0-9.-]{1,30}", fullmatch=True), st.integers(1, 65535)),
    st.sampled_from([(8, 1, 8), (9, 0, 0)]),
)
def test_every_line_of_the_file_is_a_directive_with_one_quoted_value(announcement, version):
    text = announce_file(announcement, version=version, tls=False)
    lines = [line.split(" ", 1) for line in text.splitlines()]
    assert {key: value.strip('"') for key, value in lines} == announcing(announcement, version=version, tls=False)
    assert text.endswith("\n")


def test_every_value_that_is_wanted_is_also_asked_for():
    announced = (announcing(OUTSIDE, version=(9, 1, 2), tls=tls) for tls in (False, True))
    wanted = {*running({}, CALM, version=(9, 1, 2)), *Files("", "", "").settings(), *among_servers("10.0.0.1")}.union(*announced)
    assert wanted == set(ASKED)


def test_drift_is_what_differs_or_is_missing():
    assert drift({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "x", "d": "4"}) == {"b": "2", "c": "3"}
    assert drift({}, {"a": "1"}) == {}
    assert drift({"a": "05", "b": "5"}, {"a": "5", "b": "05"}) == {}
    assert drift({"a": "5"}, {"a": "5s"}) == {"a": "5"}
