"""The operator, deployed from this checkout as its users deploy it: CRDs, rights, one Deployment."""

import hashlib
import json
from typing import Any

import yaml

from sandbox import archive, cluster, images, kubectl, operator_image
from sandbox.errors import SandboxError
from sandbox.home import CHECKOUT, Home
from sandbox.ownership import Owner
from sandbox.steps import Steps

NAMESPACE = "valkey-operator-system"
DEPLOYMENT = "deployment/valkey-operator"
CRDS = CHECKOUT / "deploy/crds"
MANIFEST = CHECKOUT / "deploy/operator.yaml"
DIGEST = "sandbox/image-digest"
PATIENCE = "120s"


def deploy(home: Home, record: Owner, *, steps: Steps) -> None:
    """The operator of this checkout runs and is ready; one that runs already is replaced if it is another one."""
    image = operator_image.operator(home, steps=steps)
    digest = hashlib.sha256(archive.manifest(image)).hexdigest()
    if digest != _deployed_digest(home):
        with steps.step("the nodes have the operator's image"):
            images.load([image], home=home, nodes=[node for node in cluster.nodes_of(home, record) if node.process()])
    with steps.step("the operator is deployed"):
        kubectl.run(home, "apply", "--server-side", "--force-conflicts", "--filename", str(CRDS))
        kubectl.run(home, "wait", "--for=condition=Established", f"--timeout={PATIENCE}", "--filename", str(CRDS))
        objects = [_stamped(found, digest) for found in yaml.safe_load_all(MANIFEST.read_text())]
        kubectl.run(home, "apply", "--server-side", "--force-conflicts", "--filename", "-", text=_list(objects))
        try:
            kubectl.run(home, "rollout", "status", "--namespace", NAMESPACE, f"--timeout={PATIENCE}", DEPLOYMENT)
        except SandboxError as error:
            pods = kubectl.run(home, "describe", "pods", "--namespace", NAMESPACE)
            raise SandboxError(f"the operator did not become ready: {error}\n{pods}") from error


def remove(home: Home, *, steps: Steps) -> None:
    """The operator and its rights are gone. The definitions of ValkeyCluster and ValkeyNode go only when nobody has one: else all would go with them."""
    with steps.step("the operator is gone"):
        kubectl.run(home, "delete", "--ignore-not-found", "--filename", str(MANIFEST))
    clusters = kubectl.run(
        home, "get", "--ignore-not-found", "customresourcedefinitions", "valkeyclusters.valkey.io"
    ) and kubectl.run(home, "get", "valkeyclusters.valkey.io", "--all-namespaces", "--output", "name")
    if clusters:
        steps.say(f"{len(clusters.splitlines())} ValkeyClusters run on without an operator; their definitions stay with them")
    else:
        kubectl.run(home, "delete", "--ignore-not-found", "--filename", str(CRDS))


def _deployed_digest(home: Home) -> str:
    found = kubectl.run(home, "get", "--ignore-not-found", "--namespace", NAMESPACE, DEPLOYMENT, "--output", "json")
    if not found:
        return ""
    annotations: dict[str, str] = json.loads(found)["spec"]["template"]["metadata"].get("annotations") or {}
    return annotations.get(DIGEST, "")


def _stamped(found: dict[str, Any], digest: str) -> dict[str, Any]:
    """The object as it is written; of the Deployment, pods that are another image's are other pods, though its name is the same."""
    if found["kind"] == "Deployment":
        found["spec"]["template"]["metadata"].setdefault("annotations", {})[DIGEST] = digest
    return found


def _list(objects: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
