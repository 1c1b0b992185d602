from dataclasses import replace
from datetime import timedelta

import pytest

from unit.core.given import EARLIER, NODES, NOW, observed, pod
from unit.core.secured import END, INSIDE, certificate, secured
from valkey_operator.core import tls
from valkey_operator.core.certificates import Files, Flawed
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Tls, Unreachable
from valkey_operator.core.plan import TlsSecret

NODE = NodeIndex(0, 1)
ONE = certificate("one")
STAMP = "2026-03-01T12:00:00Z"
KEPT = "; servers keep the certificate that they have, which is valid until 2026-05-01T12:00:00Z"
EXTERNAL = {"type": "NodePort", "advertisedHost": "{name}-{shard}-{node}.example.com", "bootstrapHost": "{name}.example.org"}
OUTSIDE = ("*.example.com", "orders.example.org")


def standing(offered, **more):
    return Tls(offered=offered, standing=more.pop("standing", ONE), standing_since=EARLIER, **more)


def verdict(seen, now=NOW):
    return tls.verdict(seen, now=now)


def wanted(seen, now=NOW):
    return verdict(seen, now).wanted.files


def trouble(seen, now=NOW):
    found = verdict(seen, now).trouble
    return (found.reason, found.message, found.serious) if found is not None else None


# --- the first certificate


def test_a_cluster_without_tls_needs_none():
    assert verdict(observed()) == tls.Verdict(None, None)


def test_a_good_certificate_is_taken():
    assert verdict(secured(Tls(offered=ONE, standing=None))) == tls.Verdict(TlsSecret(ONE.files, since=STAMP), None)


@pytest.mark.parametrize(
    ("offered", "says"),
    [
        (
            Flawed(("it does not exist: create it with the keys tls.crt, tls.key and ca.crt",)),
            "it does not exist: create it with the keys tls.crt, tls.key and ca.crt",
        ),
        (Flawed(("has no key ca.crt", "tls.key is encrypted")), "has no key ca.crt; tls.key is encrypted"),
        (certificate(ends=NOW), "the certificate expired at 2026-03-01T12:00:00Z: put a new one into it"),
        (
            certificate(begins=END),
            "the certificate is not valid before 2026-05-01T12:00:00Z: put one into it that is valid now",
        ),
    ],
)
def test_without_a_good_certificate_no_server_starts(offered, says):
    seen = secured(Tls(offered=offered, standing=None))
    assert verdict(seen).wanted is None
    assert trouble(seen) == ("CertificateInvalid", f"Secret orders-cert: {says}; no server starts before that", True)


# --- another certificate


def test_what_stands_stays_while_nothing_else_is_offered():
    assert verdict(secured(standing(ONE))) == tls.Verdict(TlsSecret(ONE.files, since="2026-03-01T11:00:00Z"), None)


def test_what_stood_before_stays_known():
    before = certificate("zero")
    assert verdict(secured(standing(ONE, previous=before))).wanted.previous == ("zero", "A")


@pytest.mark.parametrize(
    ("offered", "says"),
    [
        (Flawed(("it does not exist: create it",)), "it does not exist: create it"),
        (certificate("two", ends=NOW), "the certificate expired at 2026-03-01T12:00:00Z: put a new one into it"),
    ],
)
def test_a_bad_secret_changes_nothing_and_is_told(offered, says):
    seen = secured(standing(offered))
    assert wanted(seen) == ONE.files
    assert trouble(seen) == ("CertificateInvalid", f"Secret orders-cert: {says}{KEPT}", True)


def test_a_new_certificate_of_the_same_authority_is_loaded_at_once():
    two = certificate("two")
    for loaded in (ONE, certificate("zero")):
        seen = secured(standing(two, offered_trusted=True, standing_trusted=True), loaded=loaded)
        assert verdict(seen) == tls.Verdict(TlsSecret(two.files, since=STAMP, previous=("one", "A")), None)


def test_a_certificate_of_an_authority_that_nobody_trusts_yet_is_held():
    seen = secured(standing(certificate("two", authorities="B")))
    assert wanted(seen) == ONE.files
    assert trouble(seen) == (
        "CertificateInvalid",
        (
            "Secret orders-cert: the certificate is of an authority that the servers do not trust yet: let ca.crt hold the old and the new "
            f"authority until every server serves the new certificate, and drop the old one then{KEPT}"
        ),
        True,
    )


def test_a_new_authority_comes_before_a_certificate_of_it():
    offered = certificate("two", authorities="AB")
    seen = secured(standing(offered, standing_trusted=True))
    assert verdict(seen) == tls.Verdict(TlsSecret(Files("one", "key of one", "AB"), since=STAMP, previous=("one", "A")), None)


def test_a_certificate_of_a_new_authority_waits_until_every_server_trusts_it():
    both = certificate("one", authorities="AB")
    seen = secured(
        standing(certificate("two", authorities="AB"), standing=both, previous=ONE, offered_trusted=True, standing_trusted=True),
        loaded=ONE,
    )
    assert (wanted(seen), trouble(seen, EARLIER)) == (both.files, None)
    assert wanted(secured(seen.tls)) == Files("two", "key of two", "AB")


