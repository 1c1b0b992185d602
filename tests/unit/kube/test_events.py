import asyncio
import logging

import pytest

from valkey_operator.kube.errors import Unavailable
from valkey_operator.kube.events import Recorder

CLUSTER = {
    "apiVersion": "valkey.io/v1alpha1",
    "kind": "ValkeyCluster",
    "metadata": {"name": "my", "namespace": "ns", "uid": "u1", "labels": {"a": "b"}},
    "spec": {},
}


class Written:
    """An API server that takes events."""

    def __init__(self, *, fails=0):
        self.events, self.times, self.fails = [], [], fails

    async def create(self, kind, body):
        if self.fails:
            self.fails -= 1
            raise Unavailable("away")
        self.events.append((kind.api_version, body))
        self.times.append(asyncio.get_running_loop().time() - 1000)


def recorder(api, **given):
    return Recorder(api, controller="valkey.io/valkey-operator", instance="pod-1", now=asyncio.get_running_loop().time, **given)


async def run_for(seconds, events):
    running = asyncio.create_task(events.run())
    await asyncio.sleep(seconds)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_an_event_says_who_what_and_why(virtual):
    async def story():
        api = Written()
        events = recorder(api)
        assert events.emit(CLUSTER, reason="PortTaken", note="31200 is taken", action="Allocate", type_="Warning")
        await run_for(1, events)
        ((api_version, body),) = api.events
        assert api_version == "events.k8s.io/v1"
        assert body["metadata"]["namespace"] == "ns"
        assert body["metadata"]["name"].startswith("my.")
        assert body["regarding"] == {
            "apiVersion": "valkey.io/v1alpha1",
            "kind": "ValkeyCluster",
            "name": "my",
            "namespace": "ns",
            "uid": "u1",
        }
        said = {key: body[key] for key in ("type", "reason", "note", "action", "reportingController", "reportingInstance")}
        assert said == {
            "type": "Warning",
            "reason": "PortTaken",
            "note": "31200 is taken",
            "action": "Allocate",
            "reportingController": "valkey.io/valkey-operator",
            "reportingInstance": "pod-1",
        }

    virtual(story())


def test_the_same_is_not_said_twice_within_ten_minutes(virtual):
    async def story():
        api = Written()
        events = recorder(api)
        assert events.emit(CLUSTER, reason="R", note="n", action="A")
        assert not events.emit(CLUSTER, reason="R", note="n", action="A")
        assert events.emit(CLUSTER, reason="R", note="other", action="A")
        assert events.emit({**CLUSTER, "metadata": {"name": "other", "namespace": "ns"}}, reason="R", note="n", action="A")
        await run_for(601, events)
        assert events.emit(CLUSTER, reason="R", note="n", action="A")
        await run_for(1, events)
        assert len(api.events) == 4
        assert len({body["metadata"]["name"] for _, body in api.events}) == 4

    virtual(story())


def test_a_flood_is_written_at_a_bounded_rate_and_what_does_not_fit_is_dropped(virtual, caplog):
    async def story():
        api = Written()
        events = recorder(api, burst=10, per_second=5.0, pending=40)
        taken = [events.emit(CLUSTER, reason="R", note=str(number), action="A") for number in range(50)]
        assert taken == [True] * 40 + [False] * 10
        await run_for(60, events)
        assert len(api.events) == 40
        assert api.times[9] == 0
        assert api.times[39] == pytest.approx(6.0)
        # what was dropped was not said, so it may be said again
        assert events.emit(CLUSTER, reason="R", note="49", action="A")

    with caplog.at_level(logging.WARNING):
        virtual(story())
    assert "too many events at once" in caplog.text


def test_a_failure_is_logged_and_stops_nothing(virtual, caplog):
    async def story():
        api = Written(fails=1)
        events = recorder(api)
        events.emit(CLUSTER, reason="R", note="lost", action="A")
        events.emit(CLUSTER, reason="R", note="written", action="A")
        await run_for(1, events)
        assert [body["note"] for _, body in api.events] == ["written"]

    with caplog.at_level(logging.WARNING):
        virtual(story())
    assert "could not write an event: away" in caplog.text


def test_a_long_note_is_shortened_to_the_1024_bytes_that_the_api_server_takes(virtual):
    async def story():
        api = Written()
        events = recorder(api)
        events.emit(CLUSTER, reason="R", note="x" * 3000, action="A")
        events.emit(CLUSTER, reason="R", note="→" * 400, action="A")
        await run_for(1, events)
        assert [body["note"] for _, body in api.events] == ["x" * 1021 + "…", "→" * 340 + "…"]

    virtual(story())


def test_an_event_about_something_without_a_namespace_goes_to_default(virtual):
    async def story():
        api = Written()
        events = recorder(api)
        events.emit({"apiVersion": "v1", "kind": "Node", "name": "n1"}, reason="R", note="n", action="A")
        await run_for(1, events)
        assert api.events[0][1]["metadata"]["namespace"] == "default"

    virtual(story())
