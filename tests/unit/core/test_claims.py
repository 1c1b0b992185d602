from dataclasses import replace

import pytest

from golden.orders import orders
from valkey_operator.api.status import Bootstrap, ExternalAccessStatus, NodeEndpoint, ShardEndpoint
from valkey_operator.core.claims import Contender, claims

ADDRESS = "db.example.com:6380"
BALANCER = {"type": "LoadBalancer", "advertisedHost": "db.example.com", "loadBalancerScope": "Cluster"}
EARLY, LATE = "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z"
TAKEN = {ADDRESS: "shop/other"}


def contender(name, created, *, announces=False, address=ADDRESS, namespace="shop", access=BALANCER):
    cluster = orders(externalAccess={"enabled": True, **access})
    told = ExternalAccessStatus(
        type=access["type"], endpoints=(ShardEndpoint(shard=0, nodes=(NodeEndpoint(node=0, address=address),)),)
    )
    status = cluster.status.model_copy(update={"external_access": told})
    cluster = replace(cluster, name=name, namespace=namespace, uid=f"uid-{name}", created=created, status=status)
    return Contender(cluster, frozenset({address} if announces else ()))


def other(created, **fields):
    return contender("other", created, **fields)


def mine(created, **fields):
    return contender("mine", created, **fields)


@pytest.mark.parametrize("announces", [False, True])
def test_the_older_one_has_an_endpoint_that_none_of_them_or_each_announces(announces):
    assert claims(mine(LATE, announces=announces), [other(EARLY, announces=announces)]) == TAKEN
    assert claims(mine(EARLY, announces=announces), [other(LATE, announces=announces)]) == {}


def test_who_announces_an_endpoint_keeps_it_however_old_the_others_are():
    assert claims(mine(LATE, announces=True), [other(EARLY)]) == {}
    assert claims(mine(EARLY), [other(LATE, announces=True)]) == TAKEN


def test_to_announce_another_endpoint_gives_no_right_to_this_one():
    elsewhere = Contender(mine(LATE).cluster, frozenset({"db.example.com:7000"}))
    assert claims(elsewhere, [other(EARLY)]) == TAKEN


def test_of_clusters_of_one_second_the_names_decide():
    assert claims(mine(EARLY), [other(EARLY)]) == {}
    assert claims(other(EARLY), [mine(EARLY)]) == {ADDRESS: "shop/mine"}
    assert claims(mine(EARLY), [other(EARLY, namespace="another")]) == {ADDRESS: "another/other"}


def test_of_several_others_the_one_that_has_it_is_named():
    one, two = contender("one", EARLY), contender("two", LATE, announces=True)
    for others in ([one, two], [two, one]):
        assert claims(mine("2026-03-01T12:00:00Z"), others) == {ADDRESS: "shop/two"}


def test_endpoints_that_could_be_another_clusters_as_well_are_claimed():
    assert other(EARLY).claimed == {ADDRESS}
    for access in (
        {"type": "LoadBalancer"},
        {"type": "NodePort", "advertisedHost": "db.example.com", "bootstrapHost": "begin.example.com"},
        {**BALANCER, "enabled": False},
    ):
        assert other(EARLY, access=access).claimed == frozenset()
        assert claims(mine(LATE, access=access), [other(EARLY)]) == {}
    silent = orders(externalAccess={"enabled": True, **BALANCER})
    assert Contender(silent, frozenset()).claimed == frozenset()
    assert Contender(silent, frozenset({"db.example.com:7000"})).claimed == {"db.example.com:7000"}


BEGUN = {"type": "LoadBalancer", "bootstrapHost": "begin.example.com"}
BEGIN = "begin.example.com:6380"


def beginning(one, *addresses):
    """The cluster tells its clients to begin there."""
    told = one.cluster.status.external_access.model_copy(update={"bootstrap": Bootstrap(service="orders", addresses=addresses)})
    status = one.cluster.status.model_copy(update={"external_access": told})
    return replace(one, cluster=replace(one.cluster, status=status))


def test_where_clients_begin_is_claimed_where_the_user_chose_it():
    assert beginning(other(EARLY, access=BEGUN), BEGIN).claimed == {BEGIN}
    assert beginning(other(EARLY, access={**BALANCER, **BEGUN}), BEGIN).claimed == {ADDRESS, BEGIN}
    assert beginning(other(EARLY, access=BALANCER), "198.51.100.1:6380").claimed == {ADDRESS}


@pytest.mark.parametrize("field", ["advertisedHost", "bootstrapHost"])
def test_clients_who_begin_at_a_host_keep_it(field):
    rival = {"type": "LoadBalancer", "loadBalancerScope": "Cluster", field: "begin.example.com"}
    begun = beginning(other(LATE, access=BEGUN), BEGIN)
    assert claims(mine(EARLY, address=BEGIN, access=rival), [begun]) == {BEGIN: "shop/other"}
    assert claims(begun, [mine(EARLY, address=BEGIN, access=rival)]) == {}
