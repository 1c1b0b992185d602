"""The sandbox from its start to its end, on a machine of its own, so that the shared one is not disturbed."""

import os
import signal
import time
from pathlib import Path

import pytest

from cluster import SANDBOX
from machine import Machine
from sandbox.home import Home


@pytest.fixture
def machine(tmp_path):
    with Machine(tmp_path) as made:
        yield made


def test_down_leaves_nothing_behind(machine):
    before = machine.traces()

    machine.sandbox("up")
    machine.sandbox("kubectl", "create", "deployment", "some", "--image=docker.io/valkey/valkey:9.1.2", "--replicas=3")
    machine.sandbox("kubectl", "expose", "deployment", "some", "--port=6379", "--type=LoadBalancer")
    machine.sandbox("kubectl", "rollout", "status", "deployment/some", "--timeout=60s")
    machine.sandbox("fault", "partition", "1", "2")
    machine.sandbox("fault", "node-down", "3")
    stranger = machine.start(SANDBOX, "outside", "--", "sleep", "1000")
    machine.sandbox("down")

    assert machine.traces() == before
    assert stranger.wait(10) != 0
    assert sorted(path.name for path in machine.home.iterdir()) == ["images", "logs", "programs"]


def test_up_and_down_work_after_ups_that_were_killed(machine, until):
    before = machine.traces()

    for stage in ("etcd", "node-2-containerd", "kube-controller-manager", "node-1-kubelet"):
        killed = machine.start(SANDBOX, "up", "--nodes", "2")
        until(lambda stage=stage: machine.run("test", "-e", f"/run/valkey-sandbox/processes/{stage}.json").returncode == 0, 60)
        for process in _tree(killed.pid):
            os.kill(process, signal.SIGKILL)
        killed.wait()
    machine.sandbox("up", "--nodes", "2")
    nodes = machine.sandbox("kubectl", "get", "nodes", "--output", "name")
    machine.sandbox("down")

    assert nodes.split() == ["node/node-1", "node/node-2"]
    assert machine.traces() == before


def test_up_is_quick_when_it_runs_and_repairs_what_has_ended(machine):
    machine.sandbox("up", "--nodes", "2")
    balancer = _process(machine, "balancer")
    kubelet = _process(machine, "node-2-kubelet")

    machine.run("kill", "-KILL", str(balancer), str(kubelet))
    status = machine.run(SANDBOX, "status")
    machine.sandbox("up", "--nodes", "2")

    assert status.returncode == 3
    assert "a daemon of it has ended" in status.stdout
    assert _process(machine, "balancer") != balancer
    assert machine.run(SANDBOX, "status").returncode == 0
    assert "the sandbox is running" in machine.sandbox("up", "--nodes", "2")


def test_a_second_home_is_refused_while_the_first_one_lives(machine):
    machine.sandbox("up", "--control-plane-only")
    second = machine.new_home("second", Home.of(os.environ))

    refused = [machine.run(SANDBOX, *words, home=second) for words in (["up", "--control-plane-only"], ["down"])]
    machine.sandbox("down")
    machine.sandbox("up", "--control-plane-only", home=second)

    assert [done.returncode for done in refused] == [1, 1]
    assert all(f"the sandbox of {machine.home} is running on this machine" in done.stderr for done in refused)


def test_the_control_plane_alone_is_replaced_by_the_whole_and_served_by_it(machine):
    machine.sandbox("up", "--control-plane-only")
    alone = machine.sandbox("kubectl", "get", "nodes")
    replaced = machine.sandbox("up", "--nodes", "1")
    served = machine.sandbox("up", "--control-plane-only")

    assert alone == ""
    assert "replacing it by the whole sandbox" in replaced
    assert "the sandbox is running (full)" in served
    assert machine.sandbox("kubectl", "get", "nodes", "--output", "name").split() == ["node/node-1"]


def test_a_port_in_use_is_named_together_with_its_user(machine):
    machine.start("python3", "-c", "import socket,time; s=socket.create_server(('127.0.0.1',6443)); time.sleep(1000)")
    time.sleep(0.5)

    refused = machine.run(SANDBOX, "up", "--control-plane-only")

    assert refused.returncode == 1
    assert "port 6443 is in use by" in refused.stderr
    assert "python3" in refused.stderr


def test_a_route_into_its_networks_is_named(machine):
    machine.run("ip", "link", "add", "other", "type", "veth", "peer", "name", "far")
    machine.run("ip", "link", "set", "other", "up")
    machine.run("ip", "route", "add", "10.96.4.0/24", "dev", "other")

    refused = machine.run(SANDBOX, "up")

    assert refused.returncode == 1
    assert (
        "this machine has a route into 10.96.0.0/16, which the sandbox needs for itself: `10.96.4.0/24 dev other" in refused.stderr
    )


def _process(machine, name):
    return int(machine.run("sh", "-c", f"grep -o '\"pid\": [0-9]*' /run/valkey-sandbox/processes/{name}.json").stdout.split()[1])


def _tree(pid):
    """A process and its only child: `nsenter`, and what it has started."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
