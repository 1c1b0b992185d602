"""The base of everything that is stored in Kubernetes: frozen, camelCase outside, snake_case inside, tolerant of fields it does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from valkey_operator.api.docstrings import attribute_docstrings, prose
from valkey_operator.api.rule import VALIDATIONS, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


class SpecInvalid(ValueError):  # noqa: N818  # it is a finding about what somebody wrote, not an error of ours
    """A stored object does not say what this operator can do: `mistakes` are sentences that name the field and never its value."""

    def __init__(self, mistakes: tuple[str, ...]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = mistakes


class Model(BaseModel):
    """A frozen part of a stored object. `rules` are enforced by the API server on the object that the class describes."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    rules: ClassVar[tuple[Rule, ...]] = ()

    @classmethod
    def read(cls, raw: Mapping[str, Any], *, path: str) -> Self:
        """The part as a model; raises SpecInvalid with every mistake, each told by its full field path below `path`."""
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            raise SpecInvalid(tuple(_sentence(path, detail["loc"], detail["msg"]) for detail in error.errors())) from None

    def to_dict(self) -> dict[str, Any]:
        """The object as JSON values under its camelCase names; absent fields are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        described = handler.resolve_ref_schema(schema)
        described["description"] = prose(cls.__doc__ or "")
        for attribute, text in attribute_docstrings(cls).items():
            described["properties"][cls.model_fields[attribute].alias]["description"] = text
        if cls.rules:
            described[VALIDATIONS] = [rule.to_dict() for rule in cls.rules]
        return schema


def _sentence(path: str, loc: tuple[int | str, ...], message: str) -> str:
    where = path + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc)
    return f"{where}: {message.removeprefix('Value error, ')}"
