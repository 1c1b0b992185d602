"""The operator is killed after every single thing that it does, and comes back: the end is the same."""

import pytest

from scenario.story import NODE_PORT, NODES, OFF, Story, formed, reached
from scenario.test_enabling import OUTSIDE, PREFERRED
from valkey_operator.core.names import NodeIndex


def killed_after(story, steps):
    """From now on the operator lives for so many steps, then it is away for a moment."""
    story.passes.kill_after = story.passes.steps + steps
    return story


def was_killed(story):
    return story.passes.kill_after is None


def steps_of(story):
    """How many steps there are when nobody is killed."""
    before = story.passes.steps
    story.settle()
    return story.passes.steps - before


@pytest.mark.parametrize("part", range(4))
def test_at_every_step_of_enabling(part):
    story = formed()
    story.access(**NODE_PORT)
    total = steps_of(story)
    assert 40 < total < 80
    for steps in range(1 + part, total, 4):
        story = killed_after(formed(), steps)
        story.access(**NODE_PORT)
        story.settle()
        assert was_killed(story)
        assert story.told() == OUTSIDE
        assert story.node_ports() == PREFERRED
        assert {process.config["cluster-ping-interval"] for process in story.fleet.alive()} == {"0"}
        assert story.starts() == 6


@pytest.mark.parametrize("part", range(4))
def test_at_every_step_of_disabling(part):
    off = {**OFF, "drainSeconds": 2}
    story = reached()
    story.access(**off)
    story.run(8)
    total = story.passes.steps - reached().passes.steps
    assert 20 < total < 60
    for steps in range(1 + part, total, 4):
        story = killed_after(reached(), steps)
        story.access(**off)
        story.run(5)
        story.settle()
        assert was_killed(story)
        assert story.told() == {index: (story.process(index).ip, 6379) for index in NODES}
        assert not story.services.live
        assert story.status.external_access is None
        assert story.starts() == 6


@pytest.mark.parametrize("part", range(4))
def test_at_steps_of_forming(part):
    for steps in range(1 + part, 100, 32):
        story = killed_after(Story(seed=steps), steps)
        story.settle()
        assert was_killed(story)
        config = story.process(NodeIndex(0, 0)).config
        assert (config["cluster-node-timeout"], config["repl-diskless-sync-delay"]) == ("2000", "5")
        assert sorted(slots for _, slots in story.fleet.given) == ["0-5460", "10922-16383", "5461-10921"]


@pytest.mark.parametrize("part", range(3))
def test_at_steps_of_a_failover(part):
    for steps in range(1 + part, 40, 9):
        story = reached(seed=steps % 3)
        story.write()
        killed_after(story, steps)
        story.pods.restart_container(NodeIndex(1, 0))
        story.run(6)
        story.settle()
        assert story.told() == OUTSIDE
        assert len(story.fleet.given) == 3


def test_again_and_again():
    """It never gets further than a few steps at a time."""
    story = Story(externalAccess=NODE_PORT)
    for _ in range(60):
        killed_after(story, 7)
        story.run(2.5)
    story.passes.kill_after = None
    story.settle()
    assert story.told() == OUTSIDE
    assert story.starts() == 6


def test_with_every_other_step_failing():
    story = formed()
    calls = iter(range(10**6))
    story.passes.fails = lambda _: next(calls) % 2 == 0
    story.access(**NODE_PORT)
    story.run(30)
    story.passes.fails = lambda _: False
    story.settle()
    assert story.told() == OUTSIDE
