from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.core.edits import changed, configured, knowing, line, silent, views
from unit.core.given import NODES, NOW, balancer, node_id, observed, pod_ip, service
from valkey_operator.api.conditions import Reason
from valkey_operator.api.status import ExternalAccessStatus, NodeEndpoint, ShardEndpoint
from valkey_operator.core.access import access, candidates, troubled_balancers
from valkey_operator.core.hosts import Missing
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Announcement, Probe
from valkey_operator.core.resolving import names_to_resolve

TYPE = {"type": "NodePort"}
HOSTS = {"m1": "192.0.2.11", "m2": "192.0.2.12", "m3": "192.0.2.13"}
FIRST, SECOND = NodeIndex(0, 0), NodeIndex(0, 1)


def port_of(index):
    return 31200 + index.shard + 100 * index.node


SERVICES = [
    service(
        f"orders-{shard}",
        *(AllocatedPort(f"np-{node}", port_of(NodeIndex(shard, node)), port_of(NodeIndex(shard, node))) for node in (0, 1)),
    )
    for shard in range(3)
]
OUTSIDE = {
    index: Announcement(
        HOSTS[f"m{(index.shard + index.node) % 3 + 1}"], port_of(index), HOSTS[f"m{(index.shard + index.node) % 3 + 1}"]
    )
    for index in NODES
}
INSIDE = dict.fromkeys(NODES)

READY = observed(TYPE, *SERVICES)
"""Everything is there and answers, nothing is announced yet."""
ANNOUNCED = observed(TYPE, *SERVICES, told=OUTSIDE)
"""Everything is announced and told by all."""


def records(seen, *, now=NOW):
    return access(seen, now=now).records


def probed(seen, index, probe):
    return replace(seen, probes={**seen.probes, OUTSIDE[index]: probe})


def waiting(seen, index, *, since):
    """The status tells since when an endpoint waits."""
    node = NodeEndpoint(node=index.node, address=OUTSIDE[index].address, waiting_since=since)
    told = ExternalAccessStatus(type="NodePort", endpoints=(ShardEndpoint(shard=index.shard, nodes=(node,)),))
    return replace(seen, cluster=replace(seen.cluster, status=seen.cluster.status.model_copy(update={"external_access": told})))


# --- what is announced ---


def test_everything_is_announced_once_every_endpoint_reaches_its_node():
    assert records(READY) == OUTSIDE


def test_off_means_inside_everywhere():
    assert records(observed({"enabled": False, **TYPE}, *SERVICES, told=OUTSIDE)) == INSIDE
    assert records(observed()) == INSIDE


@pytest.mark.parametrize("index", NODES)
@pytest.mark.parametrize(
    ("probe", "why"),
    [
        (Probe(None, "connection refused"), "does not answer the operator: connection refused"),
        (Probe("somebody"), "reaches another server than that of node"),
    ],
)
def test_the_first_time_nothing_is_announced_before_every_endpoint_is_proven(index, probe, why):
    found = access(probed(READY, index, probe), now=NOW)
    assert found.records == INSIDE
    assert why in found.withheld[index].why
    assert found.withheld.keys() == {index}


def test_the_first_time_nothing_is_announced_while_an_endpoint_is_missing():
    assert records(observed(TYPE, *SERVICES[:2])) == INSIDE


def test_an_endpoint_that_was_not_dialled_yet_is_not_proven():
    found = access(replace(READY, probes={}), now=NOW)
    assert found.records == INSIDE
    assert found.withheld[FIRST].why == "192.0.2.11:31200 was not dialled yet"


def test_afterwards_each_node_changes_alone():
    moved = {**OUTSIDE, FIRST: Announcement("192.0.2.99", 31200, "192.0.2.99")}
    seen = observed(TYPE, *SERVICES, told=moved)
    assert records(seen) == OUTSIDE
    unproven = probed(probed(seen, FIRST, Probe(None, "timed out")), SECOND, Probe(None, "timed out"))
    assert records(unproven) == moved


def test_an_address_that_goes_missing_stays_announced():
    seen = observed(TYPE, *SERVICES[1:], told=OUTSIDE)
    found = access(seen, now=NOW)
    assert found.records == OUTSIDE
    assert isinstance(found.endpoints[FIRST], Missing)
    everything_gone = replace(observed(TYPE, told=OUTSIDE), machines={})
    assert records(everything_gone) == OUTSIDE


