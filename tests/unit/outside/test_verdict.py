from dataclasses import replace

import pytest

from unit.outside.given import HOSTS, dial, node_id, orders, port, seen
from valkey_operator.outside.seen import Dial, Failure, Redirect, Seen, Told
from valkey_operator.outside.verdict import verdict


def found(seen_there, of=None):
    """What is wrong, by address (or node, where it has none)."""
    rows = verdict(of or orders(), seen_there).rows
    return {
        str(row.pair or row.indexes[0]): [(finding.problem.value, finding.message) for finding in row.findings]
        for row in rows
        if row.findings
    }


def failing(failure, detail="", shard=1, node=0):
    return {f"at_{shard}_{node}": {"failure": failure, "detail": detail, "id": "", "told": (), "redirect": None, "milliseconds": 0}}


def test_nothing_is_wrong_when_all_is_as_the_status_says():
    result = verdict(orders(), seen())
    assert result.is_well
    assert [row.role for row in result.rows] == ["primary", "replica"] * 3 + ["start"]
    assert {row.milliseconds for row in result.rows} == {3}


@pytest.mark.parametrize(
    ("failure", "detail", "problem", "message"),
    [
        (Failure.NO_ROUTE, "Network is unreachable", "NoRoute", "there is no route to 192.0.2.11: Network is unreachable"),
        (Failure.REFUSED, "", "PortClosed", "192.0.2.11 refuses connections to port 31201"),
        (Failure.CUT, "in the TLS handshake", "ConnectionCut", "the connection to 192.0.2.11 is cut: in the TLS handshake"),
        (
            Failure.SILENT,
            "to AUTH within 3 s",
            "Silent",
            "192.0.2.11 accepts the connection and then says nothing: to AUTH within 3 s",
        ),
        (Failure.NO_TLS, "WRONG_VERSION_NUMBER", "NoTLS", "192.0.2.11 does not speak TLS: WRONG_VERSION_NUMBER"),
        (Failure.UNTRUSTED, "", "CertificateUntrusted", "the certificate is signed by nobody who is trusted"),
        (Failure.WRONG_NAME, "x", "CertificateWrongName", "the certificate does not cover 192.0.2.11: x"),
        (Failure.EXPIRED, "x", "CertificateExpired", "the certificate is out of its time: x"),
        (Failure.LOGIN_REFUSED, "WRONGPASS", "LoginRefused", "the login is refused: WRONGPASS"),
        (Failure.NOT_VALKEY, "", "NotValkey", "what answers is no Valkey"),
        (Failure.NOT_WORKING, "CLUSTERDOWN", "NotWorking", "the server does not work: CLUSTERDOWN"),
    ],
)
def test_a_dial_that_ends_is_told_at_its_address_alone(failure, detail, problem, message):
    assert found(seen(**failing(failure, detail))) == {"192.0.2.11:31201": [(problem, message)]}


def test_a_name_that_does_not_resolve_is_told_with_the_resolvers_words():
    there = [replace(each, dials=(), detail="Name or service not known") if each.port == 31201 else each for each in seen()]
    assert found(there) == {"192.0.2.11:31201": [("NameDoesNotResolve", "192.0.2.11 does not resolve: Name or service not known")]}


def test_one_port_that_does_not_answer_is_not_a_kept_away_machine():
    (problem,) = found(seen(**failing(Failure.UNANSWERED)))["192.0.2.11:31201"]
    assert problem == ("Unanswered", "192.0.2.11 does not answer")


def test_a_machine_of_which_no_port_answers_while_others_do_is_kept_away_and_named():
    there = seen(**failing(Failure.UNANSWERED, shard=1, node=0), **failing(Failure.UNANSWERED, shard=0, node=1))
    message = "192.0.2.11 (Kubernetes node machine-1) answers at no port, while other addresses do"
    assert found(there) == {
        "192.0.2.11:31300": [("AddressKeptAway", message)],
        "192.0.2.11:31201": [("AddressKeptAway", message)],
    }


