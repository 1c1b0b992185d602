from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from unit.core.edits import changed, promoted, silent, views
from unit.core.given import NODES, NOW, node_id, observed, pod, service
from unit.core.routed import BY_NAME, by_name, named, routing
from unit.core.test_access import ANNOUNCED, OUTSIDE, READY, SERVICES, TYPE, balanced
from valkey_operator.api.conditions import Reason
from valkey_operator.api.status import Bootstrap, ExternalAccessStatus, NodeEndpoint, ShardEndpoint
from valkey_operator.core.access import access
from valkey_operator.core.access_status import role
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Announcement, Probe, Verdict
from valkey_operator.core.outside import outside
from valkey_operator.core.topology import Topology

FIRST, SECOND = NodeIndex(0, 0), NodeIndex(0, 1)
ALL_SHARDS = service("orders", AllocatedPort("np-bootstrap", 30999, 30999), kind="bootstrap")
DONE = replace(ANNOUNCED, services={**ANNOUNCED.services, "orders": ALL_SHARDS})
"""External access is ready."""
OFF = {"enabled": False, **TYPE, "drainSeconds": 60}


def found(seen, *, now=NOW):
    return outside(seen, Topology.of(seen), now=now)


def lack(seen, *, now=NOW):
    missing = found(seen, now=now).lack
    return (missing.reason, missing.message) if missing is not None else None


def stored(seen, status):
    return replace(seen, cluster=replace(seen.cluster, status=seen.cluster.status.model_copy(update={"external_access": status})))


# --- when it is ready ---


def test_the_status_of_external_access_that_is_ready():
    result = found(DONE)
    assert result.lack is None
    assert result.status == ExternalAccessStatus(
        type="NodePort",
        ready=True,
        bootstrap=Bootstrap(service="orders", addresses=("192.0.2.11:30999", "192.0.2.12:30999", "192.0.2.13:30999")),
        endpoints=tuple(
            ShardEndpoint(
                shard=shard,
                service=f"orders-{shard}",
                host=host,
                port=31200 + shard,
                address=f"{host}:{31200 + shard}",
                nodes=(
                    NodeEndpoint(
                        node=0, role="primary", host=host, port=31200 + shard, address=f"{host}:{31200 + shard}", announced=True
                    ),
                    NodeEndpoint(
                        node=1, role="replica", host=next_, port=31300 + shard, address=f"{next_}:{31300 + shard}", announced=True
                    ),
                ),
            )
            for shard, host, next_ in (
                (0, "192.0.2.11", "192.0.2.12"),
                (1, "192.0.2.12", "192.0.2.13"),
                (2, "192.0.2.13", "192.0.2.11"),
            )
        ),
    )


def test_a_shards_own_endpoint_is_its_primarys():
    status = found(promoted(DONE, SECOND, over=FIRST)).status
    assert status.endpoints[0].address == "192.0.2.12:31300"
    assert found(silent(DONE, FIRST)).status.endpoints[0].address == ""


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        ({"type": "LoadBalancer"}, "orders-1"),
        ({"type": "LoadBalancer", "loadBalancerScope": "Cluster"}, "orders"),
        ({"type": "LoadBalancer", "loadBalancerScope": "Node"}, ""),
        (TYPE, "orders-1"),
        ({"type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com"}, "orders-1"),
    ],
)
def test_a_shards_service_is_one_that_there_is(chosen, name):
    told = found(observed(chosen, told=OUTSIDE)).status.endpoints[1]
    assert (told.service, len(told.nodes)) == (name, 2)


# --- what keeps it from being ready, the most telling first ---


def test_ports_that_are_not_allocated_are_all_told():
    reason, message = lack(observed(TYPE))
    assert reason is Reason.ALLOCATING_PORTS
    assert message.startswith(
        "Service orders-0 has no node port for node 0-0 yet; Service orders-0 has no node port for node 0-1 yet; "
    )
    assert message.count("; ") == 5


def test_an_endpoint_that_does_not_answer_is_told():
    seen = replace(READY, probes={**READY.probes, OUTSIDE[FIRST]: Probe(None, "timed out")})
    assert lack(seen) == (Reason.ANNOUNCING, "192.0.2.11:31200 does not answer the operator: timed out")
    assert found(seen).status.endpoints[0].nodes[0].waiting_since == "2026-03-01T12:00:00Z"


