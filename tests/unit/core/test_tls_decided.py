"""What a pass does for a cluster with TLS, from the first certificate to the last authority."""

from dataclasses import replace
from datetime import timedelta

import pytest

from unit.core.edits import changed, configured
from unit.core.given import EARLIER, NODES, NOW, observed, pod
from unit.core.secured import END, INSIDE, certificate, secured
from unit.core.test_access import SERVICES, TYPE
from valkey_operator.api.conditions import ConditionType
from valkey_operator.core import plan
from valkey_operator.core.certificates import Flawed
from valkey_operator.core.decide import decide
from valkey_operator.core.exposure import exposure
from valkey_operator.core.observed import Announcement, Probe, Tls
from valkey_operator.core.plan import Announce, AnnounceFile, Ensure, PodLabels, Record, SetConfig, Tell
from valkey_operator.core.rest import undisturbed

NODE = NODES[0]
ONE, TWO = certificate("one"), certificate("two")
SETTLED = Tls(offered=ONE, standing=ONE, standing_since=EARLIER)
CHANGING = Tls(offered=TWO, standing=TWO, standing_since=NOW - timedelta(seconds=1), previous=ONE)
REFUSED = Tls(offered=Flawed(("it does not exist: create it",)), standing=None)
NAMED = {**TYPE, "advertisedHost": "{name}-{shard}-{node}.example.com", "announceWhen": "Always"}
OUTSIDE = certificate("one", *INSIDE, "*.example.com")


def ensured(seen, kind, now=NOW):
    return [
        action.wanted for action in decide(seen, now=now).actions if isinstance(action, Ensure) and isinstance(action.wanted, kind)
    ]


def actions(seen, kind):
    return [action for action in decide(seen, now=NOW).actions if isinstance(action, kind)]


def condition(seen, type_, now=NOW):
    found = decide(seen, now=now).status.condition(type_)
    return (found.status.value, found.reason, found.message) if found is not None else None


def formed(seen):
    return replace(seen, cluster=replace(seen.cluster, status=decide(seen, now=NOW).status))


# --- the first certificate


def test_no_server_is_made_before_there_is_a_certificate():
    bare = secured(REFUSED, pods={}, servers={})
    assert (ensured(bare, plan.ServerWorkload), ensured(bare, plan.TlsSecret)) == ([], [])
    said = "Secret orders-cert: it does not exist: create it; no server starts before that"
    assert condition(bare, ConditionType.READY) == ("False", "CertificateInvalid", said)
    assert condition(bare, ConditionType.DEGRADED) == ("True", "CertificateInvalid", said)


def test_a_good_certificate_is_written_first():
    bare = secured(Tls(offered=ONE, standing=None), pods={}, servers={})
    assert ensured(bare, plan.TlsSecret) == [plan.TlsSecret(ONE.files, since="2026-03-01T12:00:00Z")]
    assert ensured(bare, plan.ServerWorkload) == []
    assert len(ensured(secured(SETTLED, pods={}, servers={}), plan.ServerWorkload)) == 6


def test_servers_have_no_plain_port():
    (found,) = ensured(secured(SETTLED), plan.ServerConfig)
    lines = found.text.splitlines()
    assert {"port 0", "tls-port 6379", "tls-cluster yes", "tls-replication yes", "tls-auth-clients no"} <= set(lines)
    assert [line for line in lines if line.startswith("port ")] == ["port 0"]


def test_applications_are_told_whom_to_trust_and_a_host_that_they_can_verify():
    for names, host in (
        (INSIDE, "valkey-orders.shop.svc"),
        (("valkey-orders.shop.svc.cluster.local",), "valkey-orders.shop.svc.cluster.local"),
        (("a.example.com",), "valkey-orders.shop.svc"),
    ):
        only = certificate("one", *names)
        (found,) = ensured(secured(Tls(offered=only, standing=only)), plan.ConnectionSecret)
        assert (found.host, found.authorities) == (host, "A")


# --- places inside


def test_the_pods_name_stands_in_the_file_before_the_pod_starts():
    files = ensured(secured(SETTLED, pods={}, servers={}), AnnounceFile)
    assert len(files) == 6
    assert files[0].text == (
        'cluster-announce-hostname "valkey-orders-0-0-0.valkey-orders.shop.svc"\n'
        'cluster-announce-client-ipv4 ""\n'
        'cluster-announce-client-ipv6 ""\n'
        'cluster-announce-client-tls-port "0"\n'
    )


def test_without_a_name_that_the_certificate_covers_there_is_no_file():
    only = certificate("one", "a.example.com")
    assert ensured(secured(Tls(offered=only, standing=only)), AnnounceFile) == []


