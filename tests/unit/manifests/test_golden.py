"""Every object is what its golden file says. After an intended change: `WRITE_GOLDEN=1 pytest tests/unit/manifests/test_golden.py`, then read the diff."""

import os
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from golden.orders import WANTED, orders
from valkey_operator.manifests.render import manifest

GOLDEN = Path(__file__).parents[2] / "golden"
KUBERNETES = "1.35"


@pytest.mark.parametrize("name", WANTED)
def test_is_what_its_golden_file_says(name):
    kind, body = manifest(orders(), WANTED[name])
    file = GOLDEN / f"{name}.yaml"
    if os.environ.get("WRITE_GOLDEN"):
        file.write_text(yaml.safe_dump(body, sort_keys=False, width=132))
    assert body == yaml.safe_load(file.read_text())
    assert kind == body["kind"]


ELSEWHERE = {"valkey-node", "valkey-node-inside", "tls-route", "tcp-route", "openshift-route"}
"""Of kinds that are no part of Kubernetes; what they are is held against their CRDs elsewhere."""


@pytest.mark.parametrize("name", [name for name in WANTED if name not in ELSEWHERE])
def test_is_valid_for_kubernetes(name):
    kubernetes_validate.validate(yaml.safe_load((GOLDEN / f"{name}.yaml").read_text()), KUBERNETES, strict=True)


def test_there_is_no_golden_file_that_nothing_is_compared_with():
    assert {file.stem for file in GOLDEN.glob("*.yaml")} == set(WANTED)
