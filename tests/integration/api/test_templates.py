"""The CEL rules of host templates and their twins in Python say the same of the same template, word by word."""

import itertools
import re

from integration.api.node_port_examples import node_port
from valkey_operator.api import template

PIECES = (
    "",
    "{name}",
    "{namespace}",
    "{shard}",
    "{node}",
    "{nam}",
    "{",
    "}",
    "a",
    "A",
    "-",
    ".",
    "_",
    "10.0.0.",
    "1",
    "é",
    ":",
    " ",
    "b" * 63,
)
TEMPLATES = ["".join(pieces) for pieces in itertools.product(PIECES, repeat=2) if "".join(pieces)]


def test_the_api_server_and_python_judge_every_template_alike(kubectl):
    documents = [
        {
            "apiVersion": "valkey.io/v1alpha1",
            "kind": "ValkeyCluster",
            "metadata": {"name": f"t-{number}"},
            "spec": node_port(advertisedHost=text),
        }
        for number, text in enumerate(TEMPLATES)
    ]
    done = kubectl.run("create", "--dry-run=server", "-f", "-", document=documents)
    said = {
        int(number): words
        for number, words in re.findall(r'(?m)^Error from server \(Invalid\): .*? "t-(\d+)" is invalid: (.*)$', done.stderr)
    }
    judged = {
        number: f'spec.externalAccess.advertisedHost: Invalid value: "{text}": {mistakes[0]}'
        for number, text in enumerate(TEMPLATES)
        if (mistakes := template.mistakes(text))
    }
    assert {TEMPLATES[number]: words for number, words in said.items()} == {
        TEMPLATES[number]: words for number, words in judged.items()
    }
    assert len(done.stdout.splitlines()) == len(TEMPLATES) - len(judged)
    assert len(TEMPLATES) - len(judged) > 30
