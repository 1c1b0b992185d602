import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pages import ROOT, manifests

KUBECTL = Path(sys.executable).with_name("kubectl")
NAMESPACE = "docs"
MANIFESTS = manifests()


@pytest.fixture(scope="module")
def kubectl(api_server):
    def run(*arguments, text=None):
        command = [KUBECTL, "--kubeconfig", api_server, *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("apply", "--server-side", "--force-conflicts", "--filename", str(ROOT / "deploy/crds"))
    run("wait", "--for=condition=Established", "--timeout=30s", "--filename", str(ROOT / "deploy/crds"))
    run("apply", "--filename", "-", text=yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
    yield run
    run("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.mark.parametrize(
    "manifest", [found for _, found in MANIFESTS], ids=[f"{where} {found['kind']}" for where, found in MANIFESTS]
)
def test_the_api_server_takes_what_the_pages_show(kubectl, manifest):
    manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": NAMESPACE}}
    printed = kubectl("create", "--dry-run=server", "--validate=strict", "--filename", "-", text=yaml.safe_dump(manifest))
    assert "created (server dry run)" in printed