def test_a_server_that_does_not_answer_is_announced_no_new_place():
    moved = {**OUTSIDE, FIRST: Announcement("192.0.2.99", 31200, "192.0.2.99")}
    found = access(silent(observed(TYPE, *SERVICES, told=moved), FIRST), now=NOW)
    assert found.records == moved
    assert found.withheld[FIRST].why == "the server of node 0-0 does not answer"


def test_a_record_that_lost_its_announcement_gets_it_back_from_the_servers_word():
    """Somebody edited it, or the operator's last write was not seen yet: the pod IP must not be announced for a moment."""
    bare = replace(ANNOUNCED.records[FIRST], announce=None)
    seen = replace(ANNOUNCED, records={**ANNOUNCED.records, FIRST: bare}, probes={})
    assert records(seen) == OUTSIDE
    everybody = {index: replace(record, announce=None) for index, record in ANNOUNCED.records.items()}
    assert records(replace(ANNOUNCED, records=everybody, probes={})) == OUTSIDE


@given(
    st.dictionaries(st.sampled_from(NODES), st.sampled_from([Probe(None, "timed out"), Probe("somebody")])),
    st.sets(st.sampled_from(NODES)),
    st.sets(st.sampled_from(range(3))),
    st.booleans(),
    st.integers(0, 100),
)
def test_no_pod_ip_is_announced_again_and_only_whole_pairs(probes, deaf, shards, machines, seconds):
    """Whatever is broken: what is announced stays, or becomes the endpoint; nothing else."""
    old = {index: Announcement("192.0.2.99", 30000 + number) for number, index in enumerate(NODES)}
    for told in (old, OUTSIDE):
        seen = observed(TYPE, *(SERVICES[shard] for shard in sorted(shards)), told=told)
        seen = silent(replace(seen, probes={**seen.probes, **{OUTSIDE[index]: probe for index, probe in probes.items()}}), *deaf)
        seen = replace(seen, machines=seen.machines if machines else {})
        for index, pair in records(seen, now=NOW + timedelta(seconds=seconds)).items():
            assert pair in (told[index], OUTSIDE[index])


# --- how long an endpoint is withheld ---


def test_an_endpoint_that_does_not_answer_the_operator_is_announced_after_a_while():
    seen = probed(READY, FIRST, Probe(None, "timed out"))
    assert access(seen, now=NOW).withheld[FIRST].silent_since == NOW
    since = waiting(seen, FIRST, since="2026-03-01T11:59:56Z")
    assert records(since) == INSIDE
    found = access(waiting(seen, FIRST, since="2026-03-01T11:59:55Z"), now=NOW)
    assert found.records == OUTSIDE
    assert found.unproven == {FIRST: NOW - timedelta(seconds=5)}


def test_while_the_old_endpoint_answers_a_silent_new_one_is_withheld_for_ever():
    old = {**OUTSIDE, FIRST: Announcement("192.0.2.99", 31200, "192.0.2.99")}
    seen = waiting(
        probed(observed(TYPE, *SERVICES, told=old), FIRST, Probe(None, "timed out")), FIRST, since="2026-03-01T00:00:00Z"
    )
    answers = replace(seen, probes={**seen.probes, old[FIRST]: Probe(node_id(FIRST))})
    found = access(answers, now=NOW)
    assert found.records == old
    assert found.withheld[FIRST].why == (
        "192.0.2.11:31200 does not answer the operator: timed out; clients keep 192.0.2.99:31200, where it gets an answer: "
        "if only the operator is kept away from the new one, set spec.externalAccess.announceWhen to Always"
    )
    neither = replace(seen, probes={**seen.probes, old[FIRST]: Probe(None, "timed out")})
    assert records(neither) == OUTSIDE
    always = observed({**TYPE, "announceWhen": "Always"}, *SERVICES, told=old)
    always = waiting(replace(always, probes=answers.probes), FIRST, since="2026-03-01T11:59:55Z")
    assert records(always) == OUTSIDE


def test_the_endpoints_to_dial_are_the_new_ones_beside_the_old_and_those_never_heard():
    old = {**OUTSIDE, FIRST: Announcement("192.0.2.99", 31200, "192.0.2.99")}
    assert candidates(observed(TYPE, *SERVICES, told=old)) == {OUTSIDE[FIRST], old[FIRST]}
    assert candidates(ANNOUNCED) == frozenset()
    unheard = waiting(replace(ANNOUNCED, probes={}), FIRST, since="2026-03-01T11:59:00Z")
    assert candidates(unheard) == {OUTSIDE[FIRST]}
    assert candidates(silent(unheard, SECOND)) == frozenset(), "while somebody is down nothing holds the operator up"


