"""The twins in Python refuse what the API server refuses, in its words, and accept what it accepts."""

import re

import pytest

from integration.api.examples import ACCEPTED, REFUSED
from integration.api.refusal import UNCHECKED
from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.model import SpecInvalid

OF_THE_NAME = re.compile(r"metadata\.name: |.*with this cluster's name")
BY_THE_API_SERVER_ALONE = re.compile(
    r"spec\.shards: .*must be of type|spec\.users\[1\]: Duplicate value|spec\.resources\.requests\.memory: .*should match"
)
KEYWORDS = re.compile(r"in body should|in body must|Required value$|Unsupported value|Too long|Too many")
PREFIX = re.compile(r'(Invalid value: ("([^"\\]|\\.)*": )?|Forbidden: |Required value: )')

EXAMPLES = [
    example
    for example in REFUSED
    if not any(OF_THE_NAME.match(line) or BY_THE_API_SERVER_ALONE.match(line) for line in example.lines)
]


def mistakes_of(spec):
    with pytest.raises(SpecInvalid) as caught:
        ValkeyClusterSpec.read(spec, path="spec")
    return caught.value.mistakes


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_python_refuses_what_the_api_server_refuses(example):
    mistakes = mistakes_of(example.spec)
    for line in example.lines:
        field = re.match(r"[^:]*: ", line)[0]
        if line == UNCHECKED:
            continue
        if KEYWORDS.search(line):
            assert any(mistake.startswith(field) for mistake in mistakes)
        elif not any(KEYWORDS.search(other) and other.startswith(field) for other in example.lines):
            assert PREFIX.sub("", line, count=1) in mistakes


@pytest.mark.parametrize("title", ACCEPTED)
def test_python_accepts_what_the_api_server_accepts(title):
    assert ValkeyClusterSpec.read(ACCEPTED[title], path="spec").shards == ACCEPTED[title]["shards"]
