import itertools
import json
import re

import pytest

from integration.api.examples import ACCEPTED, FIXED, OWNED, REFUSED, TLS_FIXED
from integration.api.exposure_examples import balancer
from integration.api.node_port_examples import node_port


def cluster(name, spec):
    return {"apiVersion": "valkey.io/v1alpha1", "kind": "ValkeyCluster", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def printed(kubectl):
    """What kubectl prints of each refused spec, by title: all are sent in one go."""
    names = {example.title: example.name or f"refused-{number}" for number, example in enumerate(REFUSED)}
    done = kubectl.run(
        "create", "--dry-run=server", "-f", "-", document=[cluster(names[example.title], example.spec) for example in REFUSED]
    )
    complaints = re.split(r'(?m)^Error from server \(Invalid\): error when creating "STDIN": ValkeyCluster.valkey.io ', done.stderr)
    said = dict(complaint.strip().split(" is invalid: ", 1) for complaint in complaints if complaint)
    assert done.stdout == ""
    return {title: said[f'"{name}"'] for title, name in names.items()}


@pytest.mark.parametrize("example", REFUSED, ids=lambda example: example.title)
def test_kubectl_prints_what_is_wrong_and_what_to_do(printed, example):
    in_any_order = ["[" + ", ".join(lines) + "]" for lines in itertools.permutations(example.lines)]
    assert printed[example.title] in (example.lines if len(example.lines) == 1 else in_any_order)


def test_several_mistakes_are_listed_one_a_line(kubectl):
    spec = {**node_port(advertisedPort=6380, advertisedHost="{nam}.example.com"), "config": {"port": "7000"}}
    said = kubectl.refusal("create", "--dry-run=server", "-f", "-", document=cluster("several", spec))
    assert sorted(said.splitlines()) == [
        '* spec.config: Invalid value: ["port"]: set by the operator, which sets up network, cluster and files of every server: remove it',
        (
            '* spec.externalAccess.advertisedHost: Invalid value: "{nam}.example.com": has an unknown placeholder: known here are {name}, '
            "{namespace}, {shard}, {node}"
        ),
        (
            "* spec.externalAccess.advertisedPort: Forbidden: with type NodePort the ports that Kubernetes allocates are advertised: remove "
            "it; to ask for certain ports set nodePort.startPort"
        ),
        'The ValkeyCluster "several" is invalid: ',
    ]


def test_every_reserved_key_is_named(kubectl):
    said = kubectl.refusal(
        "create", "--dry-run=server", "-f", "-", document=cluster("keys", {"shards": 3, "config": {"dir": "/a", "BIND": "::"}})
    )
    assert said in {
        f'The ValkeyCluster "keys" is invalid: spec.config: Invalid value: {keys}: {OWNED}'
        for keys in ('["dir", "BIND"]', '["BIND", "dir"]')
    }


def test_good_specs_are_accepted(kubectl):
    documents = [cluster(f"accepted-{number}", spec) for number, spec in enumerate(ACCEPTED.values())]
    said = kubectl("create", "--dry-run=server", "-f", "-", document=documents)
    assert said.splitlines() == [
        f"valkeycluster.valkey.io/accepted-{number} created (server dry run)" for number in range(len(ACCEPTED))
    ]


def test_a_field_that_does_not_exist_is_told_by_its_path(kubectl):
    said = kubectl.refusal("create", "--dry-run=server", "-f", "-", document=cluster("typo", node_port(advertisedHosts="a")))
    assert said.endswith('strict decoding error: unknown field "spec.externalAccess.advertisedHosts"')


def test_a_name_of_39_characters_is_accepted(kubectl):
    name = "n" * 39
    said = kubectl("create", "--dry-run=server", "-f", "-", document=cluster(name, {"shards": 1}))
    assert said == f"valkeycluster.valkey.io/{name} created (server dry run)\n"


@pytest.fixture
def stored(kubectl, quiet):
    """Kind and name of a stored cluster with external access and pinned zones."""
    spec = {**node_port(advertisedHost="{name}.example.com"), "scheduling": {"zone": {"pinning": {"zones": ["a", "b"]}}}}
    document = {**cluster("changing", spec), "apiVersion": f"{quiet}/v1alpha1"}
    kubectl("create", "-f", "-", document=document)
    yield f"valkeyclusters.{quiet}/changing"
    kubectl("delete", f"valkeyclusters.{quiet}", "changing")


@pytest.mark.parametrize(
    ("patch", "line"),
    [
        ('{"spec":{"shards":4}}', f"spec.shards: Invalid value: 4: {FIXED}"),
        ('{"spec":{"tls":{"certificate":{"secretName":"orders-cert"}}}}', f"spec.tls: Forbidden: {TLS_FIXED}"),
        ('{"spec":{"replicas":1}}', f"spec.replicas: Invalid value: 1: {FIXED}"),
        (
            '{"spec":{"scheduling":{"zone":{"pinning":{"zones":["b","a"]}}}}}',
            (
                "spec.scheduling.zone.pinning.zones: Invalid value: cannot be changed while set: remove pinning, wait until the cluster is "
                "Ready, then set the new zones"
            ),
        ),
    ],
)
def test_what_cannot_change_yet_says_what_to_do_instead(kubectl, stored, patch, line):
    assert kubectl.refusal("patch", stored, "--type=merge", "-p", patch) == f'The ValkeyCluster "changing" is invalid: {line}'


@pytest.mark.parametrize(
    "patch",
    [
        '{"spec":{"externalAccess":{"enabled":false}}}',
        '{"spec":{"externalAccess":{"advertisedHost":null,"nodePort":{"startPort":31200}}}}',
        '{"spec":{"externalAccess":null,"replicas":0}}',
        '{"spec":{"scheduling":{"zone":{"pinning":null}}}}',
        '{"spec":{"config":{"maxmemory":"1gb"},"users":[{"name":"app"}]}}',
    ],
)
def test_everything_else_may_change(kubectl, stored, patch):
    assert kubectl("patch", stored, "--type=merge", "-p", patch) == "valkeycluster.quiet.valkey.test/changing patched\n"


CLASS = "example.com/internal"
CLASS_STAYS = (
    "spec.externalAccess.loadBalancerClass: Invalid value: Kubernetes keeps the class of a load balancer for its life: set type to NodePort "
    "and remove the class first, and set both anew once status.externalAccess.drainingSince has come and gone"
)


@pytest.fixture
def stored_access(kubectl, quiet):
    """A function that stores a cluster with such external access, and patches it then: what kubectl prints."""
    kind = f"valkeyclusters.{quiet}"

    def change(spec, *patches):
        kubectl("delete", kind, "balanced", "--ignore-not-found")
        kubectl("create", "-f", "-", document={**cluster("balanced", spec), "apiVersion": f"{quiet}/v1alpha1"})
        done = [
            kubectl.run("patch", kind, "balanced", "--type=merge", "-p", json.dumps({"spec": {"externalAccess": fields}}))
            for fields in patches
        ]
        return (done[-1].stdout + done[-1].stderr).strip()

    yield change
    kubectl("delete", kind, "balanced", "--ignore-not-found")


@pytest.mark.parametrize(
    ("before", "fields"),
    [
        ({}, {"loadBalancerClass": CLASS}),
        ({"loadBalancerClass": CLASS}, {"loadBalancerClass": "example.com/other"}),
        ({"loadBalancerClass": CLASS}, {"loadBalancerClass": None}),
        ({"loadBalancerClass": CLASS}, {"loadBalancerClass": None, "loadBalancerScope": "Cluster", "advertisedPort": 7000}),
    ],
)
def test_the_class_of_load_balancers_that_exist_stays(stored_access, before, fields):
    assert stored_access(balancer(**before), fields) == f'The ValkeyCluster "balanced" is invalid: {CLASS_STAYS}'


@pytest.mark.parametrize(
    "patches",
    [
        [{"loadBalancerScope": "Cluster", "loadBalancerSourceRanges": ["10.0.0.0/8"], "externalTrafficPolicy": "Cluster"}],
        [{"type": "NodePort", "loadBalancerClass": None}, {"type": "LoadBalancer", "loadBalancerClass": "example.com/other"}],
        [{"enabled": False, "loadBalancerClass": "example.com/other"}],
        [{"enabled": False}, {"enabled": True, "loadBalancerClass": None}],
    ],
)
def test_all_else_of_load_balancers_and_the_class_of_none_may_change(stored_access, patches):
    assert stored_access(balancer(loadBalancerClass=CLASS), *patches) == "valkeycluster.quiet.valkey.test/balanced patched"


@pytest.fixture
def secured(kubectl, quiet):
    """Kind and name of a stored cluster with TLS."""
    spec = {"shards": 3, "tls": {"certificate": {"secretName": "orders-cert"}}}
    kubectl("create", "-f", "-", document={**cluster("secured", spec), "apiVersion": f"{quiet}/v1alpha1"})
    yield f"valkeyclusters.{quiet}/secured"
    kubectl("delete", f"valkeyclusters.{quiet}", "secured")


def test_tls_stays_once_it_is_there(kubectl, secured):
    said = kubectl.refusal("patch", secured, "--type=merge", "-p", '{"spec":{"tls":null}}')
    assert said == f'The ValkeyCluster "secured" is invalid: spec.tls: Forbidden: {TLS_FIXED}'


def test_another_secret_may_be_named(kubectl, secured):
    patch = '{"spec":{"tls":{"certificate":{"secretName":"other"}}}}'
    assert kubectl("patch", secured, "--type=merge", "-p", patch) == "valkeycluster.quiet.valkey.test/secured patched\n"
