import json
import re

import pytest

from e2e.clients.page import PAGE, SOURCES, Results, configurations, part, roughly, snippet, with_part
from e2e.libraries import ACCESS, ALL, SNI
from pages import ROOT

TEXT = PAGE.read_text()
ROWS = part(TEXT, "table").splitlines()


def locked(library):
    """The version that is run, as the lock of its language has it."""
    match library.language:
        case "Python":
            package = {"redis-py": "redis", "coredis": "coredis", "glide": "valkey-glide"}.get(library.name, "valkey")
            return re.search(rf"^{package}==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)[1]
        case "Node.js":
            package = {"node-redis": "redis", "glide-node": "@valkey/valkey-glide"}.get(library.name, library.name)
            return json.loads((SOURCES / "node/package-lock.json").read_text())["packages"][f"node_modules/{package}"]["version"]
        case "Go":
            return re.search(rf"/{library.name}(?:/v\d)? v(\S+)", (SOURCES / "go/go.mod").read_text())[1]
        case "Java":
            artifact = {"lettuce": "lettuce-core"}.get(library.name, library.name)
            pom = (SOURCES / "java/pom.xml").read_text()
            return re.search(rf"<artifactId>{artifact}</artifactId>\s*<version>([^<]+)<", pom)[1]
        case _:
            return r"9.1.2"


@pytest.mark.parametrize(("library", "row"), list(zip(ALL, ROWS[2:], strict=True)), ids=lambda value: getattr(value, "name", ""))
def test_the_page_has_a_row_for_each_library_as_a_run_writes_it(library, row):
    title, version, language, *through, verifies, gap, remark = row.removeprefix("| ").removesuffix(" |").split(" | ")
    assert (title, version, language, remark) == (library.title, locked(library), library.language, library.remark)
    assert through == ["no" if access in library.not_through else "yes" for access in ACCESS]
    assert verifies == ("chain and name" if library.verifies_names else "chain only")
    assert re.fullmatch(r"< (0\.5|1|2|5|10|60) s", gap)


def test_the_page_has_the_head_of_the_table():
    columns = "NodePort | LoadBalancer | LoadBalancer, TLS | Ingress (SNI)"
    assert ROWS[0] == f"| library | version | language | {columns} | certificates | planned failover | remark |"


def test_the_page_shows_the_configurations_that_are_run():
    assert part(TEXT, "configurations") == configurations(), "make clients-table writes them"


def test_every_library_but_the_command_line_has_a_configuration():
    titles = re.findall(r"^### (.*)$", configurations(), re.MULTILINE)
    assert titles[:-1] == [f"{library.title} ({library.language})" for library in ALL if library.language != "command line"]


def test_a_row_tells_what_was_found():
    results = Results()
    for access, gap in zip(ACCESS, (0.1, 0.7, 0.2), strict=False):
        results.reports["glide-node", access] = {"version": "2.5.2", "worst_gap": gap}
    results.reports["glide-node", SNI] = None
    results.verifies_names["glide-node"] = True
    row = results.table().splitlines()[2]
    remark = "takes all names of one address for one node"
    assert row == f"| valkey-glide | 2.5.2 | Node.js | yes | yes | yes | no | chain and name | < 1 s | {remark} |"
    assert not results.are_complete()


def test_results_are_complete_when_every_library_was_tried_through_everything():
    results = Results()
    for library in ALL:
        results.verifies_names[library.name] = True
        for access in ACCESS:
            assert not results.are_complete()
            results.reports[library.name, access] = None
    assert results.are_complete()


@pytest.mark.parametrize(("seconds", "told"), [(0.04, "< 0.5 s"), (0.5, "< 1 s"), (1.2, "< 2 s"), (30.0, "< 60 s")])
def test_a_gap_is_told_roughly(seconds, told):
    assert roughly(seconds) == told


def test_a_snippet_is_what_stands_between_the_marks():
    source = "x\n# docs/clients.md shows this:\nimport a\n\n# That is all.\ny\n    // docs/clients.md shows this:\n    b\n    // That is all.\n"
    assert snippet(source) == "import a\n\nb\n"


def test_a_part_of_the_page_is_replaced_and_nothing_else():
    text = "a\n<!-- table: made by `make clients-table` -->\n\nold\n\n<!-- end of table -->\nb\n"
    replaced = with_part(text, "table", "new\n")
    assert replaced == "a\n<!-- table: made by `make clients-table` -->\n\nnew\n\n<!-- end of table -->\nb\n"
    assert part(replaced, "table") == "new\n"
