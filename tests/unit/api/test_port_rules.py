from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.model import SpecInvalid


def mistakes(shards, replicas, **node_port):
    spec = {"shards": shards, "replicas": replicas, "externalAccess": {"enabled": True, "type": "NodePort", "nodePort": node_port}}
    try:
        ValkeyClusterSpec.read(spec, path="spec")
    except SpecInvalid as invalid:
        return {mistake.split(":", 1)[0].rsplit(".", 1)[1] for mistake in invalid.mistakes}
    return set()


@given(
    shards=st.integers(1, 12),
    replicas=st.integers(0, 3),
    start=st.integers(65400, 65535),
    stride=st.integers(1, 40),
    bootstrap=st.integers(65400, 65535),
)
def test_no_two_ports_that_are_asked_for_are_one_and_none_is_out_of_range(shards, replicas, start, stride, bootstrap):
    asked = [start + node * stride + shard for node, shard in product(range(replicas + 1), range(shards))]
    expected = set()
    if max(asked) > 65535:
        expected.add("startPort")
    if len(set(asked)) < len(asked):
        expected.add("stride")
    found = mistakes(shards, replicas, startPort=start, stride=stride, bootstrapPort=bootstrap)
    assert found - {"bootstrapPort"} == expected
    if "stride" not in expected:
        assert ("bootstrapPort" in found) == (bootstrap in asked)


def test_without_a_start_nothing_collides():
    assert mistakes(300, 1) == set()
    assert mistakes(300, 1, bootstrapPort=31200) == set()


def test_the_default_stride_is_counted_too():
    assert mistakes(101, 1, startPort=31200) == {"stride"}
    assert mistakes(100, 1, startPort=31200) == set()
    assert mistakes(1000, 0, startPort=31200) == set()
