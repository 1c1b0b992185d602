import pytest
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.api import config
from valkey_operator.core.config import OWNED

OPERATORS = (
    "port", "bind", "tls-port", "tls-cert-file", "tls-auth-clients", "include", "aclfile", "user", "requirepass", "masterauth", "primaryauth",
    "primaryuser", "masteruser", "rename-command", "dir", "cluster-enabled", "cluster-config-file", "cluster-port", "cluster-announce-ip",
    "cluster-announce-hostname", "cluster-announce-client-port", "cluster-announce-client-tls-port", "cluster-announce-client-ipv4",
    "cluster-announce-human-nodename", "cluster-preferred-endpoint-type", "cluster-replica-validity-factor", "shutdown-on-sigterm",
    "replica-announce-ip", "replica-announce-port", "slave-announce-ip", "replicaof", "slaveof", "unixsocket", "unixsocketperm", "protected-mode",
    "daemonize", "logfile", "pidfile", "rdma-port",
)  # fmt: skip
USERS = (
    "maxmemory", "maxmemory-policy", "maxclients", "save", "appendonly", "timeout", "tcp-keepalive", "cluster-node-timeout", "repl-backlog-size",
    "cluster-require-full-coverage", "notify-keyspace-events", "client-output-buffer-limit", "io-threads", "loadmodule", "tracking-table-max-keys",
    "databases", "portal", "my-port", "replica-priority", "availability-zone",
)  # fmt: skip


@pytest.mark.parametrize("key", [*OPERATORS, *OWNED])
def test_what_the_operator_sets_is_refused_in_any_case(key):
    for written in (key, key.upper(), key.title()):
        ((field, words),) = config.mistakes({written: "1", "maxmemory": "1gb"})
        assert field == ""
        assert words.startswith(f'["{written}"]: set by the operator')


@pytest.mark.parametrize("key", USERS)
def test_what_users_may_set_is_accepted(key):
    assert config.mistakes({key: "1"}) == ()


@pytest.mark.parametrize("key", ["", "a b", "a\nb", "port\n", "-a", "a" * 129, "ü", '"port"', "a#"])
def test_what_is_no_name_is_refused(key):
    assert config.mistakes({key: "1"}) == (("", "a key is no setting's name: use letters, digits, '.', '_' and '-', at most 128"),)


@pytest.mark.parametrize("value", ["1\nport 7000", "1\r", "\x00", "\x7f", "\t"])
def test_control_characters_in_values_are_refused(value):
    assert config.mistakes({"maxmemory": value}) == (
        ("", '["maxmemory"]: the value has a line break or another control character: write one line'),
    )


def test_one_setting_in_two_cases_is_refused():
    assert config.mistakes({"maxmemory": "1", "MaxMemory": "2"}) == (
        ("", "a setting is there twice, in two cases of letters: keep one"),
    )


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=5))
def test_what_passes_can_smuggle_no_line_into_the_file(settings):
    if not config.mistakes(settings):
        text = "".join(f"{key} {value}\n" for key, value in settings.items())
        assert text.count("\n") == len(settings)
        assert "\r" not in text
        assert "\x00" not in text
