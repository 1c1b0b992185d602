"""What an answer behind a load balancer proves, and what it does not: it is the operator's own Kubernetes node that gives it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from unit.core.given import NOW, balancer, node_id, observed
from unit.core.test_access import FIRST, INSIDE, OUTSIDE, READY, SECOND, records
from valkey_operator.api.status import ExternalAccessStatus, NodeEndpoint, ShardEndpoint
from valkey_operator.core.access import access
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Announcement, Probe

BALANCERS = tuple(
    balancer(f"orders-{shard}", AllocatedPort("lb-0", 6380, 30001), AllocatedPort("lb-1", 6381, 30002), ip=f"198.51.100.{shard}")
    for shard in range(3)
)


def changed_twice(seen, *names, due):
    return replace(seen, followed=dict.fromkeys(names, due))


def test_a_balancer_that_answers_is_announced_at_once_after_a_change_that_all_have_followed():
    seen = observed({"type": "LoadBalancer"}, *BALANCERS)
    assert records(seen)[FIRST] == Announcement("198.51.100.0", 6380, "198.51.100.0")


def test_a_balancer_that_answers_waits_until_all_kube_proxies_have_followed():
    seen = changed_twice(observed({"type": "LoadBalancer"}, *BALANCERS), "orders-0", due=NOW + timedelta(seconds=1))
    found = access(seen, now=NOW)
    assert found.records == INSIDE
    assert found.withheld.keys() == {FIRST, SECOND}
    assert found.withheld[FIRST].why == (
        "Service orders-0 has just changed, and more than once: kube-proxies of other Kubernetes nodes follow within a second"
    )
    assert records(seen, now=NOW + timedelta(seconds=1))[FIRST] == Announcement("198.51.100.0", 6380, "198.51.100.0")


@pytest.mark.parametrize(("ranges", "told"), [(["203.0.113.0/24"], True), (["203.0.113.0/24", "10.0.0.0/8"], False), ([], False)])
def test_a_silent_balancer_that_keeps_pods_out_takes_over_after_a_minute_from_an_endpoint_that_answers(ranges, told):
    new = Announcement("198.51.100.0", 6380, "198.51.100.0")
    seen = observed({"type": "LoadBalancer", "loadBalancerSourceRanges": ranges}, *BALANCERS, told=OUTSIDE)
    seen = replace(seen, probes={**seen.probes, new: Probe(None, "timed out"), OUTSIDE[FIRST]: Probe(node_id(FIRST))})
    node = NodeEndpoint(node=0, address=new.address, waiting_since="2026-03-01T11:59:00Z")
    status = ExternalAccessStatus(type="LoadBalancer", endpoints=(ShardEndpoint(shard=0, nodes=(node,)),))
    seen = replace(seen, cluster=replace(seen.cluster, status=seen.cluster.status.model_copy(update={"external_access": status})))
    assert records(seen, now=NOW - timedelta(seconds=1))[FIRST] == OUTSIDE[FIRST]
    assert records(seen, now=NOW)[FIRST] == (new if told else OUTSIDE[FIRST])


def test_a_balancer_that_kube_proxies_do_not_follow_yet_keeps_the_endpoint_that_clients_have():
    seen = observed({"type": "LoadBalancer"}, *BALANCERS, told=OUTSIDE)
    held = changed_twice(seen, "orders-0", due=NOW + timedelta(seconds=1))
    found = records(held)
    assert (found[FIRST], found[NodeIndex(1, 0)]) == (OUTSIDE[FIRST], Announcement("198.51.100.1", 6380, "198.51.100.1"))


def test_a_node_port_is_dialled_where_clients_dial_it_so_its_answer_is_proof_enough():
    assert records(changed_twice(READY, "orders-0", due=NOW + timedelta(seconds=1))) == OUTSIDE
