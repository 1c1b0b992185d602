"""The documentation as tests see it: pages and the blocks of code in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code and the page that it stands on."""

    page: Path
    language: str
    text: str

    def __str__(self) -> str:
        first = self.text.strip().splitlines()[0][:40]
        return f"{self.page.relative_to(ROOT)}: {first}"


def blocks(language: str) -> list[Block]:
    """All blocks of a language on all pages."""
    found = ((page, match) for page in PAGES for match in _BLOCK.finditer(page.read_text()))
    return [Block(page, match["language"], match["text"]) for page, match in found if match["language"] == language]


def manifests() -> list[tuple[str, dict[str, Any]]]:
    """All Kubernetes objects on all pages, and the demo's."""
    documents = [(str(block), document) for block in blocks("yaml") for document in yaml.safe_load_all(block.text)]
    demo = yaml.safe_load((ROOT / "demo/cluster.yaml").read_text())
    return [("demo/cluster.yaml", demo), *((where, document) for where, document in documents if "apiVersion" in document)]


def commands() -> Iterator[tuple[str, list[str]]]:
    """All commands that pages tell people to type, word by word, with the page that does."""
    for block in blocks("console"):
        for line in block.text.splitlines():
            if line.startswith("$ "):
                yield str(block.page.relative_to(ROOT)), line.removeprefix("$ ").split()
    for page in PAGES:
        for typed in re.findall(r"`(make [^`]+)`|^    (make [^#\n]+)", page.read_text(), re.MULTILINE):
            yield str(page.relative_to(ROOT)), next(filter(None, typed)).split()
