"""Sentences that the API server enforces: CEL rules and the other Kubernetes parts of a schema, written beside the Python types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

VALIDATIONS = "x-kubernetes-validations"


def quoted(text: str) -> str:
    """The text as a CEL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One sentence about a value; the API server refuses what makes it false, with a message that says what to do.

    On a field (`Annotated[int, Rule(...)]`) `self` is that field; in a model's `rules` it is the object. Without `field_path` the
    message of an object names only the object, so give it; never let a rule on a value that may be secret print that value: put it
    on the object around it, with `field_path` and reason FieldValueForbidden.
    """

    cel: str
    message: str
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

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = dict(handler(core_schema))
        schema[VALIDATIONS] = [*schema.get(VALIDATIONS, ()), self.to_dict()]
        return schema


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """Keys of the field's schema that Python types do not tell: list types, formats, or a whole hand-written structure."""

    keys: Mapping[str, Any] = field(default_factory=dict)

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core_schema), **self.keys}


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """A hand-written schema in place of the one that Python's type would give."""

    schema: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return dict(self.schema)


STORED_DEFAULT = Schema({"x-stored-default": True})
"""Marks a field whose default the API server writes into objects. Others are defaulted in code, so that a default may move with the
operator and never counts as set where a rule forbids the field."""

INT32 = Schema({"format": "int32"})
INT64 = Schema({"format": "int64"})
ATOMIC = Schema({"x-kubernetes-list-type": "atomic"})
BY_NAME = Schema({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]})
