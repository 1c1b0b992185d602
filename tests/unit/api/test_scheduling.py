import pytest

from valkey_operator.api.model import SpecInvalid
from valkey_operator.api.scheduling import Scheduling, SpreadMode


def mistakes(**fields):
    try:
        Scheduling.read(fields, path="spec.scheduling")
    except SpecInvalid as invalid:
        return [mistake.split(":", 1)[0].removeprefix("spec.scheduling.") for mistake in invalid.mistakes]
    return []


def spread(**modes):
    return {"spread": {pods: {"mode": mode} for pods, mode in modes.items()}}


def test_nothing_is_spread_unless_asked():
    scheduling = Scheduling()
    assert {scheduling.node.spread.shard.mode, scheduling.zone.spread.pods.mode} == {SpreadMode.DISABLED}
    assert scheduling.zone.pinning is None


def test_modes_are_read():
    scheduling = Scheduling.read({"node": spread(shard="Required"), "zone": spread(primaries="Preferred")}, path="spec.scheduling")
    assert scheduling.node.spread.shard.mode is SpreadMode.REQUIRED
    assert scheduling.zone.spread.primaries.mode is SpreadMode.PREFERRED


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"node": spread(shard="Required", primaries="Required", pods="Preferred")}, []),
        ({"node": spread(primaries="Preferred", pods="Preferred")}, ["node.spread"]),
        ({"zone": spread(shard="Required", primaries="Preferred")}, []),
        ({"zone": spread(shard="Required", pods="Required", primaries="Preferred")}, ["zone.spread"]),
        ({"zone": {"pinning": {"zones": ["a"]}, **spread(shard="Disabled")}}, []),
        ({"zone": {"pinning": {"zones": ["a"]}, **spread(pods="Preferred")}}, ["zone.pinning"]),
        ({"zone": {"pinning": {"zones": ["a", "b", "a"]}}}, ["zone.pinning.zones"]),
        ({"zone": {"pinning": {"zones": []}}}, ["zone.pinning.zones"]),
        ({"zone": {"pinning": {"zones": ["a", "a b"]}}}, ["zone.pinning.zones[1]"]),
        ({"zone": {"pinning": {"zones": ["a"]}}, "nodeSelector": {"disk": "ssd"}}, []),
        ({"zone": {"pinning": {"zones": ["a"]}}, "nodeSelector": {"topology.kubernetes.io/zone": "a"}}, ["nodeSelector"]),
    ],
)
def test_what_excludes_each_other_is_told(fields, found):
    assert mistakes(**fields) == found


@pytest.mark.parametrize(
    ("place", "key", "when", "mode", "found"),
    [
        ("node", "kubernetes.io/hostname", "DoNotSchedule", "Required", ["topologySpreadConstraints"]),
        ("node", "kubernetes.io/hostname", "ScheduleAnyway", "Preferred", ["topologySpreadConstraints"]),
        ("node", "kubernetes.io/hostname", "ScheduleAnyway", "Required", []),
        ("node", "example.com/rack", "DoNotSchedule", "Required", []),
        ("zone", "topology.kubernetes.io/zone", "DoNotSchedule", "Required", ["topologySpreadConstraints"]),
        ("zone", "topology.kubernetes.io/zone", "ScheduleAnyway", "Preferred", ["topologySpreadConstraints"]),
        ("zone", "kubernetes.io/hostname", "DoNotSchedule", "Required", []),
    ],
)
def test_a_constraint_of_the_users_own_must_not_be_one_of_ours(place, key, when, mode, found):
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when}
    assert mistakes(topologySpreadConstraints=[constraint], **{place: spread(pods=mode)}) == found


def test_the_shard_is_spread_over_nodes_by_affinity_so_it_collides_with_no_constraint():
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    assert mistakes(topologySpreadConstraints=[constraint], node=spread(shard="Required")) == []
