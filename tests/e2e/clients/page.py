"""docs/clients.md: its table is what a run of the clients found, its configurations are the ones that were run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

from e2e.libraries import ACCESS, ALL, Library

PAGE = Path(__file__).parents[3] / "docs" / "clients.md"
SOURCES = Path(__file__).parents[1] / "outside"
GAPS = (0.5, 1, 2, 5, 10, 60)
"""Seconds that a gap is told to be under: a busy machine must not make another page each time."""
FENCES = {".py": "python", ".js": "javascript", ".go": "go", ".java": "java"}

Report = Mapping[str, Any]


@dataclass(slots=True)
class Results:
    """What was found of each library."""

    reports: dict[tuple[str, str], Report | None] = field(default_factory=dict)
    """By library and access; None where it does not work."""
    verifies_names: dict[str, bool] = field(default_factory=dict)

    def are_complete(self) -> bool:
        return self.reports.keys() == {
            (library.name, access) for library in ALL for access in ACCESS
        } and self.verifies_names.keys() == {library.name for library in ALL}

    def table(self) -> str:
        """One row for each library of which anything is known."""
        names = ("library", "version", "language", *ACCESS, "certificates", "planned failover", "remark")
        known = [library for library in ALL if any(name == library.name for name, _ in self.reports)]
        return "".join(f"| {' | '.join(row)} |\n" for row in (names, ["---"] * len(names), *map(self._row, known)))

    def _row(self, library: Library) -> tuple[str, ...]:
        reports = [self.reports.get((library.name, access), {}) for access in ACCESS]
        works = [report for report in reports if report]
        through = ["no" if report is None else "yes" if report else "" for report in reports]
        verifies = {True: "chain and name", False: "chain only", None: ""}[self.verifies_names.get(library.name)]
        gap = roughly(max(report["worst_gap"] for report in works)) if works else ""
        return (library.title, works[0]["version"] if works else "", library.language, *through, verifies, gap, library.remark)


def roughly(seconds: float) -> str:
    """A gap as the page tells it."""
    return f"< {next(limit for limit in GAPS if seconds < limit)} s"


def configurations() -> str:
    """What the programs do to connect, a section for each file that shows it."""
    shown = [(f"{library.title} ({library.language})", SOURCES / library.source) for library in ALL]
    shown.append(("Authorities in Java", SOURCES / "java/Trust.java"))
    return "\n".join(
        f"### {title}\n\n```{FENCES[source.suffix]}\n{snippet(source.read_text())}```\n"
        for title, source in shown
        if "docs/clients.md" in source.read_text()
    )


def snippet(source: str) -> str:
    """The parts of a source that the page shows, with a line between them."""
    parts = re.findall(
        r"^ *(?:#|//) docs/clients\.md shows this:\n(.*?)^ *(?:#|//) That is all\.$", source, re.MULTILINE | re.DOTALL
    )
    return "\n".join(dedent(part).strip("\n") + "\n" for part in parts)


def part(text: str, name: str) -> str:
    """What stands between the two marks of a part of the page."""
    return _around(name).search(text)["made"]  # type: ignore[index]


def with_part(text: str, name: str, made: str) -> str:
    """The page with a part replaced."""
    replaced, found = _around(name).subn(lambda found: f"{found['begins']}{made}{found['ends']}", text)
    assert found == 1, f"the page has {found} parts called {name}"
    return replaced


def _around(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<begins><!-- {name}: made by `make clients-table` -->\n\n)(?P<made>.*?)(?P<ends>\n<!-- end of {name} -->)", re.DOTALL
    )


def rewrite(results: Results) -> None:
    """The page as it is after a complete run."""
    text = with_part(PAGE.read_text(), "table", results.table())
    PAGE.write_text(with_part(text, "configurations", configurations()))
