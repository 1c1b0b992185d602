from dataclasses import replace

from unit.core.given import NOW, balancer, observed
from unit.core.test_access import balanced
from valkey_operator.api.conditions import ConditionStatus, ConditionType, Reason
from valkey_operator.api.status import Condition
from valkey_operator.core.balancer_words import awaited, quoted
from valkey_operator.core.names import NodeIndex

BALANCED = {"type": "LoadBalancer"}
PENDING = observed(BALANCED, balancer("orders-1"))
"""The Service is from 11:00, an hour ago."""


def told(seen, reason, message, *, since):
    """The status says that external access is not ready."""
    condition = Condition(
        type=ConditionType.EXTERNAL_ACCESS_READY.value,
        status=ConditionStatus.FALSE,
        reason=reason.value,
        message=message,
        last_transition_time=since,
    )
    return replace(seen, cluster=replace(seen.cluster, status=seen.cluster.status.model_copy(update={"conditions": (condition,)})))


def since(seen, service="orders-1"):
    return awaited(seen, service, now=NOW).message.partition(" since ")[2]


def test_a_wait_begins_when_it_is_first_seen_however_old_the_service_is():
    assert (
        awaited(PENDING, "orders-1", now=NOW).message == "Service orders-1 waits for its load balancer since 2026-03-01T12:00:00Z"
    )
    other = told(PENDING, Reason.NODE_ADDRESS_UNKNOWN, "no address in common", since="2026-02-01T12:00:00Z")
    assert since(other) == "2026-03-01T12:00:00Z"


def test_a_wait_that_the_status_tells_goes_on_whatever_the_cloud_says():
    said = (
        "Service orders-0 waits for its load balancer since 2026-03-01T11:40:00Z; "
        "Service orders-1 waits for its load balancer since 2026-03-01T11:50:00Z: SyncLoadBalancerFailed: quota exceeded"
    )
    seen = told(PENDING, Reason.WAITING_FOR_LOAD_BALANCER, said, since="2026-02-01T12:00:00Z")
    assert since(seen) == "2026-03-01T11:50:00Z"
    warned = replace(seen, service_warnings={"orders-1": "SyncLoadBalancerFailed: no network"})
    assert since(warned) == "2026-03-01T11:50:00Z: SyncLoadBalancerFailed: no network"


def test_a_wait_that_the_status_left_out_began_neither_before_the_service_nor_before_all_waits():
    said = "Service orders-0 waits for its load balancer since 2026-03-01T10:00:00Z; and 4 more"
    assert since(told(PENDING, Reason.WAITING_FOR_LOAD_BALANCER, said, since="2026-03-01T10:00:00Z")) == "2026-03-01T11:00:00Z"
    assert since(told(PENDING, Reason.WAITING_FOR_LOAD_BALANCER, said, since="2026-03-01T11:30:00Z")) == "2026-03-01T11:30:00Z"


def test_only_what_the_cloud_says_of_a_nodes_own_balancer_is_quoted():
    seen = replace(balanced(), service_warnings={"orders-0": "SyncLoadBalancerFailed: too many listeners"})
    assert quoted(seen, NodeIndex(0, 1)) == " (Service orders-0: SyncLoadBalancerFailed: too many listeners)"
    assert quoted(seen, NodeIndex(1, 1)) == ""
