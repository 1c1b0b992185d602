"""Settings of valkey.conf that users may write, and those that the operator owns: `spec.config`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from valkey_operator.api.rule import Rule, Schema, quoted

MAX_SETTINGS = 128
MAX_KEY = 128
KEY = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
CONTROL = r"[\x00-\x1f\x7f]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """Keys that somebody else sets: `why` is the sentence that follows the keys in a refusal."""

    why: str
    keys: tuple[str, ...]
    prefixes: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """Matches every one of the keys in any case of letters, whole."""
        return "(?i)^(" + "|".join((*self.keys, *(f"{prefix}.*" for prefix in self.prefixes))) + ")$"

    def of(self, keys: Mapping[str, str]) -> tuple[str, ...]:
        """Those of the keys that are reserved, sorted."""
        return tuple(sorted(key for key in keys if re.fullmatch(self.pattern, key)))


RESERVED = (
    Reserved(
        why="set by the operator, which announces addresses as spec.externalAccess says: remove it",
        keys=("cluster-preferred-endpoint-type",),
        prefixes=("cluster-announce-", "replica-announce-", "slave-announce-"),
    ),
    Reserved(
        why="set by the operator from spec.users and its own users: remove it",
        keys=("aclfile", "user", "requirepass", "primaryauth", "primaryuser", "masterauth", "masteruser", "rename-command"),
    ),
    Reserved(
        why="set by the operator, which sets up network, cluster and files of every server: remove it",
        keys=(
            "bind",
            "bind-source-addr",
            "port",
            "protected-mode",
            "cluster-enabled",
            "cluster-config-file",
            "cluster-port",
            "cluster-allow-replica-migration",
            "shutdown-on-sigterm",
            "replicaof",
            "slaveof",
            "dir",
            "include",
            "daemonize",
            "supervised",
            "pidfile",
            "logfile",
        ),
        prefixes=("tls-", "unixsocket", "rdma-"),
    ),
)


def mistakes(config: Mapping[str, str]) -> tuple[str, ...]:
    """What is wrong with the settings, as sentences that name keys and never values; empty when nothing is."""
    folded: dict[str, list[str]] = {}
    for key in sorted(config):
        folded.setdefault(key.lower(), []).append(key)
    return (
        *(f"{key!r} is no setting's name: {_KEY_WORDS}" for key in sorted(config) if not re.fullmatch(KEY, key)),
        *(f"{key}: {_VALUE_WORDS}" for key in sorted(config) if re.search(CONTROL, config[key])),
        *(f"{key}: {reserved.why}" for reserved in RESERVED for key in reserved.of(config)),
        *(f"{', '.join(keys)}: {_TWICE_WORDS}" for keys in folded.values() if len(keys) > 1),
    )


_KEY_WORDS = f"use letters, digits, '.', '_' and '-', at most {MAX_KEY}"
_VALUE_WORDS = "the value has a line break or another control character: write one line"
_TWICE_WORDS = "one setting in two cases of letters: keep one"


def _checked(config: Mapping[str, str]) -> Mapping[str, str]:
    found = mistakes(config)
    if found:
        raise ValueError("; ".join(found))
    return config


def _reserved_rule(reserved: Reserved) -> Rule:
    found = f"self.filter(k, k.matches({quoted(reserved.pattern)}))"
    return Rule(
        cel=f"!self.exists(k, k.matches({quoted(reserved.pattern)}))",
        message=reserved.why,
        message_expression=f"'%s: {reserved.why}'.format([{found}])",
    )


Config = Annotated[
    Mapping[str, Annotated[str, Field(max_length=4096)]],
    Schema({"maxProperties": MAX_SETTINGS}),
    AfterValidator(_checked),
    Rule(
        cel=f"self.all(k, k.size() <= {MAX_KEY} && k.matches({quoted(KEY)}))",
        message=f"a key is no setting's name: {_KEY_WORDS}",
    ),
    Rule(
        cel=f"self.all(k, v, !v.matches({quoted(CONTROL)}))",
        message=_VALUE_WORDS,
    ),
    *(_reserved_rule(reserved) for reserved in RESERVED),
]
