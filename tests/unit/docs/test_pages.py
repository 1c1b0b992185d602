import re
from pathlib import Path

import click
import pytest
import yaml

import demo.__main__ as demo_command
import sandbox.cli as sandbox_command
import valkey_operator.cli.kubectl_valkey as plugin_command
from pages import PAGES, ROOT, blocks, commands, manifests
from valkey_operator.api.cluster import ValkeyClusterSpec

CLUSTERS = [(where, found) for where, found in manifests() if found["kind"] == "ValkeyCluster"]
TYPED = [words for _, words in commands()]


def schema():
    crd = yaml.safe_load((ROOT / "deploy/crds/valkeyclusters.valkey.io.yaml").read_text())
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def unknown_fields(written, known, path="spec"):
    if isinstance(written, list):
        return [field for item in written for field in unknown_fields(item, known.get("items", {}), f"{path}[]")]
    if not isinstance(written, dict) or "properties" not in known:
        return []
    return [
        field
        for key, value in written.items()
        for field in (
            unknown_fields(value, known["properties"][key], f"{path}.{key}") if key in known["properties"] else [f"{path}.{key}"]
        )
    ]


def slug(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)}


@pytest.mark.parametrize("found", [found for _, found in CLUSTERS], ids=[where for where, _ in CLUSTERS])
def test_every_cluster_on_a_page_is_one_that_the_operator_takes(found):
    ValkeyClusterSpec.read(found["spec"], path="spec")
    assert unknown_fields(found["spec"], schema()) == []


def test_the_pages_show_clusters():
    assert len(CLUSTERS) >= 7


def test_an_unknown_field_would_be_found():
    assert unknown_fields({"shards": 3, "externalAccess": {"typ": "NodePort"}}, schema()) == ["spec.externalAccess.typ"]


def test_the_readme_shows_the_cluster_of_the_demo():
    readme = next(block for block in blocks("yaml") if block.page.name == "README.md")
    assert readme.text == (ROOT / "demo/cluster.yaml").read_text()


def test_the_readme_fits_on_one_screen():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("words", [words for words in TYPED if words[0] == "make"], ids=" ".join)
def test_every_make_command_has_its_target(words):
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [word for word in words[1:] if "=" not in word and word not in targets] == []


@pytest.mark.parametrize("words", [words for words in TYPED if "sandbox" in words[0]], ids=" ".join)
def test_every_sandbox_command_is_one(words):
    assert is_command(sandbox_command.main, words[1:])


@pytest.mark.parametrize("words", [words for words in TYPED if words[:2] == ["kubectl", "valkey"]], ids=" ".join)
def test_every_command_of_the_plugin_is_one(words):
    assert is_command(plugin_command.main, words[2:])


@pytest.mark.parametrize("words", [words for words in TYPED if words[1:3] == ["-m", "demo"]], ids=" ".join)
def test_every_command_of_the_demo_is_one(words):
    assert is_command(demo_command.main, words[3:])


def test_the_hints_of_the_demo_are_commands():
    for hint, _ in demo_command.PROVIDERS["sandbox"].hints:
        match hint.split():
            case [".venv/bin/sandbox", *words]:
                assert is_command(sandbox_command.main, words)
            case [".venv/bin/python", "-m", "demo", *words]:
                assert is_command(demo_command.main, words)
            case ["make", target]:
                assert f"\n{target}: " in (ROOT / "Makefile").read_text()
            case _:
                pytest.fail(hint)


@pytest.mark.parametrize("words", TYPED, ids=lambda words: " ".join(words)[:60])
def test_every_file_of_ours_that_a_command_names_is_there(words):
    named = [word for word in words if re.match(r"(deploy|demo|bench|sandbox|src)/[\w/.-]+$", word)]
    assert [word for word in named if not (ROOT / word).exists()] == []


def is_command(group: click.Command, words: list[str]) -> bool:
    """Whether click takes the words, up to those that belong to another program."""
    context = click.Context(group)
    while isinstance(group, click.Group):
        if not words:
            return True
        name, *words = words
        found = group.get_command(context, name)
        if found is None:
            return False
        group = found
    takes_anything = group.context_settings.get("ignore_unknown_options")
    options = {option for parameter in group.params for option in parameter.opts}
    return bool(takes_anything) or all(word in options for word in words if word.startswith("-"))
