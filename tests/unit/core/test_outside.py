"""Where a shard has one endpoint for all its nodes the operator is in the clients' way: it sends them to the new primary."""

from dataclasses import replace

import pytest

from unit.core.given import NODES, observed
from unit.core.test_access import OUTSIDE, SERVICES, TYPE
from valkey_operator.core.outside import announcements
from valkey_operator.core.plan import Announce, Ensure

P0, R0, *_ = NODES
SHARED = {"type": "Ingress", "advertisedHost": "{name}-{shard}.example.com"}
APART = {"type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com"}


@pytest.mark.parametrize("pairs", [OUTSIDE, dict.fromkeys(NODES)])
def test_a_node_without_a_record_is_announced_once_it_has_one(pairs):
    seen = observed(TYPE, *SERVICES)
    seen = replace(seen, records={index: record for index, record in seen.records.items() if index != P0})
    indexes = {
        action.index if isinstance(action, Announce) else action.wanted.index
        for action in announcements(seen, pairs)
        if isinstance(action, Announce | Ensure)
    }
    assert indexes == set(NODES) - {P0}
