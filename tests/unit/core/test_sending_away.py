"""Where a shard has one endpoint for all its nodes the operator is in the clients' way: it sends them to the new primary."""

from dataclasses import replace
from datetime import timedelta

import pytest

from unit.core.edits import recorded, silent, views
from unit.core.given import NODES, NOW, observed, service
from valkey_operator.core.decide import decide
from valkey_operator.core.observed import Observed
from valkey_operator.core.plan import KillClients, Tell
from valkey_operator.core.sending_away import owed_since
from valkey_operator.valkey.slots import NO_SLOTS

P0, R0, *_ = NODES
SHARED = {"type": "Ingress", "advertisedHost": "{name}-{shard}.example.com"}
APART = {"type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com"}
BOTH = [(R0, "normal"), (R0, "pubsub")]


def demoted(access, *, since, leading_to="0") -> Observed:
    """Clients of node 0-1 are sent away since then; new clients are led to that node."""
    selector = {"valkey.io/shard-index": "0", "valkey.io/node-index": leading_to}
    seen = observed(access, service("orders-0", selector=selector, type_="ClusterIP"), answering=False)
    return recorded(seen, R0, sending_away_since=since)


def sent_away(seen):
    return [
        (action.index, action.command.kind)
        for action in decide(seen, now=NOW).actions
        if isinstance(action, Tell) and isinstance(action.command, KillClients)
    ]


def written(seen, index=R0):
    return decide(seen, now=NOW).node_status[index].sending_away_since


def test_clients_of_a_demoted_node_are_sent_away_again_and_again_for_a_moment():
    seen = demoted(SHARED, since="2026-03-01T11:59:58Z")
    assert sent_away(seen) == BOTH
    assert written(seen) == "2026-03-01T11:59:58Z"
    assert decide(seen, now=NOW).wake_after <= 0.5


def test_an_operator_that_was_away_sends_them_away_once_more():
    seen = demoted(SHARED, since="2026-03-01T11:00:00Z")
    assert sent_away(seen) == BOTH
    assert written(seen) is None
    assert sent_away(demoted(SHARED, since=None)) == []


@pytest.mark.parametrize("before", ["primary", ""])
def test_whoever_became_a_replica_has_clients_to_send_away(before):
    """Whatever it was before: one that restarted was nobody for a moment, in which clients of its shard were led to it."""
    seen = recorded(demoted(SHARED, since=None), R0, role=before)
    assert sent_away(seen) == BOTH
    assert written(seen) == "2026-03-01T12:00:00Z"


def test_a_primary_that_came_back_as_nobody_sends_them_away_once_they_are_led_elsewhere():
    nobody = views(demoted(SHARED, since=None), lambda at, each: replace(each, slots=NO_SLOTS) if at == P0 else each)
    assert owed_since(recorded(nobody, P0, role="primary"), P0, now=NOW) == "2026-03-01T12:00:00Z"
    assert owed_since(recorded(nobody, P0, role=""), P0, now=NOW) is None


def test_a_primary_sends_nobody_away():
    seen = recorded(demoted(SHARED, since=None, leading_to="1"), P0, role="replica", sending_away_since="2026-03-01T12:00:00Z")
    assert sent_away(seen) == []
    assert written(seen, P0) is None


def test_nobody_is_sent_away_who_can_be_told_where_to_go():
    seen = demoted(APART, since="2026-03-01T12:00:00Z")
    assert sent_away(seen) == []
    assert written(seen) is None
    assert written(recorded(seen, R0, role="primary")) is None


def test_a_silent_node_cannot_send_anybody_away():
    seen = silent(demoted(SHARED, since="2026-03-01T11:59:00Z"), R0)
    assert sent_away(seen) == []
    assert written(seen) == "2026-03-01T11:59:00Z"


def test_while_the_service_would_lead_back_nobody_is_sent_away_and_the_time_does_not_run():
    seen = demoted(SHARED, since="2026-03-01T11:00:00Z", leading_to="1")
    assert sent_away(seen) == []
    assert written(seen) == "2026-03-01T12:00:00Z"
    assert sent_away(replace(seen, services={})) == []


def test_while_clients_may_come_back_the_next_look_is_soon():
    assert decide(demoted(SHARED, since="2026-03-01T12:00:00Z"), now=NOW + timedelta(seconds=1)).wake_after <= 0.5
