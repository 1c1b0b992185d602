"""What is said of a Service, asked of a real API server: that it knows the fields by which events are chosen."""

import uuid
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from valkey_operator.controllers.service_events import ServiceEvents
from valkey_operator.kube.errors import NotFound
from valkey_operator.kube.kinds import EVENT, Key, Kind

NAMESPACE = "default"
CORE_EVENT = Kind("v1", "Event", "events")
"""As the controllers of clouds still write them; it is the same object, with other names for its fields."""


@pytest.fixture
async def say(kube):
    """Writes an event as a cloud's controller does."""
    written = []

    async def write(name, *, kind="Service", type_="Warning", **said):
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}.{uuid.uuid4().hex[:16]}", "namespace": NAMESPACE},
            "involvedObject": {"apiVersion": "v1", "kind": kind, "name": name, "namespace": NAMESPACE},
            "source": {"component": "service-controller"},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
            "type": type_,
            "reason": "SyncLoadBalancerFailed",
            **said,
        }
        made = await kube.create(CORE_EVENT, body)
        written.append(made["metadata"]["name"])

    yield write
    for name in written:
        with suppress(NotFound):
            await kube.delete(EVENT, name, NAMESPACE)


async def test_the_warning_of_that_service_is_found_among_all_events(kube, say):
    name = f"events-{uuid.uuid4().hex[:8]}"
    await say(name, message="quota exceeded")
    await say(name, reason="EnsuringLoadBalancer", type_="Normal", message="Ensuring load balancer")
    await say(name, kind="Endpoints", message="of something else that is called so")
    await say(f"{name}-0", message="of another Service")
    await say(name)  # an event may say nothing
    events = ServiceEvents(kube, now=lambda: datetime.now(UTC))
    assert await events.newest_warning(Key(NAMESPACE, name)) == "SyncLoadBalancerFailed: quota exceeded"
    assert await events.newest_warning(Key(NAMESPACE, f"{name}-1")) == ""