def test_an_authority_goes_after_the_last_certificate_of_it():
    two, offered = certificate("two", authorities="AB"), certificate("two", authorities="B")
    asked = standing(
        offered, standing=two, previous=certificate("one", authorities="AB"), offered_trusted=True, standing_trusted=True
    )
    assert wanted(secured(asked, loaded=certificate("one", authorities="AB"))) == two.files
    assert wanted(secured(asked)) == offered.files


def test_a_new_certificate_that_drops_the_old_authority_is_loaded_in_two_steps():
    both = certificate("one", authorities="AB")
    asked = standing(certificate("two", authorities="B"), standing=both, offered_trusted=True)
    assert wanted(secured(asked)) == Files("two", "key of two", "AB")


def test_a_server_that_cannot_be_asked_is_waited_for_while_authorities_change():
    asked = standing(certificate("one", authorities="AB"), offered_trusted=True, standing_trusted=True)
    seen = secured(asked)
    silent = replace(seen, servers=seen.servers | {NODE: Unreachable("timed out")})
    assert (wanted(seen), wanted(silent)) == (Files("one", "key of one", "AB"), ONE.files)
    gone = replace(silent, pods=silent.pods | {NODE: pod(NODE, running=False)})
    assert wanted(gone) == Files("one", "key of one", "AB")


def test_going_back_waits_for_nobody():
    asked = standing(ONE, standing=certificate("one", authorities="AB"), previous=ONE, offered_trusted=True, standing_trusted=True)
    assert wanted(secured(asked, loaded=ONE)) == ONE.files


def test_where_the_time_of_what_stands_is_over_anything_good_is_better():
    old, new = certificate("old", ends=NOW), certificate("new", authorities="B")
    assert verdict(secured(standing(new, standing=old))) == tls.Verdict(
        TlsSecret(new.files, since=STAMP, previous=("old", "A")), None
    )


def test_an_expired_certificate_is_told_once():
    old = certificate("old", ends=NOW)
    assert trouble(secured(standing(old, standing=old))) == (
        "CertificateInvalid",
        "Secret orders-cert: the certificate expired at 2026-03-01T12:00:00Z: put a new one into it",
        True,
    )


# --- names


def test_a_certificate_without_names_that_clients_dial_is_held():
    asked = standing(
        certificate("two", *INSIDE), standing=certificate("one", *OUTSIDE), offered_trusted=True, standing_trusted=True
    )
    seen = secured(asked, access=EXTERNAL)
    assert wanted(seen).certificate == "one"
    reason, message, _ = trouble(seen)
    assert (reason, message) == (
        "CertificateMissingNames",
        (
            "Secret orders-cert: the certificate does not cover orders-0-0.example.com, orders-0-1.example.com, orders-1-0.example.com, "
            "orders-1-1.example.com, orders-2-0.example.com, orders-2-1.example.com, orders.example.org, where clients outside dial: issue it "
            f"with these names{KEPT}"
        ),
    )


def test_names_that_the_old_certificate_lacks_as_well_hold_nothing_up():
    asked = standing(certificate("two", "a.example.org"), offered_trusted=True, standing_trusted=True)
    assert wanted(secured(asked, access=EXTERNAL)).certificate == "two"


def test_names_that_nobody_dials_are_not_asked_for():
    asked = standing(
        certificate("two", *INSIDE), standing=certificate("one", *OUTSIDE), offered_trusted=True, standing_trusted=True
    )
    assert wanted(secured(asked, access={**EXTERNAL, "enabled": False})).certificate == "two"


def test_what_is_missing_outside_is_listed():
    only = certificate("one", "*.example.com")
    found = tls.lack(secured(standing(only, standing=only), access=EXTERNAL), now=NOW)
    assert (found.reason, found.message) == (
        "CertificateMissingNames",
        "the servers' certificate does not cover orders.example.org: issue it with these names, or with wildcards for their first label",
    )


def test_nothing_keeps_clients_outside_away_when_all_is_covered():
    covering = certificate("one", *OUTSIDE)
    assert tls.lack(secured(standing(covering, standing=covering), access=EXTERNAL), now=NOW) is None
    assert tls.lack(observed(), now=NOW) is None


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            standing(ONE, standing=certificate("one", *OUTSIDE, ends=NOW)),
            "the servers' certificate expired at 2026-03-01T12:00:00Z",
        ),
        (
            Tls(offered=Flawed(("it does not exist",)), standing=None),
            "Secret orders-cert: it does not exist; no server starts before that",
        ),
    ],
)
def test_a_certificate_that_nobody_can_use_keeps_clients_away(asked, says):
    found = tls.lack(secured(asked, access=EXTERNAL), now=NOW)
    assert (found.reason, found.message) == ("CertificateInvalid", says)


