import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

import cluster

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsUser": 7777, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    },
}
CONTAINER = {
    "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
}


def run(place, until, name, **container):
    """What a pod has said once it has ended."""
    body = POD | {"metadata": {"name": name}, "spec": POD["spec"] | {"restartPolicy": "Never"}}
    body["spec"]["containers"] = [CONTAINER | {"name": name, **container}]
    place.kubectl("apply", "--filename", "-", text=json.dumps(body))
    until(lambda: place.get("pod", name)["status"]["phase"] in {"Succeeded", "Failed"}, 30)
    return place.kubectl("logs", name)


@pytest.mark.parametrize("version", ["8.1.8", "9.0.0", "9.1.2"])
def test_each_valkey_runs_as_any_user_on_a_read_only_system(place, until, version):
    cluster.sandbox("load-image", f"valkey:{version}")

    said = run(
        place, until, f"valkey-{version.replace('.', '-')}", image=f"docker.io/valkey/valkey:{version}",
        command=["sh", "-c", "id -u; valkey-server --version; valkey-server --save '' & until valkey-cli info server | grep ^valkey_version; do sleep 0.2; done"],
    )  # fmt: skip

    assert said.splitlines()[0] == "7777"
    assert f"valkey_version:{version}" in said


def test_the_newest_valkey_speaks_tls(place, until):
    script = (
        "cd /tmp && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout k -out c -days 1 -subj /CN=x;"
        "valkey-server --port 0 --tls-port 6380 --tls-cert-file c --tls-key-file k --tls-ca-cert-file c --save '' &"
        "until valkey-cli -p 6380 --tls --cert /tmp/c --key /tmp/k --cacert /tmp/c ping; do sleep 0.2; done"
    )
    body = POD | {"metadata": {"name": "tls"}}
    body["spec"] = POD["spec"] | {"restartPolicy": "Never", "volumes": [{"name": "tmp", "emptyDir": {}}]}
    container = {"name": "tls", "image": "docker.io/valkey/valkey:9.1.2", "command": ["sh", "-c", script]}
    body["spec"]["containers"] = [CONTAINER | container | {"volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}]
    place.kubectl("apply", "--filename", "-", text=json.dumps(body))
    until(lambda: place.get("pod", "tls")["status"]["phase"] in {"Succeeded", "Failed"}, 30)

    assert place.kubectl("logs", "tls").endswith("PONG\n")


def test_the_operator_runs_from_its_image_without_rights(place, until):
    cluster.sandbox("load-image", "valkey-operator:dev")

    assert "Usage: valkey-operator" in run(place, until, "operator", image="valkey-operator:dev", args=["--help"])


def test_an_archive_of_another_tool_is_loaded(place, until, tmp_path):
    """`docker save` writes such files."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as packed:
        packed.add(Path("/usr/bin/catatonit"), "init")
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    configuration = json.dumps(
        {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}
    ).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": ["foreign:1"], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(tmp_path / "foreign.tar", "w") as packed:
        for name, content in (("config.json", configuration), ("layer.tar", layer.getvalue()), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    cluster.sandbox("load-image", str(tmp_path / "foreign.tar"))

    assert "catatonit" in run(place, until, "foreign", image="foreign:1", command=["/init", "--version"])