def test_a_server_that_announces_its_address_is_told_its_pods_name():
    seen = configured(secured(SETTLED), NODE, cluster_announce_hostname="10.0.0.0")
    (found,) = actions(seen, Announce)
    assert (found.index, found.record) == (NODE, Record(NODE, None))
    assert found.values["cluster-announce-hostname"] == "valkey-orders-0-0-0.valkey-orders.shop.svc"


# --- at rest, and another certificate


def test_a_settled_cluster_is_left_alone():
    seen = formed(secured(SETTLED, files=frozenset(NODES)))
    found = decide(seen, now=NOW)
    assert [action for action in found.actions if not isinstance(action, Ensure)] == []
    assert ensured(seen, PodLabels) == []
    assert (found.wake_after, found.quiet) == (15.0, True)
    assert all(undisturbed(seen, index, now=NOW) for index in NODES)
    assert {status.certificate for status in found.node_status.values()} == {"one"}


def test_servers_are_told_the_new_files_and_kubelets_are_called():
    seen = secured(CHANGING, loaded=ONE)
    assert [tell.command for tell in actions(seen, Tell)] == [SetConfig(TWO.files.settings())] * 6
    labels = ensured(seen, PodLabels)
    assert {found.certificate for found in labels} == {TWO.files.digest}
    assert {(found.role, found.serving) for found in labels} == {("primary", True), ("replica", True)}
    assert decide(seen, now=NOW).wake_after == 0.3


def test_a_kubelet_is_called_once():
    called = {index: pod(index, certificate=TWO.files.digest) for index in NODES}
    assert ensured(secured(CHANGING, loaded=ONE, pods=called), PodLabels) == []


def test_what_called_a_kubelet_stays_on_the_pod():
    called = {index: pod(index, certificate="earlier", role="replica") for index in NODES}
    labels = ensured(secured(SETTLED, pods=called), PodLabels)
    assert {(found.role, found.certificate) for found in labels} == {("primary", "earlier")}


def test_what_a_handshake_showed_is_in_the_nodes_status():
    seen = changed(secured(CHANGING), NODE, served_certificate="zero")
    statuses = decide(seen, now=NOW).node_status
    assert [statuses[index].certificate for index in NODES[:2]] == ["zero", "two"]
    unasked = changed(secured(CHANGING), NODE, served_certificate=None)
    assert decide(unasked, now=NOW).node_status[NODE].certificate == "two"


def test_the_cluster_is_ready_while_another_certificate_is_loaded():
    seen = secured(CHANGING, loaded=ONE)
    assert condition(seen, ConditionType.READY)[0] == "True"
    assert condition(seen, ConditionType.DEGRADED)[0] == "False"


def test_a_bad_secret_leaves_the_cluster_ready_and_is_told():
    seen = secured(replace(SETTLED, offered=Flawed(("has no key ca.crt",))))
    assert condition(seen, ConditionType.READY)[0] == "True"
    assert condition(seen, ConditionType.DEGRADED) == (
        "True",
        "CertificateInvalid",
        (
            "Secret orders-cert: has no key ca.crt; servers keep the certificate that they have, which is valid until "
            "2026-05-01T12:00:00Z"
        ),
    )
    assert decide(seen, now=NOW).status.state == "Degraded"


def test_what_servers_do_not_load_is_tried_less_and_less_often():
    seen = secured(replace(CHANGING, standing_since=EARLIER), loaded=ONE)
    assert decide(seen, now=NOW).wake_after == 5.0
    assert condition(seen, ConditionType.DEGRADED)[1] == "CertificateInvalid"


@pytest.mark.parametrize(
    "edit",
    [
        {"config": {"tls-cert-file": "elsewhere"}},
        {"served_certificate": "zero"},
    ],
)
def test_a_look_at_rest_notices_another_certificate(edit):
    seen = formed(secured(SETTLED))
    server = seen.servers[NODE]
    other = replace(server, **(edit | {"config": server.config | edit.get("config", {})}))
    assert not undisturbed(replace(seen, servers={NODE: other}), NODE, now=NOW)


def test_a_look_at_rest_notices_that_time_has_come_to_warn():
    seen = formed(secured(SETTLED))
    assert undisturbed(seen, NODE, now=END - timedelta(days=15))
    assert not undisturbed(seen, NODE, now=END - timedelta(days=13))
    warned = replace(seen, cluster=replace(seen.cluster, status=decide(seen, now=END - timedelta(days=13)).status))
    assert undisturbed(warned, NODE, now=END - timedelta(days=12))
    assert not undisturbed(warned, NODE, now=END)


