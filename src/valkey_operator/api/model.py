"""The base of everything that is stored in Kubernetes: frozen, camelCase outside, snake_case inside, tolerant of fields it does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from valkey_operator.api.docstrings import attribute_docstrings, prose
from valkey_operator.api.rule import VALIDATIONS, Broken, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema, ErrorDetails


class SpecInvalid(ValueError):  # noqa: N818  # it is a finding about what somebody wrote, not an error of ours
    """A stored object does not say what this operator can do: `mistakes` are sentences that name the field and never its value."""

    def __init__(self, mistakes: tuple[str, ...]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = mistakes


class Model(BaseModel):
    """A frozen part of a stored object. `rules` are enforced on the object that the class describes."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    rules: ClassVar[tuple[Rule, ...]] = ()

    @classmethod
    def read(cls, raw: Mapping[str, Any], *, path: str) -> Self:
        """The part as a model; raises SpecInvalid with every mistake, each told by its full field path below `path`."""
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            raise SpecInvalid(tuple(sentence for detail in error.errors() for sentence in _sentences(path, detail))) from None

    def to_dict(self) -> dict[str, Any]:
        """The object as JSON values under its camelCase names; absent fields are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def is_set(self, field: str) -> bool:
        """Whether somebody wrote the field (by its Python name), as `has()` in a rule would say."""
        return field in self.model_fields_set

    @model_validator(mode="after")
    def _keeps_the_rules(self) -> Self:
        broken = [mistake for rule in self.rules for mistake in rule.mistakes(self)]
        if broken:
            raise Broken(broken)
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core)
        described = handler.resolve_ref_schema(schema)
        described["description"] = prose(cls.__doc__ or "")
        for attribute, text in attribute_docstrings(cls).items():
            described["properties"][cls.model_fields[attribute].alias]["description"] = text
        if cls.rules:
            described[VALIDATIONS] = [rule.to_dict() for rule in cls.rules]
        return schema


def _sentences(path: str, detail: ErrorDetails) -> Iterator[str]:
    where = path + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in detail["loc"])
    match detail.get("ctx", {}).get("error"):
        case Broken(mistakes=mistakes):
            yield from (f"{where}{below}: {words}" for below, words in mistakes)
        case _:
            yield f"{where}: {detail['msg']}"
