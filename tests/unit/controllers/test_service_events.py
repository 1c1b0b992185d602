"""What is asked of events, how often, and what of the answer is quoted."""

from datetime import UTC, datetime, timedelta

import pytest

from valkey_operator.controllers.service_events import ServiceEvents
from valkey_operator.kube.errors import Forbidden, Unavailable
from valkey_operator.kube.kinds import Key

SERVICE = Key("shop", "orders-0")
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Kubernetes:
    """Has those events of everything."""

    def __init__(self, *events):
        self.events, self.asked = events, []

    async def list_all(self, kind, namespace, *, field_selector):
        self.asked.append((str(kind), namespace, field_selector))
        if self.events == ("forbidden",):
            raise Forbidden("events is forbidden")
        if self.events == ("silent",):
            raise Unavailable("timed out")
        return list(self.events)


class Clock:
    now = NOON

    def __call__(self):
        return self.now


def event(minute, **said):
    return {"metadata": {"creationTimestamp": f"2026-03-01T11:{minute}:00Z"}, **said}


async def said(*events):
    return await ServiceEvents(Kubernetes(*events), now=Clock()).newest_warning(SERVICE)


async def test_warnings_of_that_service_are_asked_for():
    kubernetes = Kubernetes()
    assert await ServiceEvents(kubernetes, now=Clock()).newest_warning(SERVICE) == ""
    assert kubernetes.asked == [("Event", "shop", "regarding.kind=Service,regarding.name=orders-0,type=Warning")]


FULL = event("20", reason="SyncLoadBalancerFailed", note="quota exceeded")


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ((event("10", reason="Old", note="no network"), FULL, event("15", reason="Old", note="no route")), True),
        ((FULL, event("30", reason="Silent")), True),
        ((FULL, event("30", reason="Silent", note="")), True),
        ((event("30", reason="Silent"),), False),
        (("forbidden",), False),
    ],
)
async def test_the_newest_event_that_says_something_is_quoted(events, told):
    assert await said(*events) == ("SyncLoadBalancerFailed: quota exceeded" if told else "")


async def test_an_event_without_a_reason_is_quoted_too():
    assert await said(event("20", note="quota exceeded")) == "quota exceeded"


async def test_a_service_is_asked_about_once_a_second_however_fast_passes_are():
    kubernetes, clock = Kubernetes(FULL), Clock()
    events = ServiceEvents(kubernetes, now=clock)
    for _ in range(10):
        assert await events.newest_warning(SERVICE) == "SyncLoadBalancerFailed: quota exceeded"
        clock.now += timedelta(seconds=0.1)
    assert len(kubernetes.asked) == 1
    await events.newest_warning(SERVICE)
    assert len(kubernetes.asked) == 2
    clock.now += timedelta(seconds=1)
    events.prune()
    assert events._answers == {}


async def test_an_api_server_that_does_not_answer_is_no_matter_and_what_it_said_is_quoted():
    kubernetes, clock = Kubernetes(FULL), Clock()
    events = ServiceEvents(kubernetes, now=clock)
    assert await events.newest_warning(SERVICE) == "SyncLoadBalancerFailed: quota exceeded"
    kubernetes.events = ("silent",)
    clock.now += timedelta(seconds=1)
    assert await events.newest_warning(SERVICE) == "SyncLoadBalancerFailed: quota exceeded"
    assert await said("silent") == ""
