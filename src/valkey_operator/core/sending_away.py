"""Where a shard has one endpoint for all its nodes: clients who sit on a node that is not its primary any more are cut off, so that they connect anew.

Not before the shard's Service has moved on: it would lead them back at once, and each vain connection lets libraries wait longer. And for a while
after that: new connections move a moment later than the Service. What is owed stands in the node's record, so an operator that was away goes on.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.core.access_status import role
from valkey_operator.core.exposure import shard_addressed
from valkey_operator.core.observed import Server
from valkey_operator.core.plan import KillClients, Tell
from valkey_operator.core.sni import leads_to
from valkey_operator.core.times import parsed, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed, Service
    from valkey_operator.core.plan import Action

LASTING = timedelta(seconds=3.5)
"""From the last moment at which the Service led to the node: kube-proxy moves new connections within 0.9 s, old ones never. That moment is
told in whole seconds, so it may be a second less."""


def owed_since(observed: Observed, index: NodeIndex, *, now: datetime) -> str | None:
    """Since when a node's clients have to be sent away, for its record; None where they need not be, or were for long enough."""
    before, service = observed.records[index].status, _service(observed, index)
    role_now = role(observed, index)
    if service is None or role_now == "primary":
        return None
    if role_now != before.role or (before.sending_away_since is not None and leads_to(service, index)):
        return stamp(now)
    if before.sending_away_since is None or now >= parsed(before.sending_away_since) + LASTING:
        return None
    return before.sending_away_since


def send_away(observed: Observed, *, now: datetime) -> Iterator[Action]:
    """The commands by which clients are cut off; the last ones when the time is over, whoever was away meanwhile."""
    for index, record in sorted(observed.records.items()):
        owed = record.status.sending_away_since or owed_since(observed, index, now=now)
        if owed is not None and _can_go(observed, index):
            yield Tell(index, KillClients("normal"))
            yield Tell(index, KillClients("pubsub"))


def is_sending_away(observed: Observed, *, now: datetime) -> bool:
    """Whether clients may come back who have to be sent away again."""
    return any(_can_go(observed, index) and owed_since(observed, index, now=now) for index in observed.records)


def _can_go(observed: Observed, index: NodeIndex) -> bool:
    """Whether a node can cut its clients off, and they are led elsewhere then."""
    service = _service(observed, index)
    elsewhere = service is not None and not leads_to(service, index) and role(observed, index) != "primary"
    return elsewhere and isinstance(observed.servers.get(index), Server)


def _service(observed: Observed, index: NodeIndex) -> Service | None:
    """The Service that leads clients to the shard's primary; None where nodes have endpoints of their own."""
    if not shard_addressed(observed.cluster):
        return None
    return observed.services.get(names.shard_service(observed.cluster.name, index.shard))