def test_when_nothing_answers_anywhere_no_single_machine_is_kept_away():
    silent = {"failure": Failure.UNANSWERED, "id": "", "told": (), "redirect": None}
    there = seen(start=silent, **{f"at_{shard}_{node}": silent for shard, node in HOSTS})
    assert {problem for problems in found(there).values() for problem, _ in problems} == {"Unanswered"}


def test_of_a_name_with_two_addresses_the_one_that_fails_is_told():
    there = [
        replace(each, dials=(*each.dials, Dial(ip="192.0.2.99", failure=Failure.REFUSED))) if each.port == 31201 else each
        for each in seen()
    ]
    assert found(there) == {"192.0.2.11:31201": [("PortClosed", "192.0.2.99 refuses connections to port 31201")]}


def test_a_family_that_this_client_does_not_have_is_no_problem_while_the_other_works():
    there = [
        replace(each, dials=(*each.dials, Dial(ip="2001:db8::1", failure=Failure.NO_ROUTE))) if each.port == 31201 else each
        for each in seen()
    ]
    assert found(there) == {}


def test_of_a_name_with_two_addresses_the_slower_one_counts():
    there = [
        replace(each, dials=(*each.dials, replace(each.dials[0], ip="192.0.2.99", milliseconds=80))) if each.port == 31201 else each
        for each in seen()
    ]
    assert [row.milliseconds for row in verdict(orders(), there).rows] == [3, 3, 80, 3, 3, 3, 3]


def test_another_node_behind_an_endpoint_is_named():
    there = seen(at_1_0={"id": node_id(2, 0)})
    assert found(there)["192.0.2.11:31201"] == [("WrongNode", "node 2-0 answers here")]


def test_a_server_of_nobody_behind_an_endpoint_is_told_by_its_id():
    (finding,) = found(seen(at_1_0={"id": "ab" * 20}))["192.0.2.11:31201"]
    assert finding == ("WrongNode", "a server that no ValkeyNode knows (id abababab…) answers here")


def test_a_node_whose_id_is_not_known_yet_may_be_any():
    of = orders()
    of = replace(of, nodes=tuple(replace(node, id="") if str(node.index) == "1-0" else node for node in of.nodes))
    assert "192.0.2.11:31201" not in found(seen(at_1_0={"id": "ab" * 20}), of)


def telling(host, told_port, by=("CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER NODES")):
    """One server that tells this pair for node 1-0."""
    others = tuple(each for each in dial(2, 0).told if each.id != node_id(1, 0) or each.by not in by)
    return {"told": (*others, *(Told(command, node_id(1, 0), host, told_port) for command in by)), "redirect": None}


@pytest.mark.parametrize("host", ["", "?"])
def test_an_unknown_host_is_told_at_the_node_that_clients_cannot_find(host):
    commands = "CLUSTER NODES, CLUSTER SHARDS, CLUSTER SLOTS"
    assert found(seen(at_2_0=telling(host, 31201))) == {
        "192.0.2.11:31201": [("HostUnknown", f"1 of 6 servers tell clients ?:31201 for node 1-0 ({commands})")]
    }


@pytest.mark.parametrize("host", ["10.0.1.0", "valkey-orders-1-0-0.valkey-orders.shop.svc"])
def test_an_internal_address_is_told_with_who_tells_it(host):
    (finding,) = found(seen(at_2_0=telling(host, 6379, by=("CLUSTER SLOTS",))))["192.0.2.11:31201"]
    assert finding == (
        "InternalAddress",
        f"1 of 6 servers tell clients the internal address {host}:6379 for node 1-0 (CLUSTER SLOTS)",
    )


def test_another_address_than_the_status_has_is_told():
    (finding,) = found(seen(at_2_0=telling("192.0.2.11", 31999, by=("CLUSTER NODES",))))["192.0.2.11:31201"]
    assert finding == (
        "OtherAddress",
        "1 of 6 servers tell clients another address, 192.0.2.11:31999, for node 1-0 (CLUSTER NODES)",
    )


def test_a_redirect_is_compared_as_well():
    there = seen(at_0_0={"redirect": Redirect(100, node_id(1, 0), "10.0.1.0", 6379, "")})
    (finding,) = found(there)["192.0.2.11:31201"]
    assert finding == ("InternalAddress", "1 of 6 servers tell clients the internal address 10.0.1.0:6379 for node 1-0 (MOVED)")