def test_an_endpoint_that_was_announced_unheard_is_unproven_until_it_answers():
    unheard = waiting(replace(ANNOUNCED, probes={}), FIRST, since="2026-03-01T11:00:00Z")
    assert access(unheard, now=NOW).unproven == {FIRST: NOW - timedelta(hours=1)}
    assert access(probed(unheard, FIRST, Probe(None, "timed out")), now=NOW).unproven == {FIRST: NOW - timedelta(hours=1)}
    assert access(probed(unheard, FIRST, Probe(node_id(FIRST))), now=NOW).unproven == {}


def test_who_says_always_does_not_hear_of_it_again():
    always = observed({**TYPE, "announceWhen": "Always"}, *SERVICES, told=OUTSIDE, probes={})
    unheard = waiting(always, FIRST, since="2026-03-01T11:00:00Z")
    assert access(unheard, now=NOW).unproven == {}
    assert candidates(unheard) == frozenset()


def test_who_has_waited_long_enough_goes_on_waiting_for_the_others_since_when_it_did():
    silence = Probe(None, "timed out")
    seen = waiting(probed(probed(READY, FIRST, silence), SECOND, silence), FIRST, since="2026-03-01T11:59:50Z")
    found = access(seen, now=NOW)
    assert found.records == INSIDE
    assert found.unproven == {}
    assert found.withheld[FIRST].silent_since == NOW - timedelta(seconds=10)
    assert found.withheld[SECOND].silent_since == NOW


@pytest.mark.parametrize("probe", [Probe("somebody"), None])
def test_an_endpoint_that_reaches_somebody_else_or_was_not_dialled_is_withheld_for_ever(probe):
    seen = waiting(READY, FIRST, since="2026-03-01T00:00:00Z")
    seen = probed(seen, FIRST, probe) if probe else replace(seen, probes={})
    found = access(seen, now=NOW)
    assert found.records == INSIDE
    assert FIRST in found.withheld


def test_the_time_in_which_a_server_does_not_answer_itself_does_not_count():
    seen = waiting(probed(READY, FIRST, Probe(None, "timed out")), FIRST, since="2026-03-01T00:00:00Z")
    found = access(silent(seen, FIRST), now=NOW)
    assert found.unproven == {}
    assert found.withheld[FIRST].silent_since is None


def test_a_wait_for_an_earlier_endpoint_does_not_count():
    seen = waiting(probed(READY, FIRST, Probe(None, "timed out")), FIRST, since="2026-03-01T00:00:00Z")
    endpoints = seen.cluster.status.external_access.endpoints
    node = endpoints[0].nodes[0].model_copy(update={"address": "192.0.2.11:31999"})
    told = seen.cluster.status.external_access.model_copy(
        update={"endpoints": (endpoints[0].model_copy(update={"nodes": (node,)}),)}
    )
    seen = replace(seen, cluster=replace(seen.cluster, status=seen.cluster.status.model_copy(update={"external_access": told})))
    assert access(seen, now=NOW).withheld[FIRST].silent_since == NOW


# --- what keeps an endpoint from being announced at all ---


def reasons(seen):
    return {index: (end.reason, end.message) for index, end in access(seen, now=NOW).endpoints.items() if isinstance(end, Missing)}


def test_below_9_0_an_outside_port_is_refused_and_nothing_announced():
    old = READY
    for index in NODES:
        old = changed(old, index, version=(8, 1, 8))
    assert reasons(old)[FIRST] == (
        Reason.UNSUPPORTED_VALKEY_VERSION,
        "node 0-0 runs Valkey 8.1.8, which cannot announce a port to clients: set spec.image to Valkey 9.0 or newer",
    )
    assert records(old) == INSIDE


def test_one_old_server_is_enough_to_announce_nothing():
    assert records(changed(READY, SECOND, version=(8, 1, 8))) == INSIDE


def test_a_server_that_is_older_by_now_announces_its_place_inside_and_the_others_what_they_did():
    assert records(changed(ANNOUNCED, SECOND, version=(8, 1, 8))) == {**OUTSIDE, SECOND: None}


def test_a_server_that_is_older_by_now_goes_on_with_a_pair_that_it_can_announce():
    pairs = {index: Announcement(f"{index}.example.com", 6379) for index in NODES}
    named = {"type": "LoadBalancer", "advertisedHost": "{shard}-{node}.example.com", "advertisedPort": 6379}
    seen = observed(named, told=pairs)
    assert records(changed(seen, SECOND, version=(8, 1, 8))) == pairs


NAMED = {**TYPE, "advertisedHost": "{name}-{shard}-{node}.example.com"}


