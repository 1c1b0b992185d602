import re
from pathlib import Path

import pytest

from valkey_operator.api import schema
from valkey_operator.api.cluster import MAX_NAME
from valkey_operator.core import names
from valkey_operator.core.names import NodeIndex

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("path", schema.files())
def test_the_generated_files_are_fresh(path):
    fresh = schema.files()[path]
    assert (ROOT / path).read_text(encoding="utf-8") == fresh, "stale: run `python -m valkey_operator.api.schema`"


def walk(part, path=""):
    """Every schema below this one, with its path."""
    yield path, part
    for name, inner in part.get("properties", {}).items():
        yield from walk(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in part:
            yield from walk(part[key], f"{path}[]")


def version(kind):
    (only,) = schema.crd(kind)["spec"]["versions"]
    return only


@pytest.fixture(params=schema.KINDS, ids=lambda kind: kind.name)
def parts(request):
    return dict(walk(version(request.param)["schema"]["openAPIV3Schema"]))


def test_every_part_has_a_type_and_nothing_that_a_structural_schema_may_not_have(parts):
    for path, part in parts.items():
        assert "type" in part or part.get("x-kubernetes-int-or-string"), path
        assert not {"$ref", "$defs", "title", "const", "allOf", "oneOf", "not"} & part.keys(), path
        assert "anyOf" not in part or part.get("x-kubernetes-int-or-string"), path


def test_every_field_is_described(parts):
    bare = [
        path
        for path, part in parts.items()
        if path.startswith((".spec", ".status")) and "[]" not in path[-2:] and not part.get("description")
    ]
    assert bare == []


def test_only_defaults_that_no_rule_minds_are_stored(parts):
    stored = {path: part["default"] for path, part in parts.items() if "default" in part}
    assert stored in (
        {".spec.replicas": 0, ".spec.users[].enabled": True, ".spec.externalAccess.enabled": False},
        {},
    )


def test_every_list_says_how_it_is_merged(parts):
    silent = [path for path, part in parts.items() if part.get("type") == "array" and "x-kubernetes-list-type" not in part]
    assert silent in ([".spec.containers[].command", ".spec.containers[].args", ".spec.containers[].env"], [])


def test_every_text_of_the_spec_that_a_rule_reads_is_bounded(parts):
    unbounded = [
        path
        for path, part in parts.items()
        if part.get("type") == "string" and "x-kubernetes-validations" in part and "maxLength" not in part
    ]
    assert unbounded == []


def test_the_kinds_have_short_names_and_one_category():
    told = {kind.name: schema.crd(kind)["spec"]["names"] for kind in schema.KINDS}
    assert told["ValkeyCluster"]["shortNames"] == ["vkc"]
    assert told["ValkeyNode"]["shortNames"] == ["vkn"]
    assert {tuple(name["categories"]) for name in told.values()} == {("valkey",)}


def test_a_status_is_a_subresource_of_its_own():
    assert [version(kind)["subresources"] for kind in schema.KINDS] == [{"status": {}}, {"status": {}}]


def test_no_rule_needs_an_api_server_newer_than_1_32(parts):
    newer = re.compile(
        r"\.(sort|sortBy|distinct|flatten|reverse|slice|first|last)\(|lists\.range|[a-z]\((k, v|i, v),|transform(List|Map)|isSemver|base64|math\."
    )
    rules = [rule for part in parts.values() for rule in part.get("x-kubernetes-validations", ())]
    assert [rule for rule in rules if newer.search(rule["rule"] + rule.get("messageExpression", ""))] == []


def test_rules_at_the_root_let_every_old_object_pass():
    rules = version(schema.CLUSTER)["schema"]["openAPIV3Schema"]["x-kubernetes-validations"]
    assert len(rules) == 3
    for rule in rules:
        assert rule["optionalOldSelf"] is True
        assert rule["rule"].startswith(("oldSelf.hasValue() || ", "(oldSelf.hasValue() && oldSelf.value().spec == self.spec) || "))


@pytest.mark.parametrize("index", [NodeIndex(shard=999, node=0), NodeIndex(shard=165, node=5)])
def test_every_name_made_from_the_longest_cluster_name_fits(index):
    cluster = "n" * MAX_NAME
    assert len(names.workload(cluster, index)) <= 52
    assert len(names.pod(cluster, index)) <= 63
    assert len(names.headless_service(cluster)) <= 63
    assert len(names.shard_service(cluster, index.shard)) <= 63
    assert len(names.valkey_node(cluster, index)) <= 63
    assert len(names.container_port(index)) <= 15
    assert max(len(value) for value in names.node_labels(cluster, index).values()) <= 63


def test_one_character_more_would_not_fit():
    assert len(names.workload("n" * (MAX_NAME + 1), NodeIndex(shard=999, node=0))) == 53