# --- warnings


def test_a_certificate_that_expires_is_warned_of():
    assert condition(secured(SETTLED), ConditionType.CONFIGURATION_WARNING) is None
    assert condition(secured(SETTLED), ConditionType.CONFIGURATION_WARNING, END - timedelta(days=1)) == (
        "True",
        "CertificateExpires",
        "the servers' certificate expires at 2026-05-01T12:00:00Z: put a new one into Secret orders-cert",
    )


def test_names_that_clients_inside_need_are_warned_of():
    only = certificate("one", "a.example.com")
    assert condition(secured(Tls(offered=only, standing=only)), ConditionType.CONFIGURATION_WARNING) == (
        "True",
        "CertificateMissingNames",
        (
            "the servers' certificate does not cover valkey-orders.shop.svc and *.valkey-orders.shop.svc: clients inside Kubernetes that "
            "verify names cannot connect by them, and are told pod addresses; issue it with these names"
        ),
    )


def test_addresses_outside_that_nobody_chose_are_warned_of():
    seen = secured(SETTLED, *SERVICES, access=TYPE)
    assert condition(seen, ConditionType.CONFIGURATION_WARNING) == (
        "True",
        "CertificateMissingNames",
        (
            "the servers' certificate does not cover 192.0.2.11, 192.0.2.12, 192.0.2.13, where clients outside dial: those that verify names "
            "cannot connect; issue it with these addresses, or set spec.externalAccess.advertisedHost to names that it covers"
        ),
    )


def test_without_tls_it_is_said_that_there_is_none():
    assert condition(observed(TYPE, *SERVICES), ConditionType.CONFIGURATION_WARNING)[1] == "ExternalAccessWithoutTLS"


# --- outside


def outside(tls, **more):
    """With names outside, whose endpoints all answer."""
    seen = secured(tls, *SERVICES, access=NAMED, **more)
    endpoints = exposure(seen.cluster).endpoints(seen)
    return replace(
        seen, probes={endpoint: Probe(f"id-{index}") for index, endpoint in endpoints.items() if isinstance(endpoint, Announcement)}
    )


def test_nothing_is_announced_while_the_certificate_lacks_a_name():
    seen = outside(SETTLED)
    assert actions(seen, Announce) == []
    assert condition(seen, ConditionType.EXTERNAL_ACCESS_READY) == (
        "False",
        "CertificateMissingNames",
        (
            "the servers' certificate does not cover orders-0-0.example.com, orders-0-1.example.com, orders-1-0.example.com, "
            "orders-1-1.example.com, orders-2-0.example.com, orders-2-1.example.com: issue it with these names, or with wildcards for their "
            "first label"
        ),
    )


def test_names_that_it_covers_are_announced_by_the_port_for_tls():
    found = actions(outside(replace(SETTLED, offered=OUTSIDE, standing=OUTSIDE)), Announce)
    assert len(found) == 6
    assert found[0].values == {
        "cluster-announce-hostname": "orders-0-0.example.com",
        "cluster-announce-client-ipv4": "192.0.2.11",
        "cluster-announce-client-tls-port": "31200",
    } | {"cluster-announce-client-ipv6": ""}


def test_a_missing_name_of_all_shards_holds_the_first_announcement_up_too():
    seen = outside(replace(SETTLED, offered=OUTSIDE, standing=OUTSIDE))
    spec = seen.cluster.spec
    named = spec.model_copy(update={"external_access": spec.external_access.model_copy(update={"bootstrap_host": "a.example.org"})})
    assert actions(replace(seen, cluster=replace(seen.cluster, spec=named)), Announce) == []


def test_names_of_a_new_certificate_are_announced_by_each_server_that_serves_it():
    new = certificate("two", *INSIDE, "*.example.com")
    tls = replace(CHANGING, offered=new, standing=new)
    assert actions(outside(tls, loaded=ONE), Announce) == []
    assert condition(outside(tls, loaded=ONE), ConditionType.EXTERNAL_ACCESS_READY)[1:] == (
        "CertificateMissingNames",
        "; ".join(f"the server of node {index} has no certificate yet that covers orders-{index}.example.com" for index in NODES),
    )
    assert len(actions(outside(tls), Announce)) == 6


def test_an_expired_certificate_keeps_clients_outside_away():
    seen = outside(replace(SETTLED, offered=OUTSIDE, standing=OUTSIDE))
    assert condition(seen, ConditionType.EXTERNAL_ACCESS_READY, END)[:2] == ("False", "CertificateInvalid")
