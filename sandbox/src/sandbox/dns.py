"""The cluster's DNS as kubeadm deploys it: CoreDNS in pods behind the Service kube-dns, and room for what its administrator adds.

That room is the ConfigMap `coredns-custom`, as many providers of Kubernetes have it: keys `*.override` belong to the server block of
everything, keys `*.server` are server blocks of their own.
"""

from pathlib import Path

import yaml

from sandbox import kubectl
from sandbox.addresses import DNS_SERVICE
from sandbox.home import DNS_SOURCES, Home
from sandbox.steps import Steps

MANIFEST = DNS_SOURCES / "coredns.yaml"
IMAGE = "registry.k8s.io/coredns/coredns:sandbox"
PATIENCE = "60s"


def objects(manifest: Path = MANIFEST) -> str:
    """The objects, the Service at the address that kubelets tell pods."""
    found = list(yaml.safe_load_all(manifest.read_text()))
    for each in found:
        if each["kind"] == "Service":
            each["spec"]["clusterIP"] = str(DNS_SERVICE)
    return yaml.safe_dump_all(found)


def deploy(home: Home) -> None:
    """It is there, and starts as soon as there are nodes."""
    kubectl.run(home, "apply", "--server-side", "--filename", "-", text=objects())


def wait(home: Home, *, steps: Steps) -> None:
    """It answers."""
    with steps.step("names are resolved"):
        kubectl.run(home, "rollout", "status", "--namespace", "kube-system", f"--timeout={PATIENCE}", "deployment/coredns")
