"""Where a shard has one endpoint for all its nodes the operator is in the clients' way: it sends them to the new primary."""

from dataclasses import replace
from datetime import timedelta

import pytest

from unit.core.edits import recorded, silent
from unit.core.given import NODES, NOW, observed, service
from unit.core.test_access import OUTSIDE, SERVICES, TYPE
from valkey_operator.core.decide import decide
from valkey_operator.core.outside import announcements
from valkey_operator.core.plan import Announce, Ensure, KillClients, Tell

P0, R0, *_ = NODES
SHARED = {"type": "Ingress", "advertisedHost": "{name}-{shard}.example.com"}
APART = {"type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com"}


def demoted(access, *, at, leading_to="0"):
    """Node 0-1 was a primary until then; new clients are led to that node."""
    selector = {"valkey.io/shard-index": "0", "valkey.io/node-index": leading_to}
    seen = observed(access, service("orders-0", selector=selector, type_="ClusterIP"), answering=False)
    return recorded(seen, R0, demoted_at=at)


def sent_away(seen):
    return [
        (action.index, action.command.kind)
        for action in decide(seen, now=NOW).actions
        if isinstance(action, Tell) and isinstance(action.command, KillClients)
    ]


def test_clients_of_a_demoted_node_are_sent_away_again_and_again_for_a_moment():
    assert sent_away(demoted(SHARED, at="2026-03-01T11:59:58Z")) == [(R0, "normal"), (R0, "pubsub")]
    assert sent_away(demoted(SHARED, at="2026-03-01T11:59:56Z")) == []


def test_a_demotion_is_noticed_by_the_role_that_was_written_last():
    seen = demoted(SHARED, at=None)
    assert sent_away(recorded(seen, R0, role="primary")) == [(R0, "normal"), (R0, "pubsub")]


def test_nobody_is_sent_away_who_can_be_told_where_to_go():
    assert sent_away(demoted(APART, at="2026-03-01T12:00:00Z")) == []


def test_a_silent_node_cannot_send_anybody_away():
    assert sent_away(silent(demoted(SHARED, at="2026-03-01T12:00:00Z"), R0)) == []


def test_nobody_is_sent_away_while_the_service_would_lead_back():
    seen = demoted(SHARED, at="2026-03-01T12:00:00Z", leading_to="1")
    assert sent_away(seen) == []
    assert sent_away(replace(seen, services={})) == []


def test_while_clients_may_come_back_the_next_look_is_soon():
    assert decide(demoted(SHARED, at="2026-03-01T12:00:00Z"), now=NOW + timedelta(seconds=1)).wake_after <= 0.5


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
