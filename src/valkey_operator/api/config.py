"""Settings of valkey.conf that users may write, and those that the operator owns: `spec.config`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from valkey_operator.api.rule import CONTROL, Check, Rule, Schema, quoted

MAX_SETTINGS = 128
MAX_KEY = 128
MAX_VALUE = 1024
KEY = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"


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
            "cluster-replica-validity-factor",
            "cluster-slave-validity-factor",
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


KEY_WORDS = f"a key is no setting's name: use letters, digits, '.', '_' and '-', at most {MAX_KEY}"
VALUE_WORDS = "the value has a line break or another control character: write one line"
TWICE_WORDS = "a setting is there twice, in two cases of letters: keep one"


def mistakes(config: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """All that is wrong with the settings, in words that name keys and never values; empty when nothing is."""
    control = sorted(key for key, value in config.items() if re.search(CONTROL, value))
    findings = (
        (KEY_WORDS, not all(re.fullmatch(KEY, key) for key in config)),
        (_of(control, VALUE_WORDS), control),
        (TWICE_WORDS, len({key.lower() for key in config}) < len(config)),
        *((_of(reserved.of(config), reserved.why), reserved.of(config)) for reserved in RESERVED),
    )
    return tuple(("", words) for words, found in findings if found)


def _of(keys: Sequence[str], words: str) -> str:
    """The words as the API server says them, after the keys as CEL prints a list."""
    return f"{json.dumps(keys)}: {words}"


def _naming_rule(condition: str, words: str, *, fallback: str) -> Rule:
    """Refuses settings for whose key `k` the CEL condition is true; the message begins with those keys."""
    return Rule(
        cel=f"!self.exists(k, {condition})",
        message=fallback,
        message_expression=f"'%s: {words}'.format([self.filter(k, {condition})])",
    )


Config = Annotated[
    Mapping[str, Annotated[str, Field(max_length=MAX_VALUE)]],
    Field(max_length=MAX_SETTINGS),
    Schema({"maxProperties": MAX_SETTINGS}),
    Check(mistakes),
    Rule(cel=f"self.all(k, k.matches({quoted(KEY)}))", message=KEY_WORDS),
    _naming_rule(f"self[k].matches({quoted(CONTROL)})", VALUE_WORDS, fallback=VALUE_WORDS),
    Rule(cel="self.all(k, self.exists_one(j, j.lowerAscii() == k.lowerAscii()))", message=TWICE_WORDS),
    *(
        _naming_rule(f"k.matches({quoted(reserved.pattern)})", reserved.why, fallback=f"some keys are {reserved.why}")
        for reserved in RESERVED
    ),
]
