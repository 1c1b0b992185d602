from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.exposure_rules import INGRESS_NEEDS_TLS
from valkey_operator.api.model import SpecInvalid


def mistakes(*, shards=1, replicas=0, **access):
    spec = {"shards": shards, "replicas": replicas, "externalAccess": {"enabled": True, **access}}
    try:
        ValkeyClusterSpec.read(spec, path="spec")
    except SpecInvalid as invalid:
        return list(invalid.mistakes)
    return []


def fields(found):
    return {mistake.split(":", 1)[0].rsplit(".", 1)[1] for mistake in found}


hosts = st.sampled_from(["a.test", "{shard}.test", "{node}.test", "{shard}-{node}.test", "{node}x{shard}.test"])
sizes = {"shards": st.integers(1, 4), "replicas": st.integers(0, 3)}


def rendered(host, shard, node):
    return host.replace("{shard}", str(shard)).replace("{node}", str(node))


@given(host=hosts, scope=st.sampled_from(["Shard", "Node", "Cluster"]), **sizes)
def test_no_host_leads_to_two_load_balancers_with_the_same_port(host, scope, shards, replicas):
    balancers = {}
    for shard, node in product(range(shards), range(replicas + 1)):
        balancer = {"Shard": (shard,), "Node": (shard, node), "Cluster": ()}[scope]
        balancers.setdefault(rendered(host, shard, node), set()).add(balancer)
    clash = any(len(behind) > 1 for behind in balancers.values())
    found = mistakes(shards=shards, replicas=replicas, type="LoadBalancer", loadBalancerScope=scope, advertisedHost=host)
    assert fields(found) == ({"advertisedHost"} if clash else set())


@given(host=hosts, **sizes)
def test_no_name_leads_to_two_shards_behind_a_router(host, shards, replicas):
    behind = {}
    for shard, node in product(range(shards), range(replicas + 1)):
        behind.setdefault(rendered(host, shard, node), set()).add(shard)
    clash = any(len(found) > 1 for found in behind.values())
    found = mistakes(shards=shards, replicas=replicas, type="Ingress", advertisedHost=host)
    assert ("advertisedHost" in fields(found)) == clash


@given(scope=st.sampled_from(["Shard", "Node", "Cluster", None]), first=st.integers(65500, 65535), **sizes)
def test_no_load_balancer_has_a_port_out_of_range(scope, first, shards, replicas):
    nodes = shards * (replicas + 1)
    last = {"Node": first, "Cluster": first + nodes}.get(scope, first + replicas)
    access = {"loadBalancerScope": scope} if scope else {}
    found = mistakes(shards=shards, replicas=replicas, type="LoadBalancer", advertisedPort=first, **access)
    assert fields(found) == ({"advertisedPort"} if last > 65535 else set())


def test_a_template_may_wait_while_external_access_is_off():
    assert mistakes(shards=3, enabled=False, type="LoadBalancer", advertisedHost="a.test") == []
    assert mistakes(shards=3, enabled=False, type="Ingress", advertisedHost="a.test") == []


def test_ports_out_of_range_may_not():
    assert fields(mistakes(replicas=1, enabled=False, type="LoadBalancer", advertisedPort=65535)) == {"advertisedPort"}


@pytest.mark.parametrize(("enabled", "refused"), [(True, True), (False, False)])
def test_ingress_needs_tls_once_it_is_on(enabled, refused):
    access = {"enabled": enabled, "type": "Ingress", "advertisedHost": "a.test"}
    off = ValkeyClusterSpec.read({"shards": 1, "externalAccess": {**access, "enabled": False}}, path="spec")
    spec = off.model_copy(update={"external_access": off.external_access.model_copy(update={"enabled": enabled})})
    said = "with type Ingress routes go by the name in the TLS handshake (SNI): set it, or choose type LoadBalancer or NodePort"
    assert INGRESS_NEEDS_TLS.mistakes(spec) == (((".tls", said),) if refused else ())
