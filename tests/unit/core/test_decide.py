from dataclasses import replace
from datetime import timedelta

import pytest

from unit.core.edits import changed, configured, line, promoted, restarted, silent, views
from unit.core.given import EARLIER, NODES, NOW, node_id, observed, pod, service
from unit.core.routed import BY_NAME, PLACES, by_name, named, ported, routing
from unit.core.test_access import ANNOUNCED, OUTSIDE, READY, SERVICES, TYPE, probed, waiting
from unit.core.test_access_status import ALL_SHARDS, DONE, NAMES, NOT_ALLOWED, NOT_YET, OFF, but, stored
from unit.core.test_formation import NEW
from valkey_operator.api.conditions import ConditionType
from valkey_operator.api.status import ExternalAccessStatus
from valkey_operator.core import plan, sni
from valkey_operator.core.decide import decide
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Announcement, Probe, Trouble, Verdict, Workload
from valkey_operator.core.plan import Announce, AnnounceFile, Ensure, Record, Remove, SetConfig, Tell
from valkey_operator.core.rest import undisturbed
from valkey_operator.valkey.slots import NO_SLOTS

P0, R0, P1, R1, P2, R2 = NODES
WHOLE = observed()


def plan_of(seen, *, now=NOW):
    return decide(seen, now=now)


def formed(seen):
    """The same with the status that a pass writes of it."""
    return replace(seen, cluster=replace(seen.cluster, status=plan_of(seen).status))


def ensured(seen, kind):
    return [action.wanted for action in plan_of(seen).actions if isinstance(action, Ensure) and isinstance(action.wanted, kind)]


def actions(seen, kind, *, now=NOW):
    return [action for action in plan_of(seen, now=now).actions if isinstance(action, kind)]


def look(seen, *, now=NOW):
    """(wake_after, quiet)"""
    found = plan_of(seen, now=now)
    return found.wake_after, found.quiet


# --- objects ---


def test_before_there_are_passwords_nothing_is_made_that_needs_them():
    bare = replace(WHOLE, records={}, pods={}, servers={}, passwords=None)
    kinds = {type(action.wanted) for action in plan_of(bare).actions}
    assert kinds == {plan.SystemSecret, plan.HeadlessService, plan.DisruptionBudget, plan.ServerConfig, plan.Record}
    assert ensured(bare, plan.SystemSecret) == [plan.SystemSecret(bare.fresh_passwords)]
    assert [record.index for record in ensured(bare, plan.Record)] == list(NODES)


def test_passwords_are_generated_once():
    assert ensured(WHOLE, plan.SystemSecret) == [plan.SystemSecret(WHOLE.passwords)]


def test_a_server_is_made_once_its_record_can_own_it():
    some = replace(WHOLE, records={P0: WHOLE.records[P0]})
    assert [(work.index, work.owner_uid) for work in ensured(some, plan.ServerWorkload)] == [(P0, "record-0-0")]
    assert len(ensured(WHOLE, plan.ServerWorkload)) == 6


def test_what_a_server_reads_at_its_start_makes_another_template():
    def digest(**spec):
        return {work.digest for work in ensured(observed(spec=spec), plan.ServerWorkload)}

    (plain,) = digest()
    assert digest(externalAccess={"enabled": True, "type": "NodePort"}) == {plain}
    assert digest(config={"maxmemory": "1gb"}) != {plain}
    assert digest(users=[{"name": "app", "nopass": True}]) != {plain}


def test_applications_are_told_how_to_connect():
    assert ensured(WHOLE, plan.ConnectionSecret) == [
        plan.ConnectionSecret("default", "default-password", "valkey-orders.shop.svc", 6379, ())
    ]
    assert ensured(DONE, plan.ConnectionSecret)[0].external == ("192.0.2.11:30999", "192.0.2.12:30999", "192.0.2.13:30999")
    assert ensured(READY, plan.ConnectionSecret)[0].external == ()


