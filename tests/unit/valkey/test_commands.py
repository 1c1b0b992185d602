import pytest

from valkey_operator.valkey import commands
from valkey_operator.valkey.slots import Slots


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (commands.MYID, ("CLUSTER", "MYID")),
        (commands.SERVER_INFO, ("INFO", "server", "replication", "persistence")),
        (commands.config_get("port", "dir"), ("CONFIG", "GET", "port", "dir")),
        (commands.config_set({"a": "1", "b": ""}), ("CONFIG", "SET", "a", "1", "b", "")),
        (commands.meet("10.0.0.1", port=6379, bus_port=16379), ("CLUSTER", "MEET", "10.0.0.1", 6379, 16379)),
        (commands.add_slots(Slots.parse("0-5460 5462")), ("CLUSTER", "ADDSLOTSRANGE", 0, 5460, 5462, 5462)),
        (commands.BUMP_EPOCH, ("CLUSTER", "BUMPEPOCH")),
        (commands.set_config_epoch(3), ("CLUSTER", "SET-CONFIG-EPOCH", 3)),
        (commands.replicate("ab"), ("CLUSTER", "REPLICATE", "ab")),
        (commands.forget("ab"), ("CLUSTER", "FORGET", "ab")),
        (commands.failover(), ("CLUSTER", "FAILOVER")),
        (commands.failover("TAKEOVER"), ("CLUSTER", "FAILOVER", "TAKEOVER")),
        (commands.reset(hard=True), ("CLUSTER", "RESET", "HARD")),
        (commands.reset(hard=False), ("CLUSTER", "RESET", "SOFT")),
        (commands.kill_clients("normal"), ("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")),
        (commands.ACL_LOAD, ("ACL", "LOAD")),
    ],
)
def test_sends_these_words(command, words):
    assert command.words == words


def test_shows_no_argument_because_it_may_be_a_secret():
    assert repr(commands.config_set({"primaryauth": "hunter2"})) == "Command(name='CONFIG SET')"


def test_reads_the_number_of_closed_connections():
    assert commands.kill_clients("pubsub").parse(3) == 3


def test_reads_an_ok_as_nothing():
    assert commands.ACL_LOAD.parse("OK") is None
