from dataclasses import replace

import pytest

from unit.core.edits import changed, recorded, silent
from unit.core.given import NODES, observed, pod
from valkey_operator.core.observed import Trouble
from valkey_operator.core.versions import of_file

FIRST, OTHER = NODES[:2]
DIGEST = "valkey@sha256:0b1c"


def running(image, version=(9, 1, 2), **spec):
    seen = observed(spec={"image": image, **spec})
    for index in NODES:
        seen = changed(seen, index, version=version)
    return seen


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("docker.io/valkey/valkey:8.1.8", (8, 1, 8, 0)),
        ("valkey:8.1.8-alpine", (8, 1, 8, 0)),
        ("valkey:v8.1", (8, 1, 0)),
        ("valkey:8", (8, 0)),
        ("localhost:5000/valkey:7.2@sha256:0b1c", (7, 2, 0)),
        ("valkey:9.2.0", (9, 1, 2)),
        ("valkey:20260301", (9, 1, 2)),
        ("valkey:1.4", (9, 1, 2)),
        ("valkey:latest", (9, 1, 2)),
        ("localhost:5000/valkey", (9, 1, 2)),
        (DIGEST, (9, 1, 2)),
    ],
)
def test_the_tag_tells_of_an_older_image_before_a_server_of_it_runs(image, version):
    assert of_file(running(image), FIRST) == version


def test_a_patch_of_the_servers_container_may_name_the_image():
    patched = [{"name": "proxy", "image": "proxy:7.0"}, {"name": "server", "image": "valkey:8.1.8"}]
    assert of_file(running("valkey:9.1.2", containers=patched), FIRST) == (8, 1, 8, 0)


def test_a_server_that_runs_is_started_again_in_its_own_image_until_its_pod_is_replaced():
    assert of_file(running("valkey:9.1.2", version=(8, 1, 8)), FIRST) == (8, 1, 8)


def test_a_silent_server_has_the_version_that_it_told_last():
    seen = recorded(silent(running(DIGEST), FIRST), FIRST, version="8.1.8")
    assert of_file(seen, FIRST) == (8, 1, 8, 0)
    assert of_file(seen, OTHER) == (9, 1, 2)


def test_of_a_node_that_never_ran_the_oldest_of_the_others_tells():
    seen = changed(silent(running(DIGEST), FIRST), OTHER, version=(8, 0, 1))
    assert of_file(seen, FIRST) == (8, 0, 1)


def test_where_nobody_ever_told_anything_no_newer_key_is_known():
    assert of_file(silent(running(DIGEST), *NODES), FIRST) == (0, 0)
    assert of_file(silent(running("valkey:9.1.2"), *NODES), FIRST) == (9, 1, 2, 0)
    assert of_file(recorded(silent(running(DIGEST), *NODES), FIRST, version="?"), FIRST) == (0, 0)


@pytest.mark.parametrize("key", ["cluster-announce-client-port", "cluster-announce-client-ipv4"])
def test_a_server_that_stopped_at_such_a_key_is_started_without_any(key):
    words = f"*** FATAL CONFIG FILE ERROR (Version 8.1.8) *** >>> '{key} \"1\"' Bad directive or wrong number of arguments"
    seen = silent(running("valkey:9.1.2"), FIRST)
    stopped = pod(FIRST, running=False, trouble=Trouble("CrashLoopBackOff", words))
    assert of_file(replace(seen, pods={**seen.pods, FIRST: stopped}), FIRST) == (0, 0)
    other = replace(stopped, trouble=Trouble("CrashLoopBackOff", "Bad directive: no-such-key"))
    assert of_file(replace(seen, pods={**seen.pods, FIRST: other}), FIRST) == (9, 1, 2)
