"""The cluster of `given` with TLS: certificates as short texts, and what servers have loaded of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from unit.core.given import NODES, observed, server
from valkey_operator.core.certificates import Certificate, Files
from valkey_operator.core.observed import Announcement

if TYPE_CHECKING:
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed, Server, Service, Tls

BEGIN = datetime(2026, 2, 1, 12, 0, tzinfo=UTC)
END = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
INSIDE = ("valkey-orders.shop.svc", "*.valkey-orders.shop.svc")
SPEC = {"tls": {"certificate": {"secretName": "orders-cert"}}}


def certificate(
    text: str = "one", *names: str, authorities: str = "A", begins: datetime = BEGIN, ends: datetime = END
) -> Certificate:
    """A certificate whose fingerprint is its text."""
    return Certificate(Files(text, f"key of {text}", authorities), names or INSIDE, begins, ends, text)


def secured(
    tls: Tls,
    *services: Service,
    loaded: Certificate | None = None,
    access: dict[str, Any] | None = None,
    told: dict[NodeIndex, Announcement] | None = None,
    **changed: Any,
) -> Observed:
    """The cluster, whose servers have loaded `loaded` (what stands, unless told), serve it, and announce what they should."""
    has = loaded or tls.standing
    seen = observed(access, *services, told=told, answering=False, spec=SPEC, tls=tls)
    if has is not None:
        seen = replace(
            seen,
            servers={index: _server(index, _announced(has, told or {}), has) for index in NODES},
            records={
                index: replace(record, status=record.status.model_copy(update={"certificate": has.fingerprint}))
                for index, record in seen.records.items()
            },
        )
    return replace(seen, **changed)


def _announced(has: Certificate, told: dict[NodeIndex, Announcement]) -> dict[NodeIndex, Announcement]:
    inside = {index: Announcement(f"valkey-orders-{index}-0.valkey-orders.shop.svc", 6379) for index in NODES}
    return (inside if "*.valkey-orders.shop.svc" in has.names else {}) | told


def _server(index: NodeIndex, announced: dict[NodeIndex, Announcement], has: Certificate) -> Server:
    made = server(index, announced)
    config = dict(made.config) | has.files.settings()
    port = config.pop("cluster-announce-client-port")
    return replace(
        made,
        config=config | {"cluster-announce-client-tls-port": "0" if port == "6379" else port},
        served_certificate=has.fingerprint,
    )
