"""The CEL rules of host templates, in the same words as template.py, and the field types that carry both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from valkey_operator.api import template
from valkey_operator.api.rule import Check, Rule, Schema, quoted

ANNOTATION_KEY = r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
KEY_WORDS = "a key is no annotation's name: write name or domain/name, the name of at most 63 letters, digits, '-', '_' and '.'"


def _replaced(value: str, samples: Mapping[str, str]) -> str:
    """CEL: the value with each placeholder replaced by its sample."""
    return value + "".join(f".replace('{{{word}}}', '{sample}')" for word, sample in samples.items())


def _host_rule(allowed: tuple[str, ...]) -> Rule:
    """Refuses a host template that is wrong in every cluster, and says in which way."""
    sample = _replaced("self", {word: template.SAMPLES[word] for word in allowed})
    no_subdomain = "format.dns1123Subdomain().validate(h).hasValue()"
    long_label = f"h.split('.').exists(l, l.size() > {template.MAX_LABEL})"
    no_address = f"h.matches({quoted(template.NUMBER_AT_END)}) && !isIP(h)"
    cases = (
        (f"h.matches({quoted(template.TOKEN)})", template.unknown(allowed)),
        ("h.contains('{') || h.contains('}')", template.UNBALANCED),
        ("h != h.lowerAscii()", template.UPPER_CASE),
        (long_label, template.LONG_LABEL),
        (no_subdomain, template.NO_HOST),
    )
    words = " : ".join(f"{case} ? {quoted(text)}" for case, text in cases)
    return Rule(
        cel=f"[{sample}].all(h, !{no_subdomain} && !{long_label} && !({no_address}))",
        message=template.NO_HOST,
        message_expression=f"[{sample}].map(h, {words} : {quoted(template.NO_ADDRESS)})[0]",
    )


def _host_check(allowed: tuple[str, ...]) -> Check:
    return Check(lambda text: tuple(("", mistake) for mistake in template.mistakes(text, allowed=allowed)))


_EMPTY = dict.fromkeys(template.NODE_PLACEHOLDERS, "")
_LENGTH = Field(min_length=1, max_length=template.MAX_HOST)

NodeHost = Annotated[str, _LENGTH, _host_check(template.NODE_PLACEHOLDERS), _host_rule(template.NODE_PLACEHOLDERS)]
ClusterHost = Annotated[str, _LENGTH, _host_check(template.CLUSTER_PLACEHOLDERS), _host_rule(template.CLUSTER_PLACEHOLDERS)]
AnnotationTemplates = Annotated[
    Mapping[str, Annotated[str, Field(max_length=4096)]],
    Field(max_length=50),
    Schema({"maxProperties": 50}),
    Rule(
        cel=f"self.all(k, !{_replaced('self[k]', _EMPTY)}.matches({quoted(template.WORD)}))",
        message=f"a value {template.unknown(template.NODE_PLACEHOLDERS)}",
        holds=lambda values: not any(template.annotation_mistakes(value) for value in values.values()),
    ),
    Rule(
        cel=f"self.all(k, k.matches({quoted(ANNOTATION_KEY)}))",
        message=KEY_WORDS,
        holds=lambda values: all(re.fullmatch(ANNOTATION_KEY, key) for key in values),
    ),
]