def test_nodes_that_are_not_told_by_all_are_counted():
    assert lack(READY) == (Reason.ANNOUNCING, "6 of 6 nodes are not announced by every server yet, first node 0-0")
    late = views(DONE, lambda at, each: replace(each, port=6379) if at == SECOND and each.id == node_id(NodeIndex(2, 1)) else each)
    assert lack(late) == (Reason.ANNOUNCING, "1 of 6 nodes are not announced by every server yet, first node 2-1")


def test_a_bootstrap_service_without_address_is_told():
    assert lack(ANNOUNCED) == (Reason.ANNOUNCING, "Service orders, over all shards, has no address yet, or no pod serves behind it")
    assert lack(observed({**TYPE, "bootstrapService": False}, *SERVICES, told=OUTSIDE)) is None
    nobody_serves = replace(DONE, pods={index: pod(index, serving=False) for index in NODES})
    assert lack(nobody_serves)[0] is Reason.ANNOUNCING


def test_somebody_elses_port_on_the_service_over_all_shards_is_told():
    mine = service("orders", AllocatedPort("mine", 6380, None, 6379), kind="bootstrap", type_="ClusterIP")
    nodes = [
        service(f"orders-{index}", AllocatedPort(f"sni-{index.node}", 6380, None, 6379), kind="node", type_="ClusterIP")
        for index in NODES
    ]
    told = {index: Announcement(f"orders-{index}.example.com", 6380) for index in NODES}
    by_node = {"type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com", "announceWhen": "Always"}
    assert lack(observed(by_node, mine, *nodes, told=told)) == (
        Reason.SERVICE_CONFLICT,
        "port 6380 of Service orders is mine, which somebody else put there: remove it, or set another spec.externalAccess.advertisedPort",
    )


def test_the_balancer_over_all_shards_is_awaited_in_the_same_words():
    told = access(balanced(), now=NOW).endpoints
    all_there = balanced(told=told)
    assert lack(all_there) is None
    pending = replace(all_there.services["orders"], ingress=())
    seen = replace(
        all_there,
        services={**all_there.services, "orders": pending},
        service_warnings={"orders": "SyncLoadBalancerFailed: quota exceeded"},
    )
    assert lack(seen) == (
        Reason.WAITING_FOR_LOAD_BALANCER,
        "Service orders waits for its load balancer since 2026-03-01T12:00:00Z: SyncLoadBalancerFailed: quota exceeded",
    )
    gone = {name: each for name, each in all_there.services.items() if name != "orders"}
    assert lack(replace(all_there, services=gone))[0] is Reason.ANNOUNCING


def test_what_a_person_must_act_on_comes_first():
    seen = changed(observed(TYPE, *SERVICES[1:]), NodeIndex(1, 0), version=(8, 1, 8))
    assert lack(seen)[0] is Reason.UNSUPPORTED_VALKEY_VERSION
    nowhere = replace(observed(TYPE, *SERVICES[1:]), machines={})
    assert lack(nowhere)[0] is Reason.NODE_ADDRESS_UNKNOWN


def test_a_pod_that_is_being_replaced_is_nobodys_task():
    pods = {index: pod(index) for index in NODES if index != FIRST}
    assert lack(replace(DONE, pods=pods))[0] is Reason.WAITING_FOR_CLUSTER


@pytest.mark.parametrize("seen", [observed(TYPE), READY, ANNOUNCED, silent(DONE, FIRST)])
def test_what_lacks_something_is_not_ready(seen):
    result = found(seen)
    assert result.lack is not None
    assert not result.status.ready


# --- routes ---

NOT_YET = Verdict("Gateway gateways/public", accepted=None)
NOT_ALLOWED = Verdict("Gateway gateways/public", accepted=False, message="NotAllowedByListeners")
NAMES = {index: Announcement(f"orders-{index}.example.com", 6380) for index in NODES}


def but(name, verdict):
    """All routes are accepted but that one."""
    return tuple(replace(each, verdicts=(verdict,)) if each.name == name else each for each in by_name())