def stuck(**fields):
    broken = pod(
        P0,
        **{"running": False, "ready": False, "trouble": Trouble("CrashLoopBackOff", "Bad directive"), "owner_uid": "w", **fields},
    )
    work = {P0: Workload("valkey-orders-0-0", "w", "r2")}
    return silent(replace(WHOLE, pods={**WHOLE.pods, P0: broken}, workloads=work), P0)


def test_a_pod_that_cannot_run_is_replaced_when_the_spec_was_changed_since():
    assert actions(stuck(), Remove) == [Remove("Pod", "valkey-orders-0-0-0", "pod-0-0")]


@pytest.mark.parametrize(
    "fields",
    [{"revision": "r2"}, {"running": True}, {"deleting": True}, {"trouble": None}, {"owner_uid": None}, {"owner_uid": "x"}],
)
def test_no_other_pod_is_ever_removed(fields):
    assert actions(stuck(**fields), Remove) == []


# --- at rest ---


@pytest.mark.parametrize("seen", [formed(WHOLE), formed(DONE)])
def test_a_settled_cluster_needs_no_command_and_is_left_alone(seen):
    assert actions(seen, Tell | Announce | Remove) == []
    assert look(seen) == (15.0, True)
    assert plan_of(seen).status == seen.cluster.status


def test_the_same_is_decided_of_the_same():
    for seen in (WHOLE, NEW, READY, DONE, restarted(WHOLE, P1)):
        assert plan_of(seen) == plan_of(seen)


# --- routes ---


@pytest.mark.parametrize("name", PLACES[1:])
@pytest.mark.parametrize("accepted", [None, False])
def test_nothing_is_announced_before_every_route_is_accepted(name, accepted):
    waits = named(*but(name, Verdict("Gateway gateways/public", accepted=accepted, message="NoMatchingParent")))
    assert actions(waits, Announce) == []
    assert len(actions(named(), Announce)) == 6


def test_the_condition_tells_which_route_is_not_accepted_and_what_to_do():
    seen = named(*but("orders-2-0", NOT_ALLOWED))
    condition = plan_of(seen).status.condition(ConditionType.EXTERNAL_ACCESS_READY)
    assert (condition.status, condition.reason, condition.message) == (
        "False",
        "RouteNotAccepted",
        (
            "Gateway gateways/public does not accept TLSRoute orders-2-0 (NotAllowedByListeners): let a listener's allowedRoutes admit the "
            "cluster's namespace and kind TLSRoute"
        ),
    )


@pytest.mark.parametrize("routes", [but("orders-2-0", NOT_ALLOWED), but("orders-2-0", NOT_YET), by_name("Ingress")])
def test_what_was_announced_stays_when_its_route_is_refused_later(routes):
    seen = named(*routes, told=NAMES)
    assert actions(seen, Announce) == []
    assert {each.index: each.announce for each in ensured(seen, plan.Record)} == NAMES
    assert plan_of(seen).status.condition(ConditionType.EXTERNAL_ACCESS_READY).status == "False"


def test_routes_are_made_with_their_services_and_kept():
    bare = observed(BY_NAME, routing=routing())
    assert [(each.kind, each.name) for each in ensured(bare, plan.ExternalRoute)] == [
        ("TLSRoute", name)
        for name in ("orders-0-0", "orders-0-1", "orders-1-0", "orders-1-1", "orders-2-0", "orders-2-1", "orders")
    ]
    assert ensured(named(told=NAMES), plan.ExternalRoute) == ensured(bare, plan.ExternalRoute)


def test_routes_go_with_external_access():
    status = ExternalAccessStatus(type="Ingress", draining_since="2026-03-01T11:00:00Z")
    seen = stored(observed({**BY_NAME, "enabled": False}, routing=routing(*by_name())), status)
    assert actions(seen, Remove)[0] == Remove("TLSRoute", "orders", "TLSRoute-orders")
    assert len(actions(seen, Remove)) == 7
    assert actions(observed({**BY_NAME, "enabled": False}, routing=routing(*by_name())), Remove) == []