def test_a_server_presents_a_new_name_once_it_was_seen_to_serve_it():
    new = certificate("two", "a.example.com")
    asked = standing(new, standing=new, previous=certificate("one", *INSIDE))
    assert not tls.presents(secured(asked, loaded=ONE), NODE, "a.example.com")
    assert tls.presents(secured(asked), NODE, "a.example.com")


def test_a_server_that_restarts_presents_what_it_presented():
    new = certificate("two", "a.example.com")
    seen = secured(standing(new, standing=new, previous=ONE))
    assert tls.presents(replace(seen, servers={NODE: Unreachable("refused")}), NODE, "a.example.com")


def test_a_name_that_old_and_new_cover_is_presented_all_the_time():
    new = certificate("two")
    assert tls.presents(secured(standing(new, standing=new, previous=ONE), loaded=ONE), NODE, "valkey-orders.shop.svc")


def test_without_tls_no_name_is_in_the_way():
    assert tls.presents(observed(), NODE, "a.example.com")


# --- loading


def test_a_server_with_other_files_is_told_all_of_them_and_its_kubelet_is_called():
    seen = secured(standing(ONE), loaded=certificate("zero"))
    assert tls.to_load(seen, NODE) == ONE.files.settings()
    assert tls.call(seen, NODE) == ONE.files.digest
    assert tls.unloaded(seen) == NODES


def test_a_server_that_has_them_is_left_alone():
    seen = secured(standing(ONE))
    assert (tls.to_load(seen, NODE), tls.call(seen, NODE), tls.unloaded(seen)) == ({}, None, ())


def test_a_server_that_has_them_and_was_not_seen_to_serve_them_is_not_believed():
    seen = secured(standing(ONE))
    record = seen.records[NODE]
    records = seen.records | {NODE: replace(record, status=record.status.model_copy(update={"certificate": "zero"}))}
    unseen = replace(seen, records=records, servers=seen.servers | {NODE: replace(seen.servers[NODE], served_certificate=None)})
    assert tls.unloaded(unseen) == (NODE,)
    assert tls.in_doubt(unseen, NODE, unseen.servers[NODE])


def test_a_server_that_was_seen_to_serve_them_is_not_asked_again():
    seen = secured(standing(ONE))
    server = replace(seen.servers[NODE], served_certificate=None)
    assert not tls.in_doubt(seen, NODE, server)
    assert tls.loaded(replace(seen, servers=seen.servers | {NODE: server}), NODE)
    assert tls.in_doubt(seen, NODE, replace(server, config=server.config | {"tls-key-file": "elsewhere"}))


def test_a_server_that_serves_another_certificate_than_its_files_say_is_found_out():
    seen = secured(standing(ONE))
    other = seen.servers | {NODE: replace(seen.servers[NODE], served_certificate="zero")}
    assert tls.unloaded(replace(seen, servers=other)) == (NODE,)


def test_without_tls_there_is_nothing_to_load():
    seen = observed()
    assert (tls.to_load(seen, NODE), tls.unloaded(seen), tls.loading_for(seen, now=NOW)) == ({}, (), None)
    assert not tls.in_doubt(seen, NODE, seen.servers[NODE])


def test_servers_that_had_time_enough_are_told_of():
    seen = secured(standing(ONE), loaded=certificate("zero"))
    assert trouble(seen, EARLIER + timedelta(seconds=29)) is None
    assert trouble(seen, EARLIER + timedelta(seconds=30)) == (
        "CertificateInvalid",
        "the servers of nodes 0-0, 0-1, 1-0, 1-1, 2-0, 2-1 have not loaded the certificate of Secret orders-cert: their logs say why",
        True,
    )
    assert tls.loading_for(seen, now=NOW) == timedelta(hours=1)


def test_a_pod_that_has_just_started_has_time_of_its_own():
    seen = secured(standing(ONE), loaded=certificate("zero"))
    young = {index: pod(index, started=NOW - timedelta(seconds=10)) for index in NODES}
    assert trouble(replace(seen, pods=young)) is None


# --- time


@pytest.mark.parametrize(
    ("left", "says"),
    [
        (timedelta(days=14, seconds=1), None),
        (
            timedelta(days=14),
            "the servers' certificate expires at 2026-05-01T12:00:00Z: put a new one into Secret orders-cert",
        ),
        (
            timedelta(0),
            "the servers' certificate expired at 2026-05-01T12:00:00Z: put a new one into Secret orders-cert",
        ),
    ],
)
def test_an_end_is_told_two_weeks_before(left, says):
    assert tls.expiry(secured(standing(ONE)), now=END - left) == says


def test_a_short_lived_certificate_has_its_last_fifth():
    short = certificate("one", begins=END - timedelta(hours=10))
    seen = secured(standing(short, standing=short))
    assert tls.expiry(seen, now=END - timedelta(hours=2, seconds=1)) is None
    assert tls.expiry(seen, now=END - timedelta(hours=2)) is not None
