from dataclasses import replace

import pytest

from unit.core.given import NODES, NOW, observed, pod, service
from unit.core.test_access import OUTSIDE, READY, SERVICES, TYPE, balanced, probed, refusing, waiting
from valkey_operator.api.conditions import Reason
from valkey_operator.core.access import access
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Probe, Workload
from valkey_operator.core.risks import risks
from valkey_operator.core.topology import Topology

NO_TLS = Reason.EXTERNAL_ACCESS_WITHOUT_TLS


def found(seen, *mistakes):
    return {lack.reason: lack.message for lack in risks(seen, Topology.of(seen), access(seen, now=NOW), mistakes, now=NOW)}


def test_a_plain_cluster_has_no_risks():
    assert found(observed()) == {}


def test_mistakes_in_secrets_of_users_are_told():
    assert found(observed(), "user app: Secret x does not exist") == {Reason.USERS_ACL_ERROR: "user app: Secret x does not exist"}


def test_outside_without_tls_is_told():
    assert found(READY) == {
        NO_TLS: "clients outside talk to the servers without TLS: whoever is on the way can read passwords and data"
    }


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ({"name": "default", "nopass": True}, True),
        ({"name": "default", "nopass": True, "enabled": False}, False),
        ({"name": "default"}, False),
        ({"name": "default", "permissions": "nopass ~* &* +@all"}, True),
        ({"name": "app", "nopass": True}, False),
    ],
)
def test_an_open_default_user_is_told_where_clients_outside_reach_it(user, told):
    assert (Reason.DEFAULT_USER_OPEN in found(observed(TYPE, spec={"users": [user]}))) is told
    assert Reason.DEFAULT_USER_OPEN not in found(observed(spec={"users": [user]}))


def test_a_preferred_port_that_was_taken_is_told_with_what_there_is_instead():
    preferring = {**TYPE, "nodePort": {"startPort": 31200, "bootstrapPort": 31199}}
    moved = service("orders-0", AllocatedPort("np-0", 30500, 30500), AllocatedPort("np-1", 31300, 31300))
    assert Reason.PREFERRED_PORT_TAKEN not in found(observed(preferring, *SERVICES))
    assert found(observed(preferring, moved, *SERVICES[1:]))[Reason.PREFERRED_PORT_TAKEN] == (
        "node ports asked for by spec.externalAccess.nodePort.startPort were taken or are outside the API server's range: "
        "31200 of node 0-0 (it has 30500); what was allocated instead is kept for ever"
    )
    bootstrap = service("orders", AllocatedPort("np-bootstrap", 30600, 30600), kind="bootstrap")
    assert found(observed(preferring, bootstrap, *SERVICES))[Reason.PREFERRED_PORT_TAKEN] == (
        "node port 31199 asked for by spec.externalAccess.nodePort.bootstrapPort was taken or is outside the API server's range; "
        "30600 is kept for ever"
    )


def test_a_host_that_does_not_follow_the_pod_is_told_where_only_its_machine_answers():
    local = {**TYPE, "externalTrafficPolicy": "Local"}
    assert Reason.LOCAL_TRAFFIC_POLICY not in found(observed(local, *SERVICES))
    assert Reason.LOCAL_TRAFFIC_POLICY in found(observed({**local, "advertisedHost": "a.example.com"}, *SERVICES))


def test_replicas_that_cannot_be_reached_one_by_one_are_told():
    access = {"type": "Ingress", "advertisedHost": "{name}-{shard}.example.com"}
    assert Reason.REPLICAS_NOT_REACHABLE in found(observed(access))
    assert Reason.REPLICAS_NOT_REACHABLE not in found(observed({**access, "advertisedHost": "{name}-{shard}-{node}.example.com"}))


def test_source_ranges_that_keep_pods_out_are_told():
    balanced = {"type": "LoadBalancer", "loadBalancerSourceRanges": ["203.0.113.0/24"]}
    assert Reason.SOURCE_RANGES in found(observed(balanced))
    assert Reason.SOURCE_RANGES not in found(observed({**balanced, "loadBalancerSourceRanges": ["203.0.113.0/24", "10.0.0.0/8"]}))


@pytest.mark.parametrize(
    ("access", "left_out"),
    [
        ({"type": "LoadBalancer"}, "of-a-node"),
        ({"type": "LoadBalancer", "loadBalancerScope": "Cluster"}, "of-a-node, of-a-shard"),
        ({"type": "LoadBalancer", "loadBalancerScope": "Node"}, None),
        ({"type": "NodePort"}, "of-a-node"),
        ({"type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com"}, None),
    ],
)
def test_annotations_that_no_service_can_have_are_told(access, left_out):
    annotations = {"of-all": "{name}", "of-a-shard": "{name}-{shard}", "of-a-node": "{name}-{shard}-{node}"}
    told = found(observed({**access, "serviceAnnotations": annotations})).get(Reason.ANNOTATIONS_LEFT_OUT)
    if left_out is None:
        assert told is None
    else:
        assert told.startswith(f"spec.externalAccess.serviceAnnotations has values that no Service can have: {left_out}; ")


def test_endpoints_that_the_operator_could_not_reach_are_told():
    first = NodeIndex(0, 0)
    seen = waiting(probed(READY, first, Probe(None, "timed out")), first, since="2026-03-01T11:00:00Z")
    assert found(seen)[Reason.ENDPOINTS_UNPROVEN] == (
        "the operator gets no answer at the endpoints of nodes 0-0, which are announced all the same: "
        "make sure that clients outside can reach them"
    )


def test_what_a_cloud_says_of_endpoints_that_the_operator_could_not_reach_is_told_once():
    seen = replace(
        refusing(refusing(balanced(), NodeIndex(0, 0)), NodeIndex(0, 1)),
        service_warnings={"orders-0": "SyncLoadBalancerFailed: too many listeners"},
    )
    later = access(seen, now=NOW)
    unproven = replace(later, withheld={}, unproven=frozenset({NodeIndex(0, 0), NodeIndex(0, 1)}))
    told = {lack.reason: lack.message for lack in risks(seen, Topology.of(seen), unproven, (), now=NOW)}
    assert told[Reason.ENDPOINTS_UNPROVEN] == (
        "the operator gets no answer at the endpoints of nodes 0-0, 0-1, which are announced all the same: "
        "make sure that clients outside can reach them (Service orders-0: SyncLoadBalancerFailed: too many listeners)"
    )


def test_pods_of_an_earlier_spec_are_told():
    work = {index: Workload(f"valkey-orders-{index}", f"w-{index}", "r2" if index == NodeIndex(1, 0) else "r1") for index in NODES}
    assert found(replace(observed(), workloads=work)) == {
        Reason.PODS_OUTDATED: "1 pods were made from an earlier spec (valkey-orders-1-0-0 is the first): this version does not replace them "
        "by itself; delete them one by one, replicas first, and wait for Ready in between"
    }
    unseen = {index: replace(each, update_revision="") for index, each in work.items()}
    assert found(replace(observed(), workloads=unseen)) == {}


def test_a_short_grace_period_is_told():
    assert found(observed(spec={"terminationGracePeriodSeconds": 14})).keys() == {Reason.GRACE_PERIOD_TOO_SHORT}
    assert found(observed(spec={"terminationGracePeriodSeconds": 15})) == {}


def test_risks_of_external_access_are_none_while_it_is_off():
    seen = observed(
        {"enabled": False, **TYPE, "externalTrafficPolicy": "Local", "advertisedHost": "a.example.com"}, *SERVICES, told=OUTSIDE
    )
    assert found(replace(seen, pods={index: pod(index) for index in NODES})) == {}