def test_a_cluster_whose_routes_are_accepted_is_left_alone():
    for seen in (formed(named(told=NAMES)), formed(ported(told=sni.endpoints(ported())))):
        assert actions(seen, Tell | Announce | Remove) == []
        assert look(seen) == (15.0, True)
        assert plan_of(seen).status == seen.cluster.status


# --- announcements ---


def test_a_change_of_an_announcement_is_one_action():
    found = {action.index: action for action in actions(READY, Announce)}
    assert found[P0] == Announce(
        P0,
        Record(P0, OUTSIDE[P0]),
        AnnounceFile(
            P0,
            "record-0-0",
            'cluster-announce-hostname "192.0.2.11"\n'
            'cluster-announce-client-ipv4 "192.0.2.11"\n'
            'cluster-announce-client-ipv6 ""\n'
            'cluster-announce-client-port "31200"\n',
        ),
        {
            "cluster-announce-hostname": "192.0.2.11",
            "cluster-announce-client-ipv4": "192.0.2.11",
            "cluster-announce-client-ipv6": "",
            "cluster-announce-client-port": "31200",
        },
    )
    assert found.keys() == set(NODES)


def test_what_is_announced_stays_in_record_and_file():
    assert actions(DONE, Announce) == []
    assert len(ensured(DONE, Record)) == len(ensured(DONE, AnnounceFile)) == 6


def test_a_cluster_that_never_was_outside_has_no_files():
    assert ensured(WHOLE, AnnounceFile) == []
    assert [(record.index, record.announce) for record in ensured(WHOLE, Record)] == [(index, None) for index in NODES]


def test_a_drifted_announcement_is_repaired():
    (repair,) = actions(configured(DONE, P1, cluster_announce_hostname=""), Announce)
    assert (repair.index, repair.record.announce) == (P1, OUTSIDE[P1])
    assert repair.values["cluster-announce-hostname"] == "192.0.2.12"
    (inside,) = actions(configured(WHOLE, P1, cluster_announce_hostname="x"), Announce)
    assert inside.values == {
        "cluster-announce-hostname": "10.0.1.0",
        "cluster-announce-client-ipv4": "",
        "cluster-announce-client-ipv6": "",
        "cluster-announce-client-port": "0",
    }


def test_where_other_servers_find_a_server_is_repaired():
    seen = configured(ANNOUNCED, P1, cluster_announce_ip="203.0.113.1", cluster_announce_bus_port="17000")
    (told,) = [action for action in plan_of(seen).actions if isinstance(action, Announce)]
    assert told.index == P1
    assert {key: told.values[key] for key in ("cluster-announce-ip", "cluster-announce-bus-port")} == {
        "cluster-announce-ip": "10.0.1.0",
        "cluster-announce-bus-port": "0",
    }
    assert not undisturbed(seen, P1, now=NOW)


def test_a_silent_server_is_not_told_but_its_file_is_kept():
    moved = observed(TYPE, *SERVICES, told={**OUTSIDE, P0: Announcement("192.0.2.99", 31200)})
    seen = silent(moved, R1)
    assert {action.index for action in actions(seen, Announce)} == {P0}
    assert R1 in {file.index for file in ensured(seen, AnnounceFile)}


def test_turning_off_announces_the_inside_and_empties_the_file():
    (found, *_) = actions(observed(OFF, *SERVICES, told=OUTSIDE), Announce)
    assert (found.record.announce, found.file.text, found.values["cluster-announce-hostname"]) == (None, "", "10.0.0.0")
    assert found.values["cluster-announce-client-port"] == "0"


def test_a_file_holds_only_what_the_oldest_server_knows():
    seen = changed(observed(OFF, *SERVICES, told=OUTSIDE), R2, version=(8, 1, 8))
    assert all("client-port" not in action.file.text for action in actions(seen, Announce))


