"""What is announced is kept true, whoever meddles with it."""

from dataclasses import replace

import pytest

from scenario.story import NODES, formed, reached
from scenario.test_enabling import OUTSIDE
from valkey_operator.api.conditions import ConditionType
from valkey_operator.core.names import NodeIndex

FIRST = NodeIndex(0, 0)
RIGHT = {
    "cluster-announce-hostname": "192.0.2.11",
    "cluster-announce-client-port": "31200",
    "cluster-announce-client-ipv4": "192.0.2.11",
    "cluster-preferred-endpoint-type": "hostname",
    "cluster-node-timeout": "2000",
    "cluster-ping-interval": "0",
    "shutdown-on-sigterm": "failover",
}


@pytest.mark.parametrize(
    "values",
    [
        {"cluster-announce-hostname": "192.0.2.99"},
        {"cluster-announce-client-port": "0"},
        {"cluster-announce-client-ipv4": ""},
        {"cluster-preferred-endpoint-type": "ip"},
        {"cluster-node-timeout": "15000"},
        {"cluster-ping-interval": "100"},
        {"shutdown-on-sigterm": "default"},
    ],
)
def test_what_somebody_set_by_hand_is_repaired_at_the_next_look(values):
    story = reached()
    story.meddle(FIRST, values)
    story.run(6 * 15 + 2)  # one server a look
    story.settle()
    assert {key: story.process(FIRST).config[key] for key in values} == {key: RIGHT[key] for key in values}
    assert story.told() == OUTSIDE
    story.assert_at_rest()


def test_an_inside_announcement_that_was_cleared_is_repaired():
    story = formed()
    before = story.told()
    story.meddle(FIRST, {"cluster-announce-hostname": ""})
    story.run(17)
    story.settle()
    assert story.told() == before


@pytest.mark.parametrize("index", NODES)
def test_a_server_comes_back_with_its_announcement(index):
    """It reads its file, so that nobody is ever told its pod IP: the witness looks."""
    story = reached()
    story.pods.restart_container(index)
    story.passes.run_until(lambda: story.pods.live[index].process is not None, within=2)
    assert (story.process(index).me.hostname, story.process(index).me.port) == OUTSIDE[index]
    story.settle()
    assert story.told() == OUTSIDE
    assert story.starts() == 6


def test_a_record_that_somebody_edited_is_written_again_without_a_word_to_clients():
    story = reached()
    since = story.now
    story.kubernetes.records[FIRST] = replace(story.kubernetes.records[FIRST], announce=None)
    story.kubernetes.change()
    story.settle()
    assert story.kubernetes.records[FIRST].announce is not None
    assert [command for at, _, command in story.witness.commands if at >= since] == []
    assert story.told() == OUTSIDE


def test_a_file_that_somebody_emptied_is_written_again():
    story = reached()
    before = story.kubernetes.files[FIRST]
    story.kubernetes.files[FIRST] = ""
    story.kubernetes.change()
    story.run(1)
    assert story.kubernetes.files[FIRST] == before


def test_a_pod_ip_is_never_announced_again_whatever_happens_to_pods_and_services():
    story = reached()
    with story.witness.excused():
        for index in sorted(NODES, key=lambda index: index.node):  # never both copies of a shard at once
            (story.pods.kill, story.pods.delete, story.pods.restart_container)[index.shard](index)
            story.services.delete(f"orders-{index.shard}", lingers=index.node)
            story.run(1.5)
        story.run(10)
    story.settle()
    assert story.told() == OUTSIDE


def test_the_files_of_old_servers_hold_nothing_that_stops_them():
    story = formed()
    story.kubernetes.edit(image="docker.io/valkey/valkey:8.1.8")
    for index in NODES:
        story.pods.delete(index)
        story.run(0.1)
        story.settle()
    assert {process.version for process in story.fleet.alive()} == {(8, 1, 8)}


def troubles(story):
    return [pod.trouble for pod in story.pods.live.values() if pod.trouble is not None]


def inside(story, index):
    return story.process(index).ip, 6379


def test_a_downgrade_of_an_announced_cluster_stops_no_server_and_leaves_no_half_of_a_pair():
    story = reached()
    story.kubernetes.edit(image="docker.io/valkey/valkey:8.1.8")
    story.pods.delete(FIRST)
    assert not story.passes.run_until(lambda: bool(troubles(story)), within=20)
    assert story.process(FIRST).version == (8, 1, 8)
    assert story.told() == {**OUTSIDE, FIRST: inside(story, FIRST)}
    status, reason, message = story.condition(ConditionType.EXTERNAL_ACCESS_READY)
    assert (status, reason) == ("False", "UnsupportedValkeyVersion")
    assert "node 0-0 runs Valkey 8.1.8" in message
    story.witness.assert_whole()

    for index in NODES[1:]:
        story.pods.delete(index)
        assert not story.passes.run_until(lambda: bool(troubles(story)), within=10)
    story.witness.assert_whole()
    assert story.told() == {index: inside(story, index) for index in NODES}

    story.kubernetes.edit(image="docker.io/valkey/valkey:9.1.2")
    for index in NODES:
        story.pods.delete(index)
        story.run(10)
    story.settle()
    assert story.told() == OUTSIDE


def test_a_server_of_an_announced_cluster_that_restarts_before_its_downgrade_is_told_whole():
    """Its pod is of the newer image, its file is for the older one already."""
    story = reached()
    story.kubernetes.edit(image="docker.io/valkey/valkey:8.1.8")
    story.run(1)
    story.pods.restart_container(FIRST)
    story.run(10)
    assert story.told() == OUTSIDE
    assert troubles(story) == []


def test_an_older_image_whose_tag_does_not_tell_so_is_started_without_what_it_stopped_at():
    story = reached()
    story.kubernetes.edit(image="registry.example.com/valkey:stable")
    story.pods.delete(FIRST)
    assert story.passes.run_until(lambda: bool(troubles(story)), within=5)
    assert story.passes.run_until(lambda: not troubles(story), within=10)
    story.run(10)
    assert troubles(story) == []
    assert story.told() == {**OUTSIDE, FIRST: inside(story, FIRST)}
    story.witness.assert_whole()
