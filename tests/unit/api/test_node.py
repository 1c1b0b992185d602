import pytest

from valkey_operator.api.model import SpecInvalid
from valkey_operator.api.node import Announce, ValkeyNode


def stored(spec):
    return {"metadata": {"name": "orders-0-1", "namespace": "shop", "ownerReferences": []}, "spec": spec}


def test_a_node_announces_its_own_address_unless_told():
    node = ValkeyNode.parse(stored({"cluster": "orders", "shard": 0, "node": 1}))
    assert (node.spec.cluster, node.spec.shard, node.spec.node) == ("orders", 0, 1)
    assert node.spec.announce is None


def test_a_node_is_told_a_pair_and_the_address_behind_it():
    announce = {"host": "192.0.2.1", "port": 31200, "clientIPv4": "192.0.2.1", "clientIPv6": "2001:db8::1"}
    node = ValkeyNode.parse(stored({"cluster": "orders", "shard": 0, "node": 1, "announce": announce}))
    assert node.spec.announce == Announce(host="192.0.2.1", port=31200, client_ipv4="192.0.2.1", client_ipv6="2001:db8::1")
    assert node.spec.to_dict() == {"cluster": "orders", "shard": 0, "node": 1, "announce": announce}


def test_a_record_that_makes_no_sense_is_told():
    with pytest.raises(SpecInvalid) as caught:
        ValkeyNode.parse(stored({"cluster": "orders", "shard": -1, "announce": {"host": "a", "port": 0}}))
    assert set(caught.value.mistakes) == {
        "spec.shard: Input should be greater than or equal to 0",
        "spec.node: Field required",
        "spec.announce.port: Input should be greater than or equal to 1",
    }
