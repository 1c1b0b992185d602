import shlex
import subprocess
import sys

import pytest

from demo.providers import Sandbox
from pages import ROOT

DEMO = "valkeyclusters.valkey.io/demo"


def run(*command, timeout=300):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=timeout)


@pytest.fixture
def demo(kubernetes, operator):  # noqa: ARG001 -- it has to run
    """The demo, run once; a cluster of its name that was there before stays."""
    was_there = kubernetes.try_kubectl("get", DEMO).returncode == 0
    yield run(sys.executable, "-m", "demo")
    if not was_there:
        kubernetes.kubectl("delete", "--ignore-not-found", DEMO)


@pytest.mark.timeout(900)
def test_the_demo_loses_nothing_and_leaves_a_cluster_for_which_its_hints_work(demo, kubernetes):
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "read all 1,000 again: 0 lost" in demo.stdout
    assert "timed out, as it should be outside" in demo.stdout
    assert "keys lost 0" in demo.stdout

    told = kubernetes.kubectl("get", DEMO, "--output", "jsonpath={.status.externalAccess.endpoints[*].nodes[*].address}")
    assert len(told.split()) == 6

    hints = [hint for hint, _ in Sandbox.hints]
    assert hints.pop() == "make sandbox-down"
    for hint in hints:
        tried = run(*shlex.split(hint))
        assert tried.returncode == 0, f"{hint}: {tried.stdout}{tried.stderr}"

    again = run(sys.executable, "-m", "demo")
    assert "keys lost 0" in again.stdout, again.stdout + again.stderr