def test_a_name_is_announced_once_it_resolves():
    seen = observed(NAMED, *SERVICES)
    wanted = {f"orders-{index}.example.com" for index in NODES}
    assert names_to_resolve(seen) == wanted
    assert reasons(seen)[FIRST] == (
        Reason.WAITING_FOR_DNS,
        (
            "orders-0-0.example.com does not resolve inside the Kubernetes cluster: make the DNS record A 192.0.2.11, "
            "or set spec.externalAccess.announceWhen to Always"
        ),
    )
    all_but_one = dict.fromkeys(wanted - {"orders-1-1.example.com"}, True)
    assert records(replace(seen, resolved=all_but_one)) == INSIDE
    resolved = replace(seen, resolved=dict.fromkeys(wanted, True))
    assert records(resolved)[FIRST] == Announcement("orders-0-0.example.com", 31200, "192.0.2.11")


def test_a_name_that_is_announced_need_not_resolve_again():
    told = {index: Announcement(f"orders-{index}.example.com", port_of(index), OUTSIDE[index].client_ipv4) for index in NODES}
    seen = observed(NAMED, *SERVICES, told=told)
    assert names_to_resolve(seen) == frozenset()
    assert records(seen) == told


def test_who_says_always_does_not_wait_for_names():
    seen = observed({**NAMED, "announceWhen": "Always"}, *SERVICES)
    assert names_to_resolve(seen) == frozenset()
    assert records(seen)[FIRST] == Announcement("orders-0-0.example.com", 31200, "192.0.2.11")


def test_an_address_as_host_needs_no_resolver():
    seen = observed({**TYPE, "advertisedHost": "203.0.113.1"}, *SERVICES)
    assert names_to_resolve(seen) == frozenset()
    assert records(seen)[FIRST] == Announcement("203.0.113.1", 31200, "203.0.113.1")


def test_two_nodes_on_one_endpoint_are_never_announced():
    twice = [
        service(f"orders-{shard}", AllocatedPort("np-0", 31200, 31200), AllocatedPort("np-1", 31300, 31300)) for shard in range(3)
    ]
    seen = observed({**TYPE, "advertisedHost": "203.0.113.1"}, *twice)
    assert reasons(seen)[NodeIndex(1, 0)] == (
        Reason.INVALID_ADVERTISED_HOST,
        (
            "spec.externalAccess.advertisedHost gives nodes 0-0 and 1-0 the same endpoint 203.0.113.1:31200: "
            "separate its placeholders, as in {shard}-{node}"
        ),
    )
    assert records(seen) == INSIDE


def test_an_endpoint_that_another_cluster_has_is_not_taken():
    seen = observed({**TYPE, "advertisedHost": "203.0.113.1"}, *SERVICES, claims={"203.0.113.1:31200": "shop/older"})
    assert reasons(seen)[FIRST][0] is Reason.HOST_CLAIMED
    assert records(seen) == INSIDE


def test_an_address_that_kubernetes_gave_is_nobody_elses():
    begun = {**TYPE, "bootstrapHost": "203.0.113.1"}
    assert records(observed(begun, *SERVICES, claims={"192.0.2.11:31200": "shop/older"})) == OUTSIDE


# --- what is dialled ---


def test_what_is_not_announced_yet_is_dialled():
    assert candidates(READY) == set(OUTSIDE.values())
    assert candidates(ANNOUNCED) == frozenset()
    assert candidates(observed({"enabled": False, **TYPE}, *SERVICES)) == frozenset()


def test_nobody_dials_a_node_whose_server_is_silent_or_that_has_no_record_yet():
    without = {index: record for index, record in READY.records.items() if index != SECOND}
    seen = replace(silent(READY, FIRST), records=without)
    assert candidates(seen) == {OUTSIDE[index] for index in NODES if index not in (FIRST, SECOND)}


# --- what has arrived ---


def arrived(seen):
    return access(seen, now=NOW).arrived


def test_a_pair_has_arrived_when_every_server_tells_it():
    assert arrived(ANNOUNCED) == set(NODES)
    assert arrived(observed()) == set(NODES)
    assert access(ANNOUNCED, now=NOW).settled
    assert not access(READY, now=NOW).settled


def told_by(seen, teller, index, **told):
    return views(seen, lambda at, each: replace(each, **told) if at == teller and each.id == node_id(index) else each)


@pytest.mark.parametrize("told", [{"hostname": "192.0.2.99"}, {"port": 6379}, {"hostname": ""}])
def test_one_server_that_tells_another_pair_is_enough(told):
    assert arrived(told_by(ANNOUNCED, NodeIndex(2, 1), FIRST, **told)) == set(NODES) - {FIRST}


