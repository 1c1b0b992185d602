"""Mistakes and misfortunes that a person has to know of: each is told with the way out, and the way out works."""

import pytest

from scenario.story import NODE_PORT, Story, formed, reached
from valkey_operator.api.conditions import ConditionType, State
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.plan import AclSecret

GOOD_IMAGE = "docker.io/valkey/valkey:9.1.2"


def ready(story):
    return story.condition(ConditionType.READY)[1:]


def passes_per_second(story, seconds=60):
    before = len(story.passes.done)
    story.run(seconds)
    return (len(story.passes.done) - before) / seconds


def test_an_image_that_cannot_be_pulled_is_told_and_corrected():
    story = Story(image="docker.io/valkey/valkey:9.1.none")
    story.run(10)
    assert ready(story) == (
        "ImagePullFailed",
        (
            'pod valkey-orders-0-0-0: ImagePullBackOff: Back-off pulling image "docker.io/valkey/valkey:9.1.none". '
            "Correct spec.image, or name the registry's credentials in spec.imagePullSecrets"
        ),
    )
    assert "ImagePullFailed!" in story.events()
    assert passes_per_second(story) < 0.5
    story.kubernetes.edit(image=GOOD_IMAGE)
    story.settle()


def test_a_directive_that_stops_the_server_is_named_and_corrected():
    story = Story(config={"maxmemori": "1gb"})
    story.run(10)
    reason, message = ready(story)
    assert reason == "ServerCrashed"
    assert "'maxmemori 1gb' Bad directive" in message
    assert "correct it in spec.config" in message
    assert passes_per_second(story) < 0.5
    story.kubernetes.edit(config={"maxmemory": "1gb"})
    story.settle()


def test_a_wrong_directive_harms_no_pod_that_runs():
    story = formed()
    story.kubernetes.edit(config={"maxmemori": "1gb"})
    story.run(20)
    assert story.status.state is State.READY
    assert story.starts() == 6
    assert story.condition(ConditionType.CONFIGURATION_WARNING)[1] == "PodsOutdated"


def test_a_pod_that_fits_nowhere_is_told():
    story = Story()
    story.pods.cordoned |= {"m1", "m2", "m3"}
    story.run(10)
    assert ready(story)[0] == "PodUnschedulable"
    assert story.condition(ConditionType.DEGRADED)[0] == "True"
    assert passes_per_second(story, seconds=20) < 2.5
    story.pods.cordoned.clear()
    story.settle()


def test_one_pod_that_fits_nowhere_does_not_make_the_operator_run_hot():
    story = Story()
    story.passes.run_until(lambda: len(story.pods.live) == 6 and all(pod.ip for pod in story.pods.live.values()), within=5)
    story.pods.cordoned |= {"m1", "m2", "m3"}
    story.pods.kill(NodeIndex(2, 1))
    story.run(70)
    assert ready(story)[0] == "PodUnschedulable"
    assert passes_per_second(story, seconds=20) < 2.5


def test_an_outage_of_one_machine_leaves_the_others_serving():
    story = reached()
    story.write()
    story.pods.cordoned.add("m1")
    for index in [index for index, pod in story.pods.live.items() if pod.machine == "m1"]:
        story.pods.kill(index)
    story.run(10)
    story.settle()
    story.witness.assert_announced()
    assert {pod.machine for pod in story.pods.live.values()} == {"m2", "m3"}


USERS = [{"name": "app", "commands": {"allow": ["@all"]}, "keys": {"readWrite": ["*"]}}]
MISSING = "Secret orders-users does not exist: create it with the key app"


def acl(story):
    wanted = story.kubernetes.objects[AclSecret]
    assert isinstance(wanted, AclSecret)
    return wanted.acl


def test_a_users_secret_that_is_missing_holds_nothing_up_but_that_user():
    story = Story(users=USERS)
    story.world.user_passwords["app"] = MISSING
    story.settle()
    assert story.condition(ConditionType.CONFIGURATION_WARNING)[1:] == ("UsersACLError", f"user app: {MISSING}")
    assert "user app off" in acl(story)
    story.assert_at_rest()
    story.world.user_passwords["app"] = ("secret",)
    story.kubernetes.change()
    story.run(1)
    assert "user app on #" in acl(story)


def test_a_users_secret_that_vanishes_locks_nobody_out():
    story = Story(users=USERS)
    story.world.user_passwords["app"] = ("secret",)
    story.settle()
    before = acl(story)
    story.world.user_passwords["app"] = MISSING
    story.kubernetes.change()
    story.run(20)
    assert acl(story) == before
    assert story.condition(ConditionType.CONFIGURATION_WARNING)[1] == "UsersACLError"
    story.assert_at_rest()


def test_passwords_are_generated_once_though_each_look_draws_new_ones():
    story = Story()
    story.settle()
    assert story.kubernetes.passwords.operator == "operator-password-1"


@pytest.mark.parametrize("seed", range(2))
def test_an_api_server_and_servers_that_fail_now_and_then_delay_and_do_not_change_the_end(seed):
    story = Story(seed=seed, externalAccess=NODE_PORT)
    chance = story.world.timeline.chance
    story.passes.fails = lambda at: at < 20 and chance.random() < 0.3
    story.run(21)
    story.settle()
    story.witness.assert_announced()
    assert sum(bool(done.failed) for done in story.passes.done) > 5


def test_an_api_server_that_is_away_for_a_while_delays_everything():
    story = formed()
    story.passes.fails = lambda at: at < story.now + 1e9
    story.access(**NODE_PORT)
    story.run(20)
    assert not story.services.live
    story.passes.fails = lambda _: False
    story.settle()
    story.witness.assert_announced()