def test_a_redirect_that_leads_on_is_told_where_it_begins():
    there = seen(at_0_0={"redirect": Redirect(100, node_id(1, 0), "192.0.2.11", 31201, "MOVED 100 192.0.2.10:31200")})
    assert found(there)["192.0.2.10:31200"] == [
        (
            "RedirectFailed",
            "it sends clients on for slot 100 to 192.0.2.11:31201, which answers MOVED 100 192.0.2.10:31200",
        )
    ]


def test_that_a_redirect_fails_where_another_node_answers_is_told_once():
    redirect = Redirect(100, node_id(1, 0), "192.0.2.11", 31201, "MOVED 100 192.0.2.11:31201")
    assert list(found(seen(at_0_0={"redirect": redirect}, at_1_0={"id": node_id(2, 0)}))) == ["192.0.2.11:31201"]


def test_a_node_of_which_servers_do_not_tell_is_missing():
    quiet = {"told": tuple(each for each in dial(0, 0).told if each.id != node_id(1, 1))}
    assert found(seen(at_0_0=quiet, start=quiet, at_2_0=quiet)) == {
        "192.0.2.12:31301": [("NotTold", "2 of 6 servers do not tell clients of node 1-1")]
    }


def test_a_replica_may_be_missing_from_the_slots_while_other_commands_tell_it():
    fewer = tuple(each for each in dial(0, 0).told if (each.by, each.id) != ("CLUSTER SLOTS", node_id(1, 1)))
    assert found(seen(at_0_0={"told": fewer})) == {}


def test_who_may_not_ask_is_not_taken_for_a_server_that_tells_nothing():
    there = seen(at_0_0={"told": (), "refused": ("CLUSTER SLOTS", "CLUSTER NODES"), "redirect": None})
    assert found(there) == {"192.0.2.10:31200": [("NotPermitted", "the user may not call CLUSTER SLOTS, CLUSTER NODES")]}


def test_a_server_that_may_not_tell_its_id_is_not_compared():
    (finding,) = found(seen(at_0_0={"id": "", "refused": ("CLUSTER MYID", "CLUSTER NODES")}))["192.0.2.10:31200"]
    assert finding[0] == "NotPermitted"


def test_what_the_operator_has_not_announced_is_told_and_a_node_without_an_endpoint_too():
    external = orders()
    first, *rest = external.endpoints
    of = replace(external, endpoints=(replace(first, announced=False), *(each for each in rest if str(each.index) != "2-1")))
    there = [each for each in seen() if each.port != port(2, 1)]
    assert found(there, of) == {
        "192.0.2.10:31200": [("NotAnnounced", "the operator has not announced node 0-0 to all clients")],
        "2-1": [("NoEndpoint", "it has no endpoint")],
    }


def test_no_machine_is_named_where_a_name_or_a_balancer_is_dialled():
    of = replace(orders(), type="LoadBalancer")
    there = seen(**failing(Failure.UNANSWERED, shard=1, node=0), **failing(Failure.UNANSWERED, shard=0, node=1))
    assert found(there, of)["192.0.2.11:31201"][0][1] == "192.0.2.11 answers at no port, while other addresses do"


def test_a_shards_own_address_is_one_row_for_all_its_nodes():
    nodes = [{"node": n, "role": "replica" if n else "primary", "host": "o", "port": 6380, "announced": True} for n in (0, 1)]
    of = orders(endpoints=[{"shard": 0, "nodes": nodes}], bootstrap=None)
    of = replace(of, nodes=of.nodes[:2])
    pair = tuple(Told("CLUSTER SLOTS", node_id(0, node), "o", 6380) for node in (0, 1))
    there = [Seen("o", 6380, (Dial(ip="192.0.2.50", milliseconds=1, id=node_id(0, 0), told=pair),))]
    (row,) = verdict(of, there).rows
    assert (row.role, [str(index) for index in row.indexes], row.findings) == ("shard", ["0-0", "0-1"], ())