# --- running values ---


def values(seen, index):
    return [
        action.command.values for action in actions(seen, Tell) if action.index == index and isinstance(action.command, SetConfig)
    ]


def test_haste_while_a_cluster_forms_and_none_afterwards():
    assert values(NEW, P0) == [
        {
            "cluster-node-timeout": "500",
            "cluster-ping-interval": "100",
            "repl-diskless-sync-delay": "0",
            "repl-ping-replica-period": "1",
        }
    ]
    hasty = configured(WHOLE, P0, cluster_node_timeout="500", cluster_ping_interval="100", repl_diskless_sync_delay="0")
    assert values(hasty, P0) == [{"cluster-node-timeout": "2000", "cluster-ping-interval": "0", "repl-diskless-sync-delay": "5"}]


def test_a_cluster_that_was_whole_keeps_its_node_timeout_whatever_happens():
    broken = formed(WHOLE)
    broken = replace(restarted(broken, P1), cluster=broken.cluster)
    assert all("cluster-node-timeout" not in found for index in NODES for found in values(broken, index))


def test_gossip_is_fast_until_every_server_tells_every_pair():
    assert values(formed(READY), P0) == [{"cluster-ping-interval": "100"}]
    assert values(formed(DONE), P0) == []


def test_what_was_repaired_is_looked_at_again_whole():
    drifted = configured(formed(WHOLE), R2, cluster_node_timeout="99")
    assert look(drifted) == (15.0, False)


def test_a_drifted_value_is_repaired():
    assert values(configured(formed(WHOLE), R2, cluster_node_timeout="99"), R2) == [{"cluster-node-timeout": "2000"}]


# --- labels ---


def labels(seen):
    return [(wanted.index, wanted.role, wanted.serving) for wanted in ensured(seen, plan.PodLabels)]


def test_labels_follow_the_servers_word():
    assert labels(WHOLE) == []
    bare = replace(WHOLE, pods={index: pod(index, role=None, serving=False) for index in NODES})
    assert labels(bare) == [(index, "primary" if index.node == 0 else "replica", True) for index in NODES]


def test_an_empty_server_serves_nobody():
    bare = replace(NEW, pods={index: pod(index, role=None, serving=False) for index in NODES})
    assert labels(bare) == []
    silent_one = silent(replace(WHOLE, pods={**WHOLE.pods, P0: pod(P0, role=None, serving=False)}), P0)
    assert labels(silent_one) == []


def test_a_server_that_has_forgotten_the_cluster_serves_nobody():
    alone = changed(WHOLE, P0, members=tuple(replace(each, slots=NO_SLOTS) for each in WHOLE.servers[P0].members[:1]))
    assert (P0, "primary", False) in labels(alone)


def test_a_primary_that_is_silent_is_none_any_more_once_another_node_has_its_slots():
    assert labels(silent(WHOLE, P0)) == []
    assert labels(silent(promoted(WHOLE, R0, over=P0), P0)) == [(P0, "replica", True), (R0, "primary", True)]


def test_a_pod_that_goes_is_not_labelled():
    assert labels(replace(WHOLE, pods={**WHOLE.pods, P0: pod(P0, role=None, deleting=True)})) == []


# --- strangers ---


def test_a_server_of_another_cluster_is_told_nothing_and_serves_no_client_of_ours():
    me = ANNOUNCED.servers[R1].me
    stranger = changed(ANNOUNCED, R1, members=(me, line("x"), line("y")))
    stranger = configured(stranger, R1, cluster_announce_hostname="x", cluster_node_timeout="1")
    assert [action for action in actions(stranger, Tell | Announce) if action.index == R1] == []
    assert [(index, serving) for index, _, serving in labels(stranger)] == [(R1, False)]


# --- the next look ---


def test_near_while_servers_get_to_know_each_other():
    assert look(NEW) == (0.1, False)
    assert look(formed(restarted(WHOLE, P1)))[0] == 0.1


