import ast
from dataclasses import replace

import pytest

from unit.outside.given import orders
from valkey_operator.outside.clients import CLIENTS, code

NAMES = ["valkey-py", "glide", "iovalkey", "ioredis", "node-redis", "valkey-go", "go-redis", "lettuce", "jedis"]


def printed(name, *, tls, of=None):
    return code(CLIENTS[name], replace(of or orders(), tls=tls))


def test_these_libraries_are_known():
    assert list(CLIENTS) == NAMES


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("name", NAMES)
def test_no_place_is_left_open_and_every_secret_comes_from_the_environment(name, tls):
    program = printed(name, tls=tls)
    for place in ("<seeds>", "<imports>", "<options>", "<host>", "<port>", "<secured>", "<library>"):
        assert place not in program
    body = "\n".join(line for line in program.splitlines() if not line.startswith(("#", "//")))
    for variable in ("VALKEY_USERNAME", "VALKEY_PASSWORD"):
        assert variable in body
    assert ("VALKEY_CA_FILE" in program) is tls
    assert "192.0.2.10" in body
    assert "31199" in body


@pytest.mark.parametrize("name", ["valkey-py", "glide"])
@pytest.mark.parametrize("tls", [False, True])
def test_python_is_python(name, tls):
    ast.parse(printed(name, tls=tls))


def test_without_an_endpoint_of_all_shards_clients_begin_at_the_primaries():
    program = printed("valkey-py", tls=False, of=orders(bootstrap=None))
    begin = [line.strip() for line in program.splitlines() if "ClusterNode(" in line]
    assert begin == ['ClusterNode("192.0.2.10", 31200),', 'ClusterNode("192.0.2.11", 31201),', 'ClusterNode("192.0.2.12", 31202),']


def test_the_first_lines_say_how_to_fill_the_environment():
    secret = "kubectl get secret orders-connection --namespace shop --output jsonpath="
    assert printed("valkey-go", tls=True).splitlines()[:6] == [
        "// main.go: valkey-go outside Kubernetes, for ValkeyCluster shop/orders. Before it runs:",
        "//   go get github.com/valkey-io/valkey-go",
        f"""//   export VALKEY_USERNAME="$({secret}'{{.data.username}}' | base64 --decode)\"""",
        f"""//   export VALKEY_PASSWORD="$({secret}'{{.data.password}}' | base64 --decode)\"""",
        f"//   {secret}'{{.data.ca\\.crt}}' | base64 --decode > ca.crt",
        "//   export VALKEY_CA_FILE=ca.crt",
    ]


def test_several_addresses_are_all_there():
    of = orders(bootstrap={"addresses": ["192.0.2.10:1", "192.0.2.11:2"]})
    assert 'new HostAndPort("192.0.2.10", 1),\n        new HostAndPort("192.0.2.11", 2));' in printed("jedis", tls=False, of=of)
