"""One figure: what was measured, in which runs, against what."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from demo.table import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measured quantity. `reference` is the Go operator's on the same kind of machine, where it was measured."""

    what: str
    unit: str
    runs: tuple[float, ...]
    target: float | None = None
    """At most this is wanted."""
    reference: str = "–"

    @property
    def value(self) -> float:
        """The median of the runs."""
        return median(self.runs)

    @property
    def met(self) -> str:
        """Whether the target was met, as a word for the table: by the median, by every run where nothing at all is wanted."""
        if self.target is None:
            return ""
        return "met" if (self.value if self.target else max(self.runs)) <= self.target else "MISSED"


def lines(figures: Sequence[Figure]) -> Iterator[str]:
    """The table, one line per figure."""
    rows = [
        (
            figure.what,
            figure.reference,
            f"{_shown(figure.value)} {figure.unit}".strip(),
            f"≤ {figure.target:g} {figure.unit}".strip() if figure.target is not None else "",
            figure.met,
            " ".join(map(_shown, figure.runs)),
        )
        for figure in figures
    ]
    return table(("what", "Go operator", "ours (median)", "target", "", "runs"), rows)


def _shown(number: float) -> str:
    """Three digits of a number, or all before the point."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"  # noqa: PLR2004 -- three digits


def save(figures: Sequence[Figure], *, facts: dict[str, Any]) -> Path:
    """Write a JSON file with all figures and what they were measured on; its path."""
    moment = datetime.now(UTC)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{moment:%Y-%m-%dT%H%M%S}.json"
    content = {
        "time": moment.isoformat(timespec="seconds"),
        "machine": {"kernel": platform.release(), "architecture": platform.machine(), **facts},
        "figures": [{**asdict(figure), "value": figure.value, "met": figure.met} for figure in figures],
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return path
