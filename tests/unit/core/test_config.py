import re

from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.api import config as api
from valkey_operator.core.config import OWNED, digest, server_config


def test_the_whole_file():
    assert server_config({"maxmemory-policy": "allkeys-lru", "Cluster-Node-Timeout": "5000"}) == (
        'save ""\n'
        "cluster-node-timeout 5000\n"
        "maxmemory-policy allkeys-lru\n"
        "port 6379\n"
        "cluster-port 16379\n"
        "protected-mode no\n"
        "dir /data\n"
        "cluster-enabled yes\n"
        "cluster-config-file /data/nodes.conf\n"
        "cluster-allow-replica-migration no\n"
        "cluster-replica-validity-factor 0\n"
        "cluster-preferred-endpoint-type hostname\n"
        "aclfile /etc/valkey/acl/users.acl\n"
        "include /etc/valkey/acl/replication.conf\n"
    )


def test_an_empty_value_is_written_as_two_quotes():
    assert 'save ""\n' in server_config({"save": ""})
    assert 'masteruser ""' not in server_config({})


def test_a_default_gives_way_to_the_user():
    text = server_config({"SAVE": "900 1"})
    assert [line for line in text.splitlines() if line.startswith("save")] == ["save 900 1"]


def test_keys_that_the_operator_owns_are_refused_to_users():
    assert [key for key in OWNED if not any(rule.of({key: "x"}) for rule in api.RESERVED)] == []


@given(
    st.dictionaries(
        st.from_regex(re.compile(r"[a-z][a-z-]{0,20}"), fullmatch=True),
        st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=9),
        max_size=6,
    )
)
def test_what_counts_in_the_end_are_the_operators_lines(config):
    lines = server_config(config).splitlines()
    last = {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in lines}
    assert {key: last[key] for key in OWNED} == dict(OWNED)


def test_the_order_in_which_a_user_writes_is_no_change():
    assert server_config({"a": "1", "b": "2"}) == server_config({"b": "2", "a": "1"})


def test_a_digest_tells_texts_apart_even_where_they_join():
    assert digest("ab", "c") != digest("a", "bc")
    assert re.fullmatch("[0-9a-f]{16}", digest("a", "b"))
    assert digest("a", "b") == digest("a", "b")
