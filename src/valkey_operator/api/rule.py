"""Sentences that the API server enforces, each as a CEL rule with its twin in Python.

The twin is for objects that were stored before the API server knew the rule: there the same words become a condition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import core_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

VALIDATIONS = "x-kubernetes-validations"
CONTROL = r"[\x00-\x1f\x7f]"
"""A line break or another control character: whoever can smuggle one into a file of ours can write its next line."""


class Broken(ValueError):  # noqa: N818  # a finding about a value, not an error of ours
    """A value breaks rules: `mistakes` are pairs of a path below the value (`.stride`, or empty) and what to do."""

    def __init__(self, mistakes: Iterable[tuple[str, str]]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(f"{path}: {words}" if path else words for path, words in self.mistakes))


def quoted(text: str) -> str:
    """The text as a CEL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One sentence about a value; what makes it false is refused with a message that says what to do.

    On a field (`Annotated[int, Rule(...)]`) `self` is that field; in a model's `rules` it is the object. Without `field_path` the
    message of an object names only the object, so give it; never let a rule on a value that may be secret print that value: put it
    on the object around it, with `field_path` and reason FieldValueForbidden. `holds` is the twin of `cel`; a rule about the change
    from one value to the next has none. Only functions that Kubernetes 1.32 has: newer ones would keep the whole CRD out.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None
    message_expression: str = ""
    field_path: str = ""
    reason: Literal["", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"] = ""
    optional_old_self: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The rule as an entry of `x-kubernetes-validations`."""
        parts = {
            "rule": self.cel,
            "message": self.message,
            "messageExpression": self.message_expression,
            "fieldPath": self.field_path,
            "reason": self.reason,
            "optionalOldSelf": self.optional_old_self,
        }
        return {key: value for key, value in parts.items() if value}

    def mistakes(self, value: object) -> tuple[tuple[str, str], ...]:
        """What the value breaks of this rule, as `Broken` tells it; empty when it holds."""
        return () if self.holds is None or self.holds(value) else ((self.field_path, self.message),)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return _checked_by(self.mistakes, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core)
        return {**schema, VALIDATIONS: [*schema.get(VALIDATIONS, ()), self.to_dict()]}


def found(pattern: str, text: str) -> bool:
    """Whether the pattern is found as the API server finds it: its `$` is the end of the text, not the place before a last line break."""
    anchored = pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern
    return re.search(anchored, text) is not None


def matches(pattern: str, message: str) -> Rule:
    """A text must match the pattern; `message` says in words what a schema's own pattern would leave to be guessed."""
    return Rule(cel=f"self.matches({quoted(pattern)})", message=message, holds=lambda text: found(pattern, text))


def all_match(pattern: str, message: str) -> Rule:
    """The same of every text in a list: one rule per list costs the API server less than one per entry."""
    return Rule(
        cel=f"self.all(e, e.matches({quoted(pattern)}))",
        message=message,
        holds=lambda texts: all(found(pattern, text) for text in texts),
    )


@dataclass(frozen=True, slots=True)
class Check:
    """A check in Python of what the schema's own keywords or another rule say to the API server."""

    mistakes: Callable[[Any], tuple[tuple[str, str], ...]]

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return _checked_by(self.mistakes, handler(source))


def _checked_by(mistakes: Callable[[Any], tuple[tuple[str, str], ...]], inner: CoreSchema) -> CoreSchema:
    def check(value: Any) -> Any:  # noqa: ANN401  # whatever the field holds
        found = mistakes(value)
        if found:
            raise Broken(found)
        return value

    return core_schema.no_info_after_validator_function(check, inner)


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """Keys of the field's schema that Python types do not tell: list types, formats, sizes of maps."""

    keys: dict[str, Any]

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), **self.keys}


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """A hand-written schema in place of the one that Python's type would give."""

    schema: dict[str, Any]

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return dict(self.schema)


STORED_DEFAULT = Schema({"x-stored-default": True})
"""Marks a field whose default the API server writes into objects. Others are defaulted in code, so that a default may move with the
operator and never counts as set where a rule forbids the field."""

INT32 = Schema({"format": "int32"})
INT64 = Schema({"format": "int64"})
DATE_TIME = Schema({"format": "date-time"})
ATOMIC = Schema({"x-kubernetes-list-type": "atomic"})


def list_map(key: str) -> Schema:
    """Entries of the list are told apart by the key, so that each may have another owner."""
    return Schema({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]})
