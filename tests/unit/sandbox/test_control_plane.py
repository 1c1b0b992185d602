from ipaddress import IPv4Address
from pathlib import Path

import pytest

from sandbox import control_plane
from sandbox.control_plane import BEHIND_ROUTER, LOOPBACK, Credentials
from sandbox.pki import Pair

PAIR = Pair(Path("/pki/some.crt"), Path("/pki/some.key"))
CREDENTIALS = Credentials(
    authority=PAIR,
    api_server=PAIR,
    kubelet_client=PAIR,
    token_signer=Path("/pki/token.key"),
    token_verifier=Path("/pki/token.pub"),
    controller_manager=Path("/pki/manager"),
    scheduler=Path("/pki/scheduler"),
    proxy=Path("/pki/proxy"),
)


def server(place):
    return control_plane.api_server_command(Path("/programs"), credentials=CREDENTIALS, place=place)


def manager(place):
    return control_plane.controller_manager_command(Path("/programs"), credentials=CREDENTIALS, place=place)


def test_alone_it_serves_this_machine_only_and_is_nobodys_endpoint():
    assert LOOPBACK.address == IPv4Address("127.0.0.1")
    assert "--bind-address=127.0.0.1" in server(LOOPBACK)
    assert "--endpoint-reconciler-type=none" in server(LOOPBACK)
    assert LOOPBACK.enter() == []


def test_behind_the_router_pods_reach_it_at_the_routers_address():
    assert "--advertise-address=198.18.0.1" in server(BEHIND_ROUTER)
    assert "--endpoint-reconciler-type=none" not in server(BEHIND_ROUTER)
    assert BEHIND_ROUTER.enter() == ["nsenter", "--net=/run/valkey-sandbox/namespaces/router", "--"]


@pytest.mark.parametrize("place", [LOOPBACK, BEHIND_ROUTER])
def test_the_api_server_authorizes_as_kubeadm_does(place):
    assert "--authorization-mode=Node,RBAC" in server(place)
    assert "--enable-admission-plugins=NodeRestriction" in server(place)


@pytest.mark.parametrize("place", [LOOPBACK, BEHIND_ROUTER])
def test_services_can_have_both_families_and_have_ipv4_unless_they_ask(place):
    assert "--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112" in server(place)


def test_without_nodes_only_controllers_run_that_need_none():
    assert "--controllers=*" in manager(BEHIND_ROUTER)
    (chosen,) = [word for word in manager(LOOPBACK) if str(word).startswith("--controllers=")]
    assert "garbage-collector-controller" in chosen
    assert "statefulset-controller" not in chosen
