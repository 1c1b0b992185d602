"""The CEL rules of host templates, in the same words as template.py, and the field types that carry both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from valkey_operator.api import template
from valkey_operator.api.rule import Rule, Schema, quoted


def _rendered(value: str, allowed: tuple[str, ...], samples: dict[str, str]) -> str:
    return value + "".join(f".replace('{{{word}}}', '{samples[word]}')" for word in allowed)


def host_rule(allowed: tuple[str, ...]) -> Rule:
    """Refuses a host template that is wrong in every cluster, and says in which way."""
    sample = _rendered("self", allowed, template.SAMPLES)
    cases = (
        (f"h.matches('{template.TOKEN}')", template.unknown(allowed)),
        ("h.contains('{') || h.contains('}')", template.UNBALANCED),
        ("h != h.lowerAscii()", template.UPPER_CASE),
        (f"h.split('.').exists(l, l.size() > {template.MAX_LABEL})", template.LONG_LABEL),
        ("format.dns1123Subdomain().validate(h).hasValue()", template.NO_HOST),
    )
    words = " : ".join(f"{case} ? {quoted(text)}" for case, text in cases)
    fine = " && ".join(
        (
            "!format.dns1123Subdomain().validate(h).hasValue()",
            f"h.split('.').all(l, l.size() <= {template.MAX_LABEL})",
            f"(!h.matches('{template.NUMBER_AT_END}') || isIP(h))",
        )
    )
    return Rule(
        cel=f"[{sample}].all(h, {fine})",
        message=template.NO_HOST,
        message_expression=f"[{sample}].map(h, {words} : {quoted(template.NO_ADDRESS)})[0]",
    )


def _node_host(value: str) -> str:
    return _checked(value, template.mistakes(value, allowed=template.NODE_PLACEHOLDERS))


def _cluster_host(value: str) -> str:
    return _checked(value, template.mistakes(value, allowed=template.CLUSTER_PLACEHOLDERS))


def _checked(value: str, mistakes: tuple[str, ...]) -> str:
    if mistakes:
        raise ValueError("; ".join(mistakes))
    return value


def _annotations(values: Mapping[str, str]) -> Mapping[str, str]:
    for key, value in values.items():
        _checked(value, tuple(f"{key} {mistake}" for mistake in template.annotation_mistakes(value)))
    return values


ANNOTATION_KEY = r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"

NodeHost = Annotated[
    str, Field(min_length=1, max_length=template.MAX_HOST), AfterValidator(_node_host), host_rule(template.NODE_PLACEHOLDERS)
]
ClusterHost = Annotated[
    str, Field(min_length=1, max_length=template.MAX_HOST), AfterValidator(_cluster_host), host_rule(template.CLUSTER_PLACEHOLDERS)
]
AnnotationTemplates = Annotated[
    Mapping[str, Annotated[str, Field(max_length=4096)]],
    Schema({"maxProperties": 50}),
    AfterValidator(_annotations),
    Rule(
        cel=f"self.all(k, v, !{_rendered('v', template.NODE_PLACEHOLDERS, dict.fromkeys(template.NODE_PLACEHOLDERS, ''))}.matches('{template.WORD}'))",
        message=f"a value {template.unknown(template.NODE_PLACEHOLDERS)}",
    ),
    Rule(
        cel=f"self.all(k, k.size() < 318 && k.matches({quoted(ANNOTATION_KEY)}))",
        message="a key is no annotation's name: write name or domain/name, of letters, digits, '-', '_' and '.', the name of at most 63 characters",
    ),
]