def test_routes_that_are_not_accepted_are_all_told():
    reason, message = lack(named(*by_name(verdicts=(NOT_YET,))))
    assert reason == "RouteNotAccepted"
    assert message == "; ".join(
        f"Gateway gateways/public has not taken TLSRoute orders-{index} yet: does its controller run?"
        for index in ("0-0", "0-1", "1-0", "1-1", "2-0", "2-1")
    )


def test_what_keeps_all_routes_from_leading_anywhere_is_told_once():
    assert lack(named(routing=routing(served={}))) == (
        "RouteNotAccepted",
        (
            "Kubernetes does not serve TLSRoute, or the operator may not see that it does: install the CRDs that it comes from, or choose "
            "another spec.externalAccess.routes.kind"
        ),
    )


def test_the_route_to_all_shards_is_told_once_nodes_are_announced():
    assert lack(named(*but("orders", NOT_ALLOWED), told=NAMES)) == (
        "RouteNotAccepted",
        (
            "Gateway gateways/public does not accept TLSRoute orders (NotAllowedByListeners): let a listener's allowedRoutes admit the cluster's "
            "namespace and kind TLSRoute"
        ),
    )
    assert lack(named(told=NAMES)) is None


def test_a_refused_node_has_no_endpoint_in_the_status():
    result = found(named(*but("orders-1-1", NOT_ALLOWED)))
    assert not result.status.ready
    assert [len(shard.nodes) for shard in result.status.endpoints] == [2, 1, 2]


def test_a_node_that_was_announced_before_it_was_refused_keeps_the_endpoint_that_clients_are_told():
    result = found(named(*but("orders-1-1", NOT_ALLOWED), told=NAMES))
    assert not result.status.ready
    assert [len(shard.nodes) for shard in result.status.endpoints] == [2, 2, 2]
    kept = result.status.endpoints[1].nodes[1]
    assert (kept.address, kept.announced) == ("orders-1-1.example.com:6380", True)
    assert result.status.bootstrap == Bootstrap(service="orders", addresses=("orders.example.com:6380",))


def test_routes_alone_are_drained_too():
    off = {**BY_NAME, "enabled": False}
    result = found(observed(off, routing=routing(*by_name())))
    assert result.lack.reason is Reason.DRAINING
    assert result.routes.removed == ()
    over = stored(
        observed(off, routing=routing(*by_name())), ExternalAccessStatus(type="Ingress", draining_since="2026-03-01T11:59:00Z")
    )
    assert [(each.kind, each.name) for each in found(over).routes.removed] == [
        ("TLSRoute", name)
        for name in ("orders", "orders-0-0", "orders-0-1", "orders-1-0", "orders-1-1", "orders-2-0", "orders-2-1")
    ]


def test_old_routes_stay_while_the_new_ones_are_not_accepted():
    access = {"advertisedPort": 6380, "routes": {"kind": "Ingress"}}
    new = by_name("Ingress", verdicts=(Verdict("the default Ingress class", accepted=None),))
    began = ExternalAccessStatus(type="Ingress", draining_since="2026-03-01T11:00:00Z")
    changing = stored(named(*by_name(), *new, access=access, told=NAMES), began)
    assert found(changing).drain is None
    assert found(changing).routes.removed == ()
    accepted = stored(named(*by_name(), *by_name("Ingress"), access=access, told=NAMES), began)
    assert {each.kind for each in found(accepted).routes.removed} == {"TLSRoute"}
    assert len(found(accepted).routes.removed) == 7


# --- what is remembered of a Service that somebody deleted ---


def test_the_number_of_a_bootstrap_service_that_is_gone_stays_in_the_status():
    """It is known from nowhere else: a pass that fails to make the Service again must not lose it."""
    told = ExternalAccessStatus(type="NodePort", ready=True, bootstrap=Bootstrap(service="orders", addresses=("192.0.2.11:30999",)))
    result = found(stored(ANNOUNCED, told))
    assert result.status.bootstrap == told.bootstrap
    assert not result.status.ready
    asked = next(service for service in result.services.ensured if service.name == "orders")
    assert [(port.node_port, port.fallback) for port in asked.ports] == [(30999, 6379)]


