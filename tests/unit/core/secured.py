"""The cluster of `given` with TLS: certificates as short texts, and what servers have loaded of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from unit.core.given import NODES, observed, server
from valkey_operator.core.certificates import Certificate, Files

if TYPE_CHECKING:
    from valkey_operator.core.observed import Observed, Tls

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
    tls: Tls, *, loaded: Certificate | None = None, access: dict[str, Any] | None = None, told: Any = None, **changed: Any
) -> Observed:
    """The cluster, whose servers have loaded `loaded` (what stands, unless told) and serve it."""
    has = loaded or tls.standing
    seen = observed(access, told=told, answering=False, spec=SPEC, tls=tls, **changed)
    if has is None:
        return seen
    servers = {
        index: server(
            index, told or {}, config=server(index, told or {}).config | has.files.settings(), served_certificate=has.fingerprint
        )
        for index in NODES
    }
    records = {
        index: replace(record, status=record.status.model_copy(update={"certificate": has.fingerprint}))
        for index, record in seen.records.items()
    }
    return replace(seen, **{"servers": servers, "records": records} | changed)
