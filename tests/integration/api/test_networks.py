"""The CEL rules of source ranges and of classes, and their twins in Python, say the same of the same text."""

import itertools
import re

from integration.api.exposure_examples import balancer
from valkey_operator.api.access_rules import BALANCER_CLASS, is_network

CLUSTER = {"apiVersion": "valkey.io/v1alpha1", "kind": "ValkeyCluster"}
SERVICE = {"apiVersion": "v1", "kind": "Service"}

ADDRESSES = (
    "",
    "0.0.0.0",
    "10.0.0.0",
    "10.0.0.1",
    "10.0.0",
    "010.0.0.0",
    "10.0.0.256",
    "::",
    "fd00::",
    "FD00::",
    "fd00::1",
    "fd00:0::",
    "::ffff:10.0.0.0",
    "64:ff9b::10.0.0.0",
    "fe80::%eth0",
    "1:2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7:8:9",
    "12345::",
    "[fd00::]",
    "a",
)
LENGTHS = (
    "",
    "/",
    "/0",
    "/8",
    "/08",
    "/32",
    "/33",
    "/96",
    "/104",
    "/128",
    "/129",
    "/-1",
    "/+8",
    "/8 ",
    "/255.0.0.0",
    "/8/8",
    "/\u0664",
)
RANGES = ["".join(pieces) for pieces in itertools.product(ADDRESSES, LENGTHS)]

PIECES = ("", "a", "A", "-", "_", ".", "/", "a/", "a.b/", "a..b/", "a" * 63, "é", " ", "\n", "0")
CLASSES = ["".join(pieces) for pieces in itertools.product(PIECES, repeat=2) if "".join(pieces)]
CLASSES = [*dict.fromkeys(CLASSES), "a." * 126 + "a/b", "a." * 127 + "/b", "a" * 254 + "/b"]


def refused(kubectl, kind, specs):
    """The numbers of the specs that the API server refuses."""
    documents = [{**kind, "metadata": {"name": f"t-{number}"}, "spec": spec} for number, spec in enumerate(specs)]
    done = kubectl.run("create", "--dry-run=server", "-f", "-", document=documents)
    numbers = {int(number) for number in re.findall(r'(?m)^(?:Error from server|The Service).*?"t-(\d+)" is invalid', done.stderr)}
    assert len(done.stdout.splitlines()) == len(specs) - len(numbers)
    return numbers


def test_the_api_server_and_python_judge_every_source_range_alike(kubectl):
    said = refused(kubectl, CLUSTER, [balancer(loadBalancerSourceRanges=[text]) for text in RANGES])
    networks = {text for number, text in enumerate(RANGES) if number not in said}
    assert networks == {text for text in RANGES if is_network(text)}
    assert networks == {
        "0.0.0.0/0",
        "0.0.0.0/8",
        "0.0.0.0/32",
        "10.0.0.0/8",
        "10.0.0.0/32",
        "10.0.0.1/32",
        "::/0",
        "::/8",
        "::/32",
        "::/33",
        "::/96",
        "::/104",
        "::/128",
        "fd00::/8",
        "fd00::/32",
        "fd00::/33",
        "fd00::/96",
        "fd00::/104",
        "fd00::/128",
        "FD00::/8",
        "FD00::/32",
        "FD00::/33",
        "FD00::/96",
        "FD00::/104",
        "FD00::/128",
        "fd00::1/128",
        "fd00:0::/8",
        "fd00:0::/32",
        "fd00:0::/33",
        "fd00:0::/96",
        "fd00:0::/104",
        "fd00:0::/128",
        "64:ff9b::10.0.0.0/104",
        "64:ff9b::10.0.0.0/128",
        "1:2:3:4:5:6:7:8/128",
    }


def test_the_api_server_and_python_and_a_service_judge_every_class_alike(kubectl):
    said = {CLASSES[number] for number in refused(kubectl, CLUSTER, [balancer(loadBalancerClass=text) for text in CLASSES])}
    assert said == {text for text in CLASSES if BALANCER_CLASS.mistakes(text)}
    services = [{"type": "LoadBalancer", "loadBalancerClass": text, "ports": [{"port": 6380}]} for text in CLASSES]
    assert said == {CLASSES[number] for number in refused(kubectl, SERVICE, services)}
    assert len(CLASSES) - len(said) == 22
