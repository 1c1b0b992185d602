"""What node ports may be asked for together: rules of the spec, since they need shards and replicas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from valkey_operator.api.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable

LAST_PORT = 65535
MAX_NODES = 1000


def _ports_rule(cel: str, *, holds: Callable[[int, int, int, int, int], bool], message: str, field: str) -> Rule:
    """A rule about ports that are asked for.

    In CEL `first`, `stride`, `bootstrap`, `shards` and `replicas` stand for their values (bootstrap 0 when none is asked for); in
    Python they are the arguments, in that order.
    """
    ports = "self.externalAccess.nodePort"
    words = {
        "first": f"{ports}.startPort",
        "stride": f"(has({ports}.stride) ? {ports}.stride : 100)",
        "bootstrap": f"(has({ports}.bootstrapPort) ? {ports}.bootstrapPort : 0)",
        "shards": "self.shards",
        "replicas": "self.replicas",
    }
    expression = re.sub(r"[a-z]+", lambda word: words.get(word[0], word[0]), cel)

    def spec_holds(spec: Any) -> bool:  # noqa: ANN401  # the spec's class is made of this module's
        asked = spec.external_access.node_port
        if asked.start_port is None:
            return True
        return holds(asked.start_port, asked.stride, asked.bootstrap_port or 0, spec.shards, spec.replicas)

    asked_for = f"has(self.externalAccess) && has({ports}) && has({ports}.startPort)"
    out_of_range = f"{ports}.startPort > {LAST_PORT} || self.shards > {MAX_NODES} || {words['stride']} < 1"
    return Rule(
        # the rules run on numbers out of range as well, which their own fields have told of
        cel=f"!({asked_for}) || {out_of_range} || {expression}",
        message=message,
        holds=spec_holds,
        field_path=f".externalAccess.nodePort.{field}",
    )


PORT_RULES = (
    _ports_rule(
        "first + replicas * stride + shards - 1 <= 65535",
        holds=lambda first, stride, _, shards, replicas: first + replicas * stride + shards - 1 <= LAST_PORT,
        message=f"the last port asked for is startPort + replicas × stride + shards - 1 and must be at most {LAST_PORT}: lower startPort or stride",
        field="startPort",
    ),
    _ports_rule(
        "replicas == 0 || stride >= shards",
        holds=lambda _, stride, __, shards, replicas: replicas == 0 or stride >= shards,
        message="two nodes ask for the same port unless stride (100 when unset) is at least the number of shards: raise it",
        field="stride",
    ),
    _ports_rule(
        "bootstrap < first || (replicas == 0 ? bootstrap - first >= shards"
        " : (bootstrap - first) / stride > replicas || (bootstrap - first) % stride >= shards)",
        holds=lambda first, stride, bootstrap, shards, replicas: (
            bootstrap < first
            or (
                bootstrap - first >= shards
                if replicas == 0
                else (bootstrap - first) // stride > replicas or (bootstrap - first) % stride >= shards
            )
        ),
        message="a node asks for this port already (startPort + n × stride + i): choose one below startPort or above the last",
        field="bootstrapPort",
    ),
)
"""Rules of the spec about the node ports that are asked for."""