def test_a_server_that_does_not_know_a_node_tells_nothing_of_it():
    ignorant = views(ANNOUNCED, lambda teller, each: None if teller == SECOND and each.id == node_id(FIRST) else each)
    assert arrived(ignorant) == set(NODES) - {FIRST}


def test_a_server_that_is_silent_tells_nothing_wrong_but_is_not_announced():
    assert arrived(silent(ANNOUNCED, FIRST)) == set(NODES) - {FIRST}


def test_what_a_ghost_is_told_with_does_not_matter():
    assert arrived(knowing(ANNOUNCED, line("ghost", "master", "fail", linked=False))) == set(NODES)


def test_inside_the_pod_ip_must_be_told():
    seen = told_by(observed(), SECOND, FIRST, hostname=pod_ip(SECOND))
    assert arrived(seen) == set(NODES) - {FIRST}


def test_running_values_alone_prove_nothing():
    assert arrived(configured(READY, *NODES, cluster_announce_hostname="192.0.2.11")) == frozenset()


# --- troubled balancers ---


def balanced(scope="Shard", **changed):
    """Load balancers are there and every port of them answers."""
    shards = (
        balancer(f"orders-{n}", AllocatedPort("lb-0", 6380, None), AllocatedPort("lb-1", 6381, None), ip=f"198.51.100.{n}")
        for n in range(3)
    )
    places = (AllocatedPort(f"lb-{index}", 6381 + number, None) for number, index in enumerate(NODES))
    one = balancer("orders", AllocatedPort("lb-bootstrap", 6380, None), *places, ip="198.51.100.9", kind="bootstrap")
    return observed({"type": "LoadBalancer", "loadBalancerScope": scope}, *(shards if scope == "Shard" else ()), one, **changed)


def refusing(seen, index):
    """That node's port of a balancer does not answer."""
    return replace(seen, probes={**seen.probes, access(seen, now=NOW).endpoints[index]: Probe(None, "timed out")})


def test_balancers_without_an_address_are_asked_about():
    pending, there = balancer("orders-0"), balancer("orders-1", ip="198.51.100.1")
    assert troubled_balancers(observed({"type": "LoadBalancer"}, pending, there)) == ("orders-0",)
    assert troubled_balancers(observed({"type": "LoadBalancer", "enabled": False}, pending, there)) == ()
    assert troubled_balancers(observed(TYPE, *SERVICES)) == ()


@pytest.mark.parametrize("scope", ["Shard", "Cluster"])
def test_balancers_that_were_dialled_in_vain_are_asked_about_and_nothing_at_rest(scope):
    seen = balanced(scope)
    name = {"Shard": "orders-0", "Cluster": "orders"}[scope]
    assert troubled_balancers(seen) == ()
    assert troubled_balancers(replace(seen, probes={})) == ()
    refused = refusing(seen, SECOND)
    assert troubled_balancers(refused) == (name,)
    assert troubled_balancers(silent(refused, SECOND)) == ()


def test_what_the_cloud_says_of_a_port_that_does_not_answer_is_quoted():
    seen = replace(refusing(balanced(), SECOND), service_warnings={"orders-0": "SyncLoadBalancerFailed: too many listeners"})
    assert access(seen, now=NOW).withheld[SECOND].why == (
        "198.51.100.0:6381 does not answer the operator: timed out (Service orders-0: SyncLoadBalancerFailed: too many listeners)"
    )


# --- what servers tell counts where records say nothing ---


def test_a_node_that_is_told_outside_is_not_led_back_inside_while_its_new_endpoint_is_missing():
    """Turned off and on again as balancers, with the operator killed in between: records were emptied, servers not yet told."""
    to_pods = (
        replace(made, ports=tuple(replace(port, target=f"valkey-{shard}-{node}") for node, port in enumerate(made.ports)))
        for shard, made in enumerate(SERVICES)
    )
    old = observed({"type": "LoadBalancer"}, *to_pods, told=OUTSIDE)
    emptied = replace(old, records={index: replace(record, announce=None) for index, record in old.records.items()})
    assert records(emptied) == OUTSIDE


def test_a_pair_that_leads_to_no_node_is_not_taken_for_an_announcement():
    by_hand = dict.fromkeys(NODES, Announcement("198.18.0.99", 1, "198.18.0.99"))
    seen = observed({"type": "LoadBalancer"}, *SERVICES, told=by_hand)
    seen = replace(seen, records={index: replace(record, announce=None) for index, record in seen.records.items()})
    assert records(seen) == INSIDE