# --- off ---


def test_off_with_nothing_left_there_is_nothing_to_tell():
    assert found(observed()).status is None
    assert lack(observed()) is None


def test_servers_are_told_first():
    result = found(observed(OFF, *SERVICES, told=OUTSIDE))
    assert result.lack.reason is Reason.ANNOUNCING
    assert result.drain is None
    assert result.services.removed == ()


def inside_all(**told):
    return stored(observed(OFF, *SERVICES), ExternalAccessStatus(type="NodePort", **told))


def test_then_services_stay_for_clients_with_old_endpoints():
    result = found(inside_all())
    assert result.lack == replace(
        result.lack,
        reason=Reason.DRAINING,
        message="external access is off; its Services stay for clients with old endpoints until 12:01:00 UTC",
    )
    assert result.status == ExternalAccessStatus(type="NodePort", draining_since="2026-03-01T12:00:00Z")
    assert result.services.removed == ()


def test_a_drain_that_has_begun_goes_on():
    result = found(inside_all(draining_since="2026-03-01T11:59:30Z"))
    assert result.drain.until == datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
    assert result.status.draining_since == "2026-03-01T11:59:30Z"


def test_a_drain_begins_anew_when_the_spec_changes():
    seen = inside_all(draining_since="2026-03-01T11:59:30Z")
    status = seen.cluster.status.model_copy(update={"observed_generation": 1})
    assert (
        found(replace(seen, cluster=replace(seen.cluster, status=status, generation=1))).status.draining_since
        == "2026-03-01T11:59:30Z"
    )
    assert (
        found(replace(seen, cluster=replace(seen.cluster, status=status, generation=2))).status.draining_since
        == "2026-03-01T12:00:00Z"
    )


def test_in_the_end_services_go():
    result = found(inside_all(draining_since="2026-03-01T11:59:00Z"))
    assert [service.name for service in result.services.removed] == ["orders-0", "orders-1", "orders-2"]
    assert result.lack.message == (
        "external access is off; what is left of it goes: orders-0, orders-1, orders-2; "
        "what stays is held by who its metadata.finalizers name"
    )


@pytest.mark.parametrize("told", [{}, {"draining_since": "2026-03-01T11:00:00Z"}])
def test_while_a_server_is_silent_nobody_knows_what_it_tells(told):
    result = found(silent(inside_all(**told), FIRST))
    assert result.drain is None
    assert result.services.removed == ()


def test_a_server_that_still_tells_an_old_endpoint_keeps_it_alive():
    seen = views(
        inside_all(draining_since="2026-03-01T11:00:00Z"),
        lambda at, each: replace(each, hostname="192.0.2.11", port=31200) if at == SECOND and each.id == node_id(FIRST) else each,
    )
    assert found(seen).services.removed == ()


def test_without_a_drain_time_services_go_as_soon_as_nobody_tells_them():
    seen = observed({**OFF, "drainSeconds": 0}, *SERVICES)
    assert len(found(seen).services.removed) == 3


# --- roles ---


def test_a_role_is_the_servers_own_word_else_what_was_written_last():
    assert [role(DONE, index) for index in (FIRST, SECOND)] == ["primary", "replica"]
    assert role(silent(DONE, FIRST), FIRST) == "primary"
    empty = views(DONE, lambda at, each: replace(each, slots=each.slots - each.slots) if at == FIRST else each)
    assert role(empty, FIRST) == ""


def test_a_drain_does_not_end_before_its_time():
    begun = NOW + timedelta(seconds=0.9)
    told = found(observed(OFF, *SERVICES), now=begun).status
    assert told.draining_since == "2026-03-01T12:00:01Z"


def test_the_nodes_that_keep_external_access_from_going_are_named():
    told = {FIRST: OUTSIDE[FIRST]}
    late = observed(OFF, *SERVICES, told=told)
    late = replace(late, records={index: replace(record, announce=None) for index, record in late.records.items()})
    assert lack(late)[1] == (
        "external access is off; servers are being told to announce their places inside, not yet done: nodes 0-0"
    )
