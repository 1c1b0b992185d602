import pytest

from integration.valkey.servers import Server
from valkey_operator.valkey.commands import CLUSTER_SLOTS, PING, Command, config_set, meet, replicate
from valkey_operator.valkey.errors import Loading
from valkey_operator.valkey.look import look

SLOW = ("--key-load-delay", "3000", "--loading-process-events-interval-bytes", "1024")
KEYS = [Command("SET", (f"key-{number}", "value"), str) for number in range(1000)]


async def with_keys(lab, servers, version) -> Server:
    """A server of one node that has just been started with a data set to read."""
    server = lab.server(version, ("--cluster-enabled", "no"))
    await servers.ask(server.address, *KEYS, Command("SAVE", (), str))
    server.kill()
    server.arguments = SLOW
    server.start()
    return server


@pytest.mark.parametrize("version", ["8.1", "9.1"])
async def test_a_loading_server_tells_who_it_is_and_takes_settings_but_does_nothing_with_the_cluster(lab, servers, version):
    server = await with_keys(lab, servers, version)
    seen = await look(servers, server.address, ("port",))
    assert (seen.loading, seen.state, seen.known_nodes, seen.config) == (True, "fail", 1, {"port": "6379"})
    assert await servers.ask(server.address, config_set({"cluster-announce-hostname": "n0.example.com"}), CLUSTER_SLOTS)
    refused = await servers.ask_each(server.address, PING, meet("127.0.0.1", port=6379, bus_port=16379), replicate(seen.id))
    assert [type(answer) for answer in refused] == [Loading, Loading, Loading]
