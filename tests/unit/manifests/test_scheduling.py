import pytest

from golden.orders import NODE, orders
from valkey_operator.core.names import NodeIndex
from valkey_operator.manifests.scheduling import scheduling

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
SHARD_1 = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"valkey.io/cluster": "orders", "valkey.io/shard-index": "1"}}}


def fields(index=NODE, **wanted):
    return scheduling(orders(scheduling=wanted), index)


def constraint(key, when, labels):
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"valkey.io/cluster": "orders"} | labels},
    }


def test_pods_of_a_shard_are_kept_apart_where_possible_when_nobody_says_how():
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": SHARD_1}]}
    assert fields() == {"affinity": {"podAntiAffinity": preferred}}


def test_pods_of_a_shard_are_kept_apart_in_any_case_when_required():
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [SHARD_1]}
    assert fields(node={"spread": {"shard": {"mode": "Required"}}}) == {"affinity": {"podAntiAffinity": required}}


def test_the_users_own_anti_affinity_is_left_alone():
    own = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]}}
    assert fields(affinity=own) == {"affinity": own}


def test_the_users_own_spread_constraints_are_left_alone():
    own = [{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}]
    assert fields(topologySpreadConstraints=own) == {"topologySpreadConstraints": own}


def test_a_node_affinity_says_nothing_about_the_pods_of_a_shard():
    affinity = fields(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}})["affinity"]
    assert affinity.keys() == {"nodeAffinity", "podAntiAffinity"}


def test_a_wanted_spread_is_added_to_the_users_own_anti_affinity():
    own = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]}}
    spread = {"spread": {"shard": {"mode": "Required"}}}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}, SHARD_1]}
    assert fields(affinity=own, node=spread) == {"affinity": {"podAntiAffinity": added}}


@pytest.mark.parametrize(("place", "key"), [("node", HOSTNAME), ("zone", ZONE)])
def test_primaries_are_spread_by_the_first_pods_of_shards(place, key):
    wanted = {place: {"spread": {"primaries": {"mode": "Required"}}}}
    assert fields(**wanted)["topologySpreadConstraints"] == [constraint(key, "DoNotSchedule", {"valkey.io/node-index": "0"})]
    assert "topologySpreadConstraints" not in fields(index=NodeIndex(1, 1), **wanted)


@pytest.mark.parametrize(("place", "key"), [("node", HOSTNAME), ("zone", ZONE)])
def test_all_pods_are_spread_evenly(place, key):
    wanted = {place: {"spread": {"pods": {"mode": "Preferred"}}}}
    assert fields(index=NodeIndex(1, 1), **wanted)["topologySpreadConstraints"] == [constraint(key, "ScheduleAnyway", {})]


def test_a_shard_is_spread_over_zones():
    found = fields(zone={"spread": {"shard": {"mode": "Required"}}})["topologySpreadConstraints"]
    assert found == [constraint(ZONE, "DoNotSchedule", {"valkey.io/shard-index": "1"})]


@pytest.mark.parametrize(("index", "zone"), [((0, 0), "a"), ((0, 1), "b"), ((1, 0), "b"), ((1, 1), "c"), ((2, 1), "a")])
def test_zones_are_pinned_in_turns(index, zone):
    found = fields(index=NodeIndex(*index), nodeSelector={"disktype": "ssd"}, zone={"pinning": {"zones": ["a", "b", "c"]}})
    assert found["nodeSelector"] == {"disktype": "ssd", ZONE: zone}


def test_tolerations_and_priority_are_passed_on():
    found = fields(tolerations=[{"key": "valkey", "operator": "Exists"}], priorityClassName="high")
    assert found["tolerations"] == [{"key": "valkey", "operator": "Exists"}]
    assert found["priorityClassName"] == "high"
