from dataclasses import replace

import pytest

from unit.core.edits import configured, knowing, line, silent, views
from unit.core.given import NODES, NOW, node_id, observed
from unit.core.test_access_status import DONE
from valkey_operator.core.rest import rest_seconds, undisturbed
from valkey_operator.valkey.slots import NO_SLOTS

P0, R0, P1, R1, P2, R2 = NODES


@pytest.mark.parametrize("index", NODES)
@pytest.mark.parametrize("seen", [observed(), DONE])
def test_one_view_tells_that_nothing_happened(seen, index):
    only = replace(seen, servers={index: seen.servers[index]})
    assert undisturbed(only, index, now=NOW)


def edited(edit):
    return views(DONE, lambda at, each: edit(each) if at == P0 else each)


DISTURBED = {
    "its server is silent": silent(DONE, P0),
    "its server was not asked": replace(DONE, servers={}),
    "its state is not ok": replace(DONE, servers={P0: replace(DONE.servers[P0], state_ok=False)}),
    "its link is down": replace(DONE, servers={P0: replace(DONE.servers[P0], link_up=False)}),
    "a value has drifted": configured(DONE, P0, cluster_node_timeout="1"),
    "an announced address has drifted": configured(DONE, P0, cluster_announce_client_ipv4=""),
    "somebody new is there": knowing(DONE, line("x")),
    "somebody is missing": edited(lambda each: None if each.id == node_id(R2) else each),
    "somebody failed": edited(lambda each: replace(each, flags=each.flags | {"fail"}) if each.id == node_id(R2) else each),
    "somebody is suspected": edited(lambda each: replace(each, flags=each.flags | {"fail?"}) if each.id == node_id(R2) else each),
    "a slot has no owner": edited(lambda each: replace(each, slots=NO_SLOTS) if each.id == node_id(P1) else each),
    "somebody tells another host": edited(lambda each: replace(each, hostname="x") if each.id == node_id(R2) else each),
    "somebody tells another port": edited(lambda each: replace(each, port=6379) if each.id == node_id(R2) else each),
    "there was a failover": edited(
        lambda each: replace(each, flags=(each.flags - {"slave"}) | {"master"}) if each.id == node_id(R2) else each
    ),
    "a pod is gone": replace(DONE, pods={index: pod for index, pod in DONE.pods.items() if index != R2}),
    "a node has another id": replace(
        DONE,
        records={
            **DONE.records,
            R2: replace(DONE.records[R2], status=DONE.records[R2].status.model_copy(update={"node_id": "old"})),
        },
    ),
}


@pytest.mark.parametrize("what", DISTURBED)
def test_whatever_happened_is_noticed(what):
    assert not undisturbed(DISTURBED[what], P0, now=NOW)


def test_a_settled_cluster_is_left_alone_for_a_while():
    assert rest_seconds(DONE.cluster) == 15.0
    shard_addressed = {"type": "Ingress", "advertisedHost": "{name}-{shard}.example.com"}
    assert rest_seconds(observed(shard_addressed).cluster) == 1.0
    assert rest_seconds(observed({"enabled": False, **shard_addressed}).cluster) == 15.0
