import pytest

from valkey_operator.valkey.errors import Malformed
from valkey_operator.valkey.reply import done, fields, number, pairs, text


def test_reads_the_options_of_every_version(captured, version):
    options = pairs(captured(version, "config"))
    assert (options["cluster-node-timeout"], options["cluster-ping-interval"]) == ("500", "100")
    assert options["shutdown-on-sigterm"] == "default"
    assert "nosuch" not in options


def test_values_may_hold_colons():
    assert fields("# Server\r\nlistener0:name=tcp,bind=::1,port=1\r\n\r\nempty:\r\n") == {
        "listener0": "name=tcp,bind=::1,port=1",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("read", "reply"),
    [
        (text, 1),
        (text, None),
        (number, "1"),
        (done, "QUEUED"),
        (done, None),
        (pairs, ["a"]),
        (pairs, "a"),
        (pairs, ["a", 1]),
        (fields, []),
    ],
)
def test_says_so_when_the_shape_is_another(read, reply):
    with pytest.raises(Malformed):
        read(reply)
