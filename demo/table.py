"""Tables for a terminal: columns as wide as they need, no frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[object]], *, indent: str = "") -> Iterator[str]:
    """The lines of a table; numbers stand at the right of their column."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in [list(head), *cells]) for column in range(len(head))]
    numeric = [bool(rows) and all(isinstance(row[column], int | float) for row in rows) for column in range(len(head))]
    for line in [[title.upper() for title in head], *cells]:
        padded = [
            cell.rjust(width) if right else cell.ljust(width) for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        yield (indent + "   ".join(padded)).rstrip()
