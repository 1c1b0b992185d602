"""External access goes: servers are told first, clients with old endpoints are given time, then nothing is left."""

import pytest

from scenario.story import NODE_PORT, NODES, OFF, formed, reached
from scenario.test_enabling import OUTSIDE, PREFERRED
from valkey_operator.api.conditions import ConditionType, State
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.plan import DnsSnippet

SHORT = {**OFF, "drainSeconds": 5}
FIRST = NodeIndex(0, 0)


def inside(story):
    return {index: (story.process(index).ip, 6379) for index in NODES}


@pytest.mark.parametrize("seed", range(2))
def test_services_stay_for_clients_with_old_endpoints_and_then_go(seed):
    story = reached(seed)
    since = story.now
    story.access(**SHORT)
    story.passes.run_until(lambda: story.outside_is() == "Draining", within=3)
    told = story.now
    assert story.told() == inside(story)
    assert story.external.draining_since is not None
    assert not story.external.ready
    assert story.node_ports() == PREFERRED
    story.passes.run_until(lambda: not story.services.live, within=20)
    assert 4 <= story.now - told <= 6
    story.settle()
    assert story.status.external_access is None
    assert story.status.condition(ConditionType.EXTERNAL_ACCESS_READY) is None
    assert set(story.kubernetes.files.values()) == {""}
    assert {record.announce for record in story.kubernetes.records.values()} == {None}
    assert story.reasons(ConditionType.EXTERNAL_ACCESS_READY, since=since) == ["Announcing", "Draining"]
    assert story.starts() == 6
    assert story.status.state is State.READY
    story.assert_at_rest()


def test_names_for_clients_inside_come_before_they_are_told_follow_a_change_and_stay_while_services_drain():
    story = formed()
    story.outside.names |= {f"{word}.example.com": "192.0.2.11" for word in ("0", "1", "2", "db-0", "db-1", "db-2")}
    story.access(**NODE_PORT, advertisedHost="{shard}.example.com")
    story.passes.run_until(lambda: snippet(story) is not None, within=3)
    assert not {"0.example.com"} & {host for host, _ in story.told().values()}
    story.settle()
    assert names(story) == {"0.example.com", "1.example.com", "2.example.com"}

    story.access(**NODE_PORT, advertisedHost="db-{shard}.example.com")
    story.settle()
    assert names(story) == {"db-0.example.com", "db-1.example.com", "db-2.example.com"}
    story.assert_at_rest()

    story.access(**SHORT, advertisedHost="db-{shard}.example.com")
    story.passes.run_until(lambda: story.outside_is() == "Draining", within=3)
    assert names(story) == {"db-0.example.com", "db-1.example.com", "db-2.example.com"}
    story.settle()
    assert snippet(story) is None
    story.assert_at_rest()


def snippet(story):
    return story.kubernetes.objects.get(DnsSnippet)


def names(story):
    """The names that the DNS inside is told to lead."""
    return {line.split()[3] for line in snippet(story).text.splitlines() if not line.startswith("#")}


def test_by_default_there_is_a_minute():
    story = reached()
    story.access(**OFF)
    story.run(58)
    assert story.services.live
    story.run(6)
    assert not story.services.live


def test_without_a_drain_time_services_go_when_nobody_tells_them():
    story = reached()
    story.access(**{**OFF, "drainSeconds": 0})
    story.run(4)
    assert not story.services.live
    story.settle()


def test_back_on_while_it_drains_nothing_has_moved():
    story = reached()
    story.access(**SHORT)
    story.passes.run_until(lambda: story.outside_is() == "Draining", within=3)
    story.run(2)
    story.access(**NODE_PORT)
    story.settle()
    assert story.told() == OUTSIDE
    assert story.node_ports() == PREFERRED
    assert story.external.draining_since is None


def test_back_on_before_all_are_told():
    story = reached()
    story.access(**SHORT)
    story.run(0.08)
    story.access(**NODE_PORT)
    story.settle()
    assert story.told() == OUTSIDE


def test_off_and_on_again_and_again():
    story = reached()
    for _ in range(3):
        story.access(**SHORT)
        story.run(9)
        assert not story.services.live
        story.settle()
        assert story.told() == inside(story)
        story.access(**NODE_PORT)
        story.settle()
        assert story.told() == OUTSIDE
    assert story.starts() == 6


def test_while_a_server_is_silent_services_stay_since_it_may_still_tell_them():
    story = reached()
    story.world.silent.add(FIRST)
    story.access(**SHORT)
    story.run(10)
    assert story.services.live
    assert story.outside_is() == "Announcing"
    story.world.silent.clear()
    story.run(9)
    assert not story.services.live
    story.settle()


def test_a_pod_that_is_replaced_while_access_drains_comes_back_inside():
    story = reached()
    story.access(**SHORT)
    story.run(1)
    story.pods.kill(FIRST)
    story.run(15)
    story.settle()
    assert story.told() == inside(story)
    assert not story.services.live


def test_what_a_later_change_leaves_behind_stays_as_long_as_what_was_left_before():
    story = reached()
    balanced = {"enabled": True, "type": "LoadBalancer", "drainSeconds": 10}
    story.access(**balanced)
    story.passes.run_until(lambda: story.external.draining_since is not None, within=10)
    story.run(8)
    story.access(**balanced, bootstrapService=False)
    story.run(9)
    assert "orders" in story.services.live
    story.run(3)
    story.settle()
    assert "orders" not in story.services.live
    story.assert_at_rest()


def test_the_service_over_all_shards_alone_goes_when_it_is_not_wanted():
    story = reached()
    story.access(**{**NODE_PORT, "nodePort": {"startPort": 31200}, "bootstrapService": False, "drainSeconds": 2})
    story.run(5)
    story.settle()
    assert story.node_ports().keys() == {"orders-0", "orders-1", "orders-2"}
    assert story.told() == OUTSIDE