def test_an_announcement_that_travels_is_near():
    assert look(formed(READY)) == (0.1, False)


def test_an_endpoint_that_does_not_answer_is_near_for_a_minute_and_then_far():
    seen = waiting(probed(READY, P0, Probe("somebody")), P0, since="2026-03-01T12:00:00Z")
    seen = replace(seen, cluster=replace(seen.cluster, status=plan_of(seen).status))
    assert look(seen, now=NOW + timedelta(seconds=59))[0] == 0.1
    assert look(seen, now=NOW + timedelta(seconds=61))[0] == 5.0


def test_a_cluster_that_cannot_form_does_not_run_hot():
    nowhere = {**NEW.pods, P0: pod(P0, running=False, ip=None, ready=False, trouble=Trouble("Unschedulable", "no room"))}
    seen = silent(replace(NEW, pods=nowhere), P0)
    seen = replace(seen, cluster=replace(seen.cluster, status=plan_of(seen).status))
    assert look(seen, now=NOW)[0] == 0.1
    assert look(seen, now=NOW + timedelta(minutes=2))[0] == 1.0


def test_a_server_that_has_just_started_answers_any_moment():
    young = silent(replace(formed(WHOLE), pods={**WHOLE.pods, P0: pod(P0, started=NOW)}), P0)
    old = silent(replace(formed(WHOLE), pods={**WHOLE.pods, P0: pod(P0, started=EARLIER)}), P0)
    assert look(young)[0] == 0.1
    assert look(old)[0] == 1.0


def test_names_are_asked_for_every_five_seconds():
    named = formed(observed({**TYPE, "advertisedHost": "{name}-{shard}-{node}.example.com"}, *SERVICES, ALL_SHARDS))
    assert look(named)[0] == 5.0


def test_names_are_asked_for_while_something_else_is_told_first():
    named = formed(observed({**TYPE, "advertisedHost": "{name}-{shard}-{node}.example.com"}, *SERVICES[1:], ALL_SHARDS))
    assert plan_of(named).status.condition(ConditionType.EXTERNAL_ACCESS_READY).reason == "AllocatingPorts"
    assert look(named)[0] == 5.0


def test_the_end_of_a_drain_is_awaited():
    seen = formed(stored(observed(OFF, *SERVICES), ExternalAccessStatus(type="NodePort", draining_since="2026-03-01T11:59:40Z")))
    assert look(seen) == (40.0, False)


def test_what_is_still_there_after_a_drain_is_watched_and_not_asked_for_again_and_again():
    held = service("orders-0", kind="shard", deleting=True)
    seen = formed(stored(observed(OFF, held), ExternalAccessStatus(type="NodePort", draining_since="2026-03-01T11:59:00Z")))
    assert look(seen) == (15.0, False)


def test_without_any_server_there_is_no_haste():
    seen = silent(replace(WHOLE, pods={}), *NODES)
    assert look(seen)[0] == 15.0


def test_external_access_that_is_not_ready_is_no_settled_cluster():
    seen = formed(replace(DONE, services={}))
    assert look(seen)[1] is False


def test_every_command_goes_to_a_server_that_answered():
    for seen in (NEW, READY, silent(READY, P0, R2), restarted(WHOLE, P1)):
        assert all(action.index in seen.reachable() for action in actions(seen, Tell))
        assert all(action.index in seen.reachable() for action in actions(seen, Announce) if action.values)


def test_a_plan_that_moves_nothing_says_so_of_every_node():
    assert plan_of(WHOLE).node_status.keys() == set(NODES)
    assert {status.node_id for status in plan_of(WHOLE).node_status.values()} == {node_id(index) for index in NODES}


def test_views_that_differ_are_near():
    seen = views(
        formed(DONE), lambda at, each: replace(each, port=6379) if (at, each.id) == (R0, node_id(NodeIndex(2, 0))) else each
    )
    assert look(seen) == (0.1, False)
