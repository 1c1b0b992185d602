import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from valkey_operator.api.cluster import GROUP
from valkey_operator.api.schema import KINDS, Kind, crd

ROOT = Path(__file__).parents[3]
KUBECTL = Path(sys.executable).with_name("kubectl")


@dataclass(frozen=True)
class Kubectl:
    """kubectl against the real API server, with the project's kinds in it."""

    kubeconfig: Path

    def run(self, *arguments: str, document: Any = None) -> subprocess.CompletedProcess[str]:
        """The result; a document (or a list of them) is the input."""
        documents = document if isinstance(document, list) else [document]
        text = "\n---\n".join(json.dumps(part) for part in documents) if document is not None else None
        command = [KUBECTL, "--kubeconfig", self.kubeconfig, *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)

    def __call__(self, *arguments: str, document: Any = None) -> str:
        """What it printed; a failure fails the test with its complaint."""
        done = self.run(*arguments, document=document)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def refusal(self, *arguments: str, document: Any = None) -> str:
        """Its complaint."""
        done = self.run(*arguments, document=document)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)} did it: {done.stdout}"
        return done.stderr.strip()


@pytest.fixture(scope="session")
def kubectl(api_server: Path) -> Kubectl:
    """kubectl, once the API server serves the project's kinds and explains them."""
    run = Kubectl(api_server)
    run("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "deploy" / "crds"))
    run("wait", "--for=condition=Established", "--timeout=30s", "crd/valkeyclusters.valkey.io", "crd/valkeynodes.valkey.io")
    for kind in KINDS:
        until_explained(run, kind)
    return run


def until_explained(kubectl: Kubectl, kind: Kind) -> None:
    """The API server publishes the schema of a kind (OpenAPI) some time after it serves the kind."""
    deadline = time.monotonic() + 30
    while (done := kubectl.run("explain", f"{kind.plural}.{GROUP}")).returncode:
        assert time.monotonic() < deadline, f"no schema of {kind.plural} in 30 s: {done.stderr}"
        time.sleep(0.1)


def in_group(kind: Kind, group: str) -> Any:
    """The kind's definition in a group of its own, where no operator looks."""
    document = json.loads(json.dumps(crd(kind)))
    document["metadata"]["name"] = f"{kind.plural}.{group}"
    document["spec"]["group"] = group
    for names in ("categories", "shortNames"):
        document["spec"]["names"].pop(names)
    return document


@pytest.fixture(scope="session")
def quiet(kubectl: Kubectl) -> Iterator[str]:
    """A group with the same kinds that no operator watches: for tests that store objects."""
    group = "quiet.valkey.test"
    definitions = [in_group(kind, group) for kind in KINDS]
    names = [f"crd/{document['metadata']['name']}" for document in definitions]
    kubectl("delete", *names, "--ignore-not-found")
    kubectl("apply", "--server-side", "-f", "-", document=definitions)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    yield group
    kubectl("delete", *names)
