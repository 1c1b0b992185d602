"""Host templates: text with `{name}`, `{namespace}`, `{shard}` and `{node}`, rendered per node, and what can be wrong with them.

The API server refuses the same templates with the same words (external_access.py); this is for objects stored before it did, and for
what it cannot see: the lengths of real names.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address

NODE_PLACEHOLDERS = ("name", "namespace", "shard", "node")
CLUSTER_PLACEHOLDERS = ("name", "namespace")

MAX_HOST = 253
MAX_LABEL = 63
SAMPLES = {"name": "a", "namespace": "a", "shard": "0", "node": "0"}
"""The shortest values: a template that is refused with them is wrong in every cluster."""

TOKEN = r"[{][^{}]*[}]"  # noqa: S105  # a pattern, no password
WORD = r"[{]([A-Za-z_]+)[}]"
NUMBER_AT_END = r"(^|[.])[0-9]+$"

UNBALANCED = "has a brace without its partner: write placeholders as {name}"
UPPER_CASE = "must be lower case: DNS knows no other, and certificates and routes are compared letter by letter"
LONG_LABEL = f"has a part between two dots of more than {MAX_LABEL} characters: shorten it"
LONG_HOST = f"is longer than {MAX_HOST} characters: shorten it"
NO_ADDRESS = "ends in a number but is no IPv4 address: write a host name or four numbers of 0 to 255"
NO_HOST = "must be a host name of lower-case letters, digits, '-' and '.', or an IPv4 address, without scheme and port"

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def unknown(allowed: tuple[str, ...]) -> str:
    """What is said of a placeholder that is none of the allowed ones."""
    return "has an unknown placeholder: known here are " + ", ".join(f"{{{word}}}" for word in allowed)


def placeholders(template: str) -> frozenset[str]:
    """The known placeholders that the template has, without their braces."""
    return frozenset(word for word in NODE_PLACEHOLDERS if f"{{{word}}}" in template)


def render(template: str, *, name: str, namespace: str, shard: int | None = None, node: int | None = None) -> str:
    """The template with its placeholders replaced; those of an index that is not given stay, as do unknown ones."""
    values = {"name": name, "namespace": namespace, "shard": shard, "node": node}
    known = {f"{{{word}}}": str(value) for word, value in values.items() if value is not None}
    return re.sub(TOKEN, lambda token: known.get(token[0], token[0]), template)


def mistakes(template: str, *, allowed: tuple[str, ...] = NODE_PLACEHOLDERS) -> tuple[str, ...]:
    """What is wrong with the template in every cluster, as sentences that follow its field's name; empty when nothing is."""
    sample = re.sub(TOKEN, lambda token: SAMPLES[token[0][1:-1]] if token[0][1:-1] in allowed else token[0], template)
    if re.search(TOKEN, sample):
        return (unknown(allowed),)
    return host_mistakes(sample)


def host_mistakes(host: str) -> tuple[str, ...]:
    """What keeps a rendered host from being a lower-case RFC 1123 name or an IPv4 address; empty when nothing does."""
    labels = host.split(".")
    findings = (
        ("{" in host or "}" in host, UNBALANCED),
        (any("A" <= letter <= "Z" for letter in host), UPPER_CASE),
        (len(host) > MAX_HOST, LONG_HOST),
        (any(len(label) > MAX_LABEL for label in labels), LONG_LABEL),
        (not all(_LABEL.fullmatch(label) for label in labels), NO_HOST),
        (labels[-1].isdigit() and not is_ipv4(host), NO_ADDRESS),
    )
    return tuple(words for found, words in findings if found)[:1]


def is_ipv4(host: str) -> bool:
    """Whether the host is an IPv4 address rather than a name."""
    try:
        IPv4Address(host)
    except AddressValueError:
        return False
    return True


def annotation_mistakes(value: str) -> tuple[str, ...]:
    """What is wrong with an annotation's value: only an unknown `{word}`, since annotations may hold JSON."""
    return () if all(word in NODE_PLACEHOLDERS for word in re.findall(WORD, value)) else (unknown(NODE_PLACEHOLDERS),)
