"""A kube-proxy writes at once what changes after a calm, and what changes right after that a second later."""

from datetime import timedelta

import pytest

from unit.core.given import NOW
from valkey_operator.controllers import views
from valkey_operator.controllers.following import Following
from valkey_operator.controllers.mirror import Mirror
from valkey_operator.controllers.routing_mirror import RoutingMirror
from valkey_operator.kube.kinds import Key
from valkey_operator.kube.observer import SILENT


def after(seconds):
    return NOW + timedelta(seconds=seconds)


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def mirror():
    routing = RoutingMirror(None, namespace=None, reads_definitions=True, ours="", observer=SILENT)
    return Mirror(None, routing, namespace=None, reads_nodes=False, observer=SILENT)


@pytest.fixture
def following(mirror, clock):
    return Following(mirror, now=clock)


@pytest.fixture
def changes(mirror, clock):
    """Put a Service into the mirror that many seconds after the beginning."""

    def put(seconds, name, *, port=6380, namespace="shop", **metadata):
        clock.now = after(seconds)
        described = {
            "name": name,
            "namespace": namespace,
            "uid": name,
            "creationTimestamp": "2026-03-01T11:00:00Z",
            "labels": {"valkey.io/cluster": "orders"},
            **metadata,
        }
        obj = {"kind": "Service", "metadata": described, "spec": {"type": "LoadBalancer", "ports": [{"port": port}]}}
        mirror.services.store.put(Key(namespace, name), views.service(obj))

    return put


def test_the_first_change_is_followed_at_once(following, changes):
    changes(0, "orders-0")
    assert following.due("shop") == {}


def test_a_change_right_after_another_one_waits_until_the_pause_is_over(following, changes):
    changes(0, "orders-0", port=6380)
    changes(0.1, "orders-0", port=6381)
    assert following.due("shop") == {"orders-0": after(1.35)}


def test_any_service_keeps_kube_proxies_busy_and_what_waits_is_the_one_that_changed(following, changes):
    changes(0, "orders-0", namespace="elsewhere")
    changes(0.1, "orders-1")
    assert following.due("shop") == {"orders-1": after(1.35)}
    assert following.due("elsewhere") == {}


def test_a_change_after_a_calm_is_followed_at_once(following, changes):
    changes(0, "orders-0", port=6380)
    changes(2, "orders-0", port=6381)
    assert following.due("shop") == {}


def test_the_endpoints_that_come_after_their_service_are_a_change(following, changes, mirror):
    changes(0, "orders-0")
    mirror.slices.store.put(Key("shop", "orders-0-x7"), views.Slice("shop", "orders", "orders-0", frozenset({"lb-0"})))
    assert following.due("shop") == {"orders-0": after(1.25)}


def test_a_service_that_goes_keeps_them_busy_too(following, changes, mirror):
    changes(0, "orders-0")
    changes(3, "orders-1")
    mirror.services.store.put(Key("shop", "orders-0"), None)
    assert following.due("shop") == {"orders-0": after(4.25)}


def test_labels_and_annotations_are_nothing_to_a_kube_proxy(following, changes):
    changes(0, "orders-0")
    changes(0.1, "orders-0", labels={"valkey.io/cluster": "orders", "team": "shop"})
    assert following.due("shop") == {}


def test_what_was_followed_is_forgotten(following, changes, clock):
    changes(0, "orders-0", port=6380)
    changes(0.1, "orders-0", port=6381)
    clock.now = after(1.3)
    following.prune()
    assert following.due("shop") == {"orders-0": after(1.35)}
    clock.now = after(1.35)
    following.prune()
    assert following.due("shop") == {}
