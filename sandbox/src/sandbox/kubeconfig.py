"""Kubeconfig files: complete in themselves, so that they can be copied elsewhere."""

import base64
import os
from pathlib import Path

import yaml

from sandbox.pki import Pair


def write(path: Path, *, server: str, authority: Pair, client: Pair) -> Path:
    """Write a kubeconfig for `client` that only its owner can read, in place of an earlier one at once."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "sandbox",
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox"}}],
        "clusters": [
            {"name": "sandbox", "cluster": {"server": server, "certificate-authority-data": _encoded(authority.certificate)}}
        ],
        "users": [
            {
                "name": "sandbox",
                "user": {"client-certificate-data": _encoded(client.certificate), "client-key-data": _encoded(client.key)},
            }
        ],
    }
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        yaml.safe_dump(content, file, sort_keys=False)
    return unfinished.rename(path)


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
