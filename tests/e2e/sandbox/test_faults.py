"""Faults, on a machine of their own, so that the shared sandbox is not disturbed."""

import json
import sys
import time

import pytest

from cluster import SANDBOX
from machine import Machine
from sandbox import processes
from sandbox.home import Home

PINGING = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: some}
spec:
  selector: {matchLabels: {app: some}}
  template:
    metadata: {labels: {app: some}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: valkey
          image: docker.io/valkey/valkey:9.1.2
          args: [valkey-server, --protected-mode, "no"]
          readinessProbe: {exec: {command: [valkey-cli, ping]}, periodSeconds: 1}
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    with Machine(tmp_path_factory.mktemp("machine")) as made:
        made.sandbox("up")
        made.run("sh", "-c", f"echo '{PINGING}' | {SANDBOX} kubectl apply -f -")
        made.sandbox("kubectl", "rollout", "status", "daemonset/some", "--timeout=60s")
        yield made


def pods(machine):
    """By node: the addresses of its pod, IPv4 and IPv6; none while it starts."""
    found = json.loads(machine.sandbox("kubectl", "get", "pods", "--output", "json"))["items"]
    return {pod["spec"]["nodeName"]: [entry["ip"] for entry in pod["status"].get("podIPs", [])] for pod in found}


def asked_from(machine, node, addresses):
    """Whether the pod of a node gets an answer from both of another pod's addresses, or from neither."""
    name = machine.sandbox(
        "kubectl", "get", "pods", f"--field-selector=spec.nodeName={node}", "--output=jsonpath={.items[0].metadata.name}"
    )
    done = [
        machine.run(SANDBOX, "kubectl", "exec", name, "--", "timeout", "1", "valkey-cli", "-h", address, "ping")
        for address in addresses
    ]
    (answered,) = {one.stdout.strip() == "PONG" for one in done}
    return answered


def count(machine, program):
    """How many processes of the machine run a program."""
    return sum(line.startswith(program) for line in machine.processes())


def reaches(machine, address):
    """Whether the machine reaches the kubelet at a node's address."""
    program = "import socket, sys; socket.create_connection((sys.argv[1], 10250), 1)"
    return machine.run(sys.executable, "-c", program, address).returncode == 0


def is_ready(machine, node):
    path = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    return machine.sandbox("kubectl", "get", "node", node, path) == "True"


def until(condition, seconds, *, says=lambda: ""):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, says()
        time.sleep(0.3)


def kubelet_log(machine, node):
    return Home(machine.home).log(f"{node}-kubelet")


def until_asked(machine, node):
    """The pod of a node that is back answers to others; where it does not, what its kubelet said last."""

    def answers():
        addresses = pods(machine)[node]
        return bool(addresses) and asked_from(machine, "node-1", addresses)

    until(answers, 60, says=lambda: processes.last_lines(kubelet_log(machine, node), 40))


def test_a_node_that_goes_down_takes_its_processes_and_address_with_it_and_comes_back(machine):
    running = count(machine, "valkey-server")

    machine.sandbox("fault", "node-down", "2")
    left = count(machine, "valkey-server")
    kubelets = count(machine, "/run/programs/kubelet")
    reached = reaches(machine, "198.18.0.12")
    status = machine.run(SANDBOX, "status")
    until(lambda: not is_ready(machine, "node-2"), 60)
    machine.sandbox("fault", "node-up", "2")

    assert (running, left, kubelets) == (3, 2, 2)
    assert not reached
    assert "node-2                  is down" in status.stdout
    assert is_ready(machine, "node-2")
    until_asked(machine, "node-2")


def test_the_kubelet_of_a_node_that_is_back_before_it_was_missed_serves(machine):
    machine.sandbox("fault", "node-down", "3")
    missed = not is_ready(machine, "node-3")
    machine.sandbox("fault", "node-up", "3")

    assert reaches(machine, "198.18.0.13")
    assert not missed
    until_asked(machine, "node-3")
    # It waits three seconds for each container whose control group outlived it.
    assert "Failed to create existing container" not in kubelet_log(machine, "node-3").read_text()


def test_a_partition_parts_two_nodes_and_their_pods_from_each_other_and_no_others(machine):
    address = pods(machine)
    healthy = asked_from(machine, "node-1", address["node-2"])

    machine.sandbox("fault", "partition", "1", "2")
    parted = {
        (one, other): asked_from(machine, f"node-{one}", address[f"node-{other}"])
        for one, other in ((1, 2), (2, 1), (1, 3), (2, 3), (3, 1), (3, 2))
    }
    status = machine.sandbox("status")
    nodes = [reaches(machine, f"198.18.0.{number}") for number in (11, 12, 13)]
    machine.sandbox("fault", "heal")

    assert healthy
    assert parted == {(1, 2): False, (2, 1): False, (1, 3): True, (2, 3): True, (3, 1): True, (3, 2): True}
    assert nodes == [True, True, True]
    assert status.count("parted from another node") == 2
    assert asked_from(machine, "node-1", address["node-2"])
    assert asked_from(machine, "node-2", address["node-1"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["node-down", "4"], "there is no node 4: this sandbox has 3 nodes"),
        (["partition", "1", "1"], "a partition is between two nodes, and both are node-1"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(machine, words, complaint):
    refused = machine.run(SANDBOX, "fault", *words)

    assert refused.returncode == 1
    assert complaint in refused.stderr
