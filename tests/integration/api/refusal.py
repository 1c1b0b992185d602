"""A spec that the API server refuses, and what it prints."""

from dataclasses import dataclass
from typing import Any

UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
"""What the API server adds when a wrong type kept it from asking the rules."""


@dataclass(frozen=True)
class Refused:
    """A spec and the lines that kubectl prints of it, without bullets."""

    title: str
    spec: dict[str, Any]
    lines: tuple[str, ...]
    name: str = ""
